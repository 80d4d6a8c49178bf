"""Facts that are computed the first time that they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Base of what remembers facts about itself; copies that are pickled find them again where they are needed."""

    def __init__(self) -> None:
        self._memo: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``compute`` gave the first time that it was asked for under this key."""
        if key not in self._memo:
            self._memo[key] = compute()
        return self._memo[key]  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Forget what was remembered, as a copy must that is to differ."""
        self._memo = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_memo": {}}
