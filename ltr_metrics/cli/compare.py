"""The command ``compare``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.analysis.comparison import compare as compare_models
from ltr_metrics.analysis.comparison.models import metrics_of
from ltr_metrics.analysis.gating import gate
from ltr_metrics.cli import options as of
from ltr_metrics.cli.comparison_formats import RENDERERS
from ltr_metrics.cli.inputs import Named, baseline_of, evaluated, files_read, named, names_of, refuse_rules, source_of
from ltr_metrics.cli.output import chosen_format, require_targets, status_of, write
from ltr_metrics.cli.progress import progress, step
from ltr_metrics.cli.sources import segments_by_count
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.saved import load_result
from ltr_metrics.metrics.requests import resolve

OF_DATA = ("docid", "weight", "cluster", "qrels", "topics", "n_features", "zero_based")


@click.command(cls=of.Command, short_help="Compare models with a baseline; gate a release.")
@of.options(of.DATA, of.RESULTS, of.FILES, of.METRICS, of.COMPARISON, of.GATE, of.output(*RENDERERS))
def compare(form: str | None, out: Path | None, rules: tuple[str, ...], gate_each_segment: bool, **given: Any) -> int:
    """Compare models with a baseline on the same queries, and gate a release.

    For each metric: the mean, the difference to the baseline with its interval and p-value, queries that gain and lose, and the smallest
    difference that so many queries would show. DATA as for evaluate; none if all models are saved results.

    \b
    Examples:
      ltr-metrics compare test.txt --model base=old.txt --model new=model.txt
      ltr-metrics compare test.parquet --result base=production.parquet \\
          --model new=model.txt --baseline base \\
          --gate "ndcg@10 > -0.005" --gate "share(ndcg@10 < -0.1) < 5%"
      ltr-metrics compare clicks.csv --scores base=s0 --scores new=s1 \\
          --cluster user --by device --gate "map > -0.01" --gate-each-segment
      ltr-metrics compare --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --format markdown
    """  # noqa: D301
    form, items = chosen_format(form, out, RENDERERS), named(given)
    require_targets(files_read(given, items), out)
    if len(items.names) < 2:
        raise LtrValueError("A comparison needs two models or more, named by --model, --scores, --run or --result.")
    baseline = baseline_of(given, items)
    refuse_rules(rules, items.names, baseline, each_segment=gate_each_segment)
    comparison, origins = _compared(given, items, baseline)
    for _, _, part in progress("Comparing in segments", comparison.segments()):
        _ = part.rows
    verdict = gate(comparison, rules, each_segment=gate_each_segment) if rules else None
    write(RENDERERS[form](comparison, origins, verdict), out, form)
    return status_of(verdict)


def _compared(given: dict[str, Any], items: Named, baseline: str | None) -> tuple[Comparison, dict[str, str]]:
    """Read, evaluate and compare; and say where each model comes from."""
    settings, metrics, policy = of.comparison_settings(given), names_of(given.pop("metrics")), of.policy(given)
    saved = {name: load_result(file) for name, file in progress("Reading results", items.results.items())}
    origins = {name: f"result {file}" for name, file in items.results.items()}
    if items.are_all_results:
        first = next(iter(saved))
        saved[first] = _in_segments(saved[first], given)
        return step(
            "Comparing", lambda: compare_models(saved, metrics=metrics, baseline=baseline, **policy, **settings)
        ), origins
    source = source_of(given, items)
    wanted: Any = metrics
    if metrics is None and saved:
        wanted = metrics_of(list(saved.values()))
    found = evaluated(source, resolve(wanted, **policy))
    settings |= {"cluster": source.cluster, "query_weight": next(iter(found.values())).weight}
    return step(
        "Comparing", lambda: compare_models(found | saved, baseline=baseline, **settings)
    ), source.origins | origins


def _in_segments(result: Evaluation, given: Mapping[str, Any]) -> Evaluation:
    """Return a saved result in the segments that were asked for, as far as it knows them."""
    if given["data"]:
        raise LtrValueError(
            "All models are saved results, so the DATA have no part in this: leave them out, or name scores or models."
        )
    superfluous = [f"--{name.replace('_', '-')}" for name in OF_DATA if given[name]]
    if superfluous:
        raise LtrValueError(f"{superfluous[0]} is about DATA, and all models are saved results: leave it out.")
    if not given["by"]:
        return result
    known = segments_by_count(result.n_documents, result.n_relevant) | result.segments
    absent = [name for name in given["by"] if name not in known]
    if absent:
        names = list(map(str, known))
        raise LtrKeyError(
            f"The saved result has no segments {absent[0]!r}.{did_you_mean(absent[0], names)} It has {', '.join(names)}; evaluate --by ... --save "
            "keeps others."
        )
    return replace(result, segments={name: known[name] for name in given["by"]})
