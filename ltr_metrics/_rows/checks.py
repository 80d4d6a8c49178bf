"""From what a caller may pass (arrays, lists, pandas, polars, Arrow) to checked one-dimensional NumPy arrays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from types import NoneType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean

W = TypeVar("W", bound=str)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

OF_COLUMNS = " Pass one column of it, or .ravel() if it has only one."
OF_LISTS = " If each entry is a query, concatenate them, and pass their lengths as group."
PASS_RANKS = "Pass their ranks instead."
OF_TABLES = ' Pass a table as data=, and name its columns: data=table, label="label", score="score", qid="qid".'
OF_JUDGMENTS = " Judgments and runs by query and document are read by from_qrels(qrels, run)."
LARGEST_EXACT_INTEGER = 2**53  # beyond it float64 merges neighbouring integers
_MARK_DIGITS = bytes.maketrans(b"123456789.E", b"0000000000e")
_MANY_DIGITS = b"0" * 16  # float64 keeps 15 in any case
EXTREME_EXPONENT = re.compile(rb"[eE][+-]?[0-9]{3}")


def as_vector(values: Any, name: str, n_rows: int | None = None) -> AnyArray:
    """Return ``values`` as a one-dimensional array of any dtype, with ``n_rows`` entries if that is given."""
    if type(values) is np.ndarray and values.ndim == 1 and n_rows in (None, len(values)):
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise LtrValueError(f"{name} must have no masked entries; drop them or fill them with a value first.")
    is_sequence = hasattr(values, "__len__") and not isinstance(values, (str, bytes, Mapping, AbstractSet))
    array = as_array(values, name) if is_sequence else np.asarray(None)
    if not array.ndim:
        remedy = f" Pass the column itself, as in frame[{values!r}]." if isinstance(values, str) else _of_table(values)
        raise LtrTypeError(f"{name} must be an array or a list, got {_kind(values)}.{remedy}")
    if array.ndim != 1:
        remedy = OF_LISTS if isinstance(values, (list, tuple)) else _of_table(values) or OF_COLUMNS
        raise LtrValueError(f"{name} must be one-dimensional, got shape {array.shape}.{remedy}")
    if n_rows is not None and len(array) != n_rows:
        raise LtrValueError(
            f"{name} must have one entry per row like y_true: got {len(array)} entries for {n_rows} rows."
        )
    return array


def _of_table(values: Any) -> str:
    """Return the remedy if rows were passed as a table, or judgments as a dict of dicts."""
    if not has_named_columns(values):
        return ""
    is_nested = isinstance(values, Mapping) and any(isinstance(one, Mapping) for one in values.values())
    return OF_JUDGMENTS if is_nested else OF_TABLES


def as_array(values: Any, name: str) -> AnyArray:
    """Return the values as an array, without a copy if they are one already."""
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        raise LtrTypeError(f"{name} must be one-dimensional, got entries of different lengths.{OF_LISTS}") from None
    except (TypeError, RuntimeError) as error:  # of cupy and torch
        raise LtrTypeError(
            f"{name} must be an array that NumPy can read. Its library says: {error} Copy an array of a graphics card, "
            "with a gradient, or of a type that NumPy lacks to one that NumPy has, for example by .get() or "
            ".detach().cpu().float().numpy()."
        ) from error


def as_numbers(values: Any, name: str, n_rows: int | None = None) -> npt.NDArray[np.floating[Any]]:
    """Return a one-dimensional float array: float32 and float64 as they are, everything else as float64."""
    array = as_vector(values, name, n_rows)
    if array.dtype in (np.float32, np.float64):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind in "US":
        array = array.astype(object)  # whose text is named in the error
    if array.dtype.kind not in "biufO":
        raise LtrTypeError(f"{name} must be numbers, got dtype {array.dtype}.")
    if array.dtype.kind in "iuO":
        _refuse_inexact(array, name)
    numbers = array.astype(np.float64)
    is_exact = array.dtype.itemsize <= numbers.itemsize and array.dtype != object
    if not is_exact and (array.dtype != object or any(isinstance(one, (Decimal, Fraction)) for one in array.tolist())):
        refuse_merged(name, numbers, array.__getitem__)
    return numbers


def refuse_merged(
    owner: str,
    numbers: AnyArray,
    exact: Callable[[int], Any],
    query: Any = None,
    place: Callable[[int], str] = "row {}".format,
) -> None:
    """Refuse different numbers of one query that float64 cannot keep apart, so that they would be tied.

    ``exact`` returns the number of a row in another type, or as text (bytes), or None where float64 surely is exact.
    Texts that both are what a program prints of the same float, such as 0.1 and 0.10000000000000001, are one number.
    Without ``query``, a code per row, all rows are of one query.
    """
    ascending = np.sort(numbers)
    if not (ascending[1:] == ascending[:-1]).any():
        return
    order = np.argsort(numbers) if query is None else np.lexsort((numbers, query))
    is_tied = numbers[order][1:] == numbers[order][:-1]
    if query is not None:
        is_tied &= np.diff(query[order]) == 0
    for at in np.flatnonzero(is_tied).tolist():
        rows = sorted(order[at : at + 2].tolist())
        values = list(map(exact, rows))
        if are_merged(numbers[rows[0]], *values):
            rule = cannot_keep_apart(*values)
            raise LtrValueError(f"{owner} {rule} ({' and '.join(map(place, rows))}). {PASS_RANKS}")


def cannot_keep_apart(one: Any, other: Any) -> str:
    """Return the rule that two values break which are one float."""
    one, other = (value.decode() if isinstance(value, bytes) else value for value in (one, other))
    return f"must not have numbers that float64 cannot keep apart, which would be tied: got {one!s} and {other!s}"


def are_merged(number: float, *values: Any) -> bool:
    """Whether two values of one float are different numbers, and not only different spellings of the float."""
    if values[0] == values[1]:
        return False
    if not all(isinstance(value, (bytes, Decimal, float, type(None))) for value in values):
        return True
    try:
        one, other = (exact_number(repr(float(number)) if value is None else value) for value in values)
    except ArithmeticError:  # an exponent beyond all limits
        return True
    return one != other


def exact_number(value: bytes | str | float | Decimal) -> float | Decimal:
    """Return a float, or a decimal if the float is printed with other digits than the value has."""
    number = float(value)
    if isinstance(value, float) or repr(number) == value:
        return number
    exact = Decimal(value.decode() if isinstance(value, bytes) else value)
    return number if Decimal(f"{number:.{len(exact.as_tuple().digits) - 1}e}") == exact else exact


def may_merge(text: bytes) -> bool:
    """Whether numbers in a text have more digits than float64 keeps in any case, or an exponent at its limits."""
    marked = text.translate(_MARK_DIGITS)
    return _MANY_DIGITS in marked or (b"e" in marked and EXTREME_EXPONENT.search(marked) is not None)


def as_ids(values: Any, name: str, n_rows: int | None = None) -> AnyArray:
    """Return one id per row as an array; refuse ids that an array or Python would merge."""
    if isinstance(values, (list, tuple)) and not _are_plain(values):
        ids = np.empty(len(values), dtype=object)  # np.asarray would turn 1 and "1" into one text, and tuples into rows
        ids[:] = list(values)
        values = ids
    ids = as_vector(values, name, n_rows)
    if ids.dtype.kind == "f":
        _refuse_inexact_floats(ids, name)
    return ids.astype(object) if ids.dtype.kind == "T" else ids


def _are_plain(values: Sequence[Any]) -> bool:
    """Whether NumPy keeps all values as they are: text, int64 or floats."""
    types = set(map(type, values))
    if types == {int}:
        return bool(-(2**63) <= min(values) <= max(values) < 2**63)
    return types in ({float}, {str})


def _refuse_inexact_floats(ids: AnyArray, name: str) -> None:
    is_inexact = (np.abs(ids) >= 2.0 ** (np.finfo(ids.dtype).nmant + 1)) & np.isfinite(ids)
    if is_inexact.any():
        row = int(is_inexact.argmax())
        raise LtrValueError(
            f"{name} must not hold {ids.dtype} ids as large as {ids[row]:.0f} at row {row}, because neighbouring ids "
            "are then stored as one number. Keep ids as integers or text."
        )


def finite_numbers(values: Any, name: str, n_rows: int | None = None, remedy: str = "") -> FloatArray:
    """Return values as float64, and require them to be finite."""
    numbers = as_numbers(values, name, n_rows).astype(np.float64)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        raise LtrValueError(f"{name} must be finite: got {numbers[row]:g} at row {row}.{remedy}")
    return numbers


def _is_exact(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) or (isinstance(value, Decimal) and value.is_finite())


def _is_number(value: Any) -> bool:
    return value is not None and not isinstance(value, (str, bytes, np.ndarray)) and hasattr(value, "__float__")


def is_number_text(value: object) -> bool:
    """Whether a value is text, or bytes, that spells a number."""
    if not isinstance(value, (str, bytes)):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in str(value)  # Python reads 1_0


def decimal_hint(text: object) -> str:
    """Return a remedy for a number that is written with commas, or else an empty string."""
    has_commas = re.search(r"\d,\d", str(text))
    return " Write numbers with a point, such as 0.5, and without commas." if has_commas else ""


def _refuse_inexact(array: AnyArray, name: str) -> None:
    """Refuse objects that are not numbers, and integers that float64 would merge with their neighbours."""
    if array.dtype == object:
        values = array.tolist()
        wrong = [row for row, value in enumerate(values) if not _is_number(value)]
        if wrong:  # one bad cell makes a column text: name that cell, and not the numbers above it
            row = next((row for row in wrong if not is_number_text(values[row])), wrong[0])
            raise LtrTypeError(
                f"{name} must be numbers without missing values: got {values[row]!r} at row "
                f"{row}.{decimal_hint(values[row])} Convert the column, or drop the rows."
            )
        array = np.array([value if _is_exact(value) else 0 for value in array.tolist()])
    if not array.size or -LARGEST_EXACT_INTEGER <= array.min() <= array.max() <= LARGEST_EXACT_INTEGER:
        return
    row = next(row for row, value in enumerate(array.tolist()) if abs(value) > LARGEST_EXACT_INTEGER)
    raise LtrValueError(
        f"{name} must not hold integers beyond 2**53, which float64 cannot keep apart: got {array[row]} at row {row}. "
        "Pass their ranks instead."
    )


def as_flags(values: Any, name: str, n_rows: int) -> BoolArray:
    """Return a new boolean array; 0 and 1 are accepted, anything else is not."""
    array = as_vector(values, name, n_rows)
    if array.dtype == np.bool_:
        return array.copy()
    if array.dtype.kind in "iuf":
        bad = ~np.isin(array, (0, 1))
    else:
        bad = np.array(
            [not (isinstance(one, (Real, np.bool_)) and float(one) in (0, 1)) for one in array.tolist()], dtype=np.bool_
        )
    if bad.any():
        row = int(bad.argmax())
        raise LtrTypeError(f"{name} must be True or False for each row: got {array[row]} at row {row}.")
    return array.astype(np.bool_)


def copy_of(values: Any) -> Any:
    """Return a copy of an array, a list or a column of a table, which later changes of the caller's do not reach.

    What can neither be copied nor changed, such as a tuple or a column of Arrow, is returned as it is.
    """
    if isinstance(values, memoryview):
        return np.array(values)
    names = ("copy", "clone", "__copy__")  # of NumPy, lists and pandas; of polars and torch; of array.array
    copy = next((getattr(values, name) for name in names if hasattr(values, name)), None)
    return copy() if callable(copy) else values


def has_named_columns(thing: Any) -> bool:
    """Whether something holds several columns by name: a mapping, or a pandas, polars or Arrow table."""
    return getattr(thing, "ndim", 2) == 2 and any(hasattr(thing, name) for name in ("items", "columns", "column_names"))


def named_columns(table: Any, name: str) -> dict[str, Any]:
    """Return a table's columns by name; names are text, and each name has one column."""
    if not has_named_columns(table):
        raise LtrTypeError(
            f'{name} must map names to columns, for example {{"margin": ...}}, or be a table. Got {_kind(table)}.'
        )
    keys = refuse_repeated_names(table, name)
    columns = (column for _, column in table.items()) if hasattr(table, "items") else map(table.__getitem__, keys)
    return dict(zip(map(str, keys), columns, strict=True))


