"""The subcommand ``compare``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.comparison import compare as compare_models
from ltr_metrics.analysis.comparison.models import metrics_of
from ltr_metrics.analysis.gating import GateResult, gate, read_rules
from ltr_metrics.cli import options
from ltr_metrics.cli.inputs import (
    ModelSpecs,
    input_files,
    parse_models,
)
from ltr_metrics.cli.output import Output, gate_status, require_targets
from ltr_metrics.cli.own_metrics import requested_metrics
from ltr_metrics.cli.progress import progress, run_step
from ltr_metrics.cli.sources import Source, read_source, segments_by_count
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean, naming
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.saved import load_result
from ltr_metrics.metrics.requests import Request, resolve
from ltr_metrics.report.csv import in_csv
from ltr_metrics.report.tables import in_latex, in_markdown, tables_of_comparison

DATA_OPTIONS = ("docid", "weight", "cluster", "qrels", "topics", "n_features", "zero_based")


def _as_json(comparison: Comparison, origins: Mapping[str, str], result: GateResult | None) -> str:
    plain = {"origins": dict(origins), **comparison.to_dict(), "gate": None if result is None else result.to_dict()}
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def _as_csv(comparison: Comparison) -> str:
    """Return a line for each metric and model, overall and in each segment."""
    import pandas as pd

    parts = [(None, None, comparison), *comparison.segments()]
    if len(parts) == 1:
        return in_csv(comparison.to_pandas())
    tables = [part.to_pandas() for _, _, part in parts]
    for (name, label, _), table in zip(parts, tables, strict=True):
        table.insert(0, "segment", "" if label is None else str(label))
        table.insert(0, "segmentation", name or "")
    return in_csv(pd.concat(tables, ignore_index=True))


def _as_tables(comparison: Comparison, render: Callable[[Any], str]) -> str:
    return "\n\n".join(map(render, tables_of_comparison(comparison.to_dict()))) + "\n"


RENDERERS: dict[str, Callable[[Comparison, Mapping[str, str], GateResult | None], str]] = {
    "text": lambda comparison, _origins, _gate: f"{comparison}\n",
    "json": _as_json,
    "csv": lambda comparison, _origins, _gate: _as_csv(comparison),
    "markdown": lambda comparison, _origins, _gate: _as_tables(comparison, in_markdown),
    "latex": lambda comparison, _origins, _gate: _as_tables(comparison, in_latex),
}


@click.command(cls=options.Command, short_help="Compare models with a baseline, and gate a release.")
@options.add_options(
    options.MODELS,
    options.RESULTS,
    options.DATA,
    options.METRICS,
    options.COMPARISON,
    options.COMMON_QUERIES,
    options.GATE,
    options.output_options(*RENDERERS),
)
def compare(rules: tuple[str, ...], gate_each_segment: bool, **arguments: Any) -> int:
    """Compare models with a baseline on the same queries, and gate a release.

    The result has, for each metric, the means, the difference to the baseline with its confidence
    interval and p-value, the number of queries that gain and lose, and the minimum detectable
    effect. The exit status is 1 if a rule of --gate fails.

    DATA are described in 'ltr-metrics evaluate --help'. Leave them out if all models are saved
    results.

    \b
    Examples:
      ltr-metrics compare test.txt --model base=old.txt --model new=model.txt
      ltr-metrics compare test.parquet --result base=production.parquet \\
          --model new=model.txt --baseline base \\
          --gate "ndcg@10 > -0.005" --gate "share(ndcg@10 < -0.1) < 5%"
      ltr-metrics compare clicks.csv --scores base=s0 --scores new=s1 \\
          --cluster user --segment device --gate "map > -0.01" --gate-each-segment
      ltr-metrics compare --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --format markdown
    """  # noqa: D301
    output, specs = Output.from_arguments(arguments, RENDERERS), parse_models(arguments)
    require_targets(input_files(arguments, specs), output)
    if len(specs.names) < 2:
        raise LtrValueError("A comparison needs two models or more: --model, --scores, --run or --result.")
    baseline = choose_baseline(arguments, specs)
    check_rules(rules, arguments, specs, baseline, each_segment=gate_each_segment)
    comparison, origins = _compare(arguments, specs, baseline)
    for _, _, part in progress("Comparing in segments", comparison.segments()):
        _ = part.rows
    result = gate(comparison, rules, each_segment=gate_each_segment) if rules else None
    output.write(RENDERERS[output.format](comparison, origins, result))
    return gate_status(result)


def choose_baseline(arguments: Mapping[str, Any], specs: ModelSpecs) -> str | None:
    """Return the model of ``--baseline``, or the first one; None if there is one model."""
    baseline: str | None = arguments["baseline"]
    if baseline is not None and baseline not in specs.names:
        raise LtrKeyError(
            f"The baseline {baseline!r} is not one of the models.{did_you_mean(baseline, specs.names)} The models are "
            f"{', '.join(map(repr, specs.names))}."
        )
    if len(specs.names) < 2:
        return None
    return specs.names[0] if baseline is None else baseline


def check_rules(
    rules: Sequence[str], arguments: Mapping[str, Any], specs: ModelSpecs, baseline: str | None, *, each_segment: bool
) -> None:
    """Refuse rules that cannot be read, or that have nothing to check, before any work is done."""
    if each_segment and not rules:
        raise LtrValueError("--gate-each-segment needs a rule: --gate.")
    if each_segment and not arguments["by"] and not specs.results:
        raise LtrValueError("--gate-each-segment needs segments: --segment.")
    if rules and len(specs.names) < 2:
        raise LtrValueError("--gate needs two models or more, one of which is the baseline.")
    if rules:
        read_rules(rules, [name for name in specs.names if name != baseline])


def _compare(
    arguments: Mapping[str, Any], specs: ModelSpecs, baseline: str | None
) -> tuple[Comparison, dict[str, str]]:
    """Read, evaluate and compare; return the comparison and the origin of each model."""
    settings = options.comparison_settings(arguments)
    metrics, policy = requested_metrics(arguments), options.policy(arguments)
    saved = {name: load_result(file) for name, file in progress("Reading results", specs.results.items())}
    origins = {name: f"result {file}" for name, file in specs.results.items()}
    if specs.are_all_results:
        first = next(iter(saved))
        saved[first] = _with_segments(saved[first], arguments)
        settings |= policy | {"metrics": metrics}
        return run_step("Comparing", lambda: compare_models(saved, baseline=baseline, **settings)), origins
    source = read_source(arguments, specs)
    request = resolve(metrics_of(list(saved.values())) if metrics is None and saved else metrics, **policy)
    results = _evaluate(source, request)
    if request.policy.mean_over == "queries":  # other results bring the weights along
        settings["query_weight"] = next(iter(results.values())).weight
    comparison = run_step("Comparing", lambda: compare_models(results | saved, baseline=baseline, **settings))
    return comparison, source.origins | origins


def _evaluate(source: Source, request: Request) -> dict[str, Evaluation]:
    results = {}
    for name, scores in progress("Evaluating", source.scores.items()):
        with naming(name):
            results[name] = source.queries[name].evaluate_request(scores, request)
    return results


def _with_segments(result: Evaluation, arguments: Mapping[str, Any]) -> Evaluation:
    """Return a saved result in the segments of ``--segment``."""
    if arguments["data"]:
        raise LtrValueError(
            "All models are saved results, so DATA are not used. Leave them out, or name scores or models."
        )
    unused = [f"--{name.replace('_', '-')}" for name in DATA_OPTIONS if arguments[name]]
    if unused:
        raise LtrValueError(f"{unused[0]} applies to DATA, but all models are saved results. Leave it out.")
    if not arguments["by"]:
        return result
    segments = segments_by_count(result.n_documents, result.n_relevant) | result.segments
    absent = [name for name in arguments["by"] if name not in segments]
    if absent:
        names = list(map(str, segments))
        raise LtrKeyError(
            f"The saved result has no segments {absent[0]!r}.{did_you_mean(absent[0], names)} It has "
            f"{', '.join(names)}. To save others, use evaluate --segment ... --save."
        )
    return replace(result, segments={name: segments[name] for name in arguments["by"]})
