"""LightGBM: `feval` for ``lgb.train`` and ``lgb.cv``, `eval_metric` for ``LGBMRanker.fit``.

Both lay out labels, queries and ideal rankings once for each data set, and drop them with it.
This module does not import lightgbm. It recognises LightGBM's objects by their attributes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import IntArray, as_numbers
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts.columns import ColumnsByData
from ltr_metrics._hosts.facts import wrong_host
from ltr_metrics._hosts.host_call import find_host_call, gain_of_setting
from ltr_metrics._hosts.host_metrics import HostMetrics, MetricFunction, Plan
from ltr_metrics._hosts.log_names import Names, refuse_names_in_use
from ltr_metrics._hosts.queries_cache import QueriesCache, queries_of_boundaries
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics

__all__ = ["eval_metric", "feval"]

Triples = list[tuple[str, float, bool]]


def feval(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: PerQueryLog | None = None,
    names: Names = "canonical",
    columns: Mapping[Any, Any] | None = None,
) -> DatasetMetrics:
    """Return a metric function for ``lgb.train(feval=...)`` and ``lgb.cv(feval=...)``.

    Pass ``metric="None"`` in the parameters to log these metrics alone and to stop by them.
    LightGBM puts its built-in metrics first, and ``first_metric_only=True`` watches the first one.

    LightGBM keeps one history per name. So ``map@10`` beside LightGBM's own ``map`` is an error,
    and so are two metric functions that both log ``mrr``, each with its own tie policy.
    The weight of a query is the mean weight of its rows.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``).
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
        Another system, whose choices complete the metric names, ``ties`` and ``no_relevant``.

        ``convention="lightgbm"`` gives LightGBM's own values, with two exceptions under
        weights. LightGBM's NDCG counts a query without a relevant document as 1 instead of
        1 x weight, and divides by the sum of weights; we log the weighted mean. If the rows of a
        query have unequal weights, LightGBM averages them in float32, so values agree to 1e-7.

        This convention also follows the ``label_gain`` of the training: ``"ndcg@10"`` is then
        logged as ``ndcg_lin@10`` or ``ndcg(gain=[0,1,3])@10``. A name that states its gain
        (``"ndcg_exp@10"``), a metric object and other conventions do not depend on ``label_gain``.
    log : PerQueryLog, optional
        Records the values per query of every round.
    names : {"canonical", "asked", "slug"} or mapping, default "canonical"
        Names in the log. ``"canonical"`` is ``str(metric)``, ``"asked"`` is the name as
        you typed it, and ``"slug"`` is ``metric.slug``, which experiment trackers
        accept. A mapping gives names of your own, such as ``{"ndcg@10": "val ndcg"}``.
        Its keys are metrics as you asked for them, or canonical names. Metrics that are
        not in it keep their canonical name. You can look up values in a
        `ltr_metrics.PerQueryLog` by these names too.
    columns : mapping of Dataset to mapping, optional
        Other numbers of the documents, for ``mean_of(name)`` and ``sum_of(name)``. Metrics of your
        own read them too: ``{valid_set: {"revenue": array}}``, one number a row. They also
        serve the folds of ``lgb.cv`` and other subsets of the Dataset.

    Returns
    -------
    callable
        A function ``(preds, Dataset) -> [(name, value, higher_is_better), ...]``, by which
        LightGBM's early stopping knows the direction.

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: if two of the ``names`` are equal or end in the same word, or if ``names`` has an
        unknown key. In the first round: for a Dataset without ``group``, queries cut by a fold of
        ``lgb.cv`` or by ``Dataset.subset``, and a name that is in the history already. Also for
        several predictions a row, another host's data, and a metric that is undefined for all
        queries. Also for a column that is missing or no column of numbers. In any round: for NaN
        predictions.

    See Also
    --------
    eval_metric : The same for ``LGBMRanker.fit``.
    ltr_metrics.evaluate : The same values after the training.
    ltr_metrics.PerQueryLog : Keep the values per query of every round.

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
    return DatasetMetrics(
        metrics, columns, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names
    )


