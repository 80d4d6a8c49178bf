"""Evaluation in parts: how the results of parts of the queries add up to those of all queries.

Batches of a large file, partitions of Dask and Spark, and XGBoost's workers each evaluate whole
queries. `concat_evaluations` joins their values, `Totals` their means, and `LabelChecks` what the
metrics check of the labels of all queries together.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics.errors import LtrError, LtrValueError, LtrWarning
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.means import LEAST_EXPONENT, scaled_weights
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Request

GRADES_KEPT = 1_000  # fractional labels may have as many grades as rows


def concat_evaluations(parts: Iterable[Evaluation]) -> Evaluation:
    """Return one evaluation of the queries of all parts.

    The parts have the same metrics and options, and no query in common. If ``parts`` is an
    iterator, the labels of one part are in memory at a time.
    """
    kept = list(map(_without_labels, parts))
    if not kept:
        raise LtrValueError("There is no evaluation to concatenate.")
    qid = [part.qid for part in kept]
    if len({ids.dtype.kind for ids in qid}) > 1:  # NumPy would convert numbers to text
        qid = [ids.astype(object) for ids in qid]
    unjudged = next((f.unjudged for part in kept if (f := part.fingerprint) is not None and f.unjudged), None)
    hashes = _concat(None if part.fingerprint is None else part.fingerprint.of_query for part in kept)
    return Evaluation.of(
        {metric: np.concatenate([part.per_query[metric] for part in kept]) for metric in kept[0].per_query},
        kept[-1].per_query.asked,
        qid=np.concatenate(qid),
        n_documents=_concat(part.n_documents for part in kept),
        n_relevant=_concat(part.n_relevant for part in kept),
        weight=_concat(part.weight for part in kept),
        policy=kept[-1].policy,
        segments=_concat_segments(part.segments for part in kept),
        fingerprint=None if hashes is None else Fingerprint(lambda: hashes, unjudged),
        lower_is_better=kept[-1].lower_is_better,
    )


def _without_labels(part: Evaluation) -> Evaluation:
    if part.fingerprint is not None:
        _ = part.fingerprint.of_query  # once it is computed, the labels are not kept
    return part


def _concat(columns: Iterable[AnyArray | None]) -> AnyArray | None:
    """Return the columns as one, or None if a part has none."""
    arrays = list(columns)
    return None if any(array is None for array in arrays) else np.concatenate(arrays)  # type: ignore[arg-type]


def _concat_segments(parts: Iterable[Segmentations]) -> Segmentations:
    """Return the segmentations of all parts, with the labels in order of first appearance."""
    by_name: dict[str | None, tuple[dict[Hashable, int], list[IntArray]]] = {}
    for segmentations in parts:
        for name, (labels, code) in segmentations.items():
            new_code, codes = by_name.setdefault(name, ({}, []))
            codes.append(np.array([new_code.setdefault(x, len(new_code)) for x in labels], dtype=np.intp)[code])
    return {name: (list(new_code), np.concatenate(codes)) for name, (new_code, codes) in by_name.items()}


# -- the means ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over the queries of a part, a column per metric, which give the mean of each metric.

    Each sum is kept as two float64: the rounded sum, and its rounding error. So the mean of a
    hundred million queries is the same to the last digit or two, however they are cut into parts.

    Attributes
    ----------
    metrics : tuple of str
    value : ndarray of float64 of shape (2, n_metrics)
        Sum of weight times value over the queries that have a value, and its rounding error.
    weight : ndarray of float64 of shape (2, n_metrics)
        Sum of the weights of these queries, and its rounding error.
    n_undefined : ndarray of int of shape (n_metrics,)
        Number of queries left out.
    n_queries : int
    exponent : int
        Exponent of the power of two that both sums are divided by.

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.evaluation.parts import Totals
    >>> one, other = (Totals.of({"mrr": np.array(values)}, None) for values in ([1.0, 0.5], [0.25, np.nan]))
    >>> both = one + other
    >>> both.mean, both.n_queries, both.n_undefined.tolist()
    ({'mrr': 0.5833333333333334}, 4, [1])
    """

    metrics: tuple[str, ...]
    value: FloatArray
    weight: FloatArray
    n_undefined: IntArray
    n_queries: int
    exponent: int

    @classmethod
    def of(cls, per_query: Mapping[str, FloatArray], weight: FloatArray | None) -> Totals:
        """Return the sums over the queries of a part, without those whose value is NaN."""
        columns = list(per_query.values())
        n_queries = len(columns[-1]) if columns else 0
        weights, exponent = (np.ones(n_queries), 0) if weight is None else scaled_weights(weight)
        defined = [~np.isnan(values) for values in columns]
        sums = [_exact_sum(weights[mask] * values[mask]) for mask, values in zip(defined, columns, strict=True)]
        return cls(
            metrics=tuple(per_query),
            value=np.array(sums).T,
            weight=np.array([_exact_sum(weights[mask]) for mask in defined]).T,
            n_undefined=np.array([n_queries - int(mask.sum()) for mask in defined], dtype=np.intp),
            n_queries=n_queries,
            exponent=exponent,
        )

    @classmethod
    def nothing(cls, metrics: Iterable[str]) -> Totals:
        """Return the totals of no query."""
        names = tuple(metrics)
        zeros = np.zeros((2, len(names)))
        return cls(names, zeros, zeros, np.zeros(len(names), dtype=np.intp), 0, LEAST_EXPONENT)

    def to_array(self) -> FloatArray:
        """Return all numbers in one array, as workers send them; `from_array` is the inverse."""
        return np.concatenate(
            [self.value.ravel(), self.weight.ravel(), self.n_undefined, [self.n_queries, self.exponent]]
        )

    @classmethod
    def from_array(cls, metrics: tuple[str, ...], numbers: FloatArray) -> Totals:
        """Return the totals from the numbers that `to_array` returned."""
        n = len(metrics)
        return cls(
            metrics=metrics,
            value=numbers[: 2 * n].reshape(2, n),
            weight=numbers[2 * n : 4 * n].reshape(2, n),
            n_undefined=numbers[4 * n : 5 * n].astype(np.intp),
            n_queries=int(numbers[5 * n]),
            exponent=int(numbers[5 * n + 1]),
        )

    def __add__(self, other: Totals) -> Totals:
        if self.metrics != other.metrics:
            raise ValueError(f"Totals are of different metrics: {self.metrics} and {other.metrics}.")
        exponent = max(self.exponent, other.exponent)
        one, two = self._rescaled(exponent), other._rescaled(exponent)
        return Totals(
            metrics=self.metrics,
            value=_add_exactly(one.value, two.value),
            weight=_add_exactly(one.weight, two.weight),
            n_undefined=self.n_undefined + other.n_undefined,
            n_queries=self.n_queries + other.n_queries,
            exponent=exponent,
        )

    def _rescaled(self, exponent: int) -> Totals:
        """Return the same totals with another exponent, not smaller than the present one."""
        value, weight = (np.ldexp(sums, self.exponent - exponent) for sums in (self.value, self.weight))
        return replace(self, value=value, weight=weight, exponent=exponent)

    @property
    def mean(self) -> dict[str, float]:
        """Weighted mean of each metric; NaN if it is defined on no query or all weights are 0."""
        means = {}
        for metric, value, weight in zip(self.metrics, self.value.T.tolist(), self.weight.T.tolist(), strict=True):
            scaled_weight = math.fsum(weight)
            with np.errstate(over="ignore"):
                total_weight = np.ldexp(scaled_weight, self.exponent)
            if not np.isfinite([total_weight, *value]).all():
                raise LtrValueError(
                    f"The weights, or the weighted values of {metric}, of all queries together are beyond float64. "
                    "Scale the weights down."
                )
            means[metric] = math.fsum(value) / scaled_weight if scaled_weight > 0 else math.nan
        return means


