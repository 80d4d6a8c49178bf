"""A metric is logged as it was typed, in lower case, and no host takes it for another one or in the other direction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import xgboost as xgb
from test_host_contract import PLAIN
from trainings import TRAININGS, Case

import ltr_metrics as ltr
from ltr_metrics._hosts.host_metrics import HostMetrics, Plan, WatchedMetric
from ltr_metrics.lightgbm import feval
from ltr_metrics.sklearn import QueryRanker, make_scorer
from ltr_metrics.xgboost import Monitor, custom_metric

pytestmark = pytest.mark.integration

TRAIN, VALID = (part._replace(columns=None) for part in PLAIN)
WORDS = [word for info in ltr.available_metrics() for word in (info.name, *info.aliases)]
CASES = (str.lower, str.upper, str.title)
MISLEADING = {"ap", "average_precision", "p"}  # XGBoost maximises map and precision by their names
ROUNDS, PATIENCE = 30, 3


def typed(word: str) -> str:
    """The name of a metric, with a column that must keep its case, and a cutoff if it has one."""
    name = f"{word}(Sales)" if word.lower() in ("mean_of", "sum_of") else word
    try:
        return str(ltr.metric(f"{name}@10")) and f"{name}@10"
    except ltr.LtrValueError:
        return name


def logged(word: str) -> str:
    return typed(word.lower())


@pytest.fixture(autouse=True)
def improving(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every training each metric is a little better in each round."""

    def evaluate_round(self: HostMetrics, plan: Plan, *given: Any, **options: Any) -> dict[str, float]:
        rounds = self.__dict__.setdefault("rounds", itertools.count(1))
        value = next(rounds) / 100
        means = {str(metric): value if metric.higher_is_better else 1 - value for metric in plan.request.metrics}
        return plan.named(means)

    monkeypatch.setattr(HostMetrics, "evaluate_round", evaluate_round)


def rounds_of(host: str, metric: str, *callbacks: Any, stop: int | None = None, **options: Any) -> dict[str, int]:
    """Train on one metric, and return the number of rounds in the log by name."""
    case = Case(TRAIN, VALID, metric, options, {}, ROUNDS, stop, callbacks)
    return {name: len(values) for name, values in TRAININGS[host].train(case).history.items()}


# -- every name and alias, without a training ---------------------------------------------------------------------------


def spellings() -> Iterator[tuple[str, str, ltr.Metric]]:
    """Yield every word in every case, its name in the log, and the metric."""
    for word, case in itertools.product(WORDS, CASES):
        yield typed(case(word)), logged(word), ltr.metric(typed(word))


@pytest.mark.parametrize("host", [None, "lightgbm"])
def test_every_spelling_is_logged_as_typed_in_lower_case_with_its_direction(host: Any) -> None:
    for spelling, name, metric in spellings():
        plan = HostMetrics(spelling, host=host).plan()
        assert plan.logged == {str(metric): name}
        assert plan.directions == {name: metric.higher_is_better}


@pytest.mark.parametrize("host", ["lightgbm", "xgboost"])
def test_every_spelling_finds_the_metric_under_every_name(host: Any) -> None:
    for spelling, name, metric in spellings():
        watched = WatchedMetric(spelling, None, None, host)
        for names in ({typed(name): "Mine"}, "canonical", "slug", *(["asked"] if name[:-3] not in MISLEADING else [])):
            plan = HostMetrics(typed(name), host=host, names=names).plan()
            found = watched.find([plan], plan.logged.values(), lambda: "exp")
            assert found == (*plan.logged.values(), metric.higher_is_better)


class Booster:
    """What XGBoost's EarlyStopping asks of a model."""

    def num_boosted_rounds(self) -> int:
        return 0

    def set_attr(self, **attributes: str) -> None:
        pass


def rounds_of_xgboost(name: str, *, higher_is_better: bool) -> int:
    """Return the rounds until XGBoost's own EarlyStopping ends a training whose metric improves in each of them."""
    stop, model, values = xgb.callback.EarlyStopping(rounds=PATIENCE, metric_name=name), Booster(), list[float]()
    stop.before_training(model)
    for epoch in range(ROUNDS):
        values.append(epoch / 100 if higher_is_better else -epoch / 100)
        if stop.after_iteration(model, epoch, {"valid": {name: values}}):
            break
    return len(values)


def test_xgboost_guesses_no_worse_than_by_the_canonical_name() -> None:
    for spelling, name, metric in spellings():
        of_canonical, of_name = (
            rounds_of_xgboost(one, higher_is_better=metric.higher_is_better) for one in (str(metric), name)
        )
        if name[:-3] not in MISLEADING:
            assert HostMetrics(spelling, host="xgboost").plan().logged == {str(metric): name}
            assert of_canonical <= of_name <= ROUNDS
            continue
        assert of_name == PATIENCE + 1 < of_canonical == ROUNDS
        with pytest.raises(ltr.LtrValueError, match="EarlyStopping guesses the direction") as error:
            custom_metric(spelling)
        assert f"Write {str(metric)!r}" in str(error.value)
        assert f'names={{"{name}": "{metric}"}}' in str(error.value)
        assert HostMetrics(name, host="xgboost", names={name: name}).plan().logged == {str(metric): name}


