"""A comparison as text."""

from __future__ import annotations

from typing import Any

from ltr_metrics._engine.plain import segment_title
from ltr_metrics._engine.printed import Note, Table
from ltr_metrics.errors import one_line

TESTS = {
    "randomization": "paired randomization test",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
}
INTERVALS = {
    "wider": "the wider of BCa bootstrap and Student's t",
    "bca": "BCa bootstrap",
    "percentile": "percentile bootstrap",
    "t": "Student's t",
}
HEADER = (
    "metric",
    "model",
    "baseline",
    "mean",
    "difference",
    "interval",
    "p",
    "adjusted",
    "effect",
    "+/=/-",
    "mde",
    "queries",
)


def printed(comparison: dict[str, Any]) -> list[Table | Note]:
    """Return a table with a line for each metric and model, one of segments if there are any, and what the columns are."""
    parts = [_table(comparison["rows"])]
    for segment in comparison["segments"]:
        title = segment_title(segment["name"], segment["segment"])
        parts.append(_table(segment["rows"], f"{title}, {segment['n_queries']:,} queries"))
    return [*parts, Note(foot(comparison))]


def _table(rows: list[dict[str, Any]], title: str = "") -> Table:
    return Table(HEADER, list(map(cells, rows)), align="llr", title=title)


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the shown values of one difference."""
    return (
        row["metric"],
        row["model"],
        shown(row["baseline_mean"]),
        shown(row["mean"]),
        signed(row["difference"]),
        f"[{signed(row['ci_low'])}, {signed(row['ci_high'])}]",
        p_shown(row["p_value"]),
        p_shown(row["p_adjusted"]),
        signed(row["effect_size"], 2),
        f"{row['wins']:,}/{row['ties']:,}/{row['losses']:,}",
        shown(row["mde"]),
        f"{row['n_queries']:,}",
    )


def foot(comparison: dict[str, Any]) -> str:
    """Return what was done, in a sentence or two."""
    settings = comparison["settings"]
    over = "the models of each metric" if settings["correction_over"] == "models" else "all metrics and models"
    corrected = (
        "not corrected" if settings["correction"] == "none" else f"adjusted by {settings['correction']} over {over}"
    )
    sentences = (
        f"Differences to {one_line(comparison['baseline'])} over {comparison['n_queries']:,} queries.",
        f"Interval: {100 * settings['confidence']:g}%, {INTERVALS[settings['interval']]}.",
        f"p: {TESTS[settings['test']]}, {corrected}; {settings['n_resamples']:,} resamples, random state {settings['seed']}.",
        "+/=/-: queries that gain, stay, lose.",
        f"mde: the difference that so many queries would show with {100 * settings['power']:g}% power.",
    )
    lines = [" ".join(sentences)]
    if comparison["n_clusters"] is not None:
        lines.append(f"Resampled by cluster, {comparison['n_clusters']:,} of them{of_equal_size(comparison)}.")
    if comparison["weighted"]:
        unit = "queries" if comparison["n_clusters"] is None else "clusters"
        lines.append(f"Weighted by query: as good as {effective(comparison)} {unit} of equal weight. Without weights:")
        for row in comparison["rows"]:
            plain = row["plain"]
            lines.append(
                f"  {row['metric']} {one_line(row['model'])}: {signed(plain['difference'])} [{signed(plain['ci_low'])}, {signed(plain['ci_high'])}], "
                f"p {p_shown(plain['p_value'])}"
            )
    for model, of_metric in comparison["seeds"].items():
        n_seeds = len(next(iter(of_metric.values())))
        spread = ", ".join(f"{metric} {min(means):.4f} to {max(means):.4f}" for metric, means in of_metric.items())
        lines.append(
            f"{one_line(model)} is the mean of {n_seeds} seeds, whose means are {spread}. The intervals are of these seeds."
        )
    return "\n".join(lines)


def effective(comparison: dict[str, Any]) -> str:
    """Return the effective number of queries or clusters, from the least to the most of all rows."""
    numbers = [row["n_effective"] for row in comparison["rows"]]
    least, most = f"{min(numbers):,.0f}", f"{max(numbers):,.0f}"
    return least if least == most else f"{least} to {most}"


def of_equal_size(comparison: dict[str, Any]) -> str:
    """Return how many clusters of equal size would tell as much, if that is fewer and not said with the weights."""
    as_many = min(row["n_effective"] for row in comparison["rows"]) > comparison["n_clusters"] - 0.5
    return "" if comparison["weighted"] or as_many else f", as good as {effective(comparison)} of equal size"


def shown(value: float | None, digits: int = 4) -> str:
    """Return a number, or a dash for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """Return a number with its sign, or a dash for none."""
    return "-" if value is None else f"{value:+.{digits}f}"


def p_shown(value: float | None) -> str:
    """Return a p-value as people write it."""
    return "-" if value is None else "<.0001" if value < 0.00005 else f"{value:.4f}"
