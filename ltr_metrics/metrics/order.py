"""The metrics of order: pair accuracy, Kendall's tau-b and Spearman's rho.

They treat equal scores by their own definitions, so the option ``ties`` does not apply to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.cache import cached
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries
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
        Credit for a pair with equal scores, from 0 to 1.
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
        return pairs_of_different_grade(queries) if self.average == "micro" else None

    def values(self, ranking: Ranking) -> FloatArray:
        pairs, of_different_grade = _count_pairs(ranking), pairs_of_different_grade(ranking.queries)
        open_ = of_different_grade - pairs.right - pairs.wrong
        return np.asarray((pairs.right + self.tied * open_) / _nan_if_zero(of_different_grade))


@cached
def pairs_of_different_grade(queries: LabelledQueries) -> FloatArray:
    """Return the number of pairs of ranked documents of each query that differ in grade."""
    query = np.repeat(np.arange(queries.n_queries), queries.n_ranked)
    grade = queries.grade_index if queries.ranked_rows is None else queries.grade_index[queries.ranked_rows]
    return _pairs_that_differ(query, np.sort(query * (len(queries.grades) + 1) + grade), queries.n_ranked)


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
        pairs, of_different_grade = _count_pairs(ranking), pairs_of_different_grade(ranking.queries)
        run = _runs(ranking.query, ranking.scores)
        of_different_score = np.maximum(_pairs_that_differ(ranking.query, run, ranking.n_ranked), 1)  # else C - D is 0
        # One root of the product is exact if both are equal, so a perfect ranking is exactly 1.
        tau = (pairs.right - pairs.wrong) / np.sqrt(_nan_if_zero(of_different_grade) * of_different_score)
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
        query, n = ranking.query, ranking.n_ranked
        by_grade = np.lexsort((-ranking.grades, query))  # in which each query has the same places
        y = np.empty(len(query))
        y[by_grade] = _middles(query, _runs(query, ranking.grades[by_grade]), n)
        s = _middles(query, _runs(query, ranking.scores), n)
        yy, ys, ss = (ranking.sum_by_query(values) for values in (y * y, y * s, s * s))
        rho = ys / np.sqrt(_nan_if_zero(yy) * np.where(ss > 0, ss, 1))
        return np.asarray(np.clip(rho, -1, 1))


class Pairs(NamedTuple):
    """Numbers of pairs of ranked documents of each query that differ in grade and in score."""

    right: IntArray  # the better one above
    wrong: IntArray


@cached
def _count_pairs(ranking: Ranking) -> Pairs:
    """Count pairs in one pass over the documents for each bit of the grade, as a radix sort does.

    Two documents of different grade differ at one highest bit. Their bits above it agree, so they
    are in one group, and the better one has a 1 there. In each group, by rank, a 0 counts the ones
    above it in an earlier run of equal scores (right pairs), and a 1 counts the zeros (wrong
    pairs).
    """
    query, run, grade = ranking.query, _runs(ranking.query, ranking.scores), ranking.grades.astype(np.intp)
    n = len(ranking.n_ranked)
    right, wrong = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for bit in reversed(range(int(grade.max(initial=0)).bit_length())):
        group = _runs(query, grade >> (bit + 1))
        same_score = _runs(group, run)
        one = (grade >> bit & 1).astype(np.int64)
        for counted, chosen in ((right, one), (wrong, 1 - one)):
            above = np.cumsum(chosen) - chosen
            above = _first_of(above, same_score) - _first_of(above, group)
            counted += np.bincount(query, weights=above * (1 - chosen), minlength=n).astype(np.int64)
        order = np.lexsort((one, group))  # stable: by rank within the next bit's groups
        query, run, grade = query[order], run[order], grade[order]
    return Pairs(right, wrong)


def _pairs_that_differ(query: IntArray, label: IntArray, n: IntArray) -> FloatArray:
    """Count the pairs of different labels of each query of n documents, whose equal labels are neighbours."""
    size = np.bincount(_runs(query, label))
    of_run = query[np.cumsum(size) - size]
    return n * (n - 1.0) / 2 - np.bincount(of_run, weights=size * (size - 1.0) / 2, minlength=len(n))


def _middles(query: IntArray, run: IntArray, n: IntArray) -> FloatArray:
    """Return twice (mean rank of the run - mean rank of the query), which is a whole number."""
    size = np.bincount(run)
    above = _first_of(np.arange(len(query)), run) - _first_of(np.arange(len(query)), query)
    return np.asarray(n[query] - 2.0 * above - size[run])


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
