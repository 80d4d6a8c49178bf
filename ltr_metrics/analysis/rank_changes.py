"""Rank changes: the ranks of each relevant document in two rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, is_count, refuse_different_indexes, require_count
from ltr_metrics._engine.plain import none_if_nan, plain_ids, to_dataframe
from ltr_metrics._engine.printed import Printed, Table, as_html, as_text
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranks import rank_rows
from ltr_metrics.errors import LtrValueError
from ltr_metrics.metrics.relevance import BinaryMetric

if TYPE_CHECKING:
    import pandas

EDGES = (1, 3, 5, 10, 20, 50, 100)


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

    def to_dict(self) -> dict[str, float | None]:
        """Return plain numbers, ready for JSON; NaN is None."""
        return {name: none_if_nan(value) for name, value in self._asdict().items()}


class RankMatrix(NamedTuple):
    """Relevant documents by bucket of ranks, (first ranking x second ranking)."""

    buckets: list[str]
    counts: IntArray

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with the first ranking's buckets as index, the second's as columns."""
        return (
            to_dataframe(self.counts, self.buckets)
            .set_axis(self.buckets, axis="index")
            .rename_axis("a")
            .rename_axis("b", axis="columns")
        )

    def printed_parts(self) -> list[Table]:
        """Return the table: rows are the first ranking, columns the second."""
        counts = zip(self.buckets, self.counts.tolist(), strict=True)
        rows = [(bucket, *(f"{n:,}" for n in row)) for bucket, row in counts]
        header = ("a / b", *self.buckets)
        width = max(len(cell) for row in (header, *rows) for cell in row)
        return [Table(header, rows, align="r", min_widths=[width] * len(header))]

    def __str__(self) -> str:
        """Return the table as text."""
        return as_text(self.printed_parts())

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return as_html(self.printed_parts())


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges(Printed):
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
    >>> changes.matrix(edges=[1]).counts.tolist()
    [[1, 0], [1, 0]]
    >>> changes.to_pandas()["grade"].tolist(), changes.to_dict()["k"]
    ([1.0, 2.0], 1)
    """

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

        It is positive if the document falls, and infinite if only one ranking has it.
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

    def matrix(self, edges: Sequence[int] = EDGES) -> RankMatrix:
        """Count the documents by bucket of ranks in the first ranking, and in the second.

        Parameters
        ----------
        edges : sequence of int
            The last rank of each bucket except the last bucket, ascending. A mean rank between two
            buckets counts in the one of lower ranks.

        Returns
        -------
        RankMatrix
            It has a bucket "no rank" if a ranking does not have all documents.

        Raises
        ------
        LtrValueError
            If ``edges`` are not ascending whole numbers from 1 on.
        """
        ends = list(edges)
        if not ends or not all(map(is_count, ends)) or ends != sorted(set(ends)):
            raise LtrValueError(
                f"edges must be ascending whole numbers from 1 on, the last rank of each bucket. Got {edges!r}."
            )
        begins = [1, *(end + 1 for end in ends)]
        buckets = [f"{begin}" if begin == end else f"{begin}-{end}" for begin, end in zip(begins, ends, strict=False)]
        buckets.append(f"{begins[-1]}+")
        if np.isinf(self.rank_a).any() or np.isinf(self.rank_b).any():
            buckets.append("no rank")
        a, b = (np.searchsorted(ends, ranks, side="left") + np.isinf(ranks) for ranks in (self.rank_a, self.rank_b))
        counts = np.bincount(a * len(buckets) + b, minlength=len(buckets) ** 2)
        return RankMatrix(buckets, counts.reshape(len(buckets), len(buckets)))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per relevant document, largest change first.

        Returns
        -------
        pandas.DataFrame
            The columns are qid, docid (if known), row, grade, rank_a, rank_b and change.
        """
        columns = {"qid": self.qid, "docid": self.docid, "row": self.row, "grade": self.grade}
        columns |= {"rank_a": self.rank_a, "rank_b": self.rank_b, "change": self.change}
        return to_dataframe({name: column for name, column in columns.items() if column is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON; infinity is None.

        Returns
        -------
        dict
            The fields by name, with the summaries.
        """
        ranks = {"rank_a": self.rank_a, "rank_b": self.rank_b, "change": self.change}
        return {
            "k": self.k,
            "moves": self.moves.to_dict(),
            "by_grade": [{"grade": grade, **moves.to_dict()} for grade, moves in self.by_grade.items()],
            "row": self.row.tolist(),
            "qid": plain_ids(self.qid),
            "docid": None if self.docid is None else self.docid.tolist(),
            "grade": self.grade.tolist(),
        } | {name: [None if np.isinf(v) else v for v in values.tolist()] for name, values in ranks.items()}

    def printed_parts(self) -> list[Table]:
        """Return a table with a row for each grade."""
        ranks = ("mean rank a", "mean rank b", "up", "down", "stayed", f"into top {self.k}", f"out of top {self.k}")
        header = ("grade", "documents", *ranks)
        groups = {"all": self.moves} | {f"{grade:g}": moves for grade, moves in self.by_grade.items()}
        rows = [
            (name, *(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in moves))
            for name, moves in groups.items()
        ]
        return [Table(header, rows, align="r", min_widths=[9] * len(header))]


class _RelevantDocuments(BinaryMetric):
    """Meaning of ``rel``; its messages name the function."""

    NAME = "rank_changes"


def rank_changes(
    y_true: Any,
    a: Any,
    b: Any,
    *,
    qid: Any = None,
    group: Any = None,
    rel: float | str | None = None,
    k: int = 10,
    docid: Any = None,
    judged: Any = None,
    retrieved_a: Any = None,
    retrieved_b: Any = None,
) -> RankChanges:
    """Compare the ranks of each relevant document in the rankings by two score vectors.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    a, b : array-like of shape (n_rows,)
        Scores of the same rows, higher is better.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type. Exactly one of ``qid`` and
        ``group`` is required. Two ids with the same text, such as 7 and ``"7"``, are an
        error.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    rel : float or str, optional
        Lowest grade of a relevant document, as for `ltr_metrics.Precision`. None, the default,
        means 1, and labels strictly between 0 and 1 raise an error.
    k : int, default 10
        Cutoff of the counts of documents that move into and out of the first ``k`` ranks.
    docid : array-like of shape (n_rows,), optional
        Document ids, which the result then has.
    judged : array-like of bool of shape (n_rows,), optional
        False for an unjudged document. Its label must not be above 0 (NaN is accepted)
        and counts as 0. By default all documents are judged.
    retrieved_a, retrieved_b : array-like of bool of shape (n_rows,), optional
        False for a document that this ranking does not have. Its score is not read, and it is below
        all others.

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
    refuse_different_indexes(
        y_true=y_true, a=a, b=b, qid=qid, docid=docid, retrieved_a=retrieved_a, retrieved_b=retrieved_b
    )
    queries = LabelledQueries(y_true, qid=qid, group=group, docid=docid, judged=judged)
    return rank_changes_of(queries, a, b, rel=rel, k=k, retrieved_a=retrieved_a, retrieved_b=retrieved_b)


def rank_changes_of(
    queries: LabelledQueries,
    a: Any,
    b: Any,
    *,
    rel: float | str | None = None,
    k: int = 10,
    retrieved_a: Any = None,
    retrieved_b: Any = None,
) -> RankChanges:
    """Do the same for `LabelledQueries`; query weights are not used."""
    k = require_count("k", k)
    relevance = _RelevantDocuments(rel=rel)
    relevance.check(queries)
    rows = np.flatnonzero(np.concatenate(([False], relevance.relevant(queries)))[queries.grade_index])
    ranks = [
        rank_rows(queries, scores, name, retrieved).expected()[rows]
        for scores, name, retrieved in ((a, "a", retrieved_a), (b, "b", retrieved_b))
    ]
    order = np.argsort(-np.abs(_change(*ranks)), kind="stable")
    rows = rows[order]
    return RankChanges(
        row=rows,
        qid=queries.qid[queries.query_of_rows()[rows]],
        docid=None if queries.docid is None else queries.docid[rows],
        grade=queries.grades[queries.grade_index[rows] - 1],
        rank_a=ranks[0][order],
        rank_b=ranks[1][order],
        k=k,
    )


def _change(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.subtract(b, a, out=np.zeros(len(a)), where=a != b)  # inf - inf is 0 here
