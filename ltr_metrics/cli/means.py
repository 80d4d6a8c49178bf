"""What ``evaluate`` prints: facts about the data, and tables of the means and of the segments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ltr_metrics._rows.json_values import segment_title
from ltr_metrics.analysis.intervals import shown_interval
from ltr_metrics.errors import one_line
from ltr_metrics.evaluation.result import SKILL_COLUMNS
from ltr_metrics.evaluation.tables import CELLS, Table, TableOrText
from ltr_metrics.report.report import QUANTILES, Report
from ltr_metrics.report.sections import settings_of

MAX_SEGMENTS = 100
MAX_GRADES = 10
MEANS = {
    "metric": "{metric}",
    "model": "{model}",
    "mean": "{mean:.4f}",
    "interval": "[{ci_low:.4f}, {ci_high:.4f}]",
    **{name: f"{{{name}:.4f}}" for name in SKILL_COLUMNS},
    "interval of skill": "[{skill_ci_low:.4f}, {skill_ci_high:.4f}]",
    **{f"q{100 * level:g}": f"{{q{100 * level:g}:.4f}}" for level in QUANTILES},
    "queries": "{n_queries:,}",
    "left out": "{n_undefined:,}",
}
NOTE = "q5 ... q95: quantiles over queries, without weights. left out: queries for which the metric is undefined."


def printed_means(report: Report) -> list[TableOrText]:
    """Return what is printed of a report without a comparison."""
    facts = "\n".join(f"{one_line(name)}: {one_line(fact)}" for name, fact in _facts(report).items())
    return [facts, _means(report), *_segments(report)]


def _facts(report: Report) -> dict[str, str]:
    """Return the facts about the data, and the options of the evaluation."""
    facts = {"Data": report.source} if report.source else {}
    if report.data is not None:
        documents, grades = report.data.documents_a_query, report.data.grades
        counts = " | ".join(f"{grade:g}: {count:,}" for grade, count in grades.items())
        facts |= {
            "Rows": f"{report.data.n_rows:,}",
            "Queries": f"{report.data.n_queries:,}, {report.data.n_no_relevant:,} without a grade of 1 or more",
            "Documents": f"{documents['min']:,} to {documents['max']:,} per query, median {documents['median']:,g}",
            "Grades": counts if len(grades) <= MAX_GRADES else f"{len(grades)} different grades",
        }
    return facts | settings_of(report)


def _means(report: Report) -> Table:
    """Return a row for each metric and model."""
    first, estimates = report.first, report.intervals
    hidden = [name for name in MEANS if "interval" in name and not estimates]
    hidden += [name for name in MEANS if name in (*SKILL_COLUMNS, "interval of skill") and not first.shows_skill]
    of_lower = f" Lower is better for {', '.join(sorted(first.lower_is_better))}." if first.lower_is_better else ""
    notes = [f"{NOTE}{of_lower}"]
    if first.shows_skill:
        notes += dict.fromkeys(note for one in report.evaluations.values() for note in one.skill_notes.values())
    if estimates:
        notes.append(next(iter(estimates.values())).description)
    rows = report.means()
    for row in rows if estimates else []:
        one = estimates[row["model"]]
        row |= {end: getattr(shown_interval(one, one[row["metric"]]), end) for end in ("ci_low", "ci_high")}
    title = f"{'Weighted mean' if first.is_weighted else 'Mean'} and quantiles over queries"
    return Table.of({name: MEANS[name] for name in MEANS if name not in hidden}, rows, title, "\n".join(notes))


def _segments(report: Report) -> Iterator[Table]:
    """Yield the means of the largest segments, and their skill."""
    segments: dict[tuple[Any, Any], list[tuple[str, dict[str, Any]]]] = {}
    for model, result in report.evaluations.items():
        for part in result.segments_to_dicts():
            segments.setdefault((part["name"], part["segment"]), []).append((model, part))
    if not segments:
        return
    largest = set(sorted(segments, key=lambda segment: -segments[segment][0][1]["n_queries"])[:MAX_SEGMENTS])
    shown = [
        (segment_title(*segment), model, part)
        for segment, models in segments.items()
        if segment in largest
        for model, part in models
    ]
    metrics = list(report.first)
    rows = [[title, model, f"{part['n_queries']:,}", *_numbers(part["mean"], metrics)] for title, model, part in shown]
    note = f"These are the {MAX_SEGMENTS} largest of {len(segments):,} segments. JSON has all of them."
    foot = note if len(segments) > MAX_SEGMENTS else ""
    yield Table(["segment", "model", "queries", *metrics], rows, "llr", "Means by segment", foot)
    if report.first.shows_skill:
        rows = [[title, model, *_numbers(part["skill"], metrics)] for title, model, part in shown]
        yield Table(["segment", "model", *metrics], rows, "llr", "Skill: 0 is a random order, 1 the ideal one")


def _numbers(values: dict[str, Any], metrics: list[str]) -> list[str]:
    return [CELLS.format_field(values[metric], ".4f") for metric in metrics]
