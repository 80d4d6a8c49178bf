"""A user's own metric, as a function of a Ranking and as a class, in every host."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import dataclass
from typing import ClassVar

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from lightgbm_fit import validation_sets
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.sklearn import QueryRanker, make_scorer


def top_grades(ranking: ltr.Ranking) -> np.ndarray:
    """Share of grades above 2 among the first three; NaN for a query of fewer."""
    good = (ranking.queries.grades > 2).astype(float)
    return np.where(ranking.n_ranked >= 3, ranking.expected(good, 3).sum(axis=1) / 3, np.nan)


def best_at_top(ranking: ltr.Ranking) -> np.ndarray:
    """Whether the first document has the query's highest grade."""
    first = ranking.by_rank(ranking.queries.grades, 1)[:, 0]
    return (first == ranking.by_rank(ranking.queries.grades).max(axis=1)).astype(float)


@dataclass(frozen=True, kw_only=True)
class Reach(ltr.RankMetric):
    """Grades of the first k, of all the query's grades."""

    NAME: ClassVar[str] = "reach"
    power: float = 1

    def contributions(self, ranking: ltr.Ranking, depth: int) -> np.ndarray:
        return ranking.expected(ranking.queries.grades**self.power, depth)

    def divisor(self, block: object, k: int | None) -> np.ndarray:
        queries = block.queries
        total = queries.sum_by_query(np.concatenate(([0.0], queries.grades**self.power))[queries.grade_index])
        return np.where(total > 0, total, np.nan)[block.members]


def test_a_function_is_a_metric_of_its_name() -> None:
    result = ltr.evaluate([3, 0, 4, 1, 0], [5, 4, 3, 2, 1], group=[3, 2], metrics=["mrr", top_grades, best_at_top])
    assert list(result.mean) == ["mrr", "top_grades", "best_at_top"]
    np.testing.assert_array_equal(result.per_query["top_grades"], [2 / 3, np.nan])
    np.testing.assert_array_equal(result.per_query[best_at_top], [0, 1])
    assert result[top_grades] == result["top_grades"] == result[ltr.metric(top_grades)]
    assert ltr.evaluate([3, 0, 4], [5, 4, 3], group=[3], metrics=top_grades)["top_grades"] == 2 / 3
    assert pickle.loads(pickle.dumps(ltr.metric(top_grades))) == ltr.metric(top_grades)


def test_ties_are_expected_or_refused_but_never_overlooked() -> None:
    y, s = [3, 0, 0, 4], [2, 1, 1, 1]
    assert ltr.evaluate(y, s, group=[4], metrics=[top_grades])["top_grades"] == pytest.approx((1 + 2 / 3) / 3)
    with pytest.raises(
        ltr.LtrValueError, match=r'order of equal scores open.*query 0 has 3 documents.*from rank 2.*ties="stable"'
    ):
        ltr.evaluate(y, s, group=[4], metrics=[best_at_top])
    assert ltr.evaluate(y, s, group=[4], metrics=[best_at_top], ties="worst")["best_at_top"] == 0


def test_a_class_has_parameters_cutoffs_and_a_name() -> None:
    assert str(Reach(k=5, power=2)) == "reach(power=2)@5"
    rng = np.random.default_rng(0)
    y, s, group = rng.integers(0, 5, 500), rng.integers(0, 30, 500), [1, 99, 250, 150]
    got = ltr.evaluate(y, s, group=group, metrics=[Reach(k=1), Reach(k=7), Reach()], ties="stable")
    ends = np.cumsum(group)
    for query, (end, n) in enumerate(zip(ends, group, strict=True)):
        ranked = y[end - n : end][np.argsort(-s[end - n : end], kind="stable")]
        for metric in (Reach(k=1), Reach(k=7), Reach()):
            expected = ranked[: metric.k].sum() / ranked.sum()
            np.testing.assert_allclose(got.per_query[metric][query], expected, rtol=1e-12)
    with pytest.raises(ltr.LtrValueError, match="no metric 'reach'"):
        ltr.metric("reach@5")


def one_for_all(ranking: ltr.Ranking) -> float:
    return 0.5


def without_limit(ranking: ltr.Ranking) -> np.ndarray:
    return np.full(len(ranking.n_ranked), np.inf)


def mrr(ranking: ltr.Ranking) -> np.ndarray:
    return np.ones(len(ranking.n_ranked))


def documents(ranking: ltr.Ranking) -> np.ndarray:
    return np.ones(len(ranking.n_ranked))


def words(ranking: ltr.Ranking) -> str:
    return "high"


@dataclass(frozen=True, kw_only=True)
class Recall(Reach):
    NAME: ClassVar[str] = "recall"


@dataclass(frozen=True, kw_only=True)
class Idle(ltr.RankMetric):
    NAME: ClassVar[str] = "idle"


@dataclass(frozen=True, kw_only=True)
class Nameless(ltr.RankMetric):
    pass


@dataclass(frozen=True, kw_only=True)
class Spaced(Reach):
    NAME: ClassVar[str] = "my metric:x"


class Plain(Reach):
    NAME: ClassVar[str] = "plain"
    grade: float = 3


