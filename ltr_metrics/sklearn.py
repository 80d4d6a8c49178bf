"""scikit-learn: `make_scorer` for searches and cross-validation, `QueryRanker` to make rankers work there.

Folds must keep queries whole: ``cv=GroupKFold()`` with ``groups=qid``. The queries come from a column of X, or, with
scikit-learn's metadata routing enabled, from ``qid=`` passed to ``fit``; scorer and ranker request it without being told.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, ClassVar

import numpy as np

from ltr_metrics.adapter import HostMetrics
from ltr_metrics.conventions import Convention, Metrics
from ltr_metrics.errors import LtrTypeError, LtrValueError, MissingExtraError
from ltr_metrics.evaluation import Queries
from ltr_metrics.grouping import Grouping, as_ids, group_by_ids
from ltr_metrics.inputs import (
    AnyArray,
    FloatArray,
    IntArray,
    as_numbers,
    as_vector,
    refuse_different_indexes,
    take_rows,
)
from ltr_metrics.metrics.base import Metric

try:
    import narwhals.stable.v1 as nw
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metadata_routing import MetadataRequest
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtraError("scikit-learn", "sklearn") from error


def make_scorer(
    metrics: Metrics,
    qid: str | int = "qid",
    *,
    ties: str | None = None,
    no_relevant: str | float | None = None,
    convention: str | Convention | None = None,
) -> QueryScorer:
    """Return a scorer for ``GridSearchCV``, ``RandomizedSearchCV`` and ``cross_validate``; higher is better.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        One gives a float; a list gives a dict from one prediction, by *canonical* name, and a search's ``refit=`` must then
        name one of these (``"ndcg_exp@10"`` where ``"ndcg@10"`` was asked for).
    qid : str or int, default "qid"
        Column of X that holds the queries: a name, or an index for arrays. Not needed where ``qid`` is routed.
    ties, no_relevant, convention
        As for `ltr_metrics.evaluate`.

    Returns
    -------
    QueryScorer
        ``scorer(estimator, X, y, *, qid=None, sample_weight=None)``. It requests ``qid``; ``sample_weight`` (one a row) on
        ``set_score_request(sample_weight=True)``.

    Raises
    ------
    LtrValueError, LtrTypeError
        On scoring: no queries, or both a column and a routed ``qid`` that differ; a classifier, whose classes are no scores;
        a metric that is undefined for all queries.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr, pandas as pd
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from ltr_metrics.sklearn import QueryRanker, make_scorer
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> frame = pd.DataFrame(X).add_prefix("f").assign(qid=qid)
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=10, verbose=-1))
    >>> search = GridSearchCV(
    ...     ranker, {"estimator__num_leaves": [4, 15]}, scoring=make_scorer("ndcg@10"), cv=GroupKFold(3)
    ... )
    >>> search = search.fit(frame, y, groups=qid)
    >>> bool(0.5 < search.best_score_ < 1)
    True
    """
    return QueryScorer(metrics, qid, ties=ties, no_relevant=no_relevant, convention=convention)


class QueryScorer(HostMetrics):
    """A scorer that knows queries; made by `make_scorer`."""

    def __init__(self, metrics: Metrics, qid: str | int = "qid", **options: Any) -> None:
        super().__init__(metrics, **options)
        self.qid = qid
        self._single = isinstance(metrics, (str, Metric)) or callable(metrics)
        self._options = {"qid": qid} | {key: value for key, value in options.items() if value is not None}
        self._requests: dict[str, Any] = {"qid": True, "sample_weight": None}

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, qid: Any = None, sample_weight: Any = None) -> Any:
        """Return the metric, or a dict of metrics, of the estimator's predictions on X."""
        if not hasattr(estimator, "predict"):
            raise LtrTypeError(
                f"A scorer is for scikit-learn, which hands over an estimator, X and y. Got a {type(estimator).__name__}. "
                "lgb.train(feval=...) takes ltr_metrics.lightgbm.feval(...)."
            )
        _refuse_classifier(estimator)
        refuse_different_indexes(X=X, y=y, qid=qid, sample_weight=sample_weight)
        ids = queries_of(X, qid, self.qid, "the scorer")
        queries = Queries(y, qid=ids, sample_weight=sample_weight)
        fitted = _fitted_queries(estimator)
        if fitted is not None:
            sums = queries.sum_by_query(as_numbers(y, "y").astype(np.float64))
            _refuse_cut_queries(fitted, _extents(queries.qid, queries.sizes, sums))
        result = self.evaluate(queries, estimator.predict(X))
        return next(iter(result.mean.values())) if self._single else dict(result.mean)

    def __repr__(self) -> str:
        metrics = [str(metric) for metric in self.request.metrics]
        options = "".join(f", {key}={value!r}" for key, value in self._options.items())
        return f"make_scorer({metrics[0] if self._single else metrics!r}{options})"

    def set_score_request(self, **requests: bool | str | None) -> QueryScorer:
        """Change what is requested of metadata routing: ``qid`` (True from the start) and ``sample_weight``."""
        unknown = requests.keys() - self._requests.keys()
        if unknown:
            raise LtrTypeError(f"The scorer can request qid and sample_weight, not {', '.join(sorted(unknown))}.")
        self._requests |= requests
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what this scorer requests, for scikit-learn."""
        request = MetadataRequest(owner=type(self).__name__)
        for parameter, alias in self._requests.items():
            request.score.add_request(param=parameter, alias=alias)
        return request


class QueryRanker(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Make a ranker take an id a row, so that it can be cut into folds.

    ``LGBMRanker.fit`` wants sizes of queries, which no cross-validation can split. This wrapper takes ``qid``, one entry a
    row in any order, brings the rows of a query together and hands the estimator what its ``fit`` has a parameter for:
    ``group`` (sizes) or ``qid``; an estimator with neither is fitted on the rows alone (a pointwise baseline).

    Parameters
    ----------
    estimator : estimator
        For example ``LGBMRanker()``. It is cloned; its parameters are ``estimator__...``.
    qid : str or int, default "qid"
        Column of X that holds the queries, if there is one; it is not shown to the estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    n_features_in_ : int
        Columns of X, without the queries' one.
    queries_ : dict
        For each query that it was fitted on, the number of its documents and the sum of their grades, by which the scorer
        knows a query that a fold has cut in two.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.sklearn import QueryRanker
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=10, verbose=-1)).fit(X, y, qid=qid)
    >>> ranker.predict(X).shape == y.shape
    True
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}

    def __init__(self, estimator: Any = None, qid: str | int = "qid") -> None:
        self.estimator = estimator
        self.qid = qid

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, **fit_params: Any) -> QueryRanker:
        """Fit a clone of the estimator.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        qid : array-like of shape (n_rows,), optional
            Queries, if they are no column of X.
        sample_weight : array-like of shape (n_rows,), optional
            One a row; where the estimator takes ``qid`` and, as XGBoost does, one weight a query, their mean.
        **fit_params
            Passed on to the estimator, brought into the same order if they have an entry a row.
        """
        _refuse_what_is_no_ranker(self.estimator)
        refuse_different_indexes(X=X, y=y, qid=qid, sample_weight=sample_weight)
        X = _as_table(X)
        ids = queries_of(X, qid, self.qid, "QueryRanker.fit")
        rows = {"X": without_column(X, self.qid), "y": as_vector(y, "y") if isinstance(y, (list, tuple)) else y}
        if sample_weight is not None:
            rows["sample_weight"] = as_numbers(sample_weight, "sample_weight")
        for name, column in {"qid": ids, **rows}.items():
            if _length(column) != len(ids):
                raise LtrValueError(
                    f"X, y, qid and sample_weight must have one entry a row: got {_length(column)} of {name} for {len(ids)}."
                )
        rows |= {name: value for name, value in fit_params.items() if _length(value) == len(ids)}
        grouping = group_by_ids(ids)
        if grouping.order is not None:
            rows = {name: take_rows(column, grouping.order) for name, column in rows.items()}
        self.estimator_ = clone(self.estimator)
        self.queries_ = _extents(grouping.ids, grouping.sizes, grouping.sum(as_numbers(rows["y"], "y")))
        arguments = _with_queries({**fit_params, **rows}, grouping, self.estimator_)
        self.n_features_in_ = arguments["X"].shape[1]
        self.estimator_.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
        return self

    def predict(self, X: Any) -> Any:
        """Return a score a row; a column of queries is ignored."""
        check_is_fitted(self, "estimator_")
        features = without_column(_as_table(X), self.qid)
        if features.shape[1] != self.n_features_in_:
            raise LtrValueError(
                f"X must have the {self.n_features_in_} features that QueryRanker was fitted on, and the column {self.qid!r} of queries "
                f"if X had it then. Got {features.shape[1]} features."
            )
        return self.estimator_.predict(features)


Extents = dict[Any, tuple[int, float]]


def _extents(ids: AnyArray, sizes: IntArray, sums: FloatArray) -> Extents:
    """Documents and sum of labels of each query: enough to tell a whole query from a part of it."""
    return dict(zip(ids.tolist(), zip(sizes.tolist(), sums.tolist(), strict=True), strict=True))


def _fitted_queries(estimator: Any) -> Extents | None:
    """Return what the QueryRanker within an estimator was fitted on, None if there is none that remembers."""
    while hasattr(estimator, "best_estimator_") or isinstance(estimator, Pipeline):
        estimator = estimator.best_estimator_ if hasattr(estimator, "best_estimator_") else estimator.steps[-1][1]
    return getattr(estimator, "queries_", None) if isinstance(estimator, QueryRanker) else None


def _refuse_cut_queries(fitted: Extents, scored: Extents) -> None:
    """Refuse to score a part of a query of which the ranker was fitted on another part: such folds flatter every ranker.

    Whole queries that it was fitted on may be scored, as searches do for their training scores.
    """
    cut = [name for name, extent in scored.items() if name in fitted and not _same_extent(fitted[name], extent)]
    if cut:
        raise LtrValueError(
            f"Query {cut[0]!r} stands on both sides, with {fitted[cut[0]][0]} documents in the training part and {scored[cut[0]][0]} others "
            f"here, as do {len(cut)} of these {len(scored)} queries: folds that cut queries flatter every ranker. Split by cv=GroupKFold() "
            "with groups=qid. (If these are other queries, give them other ids.)"
        )


def _same_extent(a: tuple[int, float], b: tuple[int, float]) -> bool:
    return a[0] == b[0] and math.isclose(a[1], b[1], rel_tol=1e-9, abs_tol=1e-12)  # sums depend on the order of rows


def _with_queries(arguments: dict[str, Any], grouping: Grouping, estimator: Any) -> dict[str, Any]:
    """Add the queries to the arguments of the estimator's ``fit``, in the form that it takes."""
    reserved = sorted({"group", "qid"} & arguments.keys())
    if reserved:
        raise LtrTypeError(f"QueryRanker makes {reserved[0]} for the estimator from qid: do not pass it.")
    accepted = inspect.signature(estimator.fit).parameters
    if "qid" in accepted:  # XGBoost, which also takes one weight a query and not a row
        arguments["qid"] = np.repeat(np.arange(len(grouping.sizes)), grouping.sizes)
        if "sample_weight" in arguments:
            arguments["sample_weight"] = grouping.sum(arguments["sample_weight"]) / grouping.sizes
    elif "group" in accepted:
        arguments["group"] = grouping.sizes
    return arguments