def eval_metric(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: PerQueryLog | None = None,
    names: Names = "canonical",
    columns: Mapping[str, Any] | None = None,
) -> ArrayMetrics:
    """Return a metric function for ``LGBMRanker.fit(eval_metric=...)``.

    LGBMRanker evaluates ``ndcg`` as well, unless you create it with ``metric="None"``.
    ``fit(eval_metric="None")`` does not turn it off.

    Pass several functions, or names of built-in metrics beside a function, as a list: LightGBM
    ignores a tuple. As with `feval`, a name that is in the history already is an error, such as
    ``map@3`` beside ``eval_metric="map"``. Before LightGBM 4.7, pass the validation data as
    ``eval_set=[(X, y)]``.

    Parameters
    ----------
    metrics : str, Metric, or several of them
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``).
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
        Another system, whose choices complete the metric names, ``ties`` and ``no_relevant``.
        ``"lightgbm"`` gives LightGBM's own values, and follows ``label_gain``, as in `feval`.
    log : PerQueryLog, optional
        Records the values per query of every round.
    names : {"canonical", "asked", "slug"} or mapping, default "canonical"
        Names in the log. ``"canonical"`` is ``str(metric)``, ``"asked"`` is the name as
        you typed it, and ``"slug"`` is ``metric.slug``, which experiment trackers
        accept. A mapping gives names of your own, such as ``{"ndcg@10": "val ndcg"}``.
        Its keys are metrics as you asked for them, or canonical names. Metrics that are
        not in it keep their canonical name. You can look up values in a
        `ltr_metrics.PerQueryLog` by these names too.
    columns : mapping of str to mapping, optional
        Other numbers of the documents, for ``mean_of(name)`` and ``sum_of(name)``. Metrics of your
        own read them too: ``{"valid_0": {"revenue": array}}``, one number a row. The key is the
        name of the evaluation set in LightGBM's log. It is the name in ``eval_names``,
        ``"training"`` for the training set, or otherwise ``"valid_0"``, ``"valid_1"``, ...

    Returns
    -------
    callable
        A function ``(y_true, y_pred, weight, group) -> [(name, value, higher_is_better), ...]``, by
        which LightGBM's early stopping knows the direction.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `feval`.

    See Also
    --------
    feval : The same for ``lgb.train`` and ``lgb.cv``.
    ltr_metrics.sklearn.QueryRanker : A ranker for cross-validation, with early stopping in folds.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import eval_metric
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> group = ltr.qid_to_group(qid)
    >>> ranker = lgb.LGBMRanker(n_estimators=5, metric="None", verbose=-1)
    >>> validation = {"eval_X": X, "eval_y": y, "eval_group": [group]}
    >>> ranker = ranker.fit(X, y, group=group, eval_metric=eval_metric("err@10"), **validation)
    >>> len(ranker.evals_result_["training"]["err@10"])
    5
    """
    return ArrayMetrics(
        metrics, columns, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names
    )


class _LightGBMFunction(MetricFunction):
    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(HostMetrics(metrics, host="lightgbm", check_names=_refuse_shared_last_words, **options))

    def _plan(self, call: _LightGBMCall, params: Mapping[str, Any] | None) -> Plan:
        """Return the plan of the training with these parameters, whose names are not in use."""
        plan = self.metrics.plan()
        if self.metrics.follows_gain:
            plan = self.metrics.plan(gain_of_setting("label_gain", (params or {}).get("label_gain")))
        refuse_names_in_use(plan.logged.values(), call.names_in_use, "this data set", "lightgbm")
        return plan


