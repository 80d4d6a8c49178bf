"""What every host has in common: its log is `ltr.evaluate` on the model of each round, and bad input is an error."""

from __future__ import annotations

import ast
import copy
import dataclasses
import gc
import inspect
import pickle
import re
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from profiles import MULTIPLE
from sklearn.model_selection import GroupKFold, cross_validate
from trainings import HOSTS, TRAININGS, Case, Host, Part, matrix

import ltr_metrics as ltr
from ltr_metrics import lightgbm, xgboost
from ltr_metrics.sklearn import make_scorer

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:(err|pfound) (counts grades|takes)")]

LINEAR, STEPS = [0, 1, 2, 3, 4], [0, 0.5, 2, 2.5, 10]
OWN = {"Ndcg@10": "gain", "err(max_grade=5)@10": "stops"}
NAMES = {
    "asked": ["ndcg@10", "err(max_grade=5)@10", "map(rel=2)@5"],
    "canonical": ["ndcg_exp@10", "err(max_grade=5)@10", "map(rel=2)@5"],
    "slug": ["ndcg_exp_at_10", "err-max_grade-5_at_10", "map-rel-2_at_5"],
    "own": ["gain", "stops", "map(rel=2)@5"],
}
NAMED = ["NDCG@10", "ERR(max_grade=5)@10", "ndcg_exp@10", ltr.MAP(k=5, rel=2)]  # one of them twice
QUESTIONS = ("ndcg@10", "ndcg_lin@3", "ndcg(short=zero)@6", "dcg@5", "precision@3", "recall(rel=>0.5)@4", "f1@3", "rprec", "map",
             "map(denominator=relevant)@5", "mrr", "mrr(rel=2)@3", "err@5", "rbp", "pfound(p_rel=yandex)@5",
             "pair_accuracy", "kendall")  # fmt: skip
SEEDS = max(2, round(5 * MULTIPLE))
CONVENTIONS = ("default", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "letor")


