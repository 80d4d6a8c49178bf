"""Read the files and columns that the command line names into queries and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray, whole_number
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics._engine.words import Topics
from ltr_metrics.analysis.bins import bins
from ltr_metrics.cli.inputs import SCORE_FILES, ModelSpecs, has_score_ending, is_score_file
from ltr_metrics.cli.progress import progress, run_step
from ltr_metrics.errors import LtrKeyError, LtrValueError, warn
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.io import read_letor, read_scores, read_table, read_trec
from ltr_metrics.io.compressed import STANDARD_INPUT
from ltr_metrics.io.models import predict
from ltr_metrics.io.table import is_table
from ltr_metrics.io.trec_data import TrecData

COUNT_SEGMENTS = ("n_documents", "n_relevant")  # segments that need no column
RELEVANT = 1  # lowest grade that n_relevant counts, as in the column "relevant" of a result
MAX_LISTED = 5  # topics that a message lists


@dataclass(frozen=True)
class Source:
    """The scores of each model, and its queries.

    All models share the same queries, except TREC runs: each run retrieves its own documents.
    """

    queries: dict[str, Queries]
    scores: dict[str, Any]
    description: str
    origins: dict[str, str]  # the file or column of each model
    features: Any = None  # what model files score; None for TREC runs


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table; None if it has no such column."""

    qid: str
    label: str
    docid: str | None
    weight: str | None
    cluster: str | None
    by: tuple[str, ...]

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Columns:
        """Return the columns that the command line names."""
        names: dict[str, Any] = {name: arguments.get(name) for name in ("qid", "label", "docid", "weight", "cluster")}
        return cls(**names, by=tuple(dict.fromkeys(arguments.get("by", ()))))

    def optional(self) -> list[str]:
        """Return the columns that a table needs besides query ids and grades."""
        names = (self.docid, self.weight, self.cluster, *(name for name in self.by if name not in COUNT_SEGMENTS))
        return [name for name in names if name is not None]


@dataclass(frozen=True)
class Rows:
    """Data with one row per document."""

    queries: Queries
    features: Any  # what models score
    column: Callable[[str], AnyArray | None]  # scores of a column; None if it does not exist
    columns_hint: str  # what --scores can name
    description: str = ""  # the names of the files


def read_source(arguments: Mapping[str, Any], specs: ModelSpecs, *, can_repeat_documents: bool = False) -> Source:
    """Read tables, LETOR files, or TREC qrels and runs."""
    data: Sequence[Path] = arguments["data"]
    if data and not specs.names:
        raise LtrValueError("Name at least one model, column of scores or run: --model, --scores or --run.")
    columns = Columns.from_arguments(arguments)
    if arguments["qrels"] is not None or specs.runs:
        if data or specs.models or specs.scores or arguments["qrels"] is None or not specs.runs:
            raise LtrValueError("TREC files need --qrels FILE and --run NAME=FILE, without DATA, --model and --scores.")
        _refuse_columns(columns, "TREC files")
        return _read_runs(arguments["qrels"], specs.runs, arguments["topics"], columns.by)
    if arguments["topics"] is not None:
        raise LtrValueError("--topics needs TREC files: --qrels and --run.")
    if not data:
        raise LtrValueError("Name the DATA: LETOR files or tables, or --qrels FILE with --run NAME=FILE.")
    rows = read_rows(arguments, specs, can_repeat_documents=can_repeat_documents)
    scores = {name: _scores(rows, item) for name, item in specs.scores.items()}
    for name, file in progress("Scoring with models", specs.models.items()):
        scores[name] = predict(file, rows.features)
    origins = {name: f"{'file' if is_score_file(item) else 'column'} {item}" for name, item in specs.scores.items()}
    return Source(
        queries=dict.fromkeys(scores, rows.queries),
        scores=scores,
        description=rows.description,
        origins=origins | specs.models,
        features=rows.features,
    )


