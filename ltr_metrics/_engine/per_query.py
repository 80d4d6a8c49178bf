"""What a caller gives for each query, by query, by id or by row: weights, and labels of segments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray, as_numbers, has_named_columns, named_columns, pandas_index
from ltr_metrics._engine.grouping import GroupedRows, label_codes, ordered_categories
from ltr_metrics._engine.ids import id_texts
from ltr_metrics.errors import LtrTypeError, LtrValueError

Segmentations = dict[str | None, tuple[list[Hashable], IntArray]]  # name -> segments, and the position of each query's


def weights(rows: GroupedRows, query_weight: Any, sample_weight: Any) -> FloatArray | None:
    """Return one weight a query, from one a query or the mean of one a row."""
    if query_weight is None and sample_weight is None:
        return None
    if query_weight is not None and sample_weight is not None:
        raise LtrTypeError("Pass query_weight (one a query) or sample_weight (one a row), not both.")
    if sample_weight is not None:
        of_row = as_numbers(sample_weight, "sample_weight", rows.n_rows).astype(np.float64)
        _refuse_weights(of_row, "sample_weight", rows.where)
        return _mean_by_query(rows, of_row)
    if isinstance(query_weight, Mapping) or _is_by_id(rows, "query_weight", query_weight):
        query_weight = rows.by_query_id("query_weight", query_weight)
    weight = as_numbers(query_weight, "query_weight").astype(np.float64)
    if len(weight) != rows.n_queries:
        raise LtrValueError(
            f"query_weight must have one entry a query in order of first appearance: got {len(weight)} for "
            f"{rows.n_queries} queries. Row weights go into sample_weight."
        )
    _refuse_weights(weight, "query_weight", lambda query: f"query {rows.qid[query]}")
    return weight


def _mean_by_query(rows: GroupedRows, weight: FloatArray) -> FloatArray:
    """Return the mean of row weights; one so small that float64 rounds it is an error."""
    total = rows.sum_by_query(weight)
    mean = np.asarray(total / rows.sizes)
    rounded = (mean < np.finfo(np.float64).tiny) & (mean * rows.sizes != total)
    if rounded.any():
        query = int(rounded.argmax())
        raise LtrValueError(
            f"sample_weight must not be so small that float64 rounds its mean: the rows of query {rows.qid[query]} have the mean "
            f"{mean[query]:g}. Scale the weights up."
        )
    return mean


def _refuse_weights(weight: FloatArray, name: str, where: Callable[[int], str]) -> None:
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(f"{name} must be finite and not negative: got {weight[at]} at {where(at)}.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise LtrValueError(
                f"{name} must have a finite sum, which goes beyond float64 here: scale the weights down."
            )


def segmentations(rows: GroupedRows, by: Any) -> Segmentations:
    """Return the segments of one segmentation, or of several by name."""
    if by is None:
        return {}
    if has_named_columns(by):
        if isinstance(by, Mapping) and any(
            isinstance(labels, str) or not hasattr(labels, "__len__") for labels in by.values()
        ):
            raise LtrTypeError(
                'A mapping for by names segmentations, {"device": [...]}, each with one label a query or a row. For labels by query id '
                "pass a pandas Series with the ids as its index."
            )
        return {name: labels_of(rows, f"by[{name!r}]", labels) for name, labels in named_columns(by, "by").items()}
    return {None: labels_of(rows, "by", by)}


def labels_of(rows: GroupedRows, name: str, labels: Any) -> tuple[list[Hashable], IntArray]:
    """Return the distinct labels, in order of first appearance or as a categorical has them, and the position among them of each query's."""
    ascending = ordered_categories(labels)
    if _is_by_id(rows, name, labels) and (rows.rows_are_queries or len(labels) != rows.n_rows):
        labels = rows.by_query_id(name, labels)
    distinct, code = label_codes(labels, name, ascending)
    if len(code) == rows.n_rows:
        rows.refuse_other_index(name, labels)
        code = _constant_code(rows, name, distinct.tolist(), code)
    elif len(code) != rows.n_queries:
        raise LtrValueError(
            f"{name} must have one label a query ({rows.n_queries}, in order of first appearance) or a row ({rows.n_rows}). Got "
            f"{len(code)}."
        )
    return distinct.tolist(), code


def _constant_code(rows: GroupedRows, name: str, distinct: list[Hashable], code: IntArray) -> IntArray:
    in_order = code if rows.order is None else code[rows.order]
    of_query = in_order[rows.starts]
    stray = in_order != np.repeat(of_query, rows.sizes)
    if stray.any():
        place = int(stray.argmax())
        row = place if rows.order is None else int(rows.order[place])
        raise LtrValueError(
            f"{name} must be one label a query: {rows.where(row)} has {distinct[code[row]]!r}, another row of the query "
            f"{distinct[of_query[rows.query_of_row(row)]]!r}."
        )
    return of_query


def _is_by_id(rows: GroupedRows, name: str, values: Any) -> bool:
    """Whether a pandas Series has an index of its own, which then holds query ids, and not just 0, 1, 2, ..."""
    index = pandas_index(values)
    if index is None:
        return False
    counted = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    if counted and len(index) == rows.n_queries and _are_ids_in_another_order(rows, index):
        raise LtrValueError(
            f"{name} has the index 0, 1, 2, ... of a plain list, and the queries have these very ids in another order: pass a dict for "
            "values by id, or .to_numpy() for values in order of first appearance."
        )
    return not counted


def _are_ids_in_another_order(rows: GroupedRows, index: Any) -> bool:
    given, ids = id_texts(index), id_texts(rows.qid)
    return given != ids and set(given) == set(ids)
