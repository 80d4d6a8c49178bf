"""XGBoost's own ndcg, map and pre under convention="xgboost" (labels and predictions are float32 there)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ltr_metrics as ltr

xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")


@pytest.mark.parametrize("levels", [3, 10_000])
@pytest.mark.parametrize(
    "names", [["ndcg", "ndcg@5", "ndcg@1"], ["map", "map@5", "map@1"], ["precision@5", "precision@1"]]
)
@pytest.mark.parametrize("exponential", [True, False])
def test_values(levels: int, names: list[str], exponential: bool) -> None:
    binary = not names[0].startswith("ndcg")
    rng = np.random.default_rng(1)
    group = rng.integers(1, 70, 60)
    score = rng.integers(0, levels, group.sum()).astype(np.float32)
    y = rng.choice(5, group.sum(), p=[0.7, 0.15, 0.1, 0.03, 0.02])
    y = np.minimum(y, 1) if binary else y
    y[np.isin(np.repeat(np.arange(60), group), rng.permutation(60)[:15])] = 0

    theirs = [name.replace("precision", "pre") for name in names]
    data = xgb.DMatrix(
        score[:, None], y, group=group, base_margin=score
    )  # the scores are ours: the one tree adds nothing
    params = {"objective": "rank:ndcg", "eval_metric": theirs, "ndcg_exp_gain": exponential, "learning_rate": 0.0}
    line = xgb.train(params, data, 1).eval(data)
    shown = {m[1]: float(m[2]) for m in re.finditer(r"eval-([\w@]+):([\d.e+-]+)", line)}

    ours = [name if exponential else name.replace("ndcg", "ndcg_lin") for name in names]
    result = ltr.evaluate(y, score, group=group, metrics=ours, convention="xgboost")
    for name, their_name in zip(ours, theirs, strict=True):
        assert result[name] == pytest.approx(shown[their_name], abs=1e-12), name
