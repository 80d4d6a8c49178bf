"""A function of a `Ranking` as a metric: the shortest way to a metric of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.base import Metric, spell


@dataclass(frozen=True, kw_only=True)
class FunctionMetric(Metric):
    """A function that gives one number a query of a `Ranking`; its name is the metric's name.

    Parameters
    ----------
    function : callable
        Gets a `Ranking`, which holds some of the queries at a time, and returns one float64 a query of it, NaN where the metric
        is undefined. Higher must be better, since that is what hosts are told. To get to worker processes it has to be
        picklable, as a function in a module is.
    """

    NAME: ClassVar[str] = "function"

    function: Callable[[Ranking], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise LtrTypeError(f"FunctionMetric needs a function of a Ranking. Got {self.function!r}.")
        str(self)  # a function without a name is refused here and not when the first log line is written

    def _spelled(self) -> tuple[str, dict[str, Any]]:
        return spell(self.function), {}

    def values(self, ranking: Ranking) -> FloatArray:
        returned = self.function(ranking)
        try:
            values = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError):
            raise LtrTypeError(f"The metric {self} must return numbers, one a query. Got {returned!r}.") from None
        if values.shape != ranking.n_ranked.shape:
            raise LtrValueError(
                f"The metric {self} must return one number a query of the ranking: got shape {values.shape} for "
                f"{len(ranking.n_ranked)} queries."
            )
        return values
