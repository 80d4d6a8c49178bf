"""The command ``explain``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from ltr_metrics.analysis.explain import explain_difference_of
from ltr_metrics.cli import options as of
from ltr_metrics.cli.inputs import files_read, named, source_of
from ltr_metrics.cli.output import chosen_format, require_targets, write
from ltr_metrics.errors import one_line
from ltr_metrics.report.csv import in_csv


def _as_json(found: Mapping[str, Any]) -> str:
    return json.dumps({name: one.to_dict() for name, one in found.items()}, indent=2, allow_nan=False) + "\n"


def _as_csv(found: Mapping[str, Any]) -> str:
    tables = [one.to_pandas() for one in found.values()]
    for name, table in zip(found, tables, strict=True):
        table.insert(0, "model", name)
    return "".join(in_csv(table, header=i == 0) for i, table in enumerate(tables))


def _as_text(found: Mapping[str, Any]) -> str:
    return "\n\n".join(f"{one_line(name)}: {one}" for name, one in found.items()) + "\n"


RENDERERS: dict[str, Callable[[Mapping[str, Any]], str]] = {"text": _as_text, "json": _as_json, "csv": _as_csv}


@click.command(cls=of.Command)
@of.options(of.DATA, of.FILES, of.EXPLANATION, of.output(*RENDERERS))
def explain(form: str | None, out: Path | None, metric: str, a: Any, b: Any, **given: Any) -> None:
    """Explain why two systems give different numbers.

    A metric of one ranking is computed under two conventions, and the difference is shared among the choices that they make: ties, gain,
    queries without a relevant document, ... DATA as for evaluate.

    \b
    Examples:
      ltr-metrics explain test.txt --scores bm25=25 --metric ndcg@10 \\
          --from lightgbm --to trec_eval
      ltr-metrics explain test.csv --scores new=score --metric map \\
          --from default --to sklearn --format json
    """  # noqa: D301
    form, items, policy = chosen_format(form, out, RENDERERS), named(given), of.policy(given)
    require_targets(files_read(given, items), out)
    source = source_of(given, items)
    found = {
        name: explain_difference_of(source.queries[name], scores, metric=metric, a=a, b=b, **policy)
        for name, scores in source.scores.items()
    }
    write(RENDERERS[form](found), out, form)
