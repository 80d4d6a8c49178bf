"""Metrics of your own: `as_metric`, which makes a function a metric, and what every metric must fulfil.

A function is called in a loop over queries in plain Python: simple, and slower than what a metric
declares, which the compiled core adds up.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from types import FunctionType
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.checks import FloatArray, require_option
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.metrics.all_metrics import BY_NAME, METRICS
from ltr_metrics.metrics.base import METHODS, Metric, RankMetric, is_of_user, spell
from ltr_metrics.metrics.kinds import RESULTS, Kind
from ltr_metrics.metrics.other_names import other_name_hint

DECLARATIONS = ("KIND", "values", *METHODS)  # what a class can say of its values
MAX_ORDERS = 200  # different orders of tied documents that are all evaluated; of more, as many are drawn
_LOG_MAX_ORDERS = math.log(MAX_ORDERS) + 1e-9  # which is rounded
_RESERVED = {"qid", "documents", "relevant"}  # columns of a result's table

QueryFunction = Callable[[FloatArray, dict[str, FloatArray]], Any]
Tie = tuple[int, int]  # the ranks, from 0, at which it begins and ends


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
    >>> isinstance(ltr.metric(top_grade), ltr.metrics.FunctionMetric)
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
        # scikit-learn's own make_scorer takes functions such as evaluate
        name = getattr(self.function, "__name__", "")
        if self.function is vars(sys.modules["ltr_metrics"]).get(name):
            raise LtrTypeError(f"{name} is a function of this package and no metric. Name one, such as 'ndcg@10'.")
        if self.name is not None and not (isinstance(self.name, str) and re.fullmatch(r"[A-Za-z_]\w*", self.name)):
            raise LtrValueError(
                "The name of a metric must be one word of letters, digits and '_', such as first_purchase. "
                f"Got {self.name!r}."
            )
        str(self)  # refuses a function without a name here, and not in the first line of a log

    @property
    def needed_columns(self) -> tuple[str, ...]:
        return self.columns or ()

    def _spelled(self) -> tuple[str, dict[str, Any]]:
        return self.name or spell(self.function), {}

    def values(self, ranking: Ranking) -> FloatArray:
        columns = self.columns_of(ranking.queries)
        values = np.empty(len(ranking.n_ranked))
        for query, ties in enumerate(_ties_by_query(ranking)):
            documents = _documents(ranking, query, columns)
            with naming(f"The metric {self}, query {ranking.queries.qid[query]}"):
                values[query] = _expected(self.function, list(columns), documents, ties)
        return values

    def columns_of(self, queries: LabelledQueries) -> dict[str, FloatArray]:
        """Return the columns that the function gets.

        Parameters
        ----------
        queries : LabelledQueries
            The labels and columns of all queries.

        Returns
        -------
        dict of str to ndarray
            One number for each row, by the name of the column.
        """
        remedy = "Name those that it reads, as_metric(..., columns=[...]), or none, columns=[]"
        with naming(f"The metric {self} gets all columns. {remedy}"):  # those that are named are checked already
            return {name: queries.column(name) for name in (queries.columns if self.columns is None else self.columns)}


@explaining_calls
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
    the mean over 200 random orders. These depend only on the query's own documents, so the value is
    the same in every run and does not depend on the other queries. As a mean of 200 draws, it has a
    standard error of 7 % of the standard deviation over all orders.

    Parameters
    ----------
    function : callable
        A function ``(grades, columns)``. ``grades`` is an array of the grades of one query's ranked
        documents, in ranked order. ``columns`` is a dict of further columns, as
        arrays in the same order. The function returns a number, or None where the metric is
        undefined. Documents with ``retrieved=False`` are not ranked, so a function never sees them,
        and cannot count all relevant documents: inherit from `Recall` for that. Unjudged documents
        have grade 0.
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
        What the function gets. The only choice is ``"query"``, the documents of one query.

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
    The rank of the first purchase, a metric where lower is better:

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
    if not callable(function) or isinstance(function, type):
        raise LtrTypeError(f"as_metric needs a function. Got {function!r}.")
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
        raise LtrTypeError(f"A metric's parameters must be hashable: {error} in {metric!r}. Use tuples.") from None
    if type(metric) in METRICS:
        return
    if not isinstance(metric, FunctionMetric):
        _refuse_unfinished(type(metric))
    name = str(metric) if isinstance(metric, FunctionMetric) else metric.NAME
    if name.lower() in BY_NAME.keys() | _RESERVED:  # names are read in any case
        raise LtrValueError(f"Your metric {name!r} has the name of another metric, or of a column. Rename it.")


def _refuse_unfinished(cls: type[Metric]) -> None:
    name = getattr(cls, "NAME", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise LtrTypeError(f"{cls.__name__} must have a class attribute NAME, one word for its name. Got {name!r}.")
    if "__dataclass_params__" not in vars(cls):
        raise LtrTypeError(f"{cls.__name__} must be a dataclass: write @dataclass(frozen=True, kw_only=True) above it.")
    if issubclass(cls, RankMetric):
        require_option(f"{cls.__name__}.KIND", cls.KIND, get_args(Kind))
    for name in RESULTS:
        if any(name in vars(one) and not isinstance(vars(one)[name], FunctionType) for one in cls.__mro__):
            owner = "ranking" if name == "values" else "queries, ..."
            raise LtrTypeError(f"{cls.__name__}.{name} must be a method: write def {name}(self, {owner}).")
    for name in sorted(_overridden(cls)):
        remedy = _why_uncalled(cls, name)
        if remedy:
            raise LtrTypeError(f"Nothing reads {name} of {cls.__name__}. {remedy}")


def _overridden(cls: type[Metric]) -> set[str]:
    """Return what classes of the user's declare; without what only a function of their own can read."""
    declared = {name for name in DECLARATIONS for one in cls.__mro__ if is_of_user(one) and name in vars(one)}
    return set() if "values" in declared and not issubclass(cls, RankMetric) else declared


