"""The subcommand ``compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ltr_metrics._rows import words
from ltr_metrics._rows.ids import id_text
from ltr_metrics.analysis.comparison import Comparison, require_yardsticks
from ltr_metrics.analysis.comparison import compare as compare_models
from ltr_metrics.analysis.gate import GateResult, gate, read_rules
from ltr_metrics.cli import options
from ltr_metrics.cli.data import evaluate_sorted, read_source, requested_metrics, segments_by_count
from ltr_metrics.cli.output import Output, gate_status, in_json
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean, naming
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io.load import load_result
from ltr_metrics.io.saved import is_table_of_another_tool
from ltr_metrics.io.values_file import read_values
from ltr_metrics.metrics.names import is_metric_name, metric
from ltr_metrics.metrics.requests import resolve
from ltr_metrics.report.csv import in_csv

FORMATS = ("text", "json", "csv", "markdown", "latex")


def _as_json(comparison: Comparison, origins: Mapping[str, str], result: GateResult | None) -> str:
    values = {"origins": dict(origins), **comparison.to_dict(), "gate": None if result is None else result.to_dict()}
    return in_json(values)


def _as_csv(comparison: Comparison) -> str:
    """Return a line for each metric and model, overall and in each segment."""
    import pandas as pd

    parts = [(None, None, comparison), *comparison.segments()]
    if len(parts) == 1:
        return in_csv(comparison.to_pandas())
    tables = [part.to_pandas() for _, _, part in parts]
    for (name, label, _), table in zip(parts, tables, strict=True):
        table.insert(0, "segment", "" if label is None else id_text(label))
        table.insert(0, "segmentation", name or "")
    return in_csv(pd.concat(tables, ignore_index=True))


@options.subcommand(
    "Compare models with a baseline, and gate a release.",
    FORMATS,
    results=options.named_models(
        "--result",
        "Compare a result of 'evaluate --save', or values of another tool: a table with the column qid and one column "
        "per metric, or what trec_eval -q prints.",
        "[NAME=]FILE",
    ),
    lower_is_better=options.model_option(
        "--lower-is-better",
        "Take lower values as better in this column of the values of --result, whose name is not a metric here.",
        "COLUMN",
    ),
    all_pairs=options.statistics_option(
        "--all-pairs", "Compare every model with every other one, and print how they rank."
    ),
    queries=options.statistics_option(
        "--queries",
        "Require that all models have the same queries and judgments, or leave the other queries out.",
        default="same",
    ),
)
def compare(
    inputs: options.Inputs,
    results: dict[str, str],
    lower_is_better: tuple[str, ...],
    metrics: options.Metrics,
    comparison: options.Comparison,
    intervals: options.IntervalsOfDifferences,
    all_pairs: bool,
    queries: words.QueriesOfComparison,
    gating: options.Gate,
    output: Output,
) -> int:
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
          --gate "ndcg@10 > -0.005" --gate "share(ndcg@10 < -0.3) < 5%"
      ltr-metrics compare clicks.csv --scores base=s0 --scores new=s1 \\
          --cluster user --segment device --gate "map > -0.01" --gate-each-segment
      ltr-metrics compare scores.parquet --scores live --scores a --scores b \\
          --scores bm25 --yardstick bm25 --gate "ndcg@10 > 0" --looks 5
      ltr-metrics compare --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --format markdown
    """  # noqa: D301
    output = output.checked(FORMATS, [*inputs.files(), *metrics.files(), *map(Path, results.values())])
    baseline = comparison.chosen_baseline()
    if baseline is None:
        raise LtrValueError("A comparison needs two models or more: --model, --scores, --run or --result.")
    if all_pairs and (gating.rules or comparison.baseline is not None):
        raise LtrValueError(
            "--all-pairs compares without a baseline, so it cannot be combined with --baseline or "
            "--gate. Leave out one of them."
        )
    baseline = None if all_pairs else baseline
    check_rules(gating, baseline, comparison.yardsticks, has_segments=bool(metrics.by or results))
    settings = options.settings(comparison, without="baseline") | options.settings(intervals, without="cluster")
    settings |= {"baseline": baseline, "queries": queries, "skill": metrics.skill}
    has_csv = any(is_table_of_another_tool(Path(file)) for file in results.values())
    if not has_csv:
        options.refuse(("lower_is_better",), "names a column of a table of --result, but no result is a table.")
    saved = {name: _read_result(file, metrics.policy(), lower_is_better) for name, file in results.items()}
    if len(saved) < len(options.model_names()):
        compared = _compare_models(inputs, saved, metrics, intervals.cluster, settings)
    else:
        policy = {} if has_csv else metrics.policy()  # that of CSV describes the values
        compared = _compare_results(inputs, saved, metrics, settings | policy)
    origins = inputs.origins() | {name: f"result {file}" for name, file in results.items()}
    result = gate(compared, **vars(gating)) if gating.rules else None
    if output.form == "json":
        output.write(_as_json(compared, origins, result))
    elif output.form == "csv":
        output.write(_as_csv(compared))
    else:
        output.write(output.in_tables(compared.printed()))
    return gate_status(result)


