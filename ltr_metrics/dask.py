"""Evaluation of rows in the partitions of Dask: where they are, a task a partition, and not before a result is asked for something."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial, reduce
from numbers import Integral, Real
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics.conventions import Convention, Metrics, Request, resolve
from ltr_metrics.distributed import DistributedEvaluation
from ltr_metrics.errors import (
    LtrKeyError,
    LtrTypeError,
    LtrValueError,
    MissingExtraError,
    did_you_mean,
    naming,
)
from ltr_metrics.evaluation import Queries
from ltr_metrics.grouping import as_ids, group_by_ids, ordered_categories
from ltr_metrics.inputs import AnyArray, IntArray, as_numbers, pandas_index
from ltr_metrics.label_checks import LabelChecks, check_in_silence
from ltr_metrics.metrics.shown import MeanOf
from ltr_metrics.result import Evaluation, joined
from ltr_metrics.totals import Totals

if TYPE_CHECKING:
    import pandas

HASH, PLACE = "ltr_metrics.query", "ltr_metrics.place"  # columns that a shuffle needs besides
ROWS_OF_A_PARTITION = 2**40
CANDIDATES_AT_ONCE = 100_000


def evaluate(
    frame: Any,
    *,
    label: Any = "label",
    score: Any = "score",
    qid: Any = "qid",
    metrics: Metrics | None = None,
    docid: Any = None,
    weight: Any = None,
    by: Sequence[str] = (),
    shuffle: bool = False,
    ties: str | None = None,
    no_relevant: str | float | None = None,
    convention: str | Convention | None = None,
) -> DistributedEvaluation:
    """Evaluate rows in the partitions of Dask, to the last digit or two as one machine would.

    Nothing is computed here. When the result is first asked for something, each partition is evaluated once, where it is, by the
    scheduler that Dask then has: a cluster, if there is a ``Client``, or this machine's threads or processes. What its queries
    give stays there; the means bring sums here, and 8 bytes a query to find out whether a query was cut. All else
    (``per_query``, ``qid``, `save`, a comparison) brings the values of every query here.

    Parameters
    ----------
    frame : dask DataFrame or None
        None if label, score and qid are Series or arrays.
    label, score, qid : str, dask Series or dask array
        Grades, scores and query ids: a column's name, or one entry a row in the partitions (chunks) of the frame, such as
        ``score=ranker.predict(X)`` of ``DaskLGBMRanker`` and ``DaskXGBRanker``.
    metrics, ties, no_relevant, convention
        As for `ltr_metrics.evaluate`. Columns that ``mean_of`` needs are taken from the frame by name. With ``ties="stable"`` the
        order of rows is that of the partitions and of the rows in them, also after a shuffle.
    docid, weight : str, dask Series or dask array, optional
        Document ids, and row weights, whose mean is a query's weight.
    by : sequence of str
        Columns of segments, the same label in all rows of a query.
    shuffle : bool, default False
        Whether Dask is to bring the rows of each query together first. Without it a query whose rows are in several partitions is
        an error.

    Returns
    -------
    DistributedEvaluation
        An `Evaluation`; its queries are in order of partitions, and of first appearance there.

    Raises
    ------
    LtrKeyError, LtrTypeError, LtrValueError
        At once: a column that is not there, unknown metrics, anything that is not in Dask, other numbers of partitions.
        When the result is asked: what `ltr_metrics.evaluate` refuses, with partition and row; queries that are cut.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 7, 9, 9], "label": [1, 0, 0, 2], "score": [0.2, 0.8, 0.1, 0.7]})
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> result = ltr_metrics.dask.evaluate(frame, metrics=["mrr"])
    >>> result["mrr"], result.per_query["mrr"]
    (0.75, array([0.5, 1. ]))
    """
    return evaluate_scores(
        frame,
        {"score": score},
        label=label,
        qid=qid,
        metrics=metrics,
        docid=docid,
        weight=weight,
        by=by,
        shuffle=shuffle,
        ties=ties,
        no_relevant=no_relevant,
        convention=convention,
    )["score"]


def evaluate_scores(
    frame: Any,
    scores: Mapping[str, Any],
    *,
    label: Any = "label",
    qid: Any = "qid",
    metrics: Metrics | None = None,
    docid: Any = None,
    weight: Any = None,
    by: Sequence[str] = (),
    shuffle: bool = False,
    ties: str | None = None,
    no_relevant: str | float | None = None,
    convention: str | Convention | None = None,
) -> dict[str, DistributedEvaluation]:
    """Evaluate several scores of the same rows, which are read and laid out once; see `evaluate` for the parameters.

    Parameters
    ----------
    scores : mapping of str to str, dask Series or dask array
        By the name of what each is evaluated as.

    Returns
    -------
    dict of str to DistributedEvaluation
        By the names of ``scores``. The first that is asked for something has all of them computed.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 7, 9, 9], "label": [1, 0, 0, 2], "a": [0.2, 0.8, 0.1, 0.7], "b": [4, 3, 2, 1]})
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> results = ltr_metrics.dask.evaluate_scores(frame, {"old": "a", "new": "b"}, metrics=["mrr"])
    >>> {name: result["mrr"] for name, result in results.items()}
    {'old': 0.75, 'new': 0.75}
    """
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    if not scores:
        raise LtrValueError("Name at least one column of scores. Got none.")
    if request.policy.ties == "docid" and docid is None:
        raise LtrValueError('ties="docid" needs document ids: pass docid=, a column of the frame or one id a row.')
    segmentations = (by,) if isinstance(by, str) else tuple(by)
    further = [metric.column for metric in request.metrics if isinstance(metric, MeanOf)]
    wanted = {"label": label, "qid": qid, "docid": docid, "weight": weight}
    wanted |= {f"score {name}": source for name, source in scores.items()}
    wanted |= {f"by {name}": name for name in segmentations} | {f"column {name}": name for name in further}
    rows = _Rows.of(frame, {role: source for role, source in wanted.items() if source is not None})
    asked = _Asked(request, tuple(scores), segmentations, tuple(dict.fromkeys(further)))
    lazy = _shuffled(rows, asked) if shuffle else rows.each(partial(_evaluated, asked))
    job = _Job(lazy, asked, is_shuffled=shuffle)
    return {
        name: DistributedEvaluation(_PartsOf(job, name, weight is not None), request, segmentations) for name in scores
    }


def whole_queries(frame: Any, qid: str = "qid") -> Any:
    """Bring the rows of each query together, once, before a training or many evaluations.

    Parameters
    ----------
    frame : dask DataFrame
    qid : str
        Column of query ids.

    Returns
    -------
    dask DataFrame
        The same rows in as many partitions, lazily: each query is in one of them, partitions are sorted by query id, as
        ``xgboost.dask`` wants it, and the rows of a query keep their order. Persist it if it is used more than once.

    Raises
    ------
    LtrKeyError, LtrTypeError
        At once, if there is no such column or the frame is not one of Dask.
    LtrValueError
        When it is computed, if a row has no query id.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> import ltr_metrics.dask
    >>> rows = pandas.DataFrame({"qid": [7, 9, 7, 9], "label": [1, 0, 0, 2], "score": [0.2, 0.1, 0.8, 0.7]})
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> whole = ltr_metrics.dask.whole_queries(frame)
    >>> ltr_metrics.dask.evaluate(whole, metrics=["mrr"])["mrr"]
    0.75
    """
    rows = _Rows.of(frame, {"qid": qid})
    meta = _meta_of(frame)
    placed = frame.map_partitions(_placed, rows.columns["qid"], meta=_placed(meta, qid))
    return placed.shuffle(HASH).map_partitions(_sorted_by_query, qid, meta=meta)


# -- where the columns are --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """Columns by what they are: names in a frame, and Series or arrays beside it."""

    frame: Any
    columns: dict[str, str]
    beside: dict[str, Any]

    @classmethod
    def of(cls, frame: Any, wanted: Mapping[str, Any]) -> _Rows:
        try:
            import dask.dataframe as dd
        except ImportError as error:
            raise MissingExtraError("dask", "dask") from error
        if frame is not None and not isinstance(frame, dd.DataFrame):
            raise LtrTypeError(f"frame must be a Dask DataFrame{_got(frame)}")
        columns = {role: source for role, source in wanted.items() if isinstance(source, str)}
        beside = {role: source for role, source in wanted.items() if not isinstance(source, str)}
        for role, column in columns.items():
            _require_column(frame, role, column)
        for role, source in beside.items():
            _require_dask(role, source)
        rows = cls(frame, columns, beside)
        numbers = {role: len(delayed) for role, delayed in rows._delayed().items()}
        if len(set(numbers.values())) > 1:
            each = ", ".join(f"{_shown(role)} has {n}" for role, n in numbers.items())
            raise LtrValueError(f"All must have the same partitions: {each}. Repartition them alike before.")
        return rows

    def each(self, function: Callable[..., Any]) -> list[Any]:
        """Return, for each partition, the lazy result of function(its number, its columns by what they are)."""
        import dask

        delayed = self._delayed()
        frames = delayed.pop("frame", None)
        task = dask.delayed(partial(_of_partition, function, self.columns, tuple(self.beside)))
        beside = list(zip(*delayed.values(), strict=True)) or [()] * len(frames or ())
        return [task(at, None if frames is None else frames[at], *columns) for at, columns in enumerate(beside)]

    def meta(self) -> dict[str, Any]:
        """Return columns of the same types without rows."""
        frame = _meta_of(self.frame) if self.columns else None
        found: dict[str, Any] = _of_partition(
            lambda _, found: found, self.columns, tuple(self.beside), 0, frame, *map(_meta_of, self.beside.values())
        )
        return found

    def _delayed(self) -> dict[str, list[Any]]:
        found = {}
        if self.columns:
            found["frame"] = list(self.frame[list(dict.fromkeys(self.columns.values()))].to_delayed())
        return found | {role: np.ravel(source.to_delayed()).tolist() for role, source in self.beside.items()}


def _require_column(frame: Any, role: str, column: str) -> None:
    if frame is None:
        raise LtrTypeError(
            f"{_shown(role)} names the column {column!r}, and frame is None: pass the frame, or a Dask Series or array."
        )
    names = list(frame.columns)
    if column not in names:
        hint = did_you_mean(column, map(str, names))
        raise LtrKeyError(f"The frame has no column {column!r}.{hint} It has {', '.join(map(str, names))}.")
    if names.count(column) > 1:
        raise LtrValueError(f"The frame has {names.count(column)} columns named {column!r}; keep one of each name.")


def _require_dask(role: str, source: Any) -> None:
    import dask.array as da
    import dask.dataframe as dd

    if not isinstance(source, (dd.Series, da.Array)):
        raise LtrTypeError(f"{_shown(role)} must be a column's name, or a Dask Series or array{_got(source)}")
    if source.ndim != 1:
        raise LtrValueError(
            f"{_shown(role)} must be one-dimensional with one entry a row. Got a Dask array of {source.ndim} dimensions: pass one column."
        )


def _got(thing: Any) -> str:
    return (
        f". Got a {type(thing).__module__}.{type(thing).__name__}. What is in memory is evaluated by ltr_metrics.evaluate, or made one by "
        "dask.dataframe.from_pandas and dask.array.from_array."
    )


def _shown(role: str) -> str:
    """Return what is called ``score new`` in here as a caller knows it."""
    return "score" if role == "score score" else role


def _meta_of(collection: Any) -> Any:
    """Return an empty table, column or array of the types that Dask knows of."""
    return collection._meta  # noqa: SLF001  (which has no public name in Dask)


# -- in a partition ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What is asked of each partition."""

    request: Request
    scores: tuple[str, ...]
    by: tuple[str, ...]
    further: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Part:
    """What the queries of a partition give, which stays where it was computed."""

    results: dict[str, Evaluation]
    labels: LabelChecks
    ascending: dict[str, list[Hashable]]  # segments in the order of an ordered categorical


