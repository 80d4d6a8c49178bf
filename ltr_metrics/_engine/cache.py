"""Results that are computed when they are first needed, and kept with the object that they describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from operator import attrgetter
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Cache:
    """Base class of objects that hold cached results; copies and pickled objects compute them again.

    A fact without a parameter is a `functools.cached_property` of the subclass. `cached` and
    `cached_per` are for facts that depend on parameters, such as a metric's gain.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "_cache" and not isinstance(getattr(type(self), name, None), cached_property)
        }


def cached(function: F) -> F:
    """Cache the results of a function in its first argument, which is a `Cache`. All arguments are positional."""

    @wraps(function)
    def look_up(owner: Cache, *arguments: Any) -> Any:
        values = owner.__dict__.setdefault("_cache", {})
        key = (function, *arguments)
        if key not in values:
            values[key] = function(owner, *arguments)
        return values[key]

    return cast("F", look_up)


def cached_per(*fields: str) -> Callable[[F], F]:
    """Cache the results of a metric's method in the method's first argument, which is a `Cache`.

    Metrics with equal values of these fields share a result, so each field that the method reads
    must be named.
    """
    values_of_fields = attrgetter(*fields)

    def decorate(method: F) -> F:
        @wraps(method)
        def look_up(metric: Any, owner: Cache, *arguments: Any) -> Any:
            values = owner.__dict__.setdefault("_cache", {})
            key = (method, values_of_fields(metric), *arguments)
            if key not in values:
                values[key] = method(metric, owner, *arguments)
            return values[key]

        return cast("F", look_up)

    return decorate
