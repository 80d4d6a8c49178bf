"""What all hosts have in common: one number everywhere, and a clear error instead of a number for bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pytest
from lightgbm_fit import validation_sets
from sklearn.model_selection import GroupKFold, cross_validate

import ltr_metrics as ltr
from ltr_metrics.io import read_letor
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.report import summarize
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
from ltr_metrics.xgboost import Monitor, custom_metric  # noqa: E402

catboost = pytest.importorskip("catboost", reason="catboost is not installed")
from ltr_metrics.catboost import EvalMetric  # noqa: E402

METRICS = ["err@10", "ndcg_exp@10", "ndcg_lin@10", "map", "mrr", "rbp", "pair_accuracy"]
LIGHTGBM = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "seed": 0}
XGBOOST = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "seed": 0}
ROUNDS = 4


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None

    @property
    def group(self) -> Any:
        return None if self.qid is None else ltr.qid_to_group(self.qid)


@pytest.fixture(scope="module")
def split() -> tuple[Data, Data]:
    X, y, qid = ltr.make_ranking(n_queries=40, documents=10, n_features=5, random_state=0)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, test_size=0.4, random_state=0)
    return Data(X, y, qid), Data(Xv, yv, qidv)


def lightgbm_train(train: Data, valid: Data, metric: Any, diverge: bool = False) -> dict[str, list[float]]:
    history: dict = {}
    train_set = lgb.Dataset(train.X, train.y, group=train.group)
    valid_set = lgb.Dataset(valid.X, valid.y, group=valid.group, reference=train_set)
    objective = _infinities() if diverge else "regression" if train.qid is None else "lambdarank"
    callbacks = [lgb.record_evaluation(history), *([RATES] if diverge else [])]
    lgb.train(LIGHTGBM | {"objective": objective}, train_set, ROUNDS, [valid_set], feval=metric, callbacks=callbacks)
    return history["valid_0"]


def lightgbm_ranker(train: Data, valid: Data, metric: Any, diverge: bool = False) -> dict[str, list[float]]:
    options: dict[str, Any] = {"n_estimators": ROUNDS, "metric": "None", "verbose": -1, "n_jobs": 1}
    fit: dict[str, Any] = {"eval_metric": metric} | validation_sets((valid.X, valid.y))
    if diverge:
        options["objective"], fit["callbacks"] = _infinities(), [RATES]
    if train.qid is None:
        model = lgb.LGBMRegressor(**options).fit(train.X, train.y, **fit)
    else:
        model = lgb.LGBMRanker(**options).fit(train.X, train.y, group=train.group, eval_group=[valid.group], **fit)
    return model.evals_result_["valid_0"]


RATES = lgb.reset_parameter(learning_rate=[0.1, 1e300, 1e300, 0.1])


def _infinities() -> Callable[..., Any]:
    """Leaves of +inf and then -inf: where gradients themselves are NaN, LightGBM stops growing trees."""
    sign = iter([1, 1, -1, 1])

    def gradients(of_rows: Any, other: Any) -> tuple[np.ndarray, np.ndarray]:
        return next(sign) * np.full(len(of_rows), 1e10), np.ones(len(of_rows))

    return gradients


def xgboost_train(train: Data, valid: Data, metric: Any, diverge: bool = False) -> dict[str, list[float]]:
    history: dict = {}
    matrices = [xgb.DMatrix(part.X, part.y, qid=part.qid) for part in (train, valid)]
    params = XGBOOST if train.qid is not None else XGBOOST | {"objective": "reg:squarederror"}
    xgb.train(
        params, matrices[0], ROUNDS, evals=[(matrices[1], "valid")], custom_metric=metric, evals_result=history,
        callbacks=[xgb.callback.LearningRateScheduler(nan_in_round_2)] if diverge else [], verbose_eval=False,
    )  # fmt: skip
    return history["valid"]


def xgboost_ranker(train: Data, valid: Data, monitor: Any, diverge: bool = False) -> dict[str, list[float]]:
    callbacks = [xgb.callback.LearningRateScheduler(nan_in_round_2)] if diverge else []
    made = xgb.XGBRanker if train.qid is not None else xgb.XGBRegressor
    queries = {"qid": train.qid} if train.qid is not None else {}
    model = made(n_estimators=ROUNDS, n_jobs=1, callbacks=[*callbacks, monitor(valid)])
    model.fit(train.X, train.y, **queries)
    return model.evals_result()["valid"]


def nan_in_round_2(round_: int) -> float:
    return float("nan") if round_ == 2 else 0.1


def catboost_ranker(train: Data, valid: Data, make: Any, diverge: bool = False) -> dict[str, list[float]]:
    """CatBoost logs the first metric, and a log has the others. Its error holds the text of ours."""
    log = ltr.PerQueryLog()
    metric = make(valid, log)
    if diverge:  # CatBoost's own training never gives a NaN score
        nan = np.full(len(valid.y), np.nan)
        metric.evaluate((nan,), np.asarray(valid.y, dtype=np.float32), None)
    pools = [catboost.Pool(part.X, part.y, group_id=part.qid) for part in (train, valid)]
    options = {"iterations": ROUNDS, "loss_function": "QueryRMSE" if train.qid is not None else "RMSE"}
    model = catboost.CatBoostRanker(
        **options, eval_metric=metric, thread_count=1, verbose=False, allow_writing_files=False, use_best_model=False
    )
    try:
        model.fit(pools[0], eval_set=pools[1])
    except catboost.CatBoostError as error:
        raise _error_in(error) from error
    history = {str(m): list(np.nanmean(log.values("validation", m), axis=1)) for m in metric.metrics.request.metrics}
    first = next(iter(history))
    assert history[first] == pytest.approx(model.evals_result_["validation"][first], rel=1e-12)
    return history


def _error_in(error: catboost.CatBoostError) -> Exception:
    """Return the error whose traceback CatBoost's message ends with."""
    name, _, message = str(error).strip().rpartition("ltr_metrics.")[2].partition(": ")
    return {"LtrValueError": ltr.LtrValueError, "LtrTypeError": ltr.LtrTypeError}.get(
        name.rpartition(".")[2].replace("UndefinedMeanError", "LtrValueError"), ValueError
    )(message or str(error))


