"""A run with its judgments, however both were given: one row a document, for ``evaluate(**data)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray, require_option
from ltr_metrics._engine.words import Topics
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean

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


@dataclass(frozen=True, eq=False)
class Documents:
    """Judged or ranked documents, an entry each.

    Attributes
    ----------
    name : str
        What they are called in messages: a path, or the argument.
    topics : list of str
        In order of first appearance.
    rows : list of ndarray of int
        Entries of each topic.
    topic : ndarray of int
        Index in ``topics`` of each entry.
    docid : ndarray of str
    value : ndarray of float64
        Grade or score.
    number : ndarray of int
        Number of each entry in the file or table.
    unit : str
        What is numbered: ``"line"`` of a file, ``"row"`` or ``"entry"``.
    """

    name: str
    topics: list[str]
    rows: list[IntArray]
    topic: IntArray
    docid: AnyArray
    value: FloatArray
    number: IntArray
    unit: str

    def place(self, row: int) -> str:
        """Return where an entry is: ``qrels.txt:3`` or ``qrels, row 3``."""
        return f"{self.name}:{self.number[row]}" if self.unit == "line" else f"{self.name}, {self.entry(row)}"

    def entry(self, row: int) -> str:
        """Return where an entry is, without the name: ``line 3``."""
        return f"{self.unit} {self.number[row]}"

    def topic_names(self, rows: BoolArray) -> AnyArray:
        """Return the topic of each of some entries."""
        return np.array(self.topics, dtype=np.str_)[self.topic[rows]]


def rows_by_topic(topic: IntArray) -> list[IntArray]:
    """Return the entries of each topic, in their order."""
    return np.split(np.argsort(topic, kind="stable"), np.bincount(topic).cumsum()[:-1])


def trec_data(judgments: Documents, ranking: Documents, topics: Topics) -> TrecData:
    """Return one row per document of the topics in both, or of all topics of the judgments."""
    require_option("topics", topics, get_args(Topics))
    in_qrels, in_run = set(judgments.topics), set(ranking.topics)
    if topics == "both" and not in_qrels & in_run:
        raise LtrValueError(
            f"{judgments.name} and {ranking.name} must have topics in common: they have none. The qrels begin with "
            f"{judgments.topics[0]!r}, the run with {ranking.topics[0]!r}. Topics are compared as text: spell them "
            "alike, or pass judgments and a run that belong together."
        )
    judgment = _judgment_rows(ranking, judgments)
    kept = np.array([topic in in_qrels for topic in ranking.topics], dtype=np.bool_)[ranking.topic]
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


def _judgment_rows(ranking: Documents, judgments: Documents) -> IntArray:
    """Return the row of the qrels with the topic and docno of each row of the run, or -1."""
    judged = {
        topic: _rows_by_docno(judgments, rows) for topic, rows in zip(judgments.topics, judgments.rows, strict=True)
    }
    judgment = np.empty(len(ranking.topic), dtype=np.intp)
    for topic, rows in zip(ranking.topics, ranking.rows, strict=True):
        row_of_docno = judged.get(topic, {})
        judgment[rows] = [row_of_docno.get(docno, -1) for docno in _rows_by_docno(ranking, rows)]
    return judgment


def _rows_by_docno(file: Documents, rows: IntArray) -> dict[str, int]:
    """Return the rows of one topic by docno, in file order; refuse a repeated docno."""
    docnos, row_numbers = file.docid[rows].tolist(), rows.tolist()
    row_of = dict(zip(docnos, row_numbers, strict=True))
    if len(row_of) < len(docnos):
        _refuse_repeated(file, docnos, row_numbers)
    return row_of


def _refuse_repeated(file: Documents, docnos: list[str], rows: list[int]) -> NoReturn:
    first: dict[str, int] = {}
    docno, row = next((d, r) for d, r in zip(docnos, rows, strict=True) if first.setdefault(d, r) != r)
    raise LtrValueError(
        f"{file.place(row)}: a docno must not be repeated in a topic. Got {docno!r} again in topic "
        f"{file.topics[file.topic[row]]!r}, first in {file.entry(first[docno])}. Remove one of the two."
    )
