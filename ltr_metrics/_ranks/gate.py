"""The gate between Python and the compiled core: whatever crosses is made and checked here, and nowhere else.

The core gets addresses and believes them. So each array is brought to the kind of numbers that `interface.hpp`
declares, must have the shape that the core reads, and stays where it is until the core is done. An array that is not
contiguous or not aligned is copied; one that the core writes to is refused instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ltr_metrics._ranks.library import load
from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.errors import LtrValueError

KindOfCore = Literal["gains", "precisions", "cascade", "precisions_by_hits"]
KINDS: tuple[KindOfCore, ...] = get_args(KindOfCore)
SUCCESS, NOT_ENOUGH_MEMORY = -1, -2  # any other number is the row of a score that is NaN
SUMS_OF_MEAN = 5
FLOATS, INTEGERS, GRADES, FLAGS = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)
_NOTHING: Any = ctypes.c_char * 0

core = load()
_NUMBER, _POINTER = ctypes.c_int64, ctypes.c_void_p


# -- arrays -----------------------------------------------------------------------------------------------------------


def as_read(name: str, array: AnyArray, kind: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    """Return an array as the core reads it: of a kind of numbers and a shape, contiguous and aligned."""
    if array.dtype != kind:
        array = array.astype(kind, casting="same_kind")
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        array = array.copy()
    if array.shape != shape:
        raise LtrValueError(f"{name} must have the shape {shape}. Got the shape {array.shape}.")
    return array


def _as_written(name: str, array: AnyArray, kind: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    """Return an array if the core can write to it."""
    if array.dtype != kind or array.shape != shape or not array.flags.carray:
        raise LtrValueError(
            f"{name} must be a contiguous array of {kind} that can be written to, of the shape {shape}. Got "
            f"one of {array.dtype}, of the shape {array.shape}."
        )
    return array


def _address(array: AnyArray | None) -> int:
    """Return where an array begins; 0 stands for None. Whoever calls keeps the array."""
    if array is None:
        return 0
    if array.flags.writeable:  # this is three times as fast as what NumPy has for it
        return ctypes.addressof(_NOTHING.from_buffer(array))
    return int(array.ctypes.data)


# -- structs, which interface.hpp declares ----------------------------------------------------------------------------


class _Name(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("number", _NUMBER), ("kind", ctypes.c_char_p)]


class Name(NamedTuple):
    """The offset of a field, with the kind of the numbers that it points to, or the number of a value of an enum."""

    number: int
    kind: str | None


core.names.argtypes, core.names.restype = [_NUMBER], ctypes.POINTER(_Name)


def _names(of: int) -> dict[str, Name]:
    """Return the fields of a struct, or the values of an enum."""
    names: dict[str, Name] = {}
    for one in core.names(of):
        if one.name is None:
            break
        names[one.name.decode()] = Name(one.number, None if one.kind is None else one.kind.decode())
    return names


class Struct(ctypes.Structure):
    """A struct of the core, whose fields are numbers and pointers of 64 bits. It keeps its arrays.

    Attributes
    ----------
    arrays : dict of str to ndarray
        What the fields point to.
    sizes : ndarray of int of shape (n_queries,)
        Number of documents of each query, for which all arrays are large enough.
    """

    NAMES: frozenset[str]  # of its fields
    KINDS: dict[str, np.dtype[Any]]  # of the numbers that a field points to

    def __init__(self, sizes: IntArray, **fields: int | tuple[AnyArray | None, tuple[int, ...]]) -> None:
        if fields.keys() != self.NAMES:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(sorted(self.NAMES))}.")
        super().__init__()
        self.sizes = sizes
        self.arrays: dict[str, AnyArray] = {}
        for name, field in fields.items():
            if not isinstance(field, tuple):
                setattr(self, name, field)
            elif field[0] is not None:
                array = self.arrays[name] = as_read(name, field[0], self.KINDS[name], field[1])
                setattr(self, name, _address(array))

    @property
    def nbytes(self) -> int:
        """Bytes that its arrays take."""
        return sum(array.nbytes for array in self.arrays.values())


def struct_of(name: str, fields: dict[str, Name]) -> type[Struct]:
    """Return the class of a struct as the core declares it."""
    if [field.number for field in fields.values()] != [8 * i for i in range(len(fields))]:
        raise ImportError(f"The fields of {name} are not numbers and pointers of 64 bits: {fields}.")
    kinds = {field: np.dtype(one.kind) for field, one in fields.items() if one.kind is not None}
    members = {"_fields_": [(field, _NUMBER) for field in fields], "NAMES": frozenset(fields), "KINDS": kinds}
    return type(name, (Struct,), members)


Documents, Declared = struct_of("Documents", _names(0)), struct_of("Declaration", _names(1))
TIES = {name: one.number for name, one in _names(2).items()}
KIND = {kind: _names(3)[kind].number for kind in KINDS}


class Sums:
    """The sums that the core adds up in one call: an array of structs, which keeps the arrays of all of them."""

    def __init__(self, structs: Sequence[Struct]) -> None:
        self.structs = structs
        array_type: Any = Declared * len(structs)
        self.array = array_type(*structs)
        self.n_values = 1 + max((max(struct.arrays["out_row"].tolist()) for struct in structs), default=-1)
        self.need_scores = any("by_grade" not in struct.arrays for struct in structs)
        self.sizes = structs[0].sizes if structs else None
        if any(struct.sizes is not self.sizes for struct in structs):
            raise LtrValueError("All sums of a call must be of the same documents.")

    def __len__(self) -> int:
        return len(self.structs)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(struct.nbytes for struct in self.structs)


# -- calls ------------------------------------------------------------------------------------------------------------

core.evaluate.argtypes = [
    ctypes.POINTER(Documents), _NUMBER, _POINTER, ctypes.POINTER(Declared), _NUMBER, _POINTER, _POINTER, _NUMBER
]  # fmt: skip
core.rank.argtypes = [ctypes.POINTER(Documents), _NUMBER, _POINTER, _POINTER, _POINTER, _POINTER, _NUMBER]
core.means.argtypes = [_POINTER, _POINTER, _NUMBER, _NUMBER, _POINTER, _POINTER, _NUMBER]
core.accumulate.argtypes, core.accumulate.restype = [_POINTER, _POINTER, _NUMBER, _POINTER], None
core.evaluate.restype = core.rank.restype = core.means.restype = _NUMBER


def evaluate(
    documents: Struct,
    ties: int,
    scores: AnyArray | None,
    sums: Sums,
    out: FloatArray,
    chance: FloatArray | None,
    n_threads: int,
) -> int:
    """Write the sums of each query, (values x queries), divided as declared; return `SUCCESS` or a failure."""
    shape = (len(out), len(documents.sizes))
    if sums.sizes is not documents.sizes or sums.n_values > len(out):
        raise LtrValueError(f"These sums are {sums.n_values} values of other documents. Got an array of {shape}.")
    if scores is not None:
        scores = _scores(documents, scores)
    elif sums.need_scores:
        raise LtrValueError("Without scores, each sum must have a value for each grade.")
    _as_written("out", out, FLOATS, shape)
    if chance is not None:
        _as_written("chance", chance, FLOATS, shape)
    return int(
        core.evaluate(
            documents, ties, _address(scores), sums.array, len(sums), _address(out), _address(chance), n_threads
        )
    )


def rank(
    documents: Struct,
    ties: int,
    scores: AnyArray | None,
    rows: IntArray | None,
    grades: AnyArray,
    is_tied_with_next: BoolArray | None,
    n_threads: int,
) -> int:
    """Write the ranked documents, query after query; return `SUCCESS` or a failure."""
    shape = (int(documents.sizes.sum()),)
    _as_written("grades", grades, GRADES, shape)
    if rows is not None:
        _as_written("rows", rows, INTEGERS, shape)
    if scores is not None:  # without them, nothing is tied
        scores = _scores(documents, scores)
        assert is_tied_with_next is not None
        _as_written("is_tied_with_next", is_tied_with_next, FLAGS, shape)
    return int(
        core.rank(
            documents, ties, _address(scores), _address(rows), _address(grades), _address(is_tied_with_next), n_threads
        )
    )


def _scores(documents: Struct, scores: AnyArray) -> AnyArray:
    return as_read("scores", np.asarray(scores), FLOATS, documents.arrays["grade"].shape)


def means(values: FloatArray, weight: FloatArray | None, sums: FloatArray | None, n_threads: int) -> list[float]:
    """Return the weighted mean of each row of a matrix; write what each consists of to ``sums`` if there are some."""
    n_rows, n_columns = values.shape
    values, mean = as_read("values", values, FLOATS, (n_rows, n_columns)), np.empty(n_rows)
    if weight is not None:
        weight = as_read("weight", weight, FLOATS, (n_columns,))
    if sums is not None:
        _as_written("sums", sums, FLOATS, (n_rows, SUMS_OF_MEAN))
    failure = core.means(
        _address(values), _address(weight), n_rows, n_columns, _address(mean), _address(sums), n_threads
    )
    if failure != SUCCESS:
        raise MemoryError
    return list(mean.tolist())


def accumulate(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sums of each query's values so far; the values are query after query."""
    n = len(starts)
    ends = as_read("starts", np.append(starts, len(values)), INTEGERS, (n + 1,))
    values, sums = as_read("values", values, FLOATS, (len(values),)), np.empty(len(values))
    core.accumulate(_address(values), _address(ends), n, _address(sums))
    return sums
