"""The difference between a metric's values in two systems, attributed to their conventions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ltr_metrics._rows.json_values import DataFrame, to_dataframe
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.analysis.audit import has_ties
from ltr_metrics.errors import LtrValueError, one_line
from ltr_metrics.evaluation.evaluate import DataOptions, Queries, queries_from, with_data_options
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.tables import Table, TableOrText, Tabular
from ltr_metrics.metrics.base import Metric, spell
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.names import require_one_metric
from ltr_metrics.metrics.requests import OneMetric, PolicyOptions, Request, name_of, resolve

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

TRIED = Convention(name="tried")  # in which nothing is left to the convention


@dataclass(frozen=True, repr=False)
class Explanation(Tabular):
    """The difference between a metric's values under two conventions, by the fields that differ.

    Attributes
    ----------
    metric : str
        The requested metric.
    a, b : str
        The conventions.
    metric_a, metric_b : str
        The canonical name of the metric under each convention.
    value_a, value_b : float
        The metric under each convention.
    fields : dict of str to tuple
        The fields that differ, with their values under a and under b.
    toggles : dict of str to float
        Change of ``value_a`` when only this field is switched to its value under b.
    parts : dict of str to float
        The Shapley value of each field: the change when it is switched, averaged over all orders in
        which the fields can be switched. They add up to the difference.
    difference : float
        ``value_b - value_a``.
    skill_a, skill_b : float
        The skill under each convention: 0 for a random order, 1 for the ideal one. Most choices
        change the value of a random order as well, so they cancel.

    See Also
    --------
    explain_difference : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, s = [2, 0, 1, 0, 0], [0.3, 0.9, 0.2, 0.6, 0.5]
    >>> result = ltr.explain_difference(y, s, group=[3, 2], metric="ndcg@10", a="lightgbm", b="sklearn")
    >>> round(result.difference, 4), result.fields["no_relevant"]
    (-0.4947, (1.0, 0.0))
    >>> print(result.sentence.partition(";")[0])
    ndcg@10 is 0.8295 under lightgbm and 0.3348 under sklearn
    >>> result.to_pandas()["field"].tolist(), sorted(result.to_dict())[:2]
    (['gain', 'ties', 'no_relevant'], ['a', 'b'])
    """

    metric: str
    a: str
    b: str
    metric_a: str
    metric_b: str
    value_a: float
    value_b: float
    fields: dict[str, tuple[Any, Any]]
    toggles: dict[str, float]
    parts: dict[str, float]
    skill_a: float
    skill_b: float

    @property
    def difference(self) -> float:
        """Difference of the values, ``value_b - value_a``."""
        return self.value_b - self.value_a

    @property
    def sentence(self) -> str:
        """Description of the difference and its largest part, in words."""
        values = f"{self.metric} is {self.value_a:.4f} under {self.a} and {self.value_b:.4f} under {self.b}"
        if not self.parts:
            return f"{values}: the two agree in every field that it depends on."
        largest = max(self.parts, key=lambda name: abs(self.parts[name]))
        if self.parts[largest] == 0:
            return f"{values}: the two differ in {', '.join(self.parts)}, but not on these data."
        in_a, in_b = (format_choice(largest, value) for value in self.fields[largest])
        field = f"{largest}: {in_a} in {self.a}, {in_b} in {self.b}"
        total = _format_change(self.difference)
        if sum(part != 0 for part in self.parts.values()) == 1:
            return f"{values}; the whole difference of {total} comes from {field}."
        part = _format_change(self.parts[largest])
        return f"{values}; the difference is {total}, and the largest of its parts is {part}, from {field}."

    @property
    def skill_sentence(self) -> str:
        """What is left of the difference after the correction for chance, in words; empty if there is no skill."""
        change = self.skill_b - self.skill_a
        if math.isnan(change):
            return ""
        return (
            f"Corrected for chance, the skill is {self.skill_a:.4f} under {self.a} and {self.skill_b:.4f} under "
            f"{self.b}: a difference of {_format_change(change)} is left."
        )

    def to_pandas(self) -> DataFrame:
        """Return a table with one row a field that differs: field, a, b, toggle and part.

        Returns
        -------
        pandas.DataFrame
            The columns are field, a, b, toggle and part.
        """
        return to_dataframe(self._rows(), columns=["field", "a", "b", "toggle", "part"])

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and text, ready for JSON.

        Returns
        -------
        dict
            The fields by name, with the difference.
        """
        fields = {name: [_plain(value) for value in values] for name, values in self.fields.items()}
        further = {"difference": self.difference, "fields": fields}
        return super().to_dict() | further | {"sentence": self.sentence, "skill_sentence": self.skill_sentence}

    def printed(self) -> list[TableOrText]:
        """Return the sentence, a small table, and what is left after the correction for chance."""
        rows = [row | {name: _format_change(row[name]) for name in ("toggle", "part")} for row in self._rows()]
        values = {"a": f"{self.value_a:.4f}", "b": f"{self.value_b:.4f}"}
        rows.append({"field": "all", **values, "toggle": "", "part": _format_change(self.difference)})
        columns = {"field": "{field}", "a": "{a}", "b": "{b}", "toggle": "{toggle:}", "part": "{part:}"}
        table = Table.of(columns, rows)._replace(header=["field", self.a, self.b, "toggle", "part"])
        return [one_line(self.sentence), table, *filter(None, [one_line(self.skill_sentence)])]

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "field": n,
                "a": format_choice(n, a),
                "b": format_choice(n, b),
                "toggle": self.toggles[n],
                "part": self.parts[n],
            }
            for n, (a, b) in self.fields.items()
        ]


