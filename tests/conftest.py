"""Where the real data are, and how the tests that want them are skipped."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

import profiles  # noqa: F401  (chooses how Hypothesis draws)
import pytest

import ltr_metrics as ltr
from ltr_metrics._hosts import host_data

ROOT = Path(__file__).parent.parent
collect_ignore_glob = ["conftest.py", "*/conftest.py"]  # two of one name are no modules of doctests
DATA = Path(os.environ.get("LTR_METRICS_DATA", ROOT.parent / "shared" / "data"))


def pytest_configure() -> None:
    """Stop if the installed package is to be tested, and another one is imported."""
    folder = Path(ltr.__file__).parent
    if os.environ.get("LTR_METRICS_INSTALLED") and folder.parent.name != "site-packages":
        raise pytest.UsageError(f"The tests import {folder}, not the installed package. Run: make dist")


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


@pytest.fixture
def cached_queries(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[ltr.Queries]]:
    """Weak references to the Queries that the cache of the host adapters makes from now on."""
    created: list[weakref.ref[ltr.Queries]] = []

    def create(*args: Any, **options: Any) -> ltr.Queries:
        queries = ltr.Queries(*args, **options)
        created.append(weakref.ref(queries))
        return queries

    monkeypatch.setattr(host_data, "Queries", create)
    return created
