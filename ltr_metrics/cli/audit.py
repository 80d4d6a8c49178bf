"""The subcommand ``audit``."""

from __future__ import annotations

from collections.abc import Callable

from ltr_metrics.analysis.audit import Audit, audit_of
from ltr_metrics.cli import options
from ltr_metrics.cli.data import Source, read_source, requested_metrics
from ltr_metrics.cli.output import Output, in_json
from ltr_metrics.errors import one_line
from ltr_metrics.metrics.requests import Request, resolve


def _as_text(audits: list[Audit]) -> str:
    if len(audits) == 1:
        return f"{audits[0]}\n"
    return "\n\n".join(f"{one_line(name)}: {audit}" for audit in audits for name in audit.models) + "\n"


def _as_json(audits: list[Audit]) -> str:
    """Return the audit; runs with different documents have the facts of their own data."""
    values = audits[0].to_dict()
    if len(audits) > 1:
        models = {
            name: {"data": audit.data.to_dict()} | model
            for audit in audits
            for name, model in audit.to_dict()["models"].items()
        }
        values |= {"data": None, "models": models}
    return in_json(values)


RENDERERS: dict[str, Callable[[list[Audit]], str]] = {"text": _as_text, "json": _as_json}


@options.subcommand(
    "Check data and scores for ties and missing judgments.",
    RENDERERS,
    without=("ties", "by", "skill", "is_spreadsheet_safe", "is_wide"),
    k=options.metric_option(
        "-k --cutoff", "Report the share of judged documents among the first K.", "K", type=options.COUNT, default=10
    ),
)
def audit(inputs: options.Inputs, metrics: options.Metrics, k: int, output: Output) -> None:
    """Check data and scores before you trust the value of a metric.

    For the data, the audit counts the queries without a relevant document, the queries with only
    relevant documents and those with a single document. It also counts the documents of each grade,
    the unjudged documents and, with --docid, the documents that are repeated in a query. For each
    model, it counts queries with ties, and it evaluates the metrics with the worst, mean, best and
    stable order of ties. With --qrels, each run retrieves its own documents and has its own audit.

    DATA are described in 'ltr-metrics evaluate --help'.

    \b
    Examples:
      ltr-metrics audit test.txt --scores bm25=25 --model new=model.txt
      ltr-metrics audit scores.parquet --scores base=s0 --scores new=s1 \\
          -m ndcg@10,map --output audit.json
      ltr-metrics audit --qrels qrels.txt --run bm25=run.txt -k 20
    """  # noqa: D301
    output = output.checked(RENDERERS, [*inputs.files(), *metrics.files()])
    request = resolve(requested_metrics(metrics), **metrics.policy())
    source = read_source(inputs, can_repeat_documents=True)
    output.write(RENDERERS[output.form](_audit(source, request, k)))


def _audit(source: Source, request: Request, k: int) -> list[Audit]:
    """Return one audit if all models share their queries, or else one for each model."""
    groups = [list(source.scores)] if len(set(map(id, source.queries.values()))) == 1 else [[n] for n in source.scores]
    return [audit_of(source.queries, {name: source.scores[name] for name in names}, request, k) for names in groups]
