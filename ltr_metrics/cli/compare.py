"""The subcommand ``compare``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ltr_metrics._rows.ids import id_text
from ltr_metrics.analysis.alignment import metrics_of
from ltr_metrics.analysis.comparison import Comparison, require_yardsticks
from ltr_metrics.analysis.comparison import compare as compare_models
from ltr_metrics.analysis.gate import GateResult, gate, read_rules
from ltr_metrics.cli import options
from ltr_metrics.cli.data import Source, read_source, requested_metrics, segments_by_count
from ltr_metrics.cli.output import Output, gate_status
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean, naming
from ltr_metrics.evaluation.load import load_result
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.tables import as_latex, as_markdown
from ltr_metrics.io.tables import is_csv, read_ids
from ltr_metrics.metrics.requests import Request, resolve
from ltr_metrics.report.csv import in_csv

DATA_OPTIONS = ("qid", "label", "docid", "weight", "cluster", "qrels", "topics", "n_features", "zero_based", "on")


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
        table.insert(0, "segment", "" if label is None else id_text(label))
        table.insert(0, "segmentation", name or "")
    return in_csv(pd.concat(tables, ignore_index=True))


def _as_tables(comparison: Comparison, render: Callable[[Any], str]) -> str:
    return "\n\n".join(map(render, comparison.printed_parts())) + "\n"


RENDERERS: dict[str, Callable[[Comparison, Mapping[str, str], GateResult | None], str]] = {
    "text": lambda comparison, _origins, _gate: f"{comparison}\n",
    "json": _as_json,
    "csv": lambda comparison, _origins, _gate: _as_csv(comparison),
    "markdown": lambda comparison, _origins, _gate: _as_tables(comparison, as_markdown),
    "latex": lambda comparison, _origins, _gate: _as_tables(comparison, as_latex),
}


@click.command(cls=options.Command, short_help="Compare models with a baseline, and gate a release.")
@options.add_options(
    options.MODELS,
    options.RESULTS,
    options.DATA,
    options.METRICS,
    options.SKILL,
    options.COMPARISON,
    options.ALL_PAIRS,
    options.COMMON_QUERIES,
    options.GATE,
    options.output_options(*RENDERERS),
)
def compare(rules: tuple[str, ...], all_pairs: bool, **arguments: Any) -> int:
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
      ltr-metrics compare scores.parquet --scores live --scores a --scores b \\
          --scores bm25 --yardstick bm25 --gate "ndcg@10 > 0" --looks 5
      ltr-metrics compare --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --format markdown
    """  # noqa: D301
    output, baseline = Output.of(arguments, RENDERERS), options.choose_baseline(arguments)
    if baseline is None:
        raise LtrValueError("A comparison needs two models or more: --model, --scores, --run or --result.")
    if all_pairs and (rules or arguments["baseline"] is not None):
        raise LtrValueError(
            "--all-pairs compares without a baseline, so it cannot be combined with --baseline or "
            "--gate. Leave out one of them."
        )
    has_segments = bool(arguments["by"] or arguments["results"])
    check_rules(rules, None if all_pairs else baseline, arguments, has_segments=has_segments)
    comparison, origins = _compare(arguments, None if all_pairs else baseline)
    result = gate(comparison, rules, **options.gate_settings(arguments)) if rules else None
    output.write(RENDERERS[output.form](comparison, origins, result))
    return gate_status(result)


def check_rules(
    rules: Sequence[str], baseline: str | None, arguments: Mapping[str, Any], *, has_segments: bool
) -> None:
    """Refuse rules and yardsticks that cannot be read, or that have nothing to check, before any work is done."""
    yardsticks = require_yardsticks(arguments["yardsticks"], options.model_names(), baseline)
    if arguments["gate_each_segment"] and not (rules and has_segments):
        raise LtrValueError("--gate-each-segment needs a rule and segments: --gate and --segment.")
    if not rules:
        options.refuse(("looks", "family"), "is about the rules of a gate: add --gate RULE, or leave it out.")
        return
    if baseline is None:
        raise LtrValueError("--gate needs two models or more, one of which is the baseline.")
    read_rules(rules, [name for name in options.model_names() if name != baseline], yardsticks)


def _compare(arguments: Mapping[str, Any], baseline: str | None) -> tuple[Comparison, dict[str, str]]:
    """Read, evaluate and compare; return the comparison and the origin of each model."""
    settings = options.comparison_settings(arguments) | {"baseline": baseline}
    metrics, policy = requested_metrics(arguments), options.policy(arguments)
    saved = {name: _read_result(file, policy) for name, file in arguments["results"].items()}
    origins = {name: f"result {file}" for name, file in arguments["results"].items()}
    if len(saved) == len(options.model_names()):
        if arguments["data"]:
            raise LtrValueError("All models are saved results, so DATA are not used. Leave them out.")
        options.refuse(DATA_OPTIONS, "applies to DATA, but all models are saved results. Leave it out.")
        first = next(iter(saved))
        saved[first] = _with_segments(saved[first], arguments["by"])
        is_used = any(is_csv(Path(file)) for file in arguments["results"].values())
        return compare_models(saved, metrics=metrics, **settings, **({} if is_used else policy)), origins
    source = read_source(arguments)
    request = resolve(metrics_of(list(saved.values())) if metrics is None and saved else metrics, **policy)
    results = _evaluate(source, request)
    if request.policy.unit == "queries":  # other results bring the weights along
        settings["query_weight"] = next(iter(results.values())).weight
    return compare_models(results | saved, **settings), source.origins | origins


def _read_result(file: str, policy: Mapping[str, Any]) -> Evaluation:
    """Return a saved result, or the values per query of another tool, which ``policy`` describes."""
    if not is_csv(Path(file)):
        try:
            return load_result(file)
        except LtrValueError as error:
            remedy = " --result reads files of --save, and tables that end in .csv or .tsv."
            raise LtrValueError(*error.parts, remedy) from None
    values = read_ids(Path(file), ["qid"])
    if "model" in values and values["model"].nunique() == 1:  # as 'evaluate --format csv' writes it
        values = values.drop(columns="model")
    with naming(file):
        return Evaluation.from_per_query(values, **policy)


def _evaluate(source: Source, request: Request) -> dict[str, Evaluation]:
    results = {}
    for name, scores in source.scores.items():
        with naming(name):
            results[name] = source.queries[name].evaluate_request(scores, request)
    return results


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
