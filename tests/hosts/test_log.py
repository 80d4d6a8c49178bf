"""PerQueryLog: the rounds of each data set, by object and by name."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval
from ltr_metrics.metrics.requests import resolve

pytestmark = pytest.mark.integration

PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 2, "seed": 0}


@pytest.fixture(scope="module")
def trained() -> tuple[lgb.Booster, ltr.PerQueryLog, list[lgb.Dataset], tuple]:
    X, y, qid = ltr.make_ranking(n_queries=90, documents=15, random_state=2)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, test_size=0.3, random_state=0)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid = [lgb.Dataset(Xv, yv, group=ltr.qid_to_group(qidv), reference=train) for _ in range(2)]
    log = ltr.PerQueryLog()
    booster = lgb.train(PARAMS, train, 9, [train, *valid], feval=feval(["ndcg@10", "mrr"], log=log))
    return booster, log, [train, *valid], (Xv, yv, qidv)


def test_values_are_those_of_every_round(trained: tuple) -> None:
    booster, log, (_train, valid, _), (Xv, yv, qidv) = trained
    assert log.names == ("training", "data_1", "data_2")
    values = log.values(valid, "ndcg@10")
    assert values.shape == (9, len(log.qid(valid))) == (9, 27)
    assert log.values("training", ltr.NDCG(k=10)).shape == (9, 63)
    np.testing.assert_array_equal(log.values("data_2", "ndcg_exp@10"), values)
    for round_ in range(9):
        expected = ltr.evaluate(yv, booster.predict(Xv, num_iteration=round_ + 1), qid=qidv, metrics="ndcg@10")
        np.testing.assert_array_equal(values[round_], expected.per_query["ndcg@10"])
    again = pickle.loads(pickle.dumps(log))  # is read by name
    np.testing.assert_array_equal(again.values("data_1", "ndcg@10"), values)


def test_unknown_names_and_metrics_are_refused(trained: tuple) -> None:
    _, log, (_, valid, _), _ = trained
    with pytest.raises(ltr.LtrError, match="no values of 'data_3'.*Did you mean 'data_"):
        log.values("data_3", "mrr")
    with pytest.raises(ltr.LtrError, match="'map' was not evaluated"):
        log.values(valid, "map")
    with pytest.raises(ltr.LtrError, match="none at all yet"):
        ltr.PerQueryLog().qid("valid_0")


def small(**options: object) -> tuple[lgb.Dataset, lgb.Dataset]:
    X, y, qid = ltr.make_ranking(n_queries=20, documents=8, random_state=0)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, random_state=0)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    return train, lgb.Dataset(Xv, yv, group=ltr.qid_to_group(qidv), reference=train)


def test_default_names() -> None:
    train, valid = small()
    log = ltr.PerQueryLog()
    lgb.train(PARAMS, train, 2, [valid], feval=feval("err", log=log))
    assert log.names == ("valid_0",)
    del train, valid
    assert log.values("valid_0", "err").shape[0] == 2
    train, valid = small()
    log = ltr.PerQueryLog(["learn", "check"])
    metric = feval("err", log=log)
    lgb.train(PARAMS, train, 2, [valid, train], feval=metric)  # LightGBM evaluates the training data first
    assert log.names == ("learn", "check")
    np.testing.assert_array_equal(log.values("learn", "err"), log.values(train, "err"))
    np.testing.assert_array_equal(log.values("check", "err"), log.values(valid, "err"))
    with pytest.raises(ltr.LtrValueError, match="rounds of another training"):
        lgb.train(PARAMS, train, 2, [valid, train], feval=metric)
    assert log.values(valid, "err").shape == (2, len(log.qid(valid)))


def test_a_log_is_for_one_training_and_each_metric_for_one_function() -> None:
    log = ltr.PerQueryLog()
    train, _ = small()
    lgb.train(PARAMS, train, 1, [train], feval=feval("err", log=log))
    again, _ = small()
    with pytest.raises(ltr.LtrValueError, match="has a data set 'training' already"):
        lgb.train(PARAMS, again, 1, [again], feval=feval("err", log=log))
    train, valid = small()
    two = ltr.PerQueryLog()
    lgb.train(PARAMS, train, 1, [valid], feval=[feval("ndcg@3", log=two), feval("p@3", log=two)])
    assert two.values(valid, "ndcg@3").shape == two.values(valid, "p@3").shape
    train, valid = small()
    with pytest.raises(ltr.LtrValueError, match=r"has 1 names \(learn\) and the host evaluates one more"):
        lgb.train(PARAMS, train, 1, [train, valid], feval=feval("err", log=ltr.PerQueryLog(["learn"])))
    with pytest.raises(ltr.LtrTypeError, match="log must be a PerQueryLog"):
        feval("err", log=[])  # type: ignore[arg-type]


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
    **options: str,
) -> None:
    request = resolve(metrics, **options)
    result = ltr.Queries([1, 0, 0, 2], group=group, query_weight=weight).evaluate_request([1, 2, 3, 4], request)
    log.record(data, result, request, name=name, training=training)


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
    assert log.names == names
    assert own.names == tuple(f"mine {i}" for i in range(len(known)))
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
    for names in ("valid", {"valid": "test"}, {"valid", "test"}):
        with pytest.raises(ltr.LtrTypeError, match="several names, such as .'valid'"):
            ltr.PerQueryLog(names)  # type: ignore[arg-type]


def test_two_functions_of_one_metric_or_name_are_refused() -> None:
    log, data = ltr.PerQueryLog(), Host()
    record(log, data)
    with pytest.raises(ltr.LtrValueError, match="Two metric functions write mrr into one log"):
        record(log, data)
    record(log, data, metrics="map@3")
    with pytest.raises(ltr.LtrValueError, match=r"'map@3' means map@3 and map\(.* in one log"):
        record(log, data, metrics="map@3", convention="trec_eval", ties="mean")