class _PlacedQueries(Queries):
    """Queries whose messages say where a row stood before a shuffle."""

    def __init__(self, place: IntArray, y_true: Any, **options: Any) -> None:
        self._place = place
        super().__init__(y_true, **options)

    def where(self, row: int) -> str:
        at, within = divmod(int(self._place[row]), ROWS_OF_A_PARTITION)
        return f"row {within} of partition {at} (query {self.qid[self.query_of_row(row)]})"


def _of_partition(
    function: Callable[[int, dict[str, Any]], Any],
    columns: Mapping[str, str],
    beside: Sequence[str],
    at: int,
    frame: Any,
    *given: Any,
) -> Any:
    """Call a function with the columns of a partition, after a look at whether their rows belong together."""
    found = {role: frame[column] for role, column in columns.items()} | dict(zip(beside, given, strict=True))
    first = next(iter(found))
    indexed = None
    for role, column in found.items():
        if len(column) != len(found[first]):
            raise LtrValueError(
                f"In partition {at}: all must have one entry a row. {_shown(first)} has {len(found[first])}, {_shown(role)} {len(column)}."
            )
        index = pandas_index(column)
        if index is not None and indexed is not None and not index.equals(indexed[1]):
            raise LtrValueError(
                f"In partition {at}: {_shown(indexed[0])} and {_shown(role)} have different indexes, so their rows may not belong together. "
                "Align them, or pass .to_dask_array() of the Series if the order of rows is what counts."
            )
        if index is not None and indexed is None:
            indexed = role, index
    return function(at, found)


