"""A metric is logged as it was typed, in lower case, and no host takes it for another one or in the other direction."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from test_host_contract import PLAIN
from trainings import TRAININGS, Case

import ltr_metrics as ltr
from ltr_metrics import lightgbm as ours_for_lightgbm
from ltr_metrics import xgboost as ours_for_xgboost
from ltr_metrics._hosts.host_metrics import HostMetrics, Plan
from ltr_metrics.lightgbm import feval
from ltr_metrics.sklearn import make_scorer
from ltr_metrics.xgboost import Monitor, custom_metric
from ltr_metrics.xgboost.xgboost_stopping import InOrder

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
    columns = {"Sales": np.ones(len(VALID.y))} if "Sales" in metric else None
    case = Case(TRAIN, VALID._replace(columns=columns), metric, options, {}, ROUNDS, stop, callbacks)
    if host == "XGBRanker" and type(next(iter(callbacks), None)) is xgb.callback.EarlyStopping:
        monitor = Monitor(metric, VALID.X, VALID.y, qid=VALID.qid, name="valid_0", columns=columns, **options)
        case = replace(case, callbacks=(), adapter=InOrder([monitor, *callbacks]))  # XGBoost before 3.2 has no order
    return {name: len(values) for name, values in TRAININGS[host].train(case).history.items()}


def stopping_of_xgboost(name: str) -> xgb.callback.EarlyStopping:
    return xgb.callback.EarlyStopping(rounds=PATIENCE, data_name="valid_0", metric_name=name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("host", ["lgb.train", "LGBMRanker", "CatBoostRanker"])
def test_hosts_that_are_told_the_direction(host: str, case: Any) -> None:
    """By the triple of LightGBM, and by `is_max_optimal` of CatBoost."""
    for word in WORDS:
        assert rounds_of(host, typed(case(word)), stop=PATIENCE) == {logged(word): ROUNDS}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("host", ["xgb.train", "XGBRanker"])
def test_xgboost_guesses_no_worse_than_by_the_canonical_name(host: str, case: Any) -> None:
    for word in WORDS:
        name, canonical = logged(word), str(ltr.metric(typed(word)))
        by_canonical_name = rounds_of(host, canonical, stopping_of_xgboost(canonical), names="canonical")[canonical]
        if word in MISLEADING:
            with pytest.raises(ltr.LtrValueError, match="EarlyStopping guesses the direction") as error:
                rounds_of(host, typed(case(word)))
            assert f"Write {canonical!r}" in str(error.value)
            assert f'names={{"{name}": "{canonical}"}}' in str(error.value)
            by_typed_name = rounds_of(host, name, stopping_of_xgboost(name), names={name: name})[name]
            assert by_typed_name == PATIENCE + 1 < by_canonical_name == ROUNDS
            assert rounds_of(host, name, stopping_of_xgboost(canonical), names={name: canonical}) == {canonical: ROUNDS}
        else:
            found = rounds_of(host, typed(case(word)), stopping_of_xgboost(name))
            assert list(found) == [name]
            assert by_canonical_name <= found[name] <= ROUNDS


@pytest.mark.parametrize("host", ["lgb.train", "LGBMRanker", "xgb.train", "XGBRanker"])
def test_our_early_stopping_is_told_the_direction_by_the_metric(host: str) -> None:
    """The metric to watch, and the one that is logged, are two spellings of one metric."""
    module = ours_for_lightgbm if host in ("lgb.train", "LGBMRanker") else ours_for_xgboost
    for word, case in itertools.product(WORDS, CASES):
        stop = module.early_stopping(typed(case(word)), PATIENCE)
        options = {"names": {typed(word): "Mine"}} if word in MISLEADING else {}
        found = rounds_of(host, typed(word), stop, **options)
        assert found == {"Mine" if options else logged(word): ROUNDS}


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
