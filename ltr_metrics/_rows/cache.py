"""Results that are computed when they are first needed, and kept with the object that they describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Cache:
    """Base class of objects that hold cached results; copies and pickled objects compute them again.

    - `functools.cached_property` is for a result without arguments.
    - `cached` is for one with arguments, and `newest_cached` if there may be very many of them.
    - `ltr_metrics.metrics.base.shared_by_cutoffs` is for a metric's methods, whose results belong to the
      queries.
    """

    cache: dict[Any, Any]  # by the function and its arguments

    def __init__(self) -> None:
        self.cache = {}

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: {} if name == "cache" else value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }


def cached(function: F) -> F:
    """Cache the results of a function in its first argument, which is a `Cache`. All arguments are positional."""

    @wraps(function)
    def look_up(owner: Cache, *arguments: Any) -> Any:
        key = (function, *arguments)
        if key not in owner.cache:
            owner.cache[key] = function(owner, *arguments)
        return owner.cache[key]

    return cast("F", look_up)


def newest_cached(function: F) -> F:
    """Cache only the result of the newest arguments, otherwise like `cached`."""

    @wraps(function)
    def look_up(owner: Cache, *arguments: Any) -> Any:
        newest, result = owner.cache.get(function, (None, None))
        if newest != arguments:
            result = function(owner, *arguments)
            owner.cache[function] = arguments, result
        return result

    return cast("F", look_up)