def _evaluated(asked: _Asked, at: int, columns: dict[str, Any]) -> _Part | None:
    with naming(f"In partition {at}"):
        return _part(asked, columns, Queries)


def _evaluated_after_shuffle(asked: _Asked, at: int, table: pandas.DataFrame) -> _Part | None:
    table = table.sort_values(PLACE)  # no shuffle promises to keep the order of rows
    place = table.pop(PLACE).to_numpy()
    columns: dict[str, Any] = {str(role): column for role, column in table.drop(columns=HASH).items()}
    with naming(f"In partition {at} after the shuffle"):
        return _part(asked, columns, partial(_PlacedQueries, place))


def _part(asked: _Asked, columns: Mapping[str, Any], make: Callable[..., Queries]) -> _Part | None:
    if not len(columns["qid"]):
        return None
    plain = {role: _plain(column) for role, column in columns.items()}
    queries = make(
        plain["label"],
        qid=plain["qid"],
        docid=plain.get("docid"),
        sample_weight=plain.get("weight"),
        by={name: plain[f"by {name}"] for name in asked.by} or None,
        columns={name: plain[f"column {name}"] for name in asked.further},
    )
    queries.refuse_repeated_documents()
    check_in_silence(queries, asked.request)
    labels, results = LabelChecks(), {}
    labels.add(queries)
    for name in asked.scores:
        with naming(name) if len(asked.scores) > 1 else nullcontext():
            results[name] = queries.answer(plain[f"score {name}"], asked.request)
        fingerprint = results[name].fingerprint
        if fingerprint is not None:
            _ = fingerprint.of_query  # lets the labels go
    of_by = {name: ordered_categories(plain[f"by {name}"]) for name in asked.by}
    return _Part(results, labels, {name: labels for name, labels in of_by.items() if labels is not None})


