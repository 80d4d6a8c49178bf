"""Standard streams that are closed or full, so that they change neither a file nor the exit status."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare_streams() -> None:
    """Make standard streams safe to use that were closed or unbuffered when the process started."""
    _open_closed_streams()
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # Without a buffer (python -u), Python drops what a full disk has left of a write, without an error.
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = os.fdopen(sys.stdout.fileno(), "w", encoding=encoding, errors=errors, closefd=False)


def _open_closed_streams() -> None:
    """Open the null device in place of each standard stream that was closed when the process started.

    Otherwise a file that is opened later would get the stream's number, and messages of libraries would land in it.
    Standard output cannot be written to then, because the result would be lost.
    Messages to standard error are dropped.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # it gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def drop_unwritten() -> None:
    """Drop what the standard streams could not write, or Python would fail to flush it at exit, with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):  # an object that a program has put in its place has no number
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def require_standard_output() -> os.stat_result | None:
    """Refuse, before the work is done, a standard output that cannot take the result; return what it is, if it is known."""
    try:
        number = sys.stdout.fileno()
    except OSError:  # a program has put an object of its own in its place
        return None
    try:
        os.write(number, b"")  # writes nothing, and fails on a stream that is closed or only for reading
    except BrokenPipeError:
        pass  # nobody reads it, which is no fault
    except OSError as error:
        raise lost_output(error) from error
    return os.fstat(number)


def lost_output(error: OSError) -> OSError:
    """Return the error for a result that standard output does not take."""
    return OSError(
        f"standard output cannot be written to, so the result is lost: {error.strerror}. Name a file for it: --output."
    )
