"""Results that are computed when they are first needed, and kept with the object that they describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Cache:
    """Base class of objects that hold cached results; copies and pickled objects compute them again.

    A fact without a parameter is a `functools.cached_property` of the subclass. `cached` is for those
    with parameters. Where each call counts, a function looks them up in `known` itself.
    """

    known: dict[Any, Any]  # the results with parameters, by the function and its arguments

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: {} if name == "known" else value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }


def cached(function: F) -> F:
    """Cache the results of a function in its first argument, which is a `Cache`. All arguments are positional."""

    @wraps(function)
    def look_up(owner: Cache, *arguments: Any) -> Any:
        key = (function, *arguments)
        if key not in owner.known:
            owner.known[key] = function(owner, *arguments)
        return owner.known[key]

    return cast("F", look_up)
