"""Early stopping in `QueryRanker`: the best round is that of a scan over a model that was trained without stopping."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from folds import Rows, fit_by_hand, frame, ranker, scattered

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()

ROUNDS = 12
HOSTS = ["LGBMRanker", "LGBMRegressor", "XGBRanker", "XGBRegressor", "CatBoostRanker", "CatBoostRegressor"]


def of_host(host: str, **settings: Any) -> Any:
    if host.startswith("LGBM"):
        quiet = {"n_estimators": ROUNDS, "verbose": -1, "n_jobs": 1, "min_child_samples": 5, "learning_rate": 0.3}
        return getattr(lgb, host)(**quiet | settings)
    if host.startswith("CatBoost"):
        catboost = pytest.importorskip("catboost", reason="catboost is not installed")
        quiet = {"iterations": ROUNDS, "verbose": False, "allow_writing_files": False, "thread_count": 1}
        return getattr(catboost, host)(**quiet | {"depth": 3, "learning_rate": 0.3} | settings)
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    return getattr(xgboost, host)(**{"n_estimators": ROUNDS, "n_jobs": 1, "max_depth": 3} | settings)


def predictions(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Scores after each round."""
    if isinstance(model, lgb.LGBMModel):
        return [model.predict(X, num_iteration=i + 1) for i in range(ROUNDS)]
    if hasattr(model, "staged_predict"):
        return [model.predict(X, ntree_end=i + 1) for i in range(ROUNDS)]
    return [model.predict(X, iteration_range=(0, i + 1)) for i in range(ROUNDS)]


def history_of(made: QueryRanker, metric: str) -> list[float]:
    history = made.estimator_.evals_result_["validation"]
    return history[metric]


def best_of(values: list[float], patience: int) -> int:
    """The best round, counted from 0, until none was better for so many rounds."""
    best = 0
    for i, value in enumerate(values):
        if value > values[best]:
            best = i
        elif i - best >= patience:
            break
    return best


def scan(
    estimator: Any, rows: Rows, held: np.ndarray, metric: str, patience: int, **given: np.ndarray
) -> tuple[int, Any, list[float]]:
    """Train on the rest, look at every round on what is held out; return the best round, the model and the values."""
    X, y, qid = rows
    model = fit_by_hand(estimator, X[~held], y[~held], qid[~held], **{name: v[~held] for name, v in given.items()})
    weight = given["sample_weight"][held] if "sample_weight" in given else None
    start = next((v[held] for name, v in given.items() if name != "sample_weight"), 0)
    values = [
        ltr.evaluate(y[held], score + start, qid=qid[held], metrics=metric, sample_weight=weight)[metric]
        for score in predictions(model, X[held])
    ]
    return best_of(values, patience), model, values


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("metric", "patience"), [("ndcg@10", 2), ("err@5", ROUNDS)])
def test_the_best_round_is_that_of_a_scan(host: str, metric: str, patience: int) -> None:
    estimator = of_host(host)
    made = QueryRanker(estimator, early_stopping_rounds=patience, metric=metric, random_state=1).fit(X, y, qid=qid)
    held = np.isin(qid, made.validation_qid_)
    best, model, _ = scan(estimator, ROWS, held, metric, patience)
    assert made.n_rounds_ == best + 1
    np.testing.assert_array_equal(made.predict(X), predictions(model, X)[best])
    assert len(made.validation_qid_) == 9
    assert set(made.queries_) == set(qid.tolist())


