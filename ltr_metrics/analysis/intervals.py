"""Confidence intervals of the means of one evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray, require_confidence, require_option
from ltr_metrics._engine.grouping import GroupedRows
from ltr_metrics._engine.ids import order_of_ids
from ltr_metrics._engine.per_query import labels_of
from ltr_metrics._engine.plain import none_if_nan, to_dataframe
from ltr_metrics._engine.printed import Note, Printed, Table
from ltr_metrics._engine.words import Interval as IntervalMethod
from ltr_metrics.analysis import inference
from ltr_metrics.analysis.clusters import require_clusters
from ltr_metrics.analysis.comparison.names import name_in
from ltr_metrics.analysis.comparison.settings import seed_from
from ltr_metrics.analysis.comparison.table import INTERVALS, shown
from ltr_metrics.analysis.inference.resampling import require_n_resamples
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Metrics

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Interval:
    """A mean with its standard error and its confidence interval.

    Attributes
    ----------
    metric : str
        Canonical name.
    mean, standard_error : float
        The (weighted) mean over the queries that have a value, and its standard error.
    ci_low, ci_high : float
        Ends of the interval; NaN for fewer than two queries or clusters.
    n_queries, n_undefined : int
        Number of queries in the mean, and of those left out.
    n_effective : float
        Number of queries or clusters of equal weight that give as much information (Kish 1965).
    n_clusters : int or None
        Number of clusters that these queries belong to; None without clusters.

    See Also
    --------
    intervals : Return one of these for each metric.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0, 0, 2, 1, 0], [3, 2, 3, 2, 3, 2], group=[2, 2, 2], metrics=["mrr"])
    >>> one = ltr.intervals(result, interval="t")["mrr"]
    >>> round(one.ci_low, 4), round(one.mean, 4), round(one.ci_high, 4), one.n_queries
    (0.1162, 0.8333, 1.5504, 3)
    >>> one.to_dict()["metric"]
    'mrr'
    """

    metric: str
    mean: float
    standard_error: float
    ci_low: float
    ci_high: float
    n_queries: int
    n_undefined: int
    n_effective: float
    n_clusters: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            The fields by name.
        """
        return {name: none_if_nan(value) if isinstance(value, float) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class IntervalSettings:
    """How intervals were computed; ``seed`` is the number that repeats the random draws."""

    interval: IntervalMethod
    confidence: float
    n_resamples: int
    seed: int

    @classmethod
    def of(cls, interval: Any, confidence: Any, n_resamples: Any, random_state: Any) -> IntervalSettings:
        """Return checked settings in plain types, for JSON."""
        return cls(
            require_option("interval", interval, inference.INTERVALS),
            require_confidence(confidence),
            require_n_resamples(n_resamples),
            seed_from(random_state),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Printed, Mapping[str, Interval]):
    """The confidence intervals of an evaluation's means.

    It is a mapping of canonical names to `Interval`.

    Attributes
    ----------
    rows : tuple of Interval
        One per metric, in the order of the request.
    settings : IntervalSettings
        ``interval``, ``confidence``, ``n_resamples`` and ``seed``.
    evaluation : Evaluation
        The evaluation whose means they are.

    See Also
    --------
    intervals : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0, 0, 2, 1, 0], [3, 2, 3, 2, 3, 2], group=[2, 2, 2], metrics=["mrr", "p@1"])
    >>> table = ltr.intervals(result, interval="t", confidence=0.9)
    >>> list(table), table["p@1"] is table.rows[1], table.settings.confidence
    (['mrr', 'precision@1'], True, 0.9)
    >>> table.to_pandas()[["metric", "mean", "ci_low"]].round(4).values.tolist()
    [['mrr', 0.8333, 0.3467], ['precision@1', 0.6667, -0.3067]]
    >>> table.to_dict()["rows"][0]["n_queries"], table.settings_to_dict()["over"]
    (3, 'queries')
    """

    rows: tuple[Interval, ...]
    settings: IntervalSettings
    evaluation: Evaluation

    def __getitem__(self, key: str | Metric) -> Interval:
        """Return the interval of a metric, by any key that ``result[key]`` takes."""
        name = name_in(self.evaluation, key)
        return {row.metric: row for row in self.rows}[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the canonical names of the metrics."""
        return (row.metric for row in self.rows)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per metric.

        Returns
        -------
        pandas.DataFrame
            The columns are the fields of `Interval`.
        """
        return to_dataframe([asdict(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            ``settings``, ``weighted``, and the fields of each `Interval` under ``rows``.
        """
        return {
            "settings": self.settings_to_dict(),
            "weighted": self.evaluation.is_weighted,
            "rows": [row.to_dict() for row in self.rows],
        }

    def settings_to_dict(self) -> dict[str, Any]:
        """Return the settings, and whether the intervals are over queries or over clusters.

        Returns
        -------
        dict
            The settings by name. ``over`` is ``"queries"`` or ``"clusters"``.
        """
        return asdict(self.settings) | {"over": "queries" if self.rows[0].n_clusters is None else "clusters"}

    def printed_parts(self) -> list[Table | Note]:
        """Return a table with a line for each metric, and a note on the method."""
        has_clusters = self.rows[0].n_clusters is not None
        weighted = self.evaluation.is_weighted
        header = ["metric", "weighted mean" if weighted else "mean", "std. error", "interval", "queries", "left out"]
        header += ["effective"] * (weighted or has_clusters) + ["clusters"] * has_clusters
        rows = [_cells(row, has_effective=weighted or has_clusters) for row in self.rows]
        return [Table(header, rows), Note(describe_intervals(self.settings_to_dict()))]


def intervals(
    result: Evaluation,
    metrics: Metrics | None = None,
    *,
    interval: IntervalMethod = "wider",
    confidence: float = 0.95,
    cluster: Any = None,
    n_resamples: int = 10_000,
    random_state: Any = 0,
) -> Intervals:
    """Return confidence intervals of the means of one evaluation.

    The queries are a sample. An interval is for the mean over other queries of the same kind.

    Parameters
    ----------
    result : Evaluation
        A result of `evaluate`, also a saved one, or one of `evaluate_sorted`, Dask or Spark. Those
        of Dask and Spark load the values of all queries into this process.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is all metrics of the
        result.
    interval : {"wider", "bca", "percentile", "t"}, default "wider"
        Method of the interval, as for `compare`. ``"bca"`` and ``"percentile"`` are bootstraps over
        queries; ``"bca"`` is corrected for bias and skewness (Efron 1987). ``"t"`` is Student's.
        ``"wider"`` takes the wider of ``"bca"`` and ``"t"`` at each end.
    confidence : float, default 0.95
        Confidence level of the interval.
    cluster : array-like, optional
        One label a query, such as a user or a query text: in the order of ``result.qid``, or by
        query id (a mapping, a pandas Series). Whole clusters are then the sample. Default: the
        clusters of the result, if it was evaluated with ``cluster=``.
    n_resamples : int, default 10_000
        Number of bootstrap samples.
    random_state : int, numpy.random.Generator or None, default 0
        Random seed. The same number gives the same result.

    Returns
    -------
    Intervals
        One `Interval` per metric: ``intervals(result)["map"].ci_low``.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        If there are fewer than two queries or clusters, if a value is infinite, if the result lacks
        a metric, or for an unknown option.
    MissingExtraError
        If SciPy is not installed and ``interval`` is ``"t"`` or ``"wider"``.

    See Also
    --------
    compare : Intervals of the differences between models.
    gate : Rules such as ``"mean(ndcg@10) > 0.6"``.

    Notes
    -----
    To find out whether two models differ, use `compare`: two intervals that overlap do not show
    that the models are equal, because both models have the same queries.

    Student's t interval may end outside of the range of the metric. With weights, it has
    ``n_effective`` - 1 degrees of freedom.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
    >>> result = ltr.evaluate(y, X[:, 0], qid=qid, metrics=["ndcg@10", "map"])
    >>> one = ltr.intervals(result)["map"]
    >>> one.ci_low < result["map"] < one.ci_high
    True
    >>> user = [number // 4 for number in range(200)]
    >>> ltr.intervals(result, cluster=user)["map"].n_clusters
    50
    """
    if not isinstance(result, Evaluation):
        raise LtrTypeError(
            f"intervals needs a result of evaluate. Got {type(result).__name__}. Intervals of differences are those "
            "of compare."
        )
    settings = IntervalSettings.of(interval, confidence, n_resamples, random_state)
    if result.n_queries < 2:
        raise LtrValueError("There is one query only, and an interval needs two or more to estimate how queries vary.")
    names = _names(result, metrics)
    clusters = _clusters(result, cluster)
    columns = np.column_stack([_finite(result, name) for name in names])
    sample = inference.Sample.in_order(order_of_ids(result.qid), columns, result.weight, clusters)
    ends = inference.intervals(sample, settings.interval, settings.confidence, settings.n_resamples, settings.seed)
    return Intervals(tuple(_rows(result, names, sample, ends)), settings, result)


def _names(result: Evaluation, metrics: Metrics | None) -> list[str]:
    """Return the canonical names of the requested metrics."""
    if metrics is None:
        return list(result)
    keys = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    if not isinstance(keys, Iterable) or not (keys := list(keys)):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    return list(dict.fromkeys(name_in(result, key) for key in keys))


def _clusters(result: Evaluation, cluster: Any) -> IntArray | None:
    """Return the number of each query's cluster, by new labels or the result's own."""
    if cluster is None:
        codes = result.cluster
    else:
        rows = GroupedRows.of_queries(result.qid)
        labels = rows.by_query_id("cluster", cluster) if isinstance(cluster, Mapping) else cluster
        codes = labels_of(rows, "cluster", labels)[1]
    if codes is not None:
        require_clusters(codes, "an interval")
    return codes


def _finite(result: Evaluation, name: str) -> FloatArray:
    values = result.per_query[name]
    if np.isinf(values).any():
        query = result.plain_qid[int(np.isinf(values).argmax())]
        raise LtrValueError(
            f"{name} is infinite for query {query!r}, so its mean has no interval. Name other metrics: metrics=."
        )
    return values


def _rows(
    result: Evaluation, names: list[str], sample: inference.Sample, ends: tuple[FloatArray, FloatArray]
) -> Iterator[Interval]:
    for i, name in enumerate(names):
        yield Interval(
            metric=name,
            mean=result.mean[name],
            standard_error=float(sample.standard_error[i]),
            ci_low=float(ends[0][i]),
            ci_high=float(ends[1][i]),
            n_queries=result.n_queries - result.n_undefined[name],
            n_undefined=result.n_undefined[name],
            n_effective=float(sample.n_effective[i]),
            n_clusters=int(sample.n_units[i]) if sample.has_clusters else None,
        )


def _cells(row: Interval, *, has_effective: bool) -> list[str]:
    plain = row.to_dict()
    cells = [row.metric, shown(plain["mean"]), shown(plain["standard_error"])]
    cells.append(f"[{shown(plain['ci_low'])}, {shown(plain['ci_high'])}]")
    cells += [f"{row.n_queries:,}", f"{row.n_undefined:,}", *[f"{row.n_effective:,.1f}"] * has_effective]
    return cells if row.n_clusters is None else [*cells, f"{row.n_clusters:,}"]


def describe_intervals(settings: dict[str, Any]) -> str:
    """Return the level and the method of intervals of means in words."""
    level, method = f"{100 * settings['confidence']:g}%", INTERVALS[settings["interval"]]
    return f"{level} intervals of the mean over {settings['over']}: {method}."
