"""Evaluation of files that do not fit into memory, in batches of whole queries."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr_metrics._engine.checks import AnyArray, require_count, whole_number
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrValueError, LtrWarning, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.parts import LabelChecks, concat_evaluations
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io.compressed import STANDARD_INPUT
from ltr_metrics.io.letor import ids_of_text, require_n_features
from ltr_metrics.io.models import Model, load_model
from ltr_metrics.io.sorted import SortedRows
from ltr_metrics.io.sorted_letor import LetorRows, sorted_letor
from ltr_metrics.io.sorted_tables import TableColumns, sorted_tables
from ltr_metrics.io.table import is_table
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve

if TYPE_CHECKING:
    import pandas

PathLike = str | os.PathLike[str]

ROWS_AT_ONCE = 100_000  # 0.1 GB with 136 features; larger batches are hardly faster


def evaluate_sorted(
    paths: PathLike | Iterable[PathLike],
    *,
    scores: Mapping[str, str] | None = None,
    models: Mapping[str, PathLike] | None = None,
    metrics: Metrics | None = None,
    qid: str = "qid",
    label: str = "label",
    docid: str | None = None,
    weight: str | None = None,
    by: Sequence[str] = (),
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    rows_at_once: int = ROWS_AT_ONCE,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Evaluation]:
    r"""Evaluate files whose rows are sorted by query, without loading a whole file.

    Use this function if the data do not fit into memory. Only one batch is in memory at a time,
    with the columns that are needed (for a model, its features), and the id and the values of
    each query. A batch has about ``rows_at_once`` rows, and always all rows of its longest query.
    Parquet files add their part of a row group, Arrow files one whole record batch. The results
    are identical, to the bit, to those of an evaluation of all rows in memory.

    Parameters
    ----------
    paths : path or several of them
        LETOR files, or tables: ``.parquet``, ``.arrow``, ``.feather``, ``.csv``, ``.tsv``. They are
        read in this order. LETOR, CSV and TSV files may be compressed. In CSV and TSV, ids and
        segments stay text, and everything else must be numbers.
    scores : mapping of str to str
        Maps a name for the result to a column of scores; in LETOR files, to the number of a
        feature.
    models : mapping of str to path
        Maps a name for the result to a model file of LightGBM or XGBoost.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is those
        of ndcg@10, map, mrr and err@10 that the convention has.
    qid, label : str
        Columns of query ids and grades in a table.
    docid, weight : str, optional
        Columns of document ids and of row weights in a table. A query's weight is the mean of its
        row weights.
    by : sequence of str
        Columns of segments in a table.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied
        documents (default), input order, lower or higher grade first, or descending
        document id.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names, ``ties`` and
        ``no_relevant``.
    n_features : int, optional
        Number of features of LETOR files. The default is that of the model, whose last feature
        must then occur.
    zero_based : bool, default False
        Whether feature numbers of LETOR files start at 0.
    rows_at_once : int, default 100000
        Number of rows to read at a time.
    progress : callable, optional
        Called after each batch with the number of rows that are done.

    Returns
    -------
    dict of str to Evaluation
        By the names of ``scores`` and ``models``.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        As reading and evaluating in memory do, with file and row or line. Also if the rows of a
        query are not consecutive; the message says how to sort.
    MissingExtraError
        If pandas, pyarrow or a model's host are not installed.

    See Also
    --------
    evaluate : Evaluate rows in memory.
    ltr_metrics.dask.evaluate : Evaluate rows that are in Dask.
    ltr_metrics.spark.evaluate : Evaluate rows that are in Spark.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import ltr_metrics as ltr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.txt"
    >>> _ = path.write_text("1 qid:7 1:0.2\n0 qid:7 1:0.8\n0 qid:9 1:0.1\n2 qid:9 1:0.7\n")
    >>> ltr.evaluate_sorted(path, scores={"bm25": "1"}, metrics=["mrr"])["bm25"].per_query["mrr"]
    array([0.5, 1. ])
    """
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    files = tuple(Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths))
    scores, models = dict(scores or {}), dict(models or {})
    _check_sources(files, scores, models)
    require_count("rows_at_once", rows_at_once)
    loaded = {name: load_model(file) for name, file in models.items()}
    if is_table(files[0]):
        if n_features is not None or zero_based:
            raise LtrValueError("n_features and zero_based are for LETOR files; tables have named columns.")
        columns = _Columns(qid, label, docid, weight, (by,) if isinstance(by, str) else tuple(by))
        return _evaluate(_table_batches(files, scores, loaded, columns, request, rows_at_once), request, progress)
    if docid is not None or weight is not None or by:
        raise LtrValueError("docid, weight and by name columns of a table: LETOR files have none.")
    batches = _letor_batches(files, scores, loaded, n_features, zero_based, rows_at_once)
    results = _evaluate(batches, request, progress)
    return {
        name: replace(result, qid=ids_of_text(result.qid)) if result.qid.dtype.kind == "U" else result
        for name, result in results.items()
    }


def _check_sources(files: Sequence[Path], scores: Mapping[str, str], models: Mapping[str, PathLike]) -> None:
    if not files:
        raise LtrValueError("evaluate_sorted needs at least one file. Got none.")
    if STANDARD_INPUT in files:
        raise LtrValueError(
            "Standard input (-) cannot be read in batches, because the data are read twice. Write it to a file first, "
            "or evaluate it in memory."
        )
    if len({is_table(path) for path in files}) > 1:
        raise LtrValueError("The files must be tables or LETOR files, not both.")
    if not scores and not models:
        raise LtrValueError("Name at least one column of scores or one model. Got none.")
    twice = models.keys() & scores.keys()
    if twice:
        raise LtrValueError(
            f"The name {twice.pop()!r} is given to a model and to a column of scores; names must differ."
        )


# -- batches ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Batch:
    """Whole queries: rows, options of `Queries`, and a function that returns each name's scores."""

    rows: SortedRows
    y: Any
    options: dict[str, Any]
    scores: dict[str, Callable[[], AnyArray]]


