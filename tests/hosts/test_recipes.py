"""The guide's recipes for tuners and trackers run where these are installed, and find a mean of the metric."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]  # of the packages and of what they train

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "grid_search.md").read_text("utf-8")
RECIPES = re.findall(r"```text\n(import .*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("package", ["flaml", "optuna", "ray", "wandb"])
def test_the_recipe(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    (recipe,) = (text for text in RECIPES if re.search(rf"^(from|import) {package}\b", text, re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(recipe, names)
    assert 0 < names["best_value"] < 1
    assert names["best_params"]
