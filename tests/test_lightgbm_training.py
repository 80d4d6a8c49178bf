"""Every way to train with LightGBM: what is in the log is an evaluation of that round's model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from lightgbm_fit import HAS_EVAL_X, validation_sets
from sklearn.model_selection import GroupKFold

import ltr_metrics as ltr
from ltr_metrics.io import read_letor
from ltr_metrics.lightgbm import eval_metric, feval

pytestmark = pytest.mark.integration

METRICS = ["err@10", "ndcg_lin@5", "mrr"]
PARAMS: dict[str, Any] = {
    "objective": "lambdarank",
    "metric": "None",
    "verbose": -1,
    "num_threads": 1,
    "seed": 0,
    "learning_rate": 0.3,
}
Part = tuple[np.ndarray, np.ndarray, np.ndarray]
HAS_POSITION = "position" in inspect.signature(lgb.Dataset).parameters  # since LightGBM 4.1


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    """Three disjoint sets of queries: to train on, and two to validate on."""
    X, y, qid = ltr.make_ranking(n_queries=90, documents=10, random_state=0)
    return [(X[chosen], y[chosen], qid[chosen]) for chosen in (qid % 3 == 0, qid % 3 == 1, qid % 3 == 2)]


def dataset(part: Part, reference: lgb.Dataset | None = None, **options: Any) -> lgb.Dataset:
    X, y, qid = part
    return lgb.Dataset(X, y, group=ltr.qid_to_group(qid), reference=reference, **options)


def train(
    train_set: lgb.Dataset, valid_sets: list[lgb.Dataset], params: dict[str, Any] | None = None, **options: Any
) -> tuple[lgb.Booster, dict[str, Any]]:
    history: dict[str, Any] = {}
    callbacks = [lgb.record_evaluation(history), *options.pop("callbacks", [])]
    options = {"num_boost_round": 5, "feval": feval(METRICS)} | options
    return lgb.train(PARAMS | (params or {}), train_set, valid_sets=valid_sets, callbacks=callbacks, **options), history


def check(booster: lgb.Booster, logged: dict[str, list[float]], part: Part, rounds: list[int] | None = None) -> None:
    """Each round's values are those of the model of so many trees, to the last bit; trees of
    `init_model` come first.
    """
    X, y, qid = part
    n_rounds = len(logged[METRICS[0]])
    before = booster.num_trees() - n_rounds
    for round_ in range(n_rounds) if rounds is None else rounds:
        score = booster.predict(X, num_iteration=before + round_ + 1)
        expected = ltr.evaluate(y, score, qid=qid, metrics=METRICS).mean
        assert {name: values[round_] for name, values in logged.items()} == expected


def squares(preds: np.ndarray, train_set: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
    return preds - train_set.get_label(), np.ones_like(preds)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"objective": "rank_xendcg"},
        {"objective": "regression"},
        {"objective": "poisson"},
        {"objective": squares},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
        {"data_sample_strategy": "goss"},
        {"bagging_freq": 1, "bagging_fraction": 0.5},
        {"objective": "regression", "linear_tree": True},
    ],
    ids=["lambdarank", "rank_xendcg", "regression", "poisson", "callable", "rf", "goss", "bagging", "linear_tree"],
)
def test_several_validation_sets_with_the_training_data_among_them(parts: list[Part], params: dict[str, Any]) -> None:
    train_set = dataset(parts[0])
    valid_sets = [dataset(parts[1], train_set), train_set, dataset(parts[2], train_set)]
    booster, history = train(train_set, valid_sets, params, valid_names=["one", "own", "two"])
    assert list(history) == ["own", "one", "two"]
    for name, part in zip(("own", "one", "two"), parts, strict=True):
        check(booster, history[name], part)
    assert history["one"] != history["two"]


def test_dart_changes_the_trees_of_earlier_rounds_so_the_last_round_is_the_models(parts: list[Part]) -> None:
    train_set = dataset(parts[0])
    params = {"boosting": "dart", "drop_rate": 0.5}
    booster, history = train(train_set, [train_set, dataset(parts[1], train_set)], params, num_boost_round=10)
    check(booster, history["training"], parts[0], [9])
    check(booster, history["valid_1"], parts[1], [9])


@pytest.mark.parametrize("boosting", ["gbdt", "dart"])
def test_a_training_that_goes_on_from_a_model(parts: list[Part], boosting: str) -> None:
    begun, _ = train(dataset(parts[0]), [dataset(parts[0])])
    train_set = dataset(parts[0])
    valid_sets = [train_set, dataset(parts[1], train_set)]
    booster, history = train(train_set, valid_sets, {"boosting": boosting}, init_model=begun)
    assert booster.num_trees() == 10
    rounds = [4] if boosting == "dart" else None
    check(booster, history["training"], parts[0], rounds)
    check(booster, history["valid_1"], parts[1], rounds)


def test_a_schedule_of_learning_rates(parts: list[Part]) -> None:
    train_set = dataset(parts[0])
    schedule = lgb.reset_parameter(learning_rate=[0.5, 0.4, 0.3, 0.2, 0.1])
    booster, history = train(train_set, [dataset(parts[1], train_set)], callbacks=[schedule])
    check(booster, history["valid_0"], parts[1])


def test_row_weights(parts: list[Part]) -> None:
    X, y, qid = parts[1]
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    train_set = dataset(parts[0], weight=np.linspace(0.5, 2, len(parts[0][1])))
    booster, history = train(train_set, [dataset(parts[1], train_set, weight=weight)])
    expected = ltr.evaluate(
        y, booster.predict(X), qid=qid, metrics=METRICS, sample_weight=weight.astype(np.float32)
    ).mean
    assert {name: values[-1] for name, values in history["valid_0"].items()} == expected


class Rows(lgb.Sequence):
    batch_size = 7

    def __init__(self, X: np.ndarray) -> None:
        self.X = X

    def __getitem__(self, at: Any) -> np.ndarray:
        return self.X[at]

    def __len__(self) -> int:
        return len(self.X)


def from_pandas(part: Part, reference: lgb.Dataset | None, folder: Path) -> lgb.Dataset:
    X, y, qid = part
    group = pd.Series(qid).groupby(qid, sort=False).size()
    return lgb.Dataset(pd.DataFrame(X), pd.Series(y), group=group, reference=reference)


def from_arrow(part: Part, reference: lgb.Dataset | None, folder: Path) -> lgb.Dataset:
    X, y, qid = part
    table = pa.table({f"f{i}": column for i, column in enumerate(X.T)})
    group = pa.chunked_array([ltr.qid_to_group(qid).astype(np.int32)])
    return lgb.Dataset(table, pa.chunked_array([y.astype(np.float32)]), group=group, reference=reference)


def from_sequence(part: Part, reference: lgb.Dataset | None, folder: Path) -> lgb.Dataset:
    X, y, qid = part
    return lgb.Dataset(Rows(X), y, group=ltr.qid_to_group(qid), reference=reference)


def from_binary_file(part: Part, reference: lgb.Dataset | None, folder: Path) -> lgb.Dataset:
    file = folder / f"{part[2][0]}.bin"
    dataset(part, reference, params={"verbose": -1}).save_binary(file)
    return lgb.Dataset(file, reference=reference)


def from_text_file(part: Part, reference: lgb.Dataset | None, folder: Path) -> lgb.Dataset:
    X, y, qid = part
    file = folder / f"{qid[0]}.csv"
    np.savetxt(file, np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    np.savetxt(f"{file}.query", ltr.qid_to_group(qid), fmt="%d")
    return lgb.Dataset(file, reference=reference)


def with_positions(part: Part, reference: lgb.Dataset | None, folder: Path) -> lgb.Dataset:
    return dataset(part, reference, position=np.concatenate([np.arange(n) for n in ltr.qid_to_group(part[2])]))


@pytest.mark.parametrize(
    "made_by",
    [
        from_pandas,
        from_sequence,
        from_binary_file,
        from_text_file,
        pytest.param(from_arrow, marks=pytest.mark.skipif(not HAS_EVAL_X, reason="needs cffi too before LightGBM 4.7")),
        pytest.param(with_positions, marks=pytest.mark.skipif(not HAS_POSITION, reason="needs LightGBM 4.1")),
    ],
)
def test_datasets_of_all_kinds(
    parts: list[Part], tmp_path: Path, made_by: Callable[[Part, lgb.Dataset | None, Path], lgb.Dataset]
) -> None:
    train_set = made_by(parts[0], None, tmp_path)
    booster, history = train(train_set, [train_set, made_by(parts[1], train_set, tmp_path)])
    check(booster, history["training"], parts[0])
    check(booster, history["valid_1"], parts[1])


@pytest.mark.parametrize("free_raw_data", [True, False])
def test_a_validation_set_that_refers_to_another_one(parts: list[Part], free_raw_data: bool) -> None:
    train_set = dataset(parts[0], free_raw_data=free_raw_data)
    first = dataset(parts[1], train_set, free_raw_data=free_raw_data)
    booster, history = train(train_set, [dataset(parts[2], first, free_raw_data=free_raw_data), first])
    check(booster, history["valid_0"], parts[2])
    check(booster, history["valid_1"], parts[1])


@pytest.mark.parametrize("free_raw_data", [True, False])
def test_a_subset_of_whole_queries(parts: list[Part], free_raw_data: bool) -> None:
    X, y, qid = parts[0]
    train_set = dataset(parts[0], free_raw_data=free_raw_data)
    chosen = np.isin(qid, np.unique(qid)[::2])
    log = ltr.PerQueryLog()
    valid = train_set.subset(np.flatnonzero(chosen))
    booster, history = train(train_set, [valid], feval=feval(METRICS, log=log))
    check(booster, history["valid_0"], (X[chosen], y[chosen], qid[chosen]))
    np.testing.assert_array_equal(log.qid(valid), np.arange(30)[::2])  # as counted in the whole data


def test_a_subset_that_lost_its_groups_has_the_queries_of_the_whole(parts: list[Part], tmp_path: Path) -> None:
    """LightGBM forgets them if the whole data are from a binary file, or are a subset: its own NDCG is NaN then."""
    X, y, qid = parts[0]
    chosen = qid < 60
    file = tmp_path / "train.bin"
    dataset(parts[0], params={"verbose": -1}).save_binary(file)
    of_file = lgb.Dataset(file)
    booster, history = train(of_file, [of_file.subset(np.flatnonzero(chosen))])
    check(booster, history["valid_0"], (X[chosen], y[chosen], qid[chosen]))
    train_set = dataset(parts[0])
    of_subset = train_set.subset(np.flatnonzero(chosen)).subset(np.flatnonzero(qid[chosen] < 30))
    booster, history = train(train_set, [of_subset], {"metric": "ndcg", "eval_at": [5]})
    assert np.isnan(history["valid_0"].pop("ndcg@5")).all()
    check(booster, history["valid_0"], (X[qid < 30], y[qid < 30], qid[qid < 30]))


def test_a_subset_with_groups_of_its_own(parts: list[Part]) -> None:
    train_set = dataset(parts[0])
    chosen = np.flatnonzero(parts[0][2] < 60)
    valid = train_set.subset(chosen).construct()
    valid.set_group([5, len(chosen) - 5])
    score = parts[0][0][chosen, 0]
    expected = ltr.evaluate(parts[0][1][chosen], score, group=[5, len(chosen) - 5], metrics=METRICS).mean
    assert {name: value for name, value, _ in feval(METRICS)(score, valid)} == expected


@pytest.mark.parametrize("rows", ["every second", "in two steps", "twice"])
def test_a_subset_that_is_not_of_whole_queries_is_refused(parts: list[Part], rows: str) -> None:
    train_set = dataset(parts[0])
    n = len(parts[0][1])
    if rows == "twice":
        valid = train_set.subset(np.repeat(np.arange(n), 2))
    else:
        valid = train_set.subset(np.arange(0, n, 2))
        if rows == "in two steps":  # the second takes whole what the first has left of queries
            taken = len(range(0, int(ltr.qid_to_group(parts[0][2])[0]), 2))
            valid = valid.subset(np.arange(taken))
    with pytest.raises(ltr.LtrValueError, match=r"holds \d+ of the \d+ documents of query 0.*Pass all rows of a query"):
        train(train_set, [valid])


def test_two_trainings_with_one_function_and_one_pair_of_datasets(parts: list[Part]) -> None:
    train_set = dataset(parts[0])
    valid = dataset(parts[1], train_set)
    metrics = feval(METRICS)
    histories = []
    for rate in (0.1, 0.5, 0.1):
        booster, history = train(train_set, [valid], {"learning_rate": rate}, feval=metrics)
        check(booster, history["valid_0"], parts[1])
        histories.append(history)
    assert histories[0] == histories[2] != histories[1]


def test_a_booster_evaluates_by_hand(parts: list[Part]) -> None:
    train_set = dataset(parts[0])
    valid, new = dataset(parts[1], train_set), dataset(parts[2], train_set)
    metrics = feval(METRICS)
    booster, _ = train(train_set, [valid], feval=metrics, keep_training_booster=True)
    called = [booster.eval_train(metrics), booster.eval_valid(metrics), booster.eval(new, "new", metrics)]
    for part, values in zip(parts, called, strict=True):
        check(booster, {name: [value] for _, name, value, *_ in values}, part)


class TestCrossValidation:
    def test_training_folds_are_evaluated_too(self, parts: list[Part]) -> None:
        X, y, qid = parts[0]
        log = ltr.PerQueryLog()
        folds = [(np.flatnonzero(~chosen), np.flatnonzero(chosen)) for chosen in (qid < 30, qid >= 60)]
        result = lgb.cv(
            PARAMS, dataset(parts[0]), 3, folds=folds, feval=feval(METRICS, log=log), eval_train_metric=True,
            return_cvbooster=True,
        )  # fmt: skip
        boosters = result["cvbooster"].boosters
        for name, side in (("train", 0), ("valid", 1)):
            by_fold = [
                ltr.evaluate(y[fold[side]], booster.predict(X[fold[side]]), qid=qid[fold[side]], metrics=METRICS)
                for booster, fold in zip(boosters, folds, strict=True)
            ]
            for metric in METRICS:
                assert result[f"{name} {metric}-mean"][-1] == np.mean([fold[metric] for fold in by_fold])
        position = np.unique(qid, return_inverse=True)[1]
        sides = [position[rows] for fold in folds for rows in fold]
        assert [log.qid(name).tolist() for name in log.names] == [np.unique(rows).tolist() for rows in sides]

    @pytest.mark.parametrize("objective", ["regression", squares, None], ids=["regression", "callable", "none"])
    @pytest.mark.parametrize(
        "how", [{"stratified": True}, {"stratified": False}, {"stratified": False, "shuffle": False}]
    )
    def test_queries_cut_for_want_of_a_ranking_objective(self, parts: list[Part], objective: Any, how: dict[str, bool]) -> None:  # fmt: skip
        params = PARAMS | {"objective": objective}
        with pytest.raises(ltr.LtrValueError, match=r"holds \d+ of the \d+ documents of query \d+.*GroupKFold"):
            lgb.cv(params, dataset(parts[0]), 2, nfold=4, feval=feval("mrr"), **how)
        result = lgb.cv(params, dataset(parts[0]), 2, folds=GroupKFold(4), feval=feval("mrr"))  # the remedy
        assert len(result["valid mrr-mean"]) == 2

    def test_data_that_are_themselves_a_cut_subset(self, parts: list[Part]) -> None:
        half = dataset(parts[0]).subset(np.arange(0, len(parts[0][1]), 2))
        with pytest.raises(
            ltr.LtrValueError, match=r"holds \d+ of the \d+ documents of query 0, and parts of 30 queries"
        ):
            lgb.cv(PARAMS, half, 2, nfold=3, feval=feval("mrr"))

    def test_a_binary_file(self, parts: list[Part], tmp_path: Path) -> None:
        file = tmp_path / "train.bin"
        dataset(parts[0], params={"verbose": -1}).save_binary(file)
        of_file, of_memory = (
            lgb.cv(PARAMS, data, 3, nfold=3, feval=feval(METRICS)) for data in (lgb.Dataset(file), dataset(parts[0]))
        )
        assert of_file == of_memory


class TestRanker:
    """LGBMRanker: eval_X and eval_y came with LightGBM 4.7, which warns of eval_set."""

    def fit(self, parts: list[Part], with_eval_set: bool, **options: Any) -> lgb.LGBMRanker:
        (X, y, qid), *valid = parts
        sets = [(X, y) for X, y, _ in valid]
        given: dict[str, Any] = {"eval_set": sets} if with_eval_set else validation_sets(*sets)
        ranker = lgb.LGBMRanker(n_estimators=5, metric="None", verbose=-1, n_jobs=1)
        group = [ltr.qid_to_group(qid) for _, _, qid in valid]
        return ranker.fit(X, y, group=ltr.qid_to_group(qid), eval_group=group, **given, **options)

    @pytest.mark.parametrize("with_eval_set", [True, False])
    def test_each_validation_set(self, parts: list[Part], with_eval_set: bool) -> None:
        if not (with_eval_set or HAS_EVAL_X):
            pytest.skip("eval_X came with LightGBM 4.7")
        options = {"eval_metric": eval_metric(METRICS), "eval_names": ["one", "two"]}
        if with_eval_set and HAS_EVAL_X:
            with pytest.warns(FutureWarning, match="eval_set"):
                ranker = self.fit(parts, with_eval_set, **options)
        else:
            ranker = self.fit(parts, with_eval_set, **options)
        check(ranker.booster_, ranker.evals_result_["one"], parts[1])
        check(ranker.booster_, ranker.evals_result_["two"], parts[2])

    @pytest.mark.filterwarnings("ignore:.*eval_set")
    def test_pandas_a_list_of_functions_and_built_in_metrics(self, parts: list[Part]) -> None:
        frames = [(pd.DataFrame(X), pd.Series(y), pd.Series(qid)) for X, y, qid in parts]
        both = [eval_metric(METRICS), "map", eval_metric("map(rel=2)@3")]
        ranker = self.fit(frames, True, eval_metric=both, eval_at=[3])
        logged = ranker.evals_result_["valid_0"]
        assert list(logged) == ["map@3", *METRICS, "map(rel=2)@3"]
        check(ranker.booster_, {name: logged[name] for name in METRICS}, parts[1])

    @pytest.mark.filterwarnings("ignore:.*eval_set")
    def test_what_lightgbm_ignores(self, parts: list[Part]) -> None:
        """A tuple of functions, and "None" beside the objective's own metric."""
        in_a_tuple = self.fit(parts, True, eval_metric=(eval_metric("mrr"), eval_metric("map")))
        assert in_a_tuple.evals_result_ == {}
        X, y, qid = parts[0]
        group = ltr.qid_to_group(qid)
        ranker = lgb.LGBMRanker(n_estimators=1, verbose=-1, n_jobs=1)
        given = {"eval_set": [(X, y)], "eval_group": [group], "eval_at": [5]}
        ranker.fit(X, y, group=group, **given, eval_metric=["None", eval_metric("mrr")])
        assert list(ranker.evals_result_["training"]) == ["ndcg@5", "mrr"]


