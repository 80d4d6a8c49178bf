"""The base classes of metrics. A metric is an immutable value that gives one number for each query.

Means over queries, weights and undefined values are no part of a metric: see
`ltr_metrics.evaluation`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._engine.blocks import Block
from ltr_metrics._engine.cache import cached_per
from ltr_metrics._engine.checks import LARGEST_EXACT_INTEGER, FloatArray, require_option
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking, sums_down_to
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Base of all metrics: a frozen dataclass whose fields are parameters, and part of its name.

    In this package, a class that adds no field has no decorator.
    Each decorator would add half a millisecond to the import.

    Attributes
    ----------
    CONVENTION_PREFIX : str
        Prefix of the fields of a convention that complete this metric's names, if it is not
        ``NAME``.
    ALIASES : dict
        Further names that `metric` reads, with the parameters that each fixes.
    POSITIONAL : str or None
        The parameter that is written without its name, as in ``mean_of(margin)``.
    COLUMNS : tuple of str
        Columns that the metric reads besides the grades, such as ``("revenue",)``.
    READS_ROWS : bool
        Whether the metric reads more than the grades of its first ranks: rows, scores, or documents
        below the cutoff. A metric with ``COLUMNS`` always may.
    higher_is_better : bool
        The direction. Trainings stop by it, searches choose by it, and it distinguishes gains from
        losses.
    NAME : str
        The canonical name without parameters. Every metric class sets it.

    See Also
    --------
    RankMetric : The base class for a metric of your own.
    available_metrics : All metrics of this package.
    metric : Make a metric of its name.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> one = ltr.MAP(k=10, rel=2)
    >>> str(one), one.cutoff, isinstance(one, ltr.Metric)
    ('map(rel=2)@10', 10, True)
    """

    NAME: ClassVar[str]
    CONVENTION_PREFIX: ClassVar[str] = ""
    ALIASES: ClassVar[dict[str, dict[str, Any]]] = {}
    POSITIONAL: ClassVar[str | None] = None
    COLUMNS: ClassVar[tuple[str, ...]] = ()
    READS_ROWS: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):  # np.float32(0.7) differs from 0.7
                object.__setattr__(self, field.name, value.item())

    def __str__(self) -> str:
        """Return the canonical name, which `metric` reads back."""
        return self._canonical

    @cached_property
    def _canonical(self) -> str:
        name, parameters = self._spelled()
        inside = ",".join(
            spell(value) if key == self.POSITIONAL else f"{key}={spell(value)}" for key, value in parameters.items()
        )
        return name + (f"({inside})" if inside else "") + ("" if self.cutoff is None else f"@{self.cutoff}")

    @property
    def cutoff(self) -> int | None:
        """Cutoff of the metric; None is the whole list."""
        return getattr(self, "k", None)

    @property
    def slug(self) -> str:
        """The name in letters, digits, ``_``, ``.`` and ``-``, which experiment trackers accept.

        >>> from ltr_metrics import metric
        >>> metric("map(rel=2)@10").slug
        'map-rel-2_at_10'
        """
        spelled = re.sub(
            r"(?<=[\[(,=])-", "neg", str(self).replace("@", "_at_").replace("=>", "=above-").replace("+", "")
        )
        return re.sub(r"[^\w.]+", "-", spelled).replace("-_", "_").strip("-")

    @cached_property
    def family(self) -> tuple[Any, ...]:
        """All parameters but the cutoff: metrics of equal families are computed together."""
        cutoff = "k" if isinstance(self, RankMetric) else None
        return (type(self), *(getattr(self, f.name) for f in fields(self) if f.name != cutoff))

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """Names of the columns that the metric reads."""
        return self.COLUMNS

    def check(self, queries: LabelledQueries) -> None:
        """Raise an error if a column is missing, or a label is outside of the metric's domain.

        Parameters
        ----------
        queries : Queries
            The labels of all queries.

        Raises
        ------
        LtrValueError
            If there is no such column, or a label is outside the metric's domain. The base class
            accepts all labels.
        """
        for name in self.needed_columns:
            if name not in queries.columns:
                raise LtrValueError(
                    f"{self} needs the column {name!r}, one number a row: pass columns={{{name!r}: ...}}."
                    f"{did_you_mean(name, queries.columns)} Given: {', '.join(queries.columns) or 'none'}."
                )
            queries.column(name)

    @cached_per("family")
    def check_once(self, queries: LabelledQueries) -> None:
        """Call `check` the first time that these queries are evaluated; the cutoff does not matter."""
        self.check(queries)

    @property
    def mean_over(self) -> str:
        """What the mean of an evaluation is over: ``"queries"``, or ``"pairs"`` of documents."""
        return "queries"

    def query_weight(self, queries: LabelledQueries) -> FloatArray | None:
        """Return the weights of the queries in the mean, or None if it is over queries.

        Parameters
        ----------
        queries : Queries
            The labels of all queries.

        Returns
        -------
        ndarray of float64 of shape (n_queries,), or None
            The number of units of each query, such as pairs, that the mean is over.
        """
        return None

    def values(self, ranking: Ranking) -> FloatArray:
        """Return one value for each query of the ranking, NaN where the metric is undefined.

        Parameters
        ----------
        ranking : Ranking
            The ranked documents of some queries.

        Returns
        -------
        ndarray of float64 of shape (n_queries,)
            The value of each query of the ranking.
        """
        raise NotImplementedError

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        """Return `values` for each of these cutoffs instead of this metric's own.

        Parameters
        ----------
        ranking : Ranking
            The ranked documents of some queries.
        cutoffs : sequence of int or None
            The cutoffs of several metrics of one family; None is the whole list.

        Returns
        -------
        list of ndarray of float64 of shape (n_queries,)
            One array per cutoff.
        """
        return [self.values(ranking) for _ in cutoffs]

    def _spelled(self) -> tuple[str, dict[str, Any]]:
        """Return the name, and the parameters that differ from their defaults."""
        changed = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.default is MISSING or getattr(self, f.name) != f.default
        }
        changed.pop("k", None)
        return self.NAME, changed


