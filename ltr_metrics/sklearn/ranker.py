"""`QueryRanker`: a ranker that takes a query id per row, so that folds can split its data."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from ltr_metrics._rows.checks import AnyArray, finite_numbers, refuse_different_indexes
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.requests import Metrics
from ltr_metrics.sklearn.columns import (
    as_labels,
    as_table,
    as_weights,
    columns_by_name,
    has_column,
    n_entries,
    queries_of,
    read_columns,
    warn_of_ids_among_features,
    without_columns,
)
from ltr_metrics.sklearn.early_stopping import fit_with_early_stopping, refuse_own_stopping
from ltr_metrics.sklearn.guard import Extents
from ltr_metrics.sklearn.scorer import QueryScorer, refuse_classifier
from ltr_metrics.sklearn.steps import Steps
from ltr_metrics.sklearn.training import PER_ROW, Training, clone_sharing_callbacks, refuse_unusable

try:
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:  # before 1.6 it was a method of BaseEstimator
    _validate_data = None


def fitted_attribute(name: str, *, per_column: bool = False) -> property:
    """Return a property with an attribute of the fitted estimator, or of a pipeline's last step.

    ``per_column`` says that the attribute has one entry per column, which must be a column of X.
    """

    def get(ranker: QueryRanker) -> Any:
        check_is_fitted(ranker, "estimator_")
        steps = Steps(ranker.estimator_)
        value = getattr(steps.last, name)
        if value is None or (per_column and np.ndim(value) == 0):  # CatBoost under ranking losses
            raise AttributeError(f"{type(steps.last).__name__} has no {name} after this training.")
        if per_column:
            if not all(isinstance(column, str) for column in _hidden_columns(ranker)):
                raise AttributeError(
                    f"{name} of the estimator has no entry for a column that QueryRanker takes from X by its position, "
                    "so selections such as RFE would remove others than they mean. Leave the ids out of X and pass "
                    f"fit(..., qid=qid), or read estimator_.{name}."
                )
            names = list(getattr(ranker, "feature_names_in_", [f"x{i}" for i in range(ranker.n_features_in_)]))
            if steps.names_seen_by_last(names) != names:
                raise AttributeError(
                    f"{name} of the last step belongs to the columns that the steps before it return, which may "
                    "not be those of X. Read it from the last step: estimator_[-1]."
                )
        return value

    return property(get, doc=f"``{name}`` of the fitted estimator, or of a pipeline's last step.")


def _hidden_columns(ranker: QueryRanker) -> tuple[str | int, ...]:
    """Return the columns of X that the estimator does not see."""
    return ranker.qid, *columns_by_name(ranker.columns).values()


class QueryRanker(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Make a ranker take a query id per row, for cross-validation and for early stopping in folds.

    ``LGBMRanker.fit`` takes sizes of queries, which no cross-validation can split. This wrapper
    takes ``qid``, one entry per row in any order, and brings the rows of each query together. It
    passes the queries as the parameter that the estimator's ``fit`` has: ``group`` (LightGBM),
    ``qid`` (XGBoost) or ``group_id`` (CatBoost). An estimator with none of them is fitted on the
    rows only (a pointwise baseline).

    The estimator may be a ``sklearn.pipeline.Pipeline``. Its steps never see the column of queries,
    and its last step gets the queries.

    Parameters
    ----------
    estimator : estimator
        For example ``LGBMRanker()``, or ``make_pipeline(StandardScaler(), LGBMRanker())``. It is
        cloned, and its parameters are ``estimator__...``. The clone shares the estimator's
        ``callbacks``, so you see what they collect or report. With early stopping they may read the
        metric of each round, in XGBoost's log as ``evals_log["validation"]["ndcg@10"]``.
    qid : str or int, default "qid"
        Column of X that holds the queries, if there is one. The estimator does not see it.
    early_stopping_rounds : int, optional
        Hold out whole queries of the data that ``fit`` gets and train on the others. Stop when the
        metric on the held-out queries has not become better for this many rounds, and predict with
        the best round. This works for estimators of LightGBM, XGBoost and CatBoost. LightGBM's own
        metrics are switched off in the clone (``metric="None"``), and CatBoost's ``eval_metric`` is
        replaced. The steps of a pipeline are fitted on the queries that are not held out. By
        default, all queries and all rounds are used.
    validation_fraction : float, default 0.2
        Share of the queries to hold out for early stopping, at least one query.
    metric : str or Metric, default "ndcg@10"
        The metric to stop by, which ``score`` returns too, with a minus if lower is better.
    random_state : int, numpy.random.RandomState or None
        Random seed. It selects the queries to hold out. Pass a number in a search, so that all
        candidates get the same ones.
    columns : sequence of str, or mapping of str to str or int, optional
        Other required columns, which metrics read from X, and which the estimator does not see,
        such as ``["revenue"]``. A mapping gives their names in metrics, such as ``{"revenue": 5}``
        for an array.
    min_delta : float, default 0
        Smallest improvement that counts for early stopping: a round is better if it exceeds the
        best one by more.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    n_features_in_ : int
        Number of columns of X, without the column of queries.
    feature_names_in_ : ndarray of str
        Their names, if all of them are text.
    queries_ : dict
        For each query of the fit, held out or not, the number of its documents and the sum of their
        grades. They tell the scorer whether a fold has cut a query in two.
    n_rounds_ : int
        Number of boosting rounds that ``predict`` uses, those of a model that the training continues
        included. Exists only with early stopping.
    validation_qid_ : ndarray
        Ids of the held-out queries. Exists only with early stopping.
    feature_importances_, coef_, intercept_ : ndarray
        Those of the fitted estimator, if it has them. They belong to the columns of X without the
        column of queries. Those of a pipeline's last step are available if the steps before it
        keep the columns, as scalers do.
    best_iteration_, best_score_, evals_result_ : object
        Those of the fitted estimator or last step, if it has them, in the form of its library.

    Raises
    ------
    LtrValueError, LtrTypeError
        On ``fit``: if there are no queries, if the column and ``qid`` name different queries, or if
        ``early_stopping_rounds`` is set for an estimator whose training cannot be watched round by
        round. Also if the estimator stops early by itself, by a parameter or a callback.

    See Also
    --------
    make_scorer : A scorer for searches over such rankers.
    ltr_metrics.train_test_split : Split data by whole queries.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.sklearn import QueryRanker
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=10, n_jobs=1, verbose=-1)).fit(X, y, qid=qid)
    >>> ranker.predict(X).shape == y.shape, ranker.feature_importances_.shape
    (True, (20,))
    >>> ranker.score(X, y, qid=qid) == ltr.evaluate(y, ranker.predict(X), qid=qid, metrics="ndcg@10")["ndcg@10"]
    True

    With early stopping, in a fold as well as here:

    >>> ranker = QueryRanker(
    ...     lgb.LGBMRanker(n_estimators=500, n_jobs=1, verbose=-1),
    ...     early_stopping_rounds=5,
    ...     metric="err@10",
    ...     random_state=0,
    ... )
    >>> ranker = ranker.fit(X, y, qid=qid)
    >>> ranker.n_rounds_ < 100, len(ranker.validation_qid_)
    (True, 6)
    >>> list(ranker.evals_result_["validation"]), ranker.best_iteration_ == ranker.n_rounds_
    (['err@10'], True)
    >>> ranker.best_score_["validation"]["err@10"] == max(ranker.evals_result_["validation"]["err@10"])
    True

    An estimator that knows no queries is a pointwise baseline:

    >>> from sklearn.linear_model import Ridge
    >>> baseline = QueryRanker(Ridge()).fit(X, y, qid=qid)
    >>> baseline.coef_.shape, bool(baseline.intercept_ > 0)
    ((20,), True)
    """

    # scikit-learn reads these. fit and score request qid by default. The parameters in fit's
    # **fit_params, which scikit-learn cannot see, become parameters of set_fit_request.
    __metadata_request__fit: ClassVar[dict[str, bool | None]] = {"qid": True} | dict.fromkeys(PER_ROW)
    __metadata_request__score: ClassVar[dict[str, bool | None]] = {"qid": True}

    @explaining_calls
    def __init__(
        self,
        estimator: Any = None,
        qid: str | int = "qid",
        *,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.2,
        metric: Metrics = "ndcg@10",
        random_state: Any = None,
        columns: Any = None,
        min_delta: float = 0.0,
    ) -> None:
        self.estimator = estimator
        self.qid = qid
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.columns = columns
        self.min_delta = min_delta

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, **fit_params: Any) -> QueryRanker:
        """Fit a clone of the estimator.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Features, and the column of queries if ``qid`` is not passed.
        y : array-like of shape (n_rows,)
            Grades, finite and not negative.
        qid : array-like of shape (n_rows,), optional
            One id per row, in any order, of any hashable type. Pass it if the ids are not a column
            of X.
        sample_weight : array-like of shape (n_rows,), optional
            One weight per row; a query's weight is the mean of its row weights. An estimator that
            takes ``qid`` and one weight per query, as XGBoost does, gets the mean weight of each
            query.
        **fit_params
            Passed on to the estimator. Parameters with one entry per row are reordered like X, and
            split if queries are held out. Numbers of rows, such as ``pairs`` of CatBoost, are an
            error. A pipeline's last step gets them, with its name as a prefix or without.

        Returns
        -------
        QueryRanker
            The ranker itself.

        Raises
        ------
        LtrValueError, LtrTypeError
            If there are no queries, or a column and ``qid`` differ; for lengths that differ; for
            evaluation sets, such as ``eval_set``; for numbers of rows; and for early stopping of the
            estimator's own.
        """
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise LtrTypeError(f"QueryRanker needs an estimator such as LGBMRanker(). Got {self.estimator!r}.")
        refuse_classifier(self.estimator)
        if sample_weight is not None:
            fit_params = {"sample_weight": sample_weight} | fit_params
        steps = Steps(self.estimator)
        fit_params = steps.parameters_of_last(fit_params)
        refuse_different_indexes(n_entries(X), **({"X": X, "y": y, "qid": qid} | fit_params))
        refuse_unusable(fit_params)
        refuse_own_stopping(steps.last, fit_params, stops=self.early_stopping_rounds is not None)
        X, y = as_table(X), as_labels(y)
        ids, features = queries_of(X, qid, self.qid, "QueryRanker.fit"), without_columns(X, _hidden_columns(self))
        self._check_features(features, reset=True)
        if qid is not None:
            warn_of_ids_among_features(features, ids)
        rows = {"X": features, "y": y}
        if fit_params.get("sample_weight") is not None:
            fit_params["sample_weight"] = as_weights(fit_params["sample_weight"])
        grouping, labels = GroupedRows.of_ids(ids), finite_numbers(y, "y", remedy=" Drop the rows that have no label.")
        estimator = clone_sharing_callbacks(self.estimator)
        steps = Steps(estimator)
        for attribute in ("n_rounds_", "validation_qid_"):
            self.__dict__.pop(attribute, None)
        if self.early_stopping_rounds is None:
            steps.fit_transform(Training.of(rows, fit_params, grouping, {})).fit(steps.last)
        else:
            scorer = self._scorer()
            columns = read_columns(X, scorer.columns, "The metric of QueryRanker")
            training = Training.of(rows, fit_params, grouping, columns)
            self.n_rounds_, self.validation_qid_ = fit_with_early_stopping(self, steps, training, scorer.metrics)
        self.estimator_ = estimator
        self.queries_ = Extents.of(grouping, labels, from_X=qid is None)
        return self

    feature_importances_ = fitted_attribute("feature_importances_", per_column=True)
    coef_ = fitted_attribute("coef_", per_column=True)
    intercept_ = fitted_attribute("intercept_")
    best_iteration_ = fitted_attribute("best_iteration_")
    best_score_ = fitted_attribute("best_score_")
    evals_result_ = fitted_attribute("evals_result_")

    def predict(self, X: Any) -> Any:
        """Return one score per row; a column of queries is ignored.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Features, with or without the column of queries.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores; higher is better.
        """
        features = self.features_of(X)
        return self.estimator_.predict(features)

    def features_of(self, X: Any) -> Any:
        """Return X as ``estimator_`` takes it: without the column of queries, and checked."""
        check_is_fitted(self, "estimator_")
        features = without_columns(as_table(X), _hidden_columns(self))
        self._check_features(features, reset=False)
        return features

    def queries_in(self, X: Any, caller: str = "QueryRanker.queries_in", *, required: bool = True) -> AnyArray | None:
        """Return the query id of each row from the column of X; without one, None or an error."""
        table = as_table(X)
        return queries_of(table, None, self.qid, caller) if required or has_column(table, self.qid) else None

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of ``metric`` over the queries of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Features, and the column of queries if ``qid`` is not passed.
        y : array-like of shape (n_rows,)
            Grades, finite and not negative.
        qid : array-like of shape (n_rows,), optional
            One id per row, in any order, of any hashable type. Pass it if the ids are not a column
            of X.
        sample_weight : array-like of shape (n_rows,), optional
            One weight per row; a query's weight is the mean of its row weights.

        Returns
        -------
        float
            The mean over the queries; minus the mean if lower is better, since scikit-learn
            maximises scores.

        Raises
        ------
        LtrValueError, LtrTypeError
            As for the scorer of `make_scorer`.
        """
        return float(self._scorer()(self, X, y, qid=qid, sample_weight=sample_weight))

    def _check_features(self, features: Any, *, reset: bool) -> None:
        """Record the number and names of the features, or compare them with those of the fit."""
        if 0 in features.shape:
            raise LtrValueError(
                f"X must have rows and, besides a column of queries, features: got {features.shape[0]} row(s) and "
                f"{features.shape[1]} feature(s) (shape={tuple(features.shape)}) while a minimum of 1 is required."
            )
        try:
            if _validate_data is None:
                self._validate_data(features, reset=reset, cast_to_ndarray=False)
            else:
                _validate_data(self, features, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise LtrValueError(f"{error} (The column {self.qid!r} of queries is not counted.)") from None

    def _scorer(self) -> QueryScorer:
        scorer = QueryScorer(self.metric, self.qid, columns=self.columns)
        if not scorer.is_single:
            raise LtrTypeError(
                f"metric must be one metric, to stop and to score by. Got {self.metric!r}. For several pass "
                "scoring=make_scorer([...])."
            )
        return scorer

    def __sklearn_tags__(self) -> Any:  # scikit-learn before 1.6 does not ask
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.positive_only = True  # grades
        if hasattr(self.estimator, "__sklearn_tags__"):
            estimator_tags = get_tags(self.estimator)
            for name in ("input_tags", "non_deterministic", "estimator_type", "classifier_tags", "regressor_tags"):
                setattr(tags, name, getattr(estimator_tags, name))
        return tags