def scikit_learn(train: Data, valid: Data, scorer: Any, diverge: bool = False) -> dict[str, list[float]]:
    if train.qid is None:
        model = lgb.LGBMRegressor(n_estimators=ROUNDS, verbose=-1, n_jobs=1).fit(train.X, train.y)
        return scorer(model, valid.X, valid.y)
    ranker = lgb.LGBMRanker(n_estimators=ROUNDS, verbose=-1, n_jobs=1, random_state=0)
    model = _Diverged() if diverge else QueryRanker(ranker).fit(train.X, train.y, qid=train.qid)
    return {name: [value] for name, value in scorer(model, valid.X, valid.y, qid=valid.qid).items()}


class _Diverged:
    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), np.nan)


class Host(NamedTuple):
    run: Callable[..., dict[str, list[float]]]
    adapter: Callable[..., Any]
    name: str  # of the adapter, as messages say it


HOSTS = {
    "lgb.train": Host(lightgbm_train, feval, "ltr_metrics.lightgbm.feval"),
    "LGBMRanker": Host(lightgbm_ranker, eval_metric, "ltr_metrics.lightgbm.eval_metric"),
    "xgb.train": Host(xgboost_train, custom_metric, "ltr_metrics.xgboost.custom_metric"),
    "XGBRanker": Host(
        xgboost_ranker,
        lambda metrics, **options: lambda data: Monitor(metrics, data.X, data.y, qid=data.qid, **options),
        "ltr_metrics.xgboost.Monitor",
    ),
    "CatBoostRanker": Host(
        catboost_ranker,
        lambda metrics, **options: lambda data, log: EvalMetric(metrics, (data.y, data.qid), **{"log": log} | options),
        "ltr_metrics.catboost.EvalMetric",
    ),
    "scikit-learn": Host(scikit_learn, make_scorer, "ltr_metrics.sklearn.make_scorer"),
}


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


def test_good_input(host: Host, split: tuple[Data, Data]) -> None:
    """What the bad cases below differ from."""
    logged = host.run(*split, host.adapter(METRICS))
    assert list(logged) == METRICS
    assert all(np.isfinite(values).all() for values in logged.values())


