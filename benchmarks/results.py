"""The results of a run: its rows, as JSON, as text, and in the README and the documentation."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tabulate import tabulate

from benchmarks.shapes import MSLR, ROOT, FloatArray

RESULTS = ROOT / "benchmarks" / "results.json"
BEGIN = "<!-- benchmarks: written by python -m benchmarks --json-to-readme -->"
END = "<!-- /benchmarks -->"
PEER, LIMIT = "other / ours", "ours / other"  # how many times as long a peer takes, or ours as its lower limit
EXTREMES = "slowest / fastest"
ALL_FIVE, SAME_METRICS, FIRST_RESULT = "all five", "the same metrics", "first result from arrays"
RATIOS = {  # the columns of a peer: what is measured, and the number of threads
    "all five": (ALL_FIVE, 1),
    "on 2 threads": (ALL_FIVE, 2),
    "same metrics": (SAME_METRICS, 1),
    "first result": (FIRST_RESULT, 1),
}
UNITS = {"s/row": (1e9, " ns"), "B/row": (1.0, " B"), "x": (1.0, "x")}
IN_THE_README = {"LightGBM": "", "short": ", short lists", "MQ2008": ", MQ2008", "lgb.train": ", 50 rounds"}
IN_THE_README |= {"XGBoost": "", "xgb.train": ", 50 rounds", "CatBoost": "", "pytrec_eval": "", "scikit-learn": ""}
Quartiles = tuple[float, ...]  # the first, the median and the third
Results = Mapping[str, Any]


class Row(NamedTuple):
    """One row of the table.

    Ours, the other and the value are quartiles. The figure says how the value comes about, such as
    "other / ours", which is the ratio within each round. A figure without a slash has the unit of
    ours.
    """

    measure: str
    what: str
    compared_with: str
    data: str
    rows: int | None
    ours: Quartiles
    other: Quartiles | None
    figure: str
    value: Quartiles
    threads: int | None = 1
    unit: str = "s"


def quartiles(values: FloatArray) -> Quartiles:
    return tuple(np.quantile(values, [0.25, 0.5, 0.75]).tolist())


def as_json(results: Results) -> str:
    """Write one line per row, so that a diff can be read."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in results.items() if name != "rows"]
    rows = ",\n".join(json.dumps(one) for one in results["rows"])
    return "{\n" + ",\n".join([*lines, f'"rows": [\n{rows}\n]']) + "\n}\n"


def as_tables(results: Results) -> str:
    """Render the peers, the trainings and the lower limits in Markdown, with the medians and notes."""
    peers: dict[Any, list[Row]] = {}
    trainings: dict[Any, list[Row]] = {}
    limits = []
    for one in (Row(**row) for row in results["rows"]):
        if one.figure == EXTREMES:  # can be read off the rows of the shapes
            continue
        if one.figure != PEER:
            limits.append(_some_cells(one, "measure", "what", "compared with", "rows", "ours", "other", "value"))
        elif any(one.what == what for what, _ in RATIOS.values()):
            peers.setdefault((one.compared_with, one.data, one.rows), []).append(one)
        else:
            trainings.setdefault((one.measure, one.what), []).append(one)
    tables = [
        [
            _some_cells(rows[0], "compared with", "data", "rows", "ours", "other")
            | {name: _value(rows, *column) for name, column in RATIOS.items()}
            for rows in peers.values()
        ],
        [
            _some_cells(rows[0], "measure", "what", "compared with", "rows", "ours", "other")
            | {"value": _value(rows, rows[0].what, 1), "on 2 threads": _value(rows, rows[0].what, 2)}
            for rows in trainings.values()
        ],
        limits,
    ]
    written = [tabulate(table, "keys", "pipe", disable_numparse=True) for table in tables if table]
    return "\n\n".join([*written, *_notes(results)])


