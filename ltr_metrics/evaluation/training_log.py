"""`PerQueryLog`: the values per query of all rounds of a training, by data set."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, same_arrays
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.learning import BestRound, LearningCurve, best_round, learning_curve
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Request


@dataclass
class Curves:
    """The values of one data set in all rounds.

    ``data`` and ``training`` are weak references, and None after unpickling. ``training`` refers to
    the object that the host has one of for each training, and is None if that is unknown.
    """

    data: Any
    name: str | None  # the host's name, if it is known
    qid: AnyArray
    sizes: IntArray
    weight: FloatArray | None
    training: Any = None
    asked: dict[str, str] = field(default_factory=dict)
    source: dict[str, Request] = field(default_factory=dict)
    rounds: dict[str, list[FloatArray]] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)  # of the recorded rounds, if they are not 0, 1, 2, ...
    lower_is_better: frozenset[str] = frozenset()

    def numbers_of_rounds(self, n: int) -> IntArray:
        """Return the round of the training, from 0, of each of ``n`` rows of values."""
        return np.array(self.numbers or range(n), dtype=np.intp)


class PerQueryLog:
    """Keep the values per query of all rounds of a training.

    Pass the log to a host's metric function, then call `values`, `best_round` and `learning_curve`.
    Because hosts do not tell a metric how you named your data sets, you select a data set either by
    the object that the host evaluates (LightGBM's Dataset, XGBoost's DMatrix) or by a name of the
    log. These names are ``names`` if you pass them. If not, the log takes the name that the host
    knows: ``"training"`` for LightGBM's training Dataset, or the name of an XGBoost ``Monitor``.
    All other data sets are called ``"valid_0"`` if there is only one, and ``"data_0"``,
    ``"data_1"``, ... if there are several.

    Parameters
    ----------
    names : sequence of str, optional
        Names of a training's data sets in the order in which the host evaluates them. LightGBM
        evaluates the training data first if it evaluates them at all, then the others in the order
        of ``valid_sets`` or ``eval_set``.

    Raises
    ------
    LtrValueError, LtrTypeError
        If ``names`` is not a sequence of different names.

    See Also
    --------
    ltr_metrics.lightgbm.feval : A metric function that takes a log, for LightGBM.
    ltr_metrics.xgboost.custom_metric : A metric function that takes a log, for XGBoost.
    ltr_metrics.SearchLog : The same for the candidates of a search.
    ltr_metrics.report.LearningCurveDisplay : A picture of a training.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), free_raw_data=False)
    >>> log = ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> log.names, log.values(train, "ndcg@10").shape, log.qid("training").shape
    (('training',), (5, 50), (50,))
    >>> log.rounds("training")
    array([0, 1, 2, 3, 4])

    The queries that gain most between the first round and the last:

    >>> values = log.values("training", "ndcg@10")
    >>> gain = values[-1] - values[0]
    >>> log.qid("training")[gain.argsort()[-3:]].shape
    (3,)
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        if isinstance(names, (str, Mapping, set, frozenset)):
            raise LtrTypeError(f"names must be several names, such as ['valid', 'test'], in order. Got {names!r}.")
        self._user_names = None if names is None else tuple(names)
        if self._user_names is not None and len(set(self._user_names)) < len(self._user_names):
            raise LtrValueError(f"names must differ, since each selects a data set. Got {', '.join(self._user_names)}.")
        self._curves: list[Curves] = []

    def __repr__(self) -> str:
        return f"PerQueryLog({', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the data sets, in the order in which the host evaluates them."""
        if self._user_names is not None:
            return self._user_names[: len(self._curves)]
        is_alone = sum(curves.name != "training" for curves in self._curves) == 1
        return tuple(curves.name or ("valid_0" if is_alone else f"data_{i}") for i, curves in enumerate(self._curves))

    def values(self, data: Any, metric: str | Metric) -> FloatArray:
        """Return a metric's values, one row per round and one column per query.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
            One metric, by name or as an object.

        Returns
        -------
        ndarray of float64 of shape (n_rounds, n_queries)
            NaN for a query that the metric leaves out.

        Raises
        ------
        LtrKeyError
            If the log has no such data set or metric.
        """
        curves = self._curves_of(data)
        return np.array(ByMetric(curves.rounds, curves.asked)[metric])  # type: ignore[index]

    def qid(self, data: Any) -> AnyArray:
        """Return the query id of each column of `values`: positions if the host has only sizes.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.

        Returns
        -------
        ndarray of shape (n_queries,)
            Query ids.

        Raises
        ------
        LtrKeyError
            If the log has no such data set.
        """
        return self._curves_of(data).qid

    def rounds(self, data: Any) -> IntArray:
        """Return the round of the training, from 0, of each row of `values`.

        They are 0, 1, 2, ... in the log of a training, unless CatBoost's ``metric_period`` leaves
        some out. A log of ``ltr_metrics.learning_curve`` may have only every tenth round, for
        example: 9, 19, 29, ...

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.

        Returns
        -------
        ndarray of int of shape (n_rounds,)
            Ascending numbers.

        Raises
        ------
        LtrKeyError
            If the log has no such data set.
        """
        curves = self._curves_of(data)
        return curves.numbers_of_rounds(max(map(len, curves.rounds.values())))

    def best_round(self, data: Any, metric: str | Metric, confidence: float = 0.95) -> BestRound:
        """Return the best round, and the rounds that do not differ significantly from it.

        These rounds are called the plateau. The rounds are compared query by query: one belongs to
        the plateau if its mean difference from the best round is at most z standard errors of this
        difference. z is a quantile of the normal distribution, which is an approximation that needs
        some dozens of queries. Standard errors are over queries, weighted as the mean is.

        The best round has the best mean, and is the earliest of equal ones. That is the highest
        mean, or the lowest for a metric where lower is better. For a smaller model, keep the first
        round of the plateau instead.

        Use this after the training, and not as a stopping rule. We tried on MQ2008 to stop once a
        gain is not significant, and it cost NDCG on the test queries, since many small gains add
        up. The best of many rounds is also optimistic on the data that selected it: report its
        value on other data.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
            One metric, by name or as an object.
        confidence : float, default 0.95
            Confidence level of the plateau.

        Returns
        -------
        BestRound
            ``round``, ``n_rounds`` (how many to keep), ``curve``, ``standard_error`` and
            ``plateau``; ``to_dict`` returns them ready for JSON. Rounds count from the first one of
            the log. If the training continued a model, add the rounds that the model had before.

        Raises
        ------
        LtrValueError
            If the metric is defined for fewer than two queries in some round, which leaves the
            standard error of its mean undefined.

        Examples
        --------
        >>> import lightgbm as lgb, ltr_metrics as ltr
        >>> from ltr_metrics.lightgbm import feval
        >>> X, y, qid = ltr.make_ranking(n_queries=80, random_state=0)
        >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, test_size=0.5, random_state=0)
        >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
        >>> valid = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train)
        >>> log = ltr.PerQueryLog()
        >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
        >>> booster = lgb.train(params, train, 30, valid_sets=[valid], feval=feval("ndcg@10", log=log))
        >>> best = log.best_round(valid, "ndcg@10")
        >>> best.round in best.plateau
        True
        >>> scores = booster.predict(X_valid, num_iteration=best.n_rounds)
        >>> value = ltr.evaluate(y_valid, scores, qid=qid_valid, metrics="ndcg@10")["ndcg@10"]
        >>> bool(value == best.curve[best.round])
        True
        """
        return best_round(**self._rounds_of(data, metric), confidence=confidence)

    def learning_curve(self, data: Any, metric: str | Metric, confidence: float = 0.95) -> LearningCurve:
        """Return the mean and interval of each round, the best round, and the overfit queries.

        The interval is over queries, by Student's t: it estimates the mean of other queries. All
        rounds are evaluated on the same queries, so two rounds may differ significantly although
        their intervals overlap. The plateau is paired, as in `best_round`.

        A query is overfit if it has a lasting loss after the best round, which means that no round
        in the later half of the following rounds reaches the query's value at the best round.
        Slightly more queries lose than gain after the best round merely by chance, because this
        round was selected for its high mean. Many more losses than gains indicate overfitting.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
            One metric, by name or as an object.
        confidence : float, default 0.95
            Confidence level of the intervals and of the plateau.

        Returns
        -------
        LearningCurve
            ``mean``, ``low``, ``high``, ``best``, ``plateau``, ``overfit`` (ids), ``loss`` and
            ``n_lasting_gains``; ``to_dict`` returns them ready for JSON.

        Raises
        ------
        LtrValueError
            If the metric is defined for fewer than two queries in some round.
        MissingExtraError
            If SciPy is not installed.

        Examples
        --------
        >>> import lightgbm as lgb, ltr_metrics as ltr
        >>> from ltr_metrics.lightgbm import feval
        >>> X, y, qid = ltr.make_ranking(n_queries=80, random_state=0)
        >>> X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, test_size=0.5, random_state=0)
        >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
        >>> valid = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train)
        >>> log = ltr.PerQueryLog()
        >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
        >>> booster = lgb.train(params, train, 30, valid_sets=[valid], feval=feval("ndcg@10", log=log))
        >>> curve = log.learning_curve(valid, "ndcg@10")
        >>> bool(curve.low[curve.best] < curve.mean[curve.best] < curve.high[curve.best])
        True
        >>> len(curve.overfit) == len(curve.loss), curve.best in curve.plateau
        (True, True)
        """
        curves = self._curves_of(data)
        return learning_curve(
            **self._rounds_of(data, metric), qid=curves.qid, data=self._name_of(curves), confidence=confidence
        )

    def _rounds_of(self, data: Any, metric: str | Metric) -> dict[str, Any]:
        """Return what the statistics of a metric's rounds are made from."""
        curves = self._curves_of(data)
        name = ByMetric(curves.rounds, curves.asked).canonical(metric)
        values = self.values(data, name)
        return {
            "values": values,
            "weight": curves.weight,
            "metric": name,
            "rounds": curves.numbers_of_rounds(len(values)),
            "higher_is_better": name not in curves.lower_is_better,
        }

    def record(
        self,
        data: Any,
        result: Evaluation,
        request: Request,
        *,
        name: str | None = None,
        training: Any = None,
        number: int | None = None,
    ) -> None:
        """Append a round of one data set; adapters call this.

        Parameters
        ----------
        data : object
            The host's data set; the log keeps a weak reference.
        result : Evaluation
            The values of the round.
        request : Request
            The request of the metric function: the same object in all rounds.
        name : str, optional
            The data set's name, if the host knows it.
        training : object, optional
            The object that the host has one of for each training (LightGBM's Booster), if it is
            known; the log keeps a weak reference.
        number : int, optional
            The round of the training, from 0, if rounds are left out. Then it is given in every
            call, and there is one metric function.
        """
        curves = self._find(data) or self._add(data, name, result)
        self._refuse_another_training(curves, training)
        self._refuse_changed_data(curves, result)
        for asked, canonical in request.asked.items():
            if curves.asked.setdefault(asked, canonical) != canonical:
                raise LtrValueError(
                    f"{asked!r} means {curves.asked[asked]} and {canonical} in one log. "
                    "Give each metric function its own PerQueryLog."
                )
        for metric, values in result.per_query.items():
            if curves.source.setdefault(metric, request) is not request:
                raise LtrValueError(
                    f"Two metric functions write {metric} into one log, which would mix their rounds. "
                    "Give each its own PerQueryLog."
                )
            curves.rounds.setdefault(metric, []).append(values)
        curves.lower_is_better |= result.lower_is_better
        if number is not None:
            curves.numbers.append(number)

    def _refuse_another_training(self, curves: Curves, training: Any) -> None:
        if training is None:
            return
        curves.training = curves.training or weakref.ref(training)
        if curves.training() is not training:  # whether the other one still exists or not
            raise LtrValueError(
                f"The data set {self._name_of(curves)!r} of this log has rounds of another training, and those of this "
                "one would be appended to them. Give each training a new PerQueryLog."
            )

    def _refuse_changed_data(self, curves: Curves, result: Evaluation) -> None:
        """Refuse other sizes or weights: a log has one weight and one column per query."""
        pairs = {"sizes": (curves.sizes, result.n_documents), "weights": (curves.weight, result.weight)}
        for name, (before, now) in pairs.items():
            if not same_arrays(before, now):
                raise LtrValueError(
                    f"The queries of the data set {self._name_of(curves)!r} have other {name} than in the round "
                    "before. Do not change the data during a training, and give each training a new PerQueryLog. "
                    "A metric with average=micro also needs one of its own."
                )

    def _name_of(self, curves: Curves) -> str:
        return next(name for name, known in zip(self.names, self._curves, strict=True) if known is curves)

    def _add(self, data: Any, name: str | None, result: Evaluation) -> Curves:
        if name is not None and any(curves.name == name for curves in self._curves):
            raise LtrValueError(
                f"This log has a data set {name!r} already, from another training or with the same name. "
                "Give each training a new log, and each data set of a training a name of its own."
            )
        if self._user_names is not None and len(self._curves) == len(self._user_names):
            raise LtrValueError(
                f"The log has {len(self._user_names)} names ({', '.join(self._user_names)}) and the host evaluates one "
                "more data set. Name all data sets that are evaluated, the training data first."
            )
        self._curves.append(Curves(weakref.ref(data), name, result.qid, result.n_documents, result.weight))
        return self._curves[-1]

    def _find(self, data: Any) -> Curves | None:
        alive = (c for c in self._curves if c.data is not None and c.data() is not None)
        return next((c for c in alive if c.data() is data), None)

    def _curves_of(self, data: Any) -> Curves:
        is_name = isinstance(data, str)
        curves = dict(zip(self.names, self._curves, strict=True)).get(data) if is_name else self._find(data)
        if curves is None:
            hint = did_you_mean(data, self.names) if is_name else ""
            raise LtrKeyError(
                f"There are no values of {data!r} in this log.{hint} It has "
                f"{', '.join(self.names) or 'none at all yet'}. Pass a name, or the host's own data set (LightGBM's "
                "Dataset, XGBoost's DMatrix). Choose names with PerQueryLog(names=...)."
            )
        return curves

    def __deepcopy__(self, memo: dict[int, Any]) -> PerQueryLog:
        return self  # LGBMRanker.fit copies its metric deeply, and the copy must write here

    def __getstate__(self) -> dict[str, Any]:
        # Weak references cannot be pickled.
        return self.__dict__ | {"_curves": [replace(curves, data=None, training=None) for curves in self._curves]}