class DatasetMetrics(_LightGBMFunction):
    """A ``feval``: called with predictions and the Dataset that they are for."""

    def __init__(self, metrics: Metrics, columns: Any = None, **options: Any) -> None:
        super().__init__(metrics, **options)
        self._columns = ColumnsByData(self.metrics, columns, "valid_set")
        self._queries_cache = QueriesCache()

    def __call__(self, preds: Any, dataset: Any = None, *others: Any) -> Triples:
        if not (hasattr(dataset, "get_field") and hasattr(dataset, "used_indices")):
            raise wrong_host("feval is for lgb.train and lgb.cv, which pass predictions and a Dataset.", preds, dataset)
        call = _LightGBMCall.current()
        # Dataset.params are those of the first training. A call by hand has no others.
        plan = self._plan(call, dataset.params if call.booster is None else call.booster.params)
        # get_label() ignores set_field("label", ...). These are the fields that LightGBM uses.
        fields = tuple(map(dataset.get_field, ("label", "weight", "group")))
        queries = self._queries_cache.get(dataset, fields, lambda: self._queries(dataset, *fields))
        name = "training" if call.is_training(dataset) else None
        mean = self.metrics.evaluate_round(plan, queries, preds, dataset, name=name, training=call.booster)
        return triples(plan, mean)

    def _queries(self, dataset: Any, *fields: Any) -> Queries:
        columns = self._columns.require(_columns_of_dataset(self._columns, dataset), "A Dataset of this training")
        return _queries_of_dataset(columns, dataset, *fields)


class ArrayMetrics(_LightGBMFunction):
    """An ``eval_metric``. LightGBM passes weight and group because it has four parameters."""

    def __init__(self, metrics: Metrics, columns: Any = None, **options: Any) -> None:
        super().__init__(metrics, **options)
        self._columns = ColumnsByData(self.metrics, columns, '"valid_0"', by_name=True)
        self._cache_by_name: defaultdict[str | None, QueriesCache] = defaultdict(QueriesCache)

    def __call__(self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None) -> Triples:
        if not isinstance(y_true, np.ndarray) or not isinstance(y_pred, np.ndarray):
            raise wrong_host("eval_metric is for LGBMRanker.fit, which passes arrays.", y_true, y_pred)
        if group is None:
            raise LtrTypeError(
                "eval_metric needs the queries, and was called without them. Use LGBMRanker with eval_group, or "
                "lgb.train with ltr_metrics.lightgbm.feval and a Dataset with group. XGBRanker, which calls it once "
                "per query, takes callbacks=[ltr_metrics.xgboost.Monitor(...)]."
            )
        call = _LightGBMCall.current()
        if call.in_host and call.booster is None and self.metrics.follows_gain:
            self.metrics.warn_of_unknown_gain()
        plan = self._plan(call, None if call.booster is None else call.booster.params)
        fields = y_true, weight, group
        queries = self._cache_by_name[call.data_name].get(y_true, fields, lambda: self._queries(call, *fields))
        return triples(plan, self.metrics.evaluate_round(plan, queries, y_pred, y_true, training=call.booster))

    def _queries(self, call: _LightGBMCall, y_true: Any, weight: Any, group: Any) -> Queries:
        name = call.data_name or "A data set without a name"
        columns = self._columns.require(self._columns.of(call.data_name), name)
        return Queries(y_true, group=group, sample_weight=weight, columns=columns)


def triples(plan: Plan, mean: Mapping[str, float]) -> Triples:
    """Return what LightGBM takes from a metric: name, value, and whether higher is better."""
    # LightGBM requires a list and fails on a tuple of triples.
    directions = plan.directions()
    return [(name, value, directions[name]) for name, value in mean.items()]


def _refuse_shared_last_words(names: Sequence[str]) -> None:
    name_by_last_word: dict[str, str] = {}
    for name in names:
        other = name_by_last_word.setdefault(name.split(" ")[-1], name)
        if other != name:
            raise LtrValueError(
                f"LightGBM's early stopping may identify a metric by the last word of its name alone, which "
                f"{other!r} and {name!r} have in common. Give one of them another last word, for example by replacing "
                "the spaces with underscores."
            )


