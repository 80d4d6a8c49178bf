"""Where the real data are, and how the tests that want them are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("LTR_METRICS_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data: LTR_METRICS_DATA, or ../shared/data."""
    if not DATA.is_dir():
        pytest.skip(f"no real data: {DATA} does not exist; set LTR_METRICS_DATA")
    return DATA


@pytest.fixture(scope="session")
def reference_values(data: Path) -> Path:
    """The folder of outside values, beside the data."""
    folder = data.parent / "reference"
    if not folder.is_dir():
        pytest.skip(f"no outside values: {folder} does not exist")
    return folder