def check_rules(gating: options.Gate, baseline: str | None, yardsticks: Sequence[str], *, has_segments: bool) -> None:
    """Refuse rules and yardsticks that cannot be read, or that have nothing to check, before any work is done."""
    yardsticks = require_yardsticks(yardsticks, options.model_names(), baseline)
    if gating.each_segment and not (gating.rules and has_segments):
        raise LtrValueError("--gate-each-segment needs a rule and segments: --gate and --segment.")
    if not gating.rules:
        options.refuse(("looks", "family"), "is about the rules of a gate: add --gate RULE, or leave it out.")
        return
    if baseline is None:
        raise LtrValueError("--gate needs two models or more, one of which is the baseline.")
    read_rules(gating.rules, [name for name in options.model_names() if name != baseline], yardsticks)


def _compare_results(
    inputs: options.Inputs, saved: dict[str, Evaluation], metrics: options.Metrics, settings: dict[str, Any]
) -> Comparison:
    """Compare saved results, without DATA."""
    if inputs.data:
        raise LtrValueError("All models are saved results, so DATA are not used. Leave them out.")
    of_data = ["cluster", *(field.name for field in fields(inputs))]
    options.refuse(of_data, "applies to DATA, but all models are saved results. Leave it out.")
    first = next(iter(saved))
    saved = saved | {first: _with_segments(saved[first], metrics.by)}
    return compare_models(saved, metrics=requested_metrics(metrics), **settings)


def _compare_models(
    inputs: options.Inputs,
    saved: dict[str, Evaluation],
    metrics: options.Metrics,
    cluster: str | None,
    settings: dict[str, Any],
) -> Comparison:
    """Evaluate models, by default with the metrics of the saved results, and compare all of them."""
    requested = requested_metrics(metrics)
    if requested is None and saved:  # as objects, which no convention changes
        requested = [metric(name) for name in next(iter(saved.values())).per_query if is_metric_name(name)]
    request = resolve(requested, **metrics.policy())
    if inputs.is_sorted:
        results = evaluate_sorted(inputs, metrics, requested)
    else:
        source, results = read_source(inputs, by=metrics.by, cluster=cluster), {}
        for name, scores in source.scores.items():
            with naming(name):
                results[name] = source.queries[name].evaluate_request(scores, request)
    if request.policy.unit == "queries":  # other results bring the weights along
        settings = settings | {"query_weight": next(iter(results.values())).weight}
    return compare_models(results | saved, **settings)


def _read_result(file: str, policy: Mapping[str, Any], lower_is_better: Sequence[str]) -> Evaluation:
    """Return a saved result, or the values per query of another tool, which ``policy`` describes."""
    if not is_table_of_another_tool(Path(file)):
        return load_result(file)
    values, policy = read_values(Path(file), dict(policy))
    with naming(file):
        return Evaluation.from_per_query(values, lower_is_better=lower_is_better, **policy)


def _with_segments(result: Evaluation, by: Sequence[str]) -> Evaluation:
    """Return a saved result with the segments of ``--segment``, from those that it has."""
    is_counted = (result.n_documents >= 0).all()  # not in values of another tool
    by_count = segments_by_count(result.n_documents, result.n_relevant) if is_counted else {}
    segments = by_count | result.segments
    absent = next((name for name in by if name not in segments), None)
    if absent is not None:
        names = list(map(str, segments))
        raise LtrKeyError(
            f"--segment {absent}: the saved result has only {', '.join(names) or 'none'}.{did_you_mean(absent, names)} "
            "Save others with evaluate --segment --save."
        )
    return replace(result, segments={name: segments[name] for name in by}) if by else result
