"""LETOR and svmlight text: ``grade qid:7 1:0.25 2:0.5 # docid = GX1``, a document a line."""

from __future__ import annotations

import codecs
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, require_count, whole_number
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.compressed import blocks_of_lines, without_compression

PathLike = str | os.PathLike[str]

HIGHEST_FEATURE = 1_000_000  # X is dense; a number beyond is a damaged line or data of another kind
_DOCID = re.compile(rb"docid\s*=\s*(\S+)")
_SPACE, _COLON = ord(" "), ord(":")


@dataclass(frozen=True, eq=False)
class LetorData:
    """Rows of one or more LETOR files; ``X, y, qid = data`` unpacks it.

    Attributes
    ----------
    X : ndarray of float64 of shape (n_rows, n_features)
        Feature number j stands in column j - 1 (column j with ``zero_based``); what a line leaves out is 0.
    y : ndarray of float64 of shape (n_rows,)
    qid : ndarray of int or str of shape (n_rows,)
    docid : ndarray of str of shape (n_rows,) or None
        From the comments, if every line has one (``# docid = ...``).
    """

    X: FloatArray
    y: FloatArray
    qid: AnyArray
    docid: AnyArray | None

    def __iter__(self) -> Iterator[AnyArray]:
        return iter((self.X, self.y, self.qid))


