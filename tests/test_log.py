"""PerQueryLog: the rounds of each data set, by object and by name."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pytest
from lightgbm_fit import validation_sets

import ltr_metrics as ltr
from ltr_metrics.lightgbm import eval_metric, feval
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


def test_changes_between_two_rounds(trained: tuple) -> None:
    _, log, (_, valid, _), _ = trained
    values = log.values(valid, "mrr")
    change = log.changes(valid, "mrr", before=1, after=7)
    np.testing.assert_array_equal(change.difference, values[7] - values[1])
    difference = dict(zip(log.qid(valid).tolist(), change.difference.tolist(), strict=True))
    gains = [difference[q] for q in change.improved.tolist()]
    losses = [difference[q] for q in change.worsened.tolist()]
    assert gains == sorted(gains, reverse=True)
    assert losses == sorted(losses)
    assert min(gains) > 0 > max(losses)
    undefined = np.isnan(change.difference).sum()
    assert undefined > 0
    assert len(gains) + len(losses) + len(change.unchanged) + undefined == 27


def test_unknown_names_metrics_and_rounds_are_refused(trained: tuple) -> None:
    _, log, (_, valid, _), _ = trained
    with pytest.raises(ltr.LtrError, match="no values of 'data_3'.*Did you mean 'data_"):
        log.values("data_3", "mrr")
    with pytest.raises(ltr.LtrError, match="'map' was not evaluated"):
        log.values(valid, "map")
    with pytest.raises(ltr.LtrValueError, match="9 rounds in the log, counted from 0; got round 9"):
        log.changes(valid, "mrr", after=9)
    with pytest.raises(ltr.LtrError, match="none at all yet"):
        ltr.PerQueryLog().qid("valid_0")


def test_a_log_can_be_pickled_and_is_then_read_by_name(trained: tuple) -> None:
    _, log, _, _ = trained
    again = pickle.loads(pickle.dumps(log))
    np.testing.assert_array_equal(again.values("data_1", "ndcg@10"), log.values("data_1", "ndcg@10"))


def test_values_stay_when_the_data_set_is_gone() -> None:
    X, y, qid = ltr.make_ranking(n_queries=20, random_state=0)
    log = ltr.PerQueryLog()
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    lgb.train(PARAMS, train, 2, [train], feval=feval("err", log=log))
    del train
    assert log.values("training", "err").shape == (2, 20)


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
    train, valid = small()
    log = ltr.PerQueryLog(["learn", "check"])
    lgb.train(
        PARAMS, train, 2, [valid, train], feval=feval("err", log=log)
    )  # LightGBM evaluates the training data first
    assert log.names == ("learn", "check")
    np.testing.assert_array_equal(log.values("learn", "err"), log.values(train, "err"))
    np.testing.assert_array_equal(log.values("check", "err"), log.values(valid, "err"))


def test_a_ranker_that_is_evaluated_on_its_training_data_too() -> None:
    X, y, qid = ltr.make_ranking(n_queries=20, documents=8, random_state=0)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, random_state=0)
    log = ltr.PerQueryLog()
    ranker = lgb.LGBMRanker(n_estimators=3, metric="None", verbose=-1)
    group, groupv = ltr.qid_to_group(qid), ltr.qid_to_group(qidv)
    metric = eval_metric("err", log=log)
    ranker.fit(X, y, group=group, eval_group=[groupv, group], eval_metric=metric, **validation_sets((Xv, yv), (X, y)))
    assert log.names == ("data_0", "data_1")
    assert log.values("data_0", "err").mean(axis=1).tolist() == ranker.evals_result_["training"]["err"]
    with pytest.raises(ltr.LtrError, match=r"no values of 'valid_0'.*names=\.\.\."):
        log.values("valid_0", "err")


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


def test_folds_know_their_queries() -> None:
    X, y, qid = ltr.make_ranking(n_queries=20, documents=8, random_state=0)
    log = ltr.PerQueryLog()
    lgb.cv(PARAMS, lgb.Dataset(X, y, group=ltr.qid_to_group(qid)), 1, nfold=4, feval=feval("dcg", log=log))
    assert sorted(np.concatenate([log.qid(name) for name in log.names])) == list(range(20))


def test_the_curve_of_each_segment(trained: tuple) -> None:
    _, log, (_, valid, _), _ = trained
    values = log.values(valid, "mrr")
    labels = ["phone", "desk", "phone"] * 9
    curves = log.segments(valid, "mrr", labels)
    assert list(curves) == ["phone", "desk"]
    for label, curve in curves.items():
        chosen = [name == label for name in labels]
        np.testing.assert_allclose(curve, np.nanmean(values[:, chosen], axis=1), rtol=1e-14)
    with pytest.raises(ltr.LtrValueError, match="one label a query, 27 in the order of qid. Got 2"):
        log.segments(valid, "mrr", ["phone", "desk"])


def test_segments_are_weighted_as_the_host_weights_queries() -> None:
    X, y, qid = ltr.make_ranking(n_queries=20, documents=6, random_state=4)
    weight = np.random.default_rng(0).integers(1, 9, 20).astype(float)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), weight=np.repeat(weight, ltr.qid_to_group(qid)))
    log = ltr.PerQueryLog()
    lgb.train(PARAMS, train, 2, [train], feval=feval("mrr", log=log))
    half = np.arange(20) % 2
    chosen = (half == 0) & ~np.isnan(log.values("training", "mrr")[0])
    expected = np.average(log.values("training", "mrr")[:, chosen], axis=1, weights=weight[chosen])
    np.testing.assert_allclose(log.segments("training", "mrr", half)[0], expected, rtol=1e-12)


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


def test_two_trainings_of_lightgbm_on_one_dataset_are_refused() -> None:
    log, (train, valid) = ltr.PerQueryLog(), small()
    metric = feval("err", log=log)
    lgb.train(PARAMS, train, 2, [valid], feval=metric)
    with pytest.raises(ltr.LtrValueError, match="rounds of another training"):
        lgb.train(PARAMS, train, 2, [valid], feval=metric)
    assert log.values(valid, "err").shape == (2, len(log.qid(valid)))


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
    log, first, second = ltr.PerQueryLog(), Host(), Host()
    record(log, first, "data_1")
    with pytest.raises(ltr.LtrValueError, match=r"would be 'data_1', the name of one and the default.*names=\.\.\."):
        record(log, second)
    with pytest.raises(ltr.LtrValueError, match="names must differ.*Got a, a"):
        ltr.PerQueryLog(["a", "a"])
    with pytest.raises(ltr.LtrTypeError, match="several names, such as .'valid'.*folder="):
        ltr.PerQueryLog("valid")


def test_two_functions_of_one_metric_or_name_are_refused() -> None:
    log, data = ltr.PerQueryLog(), Host()
    record(log, data)
    with pytest.raises(ltr.LtrValueError, match="Two metric functions write mrr into one log"):
        record(log, data)
    record(log, data, metrics="map@3")
    with pytest.raises(ltr.LtrValueError, match=r"'map@3' means map@3 and map\(.* in one log"):
        record(log, data, metrics="map@3", convention="trec_eval", ties="mean")
