"""benchmarks/: the data are what they say, results are rendered, nothing missing is passed over. No
time is asserted.
"""

from __future__ import annotations

import json
import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import guard, publish, shapes, table
from benchmarks.__main__ import run
from benchmarks.bare_sort import WORDS_IN_A_BLOCK, BareSort, blocks
from benchmarks.clock import Pace, side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Figure, Missing, Row, Target, faster, slower
from benchmarks.measures import MEASURES, training
from benchmarks.measures.against_peers import on_real_data
from benchmarks.peers import PEERS, load
from benchmarks.targets import TARGETS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Your system has an old version of glibc"),  # some wheels of XGBoost say so
]

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


# data


def test_the_mslr_shape() -> None:
    data = shapes.mslr(2_000)
    assert len(data.sizes) == 2_000
    assert data.sizes.sum() == data.n_rows == len(data.scores) == len(data.qid) == 240_046
    assert 1 <= data.sizes.min() <= data.sizes.max() <= shapes.LONGEST
    np.testing.assert_allclose(np.bincount(data.y) / data.n_rows, shapes.GRADE_SHARES, atol=0.003)
    assert len(np.unique(data.scores)) == data.n_rows
    np.testing.assert_array_equal(data.scores, shapes.mslr(2_000).scores)


def test_as_many_rows_as_asked_for() -> None:
    assert shapes.mslr_of(1e5).n_rows == pytest.approx(1e5, rel=0.02)


def test_other_shapes() -> None:
    one = shapes.one_query(1000)
    assert one.sizes.tolist() == [1000]
    tiny = shapes.tiny_queries(500)
    assert set(tiny.sizes) == set(range(1, 11))
    plain = shapes.mslr(20)
    tied = shapes.with_leaves(plain)
    assert len(np.unique(tied.scores)) == 31
    assert tied.y is plain.y
    assert set(shapes.binary(plain).y) == {0, 1}
    X = shapes.features(plain)
    correlations = [np.corrcoef(column, plain.y)[0, 1] for column in X.T]
    assert correlations[0] > correlations[-1] > 0


def test_documents_are_unique_within_their_query() -> None:
    data = shapes.mslr(20)
    assert len(set(zip(data.qid, data.documents, strict=True))) == data.n_rows


def test_mq2008(data: Path) -> None:
    mq2008 = shapes.mq2008(data)
    assert len(mq2008.sizes) == 784
    assert mq2008.n_rows == mq2008.sizes.sum() == 15_211


# the limit


def test_the_bare_sort_has_a_word_a_row_in_blocks_of_the_cache() -> None:
    sizes = np.append(shapes.mslr(2_000).sizes, 2 * WORDS_IN_A_BLOCK)
    made = blocks(sizes)
    assert sum(n for n, _ in made) == len(sizes)
    words = [n * width for n, width in made]
    assert sum(words) == pytest.approx(sizes.sum(), rel=0.01)
    assert max(words[:-1]) <= 1.01 * WORDS_IN_A_BLOCK
    assert made[-1] == (1, 2 * WORDS_IN_A_BLOCK)


def test_the_bare_sort_sorts_and_is_refilled() -> None:
    def is_sorted() -> bool:
        return all((words[:, 1:] >= words[:, :-1]).all() for words in sort._copies)

    sort = BareSort(np.full(100, 50))
    sort.refill()
    assert not is_sorted()
    sort.sort()
    assert is_sorted()
    sort.refill()
    assert not is_sorted()


# the clock


@pytest.mark.parametrize("warm", [True, False])
def test_contenders_take_turns_in_alternating_order(warm: bool) -> None:
    calls: list[str] = []
    times = side_by_side(
        {"ours": lambda: calls.append("ours"), "theirs": lambda: calls.append("theirs")},
        Pace(seconds=0, at_least=2, warm=warm),
        {"theirs": lambda: calls.append("before theirs")},
    )
    ours, theirs = ["ours"] * (1 + warm), ["before theirs", "theirs"] * (1 + warm)
    assert calls == [*ours, *theirs, *theirs, *ours, *ours, *theirs]
    assert {name: len(seconds) for name, seconds in times.items()} == {"ours": 2, "theirs": 2}
    assert list(times) == ["ours", "theirs"]


