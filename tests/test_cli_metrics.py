"""``ltr-metrics metrics``: the list of metrics and conventions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from command import Done, in_process

import ltr_metrics as ltr
from ltr_metrics.cli.metrics import CHOICES

Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(in_process, capsys, "metrics")


def test_the_text_lists_all_metrics_and_choices(run: Run) -> None:
    done = run()
    assert (done.status, done.err) == (0, "")
    metrics, _, conventions = done.out.partition("What each convention chooses")
    listed = [line.split()[0] for line in metrics.splitlines()[1:] if line[:1].strip()]
    assert listed[:-1] == [info.name for info in ltr.available_metrics()]
    for alias in (alias for info in ltr.available_metrics() for alias in info.aliases):
        assert alias in metrics
    assert "Parameters: k, rel, denominator=min\n" in metrics
    assert "column (required)" in metrics
    assert "..." not in metrics
    assert max(map(len, metrics.splitlines())) <= 82
    assert max(map(len, conventions.splitlines())) <= 100
    headers = [line.split()[1:] for line in conventions.splitlines() if line.startswith("choice  ")]
    assert [name for header in headers[:-1] for name in header] == list(ltr.CONVENTIONS)  # the last has the meanings


def test_the_choices_are_those_of_the_conventions(run: Run) -> None:
    table = run().out.partition("What each convention chooses")[2].partition("\n\n")[0].splitlines()[2:]
    cells = {name: values for name, *values in map(str.split, table)}
    assert list(cells) == list(CHOICES)
    assert cells["ties"] == [convention.ties for convention in ltr.CONVENTIONS.values()][:7]
    assert cells["no_relevant"] == ["skip", "1", "1", "0", "0", "0", "drop"]
    assert cells["cutoff"] == ["-", "-", "32", "-", "-", "-", "-"]
    # LightGBM, scikit-learn and gdeval have no precision, and only scikit-learn and gdeval have no MAP.
    assert cells["precision_short"] == ["pad", "-", "cut", "cut", "-", "pad", "-"]
    assert cells["map_denominator"] == ["min", "min", "min", "min", "-", "relevant", "-"]


def test_each_field_of_a_convention_is_shown(run: Run) -> None:
    fields = set(json.loads(run("--format", "json").out)["conventions"]["default"])
    assert fields == {"name", "metrics", "uncut", *CHOICES}


def test_json_has_the_values_of_the_library(run: Run, tmp_path: Path) -> None:
    done = run("--format", "json")
    assert (done.status, done.err) == (0, "")
    plain = json.loads(done.out)
    for info, metric in zip(ltr.available_metrics(), plain["metrics"], strict=True):
        required = [name for name, default in info.parameters.items() if default is ...]
        lists = {name: list(default) for name, default in info.parameters.items() if isinstance(default, tuple)}
        assert metric == {
            "name": info.name,
            "aliases": list(info.aliases),
            "summary": info.summary,
            "parameters": info.parameters | dict.fromkeys(required) | lists,
            "required": required,
        }
    for name, convention in ltr.CONVENTIONS.items():
        values = plain["conventions"][name]
        gain = {"ndcg_gain": json.loads(json.dumps(convention.ndcg_gain))}
        assert values == vars(convention) | gain | {key: values[key] for key in ("metrics", "uncut")}
        assert values["metrics"] == (None if convention.metrics is None else sorted(convention.metrics))
        assert values["uncut"] == sorted(convention.uncut)
    for option in ("-o", "--output"):
        assert run(option, tmp_path / "metrics.json").err == f"Wrote {tmp_path / 'metrics.json'}.\n"
        assert json.loads((tmp_path / "metrics.json").read_text()) == plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.csv"], "unexpected extra argument"),
        (["--format", "csv"], "'csv' is not one of"),
        (["--output", "metrics.csv"], "must end in one of .txt, .json"),
        (["--output", "absent/metrics.json"], "no folder absent"),
    ],
)
def test_bad_calls(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())
