"""The conventions, and the single changed choices, under which a metric has a given value."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from ltr_metrics._rows.json_values import DataFrame, to_dataframe
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import TiePolicy
from ltr_metrics.analysis.audit import has_ties
from ltr_metrics.analysis.explain import Reading, format_choice, means_of, skill_of_reading
from ltr_metrics.errors import LtrError, LtrValueError, LtrWarning, naming
from ltr_metrics.evaluation.evaluate import DataOptions, Queries, queries_from, with_data_options
from ltr_metrics.evaluation.tables import Table, TableOrText, Tabular
from ltr_metrics.metrics.conventions import CONVENTIONS, Convention
from ltr_metrics.metrics.names import require_one_metric
from ltr_metrics.metrics.requests import OneMetric, name_of, resolve

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

NO_RELEVANT = ("skip", "drop", 0.0, 0.5, 1.0)
MOST_LIMITS = 10  # distinct grades that are tried as the lowest relevant grade
PRINTED_ROWS = 10
TABLE = {
    "convention": "{convention}",
    "changed choice": "{change}",
    "value": "{value:.6f}",
    "distance": "{distance:.2g}",
    "matches": "{matches}",
}
FLOAT32_DIGITS = 9  # tell any float32 from its neighbours
ROUNDING = 1e-12  # systems that sum in another order differ by less
NEEDS_DOCID = "It breaks ties by document id, so it needs docid for these data."


@dataclass(frozen=True)
class CandidateConvention:
    """One reading of a metric's name, and its value on the data.

    Attributes
    ----------
    conventions : tuple of str
        The conventions with this reading, before the change if there is one.
    changed : str or None
        The one choice that differs from these conventions; None is the conventions as they are.
    to : object
        The value of this choice.
    metric : str
        The canonical name of the metric.
    value : float
        The mean over queries.
    distance : float
        Absolute difference between this value and the given one.
    """

    conventions: tuple[str, ...]
    changed: str | None
    to: Any
    metric: str
    value: float
    distance: float


@dataclass(frozen=True, repr=False)
class Identification(Tabular):
    """The conventions and single changed choices, in the order of their distance to a given value.

    Attributes
    ----------
    metric : str
        The requested metric.
    value : float
        The given value.
    tolerance : float
        The largest distance at which a candidate matches: half a unit of the last given digit, or
        the precision of a float32 value.
    candidates : tuple of CandidateConvention
        Those that match stand first, and of these the unchanged conventions.
        Then follow the others, the nearest first.
    refused : dict of str to str
        The conventions that do not have this metric or do not accept these data, with the reason.
    skill : float
        The skill under the first candidate: 0 for a random order, 1 for the ideal one.

    See Also
    --------
    identify_convention : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, s, group = [2, 0, 1, 0, 0, 0, 1, 2], [8, 7, 6, 5, 4, 3, 2, 1], [4, 2, 2]
    >>> found = ltr.identify_convention(y, s, group=group, metric="ndcg@10", value="0.6033")
    >>> print(found.sentence)
    ndcg@10 = 0.6033 (within 5e-05) is the value under sklearn, trec_eval, ranx and torchmetrics.
    >>> found.matches == found.candidates[: len(found.matches)]
    True
    >>> int(found.to_pandas()["matches"].sum()) == len(found.matches), found.to_dict()["metric"]
    (True, 'ndcg@10')
    """

    metric: str
    value: float
    tolerance: float
    candidates: tuple[CandidateConvention, ...]
    refused: dict[str, str]
    skill: float = math.nan

    @property
    def matches(self) -> tuple[CandidateConvention, ...]:
        """Candidates within the tolerance, unchanged conventions first."""
        return tuple(one for one in self.candidates if one.distance <= self.tolerance)

    @property
    def sentence(self) -> str:
        """Description of the answer, in words."""
        asked = f"{self.metric} = {self.value:.15g} (within {self.tolerance:.2g})"
        unchanged = [name for one in self.matches if one.changed is None for name in one.conventions]
        if unchanged:
            return f"{asked} is the value under {_listed(unchanged)}."
        if self.matches:
            near, others = self.matches[0], len(self.matches) - 1
            choice = f"{near.changed}: {format_choice(str(near.changed), near.to)}"
            more = f" ({others} more such matches)" if others else ""
            return f"{asked} is the value of no convention, but of {_listed(near.conventions)} with {choice}{more}."
        percent = any(abs(one.value - self.value / 100) <= self.tolerance / 100 for one in self.candidates)
        hint = " As a percentage it would match: divide it by 100." if percent else ""
        untried = _listed([name for name, reason in self.refused.items() if reason == NEEDS_DOCID])
        hint += f" Pass docid, so that {untried} can be tried as well." if untried else ""
        return f"{asked}: none within the tolerance.{hint}"

    @property
    def skill_sentence(self) -> str:
        """What the value means after the correction for chance, in words; empty without a match or a skill."""
        if not self.matches or math.isnan(self.skill):
            return ""
        return f"Corrected for chance, this is a skill of {self.skill:.4f}: 0 is a random order, 1 the ideal one."

    def to_pandas(self) -> DataFrame:
        """Return a table with one row per candidate, in their order.

        Returns
        -------
        pandas.DataFrame
            The columns are convention, changed, to, metric, value, distance and matches.
        """
        return to_dataframe(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and text, ready for JSON.

        Returns
        -------
        dict
            The fields by name, with the sentence.
        """
        sentences = {"sentence": self.sentence, "skill_sentence": self.skill_sentence}
        return super().to_dict() | sentences | {"candidates": self._rows()}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "convention": ", ".join(one.conventions),
                "changed": one.changed,
                "to": None if one.changed is None else format_choice(one.changed, one.to),
                "metric": one.metric,
                "value": one.value,
                "distance": one.distance,
                "matches": one.distance <= self.tolerance,
            }
            for one in self.candidates
        ]

    def printed(self) -> list[TableOrText]:
        """Return the sentence, a table of the first candidates, and the refused conventions."""
        rows = self._rows()[: max(PRINTED_ROWS, len(self.matches))]
        for row in rows:
            row["change"] = "-" if row["changed"] is None else f"{row['changed']}: {row['to']}"
            row["matches"] = "yes" if row["matches"] else "no"
        n_more = len(self.candidates) - len(rows)
        refused: dict[str, list[str]] = {}
        for name, reason in sorted(self.refused.items(), key=lambda item: item[1] != NEEDS_DOCID):
            first_sentence, *_ = reason.removesuffix(".").split(". ")  # what follows is a remedy for other callers
            refused.setdefault(first_sentence, []).append(name)
        notes = [f"Not tried: {', '.join(names)}. {reason}." for reason, names in refused.items()]
        table = Table.of(TABLE, rows, foot=f"{n_more} more are further away." if n_more else "")
        return [self.sentence, table, *filter(None, [self.skill_sentence, "\n".join(notes)])]