class _LightGBMCall(NamedTuple):
    """What LightGBM is doing when it calls a metric.

    LightGBM does not pass it, and Dataset.params are those of the first training with the Dataset.
    So we read it from the frame of `Booster.__inner_eval`, which collects the results of one data
    set. A user's function between LightGBM and ours names its values itself. The names in use do
    not matter then. In a call by hand nothing is known.
    """

    booster: Any = None
    names_in_use: tuple[str, ...] = ()  # in the results of this round and data set
    in_host: bool = False
    data_name: str | None = None  # in LightGBM's log

    @classmethod
    def current(cls) -> _LightGBMCall:
        call = find_host_call("lightgbm", "__inner_eval")
        if call.frame is None:
            return cls(in_host=call.in_host)
        results = call.frame.f_locals.get("ret", ()) if call.is_direct else ()
        names = tuple(name for _, name, *_ in results)
        return cls(call.frame.f_locals["self"], names, True, call.frame.f_locals.get("data_name"))

    def is_training(self, dataset: Any) -> bool:
        """Whether the model is trained on this data set. Folds of lgb.cv do not count."""
        if self.booster is None:
            return dataset.reference is None
        return dataset.used_indices is None and getattr(self.booster, "train_set", None) is dataset


def _queries_of_dataset(columns: dict[str, Any], dataset: Any, label: Any, weight: Any, boundaries: Any) -> Queries:
    if dataset.used_indices is not None and boundaries is not None:
        return Queries(label, qid=_query_of_row(dataset), sample_weight=weight, columns=columns)
    remedy = "Create it with lgb.Dataset(..., group=sizes). ltr_metrics.qid_to_group(qid) returns the sizes."
    return queries_of_boundaries("Dataset", remedy, label, boundaries, sample_weight=weight, columns=columns)


def _columns_of_dataset(columns: ColumnsByData, dataset: Any) -> dict[str, Any] | None:
    """Return the columns of a Dataset, or of its rows in the Dataset that it is a subset of."""
    own = columns.of(dataset)
    if own is not None or dataset.used_indices is None:
        return own
    whole = _columns_of_dataset(columns, dataset.reference)
    if whole is None:
        return None
    rows, n_rows = np.asarray(dataset.used_indices), dataset.reference.num_data()
    return {name: as_numbers(column, f"columns[{name!r}]", n_rows)[rows] for name, column in whole.items()}


def _query_of_row(dataset: Any) -> IntArray | None:
    """Return the query of each row, or None if there are no queries.

    The queries of a subset are numbered as in the whole data. A subset that holds a part of a query
    is an error: LightGBM makes groups of the remaining rows, and does not report it.
    """
    boundaries = dataset.get_field("group")
    if boundaries is None:
        return None
    own: IntArray = np.repeat(np.arange(len(boundaries) - 1), np.diff(boundaries))
    query_in_whole = None if dataset.used_indices is None else _query_of_row(dataset.reference)
    if query_in_whole is None:
        return own
    query_in_subset: IntArray = query_in_whole[np.asarray(dataset.used_indices)]
    _refuse_cut_queries(query_in_subset, query_in_whole)
    # A subset of a subset, or of data from a binary file, has lost its groups. Others may have
    # got new groups by set_group().
    is_regrouped = len(own) > 0 and not np.array_equal(np.diff(own) != 0, np.diff(query_in_subset) != 0)
    return own if is_regrouped else query_in_subset


def _refuse_cut_queries(query_in_subset: IntArray, query_in_whole: IntArray) -> None:
    sizes = np.bincount(query_in_whole)
    sizes_in_subset = np.bincount(query_in_subset, minlength=len(sizes))
    is_cut = (sizes_in_subset > 0) & (sizes_in_subset != sizes)
    if is_cut.any():
        query = int(is_cut.argmax())
        raise LtrValueError(
            f"This subset holds {sizes_in_subset[query]} of the {sizes[query]} documents of query {query}, and "
            f"parts of {int(is_cut.sum())} queries in total. A ranking needs whole queries. lgb.cv cuts queries unless "
            "params names a ranking objective: pass folds=sklearn.model_selection.GroupKFold(5), to which it passes "
            "the queries. Pass all rows of a query to Dataset.subset."
        )
