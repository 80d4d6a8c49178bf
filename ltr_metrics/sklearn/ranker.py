"""`QueryRanker`: a ranker that takes an id a row, and can therefore be cut into folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from ltr_metrics._engine.checks import AnyArray, as_numbers, refuse_different_indexes
from ltr_metrics._engine.grouping import group_by_ids
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.sklearn.columns import as_labels, as_table, as_weights, queries_of, without_column
from ltr_metrics.sklearn.early_stopping import StopEarly
from ltr_metrics.sklearn.evaluation_sets import Given, evaluation_sets, host_parameters
from ltr_metrics.sklearn.fitted import of_the_fitted_estimator
from ltr_metrics.sklearn.guard import Extents
from ltr_metrics.sklearn.scorer import QueryScorer, refuse_classifier
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import Training, clone_sharing_callbacks

try:
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:  # before 1.6 it was a method of BaseEstimator
    _validate_data = None


class QueryRanker(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Make a ranker take an id a row, so that it can be cut into folds, and stop early inside each of them.

    ``LGBMRanker.fit`` wants sizes of queries, which no cross-validation can split. This wrapper takes ``qid``, one entry a
    row in any order, brings the rows of a query together and hands the estimator what its ``fit`` has a parameter for:
    ``group`` (LightGBM), ``qid`` (XGBoost) or ``group_id`` (CatBoost); an estimator with none of them is fitted on the rows
    alone (a pointwise baseline).

    The estimator may be a `sklearn.pipeline.Pipeline`. Its steps never see the column of queries,
    and its last step gets the queries.

    Parameters
    ----------
    estimator : estimator
        For example ``LGBMRanker()``, or ``make_pipeline(StandardScaler(), LGBMRanker())``.
        It is cloned; its parameters are ``estimator__...``. The clone shares the estimator's
        ``callbacks``, so that what they collect or report arrives. With early stopping they may read the metric of each
        round, in XGBoost's log as ``evals_log["validation"]["ndcg_exp@10"]``.
    qid : str or int, default "qid"
        Column of X that holds the queries, if there is one; it is not shown to the estimator.
    early_stopping_rounds : int, optional
        Hold whole queries out of what ``fit`` gets, train on the others, stop when the metric on those held out has not risen
        for this many rounds, and predict with the best round. For estimators of LightGBM and XGBoost; LightGBM's own metrics are
        switched off in the clone (``metric="None"``). Default: train on all queries, for all rounds.
        The steps of a pipeline are fitted on the queries that are not held out.
    validation_fraction : float, default 0.2
        Share of the queries to hold out for early stopping, at least one.
    metric : str or Metric, default "ndcg@10"
        By which to stop, and what ``score`` returns; higher is better.
    random_state : int, numpy.random.RandomState or None
        Decides which queries are held out. Give a number in a search, so that all candidates get the same ones.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    n_features_in_ : int
        Columns of X, without the queries' one.
    feature_names_in_ : ndarray of str
        Their names, if all are text.
    queries_ : dict
        For each query that it was fitted on, held out or not, the number of its documents and the sum of their grades, by
        which the scorer knows a query that a fold has cut in two.
    n_rounds_ : int
        Boosting rounds that ``predict`` uses; only with early stopping.
    validation_qid_ : ndarray
        Ids of the queries that were held out; only with early stopping.
    feature_importances_, coef_, intercept_ : ndarray
        Those of the fitted estimator, if it has them. They belong to the columns of X without the
        column of queries. Those of a pipeline's last step are available if the steps before it
        keep the columns, as scalers do.
    best_iteration_, best_score_, evals_result_ : object
        Those of the fitted estimator or last step, if it has them, in the form of its library.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.sklearn import QueryRanker
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=10, n_jobs=1, verbose=-1)).fit(X, y, qid=qid)
    >>> ranker.predict(X).shape == y.shape
    True

    With early stopping, in a fold as well as here:

    >>> ranker = QueryRanker(
    ...     lgb.LGBMRanker(n_estimators=500, n_jobs=1, verbose=-1), early_stopping_rounds=5, metric="err@10", random_state=0
    ... )
    >>> ranker = ranker.fit(X, y, qid=qid)
    >>> ranker.n_rounds_ < 100, len(ranker.validation_qid_)
    (True, 6)
    """

    # scikit-learn reads these: fit and score ask for qid without being told; what it cannot see in fit's **fit_params
    # becomes a parameter of set_fit_request.
    __metadata_request__fit: ClassVar[dict[str, bool | None]] = {"qid": True} | dict.fromkeys(
        ("init_score", "base_margin", "eval_set", "eval_X", "eval_y", "eval_qid", "eval_group", "eval_metric")
    )
    __metadata_request__score: ClassVar[dict[str, bool | None]] = {"qid": True}

    def __init__(
        self,
        estimator: Any = None,
        qid: str | int = "qid",
        *,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.2,
        metric: Metrics = "ndcg@10",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.qid = qid
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, **fit_params: Any) -> QueryRanker:
        """Fit a clone of the estimator.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        qid : array-like of shape (n_rows,), optional
            Queries, if they are no column of X.
        sample_weight : array-like of shape (n_rows,), optional
            One a row; where the estimator takes ``qid`` and, as XGBoost does, one weight a query, their mean. Queries held out
            for early stopping weigh the mean of theirs.
        **fit_params
            Passed on to the estimator, brought into the same order, and cut into both parts, if they have an entry a row.
            A pipeline's last step gets them, with its name as a prefix or without.

            Evaluation sets (``eval_set``, or ``eval_X`` and ``eval_y``) lose their column of
            queries, as X does, and are transformed by the steps of a pipeline. A ranker needs the
            queries of each set. They come from this column, or from ``eval_qid``, a list with one
            array of ids for each set. Pass one weight a row for evaluation sets: XGBoost's rankers
            get the mean of each query.
        """
        _refuse_what_is_no_ranker(self.estimator)
        fit_params = Steps(self.estimator).parameters_of_last(_without_none(sample_weight=sample_weight) | fit_params)
        sample_weight = fit_params.pop("sample_weight", None)
        refuse_different_indexes(X=X, y=y, qid=qid, sample_weight=sample_weight)
        given, X, y = (X, y), as_table(X), as_labels(y)
        ids, features = queries_of(X, qid, self.qid, "QueryRanker.fit"), without_column(X, self.qid)
        self._look_at_features(features, reset=True)
        weights = None if sample_weight is None else as_weights(sample_weight)
        rows = {"X": features, "y": y} | _without_none(sample_weight=weights)
        grouping, labels = group_by_ids(ids), _finite(y)
        self._fit_clone(Training.of(rows, fit_params, grouping), Given(*given, self.qid, grouping))
        self.queries_ = Extents.of(grouping, labels, from_X=qid is None)
        return self

    def _fit_clone(self, training: Training, given: Given) -> None:
        estimator = clone_sharing_callbacks(self.estimator)
        steps = Steps(estimator)
        for attribute in ("n_rounds_", "validation_qid_"):
            self.__dict__.pop(attribute, None)
        if self.early_stopping_rounds is None:
            self._fit_on_all(steps, training, given)
        else:
            stop = StopEarly(
                self.early_stopping_rounds, self.validation_fraction, self._scorer().metrics, self.random_state
            )
            self.n_rounds_, self.validation_qid_ = stop.fit(steps, training)
        self.estimator_ = estimator

    def _fit_on_all(self, steps: Steps, training: Training, given: Given) -> None:
        sets = evaluation_sets(training.others, given)
        for one in sets:
            if not (one.is_training or one.is_ready):
                with naming(one.name):
                    self._look_at_features(one.X, reset=False)
        training = steps.fit_transform(training)
        training = replace(training, others=host_parameters(sets, training.others, steps, training))
        training.fit(steps.last)

    feature_importances_ = of_the_fitted_estimator("feature_importances_", of_columns=True)
    coef_ = of_the_fitted_estimator("coef_", of_columns=True)
    intercept_ = of_the_fitted_estimator("intercept_")
    best_iteration_ = of_the_fitted_estimator("best_iteration_")
    best_score_ = of_the_fitted_estimator("best_score_")
    evals_result_ = of_the_fitted_estimator("evals_result_")

    def predict(self, X: Any) -> Any:
        """Return a score a row; a column of queries is ignored."""
        check_is_fitted(self, "estimator_")
        features = without_column(as_table(X), self.qid)
        self._look_at_features(features, reset=False)
        return self.estimator_.predict(features)

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of ``metric`` over the queries of X.

        Parameters
        ----------
        X, y, qid
            As for ``fit``.
        sample_weight : array-like of shape (n_rows,), optional
            One a row; a query's weight is their mean.
        """
        check_is_fitted(self, "estimator_")
        return float(self._scorer()(self, X, y, qid=qid, sample_weight=sample_weight))

    def _look_at_features(self, features: Any, *, reset: bool) -> None:
        """Take down the number and the names of the features, or compare them with those of the fit, as scikit-learn does."""
        if 0 in features.shape:
            raise LtrValueError(
                f"X must have rows and, besides a column of queries, features: got {features.shape[0]} row(s) and {features.shape[1]} "
                f"feature(s) (shape={tuple(features.shape)}) while a minimum of 1 is required."
            )
        try:
            if _validate_data is None:
                self._validate_data(features, reset=reset, cast_to_ndarray=False)
            else:
                _validate_data(self, features, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise LtrValueError(f"{error} (The column {self.qid!r} of queries is not counted.)") from None

    def _scorer(self) -> QueryScorer:
        scorer = QueryScorer(self.metric, self.qid)
        if not scorer.is_single:
            raise LtrTypeError(
                f"metric must be one metric, to stop and to score by. Got {self.metric!r}. For several pass scoring=make_scorer([...])."
            )
        return scorer

    def __sklearn_tags__(self) -> Any:  # scikit-learn before 1.6 does not ask
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.positive_only = True  # grades
        if hasattr(self.estimator, "__sklearn_tags__"):
            of_estimator = get_tags(self.estimator)
            tags.input_tags = of_estimator.input_tags
            tags.non_deterministic = of_estimator.non_deterministic
            tags.estimator_type = of_estimator.estimator_type
            tags.classifier_tags, tags.regressor_tags = of_estimator.classifier_tags, of_estimator.regressor_tags
        return tags


def _finite(y: Any) -> AnyArray:
    labels = as_numbers(y, "y")
    bad = ~np.isfinite(labels)
    if bad.any():
        row = int(bad.argmax())
        raise LtrValueError(f"y must be finite: got {labels[row]:g} at row {row}. Drop the rows that have no label.")
    return labels


def _refuse_what_is_no_ranker(estimator: Any) -> None:
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise LtrTypeError(f"QueryRanker needs an estimator such as LGBMRanker(). Got {estimator!r}.")
    last = Steps(estimator).last
    if last is not estimator and not (hasattr(last, "fit") and hasattr(last, "predict")):
        raise LtrTypeError(
            "The last step of a Pipeline must be a ranker or a regressor, such as LGBMRanker(). Got "
            f"{last!r}, which has no predict."
        )
    refuse_classifier(estimator)


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
