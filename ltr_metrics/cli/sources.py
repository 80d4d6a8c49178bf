"""What the command line names, files and columns, to queries and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray, whole_number
from ltr_metrics._engine.per_query import Segmentations, labels_of
from ltr_metrics._engine.words import Topics
from ltr_metrics.analysis.bins import bins
from ltr_metrics.errors import LtrKeyError, LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.io import read_letor, read_scores, read_table, read_trec
from ltr_metrics.io.compressed import STANDARD_INPUT, without_compression
from ltr_metrics.io.models import predict
from ltr_metrics.io.table import is_table
from ltr_metrics.io.trec import TrecData

Progress = Callable[[str, Iterable[Any]], Iterable[Any]]  # goes through items and shows how far it is

BY_COUNTS = ("n_documents", "n_relevant")  # segments that are there without a column
RELEVANT = 1  # the grade from which on n_relevant counts, as in a result's column "relevant"
FILES_OF_SCORES = (".npy", ".txt", ".csv")
MOST_NAMED = 5


@dataclass(frozen=True)
class Source:
    """Scores of some models, and the queries that they are for: the same for all but TREC runs, which retrieve their own."""

    queries: dict[str, Queries]
    scores: dict[str, Any]
    description: str
    origins: dict[str, str]  # what each model is: a file, a column
    cluster: IntArray | None = None  # number of the cluster of each query


@dataclass(frozen=True)
class Columns:
    """Names of a table's columns; None where there is none."""

    qid: str = "qid"
    label: str = "label"
    docid: str | None = None
    weight: str | None = None
    cluster: str | None = None
    by: tuple[str, ...] = ()

    def named(self) -> list[str]:
        """Return those that a table must have besides qid and label."""
        names = (self.docid, self.weight, self.cluster, *(name for name in self.by if name not in BY_COUNTS))
        return [name for name in names if name is not None]


def plain_progress(_label: str, items: Iterable[Any]) -> Iterable[Any]:
    """Go through items and show nothing."""
    return items


def read_source(
    data: Sequence[Path],
    *,
    models: Mapping[str, str],
    scores: Mapping[str, str],
    columns: Columns,
    qrels: Path | None = None,
    runs: Mapping[str, str] | None = None,
    topics: Topics | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    progress: Progress = plain_progress,
) -> Source:
    """Read tables, LETOR files, or TREC's qrels and runs."""
    if qrels is not None or runs:
        if data or models or scores or qrels is None or not runs:
            raise LtrValueError(
                "TREC files are named by --qrels FILE and --run NAME=FILE, without DATA, --model and --scores."
            )
        _refuse_columns(columns, "--qrels")
        return _read_runs(qrels, runs, topics, columns.by, progress)
    if topics is not None:
        raise LtrValueError("--topics is for TREC files, named by --qrels and --run.")
    if not data:
        raise LtrValueError("Name the DATA: LETOR files or tables, or --qrels FILE with --run NAME=FILE.")
    if len({is_table(path) for path in data}) > 1:
        raise LtrValueError("DATA must be tables or LETOR files, not both.")
    rows: _Rows
    if is_table(data[0]):
        if n_features is not None or zero_based:
            raise LtrValueError("--n-features and --zero-based are for LETOR files; tables have named columns.")
        rows = _read_tables(data, scores, columns, progress)
    else:
        _refuse_columns(columns, "LETOR files")
        rows = _read_letor_files(data, columns.by, n_features, zero_based, progress)
    found = {name: _scores(rows, item) for name, item in scores.items()}
    origins = {name: f"{'file' if is_file_of_scores(item) else 'column'} {item}" for name, item in scores.items()}
    for name, file in progress("Scoring with models", models.items()):
        found[name] = predict(file, rows.X)
    return Source(
        queries=dict.fromkeys(found, rows.queries),
        scores=found,
        description=", ".join("standard input" if path == STANDARD_INPUT else str(path) for path in data),
        origins=origins | dict(models),
        cluster=rows.cluster,
    )


