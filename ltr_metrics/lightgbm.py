"""LightGBM: `feval` for ``lgb.train`` and ``lgb.cv``, `eval_metric` for ``LGBMRanker.fit``.

Both prepare labels, boundaries and the ideal ranking once for each data set, and drop them with it. Nothing here imports
lightgbm: its objects are recognised by what they offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import IntArray
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts import (
    Gain,
    HostMetrics,
    Names,
    Plan,
    QueriesCache,
    find_host_call,
    gain_of_setting,
    wrong_host,
)
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics

Triples = list[tuple[str, float, bool]]


def feval(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: PerQueryLog | None = None,
    names: Names = "canonical",
) -> DatasetMetrics:
    """Return a metric function for ``lgb.train(feval=...)`` and ``lgb.cv(feval=...)``.

    Pass ``metric="None"`` in the parameters to have these metrics alone in the log, and in early stopping: LightGBM puts
    its built-in metrics first, and ``first_metric_only=True`` watches the first. LightGBM keeps one history for a name, so
    ``map@10`` beside its own ``map`` is refused, and so are two metric functions that log ``mrr``, each with its own tie
    policy. Row weights become query weights by their mean.

    Parameters
    ----------
    metrics : str, Metric, or several of them
    ties, no_relevant, convention
        As for `ltr_metrics.evaluate`. ``convention="lightgbm"`` gives LightGBM's own values. It also follows the
        ``label_gain`` of the training: ``"ndcg@10"`` is then logged as ``ndcg_lin@10`` or ``ndcg(gain=[0,1,3])@10``. A name
        that says its gain (``"ndcg_exp@10"``), a metric object and other conventions do not depend on ``label_gain``.
    log : PerQueryLog, optional
        Gets the per-query values of every round.
    names : {"canonical", "asked", "slug"} or mapping, default "canonical"
        Names in the log. ``"canonical"`` is ``str(metric)``, ``"asked"`` is the name as you typed it, and ``"slug"`` is
        ``metric.slug``, which experiment trackers accept. A mapping gives names of your own, such as
        ``{"ndcg@10": "val ndcg"}``: its keys are metrics as you asked for them, or canonical names. Metrics that it leaves
        out keep their canonical name. A `PerQueryLog` is asked by these names too.

    Returns
    -------
    callable
        ``(preds, Dataset) -> [(name, value, True), ...]``

    Raises
    ------
    LtrValueError, LtrTypeError
        At once: ``names`` of which two are equal, with equal last words, or with unknown keys.
        In training, at the first round: a Dataset without ``group``, queries cut by a fold of ``lgb.cv`` or by
        ``Dataset.subset``, a name that is in the history already, several predictions a row, another host's data, a metric
        that is undefined for all queries. At the round that has them: NaN predictions.

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
    return DatasetMetrics(metrics, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names)


