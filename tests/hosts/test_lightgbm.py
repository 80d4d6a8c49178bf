"""What LightGBM alone has: kinds of Datasets, subsets, `lgb.cv`, boosters by hand, and what it tells to nobody."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from lightgbm_fit import HAS_EVAL_X
from sklearn.model_selection import GroupKFold
from test_host_contract import PLAIN, WEIGHTED
from trainings import LIGHTGBM, Case, Part, lightgbm_train

import ltr_metrics as ltr
from ltr_metrics.lightgbm import eval_metric, feval

pytestmark = pytest.mark.integration

METRICS = ["err@10", "ndcg_lin@5", "mrr"]
PARAMS = LIGHTGBM | {"metric": "None"}
TRAIN, VALID = (part._replace(columns=None) for part in PLAIN)
CUT = r"holds \d+ of the \d+ documents of query \d+"


def dataset(part: Part, reference: Any = None, **options: Any) -> lgb.Dataset:
    return lgb.Dataset(part.X, part.y, group=part.group, reference=reference, **options)


def train(train_set: lgb.Dataset, *sets: lgb.Dataset, metric: Any = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    history: dict[str, Any] = {}
    given = {"feval": metric or feval(METRICS), "callbacks": [lgb.record_evaluation(history)]} | options
    return lgb.train(PARAMS, train_set, 4, list(sets), **given), history


def is_that_of(booster: lgb.Booster, history: dict[str, list[float]], part: Part) -> bool:
    return {name: values[-1] for name, values in history.items()} == part.evaluate(
        booster.predict(part.X), METRICS
    ).mean


def of_kind(kind: str, part: Part, reference: Any, folder: Path) -> lgb.Dataset:
    file = folder / f"{len(part.y)}"
    if kind == "pandas":
        return lgb.Dataset(pd.DataFrame(part.X), pd.Series(part.y), group=pd.Series(part.group), reference=reference)
    if kind == "binary file":
        dataset(part, reference, params={"verbose": -1}).save_binary(file)
    else:
        np.savetxt(file, np.column_stack([part.y, part.X]), delimiter=",", fmt="%.17g")
        np.savetxt(f"{file}.query", part.group, fmt="%d")
    return lgb.Dataset(file, reference=reference)


@pytest.mark.parametrize("kind", ["pandas", "binary file", "text file"])
def test_datasets_of_all_kinds(kind: str, tmp_path: Path) -> None:
    data = of_kind(kind, TRAIN, None, tmp_path)
    booster, history = train(data, data, of_kind(kind, VALID, data, tmp_path))
    assert is_that_of(booster, history["training"], TRAIN)
    assert is_that_of(booster, history["valid_1"], VALID)


@pytest.mark.parametrize("how", ["of memory", "raw data freed", "of a file", "of a subset", "regrouped"])
def test_a_subset_of_whole_queries(how: str, tmp_path: Path) -> None:
    """LightGBM forgets the groups of one that is of a file or of another subset: its own NDCG is NaN then."""
    ids = np.unique(TRAIN.qid)
    rows = np.flatnonzero(np.isin(TRAIN.qid, ids[::2]))
    data = dataset(TRAIN, free_raw_data=how == "raw data freed")
    if how == "of a file":
        dataset(TRAIN, params={"verbose": -1}).save_binary(tmp_path / "a.bin")
        data = lgb.Dataset(tmp_path / "a.bin")
    subset = data.subset(rows)
    if how == "of a subset":
        inner = np.flatnonzero(np.isin(TRAIN.qid[rows], ids[::4]))
        subset, rows = subset.subset(inner), rows[inner]
    part = Part(TRAIN.X[rows], TRAIN.y[rows], TRAIN.qid[rows])
    if how == "regrouped":
        subset.construct().set_group([5, len(rows) - 5])
        part = part._replace(qid=np.r_[np.zeros(5), np.ones(len(rows) - 5)])
    log = ltr.PerQueryLog()
    booster, history = train(data, subset, metric=feval(METRICS, log=log))
    assert is_that_of(booster, history["valid_0"], part)
    if how == "of memory":
        np.testing.assert_array_equal(log.qid(subset), np.arange(len(ids))[::2])  # as counted in the whole data


@pytest.mark.parametrize("how", ["every second row", "in two steps", "twice"])
def test_a_subset_that_cuts_queries_is_refused(how: str) -> None:
    data, n = dataset(TRAIN), len(TRAIN.y)
    subset = data.subset(np.repeat(np.arange(n), 2) if how == "twice" else np.arange(0, n, 2))
    if how == "in two steps":  # the second takes whole what the first has left of queries
        subset = subset.subset(np.arange(-(-TRAIN.group[0] // 2)))
    with pytest.raises(ltr.LtrValueError, match=rf"{CUT}.*Pass all rows of a query"):
        train(data, subset)


class TestCrossValidation:
    def test_the_means_are_those_of_the_folds(self) -> None:
        log, weighted, metrics = ltr.PerQueryLog(), WEIGHTED[0], ["mrr", "sum_of(bought)@3"]
        options = {"group": weighted.group, "weight": weighted.row_weight, "free_raw_data": False}
        data = lgb.Dataset(weighted.X, weighted.y, **options)
        folds = list(GroupKFold(3).split(weighted.X, groups=weighted.qid))
        metric = feval(metrics, log=log, columns={data: weighted.columns})
        found = lgb.cv(PARAMS, data, 3, folds=folds, feval=metric, eval_train_metric=True, return_cvbooster=True)
        for name, side in (("train", 0), ("valid", 1)):
            means = []
            for booster, fold in zip(found["cvbooster"].boosters, folds, strict=True):
                rows, scores = fold[side], booster.predict(weighted.X[fold[side]])
                of_fold = {"qid": weighted.qid, "sample_weight": weighted.row_weight, **weighted.columns}
                of_fold = {key: values[rows] for key, values in of_fold.items()}
                columns = {"bought": of_fold.pop("bought")}
                means.append(ltr.evaluate(weighted.y[rows], scores, metrics=metrics, columns=columns, **of_fold).mean)
            for asked in metrics:
                expected = np.mean([mean[asked] for mean in means])
                assert found[f"{name} {asked}-mean"][-1] == pytest.approx(expected, rel=1e-12)
        assert sum(len(log.qid(name)) for name in log.data_names) == 3 * len(weighted.group)

    @pytest.mark.parametrize("how", [{"stratified": True}, {"stratified": False, "shuffle": False}])
    def test_queries_that_folds_cut(self, how: dict[str, bool]) -> None:
        params = PARAMS | {"objective": "regression"}
        with pytest.raises(ltr.LtrValueError, match=f"{CUT}.*GroupKFold"):
            lgb.cv(params, dataset(TRAIN), 2, nfold=4, feval=feval("mrr"), **how)
        found = lgb.cv(params, dataset(TRAIN), 2, folds=GroupKFold(4), feval=feval("mrr"))  # the remedy
        assert list(found) == ["valid mrr-mean", "valid mrr-stdv"]


def test_several_functions_beside_lightgbms_own() -> None:
    run = lightgbm_train(Case(TRAIN, VALID, params={"metric": "ndcg", "eval_at": [3]},
                              adapter=[feval("mrr"), feval("err@5", ties="worst")]))  # fmt: skip
    assert list(run.history) == ["ndcg@3", "mrr", "err@5"]


def test_whose_name_is_in_use() -> None:
    """Dataset.params stay those of the first training, and a function of the user's may rename our values."""
    data = dataset(TRAIN)
    valid = dataset(VALID, data)
    own = {"metric": "map", "eval_at": [10]}
    lgb.train(PARAMS | own, data, 1, [valid])
    assert list(train(data, valid, metric=feval("map@10"))[1]["valid_0"]) == ["map@10"]
    ours = feval("map@10")
    renamed = lambda *given: [(f"our {name}", *rest) for name, *rest in ours(*given)]  # noqa: E731
    assert list(lightgbm_train(Case(TRAIN, VALID, params=own, adapter=renamed)).history) == ["map@10", "our map@10"]
    for two in ([feval(["err", "mrr"]), feval("mrr", ties="worst")], [lambda *_: ("mrr", 0.0, True), feval("mrr")]):
        with pytest.raises(ltr.LtrValueError, match="^'mrr' of this data set is in the log"):
            lightgbm_train(Case(TRAIN, VALID, adapter=two))


