"""Parquet, Arrow, CSV and TSV files in batches of whole queries, of their columns those that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import LARGEST_EXACT_INTEGER, AnyArray
from ltr_metrics.errors import LtrError, LtrTypeError, LtrValueError, MissingExtraError
from ltr_metrics.io.compressed import BYTES_AT_ONCE, fault_of, open_bytes
from ltr_metrics.io.sorted import SortedRows, whole_queries
from ltr_metrics.io.table import (
    ARROW,
    TEXT_SEPARATORS,
    frame_of,
    is_empty,
    kind_of,
    native_bytes,
    native_file,
    open_arrow,
    pyarrow_with,
    require_columns,
)

if TYPE_CHECKING:
    import pandas

READ_AT_LEAST = 1_000  # a batch of Arrow costs as much as many rows
SCAN = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv"}  # what polars calls them; Arrow's is ipc


@dataclass(frozen=True)
class Wanted:
    """Columns to read: the query ids, those that stay text in CSV and TSV, and numbers."""

    qid: str
    text: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys((self.qid, *self.text, *self.numbers)))


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRows(SortedRows):
    """Rows of tables; ``at`` is the row, from 0 on."""

    table: Any  # of Arrow: its parts share memory
    qid_column: str

    def where(self, row: int) -> str:
        return f"{self.path(row)}, row {self.at[row]}"

    def how_to_sort(self) -> str:
        kind = SCAN.get(kind_of(self.paths[0]), "ipc")
        separator = ", separator='\\t'" if kind_of(self.paths[0]) == ".tsv" else ""
        separator += f", schema_overrides={{{self.qid_column!r}: polars.String}}" if kind == "csv" else ""
        return (
            f"polars.scan_{kind}({[str(path) for path in self.paths]}{separator}).sort({self.qid_column!r}, maintain_order=True)"
            ".sink_parquet('sorted.parquet')"
        )

    def part(self, first: int, last: int) -> TableRows:
        table = self.table.slice(first, last - first)
        return TableRows(**self._part_of_places(first, last), table=table, qid_column=self.qid_column)

    @classmethod
    def joined(cls, parts: Sequence[TableRows]) -> TableRows:
        table = pyarrow_with().concat_tables([part.table for part in parts])
        return cls(**cls._joined_places(parts), table=table, qid_column=parts[0].qid_column)

    def frame(self) -> pandas.DataFrame:
        """Return the rows as `read_table` does."""
        return frame_of(self.table)


def sorted_tables(paths: tuple[Path, ...], wanted: Wanted, *, rows_at_once: int) -> Iterator[TableRows]:
    """Yield the rows of tables, whole queries at a time, after a look at what columns all of the files have.

    Raises
    ------
    LtrKeyError
        If a column is missing.
    LtrValueError, LtrTypeError
        If a file is empty, damaged or of another kind, columns are not of one type in all files, an id is missing, or a query comes
        back after it has ended.
    """
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("pandas", "report") from error
    types: dict[str, tuple[str, Path]] = {}
    for path in paths:
        for name, kind in _types(path, wanted).items():
            first_kind, first_path = types.setdefault(name, (kind, path))
            if kind != first_kind:
                raise LtrTypeError(
                    f"The column {name!r} must be of one type in all files: got {first_kind} in {first_path} and {kind} in {path}. Convert "
                    "one of them, or evaluate in memory."
                )
    return whole_queries(_pieces(paths, wanted, rows_at_once), rows_at_once)


def _types(path: Path, wanted: Wanted) -> dict[str, str]:
    """Return the types of the wanted columns, as pandas names them."""
    pyarrow = pyarrow_with()
    with _readable(path, wanted, 1) as (schema, _):
        require_columns(path, schema.names, wanted.names)
        if pyarrow.types.is_nested(schema.field(wanted.qid).type):
            raise LtrTypeError(
                f"{path}: query ids must be numbers or text. {wanted.qid} holds {schema.field(wanted.qid).type}."
            )
        chosen = pyarrow.schema([schema.field(name) for name in wanted.names])
        return {str(name): str(kind) for name, kind in frame_of(chosen.empty_table()).dtypes.items()}


def _pieces(paths: tuple[Path, ...], wanted: Wanted, rows_at_once: int) -> Iterator[TableRows]:
    pyarrow = pyarrow_with()
    for i, path in enumerate(paths):
        n_rows = 0
        with _readable(path, wanted, rows_at_once) as (_, batches):
            while True:
                with _errors_of(path, n_rows):
                    batch = next(batches, None)
                if batch is None:
                    break
                if not batch.num_rows:
                    continue
                table = pyarrow.Table.from_batches([batch]).select(wanted.names)
                if kind_of(path) in TEXT_SEPARATORS:
                    _refuse_inexact(table, wanted, path, n_rows)
                else:
                    with _errors_of(path, n_rows):
                        table.validate(full=True)  # or damaged offsets would end the process
                yield TableRows(
                    paths=paths,
                    file=np.full(len(table), i),
                    at=np.arange(n_rows, n_rows + len(table)),
                    qid=_ids(table, wanted.qid, path, n_rows),
                    table=table,
                    qid_column=wanted.qid,
                )
                n_rows += len(table)
        if not n_rows:
            raise LtrValueError(f"{path} has no row.")


def _ids(table: Any, qid: str, path: Path, rows_before: int) -> AnyArray:
    frame = frame_of(table.select([qid]))
    missing = (frame[qid].isna() | (frame[qid] == "")).to_numpy()
    if missing.any():
        row = rows_before + int(missing.argmax())
        raise LtrValueError(f"{path} must have an id in every row: {qid} is empty at row {row}.")
    ids: AnyArray = frame[qid].to_numpy()
    return ids


def _refuse_inexact(table: Any, wanted: Wanted, path: Path, rows_before: int) -> None:
    """Refuse text that may have been an integer which float64 cannot keep apart from its neighbours."""
    for name in wanted.numbers:
        if name in (wanted.qid, *wanted.text):
            continue
        values = np.abs(table.column(name).to_numpy())
        bad = (values >= LARGEST_EXACT_INTEGER) & np.isfinite(values)
        if bad.any():
            raise LtrValueError(
                f"{path}: the column {name!r} must not have numbers from 2**53 on where CSV is read in pieces, for it does not tell integers "
                f"from others: got {values[bad][0]:g} at row {rows_before + int(bad.argmax())}. Write Parquet, or evaluate in memory."
            )


@contextmanager
def _readable(path: Path, wanted: Wanted, rows_at_once: int) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a table and give its schema and its batches of rows, which nobody has read yet."""
    with _errors_of(path), open_bytes(path) as file:
        yield _opened(path, file, wanted, rows_at_once)


