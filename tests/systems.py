"""What differs between systems and Pythons."""

from __future__ import annotations

import os
import re
import sys

import pytest

IS_WINDOWS = os.name == "nt"


def needs_posix(what: str) -> pytest.MarkDecorator:
    """Skip a test on Windows, which lacks what it uses."""
    return pytest.mark.skipif(IS_WINDOWS, reason=f"Windows has no {what}")


def as_pages_show(printed: str) -> str:
    """Return what an example prints, without its numbers where other versions of hosts train other models.

    The documentation shows the numbers of the hosts that pip finds on the Python of `make weekly`.
    """
    if sys.version_info[:2] == (3, 11):
        return printed
    return re.sub(r"[ \t]*[-+]?\d+(\.\d+)?", " 0", printed)