def column_names(table: Any) -> list[Any]:
    """Return the keys of a table's columns."""
    return list(table.keys() if hasattr(table, "items") else getattr(table, "column_names", None) or table.columns)


def refuse_repeated_names(table: Any, name: str) -> list[Any]:
    """Return the keys of a table's columns, and raise an error if two of them are one text."""
    keys = column_names(table)
    for repeated, n_columns in Counter(map(str, keys)).most_common(1):
        if n_columns > 1:
            raise LtrValueError(
                f"{name} must have one column for each name, which is text: {repeated!r} names {n_columns} columns. "
                "Rename or drop all of them but one."
            )
    return keys


def pandas_index(column: Any) -> Any:
    """Return a pandas object's index, or None."""
    index = getattr(column, "index", None)
    return index if hasattr(index, "equals") else None  # list.index is a method


def refuse_different_indexes(n_rows: int | None = None, /, **columns: Any) -> tuple[str, Any] | None:
    """Raise an error if two pandas objects of one length have different indexes.

    Their rows would be paired by position, against their labels. A column may be a mapping or a list
    of columns. With ``n_rows``, only objects of that length are compared, since the others have an
    entry per query. Return their index, with the name of the first that has it, or None.
    """
    first: dict[int, tuple[str, Any]] = {}
    given = {name: column for name, column in columns.items() if type(column) not in (NoneType, np.ndarray)}
    for name, index in _indexes(given) if given else ():
        n = len(index)
        if n_rows not in (None, n):
            continue
        refuse_unequal_indexes(*first.setdefault(n, (name, index)), name, index)
    return None if n_rows is None else first.get(n_rows)


