"""From an id a row, or from sizes, to queries: their ids, their rows and how many these are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.inputs import AnyArray, BoolArray, IntArray, as_numbers, as_vector


class Grouping(NamedTuple):
    """Which rows belong to which query; queries in order of first appearance."""

    ids: AnyArray
    order: IntArray | None  # row numbers, query after query; None where the rows stand so already
    sizes: IntArray


def as_ids(values: Any, name: str, n_rows: int | None = None) -> AnyArray:
    """Return one id a row as an array that keeps ids of different types apart."""
    if (isinstance(values, (list, tuple)) and len(set(map(type, values))) > 1) or _holds_tuples(values):
        ids = np.empty(len(values), dtype=object)  # np.asarray would turn 1 and "1" into one text, tuples into a matrix
        ids[:] = list(values)
        values = ids
    ids = as_vector(values, name, n_rows)
    return ids.astype(object) if ids.dtype.kind == "T" else ids


def _holds_tuples(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and len(values) > 0 and isinstance(values[0], tuple)


def group_by_ids(ids: AnyArray) -> Grouping:
    """Group rows by id, in any order."""
    # Runs of equal ids first: sorted input then costs one comparison a row, and the rest works on a row a run.
    try:
        changes = ids[1:] != ids[:-1]
    except TypeError:  # pandas' NA is neither equal nor unequal
        raise LtrValueError("qid must have an id in every row: some are missing.") from None
    run_start = np.flatnonzero(np.concatenate(([True], changes)))
    run_size = np.diff(np.append(run_start, len(ids)))
    run_ids = ids[run_start]
    missing = _missing(run_ids)
    if missing.any():
        raise LtrValueError(f"qid must have an id in every row: it is missing at row {run_start[missing.argmax()]}.")
    names, run_code = _codes_by_first_appearance(run_ids)
    if len(names) == len(run_start):
        return Grouping(names, None, run_size)
    sizes = np.bincount(run_code, weights=run_size).astype(np.intp)
    return Grouping(names, np.argsort(np.repeat(run_code, run_size), kind="stable"), sizes)


def _missing(ids: AnyArray) -> BoolArray:
    if ids.dtype.kind == "f":
        return np.isnan(ids)
    if ids.dtype.kind in "mM":
        return np.isnat(ids)
    if ids.dtype == object:
        return np.array([i is None or i != i for i in ids.tolist()], dtype=np.bool_)
    return np.zeros(len(ids), dtype=np.bool_)


def _codes_by_first_appearance(ids: AnyArray) -> tuple[AnyArray, IntArray]:
    if ids.dtype == object:  # any hashable kind: a dict keeps 1 and "1" apart and remembers the order
        try:
            code = {name: i for i, name in enumerate(dict.fromkeys(ids.tolist()))}
        except TypeError as error:
            raise LtrTypeError(f"qid must be hashable: {error}.") from None
        names = np.empty(len(code), dtype=object)
        names[:] = list(code)
        return names, np.fromiter(map(code.__getitem__, ids.tolist()), dtype=np.intp, count=len(ids))
    names, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    position = np.empty(len(names), dtype=np.intp)
    position[by_appearance] = np.arange(len(names))
    return names[by_appearance], position[inverse]


def group_by_sizes(group: Any, n_rows: int) -> Grouping:
    """Group rows that stand one query after the other, by sizes."""
    sizes = as_group_sizes(group)
    if sizes.sum() != n_rows:
        raise LtrValueError(
            f"group must hold the sizes of the queries in row order and add up to the rows: its {len(sizes)} sizes add up "
            f"to {sizes.sum()}, y_true has {n_rows} rows."
            + (" One id a row goes into qid." if len(sizes) == n_rows else "")
        )
    return Grouping(np.arange(len(sizes)), None, sizes)


def as_group_sizes(group: Any) -> IntArray:
    """Return query sizes as integers; an empty query is an error."""
    sizes = as_numbers(group, "group")
    bad = ~(np.isfinite(sizes) & (sizes >= 1) & (sizes == np.floor(sizes)))
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(
            f"group must hold whole sizes of at least 1: got {sizes[at]:g} for query {at}. Leave empty queries out."
        )
    return sizes.astype(np.intp)
