"""Early stopping in `QueryRanker`: the best round is that of a scan over a model that was trained without stopping."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from folds import Rows, estimator_of, fit_by_hand, frame, lgbm_ranker, ranker, scattered
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost.callback import TrainingCallback

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker

pytestmark = pytest.mark.integration

X, y, qid = ROWS = scattered()

ROUNDS = 12
RANKERS = ["LGBMRanker", "XGBRanker", "CatBoostRanker"]
HOSTS = [*RANKERS, "LGBMRegressor", "XGBRegressor", "CatBoostRegressor"]


def predictions(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Scores after each round."""
    if isinstance(model, lgb.LGBMModel):
        return [model.predict(X, num_iteration=i + 1) for i in range(ROUNDS)]
    if hasattr(model, "staged_predict"):
        return [model.predict(X, ntree_end=i + 1) for i in range(ROUNDS)]
    return [model.predict(X, iteration_range=(0, i + 1)) for i in range(ROUNDS)]


def history_of(made: QueryRanker, metric: str) -> list[float]:
    return made.estimator_.evals_result_["validation"][metric]


def best_of(values: list[float], patience: int, min_delta: float = 0) -> int:
    """The best round, counted from 0, until none was better by more than a delta for so many rounds."""
    best = 0
    for i, value in enumerate(values):
        if value - values[best] > min_delta:
            best = i
        elif i - best >= patience:
            break
    return best


def scan(
    estimator: Any, rows: Rows, held: np.ndarray, metric: str, patience: int, min_delta: float = 0, **given: np.ndarray
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
    return best_of(values, patience, min_delta), model, values


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    ("metric", "patience", "piped", "min_delta"),
    [("ndcg@10", 2, False, 0), ("err@5", ROUNDS, False, 0), ("ndcg@10", 2, True, 0), ("ndcg@3", ROUNDS, False, 0.1)],
)
def test_the_best_round_is_that_of_a_scan(host: str, metric: str, patience: int, piped: bool, min_delta: float) -> None:
    """Steps before the estimator are fitted on what is not held out."""
    estimator = estimator_of(host, ROUNDS)
    model = make_pipeline(StandardScaler(), estimator) if piped else estimator
    made = QueryRanker(model, early_stopping_rounds=patience, metric=metric, random_state=1, min_delta=min_delta)
    made.fit(frame(X, qid), y)
    held = np.isin(qid, made.validation_qid_)
    scaled = StandardScaler().fit(X[~held]).transform(X) if piped else X
    best, model, values = scan(estimator, (scaled, y, qid), held, metric, patience, min_delta)
    assert made.n_rounds_ == best + 1
    assert not min_delta or best != best_of(values, patience)
    if host.startswith("XGB"):  # whose Booster.predict would use all rounds
        booster = (made.estimator_[-1] if piped else made.estimator_).get_booster()
        assert booster.num_boosted_rounds() == best + 1
    tolerance = 1e-6 if piped else 0  # a scaler sums rows in another order
    np.testing.assert_allclose(made.predict(frame(X, qid)), predictions(model, scaled)[best], rtol=tolerance)
    assert len(made.validation_qid_) == 9
    assert set(made.queries_) == set(qid.tolist())


@pytest.mark.parametrize("host", HOSTS)
def test_weights_and_scores_to_start_from(host: str) -> None:
    rng = np.random.default_rng(1)
    # LightGBM's predictions leave out the scores to start from, XGBoost's the scores to start from of the training.
    name = {"LGBM": "init_score", "XGBR": "base_margin", "CatB": "baseline"}[host[:4]]
    start = {name: rng.random(len(y))}
    weight = {"sample_weight": np.where(qid % 3, 0.1, 5.0) * rng.random(len(y))}
    estimator = estimator_of(host, ROUNDS, **{"base_score": 0.0} if host.startswith("XGB") else {})
    for given in (weight, start, weight | start):
        made = QueryRanker(estimator, early_stopping_rounds=ROUNDS, metric="mrr", random_state=0)
        made.fit(X, y, qid=qid, **given)
        held = np.isin(qid, made.validation_qid_)
        best, model, values = scan(estimator, ROWS, held, "mrr", ROUNDS, **given)
        np.testing.assert_allclose(history_of(made, "mrr"), values, rtol=1e-12)
        assert made.n_rounds_ == best + 1
        np.testing.assert_array_equal(made.predict(X), predictions(model, X)[best])


