"""TREC files: qrels, ``topic iteration docno grade``; runs, ``topic Q0 docno rank score tag``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray, require_option
from ltr_metrics._engine.words import Topics
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.compressed import blocks_of_lines
from ltr_metrics.io.trec_data import Documents, TrecData, rows_by_topic, trec_data

PathLike = str | os.PathLike[str]


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
    ltr_metrics.from_qrels : The same for judgments and runs in memory.
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
    require_option("topics", topics, get_args(Topics))  # before the files are read
    return trec_data(_read_file(Path(qrels), _QRELS), _read_file(Path(run), _RUN), topics)


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


def _read_file(path: Path, form: _Format) -> Documents:
    parts: list[_Lines] = []
    topics: dict[bytes, int] = {}
    for lines, lines_before in blocks_of_lines(path):
        parts.append(_parse(lines, path, lines_before, form, topics))
    if not topics:
        raise LtrValueError(
            f"{path} has no document: every line is blank or a comment. It must have lines '{' '.join(form.fields)}'."
        )
    columns = _Lines(*map(np.concatenate, zip(*parts, strict=True)))
    rows = rows_by_topic(columns.topic)
    first_line = [int(columns.number[rows_of_topic[0]]) for rows_of_topic in rows]
    return Documents(str(path), _decode(list(topics), first_line, path), rows, *columns, unit="line")


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