@dataclass(frozen=True, kw_only=True)
class RankMetric(Metric):
    """A sum of contributions of the first k ranks, divided by a number that depends on labels only.

    To write a metric of your own, subclass this class as a frozen dataclass.
    Set ``NAME``, write `contributions`, and `divisor` if there is one.
    Parameters of the metric are fields, and become part of its name.
    The following helpers make it correct for all options of `evaluate`:

    - ``ranking.queries.grades`` has the distinct grades in ascending order.
      A value for each of them, such as a gain, is an array of the same length.
    - ``ranking.expected(values, depth)`` gives such a value by rank; tied documents have the mean
      of their tie. This is all you need for a metric that adds up values of documents.
    - `ltr_metrics.metrics.ideal_by_rank` gives the value by rank of the ideal ranking.
    - ``ltr_metrics.metrics.tie_expectation`` has expectations for other metrics, and ``OpenTies``
      for a new one.
    - Inherit ``BinaryMetric`` for ``rel``: ``relevant``, ``lowest`` and ``n_relevant`` (R).
    - Inherit ``GainMetric`` for ``gain``: ``gains``.

    Parameters
    ----------
    k : int, optional
        Cutoff: only the first ``k`` ranks count. None, the default, is the whole list.

    Raises
    ------
    LtrValueError
        If ``k`` is not a whole number of at least 1.

    See Also
    --------
    FunctionMetric : A metric that is a function, without cutoffs and parameters.
    Ranking : What `contributions` reads.
    ltr_metrics.metrics.ideal_by_rank : A value by rank of the ideal ranking, for `divisor`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> import numpy as np
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.metrics import ideal_by_rank
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Kept(ltr.RankMetric):
    ...     NAME: ClassVar[str] = "kept"
    ...     power: float = 1
    ...
    ...     def contributions(self, ranking, depth):  # what each rank adds, (queries x depth)
    ...         return ranking.expected(ranking.queries.grades**self.power, depth)
    ...
    ...     def divisor(self, block, k):  # one number a query; NaN where the metric is undefined
    ...         ideal = ideal_by_rank(block, block.queries.grades**self.power, k or block.width).sum(axis=1)
    ...         return np.where(ideal > 0, ideal, np.nan)
    >>> ltr.evaluate([3, 0, 4], [3, 2, 1], group=[3], metrics=[Kept(k=1), Kept(k=2, power=2)]).mean
    {'kept@1': 0.75, 'kept(power=2)@2': 0.36}
    """

    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is None:
            return
        if not (isinstance(self.k, int) and not isinstance(self.k, bool) and self.k >= 1):
            raise LtrValueError(f"The cutoff k of {self.NAME} must be a whole number of at least 1. Got {self.k!r}.")
        if self.k > LARGEST_EXACT_INTEGER:
            raise LtrValueError(f"The cutoff k of {self.NAME} must be at most 2**53. Got {self.k!r}.")

    def contributions(self, ranking: Ranking, depth: int) -> FloatArray:
        """Return the contribution of each rank to the sum, (queries x depth).

        Parameters
        ----------
        ranking : Ranking
            The ranked documents of some queries.
        depth : int
            The number of first ranks that are needed.

        Returns
        -------
        ndarray of float64 of shape (n_queries, depth)
            0 below the last document of a query.
        """
        raise NotImplementedError

    def divisor(self, block: Block, k: int | None) -> FloatArray | float:
        """Return the divisor of each query, NaN where the metric is undefined.

        Parameters
        ----------
        block : Block
            Queries of similar length.
        k : int or None
            Cutoff; None is the whole list.

        Returns
        -------
        ndarray of float64 of shape (n_queries,), or float
            One divisor per query of the block, or one for all. The default is 1.
        """
        return 1.0

    def at_cutoffs(self, ranking: Ranking, cutoffs: Sequence[int | None]) -> list[FloatArray]:
        depths = [ranking.depth(k) for k in cutoffs]
        sums = sums_down_to(depths, self.contributions(ranking, max(depths)))
        # A user's own metric may divide by 0: 0 / 0 is undefined, and the evaluation refuses x / 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            return [total / self._divisor_once(ranking.block, k) for k, total in zip(cutoffs, sums, strict=True)]

    @cached_per("family")
    def _divisor_once(self, block: Block, k: int | None) -> FloatArray | float:
        return self.divisor(block, k)


def require_parameter(metric: Metric, name: str, allowed: Sequence[str]) -> None:
    """Raise an error unless the parameter has one of the allowed values."""
    require_option(f"The parameter {name} of {metric.NAME}", getattr(metric, name), allowed)


def is_number(value: object) -> bool:
    """Whether a parameter is a finite number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond float64
        return False


def spell(value: Any) -> str:
    """Return a parameter's value as it is written in a name."""
    if callable(value):
        name = getattr(value, "__name__", "")
        if not name.isidentifier():
            raise LtrTypeError(
                f"A function that is a metric, or a parameter of one, must have a name: got {value!r}. Use def, or for "
                "a metric as_metric(function, name=...)."
            )
        return name
    if isinstance(value, tuple):
        return "[" + ",".join(map(spell, value)) + "]"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
