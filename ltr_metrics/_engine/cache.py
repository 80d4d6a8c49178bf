"""Facts that are computed the first time that they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Cache:
    """Base of what remembers facts about itself; copies that are pickled find them again where they are needed."""

    def __init__(self) -> None:
        self._cache: dict[Hashable, Any] = {}

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``compute`` gave the first time that it was asked for under this key."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]  # type: ignore[no-any-return]

    def clear_cache(self) -> None:
        """Forget what was remembered, as a copy must that is to differ."""
        self._cache = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": {}}