@dataclass(frozen=True)
class _Rows:
    """What files have, a row a document."""

    queries: Queries
    X: Any  # what models score
    column: Callable[[str], AnyArray | None]  # scores by the name of a column; None if there is none
    known: str  # what --scores may name
    cluster: IntArray | None = None


def _refuse_columns(columns: Columns, where: str) -> None:
    if columns.named():
        raise LtrValueError(
            f"--docid, --weight, --cluster and --segment name columns of a table, and {where} have none (but --segment {' and --segment '.join(BY_COUNTS)})."
        )


# -- tables and LETOR files -----------------------------------------------------------------------------------------------


def _read_tables(data: Sequence[Path], scores: Mapping[str, str], columns: Columns, progress: Progress) -> _Rows:
    of_scores = [item for item in scores.values() if not is_file_of_scores(item)]
    text = () if columns.docid is None else (columns.docid,)
    names = [*of_scores, *columns.named()]
    try:
        (frame,) = [
            read_table(files, qid=columns.qid, label=columns.label, columns=names, text=text)
            for files in progress("Reading", [data])
        ]
    except LtrKeyError as error:
        absent = [item for item in of_scores if _has_name_of_file(item)]
        raise LtrKeyError(f"{error} Nor is there a file {absent[0]}." if absent else str(error)) from None
    for name in BY_COUNTS:
        if name in columns.by and name in frame.columns:
            raise LtrValueError(
                f"--segment {name} may mean the column of that name, or how many of a query's documents there are: rename the column."
            )
    queries = Queries(
        frame[columns.label].to_numpy(),
        qid=frame[columns.qid].to_numpy(),
        docid=None if columns.docid is None else frame[columns.docid].to_numpy(),
        sample_weight=None if columns.weight is None else frame[columns.weight].to_numpy(),
        by={name: frame[name].to_numpy() for name in columns.by if name not in BY_COUNTS} or None,
        columns=frame,
    )
    _finish(queries, columns.by)
    return _Rows(
        queries,
        X=frame,
        column=lambda name: frame[name].to_numpy() if name in frame else None,
        known="a column",
        cluster=None
        if columns.cluster is None
        else labels_of(queries, "cluster", frame[columns.cluster].to_numpy())[1],
    )


def _read_letor_files(
    data: Sequence[Path], by: Sequence[str], n_features: int | None, zero_based: bool, progress: Progress
) -> _Rows:
    (read,) = [
        read_letor(files, n_features=n_features, zero_based=zero_based, graded=True)
        for files in progress("Reading", [data])
    ]
    queries = Queries(read.y, qid=read.qid, docid=read.docid)
    _finish(queries, by)
    first = 0 if zero_based else 1
    last = first + read.X.shape[1] - 1

    def column(name: str) -> AnyArray | None:
        number = whole_number(name)
        return None if number is None or not first <= number <= last else read.X[:, number - first]

    return _Rows(queries, X=read.X, column=column, known=f"a feature of the LETOR data by number, {first} to {last}")


def _finish(queries: Queries, by: Sequence[str]) -> None:
    queries.refuse_repeated_documents()
    _add_counts(queries, by)


def _scores(rows: _Rows, item: str) -> AnyArray:
    column = rows.column(item)
    if not is_file_of_scores(item):
        if column is not None:
            return column
        raise LtrValueError(
            f"--scores must name {rows.known}; or a file of scores that exists, whose name ends in {', '.join(FILES_OF_SCORES)}. Got {item!r}."
        )
    if column is not None:
        raise LtrValueError(
            f"--scores {item} may mean the column or the file of that name: write ./{item} for the file, or rename the column."
        )
    scores, n_rows = read_scores(item), rows.queries.n_rows
    if len(scores) != n_rows:
        raise LtrValueError(
            f"{item} must have one score a row of the data, in their order: it has {len(scores):,} for {n_rows:,} rows."
        )
    return scores


