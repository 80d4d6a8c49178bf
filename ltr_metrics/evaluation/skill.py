"""The chance level and the ideal of each metric, and the skill: where the value is between the two.

The skill is (value - chance) / (ideal - chance), where each of the three is the mean of one request over the same
queries (Murphy, Monthly Weather Review 1988). Chance is the mean over all orders of the ranked documents, and the ideal
the best value that any scores can reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.cache import newest_cached
from ltr_metrics._rows.checks import BoolArray, FloatArray, IntArray
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.best_order import (
    best_sums,
    is_function_of_user,
    merits_declared,
    merits_of_grades,
)
from ltr_metrics.evaluation.means import mean, means
from ltr_metrics.evaluation.ranges import SAME, difference_of
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.order import PairAccuracy
from ltr_metrics.metrics.requests import Request, declared_sums, sums_and_functions

CHANCE, IDEAL = "chance:", "ideal:"  # what precedes the names of metrics in tables of values per query
NOT_DECLARED = (  # reasons
    "its best order does not follow from what it declares. It does for sums of gains, and for precisions and cascades "
    "whose weights fall from rank to rank."
)
IS_FUNCTION = (
    "its best order is not known, because it is a function of the ranked documents. A subclass of RankMetric that "
    "declares its values has a chance level."
)
LITTLE = 0.1  # of the larger of chance and ideal: with less between them, a value says little


class ScaleValues(NamedTuple):
    """The two ends for each query, by metric, and why some metrics have none.

    The ends are NaN where the metric is undefined. A number that fills in for such a query is also that of both ends.
    """

    chance: Mapping[str, FloatArray]
    ideal: Mapping[str, FloatArray]
    reasons: Mapping[str, str]


@dataclass(eq=False, repr=False)
class SkillScale:
    """The values for a random and for the ideal order of each query's documents, computed when they are first used.

    Until then it keeps the queries. A copy for another process has the values only if they no longer need the labels:
    if they were computed or read, or are parts or means of such values (``sources``).
    """

    _compute: Callable[[], ScaleValues]
    _sources: Sequence[SkillScale] | None = None
    _values: ScaleValues | None = None

    @classmethod
    def of_values(cls, *values: Mapping[str, Any]) -> SkillScale:
        """Return the scale with these values."""
        return cls(lambda: ScaleValues(*values), ())

    @classmethod
    def of_table(
        cls, per_query: Mapping[str, FloatArray], chance: Mapping[str, FloatArray], ideal: Mapping[str, FloatArray]
    ) -> SkillScale:
        """Return the scale of a table, which has both ends wherever it has a value, unless the metric has none."""
        lacks = {name: np.isnan(chance[name] + ideal[name]) & ~np.isnan(of) for name, of in per_query.items()}
        reasons = {
            name: "the table has none for some queries." for name, is_lacking in lacks.items() if is_lacking.any()
        }
        return cls.of_values(chance, ideal, reasons)

    @classmethod
    def concat(cls, parts: Sequence[SkillScale]) -> SkillScale:
        """Return the scale of the queries of all parts."""
        return cls(lambda: _merged([part.values for part in parts], np.concatenate), parts)

    @classmethod
    def mean_of(cls, runs: Sequence[SkillScale]) -> SkillScale:
        """Return the mean of several scales of the same queries, which may rank different documents."""
        return cls(lambda: _merged([run.values for run in runs], lambda arrays: np.mean(arrays, axis=0)), runs)

    @property
    def values(self) -> ScaleValues:
        """The two ends of each query."""
        values = self._values
        if values is None:
            values = self._values = self._compute()
            self._compute, self._sources = _is_gone, None  # so that the queries are not kept
        return values

    def take(self, chosen: BoolArray | IntArray) -> SkillScale:
        """Return the scale of the queries of a mask or of positions."""

        def compute() -> ScaleValues:
            return ScaleValues(
                {name: values[chosen] for name, values in self.values.chance.items()},
                {name: values[chosen] for name, values in self.values.ideal.items()},
                self.values.reasons,
            )

        return SkillScale(compute, [self])

    @property
    def is_known(self) -> bool:
        """Whether no labels are needed: the values are computed, or those that they are made of."""
        return self._values is not None or (self._sources is not None and all(one.is_known for one in self._sources))

    def __getstate__(self) -> dict[str, Any]:
        return {"_compute": _is_gone, "_sources": None, "_values": self.values if self.is_known else None}


def _is_gone() -> ScaleValues:
    raise LtrValueError(
        "The labels of this result are not here, because it is a copy, such as from another process. Evaluate with "
        "skill=True, which copies keep."
    )


def _merged(parts: Sequence[ScaleValues], merge: Callable[[list[FloatArray]], FloatArray]) -> ScaleValues:
    chance, ideal = (
        {name: merge([getattr(part, end)[name] for part in parts]) for name in parts[0].chance}
        for end in ("chance", "ideal")
    )
    return ScaleValues(chance, ideal, {name: why for part in parts for name, why in part.reasons.items()})


# -- the two ends -----------------------------------------------------------------------------------------------------


@newest_cached
def scale_of(queries: LabelledQueries, request: Request) -> ScaleValues:
    """Return both ends of all metrics, with NaN for a metric that has none."""
    # In a random order nothing is tied, so what half of the pairs are worth does not matter.
    metrics = tuple(replace(one, tied=0.5) if isinstance(one, PairAccuracy) else one for one in request.metrics)
    chance, ideal = ends = np.empty((2, len(metrics), queries.n_queries))
    reasons: dict[int, str] = {}
    _write_ends_of_sums(queries, metrics, chance, ideal, reasons)
    for position, metric in sums_and_functions(metrics)[1]:
        if is_function_of_user(metric):
            reasons[position] = IS_FUNCTION
        else:
            chance[position], ideal[position] = _ends_of_function(queries, metric)
    for position in np.flatnonzero(np.isinf(ends).any(axis=(0, 2))).tolist():
        reasons.setdefault(position, "it is infinite for some orders.")
    ends[:, list(reasons)] = np.nan
    by_name = [dict(zip(request.names, end, strict=True)) for end in (chance, ideal)]
    return ScaleValues(by_name[0], by_name[1], {request.names[at]: reason for at, reason in reasons.items()})


def _write_ends_of_sums(
    queries: LabelledQueries,
    metrics: tuple[Metric, ...],
    chance: FloatArray,
    ideal: FloatArray,
    reasons: dict[int, str],
) -> None:
    """Write both ends of the metrics that the compiled core adds up, or why they have none."""
    by_grade = []
    for sum_, struct in zip(sums_and_functions(metrics)[0], declared_sums(queries, metrics)[0].structs, strict=True):
        metric = sum_.metrics[0]
        declaration = metric.declaration(queries, tuple(sum_.cutoffs))
        merits, is_of_rows = merits_declared(metric, declaration), declaration.by_row is not None
        if merits is not None and not is_of_rows and (merits[2:] >= merits[1:-1]).all():
            by_grade.append(struct)
            continue
        alone = native.Sums([struct])
        native.evaluate(queries, np.zeros(queries.n_rows), "mean", alone, chance, n_threads=None)  # one tie of all
        if merits is not None:
            scores = merits if is_of_rows else merits[queries.grade_index]
            native.evaluate(queries, scores, "stable", alone, ideal, n_threads=None)
        elif declaration.kind == "gains":
            ideal[sum_.positions] = best_sums(metric, declaration, queries)
        else:
            reasons |= dict.fromkeys(sum_.positions, NOT_DECLARED)
    if by_grade:
        native.evaluate(queries, None, "ideal", native.Sums(by_grade), ideal, n_threads=None, chance=chance)


def _ends_of_function(queries: LabelledQueries, metric: Metric) -> tuple[FloatArray, FloatArray]:
    """Return both ends of a metric of this package that is a function of the ranked documents."""
    merits = np.append(0.0, merits_of_grades(metric, queries))[queries.grade_index]
    chance = metric.values(Ranking(queries, np.zeros(queries.n_rows), "mean"))
    return chance, metric.values(Ranking(queries, merits, "stable"))


# -- the skill --------------------------------------------------------------------------------------------------------


def skill_of(value: FloatArray, chance: FloatArray, ideal: FloatArray, weight: FloatArray | None) -> FloatArray:
    r"""Return one number for each query, whose weighted mean is the skill, with the standard error of the skill.

    With the means a of value - chance and b of ideal - chance, the skill is s = a / b. The number of query i is

    .. math:: s + (a_i - s b_i) / b

    which is the first-order expansion of the ratio (the delta method). All are NaN if b is 0.
    """
    gain, span = ratio_of_skill(value, chance, ideal)
    mean_gain, length, *sizes = means(np.array([gain, span, np.abs(chance), np.abs(ideal)]), weight)
    if not abs(length) > SAME * max(sizes):
        return np.full(len(value), math.nan)
    skill = mean_gain / length
    return np.asarray(skill + (gain - skill * span) / length)


def ratio_of_skill(value: FloatArray, chance: FloatArray, ideal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two columns whose means have the skill as their ratio."""
    return difference_of(value, chance), ideal - chance  # exactly 0 for a model of constant scores