@dataclass(frozen=True, kw_only=True)
class Nowhere(ltr.RankMetric):
    NAME: ClassVar[str] = "nowhere"

    def contributions(self, ranking: ltr.Ranking, depth: int) -> np.ndarray:
        return np.ones((len(ranking.n_ranked), depth))

    def divisor(self, block: object, k: int | None) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (one_for_all, r"one_for_all must return one number a query.*got shape \(\) for 1 queries"),
        (without_limit, "without_limit must be finite.*infinite for query 0"),
        (mrr, "Your metric 'mrr' has the name of another metric"),
        (documents, "Your metric 'documents' has the name of another metric, or of a column"),
        (words, "words must return numbers"),
        (Idle(), "Idle must have a method contributions"),
        (Nameless(), "Nameless must have a class attribute NAME"),
        (Spaced(), "Spaced must have a class attribute NAME, one word.*'my metric:x'"),
        (Plain(), "Plain must be a dataclass: write @dataclass"),
        (Recall(), "Your metric 'recall' has the name of another"),
        (Nowhere(), "nowhere must be finite, or NaN where it is undefined: it is infinite for query 0"),
        (lambda ranking: ranking.n_ranked, "must have a name"),
        (Reach, "not as its class: write Reach"),
    ],
)
def test_what_is_no_metric_is_refused(metric: object, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        ltr.evaluate([1, 0], [1, 2], group=[2], metrics=[metric])


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return ltr.make_ranking(n_queries=40, documents=12, random_state=0)


def test_in_lightgbm(rows: tuple) -> None:
    X, y, qid = rows
    group = ltr.qid_to_group(qid)
    train = lgb.Dataset(X, y, group=group, free_raw_data=False)
    history: dict = {}
    metrics = feval(["ndcg@5", top_grades, Reach(k=3)])
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 2}
    booster = lgb.train(params, train, 4, [train], feval=metrics, callbacks=[lgb.record_evaluation(history)])
    expected = ltr.evaluate(y, booster.predict(X), qid=qid, metrics=[top_grades, Reach(k=3)])
    assert history["training"]["top_grades"][-1] == expected["top_grades"]
    assert history["training"]["reach@3"][-1] == expected[Reach(k=3)]
    ranker = lgb.LGBMRanker(n_estimators=4, metric="None", verbose=-1)
    ranker.fit(X, y, group=group, **validation_sets((X, y)), eval_group=[group], eval_metric=eval_metric(top_grades))
    assert len(ranker.evals_result_["training"]["top_grades"]) == 4


@pytest.mark.slow
def test_in_worker_processes_of_scikit_learn(rows: tuple) -> None:
    X, y, qid = rows
    frame = pd.DataFrame(X).add_prefix("f").assign(qid=qid)
    found = []
    for n_jobs in (1, 2):
        search = GridSearchCV(
            QueryRanker(lgb.LGBMRanker(n_estimators=3, verbose=-1, num_threads=1)),
            {"estimator__num_leaves": [4, 8]},
            scoring=make_scorer([top_grades, Reach(k=3)]),
            refit="top_grades",
            cv=GroupKFold(2),
            n_jobs=n_jobs,
            error_score="raise",
        ).fit(frame, y, groups=qid)
        found.append([search.cv_results_[f"mean_test_{name}"].tolist() for name in ("top_grades", "reach@3")])
    assert found[0] == found[1]
    single = make_scorer(top_grades)
    assert isinstance(single(search.best_estimator_, frame, y), float)


def test_parameters_must_be_values() -> None:
    with pytest.raises(ltr.LtrTypeError, match="parameters must be hashable.*Use tuples"):
        ltr.evaluate([1], [1], group=[1], metrics=[Reach(power=[1, 2])])


def test_what_lies_above_all_ties_can_be_read() -> None:
    y, s = [3, 4, 0, 0], [4, 3, 1, 1]
    assert ltr.evaluate(y, s, group=[4], metrics=[first_grade])["first_grade"] == 3


def first_grade(ranking: ltr.Ranking) -> np.ndarray:
    return ranking.by_rank(ranking.queries.grades, 1)[:, 0]


@dataclass(frozen=True, kw_only=True)
class FirstRow(ltr.RankMetric):
    """Whether the first document is the first row of the input."""

    NAME: ClassVar[str] = "first_row"

    def contributions(self, ranking: ltr.Ranking, depth: int) -> np.ndarray:
        return ranking.expected_of_rows((np.arange(ranking.queries.n_rows) == 0).astype(float), depth)


@dataclass(frozen=True, kw_only=True)
class FirstRowToo(FirstRow):
    READS_ROWS: ClassVar[bool] = True


def test_a_metric_with_a_cutoff_says_if_it_looks_at_rows() -> None:
    y, s = [3, 0, 0, 4], [2, 1, 1, 5]
    assert ltr.evaluate(y, s, group=[4], metrics=[FirstRow()])["first_row"] == 1
    assert ltr.evaluate(y, s, group=[4], metrics=[FirstRowToo(k=1), FirstRowToo(k=2)]).mean == {
        "first_row@1": 0.0,
        "first_row@2": 1.0,
    }
    with pytest.raises(ltr.LtrTypeError, match="or set READS_ROWS = True"):
        ltr.evaluate(y, s, group=[4], metrics=[FirstRow(k=1)])


@dataclass(frozen=True, kw_only=True)
class Depth(ltr.Metric):
    """No RankMetric, so that its k is a parameter like any other."""

    NAME: ClassVar[str] = "depth"
    k: float = 1

    def values(self, ranking: ltr.Ranking) -> np.ndarray:
        return np.full(len(ranking.n_ranked), float(self.k))


def test_a_metric_that_is_no_rank_metric_has_its_own_k() -> None:
    result = ltr.evaluate([1, 0], [1, 2], group=[2], metrics=[Depth(k=1), Depth(k=5), Depth(k=0.5)])
    assert list(result.mean.values()) == [1, 5, 0.5]


def test_what_a_metric_is_refused_for_is_not_kept_alive() -> None:
    kept = []
    for _ in range(3):
        queries = ltr.Queries([3, 0, 0, 4], group=[4])
        kept.append(weakref.ref(queries))
        with pytest.raises(ltr.LtrTypeError):
            queries.evaluate([2, 1, 1, 5], [FirstRow(k=1)])
        del queries
    gc.collect()
    assert [one() for one in kept] == [None] * 3