def test_there_are_no_more_rounds_than_asked_for() -> None:
    assert len(side_by_side({"ours": lambda: None}, Pace(seconds=10, at_least=1, at_most=3))["ours"]) == 3


# figures

ABOUT = About("LightGBM", "all five; LightGBM: ndcg", "MSLR shape", 240_046, 1)
TIMES = {"ours": np.array([1.0, 2, 4]), "LightGBM": np.array([6.0, 14, 20])}


def test_figures_are_medians_with_quartiles_and_ratios_are_taken_within_rounds() -> None:
    row = faster(ABOUT, TIMES, "ours", "LightGBM", Target("LightGBM", "least", 6))
    assert (row.ours.low, row.ours.median, row.ours.high, row.ours.n) == (1.5, 2, 3, 3)
    assert (row.result.low, row.result.median, row.result.high) == (5.5, 6, 6.5)
    assert row.met is True
    assert slower(ABOUT, TIMES, "ours", "LightGBM").result.median == 1 / 6


@pytest.mark.parametrize(
    ("at", "value", "met"), [("least", 5.9, True), ("least", 6.1, False), ("most", 6.1, True), ("most", 5.9, False)]
)
def test_targets(at: str, value: float, met: bool) -> None:
    row = faster(ABOUT, TIMES, "ours", "LightGBM", Target("LightGBM", at, value))
    assert row.met is met


def test_nothing_added_is_within_any_limit() -> None:
    assert Target("import", "most", 0.03).met_by(-0.001)


# tables


def row(what: str, value: float, target: str | None, **changed: Any) -> dict[str, Any]:
    judged = None if target is None else vars(TARGETS[target])
    return {
        "measure": "LightGBM",
        "what": what,
        "data": "MSLR shape",
        "rows": 240_046,
        "threads": 1,
        "ours": {"of": "ours", "median": 0.0031, "low": 0.003, "high": 0.0033, "n": 9, "unit": "s"},
        "other": {"of": "LightGBM", "median": 0.0184, "low": 0.018, "high": 0.019, "n": 9, "unit": "s"},
        "result": {"of": "other / ours", "median": value, "low": value - 1, "high": value + 1, "n": 9, "unit": "x"},
        "target": judged,
        "met": None if target is None else TARGETS[target].met_by(value),
    } | changed


@pytest.fixture
def results() -> dict[str, Any]:
    memory = {"of": "ours", "median": 31.25, "low": 31.25, "high": 31.25, "n": 1, "unit": "B/row"}
    return {
        "date": "2024-02-03",
        "effort": "quick",
        "seconds": 1.5,
        "machine": {"cpu": "A CPU", "cores": 2, "simd": ["AVX2"], "system": "Linux x86_64", "python": "3.12.1"},
        "versions": {"ltr_metrics": "0.1.0", "lightgbm": "4.7.0"},
        "missing": [["ranx", "not installed (ranx): pip install ranx"]],
        "rows": [
            row("one thread", 6.25, "LightGBM"),
            row("two threads", 5.5, "LightGBM", threads=2),
            row("the same", 9.75, None, data="MSLR shape, labels 0 and 1"),
            row("memory", 31.25, "memory", ours=memory, other=None, result=memory),
        ],
    }


def test_rows_survive_the_json(results: dict[str, Any]) -> None:
    again = json.loads(publish.as_json(results))
    assert again == results
    assert [Row.from_dict(one).to_dict() for one in again["rows"]] == results["rows"]


