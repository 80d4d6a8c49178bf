"""The skill of the models of a comparison, and the difference of skills with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import BoolArray, FloatArray
from ltr_metrics.analysis.inference import Sample, columns_at_once
from ltr_metrics.analysis.settings import IntervalSettings, intervals_of
from ltr_metrics.errors import naming
from ltr_metrics.evaluation.differences import difference_of
from ltr_metrics.evaluation.means import mean
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.skill import skill_of
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


def skills_of(
    pairs: Iterable[tuple[str, Evaluation, Evaluation]], settings: IntervalSettings, sample: Callable[..., Sample]
) -> list[dict[str, Any]]:
    """Return the fields of a `Difference` that are about skill, for a metric, a model and its baseline each.

    Both skills are over the queries for which both models have a value. The interval is that of a difference of two
    ratios of means, to first order: a query counts with what it adds to each ratio. ``sample`` makes one of columns.
    """
    columns, skills = [], []
    for metric, model, baseline in pairs:
        both = ~np.isnan(model.per_query[metric] - baseline.per_query[metric])
        of_model, of_baseline = (_column(one, metric, both) for one in (model, baseline))
        skills.append((mean(of_model, model.weight), mean(of_baseline, model.weight)))
        columns.append(difference_of(of_model, of_baseline))
    n = columns_at_once(len(columns[0]))
    parts = [intervals_of(sample(np.column_stack(columns[i : i + n])), settings) for i in range(0, len(columns), n)]
    ends = np.concatenate([np.column_stack(part) for part in parts]).tolist()
    return [
        dict(zip(SKILL_COLUMNS, (skill, of_baseline, skill - of_baseline, *interval), strict=True))
        for (skill, of_baseline), interval in zip(skills, ends, strict=True)
    ]


def _column(result: Evaluation, metric: str, both: BoolArray) -> FloatArray:
    ends = (result.per_query, result.chance_per_query, result.ideal_per_query)
    value, chance, ideal = (np.where(both, end[metric], np.nan) for end in ends)
    return skill_of(value, chance, ideal, result.weight)


def table_of_skill(rows: Iterable[Any], evaluations: Mapping[str, Evaluation]) -> list[TableOrText]:
    """Return a table of the skill of each model, and the notes on it."""
    of_models = [(vars(row), evaluations[row.model], row.metric) for row in rows]
    cells = [row | {"chance": one.chance[metric], "ideal": one.ideal[metric]} for row, one, metric in of_models]
    notes = dict.fromkeys(note for one in evaluations.values() for note in one.skill_notes.values())
    return [Table.of(TABLE, cells, "Skill: 0 is a random order, 1 the ideal one"), *notes]
