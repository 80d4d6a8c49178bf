"""The guide's recipes for tuners and trackers run where these are installed, and find a mean of the metric."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ltr_metrics as ltr

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]  # of the packages and of what they train

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "grid_search.md").read_text("utf-8")
RECIPES = re.findall(r"```text\n(import .*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("package", ["flaml", "optuna", "ray", "wandb"])
def test_the_recipe(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    (recipe,) = (text for text in RECIPES if re.search(rf"^(from|import) {package}\b", text, re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(recipe, names)
    assert 0 < names["best_value"] < 1
    assert names["best_params"]


def test_flamls_own_ndcg_ranks_all_rows_as_one_query() -> None:
    ml = pytest.importorskip("flaml.automl.ml", reason="flaml is not installed")
    X, y, qid = ltr.make_ranking(n_queries=20, random_state=0)
    scores = X[:, 0]
    one_query = ltr.evaluate(y, scores, group=[len(y)], metrics="ndcg_lin")["ndcg_lin"]
    assert 1 - ml.metric_loss_score("ndcg", scores, y, groups=qid) == pytest.approx(one_query, abs=1e-12)
    ours = ltr.evaluate(y, scores, qid=qid, metrics=["ndcg_lin", "ndcg_lin@10"], no_relevant=0)
    assert abs(one_query - ours["ndcg_lin"]) > 0.01
    assert 1 - ml.metric_loss_score("ndcg@10", scores, y, groups=qid) == pytest.approx(ours["ndcg_lin@10"], abs=1e-12)
