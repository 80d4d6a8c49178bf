"""Read the files and columns that the command line names into queries and scores."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ltr_metrics._rows.checks import AnyArray, FloatArray, IntArray
from ltr_metrics._rows.per_query import Segmentations
from ltr_metrics._rows.positions import Positions
from ltr_metrics.cli.options import Inputs, Metrics, Rows, model_names, refuse, score_file
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean, naming, warn
from ltr_metrics.evaluation.batches import evaluate_batches
from ltr_metrics.evaluation.evaluate import AuditedQueries, Queries
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io import (
    LetorData,
    TrecData,
    letor_batches,
    read_letor,
    read_table,
    read_trec,
    table_batches,
)
from ltr_metrics.io.letor import side_files
from ltr_metrics.io.models import Model, load_model
from ltr_metrics.io.scores import join_scores, scores_by_row
from ltr_metrics.io.tables import AS_TEXT, NAMES_OF_TABLES, table_kind, with_numbers
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import in_lower_case, parse, split_names
from ltr_metrics.metrics.requests import OneMetric, by_name, resolve

COUNT_SEGMENTS = ("n_documents", "n_relevant")  # segments that need no column
COLUMN_OPTIONS = ("qid", "label", "docid", "weight", "cluster", "columns")
LETOR_OPTIONS = ("n_features", "zero_based")
EFFECT_OF_TOPICS = {
    "both": "topics that the qrels or a run lacks are left out of all runs",
    "qrels": "topics that a run lacks are queries without retrieved documents; those without judgments are left out",
}


@dataclass(frozen=True)
class Source:
    """The scores of each model, and its queries: the same for all, unless they retrieve their own documents."""

    queries: dict[str, Queries]
    scores: dict[str, Any]
    features: Any = None  # what model files score


def requested_metrics(options: Metrics) -> list[OneMetric] | None:
    """Return the metrics of ``--metrics``, those of ``--metrics-module`` as objects; None means the default ones."""
    own = {} if options.metrics_module is None else _own_metrics(options.metrics_module)
    if options.metrics is not None:
        return [_own_or_name(name, own) for name in map(str.strip, split_names(options.metrics))]
    if own:
        raise LtrValueError(f"--metrics-module needs --metrics, which chooses from its metrics: {', '.join(own)}.")
    return None


def _own_or_name(name: str, own: Mapping[str, Metric]) -> OneMetric:
    """Return the metric of the module with this name, in any case, or the name if it is one of this package."""
    in_any_case = {in_lower_case(key): one for key, one in own.items()}
    found = own.get(name) or in_any_case.get(in_lower_case(name))
    if found or not own:
        return found or name
    try:
        parse(name)
    except LtrValueError as error:
        of_module = f"{did_you_mean(name, own)} --metrics-module has {', '.join(own)}."
        raise LtrValueError(f"{error}{of_module}") from None
    return name


def _own_metrics(path: Path) -> dict[str, Metric]:
    """Run a Python file, which may import others of its folder; return the metrics at its top level by name."""
    sys.path.insert(0, str(path.resolve().parent))
    try:
        found = [value for value in runpy.run_path(str(path)).values() if isinstance(value, Metric)]
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        place = f"{path}, line {lines[-1]}," if lines else path
        raise LtrValueError(f"--metrics-module {place} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    if not found:
        raise LtrValueError(
            f"--metrics-module {path} has no metric at its top level, such as own = as_metric(function)."
        )
    with naming(f"--metrics-module {path}"):
        return by_name(found)


def read_source(
    inputs: Inputs,
    *,
    by: Sequence[str] = (),
    cluster: str | None = None,
    shown: Sequence[str] = (),
    can_repeat_documents: bool = False,
) -> Source:
    """Read tables, LETOR files, or TREC qrels and runs."""
    if inputs.is_sorted:
        raise LtrValueError(
            "A report needs all rows at once. Of files larger than memory, 'ltr-metrics evaluate --sorted' prints the "
            "means, and 'ltr-metrics compare --sorted' the differences and the gate."
        )
    if inputs.qrels is not None or inputs.runs:
        return _read_runs(inputs, by)
    kind = AuditedQueries if can_repeat_documents else Queries
    items = inputs.columns_or_files()
    columns = [item for item in items.values() if not score_file(item)]
    queries, table, features = read_rows(
        inputs, by=by, cluster=cluster, on=inputs.on, scores=columns, shown=shown, kind=kind
    )
    if inputs.on and len(columns) == len(items):
        raise LtrValueError("--on needs a table of scores: --scores NAME=FILE.")
    scores: dict[str, Any] = {name: _scores(table, item, inputs, queries) for name, item in items.items()}
    of_model = dict.fromkeys([*scores, *inputs.models], queries)
    for name in inputs.positions:
        with naming(name):
            scores[name], has_position = Positions(scores[name]).as_scores(queries)
        of_model[name] = queries if has_position.all() else queries.with_retrieved(has_position)
    models = tqdm(inputs.models.items(), "Scoring with models", disable=None, leave=False) if inputs.models else ()
    for name, file in models:
        scores[name] = load_model(file).predict(features)
    return Source(of_model, scores, features)


def read_rows(
    rows: Rows,
    *,
    by: Sequence[str] = (),
    cluster: str | None = None,
    on: Sequence[str] = (),
    scores: Sequence[str] = (),
    shown: Sequence[str] = (),
    kind: type[Queries] = Queries,
) -> tuple[Queries, Any, Any]:
    """Return the queries of tables or LETOR files, their columns by name, and the features for models.

    A table must have the columns of ids in ``on``, those of ``scores``, and those that are ``shown``.
    """
    files, segments = _data_files(rows, by), _segment_columns(by)
    ids: dict[str, Any] = {"qid": rows.qid, "docid": rows.docid, "cluster": cluster}
    label, weight, columns = rows.label, rows.weight, None
    table: Any
    if table_kind(files[0]):
        text = [name for name in (*ids.values(), *on, *segments) if name is not None]
        numbers = [*scores, *([] if weight is None else [weight])]
        table = features = columns = _read_tables(files, rows, text, numbers, by)
    else:
        table = read_letor(files, n_features=rows.n_features, zero_based=rows.zero_based)
        features = table.X
        ids, label = {"qid": "qid", "docid": None if table.docid is None else "docid"}, "label"
        weight = _weight_of_letor(table, files)
    texts: dict[str, Any] = {role: None if name is None else _text(table, name) for role, name in ids.items()}
    queries = kind(
        np.asarray(table[label]),
        **texts,
        sample_weight=None if weight is None else np.asarray(table[weight]),
        by={name: _text(table, name) for name in segments} or None,
        columns=columns,
    )
    if shown:
        queries.shown_columns = {name: _shown(table, name) for name in shown}
    queries.warn_of_ids()
    _refuse_no_weight(queries.weight)
    _add_count_segments(queries, by)
    return queries, table, features


def _weight_of_letor(rows: LetorData, files: Sequence[Path]) -> str | None:
    """Return the column of weights that LETOR files have if there are files of weights beside them."""
    if rows.weight is None:
        return None
    warn(f"The means are weighted by {side_files(files[0])[-1]}. To leave the weights out, rename it.")
    return "weight"


def _refuse_no_weight(weight: FloatArray | None) -> None:
    if weight is not None and not weight.any():
        raise LtrValueError(
            "All weights are 0, so no query counts. Give some queries a weight, or leave the weights out."
        )


def _shown(table: Any, name: str) -> AnyArray:
    """Return a column of ``--columns``, in which values may be missing."""
    if name not in table:
        known = list(map(str, table))
        raise LtrKeyError(f"--columns: no column {name!r}.{did_you_mean(name, known)} There are {', '.join(known)}.")
    return np.asarray(table[name])


def _text(table: Any, name: str) -> AnyArray:
    """Return a column of ids: its text, if it has been read as numbers and as text."""
    as_text = AS_TEXT.format(name)
    return np.asarray(table[as_text if as_text in getattr(table, "columns", ()) else name])


def _read_tables(files: list[Path], rows: Rows, text: Sequence[str], numbers: Sequence[str], by: Sequence[str]) -> Any:
    """Return the tables as one data frame that has all columns of the command line.

    The ids of CSV are numbers where they can be, because a metric or a model may read them as well.
    Their text is a further column.
    """
    try:
        table = read_table(files, qid=rows.qid, label=rows.label, columns=numbers, text=text)
    except LtrKeyError as error:
        raise LtrKeyError(f"{error}{_hint_of_column(error, rows, numbers)}") from None
    both = [name for name in COUNT_SEGMENTS if name in by and name in table]
    if both:
        raise LtrValueError(f"--segment {both[0]} means a count, and also a column of the table. Rename the column.")
    table = table.loc[:, ~table.columns.duplicated(keep=False)]  # no option has named one that is repeated
    return with_numbers(table, files, list(dict.fromkeys(text)))


def evaluate_sorted(inputs: Inputs, options: Metrics, metrics: list[OneMetric] | None) -> dict[str, Evaluation]:
    """Evaluate tables or LETOR files batch by batch."""
    refuse(("qrels", "runs"), "does not go with --sorted, because TREC files are read whole.")
    refuse(("on",), "does not go with --sorted. Write the scores into the files.")
    refuse(("cluster",), "does not go with --sorted. Leave --sorted out, so that the files are read whole.")
    refuse(("positions",), "does not go with --sorted. Leave --sorted out, or write the negative positions as scores.")
    files, scores, segments = _data_files(inputs, options.by), inputs.scores, _segment_columns(options.by)
    if file := next((item for item in scores.values() if score_file(item)), None):
        raise LtrValueError(f"--scores {file} does not go with --sorted. Write the scores into the files of DATA.")
    if len(segments) < len(set(options.by)):
        raise LtrValueError("--segment needs a column with --sorted. n_documents and n_relevant need all rows.")
    policy = options.policy()
    models = {name: load_model(file) for name, file in inputs.models.items()}
    sources: dict[str, Any] = dict(scores)
    names: dict[str, Any] = {"qid": inputs.qid, "label": inputs.label, "docid": inputs.docid, "weight": inputs.weight}
    columns = {name: name for name in segments}
    rows: Iterator[Any]
    if table_kind(files[0]):
        sources |= {name: model.predict for name, model in models.items()}
        features = [name for model in models.values() for name in model.names()]
        needed = resolve(metrics, **policy).needed_columns
        optional = [inputs.weight] if inputs.weight is not None else []
        text = [name for name in (inputs.qid, inputs.docid, *segments) if name is not None]
        numbers = [inputs.label, *scores.values(), *optional, *needed, *features]
        rows = table_batches(files, numbers=numbers, text=text)
        as_text = {name: AS_TEXT.format(name) for name in text if name in numbers}
        names |= {role: as_text.get(names[role], names[role]) for role in ("qid", "docid")}
        columns |= {name: as_text[name] for name in segments if name in as_text}
    else:
        sources |= {name: lambda part, model=model: model.predict(part.X) for name, model in models.items()}
        parts = letor_batches(files, n_features=inputs.n_features, zero_based=inputs.zero_based)
        rows = _as_wide_as_models(parts, models.values())
        first = next(rows)
        names |= {"docid": None if first.docid is None else "docid", "weight": _weight_of_letor(first, files)}
        rows = chain([first], rows)
    rows = tqdm(rows, unit=" batches", disable=None, leave=False)
    try:
        results = evaluate_batches(
            rows, scores=sources, metrics=metrics, by=columns, skill=options.skill, **names, **policy
        )
    except LtrKeyError as error:
        raise LtrKeyError(f"{error}{_hint_of_column(error, inputs, scores.values())}") from None
    if names["weight"] is not None:
        _refuse_no_weight(next(iter(results.values())).weight)
    return results


def _as_wide_as_models(parts: Iterator[LetorData], models: Collection[Model]) -> Iterator[LetorData]:
    """Yield the rows of LETOR files with as many features as the models have, if all files together have as many.

    The lines of one batch may lack the last features.
    """
    widest, needed = 0, max((model.n_features for model in models), default=0)
    for part in parts:
        width = part.X.shape[1]
        widest = max(widest, width)
        yield replace(part, X=np.pad(part.X, ((0, 0), (0, needed - width)))) if width < needed else part
    for model in models:
        model.matrix(np.empty((0, widest)))  # refuses another width, as it does for files that are read whole


def _data_files(rows: Rows, by: Sequence[str]) -> list[Path]:
    """Return the files of DATA, which are of one kind; refuse options that do not apply to it."""
    files, has_scores = list(rows.data), isinstance(rows, Inputs)
    if not files:
        trec = ", or --qrels FILE with --run NAME=FILE" if has_scores else ""
        raise LtrValueError(f"Name the DATA: LETOR files or tables{trec}.")
    if not model_names():
        raise LtrValueError(f"Name what to evaluate: {'--model, --scores or --run' if has_scores else '--model'}.")
    if len({table_kind(file) == "" for file in files}) > 1:
        raise LtrValueError(f"DATA must be tables or LETOR files, not both. {NAMES_OF_TABLES}")
    refuse(("topics", "rank_by", "drop_self"), "needs TREC files: --qrels and --run.")
    if table_kind(files[0]):
        refuse(LETOR_OPTIONS, "is for LETOR files; tables have named columns.")
    else:
        _refuse_columns(by, "LETOR files", f" {files[0]} is read as LETOR. {NAMES_OF_TABLES}")
    return files


def _segment_columns(by: Sequence[str]) -> list[str]:
    """Return the columns of ``--segment``."""
    return [name for name in dict.fromkeys(by) if name not in COUNT_SEGMENTS]


def _refuse_columns(by: Sequence[str], kind: str, hint: str = "") -> None:
    reason = f"names a column of a table, and {kind} have none.{hint}"
    refuse(COLUMN_OPTIONS, reason)
    if segments := _segment_columns(by):
        raise LtrValueError(f"--segment {segments[0]} {reason} Without columns, use n_relevant.")


def _scores(table: Any, item: str, inputs: Inputs, queries: Queries) -> AnyArray:
    """Return the scores of a file, or of a column."""
    file = score_file(item)
    if file is None:
        try:
            return np.asarray(table[item])
        except LtrKeyError as error:
            raise LtrKeyError(f"{error}{_hint_of_file(error, [item])}") from None
    path, column = file
    if inputs.on:
        ids = {name: _text(table, name) for name in inputs.on}
        return join_scores(path, ids, column, can_repeat_documents=isinstance(queries, AuditedQueries))
    if column is not None or table_kind(path) in ("parquet", "arrow", "json"):
        raise LtrValueError(f"--scores {item} is a table. Name the columns that join it with the data: --on qid,docid.")
    try:
        scores = scores_by_row(path, _text(table, inputs.qid))
    except LtrValueError as error:
        hint = " A table with a header needs --on, such as --on qid,docid." if table_kind(path) else ""
        raise LtrValueError(f"{error}{hint}") from None
    if len(scores) != queries.n_rows:
        raise LtrValueError(
            f"{path} must have one score per row of the data: {len(scores):,} scores, {queries.n_rows:,} rows."
        )
    return scores


def _hint_of_column(error: LtrKeyError, rows: Rows, items: Iterable[str]) -> str:
    """Return a remedy for a column that is missing, or an empty string."""
    roles = {rows.qid: "--qid", rows.label: "--label"}
    option = next((option for name, option in roles.items() if f"no column {name!r}" in str(error)), "")
    return f" Name the column with {option}." if option else _hint_of_file(error, items)


def _hint_of_file(error: LtrKeyError, items: Iterable[str]) -> str:
    """Return a sentence about the file that a missing column of ``--scores`` may mean, if it can explain the error."""
    item = next((item for item in items if repr(item) in str(error)), "")
    for path in (Path(item), Path(item.rpartition(":")[0])):
        if path.is_file():
            return f" To read the file of this name, write ./{item}."
    return f" There is no file {item} either." if "." in item else ""


def segments_by_count(n_documents: IntArray, n_relevant: IntArray) -> Segmentations:
    """Return the segments that need no column."""
    return {name: _quarters(counts) for name, counts in zip(COUNT_SEGMENTS, (n_documents, n_relevant), strict=True)}


def _quarters(counts: IntArray) -> tuple[list[Hashable], IntArray]:
    """Return up to four ranges of counts with nearly as many queries each, and the range of each query."""
    distinct, n_queries = np.unique(counts, return_counts=True)
    n_below = n_queries.cumsum()[:-1]  # queries below the second, third, ... distinct count
    targets = len(counts) * np.arange(1, 4) / 4
    cuts = {int(np.abs(n_below - target).argmin()) + 1 for target in targets} if len(n_below) else set()
    if not len(distinct):
        return [], np.zeros(0, dtype=np.intp)
    starts = distinct[[0, *sorted(cuts)]].tolist()
    labels = [str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in pairwise(starts)]
    return [*labels, f"{starts[-1]}+"], np.searchsorted(starts, counts, side="right") - 1


def _add_count_segments(queries: Queries, by: Sequence[str]) -> None:
    """Add the segments that need no column, in the order of the command line."""
    if set(by) & set(COUNT_SEGMENTS):
        n_relevant = queries.count_by_query(queries.grades >= 1)
        segments = queries.segments | segments_by_count(queries.n_documents, n_relevant)
        queries.segments = {name: segments[name] for name in by}


def _read_runs(inputs: Inputs, by: Sequence[str]) -> Source:
    qrels, files, topics = inputs.qrels, inputs.runs, inputs.topics
    if inputs.data or inputs.models or inputs.columns_or_files() or qrels is None or not files:
        raise LtrValueError("TREC files need --qrels FILE and --run NAME=FILE, without DATA, and without other models.")
    if "n_documents" in by:
        raise LtrValueError("--segment n_documents does not go with --run: each run has its own documents.")
    refuse(LETOR_OPTIONS, "is for LETOR files.")
    refuse(("on",), "joins scores with DATA, and TREC runs have their own documents.")
    _refuse_columns(by, "TREC files")
    runs = {
        name: read_trec(qrels, file, topics=topics or "both", rank_by=inputs.rank_by, drop_self=inputs.drop_self)
        for name, file in files.items()
    }
    kinds = (("lacks topics of the qrels", "only_in_qrels"), ("has topics without judgments", "only_in_run"))
    differences = [
        f"The run {name!r} {what}: {', '.join(topics_of[:5])}{', ...' * (len(topics_of) > 5)}."
        for name, run in runs.items()
        for what, attribute in kinds
        if (topics_of := getattr(run, attribute))
    ]
    if differences and topics is None:
        effects = "; ".join(f"with --topics {word}, {effect}" for word, effect in EFFECT_OF_TOPICS.items())
        raise LtrValueError(f"{' '.join(differences)} Choose the topics: {effects}.")
    for difference in differences:
        warn(f"{difference} With --topics {topics}, {EFFECT_OF_TOPICS[str(topics)]}.")
    if topics == "both":
        runs = _common_topics(runs)
    queries = {
        name: Queries(run.y_true, qid=run.qid, docid=run.docid, retrieved=run.retrieved, judged=run.judged)
        for name, run in runs.items()
    }
    for of_run in queries.values():
        _add_count_segments(of_run, by)
    return Source(queries, {name: run.y_score for name, run in runs.items()})


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
