"""A metric that is a function of the documents of one query."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.base import Metric, spell
from ltr_metrics.metrics.query_function import values_of_queries


@dataclass(frozen=True, kw_only=True)
class FunctionMetric(Metric):
    """A metric made from a function of one query's documents.

    You rarely create one yourself: use `as_metric`, or pass the function to `evaluate`.

    Parameters
    ----------
    higher_is_better : bool, default True
        The direction of the metric.
    function : callable
        A function ``(grades, columns) -> float``, described at `as_metric`. For worker processes it
        must be picklable, as a function in a module is.
    name : str, optional
        The canonical name. The default is the name of the function.
    columns : tuple of str, optional
        Names of the columns that the function reads.

    Raises
    ------
    LtrValueError, LtrTypeError
        If there is no name, as a lambda has none, or it is not one word. Also if the function does
        not accept two arguments.

    See Also
    --------
    as_metric : Make one, with a description of what the function gets.
    RankMetric : The base class for metrics with cutoffs and parameters.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> def top_grade(grades, columns):
    ...     return grades[0]
    >>> ltr.metric(top_grade) == ltr.FunctionMetric(function=top_grade)
    True
    >>> ltr.evaluate([2, 4, 0, 1], [9, 8, 7, 6], group=[3, 1], metrics=[top_grade]).per_query["top_grade"]
    array([2., 1.])
    """

    NAME: ClassVar[str] = "function"

    function: Callable[..., Any]
    name: str | None = None
    higher_is_better: bool = True  # type: ignore[misc]  # a fact of the class in other metrics
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise LtrTypeError(f"A metric of your own needs a function. Got {self.function!r}.")
        if not isinstance(self.higher_is_better, bool):
            raise LtrTypeError(f"higher_is_better must be True or False. Got {self.higher_is_better!r}.")
        if self.name is not None and not (isinstance(self.name, str) and re.fullmatch(r"[A-Za-z_]\w*", self.name)):
            raise LtrValueError(
                "The name of a metric must be one word of letters, digits and '_', such as first_purchase. "
                f"Got {self.name!r}."
            )
        self._require_names_of_columns()
        str(self)  # refuses a function without a name here, and not in the first line of a log
        self._require_arguments()

    def _require_names_of_columns(self) -> None:
        columns = self.columns
        if columns is not None and not (isinstance(columns, tuple) and all(isinstance(one, str) for one in columns)):
            raise LtrTypeError(f"columns must name columns, such as ('revenue',). Got {columns!r}.")

    def _require_arguments(self) -> None:
        """Refuse a function that cannot be called with what it gets."""
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # some functions in C have none
            return
        try:
            signature.bind("grades", "columns")
        except TypeError as error:
            raise LtrTypeError(
                f"A metric's function is called as function(grades, columns), which {self.function!r} does not accept: "
                f"{error}. Change its parameters, or write a subclass of RankMetric."
            ) from None

    @property
    def needed_columns(self) -> tuple[str, ...]:
        return self.columns or ()

    def _spelled(self) -> tuple[str, dict[str, Any]]:
        return self.name or spell(self.function), {}

    def values(self, ranking: Ranking) -> FloatArray:
        return values_of_queries(str(self), self.function, self.columns, ranking)
