"""LETOR and svmlight text: ``grade qid:7 1:0.25 2:0.5 # docid = GX1``, one document per line."""

from __future__ import annotations

import codecs
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray, require_count, whole_number
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.compressed import blocks_of_lines, without_compression

PathLike = str | os.PathLike[str]

HIGHEST_FEATURE = 1_000_000  # X is dense: a higher number is a fault or other data
_DOCID = re.compile(rb"docid\s*=\s*(\S+)")
_SPACE, _COLON = ord(" "), ord(":")


@dataclass(frozen=True, eq=False)
class LetorData:
    r"""The rows of one or more LETOR files; ``X, y, qid = data`` unpacks it.

    Attributes
    ----------
    X : ndarray of float64 of shape (n_rows, n_features)
        Feature j is in column j - 1 (in column j with ``zero_based``). A feature that a line
        omits is 0.
    y : ndarray of float64 of shape (n_rows,)
        Labels.
    qid : ndarray of int or str of shape (n_rows,)
        Query id of each row.
    docid : ndarray of str of shape (n_rows,) or None
        From the comments, if every line has one (``# docid = ...``).

    See Also
    --------
    read_letor : Read one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.io import read_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1\n0 qid:7 2:0.25\n")
    >>> data = read_letor(path)
    >>> data.X.shape, data.y, data.qid, data.docid is None
    ((2, 3), array([2., 0.]), array([7, 7]), True)
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

    Compressed files (``.gz``, ``.xz``, ``.bz2``), CRLF, blank lines and comments are accepted.
    Feature numbers may be unsorted; if one is repeated, the last value counts. If the lines have no
    ``qid:``, the query sizes are read from the file that LightGBM and XGBoost look for. It has the
    same name with ``.query`` or ``.group`` added, such as ``rank.test.query`` for ``rank.test.xz``.

    Parameters
    ----------
    paths : path or several of them
        The same id in two files is the same query.
    n_features : int, optional
        Number of columns of X. The default is the highest feature number that occurs.
    zero_based : bool, default False
        Whether feature numbers start at 0.
    graded : bool, default False
        Whether every label must be a grade, finite and not negative, as an evaluation requires.
        Another label is then an error here, with its line. Some files use -1 for documents that
        are not judged.

    Returns
    -------
    LetorData
        Features, labels, query ids and, if the comments have them, document ids.

    Raises
    ------
    LtrValueError
        With file, line and column, if a line does not have the form above.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    read_table : Read Parquet, CSV and other tables.
    ltr_metrics.evaluate_sorted : Evaluate a file that does not fit into memory.

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
    files = [(Path(path), list(read_lines(Path(path), zero_based, graded))) for path in paths]
    if not files:
        raise LtrValueError("read_letor needs at least one file. Got none.")
    qid = _query_ids(files)
    parts = [part for _, of_file in files for part in of_file]
    highest = max(int(part.column.max(initial=-1)) for part in parts) + 1
    if n_features is not None and highest > n_features:
        raise LtrValueError(f"The files have features up to number {highest}, beyond n_features={n_features}.")
    X = np.zeros((len(qid), highest if n_features is None else n_features))
    start = 0
    for part in parts:
        X[start + part.row, part.column] = part.value
        start += len(part.y)
    docid = [part.docid for part in parts if part.docid is not None]
    return LetorData(
        X=X,
        y=np.concatenate([part.y for part in parts]),
        qid=qid,
        docid=np.concatenate(docid) if len(docid) == len(parts) else None,
    )


def require_n_features(n_features: object) -> None:
    """Raise an error unless ``n_features`` is a count or None."""
    if n_features is not None:
        require_count("n_features", n_features)


# -- query ids ----------------------------------------------------------------------------------


def _query_ids(files: Sequence[tuple[Path, Sequence[Lines]]]) -> AnyArray:
    """Return the ids in the lines, or numbers from 0 on where queries have only sizes."""
    has_qid = [parts[0].qid is not None for _, parts in files]
    require_same_form(has_qid)
    if has_qid[0]:
        return ids_of_text(np.concatenate([part.qid for _, parts in files for part in parts if part.qid is not None]))
    of_files = []
    for path, parts in files:
        sizes_path, sizes = read_sizes(path)
        n_rows = sum(len(part.y) for part in parts)
        if sizes.sum() != n_rows:
            raise sizes_error(sizes_path, sizes, path, n_rows)
        of_files.append(sizes)
    sizes = np.concatenate(of_files)
    return np.repeat(np.arange(len(sizes)), sizes)


def require_same_form(has_qid: Sequence[bool]) -> None:
    """Refuse files if only some of them have qid: in their lines."""
    if len(set(has_qid)) > 1:
        raise LtrValueError(
            "Some of the files have qid: in their lines, and some have only a file of query sizes. "
            "Read them separately."
        )


def ids_of_text(text: AnyArray) -> AnyArray:
    """Return the ids as integers if all are written as such; "007" is not 7 and stays text."""
    is_digits = _are_ascii_digits(text) & ((np.char.str_len(text) == 1) | ~np.char.startswith(text, "0"))
    return text.astype(np.int64) if is_digits.all() and np.char.str_len(text).max() < 19 else text


def _are_ascii_digits(text: AnyArray) -> BoolArray:
    return np.char.isdecimal(text) & np.array([one.isascii() for one in text.tolist()], dtype=np.bool_)


def sizes_paths(path: Path) -> list[Path]:
    """Return the two paths where the query sizes of a file without qid: may be."""
    stem = without_compression(path)
    return [stem.with_name(stem.name + ending) for ending in (".query", ".group")]


def read_sizes(path: Path) -> tuple[Path, IntArray]:
    """Return the file of query sizes for a file without qid:, and the sizes."""
    candidates = sizes_paths(path)
    file = next((candidate for candidate in candidates if candidate.exists()), None)
    if file is None:
        raise LtrValueError(
            f"{path}:1: the lines have no qid:, and there is no file of query sizes ({candidates[0].name} or "
            f"{candidates[1].name}) in the same folder. Add one of them."
        )
    sizes = []
    for number, line in enumerate(file.read_bytes().removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if word := line.strip():
            size = whole_number(word)
            if not size:
                raise LtrValueError(
                    f"{file}:{number}: a query's size must be a whole number of at least 1. "
                    f"Got {word[:40].decode(errors='replace')!r}."
                )
            sizes.append(size)
    if not sizes:
        raise LtrValueError(f"{file} has no size, but {path} needs one for each query.")
    return file, np.array(sizes, dtype=np.intp)


def sizes_error(file: Path, sizes: IntArray, path: Path, n_rows: int | str) -> LtrValueError:
    """Return the error for sizes that do not add up to the number of documents."""
    return LtrValueError(f"{file}: its {len(sizes)} sizes add up to {sizes.sum()}, but {path} has {n_rows} documents.")


# -- lines --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lines:
    """The documents of some lines, with a (row, column, value) per feature."""

    y: FloatArray
    qid: AnyArray | None  # None if the lines have no qid:
    docid: AnyArray | None  # None if a line has no document id
    number: IntArray  # of the line in its file, from 1 on
    row: IntArray
    column: IntArray
    value: FloatArray


def read_lines(path: Path, zero_based: bool, graded: bool) -> Iterator[Lines]:
    """Yield the documents of a file, some thousands at a time; refuse a file without documents."""
    has_qid = None
    for lines, n_before in blocks_of_lines(path):
        part = _parse(lines, path, n_before, 0 if zero_based else 1, has_qid)
        if not part.y.size:
            continue
        if graded:
            _refuse_labels(part, path)
        has_qid = part.qid is not None
        yield part
    if has_qid is None:
        raise LtrValueError(f"{path} has no document: every line is blank or a comment.")


def _refuse_labels(part: Lines, path: Path) -> None:
    bad = ~(np.isfinite(part.y) & (part.y >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise LtrValueError(
            f"{path}:{part.number[row]}:1: a grade must be finite and not negative. Got {part.y[row]:g}. "
            "Remove lines that are not judged, or shift the grades so that the lowest is 0."
        )


class _Words(NamedTuple):
    """The words of some lines, an entry per document."""

    label: list[bytes]
    qid: list[bytes]
    docid: list[bytes]  # shorter than label if a line has none
    features: list[bytes]  # pairs separated by one space
    number: list[int]


def _parse(lines: list[bytes], path: Path, n_before: int, lowest: int, has_qid: bool | None) -> Lines:
    """Parse lines: split them in Python, and convert the numbers, which are many, in NumPy."""
    words = _split(lines, path, n_before, has_qid)
    y = _numbers(b" ".join(words.label))
    count = np.array([pairs.count(b":") for pairs in words.features], dtype=np.intp)
    pairs = _feature_pairs(words.features, int(count.sum()))
    if y is None or len(y) != len(words.label) or pairs is None or not _are_feature_numbers(pairs[0], lowest):
        _raise_for_bad_word(path, lines, words.number, n_before, lowest)
    feature, value = pairs
    return Lines(
        y=y,
        qid=_decode(words.qid, words.number, path) if words.qid else None,
        docid=_decode(words.docid, words.number, path) if len(words.docid) == len(y) else None,
        number=np.array(words.number, dtype=np.intp),
        row=np.repeat(np.arange(len(y)), count),
        column=feature.astype(np.intp) - lowest,
        value=value,
    )


def _split(lines: list[bytes], path: Path, n_before: int, has_qid: bool | None) -> _Words:
    """Return the words of the lines that are not blank; ``has_qid`` is None if not yet known."""
    words = _Words([], [], [], [], [])
    for number, line in enumerate(lines, start=n_before + 1):
        body, _, comment = line.partition(b"#")
        in_line = body.split()
        if not in_line:
            continue
        line_has_qid = len(in_line) > 1 and in_line[1].startswith(b"qid:")
        if has_qid is None:
            has_qid = line_has_qid
        if line_has_qid != has_qid:
            raise LtrValueError(
                f"{path}:{number}: either every line has a qid: or none. "
                f"This one {'has' if line_has_qid else 'lacks'} it."
            )
        if line_has_qid:
            words.qid.append(in_line[1][4:])
            if not words.qid[-1]:
                raise LtrValueError(f"{path}:{number}: qid: must be followed by the query's id. This one is empty.")
        words.label.append(in_line[0])
        if docid := _DOCID.search(comment):
            words.docid.append(docid[1])
        words.features.append(b" ".join(in_line[2 if line_has_qid else 1 :]))
        words.number.append(number)
    return words


def _feature_pairs(features: list[bytes], n_pairs: int) -> tuple[FloatArray, FloatArray] | None:
    """Return the numbers before and after the colons, or None if a word is not such a pair."""
    text = b" ".join(filter(None, features))
    numbers = _numbers(text.replace(b":", b" "))
    separators = np.frombuffer(text, dtype=np.uint8)
    separators = separators[(separators == _SPACE) | (separators == _COLON)]
    alternate = bool((separators[0::2] == _COLON).all() and (separators[1::2] == _SPACE).all())
    if numbers is None or not alternate or len(numbers) != 2 * n_pairs:
        return None
    return numbers[0::2], numbers[1::2]


def _are_feature_numbers(numbers: FloatArray, lowest: int) -> bool:
    return not ((numbers < lowest).any() or (numbers > HIGHEST_FEATURE).any() or (numbers % 1 != 0).any())


def _numbers(text: bytes) -> FloatArray | None:
    """Return numbers that are separated by spaces, or None if the text has other words."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _decode(words: list[bytes], number: list[int], path: Path) -> AnyArray:
    try:
        if b"\0" not in b"".join(words):
            return np.array([word.decode() for word in words])
    except UnicodeDecodeError:
        pass
    at, word = next((n, w) for n, w in zip(number, words, strict=True) if not _is_text(w))
    raise LtrValueError(
        f"{path}:{at}: ids must be UTF-8 text without NUL characters. Got {word!r}. Convert the file to UTF-8."
    )


