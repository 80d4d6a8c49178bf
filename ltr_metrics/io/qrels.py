"""Judgments (qrels) and runs in memory: dicts, data frames, and lists of named tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, as_numbers, has_named_columns, named_columns
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics._engine.ids import id_text, id_texts
from ltr_metrics._engine.words import Topics
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.io.trec_data import Documents, TrecData, rows_by_topic, trec_data


def from_qrels(qrels: Any, run: Any, *, topics: Topics = "both") -> TrecData:
    """Return judgments (qrels) and a run as one row per document, for ``evaluate(**data)``.

    The judgments and the run are given in one of these forms, which may differ:

    - a dict of dicts, ``{query: {document: grade}}`` and ``{query: {document: score}}``, as in
      pytrec_eval, ranx and ir_measures
    - a data frame (pandas, polars, Arrow) with the columns ``query_id``, ``doc_id``, and
      ``relevance`` or ``score``, as in ir_measures
    - an iterable of objects with these attributes, such as the named tuples of ir_measures

    Only scores rank the documents. To order tied documents by descending id, as trec_eval does, use
    ``ties="docid"`` or ``convention="trec_eval"``.

    Parameters
    ----------
    qrels : mapping, data frame or iterable
        The judgments. A negative grade counts as 0.
    run : mapping, data frame or iterable
        The ranked documents of a system, with their scores.
    topics : {"both", "qrels"}, default "both"
        Which queries are kept: those in both, or all queries of the qrels, as with trec_eval's
        option -c. With "qrels", a query that is missing from the run counts as a query for which
        nothing was retrieved: 0 under ``no_relevant=0``. A query without judgments is never kept.

    Returns
    -------
    TrecData
        One row per document, for ``evaluate(**data)``. Its attributes ``only_in_qrels`` and
        ``only_in_run`` name the queries that the other lacks.

    Raises
    ------
    LtrValueError, LtrTypeError
        With query and document, if a grade is not finite, or a score is not a number. Also if a
        document is repeated in a query, a column is missing, or there is no document. With
        ``topics="both"``, if qrels and run have no query in common.

    See Also
    --------
    ltr_metrics.io.read_trec : The same for TREC files.
    ltr_metrics.trec.RelevanceEvaluator : The interface of pytrec_eval.

    Notes
    -----
    Ids are compared as text, so query 7 of the qrels is query ``"7"`` of the run. A query whose
    dict is empty counts as missing.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}}
    >>> run = {"q1": {"a": 9.5, "x": 7.25, "b": 6.0}}
    >>> data = ltr.from_qrels(qrels, run)
    >>> ltr.evaluate(**data, metrics=["map", "judged@2"], convention="trec_eval").mean
    {'map(denominator=relevant)': 0.5, 'judged@2': 0.5}
    >>> data.only_in_qrels, data.docid[~data.retrieved].tolist()
    (('q2',), ['c'])
    """
    return trec_data(_documents(qrels, _QRELS), _documents(run, _RUN), topics)


class _Form(NamedTuple):
    """What judgments and runs are called, and their numbers."""

    name: str
    number: str
    example: str
    rule: str
    accepts: Callable[[FloatArray], BoolArray]


_QRELS = _Form("qrels", "relevance", '{"q1": {"d1": 2}}', "a grade must be a finite number", np.isfinite)
_RUN = _Form(
    "run",
    "score",
    '{"q1": {"d1": 9.5}}',
    "a score must be a number and not NaN, which has no rank",
    lambda scores: ~np.isnan(scores),
)


class _Columns(NamedTuple):
    """The query, the document and the number of each entry."""

    query: list[str]
    document: list[str]
    number: FloatArray
    unit: str


def _documents(data: Any, form: _Form) -> Documents:
    columns = _read(data, form)
    if not columns.query:
        raise LtrValueError(f"{form.name} has no document. It must have at least one, such as {form.example}.")
    _refuse_nul(columns, form)
    is_bad = ~form.accepts(columns.number)
    if is_bad.any():
        at = int(is_bad.argmax())
        where = f"{form.name}, query {columns.query[at]!r}, document {columns.document[at]!r}"
        raise LtrValueError(f"{where}: {form.rule}. Got {columns.number[at]}. Correct or drop the document.")
    topics: dict[str, int] = {}
    topic = np.array([topics.setdefault(query, len(topics)) for query in columns.query], dtype=np.intp)
    docid = np.array(columns.document, dtype=np.str_)
    number = np.arange(len(topic))
    return Documents(form.name, list(topics), rows_by_topic(topic), topic, docid, columns.number, number, columns.unit)


def _refuse_nul(columns: _Columns, form: _Form) -> None:
    for query, document in zip(columns.query, columns.document, strict=True):
        if "\0" in query or "\0" in document:
            raise LtrValueError(
                f"{form.name}, query {query!r}, document {document!r}: ids must be text without NUL characters, which "
                "arrays drop. Remove the character."
            )


def _read(data: Any, form: _Form) -> _Columns:
    if isinstance(data, Mapping):
        return _from_mapping(data, form)
    if has_named_columns(data):
        return _from_table(data, form)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _from_objects(data, form)
    raise LtrTypeError(
        f"{form.name} must be a dict of dicts such as {form.example}, a data frame with the columns query_id, doc_id "
        f"and {form.number}, or objects with these attributes. Got {type(data).__name__}. Files are read by read_trec."
    )


def _from_mapping(data: Mapping[Any, Any], form: _Form) -> _Columns:
    queries: list[str] = []
    documents: list[str] = []
    numbers: list[Any] = []
    for query, by_document in data.items():
        if not isinstance(by_document, Mapping):
            raise LtrTypeError(
                f"{form.name}[{query!r}] must map documents to numbers, as in {form.example}. Got "
                f"{type(by_document).__name__}."
            )
        queries += [id_text(query)] * len(by_document)
        documents += id_texts(by_document)
        numbers += by_document.values()
    return _Columns(queries, documents, _as_floats(numbers, queries, documents, form), "entry")


def _from_table(table: Any, form: _Form) -> _Columns:
    columns = named_columns(table, form.name)
    names = ("query_id", "doc_id", form.number)
    for name in names:
        if name not in columns:
            raise LtrValueError(
                f"{form.name} lacks the column {name!r}.{did_you_mean(name, columns)} It has {', '.join(columns)}. "
                f"Rename its columns to {', '.join(names)}."
            )
    query, document = (id_texts(as_ids(columns[name], f"{form.name}[{name!r}]")) for name in names[:2])
    numbers = as_numbers(columns[form.number], f"{form.name}[{form.number!r}]", len(query)).astype(np.float64)
    return _Columns(query, document, numbers, "row")


def _from_objects(entries: Iterable[Any], form: _Form) -> _Columns:
    names = ("query_id", "doc_id", form.number)
    queries, documents, numbers = [], [], []
    for at, entry in enumerate(entries):
        absent = next((name for name in names if not hasattr(entry, name)), None)
        if absent is not None:
            raise LtrTypeError(
                f"{form.name}, entry {at}: it must have the attributes {', '.join(names)}, like the named tuples of "
                f"ir_measures, and lacks {absent}. Got {entry!r:.80}. Or pass a dict of dicts such as {form.example}."
            )
        queries.append(id_text(entry.query_id))
        documents.append(id_text(entry.doc_id))
        numbers.append(getattr(entry, form.number))
    return _Columns(queries, documents, _as_floats(numbers, queries, documents, form), "entry")


def _as_floats(numbers: list[Any], queries: list[str], documents: list[str], form: _Form) -> FloatArray:
    """Return the numbers as an array; refuse text and None, which NumPy would convert."""
    for at, number in enumerate(numbers):
        if not isinstance(number, (Real, np.bool_)):
            raise LtrTypeError(
                f"{form.name}, query {queries[at]!r}, document {documents[at]!r}: {form.rule}. Got {number!r}, a "
                f"{type(number).__name__}. Convert it to a number, or drop the document."
            )
    return np.array(numbers, dtype=np.float64)