@pytest.mark.parametrize("host", HOSTS)
def test_weights_and_scores_to_start_from(host: str) -> None:
    rng = np.random.default_rng(1)
    # LightGBM's predictions leave out the scores to start from, XGBoost's the scores to start from of the training.
    name = {"LGBM": "init_score", "XGBR": "base_margin", "CatB": "baseline"}[host[:4]]
    start = {name: rng.random(len(y))}
    weight = {"sample_weight": np.where(qid % 3, 0.1, 5.0) * rng.random(len(y))}
    estimator = of_host(host, base_score=0.0) if host.startswith("XGB") else of_host(host)
    for given in (weight, start, weight | start):
        made = QueryRanker(estimator, early_stopping_rounds=ROUNDS, metric="mrr", random_state=0)
        made.fit(X, y, qid=qid, **given)
        held = np.isin(qid, made.validation_qid_)
        best, model, values = scan(estimator, ROWS, held, "mrr", ROUNDS, **given)
        np.testing.assert_allclose(history_of(made, "mrr"), values, rtol=1e-12)
        assert made.n_rounds_ == best + 1
        np.testing.assert_array_equal(made.predict(X), predictions(model, X)[best])


@pytest.mark.parametrize("host", ["LGBMRanker", "XGBRanker", "CatBoostRanker"])
class TestWhatIsLeftBehind:
    def test_no_data_in_the_fitted_estimator(self, host: str) -> None:
        heard = []
        given: dict[str, Any] = {}
        if host == "CatBoostRanker":
            estimator, given = of_host(host), {"callbacks": [Rounds(heard)]}
        elif host == "LGBMRanker":
            estimator, given = of_host(host), {"callbacks": [lambda env: heard.append(env.iteration)]}
        else:
            estimator = of_host(host, callbacks=[listener(heard)])
        made = QueryRanker(estimator, early_stopping_rounds=2, random_state=0).fit(X, y, qid=qid, **given)
        assert len(heard) >= made.n_rounds_  # the user's own callbacks are still called
        again = pickle.loads(pickle.dumps(made))
        np.testing.assert_array_equal(again.predict(X), made.predict(X))
        assert len(pickle.dumps(made)) < X.nbytes
        assert len(made.estimator_.get_params().get("callbacks") or [1]) == 1
        np.testing.assert_array_equal(made.fit(X, y, qid=qid, **given).predict(X), again.predict(X))

    def test_a_later_fit_without_it(self, host: str) -> None:
        made = QueryRanker(of_host(host), early_stopping_rounds=2, random_state=0).fit(X, y, qid=qid)
        made.set_params(early_stopping_rounds=None).fit(X, y, qid=qid)
        assert not hasattr(made, "n_rounds_")
        assert not hasattr(made, "validation_qid_")
        np.testing.assert_array_equal(made.predict(X), fit_by_hand(of_host(host), X, y, qid).predict(X))

    def test_the_log_holds_the_metric_alone(self, host: str) -> None:
        made = QueryRanker(of_host(host), early_stopping_rounds=2, metric="mrr", random_state=0).fit(X, y, qid=qid)
        log = made.estimator_.evals_result_
        if host == "CatBoostRanker":  # which always logs the metric of its loss, too
            assert set(log["validation"]) == {"mrr", "NDCG:type=Base"}
            assert log["learn"] == {"mrr": [-1] * len(log["validation"]["mrr"])}
        else:
            assert {data: list(metrics) for data, metrics in log.items()} == {"validation": ["mrr"]}
        held = np.isin(qid, made.validation_qid_)
        assert max(log["validation"]["mrr"]) == made.score(X[held], y[held], qid[held])


class Rounds:
    """A callback of CatBoost."""

    def __init__(self, heard: list[int]) -> None:
        self.heard = heard

    def after_iteration(self, info: Any) -> bool:
        self.heard.append(info.iteration)
        return True


