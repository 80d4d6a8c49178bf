"""A function of a `Ranking` as a metric, the shortest way to your own metric."""

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
    """A metric made from a function of a `Ranking`; the function's name is the metric's name.

    You rarely create one yourself: pass the function to `evaluate` or `metric`.

    Parameters
    ----------
    function : callable
        Gets a `Ranking`, which holds some of the queries at a time.
        Returns one float64 for each of its queries, NaN where the metric is undefined.
        Higher must be better, because training libraries maximise it.
        For worker processes it must be picklable, as a function in a module is.

    Raises
    ------
    LtrValueError, LtrTypeError
        If the function has no name, as a lambda has none.
        On evaluation: if it does not return one number per query.

    See Also
    --------
    metric : Make a metric of a name or of a function.
    RankMetric : The base class for metrics with cutoffs and parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import ltr_metrics as ltr
    >>> def top_grade(ranking):
    ...     return ranking.expected(ranking.queries.grades, depth=1)[:, 0]
    >>> ltr.metric(top_grade) == ltr.FunctionMetric(function=top_grade)
    True
    >>> ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[3, 1], metrics=[top_grade]).per_query["top_grade"]
    array([2., 1.])
    """

    NAME: ClassVar[str] = "function"

    function: Callable[[Ranking], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise LtrTypeError(f"FunctionMetric needs a function of a Ranking. Got {self.function!r}.")
        str(self)  # refuses a function without a name here, and not in the first line of a log

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