class TestBadInput:
    def test_no_queries(self, host: Host, split: tuple[Data, Data]) -> None:
        without = [Data(part.X, part.y, None) for part in split]
        with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=r"quer(y|ies)|qid"):
            host.run(*without, host.adapter(METRICS))

    @pytest.mark.filterwarnings("ignore:.*Empty dataset", "ignore:Exception ignored")
    def test_empty_validation_set(self, host: Host, split: tuple[Data, Data]) -> None:
        train, valid = split
        empty = Data(valid.X[:0], valid.y[:0], valid.qid[:0])
        with pytest.raises(Exception, match=r"(?i)empty|no rows|no quer|non-?empty|0 sample|num_data") as caught:
            host.run(train, empty, host.adapter(METRICS))
        assert isinstance(caught.value, (ltr.LtrError, lgb.basic.LightGBMError, ValueError))

    def test_nan_after_a_diverged_round(self, host: Host, split: tuple[Data, Data]) -> None:
        with pytest.raises(ltr.LtrValueError, match="NaN"):
            host.run(*split, host.adapter(METRICS), diverge=True)

    def test_a_metric_that_is_undefined_for_all_queries(self, host: Host, split: tuple[Data, Data]) -> None:
        train, valid = split
        with pytest.raises(ltr.LtrValueError, match="map is undefined for all 16 queries"):
            host.run(train, Data(valid.X, valid.y * 0, valid.qid), host.adapter(["err@10", "map"]))

    def test_labels_that_a_metric_is_not_defined_on(self, host: Host, split: tuple[Data, Data]) -> None:
        train, valid = split
        with pytest.raises(ltr.LtrValueError, match="err.*grade"):
            host.run(train, Data(valid.X, valid.y + 0.5, valid.qid), host.adapter("err@10"))

    def test_arguments(self, host: Host, split: tuple[Data, Data]) -> None:
        def make(*args: Any, **options: Any) -> None:
            made = host.adapter(*args, **options)
            if host.name.endswith("Monitor"):
                made(split[1])
            elif host.name.endswith("EvalMetric"):
                made(split[1], options.get("log"))

        with pytest.raises(ltr.LtrValueError, match="Did you mean 'ndcg'"):
            make("ndgc@10")
        with pytest.raises(ltr.LtrValueError, match="no host passes to a metric"):
            make("mrr", ties="docid")
        if not host.name.endswith("make_scorer"):  # whose scorer finds the column in X
            with pytest.raises(ltr.LtrValueError, match="column 'price'"):
                make("mean_of(price)")
            with pytest.raises(ltr.LtrValueError, match="column 'price'"):
                make("sum_of(price)")
        with pytest.raises(ltr.LtrTypeError, match="log must be a PerQueryLog"):
            make("mrr", log=[])


class _PredictsColumns:
    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([X[:, 0], X[:, 1]])


BOUND_TO_DATA = ("XGBRanker", "CatBoostRanker")  # their adapters get the data when they are created


@pytest.mark.parametrize("name", [name for name in HOSTS if name not in BOUND_TO_DATA])
def test_several_scores_a_row(name: str, split: tuple[Data, Data]) -> None:
    """All adapters have one wording; test_xgboost.py and test_catboost.py test those of the other two."""
    X, y, qid = split[1]
    metric, group = HOSTS[name].adapter("mrr"), split[1].group
    calls: dict[str, Callable[[], Any]] = {
        "lgb.train": lambda: metric(X[:, :2], lgb.Dataset(X, y, group=group).construct()),
        "LGBMRanker": lambda: metric(y, X[:, :2], None, group),
        "xgb.train": lambda: metric(X[:, :2], xgb.DMatrix(X, y, qid=qid)),
        "scikit-learn": lambda: metric(_PredictsColumns(), X, y, qid=qid),
    }
    message = rf"A ranking needs one score a row\. The model predicts an array of shape \({len(y)}, 2\)"
    with pytest.raises(ltr.LtrValueError, match=message):
        calls[name]()


CALLED_IN_TRAINING = ["lgb.train", "LGBMRanker", "xgb.train"]


@pytest.mark.parametrize("given", [name for name in HOSTS if name != "XGBRanker"])
@pytest.mark.parametrize("place", CALLED_IN_TRAINING)
def test_the_wrong_hosts_callable(place: str, given: str, split: tuple[Data, Data]) -> None:
    """The error names the right one."""
    adapter = adapter_for(given, split[1])
    if given == place:
        assert HOSTS[place].run(*split, adapter)["mrr"]
        return
    with pytest.raises(ltr.LtrTypeError, match=HOSTS[place].name.replace(".", r"\.")):
        HOSTS[place].run(*split, adapter)


