"""The notebooks: what they show is what running them shows, and they hold nothing of the machine that ran them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from systems import as_pages_show

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def execution() -> ModuleType:
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    specification = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def kinds(notebook: Any) -> list[list[set[str]]]:
    """Return what each output is, such as a picture or a table, for each cell."""
    return [[set(output.get("data", {})) for output in cell.get("outputs", [])] for cell in notebook.cells]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_running_it_gives_the_stored_outputs(execution: ModuleType, path: Path) -> None:
    stored = execution.nbformat.read(path, as_version=4)
    now = execution.execute(path)
    for printed, shown in zip(execution.texts(now), execution.texts(stored), strict=True):
        assert [*map(as_pages_show, printed)] == [*map(as_pages_show, shown)], "run: make notebooks"
    assert kinds(now) == kinds(stored)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_whole_and_of_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert len(text) < 300_000
    assert not re.search(r"/(home|root|tmp|work|Users|usr)/|site-packages|127\.0\.0\.1", text)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
