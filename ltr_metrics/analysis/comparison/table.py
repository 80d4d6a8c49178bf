"""The printed table of a comparison."""

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
    """Return a table of the differences, one for each segment, and a note on the columns."""
    parts = [_table(comparison["rows"])]
    for segment in comparison["segments"]:
        title = segment_title(segment["name"], segment["segment"])
        parts.append(_table(segment["rows"], f"{title}, {segment['n_queries']:,} queries"))
    return [*parts, Note(foot(comparison))]


def _table(rows: list[dict[str, Any]], title: str = "") -> Table:
    return Table(HEADER, list(map(cells, rows)), align="llr", title=title)


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of one difference's row."""
    return (
        row["metric"],
        row["model"],
        shown(row["baseline_mean"]),
        shown(row["mean"]),
        signed(row["difference"]),
        _interval(row),
        p_shown(row["p_value"]),
        p_shown(row["p_adjusted"]),
        signed(row["effect_size"], 2),
        f"{row['wins']:,}/{row['ties']:,}/{row['losses']:,}",
        shown(row["mde"]),
        f"{row['n_queries']:,}",
    )


def foot(comparison: dict[str, Any]) -> str:
    """Return the settings of a comparison and the meaning of its columns, in a few sentences."""
    lines = [_settings(comparison), *filter(None, [lower_is_better(comparison["rows"])])]
    if any(comparison["n_left_out"].values()):
        counts = ", ".join(f"{n:,} of {one_line(model)}" for model, n in comparison["n_left_out"].items())
        lines.append(f"Queries that not all models have are left out: {counts}.")
    if comparison["n_clusters"] is not None:
        lines.append(f"Resampled by cluster, {comparison['n_clusters']:,} of them{of_equal_size(comparison)}.")
    if comparison["weighted"]:
        lines += _without_weights(comparison)
    for model, seed_means in comparison["seeds"].items():
        n_seeds = len(next(iter(seed_means.values())))
        spread = ", ".join(f"{metric} {min(means):.4f} to {max(means):.4f}" for metric, means in seed_means.items())
        lines.append(
            f"{one_line(model)} is the mean of {n_seeds} seeds, whose means are {spread}. The intervals are for these "
            "seeds."
        )
    return "\n".join(lines)


def _settings(comparison: dict[str, Any]) -> str:
    settings = comparison["settings"]
    family = "the models of each metric" if settings["correction_over"] == "models" else "all metrics and models"
    correction = f"adjusted by {settings['correction']} over {family}"
    if settings["correction"] == "none":
        correction = "not corrected"
    return (
        f"Differences to {one_line(comparison['baseline'])} over {comparison['n_queries']:,} queries. "
        f"Interval: {100 * settings['confidence']:g}%, {INTERVALS[settings['interval']]}. "
        f"p: {TESTS[settings['test']]}, {correction}; {settings['n_resamples']:,} resamples, "
        f"random state {settings['seed']}. "
        f"+/=/-: queries that gain, stay, lose. mde: minimum detectable effect at {100 * settings['power']:g}% power; "
        "a non-significant result does not rule out smaller differences."
    )


def lower_is_better(rows: list[dict[str, Any]]) -> str:
    """Return a sentence that names the metrics of which lower is better; empty if none is."""
    names = dict.fromkeys(row["metric"] for row in rows if not row["higher_is_better"])
    return f"Lower is better for {', '.join(names)}." if names else ""


def _without_weights(comparison: dict[str, Any]) -> list[str]:
    """Return a line on the weights, and the unweighted differences."""
    units = "queries" if comparison["n_clusters"] is None else "clusters"
    lines = [f"Weighted by query: as good as {effective(comparison)} {units} of equal weight. Without weights:"]
    for row in comparison["rows"]:
        plain = row["plain"]
        difference = f"{signed(plain['difference'])} {_interval(plain)}, p {p_shown(plain['p_value'])}"
        lines.append(f"  {row['metric']} {one_line(row['model'])}: {difference}")
    return lines


def _interval(row: dict[str, Any]) -> str:
    return f"[{signed(row['ci_low'])}, {signed(row['ci_high'])}]"


def effective(comparison: dict[str, Any]) -> str:
    """Return the effective number of queries or clusters, as a range if rows differ."""
    numbers = [row["n_effective"] for row in comparison["rows"]]
    low, high = f"{min(numbers):,.0f}", f"{max(numbers):,.0f}"
    return low if low == high else f"{low} to {high}"


def of_equal_size(comparison: dict[str, Any]) -> str:
    """Return the effective number of clusters, if it is smaller and not given with the weights."""
    is_equal = min(row["n_effective"] for row in comparison["rows"]) > comparison["n_clusters"] - 0.5
    return "" if comparison["weighted"] or is_equal else f", as good as {effective(comparison)} of equal size"


def shown(value: float | None, digits: int = 4) -> str:
    """Return a number as text, or a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """Return a number with its sign as text, or a dash for None."""
    return "-" if value is None else f"{value:+.{digits}f}"


def p_shown(value: float | None) -> str:
    """Return a p-value as text, or a dash for None."""
    return "-" if value is None else "<.0001" if value < 0.00005 else f"{value:.4f}"