def listener(heard: list[int]) -> Any:
    from xgboost.callback import TrainingCallback

    class Listener(TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            heard.append(epoch)
            return False

        def __deepcopy__(self, memo: Any) -> Any:
            return self

        def __reduce__(self) -> Any:
            return (list, ())

    return Listener()


class TestCallbacksOfTheUsers:
    """They run after the metric of the round exists, see every round, and are the very objects that were given."""

    def trial_of(self, objective: Any, threshold: float) -> Any:
        optuna = pytest.importorskip("optuna", reason="optuna is not installed")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(direction="maximize", pruner=optuna.pruners.ThresholdPruner(lower=threshold))
        study.optimize(objective, n_trials=1)
        return study.trials[0]

    @pytest.mark.filterwarnings("ignore:CatBoostPruningCallback is experimental")
    @pytest.mark.parametrize("host", ["LGBMRanker", "XGBRanker", "CatBoostRanker"])
    @pytest.mark.parametrize("threshold", [0, 1])
    def test_optunas_prune(self, host: str, threshold: int) -> None:
        integration = pytest.importorskip("optuna_integration", reason="optuna-integration is not installed")
        histories = []

        def objective(trial: Any) -> float:
            fit: dict[str, Any] = {}
            if host == "XGBRanker":
                callback = integration.XGBoostPruningCallback(trial, "validation-ndcg_exp@10")
                estimator = of_host(host, callbacks=[callback])
            else:
                of_lightgbm = host == "LGBMRanker"
                kind = integration.LightGBMPruningCallback if of_lightgbm else integration.CatBoostPruningCallback
                callback = kind(trial, "ndcg_exp@10", **{"valid_name": "validation"} if of_lightgbm else {})
                estimator, fit = of_host(host), {"callbacks": [callback]}
            made = QueryRanker(estimator, early_stopping_rounds=3, random_state=0)
            made.fit(X, y, qid=qid, **fit)
            histories.append(history_of(made, "ndcg_exp@10"))
            if host == "CatBoostRanker":  # whose callback stops, and raises after the fit
                callback.check_pruned()
            return made.score(X, y, qid=qid)

        trial = self.trial_of(objective, threshold)
        assert trial.state.name == ("PRUNED" if threshold else "COMPLETE")
        assert len(trial.intermediate_values) == 1 if threshold else len(trial.intermediate_values) > 1
        for history in histories:  # if the fit has ended
            assert list(trial.intermediate_values.values()) == history

    def test_one_that_ends_the_training_does_not_hide_the_round(self) -> None:
        callback = pytest.importorskip("xgboost.callback", reason="xgboost is not installed")
        plain = QueryRanker(of_host("XGBRanker"), early_stopping_rounds=ROUNDS, metric="map", random_state=0)
        best = plain.fit(X, y, qid=qid).n_rounds_ - 1
        assert best > 0

        class Stop(callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return epoch == best

        heard: list[int] = []
        estimator = of_host("XGBRanker", callbacks=[Stop(), listener(heard)])
        made = QueryRanker(estimator, early_stopping_rounds=ROUNDS, metric="map", random_state=0).fit(X, y, qid=qid)
        assert heard == list(range(best + 1))
        assert made.n_rounds_ == made.estimator_.get_booster().num_boosted_rounds() == best + 1


class TestCatBoost:
    def test_categories(self) -> None:
        inputs = frame(X, qid).assign(kind=np.where(X[:, 0] > 0, "a", "b"))
        estimator = of_host("CatBoostRanker", cat_features=("kind",))
        made = QueryRanker(estimator, early_stopping_rounds=2, metric="mrr", random_state=1).fit(inputs, y)
        held = np.isin(qid, made.validation_qid_)
        assert max(history_of(made, "mrr")) == pytest.approx(made.score(inputs[held], y[held]), rel=1e-12)


def test_which_queries_are_held_out() -> None:
    options = {"early_stopping_rounds": 1, "random_state": 3}
    some = ranker(**options).fit(X, y, qid=qid).validation_qid_
    np.testing.assert_array_equal(some, ranker(**options).fit(X, y, qid=qid).validation_qid_)
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(some, ranker(**options | {"random_state": state}).fit(X, y, qid=qid).validation_qid_)
    assert set(some) != set(ranker(**options | {"random_state": 4}).fit(X, y, qid=qid).validation_qid_)
    for fraction, n in ((0.5, 22), (0.001, 1), (0.999, 44)):
        made = ranker(validation_fraction=fraction, metric="p@1", **options)
        if n == 1:  # where no_relevant queries are alone, there is nothing to watch
            made.set_params(metric="dcg@5")
        assert len(made.fit(X, y, qid=qid).validation_qid_) == n
