"""TREC's text files: qrels, ``topic iteration docno grade``, and a run, ``topic Q0 docno rank score tag``."""

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
    """A run and its judgements, a document a row; ``evaluate(**data)`` takes it as it is.

    First every line of the run, in file order, then the judged documents that were not retrieved, in the qrels' order.

    Attributes
    ----------
    y_true : ndarray of float64 of shape (n_rows,)
        Grade; 0 for a negative one and for a document that is not in the qrels.
    y_score : ndarray of float64 of shape (n_rows,)
        NaN for a document that was not retrieved.
    qid : ndarray of str of shape (n_rows,)
        Topic.
    docid : ndarray of str of shape (n_rows,)
    retrieved : ndarray of bool of shape (n_rows,)
        False for a document that is in the qrels, but not in the run.
    judged : ndarray of bool of shape (n_rows,)
        False for a document that is in the run, but not in the qrels.
    only_in_qrels, only_in_run : tuple of str
        Topics that one of the files lacks, in order of first appearance, whether or not they were kept.
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
        """Names of the fields that hold a value a row, which are keywords of `evaluate`."""
        return _KEYWORDS

    def __getitem__(self, key: str) -> AnyArray:
        if key not in _KEYWORDS:
            raise LtrKeyError(
                f"TrecData has no column {key!r}.{did_you_mean(str(key), _KEYWORDS)} It has {', '.join(_KEYWORDS)}."
            )
        column: AnyArray = getattr(self, key)
        return column


def read_trec(qrels: PathLike, run: PathLike, *, topics: Topics = "both") -> TrecData:
    r"""Read a run and the judgements that it is to be measured by.

    A line of the qrels is ``topic iteration docno grade``, a line of the run ``topic Q0 docno rank score tag``.
    Iteration, Q0, rank, tag and what follows the tag are ignored: as in trec_eval, scores alone rank the documents, and
    equal ones stand in descending order of docno (``ties="docid"``). Topics and docnos are text, exactly as in the
    file: "007" is not 7. Compressed files (``.gz``, ``.xz``, ``.bz2``), tabs, CRLF, blank lines and lines that begin
    with ``#`` are accepted.

    Parameters
    ----------
    qrels, run : path
    topics : {"both", "qrels"}, default "both"
        Which topics are kept: those in both files, or all of the qrels, as with trec_eval's option -c. The latter
        counts a topic that the run lacks as one for which nothing was retrieved: 0 under ``no_relevant=0``. A topic
        without judgements is never kept.

    Returns
    -------
    TrecData

    Raises
    ------
    LtrValueError
        With file and line, if a line has too few fields (or, in the qrels, too many), a grade is not a finite number, a
        score is not a number, an id is not UTF-8, or a docno stands twice in a topic; if a file has no line, or the two
        have no topic in common (with ``topics="both"``).
    FileNotFoundError

    Notes
    -----
    trec_eval reads text as the number 0, which is an error here, cuts a grade's fraction off, which is kept here, and
    takes a document with a negative grade for one that nobody judged, where here it is judged and not relevant. Scores
    are float64, as in trec_eval 10; up to 9 it rounded them to float32, which makes ties of scores that differ little.

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
    judgements, ranking = _read_file(Path(qrels), _QRELS), _read_file(Path(run), _RUN)
    in_qrels, in_run = set(judgements.topics), set(ranking.topics)
    if topics == "both" and not in_qrels & in_run:
        raise LtrValueError(
            f"{qrels} and {run} must have topics in common: they have none. The qrels begin with {judgements.topics[0]!r}, the "
            f"run with {ranking.topics[0]!r}. Topics are compared as text: spell them alike, or pass files that belong together."
        )
    judgement = _judgement_of_each_row(ranking, judgements)
    kept = np.array([topic in in_qrels for topic in ranking.topics])[ranking.topic]
    missed = np.array([topics == "qrels" or topic in in_run for topic in judgements.topics])[judgements.topic]
    missed[judgement[judgement >= 0]] = False
    judgement = judgement[kept]
    judged = judgement >= 0
    grade = np.where(judgements.value > 0, judgements.value, 0.0)
    n_missed = int(missed.sum())
    return TrecData(
        y_true=np.concatenate((np.where(judged, grade[judgement], 0.0), grade[missed])),
        y_score=np.concatenate((ranking.value[kept], np.full(n_missed, np.nan))),
        qid=np.concatenate((ranking.topic_names(kept), judgements.topic_names(missed))),
        docid=np.concatenate((ranking.docid[kept], judgements.docid[missed])),
        retrieved=np.repeat([True, False], [len(judged), n_missed]),
        judged=np.concatenate((judged, np.ones(n_missed, dtype=np.bool_))),
        only_in_qrels=tuple(topic for topic in judgements.topics if topic not in in_run),
        only_in_run=tuple(topic for topic in ranking.topics if topic not in in_qrels),
    )


class _Form(NamedTuple):
    """What a line must look like."""

    fields: tuple[str, ...]
    at_most: float
    advice: str  # for a line with another number of fields
    value: int  # which field holds the number
    rule: str
    accepts: Callable[[FloatArray], BoolArray]


