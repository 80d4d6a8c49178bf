"""The results as JSON, and between two comments of the README and of the documentation.

So no figure is written by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.shapes import ROOT
from benchmarks.table import as_markdown, as_short_markdown

RESULTS = ROOT / "benchmarks" / "results.json"
BEGIN = "<!-- benchmarks: written by python -m benchmarks --json-to-readme -->"
END = "<!-- /benchmarks -->"


def as_json(results: dict[str, Any]) -> str:
    """Write the results as JSON with a line a row, which a diff can show."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in results.items() if name != "rows"]
    rows = ",\n".join(json.dumps(row) for row in results["rows"])
    return "{\n" + ",\n".join([*lines, f'"rows": [\n{rows}\n]']) + "\n}\n"


def block_of(page: Path, results: dict[str, Any]) -> str:
    """Return what a page has between the comments: one row for each situation in the README, every row elsewhere."""
    if page.parent == ROOT:
        return f"{BEGIN}\n{as_short_markdown(results)}\n{END}"
    picture = "![Ratios to peers and to limits, with the targets](../benchmarks/results.png)"
    return f"{BEGIN}\n{picture}\n\n{as_markdown(results)}\n{END}"


def with_block(text: str, block: str) -> str:
    """Replace what stands between the comments."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"There must be two lines {BEGIN!r} and {END!r} for the table to stand between.")
    return before + block + after


def pages() -> list[Path]:
    """Return the pages that have a block."""
    return [ROOT / "README.md", ROOT / "docs" / "benchmarks.md"]


def publish() -> None:
    """Write the blocks of all pages from the committed results."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for page in pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(with_block(text, block_of(page, results)), encoding="utf-8")
