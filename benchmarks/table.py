"""The results of a run as text and Markdown. Renders only: everything is in the dictionary that the JSON holds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tabulate import tabulate

from benchmarks.figures import Figure, Row
from benchmarks.shapes import MSLR
from benchmarks.targets import TARGETS

HEADINGS = (
    "measure",
    "what",
    "rows",
    "threads",
    "ours",
    "other",
    "peer",
    "figure",
    "value",
    "quartiles",
    "target",
    "met",
)
ALIGNED = ("left", "left", "right", "right", "right", "right", "left", "left", "right", "left", "left", "left")
SHORT_HEADINGS = ("situation", "compared with", "rows", "ours", "theirs", "times as fast")


class Situation(NamedTuple):
    """What a user does, and the row that has it: the first one on one thread with these words."""

    name: str
    measure: str
    what: str
    data: str = MSLR

    def row(self, rows: Iterable[Row]) -> Row | None:
        """Return the row, or None if it was not measured."""
        return next((row for row in rows if self._has(row)), None)

    def _has(self, row: Row) -> bool:
        is_named = row.measure == self.measure and self.what in row.what and row.data.startswith(self.data)
        return is_named and (row.threads or 1) == 1


IN_THE_README = (
    Situation("long lists", "LightGBM", "all five"),
    Situation("short lists", "short", "all five", "queries of 1-10"),
    Situation("few rows, many ties", "MQ2008", "all five; LightGBM", "MQ2008"),
    Situation("50 rounds of training", "lgb.train", "feval(all five)"),
    Situation("long lists", "XGBoost", "all five"),
    Situation("long lists", "CatBoost", "all five"),
    Situation("long lists", "pytrec_eval", "all five"),
    Situation("long lists", "scikit-learn", "all five"),
)
MOST_COLUMNS = 100  # of a line of prose in Markdown
UNITS = {"s/row": (1e9, " ns"), "B/row": (1.0, " B"), "x": (1.0, "x")}


def as_text(results: dict[str, Any]) -> str:
    """Render every row, for a terminal."""
    lines = list(map(_cells, rows_of(results)))
    tables = [tabulate(lines, HEADINGS, colalign=ALIGNED, disable_numparse=True)] if lines else []
    return "\n\n".join([*tables, *map(" ".join, _notes(results))])


def as_markdown(results: dict[str, Any]) -> str:
    """Render every row, and one sentence a line below the table."""
    notes = ["\n".join(textwrap.fill(sentence, MOST_COLUMNS) for sentence in note) for note in _notes(results)]
    return "\n\n".join([_markdown(map(_cells, rows_of(results)), HEADINGS), *notes])


def as_short_markdown(results: dict[str, Any]) -> str:
    """Render the rows of the README, which answer: how many times as fast, as what, and where."""
    rows = rows_of(results)
    chosen = ((situation.name, situation.row(rows)) for situation in IN_THE_README)
    lines = (_short_cells(name, row) for name, row in chosen if row is not None)
    note = f"Medians on one thread ({results['date']}), five metrics. Long lists have 120 documents, short ones 1-10."
    return f"{_markdown(lines, SHORT_HEADINGS)}\n\n{note}"


def rows_of(results: dict[str, Any]) -> list[Row]:
    """Read the rows of a run."""
    return [Row.from_dict(row) for row in results["rows"]]


def origin(results: dict[str, Any]) -> list[str]:
    """Return when, on what and with which versions a run was made, in sentences."""
    machine = results["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return [
        f"All figures are medians of a {results['effort']} run on {results['date']}.",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {' '.join(machine['simd'])}, {machine['system']}.",
        f"Versions: Python {machine['python']}, {packages}.",
    ]


def reached(results: dict[str, Any]) -> list[str]:
    """Count the rows that reach their target, and name the targets that no row has, in sentences."""
    judged = [(row, row.target.name) for row in rows_of(results) if row.target is not None]
    unmeasured = [name for name in TARGETS if name not in {target for _, target in judged}]
    without = [f"Not measured in this run: {'; '.join(unmeasured)}."] if unmeasured else []
    return [f"{sum(row.met is True for row, _ in judged)} of {len(judged)} rows with a target reach it.", *without]


def shown(figure: Figure) -> str:
    """Return a figure's median in a unit that suits it."""
    return _value(figure.median, figure.unit)


def subject(row: Row) -> str:
    """Return what a row is about, with its data where they are not simply the MSLR shape."""
    data = row.data.removeprefix(MSLR).lstrip(", ")
    return f"{row.what} ({data})" if data else row.what


def _notes(results: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the notes below a table, each a list of sentences."""
    yield [f"The data have the {MSLR} unless the row names others.", *reached(results)]
    if results["missing"]:
        yield [f"Missing: {what}: {why}." for what, why in results["missing"]]
    yield origin(results)


def _cells(row: Row) -> tuple[str, ...]:
    result = row.result
    return (
        row.measure,
        subject(row),
        f"{row.rows:,}" if row.rows else "",
        str(row.threads or ""),
        shown(row.ours),
        "" if row.other is None else shown(row.other),
        "" if row.other is None else row.other.of,
        result.of,
        shown(result),
        "" if result.n == 1 else f"{_value(result.low, result.unit)} to {_value(result.high, result.unit)}",
        "" if row.target is None else f"at {row.target.at} {_value(row.target.value, result.unit)}",
        {True: "met", False: "NOT MET", None: ""}[row.met],
    )


def _short_cells(situation: str, row: Row) -> tuple[str, ...]:
    _, _, rows, _, ours, other, _, _, result, _, _, _ = _cells(row)
    theirs = row.what.partition("; ")[2].replace("its own:", f"{row.measure}:")
    return situation, theirs, rows, ours, other, f"**{result}**"


def _markdown(lines: Iterator[tuple[str, ...]], headings: tuple[str, ...]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ("---",) * len(headings), *lines))


def _value(value: float, unit: str) -> str:
    if unit == "s":
        factor, name = (1.0, " s") if abs(value) >= 1 else (1e3, " ms") if abs(value) >= 1e-3 else (1e6, " us")
    else:
        factor, name = UNITS[unit]
    digits = f"{value * factor:,.0f}" if abs(value * factor) >= 100 else f"{value * factor:.3g}"  # no exponents
    return digits + name
