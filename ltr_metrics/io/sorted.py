"""Files whose rows stand query after query, read in batches of whole queries: for what does not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray
from ltr_metrics.errors import LtrValueError

R = TypeVar("R", bound="SortedRows")


@dataclass(frozen=True, eq=False, kw_only=True)
class SortedRows(ABC):
    """Some rows of files, the rows of a query together.

    Attributes
    ----------
    paths : tuple of Path
        All files.
    file, at : ndarray of int
        Of each row its file, and its place there.
    qid : ndarray
        Of each row its query.
    """

    paths: tuple[Path, ...]
    file: IntArray
    at: IntArray
    qid: AnyArray

    def __len__(self) -> int:
        return len(self.qid)

    @abstractmethod
    def where(self, row: int) -> str:
        """Where a row stands, for messages."""

    @abstractmethod
    def how_to_sort(self) -> str:
        """How such files are sorted by query."""

    @abstractmethod
    def part(self: R, first: int, last: int) -> R:
        """Return the rows from ``first`` to before ``last``."""

    @classmethod
    @abstractmethod
    def joined(cls: type[R], parts: Sequence[R]) -> R:
        """Return the rows of all parts, one after the other."""

    def path(self, row: int) -> Path:
        """Return the file of a row."""
        return self.paths[int(self.file[row])]

    def _part_of_places(self, first: int, last: int) -> dict[str, Any]:
        return {name: getattr(self, name)[first:last] for name in ("file", "at", "qid")} | {"paths": self.paths}

    @staticmethod
    def _joined_places(parts: Sequence[SortedRows]) -> dict[str, Any]:
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("file", "at", "qid")}
        return joined | {"paths": parts[0].paths}


def whole_queries(pieces: Iterable[R], rows_at_once: int) -> Iterator[R]:
    """Yield the rows again, whole queries at a time: about as many rows as asked for, or one query that is longer.

    The ids of all queries are kept, to find one that comes back after it has ended.
    """
    held: list[R] = []
    n_held = n_whole = 0  # rows held, and how many of them are of queries that have ended
    seen: set[Hashable] = set()
    last: object = None  # no id is None
    for piece in pieces:
        for first in range(0, len(piece), rows_at_once):
            rows = piece.part(first, min(first + rows_at_once, len(piece)))
            begins = _begins(rows.qid, last)
            _remember(rows, begins, seen)
            if len(begins):
                n_whole = n_held + int(begins[-1])
            last = rows.qid[-1]
            held.append(rows)
            n_held += len(rows)
            if n_held >= rows_at_once and n_whole:
                together = rows.joined(held)
                yield together.part(0, n_whole)
                held, n_held, n_whole = [together.part(n_whole, n_held)], n_held - n_whole, 0
    if held:
        yield held[0].joined(held)


def _begins(qid: AnyArray, last: object) -> IntArray:
    """Where another query begins than that of the row before."""
    return np.flatnonzero(np.concatenate(([last is None or qid[0] != last], qid[1:] != qid[:-1])))


def _remember(rows: SortedRows, begins: IntArray, seen: set[Hashable]) -> None:
    for row, name in zip(begins.tolist(), rows.qid[begins].tolist(), strict=True):
        if name in seen:
            raise LtrValueError(
                f"{rows.where(row)}: the rows of a query must stand together where files are read in pieces: query {name!r} ended before "
                f"and comes back here. Sort the rows by query first, for example with {rows.how_to_sort()}; or evaluate them in memory, "
                "where any order will do."
            )
        seen.add(name)