def adapter_for(host: str, valid: Data) -> Any:
    """Return what a user of that host would pass."""
    adapter = HOSTS[host].adapter("mrr")
    if host == "XGBRanker":
        return adapter(valid)
    return adapter(valid, None) if host == "CatBoostRanker" else adapter


@pytest.mark.parametrize("given", HOSTS)
def test_a_function_as_the_metric_of_xgbranker(given: str, split: tuple[Data, Data]) -> None:
    """XGBRanker calls it once a query, and averages by query size: only the Monitor can be right."""
    train, valid = split
    adapter = adapter_for(given, valid)
    model = xgb.XGBRanker(n_estimators=2, n_jobs=1, eval_metric=adapter)
    with pytest.raises(ltr.LtrTypeError, match=r"ltr_metrics\.xgboost\.Monitor"):
        model.fit(train.X, train.y, qid=train.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid], verbose=False)


@pytest.mark.parametrize("given", [name for name in HOSTS if name not in ("scikit-learn", "XGBRanker")])
def test_a_hosts_metric_as_scoring(given: str, split: tuple[Data, Data]) -> None:
    X, y, qid = split[0]
    model = lgb.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1)
    with pytest.raises(ltr.LtrTypeError, match=r"ltr_metrics\.sklearn\.make_scorer"):
        cross_validate(
            model, X, y, groups=qid, cv=GroupKFold(2), scoring=adapter_for(given, split[1]), error_score="raise"
        )


def logs_of_one_model(train: Data, valid: Data) -> dict[str, dict[str, float]]:
    """Evaluate one model everywhere: it is XGBoost's, whose scores LightGBM starts from and adds nothing to."""
    callbacks = [Monitor(METRICS, valid.X, valid.y, qid=valid.qid)]
    model = xgb.XGBRanker(n_estimators=20, random_state=0, n_jobs=1, callbacks=callbacks)
    model.fit(train.X, train.y, qid=train.qid)
    matrix = xgb.DMatrix(valid.X, valid.y, qid=valid.qid)
    margins = model.predict(valid.X)
    logs = {"XGBRanker": {name: values[-1] for name, values in model.evals_result()["valid"].items()}}
    text = model.get_booster().eval_set([(matrix, "valid")], feval=custom_metric(METRICS)).split()
    shown = [line.removeprefix("valid-").rpartition(":") for line in text if line.startswith("valid-")]
    logs["xgb.train"] = {name: float(value) for name, _, value in shown if name in METRICS}
    start = lgb.Dataset(train.X, train.y, group=train.group, init_score=model.predict(train.X))
    held = lgb.Dataset(valid.X, valid.y, group=valid.group, init_score=margins, reference=start)
    history: dict = {}
    nothing = LIGHTGBM | {"min_data_in_leaf": len(train.y)}
    lgb.train(nothing, start, 1, [held], feval=feval(METRICS), callbacks=[lgb.record_evaluation(history)])
    logs["lgb.train"] = {name: values[0] for name, values in history["valid_0"].items()}
    logs["scorer"] = make_scorer(METRICS)(model, valid.X, valid.y, qid=valid.qid)
    report = summarize(ltr.Queries(valid.y, qid=valid.qid), {"model": margins}, METRICS)
    logs["report"] = {row["metric"]: row["mean"] for row in report.means()}
    return logs


def assert_one_number(logs: dict[str, dict[str, float]]) -> None:
    text = logs.pop("xgb.train")
    assert text == pytest.approx(logs["report"], abs=5.1e-7)  # XGBoost's log has six decimals
    for name, values in logs.items():
        assert values == logs["report"], name


def test_one_number_in_all_logs_the_scorer_and_the_report(split: tuple[Data, Data]) -> None:
    assert_one_number(logs_of_one_model(*split))


@pytest.mark.filterwarnings("ignore:err counts grades")
def test_one_number_on_mq2008(data: Path) -> None:
    parts = [read_letor(data / "mq2008" / f"S{i}.txt.xz") for i in (1, 4)]
    train, valid = (Data(part.X, part.y, ltr.group_to_qid(ltr.qid_to_group(part.qid))) for part in parts)
    assert_one_number(logs_of_one_model(train, valid))
