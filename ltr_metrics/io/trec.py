"""TREC files: qrels, ``topic iteration docno grade``; runs, ``topic Q0 docno rank score tag``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray, require_option
from ltr_metrics._engine.words import Topics
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.io.compressed import blocks_of_lines

PathLike = str | os.PathLike[str]

_KEYWORDS = ("y_true", "y_score", "qid", "docid", "retrieved", "judged")


@dataclass(frozen=True, eq=False)
class TrecData:
    r"""A run and its judgments, one row per document, for ``evaluate(**data)``.

    The rows are first the lines of the run, in file order, then the judged documents that were not
    retrieved, in the order of the qrels.

    Attributes
    ----------
    y_true : ndarray of float64 of shape (n_rows,)
        Grade; 0 if it is negative or the document is not in the qrels.
    y_score : ndarray of float64 of shape (n_rows,)
        NaN for a document that was not retrieved.
    qid : ndarray of str of shape (n_rows,)
        Topic.
    docid : ndarray of str of shape (n_rows,)
        Document, called docno in the files.
    retrieved : ndarray of bool of shape (n_rows,)
        False for a document that is in the qrels but not in the run.
    judged : ndarray of bool of shape (n_rows,)
        False for a document that is in the run but not in the qrels.
    only_in_qrels, only_in_run : tuple of str
        Topics that are in one file only, in order of first appearance, whether or not they are
        kept.

    See Also
    --------
    read_trec : Read one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.io import read_trec
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels").write_text("301 0 A 1\n301 0 B 2\n")
    >>> _ = (folder / "run").write_text("301 Q0 C 1 9.5 mine\n301 Q0 A 2 7.25 mine\n")
    >>> data = read_trec(folder / "qrels", folder / "run")
    >>> data.keys()
    ('y_true', 'y_score', 'qid', 'docid', 'retrieved', 'judged')
    >>> ltr.evaluate(**data, metrics="mrr")["mrr"]
    0.5
    """

    y_true: FloatArray
    y_score: FloatArray
    qid: AnyArray
    docid: AnyArray
    retrieved: BoolArray
    judged: BoolArray
    only_in_qrels: tuple[str, ...]
    only_in_run: tuple[str, ...]

    def keys(self) -> tuple[str, ...]:
        """Return the names of the fields with one value per row, keywords of ``evaluate``.

        Returns
        -------
        tuple of str
            ``y_true``, ``y_score``, ``qid``, ``docid``, ``retrieved`` and ``judged``.
        """
        return _KEYWORDS

    def __getitem__(self, key: str) -> AnyArray:
        if key not in _KEYWORDS:
            raise LtrKeyError(
                f"TrecData has no column {key!r}.{did_you_mean(str(key), _KEYWORDS)} It has {', '.join(_KEYWORDS)}."
            )
        column: AnyArray = getattr(self, key)
        return column


def read_trec(qrels: PathLike, run: PathLike, *, topics: Topics = "both") -> TrecData:
    r"""Read a run and the judgments (qrels) to evaluate it with.

    A line of the qrels is ``topic iteration docno grade``. A line of the run is
    ``topic Q0 docno rank score tag``. Iteration, Q0, rank, tag and any further fields are ignored.
    As in trec_eval, only scores rank the documents; to order tied documents by descending docno as
    well, use ``ties="docid"``. Topics and docnos are text, exactly as in the file: "007" is not 7.
    Compressed files (``.gz``, ``.xz``, ``.bz2``), tabs, CRLF, blank lines and lines that begin with
    ``#`` are accepted.

    Parameters
    ----------
    qrels : path
        The judgments.
    run : path
        The ranked documents of a system.
    topics : {"both", "qrels"}, default "both"
        Which topics are kept: those in both files, or all topics of the qrels, as with trec_eval's
        option -c. With "qrels", a topic that is missing from the run counts as a topic for which
        nothing was retrieved: 0 under ``no_relevant=0``. A topic without judgments is never kept.

    Returns
    -------
    TrecData
        One row per document, for ``evaluate(**data)``.

    Raises
    ------
    LtrValueError
        With file and line, if a line has too few fields (or, in the qrels, too many), a grade is
        not finite, or a score is not a number. Also if an id is not UTF-8, a docno is repeated in a
        topic, or a file has no lines. With ``topics="both"``, if the two files have no topic in
        common.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    ltr_metrics.evaluate : Evaluate the run.

    Notes
    -----
    trec_eval reads text as the number 0; here it is an error. trec_eval truncates fractional
    grades; here they are kept. In trec_eval a document with a negative grade is unjudged; here it
    is judged and not relevant. Scores are float64, as in trec_eval 10. Versions up to 9 round them
    to float32, which ties scores that differ little.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.io import read_trec
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels").write_text("301 0 A 1\n301 0 B 2\n302 0 A 1\n")
    >>> _ = (folder / "run").write_text("301 Q0 C 1 9.5 mine\n301 Q0 A 2 7.25 mine\n")
    >>> data = read_trec(folder / "qrels", folder / "run")
    >>> data.docid.tolist(), data.y_true.tolist(), data.y_score.tolist()
    (['C', 'A', 'B'], [0.0, 1.0, 2.0], [9.5, 7.25, nan])
    >>> data.judged.tolist(), data.retrieved.tolist(), data.only_in_qrels
    ([False, True, True], [True, True, False], ('302',))
    """
    require_option("topics", topics, get_args(Topics))
    judgments, ranking = _read_file(Path(qrels), _QRELS), _read_file(Path(run), _RUN)
    in_qrels, in_run = set(judgments.topics), set(ranking.topics)
    if topics == "both" and not in_qrels & in_run:
        raise LtrValueError(
            f"{qrels} and {run} must have topics in common: they have none. The qrels begin with "
            f"{judgments.topics[0]!r}, the run with {ranking.topics[0]!r}. Topics are compared as text: spell them "
            "alike, or pass files that belong together."
        )
    judgment = _judgment_rows(ranking, judgments)
    kept = np.array([topic in in_qrels for topic in ranking.topics])[ranking.topic]
    not_retrieved = np.array([topics == "qrels" or topic in in_run for topic in judgments.topics])[judgments.topic]
    not_retrieved[judgment[judgment >= 0]] = False
    judgment = judgment[kept]
    judged = judgment >= 0
    grade = np.where(judgments.value > 0, judgments.value, 0.0)
    n_not_retrieved = int(not_retrieved.sum())
    return TrecData(
        y_true=np.concatenate((np.where(judged, grade[judgment], 0.0), grade[not_retrieved])),
        y_score=np.concatenate((ranking.value[kept], np.full(n_not_retrieved, np.nan))),
        qid=np.concatenate((ranking.topic_names(kept), judgments.topic_names(not_retrieved))),
        docid=np.concatenate((ranking.docid[kept], judgments.docid[not_retrieved])),
        retrieved=np.repeat([True, False], [len(judged), n_not_retrieved]),
        judged=np.concatenate((judged, np.ones(n_not_retrieved, dtype=np.bool_))),
        only_in_qrels=tuple(topic for topic in judgments.topics if topic not in in_run),
        only_in_run=tuple(topic for topic in ranking.topics if topic not in in_qrels),
    )


class _Format(NamedTuple):
    """The format of a file's lines."""

    fields: tuple[str, ...]
    max_fields: float
    advice: str  # for a line with another number of fields
    value: int  # index of the field with the number
    rule: str
    accepts: Callable[[FloatArray], BoolArray]