def test_the_table_as_text(results: dict[str, Any]) -> None:
    text = table.as_text(results)
    lines = {line.split("  ")[1].strip(): line for line in text.splitlines() if line.startswith("LightGBM")}
    for part in ("240,046", "3.1 ms", "18.4 ms", "other / ours", "6.25x", "5.25x to 7.25x", "at least 6x", " met"):
        assert part in lines["one thread"]
    assert "NOT MET" in lines["two threads"]
    assert "met" not in lines["the same (labels 0 and 1)"].lower()
    assert "31.2 B" in lines["memory"]
    assert "at most 48 B" in lines["memory"]
    assert "2 of 3 rows with a target reach it. Not measured in this run: LightGBM, millions of rows; XGBoost" in text
    assert "Missing: ranx: not installed (ranx): pip install ranx." in text
    assert "medians of a quick run on 2024-02-03. Machine: A CPU, 2 cores, AVX2, Linux x86_64. Versions: Py" in text
    assert "Python 3.12.1, ltr_metrics 0.1.0, lightgbm 4.7.0." in text


def test_the_short_table_has_the_situations_that_were_measured_on_one_thread(results: dict[str, Any]) -> None:
    own = "added to 50 rounds by feval(all five); its own: ndcg, map @1,3,5,10"
    results["rows"] = [
        row(own, 0.5, "training", measure="lgb.train"),
        row("all five; LightGBM: ndcg", 5.5, "LightGBM", threads=2),
        row("the same metrics; LightGBM: ndcg", 9.75, None),
        row("all five; LightGBM: ndcg", 6.25, "LightGBM"),
        row("all five; LightGBM: ndcg", 7.5, "LightGBM, millions of rows", rows=2_439_834),
        row("all five; LightGBM: ndcg", 1.25, None, measure="short", data="queries of 5 documents"),
    ]
    lines = [line for line in table.as_short_markdown(results).splitlines() if line.startswith("| ")][2:]
    assert lines == [
        "| long lists | LightGBM: ndcg | 240,046 | 3.1 ms | 18.4 ms | **6.25x** |",
        "| 50 rounds of training | lgb.train: ndcg, map @1,3,5,10 | 240,046 | 3.1 ms | 18.4 ms | **0.5x** |",
    ]


def test_the_short_table_has_at_most_eight_rows() -> None:
    assert len(table.IN_THE_README) <= 8


def test_markdown_tables_are_whole(results: dict[str, Any]) -> None:
    for rendered in (table.as_markdown(results), table.as_short_markdown(results)):
        lines = [line for line in rendered.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (2.5, "s", "2.5 s"),
        (0.01234, "s", "12.3 ms"),
        (0.00001234, "s", "12.3 us"),
        (-0.002, "s", "-2 ms"),
        (1234.5, "x", "1,234x"),
        (2.34e-8, "s/row", "23.4 ns"),
    ],
)
def test_units(value: float, unit: str, expected: str) -> None:
    assert table.shown(Figure("ours", value, value, value, 1, unit)) == expected


