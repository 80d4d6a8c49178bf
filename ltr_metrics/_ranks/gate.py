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
Crossing = tuple[
    AnyArray | None, np.dtype[Any], tuple[int, ...]
]  # an array, and the kind and the shape that it must have

core = load()
_NUMBER, _POINTER = ctypes.c_int64, ctypes.c_void_p


# -- arrays -----------------------------------------------------------------------------------------------------------


def _as_read(**arrays: Crossing) -> list[Any]:
    """Return arrays as the core reads them: of a kind of numbers and a shape, contiguous and aligned; None stays."""
    read: list[Any] = []
    for name, (array, kind, shape) in arrays.items():
        if array is not None:
            if array.dtype != kind:
                array = array.astype(kind, casting="same_kind")
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned):
                array = array.copy()
            if array.shape != shape:
                raise LtrValueError(f"{name} must have the shape {shape}. Got the shape {array.shape}.")
        read.append(array)
    return read


def _refuse_as_written(**arrays: Crossing) -> None:
    """Raise an error if the core cannot write to an array; None is no array."""
    for name, (array, kind, shape) in arrays.items():
        if array is not None and (array.dtype != kind or array.shape != shape or not array.flags.carray):
            raise LtrValueError(
                f"{name} must be a contiguous array of {kind} that can be written to, of the shape {shape}. Got "
                f"one of {array.dtype}, of the shape {array.shape}."
            )


def _addresses(*arrays: AnyArray | None) -> list[int]:
    """Return where arrays begin; 0 stands for None. Whoever calls keeps the arrays."""
    found = []
    for array in arrays:
        if array is None:
            found.append(0)
        elif array.flags.writeable:  # this is three times as fast as what NumPy has for it
            found.append(ctypes.addressof(_NOTHING.from_buffer(array)))
        else:
            found.append(array.ctypes.data)
    return found


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
        self.sizes = sizes
        numbers: dict[str, int] = {}
        given: dict[str, Crossing] = {}
        for name, field in fields.items():
            if not isinstance(field, tuple):
                numbers[name] = field
            elif field[0] is not None:
                given[name] = field[0], self.KINDS[name], field[1]
        read = _as_read(**given)
        self.arrays: dict[str, AnyArray] = dict(zip(given, read, strict=True))
        super().__init__(**numbers, **dict(zip(given, _addresses(*read), strict=True)))

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
        self.sizes = structs[0].sizes if structs else None
        self.n_values, self.need_scores = 0, False
        for struct in structs:
            if struct.sizes is not self.sizes:
                raise LtrValueError("All sums of a call must be of the same documents.")
            self.n_values = max(self.n_values, 1 + max(struct.arrays["out_row"].tolist()))
            self.need_scores |= "by_grade" not in struct.arrays

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
    if scores is None and sums.need_scores:
        raise LtrValueError("Without scores, each sum must have a value for each grade.")
    (scores,) = _as_read(scores=(scores, FLOATS, documents.arrays["grade"].shape))
    _refuse_as_written(out=(out, FLOATS, shape), chance=(chance, FLOATS, shape))
    at_scores, at_out, at_chance = _addresses(scores, out, chance)
    return int(core.evaluate(documents, ties, at_scores, sums.array, len(sums.structs), at_out, at_chance, n_threads))


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
    assert scores is None or is_tied_with_next is not None  # without scores, nothing is tied
    (scores,) = _as_read(scores=(scores, FLOATS, documents.arrays["grade"].shape))
    _refuse_as_written(
        rows=(rows, INTEGERS, shape),
        grades=(grades, GRADES, shape),
        is_tied_with_next=(is_tied_with_next, FLAGS, shape),
    )
    return int(core.rank(documents, ties, *_addresses(scores, rows, grades, is_tied_with_next), n_threads))


def means(values: FloatArray, weight: FloatArray | None, sums: FloatArray | None, n_threads: int) -> list[float]:
    """Return the weighted mean of each row of a matrix; write what each consists of to ``sums`` if there are some."""
    n_rows, n_columns = values.shape
    mean = np.empty(n_rows)
    values, weight = _as_read(values=(values, FLOATS, (n_rows, n_columns)), weight=(weight, FLOATS, (n_columns,)))
    _refuse_as_written(sums=(sums, FLOATS, (n_rows, SUMS_OF_MEAN)))
    at_values, at_weight, at_mean, at_sums = _addresses(values, weight, mean, sums)
    failure = core.means(at_values, at_weight, n_rows, n_columns, at_mean, at_sums, n_threads)
    if failure != SUCCESS:
        raise MemoryError
    return list(mean.tolist())


def accumulate(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sums of each query's values so far; the values are query after query."""
    n = len(starts)
    sums = np.empty(len(values))
    values, ends = _as_read(
        values=(values, FLOATS, (len(values),)), starts=(np.append(starts, len(values)), INTEGERS, (n + 1,))
    )
    at_values, at_ends, at_sums = _addresses(values, ends, sums)
    core.accumulate(at_values, at_ends, n, at_sums)
    return sums
