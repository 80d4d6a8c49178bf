"""Results that are computed when they are first needed, and kept with the object that they describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
BYTES_KEPT = 2**24  # that each half of the results may take, as they are counted: shared arrays count twice
BYTES_KEPT_PER_ROW = 64  # of the object, besides: eight numbers
BYTES_OF_A_RESULT = 1_000  # what a result takes besides its arrays, with its key


class Results:
    """The cached results of an object that have arguments, in two halves.

    When the newer half has become too large, `forget_older` drops the other one and begins a new half.
    Whatever is used again in the meantime moves to the newer half. So no result that is used all the time
    is ever forgotten, however large it is.
    """

    def __init__(self) -> None:
        self.newer: dict[Any, Any] = {}
        self.older: dict[Any, Any] = {}
        self.newest: dict[Any, Any] = {}  # the last arguments and their result, by the function
        self.n_bytes = 0  # of the newer half, without the results that are not counted yet
        self.uncounted: list[Any] = []


class Cache:
    """Base class of objects that hold cached results; copies and pickled objects compute them again.

    - `functools.cached_property` is for a result without arguments.
    - `cached` is for one with arguments, and `newest_cached` if there may be very many of them.
    - `ltr_metrics.metrics.base.shared_by_cutoffs` is for a metric's methods, whose results belong to the
      queries.
    """

    n_rows = 0

    @cached_property
    def results(self) -> Results:
        """The results with arguments."""
        return Results()

    def forget_older(self) -> None:
        """Forget the older results if there are too many newer ones; a new request begins with this."""
        results = self.results
        while results.uncounted:  # not when they are kept: most queries are evaluated once
            results.n_bytes += n_bytes_of(results.uncounted.pop())
        if results.n_bytes > BYTES_KEPT + BYTES_KEPT_PER_ROW * self.n_rows:
            results.newer, results.older, results.n_bytes = {}, results.newer, 0

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }


def n_bytes_of(result: Any) -> int:
    """Return the bytes that a result takes: those of its arrays, and some for itself."""
    if isinstance(result, tuple):
        return BYTES_OF_A_RESULT + sum(map(n_bytes_of, result))
    return BYTES_OF_A_RESULT + int(getattr(result, "nbytes", 0))


def cached(function: F, key_of: Callable[[Any], Any] | None = None) -> F:
    """Cache the results of a function in its first argument, which is a `Cache`. All arguments are positional.

    With ``key_of``, the cache is the second argument, and the key has ``key_of(first)`` in place of the first one.
    Nobody can change an array that is cached.
    """

    @wraps(function)
    def look_up(*arguments: Any, **named: Any) -> Any:
        if named:
            arguments += tuple(named.values())  # no method has two of them
        if key_of is None:
            results, key = arguments[0].results, (function, *arguments[1:])
        else:
            results, key = arguments[1].results, (function, key_of(arguments[0]), *arguments[2:])
        result = results.newer.get(key, results)  # which marks that there is no result
        if result is not results:
            return result
        result = results.older.pop(key, results)
        if result is results:
            result = function(*arguments)
        if isinstance(result, np.ndarray):
            result.setflags(write=False)
        results.newer[key] = result
        results.uncounted.append(result)
        return result

    return cast("F", look_up)


def newest_cached(function: F) -> F:
    """Cache only the result of the newest arguments, otherwise like `cached`."""

    @wraps(function)
    def look_up(owner: Cache, *arguments: Any) -> Any:
        newest, result = owner.results.newest.get(function, (None, None))
        if newest != arguments:
            result = function(owner, *arguments)
            owner.results.newest[function] = arguments, result
        return result

    return cast("F", look_up)
