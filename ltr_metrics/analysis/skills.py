"""The skill of the models of a comparison, and the difference of skills with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics.analysis.inference import Sample, interval_of_difference_of_ratios
from ltr_metrics.errors import naming
from ltr_metrics.evaluation.limits import Limits
from ltr_metrics.evaluation.means import mean
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.skill import ratio_of_skill, skill_of
from ltr_metrics.evaluation.tables import Table, TableOrText

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


def skill_numbers(
    metric: str, one: Evaluation, other: Evaluation, sample: Callable[[FloatArray], Sample], confidence: float
) -> tuple[float, ...]:
    """Return the skill of two results over the queries for which both have a value, the difference, and its interval.

    ``sample`` makes a sample of columns of values per query.
    """
    is_known = ~np.isnan(one.per_query[metric] + other.per_query[metric])
    skills, samples = [], []
    for result in (one, other):
        ends = (result.per_query, result.chance_per_query, result.ideal_per_query)
        value, chance, ideal = (np.where(is_known, end[metric], np.nan) for end in ends)
        skills.append(mean(skill_of(value, chance, ideal, result.weight), result.weight))
        samples.append([sample(of[:, np.newaxis]) for of in ratio_of_skill(value, chance, ideal)])
    limits = Limits()
    if not np.isnan(skills).any():
        limits = interval_of_difference_of_ratios(samples[0], samples[1], confidence)
    return skills[0], skills[1], skills[0] - skills[1], limits.low, limits.high


def table_of_skill(rows: Iterable[Any], evaluations: Mapping[str, Evaluation]) -> list[TableOrText]:
    """Return a table of the skill of each model, and the notes on it."""
    of_models = [(vars(row), evaluations[row.model], row.metric) for row in rows]
    cells = [row | {"chance": one.chance[metric], "ideal": one.ideal[metric]} for row, one, metric in of_models]
    notes = dict.fromkeys(note for one in evaluations.values() for note in one.skill_notes.values())
    return [Table.of(TABLE, cells, "Skill: 0 is a random order, 1 the ideal one"), *notes]