@dataclass(frozen=True)
class _Columns:
    """The names of a table's columns."""

    qid: str
    label: str
    docid: str | None
    weight: str | None
    by: tuple[str, ...]


def _table_batches(
    files: tuple[Path, ...],
    scores: Mapping[str, str],
    models: Mapping[str, Model],
    columns: _Columns,
    request: Request,
    rows_at_once: int,
) -> Iterator[_Batch]:
    features = [name for model in models.values() for name in model.names()]
    weight = [] if columns.weight is None else [columns.weight]
    text = (*columns.by, *([] if columns.docid is None else [columns.docid]))
    needed = TableColumns(
        columns.qid, text, (columns.label, *scores.values(), *weight, *request.needed_columns, *features)
    )
    for rows in sorted_tables(files, needed, rows_at_once=rows_at_once):
        frame = rows.frame()
        options = {
            "docid": None if columns.docid is None else _column(frame, columns.docid),
            "sample_weight": None if columns.weight is None else _column(frame, columns.weight),
            "by": {name: _column(frame, name) for name in columns.by} or None,
            "columns": {name: _column(frame, name) for name in request.needed_columns},
        }
        of_names: dict[str, Callable[[], AnyArray]] = {n: partial(_column, frame, c) for n, c in scores.items()}
        of_names |= {name: partial(model.predict, frame) for name, model in models.items()}
        yield _Batch(rows, _column(frame, columns.label), options, of_names)


def _column(frame: pandas.DataFrame, name: str) -> AnyArray:
    column: AnyArray = frame[name].to_numpy()
    return column


def _letor_batches(
    files: tuple[Path, ...],
    scores: Mapping[str, str],
    models: Mapping[str, Model],
    n_features: int | None,
    zero_based: bool,
    rows_at_once: int,
) -> Iterator[_Batch]:
    require_n_features(n_features)
    first, width = 0 if zero_based else 1, 0
    columns = {name: _feature_column(number, first, n_features) for name, number in scores.items()}
    if n_features is not None:
        for model in models.values():
            model.require_features(n_features)
    for rows in sorted_letor(files, zero_based=zero_based, rows_at_once=rows_at_once):
        width = max(width, rows.width)
        if n_features is not None and width > n_features:
            row = int(rows.row[int((rows.column >= n_features).argmax())])
            raise LtrValueError(
                f"{rows.where(row)}: the files have features up to number {width}, beyond n_features={n_features}."
            )
        for model in models.values():
            model.require_features(max(width, model.n_features))
        of_names: dict[str, Callable[[], AnyArray]] = {n: partial(rows.feature, c) for n, c in columns.items()}
        of_names |= {name: partial(_predict, model, rows) for name, model in models.items()}
        yield _Batch(rows, rows.y, {"docid": rows.docid}, of_names)
    # An evaluation in memory checks this first. A feature that never occurs is probably a mistake.
    n_known = width if n_features is None else n_features
    for number in scores.values():
        _feature_column(number, first, n_known)
    for model in models.values():
        model.require_features(n_known)


def _predict(model: Model, rows: LetorRows) -> AnyArray:
    return model.predict(rows.matrix(model.n_features))


def _feature_column(number: object, first: int, n_features: int | None) -> int:
    """Return the column of a feature in X from its number in the files, from ``first`` on."""
    feature = whole_number(str(number))
    if feature is None or feature < first or (n_features is not None and feature >= first + n_features):
        up_to = "on" if n_features is None else f"to {n_features - 1 + first}"
        raise LtrValueError(
            f"scores must name a feature of the LETOR data by number, from {first} {up_to}. Got {number!r}."
        )
    return feature - first


# -- evaluation ---------------------------------------------------------------------------------


class _FileQueries(Queries):
    """Queries whose messages give the file, and the row or line in it."""

    def __init__(self, rows: SortedRows, y_true: Any, **options: Any) -> None:
        self._rows = rows
        super().__init__(y_true, qid=rows.qid, **options)

    def where(self, row: int) -> str:
        return f"{self._rows.where(row)} (query {self.qid[self.query_of_row(row)]})"


def _evaluate(
    batches: Iterator[_Batch], request: Request, progress: Callable[[int], object] | None
) -> dict[str, Evaluation]:
    parts: dict[str, list[Evaluation]] = {}
    labels, n_done = LabelChecks(), 0
    for batch in batches:
        where = f"In {len(batch.rows):,} rows from {batch.rows.where(0)} on"
        with naming(where):
            queries = _FileQueries(batch.rows, batch.y, **batch.options)
            queries.refuse_repeated_documents()
        labels.add(queries)
        for name, scores in batch.scores.items():
            parts.setdefault(name, []).append(_evaluate_batch(queries, scores, request, f"{where}, {name}"))
        n_done += len(batch.rows)
        if progress is not None:
            progress(n_done)
    labels.check(request)
    return {name: concat_evaluations(of_batches) for name, of_batches in parts.items()}


def _evaluate_batch(queries: Queries, scores: Callable[[], AnyArray], request: Request, where: str) -> Evaluation:
    """Evaluate a batch without warnings: the labels of all batches decide on these."""
    with naming(where), warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        result = queries.evaluate_request(scores(), request)
    if result.fingerprint is not None:
        _ = result.fingerprint.of_query  # computes it, so that the labels are not kept
    return result