class TestAsManyEntriesAsRows:
    """A parameter that is not of the rows stays whole, whatever its length."""

    SQUARE = np.random.default_rng(0).integers(0, 3, (36, 36))
    GRADES, QUERIES = np.arange(36) % 3, np.arange(36) % 6
    NAMES: ClassVar = [f"f{i}" for i in range(36)]

    @pytest.mark.parametrize(
        ("host", "given"),
        [
            ("LGBMRanker", {"feature_name": NAMES}),
            ("LGBMRanker", {"categorical_feature": list(range(36))}),
            ("CatBoostRanker", {"cat_features": NAMES}),
        ],
        ids=lambda given: next(iter(given)) if isinstance(given, dict) else given,
    )
    def test_of_columns(self, host: str, given: dict[str, Any]) -> None:
        table = pd.DataFrame(self.SQUARE, columns=self.NAMES) if host == "CatBoostRanker" else self.SQUARE
        made = QueryRanker(estimator_of(host), early_stopping_rounds=2, metric="dcg@5", random_state=0)
        made.fit(table, self.GRADES, qid=self.QUERIES, **given)
        if "feature_name" in given:
            assert made.estimator_.feature_name_ == self.NAMES
        if host == "CatBoostRanker":
            assert len(made.estimator_.get_cat_feature_indices()) == 36

    def test_of_callbacks(self) -> None:
        calls: list[int] = []
        callbacks = [lambda _, i=i: calls.append(i) for i in range(36)]
        made = QueryRanker(lgbm_ranker(), early_stopping_rounds=2, metric="dcg@5", random_state=0)
        made.fit(self.SQUARE, self.GRADES, qid=self.QUERIES, callbacks=callbacks)
        n_rounds = len(history_of(made, "dcg@5"))
        assert calls == list(range(36)) * n_rounds


class Listener(TrainingCallback):
    """A callback of XGBoost and CatBoost, which hears the metric of each round; all copies have one list."""

    heard: ClassVar[list[float]] = []

    def after_iteration(self, *given: Any) -> bool:
        logged = given[0].metrics if len(given) == 1 else given[2]
        self.heard.append(logged["validation"]["ndcg@10"][-1])
        return len(given) == 1  # CatBoost goes on then, and XGBoost otherwise


@pytest.mark.parametrize("host", RANKERS)
class TestWhatIsLeftBehind:
    def test_callbacks_of_the_users_but_no_data(self, host: str) -> None:
        """A callback may prune by the metric of its round, so it must be called after that is known."""
        callbacks = {"callbacks": [Listener()]}
        if host == "LGBMRanker":
            callbacks = {"callbacks": [lambda env: Listener.heard.append(env.evaluation_result_list[0][2])]}
        settings, given = (callbacks, {}) if host == "XGBRanker" else ({}, callbacks)
        estimator = estimator_of(host, ROUNDS, **settings)
        Listener.heard.clear()
        made = QueryRanker(estimator, early_stopping_rounds=2, random_state=0).fit(X, y, qid=qid, **given)
        assert Listener.heard == history_of(made, "ndcg@10")
        again = pickle.loads(pickle.dumps(made))
        np.testing.assert_array_equal(again.predict(X), made.predict(X))
        assert len(pickle.dumps(made)) < X.nbytes
        assert all(isinstance(c, Listener) for c in made.estimator_.get_params().get("callbacks") or [])
        np.testing.assert_array_equal(made.fit(X, y, qid=qid, **given).predict(X), again.predict(X))

    def test_a_later_fit_without_it(self, host: str) -> None:
        made = QueryRanker(estimator_of(host), early_stopping_rounds=2, random_state=0).fit(X, y, qid=qid)
        made.set_params(early_stopping_rounds=None).fit(X, y, qid=qid)
        assert not hasattr(made, "n_rounds_")
        assert not hasattr(made, "validation_qid_")
        np.testing.assert_array_equal(made.predict(X), fit_by_hand(estimator_of(host), X, y, qid).predict(X))

    def test_the_log_holds_the_metric_alone(self, host: str) -> None:
        made = QueryRanker(estimator_of(host), early_stopping_rounds=2, metric="mrr", random_state=0)
        log = made.fit(X, y, qid=qid).estimator_.evals_result_
        if host == "CatBoostRanker":  # which always logs the metric of its loss, too
            assert set(log["validation"]) == {"mrr", "NDCG:type=Base"}
            assert log["learn"] == {"mrr": [-1] * len(log["validation"]["mrr"])}
        else:
            assert {data: list(metrics) for data, metrics in log.items()} == {"validation": ["mrr"]}
        held = np.isin(qid, made.validation_qid_)
        assert max(log["validation"]["mrr"]) == made.score(X[held], y[held], qid[held])


