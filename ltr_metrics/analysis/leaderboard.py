"""The leaderboard: ranks of the models, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ltr_metrics._rows.checks import FloatArray
from ltr_metrics._rows.json_values import DataFrame, to_dataframe
from ltr_metrics.analysis import inference
from ltr_metrics.analysis.inference import Sample
from ltr_metrics.analysis.settings import Settings
from ltr_metrics.errors import LtrKeyError
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.limits import t_quantile
from ltr_metrics.evaluation.means import counting
from ltr_metrics.evaluation.ranges import difference_of, ends_within, gain_of, possible_values, range_of
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
    >>> row.rank, (row.rank_low, row.rank_high)
    (1, (1, 2))
    """

    metric: str
    model: str
    mean: float
    ci_low: float
    ci_high: float
    rank: int | None
    rank_low: int
    rank_high: int
    n_queries: int
    n_undefined: int


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Tabular):
    r"""Ranks of all models of a comparison in each metric.

    Only queries for which all models have a value count, so that all means of a metric are over the
    same queries.

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
    others. Let :math:`d_k` be the difference to model k and :math:`s_k` its standard error. c is
    Student's quantile at the level at which the intervals of all k hold together. Model k is ahead
    if :math:`d_k < -c s_k` and behind if :math:`d_k > c s_k`. The rank is then between 1 + the
    number of models ahead and the number of models - the number of models behind. A difference that
    is the same for all queries and not 0 does not show how queries vary, so it counts as neither.

    This is the method of Mogstad and others (2023).

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
    >>> board["map", "c"].rank_high <= 2, board.to_pandas().shape, sorted(board.to_dict())
    (True, (3, 10), ['rows', 'settings'])
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
            f"Means over the queries for which all models have a value. Interval: {settings.level}. ranks: "
            f"{settings.level} interval of the rank, from the differences to all other models together."
        )
        rows = [replace(row, **ends_within(row, range_of(row.metric, row.mean))) for row in self.rows]
        return [Table.of(TABLE, rows, "Ranks of all models", note)]


def leaderboard_of(
    evaluations: Mapping[str, Evaluation], settings: Settings, sample: Callable[[FloatArray], Sample]
) -> Leaderboard:
    """Return the leaderboard of models with the same queries; ``sample`` makes one of columns of their values."""
    first = next(iter(evaluations.values()))
    rows = tuple(row for metric in first.per_query for row in _standings(evaluations, metric, settings, sample))
    return Leaderboard(rows, settings, first.per_query.asked)


def _standings(
    evaluations: Mapping[str, Evaluation],
    metric: str,
    settings: Settings,
    make_sample: Callable[[FloatArray], Sample],
) -> list[Standing]:
    """Return the standings of all models in a metric."""
    models, first = list(evaluations), next(iter(evaluations.values()))
    values = np.column_stack([one.per_query[metric] for one in evaluations.values()])
    is_undefined = np.isnan(values).any(axis=1)
    values = np.where(np.expand_dims(is_undefined, 1), np.nan, values)
    sample = make_sample(values)
    limits = inference.intervals(sample, settings.confidence, [possible_values(metric, values)] * len(models))
    gain = gain_of(values, higher_is_better=metric not in first.lower_is_better)
    ranks = _ranks(gain, make_sample, settings.confidence)
    standings = [
        Standing(
            metric=metric,
            model=model,
            mean=float(sample.mean[j]),
            ci_low=limits[j].low,
            ci_high=limits[j].high,
            rank=ranks[j][0],
            rank_low=ranks[j][1],
            rank_high=ranks[j][2],
            n_queries=int(counting(values[:, j], first.weight).sum()),
            n_undefined=int(is_undefined.sum()),
        )
        for j, model in enumerate(models)
    ]
    return sorted(standings, key=lambda row: row.rank or 0)


def _ranks(
    gain: FloatArray, make_sample: Callable[[FloatArray], Sample], confidence: float
) -> list[tuple[int | None, int, int]]:
    """Return the rank of each model, and the lowest and highest rank that its differences to the others allow."""
    n_models, ranks = gain.shape[1], []
    for j in range(n_models):
        sample = make_sample(difference_of(gain[:, [j]], np.delete(gain, j, axis=1)))
        rank, low, high = None if np.isnan(sample.mean).any() else 1 + int((sample.mean < 0).sum()), 1, n_models
        if (sample.n_units > 1).all():
            level = inference.level_of_each(inference.influences(sample), confidence)
            limit = t_quantile(float(sample.degrees_of_freedom[0]), level) * sample.standard_error
            difference = sample.mean[~sample.is_constant]
            low += int((difference < -limit[~sample.is_constant]).sum())
            high -= int((difference > limit[~sample.is_constant]).sum())
        ranks.append((rank, low, high))
    return ranks
