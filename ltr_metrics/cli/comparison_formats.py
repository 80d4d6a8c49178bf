"""A comparison as text, Markdown, LaTeX, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.gating import GateResult
from ltr_metrics.report.csv import in_csv
from ltr_metrics.report.tables import in_latex, in_markdown, tables_of_comparison

Rendering = Callable[[Comparison, Mapping[str, str], GateResult | None], str]


def as_text(comparison: Comparison, _origins: Mapping[str, str], _verdict: GateResult | None) -> str:
    """Return aligned tables, and what the columns are."""
    return f"{comparison}\n"


def as_json(comparison: Comparison, origins: Mapping[str, str], verdict: GateResult | None) -> str:
    """Return all numbers, where the models come from, and what the gate says (null: there was none); NaN is null."""
    plain = {"origins": dict(origins), **comparison.to_dict(), "gate": None if verdict is None else verdict.to_dict()}
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def as_csv(comparison: Comparison, _origins: Mapping[str, str], _verdict: GateResult | None) -> str:
    """Return a line for each metric and model, and with segments for each of these too; over all queries their columns are empty."""
    import pandas as pd

    parts = [(None, None, comparison), *comparison.segments()]
    if len(parts) == 1:
        return in_csv(comparison.to_pandas())
    tables = [part.to_pandas() for _, _, part in parts]
    for (name, label, _), table in zip(parts, tables, strict=True):
        table.insert(0, "segment", "" if label is None else str(label))
        table.insert(0, "segmentation", name or "")
    return in_csv(pd.concat(tables, ignore_index=True))


def as_markdown(comparison: Comparison, _origins: Mapping[str, str], _verdict: GateResult | None) -> str:
    """Return tables in Markdown."""
    return "\n\n".join(map(in_markdown, tables_of_comparison(comparison.to_dict()))) + "\n"


def as_latex(comparison: Comparison, _origins: Mapping[str, str], _verdict: GateResult | None) -> str:
    """Return tables in LaTeX, for the package booktabs, with comments that say what they are."""
    return "\n\n".join(map(in_latex, tables_of_comparison(comparison.to_dict()))) + "\n"


RENDERERS: dict[str, Rendering] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}
