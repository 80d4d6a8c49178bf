"""Parquet, Arrow, CSV and TSV files: the needed columns, in batches of whole queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import LARGEST_EXACT_INTEGER, AnyArray
from ltr_metrics.errors import LtrError, LtrTypeError, LtrValueError, import_extra
from ltr_metrics.io.compressed import BYTES_AT_ONCE, fault_of, open_bytes
from ltr_metrics.io.sorted import SortedRows, whole_queries
from ltr_metrics.io.table import (
    ARROW,
    TEXT_SEPARATORS,
    is_empty,
    kind_of,
    native_bytes,
    native_file,
    open_arrow,
    pyarrow_with,
    require_columns,
    to_frame,
)

if TYPE_CHECKING:
    import pandas

MIN_ROWS = 1_000  # each record batch has a fixed cost
POLARS_NAMES = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv"}  # Arrow's is ipc


@dataclass(frozen=True)
class TableColumns:
    """The columns to read: query ids, columns that stay text in CSV and TSV, and numbers."""

    qid: str
    text: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of all columns, without repetition."""
        return list(dict.fromkeys((self.qid, *self.text, *self.numbers)))


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRows(SortedRows):
    """Rows of tables; ``position`` is the row, from 0 on."""

    table: Any  # of Arrow, whose slices share memory
    qid_column: str

    def where(self, row: int) -> str:
        return f"{self.path(row)}, row {self.position[row]}"

    def sort_command(self) -> str:
        kind = POLARS_NAMES.get(kind_of(self.paths[0]), "ipc")
        separator = ", separator='\\t'" if kind_of(self.paths[0]) == ".tsv" else ""
        separator += f", schema_overrides={{{self.qid_column!r}: polars.String}}" if kind == "csv" else ""
        return (
            f"polars.scan_{kind}({[str(path) for path in self.paths]}{separator})"
            f".sort({self.qid_column!r}, maintain_order=True).sink_parquet('sorted.parquet')"
        )

    def slice(self, start: int, stop: int) -> TableRows:
        table = self.table.slice(start, stop - start)
        return TableRows(**self._slice_columns(start, stop), table=table, qid_column=self.qid_column)

    @classmethod
    def concat(cls, parts: Sequence[TableRows]) -> TableRows:
        table = pyarrow_with().concat_tables([part.table for part in parts])
        return cls(**cls._concat_columns(parts), table=table, qid_column=parts[0].qid_column)

    def frame(self) -> pandas.DataFrame:
        """Return the rows as a data frame, as `read_table` does."""
        return to_frame(self.table)


def sorted_tables(paths: tuple[Path, ...], needed: TableColumns, *, rows_at_once: int) -> Iterator[TableRows]:
    """Check the columns of all files, and yield their rows in batches of whole queries.

    Raises
    ------
    LtrKeyError
        If a column is missing.
    LtrValueError, LtrTypeError
        If a file is empty, damaged or of another kind, a column has different types in different
        files, an id is missing, or the rows of a query are not consecutive.
    """
    import_extra("pandas", "report")
    types: dict[str, tuple[str, Path]] = {}
    for path in paths:
        for name, kind in _types(path, needed).items():
            first_kind, first_path = types.setdefault(name, (kind, path))
            if kind != first_kind:
                raise LtrTypeError(
                    f"The column {name!r} must be of one type in all files: got {first_kind} in {first_path} and "
                    f"{kind} in {path}. Convert one of them, or evaluate in memory."
                )
    return whole_queries(_pieces(paths, needed, rows_at_once), rows_at_once)


def _types(path: Path, needed: TableColumns) -> dict[str, str]:
    """Return the pandas types of the needed columns."""
    pyarrow = pyarrow_with()
    with _open_table(path, needed, 1) as (schema, _):
        require_columns(path, schema.names, needed.names)
        if pyarrow.types.is_nested(schema.field(needed.qid).type):
            raise LtrTypeError(
                f"{path}: query ids must be numbers or text. {needed.qid} holds {schema.field(needed.qid).type}."
            )
        fields = pyarrow.schema([schema.field(name) for name in needed.names])
        return {str(name): str(kind) for name, kind in to_frame(fields.empty_table()).dtypes.items()}


def _pieces(paths: tuple[Path, ...], needed: TableColumns, rows_at_once: int) -> Iterator[TableRows]:
    pyarrow = pyarrow_with()
    for i, path in enumerate(paths):
        n_rows = 0
        with _open_table(path, needed, rows_at_once) as (_, batches):
            while True:
                with _errors_of(path, n_rows):
                    batch = next(batches, None)
                if batch is None:
                    break
                if not batch.num_rows:
                    continue
                table = pyarrow.Table.from_batches([batch]).select(needed.names)
                if kind_of(path) in TEXT_SEPARATORS:
                    _refuse_inexact(table, needed, path, n_rows)
                else:
                    with _errors_of(path, n_rows):
                        table.validate(full=True)  # damaged offsets crash the process
                yield TableRows(
                    paths=paths,
                    file=np.full(len(table), i),
                    position=np.arange(n_rows, n_rows + len(table)),
                    qid=_ids(table, needed.qid, path, n_rows),
                    table=table,
                    qid_column=needed.qid,
                )
                n_rows += len(table)
        if not n_rows:
            raise LtrValueError(f"{path} has no row.")


