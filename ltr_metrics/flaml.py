"""FLAML: `metric` for ``AutoML.fit(metric=...)``.

This module does not import flaml.
"""

from __future__ import annotations

import time
from typing import Any

from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts.facts import wrong_host
from ltr_metrics._hosts.host_metrics import HostMetrics, MetricFunction
from ltr_metrics._hosts.log_names import Names
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics

__all__ = ["metric"]


def metric(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    names: Names = "canonical",
) -> TrialMetric:
    """Return a metric function for FLAML's ``AutoML.fit(task="rank", metric=...)``.

    FLAML minimises, so its loss is minus the mean of the first metric: ``automl.best_loss`` is
    ``-0.61`` for a mean of 0.61. For a metric of which lower is better, the loss is its mean.
    FLAML's log has the means of all metrics.

    FLAML's own ``metric="ndcg"``, its default for ``task="rank"``, ranks all rows as if they
    were one query. Its ``"ndcg@10"`` evaluates each query, with the linear gain and 0
    for a query without a relevant document.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects. FLAML searches by the first one.
    ties, no_relevant, convention
        As for `ltr_metrics.evaluate`.
    names : {"canonical", "asked", "slug"} or mapping, default "canonical"
        Names in FLAML's log, as for `ltr_metrics.lightgbm.feval`.

    Returns
    -------
    callable
        A function with the arguments that FLAML passes, which returns the loss (lower is better)
        and a dict of what FLAML logs: the means and ``pred_time``, the seconds of the prediction
        per row, for ``pred_time_limit``. The weight of a query is the mean of its row weights.
        With ``eval_method="cv"``, FLAML averages the losses of the folds.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: for an unknown metric or an unusable name.
        In the search: without queries, that is without ``groups=``, for NaN predictions, for
        several predictions a row, and for a metric that is undefined for all queries.

    See Also
    --------
    ltr_metrics.sklearn.make_scorer : The same for scikit-learn's searches.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.flaml import metric
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> from flaml import AutoML  # doctest: +SKIP
    >>> automl = AutoML()  # doctest: +SKIP
    >>> automl.fit(  # doctest: +SKIP
    ...     X, y, groups=qid, task="rank", metric=metric("err@10"), estimator_list=["lgbm"], max_iter=20
    ... )

    What FLAML does in a trial:

    >>> class Ranker:
    ...     def predict(self, X):
    ...         return X[:, 0]
    >>> loss, logged = metric("err@10")(X, y, Ranker(), None, X, y, groups_val=qid)
    >>> loss == -ltr.evaluate(y, X[:, 0], qid=qid, metrics="err@10")["err@10"]
    True
    """
    resolved = HostMetrics(metrics, ties=ties, no_relevant=no_relevant, convention=convention, names=names)
    if resolved.request.needed_columns:
        raise LtrValueError(
            f"The metrics read the column {resolved.request.needed_columns[0]!r}, and FLAML passes its own copies of "
            "the rows, without further columns. Search with ltr_metrics.sklearn.make_scorer, or evaluate afterwards."
        )
    return TrialMetric(resolved)


class TrialMetric(MetricFunction):
    """The function that `metric` returns."""

    def __call__(
        self,
        X_val: Any = None,
        y_val: Any = None,
        estimator: Any = None,
        labels: Any = None,
        X_train: Any = None,
        y_train: Any = None,
        weight_val: Any = None,
        weight_train: Any = None,
        config: Any = None,
        groups_val: Any = None,
        groups_train: Any = None,
        *others: Any,
    ) -> tuple[float, dict[str, float]]:
        """Evaluate a trial's model on its validation rows; FLAML calls this."""
        if not hasattr(estimator, "predict") or y_val is None:
            raise wrong_host("ltr_metrics.flaml.metric is for AutoML.fit(metric=...) of FLAML.", X_val, y_val)
        if groups_val is None:
            raise LtrValueError(
                "FLAML passes no queries. Call AutoML.fit(task='rank', groups=qid), and groups_val= as well if you "
                "pass X_val."
            )
        start = time.perf_counter()
        scores = estimator.predict(X_val)
        seconds = time.perf_counter() - start
        queries = Queries(y_val, qid=groups_val, sample_weight=weight_val)
        means = self.metrics.evaluate_round(self.metrics.plan(), queries, scores, self)
        mean = next(iter(means.values()))
        loss = -mean if self.metrics.request.metrics[0].higher_is_better else mean
        return loss, means | {"pred_time": seconds / queries.n_rows}