_QRELS = _Form(
    fields=("topic", "iteration", "docno", "grade"),
    at_most=4,
    advice="A run is the second argument.",
    value=3,
    rule="a grade must be a finite number",
    accepts=np.isfinite,
)
_RUN = _Form(
    fields=("topic", "Q0", "docno", "rank", "score", "tag"),
    at_most=math.inf,
    advice="Fields that do not matter may hold anything, but must be there; qrels are the first argument.",
    value=4,
    rule="a score must be a number and not NaN, which has no rank",
    accepts=lambda scores: ~np.isnan(scores),
)


class _Lines(NamedTuple):
    """What counts of some lines, an entry a line."""

    topic: IntArray
    docid: AnyArray
    value: FloatArray
    number: IntArray


@dataclass(frozen=True, eq=False)
class _File:
    path: Path
    topics: list[str]  # in order of first appearance
    rows: list[IntArray]  # of each topic
    topic: IntArray  # of each row: its position in topics
    docid: AnyArray
    value: FloatArray
    number: IntArray  # of each row: its line

    def topic_names(self, rows: BoolArray) -> AnyArray:
        return np.array(self.topics)[self.topic[rows]]


def _read_file(path: Path, form: _Form) -> _File:
    parts: list[_Lines] = []
    topics: dict[bytes, int] = {}
    for lines, lines_before in blocks_of_lines(path):
        parts.append(_parse(lines, path, lines_before, form, topics))
    if not topics:
        raise LtrValueError(
            f"{path} has no document: every line is blank or a comment. It must have lines '{' '.join(form.fields)}'."
        )
    read = _Lines(*map(np.concatenate, zip(*parts, strict=True)))
    rows = np.split(np.argsort(read.topic, kind="stable"), np.bincount(read.topic).cumsum()[:-1])
    first_line = [int(read.number[of_topic[0]]) for of_topic in rows]
    return _File(path, _texts(list(topics), first_line, path), rows, *read)


def _parse(lines: list[bytes], path: Path, lines_before: int, form: _Form, topics: dict[bytes, int]) -> _Lines:
    """Split lines; topics get their numbers in order of appearance, across all calls."""
    topic: list[int] = []
    docno: list[bytes] = []
    value: list[bytes] = []
    number: list[int] = []
    for at, line in enumerate(lines, start=lines_before + 1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        if not len(form.fields) <= len(words) <= form.at_most:
            raise LtrValueError(
                f"{path}:{at}: a line must have {len(form.fields)} fields, '{' '.join(form.fields)}'. Got {len(words)}: "
                f"{b' '.join(words)[:80].decode(errors='replace')!r}. {form.advice}"
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
    docid = np.array(_texts(docno, number, path), dtype=np.str_)
    return _Lines(np.array(topic, dtype=np.intp), docid, values, np.array(number, dtype=np.intp))


def _number(word: bytes) -> float:
    """Return the number, or NaN for what is none."""
    try:
        return math.nan if b"_" in word else float(word)
    except ValueError:
        return math.nan


def _texts(words: list[bytes], number: list[int], path: Path) -> list[str]:
    """Decode words all at once; a word has no white space, so line breaks can stand between them."""
    joined = b"\n".join(words)
    try:
        if (at := joined.find(b"\0")) < 0:
            return joined.decode().split("\n") if words else []  # splitlines would split at more than bytes.split does
    except UnicodeDecodeError as error:
        at = error.start
    row = joined.count(b"\n", 0, at)
    raise LtrValueError(
        f"{path}:{number[row]}: topics and docnos must be UTF-8 text without NUL characters. Got {words[row]!r}. "
        "Convert the file to UTF-8."
    )


def _judgement_of_each_row(ranking: _File, judgements: _File) -> IntArray:
    """Return for each row of the run the row of the qrels with the same topic and docno, or -1."""
    judged = {
        topic: _row_of_each_docno(judgements, rows)
        for topic, rows in zip(judgements.topics, judgements.rows, strict=True)
    }
    found = np.empty(len(ranking.topic), dtype=np.intp)
    for topic, rows in zip(ranking.topics, ranking.rows, strict=True):
        row_of = judged.get(topic, {})
        found[rows] = [row_of.get(docno, -1) for docno in _row_of_each_docno(ranking, rows)]
    return found


def _row_of_each_docno(file: _File, rows: IntArray) -> dict[str, int]:
    """Return the rows of one topic by docno, in file order; a repeated docno is an error."""
    docnos, row_numbers = file.docid[rows].tolist(), rows.tolist()
    row_of = dict(zip(docnos, row_numbers, strict=True))
    if len(row_of) < len(docnos):
        _refuse_repeated(file, docnos, row_numbers)
    return row_of


def _refuse_repeated(file: _File, docnos: list[str], rows: list[int]) -> NoReturn:
    first: dict[str, int] = {}
    docno, row = next((d, r) for d, r in zip(docnos, rows, strict=True) if first.setdefault(d, r) != r)
    raise LtrValueError(
        f"{file.path}:{file.number[row]}: a docno must stand only once in a topic. Got {docno!r} again in topic "
        f"{file.topics[file.topic[row]]!r}, first in line {file.number[first[docno]]}. Drop one of the two lines."
    )
