"""The subcommand ``explain``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from ltr_metrics.analysis.explain import explain_difference_of
from ltr_metrics.cli import options
from ltr_metrics.cli.inputs import input_files, parse_models
from ltr_metrics.cli.output import Output, require_targets
from ltr_metrics.cli.sources import read_source
from ltr_metrics.errors import one_line
from ltr_metrics.report.csv import in_csv


def _as_text(explanations: Mapping[str, Any]) -> str:
    return "\n\n".join(f"{one_line(name)}: {explanation}" for name, explanation in explanations.items()) + "\n"


def _as_json(explanations: Mapping[str, Any]) -> str:
    plain = {name: explanation.to_dict() for name, explanation in explanations.items()}
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def _as_csv(explanations: Mapping[str, Any]) -> str:
    tables = [explanation.to_pandas() for explanation in explanations.values()]
    for name, table in zip(explanations, tables, strict=True):
        table.insert(0, "model", name)
    return "".join(in_csv(table, header=i == 0) for i, table in enumerate(tables))


RENDERERS: dict[str, Callable[[Mapping[str, Any]], str]] = {"text": _as_text, "json": _as_json, "csv": _as_csv}


@click.command(cls=options.Command, short_help="Explain why two systems give different numbers.")
@options.add_options(options.MODELS, options.DATA, options.EXPLANATION, options.output_options(*RENDERERS))
def explain(metric: str, a: Any, b: Any, **arguments: Any) -> None:
    """Explain why two systems give different numbers for the same ranking.

    The command computes a metric under two conventions. It divides the difference among the
    choices in which the conventions differ, such as the order of ties, the gain, or queries
    without a relevant document. All choices are listed by 'ltr-metrics metrics'.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics explain test.txt --scores bm25=25 --metric ndcg@10 \\
          --from lightgbm --to trec_eval
      ltr-metrics explain test.csv --scores new=score --metric map \\
          --from default --to sklearn --format json
    """  # noqa: D301
    output, specs = Output.from_arguments(arguments, RENDERERS), parse_models(arguments)
    require_targets(input_files(arguments, specs), output)
    source, policy = read_source(arguments, specs), options.policy(arguments)
    explanations = {
        name: explain_difference_of(source.queries[name], scores, metric=metric, a=a, b=b, **policy)
        for name, scores in source.scores.items()
    }
    output.write(RENDERERS[output.format](explanations))
