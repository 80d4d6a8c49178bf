"""LightGBM's own ndcg@k and map@k, in the same training, under convention="lightgbm"."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
from strategies import Data, random_data

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval

pytestmark = pytest.mark.integration

EVAL_AT = (1, 3, 5, 10)
MAP = [f"map@{k}" for k in EVAL_AT]
THEIRS = [f"{name}@{k}" for name in ("ndcg", "map") for k in EVAL_AT]
OURS = [f"{name}@{k}" for name in ("ndcg_exp", "map(rel=1)") for k in EVAL_AT]  # another name than the built-in's
PARAMS = {
    "objective": "lambdarank",
    "metric": ["ndcg", "map"],
    "eval_at": EVAL_AT,
    "verbose": -1,
    "num_threads": 1,
    "seed": 0,
}


def train(params: dict, train_set: lgb.Dataset, valid: lgb.Dataset, rounds: int = 8, metrics: list[str] = OURS) -> dict:
    history: dict = {}
    callbacks = [lgb.record_evaluation(history)]
    made = feval(metrics, convention="lightgbm", names="canonical")
    lgb.train(PARAMS | params, train_set, rounds, [valid], feval=made, callbacks=callbacks)
    return history["valid_0"]


def compare(history: dict, tolerance: float = 1e-12, names: dict[str, str] | None = None) -> None:
    for theirs, ours in (names or dict(zip(THEIRS, OURS, strict=True))).items():
        np.testing.assert_allclose(history[ours], history[theirs], rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "params", [{}, {"num_leaves": 2, "learning_rate": 1.0}, {"objective": "rank_xendcg"}, {"boosting": "dart"}]
)
def test_synthetic_data_with_ties_and_queries_without_relevant_documents(params: dict) -> None:
    X, y, qid = ltr.make_ranking(n_queries=120, documents=12, no_relevant=0.2, random_state=1)
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    compare(train(params, train_set, lgb.Dataset(X, y, group=ltr.qid_to_group(qid), reference=train_set)))


def datasets(data: Data) -> tuple[lgb.Dataset, lgb.Dataset]:
    """The data to train on and to validate on; the one feature is the score, so that documents tie."""
    X = data.score[:, None]
    train_set = lgb.Dataset(X, data.y, group=data.group)
    return train_set, lgb.Dataset(X, data.y, group=data.group, reference=train_set)


@pytest.mark.parametrize("levels", [2, 6, 1000])
def test_short_lists_and_queries_of_one_document(levels: int) -> None:
    compare(train({}, *datasets(random_data(0, levels=levels, n_queries=80))))


@pytest.mark.parametrize("gain", [[0, 1, 2, 3, 4], [0, 0, 1, 10, 1000], [0.5, 0.5, 0.75, 8, 8]])
def test_label_gain(gain: list[float]) -> None:
    table = ",".join(f"{value:g}" for value in gain)
    names = {f"ndcg@{k}": f"ndcg(gain=[{table}])@{k}" for k in EVAL_AT}
    history = train({"label_gain": gain}, *datasets(random_data(0, n_queries=80)), metrics=list(names.values()))
    compare(history, names=names)


def test_map_of_fractional_labels_counts_those_above_one_half() -> None:
    """The bare name says so, and is logged as what it means. LightGBM takes such labels for
    regression, and for its map alone.
    """
    data = random_data(0, [0, 0, 0.25, 0.5, 0.5 + 2**-24, 0.75, 1.5], n_queries=80)
    regression = {"objective": "regression", "metric": "map"}
    history = train(regression, *datasets(data), metrics=MAP)
    compare(history, names={name: name.replace("@", "(rel=>0.5)@") for name in MAP})
    with pytest.raises(lgb.basic.LightGBMError, match="label should be int type"):
        train(regression | {"metric": "ndcg"}, *datasets(data), metrics=MAP)


@pytest.mark.parametrize("weights", ["a query", "a row"])
def test_row_weights_become_query_weights_by_their_mean(weights: str) -> None:
    X, y, qid = ltr.make_ranking(n_queries=120, documents=12, no_relevant=0.25, random_state=1)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 9, qid.max() + 1)[qid] / 4 if weights == "a query" else rng.uniform(0.1, 2, len(y))
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), weight=weight)
    valid = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), weight=weight, reference=train_set)
    compare(train({}, train_set, valid), 1e-12 if weights == "a query" else 1e-7)  # it takes means in float32


def test_weighted_ndcg_exceeds_1_where_a_query_has_no_relevant_document() -> None:
    """LightGBM adds 1, not 1 * weight, for such a query and still divides by the weights."""
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    y, weight = [0, 1, 0, 0], [1, 1, 0.01, 0.01]
    params = {
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": 0,
        "lambdarank_truncation_level": 5,
    }
    train_set = lgb.Dataset(X, y, group=[2, 2], weight=weight)
    history = train(params, train_set, lgb.Dataset(X, y, group=[2, 2], weight=weight, reference=train_set), rounds=1)
    assert history["ndcg@1"] == [pytest.approx(2 / 1.01)]
    assert history["ndcg_exp@1"] == [pytest.approx(2 / 1.01)]
    plain = ltr.evaluate(y, [1, 2, 3, 3], group=[2, 2], query_weight=[1, 0.01], metrics="ndcg@1", no_relevant=1)
    assert plain["ndcg@1"] == 1
    assert history["map@1"] == history["map(rel=1)@1"] == [pytest.approx(1.0)]
