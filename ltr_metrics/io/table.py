"""Tables with a row a document: CSV, TSV and Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr_metrics.errors import LtrKeyError, LtrValueError, MissingExtraError, did_you_mean
from ltr_metrics.io.compressed import DAMAGED, open_bytes, without_compression

if TYPE_CHECKING:
    import pandas

PathLike = str | os.PathLike[str]

TEXT_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def is_table(path: PathLike) -> bool:
    """Whether a file's name ends like a table's: .parquet, .csv or .tsv, compressed or not."""
    return _kind(Path(path)) in (".parquet", *TEXT_SEPARATORS)


def read_table(
    paths: PathLike | Iterable[PathLike], *, qid: str = "qid", label: str = "label", columns: Sequence[str] = ()
) -> pandas.DataFrame:
    r"""Read CSV, TSV or Parquet files, one after the other, as a pandas data frame.

    Query ids in CSV and TSV stay text, so that ``007`` and ``7`` are two queries. The same id in two files is the same query.

    Parameters
    ----------
    paths : path or several of them
    qid, label : str
        Names of the columns of query ids and grades.
    columns : sequence of str
        Further columns that must be there, such as scores.

    Raises
    ------
    LtrKeyError
        If a column is missing.
    LtrValueError
        If a file is empty or cannot be read as what its name says.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("qid,label,bm25\n007,1,2.5\n007,0,1.5\n")
    >>> read_table(path)["qid"].tolist()
    ['007', '007']
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "report") from error
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    paths = list(paths)
    if not paths:
        raise LtrValueError("read_table needs at least one file. Got none.")
    frames: list[pandas.DataFrame] = [_read(Path(path), qid) for path in paths]
    for path, frame in zip(paths, frames, strict=True):
        for column in (qid, label, *columns):
            if column not in frame.columns:
                hint = did_you_mean(column, map(str, frame.columns))
                raise LtrKeyError(
                    f"{path} has no column {column!r}.{hint} It has {', '.join(map(str, frame.columns))}."
                )
        if not len(frame):
            raise LtrValueError(f"{path} has no row.")
        empty = (frame[qid] == "").to_numpy()
        if empty.any():
            raise LtrValueError(f"{path} must have an id in every row: {qid} is empty at row {int(empty.argmax())}.")
    kinds = {str(frame[qid].dtype) for frame in frames}
    if len(kinds) > 1:
        raise LtrValueError(
            f"The column {qid!r} must be of one type in all files, or 7 and '7' would be two queries: got {', '.join(sorted(kinds))}. CSV "
            "gives text."
        )
    return pandas.concat(frames, ignore_index=True)


def _read(path: Path, qid: str) -> Any:
    kind = _kind(path)
    if kind not in (".parquet", *TEXT_SEPARATORS):
        raise LtrValueError(
            f"{path}: a table's name must end in .parquet, .csv or .tsv (or these with .gz, .xz, .bz2)."
        )
    try:
        from pyarrow import csv, parquet, string
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    try:
        with open_bytes(path) as file:
            if kind == ".parquet":
                table = parquet.read_table(file)
            else:
                table = csv.read_csv(  # pyarrow reads numbers to the last bit, which not every pandas does
                    file,
                    parse_options=csv.ParseOptions(delimiter=TEXT_SEPARATORS[kind]),
                    convert_options=csv.ConvertOptions(column_types={qid: string()}),
                )
    except FileNotFoundError:
        raise
    except (ValueError, OSError, *DAMAGED) as error:  # pyarrow's own errors are ValueErrors
        raise LtrValueError(f"{path} cannot be read as {kind[1:]}: {error}") from error
    twice = [name for name in table.column_names if table.column_names.count(name) > 1]
    if twice:
        raise LtrValueError(f"{path} has {len(twice)} columns named {twice[0]!r}; keep one of each name.")
    return table.to_pandas()


def _kind(path: Path) -> str:
    return without_compression(path).suffix.lower()
