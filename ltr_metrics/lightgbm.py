"""LightGBM: `feval` for ``lgb.train`` and ``lgb.cv``, `eval_metric` for ``LGBMRanker.fit``.

Both prepare labels, boundaries and the ideal ranking once for each data set, and drop them with it. Nothing here imports
lightgbm: its objects are recognised by what they offer.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ltr_metrics.adapter import HostMetrics
from ltr_metrics.conventions import Convention, Metrics
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation import Queries
from ltr_metrics.inputs import IntArray
from ltr_metrics.log import PerQueryLog
from ltr_metrics.result import Evaluation

Triples = list[tuple[str, float, bool]]


def feval(
    metrics: Metrics,
    *,
    ties: str | None = None,
    no_relevant: str | float | None = None,
    convention: str | Convention | None = None,
    log: PerQueryLog | None = None,
) -> DatasetMetrics:
    """Return a metric function for ``lgb.train(feval=...)`` and ``lgb.cv(feval=...)``.

    Pass ``metric="None"`` in the parameters to have these metrics alone in the log, and in early stopping: LightGBM puts
    its built-in metrics first, and ``first_metric_only=True`` watches the first. Give metrics names that no built-in has:
    ``map@10`` beside LightGBM's own ``map`` goes into one history. Row weights become query weights by their mean.

    Parameters
    ----------
    metrics : str, Metric, or several of them
    ties, no_relevant, convention
        As for `ltr_metrics.evaluate`. ``convention="lightgbm"`` gives LightGBM's own values.
    log : PerQueryLog, optional
        Gets the per-query values of every round.

    Returns
    -------
    callable
        ``(preds, Dataset) -> [(name, value, True), ...]``

    Raises
    ------
    LtrValueError, LtrTypeError
        In training, at the first round: a Dataset without ``group``, queries cut by a fold of ``lgb.cv``, NaN predictions,
        another host's data, a metric that is undefined for all queries.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    >>> valid = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train)
    >>> booster = lgb.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbose": -1},
    ...     train,
    ...     num_boost_round=100,
    ...     valid_sets=[valid],
    ...     feval=feval(["err@10", "ndcg@10"]),
    ...     callbacks=[lgb.early_stopping(10, first_metric_only=True, verbose=False)],
    ... )
    >>> sorted(booster.best_score["valid_0"])
    ['err@10', 'ndcg_exp@10']
    """
    return DatasetMetrics(metrics, ties=ties, no_relevant=no_relevant, convention=convention, log=log)


def eval_metric(
    metrics: Metrics,
    *,
    ties: str | None = None,
    no_relevant: str | float | None = None,
    convention: str | Convention | None = None,
    log: PerQueryLog | None = None,
) -> ArrayMetrics:
    """Return a metric function for ``LGBMRanker.fit(eval_metric=...)``.

    LGBMRanker evaluates ``ndcg`` as well unless it was made with ``metric="None"``.

    Parameters
    ----------
    metrics, ties, no_relevant, convention, log
        As for `feval`.

    Returns
    -------
    callable
        ``(y_true, y_pred, weight, group) -> [(name, value, True), ...]``

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import eval_metric
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> group = ltr.qid_to_group(qid)
    >>> ranker = lgb.LGBMRanker(n_estimators=5, metric="None", verbose=-1)
    >>> ranker = ranker.fit(X, y, group=group, eval_X=X, eval_y=y, eval_group=[group], eval_metric=eval_metric("err@10"))
    >>> len(ranker.evals_result_["training"]["err@10"])
    5
    """
    return ArrayMetrics(metrics, ties=ties, no_relevant=no_relevant, convention=convention, log=log)


class DatasetMetrics(HostMetrics):
    """A ``feval``: called with predictions and the Dataset that they are for."""

    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(metrics, **options)
        # LightGBM hands over the same Dataset in every round; its version rises when labels, groups or weights are set.
        self._prepared: weakref.WeakKeyDictionary[Any, tuple[int, Queries]] = weakref.WeakKeyDictionary()

    def __call__(self, preds: Any, dataset: Any = None, *others: Any) -> Triples:
        if not (hasattr(dataset, "get_field") and hasattr(dataset, "version")):
            raise LtrTypeError(
                f"feval is for lgb.train and lgb.cv, which hand over a lightgbm.Dataset. Got {_name(dataset)}. "
                "LGBMRanker.fit(eval_metric=...) takes ltr_metrics.lightgbm.eval_metric(...), scikit-learn's scoring= takes "
                "ltr_metrics.sklearn.make_scorer(...)."
            )
        queries = self._queries(dataset)
        result = self.evaluate(queries, preds)
        if self.log is not None:
            self.log.record(dataset, dataset.reference is None, result, self.request)
        return _triples(result)

    def _queries(self, dataset: Any) -> Queries:
        version, queries = self._prepared.get(dataset, (None, None))
        if queries is None or version != dataset.version:
            queries = _queries_of(dataset)
            self._prepared[dataset] = (dataset.version, queries)
        return queries

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_prepared": None}  # prepared labels are made again where they are needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state | {"_prepared": weakref.WeakKeyDictionary()}


class ArrayMetrics(HostMetrics):
    """An ``eval_metric``: LightGBM tells by the number of parameters, four, that it wants weight and group too."""

    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(metrics, **options)
        self._prepared: dict[int, tuple[weakref.ref[Any], tuple[Any, ...], Queries]] = {}

    def __call__(self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None) -> Triples:
        if not isinstance(y_true, np.ndarray) or not isinstance(y_pred, np.ndarray):
            raise LtrTypeError(
                f"eval_metric is for LGBMRanker.fit, which hands over arrays. Got {_name(y_true)} and {_name(y_pred)}. "
                "lgb.train(feval=...) takes ltr_metrics.lightgbm.feval(...), scikit-learn's scoring= takes "
                "ltr_metrics.sklearn.make_scorer(...)."
            )
        if group is None:
            raise LtrTypeError(
                "eval_metric needs the queries, and the estimator has none: use LGBMRanker with eval_group, or "
                "lgb.train with ltr_metrics.lightgbm.feval and a Dataset with group."
            )
        result = self.evaluate(self._queries(y_true, weight, group), y_pred)
        if self.log is not None:
            self.log.record(y_true, False, result, self.request)
        return _triples(result)

    def _queries(self, y_true: Any, weight: Any, group: Any) -> Queries:
        # The arrays are the same objects in every round, but may have been changed in place: so they are compared.
        given = (y_true, weight, group)
        known = self._prepared.get(id(y_true))
        if known is not None and known[0]() is y_true and all(map(_same, known[1], given)):
            return known[2]
        queries = Queries(y_true, group=group, sample_weight=weight)
        copies = tuple(None if array is None else np.array(array) for array in given)
        key, prepared = id(y_true), self._prepared
        forget = weakref.ref(y_true, lambda _: prepared.pop(key, None))
        prepared[key] = (forget, copies, queries)
        return queries

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_prepared": {}}  # prepared labels are made again where they are needed


def _triples(result: Evaluation) -> Triples:
    # (name, value, higher is better); LightGBM wants a list, and fails on a tuple of them
    return [(name, value, True) for name, value in result.mean.items()]


def _same(before: Any, now: Any) -> bool:
    return now is None if before is None else now is not None and np.array_equal(before, now)


def _queries_of(dataset: Any) -> Queries:
    """Read labels, boundaries and weights as LightGBM has them now: get_label() may lag behind set_field()."""
    boundaries = dataset.get_field("group")
    if boundaries is None:
        raise LtrValueError(
            "The Dataset has no queries: make it with lgb.Dataset(..., group=sizes). Sizes from an id a row: "
            "ltr_metrics.qid_to_group(qid)."
        )
    label, weight = dataset.get_field("label"), dataset.get_field("weight")
    queries_of_rows = _queries_of_subset(dataset)
    if queries_of_rows is None:
        return Queries(label, group=np.diff(boundaries), sample_weight=weight)
    return Queries(label, qid=queries_of_rows, sample_weight=weight)


def _queries_of_subset(dataset: Any) -> IntArray | None:
    """Return the query, in the whole data, of each row of a fold; None if this is no subset.

    A subset that holds a part of a query is refused: lgb.cv makes such folds when the objective is not a ranking one.
    """
    whole, used = dataset.reference, dataset.used_indices
    if used is None or whole is None or whole.get_field("group") is None:
        return None
    sizes: IntArray = np.diff(whole.get_field("group"))
    query_of_row: IntArray = np.repeat(np.arange(len(sizes)), sizes)[np.asarray(used)]
    taken = np.bincount(query_of_row, minlength=len(sizes))
    cut = (taken > 0) & (taken < sizes)
    if cut.any():
        query = int(cut.argmax())
        raise LtrValueError(
            f"This fold holds {taken[query]} of the {sizes[query]} documents of query {query}, and parts of {int(cut.sum())} "
            "queries in all: lgb.cv cuts queries unless the objective is a ranking one. Pass whole queries in folds=, for example "
            "from sklearn.model_selection.GroupKFold with groups=qid."
        )
    return query_of_row


def _name(thing: Any) -> str:
    return f"a {type(thing).__module__.partition('.')[0]} {type(thing).__name__}"
