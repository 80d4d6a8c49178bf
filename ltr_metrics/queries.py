"""Rows grouped into queries: labels, ids, weights and what was retrieved, validated and laid out once.

`LabelledQueries` knows nothing of scores or metrics. The public `Queries` in `evaluation.py` adds `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.grouping import as_document_ids, as_ids, group_by_ids, group_by_sizes, label_codes
from ltr_metrics.inputs import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    as_flags,
    as_numbers,
    pandas_index,
    refuse_different_indexes,
    refuse_other_index,
    require_option,
)
from ltr_metrics.memo import Memo

Segmentations = dict[str | None, tuple[list[Hashable], IntArray]]  # name -> segments, and the position of each query's

UNJUDGED = ("zero", "drop")
COUNTABLE_GRADES = 256  # integer grades below this are counted instead of sorted


class LabelledQueries(Memo):
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
        unjudged: str | None = None,
        columns: Any = None,
        by: Any = None,
    ) -> None:
        super().__init__()
        row_inputs = {
            "y_true": y_true,
            "qid": qid,
            "sample_weight": sample_weight,
            "docid": docid,
            "retrieved": retrieved,
            "judged": judged,
        }
        refuse_different_indexes(**row_inputs)
        self._indexed = next(
            ((name, column.index) for name, column in row_inputs.items() if pandas_index(column) is not None), None
        )
        labels = as_numbers(y_true, "y_true")
        self.single_precision = labels.dtype == np.float32  # then a threshold means the float32 next to it
        self.n_rows = len(labels)
        if (qid is None) == (group is None):
            raise LtrTypeError(
                f"Pass exactly one of qid (an id a row) and group (sizes); got {'both' if group is not None else 'neither'}."
            )
        if self.n_rows == 0:
            raise LtrValueError("y_true is empty: there is no query to evaluate.")
        self.qid: AnyArray
        self.order: IntArray | None
        self.sizes: IntArray
        if group is not None:
            self.qid, self.order, self.sizes = group_by_sizes(group, self.n_rows)
        else:
            self.qid, self.order, self.sizes = group_by_ids(as_ids(qid, "qid", self.n_rows))
        self.n_queries = len(self.sizes)
        self.starts: IntArray = np.cumsum(self.sizes) - self.sizes

        self.judged: BoolArray | None = None if judged is None else as_flags(judged, "judged", self.n_rows)
        labels = self._labels_of_judged(labels)
        self._refuse_labels(labels, ~np.isfinite(labels), "must be finite", "Drop the rows that have no judgement.")
        self._refuse_labels(labels, labels < 0, "must not be negative", "Shift the grades so that the lowest is 0.")
        self.retrieved: BoolArray | None = None if retrieved is None else as_flags(retrieved, "retrieved", self.n_rows)
        if self.retrieved is not None and not self.retrieved.any():
            raise LtrValueError("retrieved is False in every row: there is no ranking to evaluate.")
        self.grades, self.grade_index = _distinct_grades(labels)
        self.n_documents = self.sizes
        if require_option("unjudged", unjudged or "zero", UNJUDGED) == "drop" and self.judged is not None:
            self._drop_unjudged(labels, self.judged)
        self.docid: AnyArray | None = None if docid is None else as_document_ids(docid, self.n_rows)
        self.weight: FloatArray | None = self._weights(query_weight, sample_weight)
        self.columns: dict[str, FloatArray] = self._columns(columns)
        self.segments: Segmentations = self._segments(by)
        for shared in (self.qid, self.sizes, self.n_documents, self.grades, self.grade_index, self.weight):
            if shared is not None:
                shared.setflags(write=False)  # results and metrics' functions get these very arrays

    # -- the layout -------------------------------------------------------------------------------------------------

    def rows_in_query_order(self) -> IntArray:
        """Row numbers, query after query (first appearance), rows of a query in input order."""
        return np.arange(self.n_rows) if self.order is None else self.order

    def n_retrieved(self) -> IntArray:
        """How many documents of each query have a rank."""
        retrieved = self.retrieved
        return self.sizes if retrieved is None else self.once("n_retrieved", lambda: self.sum_by_query(retrieved))

    def sum_by_query(self, values: AnyArray) -> Any:
        """Sum of one value a row over each query."""
        in_order = values if self.order is None else values[self.order]
        total = np.int64 if in_order.dtype.kind == "b" else in_order.dtype
        return np.add.reduceat(in_order, self.starts, dtype=total)

    def count_by_query(self, chosen: BoolArray) -> IntArray:
        """Documents of each query whose grade is chosen (one flag a distinct grade)."""
        flags = np.concatenate(([False], chosen))
        return self.once(("count", chosen.tobytes()), lambda: _read_only(self.sum_by_query(flags[self.grade_index])))

    # -- where a row is, for messages -------------------------------------------------------------------------------

    def query_of_row(self, row: int) -> int:
        """Position of the query that a row belongs to."""
        place = row if self.order is None else int(np.flatnonzero(self.order == row)[0])
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def where(self, row: int) -> str:
        """'row 5 (query 10002)': rows count from 0."""
        return f"row {row} (query {self.qid[self.query_of_row(row)]})"

    def first_row_of_grade(self, grade: float) -> str:
        """Where a grade stands first, for messages about a grade that a metric does not accept."""
        index = int(np.searchsorted(self.grades, grade)) + 1
        return self.where(int(np.flatnonzero(self.grade_index == index)[0]))

    def scores(self, y_score: Any) -> Any:
        """Check a score vector against these rows; float32 and float64 stay as they are."""
        index = pandas_index(y_score)
        if self._indexed is not None and index is not None:
            refuse_other_index(*self._indexed, "y_score", index)
        return as_numbers(y_score, "y_score", self.n_rows)

    def refuse_nan_scores(self, scores: AnyArray) -> None:
        """Raise an error that names the first row whose score is NaN."""
        bad = np.isnan(scores) if self.retrieved is None else np.isnan(scores) & self.retrieved
        if bad.any():
            row = int(bad.argmax())
            raise LtrValueError(
                f"y_score must not be NaN: got nan at {self.where(row)}, {int(bad.sum())} in all. A NaN has no rank; "
                "find out why the model gave it (a diverged training, a feature out of range), or mark the row as not retrieved."
            )

    def _refuse_labels(self, labels: AnyArray, bad: BoolArray, rule: str, remedy: str) -> None:
        if bad.any():
            row = int(bad.argmax())
            raise LtrValueError(
                f"y_true {rule}: got {labels[row]} at {self.where(row)}, {int(bad.sum())} such rows in all. {remedy}"
            )

    # -- what is not judged -----------------------------------------------------------------------------------------

    def _labels_of_judged(self, labels: AnyArray) -> AnyArray:
        if self.judged is None:
            return labels
        self._refuse_labels(
            labels,
            ~self.judged & (labels > 0),
            "must be 0 or NaN where judged is False",
            "A document with a grade is judged.",
        )
        return np.where(self.judged, labels, labels.dtype.type(0))

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

    def _columns(self, columns: Any) -> dict[str, FloatArray]:
        if columns is None:
            return {}
        if not hasattr(columns, "items"):
            raise LtrTypeError(
                f'columns must map names to one number a row, for example {{"margin": ...}}. Got {columns!r}.'
            )
        return {name: self._column(name, values) for name, values in columns.items()}

    def _column(self, name: str, values: Any) -> FloatArray:
        column = as_numbers(values, f"columns[{name!r}]", self.n_rows).astype(np.float64)
        bad = ~np.isfinite(column) if self.retrieved is None else ~np.isfinite(column) & self.retrieved
        if bad.any():
            row = int(bad.argmax())
            raise LtrValueError(
                f"columns[{name!r}] must be finite: got {column[row]} at {self.where(row)}, {int(bad.sum())} in all."
            )
        return column

    def _segments(self, by: Any) -> Segmentations:
        if by is None:
            return {}
        if (hasattr(by, "items") and pandas_index(by) is None) or (
            getattr(by, "ndim", 1) == 2 and hasattr(by, "items")
        ):
            return {name: self._segment_of_queries(f"by[{name!r}]", labels) for name, labels in by.items()}
        return {None: self._segment_of_queries("by", by)}

    def _segment_of_queries(self, name: str, labels: Any) -> tuple[list[Hashable], IntArray]:
        """Return the segments, in order of first appearance, and the position among them of each query's."""
        if _is_named_series(labels) and len(labels) == self.n_queries != self.n_rows:
            labels = self._by_query_id(name, labels)
        distinct, code = label_codes(labels, name)
        names = distinct.tolist()
        if len(code) == self.n_rows:
            in_order = code if self.order is None else code[self.order]
            of_query = in_order[self.starts]
            stray = in_order != np.repeat(of_query, self.sizes)
            if stray.any():
                place = int(stray.argmax())
                row = place if self.order is None else int(self.order[place])
                raise LtrValueError(
                    f"{name} must be one label a query: {self.where(row)} has {names[code[row]]!r}, another row of the query "
                    f"{names[of_query[self.query_of_row(row)]]!r}."
                )
            code = of_query
        elif len(code) != self.n_queries:
            raise LtrValueError(
                f"{name} must have one label a query ({self.n_queries}, in order of first appearance) or a row ({self.n_rows}). Got "
                f"{len(code)}."
            )
        return names, code

    def _by_query_id(self, name: str, values: Any) -> list[Any]:
        by_id, ids = dict(values.items()), self.qid.tolist()
        missing = next((one for one in ids if one not in by_id), None)
        if missing is not None:
            raise LtrValueError(f"{name} has no entry for query {missing!r}; give every query one.")
        return [by_id[one] for one in ids]

    # -- weights ----------------------------------------------------------------------------------------------------

    def _weights(self, query_weight: Any, sample_weight: Any) -> FloatArray | None:
        if query_weight is None and sample_weight is None:
            return None
        if query_weight is not None and sample_weight is not None:
            raise LtrTypeError("Pass query_weight (one a query) or sample_weight (one a row), not both.")
        if sample_weight is not None:
            rows = as_numbers(sample_weight, "sample_weight", self.n_rows).astype(np.float64)
            self._refuse_weights(rows, "sample_weight", self.where)
            return np.asarray(self.sum_by_query(rows) / self.sizes)
        if isinstance(query_weight, Mapping) or _is_named_series(query_weight):
            query_weight = self._by_query_id("query_weight", query_weight)
        weight = as_numbers(query_weight, "query_weight").astype(np.float64)
        if len(weight) != self.n_queries:
            raise LtrValueError(
                f"query_weight must have one entry a query in order of first appearance: got {len(weight)} for "
                f"{self.n_queries} queries. Row weights go into sample_weight."
            )
        self._refuse_weights(weight, "query_weight", lambda query: f"query {self.qid[query]}")
        return weight

    @staticmethod
    def _refuse_weights(weight: FloatArray, name: str, where: Callable[[int], str]) -> None:
        bad = ~(np.isfinite(weight) & (weight >= 0))
        if bad.any():
            at = int(bad.argmax())
            raise LtrValueError(f"{name} must be finite and not negative: got {weight[at]} at {where(at)}.")


def _is_named_series(weights: Any) -> bool:
    """Whether a pandas Series has an index of its own, which then holds query ids, and not just 0, 1, 2, ..."""
    index = pandas_index(weights)
    return index is not None and type(index).__name__ != "RangeIndex"


def _read_only(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array


# -- labels ---------------------------------------------------------------------------------------------------------------


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
