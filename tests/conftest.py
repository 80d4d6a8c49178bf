"""Where the real data are, and how the tests that want them are skipped."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import profiles  # noqa: F401  (chooses how Hypothesis draws)
import pytest

import ltr_metrics as ltr

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


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType], list[weakref.ref[ltr.Queries]]]:
    """Count how often an adapter lays labels out: weak references to the Queries that it makes from now on."""

    def watch(adapter: ModuleType) -> list[weakref.ref[ltr.Queries]]:
        made: list[weakref.ref[ltr.Queries]] = []
        plain = adapter.Queries

        def counted(*args: Any, **options: Any) -> ltr.Queries:
            queries = plain(*args, **options)
            made.append(weakref.ref(queries))
            return queries

        monkeypatch.setattr(adapter, "Queries", counted)
        return made

    return watch
