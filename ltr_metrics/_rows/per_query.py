"""Values of queries that a caller passes by query, by id or by row: weights and segments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import (
    AnyArray,
    FloatArray,
    IntArray,
    as_numbers,
    has_named_columns,
    named_columns,
    pandas_index,
)
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.ids import WORDS_FOR_MISSING, id_texts, label_codes, ordered_categories
from ltr_metrics.errors import LtrTypeError, LtrValueError, one_line, warn


class OrderedLabels(list[Hashable]):
    """Labels of segments whose order means something, such as those of an ordered categorical."""


# The distinct labels, and the position among them of each query's label. Segments of an ordered categorical have all of
# its categories as labels, also those without a query, so that parts with other queries have the same order.
Labels = tuple[list[Hashable], IntArray]
Segmentations = dict[str | None, Labels]  # by name


def weights(rows: GroupedRows, query_weight: Any, sample_weight: Any) -> FloatArray:
    """Return one weight per query: from query weights, or as the means of row weights."""
    if query_weight is not None and sample_weight is not None:
        raise LtrTypeError("Pass query_weight (one per query) or sample_weight (one per row), not both.")
    if sample_weight is not None:
        row_weights = as_numbers(sample_weight, "sample_weight", rows.n_rows).astype(np.float64)
        refuse_bad_weights(row_weights, "sample_weight", rows.where)
        return _means_of_rows(rows, row_weights)
    if isinstance(query_weight, Mapping) or _is_by_id(rows, "query_weight", query_weight):
        query_weight = rows.by_query_id("query_weight", query_weight)
    query_weights = as_numbers(query_weight, "query_weight").astype(np.float64)
    if len(query_weights) != rows.n_queries:
        raise LtrValueError(
            f"query_weight must have one entry per query in order of first appearance: got {len(query_weights)} for "
            f"{rows.n_queries} queries. Pass weights of rows as sample_weight."
        )
    refuse_bad_weights(query_weights, "query_weight", lambda query: f"query {rows.qid[query]}")
    return query_weights


def _means_of_rows(rows: GroupedRows, row_weights: FloatArray) -> FloatArray:
    """Return the mean weight of each query's rows, also where their sum is beyond float64."""
    with np.errstate(over="ignore"):
        means: FloatArray = rows.sum_by_query(row_weights) / rows.sizes
    if not np.isfinite(means).all():
        exponent = rows.n_rows.bit_length()  # so that no sum of scaled weights can be
        scaled = rows.sum_by_query(np.ldexp(row_weights, -exponent)) / rows.sizes
        means = np.where(np.isfinite(means), means, np.ldexp(scaled, exponent))
    return means


def refuse_bad_weights(weight: AnyArray, name: str, where: Callable[[int], str]) -> None:
    """Raise an error if a weight is negative, or is not finite; ``where`` names an entry."""
    is_bad = ~(np.isfinite(weight) & (weight >= 0))
    if is_bad.any():
        entry = int(is_bad.argmax())
        raise LtrValueError(f"{name} must be finite and not negative: got {weight[entry]} at {where(entry)}.")


def segmentations(rows: GroupedRows, by: Any) -> Segmentations:
    """Return the segments of one segmentation, under the name None, or of several by name."""
    if not has_named_columns(by):
        return {None: _segments_of(rows, "by", by)}
    if isinstance(by, Mapping) and any(isinstance(one, str) or not hasattr(one, "__len__") for one in by.values()):
        raise LtrTypeError(
            "If by is a mapping, its keys are names of segmentations, and each value has one label per query or per "
            'row, as in {"device": [...]}. To give labels by query id, pass a pandas Series with the ids as its index.'
        )
    named = named_columns(by, "by")
    return {name: _segments_of(rows, f"by[{name!r}]", labels) for name, labels in named.items()}


def _segments_of(rows: GroupedRows, name: str, labels: Any) -> Labels:
    """Return the labels of segments; those of an ordered categorical are all of its categories."""
    distinct, code = labels_of(rows, name, labels)
    categories = ordered_categories(labels)
    if categories is None:
        return distinct, code
    position = {category: at for at, category in enumerate(categories)}
    positions = [position[label] for label in distinct]
    for at, label in zip(positions, distinct, strict=True):
        categories[at] = label  # of the type that other labels have
    return OrderedLabels(categories), np.array(positions, dtype=np.intp)[code]


def labels_of(rows: GroupedRows, name: str, labels: Any) -> Labels:
    """Return the distinct labels, and the position among them of each query's label.

    The labels are in the order of a categorical, otherwise in order of first appearance.
    """
    ascending = ordered_categories(labels)
    index = pandas_index(labels)
    is_by_row = index is not None and len(index) == rows.n_rows and not rows.rows_are_queries
    if not is_by_row and _is_by_id(rows, name, labels):
        labels = rows.by_query_id(name, labels)
    distinct, code = label_codes(labels, name, ascending)
    if len(code) == rows.n_rows:
        rows.refuse_different_indexes(**{name: labels})
        code = _query_codes(rows, name, distinct.tolist(), code)
    elif len(code) != rows.n_queries:
        raise LtrValueError(
            f"{name} must have one label per query ({rows.n_queries} labels, in order of first appearance) or one per "
            f"row ({rows.n_rows} labels). Got {len(code)}."
        )
    return distinct.tolist(), code


def cluster_of_queries(rows: GroupedRows, labels: Any) -> IntArray:
    """Return the number of each query's cluster."""
    labelled = labels_of(rows, "cluster", labels)
    warn_of_words_for_missing("cluster", labelled)
    return labelled[1]


def warn_of_words_for_missing(kind: str, *labelled: Labels, unit: str = "queries") -> None:
    """Warn if several queries share a segment or cluster whose label is a word for a missing value."""
    for labels, code in labelled:
        for at, label in enumerate(labels):
            n = int(np.count_nonzero(code == at)) if label in WORDS_FOR_MISSING else 0
            if n > 1:
                warn(
                    f"{n:,} {unit} are of one {kind}, {label!r}, which is text like any other. If it stands for a "
                    "missing value, give each of them a label of its own, or leave them out. If it is a label, such "
                    "as the code of a country, ignore this warning."
                )


def _query_codes(rows: GroupedRows, name: str, distinct: list[Hashable], row_codes: IntArray) -> IntArray:
    """Return the code of each query, which must be the same in all of its rows."""
    order = rows.rows_in_query_order()
    codes: IntArray = row_codes[order[rows.starts]]
    differs = row_codes[order] != np.repeat(codes, rows.sizes)
    if differs.any():
        row = int(order[differs.argmax()])
        raise LtrValueError(
            f"{name} must be one label per query: {rows.where(row)} has {distinct[row_codes[row]]!r}, another row of "
            f"the query has {distinct[codes[rows.query_of_rows()[row]]]!r}."
        )
    return codes


def _is_by_id(rows: GroupedRows, name: str, values: Any) -> bool:
    """Whether values are a pandas Series whose index holds query ids, and not just 0, 1, 2, ..."""
    index = pandas_index(values)
    is_default = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    if is_default and len(index) == rows.n_queries:
        texts, ids = id_texts(index), id_texts(rows.qid)
        if texts != ids and set(texts) == set(ids):
            raise LtrValueError(
                f"{name} has the index 0, 1, 2, ... of a plain list, and the queries have the same ids in another "
                "order, so it is unclear whether its values are matched by id, as after groupby(..., as_index=False), "
                f"or by position, where {one_line(ids[0])} is the first query. Pass a dict for values by id, or "
                ".to_numpy() for values in order of first appearance."
            )
    return index is not None and not is_default