@with_data_options
@explaining_calls
def identify_convention(
    y_true: Any,
    y_score: Any,
    *,
    metric: OneMetric,
    value: float | str,
    **data: Unpack[DataOptions],
) -> Identification:
    """Find the conventions under which a metric has a value that another tool printed.

    The function evaluates the metric under every convention, and under every convention with one
    choice changed. The choices are the order of ties, queries without a relevant document, the
    cutoff, the parameters of the metric, such as its gain, and all rows ranked as one query, as
    scikit-learn's ``ndcg_score([y], [score])`` does. A change without any effect on these data is
    left out.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Queries
        Grades, finite and not negative. Or `Queries`, which have all options for the data.
    y_score : array-like of shape (n_rows,), or Positions
        Scores; higher is better. Infinite scores rank first and last, and NaN is an
        error. Or the position of each document in the ranking, as
        `ltr_metrics.Positions`.
    metric : str, Metric or function
        One metric. Each convention completes a name. For a metric object only the choices that are
        changed differ from it.
    value : float or str
        The value that the other tool gave. Text keeps zeros at the end, as in ``"0.4110"``. A match
        is at most half a unit of the last digit away, or 1e-6 times the value if it is a float32 with
        more digits than float32 has, such as TorchMetrics'.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`. Conventions that break
        ties by document need ``docid`` if scores are tied.

    Returns
    -------
    Identification
        All candidates, the matches first.

    Raises
    ------
    LtrValueError
        If the value is not a finite number, or no convention accepts the metric and the data.

    See Also
    --------
    ltr_metrics.explain_difference : The difference between two known conventions, choice by choice.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, s, group = [2, 0, 1, 0, 0, 0, 1, 2], [8, 7, 6, 5, 4, 3, 2, 1], [4, 2, 2]
    >>> found = ltr.identify_convention(y, s, group=group, metric="ndcg@10", value="0.6033")
    >>> print(found.sentence)
    ndcg@10 = 0.6033 (within 5e-05) is the value under sklearn, trec_eval, ranx and torchmetrics.
    >>> found = ltr.identify_convention(y, s, group=group, metric="ndcg@10", value="0.6257")
    >>> found.matches[0].conventions, found.matches[0].changed, found.matches[0].to
    (('sklearn', 'trec_eval', 'ranx', 'torchmetrics'), 'discount', 'jarvelin')
    """
    queries = queries_from(y_true, data, "identify_convention")
    require_one_metric(metric)
    number, tolerance = _value_and_tolerance(value)
    ties = _ties_to_try(queries, y_score)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)  # about readings that the user has not chosen
        readings, refused = _readings_of_conventions(queries, metric, ties)
        if not readings:
            with naming(f"No convention accepts {name_of(metric)!r} on these data"):
                _reading_of(queries, metric, CONVENTIONS["default"])  # raises its error again
        origins = _origins(queries, readings, ties)
        whole = _as_one_query(queries)
        if queries.n_queries > 1:
            readings_of_whole, _ = _readings_of_conventions(whole, metric, _ties_to_try(whole, y_score))
            for name in filter(readings_of_whole.__contains__, readings):
                reading = readings_of_whole[name]._replace(is_of_one_query=True)
                origins.setdefault(Origin(reading, "queries", "all rows as one"), []).append(name)
        tried = [origin.reading for origin in origins]
        tried = [reading for reading in tried if reading.ties != "docid" or queries.docid is not None]
        means: dict[Reading, float] = {}
        for rows, of_one_query in ((queries, False), (whole, True)):
            own = [reading for reading in tried if reading.is_of_one_query == of_one_query]
            means |= means_of(rows, y_score, (reading for reading in own if not reading.weighs_undefined_as_one))
            try:
                means |= means_of(rows, y_score, (reading for reading in own if reading.weighs_undefined_as_one))
            except LtrError as error:  # no value reproduces the unweighted 1 of a query whose weight is 0
                refused |= {name: str(error) for name, one in readings.items() if one.weighs_undefined_as_one}

        def order(found: tuple[CandidateConvention, Reading]) -> tuple[Any, ...]:
            is_match = found[0].distance <= tolerance
            return not is_match, is_match and found[0].changed is not None, found[0].distance

        candidates = sorted(_candidates(origins, readings, means, number), key=order)
        first = candidates[0][1]
        skill = skill_of_reading(whole if first.is_of_one_query else queries, y_score, first)
    return Identification(name_of(metric), number, tolerance, tuple(one for one, _ in candidates), refused, skill)