def refuse_unequal_indexes(name_a: str, index_a: Any, name_b: str, index_b: Any) -> None:
    """Raise an error if two pandas indexes of rows differ."""
    if not index_a.equals(index_b):
        raise LtrValueError(
            f"{name_a} and {name_b} have different pandas indexes, so their rows may not belong together. "
            "Align them (reindex, merge), or pass .to_numpy() if the order of rows is what counts."
        )


def _indexes(columns: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the pandas indexes of columns, or of the columns in a mapping or a list, with their names."""
    for name, column in columns.items():
        index = pandas_index(column)
        if index is not None:
            yield name, index
        elif isinstance(column, Mapping):
            yield from _indexes({f"{name}[{key!r}]": one for key, one in column.items()})
        elif isinstance(column, (list, tuple)) and len(column) and pandas_index(column[0]) is not None:
            yield from _indexes({f"{name}[{position}]": one for position, one in enumerate(column)})


def take_rows(table: Any, rows: IntArray) -> Any:
    """Return the given rows of an array, a sparse matrix, a pandas, polars or Arrow object, or a list (as an array)."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "take") and hasattr(table, "schema" if hasattr(table, "columns") else "type"):
        return table.take(rows)  # Arrow
    if hasattr(table, "tocsr"):
        return table.tocsr()[rows]
    return np.asarray(table)[rows] if isinstance(table, (list, tuple)) else table[rows]


def require_option(name: str, value: object, allowed: Sequence[W]) -> W:
    """Return ``value`` if it is one of the allowed words, or raise an error that lists them."""
    if not isinstance(value, str) or value not in allowed:
        hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
        raise LtrValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.{hint}")
    return cast("W", value)


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def same_arrays(one: AnyArray | None, other: AnyArray | None) -> bool:
    """Whether two arrays are equal; None is equal only to None."""
    return other is None if one is None else other is not None and np.array_equal(one, other)


def require_count(name: str, value: Any, at_least: int = 1, note: str = "") -> int:
    """Return a whole number of at least ``at_least``, or raise an error.

    ``note`` follows the rule in the message.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < at_least:
        raise LtrValueError(f"{name} must be a whole number of at least {at_least}{note}. Got {value!r}.")
    return int(value)


def require_fraction(name: str, value: Any, example: float) -> float:
    """Return a number between 0 and 1, both excluded, or raise an error with an example."""
    if not _is_real(value) or not 0 < value < 1:
        raise LtrValueError(f"{name} must be a number between 0 and 1, such as {example:g}. Got {value!r}.")
    return float(value)


def require_min_delta(value: Any) -> float:
    """Return the smallest improvement that counts for early stopping, or raise an error."""
    if not _is_real(value) or not 0 <= value < np.inf:
        raise LtrValueError(f"min_delta must be a finite number of at least 0. Got {value!r}.")
    return float(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def require_confidence(value: Any) -> float:
    """Return a confidence level, a number between 0 and 1, or raise an error."""
    return require_fraction("confidence", value, 0.95)