def test_a_call_by_hand_reads_the_gain_of_the_dataset() -> None:
    valid = dataset(VALID, params={"label_gain": [0, 1, 2, 3, 4]}).construct()
    ((name, _, _),) = feval("ndcg@10", convention="lightgbm", names="canonical")(VALID.X[:, 0], valid)
    assert name == "ndcg_lin@10"


def test_the_arrays_of_the_ranker_are_dropped_with_their_labels() -> None:
    metrics, y = eval_metric("dcg_lin"), np.array([0.0, 1, 2, 0])
    metrics(y, y, None, np.array([2, 2]))
    (laid_out,) = metrics._queries_cache._entries.values()
    queries = weakref.ref(laid_out.queries)
    del y, laid_out
    assert queries() is None


@pytest.mark.parametrize("with_labels", [False, True])
def test_lightgbm_keeps_nan_as_0(with_labels: bool) -> None:
    """Its labels and weights are float32, where nothing shows which ones were NaN."""
    weight, y, first = np.ones(len(VALID.y)), VALID.y.astype(np.float64), slice(0, 5)
    (y if with_labels else weight)[first] = np.nan
    data = dataset(TRAIN)
    booster, history = train(data, dataset(VALID._replace(y=y), data, weight=weight))
    scores = booster.predict(VALID.X)
    as_0: dict[str, Any] = {"sample_weight": np.nan_to_num(weight), "qid": VALID.qid, "metrics": METRICS}
    expected = ltr.evaluate(np.nan_to_num(y), scores, **as_0)
    assert {name: values[-1] for name, values in history["valid_0"].items()} == pytest.approx(expected.mean, abs=1e-7)
    with pytest.raises(ltr.LtrValueError, match="(?i)nan"):
        ltr.evaluate(y, scores, qid=VALID.qid, sample_weight=weight, metrics=METRICS)