def read_rows(arguments: Mapping[str, Any], specs: ModelSpecs, *, can_repeat_documents: bool = False) -> Rows:
    """Read tables or LETOR files."""
    data, columns = arguments["data"], Columns.from_arguments(arguments)
    if len({is_table(path) for path in data}) > 1:
        raise LtrValueError("DATA must be tables or LETOR files, not both.")
    rows = (_read_tables if is_table(data[0]) else _read_letor_files)(arguments, specs, columns)
    if not can_repeat_documents:
        rows.queries.refuse_repeated_documents()
    _add_count_segments(rows.queries, columns.by)
    names = ("standard input" if path == STANDARD_INPUT else str(path) for path in data)
    return replace(rows, description=", ".join(names))


def _refuse_columns(columns: Columns, kind: str) -> None:
    if columns.optional():
        raise LtrValueError(
            f"--docid, --weight, --cluster and --segment name columns of a table, and {kind} have none "
            f"(except --segment {' and --segment '.join(COUNT_SEGMENTS)})."
        )


# -- tables and LETOR files ------------------------------------------------------------------------


def _read_tables(arguments: Mapping[str, Any], specs: ModelSpecs, columns: Columns) -> Rows:
    if arguments["n_features"] is not None or arguments["zero_based"]:
        raise LtrValueError("--n-features and --zero-based are for LETOR files; tables have named columns.")
    frame = run_step("Reading", lambda: _read_frame(arguments["data"], specs, columns))
    for name in COUNT_SEGMENTS:
        if name in columns.by and name in frame.columns:
            raise LtrValueError(
                f"--segment {name} is ambiguous: it means a count of documents, and the table has a "
                "column of this name. Rename the column."
            )

    def column(name: str | None) -> Any:
        return frame[name].to_numpy() if name is not None and name in frame else None

    queries = Queries(
        column(columns.label),
        qid=column(columns.qid),
        docid=column(columns.docid),
        sample_weight=column(columns.weight),
        by={name: column(name) for name in columns.by if name not in COUNT_SEGMENTS} or None,
        columns=frame,
        cluster=column(columns.cluster),
    )
    return Rows(queries, features=frame, column=column, columns_hint="a column")


def _read_frame(files: Sequence[Path], specs: ModelSpecs, columns: Columns) -> Any:
    """Return a data frame; a score column that is absent can also be the name of an absent file."""
    score_columns = [item for item in specs.scores.values() if not is_score_file(item)]
    names = [*score_columns, *columns.optional()]
    text = () if columns.docid is None else (columns.docid,)
    try:
        return read_table(files, qid=columns.qid, label=columns.label, columns=names, text=text)
    except LtrKeyError as error:
        absent = [item for item in score_columns if has_score_ending(item)]
        raise LtrKeyError(f"{error} There is no file {absent[0]} either." if absent else str(error)) from None


def _read_letor_files(arguments: Mapping[str, Any], _specs: ModelSpecs, columns: Columns) -> Rows:
    _refuse_columns(columns, "LETOR files")
    options = {name: arguments[name] for name in ("n_features", "zero_based")}
    letor = run_step("Reading", lambda: read_letor(arguments["data"], graded=True, **options))
    first = 0 if arguments["zero_based"] else 1
    last = first + letor.X.shape[1] - 1

    def column(name: str) -> AnyArray | None:
        number = whole_number(name)
        return None if number is None or not first <= number <= last else letor.X[:, number - first]

    return Rows(
        Queries(letor.y, qid=letor.qid, docid=letor.docid),
        features=letor.X,
        column=column,
        columns_hint=f"a feature of the LETOR data by number, {first} to {last}",
    )


def _scores(rows: Rows, item: str) -> AnyArray:
    """Return the scores of a column or of a file."""
    column = rows.column(item)
    if not is_score_file(item):
        if column is not None:
            return column
        raise LtrValueError(
            f"--scores must name {rows.columns_hint}, or an existing file of scores that ends in "
            f"{', '.join(SCORE_FILES)}. Got {item!r}."
        )
    if column is not None:
        raise LtrValueError(
            f"--scores {item} is ambiguous: there is a column and a file of this name. Write ./{item} for the file, "
            "or rename the column."
        )
    scores, n_rows = read_scores(item), rows.queries.n_rows
    if len(scores) != n_rows:
        raise LtrValueError(
            f"{item} must have one score per row of the data, in the same order. It has {len(scores):,} scores for "
            f"{n_rows:,} rows."
        )
    return scores


