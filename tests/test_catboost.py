"""`EvalMetric`: the numbers of `evaluate` in CatBoost's log, and what CatBoost decides by them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from sklearn.base import clone

import ltr_metrics as ltr
from fuzz.host_setups import Style, differs, draw_question
from ltr_metrics.io import read_letor

catboost = pytest.importorskip("catboost", reason="catboost is not installed")
from catboost import CatBoostError, CatBoostRanker, CatBoostRegressor, Pool  # noqa: E402

from ltr_metrics.catboost import EvalMetric  # noqa: E402

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Regression loss .* ignores an important ranking parameter:RuntimeWarning"),
]

QUIET: dict[str, Any] = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
LOSSES = ["YetiRank", "QueryRMSE", "PairLogit", "RMSE", "StochasticRank:metric=NDCG"]
METRICS = ["err@10", "ndcg_exp@10", "map", "pair_accuracy"]
ROUNDS = 12

Part = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def split() -> tuple[Part, Part]:
    X, y, qid = ltr.make_ranking(n_queries=60, documents=10, n_features=5, random_state=0)
    X, Xv, y, yv, qid, qidv = ltr.train_test_split(X, y, qid, test_size=0.4, random_state=0)
    return (X, y, qid), (Xv, yv, qidv)


def pool(part: Part, **columns: Any) -> Pool:
    X, y, qid = part
    return Pool(X, y, group_id=qid, **columns)


@pytest.fixture
def pools(split: tuple[Part, Part]) -> tuple[Pool, Pool]:
    train, valid = split
    return pool(train), pool(valid)


def fit(metric: Any, train: Any, valid: Any, *, kind: Any = CatBoostRanker, extra: Any = None, **settings: Any) -> Any:
    options = QUIET | {"iterations": ROUNDS, "learning_rate": 0.3, "loss_function": "YetiRank"} | settings
    return kind(eval_metric=metric, **options).fit(train, eval_set=valid, **extra or {})


def history(model: Any, name: str, data: str = "validation") -> list[float]:
    return model.evals_result_[data][name]


def scan(model: Any, part: Part, metric: str, **options: Any) -> list[float]:
    """Evaluate the model after each round."""
    X, y, qid = part
    scores = model.staged_predict(X)
    return [ltr.evaluate(y, score, qid=qid, metrics=metric, **options)[metric] for score in scores]


class TestValues:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("threads", [1, 2])
    def test_each_round_is_that_of_a_scan(self, loss: str, threads: int, split: Any, pools: Any) -> None:
        for metric in METRICS:
            model = fit(EvalMetric(metric, pools[1]), *pools, loss_function=loss, thread_count=threads)
            expected = scan(fit("NDCG", *pools, loss_function=loss, use_best_model=False), split[1], metric)
            assert len(expected) == ROUNDS
            np.testing.assert_allclose(history(model, metric), expected, rtol=1e-12)
            assert model.best_iteration_ == int(np.argmax(expected))
            assert model.tree_count_ == model.best_iteration_ + 1  # use_best_model

    @pytest.mark.parametrize("loss", LOSSES)
    def test_early_stopping(self, loss: str, split: Any, pools: Any) -> None:
        full = scan(fit("NDCG", *pools, loss_function=loss, use_best_model=False), split[1], "mrr")
        model = fit(EvalMetric("mrr", pools[1]), *pools, loss_function=loss, extra={"early_stopping_rounds": 2})
        seen = history(model, "mrr")
        np.testing.assert_allclose(seen, full[: len(seen)], rtol=1e-12)
        best = int(np.argmax(seen))
        assert model.best_iteration_ == best
        assert len(seen) == min(best + 3, ROUNDS)
        assert model.best_score_["validation"]["mrr"] == seen[best]

    @pytest.mark.parametrize("column", ["weight", "group_weight"])
    @pytest.mark.parametrize("bound", ["pool", "pair"])
    def test_weights(self, column: str, bound: str, split: Any) -> None:
        train, valid = split
        rng = np.random.default_rng(0)
        per_query = dict.fromkeys(valid[2].tolist(), 0.0) | {q: rng.uniform(0.1, 5) for q in set(valid[2].tolist())}
        weight = np.array([per_query[q] for q in valid[2].tolist()])
        if column == "weight":
            weight = weight * rng.uniform(0.5, 1, len(weight))
        weighted = pool(valid, **{column: weight})
        metric = EvalMetric("err@10", weighted if bound == "pool" else valid[1:])
        model = fit(metric, pool(train), weighted, loss_function="RMSE", use_best_model=False)
        stored = weight.astype(np.float32)  # as a Pool keeps them
        expected = scan(model, valid, "err@10", sample_weight=stored)
        np.testing.assert_allclose(history(model, "err@10"), expected, rtol=1e-12)
        assert not np.allclose(expected, scan(model, valid, "err@10"), rtol=1e-4)

    def test_weights_are_those_of_the_evaluation_set(self, split: Any, pools: Any) -> None:
        weighted = pool(split[1], weight=np.linspace(0.1, 2, len(split[1][1])))
        model = fit(EvalMetric("err@10", weighted), pools[0], pools[1], use_best_model=False)
        np.testing.assert_allclose(history(model, "err@10"), scan(model, split[1], "err@10"), rtol=1e-12)

    @pytest.mark.parametrize(
        "options",
        [{"ties": "worst"}, {"no_relevant": 0}, {"convention": "catboost"}, {"convention": "lightgbm"}],
    )
    def test_policies_and_conventions(self, options: dict[str, Any], split: Any) -> None:
        train, (X, y, qid) = split
        valid = X.round(0), np.where(qid % 3, y, 0), qid
        train_pool, valid_pool = pool((train[0].round(0), *train[1:])), pool(valid)
        metric = EvalMetric("ndcg@10", valid_pool, **options)
        model = fit(metric, train_pool, valid_pool, iterations=3, depth=2, use_best_model=False)
        (name,) = set(model.evals_result_["validation"]) - {"NDCG:type=Base"}
        expected = scan(model, valid, "ndcg@10", **options)
        np.testing.assert_allclose(history(model, name), expected, rtol=1e-12)
        assert not np.allclose(expected, scan(model, valid, "ndcg@10"), rtol=1e-6)

    def test_the_convention_is_catboosts_own_number(self, pools: Any) -> None:
        metric = EvalMetric("ndcg@10", pools[1], convention="catboost")
        model = fit(metric, *pools, custom_metric="NDCG:top=10;type=Base")
        np.testing.assert_allclose(history(model, "ndcg_lin@10"), history(model, "NDCG:top=10;type=Base"), rtol=1e-9)

    def test_a_pair_keeps_labels_that_float32_would_change(self, split: Any) -> None:
        train, (X, y, qid) = split
        y = y + 0.1
        model = fit(EvalMetric("dcg_lin@3", (y, qid)), pool(train), pool((X, y, qid)), use_best_model=False)
        assert history(model, "dcg_lin@3") == scan(model, (X, y, qid), "dcg_lin@3")

    def test_rows_in_any_order_without_queries_in_the_host(self, split: Any) -> None:
        train, valid = split
        order = np.random.default_rng(0).permutation(len(valid[1]))
        X, y, qid = (column[order] for column in valid)
        model = fit(
            EvalMetric("err@10", (y, qid)), Pool(*train[:2]), Pool(X, y), kind=CatBoostRegressor,
            loss_function="RMSE", use_best_model=False,
        )  # fmt: skip
        np.testing.assert_allclose(history(model, "err@10"), scan(model, (X, y, qid), "err@10"), rtol=1e-12)

    def test_the_learn_set_and_other_sets(self, split: Any, pools: Any) -> None:
        train, valid = pools
        half = pool(tuple(column[: len(column) // 2] for column in split[1]))
        model = fit(EvalMetric("mrr", valid), train, [train, half, valid], use_best_model=False)
        assert history(model, "mrr", "learn") == [-1] * ROUNDS
        assert history(model, "mrr", "validation_0") == history(model, "mrr", "validation_1") == [-1] * ROUNDS
        np.testing.assert_allclose(history(model, "mrr", "validation_2"), scan(model, split[1], "mrr"), rtol=1e-12)

    def test_the_training_data_as_an_evaluation_set(self, split: Any, pools: Any) -> None:
        """The sets differ where CatBoost reorders the learn set."""
        train, _ = pools
        model = fit(EvalMetric("mrr", train), train, train, use_best_model=False, boosting_type="Ordered")
        np.testing.assert_allclose(history(model, "mrr"), scan(model, split[0], "mrr"), rtol=1e-12)

    def test_the_metric_period(self, split: Any, pools: Any) -> None:
        model = fit(EvalMetric("mrr", pools[1]), *pools, metric_period=5, use_best_model=False)
        expected = scan(model, split[1], "mrr")
        np.testing.assert_allclose(history(model, "mrr"), [expected[i] for i in (0, 5, 10, 11)], rtol=1e-12)

    def test_a_continued_training(self, split: Any, pools: Any) -> None:
        first = fit(EvalMetric("mrr", pools[1]), *pools, iterations=5, use_best_model=False)
        both = fit(EvalMetric("mrr", pools[1]), *pools, iterations=5, use_best_model=False, extra={"init_model": first})
        expected = scan(both, split[1], "mrr")
        assert len(expected) == 10
        np.testing.assert_allclose(history(first, "mrr") + history(both, "mrr"), expected, rtol=1e-12)

    def test_scores_to_start_from(self, split: Any) -> None:
        (X, y, qid), (Xv, yv, qidv) = split
        train, valid = Pool(X, y, group_id=qid, baseline=X[:, 0]), Pool(Xv, yv, group_id=qidv, baseline=Xv[:, 0])
        model = fit(EvalMetric("mrr", valid), train, valid, use_best_model=False)
        scores = [score + Xv[:, 0] for score in model.staged_predict(Xv)]
        expected = [ltr.evaluate(yv, score, qid=qidv, metrics="mrr")["mrr"] for score in scores]
        np.testing.assert_allclose(history(model, "mrr"), expected, rtol=1e-12)

    def test_an_objective_of_ones_own(self, split: Any) -> None:
        (X, y, _), (Xv, yv, qidv) = split

        class SquaredError:
            no_jit = True

            def calc_ders_range(self, scores: Any, targets: Any, weights: Any) -> Any:
                return np.column_stack([targets - scores, -np.ones_like(scores)])

        model = fit(
            EvalMetric("mrr", (yv, qidv)), Pool(X, y), Pool(Xv, yv), kind=CatBoostRegressor,
            loss_function=SquaredError(), use_best_model=False,
        )  # fmt: skip
        np.testing.assert_allclose(history(model, "mrr"), scan(model, split[1], "mrr"), rtol=1e-12)

    @pytest.mark.parametrize(
        "settings",
        [
            {"loss_function": "YetiRank", "boosting_type": "Ordered"},
            {"loss_function": "RMSE", "model_shrink_rate": 0.2},
            {"loss_function": "RMSE", "langevin": True},
            {"loss_function": "QueryRMSE", "grow_policy": "Lossguide"},
            {"loss_function": "YetiRankPairwise"},
        ],
    )
    def test_the_best_model_is_the_one_that_was_evaluated(self, settings: Any, split: Any, pools: Any) -> None:
        """Also where CatBoost scales earlier rounds, so that QueryRanker has no booster to refuse."""
        model = fit(EvalMetric("err@10", pools[1]), *pools, **settings)
        X, y, qid = split[1]
        value = ltr.evaluate(y, model.predict(X), qid=qid, metrics="err@10")["err@10"]
        assert value == pytest.approx(max(history(model, "err@10")), rel=1e-12)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:err counts grades")
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("threads", [1, 2])
    def test_on_mq2008(self, loss: str, threads: int, data: Path) -> None:
        parts = [read_letor(data / "mq2008" / f"S{i}.txt.xz") for i in (1, 4)]
        train, valid = ((part.X, part.y, ltr.group_to_qid(ltr.qid_to_group(part.qid))) for part in parts)
        log = ltr.PerQueryLog()
        metric = EvalMetric(METRICS, valid[1:], log=log)
        model = fit(metric, pool(train), pool(valid), iterations=40, loss_function=loss, use_best_model=False,
                    thread_count=threads)  # fmt: skip
        expected = [
            ltr.evaluate(valid[1], score, qid=valid[2], metrics=METRICS) for score in model.staged_predict(valid[0])
        ]
        first = [result[METRICS[0]] for result in expected]
        np.testing.assert_allclose(history(model, METRICS[0]), first, rtol=1e-12)
        assert model.best_iteration_ == int(np.argmax(first))
        for name in METRICS:
            values = [result.per_query[name] for result in expected]
            np.testing.assert_allclose(log.values("validation", name), values, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ltr_metrics.errors.LtrWarning")
@given(seed=st.integers(0, 2**32 - 1))
def test_random_trainings(seed: int) -> None:
    """Random data, metrics, policies, names and weights: the log has what `evaluate` returns."""
    draw = np.random.default_rng(seed)
    style = Style.draw(draw)
    train, valid = style.part(draw, fewest_queries=4), style.part(draw)
    weights = "row" if style.is_weighted else ""
    question = draw_question(draw, [valid], weights, own_name="own {}")
    pools = [Pool(part.X, part.y, group_id=part.qid, weight=part.row_weight) for part in (train, valid)]
    bound = pools[1] if draw.random() < 0.5 else (valid.y, valid.qid)
    loss = ["QueryRMSE", "RMSE"][int(draw.integers(2))]
    try:
        scores = list(
            fit("NDCG", *pools, loss_function=loss, iterations=3, use_best_model=False).staged_predict(valid.X)
        )
    except CatBoostError:  # constant features or labels, weights that are all 0
        reject()
    log = ltr.PerQueryLog()
    try:
        metric = EvalMetric(question.given, bound, names=question.names, log=log, **question.policy)
        model = fit(metric, *pools, loss_function=loss, iterations=3, use_best_model=False)
    except (ltr.LtrError, CatBoostError):
        assert any(question.is_refused(valid, score, weights) for score in scores)
        return
    expected = [question.evaluate(valid, score, weights) for score in scores]
    for canonical, name in zip(question.canonical, question.names_in_log, strict=True):
        assert not differs(log.values("validation", name), [result.per_query[canonical] for result in expected])
    first = question.canonical[0]
    assert not differs(history(model, question.names_in_log[0]), [result[first] for result in expected])


class TestLog:
    def test_several_metrics(self, split: Any, pools: Any) -> None:
        log = ltr.PerQueryLog()
        model = fit(EvalMetric(METRICS, pools[1], log=log), *pools, use_best_model=False)
        assert set(model.evals_result_["validation"]) == {"NDCG:type=Base", "err@10"}
        for name in METRICS:
            means = np.nanmean(log.values("validation", name), axis=1)
            np.testing.assert_allclose(means, scan(model, split[1], name), rtol=1e-12)
            np.testing.assert_array_equal(log.values(pools[1], name), log.values("validation", name))
        assert log.best_round("validation", "err@10").n_rounds == model.best_iteration_ + 1

    def test_the_queries_of_a_pair_keep_their_ids(self, split: Any, pools: Any) -> None:
        log = ltr.PerQueryLog()
        fit(EvalMetric("mrr", split[1][1:], log=log), *pools, iterations=2)
        assert log.qid("validation").tolist() == list(dict.fromkeys(split[1][2].tolist()))

    def test_a_second_training(self, pools: Any) -> None:
        log = ltr.PerQueryLog()
        metric = EvalMetric("mrr", pools[1], log=log)
        fit(metric, *pools, iterations=3)
        with pytest.raises(CatBoostError, match="has rounds of another training.*Give each training a new PerQueryLog"):
            fit(metric, *pools, iterations=3)
        assert log.values("validation", "mrr").shape[0] == 3

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            ("canonical", "err(max_grade=5)@10"),
            ("asked", "err(max_grade=5)@10"),
            ("slug", "err-max_grade-5_at_10"),
            ({"err(max_grade=5)@10": "where käufer stop: 50 % \\ \"x\""}, "where käufer stop: 50 % \\ \"x\""),
        ],
    )  # fmt: skip
    def test_names(self, names: Any, expected: str, pools: Any, tmp_path: Path) -> None:
        log = ltr.PerQueryLog()
        metric = EvalMetric(["err(max_grade=5)@10", "mrr"], pools[1], names=names, log=log)
        model = fit(metric, *pools, iterations=3, allow_writing_files=True, train_dir=str(tmp_path))
        means = log.values("validation", expected).mean(axis=1)
        np.testing.assert_allclose(history(model, expected), means, rtol=1e-12)
        assert expected in (tmp_path / "test_error.tsv").read_text(encoding="utf-8")


class TestCopies:
    def test_one_metric_in_several_trainings(self, split: Any, pools: Any) -> None:
        metric = EvalMetric("mrr", pools[1])
        models = [fit(metric, *pools, depth=depth, use_best_model=False) for depth in (2, 3, 2)]
        for model in models:
            np.testing.assert_allclose(history(model, "mrr"), scan(model, split[1], "mrr"), rtol=1e-12)
        assert history(models[0], "mrr") == history(models[2], "mrr") != history(models[1], "mrr")

    def test_clone_copy_and_pickle(self, pools: Any) -> None:
        model = fit(EvalMetric("mrr", pools[1], names="slug"), *pools)
        copies = [model.copy(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        for copied in copies:
            np.testing.assert_array_equal(copied.predict(pools[1]), model.predict(pools[1]))
        for unfitted in (clone(model), *map(clone, copies)):
            again = unfitted.fit(pools[0], eval_set=pools[1])
            assert again.evals_result_ == model.evals_result_

    def test_saved_models(self, pools: Any, tmp_path: Path) -> None:
        model = fit(EvalMetric("mrr", pools[1]), *pools)
        model.save_model(tmp_path / "model.cbm")
        loaded = CatBoostRanker().load_model(tmp_path / "model.cbm")
        np.testing.assert_array_equal(loaded.predict(pools[1]), model.predict(pools[1]))
        assert loaded.get_all_params()["eval_metric"] == "PythonUserDefinedPerObject"

    def test_pickled_metric(self, pools: Any) -> None:
        metric = EvalMetric("err@10", pools[1])
        for copied in (pickle.loads(pickle.dumps(metric)), copy.copy(metric)):
            assert isinstance(copied, EvalMetric)
            assert repr(copied) == repr(metric) == f"EvalMetric(err@10, {metric.valid.queries!r})"
            assert fit(copied, *pools).evals_result_ == fit(metric, *pools).evals_result_
        assert len(pickle.dumps(metric)) < 20_000

    def test_by_hand(self, split: Any) -> None:
        _, (X, y, qid) = split
        metric = EvalMetric("mrr", (y, qid))
        score = X[:, 0].astype(np.float64)
        expected = ltr.evaluate(y, score, qid=qid, metrics="mrr")["mrr"]
        assert metric.evaluate((score,), y.astype(np.float32), None) == (expected, 1.0)
        assert metric.evaluate((score[:5],), y[:5].astype(np.float32), None) == (-1.0, 1.0)


class TestBadInput:
    @pytest.mark.parametrize("valid", [None, np.zeros(3), (np.zeros(3),), "pool", (1, 2, 3)])
    def test_no_validation_set(self, valid: Any) -> None:
        with pytest.raises(ltr.LtrTypeError, match=r"needs the validation set.*or the pair \(y, qid\). Got"):
            EvalMetric("mrr", valid)

    def test_pools_without_what_is_needed(self, split: Any) -> None:
        X, y, qid = split[1]
        with pytest.raises(ltr.LtrValueError, match="has no queries. Create it with Pool"):
            EvalMetric("mrr", Pool(X, y))
        with pytest.raises(ltr.LtrValueError, match="has no labels. Create it with Pool"):
            EvalMetric("mrr", Pool(X, group_id=qid))

    def test_arguments(self, split: Any) -> None:
        valid = split[1][1:]
        for metrics, options, message in (
            ("ndgc", {}, "Did you mean 'ndcg"),
            (["mrr", "map"], {}, "takes one custom metric and would log mrr alone.*log=PerQueryLog"),
            (None, {}, "takes one custom metric"),
            ("mrr", {"ties": "docid"}, "no host passes to a metric"),
            ("mrr", {"log": []}, "log must be a PerQueryLog"),
            ("mrr", {"names": {"mrr": "a\tb"}}, "printable characters only"),
            ("mrr", {"names": {"mrr": "NDCG:top=10"}}, "is the name of one of CatBoost's own metrics"),
        ):
            with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
                EvalMetric(metrics, valid, **options)

    def test_labels(self, split: Any) -> None:
        _, y, qid = split[1]
        with pytest.raises(ltr.LtrValueError, match="y_true must be finite: got nan"):
            EvalMetric("mrr", (np.where(y > 1, np.nan, y), qid))
        with pytest.raises(ltr.LtrValueError):
            EvalMetric("mrr", (y, qid[1:]))

    @pytest.mark.parametrize(
        ("case", "message"),
        [
            (
                "no set",
                r"has no evaluation set. Pass the validation set to fit as well.*The learn set is not evaluated",
            ),
            ("other labels", r"No evaluation set of this training has the \d+ labels that EvalMetric was created with"),
            ("other rows", r"No evaluation set.* eval_set has \d+ rows"),
            ("twice", r"eval_set\[0\] and eval_set\[1\] have the same labels.*cannot be told apart. Pass one of them"),
            ("first", r"evaluates eval_set\[0\], and CatBoost stops by the last of the 2 evaluation sets"),
            ("other queries", "queries that EvalMetric was created with differ from group_id"),
            ("learn set", "The learn set has the same labels as the validation set, in the same order"),
        ],
    )
    def test_evaluation_sets(self, case: str, message: str, split: Any, pools: Any) -> None:
        train, valid = pools
        X, y, qid = split[1]
        bound: Any = valid
        sets: Any = {
            "no set": None,
            "other labels": pool((X, y[::-1].copy(), qid)),
            "other rows": pool((X[qid != qid[0]], y[qid != qid[0]], qid[qid != qid[0]])),
            "twice": [pool((X[:, ::-1].copy(), y, qid)), valid],
            "first": [valid, train],
            "other queries": valid,
            "learn set": train,
        }[case]
        if case == "other queries":
            bound = (y, np.repeat(np.arange(len(y) // 2 + 1), 2)[: len(y)])
        if case == "learn set":
            bound = train
        with pytest.raises(CatBoostError, match=message) as caught:
            fit(EvalMetric("mrr", bound), train, sets, has_time=case == "learn set")
        assert "LtrValueError" in str(caught.value)

    def test_errors_in_the_training(self, split: Any, pools: Any) -> None:
        train, (X, y, qid) = split
        none_relevant = pool((X, y * 0, qid))
        with pytest.raises(CatBoostError, match="UndefinedMeanError: map is undefined for all 24 queries"):
            fit(EvalMetric("map", none_relevant), pools[0], none_relevant)
        halves = pool((X, y + 0.5, qid))
        with pytest.raises((CatBoostError, ltr.LtrValueError), match="err.*grade"):
            fit(EvalMetric("err@10", halves), pools[0], halves)
        with pytest.raises(
            CatBoostError, match="A ranking needs one score a row. The model predicts an array of shape"
        ):
            fit(
                EvalMetric("mrr", (y, qid)), Pool(*train[:2]), Pool(X, y), kind=catboost.CatBoostClassifier,
                loss_function="MultiClass",
            )  # fmt: skip

    def test_where_it_cannot_work(self, pools: Any, tmp_path: Path) -> None:
        metric = EvalMetric("mrr", pools[1])
        with pytest.raises(ltr.LtrValueError, match='on the CPU alone. Train with task_type="CPU"'):
            fit(metric, *pools, task_type="GPU")
        settings = {"iterations": 2, "loss_function": "YetiRank", "logging_level": "Silent", "train_dir": str(tmp_path)}
        with pytest.raises(
            CatBoostError, match="catboost.cv and CatBoost's searches make validation sets of their own"
        ):
            catboost.cv(pools[0], settings | {"eval_metric": metric}, fold_count=2)

    def test_another_hosts_metric(self, split: Any, pools: Any) -> None:
        from ltr_metrics.lightgbm import feval
        from ltr_metrics.sklearn import make_scorer

        xgboost = pytest.importorskip("ltr_metrics.xgboost", reason="xgboost is not installed")
        monitor = xgboost.Monitor("mrr", split[1][0], split[1][1], qid=split[1][2])
        for other in (feval("mrr"), make_scorer("mrr"), monitor):
            other.no_jit = True  # CatBoost warns that there is nothing to compile
            with pytest.raises(CatBoostError, match=r"takes ltr_metrics\.catboost\.EvalMetric"):
                fit(other, *pools)
        lgb = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
        X, y, qid = split[1]
        data = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
        with pytest.raises(ltr.LtrTypeError, match=r"ltr_metrics\.lightgbm\.feval"):
            lgb.train({"verbose": -1}, data, 2, [data], feval=EvalMetric("mrr", pools[1]))
