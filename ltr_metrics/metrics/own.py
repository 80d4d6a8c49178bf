"""Metrics of your own: `as_metric`, which makes a function a metric, and what every metric must fulfil."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.all_metrics import BY_NAME, METRICS
from ltr_metrics.metrics.base import Metric, RankMetric, spell
from ltr_metrics.metrics.query_function import values_of_queries

_RESERVED = {"qid", "documents", "relevant"}  # columns of a result's table


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
        columns = self.columns
        if columns is not None and not (isinstance(columns, tuple) and all(isinstance(one, str) for one in columns)):
            raise LtrTypeError(f"columns must name columns, such as ('revenue',). Got {columns!r}.")
        str(self)  # refuses a function without a name here, and not in the first line of a log
        self._require_arguments()

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


def as_metric(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    higher_is_better: bool = True,
    columns: Iterable[str] | None = None,
    per: Literal["query"] = "query",
) -> FunctionMetric:
    """Return a function as a metric, which you can pass wherever a metric's name can stand.

    The function gets the documents of one query and returns a number, which is the simplest way to
    your own metric. It costs one call of your function per query; where that is too slow, write a
    subclass of `RankMetric`.

    Under ``ties="mean"``, the default, the value of a query is the mean over the orders of its tied
    documents. Documents with the same grade and the same columns are interchangeable. If there are
    at most 200 different orders, all of them are evaluated, and the mean is exact. Otherwise it is
    the mean over 200 random orders. They depend on the query's own documents alone, so the value is
    the same in every run, and whatever the other queries are. The standard error of the draws is a
    fourteenth of the standard deviation over the orders.

    Parameters
    ----------
    function : callable
        A function ``(grades, columns)``. ``grades`` is an array of the grades of one query's ranked
        documents, in ranked order. ``columns`` is a dict of further columns, as
        arrays in the same order. The function returns a number, or None where the metric is
        undefined. Documents with ``retrieved=False`` are not ranked, and unjudged documents have
        grade 0.
    name : str, optional
        The canonical name, one word. The default is the name of the function.
    higher_is_better : bool, default True
        The direction. If it is False, trainings and searches minimise the metric, and a query gains
        if its value falls.
    columns : iterable of str, optional
        Names of the columns that the function reads. By default it gets all columns that you pass,
        which must be numbers. Name them where columns are selected by name: for scikit-learn, Dask,
        Spark, and files.
    per : {"query"}, default "query"
        What the function gets: the documents of one query. There is no other kind.

    Returns
    -------
    FunctionMetric
        A frozen value. For worker processes, the function must be picklable, as a function in a
        module is.

    Raises
    ------
    LtrValueError, LtrTypeError
        If the name is missing, or is that of another metric. On evaluation: if the function raises
        an error, or returns NaN or no number. Also if it returns None for some orders of tied
        documents only.

    See Also
    --------
    RankMetric : The base class for metrics with cutoffs and parameters.
    SumOf : The sum of a column, without code.

    Examples
    --------
    The rank of the first purchase, of which lower is better:

    >>> import ltr_metrics as ltr
    >>> def rank_of_first(grades, columns):
    ...     ranks = columns["bought"].nonzero()[0]
    ...     return ranks[0] + 1 if len(ranks) else None
    >>> first_purchase = ltr.as_metric(rank_of_first, name="first_purchase", higher_is_better=False)
    >>> data = {"group": [3, 2], "columns": {"bought": [0, 1, 0, 0, 0]}}
    >>> result = ltr.evaluate([0, 1, 0, 1, 0], [3, 2, 1, 2, 1], metrics=[first_purchase], **data)
    >>> result["first_purchase"], result.n_undefined["first_purchase"]
    (2.0, 1)
    >>> tied = ltr.evaluate([0, 1, 0, 1, 0], [3, 1, 1, 2, 1], metrics=[first_purchase], **data)
    >>> tied["first_purchase"]  # rank 2 or 3
    2.5
    """
    require_option("per", per, ("query",))
    if isinstance(function, type):
        raise LtrTypeError(f"as_metric needs a function, not a class. Got {function!r}.")
    if isinstance(columns, str):
        raise LtrTypeError(f"columns must be several names, such as [{columns!r}]. Got {columns!r}.")
    metric = FunctionMetric(
        function=function,
        name=name,
        higher_is_better=higher_is_better,
        columns=None if columns is None else tuple(columns),
    )
    refuse_unusable(metric)
    return metric


def refuse_unusable(metric: Metric) -> None:
    """Refuse a user's metric that would be logged as another metric, or that is not a value."""
    try:
        hash(metric)
    except TypeError as error:
        raise LtrTypeError(
            f"A metric is a value, so its parameters must be hashable: {error} in {metric!r}. Use tuples."
        ) from None
    if type(metric) in METRICS:
        return
    if isinstance(metric, FunctionMetric):
        name = str(metric)
    else:
        _refuse_unfinished(type(metric))
        name = metric.NAME
    if name in BY_NAME.keys() | _RESERVED:
        raise LtrValueError(f"Your metric {name!r} has the name of another metric, or of a column. Rename it.")


def _refuse_unfinished(cls: type[Metric]) -> None:
    name = getattr(cls, "NAME", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise LtrTypeError(f"{cls.__name__} must have a class attribute NAME, one word for its name. Got {name!r}.")
    if "__dataclass_params__" not in vars(cls):
        raise LtrTypeError(f"{cls.__name__} must be a dataclass: write @dataclass(frozen=True, kw_only=True) above it.")
    base = RankMetric if issubclass(cls, RankMetric) else Metric
    if all(getattr(cls, name, None) is getattr(base, name, None) for name in ("values", "sums", "by_grade", "by_row")):
        raise LtrTypeError(f"{cls.__name__} must have a method by_grade: the value of a document of each grade.")
