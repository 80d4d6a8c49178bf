"""PerQueryLog: the rounds of each data set, by object and by name."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import ltr_metrics as ltr
import ltr_metrics.lightgbm
import ltr_metrics.xgboost
from ltr_metrics.logs.training_log import Round
from ltr_metrics.metrics.requests import resolve

pytestmark = pytest.mark.integration


class Host:
    """An object of a host, which can be weakly referenced."""


def record(
    log: ltr.PerQueryLog,
    data: Host,
    name: str | None = None,
    metrics: str = "mrr",
    group: tuple[int, ...] = (2, 2),
    weight: list[float] | None = None,
    training: Host | None = None,
    number: int = 0,
    taken_over: Any = lambda _: None,
    request: Any = None,
    **options: str,
) -> None:
    request = request or resolve(metrics, **options)
    result = ltr.Queries([1, 0, 0, 2], group=group, query_weight=weight).evaluate_request([1, 2, 3, 4], request)
    log.record(data, result, request, Round(number, training, taken_over), name=name)


def test_rounds_by_name_and_by_data_set() -> None:
    log, data, other = ltr.PerQueryLog(["learn", "check"]), Host(), Host()
    for one in (data, other):
        record(log, one)
    assert log.values("learn", ltr.MRR()).shape == log.values(data, "mrr").shape == (1, 2)
    again = pickle.loads(pickle.dumps(log))  # is read by name
    np.testing.assert_array_equal(again.values("check", "mrr"), log.values(other, "mrr"))
    with pytest.raises(ltr.LtrValueError, match=r"has 2 names \(learn, check\) and the host evaluates one more"):
        record(log, Host())
    with pytest.raises(ltr.LtrError, match="no values of 'chek'.*Did you mean 'check"):
        log.values("chek", "mrr")
    with pytest.raises(ltr.LtrError, match="'map' was not evaluated"):
        log.values(data, "map")
    with pytest.raises(ltr.LtrError, match="none at all yet"):
        ltr.PerQueryLog().qid("valid_0")


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({}, {"group": (1, 3)}, "sizes"),
        ({}, {"group": (1, 1, 2)}, "sizes"),
        ({}, {"weight": [1, 2]}, "weights"),
        ({"weight": [1, 2]}, {}, "weights"),
        ({"weight": [1, 2]}, {"weight": [1, 3]}, "weights"),
    ],
)
def test_data_that_change_between_rounds_are_refused(before: dict, after: dict, what: str) -> None:
    log, data, other = ltr.PerQueryLog(), Host(), Host()
    record(log, other, **after)
    record(log, data, **before)
    record(log, data, metrics="map", **before)
    with pytest.raises(ltr.LtrValueError, match=f"data set 'data_1' have other {what} than.*new PerQueryLog"):
        record(log, data, metrics="dcg", **after)
    assert log.values(data, "mrr").shape == (1, 2)


def test_two_trainings_on_one_data_set_are_refused() -> None:
    log, data, first = ltr.PerQueryLog(), Host(), Host()
    record(log, data)  # of a training that is not known
    record(log, data, metrics="map", training=first)
    record(log, data, metrics="ndcg", training=first)
    record(log, data, metrics="dcg")
    record(log, Host(), training=Host())  # lgb.cv: a training a fold, each with data of its own
    with pytest.raises(ltr.LtrValueError, match="'data_0' of this log has rounds of another training.*new PerQueryLog"):
        record(log, data, metrics="p@1", training=Host())
    again = pickle.loads(pickle.dumps(log))
    np.testing.assert_array_equal(again.values("data_0", "ndcg"), log.values(data, "ndcg"))
    del first
    with pytest.raises(ltr.LtrValueError, match="rounds of another training"):
        record(log, data, metrics="p@1", training=Host())


@pytest.mark.parametrize(
    ("known", "names"),
    [
        ([None], ("valid_0",)),
        (["training", None], ("training", "valid_0")),
        ([None, None], ("data_0", "data_1")),
        (["training", None, None], ("training", "data_1", "data_2")),
        (["check"], ("check",)),
        (["training", "check", None], ("training", "check", "data_2")),
    ],
)
def test_a_name_that_the_host_knows_is_kept(known: list[str | None], names: tuple[str, ...]) -> None:
    log, own = ltr.PerQueryLog(), ltr.PerQueryLog([f"mine {i}" for i in range(len(known))])
    data = [Host() for _ in known]
    for one, name in zip(data, known, strict=True):
        record(log, one, name)
        record(own, one, name)
    assert log.data_names == names
    assert own.data_names == tuple(f"mine {i}" for i in range(len(known)))
    for one, name in zip(data, names, strict=True):
        np.testing.assert_array_equal(log.values(one, "mrr"), log.values(name, "mrr"))


def test_two_data_sets_of_one_name_are_refused() -> None:
    for log in (ltr.PerQueryLog(), ltr.PerQueryLog(["a", "b"])):
        first, second = Host(), Host()
        record(log, first, "check")
        record(log, first, "check", "map")
        with pytest.raises(ltr.LtrValueError, match="has a data set 'check' already.*a new log"):
            record(log, second, "check")
    with pytest.raises(ltr.LtrValueError, match="names must differ.*Got a, a"):
        ltr.PerQueryLog(["a", "a"])


@pytest.mark.parametrize("names", ["valid", {"valid"}, [], 7, [1, 2], ["valid", ""], [None]])
def test_what_is_no_list_of_names_is_refused(names: Any) -> None:
    with pytest.raises(ltr.LtrTypeError, match="data_names must be several names.* in order. Got"):
        ltr.PerQueryLog(names)


def test_two_functions_of_one_metric_or_name_are_refused() -> None:
    log, data = ltr.PerQueryLog(), Host()
    record(log, data)
    with pytest.raises(ltr.LtrValueError, match="Two metric functions write mrr into one log"):
        record(log, data)
    record(log, data, metrics="map@3")
    with pytest.raises(ltr.LtrValueError, match=r"'map@3' means map@3 and map\(.* in one log"):
        record(log, data, metrics="map@3", convention="trec_eval", ties="mean")


def test_a_model_without_rounds_is_not_logged() -> None:
    X, y, qid = ltr.make_ranking(n_queries=10, random_state=0)
    log = ltr.PerQueryLog()
    matrix = xgb.DMatrix(X, y, qid=qid)
    empty = xgb.Booster({"objective": "rank:ndcg"}, [matrix])
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    booster = lgb.Booster({"objective": "lambdarank", "metric": "None", "verbose": -1}, train)
    with pytest.raises(ltr.LtrValueError, match="this model has none yet"):
        booster.eval_train(ltr.lightgbm.feval("mrr", log=log))
    with pytest.raises(ltr.LtrValueError, match="this model has none yet"):
        empty.eval_set([(matrix, "train")], 0, feval=ltr.xgboost.custom_metric("mrr", log=log))
    assert log.data_names == ()
