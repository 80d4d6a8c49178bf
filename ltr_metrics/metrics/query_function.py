"""The values of a user's function of one query's documents, with its expectation under ties.

This is a loop over queries in plain Python: simple, and slower than metrics that process blocks.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, did_you_mean, naming

MAX_ORDERS = 200  # different orders of tied documents that are all evaluated; of more, as many are drawn

QueryFunction = Callable[[FloatArray, dict[str, FloatArray]], Any]
Tie = tuple[int, int]  # the ranks, from 0, at which it begins and ends


class ColumnsOfQuery(dict[str, FloatArray]):
    """The columns of one query's documents; a missing one is an error that names the remedy."""

    def __missing__(self, name: str) -> FloatArray:
        raise LtrKeyError(
            f"it reads the column {name!r}, which was not passed.{did_you_mean(str(name), self)} Given: "
            f"{', '.join(self) or 'none'}. Pass columns={{{name!r}: ...}}. Where columns are selected by name, "
            f"name it in as_metric(..., columns=[{name!r}])."
        )


def values_of_queries(
    name: str, function: QueryFunction, columns: Sequence[str] | None, ranking: Ranking
) -> FloatArray:
    """Return the function's value for each query, NaN where it returns None.

    ``columns`` are those that it gets, by default all.
    """
    queries = ranking.queries
    numbers = _numbers(name, columns, queries)
    values = np.empty(len(ranking.n_ranked))
    for query, ties in enumerate(_ties_by_query(ranking)):
        documents = _documents(ranking, query, numbers)
        with naming(f"The metric {name}, query {queries.qid[ranking.block.members[query]]}"):
            values[query] = _expected(function, list(numbers), documents, ties)
    return values


def _numbers(name: str, columns: Sequence[str] | None, queries: LabelledQueries) -> dict[str, FloatArray]:
    remedy = "Name those that it reads, as_metric(..., columns=[...]), or none, columns=[]"
    with naming(f"The metric {name} gets all columns. {remedy}"):  # those that are named are checked already
        return {column: queries.column(column) for column in (queries.columns if columns is None else columns)}


def _ties_by_query(ranking: Ranking) -> list[list[Tie]]:
    """Return the ties of each query whose order is open."""
    by_query: list[list[Tie]] = [[] for _ in ranking.n_ranked]
    if ranking.ties is not None:
        ties = ranking.ties
        for query, start, size in zip(ties.query.tolist(), ties.n_above.tolist(), ties.size.tolist(), strict=True):
            by_query[query].append((start, start + size))
    return by_query


def _documents(ranking: Ranking, query: int, columns: Mapping[str, FloatArray]) -> FloatArray:
    """Return the grade and the columns of a query's documents, one document per row, by rank."""
    rank = np.arange(ranking.n_ranked[query])
    rows = ranking.documents.rows(np.full(len(rank), query), rank)
    grades = ranking.queries.grades[ranking.queries.grade_index[rows].astype(np.intp) - 1]
    return np.column_stack([grades, *(column[rows] for column in columns.values())])


def _expected(function: QueryFunction, columns: list[str], documents: FloatArray, ties: list[Tie]) -> float:
    """Return the mean of the function over the orders of tied documents, NaN if all are undefined."""
    values = [_call(function, columns, ordered) for ordered in _orders(documents, ties)]
    defined = [value for value in values if value is not None]
    if not defined:
        return math.nan
    if len(defined) < len(values):
        raise LtrValueError(
            "it returns None for some orders of tied documents and a number for others, so it has no expected value. "
            'Return a number for every order, or choose an order with ties="stable", "worst", "best" or "docid".'
        )
    low, high = min(defined), max(defined)  # the mean of equal values is that value
    return low if low == high else math.fsum(defined) / len(defined)


def _call(function: QueryFunction, columns: list[str], documents: FloatArray) -> float | None:
    """Return the function's value for documents in this order."""
    grades, *of_columns = documents.T.copy()
    try:
        value = function(grades, ColumnsOfQuery(zip(columns, of_columns, strict=True)))
    except LtrError:
        raise
    except Exception as error:
        raise LtrValueError(f"the function raised {type(error).__name__}: {error}") from error
    if value is None:
        return None
    if not isinstance(value, (Real, np.bool_)):
        raise LtrTypeError(f"the function must return a number, or None where it is undefined. Got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # of an int beyond the range of floats
        number = math.inf
    if not math.isfinite(number):
        raise LtrValueError(
            f"the function must return a finite number. Got {number}. Return None where the metric is undefined."
        )
    return number


# -- the orders of tied documents ------------------------------------------------------------------


def _orders(documents: FloatArray, ties: list[Tie]) -> Iterator[FloatArray]:
    """Yield the documents in all different orders of each tie, or in some that are drawn.

    Documents with the same grade and columns are interchangeable. The draws depend on the query's
    documents alone: neither on other queries nor on the order of the rows.
    """
    documents = documents.copy()
    kinds = [np.unique(documents[start:stop], axis=0, return_counts=True) for start, stop in ties]
    for (start, stop), (distinct, count) in zip(ties, kinds, strict=True):
        documents[start:stop] = np.repeat(distinct, count, axis=0)
    counts = [count.tolist() for _, count in kinds]
    if sum(map(_log_n_orders, counts)) > math.log(MAX_ORDERS) + 1e-9:
        yield from _drawn_orders(documents, ties)
        return
    for orders in itertools.product(*map(_all_orders, counts)):
        for (start, stop), (distinct, _), order in zip(ties, kinds, orders, strict=True):
            documents[start:stop] = distinct[order]
        yield documents


def _log_n_orders(counts: list[int]) -> float:
    """Return the logarithm of a multinomial coefficient: of the number of different orders of a tie."""
    return math.lgamma(sum(counts) + 1) - math.fsum(math.lgamma(n + 1) for n in counts)


def _all_orders(counts: list[int]) -> Iterator[list[int]]:
    """Yield all different orders of a tie with so many documents of each kind, as lists of kinds."""
    *others, n_last = counts
    for order in _all_orders(others) if others else [[]]:
        for places in map(set, itertools.combinations(range(len(order) + n_last), n_last)):
            rest = iter(order)
            yield [len(others) if place in places else next(rest) for place in range(len(order) + n_last)]


def _drawn_orders(documents: FloatArray, ties: list[Tie]) -> Iterator[FloatArray]:
    generator = np.random.default_rng(zlib.crc32(documents.tobytes()))
    for _ in range(MAX_ORDERS):
        for start, stop in ties:
            generator.shuffle(documents[start:stop])
        yield documents
