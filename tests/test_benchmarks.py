"""benchmarks/: every measure runs, peers compute what ours compute, what is missing is named. No time is asserted."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import guard, publish, shapes, table
from benchmarks.__main__ import run
from benchmarks.clock import Pace
from benchmarks.effort import Effort
from benchmarks.figures import About, Missing, Target, faster
from benchmarks.measures import MEASURES, training
from benchmarks.peers import PEERS, load
from benchmarks.targets import TARGETS

pytestmark = pytest.mark.integration

TINY = Effort(
    name="tiny",
    pace=Pace(seconds=0, at_least=2),
    slow=Pace(seconds=0, at_least=2),
    queries=20,
    many_queries=30,
    rows=(1e3, 2e3),
    documents_of_one_query=1000,
    tiny_queries=100,
    compared_queries=(30,),
    training_queries=60,
    threads=(1, 10**6),
    training_threads=(1, 10**6),
)
SLOW = {"ranx"}  # which numba compiles for half a minute


def test_the_mslr_shape() -> None:
    data = shapes.mslr(2_000)
    assert data.sizes.sum() == data.n_rows == len(data.scores) == len(data.qid) == 240_046
    np.testing.assert_allclose(np.bincount(data.y) / data.n_rows, shapes.GRADE_SHARES, atol=0.003)
    assert len(np.unique(data.scores)) == data.n_rows
    assert len(np.unique(shapes.with_leaves(data).scores)) == 31
    assert len(set(zip(data.qid, data.documents, strict=True))) == data.n_rows


def test_ratios_are_medians_of_the_rounds() -> None:
    times = {"ours": np.array([1.0, 2, 4]), "theirs": np.array([6.0, 14, 20])}
    row = faster(About("x", "x", "x", 1, 1), times, "ours", "theirs", Target("x", "least", 6.1))
    assert (row.ours.low, row.ours.median, row.ours.high, row.ours.n) == (1.5, 2, 3, 3)
    assert (row.result.low, row.result.median, row.result.high, row.met) == (5.5, 6, 6.5, False)


@pytest.mark.parametrize("name", sorted(PEERS.keys() - SLOW))
def test_peers_compute_what_ours_compute(name: str) -> None:
    peer = load(name)
    if isinstance(peer, Missing):
        pytest.skip(f"{peer.what} is {peer.why}")
    data = shapes.binary(shapes.mslr(30)) if peer.binary else shapes.mslr(30)
    assert peer.disagreement(data, peer.run(peer.prepare(data, 1))) is None
    other = data.replace(scores=-data.scores)
    assert "computes something else" in str(peer.disagreement(data, peer.run(peer.prepare(other, 1))))


def test_what_is_missing_or_wrong_is_named_and_not_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    monkeypatch.delitem(sys.modules, "benchmarks.peers.pytrec_eval", raising=False)
    monkeypatch.setattr(type(load("scikit-learn")), "means", lambda self, found: [2.0])
    monkeypatch.setenv("LTR_METRICS_DATA", str(tmp_path))
    measured = run(TINY, ["pytrec_eval", "scikit-learn", "MQ2008"])
    assert measured["rows"] == []
    text = table.as_text(measured)
    for part in ("pip install pytrec-eval-terrier", "ndcg@10 is 2.0", "LTR_METRICS_DATA"):
        assert part in text


@pytest.mark.parametrize("kind", [pytest.param("all", marks=pytest.mark.slow), "quick"])
def test_everything_is_measured(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(training, "ROUNDS", 3)
    left_out = SLOW | {"MQ2008"} | {name for name in PEERS.keys() - SLOW if isinstance(load(name), Missing)}
    names = [name for name in MEASURES if name not in left_out] if kind == "all" else ["short", "memory", "compare"]
    measured = json.loads(publish.as_json(run(TINY, names)))
    rows = table.rows_of(measured)
    assert {one.measure for one in rows} == set(names)
    assert all(math.isfinite(one.result.median) for one in rows)
    for rendered in (table.as_text(measured), table.as_markdown(measured), table.as_short_markdown(measured)):
        assert rendered
    if kind == "all":
        assert {one.target.name for one in rows if one.target} == set(TARGETS) - left_out
        hosts = {"LightGBM", "XGBoost", "lgb.train", "xgb.train"}  # no machine has a million cores
        assert {what for what, _ in measured["missing"]} == {f"{host} with 1000000 threads" for host in hosts}
        pytest.importorskip("benchmarks.picture", reason="matplotlib is not installed").draw(
            measured, tmp_path / "a.png"
        )
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("page", publish.pages(), ids=lambda page: page.name)
def test_pages_have_what_the_committed_results_give(page: Path) -> None:
    results = json.loads(publish.RESULTS.read_text(encoding="utf-8"))
    assert publish.block_of(page, results) in page.read_text(encoding="utf-8"), "python -m benchmarks --json-to-readme"
    assert {one["measure"] for one in results["rows"]} <= set(MEASURES)
    assert publish.with_block(page.read_text(encoding="utf-8"), publish.block_of(page, results)) == page.read_text(
        encoding="utf-8"
    )


def test_the_guard_names_the_limit_that_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert guard.exceeded({name: limit.most for name, limit in guard.LIMITS.items()}) == []
    for name, limit in guard.LIMITS.items():
        [problem] = guard.exceeded(dict.fromkeys(guard.LIMITS, 0.0) | {name: math.nan})
        assert problem.startswith(name)
        assert f"at most {limit.most:g}" in problem
    monkeypatch.setattr(guard, "PACE", Pace(seconds=0, at_least=1))
    assert guard.measure().keys() == guard.LIMITS.keys()
    monkeypatch.setattr(guard, "measure", lambda: dict.fromkeys(guard.LIMITS, 1e6))
    with pytest.raises(SystemExit, match="1"):
        guard.main()
