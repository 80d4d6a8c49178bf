"""Moves between two rankings of the same documents: churn, which needs no labels, and those of relevant ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    as_numbers,
    refuse_different_indexes,
    require_count,
    require_fraction,
)
from ltr_metrics._rows.json_values import DataFrame, to_dataframe
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.signatures import DataOptions, with_options_of
from ltr_metrics.evaluation.evaluate import queries_from
from ltr_metrics.evaluation.means import mean
from ltr_metrics.evaluation.tables import Table, Tabular
from ltr_metrics.metrics.relevance import BinaryMetric

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

MEASURES = ("overlap", "changed", "reordered", "rbo")
PER_QUERY = (*MEASURES, "tied", "tied_at_cutoff")


# -- the rank of each row ---------------------------------------------------------------------------------------------


class RowRanks(NamedTuple):
    """The rank of each row of the input, and the ranks of its tie; 0 for a row that has no rank."""

    rank: IntArray  # with tied documents in input order
    first: IntArray  # first rank of the row's tie; the row's own rank without a tie
    last: IntArray  # last rank of the row's tie

    def within(self, k: int) -> BoolArray:
        """Whether a row is among the first k, tied documents in input order."""
        return (self.rank > 0) & (self.rank <= k)

    def tied(self) -> BoolArray:
        """Whether a row has the same score as another row of its query."""
        return self.first < self.last

    def tied_across(self, k: int) -> BoolArray:
        """Whether a row's tie spans the cutoff k: only some of its documents are above it."""
        return (self.first <= k) & (self.last > k)

    def expected(self) -> FloatArray:
        """Return the mean rank over all orders of tied documents; infinite without a rank."""
        return np.where(self.rank > 0, (self.first + self.last) / 2, np.inf)


def rank_rows(queries: LabelledQueries, scores: Any, name: str) -> RowRanks:
    """Rank the retrieved rows by scores, which messages call ``name``."""
    queries.refuse_other_index(name, scores)
    scores = np.ascontiguousarray(as_numbers(scores, name, queries.n_rows))
    queries.refuse_nan_scores(scores, name)
    rank, first, last = (np.zeros(queries.n_rows, dtype=np.intp) for _ in range(3))
    ranking = Ranking(queries, scores, "stable")
    sorted_scores = ranking.scores
    is_start = np.diff(ranking.query, prepend=-1) != 0
    is_start[1:] |= sorted_scores[1:] != sorted_scores[:-1]
    start = np.flatnonzero(is_start)
    size = np.diff(start, append=len(sorted_scores))
    rank[ranking.rows] = ranking.rank
    first[ranking.rows] = np.repeat(ranking.rank[start], size)
    last[ranking.rows] = np.repeat(ranking.rank[start] + size - 1, size)
    return RowRanks(rank, first, last)


