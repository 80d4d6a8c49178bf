"""Which tests need POSIX. They skip on Windows and say why."""

from __future__ import annotations

import os

import pytest

IS_WINDOWS = os.name == "nt"


def needs_posix(what: str) -> pytest.MarkDecorator:
    """Skip a test on Windows, which lacks what it uses."""
    return pytest.mark.skipif(IS_WINDOWS, reason=f"Windows has no {what}")