def _why_uncalled(cls: type[Metric], name: str) -> str | None:
    """Return what to do instead of an override that the class's values do not depend on, or None if they do."""
    bases = [one for one in cls.__mro__ if not is_of_user(one)]
    if name in cls.UNREAD:
        return cls.UNREAD[name]
    if not any(hasattr(base, name) for base in bases):
        return f"The values of {bases[0].__name__} do not depend on it. Subclass RankMetric, or override values."
    kind = {"by_row": "gains", "by_query": "cascade"}.get(name)
    if issubclass(cls, RankMetric) and kind not in (None, cls.KIND):
        return f"It is for KIND = {kind!r}, and KIND is {cls.KIND!r}."
    return None


# -- the value of a query, and its expectation under ties -----------------------------------------


def _ties_by_query(ranking: Ranking) -> list[list[Tie]]:
    """Return the ties of each query whose order is open."""
    by_query: list[list[Tie]] = [[] for _ in ranking.n_ranked]
    for query, start, size, _ in zip(*(column.tolist() for column in ranking.ties), strict=True):
        by_query[query].append((start, start + size))
    return by_query


def _documents(ranking: Ranking, query: int, columns: Mapping[str, FloatArray]) -> FloatArray:
    """Return the grade and the columns of a query's documents, one document per row, by rank."""
    of_query = slice(ranking.starts[query], ranking.starts[query] + ranking.n_ranked[query])
    grades = ranking.queries.grades[ranking.grades[of_query] - 1]
    return np.column_stack([grades, *(column[ranking.rows[of_query]] for column in columns.values())])


def _expected(function: QueryFunction, columns: list[str], documents: FloatArray, ties: list[Tie]) -> float:
    """Return the mean of the function over the orders of tied documents, NaN if all are undefined."""
    values = [_call(function, columns, ordered) for ordered in _orders(documents, ties)]
    defined = [value for value in values if value is not None]
    if not defined:
        return math.nan
    if len(defined) < len(values):
        raise LtrValueError(
            "it returns None for some orders of tied documents and a number for others, so it has no expected value. "
            'Return a number for every order, or choose an order with ties="stable", worst, best or docid.'
        )
    low, high = min(defined), max(defined)  # the mean of equal values is that value
    return low if low == high else math.fsum(defined) / len(defined)


def _call(function: QueryFunction, columns: list[str], documents: FloatArray) -> float | None:
    """Return the function's value for documents in this order."""
    grades, *of_columns = documents.T.copy()
    try:
        value = function(grades, dict(zip(columns, of_columns, strict=True)))
    except Exception as error:
        raised = f"the function raised {type(error).__name__}: {error}"
        if isinstance(error, KeyError):
            raised += f". Its columns are {columns}. Pass others as columns=, and name them in as_metric(columns=...)."
        hint = other_name_hint(getattr(function, "__name__", ""), ())  # such as that of scikit-learn's ndcg_score
        raise LtrValueError(f"{raised}{hint}") from error
    if value is None:
        return None
    if not isinstance(value, (Real, np.bool_)):
        raise LtrTypeError(f"the function must return a number, or None where it is undefined. Got {value!r}.")
    if not math.isfinite(value):
        raise LtrValueError(
            f"the function must return a finite number. Got {value}. Return None where the metric is undefined."
        )
    return float(value)


# -- the orders of tied documents ------------------------------------------------------------------


def _orders(documents: FloatArray, ties: list[Tie]) -> Iterator[FloatArray]:
    """Yield the documents in all different orders of each tie, or in some that are drawn.

    Documents with the same grade and columns are interchangeable. The draws depend only on the
    query's documents, and not on other queries or the order of the rows.
    """
    documents = documents.copy()
    kinds = [np.unique(documents[start:stop], axis=0, return_counts=True) for start, stop in ties]
    for (start, stop), (distinct, count) in zip(ties, kinds, strict=True):
        documents[start:stop] = np.repeat(distinct, count, axis=0)
    if sum(log_n_orders(count.tolist()) for _, count in kinds) > _LOG_MAX_ORDERS:
        yield from _drawn_orders(documents, ties)
        return
    for orders in itertools.product(*([distinct[order] for order in all_orders(c.tolist())] for distinct, c in kinds)):
        for (start, stop), ordered in zip(ties, orders, strict=True):
            documents[start:stop] = ordered
        yield documents


def log_n_orders(counts: list[int]) -> float:
    """Return the logarithm of a multinomial coefficient: of the number of different orders of a tie."""
    return math.lgamma(sum(counts) + 1) - math.fsum(math.lgamma(n + 1) for n in counts)


def all_orders(counts: list[int]) -> Iterator[list[int]]:
    """Yield all different orders of a tie with so many documents of each kind, as lists of kinds."""
    *others, n_last = counts
    for order in all_orders(others) if others else [[]]:
        for ranks in map(set, itertools.combinations(range(len(order) + n_last), n_last)):
            rest = iter(order)
            yield [len(others) if rank in ranks else next(rest) for rank in range(len(order) + n_last)]


def _drawn_orders(documents: FloatArray, ties: list[Tie]) -> Iterator[FloatArray]:
    generator = np.random.default_rng(zlib.crc32(documents.tobytes()))
    for _ in range(MAX_ORDERS):
        for start, stop in ties:
            generator.shuffle(documents[start:stop])
        yield documents
