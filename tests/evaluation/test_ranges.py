"""Intervals are shown within the range of a metric, and the computed ends stay in the results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from strategies import random_data
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics.analysis.comparison import shown_row
from ltr_metrics.analysis.intervals import Interval
from ltr_metrics.cli.means import printed_means
from ltr_metrics.evaluation.ranges import UNBOUNDED, range_of, within
from ltr_metrics.evaluation.tables import as_text
from ltr_metrics.report import as_html, summarize
from ltr_metrics.report.plots.forest import ComparisonDisplay
from ltr_metrics.report.plots.lines import MetricOverKDisplay

HIGH = [1.0, 1.0, 1.0, 0.9, 1.0, 0.6, 1.0, 1.0]  # Student's t ends above 1
LOW = [0.0, 0.05, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0]  # and here below 0


def named(values: Any, name: str = "mrr", **options: Any) -> ltr.Evaluation:
    frame = {"qid": np.arange(len(values)), name: values}
    return ltr.Evaluation.from_per_query(frame, convention="default", **options)


@pytest.mark.parametrize("entry", TABLE, ids=str)
def test_no_value_is_outside_of_the_declared_range(entry: Entry) -> None:
    data = random_data(3)
    result = ltr.evaluate(
        entry.labels(data.y), data.score, group=data.group, metrics=entry.metrics(), columns=data.columns
    )
    for name, values in result.per_query.items():
        low, high = range_of(name)
        assert (low, high) != UNBOUNDED or name.startswith(("mean_of", "sum_of")), "without RANGE, nothing has a bound"
        defined = values[~np.isnan(values)]
        assert ((low <= defined) & (defined <= high)).all()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("ndcg_exp@10", HIGH, (0, 1)),
        ("spearman", [-0.5], (-1, 1)),
        ("dcg_exp@10", [3.0], (0, math.inf)),
        ("arp", [1.0], (1, math.inf)),
        ("mean_of(price)@3", [3.0], UNBOUNDED),
        ("revenue", [0.5], UNBOUNDED),  # of another tool
        ("mrr", [0.5, np.nan, -1.0], UNBOUNDED),  # as no_relevant=-1 makes it
        ("mrr", [np.nan, 1.0], (0, 1)),
    ],
)
def test_the_range_of_a_metric(name: str, values: list[float], expected: tuple[float, float]) -> None:
    assert range_of(name, values) == expected
    assert within([-2.0, np.nan, 5.0], (0.0, 1.0)).tolist()[::2] == [0, 1]


@pytest.mark.parametrize(("values", "shown"), [(HIGH, "1.0000]"), (LOW, "[0.0000")])
def test_the_interval_of_a_mean_is_printed_within_the_range(values: list[float], shown: str) -> None:
    table = ltr.intervals(named(values))
    row: Interval = table["mrr"]
    assert row.ci_high > 1 or row.ci_low < 0
    assert shown in str(table)
    assert shown in table._repr_html_()  # type: ignore[operator]
    plain = table.to_dict()["rows"][0]
    assert (plain["ci_low"], plain["ci_high"]) == (row.ci_low, row.ci_high)
    other = ltr.intervals(named([*values, -0.5], no_relevant=-0.5))
    assert f"{other.rows[0].ci_high:.4f}]" in str(other)  # a value is outside, so nothing is known


def test_differences_gates_and_leaderboards_are_shown_within_the_range() -> None:
    models = {"worst": named(LOW), "best": named(HIGH), "other": named(HIGH[::-1])}
    comparison = ltr.compare(models, n_resamples=400)
    row = comparison["mrr", "best"]
    assert row.ci_high > 1
    assert f"[{row.ci_low:+.4f}, +1.0000]" in str(comparison)
    assert shown_row(comparison, row).ci_high == 1
    assert comparison.to_dict()["rows"][0]["ci_high"] == row.ci_high
    (difference, mean) = ltr.gate(comparison, ["best: mrr < 0.5", "best: mean(mrr) < 0.5"]).checks
    assert difference.bound == row.ci_high
    assert "to +1.000000" in difference.reason
    assert mean.bound > 1
    assert "to 1.000000" in mean.reason
    assert max(one.ci_high for one in comparison.leaderboard.rows) > 1
    assert "1.0000]" in str(comparison.leaderboard)
    display = ComparisonDisplay.from_comparison(comparison)
    assert display.rows[0].points["best"].high == 1


def test_pictures_and_the_report_stay_within_the_range() -> None:
    y, score = [1, 0] * 8, [1.0, 0.0] * 7 + [0.0, 1.0]
    queries = ltr.Queries(y, group=[2] * 8, by=["a", "b"] * 4)
    result = queries.evaluate(score, ["mrr@1", "mrr@2"])
    curves = MetricOverKDisplay.from_result(result, "mrr@2")
    assert max(curves.curves[""].high) > 1
    assert max(curves.shown[""].high) == 1
    report = summarize(queries, {"m": score}, ["mrr@2"], intervals_of_means={})
    assert report.to_dict()["means"][0]["ci_high"] > 1
    assert "1.0000]" in as_html(report)
    assert "1.0000]" in as_text(printed_means(report)[1])
