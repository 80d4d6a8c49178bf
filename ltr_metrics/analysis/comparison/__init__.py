"""Comparison of models with a baseline on the same queries: differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ltr_metrics._engine.checks import IntArray
from ltr_metrics._engine.per_query import labels_of
from ltr_metrics._engine.words import (
    ConventionName,
    Correction,
    CorrectionOver,
    Interval,
    NoRelevant,
    QueriesOfComparison,
    Test,
    TiePolicy,
)
from ltr_metrics.analysis.clusters import common_clusters, require_clusters
from ltr_metrics.analysis.comparison.models import Models, models_from
from ltr_metrics.analysis.comparison.result import Comparison, Difference
from ltr_metrics.analysis.comparison.settings import Settings, seed_from
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.result import Evaluation
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
    queries: QueriesOfComparison = "same",
    random_state: Any = 0,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    n_threads: int | None = None,
    **data: Any,
) -> Comparison:
    """Compare models with a baseline on the same queries.

    The queries are a sample. Intervals and p-values generalize to other queries of the same kind,
    for these same models.

    Parameters
    ----------
    models : mapping of str to array-like, Positions, Evaluation, or list of these
        Two or more models by name, or a DataFrame of scores with a column for each model. A model
        is given as one of these:

        - scores, one a row
        - ``Positions``, the positions of the documents in a ranking
        - a result of `evaluate`, such as a saved one. Results are paired by query id, whose type
          may differ: 7 and ``"7"`` are the same query.
        - a list of these, one for each random seed, or an array of shape (n_seeds, n_rows). The
          values of the seeds are averaged query by query.
    y_true : array-like of shape (n_rows,), or Queries
        Grades. Leave them out if all models are results. Or `Queries`, which have all options for
        the data.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is the metrics of the
        results if there are any, else the default of `evaluate`.
    baseline : str, optional
        The model that the others are compared with. Default: the first.
    test : {"randomization", "t", "wilcoxon", "sign"}, default "randomization"
        Paired, two-sided. The randomization test swaps the two models' values in random queries
        (Fisher 1935; Smucker, Allan and Carterette, CIKM 2007), in all possible ways if these are
        few. Wilcoxon and sign support neither weights nor clusters.
    correction : {"holm", "bonferroni", "bh", "none"}, default "holm"
        Correction of the p-values for the number of models. Intervals are not corrected.
    correction_over : {"models", "all"}, default "models"
        Whether to correct over the models of each metric, or over all metrics and models.
    interval : {"wider", "bca", "percentile", "t"}, default "wider"
        Confidence interval of the difference, which the gate uses too. ``"bca"`` and
        ``"percentile"`` are bootstraps over queries; ``"bca"`` is corrected for bias and skewness
        (Efron 1987). ``"t"`` is Student's. ``"wider"`` takes the wider of ``"bca"`` and ``"t"`` at
        each end.
    confidence : float, default 0.95
        Confidence level of the interval.
    power : float, default 0.8
        Power of the minimum detectable effect (``mde``), for a test at level 1 - confidence.
    n_resamples : int, default 10_000
        Number of randomizations, and of bootstrap samples.
    cluster : array-like, optional
        A label a query or a row, such as a user or a query text. Clusters are resampled and swapped
        as a whole, because the impressions of one user or text are not independent. Default: the
        clusters of the results or `Queries`, if they have any.
    queries : {"same", "common"}, default "same"
        ``"same"`` raises an error if results have different queries. ``"common"`` compares the
        queries that all models have. The result says how many of each model were left out. Be sure
        that queries are missing for a reason that has nothing to do with the models.
    random_state : int, numpy.random.Generator or None, default 0
        Random seed. The same number gives the same result.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied
        documents (default), input order, lower or higher grade first, or descending
        document id.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names, ``ties`` and
        ``no_relevant``.
    n_threads : int, optional
        Maximum number of threads. One thread is used per 500,000 rows, and never more
        than the CPUs available to the process. The default is one thread in a worker (a
        thread, or a process that multiprocessing or joblib started), and otherwise at
        most ``OMP_NUM_THREADS``. The values do not depend on it. A metric of your own
        may be called from several threads at once.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`. ``query_weight``
        counts in means, tests and intervals; the unweighted ones are given as well. ``by`` adds the
        comparison in each segment, ``comparison.by``. If all models are results, these options and
        ``cluster`` are given by query id (a mapping of weights, a pandas Series), or in the order
        of the first model's queries.

    Returns
    -------
    Comparison
        One `Difference` per metric and model: ``comparison["map"]``, or ``comparison["map",
        "new"]`` if there are several models beside the baseline.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        As for `ltr_metrics.evaluate`; also if results differ from the rest in queries, data,
        options or weights, and if there are fewer than two queries, or clusters, to compare.

    See Also
    --------
    gate : Check a comparison against rules that a release must pass.
    evaluate : Evaluate one model.
    churn : How much the first ranks of two models differ.

    Notes
    -----
    A query that a metric leaves out for one of two models is left out of their comparison.
    ``n_undefined`` counts such queries.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
    >>> scores = {"base": X[:, 0], "new": X[:, 0] + X[:, 1]}
    >>> comparison = ltr.compare(scores, y, qid=qid, metrics=["ndcg@10", "map"])
    >>> row = comparison["ndcg@10"]
    >>> row.ci_low <= row.difference <= row.ci_high
    True
    >>> comparison.changes("map").improved.shape[0] == comparison["map"].wins
    True
    """
    settings = Settings(
        test, correction, correction_over, interval, confidence, power, n_resamples, seed_from(random_state)
    )
    options = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
    compared = models_from(models, y_true, data, metrics, options, n_threads, queries)
    evaluated = compared.by_name
    names = list(evaluated)
    baseline = names[0] if baseline is None else str(baseline)
    if baseline not in evaluated:
        raise LtrKeyError(
            f"There is no model {baseline!r} to be the baseline.{did_you_mean(baseline, names)} There are "
            f"{', '.join(map(repr, names))}."
        )
    _require_a_sample(evaluated[baseline].evaluation)
    comparison = Comparison(
        evaluations={name: evaluated[name].evaluation for name in sorted(names, key=lambda name: name != baseline)},
        baseline=baseline,
        settings=settings,
        cluster=_clusters(compared, cluster),
        n_left_out=compared.n_left_out,
        seeds={name: model.seeds for name, model in evaluated.items() if model.seeds},
    )
    _ = comparison.rows  # compute them now, so that errors are raised here
    return comparison


def _require_a_sample(result: Evaluation) -> None:
    if result.n_queries < 2:
        raise LtrValueError(
            "There is one query only, and a comparison needs two or more to estimate how queries vary. Use evaluate."
        )
    if result.weight is not None and not result.weight.any():
        raise LtrValueError(
            "All query weights are 0: no query counts. Leave query_weight out, or give some queries a weight."
        )


def _clusters(compared: Models, cluster: Any) -> IntArray | None:
    """Return the number of each query's cluster: of new labels, or of the clusters that results have."""
    if cluster is None:
        codes = common_clusters([model.evaluation for model in compared.by_name.values()])
    else:
        codes = labels_of(compared.rows, "cluster", cluster)[1][compared.kept]
    if codes is not None:
        require_clusters(codes, "a comparison")
    return codes