def _exact_sum(values: FloatArray) -> tuple[float, float]:
    """Return a sum, rounded once, and its rounding error."""
    terms = values.tolist()
    try:
        high = math.fsum(terms)
        return high, math.fsum([*terms, -high])
    except OverflowError:  # the mean raises the error
        return math.inf, 0.0


def _add_exactly(one: FloatArray, other: FloatArray) -> FloatArray:
    """Add two sums and their rounding errors (Knuth, The Art of Computer Programming 2, 4.2.2)."""
    high = one[0] + other[0]
    part = high - one[0]
    error = (one[0] - (high - part)) + (other[0] - part)
    low = one[1] + other[1] + error
    total = high + low
    return np.stack([total, low - (total - high)])


# -- the labels ---------------------------------------------------------------------------------


class LabelChecks:
    """The grades and the longest query of all parts, which the metrics check together.

    Each part is checked where it is evaluated, but without warnings, because a single part may
    lack the highest grade. `check` then warns, or raises, once for all parts.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.evaluation.parts import LabelChecks
    >>> one, other = LabelChecks(), LabelChecks()
    >>> one.add(ltr.Queries([0, 4], group=[2]))
    >>> other.add(ltr.Queries([0, 1, 0], group=[3]))
    >>> both = one + other
    >>> both.grades, both.longest
    (array([0., 1., 4.]), 3)
    """

    def __init__(self) -> None:
        self.grades: FloatArray = np.zeros(0)
        self.longest = 0
        self.columns: tuple[str, ...] = ()

    def add(self, queries: LabelledQueries) -> None:
        """Add the queries of a part."""
        self._update(queries.grades, int(queries.sizes.max()), queries.columns)

    def __add__(self, other: LabelChecks) -> LabelChecks:
        both = LabelChecks()
        for one in (self, other):
            both._update(one.grades, one.longest, one.columns)
        return both

    def _update(self, grades: FloatArray, longest: int, columns: Iterable[str]) -> None:
        self.grades = np.union1d(self.grades, grades)
        if len(self.grades) > GRADES_KEPT:  # only the extremes matter beyond the parts
            self.grades = np.concatenate((self.grades[: GRADES_KEPT // 2], self.grades[-GRADES_KEPT // 2 :]))
        self.longest = max(self.longest, longest)
        self.columns = tuple(dict.fromkeys((*self.columns, *columns)))

    def check(self, request: Request) -> None:
        """Have each metric check the labels, and warn or raise as for rows in memory."""
        if not self.longest:
            return
        y = np.resize(self.grades, max(len(self.grades), self.longest))
        group = np.full(-(-len(y) // self.longest), self.longest)
        group[-1] -= group.sum() - len(y)
        queries = _QueriesOfGrades(y, group=group, columns={name: np.zeros(len(y)) for name in self.columns})
        for metric in request.metrics:
            metric.check(queries)


class _QueriesOfGrades(LabelledQueries):
    """Queries that have the grades of all parts, and stand for rows that are elsewhere."""

    def where(self, row: int) -> str:
        return "some row"


_WARNINGS_LOCK = threading.Lock()  # all threads of a process share one list of warning filters


def check_without_warnings(queries: LabelledQueries, request: Request) -> None:
    """Have each metric check the labels of a part; the labels of all parts decide what is worth a warning."""
    queries.may_be_swapped = False  # a part is too small to tell whether labels and scores are swapped
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        for metric in request.metrics:
            with suppress(LtrError):  # the evaluation raises it again
                metric.check_once(queries)
