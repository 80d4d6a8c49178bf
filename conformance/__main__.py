"""The command: `python -m conformance [GROUP | SYSTEM]...`, in an environment that has these systems."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from conformance.comparison import Line, compare
from conformance.system import MissingSystemError, System
from ltr_metrics._engine.results import Part, Table, as_text

GROUPS = {  # systems that live in one environment
    "rankings": (
        *("ranx", "pytrec_eval", "ir_measures", "ir_measures_rr", "ir_measures_gdeval", "kaggle"),
        *("vespa", "rectools", "quepid", "ranklib"),
    ),
    "torch": ("torchmetrics", "torchmetrics_ndcg", "torchmetrics_scores", "keras_rs", "recbole"),
    "spark": ("spark_mllib", "replay"),
    "tensorflow": ("tf_ranking", "tf_ranking_opa"),
}
HEADER = ("system", "metric", "ours", "values", "largest difference", "stated", "agrees")


def main(names: Sequence[str]) -> int:
    """Compare the systems, print the tables, and return the exit status."""
    if not names:
        print(f"Usage: python -m conformance NAME... A group ({', '.join(GROUPS)}), or a system.", file=sys.stderr)
        return 2
    return max([_compare(system) for name in names for system in GROUPS.get(name, (name,))])


def _compare(name: str) -> int:
    """Compare one system, and return 1 if a difference is not explained."""
    try:
        system: System = importlib.import_module(f"conformance.systems.{name}").system()
    except MissingSystemError as missing:
        print(f"{name}: not run. {missing}\n")
        return 0
    lines = compare(system)
    rows = [_row(system, line) for line in lines]
    title = f"{system.name} {system.version}: the convention {system.convention!r}, to {system.tolerance:.2g}"
    faults = [fault for line in lines if (fault := _fault(system, line))]
    notes = [Note(f"Stated: {difference.sentence}") for difference in system.differences]
    parts: list[Part] = [Table(HEADER, rows, "llln", title=title), *notes, *map(Note, faults)]
    print(as_text(parts) + "\n")
    return int(bool(faults))


def _row(system: System, line: Line) -> tuple[str, ...]:
    agrees = "yes" if line.largest <= _tolerance(system, line) else "NO"
    ours = line.ours.partition("@")[0]
    return system.name, line.theirs, ours, str(line.n_values), f"{line.largest:.2g}", str(line.n_stated), agrees


def _tolerance(system: System, line: Line) -> float:
    return system.tolerance_of.get(line.theirs, system.tolerance)


def _fault(system: System, line: Line) -> str:
    """Return what is not explained about a metric, if anything."""
    if not line.largest <= _tolerance(system, line):
        return f"Not explained: {line.worst}."
    if not line.n_stated and any(line.theirs in difference.metrics for difference in system.differences):
        return f"No longer seen: the stated difference of {line.theirs}. Remove it."
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
