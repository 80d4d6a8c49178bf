"""The run that compares conventions with live systems, on systems that are made up here."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conformance.__main__ import GROUPS, main
from conformance.comparison import our_values
from conformance.queries import Query, draw_queries
from conformance.system import Difference, MissingSystemError, System, Values, at_cutoffs, every_draw

METRICS = at_cutoffs({"AP": "map"}, [1, 10])
DRAWS = every_draw(graded=[True], ties=[True], unretrieved=[True])
EMPTY = Difference(frozenset({"AP"}), "An empty query is left out.", lambda query: not query.relevant, np.nan)


def same(queries: list[Query], names: Sequence[str]) -> Values:
    return our_values(queries, SYSTEM)


def without_empty_queries(queries: list[Query], names: Sequence[str]) -> Values:
    is_empty = np.array([not query.relevant for query in queries])
    return {name: np.where(is_empty, np.nan, values) for name, values in our_values(queries, SYSTEM).items()}


def a_bit_higher(queries: list[Query], names: Sequence[str]) -> Values:
    return {name: np.asarray(values) + 1e-9 for name, values in our_values(queries, SYSTEM).items()}


SYSTEM = System("Made up", "1.0", "trec_eval", METRICS, same, DRAWS)


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **changes: object) -> tuple[int, str]:
    module = ModuleType("made_up")
    module.system = lambda: dataclasses.replace(SYSTEM, **changes)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "conformance.systems.made_up", module)
    return main(["made_up"]), " ".join(capsys.readouterr().out.split())


CASES = {
    "equal": ({}, 0, "yes"),
    "different": ({"values": a_bit_higher}, 1, "Not explained: AP@1,"),
    "within the digits": ({"values": a_bit_higher, "tolerance": 1e-8}, 0, "yes"),
    "within the digits of the metric": ({"values": a_bit_higher, "tolerance_of": {"AP": 1e-8}}, 0, "yes"),
    "left out": ({"values": without_empty_queries}, 1, "nan there"),
    "stated": ({"values": without_empty_queries, "differences": (EMPTY,)}, 0, "Stated: An empty query is left out."),
    "stated, and gone": ({"differences": (EMPTY,)}, 1, "Not explained: AP@1,"),
    "stated, and never seen": (
        {"differences": (dataclasses.replace(EMPTY, applies=lambda query: False),)}, 1, "No longer seen",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "status", "text"), CASES.values(), ids=CASES)
def test_what_is_explained(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    status: int,
    text: str,
) -> None:
    code, out = run(monkeypatch, capsys, **changes)
    assert code == status
    assert text in out


def test_a_system_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> System:
        raise MissingSystemError("Set MADE_UP to a folder.")

    module = ModuleType("made_up")
    module.system = missing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "conformance.systems.made_up", module)
    assert main(["made_up"]) == 0
    assert capsys.readouterr().out == "made_up: not run. Set MADE_UP to a folder.\n\n"
    assert main([]) == 2
    usage = capsys.readouterr().err
    assert all(group in usage for group in GROUPS)


def test_each_system_is_in_a_group_with_requirements() -> None:
    folder = Path(__file__).parent.parent / "conformance"
    files = {path.stem for path in (folder / "systems").glob("*.py")} - {"__init__"}
    assert sorted(files) == sorted(name for group in GROUPS.values() for name in group)
    assert {path.stem.removesuffix("-alone") for path in (folder / "requirements").glob("*.txt")} == set(GROUPS)


def test_queries_have_what_conventions_differ_in() -> None:
    queries = draw_queries(0, DRAWS[0])
    assert any(len(query.docids) == 1 for query in queries)
    assert any(not query.relevant for query in queries)
    assert any(len(set(query.scores)) < len(query.scores) for query in queries)
    assert any(not query.retrieved.all() for query in queries)
    assert max(grade for query in queries for grade in query.grades) == 4
    assert min(query.scores.min() for query in queries) > 0