def _is_text(word: bytes) -> bool:
    return b"\0" not in word and word.decode(errors="replace").encode() == word


def _raise_for_bad_word(path: Path, lines: list[bytes], number: list[int], n_before: int, lowest: int) -> NoReturn:
    """Raise an error with line and column of the word that `_parse` could not convert."""
    for at in number:
        body = lines[at - n_before - 1].partition(b"#")[0]
        for i, match in enumerate(re.finditer(rb"\S+", body)):
            if fault := _fault_of_word(match[0].decode(errors="replace"), i, lowest):
                raise LtrValueError(f"{path}:{at}:{match.start() + 1}: {fault}")
    raise LtrValueError(f"{path}: lines {number[0]} to {number[-1]} do not have the form 'grade qid:7 1:0.25'.")


def _fault_of_word(word: str, i: int, lowest: int) -> str:
    """Return why the word at this index of a line is wrong; empty if it is right."""
    if i == 0:
        if _is_number(word):
            return ""
        remedy = (
            " A table's name must end in .csv, .parquet or the like; name a CSV from standard input - (a hyphen)."
            if "," in word
            else ""
        )
        return f"a line must begin with a grade, a number. Got {word!r}.{remedy}"
    if i == 1 and word.startswith("qid:"):
        return ""
    key, colon, value = word.partition(":")
    if not (colon and key.isascii() and key.isdigit() and _is_number(value)):
        return f"a feature must have the form number:value. Got {word!r}."
    if (feature := whole_number(key)) is None or feature > HIGHEST_FEATURE:
        return f"feature numbers go up to {HIGHEST_FEATURE:,}. Got {word!r}."
    if feature < lowest:
        return f"feature numbers start at {lowest}. Got {word!r}. Pass zero_based=True if they start at 0 in this file."
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word
