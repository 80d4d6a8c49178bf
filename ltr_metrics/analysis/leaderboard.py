"""The leaderboard: ranks of the models, with intervals, and how often each is best in bootstrap samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray
from ltr_metrics._rows.json_values import DataFrame, to_dataframe
from ltr_metrics.analysis import inference
from ltr_metrics.analysis.inference import Sample
from ltr_metrics.analysis.settings import INTERVALS, Settings, intervals_of
from ltr_metrics.errors import LtrKeyError
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.differences import difference_of, gain_of
from ltr_metrics.evaluation.ranges import ends_within, range_of
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.tables import Record, Table, TableOrText, Tabular
from ltr_metrics.metrics.base import Metric

TABLE = {  # what is printed
    "metric": "{metric}",
    "model": "{model}",
    "rank": "{rank:}",
    "mean": "{mean:.4f}",
    "interval": "[{ci_low:.4f}, {ci_high:.4f}]",
    "ranks": "[{rank_low:}, {rank_high:}]",
    "P(best)": "{p_best:.3f}",
    "queries": "{n_queries:,}",
}


@dataclass(frozen=True)
class Standing(Record):
    """One model in the leaderboard of one metric.

    Attributes
    ----------
    metric, model : str
        Canonical name of the metric, and name of the model.
    mean : float
        Mean over the queries for which all models have a value, weighted if there are weights.
    ci_low, ci_high : float
        Confidence interval of the mean.
    rank : int or None
        1 + the number of models whose mean is better. Equal models share a rank. None if no query
        counts.
    rank_low, rank_high : int
        Confidence interval of the rank.
    p_best : float
        Share of the bootstrap samples in which the model has the best mean. If m models share the
        best mean of a sample, each gets 1 / m of it. NaN for fewer than two queries or clusters.
    n_queries, n_undefined : int
        Number of queries for which all models have a value, and of the other queries.

    See Also
    --------
    ltr_metrics.Comparison.leaderboard : Rows of this kind.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, qid = [1, 0, 0, 1, 1, 0], [1, 1, 2, 2, 3, 3]
    >>> scores = {"base": [1, 2, 1, 2, 1, 2], "new": [2, 1, 1, 2, 2, 1]}
    >>> row = ltr.compare(scores, y, qid=qid, metrics=["mrr"]).leaderboard["mrr", "new"]
    >>> row.rank, (row.rank_low, row.rank_high), row.p_best > 0.9
    (1, (1, 1), True)
    """

    metric: str
    model: str
    mean: float
    ci_low: float
    ci_high: float
    rank: int | None
    rank_low: int
    rank_high: int
    p_best: float
    n_queries: int
    n_undefined: int


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Tabular):
    r"""Ranks of all models of a comparison in each metric, from one set of bootstrap samples.

    The samples are those of the intervals of `ltr_metrics.compare`: queries, or clusters, drawn
    with replacement. Only queries for which all models have a value count, so that all means of a
    metric are over the same queries.

    Attributes
    ----------
    rows : tuple of Standing
        Metric by metric, the best model first.
    settings : Settings
        The settings of the comparison.
    asked : mapping of str to str
        The canonical name of each metric that was asked for by another one.

    See Also
    --------
    ltr_metrics.Comparison.leaderboard : Return one of these.

    Notes
    -----
    The interval of a rank is derived from simultaneous intervals of the model's differences to all
    others. Let :math:`d_k` be the difference to model k and :math:`s_k` the standard deviation of
    its bootstrap values :math:`d_k^*`. c is the quantile at the confidence level of
    :math:`\max_k |d_k^* - d_k| / s_k` over the bootstrap samples. Model k is ahead if
    :math:`d_k < -c s_k` and behind if :math:`d_k > c s_k`. The rank is then between 1 + the number
    of models ahead and the number of models - the number of models behind.

    This is the method of Mogstad and others (2023). The quantiles of the bootstrap ranks would be
    shorter intervals, but they are too short for models that are nearly equal: the comparison page
    has measured both.

    P(best) describes how stable the first rank is under other queries. It is not the probability
    of a hypothesis: if two models are equally good, it is as likely to be 5 % as 95 %.

    References
    ----------
    M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, Inference for Ranks with Applications to
    Mobility across Neighbourhoods and Academic Achievement across Countries, Review of Economic
    Studies, 2023, doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> scores = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] + X[:, 1]}
    >>> board = ltr.compare(scores, y, qid=qid, metrics=["map"], baseline=None).leaderboard
    >>> [(row.rank, row.model) for row in board.rows]
    [(1, 'a'), (2, 'c'), (3, 'b')]
    >>> board["map", "c"].rank_high <= 2, round(sum(row.p_best for row in board.rows), 9)
    (True, 1.0)
    >>> board.to_pandas().shape, sorted(board.to_dict())
    ((3, 11), ['rows', 'settings'])
    """

    IN_DICT: ClassVar[tuple[str, ...]] = ("rows", "settings")
    rows: tuple[Standing, ...]
    settings: Settings
    asked: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, key: tuple[str | Metric, str]) -> Standing:
        """Return the standing of a model in a metric, ``leaderboard["map", "new"]``."""
        rows = {(row.metric, row.model): row for row in self.rows}
        metric, *models = key if isinstance(key, tuple) else (key,)
        metric = ByMetric({row.metric: row for row in self.rows}, self.asked).canonical(metric)
        name = (metric, *map(str, models))
        if name in rows:
            return rows[name]
        known = "; ".join(f"{metric}, {model}" for metric, model in rows)
        raise LtrKeyError(f"The leaderboard has no {', '.join(name)!r}. Name a metric and a model. There are {known}.")

    def to_pandas(self) -> DataFrame:
        """Return a table with one row per metric and model.

        Returns
        -------
        pandas.DataFrame
            The columns are the fields of `Standing`.
        """
        return to_dataframe([vars(row) for row in self.rows])

    def printed(self) -> list[TableOrText]:
        """Return a table with a line per metric and model, and a note on the columns."""
        settings = self.settings
        note = (
            f"Means over the queries for which all models have a value. Interval: {settings.level}, "
            f"{INTERVALS[settings.interval]}. ranks: {settings.level} interval of the rank, from the differences to "
            "all other models together. P(best): share of "
            f"{settings.n_resamples:,} bootstrap samples in which the model is the best; ties are split."
        )
        rows = [replace(row, **ends_within(row, range_of(row.metric, row.mean))) for row in self.rows]
        return [Table.of(TABLE, rows, "Ranks of all models", note)]


def leaderboard_of(
    evaluations: Mapping[str, Evaluation], settings: Settings, sample: Callable[[FloatArray], Sample]
) -> Leaderboard:
    """Return the leaderboard of models with the same queries; ``sample`` makes one of columns of their values."""
    first = next(iter(evaluations.values()))
    metrics = list(first.per_query)
    n = max(1, inference.columns_at_once(first.n_queries) // len(evaluations))
    groups = [metrics[start : start + n] for start in range(0, len(metrics), n)]
    rows = tuple(row for group in groups for row in _standings(evaluations, group, settings, sample))
    return Leaderboard(rows, settings, first.per_query.asked)


def _standings(
    evaluations: Mapping[str, Evaluation],
    metrics: Sequence[str],
    settings: Settings,
    make_sample: Callable[[FloatArray], Sample],
) -> list[Standing]:
    """Return the standings of all models in some metrics, which are resampled together."""
    models, lower_is_better = list(evaluations), next(iter(evaluations.values())).lower_is_better
    of_metrics = []
    for metric in metrics:
        values = np.column_stack([one.per_query[metric] for one in evaluations.values()])
        of_metrics.append(np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, values))
    sample = make_sample(np.concatenate(of_metrics, axis=1))
    means = inference.bootstrap_means(sample, settings.n_resamples, settings.seed)
    low, high = intervals_of(sample, settings, means)
    rows = []
    for i, metric in enumerate(metrics):
        columns = slice(i * len(models), (i + 1) * len(models))
        gain, gains = (
            gain_of(of_models[columns], higher_is_better=metric not in lower_is_better)
            for of_models in (sample.mean, means)
        )
        rank, rank_low, rank_high = _ranks(gain, gains, settings.confidence)
        is_undefined = np.isnan(of_metrics[i][:, 0])
        numbers = {
            "mean": sample.mean[columns],
            "ci_low": low[columns],
            "ci_high": high[columns],
            "rank_low": rank_low,
            "rank_high": rank_high,
            "p_best": _shares_of_best(gains),
        }
        standings = [
            Standing(
                metric=metric,
                model=model,
                rank=None if np.isnan(gain[j]) else int(rank[j]),
                n_queries=int((~is_undefined).sum()),
                n_undefined=int(is_undefined.sum()),
                **{name: of_models[j].item() for name, of_models in numbers.items()},
            )
            for j, model in enumerate(models)
        ]
        rows += sorted(standings, key=lambda row: row.rank or 0)
    return rows


def _shares_of_best(gains: FloatArray) -> FloatArray:
    """Return the share of the resamples in which each model is the best; equal ones share a resample."""
    is_best = difference_of(gains, gains.max(axis=0)) == 0
    shares: FloatArray = np.where(np.isnan(gains).any(axis=0), np.nan, is_best / np.maximum(is_best.sum(axis=0), 1))
    return np.asarray(shares.mean(axis=1))


def _ranks(gain: FloatArray, gains: FloatArray, confidence: float) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rank of each model, and the lowest and highest rank that its differences to the others allow."""
    difference = difference_of(gain[:, np.newaxis], gain)
    rank = 1 + np.count_nonzero(difference < 0, axis=1)
    low, high = np.ones_like(rank), np.full_like(rank, len(gain))
    if np.isnan(gains).any():  # fewer than two units
        return rank, low, high
    for j, of_model in enumerate(gains):
        resampled = difference_of(of_model, gains)
        spread = resampled.std(axis=1, keepdims=True)
        deviation = np.abs(resampled - difference[j, :, np.newaxis])
        distance = np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0)
        limit = np.quantile(distance.max(axis=0), confidence) * spread[:, 0]
        low[j] += np.count_nonzero(difference[j] < -limit)
        high[j] -= np.count_nonzero(difference[j] > limit)
    return rank, low, high