def _ids(table: Any, qid: str, path: Path, rows_before: int) -> AnyArray:
    frame = to_frame(table.select([qid]))
    missing = (frame[qid].isna() | (frame[qid] == "")).to_numpy()
    if missing.any():
        row = rows_before + int(missing.argmax())
        raise LtrValueError(f"{path} must have an id in every row: {qid} is empty at row {row}.")
    ids: AnyArray = frame[qid].to_numpy()
    return ids


def _refuse_inexact(table: Any, needed: TableColumns, path: Path, rows_before: int) -> None:
    """Refuse numbers whose text may have been an integer that float64 rounds."""
    for name in needed.numbers:
        if name in (needed.qid, *needed.text):
            continue
        values = np.abs(table.column(name).to_numpy())
        bad = (values >= LARGEST_EXACT_INTEGER) & np.isfinite(values)
        if bad.any():
            raise LtrValueError(
                f"{path}: the column {name!r} must not have numbers from 2**53 on in a CSV that is read in batches, "
                f"because these may be rounded integers: got {values[bad][0]:g} at row "
                f"{rows_before + int(bad.argmax())}. Write Parquet, or evaluate in memory."
            )


@contextmanager
def _open_table(path: Path, needed: TableColumns, rows_at_once: int) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a table, and return its schema and an iterator over its record batches."""
    with _errors_of(path), open_bytes(path) as file:
        yield _open_batches(path, file, needed, rows_at_once)


@contextmanager
def _errors_of(path: Path, n_rows: int = 0) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, LtrError):
        raise
    except Exception as error:  # pyarrow raises many kinds for damaged files
        after = f", or is damaged after row {n_rows - 1}" if n_rows else ""
        empty = " The file is empty." if is_empty(path) else ""
        raise LtrValueError(
            f"{path} cannot be read as {kind_of(path)[1:]}{after}: {fault_of(error)}.{empty}"
        ) from error


def _open_batches(path: Path, file: IO[bytes], needed: TableColumns, rows_at_once: int) -> tuple[Any, Iterator[Any]]:
    kind = kind_of(path)
    if kind in TEXT_SEPARATORS:
        return _open_text(file, TEXT_SEPARATORS[kind], needed)
    if path.suffix.lower() != kind or kind not in (".parquet", *ARROW):
        raise LtrValueError(
            f"{path} cannot be read in batches. Files that can are .parquet, .arrow, .feather, .csv and .tsv; only "
            ".csv and .tsv may be compressed as a whole (.gz, .xz, .bz2). Decompress or convert it, or evaluate in "
            "memory."
        )
    if kind == ".parquet":
        # With pre_buffer, all that was read stays in memory until the file is closed.
        parquet = pyarrow_with("parquet").parquet.ParquetFile(pyarrow_with().OSFile(str(path)), pre_buffer=False)
        return parquet.schema_arrow, parquet.iter_batches(max(rows_at_once, MIN_ROWS), columns=needed.names)
    reader = open_arrow(native_file(path, file))
    if hasattr(reader, "num_record_batches"):
        return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
    return reader.schema, iter(reader)


def _open_text(file: IO[bytes], separator: str, needed: TableColumns) -> tuple[Any, Iterator[Any]]:
    """Parse block by block: pyarrow's stream reader reads ahead in threads (see `native_file`)."""
    csv = pyarrow_with("csv").csv
    types = dict.fromkeys(
        needed.numbers, pyarrow_with().float64()
    )  # the rows of one block do not determine a column's type
    types |= dict.fromkeys((needed.qid, *needed.text), pyarrow_with().string())

    def parse(block: bytes, names: Sequence[str] = ()) -> Any:
        return csv.read_csv(
            native_bytes([block]),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=needed.names if names else []),
        )

    blocks = _blocks_of_lines(file)
    first = parse(next(blocks, b""))

    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for block in blocks:
            yield from parse(block, first.column_names).to_batches()

    return first.schema, batches()


def _blocks_of_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks of whole lines."""
    rest = b""
    while block := file.read(BYTES_AT_ONCE):
        lines, line_break, rest = (rest + block).rpartition(b"\n")
        if lines.strip():
            yield lines + line_break
    if rest.strip():
        yield rest
