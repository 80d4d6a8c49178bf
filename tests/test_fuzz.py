"""A short part of what `make fuzz` runs for longer, and faults that are planted so that each part finds them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import needs_posix

import ltr_metrics as ltr
from benchmarks.gate import Family
from fuzz import __main__ as command
from fuzz import formats, models, null, properties, readers, relations
from fuzz.child import Child
from fuzz.report import Report, numbers_for

Run = Callable[[int, Iterable[int], Path], Report]
PARTS: dict[str, tuple[Run, int]] = {  # with the number of cases
    "readers": (readers.run, 60),
    "models": (models.run, 800),
    "relations": (relations.run, 100),
    "null": (null.run, 60),
}


@pytest.mark.slow
@pytest.mark.integration
@needs_posix("select for pipes")
@pytest.mark.parametrize("part", PARTS)
def test_no_part_finds_a_fault(tmp_path: Path, part: str) -> None:
    run, n_cases = PARTS[part]
    report = run(0, range(n_cases), tmp_path)
    assert not report.faults, str(report)
    if part != "null":
        assert {outcomes.total() for outcomes in report.outcomes.values()} == {n_cases}
    if part in ("readers", "models"):
        for subject, outcomes in report.outcomes.items():
            assert outcomes["refused"] > n_cases / 4, subject
            assert outcomes["refused"] < n_cases, subject


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.integration
def test_the_files_can_be_read_before_they_are_damaged(tmp_path: Path, name: str) -> None:
    assert readers.try_one(name, 0, 0, tmp_path) == "read"


def test_a_reader_that_raises_another_error_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> object:
        return {}[path.read_bytes()]

    monkeypatch.setitem(formats.FORMATS, "npy", formats.Format(formats.FORMATS["npy"].write, "a.npy", read))
    assert "KeyError" in readers.try_one("npy", 0, 1, tmp_path)


def test_a_case_is_known_by_its_number(tmp_path: Path) -> None:
    contents = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        readers.try_one("letor", 3, 17, folder)
        contents.append((folder / "a.txt").read_bytes())
    assert contents[0] == contents[1]
    assert contents[0] != (tmp_path / "one" / "whole").read_bytes()


@pytest.mark.integration
@needs_posix("select for pipes")
@pytest.mark.parametrize(
    ("program", "answer"),
    [
        ("import os, signal; input(); os.kill(os.getpid(), signal.SIGSEGV)", "the process ended with SIGSEGV"),
        ("import sys; input(); sys.exit(3)", "the process ended with exit status 3"),
        ("input(); input()", "no answer in 1 seconds"),
        ("from fuzz.child import serve; serve(lambda question: question + '\\n!')", "ready?\n!"),
    ],
)
def test_how_a_process_ends_is_reported(program: str, answer: str) -> None:
    patience = 1.0 if answer.startswith("no answer") else 60.0
    with closing(Child("-c", program, patience=patience)) as child:
        assert child.ask("ready?") == answer
        assert child.ask("ready?") == answer  # of another process, if the first has ended


@pytest.mark.slow
def test_a_wrong_value_breaks_relations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the rows changes a value by one part in a thousand."""
    evaluate = ltr.evaluate

    def wrong(y_true: Any, y_score: Any, **options: Any) -> ltr.Evaluation:
        result = evaluate(y_true, y_score, **options)
        for values in result.per_query.values():
            values.flags.writeable = True
            values *= 1 + 1e-3 * (np.asarray(y_true)[0] > 0)
        return result

    monkeypatch.setattr(relations.ltr, "evaluate", wrong)
    report = relations.run(0, range(6), tmp_path)
    broken = {subject for subject, outcomes in report.outcomes.items() if outcomes["fault"]}
    assert {"permuted queries keep every digit", "permuted rows change nothing under mean ties"} <= broken
    assert "split data give the parts of the whole" in broken


def test_a_gate_that_passes_too_often_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    better = Family("no longer 0", lambda rng, n, n_draws: rng.normal(0.02, 0.1, (n, n_draws)))
    monkeypatch.setattr(null, "families", lambda _: [better])
    report = null.run(0, range(6), tmp_path)
    assert any("gate: no longer 0: a difference is found in" in fault for fault in report.faults)


@pytest.mark.slow
def test_a_failing_property_test_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from hypothesis import given, strategies as st\n\n"
        "@given(st.integers())\ndef test_all_small(i):\n    assert i < 1000\n"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_small.py").write_text(text)
    monkeypatch.setattr(properties, "TESTS", tmp_path / "tests")
    report = properties.run(4, [0], tmp_path)
    assert report.outcomes["test_small.py"]["fault"] == 1
    assert "with --hypothesis-seed=4" in report.faults[0]


def test_the_report_counts_and_names_faults() -> None:
    report = Report("reader", 7)
    report.add("csv", "read", 3)
    report.add_fault("csv", 12, "KeyError")
    assert str(report).splitlines() == [
        "reader     cases      read     fault",
        "csv            4         3         1",
        "4 cases with seed 7, 1 faults.",
        "csv, case 12: KeyError",
    ]


def test_numbers_end_with_the_time() -> None:
    assert list(numbers_for(-1)) == []
    assert next(numbers_for(60)) == 0


@pytest.mark.integration
def test_the_command_repeats_one_case(tmp_path: Path) -> None:
    arguments = ["--part", "relation", "--seed", "3", "--case", "5", "--output", str(tmp_path / "report.txt")]
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *arguments],
        capture_output=True,
        text=True,
        cwd=Path(command.__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "12 cases with seed 3, 0 faults." in done.stdout
    assert (tmp_path / "report.txt").read_text().strip() == done.stdout.strip()
