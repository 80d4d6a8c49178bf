"""The command ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_metrics.cli import options as of
from ltr_metrics.cli.evaluate import RENDERERS as OF_EVALUATION
from ltr_metrics.cli.inputs import baseline_of, files_read, named, names_of, refuse_rules, source_of
from ltr_metrics.cli.online import online_of
from ltr_metrics.cli.output import chosen_format, require_targets, status_of, write
from ltr_metrics.cli.progress import step
from ltr_metrics.errors import LtrValueError
from ltr_metrics.report import summarize
from ltr_metrics.report.html import as_html

RENDERERS = OF_EVALUATION | {"html": as_html}


@click.command(cls=of.Command, short_help="Write a report to read and pass on, in one HTML file.")
@of.options(of.DATA, of.FILES, of.METRICS, of.COMPARISON, of.GATE, of.ONLINE, of.output(*RENDERERS))
def report(form: str | None, out: Path | None, rules: tuple[str, ...], gate_each_segment: bool, **given: Any) -> int:
    """Write a report to read and pass on: one HTML file that needs no network.

    Means and quantiles, the comparison with the baseline where there are two models or more, the queries that gain and lose most, the metric
    over the cutoff, segments, churn, and an audit of ties and judgements; with --interleave and --clicks, which model simulated users prefer.
    DATA as for evaluate. Other formats have the tables; csv has the values of each query.

    \b
    Examples:
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --output report.html
      ltr-metrics report scores.parquet --scores base=s0 --scores new=s1 \\
          --segment device --segment n_relevant --output report.html
      ltr-metrics report --qrels qrels.txt --run bm25=bm25.run \\
          --run new=new.run --topics qrels --output report.md
      ltr-metrics report test.txt --model base=old.txt --model new=model.txt \\
          --interleave ppm --clicks informational:3 --output report.html
    """  # noqa: D301
    form, items = chosen_format(form, out, RENDERERS), named(given)
    if form == "html" and out is None:
        raise LtrValueError("HTML is for a file, which is written whole or not at all: --output report.html.")
    require_targets(files_read(given, items), out)
    baseline = baseline_of(given, items)
    refuse_rules(rules, items.names, baseline, each_segment=gate_each_segment)
    metrics, policy, settings = names_of(given.pop("metrics")), of.policy(given), of.comparison_settings(given)
    online = online_of(given, items, form, settings["random_state"])
    source = source_of(given, items)
    made = step(
        "Evaluating and comparing",
        lambda: summarize(
            source.queries,
            source.scores,
            metrics,
            baseline=baseline,
            comparing=settings | {"cluster": source.cluster},
            rules=rules,
            each_segment=gate_each_segment,
            complete=True,
            online=online,
            source=source.description,
            origins=source.origins,
            **policy,
        ),
    )
    write(step("Rendering", lambda: RENDERERS[form](made)), out, form)
    return status_of(made.gate)