def read_letor(
    paths: PathLike | Iterable[PathLike],
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    graded: bool = False,
) -> LetorData:
    r"""Read LETOR or svmlight files, one after the other.

    Compressed files (``.gz``, ``.xz``, ``.bz2``), CRLF, blank lines, comments, and unsorted or repeated feature numbers
    (the last one counts) are accepted. Lines without ``qid:`` get their queries from the file of sizes that LightGBM and
    XGBoost look for: the same name with ``.query`` or ``.group`` added (``rank.test.query`` beside ``rank.test.xz``).

    Parameters
    ----------
    paths : path or several of them
        The same id in two files is the same query.
    n_features : int, optional
        Columns of X; default: the highest feature number that occurs.
    zero_based : bool, default False
        Whether feature numbers start at 0.
    graded : bool, default False
        Whether every label must be a grade, finite and not negative, as an evaluation wants it: what is none is then an error
        here, with its line. Some files mark with -1 what nobody judged.

    Returns
    -------
    LetorData

    Raises
    ------
    LtrValueError
        With file, line and column, if a line does not have the form above.
    FileNotFoundError

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.io import read_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1 # docid = A\n0 qid:7 2:0.25 # docid = B\n")
    >>> X, y, qid = data = read_letor(path)
    >>> X.tolist(), y.tolist(), qid.tolist(), data.docid.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0]], [2.0, 0.0], [7, 7], ['A', 'B'])
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    require_n_features(n_features)
    files = [_read_file(Path(path), zero_based, graded) for path in paths]
    if not files:
        raise LtrValueError("read_letor needs at least one file. Got none.")
    highest = max(int(file.column.max(initial=-1)) for file in files) + 1
    if n_features is not None and highest > n_features:
        raise LtrValueError(f"The files have features up to number {highest}, beyond n_features={n_features}.")
    columns = highest if n_features is None else n_features
    X = np.zeros((sum(len(file.y) for file in files), columns))
    first = 0
    for file in files:
        X[first + file.row, file.column] = file.value
        first += len(file.y)
    docid = [file.docid for file in files]
    return LetorData(
        X=X,
        y=np.concatenate([file.y for file in files]),
        qid=_join_ids(files),
        docid=None if any(d is None for d in docid) else np.concatenate([d for d in docid if d is not None]),
    )


def require_n_features(n_features: object) -> None:
    """Refuse what is no number of features."""
    if n_features is not None:
        require_count("n_features", n_features)


@dataclass(frozen=True, eq=False)
class _File:
    path: Path
    y: FloatArray
    qid: AnyArray
    named: bool  # whether the queries have names in the file, or only sizes beside it
    docid: AnyArray | None
    row: IntArray
    column: IntArray
    value: FloatArray


def _join_ids(files: list[_File]) -> AnyArray:
    require_alike([file.named for file in files])
    if files[0].named:
        return np.concatenate([file.qid for file in files])
    offset, ids = 0, []
    for file in files:
        ids.append(file.qid + offset)
        offset += int(file.qid[-1]) + 1
    return np.concatenate(ids)


def require_alike(named: Iterable[bool]) -> None:
    """Refuse files of which some name their queries and some do not."""
    if len(set(named)) > 1:
        raise LtrValueError(
            "Some of the files have qid: in their lines and some only sizes beside them; read them apart."
        )


def _read_file(path: Path, zero_based: bool, graded: bool) -> _File:
    parts = list(read_lines(path, zero_based, graded))
    y = np.concatenate([part.y for part in parts])
    names = [name for part in parts for name in part.qid or ()]
    docid = None if any(part.docid is None for part in parts) else [d for part in parts for d in part.docid or ()]
    offset = np.cumsum([0, *(len(part.y) for part in parts)])
    return _File(
        path=path,
        y=y,
        qid=ids_of_text(np.array(names)) if names else _ids_from_sizes(path, len(y)),
        named=bool(names),
        docid=None if docid is None else np.array(docid),
        row=np.concatenate([part.row + first for part, first in zip(parts, offset, strict=False)]),
        column=np.concatenate([part.column for part in parts]),
        value=np.concatenate([part.value for part in parts]),
    )


def read_lines(path: Path, zero_based: bool, graded: bool) -> Iterator[Lines]:
    """Yield the documents of a file, some thousands at a time; a file without a document is an error."""
    named = None
    for lines, lines_before in blocks_of_lines(path):
        part = _parse(lines, path, lines_before, zero_based, named)
        if not part.y.size:
            continue
        if graded:
            _refuse_labels(part, path)
        named = part.qid is not None
        yield part
    if named is None:
        raise LtrValueError(f"{path} has no document: every line is blank or a comment.")


def _refuse_labels(part: Lines, path: Path) -> None:
    bad = ~(np.isfinite(part.y) & (part.y >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise LtrValueError(
            f"{path}:{part.number[row]}:1: a grade must be finite and not negative. Got {part.y[row]:g}. Drop lines without a judgement, "
            "or shift the grades so that the lowest is 0."
        )


@dataclass(frozen=True, eq=False)
class Lines:
    """The documents of some lines: an entry a document, and a (row, column, value) for each feature that is there."""

    y: FloatArray
    qid: list[str] | None  # None where the lines name no query
    docid: list[str] | None  # None where a line names no document
    number: IntArray  # of the line in its file, from 1 on
    row: IntArray
    column: IntArray
    value: FloatArray


def _parse(lines: list[bytes], path: Path, lines_before: int, zero_based: bool, named_before: bool | None) -> Lines:
    """Split lines by the interpreter and their numbers, which are many, by NumPy."""
    labels: list[bytes] = []
    qid: list[bytes] = []
    docid: list[bytes] = []
    features: list[bytes] = []
    number: list[int] = []
    for at, line in enumerate(lines, start=lines_before + 1):
        body, _, comment = line.partition(b"#")
        words = body.split()
        if not words:
            continue
        named = len(words) > 1 and words[1].startswith(b"qid:")
        if named_before is None:
            named_before = named
        if named != named_before:
            raise LtrValueError(
                f"{path}:{at}: either every line has a qid: or none. This one {'has' if named else 'lacks'} it."
            )
        if named:
            qid.append(words[1][4:])
            if not qid[-1]:
                raise LtrValueError(f"{path}:{at}: qid: must be followed by the query's id. This one is empty.")
        labels.append(words[0])
        found = _DOCID.search(comment)
        if found:
            docid.append(found[1])
        features.append(b" ".join(words[2:] if named else words[1:]))
        number.append(at)
    count = np.array([pairs.count(b":") for pairs in features], dtype=np.intp)
    text = b" ".join(filter(None, features))
    values = _numbers(text.replace(b":", b" "))
    separators = np.frombuffer(text, dtype=np.uint8)
    separators = separators[(separators == _SPACE) | (separators == _COLON)]
    alternate = bool((separators[0::2] == _COLON).all() and (separators[1::2] == _SPACE).all())
    y = _numbers(b" ".join(labels))
    lowest = 0 if zero_based else 1
    if y is None or len(y) != len(labels) or values is None or not alternate or len(values) != 2 * count.sum():
        _raise_for_bad_line(path, lines, number, lines_before, lowest)
    ids = values[0::2]
    if (ids < lowest).any() or (ids > HIGHEST_FEATURE).any() or (ids % 1 != 0).any():
        _raise_for_bad_line(path, lines, number, lines_before, lowest)
    column = ids.astype(np.intp) - lowest
    return Lines(
        y=y,
        qid=_texts(qid, number, path) if named_before else None,
        docid=_texts(docid, number, path) if len(docid) == len(y) else None,
        number=np.array(number, dtype=np.intp),
        row=np.repeat(np.arange(len(y)), count),
        column=column,
        value=values[1::2],
    )


def _numbers(text: bytes) -> FloatArray | None:
    """Numbers separated by spaces, or None if something else is among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _raise_for_bad_line(path: Path, lines: list[bytes], number: list[int], lines_before: int, lowest: int) -> NoReturn:
    """Find the word that the fast path stumbled over."""
    for at in number:
        body = lines[at - lines_before - 1].partition(b"#")[0]
        for i, found in enumerate(re.finditer(rb"\S+", body)):
            word, column = found[0].decode(errors="replace"), found.start() + 1
            if i == 0:
                if not _is_number(word):
                    raise LtrValueError(
                        f"{path}:{at}:{column}: a line must begin with a grade, a number. Got {word!r}.{_table_remedy(word)}"
                    )
            elif not (i == 1 and word.startswith("qid:")):
                key, colon, value = word.partition(":")
                if not (colon and key.isascii() and key.isdigit() and _is_number(value)):
                    raise LtrValueError(
                        f"{path}:{at}:{column}: a feature must have the form number:value. Got {word!r}."
                    )
                if (feature := whole_number(key)) is None or feature > HIGHEST_FEATURE:
                    raise LtrValueError(
                        f"{path}:{at}:{column}: feature numbers go up to {HIGHEST_FEATURE:,}. Got {word!r}."
                    )
                if feature < lowest:
                    raise LtrValueError(
                        f"{path}:{at}:{column}: feature numbers start at {lowest}. Got {word!r}. Pass zero_based=True if they "
                        "start at 0 in this file."
                    )
    raise LtrValueError(f"{path}: lines {number[0]} to {number[-1]} do not have the form 'grade qid:7 1:0.25'.")