def eval_metric(
    metrics: Metrics,
    *,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    log: PerQueryLog | None = None,
    names: Names = "canonical",
) -> ArrayMetrics:
    """Return a metric function for ``LGBMRanker.fit(eval_metric=...)``.

    LGBMRanker evaluates ``ndcg`` as well unless it was made with ``metric="None"``; ``fit(eval_metric="None")`` does not turn
    it off. Several functions, or names of built-in metrics beside one, go into a list: LightGBM ignores a tuple. A name
    that is in the history already is refused, as by `feval`: ``map@3`` beside ``eval_metric="map"``. Before LightGBM
    4.7 the validation data go into ``eval_set=[(X, y)]``.

    Parameters
    ----------
    metrics, ties, no_relevant, convention, log, names
        As for `feval`.

    Returns
    -------
    callable
        ``(y_true, y_pred, weight, group) -> [(name, value, True), ...]``

    Raises
    ------
    LtrValueError, LtrTypeError
        In training, as for `feval`.

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
    return ArrayMetrics(metrics, ties=ties, no_relevant=no_relevant, convention=convention, log=log, names=names)


class LightGBMMetrics(HostMetrics):
    """What both kinds of metric functions share."""

    HOST = "lightgbm"

    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(metrics, **options)
        self._queries_cache = QueriesCache()

    def _refuse_unusable_names(self, names: Sequence[str]) -> None:
        last_words: dict[str, str] = {}
        for name in names:
            other = last_words.setdefault(name.split(" ")[-1], name)
            if other != name:
                raise LtrValueError(
                    f"LightGBM's early stopping may know a metric by the last word of its name alone, which {other!r} and "
                    f"{name!r} have in common. Give one of them another last word, for example by underscores in place of "
                    "the spaces."
                )


class DatasetMetrics(LightGBMMetrics):
    """A ``feval``: called with predictions and the Dataset that they are for."""

    def __call__(self, preds: Any, dataset: Any = None, *others: Any) -> Triples:
        if not (hasattr(dataset, "get_field") and hasattr(dataset, "used_indices")):
            raise wrong_host(
                "feval is for lgb.train and lgb.cv, which hand over predictions and a Dataset.", preds, dataset
            )
        calling = _Calling.now()
        plan = self.plan(self._gain(calling, dataset))
        calling.refuse_names_in_use(plan)
        result = plan.evaluate(self._queries(dataset), _one_a_row(preds))
        if self.log is not None:
            name = "training" if calling.is_training(dataset) else None
            self.log.record(dataset, result, plan.request, name=name, training=calling.booster)
        return _triples(plan, result)

    def _gain(self, calling: _Calling, dataset: Any) -> Gain:
        if not self.follows_gain:
            return "exp"
        # The Dataset's own params are those of the first training that used it. A call by hand has nothing else.
        params = dataset.params if calling.booster is None else calling.booster.params
        return gain_of_setting("label_gain", (params or {}).get("label_gain"))

    def _queries(self, dataset: Any) -> Queries:
        # get_label() does not tell of set_field("label", ...): these are the fields that LightGBM has now.
        fields = tuple(map(dataset.get_field, ("label", "weight", "group")))
        return self._queries_cache.get(dataset, fields, lambda: _queries_of(dataset, *fields))


class ArrayMetrics(LightGBMMetrics):
    """An ``eval_metric``: LightGBM tells by the number of parameters, four, that it wants weight and group too."""

    def __call__(self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None) -> Triples:
        if not isinstance(y_true, np.ndarray) or not isinstance(y_pred, np.ndarray):
            raise wrong_host("eval_metric is for LGBMRanker.fit, which hands over arrays.", y_true, y_pred)
        if group is None:
            raise LtrTypeError(
                "eval_metric needs the queries, and it was called without: use LGBMRanker with eval_group, or lgb.train with "
                "ltr_metrics.lightgbm.feval and a Dataset with group. XGBRanker, which calls it once a query, takes "
                "callbacks=[ltr_metrics.xgboost.Monitor(...)]."
            )
        calling = _Calling.now()
        plan = self.plan(self._gain(calling))
        calling.refuse_names_in_use(plan)
        queries = self._queries_cache.get(
            y_true, (y_true, weight, group), lambda: Queries(y_true, group=group, sample_weight=weight)
        )
        result = plan.evaluate(queries, _one_a_row(y_pred))
        if self.log is not None:
            self.log.record(y_true, result, plan.request, training=calling.booster)
        return _triples(plan, result)

    def _gain(self, calling: _Calling) -> Gain:
        if not self.follows_gain:
            return "exp"
        if calling.booster is not None:
            return gain_of_setting("label_gain", calling.booster.params.get("label_gain"))
        if calling.in_host:
            self.warn_of_unknown_gain()
        return "exp"


def _triples(plan: Plan, result: Evaluation) -> Triples:
    # (name, value, higher is better); LightGBM wants a list, and fails on a tuple of them
    return [(name, value, True) for name, value in plan.named(result.mean).items()]


def _one_a_row(preds: Any) -> Any:
    if np.ndim(preds) == 2:
        raise LtrValueError(
            f"A ranking has one score a row, and LightGBM predicts {np.shape(preds)[1]} here (num_class). Train with a ranking, "
            "regression or binary objective, or make one score of them and ask ltr_metrics.evaluate."
        )
    return preds


class _Calling(NamedTuple):
    """What LightGBM is doing when it calls a metric.

    It does not tell: Dataset.params, for one, are those of the first training that used the Dataset. So it is read from the
    frame of `Booster.__inner_eval`, which gathers the results of one data set. A function of the user's that stands between
    names its values itself, so that the names of the others do not matter. In a call by hand nothing is known.
    """

    booster: Any = None
    names: tuple[str, ...] = ()  # in this round's results of this data set already
    in_host: bool = False

    @classmethod
    def now(cls) -> _Calling:
        call = find_host_call("lightgbm", "__inner_eval")
        if call.frame is None:
            return cls(in_host=call.in_host)
        results = call.frame.f_locals.get("ret", ()) if call.is_direct else ()
        return cls(call.frame.f_locals["self"], tuple(name for _, name, *_ in results), True)

    def is_training(self, dataset: Any) -> bool:
        """Whether the data set is the one that is trained on; none of the folds of lgb.cv is."""
        if self.booster is None:
            return dataset.reference is None
        return dataset.used_indices is None and getattr(self.booster, "train_set", None) is dataset

    def refuse_names_in_use(self, plan: Plan) -> None:
        """Refuse a name that LightGBM has in its results of this round and data set: it keeps one history for a name."""
        twice = [name for name in plan.logged.values() if name in self.names]
        if twice:
            raise LtrValueError(
                f"{', '.join(map(repr, twice))} of this data set is in LightGBM's history already, from its own metric of that name or "
                "from another metric function, and one history would hold the values of both. LightGBM's own metrics are left out by "
                f'metric="None" among the parameters (of LGBMRanker too). names={{"{twice[0]}": "my {twice[0]}"}} gives ours '
                'another name in the log. convention="lightgbm" does so for map@10, which it names map(rel=>0.5)@10. Of two '
                "metric functions that log one name, rename one or leave one out."
            )


def _queries_of(dataset: Any, label: Any, weight: Any, boundaries: Any) -> Queries:
    if boundaries is None:
        raise LtrValueError(
            "The Dataset has no queries: make it with lgb.Dataset(..., group=sizes). Sizes from an id a row: "
            "ltr_metrics.qid_to_group(qid)."
        )
    if dataset.used_indices is None:
        return Queries(label, group=np.diff(boundaries), sample_weight=weight)
    return Queries(label, qid=_query_of_row(dataset), sample_weight=weight)


def _query_of_row(dataset: Any) -> IntArray | None:
    """Return each row's query, of a subset's rows as counted in the whole data; None if there are no queries.

    A subset that holds a part of a query is refused: its groups are what is left of the queries, and nothing tells.
    """
    boundaries = dataset.get_field("group")
    if boundaries is None:
        return None
    own: IntArray = np.repeat(np.arange(len(boundaries) - 1), np.diff(boundaries))
    of_whole = None if dataset.used_indices is None else _query_of_row(dataset.reference)
    if of_whole is None:
        return own
    of_subset: IntArray = of_whole[np.asarray(dataset.used_indices)]
    _refuse_cut_queries(of_subset, of_whole)
    # A subset of a subset, or of data from a binary file, has lost its groups; others have got their own by set_group().
    regrouped = len(own) > 0 and not np.array_equal(np.diff(own) != 0, np.diff(of_subset) != 0)
    return own if regrouped else of_subset


def _refuse_cut_queries(of_subset: IntArray, of_whole: IntArray) -> None:
    sizes = np.bincount(of_whole)
    taken = np.bincount(of_subset, minlength=len(sizes))
    cut = (taken > 0) & (taken != sizes)
    if cut.any():
        query = int(cut.argmax())
        raise LtrValueError(
            f"This subset holds {taken[query]} of the {sizes[query]} documents of query {query}, and parts of {int(cut.sum())} "
            "queries in all. A ranking needs whole queries. lgb.cv cuts them unless params names a ranking objective: pass "
            "folds=sklearn.model_selection.GroupKFold(5), which it tells the queries. To Dataset.subset pass all rows of a query."
        )