def as_short_table(results: Results) -> str:
    """Render the first rows of the measures in the README, which are of all five on one thread."""
    rows = [Row(**one) for one in results["rows"]]
    lines = []
    for measure, situation in IN_THE_README.items():
        of_measure = [one for one in rows if one.measure == measure]
        if not of_measure:
            continue
        first = of_measure[0]
        cells = _cells(first)
        theirs = cells["compared with"].replace("its own", measure)
        values = [theirs + situation, cells["ours"], cells["other"], f"**{cells['value']}**"]
        for what, threads in ((first.what, 2), (FIRST_RESULT, 1)):
            other = [one for one in of_measure if (one.what, one.data, one.threads) == (what, first.data, threads)]
            values += [_cells(other[0])["value"] if other else ""]
        lines.append(values)
    headings = "compared with", "ours", "theirs", "one thread", "two threads", "first result"
    note = (
        f"Times are medians on one thread ({results['date']}); *one thread* and *two threads* say how many times "
        "faster ours are when both sides use that many. *Ours* are five metrics at once: NDCG@1,3,5,10 with both "
        "gains, MAP, MRR and ERR@10, on lists of 120 documents (240,000 rows), short ones of 1 to 10 (550,000 rows), "
        "or MQ2008 with its ties. *First result* starts from arrays, so it includes the time in which a "
        "peer converts them."
    )
    return f"{tabulate(lines, headings, 'pipe', disable_numparse=True)}\n\n{note}"


def _value(rows: Sequence[Row], what: str, threads: int) -> str:
    """Return the first value of one kind, or an empty cell."""
    found = [one for one in rows if (one.what, one.threads) == (what, threads)]
    return value_of(found[0]) if found else ""


def _some_cells(one: Row, *names: str) -> dict[str, str]:
    cells = _cells(one)
    return {name: cells[name] for name in names}


def _cells(one: Row) -> dict[str, str]:
    data = one.data.removeprefix(MSLR).lstrip(", ")
    return {
        "measure": one.measure,
        "what": f"{one.what} ({data})" if data else one.what,
        "data": data,
        "compared with": one.compared_with,
        "rows": f"{one.rows:,}" if one.rows else "",
        "ours": _shown(one.ours[1], one.unit),
        "other": _shown(one.other[1], one.unit) if one.other else "",
        "value": value_of(one),
    }


def value_of(one: Row) -> str:
    return _shown(one.value[1], "x" if "/" in one.figure else one.unit)


def _shown(value: float, unit: str) -> str:
    """Format a value with the unit that suits it, without exponents."""
    if unit == "s":
        factor, name = (1.0, " s") if abs(value) >= 1 else (1e3, " ms") if abs(value) >= 1e-3 else (1e6, " us")
    else:
        factor, name = UNITS[unit]
    return (f"{value * factor:,.0f}" if abs(value * factor) >= 100 else f"{value * factor:.3g}") + name


def _notes(results: Results) -> list[str]:
    """Return paragraphs of sentences, one sentence per line."""
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    run = f"All figures are medians of a {results['effort']} run on {results['date']}."
    notes = [
        [f"The data have the {MSLR} unless the row names others."],
        [f"Missing: {what}: {why}." for what, why in results["missing"]],
        [run, f"Machine: {results['machine']}.", f"Versions: {packages}."],
    ]
    return ["\n".join(textwrap.fill(sentence, 100) for sentence in sentences) for sentences in notes if sentences]


def with_block(page: Path, results: Results) -> str:
    """Return a page with these results between its two comments."""
    block = f"{BEGIN}\n{PAGES[page](results)}\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, page.read_text(encoding="utf-8"), flags=re.DOTALL)


def publish() -> None:
    """Write the committed results into the README and the documentation."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for page in PAGES:
        page.write_text(with_block(page, results), encoding="utf-8")


PAGES = {ROOT / "README.md": as_short_table, ROOT / "docs" / "benchmarks.md": as_tables}