def _as_one_query(queries: Queries) -> Queries:
    """Return all rows as one query, which is what `ndcg_score([y], [score])` of scikit-learn makes of them.

    Documents of several queries may have one id. They get ids in the same order, the earlier row first.
    """
    docid = None
    if queries.docid is not None:
        docid = np.empty(queries.n_rows, dtype=np.int64)
        docid[np.lexsort((-np.arange(queries.n_rows), -queries.docid_descending))] = np.arange(queries.n_rows)
    return Queries(
        np.append(0.0, queries.grades)[queries.grade_index],  # rows that unjudged="drop" removes have the index 0
        group=[queries.n_rows],
        docid=docid,
        retrieved=queries.retrieved,
        judged=queries.judged,
        unjudged=queries.unjudged,
        columns=queries.columns,
    )


def _listed(names: Sequence[str]) -> str:
    """Return names as in "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _value_and_tolerance(value: float | str) -> tuple[float, float]:
    """Return the value as a number, and half a unit of its last digit."""
    text = value.strip() if isinstance(value, str) else repr(value.item() if hasattr(value, "item") else value)
    try:
        number, digits = float(text), Decimal(text).as_tuple()
        last_digit = 10.0 ** int(digits.exponent)
    except (ValueError, OverflowError, InvalidOperation):  # 0e400 has no last digit that a float can hold
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise LtrValueError(f"value must be a finite number, such as 0.4117. Got {value!r}.")
    if len(digits.digits) > FLOAT32_DIGITS and number == np.float32(number):
        return number, abs(number) * float(np.finfo(np.float32).resolution) + ROUNDING
    return number, 0.5 * last_digit + ROUNDING


class Origin(NamedTuple):
    """A reading, and the choice that was changed to get it; None is the reading of a convention."""

    reading: Reading
    changed: str | None
    to: Any


def _ties_to_try(queries: Queries, y_score: Any) -> tuple[TiePolicy, ...]:
    """Return the tie policies that may give different values; without ties, all agree."""
    if not has_ties(queries, y_score):
        return ("stable",)
    return tuple(ties for ties in get_args(TiePolicy) if ties != "docid" or queries.docid is not None)


def _readings_of_conventions(
    queries: Queries, metric: OneMetric, ties: Sequence[TiePolicy]
) -> tuple[dict[str, Reading], dict[str, str]]:
    """Return the reading of each convention, and why some conventions have none."""
    readings: dict[str, Reading] = {}
    refused: dict[str, str] = {}
    for name, convention in CONVENTIONS.items():
        try:
            reading = _reading_of(queries, metric, convention)
        except LtrError as error:
            refused[name] = str(error)
            continue
        if len(ties) == 1:
            reading = reading._replace(ties=ties[0])
        elif reading.ties not in ties:
            refused[name] = NEEDS_DOCID
        readings[name] = reading
    return readings, refused


def _reading_of(queries: Queries, metric: OneMetric, convention: Convention) -> Reading:
    request = resolve(metric, convention=convention)
    request.metrics[0].check(queries)
    return Reading.of(request, queries)


def _origins(queries: Queries, readings: Mapping[str, Reading], ties: Sequence[TiePolicy]) -> dict[Origin, list[str]]:
    """Return the conventions of each reading: of those without a change, then of those with one."""
    origins: dict[Origin, list[str]] = {}
    for name, reading in readings.items():
        origins.setdefault(Origin(reading, None, None), []).append(name)
    for name, reading in readings.items():
        for changed, to in _changes(reading, queries, ties):
            try:
                other = reading.switched({changed: to})
                other.metric.check(queries)
            except LtrError:  # this metric or these data do not allow the change
                continue
            if Origin(other, None, None) not in origins:
                origins.setdefault(Origin(other, changed, to), []).append(name)
    return origins


def _changes(reading: Reading, queries: Queries, ties: Sequence[TiePolicy]) -> Iterator[tuple[str, Any]]:
    """Yield each single changed choice: its field, and the other value that some system has."""
    grades = queries.grades[queries.grades > 0][:MOST_LIMITS].tolist()
    grades = [int(grade) if grade.is_integer() else grade for grade in grades]
    for field in dataclasses.fields(reading.metric):
        for other in grades if field.name == "rel" else field.metadata.get("tried", ()):
            if other != getattr(reading.metric, field.name):
                yield field.name, other
    yield from (("ties", other) for other in ties if other != reading.ties)
    yield from (("no_relevant", other) for other in NO_RELEVANT if other != reading.no_relevant)


def _candidates(
    origins: Mapping[Origin, list[str]], readings: Mapping[str, Reading], means: Mapping[Reading, float], value: float
) -> Iterator[tuple[CandidateConvention, Reading]]:
    """Yield the candidates that have a mean and their readings, without changes that have no effect on these data."""
    for (reading, changed, to), conventions in origins.items():
        mean = means.get(reading, math.nan)
        if math.isnan(mean):
            continue
        if changed is None or means.get(readings[conventions[0]]) != mean:
            distance = abs(mean - value)
            yield CandidateConvention(tuple(conventions), changed, to, str(reading.metric), mean, distance), reading
