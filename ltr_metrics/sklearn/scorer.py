"""`make_scorer`: a metric, or several, as the ``scoring=`` of searches and cross-validation."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import MetadataRequest

from ltr_metrics._hosts.host_metrics import HostMetrics, MetricFunction
from ltr_metrics._hosts.known_hosts import with_metrics, wrong_host
from ltr_metrics._hosts.log_names import Names
from ltr_metrics._rows.checks import as_numbers, refuse_different_indexes
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName, NoRelevant, PartOfSearch, TiePolicy
from ltr_metrics.errors import LtrTypeError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.means import refuse_undefined_means
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.logs.search_log import SearchLog
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.sklearn.columns import as_labels, as_table, columns_by_name, queries_of, read_columns
from ltr_metrics.sklearn.guard import column_of_ranker, part_of, warn_of_ids_as_a_feature


@with_metrics
@explaining_calls
def make_scorer(
    metrics: Metrics,
    qid: str | int | None = None,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: SearchLog | None = None,
    names: Names = "asked",
    columns: Any = None,
) -> QueryScorer:
    """Return a scorer for ``GridSearchCV``, ``RandomizedSearchCV`` and ``cross_validate``.

    Searches maximise, so higher scores are better. The score of a metric where lower is better is
    its negative mean, as with ``greater_is_better=False`` in scikit-learn.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). One metric gives a float. A list
        gives a dict from one prediction, with the names that ``names`` selects. A search's
        ``refit=`` must then be one of these names: by default a metric as you typed it, with its
        name in lower case.
    qid : str or int, optional
        Column of X that holds the queries: a name, or an index for arrays. By default it is the
        ``qid`` of the scored `QueryRanker`, and ``"qid"`` for other estimators. Pass an index if
        the `QueryRanker` is the last step of a pipeline, because other steps may move columns. It
        is not needed if ``qid`` is routed.
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
        Name of another system, such as ``"trec_eval"``, or a `Convention`. Its choices fill in what
        the metric names, ``ties`` and ``no_relevant`` leave open. A scorer does not follow the gain
        of the estimator's host (``label_gain``, ``ndcg_exp_gain``), since a search compares all
        candidates by one metric. Write another gain into the name, such as ``"ndcg_lin@10"``.
    log : SearchLog, optional
        Records the values per query of every candidate and fold in a folder, also from worker
        processes (``n_jobs=2``).
    names : {"asked", "canonical", "slug"} or mapping, default "asked"
        Names in ``cv_results_``, and for ``refit=``. ``"asked"`` is a metric as you typed it, with
        its name in lower case, and the canonical name of a metric object. ``"canonical"`` is
        ``str(metric)``, such as ``ndcg_exp@10``, and ``"slug"`` is ``metric.slug``, which
        experiment trackers accept. A mapping gives names of your own, such as ``{"ndcg@10": "val
        ndcg"}``. Its keys are metrics as you asked for them, or canonical names. Metrics that are
        not in it are named as you typed them. A metric in two spellings is scored once, under the
        first. You can look up values in the log by each of these names.
    columns : sequence of str, or mapping of str to str or int, optional
        Other required columns, which metrics such as ``sum_of(revenue)@10`` read from X. A mapping
        gives their names in metrics, such as ``{"revenue": 5}`` for an array. The default is the
        columns that the metrics name. Hide a column from the estimator with ``columns`` of
        `QueryRanker`, unless it is known before the ranking.

    Returns
    -------
    QueryScorer
        ``scorer(estimator, X, y, *, qid=None, sample_weight=None)``. It requests ``qid``. It
        requests ``sample_weight`` (one per row) after ``set_score_request(sample_weight=True)``.

    Raises
    ------
    LtrValueError, LtrTypeError
        On scoring: if there are no queries, or if two of these differ: a routed ``qid``, the column
        of the scorer and the column of the `QueryRanker`. Also for a split that cuts queries, for
        a classifier, whose classes are not scores, for several predictions per row, and for a
        metric that is undefined for all queries. Also if X lacks a column that a metric reads.
        scikit-learn turns these errors into NaN scores and warnings, unless you pass
        ``error_score="raise"`` to the search or the cross-validation.

    Warns
    -----
    LtrWarning
        On scoring: if the estimator is not in a `QueryRanker` and was trained on the column of
        queries.

    See Also
    --------
    QueryRanker : A ranker that searches and cross-validation can split.
    ltr_metrics.SearchLog : Keep the values per query of every candidate.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr, pandas as pd
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from ltr_metrics.sklearn import QueryRanker, make_scorer
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> frame = pd.DataFrame(X).add_prefix("f").assign(qid=qid)
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=10, n_jobs=1, verbose=-1))
    >>> scorer = make_scorer("ndcg@10")
    >>> search = GridSearchCV(
    ...     ranker, {"estimator__num_leaves": [4, 15]}, scoring=scorer, cv=GroupKFold(3), error_score="raise"
    ... )
    >>> search = search.fit(frame, y, groups=qid)
    >>> bool(0.5 < search.best_score_ < 1)
    True
    """
    policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
    return QueryScorer(metrics, qid, columns=columns, log=log, names=names, **policy)


class QueryScorer(MetricFunction):
    """A scorer that evaluates per query; `make_scorer` returns it.

    Call it as ``scorer(estimator, X, y, qid=None, sample_weight=None)``. It returns a float for one
    metric, and a dict for a list of metrics.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``).
    qid : str or int, optional
        Column of X that holds the queries, if it is not routed. By default it is that of the scored
        `QueryRanker`, and ``"qid"`` for other estimators.
    columns : sequence of str, or mapping of str to str or int, optional
        Other required columns, which metrics read from X.
    log, ties, no_relevant, convention, names : optional
        As for `make_scorer`.

    See Also
    --------
    make_scorer : Make one.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.sklearn import QueryRanker, make_scorer
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=10, n_jobs=1, verbose=-1)).fit(X, y, qid=qid)
    >>> scorer = make_scorer(["ndcg@10", "mrr"]).set_score_request(sample_weight=True)
    >>> sorted(scorer(ranker, X, y, qid=qid))
    ['mrr', 'ndcg@10']
    >>> scorer.get_metadata_routing().score.requests
    {'qid': True, 'sample_weight': True}
    """

    def __init__(
        self,
        metrics: Metrics,
        qid: str | int | None = None,
        *,
        columns: Any = None,
        log: SearchLog | None = None,
        ties: TiePolicy | None = None,
        no_relevant: NoRelevant | float | None = None,
        convention: ConventionName | Convention | None = None,
        names: Names = "asked",
    ) -> None:
        policy: dict[str, Any] = {"ties": ties, "no_relevant": no_relevant, "convention": convention}
        super().__init__(HostMetrics(metrics, **policy, names=names))
        self.columns = columns_by_name(self.metrics.request.needed_columns) | columns_by_name(columns)
        if log is not None and not isinstance(log, SearchLog):
            raise LtrTypeError(
                f"log must be a SearchLog for a scorer, such as ltr_metrics.SearchLog('folder'). Got {log!r}."
            )
        self.log = log
        self.qid = qid
        self.is_single = isinstance(metrics, (str, Metric)) or callable(metrics)
        self._requests: dict[str, Any] = {"qid": True, "sample_weight": None}

    def __call__(self, estimator: Any, X: Any, *y: Any, **routed: Any) -> Any:
        """Return the metric of the estimator's predictions, or a dict of several metrics.

        Call it as ``scorer(estimator, X, y, qid=None, sample_weight=None)``. The signature does not
        say so because LightGBM counts parameters: with five, it would fail before our error can
        name the right adapter.
        """
        if not hasattr(estimator, "predict"):
            raise wrong_host("A scorer is for scikit-learn, which passes an estimator, X and y.", estimator, X, *y)
        result, part = self._score(estimator, X, *y, **routed)
        if self.log is not None:
            self.log.record(estimator.get_params(), result, part)
        refuse_undefined_means(result)  # after the record: a fold without a mean is a fold
        plan = self.metrics.plan()
        directions = plan.directions
        scores = {name: mean if directions[name] else -mean for name, mean in plan.named(result.mean).items()}
        return next(iter(scores.values())) if self.is_single else scores

    def _score(
        self, estimator: Any, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None
    ) -> tuple[Evaluation, PartOfSearch | None]:
        refuse_classifier(estimator)
        refuse_different_indexes(X=X, y=y, qid=qid, sample_weight=sample_weight)
        table = as_table(X)
        of_ranker = column_of_ranker(estimator)
        column = self.qid if self.qid is not None else of_ranker if of_ranker is not None else "qid"
        ids, labels = queries_of(table, qid, column, "the scorer"), as_labels(y)
        if of_ranker not in (None, column):
            # It is an error if the ranker has other queries.
            queries_of(table, ids, of_ranker, f"the scorer with qid={column!r}")
        columns = read_columns(table, self.columns, "The scorer")
        queries = Queries(labels, qid=ids, sample_weight=sample_weight, columns=columns)
        part = part_of(estimator, X, queries, as_numbers(labels, "y"))
        warn_of_ids_as_a_feature(estimator, table, column)
        return self.metrics.plan().evaluate(queries, estimator.predict(X)), part

    def set_score_request(self, **requests: bool | str | None) -> QueryScorer:
        """Change what metadata routing passes to the scorer.

        Parameters
        ----------
        **requests
            ``qid`` (requested by default) and ``sample_weight`` (not requested by default): True,
            False, None for an error if it is passed, or the name under which it is passed.

        Returns
        -------
        QueryScorer
            The scorer itself.
        """
        self._requests |= requests
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata that this scorer requests, for scikit-learn.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            The requests for ``qid`` and ``sample_weight``.
        """
        request = MetadataRequest(owner=type(self).__name__)
        for parameter, alias in self._requests.items():
            request.score.add_request(param=parameter, alias=alias)
        return request


def refuse_classifier(estimator: Any) -> None:
    """Raise an error for an estimator that predicts classes."""
    knows_its_kind = hasattr(estimator, "__sklearn_tags__") or hasattr(estimator, "_estimator_type")
    if knows_its_kind and is_classifier(estimator):
        raise LtrTypeError(
            f"predict of the classifier {type(estimator).__name__} gives classes, not scores: nearly all documents "
            "would tie. Use a ranker or a regressor."
        )
