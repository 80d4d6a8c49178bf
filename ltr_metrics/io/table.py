"""Tables with one row per document: CSV, TSV, Parquet, Arrow and NumPy's .npz."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ltr_metrics._engine.plain import to_dataframe
from ltr_metrics.errors import LtrError, LtrKeyError, LtrValueError, did_you_mean, import_extra
from ltr_metrics.io.arrays import read_columns
from ltr_metrics.io.compressed import BYTES_AT_ONCE, STANDARD_INPUT, fault_of, open_bytes, without_compression

if TYPE_CHECKING:
    import pandas

PathLike = str | os.PathLike[str]

TEXT_SEPARATORS = {".csv": ",", ".tsv": "\t"}
ARROW = (".arrow", ".feather")
KINDS = (".parquet", *ARROW, ".npz", *TEXT_SEPARATORS)
_HEXADECIMAL = re.compile(r"\s*[+-]?0[xX]")
MOST_NAMED = 100  # columns in one message
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def is_table(path: PathLike) -> bool:
    """Whether a file is a table by its name, compressed or not; `KINDS` has the endings."""
    return kind_of(path) in KINDS


def read_table(
    paths: PathLike | Iterable[PathLike],
    *,
    qid: str = "qid",
    label: str = "label",
    columns: Sequence[str] = (),
    text: Sequence[str] = (),
) -> pandas.DataFrame:
    r"""Read Parquet, Arrow (Feather), NumPy's .npz, CSV or TSV files into one pandas data frame.

    Query ids in CSV and TSV stay text, so that ``007`` and ``7`` are two queries. The same id in
    two files is the same query. An ``.npz`` file holds its columns as named arrays:
    ``numpy.savez("scores.npz", qid=..., label=..., bm25=...)``. The index of a data frame that
    pandas wrote to Parquet or Arrow becomes a column of its name.

    Parameters
    ----------
    paths : path or several of them
        ``"-"`` is a CSV file from standard input.
    qid, label : str
        Names of the columns of query ids and grades.
    columns : sequence of str
        Other required columns, such as scores.
    text : sequence of str
        Columns of CSV and TSV that stay text as query ids do, such as document ids.

    Returns
    -------
    pandas.DataFrame
        All columns of the files, one row per document.

    Raises
    ------
    LtrKeyError
        If a column is missing.
    LtrValueError
        If a file is empty, damaged or truncated, or has another format than its name says.

    See Also
    --------
    read_letor : Read LETOR and svmlight files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("qid,label,bm25\n007,1,2.5\n007,0,1.5\n")
    >>> read_table(path)["qid"].tolist()
    ['007', '007']
    """
    concat = import_extra("pandas", "report").concat
    files = [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    if not files:
        raise LtrValueError("read_table needs at least one file. Got none.")
    frames: list[pandas.DataFrame] = [_read(path, (qid, *text)) for path in files]
    for path, frame in zip(files, frames, strict=True):
        require_columns(path, list(frame.columns), (qid, label, *columns))
        if not len(frame):
            raise LtrValueError(f"{path} has no row.")
        empty = (frame[qid] == "").to_numpy()
        if empty.any():
            raise LtrValueError(f"{path} must have an id in every row: {qid} is empty at row {int(empty.argmax())}.")
    kinds = {str(frame[qid].dtype) for frame in frames}
    if len(kinds) > 1:
        raise LtrValueError(
            f"The column {qid!r} must be of one type in all files, because 7 and '7' would be two queries: got "
            f"{', '.join(sorted(kinds))}. CSV gives text."
        )
    rows: pandas.DataFrame = concat(frames, ignore_index=True)
    return rows


def kind_of(path: PathLike) -> str:
    """Return the file's ending without that of compression; standard input is a CSV file."""
    if Path(path) == STANDARD_INPUT:
        return ".csv"
    return without_compression(Path(path)).suffix.lower()


def require_columns(path: Path, names: Sequence[object], needed: Iterable[str]) -> None:
    """Refuse a table with a repeated column name, or without a needed column."""
    counts = Counter(names)
    if len(counts) < len(names):
        repeated, n = next((name, n) for name, n in counts.items() if n > 1)
        raise LtrValueError(f"{path} has {n} columns named {repeated!r}; keep one of each name.")
    for column in needed:
        if column not in counts:
            hint = did_you_mean(column, map(str, names))
            more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
            raise LtrKeyError(
                f"{path} has no column {column!r}.{hint} It has {', '.join(map(str, names[:MOST_NAMED]))}{more}."
            )