def _refuse_classifier(estimator: Any) -> None:
    knows_its_kind = hasattr(estimator, "__sklearn_tags__") or hasattr(estimator, "_estimator_type")
    if knows_its_kind and is_classifier(estimator):
        raise LtrTypeError(
            f"predict of the classifier {type(estimator).__name__} gives classes, not scores: nearly all documents would tie. "
            "Use a ranker or a regressor."
        )


def _refuse_what_is_no_ranker(estimator: Any) -> None:
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise LtrTypeError(f"QueryRanker needs an estimator such as LGBMRanker(). Got {estimator!r}.")
    if isinstance(estimator, Pipeline):
        raise LtrTypeError(
            "A Pipeline hands no queries to its last step. Put QueryRanker inside: make_pipeline(StandardScaler(), "
            "QueryRanker(LGBMRanker())), with the queries routed as qid."
        )
    _refuse_classifier(estimator)


def _as_table(X: Any) -> Any:
    """Turn a list of rows into an array; a matrix that cannot be indexed into one that can."""
    if isinstance(X, (list, tuple)):
        return np.asarray(X)
    return X.tocsr() if hasattr(X, "tocsr") else X


def _length(column: Any) -> int | None:
    """Return how many entries or rows something has, None for what has none (a number, a text, a function)."""
    if isinstance(column, (str, bytes)):
        return None
    shape = getattr(column, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(column) if hasattr(column, "__len__") else None


def queries_of(X: Any, routed: Any, column: str | int, who: str) -> AnyArray:
    """Return the id of each row's query, from a routed ``qid`` or from a column of X."""
    in_X = _column(X, column)
    if routed is None and in_X is None:
        raise LtrTypeError(
            f"{who} has no queries: X has no column {column!r}, and no qid was passed. Keep the queries as a column of X (name it "
            "with qid=...; a scaler before QueryRanker drops names unless set_output(transform='pandas')), or pass fit(..., qid=qid); in a "
            "search or cross-validation the latter needs sklearn.set_config(enable_metadata_routing=True)."
        )
    if routed is None:
        return as_ids(in_X, f"Column {column!r} of X")
    ids = as_ids(routed, "qid")
    if in_X is not None and not np.array_equal(ids, as_ids(in_X, f"Column {column!r} of X")):
        raise LtrValueError(
            f"{who} got two different sets of queries, one as qid and one as column {column!r} of X. Pass one of them, or name "
            "the column with qid=..."
        )
    return ids


def without_column(X: Any, column: str | int) -> Any:
    """Return X without the queries' column, if it has one."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    at = _position(frame, column)
    if at is None:
        return X
    kept = np.delete(np.arange(frame.shape[1]), at)
    return frame[:, kept.tolist()].to_native() if isinstance(frame, nw.DataFrame) else X[:, kept]


def _column(X: Any, column: str | int) -> Any:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    at = _position(frame, column)
    if at is None:
        return None
    values = frame[:, at].to_numpy() if isinstance(frame, nw.DataFrame) else X[:, [at]]
    return (values.toarray() if hasattr(values, "toarray") else np.asarray(values)).ravel()


def _position(frame: Any, column: str | int) -> int | None:
    """Return where the queries' column stands, None if there is none of that name."""
    if isinstance(column, str):
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
        return names.index(column) if column in names else None
    n_columns = frame.shape[1]
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool) or not 0 <= column < n_columns:
        raise LtrValueError(
            f"qid must be the name of a column of X, or its position, 0 to {n_columns - 1}. Got {column!r}."
        )
    return int(column)
