"""FLAML: the loss of a trial is minus our mean, and what FLAML's own NDCG is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.flaml import metric

X, Y, QID = ltr.make_ranking(n_queries=60, random_state=0)
IS_VALID = np.isin(QID, np.unique(QID)[::3])
VALID = X[IS_VALID], Y[IS_VALID], QID[IS_VALID]


class Ranker:
    def predict(self, X: Any) -> Any:
        return X[:, 0]


def trial(function: Any, y: Any = VALID[1], groups: Any = VALID[2], weight: Any = None, model: Any = None) -> Any:
    model = Ranker() if model is None else model
    return function(VALID[0], y, model, None, X, Y, weight, None, {"n_estimators": 4}, groups, QID)


def test_the_loss_is_minus_the_mean_of_the_first_metric() -> None:
    weight = np.random.default_rng(0).random(len(VALID[1]))
    expected = ltr.evaluate(
        VALID[1], VALID[0][:, 0], qid=VALID[2], metrics=["err@10", "ndcg@10"], ties="worst", sample_weight=weight
    )
    loss, logged = trial(metric(["err@10", "ndcg@10"], ties="worst"), weight=weight)
    assert loss == -expected["err@10"]
    assert logged.pop("pred_time") >= 0
    assert logged == {"err@10": expected["err@10"], "ndcg_exp@10": expected["ndcg@10"]}
    order = np.random.default_rng(1).permutation(len(VALID[1]))

    class Shuffled:
        def predict(self, X: Any) -> Any:
            return X[order, 0]

    _, again = trial(metric("ndcg@10", ties="worst", names="slug"), VALID[1][order], VALID[2][order], None, Shuffled())
    plain = ltr.evaluate(VALID[1], VALID[0][:, 0], qid=VALID[2], metrics="ndcg@10", ties="worst")
    assert again["ndcg_exp_at_10"] == pytest.approx(plain["ndcg@10"], abs=1e-15)
    copied = pickle.loads(pickle.dumps(metric("err@10")))
    assert trial(copied)[0] == trial(metric("err@10"))[0]
    assert repr(copied) == "TrialMetric(err@10)"


def test_what_flaml_cannot_use_is_refused() -> None:
    with pytest.raises(ltr.LtrValueError, match="Did you mean"):
        metric("ndgc@10")
    with pytest.raises(ltr.LtrValueError, match=r"no queries.*groups=qid"):
        trial(metric("ndcg@10"), groups=None)
    with pytest.raises(ltr.LtrValueError, match="undefined for all 20 queries"):
        trial(metric("ndcg@10"), y=np.zeros(len(VALID[1])))
    with pytest.raises(ltr.LtrTypeError, match=r"is for AutoML\.fit\(metric=\.\.\.\) of FLAML"):
        metric("ndcg@10")(VALID[1], VALID[0][:, 0])


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # of FLAML and of what it trains
@pytest.mark.parametrize("method", ["holdout", "cv"])
def test_a_search_minimises_the_loss(method: str) -> None:
    flaml = pytest.importorskip("flaml", reason="flaml is not installed")
    losses = []

    class Spy:
        def __init__(self) -> None:
            self.metric = metric("err@10")

        def __call__(self, *arguments: Any) -> Any:
            loss, logged = self.metric(*arguments)
            scores, groups = arguments[2].predict(arguments[0]), arguments[9]
            assert loss == -ltr.evaluate(arguments[1], scores, qid=groups, metrics="err@10")["err@10"]
            sizes = dict(zip(*np.unique(QID, return_counts=True), strict=True))
            assert all(n == sizes[q] for q, n in zip(*np.unique(groups, return_counts=True), strict=True))
            losses.append(loss)
            return loss, logged

    automl = flaml.AutoML()
    settings = {"estimator_list": ["lgbm"], "max_iter": 3, "n_splits": 2, "verbose": 0, "n_jobs": 1, "time_budget": -1}
    automl.fit(X, Y, groups=QID, task="rank", metric=Spy(), eval_method=method, **settings)
    assert len(losses) == (3 if method == "holdout" else 6)
    by_trial = np.reshape(losses, (3, -1)).mean(axis=1)
    assert automl.best_loss == pytest.approx(by_trial.min(), abs=1e-15)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_flamls_own_ndcg_ranks_all_rows_as_one_query() -> None:
    ml = pytest.importorskip("flaml.automl.ml", reason="flaml is not installed")
    features, y, qid = VALID
    scores = features[:, 0]
    whole = 1 - ml.metric_loss_score("ndcg", scores, y, groups=qid)
    one_query = ltr.evaluate(y, scores, qid=np.zeros(len(y)), metrics="ndcg_lin")["ndcg_lin"]
    per_query = ltr.evaluate(y, scores, qid=qid, metrics="ndcg_lin", no_relevant=0)["ndcg_lin"]
    assert whole == pytest.approx(one_query, abs=1e-12)
    assert abs(whole - per_query) > 0.01
    sizes = dict(zip(*np.unique(qid, return_counts=True), strict=True))
    kept = np.array([sizes[query] > 1 for query in qid])
    at_10 = 1 - ml.metric_loss_score("ndcg@10", scores[kept], y[kept], groups=qid[kept])
    ours = ltr.evaluate(y[kept], scores[kept], qid=qid[kept], metrics="ndcg_lin@10", no_relevant=0)["ndcg_lin@10"]
    assert at_10 == pytest.approx(ours, abs=1e-12)
    with pytest.raises(ValueError, match="more than 1 document"):
        ml.metric_loss_score("ndcg@10", scores[:1], y[:1], groups=qid[:1])
