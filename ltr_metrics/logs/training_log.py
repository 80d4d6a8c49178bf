"""`PerQueryLog`: the values per query of all rounds of a training, by data set."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, IntArray, same_arrays
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.logs.learning import LearningCurve, curve_of_values
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import in_lower_case
from ltr_metrics.metrics.requests import Policy, Request, name_of


class Round(NamedTuple):
    """The round that a host evaluates.

    Attributes
    ----------
    number : int
        The round of the model, from 0. A training that continues a model of 10 rounds begins with 10.
    training : object, optional
        The object that the host has one of for each training, if it is known.
    taken_over : callable
        Called with the ``training`` of an earlier round. It returns how many rounds that model has if
        this training continues it, and None if it does not.
    """

    number: int
    training: Any = None
    taken_over: Callable[[Any], int | None] = lambda _: None


@dataclass
class LoggedData:
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
    writers: dict[str, Request] = field(default_factory=dict)  # by metric, in the current training
    policies: dict[str, Policy] = field(default_factory=dict)  # by metric, in all trainings that one log continues
    rounds: dict[str, dict[int, FloatArray]] = field(default_factory=dict)  # by metric, then by round, ascending
    lower_is_better: frozenset[str] = frozenset()


class PerQueryLog:
    """Keep the values per query of all rounds of a training.

    Pass the log to a host's metric function, then call `values`, `rounds` and `learning_curve`.
    Because hosts do not tell a metric how you named your data sets, you select a data set either by
    the object that the host evaluates (LightGBM's Dataset, XGBoost's DMatrix) or by a name of the
    log. These names are ``data_names`` if you pass them. If not, the log takes the name that the host
    knows: ``"training"`` for LightGBM's training Dataset, or the name of an XGBoost ``Monitor``.
    All other data sets are called ``"valid_0"`` if there is only one, and ``"data_0"``,
    ``"data_1"``, ... if there are several.

    Parameters
    ----------
    data_names : sequence of str, optional
        Names of a training's data sets in the order in which the host evaluates them. LightGBM
        evaluates the training data first if it evaluates them at all, then the others in the order
        of ``valid_sets`` or ``eval_set``.

    Raises
    ------
    LtrValueError, LtrTypeError
        If ``data_names`` is not a sequence of different names.

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
    >>> log.data_names, log.values(train, "ndcg@10").shape, log.qid("training").shape
    (('training',), (5, 50), (50,))
    >>> log.rounds("training")
    array([0, 1, 2, 3, 4])

    The queries that gain most between the first round and the last:

    >>> values = log.values("training", "ndcg@10")
    >>> gain = values[-1] - values[0]
    >>> log.qid("training")[gain.argsort()[-3:]].shape
    (3,)
    """

    def __init__(self, data_names: Sequence[str] | None = None) -> None:
        self._user_names = None if data_names is None else _names_of_data(data_names)
        self._data: list[LoggedData] = []

    def __repr__(self) -> str:
        return f"PerQueryLog({', '.join(self.data_names)})"

    @property
    def data_names(self) -> tuple[str, ...]:
        """Names of the data sets, in the order in which the host evaluates them."""
        if self._user_names is not None:
            return self._user_names[: len(self._data)]
        is_alone = sum(logged.name != "training" for logged in self._data) == 1
        return tuple(logged.name or ("valid_0" if is_alone else f"data_{i}") for i, logged in enumerate(self._data))

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
        return np.array(list(self._rounds_of(data, metric).values()))

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
        return self._data_of(data).qid

    def rounds(self, data: Any, metric: str | Metric | None = None) -> IntArray:
        """Return the round of the model, from 0, of each row of `values`.

        The first n + 1 rounds of the model are those that were evaluated in round n. A training
        that continues a model of 10 rounds begins with round 10. Rounds that were not evaluated
        are left out, such as those between two multiples of CatBoost's ``metric_period``. A log of
        ``ltr_metrics.learning_curve`` may have only every tenth round, for example: 9, 19, 29, ...

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric, optional
            One metric, by name or as an object. It is needed only if the metrics were evaluated in
            different rounds.

        Returns
        -------
        ndarray of int of shape (n_rounds,)
            Ascending numbers.

        Raises
        ------
        LtrKeyError
            If the log has no such data set or metric.
        LtrValueError
            If ``metric`` is needed.
        """
        logged = self._data_of(data)
        chosen = logged.rounds if metric is None else {"": self._rounds_of(data, metric)}
        first, *others = (list(values) for values in chosen.values())
        if any(numbers != first for numbers in others):
            raise LtrValueError(
                f"The metrics of {self._name_of(logged)!r} were evaluated in different rounds, so say of which metric "
                f"you want the rounds: rounds(data, metric), of {', '.join(logged.rounds)}."
            )
        return np.array(first, dtype=np.intp)

    def learning_curve(self, data: Any, metric: str | Metric, confidence: float = 0.95) -> LearningCurve:
        """Return the best round and its plateau, and the mean and interval of each round.

        The best round has the best mean, and is the earliest of equal ones. That is the highest
        mean, or the lowest for a metric where lower is better.

        The plateau has the rounds that do not differ significantly from the best one. They are
        compared query by query, by a paired t test: a round belongs to the plateau if its mean
        difference from the best round is at most t standard errors of this difference. The best
        round was chosen among all, so t is the quantile of the largest of all rounds. Standard
        errors are over queries, weighted as the mean is. For a smaller model, you could keep the
        first round of the plateau.

        The interval of a mean estimates the mean of other queries. All rounds are evaluated on the
        same queries, so two rounds may differ significantly although their intervals overlap.

        Use this after the training, and not as a stopping rule. We tried on MQ2008 to stop once a
        gain is not significant, and it cost NDCG on the test queries, since many small gains add
        up. The best of many rounds is also optimistic on the data that selected it: report its
        value on other data.

        ``best_round`` is another name of this method.

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
            ``n_rounds`` (how many to keep), ``best``, ``plateau``, ``rounds``, ``mean``, ``low``,
            ``high`` and ``standard_error``;
            ``to_dict`` returns them ready for JSON.

        Raises
        ------
        LtrValueError
            If the metric is defined for fewer than two queries in some round, which leaves the
            standard error of its mean undefined.
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
        >>> curve.best in curve.plateau
        True
        >>> scores = booster.predict(X_valid, num_iteration=curve.n_rounds)
        >>> value = ltr.evaluate(y_valid, scores, qid=qid_valid, metrics="ndcg@10")["ndcg@10"]
        >>> bool(value == curve.mean[curve.best])
        True
        """
        logged = self._data_of(data)
        rounds = self._rounds_of(data, metric)
        by_metric, asked = ByMetric(logged.rounds, logged.asked), name_of(metric)
        name = by_metric.canonical(metric)
        return curve_of_values(
            np.array(list(rounds.values())),
            logged.weight,
            metric=name,
            name=asked if asked in logged.asked or asked == name else in_lower_case(asked),
            data=self._name_of(logged),
            confidence=confidence,
            rounds=np.array(list(rounds), dtype=np.intp),
            higher_is_better=name not in logged.lower_is_better,
        )

    best_round = learning_curve  # whoever asks for the best round gets the curve that shows how clear it is

    def _rounds_of(self, data: Any, metric: str | Metric) -> dict[int, FloatArray]:
        """Return the values of a metric by round."""
        logged = self._data_of(data)
        return ByMetric(logged.rounds, logged.asked)[metric]  # type: ignore[index]

    def record(self, data: Any, result: Evaluation, request: Request, at: Round, *, name: str | None = None) -> None:
        """Keep the values of one round of one data set; adapters call this.

        A host may evaluate one data set under two names in a round, and a training may go back to
        an earlier round. So a round replaces the values that the log has of it and of later rounds.

        Parameters
        ----------
        data : object
            The host's data set; the log keeps a weak reference.
        result : Evaluation
            The values of the round.
        request : Request
            The request of the metric function: the same object in all rounds.
        at : Round
            The round; the log keeps a weak reference to its training.
        name : str, optional
            The data set's name, if the host knows it.
        """
        if at.number < 0:
            raise LtrValueError(
                "A log has the rounds of a model, and this model has none yet. Evaluate it after its first round, or "
                "with a metric function without a log."
            )
        logged = self._find(data) or self._add(data, name, result)
        self._refuse_another_training(logged, at)
        self._refuse_changed_data(logged, result)
        for asked, canonical in request.asked.items():
            if logged.asked.setdefault(asked, canonical) != canonical:
                raise LtrValueError(
                    f"{asked!r} means {logged.asked[asked]} and {canonical} in one log. "
                    "Give each metric function its own PerQueryLog."
                )
        for metric, values in result.per_query.items():
            writer, policy = (
                logged.writers.setdefault(metric, request),
                logged.policies.setdefault(metric, request.policy),
            )
            if writer is not request or policy != request.policy:
                raise LtrValueError(
                    f"Two metric functions write {metric} into one log, which would mix their values. "
                    "Give each its own PerQueryLog."
                )
            rounds = logged.rounds.setdefault(metric, {})
            _drop_rounds(rounds, at.number)
            rounds[at.number] = values
        logged.lower_is_better |= result.lower_is_better

    def _refuse_another_training(self, logged: LoggedData, at: Round) -> None:
        """Raise an error for a training other than that of the log, unless it continues its model."""
        if at.training is None:
            return
        logged.training = logged.training or weakref.ref(at.training)
        before = logged.training()
        if before is at.training:
            return
        n_rounds = None if before is None else at.taken_over(before)
        if n_rounds is None:
            raise LtrValueError(
                f"The data set {self._name_of(logged)!r} of this log has rounds of another training, which this one "
                "does not continue. Give each training a new PerQueryLog. Only a booster of LightGBM or XGBoost that "
                "begins with all rounds of the booster that the log is of, which must still exist, is appended."
            )
        for rounds in logged.rounds.values():
            _drop_rounds(rounds, n_rounds)  # those after the best one, which early stopping has cut off
        logged.training = weakref.ref(at.training)
        logged.writers.clear()  # another metric function may go on, under the same policy

    def _refuse_changed_data(self, logged: LoggedData, result: Evaluation) -> None:
        """Refuse other sizes or weights: a log has one weight and one column per query."""
        pairs = {"sizes": (logged.sizes, result.n_documents), "weights": (logged.weight, result.weight)}
        for name, (before, now) in pairs.items():
            if not same_arrays(before, now):
                raise LtrValueError(
                    f"The queries of the data set {self._name_of(logged)!r} have other {name} than in the round "
                    "before. Do not change the data during a training, and give each training a new PerQueryLog. "
                    "A metric with average=micro also needs one of its own."
                )

    def _name_of(self, logged: LoggedData) -> str:
        return next(name for name, known in zip(self.data_names, self._data, strict=True) if known is logged)

    def _add(self, data: Any, name: str | None, result: Evaluation) -> LoggedData:
        if name is not None and any(logged.name == name for logged in self._data):
            raise LtrValueError(
                f"This log has a data set {name!r} already, from another training or with the same name. "
                "Give each training a new log, and each data set of a training a name of its own."
            )
        if self._user_names is not None and len(self._data) == len(self._user_names):
            raise LtrValueError(
                f"The log has {len(self._user_names)} names ({', '.join(self._user_names)}) and the host evaluates one "
                "more data set. Name all data sets that are evaluated, the training data first."
            )
        self._data.append(LoggedData(weakref.ref(data), name, result.qid, result.n_documents, result.weight))
        return self._data[-1]

    def _find(self, data: Any) -> LoggedData | None:
        alive = (c for c in self._data if c.data is not None and c.data() is not None)
        return next((c for c in alive if c.data() is data), None)

    def _data_of(self, data: Any) -> LoggedData:
        is_name = isinstance(data, str)
        logged = dict(zip(self.data_names, self._data, strict=True)).get(data) if is_name else self._find(data)
        if logged is None:
            hint = did_you_mean(data, self.data_names) if is_name else ""
            raise LtrKeyError(
                f"There are no values of {data!r} in this log.{hint} It has "
                f"{', '.join(self.data_names) or 'none at all yet'}. Pass a name, or the host's own data set "
                "(LightGBM's Dataset, XGBoost's DMatrix). Choose names with PerQueryLog(data_names=...)."
            )
        return logged

    def __deepcopy__(self, memo: dict[int, Any]) -> PerQueryLog:
        return self  # LGBMRanker.fit copies its metric deeply, and the copy must write here

    def __getstate__(self) -> dict[str, Any]:
        # Weak references cannot be pickled.
        return self.__dict__ | {"_data": [replace(logged, data=None, training=None) for logged in self._data]}


def _drop_rounds(rounds: dict[int, FloatArray], first: int) -> None:
    """Drop a round and all later ones."""
    while rounds and next(reversed(rounds)) >= first:
        rounds.popitem()


def _names_of_data(names: Any) -> tuple[str, ...]:
    """Return names of data sets, if they are some, in order, and differ."""
    has_order = isinstance(names, Iterable) and not isinstance(names, (str, Mapping, set, frozenset))
    read = tuple(names) if has_order else ()
    if not read or not all(isinstance(name, str) and name for name in read):
        raise LtrTypeError(f"data_names must be several names, such as ['valid', 'test'], in order. Got {names!r}.")
    if len(set(read)) < len(read):
        raise LtrValueError(f"data_names must differ, since each selects a data set. Got {', '.join(read)}.")
    return read


def require_data_name(name: object, parameter: str = "name") -> str:
    """Return the name of a data set in a log, if it is one."""
    if not isinstance(name, str) or not name:
        raise LtrTypeError(f"{parameter} must be text, the name of a data set in the log. Got {name!r}.")
    return name