class TestBestIteration:
    """Early stopping by our ndcg_exp@10 stops where it stops by LightGBM's own ndcg@10."""

    def check(self, objective: str, train_part: Part, valid_part: Part) -> None:
        params = {"objective": objective, "learning_rate": 0.1}
        best, curves = [], []
        for metric in ({"metric": "None"}, {"metric": "ndcg", "eval_at": [10]}):
            train_set = dataset(train_part)
            ours = feval("ndcg_exp@10", convention="lightgbm") if metric["metric"] == "None" else None
            booster, history = train(
                train_set, [dataset(valid_part, train_set)], params | metric, num_boost_round=300, feval=ours,
                callbacks=[lgb.early_stopping(15, verbose=False)],
            )  # fmt: skip
            best.append(booster.best_iteration)
            curves += history["valid_0"].values()
        assert best[0] == best[1] == int(np.argmax(curves[0])) + 1
        assert len(curves[0]) == best[0] + 15 < 300
        np.testing.assert_allclose(curves[0], curves[1], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
    def test_synthetic_data(self, parts: list[Part], objective: str) -> None:
        self.check(objective, parts[0], parts[1])

    @pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
    def test_fold_1_of_mq2008(self, data: Path, objective: str) -> None:
        self.check(
            objective,
            read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in (1, 2, 3)]),
            read_letor(data / "mq2008" / "S4.txt.xz"),
        )