def _read(path: Path, text: Sequence[str]) -> pandas.DataFrame:
    kind = kind_of(path)
    if kind not in KINDS:
        raise LtrValueError(
            f"{path}: a table's name must end in {', '.join(KINDS[:-1])} or {KINDS[-1]} (or these with .gz, .xz, .bz2)."
        )
    try:
        with open_bytes(path) as file:
            if kind == ".npz":
                return to_dataframe(read_columns(file, path))
            table = _read_by_pyarrow(native_file(path, file), kind, text)
            require_columns(path, table.column_names, ())
            if kind not in TEXT_SEPARATORS:
                table.validate(full=True)  # damaged offsets crash the process
            return to_frame(table)
    except (FileNotFoundError, LtrError):
        raise
    except Exception as error:  # pyarrow, zipfile and NumPy raise many kinds for damaged files
        empty = " The file is empty." if is_empty(path) else ""
        raise LtrValueError(f"{path} cannot be read as {kind[1:]}: {fault_of(error)}.{empty}") from error


def is_empty(path: Path) -> bool:
    """Whether a file has no bytes; False for standard input, which has been consumed."""
    return path != STANDARD_INPUT and not path.stat().st_size


def to_frame(table: Any) -> pandas.DataFrame:
    """Return an Arrow table as a data frame with all columns of the file.

    The metadata that pandas wrote are ignored. So a column that was the index of a data frame is
    a column like any other, and damaged metadata have no effect.
    """
    frame: pandas.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def _read_by_pyarrow(file: Any, kind: str, text: Sequence[str]) -> Any:
    pyarrow = pyarrow_with("csv", "parquet")
    if kind == ".parquet":
        return pyarrow.parquet.read_table(file)
    if kind in ARROW:
        return open_arrow(file).read_all()
    separator = TEXT_SEPARATORS[kind]
    table = _read_text(file, separator, dict.fromkeys(text, pyarrow.string()))
    integers = {
        name: pyarrow.string()
        for name, kind in zip(table.column_names, table.schema.types, strict=True)
        if kind == "int64"
    }
    if not integers or len(set(table.column_names)) < len(table.column_names) or not _has_hexadecimal(file):
        return table
    as_text = _read_text(file, separator, integers | dict.fromkeys(text, pyarrow.string()))
    for name in integers:  # 0x10 is not a number in batches of a CSV or in LETOR, so it is text
        if any(_HEXADECIMAL.match(word or "") for word in as_text.column(name).to_pylist()):
            table = table.set_column(table.column_names.index(name), name, as_text.column(name))
    return table


def _read_text(file: Any, separator: str, types: dict[str, Any]) -> Any:
    csv = pyarrow_with("csv").csv
    file.seek(0)
    return csv.read_csv(  # pyarrow reads numbers to the last bit; some versions of pandas do not
        file,
        parse_options=csv.ParseOptions(delimiter=separator),
        convert_options=csv.ConvertOptions(column_types=types),
    )


def _has_hexadecimal(file: Any) -> bool:
    """Whether a file has the characters 0x anywhere, the prefix of hexadecimal numbers in Arrow."""
    file.seek(0)
    last = b""
    while block := file.read(BYTES_AT_ONCE):
        if b"0x" in last + block or b"0X" in last + block:
            return True
        last = block[-1:]
    return False


def open_arrow(file: Any) -> Any:
    """Open Arrow's file format, which is Feather's, or its stream format; both are .arrow."""
    pyarrow = pyarrow_with("ipc")
    start = file.read(6)
    if start.startswith(b"FEA1"):
        raise ValueError("this is Feather of version 1, which pandas no longer writes; write it again")
    if start == b"ARROW1":
        return pyarrow.ipc.open_file(file)
    file.seek(-min(len(END_OF_STREAM), file.size()), 2)
    if file.read() != END_OF_STREAM:  # pyarrow does not detect a cut between two batches
        raise ValueError("it is not an Arrow file, or a stream that is cut off: it lacks the end-of-stream mark")
    file.seek(0)
    return pyarrow.ipc.open_stream(file)


def native_file(path: Path, file: IO[bytes]) -> Any:
    """Return a file for pyarrow without Python objects: itself, or its decompressed bytes.

    pyarrow's threads read ahead and release their buffers later. If a buffer is a Python object
    and the interpreter is shutting down, the interpreter aborts the process.
    """
    pyarrow = pyarrow_with()
    if without_compression(path) == path != STANDARD_INPUT:
        return pyarrow.OSFile(str(path))
    return native_bytes(iter(lambda: file.read(BYTES_AT_ONCE), b""))


def native_bytes(parts: Iterable[bytes]) -> Any:
    """Copy bytes into memory that pyarrow owns, and return it as a file."""
    pyarrow = pyarrow_with()
    copy = pyarrow.BufferOutputStream()
    for part in parts:
        copy.write(part)
    return pyarrow.BufferReader(copy.getvalue())


def pyarrow_with(*modules: str) -> Any:
    """Import pyarrow and some of its modules."""
    for module in modules:
        import_extra(f"pyarrow.{module}", "report")
    return import_extra("pyarrow", "report")
