"""The published experiment on MQ2008, the command that reproduces it, and the measure of speed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.clock import Pace
from benchmarks.figures import Missing
from benchmarks.interleaving import speed
from benchmarks.interleaving.published import METHODS, USERS, Fold, cell, folds, outcomes
from ltr_metrics.interleaving import Outcome

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def mq2008(data: Path) -> list[Fold]:
    return folds(data)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("method", METHODS)
def test_the_published_errors_are_reproduced(user: str, method: str, mq2008: list[Fold]) -> None:
    found: list[Outcome] = list(outcomes(mq2008, user, method, n_runs=25, impressions=10_000))
    assert len(found) == 125
    of_user = cell(user, method, found)
    assert 0.001 < of_user.standard_error < 0.008
    assert of_user.agrees, of_user


def test_the_command(data: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.interleaving", "--runs", "2", "--impressions", "50", "--no-speed"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LTR_METRICS_DATA": str(data)},
    )
    assert "2 runs of 50 impressions" in done.stdout
    assert done.stdout.count("Team Draft") == done.stdout.count("PPM") == 3


def test_the_speed_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PACE": Pace(0, 2), "OURS": 50, "N_QUERIES": 2, "DOCUMENTS": (5, 20)}.items():
        monkeypatch.setattr(speed, name, value)
    monkeypatch.setitem(sys.modules, "interleaving", None)
    missing, *found = speed.speeds(1)
    assert isinstance(missing, Missing)
    assert [one.ours > 0 for one in found if isinstance(one, speed.Speed)] == [True] * 8