def rank_of_first(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    ranks = np.flatnonzero(columns["bought"])
    return float(ranks[0] + 1 if len(ranks) else len(grades) + 1)


FIRST = ltr.as_metric(rank_of_first, name="first_purchase", higher_is_better=False, columns=["bought"])


def top_grades(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    return float((grades[:3] > 2).mean())


TOP_GRADES = ltr.as_metric(top_grades)


def parts(seed: int = 0, *, ties: bool = False, weighted: bool = False) -> tuple[Part, Part]:
    """Training and validation data: queries of one document, some without a relevant one, some scores alike."""
    X, y, qid = ltr.make_ranking(n_queries=50, documents=10, n_features=5, random_state=seed)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, test_size=0.4, random_state=seed)
    rng = np.random.default_rng(seed)
    kept = np.r_[True, qidv[1:] != qidv[:-1]] | (qidv > np.unique(qidv)[3])
    Xv, yv, qidv = Xv[kept], np.where(qidv % 5, yv, 0)[kept], qidv[kept]
    made = []
    for features, grades, ids in ((X, y, qid), (Xv, yv, qidv)):
        weight = rng.integers(1, 17, len(np.unique(ids))) / 8 if weighted else None
        bought = {"bought": (rng.random(len(grades)) < (grades + 0.2) / 8).astype(float)}
        made.append(Part(features.round(0) if ties else features, grades.astype(float), ids, weight, bought))
    return made[0], made[1]


PLAIN, TIED, WEIGHTED = parts(), parts(ties=True), parts(weighted=True)
N = len(PLAIN[1].y)


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


@pytest.fixture(params=TRAININGS)
def training(request: pytest.FixtureRequest) -> Host:
    return TRAININGS[request.param]


def columns_needed(case: Case) -> Case:
    """Only metrics of columns get them."""
    has_own = any(metric is FIRST for metric in np.atleast_1d(np.array(case.metrics, dtype=object)))
    return case if has_own else replace(case, valid=case.valid._replace(columns=None))


def check(host: Host, case: Case, *, has_log: bool = True) -> None:
    """Train, and compare the log, and the PerQueryLog, with `ltr.evaluate` on the scores of each round."""
    log = ltr.PerQueryLog()
    options = case.options | {"log": log} if has_log and not host.name.endswith("make_scorer") else case.options
    case = columns_needed(replace(case, options=options))
    run = host.train(case)
    policy = {name: value for name, value in case.options.items() if name not in ("log", "names")}
    results = [case.valid.evaluate(scores, list(case.metrics), **policy) for scores in run.scores]
    names = case.options.get("names", "asked")
    logged = (
        NAMES["own" if isinstance(names, dict) else names] if case.metrics is NAMED else list(map(str, case.metrics))
    )
    assert list(run.history) == (logged if host.logs_all else logged[:1])
    for name, canonical in zip(run.history, results[0].mean, strict=host.logs_all):
        expected = [result.mean[canonical] for result in results]
        np.testing.assert_allclose(run.history[name], expected, rtol=host.digits and 1e-12, atol=host.digits)
    for name, canonical in zip(logged, results[0].mean, strict=True) if run.data and has_log else ():
        expected = [result.per_query[canonical] for result in results]
        for asked in (name, canonical):
            np.testing.assert_allclose(log.values(run.data, asked), expected, rtol=host.digits and 1e-12)


@pytest.mark.parametrize(
    ("data", "metrics", "options"),
    [
        (PLAIN, ["err@10", "ndcg_lin@5", "mrr", "pair_accuracy"], {}),
        (TIED, ["ndcg@3", "map@5", "mrr@2"], {"ties": "worst", "no_relevant": 0}),
        (WEIGHTED, ["err@10", "map", TOP_GRADES], {"no_relevant": "drop"}),
        (TIED, ["ndcg@10", "map"], {"convention": "letor"}),
        *[(PLAIN, NAMED, {"names": OWN if names == "own" else names}) for names in NAMES],
    ],
)
def test_each_round_of_a_training(host: Host, data: tuple[Part, Part], metrics: Any, options: dict[str, Any]) -> None:
    check(host, Case(*data, metrics, options))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_trainings(host: Host, seed: int) -> None:
    """Data, weights, metrics and policies are drawn; LTR_METRICS_EXAMPLES=20 draws more of them, every week."""
    rng = np.random.default_rng(1000 + seed)
    metrics = rng.choice(QUESTIONS, int(rng.integers(2, 5)), replace=False).tolist()
    options: dict[str, Any] = {"ties": str(rng.choice(["mean", "stable", "worst", "best"])), "no_relevant": 0}
    data = parts(seed, ties=bool(rng.integers(2)), weighted=bool(rng.integers(2)))
    check(host, Case(*data, metrics, options, rounds=int(rng.integers(1, 5))))


def test_the_default_metrics(host: Host) -> None:
    valid, scores = PLAIN[1]._replace(columns=None), PLAIN[1].X[:, 0].astype(float)
    expected = valid.evaluate(scores, None).mean
    options = {"log": ltr.PerQueryLog()} if host.name.endswith("EvalMetric") else {}
    found = call(host, make(host, None, valid, **options), valid, scores)
    assert found == {name: expected[name] for name in found}


def test_a_metric_of_a_column(training: Host) -> None:
    check(training, Case(*PLAIN, [FIRST, "mrr"]))


def test_float32_labels_reach_a_threshold_as_the_users_do(host: Host) -> None:
    train, valid = PLAIN
    labels = np.choose(valid.y.astype(int), [0, 0.1, 0.7, 0.9, 1.0])
    check(host, Case(train, valid._replace(y=labels), ["precision(rel=0.7)@5", "map(rel=0.9)@5"]))


@pytest.mark.parametrize(
    ("metric", "has_delta"), [("err@10", False), (FIRST, False), ("map", True), (FIRST, True)], ids=str
)
def test_early_stopping_keeps_the_best_round_of_a_scan(training: Host, metric: Any, has_delta: bool) -> None:
    """In the metric's direction; the curves have their best round elsewhere in the other one, and without a delta."""
    case = columns_needed(Case(*PLAIN, [metric], rounds=25))
    (curve,) = training.train(case).history.values()
    rising = (-1 if metric is FIRST else 1) * np.array(curve)
    deltas = (
        0.005,
        0.01,
        0.02,
        0.05,
        0.2,
        1.0,
        5.0,
    )  # the first that changes the best round, which the host's version has
    min_delta = next(delta for delta in deltas if scan(rising, 4, delta) != scan(rising, 4)) if has_delta else 0
    best = scan(rising, 4, min_delta)
    assert has_delta or best != scan(-rising, 4)
    log = ltr.PerQueryLog()
    stopped = training.train(replace(case, stop=4, min_delta=min_delta, options={"log": log}))
    assert stopped.best == best
    means = log.learning_curve(stopped.data, metric).mean  # CatBoost's own log may have the best value so far
    np.testing.assert_allclose(means, curve[: len(means)], rtol=1e-12, atol=training.digits)
    assert len(means) == min(best + 5, 25)


def scan(curve: np.ndarray, patience: int, min_delta: float = 0) -> int:
    best = 0
    for i, value in enumerate(curve):
        if value - curve[best] > min_delta:
            best = i
        elif i - best >= patience:
            break
    return best


# -- by hand: without a training, on random data and questions -----------------------------------------------


class Predicts:
    """A model of any host that has these scores."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def predict(self, X: Any, **options: Any) -> Any:
        return self.scores

    def num_features(self) -> int:
        return 5


def call(host: Host, adapter: Any, valid: Part, scores: Any, data: Any = None) -> dict[str, float]:
    """Return what an adapter gives its host for scores of the validation set."""
    kind = host.name.rpartition(".")[2]
    if kind == "feval":
        data = data or lgb.Dataset(valid.X, valid.y, group=valid.group, weight=valid.row_weight).construct()
        return {name: value for name, value, _ in adapter(scores, data)}
    if kind == "eval_metric":
        return {name: value for name, value, _ in adapter(valid.y, scores, valid.row_weight, valid.group)}
    if kind == "custom_metric":
        return dict(adapter(scores, data or matrix(valid)))
    if kind == "Monitor":
        history: OrderedDict[str, list[float]] = OrderedDict()
        adapter.before_training(xgb.Booster())
        adapter.evaluate(Predicts(scores), 0, history)
        return {name: values[-1] for name, values in history.items()}
    if kind == "EvalMetric":
        columns = [scores] if np.ndim(scores) == 1 else [*np.asarray(scores).T]
        mean, _ = adapter.evaluate(columns, valid.y.astype(np.float32), valid.row_weight)
        return {next(iter(adapter.metrics.plan().logged.values())): mean}
    found = adapter(Predicts(scores), valid.X, valid.y, qid=valid.qid, sample_weight=valid.row_weight)
    return found if isinstance(found, dict) else {"": found}


def make(host: Host, metrics: Any, valid: Part, **options: Any) -> Any:
    if host.name.endswith("Monitor") and valid.weight is not None:
        options["query_weight"] = valid.weight
    return host.adapter(metrics, valid, **options)


@pytest.mark.parametrize("seed", range(15))
def test_random_questions(host: Host, seed: int) -> None:
    """The values are those of `ltr.evaluate`, and what one refuses the other refuses."""
    rng = np.random.default_rng(seed)
    valid = parts(seed, weighted=bool(rng.integers(2)))[1]._replace(columns=None)
    scores = rng.integers(0, 6, len(valid.y)) / 8 if rng.random() < 0.7 else rng.normal(size=len(valid.y))
    metrics = rng.choice(QUESTIONS, 3, replace=False).tolist()
    policy: dict[str, Any] = {"ties": str(rng.choice(["mean", "stable", "worst", "best"]))}
    if rng.random() < 0.5:
        policy["convention"] = str(rng.choice(CONVENTIONS))
    if rng.random() < 0.5:
        policy["no_relevant"] = [0, 1, "drop", "skip", "error"][rng.integers(5)]
    try:
        expected = valid.evaluate(scores, metrics, **policy).mean
    except ltr.LtrError:
        with pytest.raises(ltr.LtrError):
            call(host, make(host, metrics, valid, **policy), valid, scores)
        return
    found = call(host, make(host, metrics, valid, **policy), valid, scores)
    assert found == {name: pytest.approx(expected[name], rel=1e-12) for name in found}
    assert list(found) == metrics[: len(found)]


@pytest.mark.parametrize("copies", [copy.deepcopy, lambda adapter: pickle.loads(pickle.dumps(adapter))])
def test_copies(host: Host, copies: Any) -> None:
    valid, scores = WEIGHTED[1]._replace(columns=None), WEIGHTED[1].X[:, 0].astype(float)
    adapter = make(host, "ndcg_lin@5", valid, ties="worst", names={"ndcg_lin@5": "first"})
    expected = call(host, adapter, valid, scores)
    assert call(host, copies(adapter), valid, scores) == expected
    assert repr(copies(adapter)).partition("Queries")[0] == repr(adapter).partition("Queries")[0]


FUNCTIONS = [name for name in TRAININGS if name not in ("XGBRanker", "CatBoostRanker")]  # the others have their data


@pytest.mark.parametrize("change", ["label", "group", "weight"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_changes_of_a_data_set_are_noticed(name: str, change: str) -> None:
    host, valid = TRAININGS[name], PLAIN[1]._replace(columns=None, y=PLAIN[1].y.copy())
    scores, adapter = valid.X[:, 0].astype(float), host.adapter(["dcg_lin", "precision@3"], valid)
    data = None
    if name == "lgb.train":
        data = lgb.Dataset(valid.X, valid.y.copy(), group=valid.group).construct()
    elif name == "xgb.train":
        data = matrix(valid)
    before = call(host, adapter, valid, scores, data)
    if change == "label":
        valid.y[:] = (valid.y + 1) % 3  # in place
    elif change == "group":
        valid = valid._replace(qid=np.r_[np.zeros(2), np.ones(len(scores) - 2)])
    else:
        valid = valid._replace(weight=WEIGHTED[1].weight)
    if name == "lgb.train":
        data.set_label(valid.y)
        data.set_group(valid.group)
        data.set_field("weight", valid.row_weight)
    elif name == "xgb.train":
        data = matrix(valid) if change == "group" else data
        data.set_label(valid.y)
        data.set_weight(valid.weight if change == "weight" else [])
    found = call(host, adapter, valid, scores, data)
    assert found != before
    assert found == valid.evaluate(scores, ["dcg_lin", "precision@3"]).mean


@pytest.mark.parametrize("name", ["lgb.train", "xgb.train"])
def test_labels_are_laid_out_once_and_dropped_with_their_data_set(name: str, cached_queries: list[Any]) -> None:
    train, valid = parts(1)
    TRAININGS[name].train(columns_needed(Case(train, valid)))
    assert len(cached_queries) == 1
    del train, valid
    gc.collect()
    assert [reference() for reference in cached_queries] == [None]


# -- the host's own metrics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gain", [None, LINEAR, STEPS], ids=["default", "linear", "steps"])
@pytest.mark.parametrize("name", ["lgb.train", "LGBMRanker", "xgb.train", "XGBRanker", "CatBoostRanker"])
def test_the_convention_of_a_host_is_its_own_number_and_follows_its_gain(name: str, gain: Any) -> None:
    host = TRAININGS[name]
    if host.convention == "lightgbm":
        params: dict[str, Any] = {"metric": "ndcg", "eval_at": [10]} | ({} if gain is None else {"label_gain": gain})
    elif gain is STEPS or (gain and name == "CatBoostRanker"):
        pytest.skip(f"{name} has no such gain")
    else:
        params = {"ndcg_exp_gain": gain is None, "eval_metric": "ndcg@10"}
    theirs = "ndcg@10"
    if name == "CatBoostRanker":
        params, theirs = {"custom_metric": "NDCG:top=10;type=Base"}, "NDCG:top=10;type=Base"
    train, valid = parts(2, weighted=host.convention == "lightgbm")  # where others log the weighted mean
    options = {"convention": host.convention, "names": "canonical"}
    run = host.train(columns_needed(Case(train, valid, ["ndcg@10"], options, params)))
    own = {None: "exp", 1: "lin"}[gain and gain[1]] if gain is not STEPS else "(gain=[0,0.5,2,2.5,10])"
    expected = "ndcg_lin@10" if name == "CatBoostRanker" else f"ndcg_{own}@10" if gain is not STEPS else f"ndcg{own}@10"
    assert expected in run.history
    if name == "XGBRanker":  # whose own metric is of its own data sets
        matrix_ = matrix(valid._replace(weight=None))
        text = run.model.get_booster().eval_set([(matrix_, "v")])
        np.testing.assert_allclose(run.history[expected][-1], float(text.rpartition(":")[2]), atol=1e-6)
        return
    history = run.model.evals_result_["validation"] if name == "CatBoostRanker" else run.history
    digits = 1e-9 if name == "CatBoostRanker" else 1e-12
    np.testing.assert_allclose(run.history[expected], history[theirs], rtol=digits, atol=host.digits)


def test_a_gain_is_of_its_training_alone() -> None:
    """One function in several trainings; names that state their gain, and other conventions, do not follow."""
    train, valid = (part._replace(columns=None) for part in PLAIN)
    given = ["ndcg@10", "ndcg_exp@5", ltr.NDCG(k=3), "map@10"]
    adapter = TRAININGS["lgb.train"].adapter(given, valid, convention="lightgbm", names="canonical")
    for gain, name in ((LINEAR, "ndcg_lin@10"), (STEPS, "ndcg(gain=[0,0.5,2,2.5,10])@10"), (None, "ndcg_exp@10")):
        params = {} if gain is None else {"label_gain": gain}
        run = TRAININGS["lgb.train"].train(Case(train, valid, given, {}, params, adapter=adapter))
        assert list(run.history) == [name, "ndcg_exp@5", "ndcg_exp@3", "map(rel=>0.5)@10"]
    mine = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="mine", host=None)
    for convention in ("xgboost", mine, None):
        options = {"convention": convention, "names": "canonical"}
        case = Case(train, valid, ["ndcg@10"], options, {"label_gain": LINEAR})
        assert list(TRAININGS["lgb.train"].train(case).history) == ["ndcg_exp@10"]


@pytest.mark.parametrize(
    ("name", "params", "taken", "free"),
    [
        ("lgb.train", {"metric": "map", "eval_at": [10]}, "map@10", "map@3"),
        ("LGBMRanker", {"metric": "map", "eval_at": [3]}, "map@3", "map@5"),
        ("xgb.train", {"objective": "rank:map", "eval_metric": "map@10"}, "map@10", "map@3"),
    ],
)
def test_a_name_that_is_in_the_log_already_is_refused(name: str, params: Any, taken: str, free: str) -> None:
    """The host keeps one history for a name, so that it would hold its own values and ours in turn."""
    train, valid = (part._replace(y=np.minimum(part.y, 1), columns=None) for part in PLAIN)
    host = TRAININGS[name]
    with pytest.raises(ltr.LtrValueError, match=f"^'{taken}' of .* is in the log already"):
        host.train(Case(train, valid, [taken], {}, params))
    assert list(host.train(Case(train, valid, [free], {}, params)).history) == [taken, free]
    for options in ({"convention": host.convention}, {}):
        with pytest.raises(ltr.LtrValueError) as error:
            host.train(Case(train, valid, [taken], options, params))
        (remedy,) = re.findall(r"in the log: names=(.*)\.$", str(error.value))
        run = host.train(Case(train, valid, [taken], options | {"names": ast.literal_eval(remedy)}, params))
        assert len(run.history) == 2


# -- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        ("ndgc@10", {}, "Did you mean 'ndcg'"),
        ("mrr", {"ties": "docid"}, "no host passes to a metric"),
        ("mrr", {"log": []}, "must be a (PerQuery|Search)Log"),
        ("mrr", {"names": "canonic"}, "names must be one of 'asked', 'canonical', 'slug'"),
        (["ndcg@10", "mrr"], {"names": {"ndgc@10": "x"}}, "names has 'ndgc@10'.*Did you mean 'ndcg@10'"),
        ("mrr", {"names": {"mrr": " "}}, "text that is not empty. Got ' ' for 'mrr'"),
        ("mrr", {"names": {"mrr": "\x07"}}, "printable characters"),
        (["mrr", "map"], {"names": {"mrr": "x", "map": "x"}}, "be logged as 'x', which is the name of mrr"),
        (["mrr", "map"], {"names": {"mrr": "map", "map": "mrr"}}, "which is the name of map here"),
        (
            ["mrr", "ap@5"],
            {"names": {"mrr": "ap@5", "ap@5": "x"}},
            "which is the name of map@5 here",
        ),  # as it was asked for
        (
            ["map@5", ltr.MAP(k=5)],
            {"convention": "trec_eval", "ties": "mean"},
            r'as .map@5., which is the name of map@5 here\..*names={"map\(denominator=relevant\)@5": "map@5_2"}',
        ),
    ],
)
def test_arguments(host: Host, metrics: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        make(host, metrics, PLAIN[1], **options)


@pytest.mark.parametrize("metric", ["mean_of(price)", FIRST], ids=str)
def test_a_column_that_is_missing(training: Host, metric: Any) -> None:
    with pytest.raises(ltr.LtrValueError, match=r"column '(price|bought)'"):
        make(training, metric, PLAIN[1])


@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        (np.zeros(N), np.zeros(N), "map is undefined for all 20 queries"),
        (PLAIN[1].y + 0.5, np.zeros(N), "err.*grade"),
        (PLAIN[1].y, np.full(N, np.nan), "NaN"),
        (PLAIN[1].y, np.zeros((N, 3)), r"one score per row\. The model predicts an array of shape \(\d+, 3\)"),
    ],
    ids=["undefined", "no grades", "NaN", "several scores"],
)
def test_what_has_no_value(host: Host, y: np.ndarray, scores: np.ndarray, message: str) -> None:
    valid = PLAIN[1]._replace(columns=None, y=y)
    with pytest.raises(ltr.LtrValueError, match=message):
        call(host, make(host, ["err@10", "map"] if message.startswith("map") else ["err@10"], valid), valid, scores)


@pytest.mark.filterwarnings("ignore:.*Empty dataset", "ignore:Exception ignored")
def test_no_queries_and_no_rows(host: Host) -> None:
    train, valid = (part._replace(columns=None) for part in PLAIN)
    loss = {"objective": "regression"} if "lightgbm" in host.name else {"objective": "reg:squarederror"}
    params = loss if "lightgbm" in host.name or "xgboost" in host.name else {}
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=r"quer(y|ies)|qid"):
        host.train(Case(train._replace(qid=None), valid._replace(qid=None), params=params))
    empty = Part(valid.X[:0], valid.y[:0], valid.qid[:0])
    with pytest.raises(Exception, match=r"(?i)empty|no rows|0 sample|num_data"):  # the host's own error, or ours
        host.train(Case(train, empty))


@pytest.mark.parametrize("given", [name for name in HOSTS if name != "XGBRanker"])
@pytest.mark.parametrize("place", FUNCTIONS)
def test_the_wrong_hosts_callable(place: str, given: str) -> None:
    """The error names the right one."""
    case = columns_needed(Case(*PLAIN, adapter=make(HOSTS[given], "mrr", PLAIN[1])))
    if given == place:
        assert TRAININGS[place].train(case).history["mrr"]
        return
    with pytest.raises(ltr.LtrTypeError, match=TRAININGS[place].name.replace(".", r"\.")):
        TRAININGS[place].train(case)


@pytest.mark.parametrize(
    "adapter", [lightgbm.feval, lightgbm.eval_metric, xgboost.custom_metric, make_scorer], ids=lambda one: one.__name__
)
def test_an_adapter_that_was_not_called(adapter: Any) -> None:
    """`feval=feval` instead of `feval=feval("ndcg@10")`: the host calls it with predictions and data."""
    name = adapter.__name__
    with pytest.raises(ltr.LtrTypeError, match=rf'{name} itself was passed to a host.*{name}\("ndcg@10"\)'):
        adapter(np.zeros(2), object(), np.zeros(2))
    with pytest.raises(ltr.LtrTypeError, match=rf"as a list: {name}\(\['map', 'mrr', 'p@5'\]\)"):
        adapter("map", "mrr", "p@5")
    if adapter is not make_scorer:  # whose second argument is the column of ids
        with pytest.raises(ltr.LtrTypeError, match=rf'a cutoff in the name of the metric: {name}\("ndcg@10"\)'):
            adapter("ndcg", 10)
    assert "ties" in inspect.signature(adapter).parameters


@pytest.mark.parametrize("given", [name for name in HOSTS if name not in ("scikit-learn", "XGBRanker")])
def test_a_hosts_metric_as_scoring_or_of_xgbranker(given: str) -> None:
    train, valid = PLAIN
    adapter = make(HOSTS[given], "mrr", valid)
    model, folds = lgb.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1), {"groups": train.qid, "cv": GroupKFold(2)}
    with pytest.raises(ltr.LtrTypeError, match=r"ltr_metrics\.sklearn\.make_scorer"):
        cross_validate(model, train.X, train.y, scoring=adapter, error_score="raise", **folds)
    ranker = xgb.XGBRanker(n_estimators=2, n_jobs=1, eval_metric=adapter)
    sets = {"qid": train.qid, "eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid], "verbose": False}
    with pytest.raises(ltr.LtrTypeError, match=r"ltr_metrics\.xgboost\.Monitor"):
        ranker.fit(train.X, train.y, **sets)
