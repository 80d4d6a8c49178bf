"""XGBoost's own ndcg, map and pre under convention="xgboost" (labels and predictions are float32 there)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from strategies import Data, random_data

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")


def theirs(data: Data, names: list[str], weight: Any = None, **parameters: object) -> list[float]:
    """Evaluate scores of ours: they are the base margin, to which the one tree adds nothing."""
    matrix = xgb.DMatrix(data.score[:, None], data.y, group=data.group, base_margin=data.score, weight=weight)
    params = {"objective": "rank:ndcg", "eval_metric": names, "learning_rate": 0.0, "nthread": 1} | parameters
    line = xgb.train(params, matrix, 1).eval(matrix)
    shown = {m[1]: float(m[2]) for m in re.finditer(r"eval-([\w@-]+):([\d.e+-]+)", line)}
    return [shown[name] for name in names]


def ours(data: Data, names: list[str], **options: Any) -> list[float]:
    result = ltr.evaluate(data.y, data.score, group=data.group, metrics=names, convention="xgboost", **options)
    return [result[name] for name in names]


def at_cutoffs(*names: str) -> list[str]:
    return [name + at for name in names for at in ("", "@1", "@3", "@5", "@10")]


@pytest.mark.parametrize("levels", [1, 3, 1000])
@pytest.mark.parametrize("documents", [14, 70])  # of at most; without @k they look at 32
def test_binary_labels(levels: int, documents: int) -> None:
    data = random_data(0, [0, 1], levels=levels, max_documents=documents)
    names = at_cutoffs("ndcg", "map", "pre")
    our_names = [name.replace("pre", "precision") for name in names]
    assert ours(data, our_names) == pytest.approx(theirs(data, names), abs=1e-12)


@pytest.mark.parametrize("levels", [1, 3, 1000])
@pytest.mark.parametrize("exponential", [True, False])
def test_graded_labels(levels: int, exponential: bool) -> None:
    data = random_data(0, levels=levels, max_documents=70)
    our_names = at_cutoffs("ndcg" if exponential else "ndcg_lin")
    shown = theirs(data, at_cutoffs("ndcg"), ndcg_exp_gain=exponential)
    assert ours(data, our_names) == pytest.approx(shown, abs=1e-12)


def test_graded_labels_are_refused_where_relevance_is_binary() -> None:
    data = Data(np.array([0, 2, 1.0]), np.array([3.0, 2, 1]), np.array([3]))
    for name, our_name in (("map", "map"), ("pre@2", "precision@2")):
        with pytest.raises(xgb.core.XGBoostError, match="can only be used with binary labels"):
            theirs(data, [name])
        with pytest.raises(ltr.LtrValueError, match="must have labels 0 and 1"):
            ours(data, [our_name])


def test_fractional_labels() -> None:
    """XGBoost refuses them under its exponential gain, which is defined on them here; with linear gain they agree."""
    data = random_data(0, [0, 0.25, 0.5, 1.75])
    names = at_cutoffs("ndcg")
    our_names = [name.replace("ndcg", "ndcg_lin") for name in names]
    assert ours(data, our_names) == pytest.approx(theirs(data, names, ndcg_exp_gain=False), abs=1e-12)
    with pytest.raises(xgb.core.XGBoostError, match="must be either 0 or positive integer"):
        theirs(data, names)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_the_suffix_minus_which_is_no_relevant_0(weighted: bool) -> None:
    """One per query. XGBoost's ndcg adds 1, not 1 * weight, for a query without a relevant document."""
    data = random_data(0, [0, 1])
    assert not all(max(y) > 0 for y, _ in data.queries())
    weight = np.random.default_rng(0).integers(4, 13, len(data.group)) / 4 if weighted else None  # above 1: ndcg is not
    names = at_cutoffs("ndcg", "map", "precision")
    shown = theirs(data, [name.replace("precision", "pre") for name in names], weight)
    assert ours(data, names, query_weight=weight) == pytest.approx(shown, abs=1e-12)
    shown = theirs(data, [f"{name.replace('precision', 'pre')}-" for name in names], weight)
    assert ours(data, names, query_weight=weight, no_relevant=0) == pytest.approx(shown, abs=1e-12)


def test_weighted_ndcg_above_1_aborts_xgboost() -> None:
    """Ours is the number in the error. With no_relevant=1 it is the weighted mean."""
    data = Data(np.array([0, 1, 1, 0, 0, 0.0]), np.array([2.0, 1, 2, 1, 2, 1]), np.array([2, 2, 2]))
    first, weight = 1 / np.log2(3), np.array([1.0, 1.0, 0.25])
    [value] = ours(data, ["ndcg"], query_weight=weight)
    assert value == pytest.approx((first + 1 + 1) / 2.25)
    with pytest.raises(xgb.core.XGBoostError, match=f"{value:.6g} vs. 1.*Invalid output score"):
        theirs(data, ["ndcg"], weight)
    [mean] = ours(data, ["ndcg"], query_weight=weight, no_relevant=1)
    assert mean == pytest.approx((first + 1 + 0.25) / 2.25)
    with pytest.raises(ltr.LtrValueError, match="xgboost.*ndcg_exp@32.*although the weight"):
        ours(data, ["ndcg"], query_weight=[1, 1, 0])
