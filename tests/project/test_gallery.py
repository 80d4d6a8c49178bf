"""Each script of the gallery runs without a warning and draws a picture."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SCRIPTS = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("*/plot_*.py"))


@pytest.fixture
def no_windows() -> Iterator[None]:
    """Draw without a screen, and close the figures afterwards."""
    before = mpl.get_backend()
    mpl.use("agg")
    yield
    plt.close("all")
    mpl.use(before)


@pytest.mark.usefixtures("no_windows")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_and_draws(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # what plt.show() says here
        runpy.run_path(str(script))
    assert plt.get_fignums()
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    assert not list(tmp_path.iterdir()), "a script of the gallery writes no files"
