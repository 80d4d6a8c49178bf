"""The result of a comparison: the differences to the baseline, with their uncertainty."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._engine.ids import order_of_ids
from ltr_metrics._engine.plain import none_if_nan, plain_id, to_dataframe
from ltr_metrics._engine.printed import Note, Printed, Table
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics.analysis.comparison.names import name_in
from ltr_metrics.analysis.comparison.settings import Settings
from ltr_metrics.analysis.comparison.table import printed
from ltr_metrics.analysis.inference import (
    Sample,
    correct,
    effect_size,
    intervals,
    minimum_detectable_effects,
    p_values,
)
from ltr_metrics.errors import LtrKeyError, did_you_mean
from ltr_metrics.evaluation.change import Change, change_of, gain_of
from ltr_metrics.evaluation.means import mean
from ltr_metrics.evaluation.result import Evaluation, query_positions, take_queries
from ltr_metrics.evaluation.segments import Segments, iter_segments, split_by_segment
from ltr_metrics.metrics.base import Metric

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "metric",
    "model",
    "baseline",
    "mean",
    "difference",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "effect_size",
    "wins",
    "ties",
    "losses",
    "mde",
    "n_queries",
)
UNWEIGHTED_COLUMNS = ("mean", "difference", "ci_low", "ci_high", "p_value")  # given beside the weighted ones


@dataclass(frozen=True)
class Difference:
    """One model against the baseline in one metric, over the queries that both have a value for.

    Attributes
    ----------
    metric : str
        Canonical name of the metric.
    model, baseline : str
        Names of the two models.
    mean, baseline_mean, difference : float
        Means over queries, weighted if there are weights; difference = mean - baseline_mean.
    ci_low, ci_high : float
        Confidence interval of the difference, which the gate uses too.
    p_value, p_adjusted : float
        Two-sided p-values of no difference, before and after the correction.
    exact : bool
        Whether the p-value is exact, rather than from random resamples or an approximation.
    effect_size : float
        The difference divided by the standard deviation of the queries' differences.
    wins, ties, losses : int
        Number of queries that gain, stay and lose. A query gains if its value becomes better.
    mde : float
        Minimum detectable effect at the power of the settings. A non-significant result does not
        rule out smaller differences.
    n_queries, n_undefined : int
        Number of queries that both have a value for, and of the other queries.
    n_effective : float
        Effective number of queries of equal weight (Kish); with clusters, of clusters.
    n_clusters : int or None
        Number of clusters that these queries belong to; None without clusters.
    plain : Difference or None
        The same without weights; None if there are no weights.
    higher_is_better : bool
        The direction of the metric. If it is False, a negative difference is an improvement.

    See Also
    --------
    compare : Return a comparison, which holds these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, qid = [1, 0, 0, 1, 1, 0], [1, 1, 2, 2, 3, 3]
    >>> scores = {"base": [1, 2, 1, 2, 1, 2], "new": [2, 1, 1, 2, 2, 1]}
    >>> row = ltr.compare(scores, y, qid=qid, metrics=["mrr"])["mrr"]
    >>> round(row.mean, 4), round(row.baseline_mean, 4), round(row.difference, 4)
    (1.0, 0.6667, 0.3333)
    >>> row.wins, row.ties, row.losses, row.p_value, row.exact
    (2, 1, 0, 0.5, True)
    >>> row.sample_size, row.to_dict()["n_queries"]
    ('3 queries', 3)
    """

    metric: str
    model: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    exact: bool
    effect_size: float
    wins: int
    ties: int
    losses: int
    mde: float
    n_queries: int
    n_undefined: int
    n_effective: float
    n_clusters: int | None = None
    plain: Difference | None = None
    higher_is_better: bool = True

    @property
    def sample_size(self) -> str:
        """Number of queries in words, with their clusters, and `n_effective` if it is less."""
        queries = f"{self.n_queries:,} {'query' if self.n_queries == 1 else 'queries'}"
        units = self.n_queries
        if self.n_clusters is not None:
            units = self.n_clusters
            queries += f" in {units:,} cluster{'s' * (units != 1)}"
        if self.n_effective > units - 1e-9:  # it is rounded
            return queries
        return f"{queries} (effective number {self.n_effective:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            The fields by name. ``plain`` is such a dict, or None.
        """
        plain: dict[str, Any] = {
            name: none_if_nan(value) if isinstance(value, float) else value
            for name, value in vars(self).items()
            if name != "plain"
        }
        return plain if self.plain is None else plain | {"plain": self.plain.to_dict()}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printed):
    """A comparison of models with a baseline, over the same queries.

    ``comparison["map"]`` is the `Difference` in a metric, and ``comparison["map", "new"]`` names
    the model if there are several.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        The evaluation of each model, the baseline first, with the same queries in the same order.
    baseline : str
        Name of the model that the others are compared with.
    settings : Settings
        Test, correction, interval, confidence, power, resamples, random state.
    cluster : ndarray of int or None
        Number of the cluster of each query.
    seeds : dict of str to dict of str to ndarray
        For models of several seeds, the mean of each seed by metric.
    n_left_out : dict of str to int
        With ``queries="common"``, how many queries of each model were left out; empty otherwise.

    See Also
    --------
    compare : Return one of these.
    gate : Check one against rules.
    ltr_metrics.report.ComparisonDisplay : A picture of one.

    Examples
    --------
    >>> import numpy as np
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> market = ["de", "fr", "it"] * 20
    >>> scores = {"base": X[:, 1], "new": X[:, 0] + X[:, 1]}
    >>> comparison = ltr.compare(scores, y, qid=qid, metrics=["ndcg@10", "map"], by=market)
    >>> comparison.baseline, comparison.models, comparison.metrics, comparison.n_queries
    ('base', ['new'], ['ndcg_exp@10', 'map'], 60)
    >>> comparison.higher_is_better("map")
    True
    >>> row = comparison["map"]
    >>> row == comparison.rows[1], row.difference > 0, row.p_value < 0.05
    (True, True, True)
    >>> bool(np.isclose(np.nanmean(comparison.differences("map")), row.difference))
    True
    >>> len(comparison.changes("map").improved) == row.wins, comparison.qid.shape, comparison.weight is None
    (True, (60,), True)
    >>> comparison.by["fr"].n_queries, [label for _, label, _ in comparison.segments()]
    (20, ['de', 'fr', 'it'])
    >>> comparison.subset([1, 2, 3])["map"].n_queries
    3
    >>> comparison.to_pandas()[["metric", "model"]].values.tolist()
    [['ndcg_exp@10', 'new'], ['map', 'new']]
    >>> sorted(comparison.to_dict())[:3]
    ['baseline', 'models', 'n_clusters']
    """

    evaluations: dict[str, Evaluation]
    baseline: str
    settings: Settings
    cluster: IntArray | None
    seeds: dict[str, dict[str, FloatArray]]
    n_left_out: dict[str, int] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        """Canonical names of the metrics, in the order of the request."""
        return list(self._base.per_query)

    @property
    def models(self) -> list[str]:
        """Names of the models without the baseline."""
        return [name for name in self.evaluations if name != self.baseline]

    @property
    def qid(self) -> AnyArray:
        """Id of each query, of shape (n_queries,)."""
        return self._base.qid

    @property
    def n_queries(self) -> int:
        """Number of queries compared, including those that a metric leaves out."""
        return self._base.n_queries

    @property
    def weight(self) -> FloatArray | None:
        """Weight of each query, of shape (n_queries,), or None."""
        return self._base.weight

    @property
    def _base(self) -> Evaluation:
        return self.evaluations[self.baseline]

    @cached_property
    def rows(self) -> tuple[Difference, ...]:
        """Differences of all models, metric by metric."""
        return tuple(_rows(self))

    def __getitem__(self, key: str | Metric | tuple[str | Metric, str]) -> Difference:
        """Return the difference in a metric, ``comparison["map"]``.

        If there are several models, name one: ``comparison["map", "new"]``.
        """
        metric, model = key if isinstance(key, tuple) else (key, None)
        name, model = self._metric(metric), self._model(model)
        return next(row for row in self.rows if (row.metric, row.model) == (name, model))

    def differences(self, metric: str | Metric, model: str | None = None) -> FloatArray:
        """Return model - baseline of each query, ordered like `qid`; NaN where one has no value.

        Parameters
        ----------
        metric : str or Metric
            One metric, by name or as an object.
        model : str, optional
            Name of the model. It can be left out if there is only one beside the baseline.

        Returns
        -------
        ndarray of float64 of shape (n_queries,)
            Positive where the model is better; negative, if lower is better for the metric.

        Raises
        ------
        LtrKeyError
            If the metric was not compared, or there is no such model.
        """
        name = self._metric(metric)
        values = self.evaluations[self._model(model)].per_query[name]
        return np.asarray(difference_of(values, self._base.per_query[name]))

    def changes(self, metric: str | Metric, model: str | None = None) -> Change:
        """Return which queries gain and which lose, the largest change first.

        Parameters
        ----------
        metric : str or Metric
            One metric, by name or as an object.
        model : str, optional
            Name of the model. It can be left out if there is only one beside the baseline.

        Returns
        -------
        Change
            ``improved`` (the value has become better), ``worsened`` and ``unchanged`` are query
            ids. ``difference`` is model - baseline, of shape (n_queries,), NaN where one has no
            value.

        Raises
        ------
        LtrKeyError
            If the metric was not compared, or there is no such model.
        """
        higher_is_better = self.higher_is_better(metric)
        return change_of(self.differences(metric, model), self.qid, higher_is_better=higher_is_better)

    def higher_is_better(self, metric: str | Metric) -> bool:
        """Return the direction of a metric.

        Parameters
        ----------
        metric : str or Metric
            One metric, by name or as an object.

        Returns
        -------
        bool
            False for a metric of which lower is better.

        Raises
        ------
        LtrKeyError
            If the metric was not compared.
        """
        return self._metric(metric) not in self._base.lower_is_better

    @cached_property
    def by(self) -> Segments:
        """Comparisons in each segment, by its label; with several segmentations, by name and label.

        The p-values are not corrected for the number of segments.
        """
        return split_by_segment(self._base.segments, self._part)

    def subset(self, qids: Any) -> Comparison:
        """Return the comparison on some queries, given by their ids as for `Evaluation.subset`.

        Parameters
        ----------
        qids : array-like
            Query ids without repetition, as for `Evaluation.subset`.

        Returns
        -------
        Comparison
            Its differences, intervals and p-values are those of these queries.

        Raises
        ------
        LtrKeyError
            If the comparison has no query of an id.
        LtrValueError, LtrTypeError
            If an id is repeated, or ``qids`` is not a sequence of ids.
        """
        evaluations = {name: result.subset(qids) for name, result in self.evaluations.items()}
        return replace(self._part(query_positions(self._base, qids)), evaluations=evaluations)

    def _part(self, chosen: BoolArray | IntArray) -> Comparison:
        """Return the comparison on some queries, given as one flag a query or as positions."""
        evaluations = {name: take_queries(result, chosen) for name, result in self.evaluations.items()}
        cluster = None if self.cluster is None else self.cluster[chosen]
        return replace(self, evaluations=evaluations, cluster=cluster, seeds={}, n_left_out={})

    def sample(self, columns: FloatArray, weight: FloatArray | None) -> Sample:
        """Return columns of differences as a sample; its order does not depend on the data's."""
        return Sample.in_order(self._order, columns, weight, self.cluster)

    @cached_property
    def _order(self) -> IntArray:
        """Positions of the queries sorted by id, so that no digit depends on the order of rows."""
        return order_of_ids(self._base.qid)

    def segments(self) -> list[tuple[str | None, Hashable, Comparison]]:
        """Return segmentation, segment and comparison of all segments.

        Returns
        -------
        list of tuple
            The name of the segmentation (None for the only one), the label of the segment, and its
            `Comparison`.
        """
        return list(iter_segments(self._base.segments, self.by))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per metric and model.

        Returns
        -------
        pandas.DataFrame
            The columns are metric, model, baseline, mean, difference, ci_low, ci_high, p_value,
            p_adjusted, effect_size, wins, ties, losses, mde and n_queries. With weights or clusters
            also n_effective, with clusters n_clusters, and with weights the unweighted plain_mean,
            plain_difference, ...
        """
        rows = []
        for row in self.rows:
            columns = {name: getattr(row, name) for name in COLUMNS}
            if row.plain is not None or self.cluster is not None:
                columns["n_effective"] = row.n_effective
            if row.n_clusters is not None:
                columns["n_clusters"] = row.n_clusters
            if row.plain is not None:
                columns |= {f"plain_{name}": getattr(row.plain, name) for name in UNWEIGHTED_COLUMNS}
            rows.append(columns)
        return to_dataframe(rows, columns=list(rows[0]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            The names, the settings, and under ``rows`` and ``segments`` the fields of each
            `Difference`.
        """
        return {
            "baseline": self.baseline,
            "models": self.models,
            "n_queries": self.n_queries,
            "weighted": self.weight is not None,
            "n_left_out": dict(self.n_left_out),
            "n_clusters": None if self.cluster is None else len(np.unique(self.cluster)),
            "settings": self.settings.to_dict(),
            "seeds": {
                name: {metric: list(map(none_if_nan, means.tolist())) for metric, means in of_seed.items()}
                for name, of_seed in self.seeds.items()
            },
            "rows": [row.to_dict() for row in self.rows],
            "segments": [
                {
                    "name": name,
                    "segment": plain_id(label),
                    "n_queries": part.n_queries,
                    "rows": [row.to_dict() for row in part.rows],
                }
                for name, label, part in self.segments()
            ],
        }

    def printed_parts(self) -> list[Table | Note]:
        """Return a table with a line for each metric and model, and a note on its columns."""
        return printed(self.to_dict())

    def _metric(self, key: str | Metric) -> str:
        return name_in(self._base, key)

    def _model(self, name: str | None) -> str:
        if name is None and len(self.models) == 1:
            return self.models[0]
        if name not in self.models:
            hint = "" if name is None else did_you_mean(name, self.models)
            raise LtrKeyError(
                f"Which model is to be compared with {self.baseline!r}? Got {name!r}.{hint} There are "
                f"{', '.join(map(repr, self.models))}."
            )
        return name


