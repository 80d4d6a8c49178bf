"""The label side of an evaluation: grades, what was retrieved and judged, further columns; validated and laid out once.

`LabelledQueries` knows nothing of scores or metrics. The public `Queries` in `evaluation.py` adds `evaluate`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn, get_args

import numpy as np

from ltr_metrics._engine.checks import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    as_flags,
    as_numbers,
    named_columns,
    require_option,
)
from ltr_metrics._engine.grouping import GroupedRows, as_document_ids
from ltr_metrics._engine.per_query import Segmentations, segmentations, weights
from ltr_metrics._engine.positions import Positions
from ltr_metrics._engine.words import Unjudged
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn

UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)
FEWEST_SCORES = 8  # different labels that are no scale of grades; of fewer it cannot be told
HIGHEST_USUAL_GRADE = 30  # of scales of grades; LightGBM's gains end there, too
COUNTABLE_GRADES = 256  # integer grades below this are counted instead of sorted


class LabelledQueries(GroupedRows):
    """The label side of an evaluation; see `ltr_metrics.Queries` for the parameters."""

    def __init__(
        self,
        y_true: Any,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        sample_weight: Any = None,
        docid: Any = None,
        retrieved: Any = None,
        judged: Any = None,
        unjudged: Unjudged | None = None,
        columns: Any = None,
        by: Any = None,
    ) -> None:
        labels = as_numbers(y_true, "y_true")
        of_rows = {
            "y_true": y_true,
            "qid": qid,
            "sample_weight": sample_weight,
            "docid": docid,
            "retrieved": retrieved,
            "judged": judged,
        }
        super().__init__(len(labels), qid, group, of_rows)
        self.single_precision = labels.dtype == np.float32  # then a threshold means the float32 next to it

        self.judged: BoolArray | None = None if judged is None else as_flags(judged, "judged", self.n_rows)
        if self.judged is not None:
            labels = self._labels_of_judged(labels, self.judged)
        if not np.isfinite(labels).all():
            remedy = "Drop the rows that have no judgement, or pass judged=False for them."
            self._refuse_labels(labels, ~np.isfinite(labels), "must be finite", remedy)
        if labels.min() < 0:
            self._refuse_labels(labels, labels < 0, "must not be negative", _remedy_of_negative(labels))
        self.retrieved: BoolArray | None = None if retrieved is None else as_flags(retrieved, "retrieved", self.n_rows)
        if self.retrieved is not None and not self.retrieved.any():
            raise LtrValueError("retrieved is False in every row: there is no ranking to evaluate.")
        self.grades, self.grade_index = _distinct_grades(labels)
        self.n_documents = self.sizes
        self.unjudged: Unjudged = "zero" if unjudged is None else require_option("unjudged", unjudged, UNJUDGED)
        if self.unjudged == "drop" and self.judged is not None:
            self._drop_unjudged(labels, self.judged)
        self.docid: AnyArray | None = None if docid is None else as_document_ids(docid, self.n_rows)
        self.weight: FloatArray | None = None
        if query_weight is not None or sample_weight is not None:
            self.weight = weights(self, query_weight, sample_weight)
        self.columns: dict[str, Any] = {} if columns is None else named_columns(columns, "columns")
        self.segments: Segmentations = {} if by is None else segmentations(self, by)
        self.may_be_swapped = True  # until the first scores have been compared with the labels
        for shared in (self.qid, self.sizes, self.n_documents, self.grades, self.grade_index, self.weight):
            if shared is not None:
                shared.setflags(write=False)  # results and metrics' functions get these very arrays

    @cached_property
    def n_retrieved(self) -> IntArray:
        """Number of documents of each query that have a rank."""
        return self.sizes if self.retrieved is None else np.asarray(self.sum_by_query(self.retrieved))

    @cached_property
    def ranked_rows(self) -> IntArray | None:
        """Rows of the documents that have a rank, query after query; None where these are 0, 1, 2, ..."""
        if self.retrieved is None:
            return self.order
        rows = self.rows_in_query_order()
        return rows[self.retrieved[rows]]

    @cached_property
    def ranked_ends(self) -> IntArray:
        """Offset in `ranked_rows` at which the documents of each query end."""
        return self.n_retrieved.cumsum()

    @cached_property
    def docid_descending(self) -> IntArray:
        """Rank of each row's document id among all ids, in descending order of the ids."""
        ids, rank = np.unique(np.asarray(self.docid), return_inverse=True)
        return np.asarray(len(ids) - 1 - rank)

    def count_by_query(self, chosen: BoolArray) -> IntArray:
        """Documents of each query whose grade is chosen (one flag a distinct grade)."""
        flags = np.concatenate(([False], chosen))
        return self.cached(("count", chosen.tobytes()), lambda: _read_only(self.sum_by_query(flags[self.grade_index])))

    def count_ranked(self, chosen: BoolArray) -> IntArray:
        """Documents of each query that have a rank and whose grade is chosen (one flag a distinct grade)."""
        if self.retrieved is None:
            return self.count_by_query(chosen)
        flags = np.concatenate(([False], chosen))
        return np.asarray(self.sum_by_query(flags[self.grade_index] & self.retrieved))

    def first_row_of_grade(self, grade: float) -> str:
        """Where a grade stands first, for messages about a grade that a metric does not accept."""
        index = int(np.searchsorted(self.grades, grade)) + 1
        return self.where(int(np.flatnonzero(self.grade_index == index)[0]))

    def scores(self, y_score: Any) -> Any:
        """Check a score vector against these rows; float32 and float64 stay as they are."""
        if isinstance(y_score, Positions):
            raise LtrTypeError(
                "y_score must be scores here, and not Positions, which evaluate and compare take. Pass the places with "
                "their sign changed (-places), and retrieved=False for documents without a place."
            )
        if self._indexed is not None:
            self.refuse_other_index("y_score", y_score)
        scores = as_numbers(y_score, "y_score", self.n_rows)
        if self.may_be_swapped:
            self.may_be_swapped = False
            self._warn_of_swapped(scores)
        return scores

    def _warn_of_swapped(self, scores: AnyArray) -> None:
        """Warn once if the labels look like scores and these scores like grades."""
        if _look_like_scores(self.grades, self.n_rows) and _look_like_grades(scores, self.query_of_rows()):
            warn(
                f"y_true has {len(self.grades):,} different labels in {self.n_rows:,} rows, as scores have, and y_score has only "
                f"whole numbers from 0 to {scores.max():g}, as grades are: did you swap y_true and y_score? Labels come first. "
                "If both are as you mean them, ignore this warning."
            )

    def refuse_nan_scores(self, scores: AnyArray) -> None:
        """Raise an error that names the first row whose score is NaN."""
        bad = np.isnan(scores) if self.retrieved is None else np.isnan(scores) & self.retrieved
        if bad.any():
            row = int(bad.argmax())
            raise LtrValueError(
                f"y_score must not be NaN: got nan at {self.where(row)}, {int(bad.sum())} in all. A NaN has no rank; "
                "find out why the model gave it (a diverged training, a feature out of range), or mark the row as not retrieved."
            )

    def _refuse_labels(self, labels: AnyArray, bad: BoolArray, rule: str, remedy: str) -> NoReturn:
        row = int(bad.argmax())
        raise LtrValueError(
            f"y_true {rule}: got {labels[row]} at {self.where(row)}, {int(bad.sum())} such rows in all. {remedy}"
        )

    def refuse_repeated_documents(self) -> None:
        """Raise an error if a document has two ranks in a query; for files, whose mistakes nobody has seen."""
        if self.docid is None:
            return
        rows = self.rows_in_query_order()
        docids = self.docid[rows].tolist()
        for start, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
            of_query = docids[start : start + size]
            if len(set(of_query)) < size:
                earlier: dict[Any, int] = {}
                place = next(at for at, docid in enumerate(of_query) if earlier.setdefault(docid, at) != at)
                first, again = (int(rows[start + at]) for at in (earlier[of_query[place]], place))
                raise LtrValueError(
                    f"A document must stand only once in a query: {of_query[place]!r} stands at {self.where(first)} and again at "
                    f"{self.where(again)} (rows count from 0). Drop one of the two rows."
                )

    # -- what is not judged -----------------------------------------------------------------------------------------

    def _labels_of_judged(self, labels: AnyArray, judged: BoolArray) -> AnyArray:
        bad = ~judged & (labels > 0)
        if bad.any():
            rule, remedy = "must not be above 0 where judged is False", "A document with a grade is judged."
            self._refuse_labels(labels, bad, rule, remedy)
        return np.where(judged, labels, labels.dtype.type(0))

    def _drop_unjudged(self, labels: AnyArray, judged: BoolArray) -> None:
        """Leave the condensed list: rows that are not judged are no documents, neither ranked nor in the ideal."""
        self.retrieved = judged if self.retrieved is None else self.retrieved & judged
        if not self.retrieved.any():
            raise LtrValueError('unjudged="drop" leaves no document: judged is False in every row that is retrieved.')
        self.grades, of_judged = _distinct_grades(labels[judged])
        self.grade_index = np.zeros(self.n_rows, dtype=of_judged.dtype)  # 0 means "no document"
        self.grade_index[judged] = of_judged
        self.n_documents = self.sum_by_query(judged)

    # -- further columns --------------------------------------------------------------------------------------------

    def column(self, name: str) -> FloatArray:
        """Return one of `columns`, checked the first time that a metric asks for it."""
        return self.cached(("column", name), lambda: self._column(name, self.columns[name]))

    def _column(self, name: str, values: Any) -> FloatArray:
        self.refuse_other_index(f"columns[{name!r}]", values)
        column = as_numbers(values, f"columns[{name!r}]", self.n_rows).astype(np.float64)
        counts = np.True_ if self.retrieved is None else self.retrieved
        with np.errstate(over="ignore"):
            bad = ~np.isfinite(column * self.sizes.max()) & counts
        if bad.any():
            row = int(bad.argmax())
            raise LtrValueError(
                f"columns[{name!r}] must be finite, also summed over a query: got {column[row]} at {self.where(row)}, {int(bad.sum())} "
                "such rows in all."
            )
        return np.where(counts, column, 0.0)


