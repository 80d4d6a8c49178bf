"""FLAML: the recipe of the guide minimises minus our mean, and FLAML's own NDCG is what the guide says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]  # of FLAML and of what it trains

GUIDE = Path(__file__).parent.parent / "docs" / "guide" / "grid_search.md"


def test_the_recipe_of_the_guide_minimises_minus_the_mean() -> None:
    pytest.importorskip("flaml", reason="flaml is not installed")
    (recipe,) = re.findall(r"```text\n(import ltr_metrics.*?from flaml.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    means: list[float] = []

    def watched(function: Any) -> Any:
        def loss(*arguments: Any) -> Any:
            value, logged = function(*arguments)
            queries, counts = np.unique(arguments[9], return_counts=True)
            sizes = dict(zip(*np.unique(names["qid"], return_counts=True), strict=True))
            assert [sizes[query] for query in queries] == counts.tolist()  # whole queries
            means.append(logged["err@10"])
            assert value == -means[-1]
            assert sorted(logged) == ["err@10", "ndcg_exp@10"]
            return value, logged

        return loss

    names: dict[str, Any] = {"watched": watched}
    exec(recipe.replace("automl = AutoML()", "loss = watched(loss)\nautoml = AutoML()"), names)
    assert len(means) == 3
    assert names["automl"].best_loss == -max(means)


def test_flamls_own_ndcg_ranks_all_rows_as_one_query() -> None:
    ml = pytest.importorskip("flaml.automl.ml", reason="flaml is not installed")
    X, y, qid = ltr.make_ranking(n_queries=20, random_state=0)
    scores = X[:, 0]
    one_query = ltr.evaluate(y, scores, group=[len(y)], metrics="ndcg_lin")["ndcg_lin"]
    assert 1 - ml.metric_loss_score("ndcg", scores, y, groups=qid) == pytest.approx(one_query, abs=1e-12)
    ours = ltr.evaluate(y, scores, qid=qid, metrics=["ndcg_lin", "ndcg_lin@10"], no_relevant=0)
    assert abs(one_query - ours["ndcg_lin"]) > 0.01
    assert 1 - ml.metric_loss_score("ndcg@10", scores, y, groups=qid) == pytest.approx(ours["ndcg_lin@10"], abs=1e-12)
