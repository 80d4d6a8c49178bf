"""What the command line names, files and columns, to queries and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.evaluation import Queries
from ltr_metrics.io import read_letor, read_table, read_trec
from ltr_metrics.io.table import is_table
from ltr_metrics.models import predict


@dataclass(frozen=True)
class Source:
    """Scores of some models, and the queries that they are for: the same for all but TREC runs, which retrieve their own."""

    queries: dict[str, Queries]
    scores: dict[str, Any]
    description: str
    origins: dict[str, str]  # what each model is: a file, a column


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns; None where there is none."""

    qid: str = "qid"
    label: str = "label"
    docid: str | None = None
    weight: str | None = None
    by: tuple[str, ...] = ()

    def named(self) -> list[str]:
        """Return those that a table must have besides qid and label."""
        return [name for name in (self.docid, self.weight, *self.by) if name is not None]


def read_source(
    data: Sequence[Path],
    *,
    models: Mapping[str, str],
    scores: Mapping[str, str],
    columns: Columns,
    qrels: Path | None = None,
    runs: Mapping[str, str] | None = None,
    topics: str = "both",
    n_features: int | None = None,
    zero_based: bool = False,
) -> Source:
    """Read tables, LETOR files, or TREC's qrels and runs."""
    if qrels is not None or runs:
        if data or models or scores or qrels is None or not runs:
            raise LtrValueError(
                "TREC files are named by --qrels FILE and --run NAME=FILE, without DATA, --model and --scores."
            )
        _refuse_columns(columns, "--qrels")
        return _read_runs(qrels, runs, topics)
    if topics != "both":
        raise LtrValueError("--topics is for TREC files, named by --qrels and --run.")
    if not data:
        raise LtrValueError("Name the DATA: LETOR files or tables, or --qrels FILE with --run NAME=FILE.")
    twice = models.keys() & scores.keys()
    if twice:
        raise LtrValueError(
            f"The name {twice.pop()!r} is given to a model and to a column of scores; names must differ."
        )
    if len({is_table(path) for path in data}) > 1:
        raise LtrValueError("DATA must be tables or LETOR files, not both.")
    if is_table(data[0]):
        if n_features is not None or zero_based:
            raise LtrValueError("--n-features and --zero-based are for LETOR files; tables have named columns.")
        queries, X, found = _read_tables(data, scores, columns)
    else:
        _refuse_columns(columns, "LETOR files")
        queries, X, found = _read_letor_files(data, scores, n_features, zero_based)
    found |= {name: predict(file, X) for name, file in models.items()}
    return Source(
        queries=dict.fromkeys(found, queries),
        scores=found,
        description=", ".join(map(str, data)),
        origins={name: f"column {column}" for name, column in scores.items()} | dict(models),
    )


def _refuse_columns(columns: Columns, where: str) -> None:
    if columns.named():
        raise LtrValueError(f"--docid, --weight and --by name columns of a table: {where} have none.")


def _read_runs(qrels: Path, runs: Mapping[str, str], topics: str) -> Source:
    read = {name: read_trec(qrels, file, topics=topics) for name, file in runs.items()}
    for name, one in read.items():
        if one.only_in_qrels:
            what = (
                "are left out of its means" if topics == "both" else "count as queries for which nothing was retrieved"
            )
            warn(f"The run {name} lacks topics of the qrels, which {what}: {_some(one.only_in_qrels)}.")
        if one.only_in_run:
            warn(f"The run {name} has topics without judgements, which are left out: {_some(one.only_in_run)}.")
    return Source(
        queries={
            name: Queries(run.y_true, qid=run.qid, docid=run.docid, retrieved=run.retrieved, judged=run.judged)
            for name, run in read.items()
        },
        scores={name: run.y_score for name, run in read.items()},
        description=str(qrels),
        origins=dict(runs),
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _read_tables(
    data: Sequence[Path], scores: Mapping[str, str], columns: Columns
) -> tuple[Queries, Any, dict[str, Any]]:
    frame = read_table(data, qid=columns.qid, label=columns.label, columns=[*scores.values(), *columns.named()])
    queries = Queries(
        frame[columns.label].to_numpy(),
        qid=frame[columns.qid].to_numpy(),
        docid=None if columns.docid is None else frame[columns.docid].to_numpy(),
        sample_weight=None if columns.weight is None else frame[columns.weight].to_numpy(),
        by={name: frame[name].to_numpy() for name in columns.by} or None,
        columns=frame,
    )
    return queries, frame, {name: frame[column].to_numpy() for name, column in scores.items()}


def _read_letor_files(
    data: Sequence[Path], scores: Mapping[str, str], n_features: int | None, zero_based: bool
) -> tuple[Queries, Any, dict[str, Any]]:
    read = read_letor(data, n_features=n_features, zero_based=zero_based)
    queries = Queries(read.y, qid=read.qid, docid=read.docid)
    first = 0 if zero_based else 1
    return queries, read.X, {name: _letor_column(read.X, column, first) for name, column in scores.items()}


def _letor_column(X: Any, column: str, first: int) -> Any:
    if not (column.isascii() and column.isdigit()) or not first <= int(column) < first + X.shape[1]:
        raise LtrValueError(
            f"--scores must name a feature of the LETOR data by number, {first} to {X.shape[1] - 1 + first}. Got {column!r}."
        )
    return X[:, int(column) - first]
