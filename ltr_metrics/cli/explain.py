"""The subcommand ``explain``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ltr_metrics.analysis.explain import explain_difference
from ltr_metrics.analysis.identify import identify_convention
from ltr_metrics.cli import options
from ltr_metrics.cli.data import read_source
from ltr_metrics.cli.output import Output, in_json
from ltr_metrics.errors import naming, one_line
from ltr_metrics.report.csv import in_csv


def _as_text(name: str, explanation: Any, output: Output) -> str:
    """Return an explanation that begins with the name of its model."""
    first, *others = explanation.printed()
    named = f"{one_line(name)}: {first if isinstance(first, str) else first.title}"
    return output.in_tables([named if isinstance(first, str) else first._replace(title=named), *others])


def _as_json(explanations: Mapping[str, Any]) -> str:
    values = {name: explanation.to_dict() for name, explanation in explanations.items()}
    return in_json(values)


def _as_csv(explanations: Mapping[str, Any]) -> str:
    tables = [explanation.to_pandas() for explanation in explanations.values()]
    for name, table in zip(explanations, tables, strict=True):
        table.insert(0, "model", name)
    return "".join(in_csv(table, header=i == 0) for i, table in enumerate(tables))


FORMATS = ("text", "json", "csv")


@options.subcommand(
    "Explain why two systems give different numbers.",
    FORMATS,
    without=("metrics", "metrics_module", "convention", "by", "skill", "is_wide", "is_sorted"),
    metric=options.metric_option(
        "-m --metrics --metric", "Explain this metric, such as ndcg@10.", "NAME", required=True
    ),
    a=options.metric_option(
        "--from", f"Start from the value under this convention: {options.CONVENTION_NAMES}.", "NAME"
    ),
    b=options.metric_option("--to", "Explain the change to the value under this convention.", "NAME"),
    value=options.metric_option(
        "--value", "Find the conventions that give this value, within half a unit of its last digit.", "NUMBER"
    ),
)
def explain(
    inputs: options.Inputs, metric: str, a: Any, b: Any, value: str | None, policy: options.Metrics, output: Output
) -> None:
    """Explain why two systems give different numbers for the same ranking.

    With --from and --to, the command computes a metric under two conventions. It divides the
    difference among the choices in which the conventions differ, such as the order of ties, the
    gain, or queries without a relevant document. All choices are listed by
    'ltr-metrics metrics --format json'.

    With --value, it finds the conventions under which the metric has this value, as they are or
    with one changed choice, the nearest first.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics explain test.txt --scores bm25=25 --metric ndcg@10 \\
          --from lightgbm --to trec_eval
      ltr-metrics explain test.txt --scores bm25=25 --metric ndcg@10 \\
          --value 0.4117
      ltr-metrics explain test.csv --scores new=score --metric map \\
          --from default --to sklearn --format json
    """  # noqa: D301
    output = output.checked(FORMATS, inputs.files())
    _require_one_question(a, b, value)
    source = read_source(inputs)
    explanations: dict[str, Any] = {}
    for name, scores in source.scores.items():
        queries = source.queries[name]
        with naming(name):
            if value is None:
                explanations[name] = explain_difference(
                    queries, scores, metric=metric, a=a, b=b, ties=policy.ties, no_relevant=policy.no_relevant
                )
            else:
                explanations[name] = identify_convention(queries, scores, metric=metric, value=value)
    if output.form == "json":
        output.write(_as_json(explanations))
    elif output.form == "csv":
        output.write(_as_csv(explanations))
    else:
        output.write("\n".join(_as_text(name, one, output) for name, one in explanations.items()))


def _require_one_question(a: Any, b: Any, value: str | None) -> None:
    """Raise an error unless there are either two conventions or a value."""
    if value is None and (a is None or b is None):
        raise click.UsageError("Give --from and --to, or --value.")
    if value is not None:
        options.refuse(("a", "b", "ties", "no_relevant"), "does not go with --value, which tries all conventions.")