def _rows(comparison: Comparison) -> list[Difference]:
    """Return the differences; all metrics and models are resampled together."""
    keys = [(metric, model) for metric in comparison.metrics for model in comparison.models]
    columns = np.column_stack([comparison.differences(*key) for key in keys])
    sample = comparison.sample(columns, comparison.weight)
    if comparison.weight is not None:  # resample the unweighted columns too, which costs little more
        sample = sample.concat(comparison.sample(columns, None))
    settings = comparison.settings
    p, exact = p_values(sample, settings.test, settings.n_resamples, settings.seed)
    low, high = intervals(sample, settings.interval, settings.confidence, settings.n_resamples, settings.seed)
    inferred = {
        "p_value": p,
        "exact": exact,
        "ci_low": low,
        "ci_high": high,
        "mde": minimum_detectable_effects(sample, settings.confidence, settings.power),
        "n_effective": sample.n_effective,
        "n_clusters": sample.n_units,
    }
    n = len(keys)
    first, second = ({name: values[part] for name, values in inferred.items()} for part in (slice(n), slice(n, None)))
    rows = _differences(comparison, keys, columns, comparison.weight, first)
    if comparison.weight is None:
        return rows
    plain_rows = _differences(comparison, keys, columns, None, second)
    return [replace(row, plain=plain) for row, plain in zip(rows, plain_rows, strict=True)]


