"""Loads the compiled core, for the newest kind of processor that this one is."""

from __future__ import annotations

import ctypes
import sys
import zlib
from pathlib import Path

FOLDER = Path(__file__).parent
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def load() -> ctypes.CDLL:
    """Load the library for this processor, if it is whole and of the sources beside it; all have the same digits."""
    sources = sorted(FOLDER.glob("*.[ch]pp"))  # only a checkout has them
    remedy = f'Compile it: pip install -e "{FOLDER.parents[1]}"' if sources else "Install it again."
    try:
        library = _load(path_of_level(1))
        newest = path_of_level(library.processor_level())
        library = _load(newest) if newest.exists() else library
    except OSError as error:
        raise ImportError(f"The compiled core of ltr_metrics cannot be loaded: {error}. {remedy}") from None
    if sources and zlib.crc32(b"".join(path.read_bytes() for path in sources)) != library.source_crc() % 2**32:
        raise ImportError(f"{FOLDER / 'core.cpp'} or a header has changed since it was compiled. {remedy}")
    return library


def path_of_level(level: int) -> Path:
    """Return the file for one of x86-64's levels; the one for 1 is also that of all other processors."""
    return FOLDER / f"core.v{level}{SUFFIX}"


def level_of(library: ctypes.CDLL) -> int:
    """Return the level of x86-64 that a library is for."""
    return int(Path(library._name).stem[-1])  # noqa: SLF001


def _load(path: Path) -> ctypes.CDLL:
    _refuse_truncated(path)
    return ctypes.CDLL(str(path))


def _refuse_truncated(path: Path) -> None:
    """Raise an error if the end of a Linux library is missing: reading it would kill the process with SIGBUS."""
    with path.open("rb") as file:
        header = file.read(64)
    if header[:4] != b"\x7fELF":
        return  # other systems look themselves
    offset, size, n = (int.from_bytes(header[at : at + width], "little") for at, width in ((40, 8), (58, 2), (60, 2)))
    if path.stat().st_size < offset + n * size:  # the table of sections is at the end
        raise OSError(f"{path} is cut off: it has {path.stat().st_size:,} of {offset + n * size:,} bytes")
