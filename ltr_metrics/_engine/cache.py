"""Values that are computed when they are first needed, and kept with the object that they describe."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class Cache:
    """Base class of objects that cache facts about themselves; copies and pickled objects compute them again.

    A fact without a parameter is a `functools.cached_property` of the subclass. `cached` is for
    facts that depend on a parameter, such as a metric's gain.
    """

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value stored under the key; call ``compute`` and store its result the first time."""
        values = self.__dict__.setdefault("_cache", {})
        if key not in values:
            values[key] = compute()
        return values[key]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "_cache" and not isinstance(getattr(type(self), name, None), cached_property)
        }
