"""The difference between a metric's values in two systems, attributed to their conventions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.plain import to_dataframe
from ltr_metrics._engine.results import Part, Result, Table
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.analysis.audit import tied_queries
from ltr_metrics.errors import LtrTypeError, LtrValueError, one_line
from ltr_metrics.evaluation.evaluate import Queries, queries_from
from ltr_metrics.metrics.base import Metric, spell
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import OneMetric, Policy, Request, name_of, resolve

if TYPE_CHECKING:
    import pandas


AS_ONE = "weighs_undefined_as_one"  # a choice that weights alone make


@dataclass(frozen=True, repr=False)
class Explanation(Result):
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

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row a field that differs: field, a, b, toggle and part.

        Returns
        -------
        pandas.DataFrame
            The columns are field, a, b, toggle and part.
        """
        return to_dataframe(self._rows(), columns=["field", "a", "b", "toggle", "part"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, ready for JSON.

        Returns
        -------
        dict
            The fields by name, with the difference.
        """
        fields = {name: [_plain(value) for value in values] for name, values in self.fields.items()}
        return super().to_dict() | {"difference": self.difference, "fields": fields, "sentence": self.sentence}

    def printed_parts(self) -> list[Part]:
        """Return the sentence and a small table."""
        rows = [row | {name: _format_change(row[name]) for name in ("toggle", "part")} for row in self._rows()]
        values = {"a": f"{self.value_a:.4f}", "b": f"{self.value_b:.4f}"}
        rows.append({"field": "all", **values, "toggle": "", "part": _format_change(self.difference)})
        columns = {"field": "{field}", "a": "{a}", "b": "{b}", "toggle": "{toggle:}", "part": "{part:}"}
        table = Table.of(columns, rows)._replace(header=["field", self.a, self.b, "toggle", "part"])
        return [one_line(self.sentence), table]

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


def explain_difference(
    y_true: Any,
    y_score: Any,
    *,
    metric: OneMetric,
    a: ConventionName | Convention,
    b: ConventionName | Convention,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    **data: Any,
) -> Explanation:
    """Attribute the difference between a metric's values under two conventions to their fields.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
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
    return explain_difference_of(queries, y_score, metric=metric, a=a, b=b, ties=ties, no_relevant=no_relevant)


def explain_difference_of(
    queries: Queries,
    y_score: Any,
    *,
    metric: OneMetric,
    a: ConventionName | Convention,
    b: ConventionName | Convention,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
) -> Explanation:
    """Do the same for `Queries`."""
    if not isinstance(metric, (str, Metric)) and not callable(metric):
        raise LtrTypeError(f"explain_difference takes one metric, by name or as an object. Got {metric!r}.")
    requests = [resolve(metric, ties=ties, no_relevant=no_relevant, convention=side) for side in (a, b)]
    in_a, in_b = (choices_of(request, queries) for request in requests)
    if queries.docid is None and "docid" in (in_a["ties"], in_b["ties"]):
        tied, _ = tied_queries(queries, queries.scores(y_score))
        if not tied.any():  # then the order needs no document ids
            in_a["ties"] = in_b["ties"] = "stable"
    cls = type(requests[0].metrics[0])
    differ = [name for name in in_a if in_a[name] != in_b[name]]

    def value(switched: Iterable[str]) -> float:
        return _value(queries, y_score, cls, in_a | {name: in_b[name] for name in switched})

    values = {subset: value(subset) for n in range(len(differ) + 1) for subset in itertools.combinations(differ, n)}
    value_a, value_b = values[()], values[tuple(differ)]
    return Explanation(
        metric=name_of(metric),
        a=requests[0].policy.convention,
        b=requests[1].policy.convention,
        metric_a=str(_metric(cls, in_a)),
        metric_b=str(_metric(cls, in_b)),
        value_a=value_a,
        value_b=value_b,
        fields={name: (in_a[name], in_b[name]) for name in differ},
        toggles={name: values[name,] - value_a for name in differ},
        parts={name: _shapley(name, differ, values) for name in differ},
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


def choices_of(request: Request, queries: Queries) -> dict[str, Any]:
    """Return everything that the value depends on: the metric's parameters and the policy."""
    (metric,) = request.metrics
    request.check_weights(metric, queries.weight)
    policy, name = request.policy, str(metric)
    choices = {field.name: getattr(metric, field.name) for field in fields(metric)}
    choices |= {"ties": policy.ties, "no_relevant": policy.no_relevant_for(name)}
    return choices | ({} if queries.weight is None else {AS_ONE: name in policy.weighs_undefined_as_one})


def _metric(cls: type[Metric], chosen: dict[str, Any]) -> Metric:
    return cls(**{field.name: chosen[field.name] for field in fields(cls)})


def _value(queries: Queries, scores: Any, cls: type[Metric], chosen: dict[str, Any]) -> float:
    metric = _metric(cls, chosen)
    as_one = (str(metric),) if chosen.get(AS_ONE) else ()
    policy = Policy(chosen["ties"], chosen["no_relevant"], "explained", weighs_undefined_as_one=as_one)
    value = queries.evaluate_request(scores, Request((metric,), {}, policy)).mean[str(metric)]
    if np.isnan(value):
        raise LtrValueError(
            f"{metric} with no_relevant={chosen['no_relevant']} has no mean on these data: it is undefined for every "
            "query. Set no_relevant to a number."
        )
    return value


def format_choice(name: str, value: Any) -> str:
    """Return the value of a choice as text."""
    return {"k": "whole list", "rel": "1"}.get(name, "none") if value is None else spell(value)


def _plain(value: Any) -> str | int | float | None:
    return value if value is None or isinstance(value, (str, int, float)) else spell(value)


def _format_change(value: float) -> str:
    return f"{value:+.4f}".replace("-0.0000", "+0.0000")
