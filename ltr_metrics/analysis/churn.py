"""Churn: how much two rankings of the same documents differ. It needs no labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import (
    AnyArray,
    BoolArray,
    FloatArray,
    as_numbers,
    refuse_different_indexes,
    require_count,
    require_fraction,
)
from ltr_metrics._engine.plain import none_if_nan, plain_ids, to_dataframe
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranks import RowRanks, rank_rows
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.means import mean

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Churn(Printed):
    """The differences between two rankings, one value a query.

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

    qid: AnyArray
    overlap: FloatArray
    changed: BoolArray
    reordered: BoolArray
    rbo: FloatArray
    tied: BoolArray
    tied_at_cutoff: BoolArray
    k: int
    p: float
    weight: FloatArray | None = field(default=None)

    @property
    def n_queries(self) -> int:
        """Number of queries, including those without a ranked document."""
        return len(self.qid)

    @property
    def n_undefined(self) -> int:
        """Number of queries left out of the means, because neither ranking has a document."""
        return int(np.isnan(self.overlap).sum())

    @property
    def n_tied_queries(self) -> int:
        """Number of queries with documents of equal score in either ranking."""
        return int(self.tied.sum())

    @property
    def n_tied_at_cutoff(self) -> int:
        """Number of queries in which a tie spans rank k in either ranking."""
        return int(self.tied_at_cutoff.sum())

    @cached_property
    def mean(self) -> dict[str, float]:
        """Weighted means of overlap, changed, reordered and rbo, over the queries with a value.

        NaN if no query has one.
        """
        values = {name: getattr(self, name) for name in ("overlap", "changed", "reordered", "rbo")}
        is_undefined = np.isnan(self.overlap)
        return {name: mean(np.where(is_undefined, np.nan, column), self.weight) for name, column in values.items()}

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row a query.

        Returns
        -------
        pandas.DataFrame
            The columns are qid, overlap, changed, reordered, rbo, tied and tied_at_cutoff.
        """
        names = ("qid", "overlap", "changed", "reordered", "rbo", "tied", "tied_at_cutoff")
        return to_dataframe({name: getattr(self, name) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON; NaN is None.

        Returns
        -------
        dict
            The parameters, the counts, the means, and the values per query.
        """
        return {
            "k": self.k,
            "p": self.p,
            "n_queries": self.n_queries,
            "n_undefined": self.n_undefined,
            "n_tied_queries": self.n_tied_queries,
            "n_tied_at_cutoff": self.n_tied_at_cutoff,
            "mean": {name: none_if_nan(value) for name, value in self.mean.items()},
            "qid": plain_ids(self.qid),
            "weight": None if self.weight is None else self.weight.tolist(),
            "per_query": {
                name: [none_if_nan(value) for value in getattr(self, name).tolist()] for name in ("overlap", "rbo")
            }
            | {name: getattr(self, name).tolist() for name in ("changed", "reordered", "tied", "tied_at_cutoff")},
        }

    def printed_parts(self) -> list[Table]:
        """Return a table of the means."""
        labels = {
            "overlap": f"overlap@{self.k}",
            "changed": f"changed@{self.k}",
            "reordered": f"reordered@{self.k}",
            "rbo": f"rbo(p={self.p:g})",
        }
        counts = (f"{self.n_queries - self.n_undefined:,}", f"{self.n_undefined:,}")
        rows = [(label, f"{self.mean[name]:.6f}", *counts) for name, label in labels.items()]
        foot = ""
        if self.n_tied_queries:
            foot = (
                f"Equal scores are ranked in input order: {self.n_tied_queries:,} queries have any, and in "
                f"{self.n_tied_at_cutoff:,} a tie spans rank {self.k}."
            )
        header = ("", "mean" if self.weight is None else "weighted mean", "queries", "left out")
        return [Table(header, rows, min_widths=(0, 13, 9, 8), foot=foot)]