def _plain(column: Any) -> Any:
    """Return an array; of a categorical pandas' own, which knows its order."""
    return column.array if hasattr(column, "cat") else np.asarray(column)


# -- on the client ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sums:
    """What comes of each partition to the client."""

    totals: dict[str, Totals]
    labels: LabelChecks
    hashes: AnyArray


class _Job:
    """All partitions and scores: evaluated once, when the first of them is asked for something."""

    def __init__(self, lazy: list[Any], asked: _Asked, *, is_shuffled: bool) -> None:
        self._lazy, self.asked, self._is_shuffled = lazy, asked, is_shuffled

    @cached_property
    def _kept(self) -> tuple[list[Any], _Sums]:
        import dask

        parts = list(dask.persist(*self._lazy))
        found = [sums for sums in self._of_each(_sums, parts) if sums is not None]
        if not found:
            raise LtrValueError("No partition has a row: there is no query to evaluate.")
        if not self._is_shuffled:
            _refuse_cut_queries([sums.hashes for sums in found], lambda task: self._of_each(task, parts))
        labels = reduce(add, (sums.labels for sums in found))
        labels.check(self.asked.request)
        totals = {name: reduce(add, (sums.totals[name] for sums in found)) for name in self.asked.scores}
        _refuse_infinite(totals.values())
        return parts, _Sums(totals, labels, np.zeros(0))

    def totals(self, score: str) -> Totals:
        return self._kept[1].totals[score]

    def together(self, score: str) -> Evaluation:
        parts, _ = self._kept
        found = [part for part in self._of_each(partial(_result, score), parts) if part is not None]
        result = joined(part for part, _ in found)
        segments = dict(result.segments)
        for name in segments.keys() & found[0][1].keys():
            ascending = dict.fromkeys(label for _, of_part in found for label in of_part[name])
            labels, code = segments[name]
            order = np.argsort([list(ascending).index(label) for label in labels])
            segments[name] = [labels[i] for i in order], np.argsort(order)[code]
        return replace(result, segments=segments)

    def _of_each(self, function: Callable[..., Any], parts: list[Any]) -> tuple[Any, ...]:
        import dask

        task = dask.delayed(function)
        return tuple(dask.compute(*(task(part) for part in parts)))


