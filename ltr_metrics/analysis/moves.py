"""Churn: how much two rankings of the same documents differ, which needs no labels."""

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
from ltr_metrics.evaluation.evaluate import DataOptions, queries_from, with_data_options
from ltr_metrics.evaluation.means import mean
from ltr_metrics.evaluation.tables import Table, Tabular

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

MEASURES = ("overlap", "changed", "reordered", "rbo")
PER_QUERY = (*MEASURES, "tied", "tied_at_cutoff")


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


@with_data_options
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
    compare : How much the metrics differ, and in which queries.

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
    queries = queries_from(no_labels, data, "churn")
    return churn_of(queries, rank_rows(queries, a, "a"), rank_rows(queries, b, "b"), k=k, p=p)


def churn_of(queries: LabelledQueries, in_a: RowRanks, in_b: RowRanks, *, k: int = 10, p: float = 0.9) -> Churn:
    """Do the same for the ranks of grouped rows."""
    k, p = require_count("k", k), require_fraction("p", p, 0.9)
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