def churn(
    a: Any,
    b: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int = 10,
    p: float = 0.9,
    retrieved_a: Any = None,
    retrieved_b: Any = None,
    query_weight: Any = None,
    sample_weight: Any = None,
) -> Churn:
    r"""Compare the rankings that two score vectors give each query's documents.

    Equal scores are ranked in input order. `Churn.n_tied_at_cutoff` counts the queries in which
    this order decides which documents are among the first k.

    .. math:: overlap@k = \frac{|A_k \cap B_k|}{\max(|A_k|, |B_k|)}

    where :math:`A_k` and :math:`B_k` are the first :math:`k` documents, or all if there are fewer.
    Rank-biased overlap is extrapolated. With :math:`X_d` the number of documents that the first
    :math:`d` of both lists share, :math:`s` the length of the shorter list and :math:`l` that of
    the longer one,

    .. math:: RBO = \frac{1-p}{p} \left( \sum_{d=1}^{l} \frac{X_d}{d} p^d
        + \sum_{d=s+1}^{l} \frac{X_s (d - s)}{s d} p^d \right)
        + \left( \frac{X_l - X_s}{l} + \frac{X_s}{s} \right) p^l

    Both are 1 for equal lists, 0 for lists without a common document, and symmetric.

    Parameters
    ----------
    a, b : array-like of shape (n_rows,)
        Scores of the same rows, higher is better.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type. Exactly one of ``qid`` and
        ``group`` is required. Two ids with the same text, such as 7 and ``"7"``, are an
        error.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    k : int, default 10
        Cutoff of overlap, changed and reordered.
    p : float, default 0.9
        Persistence of rank-biased overlap, between 0 and 1. The lower it is, the more the first
        ranks weigh. With 0.9 the first 10 ranks have 86 % of the weight.
    retrieved_a, retrieved_b : array-like of bool of shape (n_rows,), optional
        False for a document that this ranking does not have, for example if two TREC runs retrieved
        different documents. Its score is not read.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight per query, in order of first appearance, or by qid. The ids of a
        mapping may have another type: they are the same if they have the same text.
    sample_weight : array-like of shape (n_rows,), optional
        One weight per row; a query's weight is the mean of its row weights.

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
    columns = {"a": a, "b": b, "qid": qid, "retrieved_a": retrieved_a, "retrieved_b": retrieved_b}
    columns["sample_weight"] = sample_weight
    refuse_different_indexes(**columns)
    columns |= {"a": as_numbers(a, "a"), "b": as_numbers(b, "b")}
    _refuse_other_lengths(columns)
    no_labels = np.zeros(len(columns["a"]))
    queries = LabelledQueries(no_labels, qid=qid, group=group, query_weight=query_weight, sample_weight=sample_weight)
    return churn_of(queries, columns["a"], columns["b"], k=k, p=p, retrieved_a=retrieved_a, retrieved_b=retrieved_b)


def churn_of(
    queries: LabelledQueries,
    a: Any,
    b: Any,
    *,
    k: int = 10,
    p: float = 0.9,
    retrieved_a: Any = None,
    retrieved_b: Any = None,
) -> Churn:
    """Do the same for grouped rows; the rows that ``queries`` has as retrieved are ranked."""
    k = require_count("k", k)
    p = require_fraction("p", p, 0.9)
    ranks_a, ranks_b = rank_rows(queries, a, "a", retrieved_a), rank_rows(queries, b, "b", retrieved_b)
    n_ranked = [queries.sum_by_query(ranks.rank > 0) for ranks in (ranks_a, ranks_b)]
    depth = np.minimum(np.maximum(*n_ranked), k)
    in_a, in_b = ranks_a.within(k), ranks_b.within(k)
    n_shared = queries.sum_by_query(in_a & in_b)
    return Churn(
        qid=queries.qid,
        overlap=np.where(depth > 0, n_shared / np.maximum(depth, 1), np.nan),
        changed=n_shared < depth,
        reordered=queries.sum_by_query((in_a | in_b) & (ranks_a.rank != ranks_b.rank)) > 0,
        rbo=_rank_biased_overlap(queries, ranks_a, ranks_b, p),
        tied=queries.sum_by_query(ranks_a.tied() | ranks_b.tied()) > 0,
        tied_at_cutoff=queries.sum_by_query(ranks_a.tied_across(k) | ranks_b.tied_across(k)) > 0,
        k=k,
        p=p,
        weight=queries.weight,
    )


def _refuse_other_lengths(columns: dict[str, Any]) -> None:
    n_rows = len(columns["a"])
    if n_rows == 0:
        raise LtrValueError("a is empty, so there is no ranking to compare. Pass at least one row.")
    for name, column in columns.items():
        if hasattr(column, "__len__") and len(column) != n_rows:
            raise LtrValueError(
                f"{name} must have one entry a row like a: got {len(column)} entries for {n_rows} rows."
            )


def _rank_biased_overlap(queries: LabelledQueries, a: RowRanks, b: RowRanks, p: float) -> FloatArray:
    """Return the extrapolated overlap of each query; NaN if neither ranking has a document.

    We compute 1 minus the missing overlap, so that equal lists give exactly 1. The sum over depths
    becomes a sum over documents. A document of the longer list is missing at all depths from its
    rank there to the depth at which the shorter list has it too.
    """
    order, sizes = queries.rows_in_query_order(), queries.sizes
    in_a, in_b = a.rank[order], b.rank[order]
    n_a, n_b = queries.sum_by_query(a.rank > 0), queries.sum_by_query(b.rank > 0)
    b_is_longer = np.repeat(n_b > n_a, sizes)
    in_longer, in_shorter = np.where(b_is_longer, in_b, in_a), np.where(b_is_longer, in_a, in_b)
    longer, shorter = np.maximum(n_a, n_b), np.minimum(n_a, n_b)

    def sum_by_query(values: AnyArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, queries.starts, dtype=np.float64))

    depth = np.arange(1, longer.max() + 1)
    step = (1 - p) * p ** (depth - 1.0) / depth
    weight_to = np.concatenate(([0.0], np.cumsum(step)))  # of all depths up to this one
    in_both = (in_longer > 0) & (in_shorter > 0)
    shared_from = np.where(in_both, np.maximum(in_longer, in_shorter), np.repeat(longer, sizes) + 1)
    missing = np.where(in_longer > 0, weight_to[shared_from - 1] - weight_to[in_longer - 1], 0.0)
    shared = sum_by_query(in_both)
    shared_by_shorter = sum_by_query(in_both & (in_longer <= np.repeat(shorter, sizes)))
    agreement = shared_by_shorter / np.maximum(shorter, 1)
    beyond = agreement * (p**shorter - p**longer) - shared_by_shorter * (weight_to[longer] - weight_to[shorter])
    at_the_end = (shared - shared_by_shorter) / np.maximum(longer, 1) + agreement
    rbo = 1 - (sum_by_query(missing) - beyond) - p**longer * (1 - at_the_end)
    return np.where(longer > 0, np.clip(rbo, 0.0, 1.0), np.nan)  # only rounding leads outside of [0, 1]
