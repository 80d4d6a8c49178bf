"""Where each relevant document stands under two rankings: which moved up, which down, which in and out of the first k."""

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
    """How some documents fared.

    Attributes
    ----------
    documents : int
        How many they are.
    mean_rank_a, mean_rank_b : float
        Mean rank of those that have one in both rankings; NaN if there is none.
    up, down, stayed : int
        How many stand higher, lower and as before in the second ranking; a document without a rank is below all that have one.
    into_top, out_of_top : int
        How many have a rank of at most k in the second ranking alone, and in the first alone.
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
        """Count the moves from ranks to ranks."""
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
        """Return a table with the buckets of the first ranking as its index and those of the second as its columns."""
        return (
            to_dataframe(self.counts, self.buckets)
            .set_axis(self.buckets, axis="index")
            .rename_axis("a")
            .rename_axis("b", axis="columns")
        )

    def printed_parts(self) -> list[Table]:
        """Return the table: rows are the first ranking, columns the second."""
        rows = [
            (name, *(f"{n:,}" for n in of_a)) for name, of_a in zip(self.buckets, self.counts.tolist(), strict=True)
        ]
        header = ("a / b", *self.buckets)
        width = max(len(cell) for row in (header, *rows) for cell in row)
        return [Table(header, rows, align="r", least=[width] * len(header))]

    def __str__(self) -> str:
        """Return the table as text."""
        return as_text(self.printed_parts())

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return as_html(self.printed_parts())


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges(Printed):
    """The relevant documents and their ranks under two rankings, largest change first.

    Attributes
    ----------
    row : ndarray of int
        Row of the input.
    qid : ndarray
        Its query.
    docid : ndarray or None
        Its document, if ids were given.
    grade : ndarray of float64
    rank_a, rank_b : ndarray of float64
        Rank from 1; the mean rank of documents with equal scores, and infinite for a document that a ranking does not have.
    k : int
        As asked for.
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
        """Ranks that a document falls; negative where it rises, infinite where one ranking alone has it."""
        return _change(self.rank_a, self.rank_b)

    @cached_property
    def moves(self) -> Moves:
        """How all relevant documents fared."""
        return Moves.of(self.rank_a, self.rank_b, self.k)

    @cached_property
    def by_grade(self) -> dict[float, Moves]:
        """How those of each grade fared, the highest first."""
        of_grade = ((grade, self.grade == grade) for grade in np.unique(self.grade)[::-1].tolist())
        return {grade: Moves.of(self.rank_a[chosen], self.rank_b[chosen], self.k) for grade, chosen in of_grade}

    def matrix(self, edges: Sequence[int] = EDGES) -> RankMatrix:
        """Count the documents by bucket of ranks under the first ranking, and under the second.

        Parameters
        ----------
        edges : sequence of int
            The last rank of each bucket but the last, rising. A mean rank between two buckets counts as the lower one.

        Returns
        -------
        RankMatrix
            With a bucket "no rank" if a ranking does not have all documents.
        """
        ends = list(edges)
        if not ends or not all(map(is_count, ends)) or ends != sorted(set(ends)):
            raise LtrValueError(
                f"edges must be whole numbers from 1 on that rise, the last rank of each bucket. Got {edges!r}."
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
        """Return a table with one row a relevant document, largest change first."""
        columns = {"qid": self.qid, "docid": self.docid, "row": self.row, "grade": self.grade}
        columns |= {"rank_a": self.rank_a, "rank_b": self.rank_b, "change": self.change}
        return to_dataframe({name: column for name, column in columns.items() if column is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON; no rank is None, and so is a change from or to it."""
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
        """Return a small table, a line a grade."""
        heads = (
            "grade",
            "documents",
            "mean rank a",
            "mean rank b",
            "up",
            "down",
            "stayed",
            f"into top {self.k}",
            f"out of top {self.k}",
        )
        rows = [
            (name, *(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in moves))
            for name, moves in [("all", self.moves), *((f"{grade:g}", moves) for grade, moves in self.by_grade.items())]
        ]
        return [Table(heads, rows, align="r", least=[9] * len(heads))]


class _RelevantDocuments(BinaryMetric):
    """What ``rel`` means; its messages call it by the function's name."""

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
    """Compare the ranks of every relevant document under two score vectors.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    a, b : array-like of shape (n_rows,)
        Scores of the same rows, higher is better.
    qid, group, docid, judged
        As for `ltr_metrics.Queries`; exactly one of ``qid`` and ``group``.
    rel : float or str, optional
        Lowest grade of a relevant document. None, the default, means 1, and refuses labels strictly between 0 and 1; as for
        `ltr_metrics.Precision`.
    k : int, default 10
        Which documents count as moved into and out of the first ranks: a rank of at most ``k``.
    retrieved_a, retrieved_b : array-like of bool of shape (n_rows,), optional
        False for a document that this ranking does not have. Its score is not read, and it stands below all others.

    Returns
    -------
    RankChanges

    Raises
    ------
    LtrValueError, LtrTypeError
        If a score is NaN, ``k`` or ``rel`` are out of range, or as for `ltr_metrics.Queries`.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.analysis.rank_changes import rank_changes
    >>> found = rank_changes([1, 0, 0, 2], [0.2, 0.8, 0.1, 0.7], [0.9, 0.8, 0.1, 0.7], qid=["a", "a", "b", "b"], k=1)
    >>> found.qid, found.rank_a, found.rank_b
    (array(['a', 'b'], dtype='<U1'), array([2., 1.]), array([1., 1.]))
    >>> found.moves.up, found.moves.into_top, found.by_grade[2.0].stayed
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
    """Do the same for labels that are laid out already; documents count one each, whatever the weights of their queries."""
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
    return np.subtract(b, a, out=np.zeros(len(a)), where=a != b)  # two rankings without the document: 0, not inf - inf