@with_data_options
@explaining_calls
def explain_difference(
    y_true: Any,
    y_score: Any,
    *,
    metric: OneMetric,
    a: ConventionName | Convention,
    b: ConventionName | Convention,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    **data: Unpack[DataOptions],
) -> Explanation:
    """Attribute the difference between a metric's values under two conventions to their fields.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Queries
        Grades, finite and not negative. Or `Queries`, which have all options for the data.
    y_score : array-like of shape (n_rows,), or Positions
        Scores; higher is better. Infinite scores rank first and last, and NaN is an
        error. Or the position of each document in the ranking, as
        `ltr_metrics.Positions`.
    metric : str, Metric or function
        One metric. Each convention completes a name. For a metric object only ties and no_relevant
        can differ.
    a, b : str or Convention
        The difference is the value under ``b`` minus the value under ``a``.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores under both conventions, as for `evaluate`.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined, under both, as for `evaluate`.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`. A convention that
        breaks ties by document needs ``docid`` if scores are tied.

    Returns
    -------
    Explanation
        The two values, and the part of each field that differs.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a convention does not have the metric, the metric has no mean on these data, or it does
        not accept the labels. If ``metric`` is not one metric.

    See Also
    --------
    Convention : The choices of a system.
    tie_audit : What the order of equal scores decides.

    References
    ----------
    Shapley, A value for n-person games, Contributions to the Theory of Games II, 1953.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, s = [2, 0, 1, 0, 0], [0.3, 0.9, 0.2, 0.6, 0.5]
    >>> options = {"group": [3, 2], "metric": "ndcg@10"}
    >>> explanation = ltr.explain_difference(y, s, **options, a="lightgbm", b="sklearn")
    >>> round(explanation.value_a, 4), round(explanation.value_b, 4)
    (0.8295, 0.3348)
    >>> {field: round(part, 4) for field, part in explanation.parts.items()}
    {'gain': 0.0053, 'ties': 0.0, 'no_relevant': -0.5}
    """
    queries = queries_from(y_true, data, "explain_difference")
    require_one_metric(metric)
    requests = [resolve(metric, ties=ties, no_relevant=no_relevant, convention=side) for side in (a, b)]
    in_a, in_b = (Reading.of(request, queries) for request in requests)
    needs_docid = queries.docid is None and "docid" in (in_a.ties, in_b.ties)
    if needs_docid and not has_ties(queries, y_score):  # then the order needs no document ids
        in_a, in_b = (reading._replace(ties="stable") for reading in (in_a, in_b))
    choices = {name: (value, in_b.choices[name]) for name, value in in_a.choices.items()}
    differ = [name for name, (of_a, of_b) in choices.items() if of_a != of_b]
    readings = {
        subset: in_a.switched({name: in_b.choices[name] for name in subset})
        for n in range(len(differ) + 1)
        for subset in itertools.combinations(differ, n)
    }
    means = means_of(queries, y_score, readings.values())
    for reading, mean in means.items():
        if math.isnan(mean):
            raise LtrValueError(
                f"{reading.metric} has no mean on these data: it is undefined for every query. Use a number, such as "
                "no_relevant=0."
            )
    values = {subset: means[reading] for subset, reading in readings.items()}
    value_a, value_b = values[()], values[tuple(differ)]
    return Explanation(
        metric=name_of(metric),
        a=requests[0].policy.convention,
        b=requests[1].policy.convention,
        metric_a=str(in_a.metric),
        metric_b=str(in_b.metric),
        value_a=value_a,
        value_b=value_b,
        fields={name: choices[name] for name in differ},
        toggles={name: values[name,] - value_a for name in differ},
        parts={name: _shapley(name, differ, values) for name in differ},
        skill_a=skill_of_reading(queries, y_score, readings[()]),
        skill_b=skill_of_reading(queries, y_score, readings[tuple(differ)]),
    )


