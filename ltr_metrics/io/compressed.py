"""Files that may be compressed, told by their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

_OPEN: dict[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}

DAMAGED = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error)  # what reading a damaged or cut-off file raises


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed."""
    file: IO[bytes] = _OPEN.get(path.suffix.lower(), open)(path, "rb")
    return file


def without_compression(path: Path) -> Path:
    """Return the name that the file has when decompressed."""
    return path.with_suffix("") if path.suffix.lower() in _OPEN else path