def test_a_callback_that_ends_the_training_does_not_hide_the_round() -> None:
    def fit(state: int, **callbacks: Any) -> QueryRanker:
        estimator = estimator_of("XGBRanker", ROUNDS, **callbacks)
        return QueryRanker(estimator, early_stopping_rounds=ROUNDS, random_state=state).fit(X, y, qid=qid)

    # Which split has its best round later than the first depends on XGBoost's version.
    state, best = next((s, found - 1) for s in range(20) if (found := fit(s).n_rounds_) > 1)

    class Stop(TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return epoch == best

    Listener.heard.clear()
    made = fit(state, callbacks=[Stop(), Listener()])
    assert made.n_rounds_ == made.estimator_.get_booster().num_boosted_rounds() == len(Listener.heard) == best + 1


@pytest.mark.parametrize("host", ["XGBRanker", "XGBRegressor"])
def test_xgboost_prints_its_rounds_only_if_asked_to(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its version does by default."""
    made = QueryRanker(estimator_of(host, 3), early_stopping_rounds=2, random_state=0)
    made.fit(X, y, qid=qid)
    assert capsys.readouterr().out == ""
    made.fit(X, y, qid=qid, verbose=True)
    assert "[1]\tvalidation-ndcg@10:" in capsys.readouterr().out


def test_categories_of_catboost() -> None:
    inputs = frame(X, qid).assign(kind=np.where(X[:, 0] > 0, "a", "b"))
    estimator = estimator_of("CatBoostRanker", cat_features=("kind",))
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


@pytest.mark.filterwarnings(r"ignore:[\s\S]*(are not used|deprecated|gblinear)")  # of XGBoost
@pytest.mark.parametrize(
    ("host", "settings"),
    [
        ("XGBRanker", {"rate_drop": 0.5}),
        ("XGBRanker", {"one_drop": 1}),
        ("XGBRanker", {"booster": "dart"}),
        ("XGBRegressor", {"booster": "dart", "rate_drop": 0.5}),
        ("XGBRanker", {"num_parallel_tree": 3, "subsample": 0.5}),
        ("LGBMRanker", {"boosting": "DART"}),
        ("LGBMRanker", {"boosting_type": "gbdt", "boosting": "dart"}),
        ("LGBMRanker", {"boosting_type": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}),
        ("LGBMRanker", {"linear_tree": True}),
        ("CatBoostRanker", {"model_shrink_rate": 0.2, "model_shrink_mode": "Constant"}),
        ("CatBoostRanker", {"model_shrink_rate": 0.2, "model_shrink_mode": "Decreasing"}),
    ],
    ids=str,
)
def test_the_model_that_is_kept_is_the_one_that_was_evaluated(host: str, settings: dict[str, Any]) -> None:
    """Otherwise it is refused: a version of a host decides which settings change earlier rounds."""
    made = QueryRanker(estimator_of(host, 20, **settings), early_stopping_rounds=5, metric="ndcg@10", random_state=0)
    try:
        made.fit(X, y, qid=qid)
    except ltr.LtrValueError as error:
        assert "search over estimator__n_estimators" in str(error)  # noqa: PT017  # either is right
        return
    held = np.isin(qid, made.validation_qid_)
    logged = history_of(made, "ndcg@10")[made.n_rounds_ - 1]
    assert logged == pytest.approx(made.score(X[held], y[held], qid=qid[held]), rel=1e-12)