def note_on_scale(
    value: FloatArray, chance: FloatArray, ideal: FloatArray, weight: FloatArray | None, is_filled: BoolArray
) -> str | None:
    """Return why there is no skill, or why the value says little, in words; None if neither is so.

    ``is_filled`` marks the queries for which the metric is undefined, so that a number fills in.
    """
    low, high = mean(chance, weight), mean(ideal, weight)
    if math.isnan(low):
        return None
    if abs(high - low) <= _rounding(chance, ideal, weight):
        return f"has no skill, because every order of the documents has the same mean, {low:.4g}."
    of_defined = [mean(np.where(is_filled, np.nan, end), weight) for end in (chance, ideal)]
    if _is_little(*of_defined):
        return (
            f"hardly tells good rankings from bad ones here: a random order scores {of_defined[0]:.4g}, and the ideal "
            f"one {of_defined[1]:.4g}. If most documents are relevant, set rel=, use another gain, or add documents "
            "that are not relevant."
        )
    if _is_little(low, high):
        return (
            f"hardly tells good rankings from bad ones here: a random order scores {low:.4g}, because "
            f"{int(is_filled.sum()):,} of {int((~np.isnan(value)).sum()):,} queries are undefined and get a number. "
            f"Without them it scores {of_defined[0]:.4g}: leave them out with no_relevant='skip'."
        )
    return None


def _rounding(chance: FloatArray, ideal: FloatArray, weight: FloatArray | None) -> float:
    """Return the largest difference of the means of both ends that is one of rounding."""
    return SAME * max(mean(np.abs(end), weight) for end in (chance, ideal))


def _is_little(chance: float, ideal: float) -> bool:
    return abs(ideal - chance) < LITTLE * max(abs(chance), abs(ideal))