@pytest.mark.parametrize(
    "word", ["precision_loss", "ndcg_loss", "auc_gap", "mapping_error", "mape", "loss_ndcg", "gap"]
)
def test_a_metric_that_xgboost_would_maximise_although_lower_is_better(word: str) -> None:
    """Own metrics, whose names XGBoost's own rule reads, as a name typed, chosen or derived."""
    own = ltr.as_metric(lambda grades, columns: float(grades[0]), name=word, higher_is_better=False)
    arguments: list[tuple[Any, dict[str, Any]]] = [(own, {"names": names}) for names in ("asked", "canonical", "slug")]
    arguments.append(("arp", {"names": {"arp": word}}))
    is_maximised = rounds_of_xgboost(word, higher_is_better=False) < ROUNDS
    assert is_maximised == (word not in ("mape", "loss_ndcg", "gap"))
    for metric, options in arguments:
        if not is_maximised:
            assert list(custom_metric(metric, **options).metrics.plan().logged.values()) == [word]
            continue
        for adapter in (
            custom_metric,
            lambda *given, **named: Monitor(*given, VALID.X, VALID.y, qid=VALID.qid, **named),
        ):
            with pytest.raises(ltr.LtrValueError, match=f"It would maximise '{word}'.*lower is better") as error:
                adapter(metric, **options)
            remedy = {str(metric): f"loss_{word}"}
            assert f'names={{"{metric}": "loss_{word}"}}' in str(error.value)
            plan = custom_metric(metric, names=remedy).metrics.plan()
            found = WatchedMetric(metric, None, None, "xgboost").find([plan], plan.logged.values(), lambda: "exp")
            assert found == (f"loss_{word}", False)


def test_query_ranker_stops_by_such_a_metric() -> None:
    """It knows the direction, and XGBoost's own early stopping is an error in it."""
    own = ltr.as_metric(lambda grades, columns: float(grades[0]), name="ndcg_loss", higher_is_better=False)
    ranker = QueryRanker(xgb.XGBRanker(n_estimators=ROUNDS, n_jobs=1), metric=own, early_stopping_rounds=PATIENCE)
    assert ranker.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid).n_rounds_ == ROUNDS


# -- once in each host --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spelling", "name"), [("ARP", "arp"), ("AVERAGE_Precision@5", "average_precision@5")])
@pytest.mark.parametrize("host", TRAININGS)
def test_a_host_is_told_the_name_and_the_direction(host: str, spelling: str, name: str) -> None:
    """By the triple of LightGBM, `is_max_optimal` of CatBoost, and our early stopping for XGBoost."""
    options = {"names": {name: "Mine"}} if host in ("xgb.train", "XGBRanker") else {}
    assert rounds_of(host, spelling, stop=PATIENCE, **options) == {"Mine" if options else name: ROUNDS}


# -- names of one's own ----------------------------------------------------------------------------------------------

OWN = {"NDCG@10": "val ndcg"}


@pytest.mark.parametrize("host", ["lgb.train", "LGBMRanker", "XGBRanker", "CatBoostRanker"])
def test_a_name_with_a_space(host: str) -> None:
    assert rounds_of(host, "ndcg@10", stop=PATIENCE, names=OWN) == {"val ndcg": ROUNDS}


def test_lightgbm_before_4_7_compares_last_words() -> None:
    names = {"ndcg@10": "ndcg of web", "map": "map of web"}
    with pytest.raises(ltr.LtrValueError, match='have the same last word.*names={"map": "map_of_web"}'):
        feval(["ndcg@10", "map"], names=names)
    for make in (make_scorer, lambda *given, **options: Monitor(*given, VALID.X, VALID.y, qid=VALID.qid, **options)):
        assert list(make(["ndcg@10", "map"], names=names).metrics.plan().logged.values()) == list(names.values())


# -- two metrics of one name ------------------------------------------------------------------------------------------


def test_one_string_under_two_conventions() -> None:
    """LightGBM and XGBoost keep one history of a name. The remedy of the message makes it two."""

    def of_lightgbm(**options: Any) -> list[str]:
        other = feval("ndcg@10", convention="trec_eval", ties="mean", **options)
        return list(TRAININGS["lgb.train"].train(Case(TRAIN, VALID, adapter=[feval("ndcg@10"), other])).history)

    def of_xgboost(**options: Any) -> list[str]:
        other = Monitor("ndcg@10", VALID.X, VALID.y, qid=VALID.qid, name="valid_0", convention="trec_eval", ties="mean",
                        **options)  # fmt: skip
        case = Case(TRAIN, VALID, adapter=custom_metric("ndcg@10"), callbacks=(other,))
        return list(TRAININGS["xgb.train"].train(case).history)

    for train in (of_lightgbm, of_xgboost):
        with pytest.raises(ltr.LtrValueError, match=r'is in the log already.*names="canonical"\.$'):
            train()
        assert set(train(names="canonical")) == {"ndcg@10", "ndcg_lin@10"}


def test_a_clash_with_the_hosts_own_metric_is_found_before_anything_is_logged() -> None:
    seen: list[Any] = []

    class Seen(xgb.callback.TrainingCallback):
        def after_iteration(self, *given: Any) -> bool:
            return bool(seen.append(given))

    for host, params, callback in (
        ("lgb.train", {"metric": "ndcg", "eval_at": [3]}, lambda env: seen.append(env)),
        ("xgb.train", {"eval_metric": "ndcg@3"}, Seen()),
    ):
        with pytest.raises(ltr.LtrValueError, match=r"^'ndcg@3' of .* is in the log already"):
            TRAININGS[host].train(Case(TRAIN, VALID, "NDCG@3", {}, params, callbacks=(callback,)))
        assert not seen
