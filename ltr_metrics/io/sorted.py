"""Files sorted by query, read in batches of whole queries: they may not fit into memory."""

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
_COLUMNS = ("file", "position", "qid")


@dataclass(frozen=True, eq=False, kw_only=True)
class SortedRows(ABC):
    """Consecutive rows of files, in which the rows of each query are consecutive, too.

    Attributes
    ----------
    paths : tuple of Path
        All files.
    file, position : ndarray of int
        The index of each row's file in ``paths``, and its row or line in that file.
    qid : ndarray
        The query id of each row.
    """

    paths: tuple[Path, ...]
    file: IntArray
    position: IntArray
    qid: AnyArray

    def __len__(self) -> int:
        return len(self.qid)

    @abstractmethod
    def where(self, row: int) -> str:
        """Return the file and the row or line of a row, for messages."""

    @abstractmethod
    def sort_command(self) -> str:
        """Return a command that sorts such files by query, for messages."""

    @abstractmethod
    def slice(self: R, start: int, stop: int) -> R:
        """Return the rows from ``start`` to before ``stop``."""

    @classmethod
    @abstractmethod
    def concat(cls: type[R], parts: Sequence[R]) -> R:
        """Return the rows of all parts, one after the other."""

    def path(self, row: int) -> Path:
        """Return the file of a row."""
        return self.paths[int(self.file[row])]

    def _slice_columns(self, start: int, stop: int) -> dict[str, Any]:
        return {"paths": self.paths, **{name: getattr(self, name)[start:stop] for name in _COLUMNS}}

    @staticmethod
    def _concat_columns(parts: Sequence[SortedRows]) -> dict[str, Any]:
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
        return {"paths": parts[0].paths, **columns}


def whole_queries(pieces: Iterable[R], rows_at_once: int) -> Iterator[R]:
    """Yield the same rows in batches of whole queries.

    A batch has about ``rows_at_once`` rows, or one query that is longer. The ids of all queries
    stay in memory, to detect a query that occurs again after it has ended.
    """
    pending: list[R] = []
    n_pending = n_whole = 0  # rows in pending, and those of them whose query has ended
    seen: set[Hashable] = set()
    last: object = None  # no id is None
    for piece in pieces:
        for start in range(0, len(piece), rows_at_once):
            rows = piece.slice(start, min(start + rows_at_once, len(piece)))
            starts = _query_starts(rows.qid, last)
            _refuse_repeated_queries(rows, starts, seen)
            if len(starts):
                n_whole = n_pending + int(starts[-1])
            last = rows.qid[-1]
            pending.append(rows)
            n_pending += len(rows)
            if n_pending >= rows_at_once and n_whole:
                batch = rows.concat(pending)
                yield batch.slice(0, n_whole)
                pending, n_pending, n_whole = [batch.slice(n_whole, n_pending)], n_pending - n_whole, 0
    if pending:
        yield pending[0].concat(pending)


def _query_starts(qid: AnyArray, last: object) -> IntArray:
    """Return the rows whose id differs from the id before; ``last`` precedes the first row."""
    return np.flatnonzero(np.concatenate(([last is None or qid[0] != last], qid[1:] != qid[:-1])))


def _refuse_repeated_queries(rows: SortedRows, starts: IntArray, seen: set[Hashable]) -> None:
    """Add the ids of the queries that start here to ``seen``; refuse one that is there already."""
    for row, qid in zip(starts.tolist(), rows.qid[starts].tolist(), strict=True):
        if qid in seen:
            raise LtrValueError(
                f"{rows.where(row)}: the rows of a query must be consecutive in files that are read in batches: query "
                f"{qid!r} ended before and comes back here. Sort the rows by query first, for example with "
                f"{rows.sort_command()}; or evaluate them in memory, in any order."
            )
        seen.add(qid)
