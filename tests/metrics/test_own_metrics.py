"""A user's own metric, as a function and as a class."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.metrics.kinds import Kind


def top_grades(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
    """Share of grades above 2 among the first three; undefined for a query of fewer."""
    return (grades[:3] > 2).sum() / 3 if len(grades) >= 3 else None


@dataclass(frozen=True, kw_only=True)
class Reach(ltr.RankMetric):
    """Grades of the first k, of all the query's grades."""

    NAME: ClassVar[str] = "reach"
    power: float = 1

    def by_grade(self, queries: ltr.Queries) -> np.ndarray:
        return queries.grades**self.power

    def divisor(self, queries: ltr.Queries, k: int | None) -> np.ndarray:
        total = queries.sum_by_query(np.concatenate(([0.0], queries.grades**self.power))[queries.grade_index])
        return np.where(total > 0, total, np.nan)


def test_a_function_is_a_metric_of_its_name() -> None:
    result = ltr.evaluate([3, 0, 4, 1, 0], [5, 4, 3, 2, 1], group=[3, 2], metrics=["mrr", top_grades])
    assert list(result.mean) == ["mrr", "top_grades"]
    np.testing.assert_array_equal(result.per_query["top_grades"], [2 / 3, np.nan])
    assert result[top_grades] == result["top_grades"] == result[ltr.metric(top_grades)]
    assert ltr.evaluate([3, 0, 4], [5, 4, 3], group=[3], metrics=top_grades)["top_grades"] == 2 / 3
    assert pickle.loads(pickle.dumps(ltr.metric(top_grades))) == ltr.metric(top_grades)


def test_a_class_has_parameters_cutoffs_and_a_name() -> None:
    assert str(Reach(k=5, power=2)) == "reach(power=2)@5"
    result = ltr.evaluate([1, 0, 3], [3, 2, 1], group=[3], metrics=[Reach(k=1), Reach(k=2, power=2), Reach()])
    assert list(result.values()) == [1 / 4, 1 / 10, 1]
    with pytest.raises(ltr.LtrValueError, match="no metric 'reach'"):
        ltr.metric("reach@5")


def mrr(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    return 1.0


@dataclass(frozen=True, kw_only=True)
class Idle(ltr.RankMetric):
    NAME: ClassVar[str] = "idle"


@dataclass(frozen=True, kw_only=True)
class Shouted(ltr.Recall):
    NAME: ClassVar[str] = "Recall"  # names are read in any case


@dataclass(frozen=True, kw_only=True)
class Nameless(ltr.RankMetric):
    pass


class Plain(Reach):
    NAME: ClassVar[str] = "plain"
    grade: float = 3


@dataclass(frozen=True, kw_only=True)
class Nowhere(ltr.RankMetric):
    NAME: ClassVar[str] = "nowhere"

    def by_grade(self, queries: ltr.Queries) -> np.ndarray:
        return np.ones(len(queries.grades))

    def divisor(self, queries: ltr.Queries, k: int | None) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (mrr, "Your metric 'mrr' has the name of another metric"),
        (Shouted(), "Your metric 'Recall' has the name of another metric"),
        (Idle(), "Idle must have a method by_grade"),
        (Nameless(), "Nameless must have a class attribute NAME"),
        (Plain(), "Plain must be a dataclass: write @dataclass"),
        (Nowhere(), "nowhere must be finite, or NaN where it is undefined: it is infinite for query 0"),
        (lambda grades, columns: 1.0, "must have a name"),
        (Reach, "not as its class: write Reach"),
    ],
)
def test_what_is_no_metric_is_refused(metric: object, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        ltr.evaluate([1, 0], [1, 2], group=[2], metrics=[metric])


def test_parameters_must_be_values() -> None:
    with pytest.raises(ltr.LtrTypeError, match="parameters must be hashable.*Use tuples"):
        ltr.evaluate([1], [1], group=[1], metrics=[Reach(power=[1, 2])])


@dataclass(frozen=True, kw_only=True)
class FirstRow(ltr.RankMetric):
    """Whether the first document is the first row of the input."""

    NAME: ClassVar[str] = "first_row"

    def by_row(self, queries: ltr.Queries) -> np.ndarray:
        return (np.arange(queries.n_rows) == 0).astype(float)


@dataclass(frozen=True, kw_only=True)
class LowestScore(ltr.Metric):
    """The score of the last document: a function may read all of the ranking."""

    NAME: ClassVar[str] = "lowest_score"
    k: int | None = None

    def values(self, ranking: ltr.Ranking) -> np.ndarray:
        return ranking.scores[ranking.starts + ranking.n_ranked - 1]


def test_a_metric_with_a_cutoff_may_look_at_rows() -> None:
    y, s, sizes = [3, 0, 0, 4] * 6260, [2, 1, 1, 5] * 6260, [4] * 6010 + [100] * 10
    metrics = [FirstRow(), FirstRow(k=1), FirstRow(k=2), LowestScore(k=1), "ndcg@1"]
    result = ltr.evaluate(y, s, group=sizes, metrics=metrics)
    assert [result.per_query[str(metric)][0] for metric in metrics[:4]] == [1, 0, 1, 1]


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


@dataclass(frozen=True, kw_only=True)
class Declared(ltr.RankMetric):
    """A metric of each kind, with the default value of a rank, or with one for each query too."""

    NAME: ClassVar[str] = "declared"
    whole: bool = False  # whether the values of grades are whole numbers
    per_query: bool = False

    def by_grade(self, queries: ltr.Queries) -> np.ndarray:
        return (queries.grades >= 1).astype(np.int64 if self.whole else np.float64)

    def by_rank(self, queries: ltr.Queries, depth: int) -> np.ndarray | float:
        return np.ones((queries.n_queries, depth)) if self.per_query else super().by_rank(queries, depth)


@pytest.mark.parametrize("kind", ["gains", "precisions", "cascade"])
def test_values_of_grades_may_be_integers_and_those_of_ranks_one_number(kind: Kind) -> None:
    cls = type("Declared", (Declared,), {"KIND": kind, "__annotations__": {}})
    own = dataclass(frozen=True, kw_only=True)(cls)
    y, s, group = [1, 0, 1, 0, 0, 1], [4, 4, 4, 1, 2, 2], [4, 2]
    expected = ltr.evaluate(y, s, group=group, metrics=own(k=3)).per_query["declared@3"]
    for options in ({"whole": True}, {"per_query": True}, {"whole": True, "per_query": True}):
        metric = own(k=3, **options)
        np.testing.assert_array_equal(ltr.evaluate(y, s, group=group, metrics=metric).per_query[metric], expected)
    np.testing.assert_allclose(expected[0], {"gains": 2, "precisions": 2 / 3 + 4 / 3 + 1, "cascade": 1}[kind])