def is_file_of_scores(item: str) -> bool:
    """Whether ``--scores`` names a file that exists, and not a column."""
    return _has_name_of_file(item) and Path(item).is_file()


def _has_name_of_file(item: str) -> bool:
    return without_compression(Path(item)).suffix.lower() in FILES_OF_SCORES


def segments_by_count(n_documents: IntArray, n_relevant: IntArray) -> Segmentations:
    """Return the segments that are there without a column, in ascending order of the counts."""
    found = {name: bins(count) for name, count in zip(BY_COUNTS, (n_documents, n_relevant), strict=True)}
    return {name: (list(of_name.categories), of_name.codes) for name, of_name in found.items()}


def _add_counts(queries: Queries, by: Sequence[str]) -> None:
    """Add the segments that have no column, in the order asked for."""
    if set(by) & set(BY_COUNTS):
        n_relevant = queries.count_by_query(queries.grades >= RELEVANT)
        known = queries.segments | segments_by_count(queries.n_documents, n_relevant)
        queries.segments = {name: known[name] for name in by}


# -- TREC -----------------------------------------------------------------------------------------------------------------


def _read_runs(
    qrels: Path, runs: Mapping[str, str], topics: Topics | None, by: Sequence[str], progress: Progress
) -> Source:
    if "n_documents" in by:
        raise LtrValueError(
            "--segment n_documents says nothing of TREC runs, each of which retrieves documents of its own. There is --segment n_relevant."
        )
    read = {
        name: read_trec(qrels, file, topics=topics or "both") for name, file in progress("Reading runs", runs.items())
    }
    faults = [fault for name, one in read.items() for fault in _other_topics(name, one)]
    if topics is None and faults:
        raise LtrValueError(
            f"The qrels and each run must have the same topics, or means are over others than one thinks. {' '.join(faults)} Say what "
            "becomes of them: --topics both leaves out what the qrels or a run lacks; --topics qrels takes all topics of the qrels (one that a run lacks "
            "is a query for which nothing was retrieved) and leaves out the rest."
        )
    for fault in faults:
        warn(f"{fault} --topics {topics}: {_BECOMES[topics or 'both']}.")
    if topics == "both":
        read = _in_all(read)
    queries = {
        name: Queries(run.y_true, qid=run.qid, docid=run.docid, retrieved=run.retrieved, judged=run.judged)
        for name, run in read.items()
    }
    for of_run in queries.values():
        _add_counts(of_run, by)
    return Source(
        queries=queries,
        scores={name: run.y_score for name, run in read.items()},
        description=str(qrels),
        origins=dict(runs),
    )


_BECOMES = {
    "both": "topics that the qrels or a run lacks are left out, of all runs",
    "qrels": "topics that a run lacks are queries for which nothing was retrieved, and those without judgements are left out",
}


def _in_all(runs: dict[str, TrecData]) -> dict[str, TrecData]:
    """Return the rows of the topics that all runs have, so that their means are over the same."""
    common = set.intersection(*(set(run.qid.tolist()) for run in runs.values()))
    if not common:
        raise LtrValueError(f"The runs {', '.join(map(repr, runs))} must have topics in common: they have none.")
    kept = {name: np.isin(run.qid, list(common)) for name, run in runs.items()}
    return {name: replace(run, **{key: run[key][kept[name]] for key in run.keys()}) for name, run in runs.items()}  # type: ignore[arg-type]  # noqa: SIM118


def _other_topics(name: str, run: TrecData) -> list[str]:
    """Return a sentence for each kind of topics that the qrels or the run lack."""
    kinds = {"lacks topics of the qrels": run.only_in_qrels, "has topics without judgements": run.only_in_run}
    return [f"The run {name!r} {what}: {_some(topics)}." for what, topics in kinds.items() if topics]


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + rest
