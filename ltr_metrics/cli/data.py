"""Read the files and columns that the command line names into queries and scores."""

from __future__ import annotations

import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ltr_metrics._engine.checks import AnyArray, IntArray
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics.errors import LtrValueError, import_extra, warn
from ltr_metrics.evaluation.batches import evaluate_batches
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io import (
    TrecData,
    letor_batches,
    read_letor,
    read_scores,
    read_table,
    read_trec,
    table_batches,
)
from ltr_metrics.io.models import load_model
from ltr_metrics.io.tables import is_table
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import split_names
from ltr_metrics.metrics.requests import OneMetric, resolve

COUNT_SEGMENTS = ("n_documents", "n_relevant")  # segments that need no column
COLUMN_OPTIONS = ("docid", "weight", "cluster")


@dataclass(frozen=True)
class Source:
    """The scores of each model, and its queries: the same for all, except TREC runs, which retrieve their own."""

    queries: dict[str, Queries]
    scores: dict[str, Any]
    description: str
    origins: dict[str, str]  # the file or column of each model
    features: Any = None  # what model files score


def requested_metrics(arguments: Mapping[str, Any]) -> list[OneMetric] | None:
    """Return the metrics of ``--metrics``, those of ``--metrics-module`` as objects; None means the default ones."""
    names, module = arguments["metrics"], arguments["metrics_module"]
    own: dict[str, Metric] = {}
    if module is not None:
        own = {str(value): value for value in runpy.run_path(str(module)).values() if isinstance(value, Metric)}
        if not own or names is None:
            raise LtrValueError(
                f"--metrics-module needs --metrics, which names its metrics. {module} has {', '.join(own) or 'none'}."
            )
    return None if names is None else [own.get(name.strip(), name.strip()) for name in split_names(names)]


def read_source(arguments: Mapping[str, Any], *, can_repeat_documents: bool = False) -> Source:
    """Read tables, LETOR files, or TREC qrels and runs."""
    if arguments["qrels"] is not None or arguments["runs"]:
        return _read_runs(arguments)
    queries, table, features = read_rows(arguments, can_repeat_documents=can_repeat_documents)
    scores = {name: _scores(table, item, queries.n_rows) for name, item in arguments["scores"].items()}
    for name, file in tqdm(arguments["models"].items(), "Scoring with models", disable=None, leave=False):
        scores[name] = load_model(file).predict(features)
    origins = {name: f"{'file' if is_file(item) else 'column'} {item}" for name, item in arguments["scores"].items()}
    return Source(
        queries=dict.fromkeys(scores, queries),
        scores=scores,
        description=", ".join(map(str, arguments["data"])),
        origins=origins | arguments["models"],
        features=features,
    )


def is_file(item: str) -> bool:
    """Whether ``--scores`` names an existing file, and not a column."""
    return Path(item).is_file()


def read_rows(arguments: Mapping[str, Any], *, can_repeat_documents: bool = False) -> tuple[Queries, Any, Any]:
    """Return the queries of tables or LETOR files, their columns by name, and the features for models."""
    files = _data_files(arguments)
    columns: dict[str, Any] = {name: arguments.get(name) for name in ("qid", "label", *COLUMN_OPTIONS)}
    by = [name for name in arguments.get("by", ()) if name not in COUNT_SEGMENTS]
    table: Any
    if is_table(files[0]):
        named = [name for name in (*columns.values(), *by) if name is not None]
        scores = [item for item in arguments.get("scores", {}).values() if not is_file(item)]
        text = [columns["docid"]] if columns["docid"] is not None else []
        table = read_table(files, qid=columns["qid"], label=columns["label"], columns=[*scores, *named], text=text)
        features: Any = table
    else:
        table = read_letor(files, n_features=arguments["n_features"], zero_based=arguments["zero_based"])
        columns = {"label": "label", "qid": "qid", "docid": None if table.docid is None else "docid"}
        features = table.X
    column = {role: None if name is None else np.asarray(table[name]) for role, name in columns.items()}
    queries = Queries(
        column["label"],
        qid=column["qid"],
        docid=column["docid"],
        sample_weight=column.get("weight"),
        cluster=column.get("cluster"),
        by={name: table[name].to_numpy() for name in by} or None,
        columns=table if is_table(files[0]) else None,
    )
    if not can_repeat_documents:
        queries.refuse_repeated_documents()
    _add_count_segments(queries, arguments.get("by", ()))
    return queries, table, features


def evaluate_sorted(
    arguments: Mapping[str, Any], metrics: list[OneMetric] | None, policy: dict[str, Any]
) -> dict[str, Evaluation]:
    """Evaluate tables or LETOR files batch by batch."""
    files, scores = _data_files(arguments), arguments["scores"]
    models = {name: load_model(file) for name, file in arguments["models"].items()}
    sources: dict[str, Any] = dict(scores)
    names = {name: arguments[name] for name in ("qid", "label", "docid", "weight")} | {"by": arguments["by"]}
    if is_table(files[0]):
        sources |= {name: model.predict for name, model in models.items()}
        features = [name for model in models.values() for name in model.names()]
        needed = resolve(metrics, **policy).needed_columns
        optional = [names["weight"]] if names["weight"] is not None else []
        text = [name for name in (names["qid"], names["docid"], *names["by"]) if name is not None]
        rows: Iterator[Any] = table_batches(
            files, numbers=[names["label"], *scores.values(), *optional, *needed, *features], text=text
        )
    else:
        sources |= {name: lambda part, model=model: model.predict(part.X) for name, model in models.items()}
        n_features = max([arguments["n_features"] or 0, *(model.n_features for model in models.values())])
        rows = letor_batches(files, n_features=n_features or None, zero_based=arguments["zero_based"])
    rows = tqdm(rows, unit=" batches", disable=None, leave=False)
    return evaluate_batches(rows, scores=sources, metrics=metrics, **names, **policy)


