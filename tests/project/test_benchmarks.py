"""benchmarks/: every measure runs, peers compute what ours compute, what is missing is named. No time is asserted."""

from __future__ import annotations

import json
import math
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import guard, measures, results, shapes
from benchmarks.__main__ import run
from benchmarks.clock import Pace
from benchmarks.measures import LIMIT, MEASURES, PEER, Effort
from benchmarks.peers import PEERS, DifferentNumbersError

pytestmark = pytest.mark.integration

PACE = Pace(seconds=0, at_least=2)
TINY = Effort("tiny", PACE, PACE, 20, 30, (1e3, 2e3), 1000, 100, (30,), 60, (1, 10**6), (1, 10**6))  # too many cores
SLOW = {"ranx"}  # which numba compiles for half a minute


@pytest.mark.parametrize(("figure", "expected"), [(PEER, (5.5, 6, 6.5)), (LIMIT, (0.155, 1 / 6, 0.183))])
def test_ratios_are_medians_of_the_rounds(figure: str, expected: tuple[float, ...]) -> None:
    times = np.array([1.0, 2, 4]), np.array([6.0, 14, 20])
    row = measures.row("x", "x", "x", shapes.mslr(1), *times, figure)
    assert row.ours == (1.5, 2, 3)
    assert row.value == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("name", sorted(PEERS.keys() - SLOW))
def test_peers_compute_what_ours_compute(name: str) -> None:
    peer = PEERS[name]
    data = shapes.binary(shapes.mslr(30)) if peer.needs_binary else shapes.mslr(30)
    try:
        run_peer, means = peer.prepare(data, 1)
    except ImportError as error:
        pytest.skip(str(error))
    peer.check(data, means(run_peer()))
    run_peer, means = peer.prepare(replace(data, scores=-data.scores), 1)
    with pytest.raises(DifferentNumbersError):
        peer.check(data, means(run_peer()))


def test_what_is_missing_or_wrong_is_named_and_not_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    monkeypatch.setitem(PEERS, "scikit-learn", PEERS["scikit-learn"]._replace(metrics=("ndcg@5",)))
    monkeypatch.setenv("LTR_METRICS_DATA", str(tmp_path))
    measured = run(TINY, ["pytrec_eval", "scikit-learn", "MQ2008"])
    assert measured["rows"] == []
    assert [what for what, _ in measured["missing"]] == ["pytrec_eval", "scikit-learn", "MQ2008"]
    text = results.as_tables(measured)
    assert all(part in text for part in ("Missing: pytrec_eval", "ndcg@5 is", "LTR_METRICS_DATA"))


@pytest.mark.parametrize("kind", [pytest.param("all", marks=pytest.mark.slow), "quick"])
def test_everything_is_measured(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "ROUNDS", 3)
    names = [name for name in MEASURES if name not in {*SLOW, "MQ2008"}] if kind == "all" else ["memory", "compare"]
    measured = json.loads(results.as_json(run(TINY, names)))
    missing = {what for what, _ in measured["missing"]}
    assert {row["measure"] for row in measured["rows"]} == set(names) - missing
    assert all(math.isfinite(value) for row in measured["rows"] for value in row["value"])
    assert {row["threads"] for row in measured["rows"]} <= {1, None}  # no machine has a million cores
    table = results.as_tables(measured)
    assert all(
        results.value_of(results.Row(**row)) in table for row in measured["rows"] if row["figure"] != results.EXTREMES
    )


@pytest.mark.parametrize("page", results.PAGES, ids=lambda page: page.name)
def test_pages_have_what_the_committed_results_give(page: Path) -> None:
    committed = json.loads(results.RESULTS.read_text(encoding="utf-8"))
    assert results.PAGES[page](committed) in page.read_text(encoding="utf-8"), "python -m benchmarks --json-to-readme"
    assert results.with_block(page, committed) == page.read_text(encoding="utf-8")
    assert {row["measure"] for row in committed["rows"]} == set(MEASURES)


def test_the_guard_fails_if_a_limit_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PACE", PACE)
    memory = guard.measure()[-1]  # does not depend on time, unlike the others
    limits = [6.0, 22.0, memory]
    monkeypatch.setattr(guard, "LIMITS", dict(zip(guard.LIMITS, limits, strict=True)))
    for measured, exceeds in ((limits, False), ([6.01, 22, 1], True), ([6, math.nan, 1], True), ([6, 22, 1e6], True)):
        monkeypatch.setattr(guard, "measure", lambda measured=measured: measured)
        with pytest.raises(SystemExit, match="shows where") if exceeds else nullcontext():
            guard.main()
    assert 10 < memory < 32
