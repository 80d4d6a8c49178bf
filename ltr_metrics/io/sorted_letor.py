"""LETOR files, read in batches of whole queries."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics.io.letor import read_lines, read_sizes, require_same_form, sizes_error
from ltr_metrics.io.sorted import SortedRows, whole_queries


@dataclass(frozen=True, eq=False, kw_only=True)
class LetorRows(SortedRows):
    """Rows of LETOR files, with a (row, column, value) for each feature; ``position`` is the line.

    The ids are text, because they become numbers only if all ids of the files are numbers.
    """

    y: FloatArray
    docid: AnyArray | None
    row: IntArray
    column: IntArray
    value: FloatArray

    def where(self, row: int) -> str:
        return f"{self.path(row)}:{self.position[row]}"

    def sort_command(self) -> str:
        decompress = {".gz": "zcat", ".xz": "xz -dc", ".bz2": "bzcat"}.get(self.paths[0].suffix.lower())
        files = " ".join(shlex.quote(str(path)) for path in self.paths)
        return f"'sort -s -k2,2 {files}'" if decompress is None else f"'{decompress} {files} | sort -s -k2,2'"

    def slice(self, start: int, stop: int) -> LetorRows:
        i, j = np.searchsorted(self.row, [start, stop])
        return LetorRows(
            **self._slice_columns(start, stop),
            y=self.y[start:stop],
            docid=None if self.docid is None else self.docid[start:stop],
            row=self.row[i:j] - start,
            column=self.column[i:j],
            value=self.value[i:j],
        )

    @classmethod
    def concat(cls, parts: Sequence[LetorRows]) -> LetorRows:
        offset = np.cumsum([0, *map(len, parts)])
        docid = [part.docid for part in parts if part.docid is not None]
        return cls(
            **cls._concat_columns(parts),
            y=np.concatenate([part.y for part in parts]),
            docid=np.concatenate(docid) if len(docid) == len(parts) else None,
            row=np.concatenate([part.row + first for part, first in zip(parts, offset, strict=False)]),
            column=np.concatenate([part.column for part in parts]),
            value=np.concatenate([part.value for part in parts]),
        )

    @property
    def width(self) -> int:
        """Number of columns up to the highest feature that occurs."""
        return int(self.column.max(initial=-1)) + 1

    def feature(self, column: int) -> FloatArray:
        """Return one feature: 0 if a line omits it, the last value if a line repeats it."""
        values = np.zeros(len(self))
        mask = self.column == column
        values[self.row[mask]] = self.value[mask]
        return values

    def matrix(self, n_features: int) -> FloatArray:
        """Return all features, a row a document."""
        X = np.zeros((len(self), n_features))
        X[self.row, self.column] = self.value
        return X


def sorted_letor(paths: tuple[Path, ...], *, zero_based: bool, rows_at_once: int) -> Iterator[LetorRows]:
    """Yield the documents of LETOR files in batches of whole queries.

    `read_letor` describes the format.

    Raises
    ------
    LtrValueError
        With file and line, if a line has another form, a label is not a grade, or the rows of a
        query are not consecutive.
    """
    return whole_queries(_pieces(paths, zero_based), rows_at_once)


def _pieces(paths: tuple[Path, ...], zero_based: bool) -> Iterator[LetorRows]:
    has_qid: list[bool] = []
    n_queries = 0  # in the files before, whose queries are numbered if they have no ids
    for i, path in enumerate(paths):
        n_rows = 0
        sizes: IntArray | None = None
        for lines in read_lines(path, zero_based, graded=True):
            if n_rows == 0:
                has_qid.append(lines.qid is not None)
                require_same_form(has_qid)
            if lines.qid is None:
                if sizes is None:
                    sizes_path, sizes = read_sizes(path)
                    stops = sizes.cumsum()
                if n_rows + len(lines.y) > stops[-1]:
                    raise sizes_error(sizes_path, sizes, path, f"more than {stops[-1]}")
                qid = n_queries + np.searchsorted(stops, n_rows + np.arange(len(lines.y)), side="right")
            else:
                qid = lines.qid
            yield LetorRows(
                paths=paths,
                file=np.full(len(lines.y), i),
                position=lines.number,
                qid=qid,
                y=lines.y,
                docid=lines.docid,
                row=lines.row,
                column=lines.column,
                value=lines.value,
            )
            n_rows += len(lines.y)
        if sizes is not None:
            if n_rows != stops[-1]:
                raise sizes_error(sizes_path, sizes, path, n_rows)
            n_queries += len(sizes)