@contextmanager
def _errors_of(path: Path, n_rows: int = 0) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, LtrError):
        raise
    except Exception as error:  # whatever a damaged file leads pyarrow to
        after = f", or is damaged after row {n_rows - 1}" if n_rows else ""
        empty = " The file is empty." if is_empty(path) else ""
        raise LtrValueError(
            f"{path} cannot be read as {kind_of(path)[1:]}{after}: {fault_of(error)}.{empty}"
        ) from error


def _opened(path: Path, file: IO[bytes], wanted: Wanted, rows_at_once: int) -> tuple[Any, Iterator[Any]]:
    kind = kind_of(path)
    if kind in TEXT_SEPARATORS:
        return _open_text(file, TEXT_SEPARATORS[kind], wanted)
    if path.suffix.lower() != kind or kind not in (".parquet", *ARROW):
        raise LtrValueError(
            f"{path} cannot be read in pieces: .parquet, .arrow, .feather, .csv and .tsv files can, of which the last two may be compressed "
            "as a whole (.gz, .xz, .bz2). Decompress or convert it, or evaluate in memory."
        )
    if kind == ".parquet":
        # Buffered in advance, what was read stays in memory as long as the file is open.
        parquet = pyarrow_with("parquet").parquet.ParquetFile(pyarrow_with().OSFile(str(path)), pre_buffer=False)
        return parquet.schema_arrow, parquet.iter_batches(max(rows_at_once, READ_AT_LEAST), columns=wanted.names)
    reader = open_arrow(native_file(path, file))
    if hasattr(reader, "num_record_batches"):
        return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
    return reader.schema, iter(reader)


def _open_text(file: IO[bytes], separator: str, wanted: Wanted) -> tuple[Any, Iterator[Any]]:
    """Parse block after block, since pyarrow's own reader of streams reads ahead in threads (see `native_file`)."""
    csv = pyarrow_with("csv").csv
    types = dict.fromkeys(wanted.numbers, pyarrow_with().float64())  # a block's rows do not tell a column's type
    types |= dict.fromkeys((wanted.qid, *wanted.text), pyarrow_with().string())

    def parse(block: bytes, names: Sequence[str] = ()) -> Any:
        return csv.read_csv(
            native_bytes([block]),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=wanted.names if names else []),
        )

    blocks = _blocks_of_lines(file)
    first = parse(next(blocks, b""))

    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for block in blocks:
            yield from parse(block, first.column_names).to_batches()

    return first.schema, batches()


def _blocks_of_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks that end with a line."""
    rest = b""
    while block := file.read(BYTES_AT_ONCE):
        lines, line_break, begun = (rest + block).rpartition(b"\n")
        rest = begun
        if lines.strip():
            yield lines + line_break
    if rest.strip():
        yield rest
