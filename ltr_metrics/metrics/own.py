"""`as_metric`: a function as a metric, with a name and a direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from ltr_metrics._engine.checks import require_option
from ltr_metrics.errors import LtrTypeError
from ltr_metrics.metrics.function import FunctionMetric
from ltr_metrics.metrics.names import refuse_unusable


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