def _shapley(name: str, names: list[str], values: dict[tuple[str, ...], float]) -> float:
    """Return the change when one field is switched, averaged over all orders of switching.

    The orders in which the same fields are switched before it share a weight.
    """
    others = [other for other in names if other != name]
    share = 0.0
    for n in range(len(others) + 1):
        weight = 1 / (len(names) * math.comb(len(others), n))
        for before in itertools.combinations(others, n):
            after = tuple(other for other in names if other in before or other == name)
            share += weight * (values[after] - values[before])
    return share


class Reading(NamedTuple):
    """One meaning of a metric's name: the metric, the order of ties, and the value and weight of undefined queries."""

    metric: Metric
    ties: TiePolicy
    no_relevant: Any
    weighs_undefined_as_one: bool = False  # a choice that only weights make
    is_of_one_query: bool = False

    @classmethod
    def of(cls, request: Request, queries: Queries) -> Reading:
        """Return the reading of a request for one metric."""
        (metric,), policy = request.metrics, request.policy
        is_weighted = queries.weight is not None
        if is_weighted:
            request.refuse_weights(metric)
        as_one = is_weighted and str(metric) in policy.weighs_undefined_as_one
        return cls(metric, policy.ties, policy.no_relevant_for(str(metric)), as_one)

    @property
    def choices(self) -> dict[str, Any]:
        """Everything that the value depends on: the metric's parameters and the policy."""
        of_metric = {field.name: getattr(self.metric, field.name) for field in dataclasses.fields(self.metric)}
        policy = self._asdict()
        return of_metric | {name: policy[name] for name in ("ties", "no_relevant", "weighs_undefined_as_one")}

    def switched(self, choices: Mapping[str, Any]) -> Reading:
        """Return the reading with some other choices."""
        of_policy = {name: value for name, value in choices.items() if name in self._fields}
        of_metric = {name: value for name, value in choices.items() if name not in of_policy}
        return self._replace(metric=dataclasses.replace(self.metric, **of_metric), **of_policy)


def means_of(queries: Queries, scores: Any, readings: Iterable[Reading]) -> dict[Reading, float]:
    """Return the mean of each reading, with one evaluation for each policy."""
    by_policy: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        by_policy.setdefault((*reading[1:], reading.metric.mean_over), []).append(reading)
    means: dict[Reading, float] = {}
    for alike in by_policy.values():
        mean = _evaluate(queries, scores, alike).mean
        means |= {reading: mean[str(reading.metric)] for reading in alike}
    return means


def skill_of_reading(queries: Queries, scores: Any, reading: Reading) -> float:
    """Return the skill under a reading, NaN if it has none."""
    return _evaluate(queries, scores, [reading]).skill[str(reading.metric)]


def _evaluate(queries: Queries, scores: Any, readings: list[Reading]) -> Evaluation:
    """Evaluate readings that differ only in the metric."""
    _, ties, no_relevant, as_one, _ = readings[0]
    metrics = tuple(dict.fromkeys(reading.metric for reading in readings))
    options = PolicyOptions(TRIED, ties, no_relevant, as_one)
    return queries.evaluate_request(scores, Request(metrics, {}, options))


def format_choice(name: str, value: Any) -> str:
    """Return the value of a choice as text."""
    return {"k": "whole list", "rel": "1"}.get(name, "none") if value is None else spell(value)


def _plain(value: Any) -> str | int | float | None:
    return value if value is None or isinstance(value, (str, int, float)) else spell(value)


def _format_change(value: float) -> str:
    return f"{value:+.4f}".replace("-0.0000", "+0.0000")