def _data_files(arguments: Mapping[str, Any]) -> list[Path]:
    """Return the files of DATA, of one kind; refuse options that do not apply to it."""
    files = list(arguments["data"])
    if not files or len(set(map(is_table, files))) > 1:
        raise LtrValueError("Name the DATA: LETOR files or tables, not both. Or --qrels FILE with --run NAME=FILE.")
    if not (arguments["models"] or arguments.get("scores")):
        raise LtrValueError("Name at least one model, column of scores or run: --model, --scores or --run.")
    if arguments.get("topics") is not None:
        raise LtrValueError("--topics needs TREC files: --qrels and --run.")
    if not is_table(files[0]):
        _refuse_columns(arguments, "LETOR files")
    return files


def _refuse_columns(arguments: Mapping[str, Any], kind: str) -> None:
    by = [name for name in arguments.get("by", ()) if name not in COUNT_SEGMENTS]
    if by or any(arguments.get(name) for name in COLUMN_OPTIONS):
        raise LtrValueError(
            f"--docid, --weight, --cluster and --segment name columns of a table, and {kind} have none "
            f"(except --segment {' and --segment '.join(COUNT_SEGMENTS)})."
        )


def _scores(table: Any, item: str, n_rows: int) -> AnyArray:
    """Return the scores of a file, or of a column."""
    if not is_file(item):
        return np.asarray(table[item])
    scores = read_scores(item)
    if len(scores) != n_rows:
        raise LtrValueError(
            f"{item} must have one score per row of the data, in the same order. It has {len(scores):,} scores for "
            f"{n_rows:,} rows."
        )
    return scores


def segments_by_count(n_documents: IntArray, n_relevant: IntArray) -> Segmentations:
    """Return the segments that need no column, quarters in ascending order of the counts."""
    pd = import_extra("pandas", "report")
    quarters = {
        name: pd.qcut(count, 4, duplicates="drop")
        for name, count in zip(COUNT_SEGMENTS, (n_documents, n_relevant), strict=True)
    }
    return {name: (list(map(str, one.categories)), one.codes.astype(np.intp)) for name, one in quarters.items()}


def _add_count_segments(queries: Queries, by: tuple[str, ...]) -> None:
    """Add the segments that need no column, in the order of the command line."""
    if set(by) & set(COUNT_SEGMENTS):
        n_relevant = queries.count_by_query(queries.grades >= 1)
        segments = queries.segments | segments_by_count(queries.n_documents, n_relevant)
        queries.segments = {name: segments[name] for name in by}


def _read_runs(arguments: Mapping[str, Any]) -> Source:
    qrels, files, topics, by = arguments["qrels"], arguments["runs"], arguments["topics"], arguments.get("by", ())
    if arguments["data"] or arguments["models"] or arguments["scores"] or qrels is None or not files:
        raise LtrValueError("TREC files need --qrels FILE and --run NAME=FILE, without DATA, --model and --scores.")
    if "n_documents" in by:
        raise LtrValueError("--segment n_documents is not for TREC runs, each of which retrieves its own documents.")
    _refuse_columns(arguments, "TREC files")
    runs = {name: read_trec(qrels, file, topics=topics or "both") for name, file in files.items()}
    for name, run in runs.items():
        for what, missing in (("lacks topics of the qrels", run.only_in_qrels), ("has other topics", run.only_in_run)):
            if missing and topics is None:
                raise LtrValueError(
                    f"The run {name!r} {what}: {', '.join(missing[:5])}. Choose: --topics both or qrels."
                )
            if missing:
                warn(f"The run {name!r} {what}: {', '.join(missing[:5])}. See --topics {topics}.")
    if topics == "both":
        runs = _common_topics(runs)
    queries = {
        name: Queries(run.y_true, qid=run.qid, docid=run.docid, retrieved=run.retrieved, judged=run.judged)
        for name, run in runs.items()
    }
    for of_run in queries.values():
        _add_count_segments(of_run, by)
    scores = {name: run.y_score for name, run in runs.items()}
    return Source(queries, scores, description=str(qrels), origins=dict(files))


def _common_topics(runs: dict[str, TrecData]) -> dict[str, TrecData]:
    """Return the rows of the topics that all runs have."""
    common = list(set.intersection(*(set(run.qid.tolist()) for run in runs.values())))
    if not common:
        raise LtrValueError(f"The runs {', '.join(map(repr, runs))} have no topics in common.")
    kept_runs = {}
    for name, run in runs.items():
        is_kept = np.isin(run.qid, common)
        columns: dict[str, Any] = {key: values[is_kept] for key, values in dict(run).items()}
        kept_runs[name] = replace(run, **columns)
    return kept_runs
