"""Files that are compressed if their names say so."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from ltr_metrics.errors import LtrValueError

_OPEN: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}

STANDARD_INPUT = Path("-")  # a CSV file

BYTES_AT_ONCE = 1 << 22  # the words of a line take several times its bytes as Python objects
DAMAGED = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error)  # raised for a damaged file


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading its decompressed bytes; standard input is read as a whole."""
    if path == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    file: IO[bytes] = _OPEN.get(path.suffix.lower(), open)(path, "rb")
    return file


def blocks_of_lines(path: Path) -> Iterator[tuple[list[bytes], int]]:
    """Yield blocks of a file's lines, each with the number of lines before it.

    A byte order mark of UTF-8, which editors on Windows write, is removed. A damaged file raises
    LtrValueError.
    """
    n_lines = 0
    try:
        with open_bytes(path) as file:
            while lines := file.readlines(BYTES_AT_ONCE):
                if n_lines == 0:
                    lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
                yield lines, n_lines
                n_lines += len(lines)
    except FileNotFoundError:
        raise
    except (*DAMAGED, OSError) as error:
        raise LtrValueError(f"{path} is damaged or cut off after line {n_lines}: {error}.") from None


def fault_of(error: Exception) -> str:
    """Return the message of an error from a damaged file, with the class of an unusual error."""
    return str(error) if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: {error}"


def without_compression(path: Path) -> Path:
    """Return the path without the ending of a compressed file."""
    return path.with_suffix("") if path.suffix.lower() in _OPEN else path
