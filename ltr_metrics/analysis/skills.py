"""The skill of the models of a comparison, and the difference of skills with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray
from ltr_metrics.analysis import inference
from ltr_metrics.errors import naming
from ltr_metrics.evaluation.means import mean
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.rounding import difference_of
from ltr_metrics.evaluation.skill import skill_of
from ltr_metrics.evaluation.tables import Part, Table

if TYPE_CHECKING:
    from ltr_metrics.analysis.comparison import Comparison, Difference

SKILL_COLUMNS = ["skill", "baseline_skill", "skill_difference", "skill_ci_low", "skill_ci_high"]
TABLE = {
    "metric": "{metric}",
    "model": "{model}",
    "chance": "{chance:.4f}",
    "ideal": "{ideal:.4f}",
    "baseline's skill": "{baseline_skill:.4f}",
    "skill": "{skill:.4f}",
    "difference": "{skill_difference:+.4f}",
    "interval": "[{skill_ci_low:+.4f}, {skill_ci_high:+.4f}]",
}


def shown_with_skill(name: str, result: Evaluation, skill: bool) -> Evaluation:
    """Return the result of a model, which shows its skill, or does not."""
    with naming(f"The result of {name!r}"):
        return result.with_skill() if skill else result.with_fields(shows_skill=False)


def with_skill(comparison: Comparison, rows: Iterable[Difference]) -> list[Difference]:
    """Return the rows with the skill of both models, and the difference with its interval.

    Both are over the queries for which both models have a value. The interval is that of a difference of two ratios of
    means, to first order: a query counts with what it adds to each ratio.
    """
    rows = list(rows)
    skills, columns = [], []
    for row in rows:
        of_models = comparison.evaluations[row.model], comparison.evaluations[row.baseline]
        both = ~np.isnan(comparison.differences(row.metric, row.model, row.baseline))
        model, baseline = (_column(one, row.metric, both) for one in of_models)
        skills.append([mean(one, comparison.weight) for one in (model, baseline)])
        columns.append(difference_of(model, baseline))
    with_ends = zip(rows, skills, *_intervals(comparison, columns), strict=True)
    return [
        replace(
            row,
            skill=skill,
            baseline_skill=of_baseline,
            skill_difference=skill - of_baseline,
            skill_ci_low=float(low),
            skill_ci_high=float(high),
        )
        for row, (skill, of_baseline), low, high in with_ends
    ]


def _column(result: Evaluation, metric: str, both: BoolArray) -> FloatArray:
    ends = (result.per_query, result.chance_per_query, result.ideal_per_query)
    return skill_of(*(np.where(both, end[metric], np.nan) for end in ends), result.weight)


def _intervals(comparison: Comparison, columns: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the interval of each column, as many columns at once as a resampling takes."""
    settings, n = comparison.settings, inference.columns_at_once(comparison.n_queries)
    resampling = settings.interval, settings.confidence, settings.n_resamples, settings.seed
    parts = [
        inference.intervals(comparison.sample(np.column_stack(columns[i : i + n]), comparison.weight), *resampling)
        for i in range(0, len(columns), n)
    ]
    low, high = zip(*parts, strict=True)
    return np.concatenate(low), np.concatenate(high)


def table_of_skill(comparison: Comparison) -> list[Part]:
    """Return a table of the skill of each model, and the notes on it."""
    rows = []
    for row in comparison.rows:
        result = comparison.evaluations[row.model]
        rows.append(vars(row) | {"chance": result.chance[row.metric], "ideal": result.ideal[row.metric]})
    notes = dict.fromkeys(note for one in comparison.evaluations.values() for note in one.skill_notes.values())
    return [Table.of(TABLE, rows, "Skill: 0 is a random order, 1 the ideal one"), *notes]
