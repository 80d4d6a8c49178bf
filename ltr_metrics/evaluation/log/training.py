"""The rounds of a training: what every data set's queries had in each."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, same_arrays
from ltr_metrics._engine.words import RuleOfBestRound
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.change import Change
from ltr_metrics.evaluation.log.learning import LearningCurve, learning_curve
from ltr_metrics.evaluation.log.rounds import BestRound, best_round, change, segment_curves
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import Request


@dataclass
class Curves:
    """One data set's values."""

    data: Any  # weak reference to the host's data set, None once pickled
    name: str | None  # as far as the host knows it
    qid: AnyArray
    sizes: IntArray
    weight: FloatArray | None
    training: Any = None  # weak reference to what the host has one of for each training, None if unknown or pickled
    asked: dict[str, str] = field(default_factory=dict)
    source: dict[str, Request] = field(default_factory=dict)
    rounds: dict[str, list[FloatArray]] = field(default_factory=dict)


class TrainingLog:
    """The half of `PerQueryLog` that keeps rounds."""

    def __init__(self, names: Sequence[str] | None) -> None:
        if isinstance(names, str):
            raise LtrTypeError(
                f"names must be several names, such as [{names!r}]; a path goes into folder=. Got {names!r}."
            )
        self._given = None if names is None else tuple(names)
        if self._given is not None and len(set(self._given)) < len(self._given):
            raise LtrValueError(
                f"names must differ, since data sets are asked for by them. Got {', '.join(self._given)}."
            )
        self._curves: list[Curves] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the data sets, in the order in which the host evaluates them."""
        if self._given is not None:
            return self._given[: len(self._curves)]
        alone = sum(curves.name != "training" for curves in self._curves) == 1
        return tuple(curves.name or ("valid_0" if alone else f"data_{i}") for i, curves in enumerate(self._curves))

    def values(self, data: Any, metric: str | Metric) -> FloatArray:
        """Return a metric's values, (rounds x queries), NaN = left out.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
        """
        curves = self._of(data)
        return np.array(ByMetric(curves.rounds, curves.asked)[metric])  # type: ignore[index]

    def qid(self, data: Any) -> AnyArray:
        """Return the id of each column of `values`: with a host that knows sizes alone, the query's position."""
        return self._of(data).qid

    def changes(self, data: Any, metric: str | Metric, before: int = 0, after: int = -1) -> Change:
        """Return which queries improved and which got worse between two rounds (from 0; -1 is the last).

        ``improved``, ``worsened`` and ``unchanged`` are ids, the largest change first; ``difference`` is after - before, one a
        query in the order of `qid`. A query that the metric leaves out is in none of the three and has NaN there.
        """
        return change(self.values(data, metric), self.qid(data), before, after)

    def segments(self, data: Any, metric: str | Metric, by: Any) -> dict[Hashable, FloatArray]:
        """Return the mean of each round for each segment of the queries, NaN where it is over no query.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
        by : array-like of shape (n_queries,)
            A label a query, in the order of `qid`.
        """
        return segment_curves(self.values(data, metric), self._of(data).weight, by)

    def best_round(
        self, data: Any, metric: str | Metric, rule: RuleOfBestRound = "max", confidence: float = 0.95
    ) -> BestRound:
        """Choose a round, and say which others cannot be told from the best on these queries.

        The plateau is paired: a round belongs to it if its mean difference to the best round, query by query, is within z
        standard errors of that difference, z being the normal distribution's (an approximation that wants some dozens of
        queries). Standard errors are over queries, weighted as the mean is.

        ``rule="one_se"`` is the classical rule, over the spread between the queries. That is conservative here: the rounds of a
        training are judged on the same queries, so their differences vary far less than the queries do, and the round that the
        rule chooses may well be told from the best. Whether it is in the plateau, which is paired, says so.

        This is for after the training, and no stopping rule: to stop once a gain is not significant was tried on MQ2008
        and cost NDCG on the test queries, since many small gains add up. And the best of many
        rounds is optimistic on the data that it was chosen on: report its value on others.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
        rule : {"max", "one_se"}, default "max"
            ``"max"`` is the round of the highest mean, the earliest of equals. ``"one_se"`` is the earliest round whose mean is
            within one standard error of that one's (Breiman, Friedman, Olshen and Stone: Classification and Regression
            Trees, 1984): a smaller model.
        confidence : float, default 0.95
            Of the plateau.

        Returns
        -------
        BestRound
            ``round``, ``n_rounds`` (what to keep), ``best``, ``curve``, ``standard_error``, ``plateau``, `to_dict`. Rounds count
            from the log's first: a training that continued a model adds the rounds that the model had.

        Raises
        ------
        LtrValueError
            If a round has fewer than two queries that the metric is defined for: nothing says then how sure its mean is.

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
        >>> best = log.best_round(valid, "ndcg@10", rule="one_se")
        >>> best.round <= best.best and best.best in best.plateau
        True
        >>> scores = booster.predict(X_valid, num_iteration=best.n_rounds)
        >>> value = ltr.evaluate(y_valid, scores, qid=qid_valid, metrics="ndcg@10")["ndcg@10"]
        >>> bool(value == best.curve[best.round])
        True
        """
        curves = self._of(data)
        name = ByMetric(curves.rounds, curves.asked).canonical(metric)
        return best_round(self.values(data, name), curves.weight, metric=name, rule=rule, confidence=confidence)

    def learning_curve(self, data: Any, metric: str | Metric, confidence: float = 0.95) -> LearningCurve:
        """Return the mean of each round with its interval, the best round, its plateau, and the queries that are overfit.

        The interval is over queries, by Student's t: where the mean of other queries would be. Rounds are judged on the same queries,
        so two of them may well be told apart although their intervals overlap; the plateau is paired, as in `best_round`.

        A query is overfit if it loses for good after the best round: no round of the later half of those after it comes back to the
        query's value at the best round. The best round is chosen for its high mean, so that a little more queries lose than gain
        after it by chance alone: many more losses than gains are what overfitting looks like.

        Parameters
        ----------
        data : object or str
            The host's data set, or its name.
        metric : str or Metric
            One of which higher is better, as all of this package are.
        confidence : float, default 0.95
            Of the intervals, and of the plateau.

        Returns
        -------
        LearningCurve
            ``mean``, ``low``, ``high``, ``best``, ``plateau``, ``overfit`` (ids), ``loss``, ``n_lasting_gains``, `to_dict`.

        Raises
        ------
        LtrValueError
            If a round has fewer than two queries that the metric is defined for.
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
        >>> set(curve.overfit) <= set(log.changes(valid, "ndcg@10", before=curve.best, after=-1).worsened)
        True
        """
        curves = self._of(data)
        name = ByMetric(curves.rounds, curves.asked).canonical(metric)
        return learning_curve(
            self.values(data, name),
            curves.weight,
            curves.qid,
            metric=name,
            data=self._name_of(curves),
            confidence=confidence,
        )

    def record(
        self, data: Any, result: Evaluation, request: Request, *, name: str | None = None, training: Any = None
    ) -> None:
        """Append a round of one data set; see `PerQueryLog.record`."""
        curves = self._known(data) or self._new(data, name, result)
        self._refuse_another_training(curves, training)
        self._refuse_changed_data(curves, result)
        for asked, canonical in request.asked.items():
            if curves.asked.setdefault(asked, canonical) != canonical:
                raise LtrValueError(
                    f"{asked!r} means {curves.asked[asked]} and {canonical} in one log. Give each metric function its own PerQueryLog."
                )
        for metric, values in result.per_query.items():
            if curves.source.setdefault(metric, request) is not request:
                raise LtrValueError(
                    f"Two metric functions write {metric} into one log, which would mix their rounds. Give each its own PerQueryLog."
                )
            curves.rounds.setdefault(metric, []).append(values)

    def _refuse_another_training(self, curves: Curves, training: Any) -> None:
        if training is None:
            return
        curves.training = curves.training or weakref.ref(training)
        if curves.training() is not training:  # gone, or there still
            raise LtrValueError(
                f"The data set {self._name_of(curves)!r} of this log has rounds of another training, and those of this one would be "
                "appended to them. Give each training a new PerQueryLog."
            )

    def _refuse_changed_data(self, curves: Curves, result: Evaluation) -> None:
        """Refuse what would make rounds incomparable: a log has one weight a query, and one column."""
        pairs = {"sizes": (curves.sizes, result.n_documents), "weights": (curves.weight, result.weight)}
        for what, (before, now) in pairs.items():
            if not same_arrays(before, now):
                raise LtrValueError(
                    f"The queries of the data set {self._name_of(curves)!r} have other {what} than in the round before. Leave the data as "
                    "they are during a training, and give each training a new PerQueryLog."
                )

    def _name_of(self, curves: Curves) -> str:
        return next(name for name, known in zip(self.names, self._curves, strict=True) if known is curves)

    def _new(self, data: Any, name: str | None, result: Evaluation) -> Curves:
        if name is not None and any(curves.name == name for curves in self._curves):
            raise LtrValueError(
                f"This log has a data set {name!r} already, of another training or another of that name. Give each training a new "
                "log, and each data set of a training a name of its own."
            )
        if self._given is not None and len(self._curves) == len(self._given):
            raise LtrValueError(
                f"The log has {len(self._given)} names ({', '.join(self._given)}) and the host evaluates one more data set. Name "
                "all that are evaluated, the training data first."
            )
        self._curves.append(Curves(weakref.ref(data), name, result.qid, result.n_documents, result.weight))
        if len(set(self.names)) < len(self._curves):
            raise LtrValueError(
                f"Two data sets of this log would be {self.names[-1]!r}, the name of one and the default of another. Name all: "
                "PerQueryLog(names=...)."
            )
        return self._curves[-1]

    def _known(self, data: Any) -> Curves | None:
        return next((c for c in self._curves if c.data is not None and c.data() is data), None)

    def _of(self, data: Any) -> Curves:
        if isinstance(data, str):
            found = dict(zip(self.names, self._curves, strict=True)).get(data)
        else:
            found = None if data is None else self._known(data)
        if found is None:
            hint = did_you_mean(data, self.names) if isinstance(data, str) else ""
            raise LtrKeyError(
                f"There are no values of {data!r} in this log.{hint} It has {', '.join(self.names) or 'none at all yet'}. The host's own "
                "data set (LightGBM's Dataset, XGBoost's DMatrix) serves as well as a name; names of your own go into "
                "PerQueryLog(names=...)."
            )
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> TrainingLog:
        return self  # LGBMRanker.fit copies its metric deeply; what the copy writes is to be found here

    def __getstate__(self) -> dict[str, Any]:
        # Weak references cannot be pickled.
        without = [replace(curves, data=None, training=None) for curves in self._curves]
        return self.__dict__ | {"_curves": without}
