"""``evaluate --sorted``: read files that do not fit into memory batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ltr_metrics.analysis.intervals import Intervals, intervals
from ltr_metrics.cli.inputs import ModelSpecs
from ltr_metrics.cli.progress import show_count
from ltr_metrics.cli.sources import COUNT_SEGMENTS
from ltr_metrics.errors import LtrValueError, naming, one_line
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.streaming import evaluate_sorted
from ltr_metrics.metrics.requests import OneMetric
from ltr_metrics.report import Report, as_per_query_csv


def evaluate_batches(
    arguments: Mapping[str, Any], specs: ModelSpecs, metrics: list[OneMetric] | None, policy: dict[str, Any]
) -> dict[str, Evaluation]:
    """Evaluate LETOR files or tables that are sorted by query."""
    if specs.runs or arguments["qrels"] or arguments["topics"]:
        raise LtrValueError("--sorted needs LETOR files or tables. TREC files are read whole: leave out --sorted.")
    if not arguments["data"]:
        raise LtrValueError("Name the DATA: LETOR files or tables that are sorted by query.")
    if not (specs.models or specs.scores):
        raise LtrValueError("Name at least one model or column of scores: --model or --scores.")
    if set(arguments["by"]) & set(COUNT_SEGMENTS):
        raise LtrValueError(f"--sorted takes segments from columns alone, not --segment {' or '.join(COUNT_SEGMENTS)}.")
    names = ("qid", "label", "docid", "weight", "by", "n_features", "zero_based")
    with show_count("rows") as progress:
        return evaluate_sorted(
            arguments["data"],
            scores=specs.scores,
            models=specs.models,
            metrics=metrics,
            progress=progress,
            **{name: arguments[name] for name in names},
            **policy,
        )


class Estimated(NamedTuple):
    """The results of some models, and the intervals of their means if they were requested."""

    results: dict[str, Evaluation]
    intervals: dict[str, Intervals]

    @classmethod
    def of(cls, results: dict[str, Evaluation], settings: Mapping[str, Any] | None) -> Estimated:
        """Return the results with their intervals; no intervals without settings."""
        estimates = {}
        for name, result in {} if settings is None else results.items():
            with naming(name):
                estimates[name] = intervals(result, **settings or {})
        return cls(results, estimates)


def _as_text(estimated: Estimated) -> str:
    parts = []
    for name, result in estimated.results.items():
        parts.append(f"{one_line(name)}\n{result}")
        if name in estimated.intervals:
            parts.append(str(estimated.intervals[name]))
    return "\n\n".join(parts) + "\n"


def _as_json(estimated: Estimated) -> str:
    plain: dict[str, dict[str, Any]] = {
        name: {
            "n_queries": result.n_queries,
            **result.means_to_dict(),
            "segments": result.segments_to_dicts(),
        }
        for name, result in estimated.results.items()
    }
    for name, table in estimated.intervals.items():
        plain[name]["intervals"] = table.to_dict()
    return json.dumps({"models": plain}, indent=2, allow_nan=False) + "\n"


def _as_csv(estimated: Estimated) -> str:
    return as_per_query_csv(Report({}, estimated.results))


RENDERERS: dict[str, Callable[[Estimated], str]] = {"text": _as_text, "json": _as_json, "csv": _as_csv}
