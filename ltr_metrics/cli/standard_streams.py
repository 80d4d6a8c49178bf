"""Standard streams that are closed or full must change neither a file nor the exit status."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare_streams() -> None:
    """Make standard streams safe to use that were closed or unbuffered when the process started."""
    _open_closed_streams()
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # Without a buffer (python -u), Python ignores the bytes that a full disk did not take.
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = os.fdopen(sys.stdout.fileno(), "w", encoding=encoding, errors=errors, closefd=False)


def _open_closed_streams() -> None:
    """Open the null device in place of each standard stream that was closed at the start.

    Otherwise a file that is opened later would get the number of the stream, and messages of
    libraries would be written into it.
    Writing to standard output then fails, because the result would be lost.
    Messages to standard error are dropped.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The file gets the lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def drop_unwritten() -> None:
    """Drop what the standard streams could not write; otherwise Python exits with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):  # a replacement by a program has no number
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def require_standard_output() -> os.stat_result | None:
    """Refuse a standard output that cannot take the result; return its status, None if unknown."""
    try:
        number = sys.stdout.fileno()
    except OSError:  # a program has replaced it with an object of its own
        return None
    try:
        os.write(number, b"")  # writes nothing, and fails on a stream that is closed or read-only
    except BrokenPipeError:
        pass  # the reader has gone, which is not an error
    except OSError as error:
        raise lost_output(error) from error
    return os.fstat(number)


def lost_output(error: OSError) -> OSError:
    """Return the error for a result that standard output does not take."""
    return OSError(
        f"standard output cannot be written to, so the result is lost: {error.strerror}. "
        "Name a file for it with --output."
    )
