"""LETOR files in batches of whole queries."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics.io.letor import Lines, read_lines, refuse_sizes, require_alike, sizes_beside
from ltr_metrics.io.sorted import SortedRows, whole_queries


@dataclass(frozen=True, eq=False, kw_only=True)
class LetorRows(SortedRows):
    """Rows of LETOR files, and a (row, column, value) for each feature that is there; ``at`` is the line.

    Ids are text as long as not all are known, for ``007`` is a number only where all others are.
    """

    y: FloatArray
    docid: AnyArray | None
    row: IntArray
    column: IntArray
    value: FloatArray

    def where(self, row: int) -> str:
        return f"{self.path(row)}:{self.at[row]}"

    def how_to_sort(self) -> str:
        read = {".gz": "zcat", ".xz": "xz -dc", ".bz2": "bzcat"}.get(self.paths[0].suffix.lower())
        files = " ".join(shlex.quote(str(path)) for path in self.paths)
        return f"'sort -s -k2,2 {files}'" if read is None else f"'{read} {files} | sort -s -k2,2'"

    def part(self, first: int, last: int) -> LetorRows:
        i, j = np.searchsorted(self.row, [first, last])
        return LetorRows(
            **self._part_of_places(first, last),
            y=self.y[first:last],
            docid=None if self.docid is None else self.docid[first:last],
            row=self.row[i:j] - first,
            column=self.column[i:j],
            value=self.value[i:j],
        )

    @classmethod
    def joined(cls, parts: Sequence[LetorRows]) -> LetorRows:
        offset = np.cumsum([0, *map(len, parts)])
        docid = [part.docid for part in parts if part.docid is not None]
        return cls(
            **cls._joined_places(parts),
            y=np.concatenate([part.y for part in parts]),
            docid=np.concatenate(docid) if len(docid) == len(parts) else None,
            row=np.concatenate([part.row + first for part, first in zip(parts, offset, strict=False)]),
            column=np.concatenate([part.column for part in parts]),
            value=np.concatenate([part.value for part in parts]),
        )

    @property
    def width(self) -> int:
        """Columns up to the highest that occurs."""
        return int(self.column.max(initial=-1)) + 1

    def feature(self, column: int) -> FloatArray:
        """Return one feature, 0 where a line leaves it out; the last of a repeated one counts."""
        values = np.zeros(len(self))
        chosen = self.column == column
        values[self.row[chosen]] = self.value[chosen]
        return values

    def matrix(self, n_features: int) -> FloatArray:
        """Return all features, (rows x features)."""
        X = np.zeros((len(self), n_features))
        X[self.row, self.column] = self.value
        return X


def sorted_letor(paths: tuple[Path, ...], *, zero_based: bool, rows_at_once: int) -> Iterator[LetorRows]:
    """Yield the documents of LETOR files, whole queries at a time; `read_letor` says what they may hold.

    Raises
    ------
    LtrValueError
        With file and line, if a line is no document, a label no grade, or a query comes back after it has ended.
    """
    return whole_queries(_pieces(paths, zero_based), rows_at_once)


def _pieces(paths: tuple[Path, ...], zero_based: bool) -> Iterator[LetorRows]:
    named: list[bool] = []
    n_queries = 0  # of the files before, where queries have numbers
    for i, path in enumerate(paths):
        n_rows = 0
        sizes: IntArray | None = None
        for lines in read_lines(path, zero_based, graded=True):
            if n_rows == 0:
                named.append(lines.qid is not None)
                require_alike(named)
            if lines.qid is None:
                if sizes is None:
                    beside, sizes = sizes_beside(path)
                    ends = sizes.cumsum()
                if n_rows + len(lines.y) > ends[-1]:
                    raise refuse_sizes(beside, sizes, path, f"more than {ends[-1]}")
                qid = n_queries + np.searchsorted(ends, n_rows + np.arange(len(lines.y)), side="right")
            else:
                qid = np.array(lines.qid)
            yield _rows(paths, i, lines, qid)
            n_rows += len(lines.y)
        if sizes is not None:
            if n_rows != ends[-1]:
                raise refuse_sizes(beside, sizes, path, n_rows)
            n_queries += len(sizes)


def _rows(paths: tuple[Path, ...], i: int, lines: Lines, qid: AnyArray) -> LetorRows:
    return LetorRows(
        paths=paths,
        file=np.full(len(lines.y), i),
        at=lines.number,
        qid=qid,
        y=lines.y,
        docid=None if lines.docid is None else np.array(lines.docid),
        row=lines.row,
        column=lines.column,
        value=lines.value,
    )