@dataclass(frozen=True, eq=False)
class _PartsOf:
    """The parts of one score, as `DistributedEvaluation` asks for them."""

    job: _Job
    score: str
    is_weighted: bool

    def totals(self) -> Totals:
        return self.job.totals(self.score)

    def together(self) -> Evaluation:
        return self.job.together(self.score)


def _sums(part: _Part | None) -> _Sums | None:
    if part is None:
        return None
    totals = {name: Totals.of(result.per_query, result.weight) for name, result in part.results.items()}
    return _Sums(totals, part.labels, _hashes(next(iter(part.results.values())).qid))


def _result(score: str, part: _Part | None) -> tuple[Evaluation, dict[str, list[Hashable]]] | None:
    return None if part is None else (part.results[score], part.ascending)


def _refuse_infinite(totals: Iterable[Totals]) -> None:
    if not all(np.isfinite(of_score.weight).all() for of_score in totals):
        raise LtrValueError(
            "weight must have a finite sum, which goes beyond float64 over all partitions: scale the weights down."
        )


# -- queries in several partitions ------------------------------------------------------------------------------------------


def _refuse_cut_queries(hashes: list[AnyArray], of_each: Callable[[Callable[..., Any]], tuple[Any, ...]]) -> None:
    """Raise an error if a query is in several partitions: equal ids have equal hashes, of which only those are looked at closer."""
    together = np.sort(np.concatenate(hashes))
    candidates = np.unique(together[1:][together[1:] == together[:-1]])
    for first in range(0, len(candidates), CANDIDATES_AT_ONCE):
        of_partition = of_each(partial(_ids_of, candidates[first : first + CANDIDATES_AT_ONCE]))
        partitions: dict[Hashable, list[int]] = {}
        for at, ids in enumerate(of_partition):
            for one in ids:
                partitions.setdefault(one, []).append(at)
        cut = {one: where for one, where in partitions.items() if len(where) > 1}
        if cut:
            one, where = next(iter(cut.items()))
            further = "" if len(where) == 2 else f" and {len(where) - 2:,} others"
            more = "" if len(cut) == 1 else f" {len(cut) - 1:,} more queries are cut likewise."
            raise LtrValueError(
                f"The rows of a query must be in one partition: query {one!r} has rows in the partitions "
                f"{where[0]} and {where[1]}{further}.{more} Pass shuffle=True (--shuffle), and Dask brings them together; or do "
                "it once, before a training or many evaluations: frame = ltr_metrics.dask.whole_queries(frame)."
            )


