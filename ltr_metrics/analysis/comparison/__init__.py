"""Models against a baseline on the same queries: differences, intervals, tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ltr_metrics._engine.per_query import labels_of
from ltr_metrics._engine.words import ConventionName, Correction, CorrectionOver, Interval, NoRelevant, Test, TiePolicy
from ltr_metrics.analysis.comparison.models import models_from
from ltr_metrics.analysis.comparison.result import Comparison, Difference
from ltr_metrics.analysis.comparison.settings import Settings, seed_from
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics

__all__ = ["Comparison", "Difference", "Settings", "compare"]


def compare(
    models: Mapping[str, Any],
    y_true: Any = None,
    *,
    metrics: Metrics | None = None,
    baseline: str | None = None,
    test: Test = "randomization",
    correction: Correction = "holm",
    correction_over: CorrectionOver = "models",
    interval: Interval = "wider",
    confidence: float = 0.95,
    power: float = 0.8,
    n_resamples: int = 10_000,
    cluster: Any = None,
    random_state: Any = 0,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    n_threads: int | None = None,
    **data: Any,
) -> Comparison:
    """Compare models with a baseline on the same queries.

    The queries are the sample: intervals and p-values say what other queries of the same kind would show, of these very models.

    Parameters
    ----------
    models : mapping of str to array-like, Positions, Evaluation, or list of these
        Two or more, or a DataFrame of scores, a column a model. Results are paired by query id,
        whose type may differ: 7 and ``"7"`` are one query.
        A model is scores, one a row; a ranking by places, ``Positions``; a result, such as a saved one; or a list of these, the
        seeds of one model (or an array of shape (n_seeds, n_rows)), whose values are averaged query by query.
    y_true : array-like of shape (n_rows,)
        Grades. Left out if all models are results.
    metrics : str, Metric, or several of them, optional
        Default: those of the results if there are any, else the default of `evaluate`.
    baseline : str, optional
        The model that the others are compared with. Default: the first.
    test : {"randomization", "t", "wilcoxon", "sign"}, default "randomization"
        Paired, two-sided. The randomization test swaps the two models' values in random queries (Fisher 1935; Smucker, Allan and
        Carterette, CIKM 2007), in all possible ways if these are few. Wilcoxon and sign know neither weights nor clusters.
    correction : {"holm", "bonferroni", "bh", "none"}, default "holm"
        Of the p-values for the number of models (intervals are not corrected).
    correction_over : {"models", "all"}, default "models"
        Whether for the models of each metric, or for all metrics and models.
    interval : {"wider", "bca", "percentile", "t"}, default "wider"
        Interval of the difference, which the gate uses too. ``"bca"`` and ``"percentile"`` are
        bootstraps over queries; ``"bca"`` is corrected for bias and skewness (Efron 1987). ``"t"``
        is Student's. ``"wider"`` takes the wider of ``"bca"`` and ``"t"`` at each end.
    confidence : float, default 0.95
        Of the interval.
    power : float, default 0.8
        With which the smallest detectable difference (``mde``) would show at the level 1 - confidence.
    n_resamples : int, default 10_000
        Randomizations, and bootstrap samples.
    cluster : array-like, optional
        A label a query or a row (a user, a query text): clusters are resampled and swapped whole, for impressions of one text are
        not independent.
    random_state : int, numpy.random.Generator or None, default 0
        The same number gives the same result.
    ties, no_relevant, convention, n_threads
        As for `ltr_metrics.evaluate`.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`: ``query_weight`` counts in means, tests and intervals
        (the plain ones stand beside them), ``by`` gives the comparison in each segment, ``comparison.by``. Of results alone, these and
        ``cluster`` are by query id (a mapping of weights, a pandas Series), or in the order of the first model's queries.

    Returns
    -------
    Comparison
        ``comparison["map", "new"]`` is a `Difference`; `Comparison.to_pandas`, `Comparison.to_dict`.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        As `ltr_metrics.evaluate`; also if results are of other queries, other data, other options or other weights than the rest,
        and if there are fewer than two queries, or clusters, to compare.

    Notes
    -----
    A query that a metric leaves out for one of two models is left out of their comparison, and counted (``n_undefined``).

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
    >>> comparison = ltr.compare({"base": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid=qid, metrics=["ndcg@10", "map"])
    >>> found = comparison["ndcg@10"]
    >>> found.ci_low <= found.difference <= found.ci_high
    True
    >>> comparison.changes("map").improved.shape[0] == comparison["map"].wins
    True
    """
    settings = Settings(
        test, correction, correction_over, interval, confidence, power, n_resamples, seed_from(random_state)
    )
    options = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
    found, rows = models_from(models, y_true, data, metrics, options, n_threads)
    names = list(found)
    baseline = names[0] if baseline is None else str(baseline)
    if baseline not in found:
        raise LtrKeyError(
            f"There is no model {baseline!r} to be the baseline.{did_you_mean(baseline, names)} There are {', '.join(map(repr, names))}."
        )
    first = found[baseline].evaluation
    if first.n_queries < 2:
        raise LtrValueError("There is one query only: what others would show cannot be told from it. Use evaluate.")
    if first.weight is not None and not first.weight.any():
        raise LtrValueError(
            "All query weights are 0: no query counts. Leave query_weight out, or give some queries a weight."
        )
    clusters = None if cluster is None else labels_of(rows, "cluster", cluster)
    if clusters is not None and len(clusters[0]) < 2:
        raise LtrValueError(
            f"All queries are of one cluster, {clusters[0][0]!r}: what others would show cannot be told from it."
        )
    comparison = Comparison(
        evaluations={name: found[name].evaluation for name in sorted(names, key=lambda name: name != baseline)},
        baseline=baseline,
        settings=settings,
        cluster=None if clusters is None else clusters[1],
        seeds={name: model.seeds for name, model in found.items() if model.seeds},
    )
    _ = comparison.rows  # here and now, with its errors
    return comparison