def _differences(
    comparison: Comparison,
    keys: list[tuple[str, str]],
    columns: FloatArray,
    weight: FloatArray | None,
    inferred: dict[str, AnyArray],
) -> list[Difference]:
    """Return the difference of each column, with the numbers that were inferred from it."""
    inferred |= {
        "p_adjusted": _corrected(inferred["p_value"], keys, comparison.settings),
        "effect_size": effect_size(columns, weight),
    }
    if comparison.cluster is None:
        del inferred["n_clusters"]
    rows = []
    for i, (metric, model) in enumerate(keys):
        column = columns[:, i]
        both = ~np.isnan(column)
        higher_is_better = comparison.higher_is_better(metric)
        gain = gain_of(column, higher_is_better=higher_is_better)
        means: dict[str, Any] = {
            field: mean(np.where(both, comparison.evaluations[name].per_query[metric], np.nan), weight)
            for field, name in (("mean", model), ("baseline_mean", comparison.baseline))
        }
        rows.append(
            Difference(
                metric=metric,
                model=model,
                baseline=comparison.baseline,
                **means,
                difference=mean(column, weight),
                wins=int((gain > 0).sum()),
                ties=int((column == 0).sum()),
                losses=int((gain < 0).sum()),
                n_queries=int(both.sum()),
                n_undefined=int((~both).sum()),
                higher_is_better=higher_is_better,
                **{name: values[i].item() for name, values in inferred.items()},
            )
        )
    return rows


def _corrected(p: FloatArray, keys: list[tuple[str, str]], settings: Settings) -> FloatArray:
    """Correct p-values over the models of each metric, or over all metrics and models."""
    if settings.correction_over == "all":
        return correct(p, settings.correction)
    adjusted = np.empty_like(p)
    for metric in dict.fromkeys(metric for metric, _ in keys):
        family = np.array([key[0] == metric for key in keys])
        adjusted[family] = correct(p[family], settings.correction)
    return adjusted