class TestLogs:
    """LightGBM tells a metric neither the training nor the names; both are read from the function that calls it."""

    @pytest.mark.parametrize("with_training_data", [False, True])
    def test_one_log_in_two_trainings_is_refused(self, parts: list[Part], with_training_data: bool) -> None:
        log = ltr.PerQueryLog()
        metric = feval("mrr", log=log)
        data = dataset(parts[0])
        sets = [*([data] if with_training_data else []), dataset(parts[1], data)]
        train(data, sets, feval=metric)
        with pytest.raises(ltr.LtrValueError, match="new PerQueryLog"):
            train(data, sets, feval=metric)

    def test_a_training_that_goes_on_with_one_booster(self, parts: list[Part]) -> None:
        log = ltr.PerQueryLog()
        metric = feval("mrr", log=log)
        data = dataset(parts[0])
        valid = dataset(parts[1], data)
        booster = lgb.Booster(PARAMS, data).add_valid(valid, "valid")
        for _ in range(4):
            booster.update()
            booster.eval_valid(metric)
        assert log.values(valid, "mrr").shape == (4, len(np.unique(parts[1][2])))

    def test_training_data_that_refer_to_others(self, parts: list[Part]) -> None:
        """Their bins are another Dataset's; they are the training data all the same."""
        log = ltr.PerQueryLog()
        data = dataset(parts[0], dataset(parts[2]))
        train(data, [data, dataset(parts[1], data)], feval=feval("mrr", log=log))
        assert log.names == ("training", "valid_0")