def test_the_picture(results: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from benchmarks.picture import draw

    draw(results, tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


# what is published


@pytest.mark.parametrize("page", publish.pages(), ids=lambda page: page.name)
def test_pages_have_what_the_committed_results_give(page: Path) -> None:
    results = json.loads(publish.RESULTS.read_text(encoding="utf-8"))
    assert publish.block_of(page, results) in page.read_text(encoding="utf-8"), "python -m benchmarks --json-to-readme"


def test_the_committed_results_are_of_measures_that_exist() -> None:
    results = json.loads(publish.RESULTS.read_text(encoding="utf-8"))
    assert {one["measure"] for one in results["rows"]} <= set(MEASURES)
    assert {one["target"]["name"] for one in results["rows"] if one["target"]} <= set(TARGETS)


def test_a_block_takes_the_place_of_the_old_one() -> None:
    page = f"before\n{publish.BEGIN}\nold\n{publish.END}\nafter"
    block = f"{publish.BEGIN}\nnew\n{publish.END}"
    assert publish.with_block(page, block) == f"before\n{block}\nafter"
    assert publish.with_block(publish.with_block(page, block), block) == f"before\n{block}\nafter"


@pytest.mark.parametrize("page", ["nothing", publish.BEGIN, publish.END, f"{publish.END}\n{publish.BEGIN}"])
def test_a_page_without_a_place_for_the_block(page: str) -> None:
    with pytest.raises(ValueError, match="two lines"):
        publish.with_block(page, "block")


# peers and measures


def test_a_missing_peer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytrec_eval", None)
    monkeypatch.delitem(sys.modules, "benchmarks.peers.pytrec_eval", raising=False)
    missing = Missing("pytrec_eval", "not installed (pytrec_eval): pip install pytrec-eval-terrier")
    assert load("pytrec_eval") == missing
    measured = run(TINY, ["pytrec_eval"])
    assert measured["missing"] == [list(missing)]
    assert measured["rows"] == []
    assert "pip install pytrec-eval-terrier" in table.as_text(measured)


def test_a_peer_whose_import_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.metrics", types.ModuleType("sklearn.metrics"))
    monkeypatch.delitem(sys.modules, "benchmarks.peers.sklearn", raising=False)
    missing = load("scikit-learn")
    assert isinstance(missing, Missing)
    assert missing.why.startswith("installed, but its import fails: cannot import name 'ndcg_score'")


def test_missing_data_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LTR_METRICS_DATA", str(tmp_path))
    [missing] = on_real_data(TINY)
    assert missing.what == "MQ2008"
    assert "LTR_METRICS_DATA" in missing.why


@pytest.mark.parametrize("name", sorted(PEERS.keys() - SLOW))
def test_peers_compute_what_ours_compute(name: str) -> None:
    peer = load(name)
    if isinstance(peer, Missing):
        pytest.skip(f"{peer.what} is {peer.why}")
    data = shapes.binary(shapes.mslr(30)) if peer.binary else shapes.mslr(30)
    assert peer.disagreement(data, peer.run(peer.prepare(data, 1))) is None
    other = data.replace(scores=-data.scores)
    assert "computes something else" in str(peer.disagreement(data, peer.run(peer.prepare(other, 1))))


def test_a_peer_that_computes_something_else_is_named_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = type(load("scikit-learn"))
    monkeypatch.setattr(peer, "means", lambda self, found: [2.0])
    measured = run(TINY, ["scikit-learn"])
    assert measured["rows"] == []
    assert measured["missing"][0][0] == "scikit-learn"
    assert "computes something else on MSLR shape: ndcg@10 is 2.0" in measured["missing"][0][1]


@pytest.mark.slow
def test_everything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "ROUNDS", 3)
    left_out = SLOW | {"MQ2008"} | {name for name in PEERS.keys() - SLOW if isinstance(load(name), Missing)}
    measured = json.loads(publish.as_json(run(TINY, [name for name in MEASURES if name not in left_out])))
    rows = table.rows_of(measured)
    assert {one.measure for one in rows} == set(MEASURES) - left_out
    assert {one.target.name for one in rows if one.target} == set(TARGETS) - left_out
    assert all(math.isfinite(one.result.median) for one in rows)
    hosts = {"LightGBM", "XGBoost", "lgb.train", "xgb.train"}  # no machine has a million cores
    assert {what for what, _ in measured["missing"]} == {f"{host} with 1000000 threads" for host in hosts}
    assert table.as_text(measured)


# the guard


def test_the_guard_lets_pass_what_is_within_its_limits() -> None:
    assert guard.exceeded({name: limit.most for name, limit in guard.LIMITS.items()}) == []


@pytest.mark.parametrize("name", guard.LIMITS)
@pytest.mark.parametrize("value", [1e6, math.nan])
def test_the_guard_names_the_limit_that_is_passed(name: str, value: float) -> None:
    measured = dict.fromkeys(guard.LIMITS, 0.0) | {name: value}
    [problem] = guard.exceeded(measured)
    assert problem.startswith(name)
    assert f"at most {guard.LIMITS[name].most:g}" in problem


def test_the_guard_ends_with_status_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(guard, "measure", lambda: dict.fromkeys(guard.LIMITS, 1000000.0))
    with pytest.raises(SystemExit, match="1"):
        guard.main()
    shown = capsys.readouterr()
    assert all(name in shown.out and name in shown.err for name in guard.LIMITS)
    monkeypatch.setattr(guard, "measure", lambda: dict.fromkeys(guard.LIMITS, 0.0))
    guard.main()


def test_the_guard_measures_what_it_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PACE", Pace(seconds=0, at_least=1))
    assert guard.measure().keys() == guard.LIMITS.keys()
