"""``.npz`` files with named columns, and files with one score per row (``.npy`` or text)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, Any

import numpy as np

from ltr_metrics._engine.checks import LARGEST_EXACT_INTEGER, AnyArray, FloatArray, as_numbers, whole_number
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.io.compressed import blocks_of_lines, fault_of, open_bytes, without_compression

KINDS_OF_COLUMNS = "biufSUmM"
_INTEGER = re.compile(rb"[+-]?\d+")


def read_columns(file: IO[bytes], path: Path) -> dict[str, AnyArray]:
    """Return the arrays of an ``.npz`` file by name; each must be a column.

    Pickled objects are not read.

    Raises
    ------
    LtrValueError
        If an array is not a column, or lengths differ.
    Exception
        Of any kind, if the file is damaged, encrypted or not an ``.npz`` file.
    """
    loaded = np.load(file, allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise ValueError("it holds one array without a name (.npy); numpy.savez writes arrays by name")
    with loaded:
        columns = {name: _column(loaded[name], f"{path}: the array {name!r}") for name in loaded.files}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise LtrValueError(
            f"{path}: all arrays must have the same length, with one entry a row: got "
            f"{', '.join(f'{length} in {name}' for name, length in lengths.items())}."
        )
    return columns


def read_scores(path: str | os.PathLike[str]) -> FloatArray:
    r"""Read a file of scores, one per row of the data and in the same order.

    Parameters
    ----------
    path : path
        ``.npy``, or text without a header (``.txt``, ``.csv``) with one number per line. The file
        may be compressed (``.gz``, ``.xz``, ``.bz2``).

    Returns
    -------
    ndarray of float64 of shape (n_rows,)
        May include infinite scores and NaN, which `ltr_metrics.evaluate` checks.

    Raises
    ------
    LtrValueError, LtrTypeError
        If the file is damaged, empty or of another form; with file and line for text.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    read_letor : Read the data.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.io import read_scores
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> _ = path.write_text("0.25\n-1e-3\n")
    >>> read_scores(path)
    array([ 0.25 , -0.001])
    """
    path = Path(path)
    kind = without_compression(path).suffix.lower()
    if kind not in (".npy", ".txt", ".csv"):
        raise LtrValueError(f"{path}: a file of scores must end in .npy, .txt or .csv (or these with .gz, .xz, .bz2).")
    scores = _read_npy(path) if kind == ".npy" else _read_numbers(path)
    if not len(scores):
        raise LtrValueError(f"{path} has no score.")
    return scores


def _column(array: Any, name: str) -> AnyArray:
    if not isinstance(array, np.ndarray):  # NumPy returns bytes if there is no array header
        raise LtrValueError(f"{name} is damaged, or not a NumPy array.")
    if array.ndim != 1:
        raise LtrValueError(
            f"{name} must be a column, with one dimension. Got shape {array.shape}. Save the columns one by one."
        )
    if array.dtype.kind not in KINDS_OF_COLUMNS:
        raise LtrTypeError(f"{name} must hold numbers, text or times. Got dtype {array.dtype}.")
    column: AnyArray = array.astype(array.dtype.newbyteorder("="), copy=False)
    return column


def _read_npy(path: Path) -> FloatArray:
    try:
        with open_bytes(path) as file:
            array = np.load(file, allow_pickle=False)
    except FileNotFoundError:
        raise
    except Exception as error:  # NumPy raises many kinds for damaged files
        raise LtrValueError(f"{path} cannot be read as npy: {fault_of(error)}.") from error
    if not isinstance(array, np.ndarray):
        raise LtrValueError(f"{path} cannot be read as npy: it holds named arrays, as .npz files do.")
    return as_numbers(array, f"The scores of {path}").astype(np.float64)


def _read_numbers(path: Path) -> FloatArray:
    parts: list[FloatArray] = []
    blank = 0  # number of the first blank line: scores after it would belong to other rows
    for lines, lines_before in blocks_of_lines(path):
        try:
            part = None if blank else np.array(list(map(float, lines)))
        except ValueError:
            part = None
        if part is None or b"_" in b"".join(lines) or (np.abs(part) >= LARGEST_EXACT_INTEGER).any():
            part, blank = _parse_each(lines, lines_before, path, blank)
        parts.append(part)
    return np.concatenate(parts) if parts else np.zeros(0)


def _is_inexact(digits: bytes) -> bool:
    magnitude = whole_number(digits.lstrip(b"+-0") or b"0")
    return magnitude is None or magnitude > LARGEST_EXACT_INTEGER


def _parse_each(lines: list[bytes], lines_before: int, path: Path, blank: int) -> tuple[FloatArray, int]:
    """Parse each line, and name a wrong one; blank lines at the end are ignored."""
    scores = []
    for at, line in enumerate(lines, start=lines_before + 1):
        word = line.strip()
        if not word:
            blank = blank or at
            continue
        if blank:
            raise LtrValueError(f"{path}:{blank}: every line must have a score. This one is blank, and others follow.")
        try:
            scores.append(float("" if b"_" in word else word))
        except ValueError:
            remedy = "Drop the header." if at == 1 else "Keep the scores alone, one a line."
            raise LtrValueError(
                f"{path}:{at}: a line must hold one number. Got {word[:40].decode(errors='replace')!r}. {remedy}"
            ) from None
        if _INTEGER.fullmatch(word) and _is_inexact(word):
            raise LtrValueError(
                f"{path}:{at}: scores must not be integers beyond 2**53, which float64 cannot keep apart. "
                f"Got {word[:40].decode()}. Pass their ranks instead."
            )
    return np.array(scores, dtype=np.float64), blank