_QRELS = _Format(
    fields=("topic", "iteration", "docno", "grade"),
    max_fields=4,
    advice="A run is the second argument.",
    value=3,
    rule="a grade must be a finite number",
    accepts=np.isfinite,
)
_RUN = _Format(
    fields=("topic", "Q0", "docno", "rank", "score", "tag"),
    max_fields=math.inf,
    advice="Ignored fields may have any content but are required; qrels are the first argument.",
    value=4,
    rule="a score must be a number and not NaN, which has no rank",
    accepts=lambda scores: ~np.isnan(scores),
)


class _Lines(NamedTuple):
    """The needed fields of some lines, an entry per line."""

    topic: IntArray
    docid: AnyArray
    value: FloatArray
    number: IntArray


@dataclass(frozen=True, eq=False)
class _File:
    path: Path
    topics: list[str]  # in order of first appearance
    rows: list[IntArray]  # of each topic
    topic: IntArray  # index in topics of each row
    docid: AnyArray
    value: FloatArray
    number: IntArray  # line of each row

    def topic_names(self, rows: BoolArray) -> AnyArray:
        return np.array(self.topics)[self.topic[rows]]


def _read_file(path: Path, form: _Format) -> _File:
    parts: list[_Lines] = []
    topics: dict[bytes, int] = {}
    for lines, lines_before in blocks_of_lines(path):
        parts.append(_parse(lines, path, lines_before, form, topics))
    if not topics:
        raise LtrValueError(
            f"{path} has no document: every line is blank or a comment. It must have lines '{' '.join(form.fields)}'."
        )
    columns = _Lines(*map(np.concatenate, zip(*parts, strict=True)))
    rows = np.split(np.argsort(columns.topic, kind="stable"), np.bincount(columns.topic).cumsum()[:-1])
    first_line = [int(columns.number[rows_of_topic[0]]) for rows_of_topic in rows]
    return _File(path, _decode(list(topics), first_line, path), rows, *columns)