def _table_remedy(word: str) -> str:
    """Return what to do with a table whose name does not say that it is one."""
    if "," not in word:
        return ""
    return " A table's name must end in .csv, .parquet or the like; name a CSV from standard input - (a hyphen)."


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def ids_of_text(text: AnyArray) -> AnyArray:
    """Return ids as integers if all of them are written as such; "007" is not 7, and stays text."""
    digits = _are_ascii_digits(text) & ((np.char.str_len(text) == 1) | ~np.char.startswith(text, "0"))
    return text.astype(np.int64) if digits.all() and np.char.str_len(text).max() < 19 else text


def _are_ascii_digits(text: AnyArray) -> AnyArray:
    return np.char.isdecimal(text) & np.array([one.isascii() for one in text.tolist()], dtype=np.bool_)


def _texts(words: list[bytes], number: list[int], path: Path) -> list[str]:
    try:
        if b"\0" not in b"".join(words):
            return [word.decode() for word in words]
    except UnicodeDecodeError:
        pass
    at, word = next((n, w) for n, w in zip(number, words, strict=True) if not _is_text(w))
    raise LtrValueError(
        f"{path}:{at}: ids must be UTF-8 text without NUL characters. Got {word!r}. Convert the file to UTF-8."
    )


def _is_text(word: bytes) -> bool:
    return b"\0" not in word and word.decode(errors="replace").encode() == word


def files_of_sizes(path: Path) -> list[Path]:
    """Return where the query sizes of a file without qid: may stand."""
    stem = without_compression(path)
    return [stem.with_name(stem.name + ending) for ending in (".query", ".group")]


def sizes_beside(path: Path) -> tuple[Path, IntArray]:
    """Return the file of query sizes beside a file whose lines have no qid:, and what it holds."""
    beside = files_of_sizes(path)
    file = next((candidate for candidate in beside if candidate.exists()), None)
    if file is None:
        raise LtrValueError(
            f"{path}:1: the lines have no qid:, and there is no file of query sizes beside it ({beside[0].name} or {beside[1].name})."
        )
    sizes = []
    for at, line in enumerate(file.read_bytes().removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if line.strip():
            size = whole_number(line.strip())
            if not size:
                raise LtrValueError(
                    f"{file}:{at}: a query's size must be a whole number of at least 1. Got {line.strip()[:40].decode(errors='replace')!r}."
                )
            sizes.append(size)
    if not sizes:
        raise LtrValueError(f"{file} has no size, and {path} needs one a query.")
    return file, np.array(sizes, dtype=np.intp)


def refuse_sizes(file: Path, sizes: IntArray, path: Path, n_rows: int | str) -> LtrValueError:
    """Return the error for sizes that do not add up to the documents."""
    return LtrValueError(f"{file}: its {len(sizes)} sizes add up to {sizes.sum()}, but {path} has {n_rows} documents.")


def _ids_from_sizes(path: Path, n_rows: int) -> IntArray:
    file, sizes = sizes_beside(path)
    if sizes.sum() != n_rows:
        raise refuse_sizes(file, sizes, path, n_rows)
    return np.repeat(np.arange(len(sizes)), sizes)
