"""What a metric is: an immutable value that gives one number a query.

Every rank metric here is a sum over ranks of what each document adds, divided by something that only the labels (and
the cutoff) decide. A subclass writes these two; under ``ties="mean"`` what a tied document adds is its expectation over
the orders of its tie. Means over queries, weights and leaving out are in `evaluation.py`, once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ltr_metrics.blocks import Block
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.inputs import BoolArray, FloatArray, require_option
from ltr_metrics.queries import LabelledQueries
from ltr_metrics.ranking import Ranking


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Base of all metrics.

    Parameters
    ----------
    k : int, optional
        Cutoff: only the first ``k`` ranks count. None, the default, is the whole list.
    """

    NAME: ClassVar[str]  # of the canonical name
    COMPLETED_BY: ClassVar[str] = ""  # prefix of a convention's fields that complete a name, if it is not the name
    ALIASES: ClassVar[dict[str, dict[str, Any]]]  # further names that are parsed, each with the parameters it fixes

    k: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):  # np.float32(0.7) is another number than 0.7, but hashes alike as neither
                object.__setattr__(self, field.name, value.item())
        if self.k is not None and not _is_count(self.k):
            raise LtrValueError(f"The cutoff k of {self.NAME} must be a whole number of at least 1. Got {self.k!r}.")

    def __str__(self) -> str:
        """Return the canonical name, which `metric` reads back."""
        name, parameters = self._spelled()
        inside = ",".join(f"{key}={_spell(value)}" for key, value in parameters.items())
        return name + (f"({inside})" if inside else "") + ("" if self.k is None else f"@{self.k}")

    @property
    def slug(self) -> str:
        """The name in letters, digits, ``_``, ``.`` and ``-``, which experiment trackers accept.

        >>> from ltr_metrics import metric
        >>> metric("map(rel=2)@10").slug
        'map-rel-2_at_10'
        """
        return re.sub(r"[^\w.]+", "-", str(self).replace("@", "_at_")).replace("-_", "_").strip("-")

    def family(self) -> tuple[Any, ...]:
        """Equal for metrics that differ in nothing but the cutoff, which are computed together."""
        return (type(self), *(getattr(self, f.name) for f in fields(self) if f.name != "k"))

    def check(self, queries: LabelledQueries) -> None:
        """Raise an error if the labels are not what this metric is defined on."""

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        """Return one value a query of the block for each cutoff; NaN where the metric is undefined."""
        raise NotImplementedError

    def _spelled(self) -> tuple[str, dict[str, Any]]:
        """Name and the parameters that stand in brackets: those that differ from their defaults."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        changed.pop("k", None)
        return self.NAME, changed


@dataclass(frozen=True, kw_only=True)
class RankMetric(Metric):
    """A metric that sees ranks and grades: a sum over ranks, divided by what the labels decide."""

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        """Return what the document at each rank adds to the sum, (queries x depth)."""
        raise NotImplementedError

    def divisor(self, block: Block, k: int | None) -> FloatArray | float:
        """Return what the sum is divided by; NaN for a query for which the metric is undefined."""
        return 1.0

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        depths = [ranking.depth(k) for k in cutoffs]
        running = np.cumsum(self.contributions(ranking, max(depths)), axis=1)
        block, family = ranking.block, self.family()
        return [
            running[:, depth - 1] / block.once((family, k), lambda k=k: self.divisor(block, k))  # type: ignore[misc]
            for k, depth in zip(cutoffs, depths, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(RankMetric):
    """A metric that only asks whether a document is relevant.

    Parameters
    ----------
    rel : float, optional
        Lowest grade of a relevant document. None, the default, means 1, and refuses labels strictly between 0 and 1.
    """

    rel: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rel is not None and not (is_number(self.rel) and self.rel > 0):
            raise LtrValueError(f"The parameter rel of {self.NAME} must be a number above 0. Got {self.rel!r}.")

    def check(self, queries: LabelledQueries) -> None:
        between = queries.grades[(queries.grades > 0) & (queries.grades < 1)]
        if self.rel is None and between.size:
            raise LtrValueError(
                f"{self.NAME} must know from which label on a document is relevant when labels lie between 0 and 1: got "
                f"{between[0]:g} at {queries.first_row_of_grade(between[0])}. Write for example {self.NAME}(rel=0.5)."
            )

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        return ranking.expected(self.relevant(ranking.queries).astype(np.float64), depth)

    def relevant(self, queries: LabelledQueries) -> BoolArray:
        """Return one flag for each distinct grade."""
        lowest = 1.0 if self.rel is None else self.rel
        if queries.single_precision:  # hosts keep labels as float32: a label .7 is to reach rel=0.7 there as well
            lowest = float(np.float32(lowest))
        return queries.grades >= lowest

    def n_relevant(self, block: Block) -> FloatArray:
        """R: the relevant documents of each query, ranked or not; NaN where there is none."""
        return block.once(("n_relevant", self.rel), lambda: self._n_relevant(block))

    def _n_relevant(self, block: Block) -> FloatArray:
        count = block.queries.count_by_query(self.relevant(block.queries))[block.members]
        return np.where(count > 0, count, np.nan)


def require_parameter(metric: Metric, name: str, allowed: Sequence[str]) -> None:
    """Raise an error unless the parameter is one of the allowed words."""
    require_option(f"The parameter {name} of {metric.NAME}", getattr(metric, name), allowed)


def is_number(value: object) -> bool:
    """Whether a parameter is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _spell(value: Any) -> str:
    if callable(value):
        name = getattr(value, "__name__", "")
        if not name.isidentifier():
            raise LtrTypeError(f"A function that is a parameter of a metric must have a name: got {value!r}. Use def.")
        return name
    if isinstance(value, tuple):
        return "[" + ",".join(map(_spell, value)) + "]"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