def test_weights_and_queries_that_are_removed_between_two_rounds() -> None:
    """The version of a Dataset does not count ``set_field(name, None)``."""
    weight = np.linspace(1, 9, len(VALID.y))
    data = lgb.Dataset(VALID.X, VALID.y, group=VALID.group, weight=weight).construct()
    scores, metric = VALID.X[:, -1].astype(float), feval("dcg_lin@3")
    (weighted,) = metric(scores, data)
    data.set_field("weight", None)
    (plain,) = metric(scores, data)
    assert plain[1] == VALID.evaluate(scores, "dcg_lin@3")["dcg_lin@3"] != pytest.approx(weighted[1], abs=1e-3)
    data.set_field("group", None)
    with pytest.raises(ltr.LtrValueError, match="The Dataset has no queries"):
        metric(scores, data)


def test_the_best_round_of_a_log_where_lower_is_better() -> None:
    log = ltr.PerQueryLog()
    data = dataset(TRAIN)
    valid = dataset(VALID, data)
    lgb.train(PARAMS, data, 20, [valid], feval=feval(["arp", "ndcg@10"], log=log))
    means = {name: np.nanmean(log.values(valid, name), axis=1) for name in ("arp", "ndcg@10")}
    assert log.learning_curve(valid, "arp").n_rounds == int(means["arp"].argmin()) + 1
    assert int(means["arp"].argmin()) != int(means["arp"].argmax())
    assert log.learning_curve(valid, "ndcg@10").n_rounds == int(means["ndcg@10"].argmax()) + 1


def test_sizes_by_frequency_make_other_queries() -> None:
    """They add up, so neither LightGBM nor a metric can know better."""
    sizes = pd.Series(TRAIN.qid).value_counts()
    data = lgb.Dataset(TRAIN.X, TRAIN.y, group=sizes)
    booster, history = train(data, data, metric=feval("mrr"), valid_names=["other"])
    scores = booster.predict(TRAIN.X)
    groups = (sizes.to_numpy(), TRAIN.group)
    other, right = (ltr.evaluate(TRAIN.y, scores, group=group, metrics="mrr")["mrr"] for group in groups)
    assert history["other"]["mrr"][-1] == other != pytest.approx(right, abs=0.01)


@pytest.mark.skipif(not HAS_EVAL_X, reason="eval_X came with LightGBM 4.7")
@pytest.mark.filterwarnings("ignore:.*eval_set")
def test_eval_set_and_what_lightgbm_ignores() -> None:
    """The metric "None" beside the objective's own."""
    given: dict[str, Any] = {"group": TRAIN.group, "eval_set": [(VALID.X, VALID.y)], "eval_group": [VALID.group]}
    ranker = lgb.LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1)
    ranker.fit(TRAIN.X, TRAIN.y, eval_metric=["None", eval_metric("mrr")], eval_at=[5], **given)
    assert list(ranker.evals_result_["valid_0"]) == ["ndcg@5", "mrr"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (lambda valid: {"revenue": [1.0]}, r"must map data sets to their columns"),
        (lambda valid: {dataset(TRAIN): {"revenue": [1.0]}}, r"A Dataset of this training has no columns here"),
        (lambda valid: {valid: {"revenues": VALID.y}}, r"Did you mean 'revenues'"),
        (lambda valid: {valid: {"revenue": [1.0] * 5}}, r"columns\['revenue'\].*got 5"),
    ],
)
def test_wrong_columns(columns: Any, message: str) -> None:
    data = dataset(TRAIN)
    valid = dataset(VALID, data)
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        train(data, valid, metric=feval("sum_of(revenue)@3", columns=columns(valid)))