def segments_by_count(n_documents: IntArray, n_relevant: IntArray) -> Segmentations:
    """Return the segments that need no column, in ascending order of the counts."""
    binned = {name: bins(count) for name, count in zip(COUNT_SEGMENTS, (n_documents, n_relevant), strict=True)}
    return {name: (list(segments.categories), segments.codes) for name, segments in binned.items()}


def _add_count_segments(queries: Queries, by: Sequence[str]) -> None:
    """Add the segments that need no column, in the order of the command line."""
    if set(by) & set(COUNT_SEGMENTS):
        n_relevant = queries.count_by_query(queries.grades >= RELEVANT)
        segments = queries.segments | segments_by_count(queries.n_documents, n_relevant)
        queries.segments = {name: segments[name] for name in by}


# -- TREC ------------------------------------------------------------------------------------------

EFFECT_OF_TOPICS = {
    "both": "topics that the qrels or a run lacks are left out of all runs",
    "qrels": "topics that a run lacks are queries without retrieved documents, and topics without judgments are left "
    "out",
}


def _read_runs(qrels: Path, files: Mapping[str, str], topics: Topics | None, by: Sequence[str]) -> Source:
    if "n_documents" in by:
        raise LtrValueError(
            "--segment n_documents is not available for TREC runs, because each run retrieves its own documents. "
            "Use --segment n_relevant."
        )
    runs = {
        name: read_trec(qrels, file, topics=topics or "both") for name, file in progress("Reading runs", files.items())
    }
    _check_topics(runs, topics)
    if topics == "both":
        runs = _common_topics(runs)
    queries = {
        name: Queries(run.y_true, qid=run.qid, docid=run.docid, retrieved=run.retrieved, judged=run.judged)
        for name, run in runs.items()
    }
    for run_queries in queries.values():
        _add_count_segments(run_queries, by)
    scores = {name: run.y_score for name, run in runs.items()}
    return Source(queries=queries, scores=scores, description=str(qrels), origins=dict(files))


def _check_topics(runs: Mapping[str, TrecData], topics: Topics | None) -> None:
    """Refuse different topics of the qrels and the runs; with ``--topics``, warn about them."""
    differences = [sentence for name, run in runs.items() for sentence in _topic_differences(name, run)]
    if topics is None and differences:
        raise LtrValueError(
            f"The qrels and each run must have the same topics. {' '.join(differences)} Choose the topics: "
            "--topics both leaves out each topic that the qrels or a run lacks; --topics qrels keeps all topics of the "
            "qrels, where a topic that a run lacks is a query without retrieved documents, and leaves out the rest."
        )
    for sentence in differences:
        warn(f"{sentence} With --topics {topics}, {EFFECT_OF_TOPICS[topics or 'both']}.")


def _common_topics(runs: dict[str, TrecData]) -> dict[str, TrecData]:
    """Return the rows of the topics that all runs have."""
    common = set.intersection(*(set(run.qid.tolist()) for run in runs.values()))
    if not common:
        raise LtrValueError(f"The runs {', '.join(map(repr, runs))} must have topics in common. They have none.")
    kept_runs = {}
    for name, run in runs.items():
        is_kept = np.isin(run.qid, list(common))
        columns: dict[str, Any] = {key: values[is_kept] for key, values in dict(run).items()}
        kept_runs[name] = replace(run, **columns)
    return kept_runs


def _topic_differences(name: str, run: TrecData) -> list[str]:
    """Return a sentence for each kind of topics that the run or the qrels lack."""
    kinds = {"lacks topics of the qrels": run.only_in_qrels, "has topics without judgments": run.only_in_run}
    return [f"The run {name!r} {what}: {_first_names(topics)}." for what, topics in kinds.items() if topics]


def _first_names(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + rest