def _read_only(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array


# -- labels ---------------------------------------------------------------------------------------------------------------


def _look_like_scores(grades: FloatArray, n_rows: int) -> bool:
    """Whether there are at least eight fractional labels, more than half as many as rows: no scale of grades has so many."""
    if 2 * len(grades) <= n_rows:
        return False
    n_fractional = int(np.count_nonzero(grades != np.floor(grades)))
    return n_fractional >= FEWEST_SCORES and 2 * n_fractional > n_rows


def _look_like_grades(scores: AnyArray, query: IntArray) -> bool:
    """Whether scores are whole numbers from 0 to a usual highest grade, a quarter of which repeat one of their query.

    The last condition leaves out ranks, which are whole numbers too.
    """
    if not (scores.min() == 0 < scores.max() <= HIGHEST_USUAL_GRADE and (scores == np.floor(scores)).all()):
        return False
    return 4 * len(np.unique(query * (HIGHEST_USUAL_GRADE + 1) + scores)) <= 3 * len(scores)


def _remedy_of_negative(labels: AnyArray) -> str:
    if _look_like_scores(np.unique(labels), len(labels)):
        return "Labels like these are scores: did you swap y_true and y_score? Labels come first."
    return "Shift the grades so that the lowest is 0."


def _distinct_grades(labels: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Return the distinct grades, ascending, and for each row the 1-based index of its grade (0 means "no document")."""
    highest = labels.max()
    if highest < COUNTABLE_GRADES:
        whole = labels.astype(np.uint8)
        if (whole == labels).all():
            present = np.flatnonzero(np.bincount(whole, minlength=1))
            index = np.zeros(COUNTABLE_GRADES, dtype=np.uint16)
            index[present] = np.arange(1, len(present) + 1)
            return present.astype(np.float64), _narrow(index[whole], len(present))
    grades, inverse = np.unique(labels.astype(np.float64), return_inverse=True)
    return grades, _narrow(inverse + 1, len(grades))


def _narrow(index: AnyArray, largest: int) -> AnyArray:
    return index.astype(np.min_scalar_type(largest))