def _parse(lines: list[bytes], path: Path, lines_before: int, form: _Format, topics: dict[bytes, int]) -> _Lines:
    """Parse lines; add new topics to ``topics``, numbered in order of first appearance."""
    topic: list[int] = []
    docno: list[bytes] = []
    value: list[bytes] = []
    number: list[int] = []
    for at, line in enumerate(lines, start=lines_before + 1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        if not len(form.fields) <= len(words) <= form.max_fields:
            raise LtrValueError(
                f"{path}:{at}: a line must have {len(form.fields)} fields, '{' '.join(form.fields)}'. "
                f"Got {len(words)}: {b' '.join(words)[:80].decode(errors='replace')!r}. {form.advice}"
            )
        topic.append(topics.setdefault(words[0], len(topics)))
        docno.append(words[2])
        value.append(words[form.value])
        number.append(at)
    values = np.fromiter(map(_number, value), dtype=np.float64, count=len(value))
    bad = ~form.accepts(values)
    if bad.any():
        row = int(bad.argmax())
        raise LtrValueError(
            f"{path}:{number[row]}: {form.rule}. Got {value[row].decode(errors='replace')!r}. Correct or drop the line."
        )
    docid = np.array(_decode(docno, number, path), dtype=np.str_)
    return _Lines(np.array(topic, dtype=np.intp), docid, values, np.array(number, dtype=np.intp))


def _number(word: bytes) -> float:
    """Return the number, or NaN if the word is not a number."""
    try:
        return math.nan if b"_" in word else float(word)
    except ValueError:
        return math.nan


def _decode(words: list[bytes], number: list[int], path: Path) -> list[str]:
    """Decode all words at once, joined by line breaks, since words have no white space."""
    text = b"\n".join(words)  # which splitlines would split at more characters than bytes.split
    try:
        if (at := text.find(b"\0")) < 0:
            return text.decode().split("\n") if words else []
    except UnicodeDecodeError as error:
        at = error.start
    row = text.count(b"\n", 0, at)
    raise LtrValueError(
        f"{path}:{number[row]}: topics and docnos must be UTF-8 text without NUL characters. Got {words[row]!r}. "
        "Convert the file to UTF-8."
    )


def _judgment_rows(ranking: _File, judgments: _File) -> IntArray:
    """Return the row of the qrels with the topic and docno of each row of the run, or -1."""
    judged = {
        topic: _rows_by_docno(judgments, rows) for topic, rows in zip(judgments.topics, judgments.rows, strict=True)
    }
    judgment = np.empty(len(ranking.topic), dtype=np.intp)
    for topic, rows in zip(ranking.topics, ranking.rows, strict=True):
        row_of_docno = judged.get(topic, {})
        judgment[rows] = [row_of_docno.get(docno, -1) for docno in _rows_by_docno(ranking, rows)]
    return judgment


def _rows_by_docno(file: _File, rows: IntArray) -> dict[str, int]:
    """Return the rows of one topic by docno, in file order; refuse a repeated docno."""
    docnos, row_numbers = file.docid[rows].tolist(), rows.tolist()
    row_of = dict(zip(docnos, row_numbers, strict=True))
    if len(row_of) < len(docnos):
        _refuse_repeated(file, docnos, row_numbers)
    return row_of


def _refuse_repeated(file: _File, docnos: list[str], rows: list[int]) -> NoReturn:
    first: dict[str, int] = {}
    docno, row = next((d, r) for d, r in zip(docnos, rows, strict=True) if first.setdefault(d, r) != r)
    raise LtrValueError(
        f"{file.path}:{file.number[row]}: a docno must not be repeated in a topic. Got {docno!r} again in topic "
        f"{file.topics[file.topic[row]]!r}, first in line {file.number[first[docno]]}. Remove one of the two lines."
    )
