"""Evaluation of files that do not fit into memory: batch by batch of whole queries."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ltr_metrics._engine.checks import require_count, whole_number
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrValueError, LtrWarning, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.parts import LabelChecks, concat_evaluations
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io.compressed import STANDARD_INPUT
from ltr_metrics.io.letor import ids_of_text, require_n_features
from ltr_metrics.io.models import Model, load_model
from ltr_metrics.io.sorted import SortedRows
from ltr_metrics.io.sorted_letor import sorted_letor
from ltr_metrics.io.sorted_tables import Wanted, sorted_tables
from ltr_metrics.io.table import is_table
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve
from ltr_metrics.metrics.shown import MeanOf

PathLike = str | os.PathLike[str]

ROWS_AT_ONCE = 100_000  # with 136 features 0.1 GB, and more rows at once are hardly faster


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
    r"""Evaluate files whose rows stand query after query, without reading them as a whole.

    What is in memory at a time are the rows of one batch, of their columns those that are needed (with a model: its features), and
    for each query its id and values. A batch has about ``rows_at_once`` rows, and all of its longest query. Parquet files take
    their part of a group of rows besides, Arrow files a whole one of their batches. The results are to the bit those of an
    evaluation of all rows in memory.

    Parameters
    ----------
    paths : path or several of them
        LETOR files, or tables: ``.parquet``, ``.arrow``, ``.feather``, ``.csv``, ``.tsv``; one after the other. LETOR, CSV and TSV
        may be compressed. In CSV and TSV ids and segments stay text, and all else must be numbers.
    scores : mapping of str to str
        A column of scores by the name of what it is evaluated as; in LETOR files the number of a feature.
    models : mapping of str to path
        Model files of LightGBM or XGBoost, as for `ltr_metrics.io.models.load_model`.
    metrics, ties, no_relevant, convention
        As for `ltr_metrics.evaluate`.
    qid, label : str
        Columns of query ids and grades in a table.
    docid, weight : str, optional
        Columns of document ids, and of row weights, whose mean is a query's weight, in a table.
    by : sequence of str
        Columns of segments in a table.
    n_features : int, optional
        Features of LETOR files; default: those of the model, whose last must then occur.
    zero_based : bool, default False
        Whether feature numbers of LETOR files start at 0.
    rows_at_once : int, default 100000
    progress : callable, optional
        Is called after each batch with the number of rows that are done.

    Returns
    -------
    dict of str to Evaluation
        By the names of ``scores`` and ``models``.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        As reading and evaluating in memory do, with file and row or line; also if a query comes back after it has ended. The
        message says how to sort.
    MissingExtraError
        If pandas, pyarrow or a model's host are not installed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ltr_metrics.evaluation.streaming import evaluate_sorted
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.txt"
    >>> _ = path.write_text("1 qid:7 1:0.2\n0 qid:7 1:0.8\n0 qid:9 1:0.1\n2 qid:9 1:0.7\n")
    >>> evaluate_sorted(path, scores={"bm25": "1"}, metrics=["mrr"])["bm25"].per_query["mrr"]
    array([0.5, 1. ])
    """
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    files = tuple(Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths))
    scores, models = dict(scores or {}), dict(models or {})
    _refuse_names(files, scores, models)
    require_count("rows_at_once", rows_at_once)
    loaded = {name: load_model(file) for name, file in models.items()}
    if is_table(files[0]):
        if n_features is not None or zero_based:
            raise LtrValueError("n_features and zero_based are for LETOR files; tables have named columns.")
        of_table = _Columns(qid, label, docid, weight, (by,) if isinstance(by, str) else tuple(by))
        batches = _of_tables(files, scores, loaded, of_table, request, rows_at_once)
    else:
        if any(name is not None for name in (docid, weight)) or by:
            raise LtrValueError("docid, weight and by name columns of a table: LETOR files have none.")
        batches = _of_letor(files, scores, loaded, n_features, zero_based, rows_at_once)
    found = _evaluate(batches, request, progress)
    return found if is_table(files[0]) else {name: _with_ids(result) for name, result in found.items()}


def _refuse_names(files: Sequence[Path], scores: Mapping[str, str], models: Mapping[str, PathLike]) -> None:
    if not files:
        raise LtrValueError("evaluate_sorted needs at least one file. Got none.")
    if STANDARD_INPUT in files:
        raise LtrValueError(
            "Standard input (-) cannot be read in pieces, which takes two looks at the data. Write it to a file first, or evaluate it "
            "in memory."
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


# -- batches ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Batch:
    """Whole queries: the options of `Queries`, and a function for the scores of each name."""

    rows: SortedRows
    y: Any
    options: dict[str, Any]
    scores: dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class _Columns:
    qid: str
    label: str
    docid: str | None
    weight: str | None
    by: tuple[str, ...]


def _of_tables(
    files: tuple[Path, ...],
    scores: Mapping[str, str],
    models: Mapping[str, Model],
    columns: _Columns,
    request: Request,
    rows_at_once: int,
) -> Iterator[_Batch]:
    features = [name for model in models.values() for name in model.names()]
    further = [metric.column for metric in request.metrics if isinstance(metric, MeanOf)]
    weight = [] if columns.weight is None else [columns.weight]
    text = (*columns.by, *([] if columns.docid is None else [columns.docid]))
    wanted = Wanted(columns.qid, text, (columns.label, *scores.values(), *weight, *further, *features))
    for rows in sorted_tables(files, wanted, rows_at_once=rows_at_once):
        frame = rows.frame()
        options = {
            "docid": None if columns.docid is None else frame[columns.docid].to_numpy(),
            "sample_weight": None if columns.weight is None else frame[columns.weight].to_numpy(),
            "by": {name: frame[name].to_numpy() for name in columns.by} or None,
            "columns": {name: frame[name].to_numpy() for name in further},
        }
        found: dict[str, Callable[[], Any]] = {
            name: lambda column=column, frame=frame: frame[column].to_numpy()  # type: ignore[misc]
            for name, column in scores.items()
        }
        found |= {name: lambda model=model, frame=frame: model.predict(frame) for name, model in models.items()}  # type: ignore[misc]
        yield _Batch(rows, frame[columns.label].to_numpy(), options, found)


def _of_letor(
    files: tuple[Path, ...],
    scores: Mapping[str, str],
    models: Mapping[str, Model],
    n_features: int | None,
    zero_based: bool,
    rows_at_once: int,
) -> Iterator[_Batch]:
    require_n_features(n_features)
    first, width = 0 if zero_based else 1, 0
    columns = {name: _feature(column, first, n_features) for name, column in scores.items()}
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
        found: dict[str, Callable[[], Any]] = {
            name: lambda column=column, rows=rows: rows.feature(column)  # type: ignore[misc]
            for name, column in columns.items()
        }
        found |= {
            name: lambda model=model, rows=rows: model.predict(rows.matrix(model.n_features))  # type: ignore[misc]
            for name, model in models.items()
        }
        yield _Batch(rows, rows.y, {"docid": rows.docid}, found)
    # What in memory is known before: a feature that never occurs is more likely a mistake than absent from all lines.
    for column in scores.values():
        _feature(column, first, width if n_features is None else n_features)
    for model in models.values():
        model.require_features(width if n_features is None else n_features)


def _feature(number: object, first: int, n_features: int | None) -> int:
    """Return the column of a feature that is given by its number."""
    feature = whole_number(str(number))
    if feature is None or feature < first or (n_features is not None and feature >= first + n_features):
        up_to = "on" if n_features is None else f"to {n_features - 1 + first}"
        raise LtrValueError(
            f"scores must name a feature of the LETOR data by number, from {first} {up_to}. Got {number!r}."
        )
    return feature - first


def _with_ids(result: Evaluation) -> Evaluation:
    return replace(result, qid=ids_of_text(result.qid)) if result.qid.dtype.kind == "U" else result


# -- evaluation -------------------------------------------------------------------------------------------------------------


class _PlacedQueries(Queries):
    """Queries whose messages say in which file and where in it a row stands."""

    def __init__(self, place: Callable[[int], str], y_true: Any, **options: Any) -> None:
        self._place = place
        super().__init__(y_true, **options)

    def where(self, row: int) -> str:
        return f"{self._place(row)} (query {self.qid[self.query_of_row(row)]})"


def _evaluate(
    batches: Iterator[_Batch], request: Request, progress: Callable[[int], object] | None
) -> dict[str, Evaluation]:
    parts: dict[str, list[Evaluation]] = {}
    labels, done = LabelChecks(), 0
    for batch in batches:
        where = f"In {len(batch.rows):,} rows from {batch.rows.where(0)} on"
        with naming(where):
            queries = _PlacedQueries(batch.rows.where, batch.y, qid=batch.rows.qid, **batch.options)
            queries.refuse_repeated_documents()
        labels.add(queries)
        for name, scores in batch.scores.items():
            parts.setdefault(name, []).append(_answer(queries, scores, request, f"{where}, {name}"))
        done += len(batch.rows)
        if progress is not None:
            progress(done)
    labels.check(request)
    return {name: concat_evaluations(of_name) for name, of_name in parts.items()}


def _answer(queries: Queries, scores: Callable[[], Any], request: Request, where: str) -> Evaluation:
    """Evaluate a batch; what is worth a warning is decided at the end, by the labels of all batches."""
    with naming(where), warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        result = queries.evaluate_request(scores(), request)
    if result.fingerprint is not None:
        _ = result.fingerprint.of_query  # lets the labels go
    return result