# -- churn ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Churn(Tabular):
    """The differences between two rankings, one value per query.

    Attributes
    ----------
    qid : ndarray
        Id of each query, in order of first appearance.
    overlap : ndarray of float64
        Share of the first k documents that both rankings show, from 0 to 1; NaN if neither ranks a
        document.
    changed : ndarray of bool
        Whether the set of the first k documents differs.
    reordered : ndarray of bool
        Whether the list of the first k documents differs, in order or set.
    rbo : ndarray of float64
        Rank-biased overlap of the two whole lists, from 0 to 1; NaN if neither ranks a document.
    tied : ndarray of bool
        Whether either ranking has documents of equal score. They are ordered as in the input, and
        the other values depend on this order.
    tied_at_cutoff : ndarray of bool
        Whether a tie spans rank k in either ranking. Then the order of the input decides which
        documents are among the first k.
    k : int
        Cutoff of overlap, changed and reordered.
    p : float
        Persistence of rank-biased overlap.
    weight : ndarray of float64 or None
        Weight of each query.

    See Also
    --------
    churn : Return one of these.
    RankChanges : The ranks of the relevant documents.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.churn([3, 2, 1, 0, 2, 2], [3, 1, 2, 0, 2, 1], qid=[7, 7, 7, 7, 8, 8], k=2)
    >>> result.n_queries, result.n_undefined, result.n_tied_queries, result.n_tied_at_cutoff
    (2, 0, 1, 0)
    >>> result.mean["overlap"], result.mean["changed"]
    (0.75, 0.5)
    >>> result.to_pandas()["qid"].tolist(), result.to_dict()["k"]
    ([7, 8], 2)
    """

    IN_DICT = (
        *("k", "p", "n_queries", "n_undefined", "n_tied_queries", "n_tied_at_cutoff", "mean", "qid", "weight"),
        "per_query",
    )

    qid: AnyArray
    overlap: FloatArray
    changed: BoolArray
    reordered: BoolArray
    rbo: FloatArray
    tied: BoolArray
    tied_at_cutoff: BoolArray
    k: int
    p: float
    weight: FloatArray | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries, including those without a ranked document."""
        return len(self.qid)

    @property
    def n_undefined(self) -> int:
        """Number of queries left out of the means, because no document is ranked."""
        return int(np.isnan(self.overlap).sum())

    @property
    def n_tied_queries(self) -> int:
        """Number of queries with documents of equal score in either ranking."""
        return int(self.tied.sum())

    @property
    def n_tied_at_cutoff(self) -> int:
        """Number of queries in which a tie spans rank k in either ranking."""
        return int(self.tied_at_cutoff.sum())

    @property
    def per_query(self) -> dict[str, AnyArray]:
        """The values of each query by name."""
        return {name: getattr(self, name) for name in PER_QUERY}

    @cached_property
    def mean(self) -> dict[str, float]:
        """Weighted means of overlap, changed, reordered and rbo, over the queries with a value.

        NaN if no query has one.
        """
        is_undefined = np.isnan(self.overlap)
        return {n: mean(np.where(is_undefined, np.nan, getattr(self, n)), self.weight) for n in MEASURES}

    def to_pandas(self) -> DataFrame:
        """Return a table with one row per query.

        Returns
        -------
        pandas.DataFrame
            The columns are qid, overlap, changed, reordered, rbo, tied and tied_at_cutoff.
        """
        return to_dataframe({"qid": self.qid, **self.per_query})

    def printed(self) -> list[Table]:
        """Return a table of the means."""
        labels = {name: f"rbo(p={self.p:g})" if name == "rbo" else f"{name}@{self.k}" for name in MEASURES}
        counts = {"queries": self.n_queries - self.n_undefined, "left_out": self.n_undefined}
        rows = [{"name": labels[name], "mean": value, **counts} for name, value in self.mean.items()]
        columns = {
            "": "{name}",
            "mean" if self.weight is None else "weighted mean": "{mean:.6f}",
            "queries": "{queries:,}",
            "left out": "{left_out:,}",
        }
        foot = (
            f"Equal scores are ranked in input order: {self.n_tied_queries:,} queries have any, and in "
            f"{self.n_tied_at_cutoff:,} a tie spans rank {self.k}."
        )
        return [Table.of(columns, rows, foot=foot if self.n_tied_queries else "")]


@with_options_of(LabelledQueries)
def churn(a: Any, b: Any, *, k: int = 10, p: float = 0.9, **data: Unpack[DataOptions]) -> Churn:
    r"""Compare the rankings that two score vectors give each query's documents.

    Equal scores are ranked in input order. `Churn.n_tied_at_cutoff` counts the queries in which
    this order decides which documents are among the first k.

    .. math:: overlap@k = \frac{|A_k \cap B_k|}{\max(|A_k|, |B_k|)}

    where :math:`A_k` and :math:`B_k` are the first :math:`k` documents, or all if there are fewer.
    Rank-biased overlap is extrapolated. With :math:`X_d` the number of documents that the first
    :math:`d` of both lists share, and :math:`l` the length of both lists,

    .. math:: RBO = \frac{1-p}{p} \sum_{d=1}^{l} \frac{X_d}{d} p^d + p^l

    Both are 1 for equal lists, 0 for lists without a common document, and symmetric.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,)
        Scores of the same rows, higher is better.
    k : int, default 10
        Cutoff of overlap, changed and reordered.
    p : float, default 0.9
        Persistence of rank-biased overlap, between 0 and 1. The lower it is, the more the first
        ranks weigh. With 0.9 the first 10 ranks have 86 % of the weight.
    **data
        ``qid`` or ``group``, ``query_weight`` and the other options of `ltr_metrics.Queries`.

    Returns
    -------
    Churn
        One value per query, and their means.

    Raises
    ------
    LtrValueError, LtrTypeError
        If lengths differ, a score is NaN, ``k`` or ``p`` are out of range, or as for
        `ltr_metrics.Queries`.

    See Also
    --------
    rank_changes : How far the relevant documents move.

    References
    ----------
    Webber, Moffat & Zobel, A similarity measure for indefinite rankings, TOIS 2010, equation 32.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.churn([3, 2, 1, 0, 2, 1], [3, 1, 2, 0, 2, 1], qid=[7, 7, 7, 7, 8, 8], k=2)
    >>> result.overlap, result.qid[result.changed]
    (array([0.5, 1. ]), array([7]))
    >>> result.rbo.round(4)
    array([0.955, 1.   ])
    """
    refuse_different_indexes(a=a, b=b, **data)
    no_labels = np.zeros(len(as_numbers(a, "a")))
    return churn_of(queries_from(no_labels, data, "churn"), a, b, k=k, p=p)


def churn_of(queries: LabelledQueries, a: Any, b: Any, *, k: int = 10, p: float = 0.9) -> Churn:
    """Do the same for grouped rows; the rows that ``queries`` has as retrieved are ranked."""
    k, p = require_count("k", k), require_fraction("p", p, 0.9)
    in_a, in_b = rank_rows(queries, a, "a"), rank_rows(queries, b, "b")
    n_ranked = queries.sum_by_query(in_a.rank > 0)
    depth = np.minimum(n_ranked, k)
    n_shared = queries.sum_by_query(in_a.within(k) & in_b.within(k))
    is_top = in_a.within(k) | in_b.within(k)
    # A document is missing from the overlap at all depths from its rank in a to the depth at which b
    # has it, too. So equal lists give exactly 1.
    steps = (1 - p) * p ** np.arange(n_ranked.max()) / np.arange(1, n_ranked.max() + 1)
    weight_to = np.concatenate(([0.0, 0.0], np.cumsum(steps)))  # of all depths above this one
    missing = queries.sum_by_query(weight_to[np.maximum(in_a.rank, in_b.rank)] - weight_to[in_a.rank])
    return Churn(
        qid=queries.qid,
        overlap=np.where(depth > 0, n_shared / np.maximum(depth, 1), np.nan),
        changed=n_shared < depth,
        reordered=queries.sum_by_query(is_top & (in_a.rank != in_b.rank)) > 0,
        rbo=np.where(n_ranked > 0, np.clip(1 - missing, 0.0, 1.0), np.nan),
        tied=queries.sum_by_query(in_a.tied() | in_b.tied()) > 0,
        tied_at_cutoff=queries.sum_by_query(in_a.tied_across(k) | in_b.tied_across(k)) > 0,
        k=k,
        p=p,
        weight=queries.weight,
    )


# -- the relevant documents -------------------------------------------------------------------------------------------


class Moves(NamedTuple):
    """Summary of the rank changes of some documents.

    Attributes
    ----------
    documents : int
        Number of documents.
    mean_rank_a, mean_rank_b : float
        Mean rank of the documents that both rankings have; NaN if there are none.
    up, down, stayed : int
        Number of documents that are higher, lower and unchanged in the second ranking. A document
        without a rank is below all that have one.
    into_top, out_of_top : int
        Number of documents with a rank of at most k in the second ranking only, and in the first
        only.
    """

    documents: int
    mean_rank_a: float
    mean_rank_b: float
    up: int
    down: int
    stayed: int
    into_top: int
    out_of_top: int

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray, k: int) -> Moves:
        """Return the summary of two ranks for each document."""
        both = np.isfinite(a) & np.isfinite(b)
        mean_a, mean_b = (float(ranks[both].mean()) if both.any() else float("nan") for ranks in (a, b))
        counts = (b < a, b > a, a == b, (b <= k) & (a > k), (a <= k) & (b > k))
        return cls(len(a), mean_a, mean_b, *(int(np.count_nonzero(flags)) for flags in counts))


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges(Tabular):
    """The relevant documents and their ranks in two rankings, largest change first.

    Attributes
    ----------
    row : ndarray of int
        Row of the input.
    qid : ndarray
        Id of its query.
    docid : ndarray or None
        Id of its document; None if ids were not given.
    grade : ndarray of float64
        Grade of its document.
    rank_a, rank_b : ndarray of float64
        Rank from 1. Documents with equal scores have their mean rank, and a document that a ranking
        does not have is at infinity.
    k : int
        Cutoff of the counts of documents that move into and out of the first ``k`` ranks.

    See Also
    --------
    rank_changes : Return one of these.
    Churn : The differences between the first ranks, whatever the grades.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, qid = [1, 0, 0, 2], ["a", "a", "b", "b"]
    >>> changes = ltr.rank_changes(y, [0.2, 0.8, 0.1, 0.7], [0.9, 0.8, 0.1, 0.7], qid=qid, k=1)
    >>> changes.row, changes.rank_a, changes.rank_b, changes.change
    (array([0, 3]), array([2., 1.]), array([1., 1.]), array([-1.,  0.]))
    >>> changes.moves.up, changes.by_grade[1.0].up
    (1, 1)
    >>> changes.to_pandas()["grade"].tolist(), changes.to_dict()["k"]
    ([1.0, 2.0], 1)
    """

    IN_DICT = ("k", "moves", "by_grade", "row", "qid", "docid", "grade", "rank_a", "rank_b", "change")

    row: IntArray
    qid: AnyArray
    docid: AnyArray | None
    grade: FloatArray
    rank_a: FloatArray
    rank_b: FloatArray
    k: int

    def __len__(self) -> int:
        """Return the number of relevant documents."""
        return len(self.row)

    @property
    def change(self) -> FloatArray:
        """Change of each document's rank, rank_b - rank_a.

        It is positive if the document falls.
        """
        return _change(self.rank_a, self.rank_b)

    @cached_property
    def moves(self) -> Moves:
        """Summary of all relevant documents."""
        return Moves.of(self.rank_a, self.rank_b, self.k)

    @cached_property
    def by_grade(self) -> dict[float, Moves]:
        """Summaries of the documents of each grade, highest grade first."""
        masks = {grade: self.grade == grade for grade in np.unique(self.grade)[::-1].tolist()}
        return {grade: Moves.of(self.rank_a[mask], self.rank_b[mask], self.k) for grade, mask in masks.items()}

    def to_pandas(self) -> DataFrame:
        """Return a table with one row per relevant document, largest change first.

        Returns
        -------
        pandas.DataFrame
            The columns are qid, docid (if known), row, grade, rank_a, rank_b and change.
        """
        names = ("qid", *["docid"] * (self.docid is not None), "row", "grade", "rank_a", "rank_b", "change")
        return to_dataframe({name: getattr(self, name) for name in names})

    def printed(self) -> list[Table]:
        """Return a table with a row for each grade."""
        columns = {
            "grade": "{grade}",
            "documents": "{documents:,}",
            "mean rank a": "{mean_rank_a:.2f}",
            "mean rank b": "{mean_rank_b:.2f}",
            **{name: f"{{{name}:,}}" for name in ("up", "down", "stayed")},
            f"into top {self.k}": "{into_top:,}",
            f"out of top {self.k}": "{out_of_top:,}",
        }
        groups = {"all": self.moves, **{f"{grade:g}": moves for grade, moves in self.by_grade.items()}}
        return [Table.of(columns, [{"grade": grade, **moves._asdict()} for grade, moves in groups.items()])]


class _RelevantDocuments(BinaryMetric):
    """Meaning of ``rel``; its messages name the function."""

    NAME = "rank_changes"


@with_options_of(LabelledQueries)
def rank_changes(
    y_true: Any, a: Any, b: Any, *, rel: float | str | None = None, k: int = 10, **data: Unpack[DataOptions]
) -> RankChanges:
    """Compare the ranks of each relevant document in the rankings by two score vectors.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Queries
        Grades, finite and not negative. Or `Queries`, which have all options for the data. Weights
        of queries are not used.
    a, b : array-like of shape (n_rows,)
        Scores of the same rows, higher is better.
    rel : float or str, optional
        Lowest grade of a relevant document, as for `ltr_metrics.Precision`. None, the default,
        means 1, and labels strictly between 0 and 1 raise an error.
    k : int, default 10
        Cutoff of the counts of documents that move into and out of the first ``k`` ranks.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`. With ``docid`` the
        result has the ids of the documents.

    Returns
    -------
    RankChanges
        The relevant documents of all queries, largest change first.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a score is NaN, ``k`` or ``rel`` are out of range, or as for `ltr_metrics.Queries`.

    See Also
    --------
    churn : How much the first ranks differ, whatever the grades.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y_true, qid = [1, 0, 0, 2], ["a", "a", "b", "b"]
    >>> changes = ltr.rank_changes(y_true, [0.2, 0.8, 0.1, 0.7], [0.9, 0.8, 0.1, 0.7], qid=qid, k=1)
    >>> changes.qid, changes.rank_a, changes.rank_b
    (array(['a', 'b'], dtype='<U1'), array([2., 1.]), array([1., 1.]))
    >>> changes.moves.up, changes.moves.into_top, changes.by_grade[2.0].stayed
    (1, 1, 1)
    """
    refuse_different_indexes(y_true=y_true, a=a, b=b, **data)
    queries = queries_from(y_true, data, "rank_changes")
    k = require_count("k", k)
    relevance = _RelevantDocuments(rel=rel)
    relevance.check(queries)
    rows = np.flatnonzero(np.concatenate(([False], relevance.relevant(queries)))[queries.grade_index])
    rank_a, rank_b = (rank_rows(queries, scores, name).expected()[rows] for name, scores in (("a", a), ("b", b)))
    order = np.argsort(-np.abs(_change(rank_a, rank_b)), kind="stable")
    rows = rows[order]
    return RankChanges(
        row=rows,
        qid=queries.qid[queries.query_of_rows()[rows]],
        docid=None if queries.docid is None else queries.docid[rows],
        grade=queries.grades[queries.grade_index[rows] - 1],
        rank_a=rank_a[order],
        rank_b=rank_b[order],
        k=k,
    )


def _change(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.subtract(b, a, out=np.zeros(len(a)), where=a != b)  # inf - inf is 0 here
