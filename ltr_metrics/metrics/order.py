"""The metrics of order: pair accuracy, Kendall's tau-b and Spearman's rho.

They treat equal scores by their own definitions, so the option ``ties`` does not apply to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ltr_metrics._engine.cache import cached
from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.metrics.base import Metric, number, word

Average = Literal["macro", "micro"]


@dataclass(frozen=True, kw_only=True)
class PairAccuracy(Metric):
    r"""Share of the pairs in the right order; higher is better, from 0 to 1 (random: 0.5).

    .. math:: \frac{\#\{y_a > y_b, s_a > s_b\} + tied \cdot \#\{y_a > y_b, s_a = s_b\}}{\#\{y_a > y_b\}}

    over the pairs of ranked documents of a query that differ in grade.
    With two grades this is the area under the query's ROC curve. Undefined where all grades are
    equal. The option ``ties`` does not apply. With one query per user, and the user's impressions
    or clicks as ``query_weight``, the mean is the GAUC of recommender systems.

    Parameters
    ----------
    tied : float, default 0.5
        What a pair with equal scores counts, from 0 to 1.
    average : {"macro", "micro"}, default "macro"
        Mean over queries, or over the pairs of all queries. With ``"micro"``, each query has its
        number of pairs as its weight, times the weight that you give it. An evaluation has one
        weight a query, so ``"micro"`` cannot be combined with other metrics in one call.
        ``tied=0`` and ``"micro"`` together are the ordered pair accuracy of TensorFlow Ranking.

    Raises
    ------
    LtrValueError
        If ``tied`` is not a number from 0 to 1, or for an unknown ``average``.

    See Also
    --------
    Kendall : A correlation that counts the same pairs.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.evaluate([2, 0, 1, 0], [4, 3, 2, 1], group=[4], metrics=["pair_accuracy"])["pair_accuracy"]
    0.8

    The first query has five pairs and the second has one:

    >>> y, s, group = [2, 0, 1, 0, 0, 1], [4, 3, 2, 1, 2, 1], [4, 2]
    >>> for name in ("pair_accuracy", "pair_accuracy(average=micro)"):
    ...     print(round(ltr.evaluate(y, s, group=group, metrics=name)[name], 4))
    0.4
    0.6667
    """

    NAME: ClassVar[str] = "pair_accuracy"
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"auc": {}}

    tied: float = number(0.5, "from 0 to 1", lambda tied: 0 <= tied <= 1, tried=(0, 0.5))
    average: Average = word("macro", Average)

    @property
    def mean_over(self) -> str:
        return "pairs" if self.average == "micro" else "queries"

    def query_weight(self, queries: LabelledQueries) -> FloatArray | None:
        return _pairs_of_different_grade(queries) if self.average == "micro" else None

    def values(self, ranking: Ranking) -> FloatArray:
        pairs = _count_pairs(ranking)
        of_different_grade = _nan_if_zero(pairs.all - pairs.equal_grade)
        open_ = of_different_grade - pairs.right - pairs.wrong
        return np.asarray((pairs.right + self.tied * open_) / of_different_grade)


@cached
def _pairs_of_different_grade(queries: LabelledQueries) -> FloatArray:
    """Return the number of pairs of ranked documents of each query that differ in grade."""
    n = queries.n_retrieved.astype(np.int64)
    query = np.repeat(np.arange(len(n)), n)
    grade = queries.grade_index if queries.ranked_rows is None else queries.grade_index[queries.ranked_rows]
    by_query = np.sort(query * (len(queries.grades) + 1) + grade)
    return (n * (n - 1) // 2 - _pairs_within(query, by_query, len(n))).astype(np.float64)


class Kendall(Metric):
    r"""Kendall's tau-b between grades and scores; higher is better, from -1 to 1 (random: 0).

    .. math:: \tau_b = \frac{C - D}{\sqrt{(n_0 - n_1)(n_0 - n_2)}}

    over the ranked documents of a query: C pairs are in the right order and D in the wrong one.
    Of :math:`n_0 = n(n-1)/2` pairs, :math:`n_1` have equal grades and :math:`n_2` equal scores.
    It is SciPy's ``kendalltau``, but 0 where all scores are equal. Undefined where all grades are
    equal. The option ``ties`` does not apply.

    See Also
    --------
    Spearman : A correlation of ranks.
    PairAccuracy : The share of the pairs in the right order.

    References
    ----------
    Kendall, The treatment of ties in ranking problems, Biometrika 1945.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> round(ltr.evaluate([2, 0, 1, 0], [4, 3, 2, 1], group=[4], metrics=["kendall"])["kendall"], 6)
    0.547723
    """

    NAME: ClassVar[str] = "kendall"
    RANGE: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"tau": {}}

    def values(self, ranking: Ranking) -> FloatArray:
        pairs = _count_pairs(ranking)
        of_different_grade = _nan_if_zero(pairs.all - pairs.equal_grade)
        of_different_score = np.maximum(pairs.all - pairs.equal_score, 1)  # without any, C - D is 0
        # One root of the product is exact if both are equal, so a perfect ranking is exactly 1.
        tau = (pairs.right - pairs.wrong) / np.sqrt(of_different_grade * of_different_score)
        return np.asarray(np.clip(tau, -1, 1))


class Spearman(Metric):
    r"""Spearman's correlation of grades and scores; higher is better, from -1 to 1 (random: 0).

    .. math:: \rho = \frac{\operatorname{cov}(r(y), r(s))}{\sigma_{r(y)}\, \sigma_{r(s)}}

    over the ranked documents of a query, where equal values share the mean of their ranks. It is
    SciPy's ``spearmanr``, except that it is 0 where all scores are equal. Undefined where all grades
    are equal. The option ``ties`` does not apply.

    See Also
    --------
    Kendall : A correlation of pairs.

    References
    ----------
    Spearman, The proof and measurement of association between two things, American Journal of
    Psychology 1904.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> round(ltr.evaluate([2, 0, 1, 0], [4, 3, 2, 1], group=[4], metrics=["spearman"])["spearman"], 6)
    0.632456
    """

    NAME: ClassVar[str] = "spearman"
    RANGE: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {"rho": {}}

    def values(self, ranking: Ranking) -> FloatArray:
        query, run, grade = _documents_of(ranking)
        n = ranking.n_ranked
        by_grade = np.lexsort((-grade, query))
        same = _runs(query[by_grade], grade[by_grade])
        y = np.empty(len(query))
        y[by_grade] = _middles(query[by_grade], same, n)
        s = _middles(query, run, n)
        yy, ys, ss = (_sums(query, values, len(n)) for values in (y * y, y * s, s * s))
        rho = ys / np.sqrt(_nan_if_zero(yy) * np.where(ss > 0, ss, 1))
        return np.asarray(np.clip(rho, -1, 1))


def _documents_of(ranking: Ranking) -> tuple[IntArray, IntArray, AnyArray]:
    """List all ranked documents, query after query and by rank: query, run of equal scores, grade index."""
    run = _runs(ranking.query, ranking.scores)
    return ranking.query, run, ranking.grades.astype(np.intp)


class Pairs(NamedTuple):
    """Numbers of pairs of ranked documents of each query."""

    all: IntArray
    equal_grade: IntArray
    equal_score: IntArray
    right: IntArray  # of different grade and score, the better one above
    wrong: IntArray


@cached
def _count_pairs(ranking: Ranking) -> Pairs:
    """Count pairs in one pass over the documents for each bit of the grade, as a radix sort does.

    Two documents of different grade differ at one highest bit. Their bits above it agree, so they
    are in one group, and the better one has a 1 there. In each group, by rank, a 0 counts the ones
    above it in an earlier run of equal scores (right pairs), and a 1 counts the zeros (wrong
    pairs).
    """
    query, run, grade = documents = _documents_of(ranking)
    n = ranking.n_ranked.astype(np.int64)
    right, wrong = np.zeros_like(n), np.zeros_like(n)
    for bit in reversed(range(int(grade.max(initial=0)).bit_length())):
        group = _runs(query, grade >> (bit + 1))
        same_score = _runs(group, run)
        one = (grade >> bit & 1).astype(np.int64)
        for counted, chosen in ((right, one), (wrong, 1 - one)):
            above = np.cumsum(chosen) - chosen
            above = _first_of(above, same_score) - _first_of(above, group)
            counted += np.bincount(query, weights=above * (1 - chosen), minlength=len(n)).astype(np.int64)
        order = np.lexsort((one, group))  # stable: by rank within the next bit's groups
        query, run, grade = query[order], run[order], grade[order]
    query, run, grade = documents
    grades = np.sort(query * (len(ranking.queries.grades) + 1) + grade)
    return Pairs(
        n * (n - 1) // 2, _pairs_within(query, grades, len(n)), _pairs_within(query, run, len(n)), right, wrong
    )


def _pairs_within(query: IntArray, label: IntArray, n_queries: int) -> IntArray:
    """Count the pairs of one label of each query, whose equal labels are neighbours."""
    size = np.bincount(_runs(query, label))
    of_run = query[np.cumsum(size) - size]
    return np.bincount(of_run, weights=size * (size - 1.0) / 2, minlength=n_queries).astype(np.int64)


def _middles(query: IntArray, run: IntArray, n: IntArray) -> FloatArray:
    """Return twice (mean rank of the run - mean rank of the query), which is a whole number."""
    size = np.bincount(run)
    above = _first_of(np.arange(len(query)), run) - _first_of(np.arange(len(query)), query)
    return np.asarray(n[query] - 2.0 * above - size[run])


def _sums(query: IntArray, values: FloatArray, n_queries: int) -> FloatArray:
    """Sum over each query with reduceat: bincount loses digits over a million documents."""
    sums = np.zeros(n_queries)
    begins = np.flatnonzero(np.diff(query, prepend=-1))
    if begins.size:
        sums[query[begins]] = np.add.reduceat(values, begins)
    return sums


def _runs(*labels: AnyArray) -> IntArray:
    """Return the number of each entry's run of neighbours that are equal in all labels, from 0."""
    begins: BoolArray = np.zeros(len(labels[0]), dtype=np.bool_)
    for label in labels:
        begins[1:] |= label[1:] != label[:-1]
    return np.cumsum(begins)


def _first_of(values: AnyArray, run: AnyArray) -> AnyArray:
    """Return for each entry the value of the first one of its run."""
    begins = np.flatnonzero(np.diff(run, prepend=-1))
    return np.repeat(values[begins], np.diff(begins, append=len(run)))


def _nan_if_zero(values: AnyArray) -> FloatArray:
    return np.where(values > 0, values, np.nan)
