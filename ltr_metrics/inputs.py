"""From what a caller may pass (arrays, lists, pandas, polars, Arrow) to checked one-dimensional NumPy arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr_metrics.errors import LtrTypeError, LtrValueError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

LARGEST_EXACT_INTEGER = 2**53  # beyond it float64 merges neighbouring integers, and with them their ranks


def as_vector(values: Any, name: str, n_rows: int | None = None) -> AnyArray:
    """Return ``values`` as a one-dimensional array of any dtype, with ``n_rows`` entries if that is given."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise LtrValueError(f"{name} must have no masked entries; drop them or fill them with a value first.")
    if values is None or isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        raise LtrTypeError(f"{name} must be a sequence with one entry a row, got {_kind(values)}.")
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise LtrTypeError(f"{name} must be a flat sequence with one entry a row: {error}") from None
    if array.ndim != 1:
        raise LtrValueError(
            f"{name} must be one-dimensional with one entry a row, got shape {array.shape}. Pass one column of it, "
            "or .ravel() if it has only one."
        )
    if n_rows is not None and len(array) != n_rows:
        raise LtrValueError(
            f"{name} must have one entry a row like y_true: got {len(array)} entries for {n_rows} rows."
        )
    return array


def as_numbers(values: Any, name: str, n_rows: int | None = None) -> npt.NDArray[np.floating[Any]]:
    """Return a one-dimensional float array: float32 and float64 as they are, everything else as float64."""
    array = as_vector(values, name, n_rows)
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "SUMmcV":
        raise LtrTypeError(f"{name} must be numbers, got dtype {array.dtype}.")
    if array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > LARGEST_EXACT_INTEGER:
        raise LtrValueError(
            f"{name} holds integers beyond 2**53, which float64 cannot keep apart; pass their ranks instead."
        )
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise LtrTypeError(f"{name} must be numbers without missing values: {error}.") from None


def as_flags(values: Any, name: str, n_rows: int) -> BoolArray:
    """Return a boolean array; 0 and 1 are accepted, anything else is not."""
    array = as_vector(values, name, n_rows)
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise LtrTypeError(f"{name} must be True or False for each row, got dtype {array.dtype} with other values.")
    return array.astype(np.bool_)


def refuse_different_indexes(**columns: Any) -> None:
    """Refuse pandas objects whose indexes differ: their rows would be paired by position, against their labels."""
    indexed = [(name, column.index) for name, column in columns.items() if hasattr(column, "index")]
    indexed = [(name, index) for name, index in indexed if hasattr(index, "equals")]  # list.index is a method
    for (name_a, index_a), (name_b, index_b) in itertools.pairwise(indexed):
        if len(index_a) == len(index_b) and not index_a.equals(index_b):
            raise LtrValueError(
                f"{name_a} and {name_b} have different pandas indexes, so their rows may not belong together. "
                "Align them (reindex, merge), or pass .to_numpy() if the order of rows is what counts."
            )


def require_option(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise an error that lists the allowed words unless ``value`` is one of them."""
    if value not in allowed:
        raise LtrValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