def _ids_of(hashes: AnyArray, part: _Part | None) -> list[Hashable]:
    """Return the ids of a partition that have one of these hashes."""
    if part is None:
        return []
    ids = next(iter(part.results.values())).qid
    found: list[Hashable] = ids[np.isin(_hashes(ids), hashes)].tolist()
    return found


def _hashes(ids: AnyArray) -> AnyArray:
    """Return 64 bits an id, equal for equal ids of whatever type and in whatever process."""
    if ids.dtype.kind in "biu":
        return ids.astype(np.uint64)
    if ids.dtype.kind == "f":
        return _hashes_of_floats(ids.astype(np.float64))
    if ids.dtype.kind in "mM":
        return ids.astype(f"{ids.dtype.kind}8[us]").view(np.uint64)
    from pandas.util import hash_array

    ids = ids.astype(object)
    are_text = np.fromiter((isinstance(one, str) for one in ids.tolist()), dtype=np.bool_, count=len(ids))
    found = np.zeros(len(ids), dtype=np.uint64)
    found[are_text] = hash_array(ids[are_text], categorize=False)
    for at in np.flatnonzero(~are_text).tolist():
        found[at] = _hash_of(ids[at])
    return found


def _hash_of(one: object) -> int:
    """Return the hash of an id; what has none that is the same in all processes shares one, and is compared itself."""
    if isinstance(one, Integral):
        return int(one) % 2**64
    if isinstance(one, (Real, Decimal)):
        return int(_hashes_of_floats(np.array([float(one)]))[0])
    return 0


def _hashes_of_floats(ids: AnyArray) -> AnyArray:
    whole = (ids == np.floor(ids)) & (np.abs(ids) < 2**63)
    bits = ids.view(np.uint64)
    return np.where(whole, np.where(whole, ids, 0).astype(np.int64).astype(np.uint64), bits)


# -- shuffles ---------------------------------------------------------------------------------------------------------------


def _shuffled(rows: _Rows, asked: _Asked) -> list[Any]:
    """Return the lazy evaluation of each partition after Dask has brought the rows of each query together."""
    import dask
    import dask.dataframe as dd

    with dask.config.set({"dataframe.convert-string": False}):  # which would make one id of 7 and "7"
        table = dd.from_delayed(rows.each(_table), meta=_table(0, rows.meta()), verify_meta=False)
    task = dask.delayed(partial(_evaluated_after_shuffle, asked))
    return [task(at, part) for at, part in enumerate(table.shuffle(HASH).to_delayed())]


def _table(at: int, columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Return one table of columns from several places, with what a shuffle needs."""
    import pandas as pd

    with naming(f"In partition {at}"):
        for role in columns:
            if role.split()[0] in ("label", "score", "weight", "column"):
                as_numbers(_plain(columns[role]), _shown(role))  # while a message can say which row
    table = pd.DataFrame(
        {
            role: column.reset_index(drop=True) if hasattr(column, "index") else column
            for role, column in columns.items()
        }
    )
    return _placed(table, "qid", {"number": at})


def _placed(table: pandas.DataFrame, qid: str, partition_info: Mapping[str, Any] | None = None) -> pandas.DataFrame:
    """Add to each row the hash of its query and its place, in which ``partition_info`` of Dask says the partition."""
    at = 0 if partition_info is None else int(partition_info["number"])
    hashes = np.zeros(len(table), dtype=np.int64)
    if len(table):
        with naming(f"In partition {at}"):
            grouping = group_by_ids(as_ids(_plain(table[qid]), "qid"))
        of_rows = np.repeat(_hashes(grouping.ids), grouping.sizes).view(np.int64)
        hashes[slice(None) if grouping.order is None else grouping.order] = of_rows
    return table.assign(**{HASH: hashes, PLACE: np.arange(len(table)) + at * ROWS_OF_A_PARTITION})


def _sorted_by_query(table: pandas.DataFrame, qid: str) -> pandas.DataFrame:
    return table.sort_values([qid, PLACE]).drop(columns=[HASH, PLACE])
