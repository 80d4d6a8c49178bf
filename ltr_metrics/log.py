"""Per-query values of every round of a training: which queries got better, which got worse."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics.conventions import Request
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.grouping import label_codes
from ltr_metrics.inputs import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.metrics.base import Metric
from ltr_metrics.result import ByMetric, Evaluation, mean


class Change(NamedTuple):
    """How the queries fared between two rounds; a query that a metric leaves out is in none of the three."""

    improved: AnyArray  # ids, largest gain first
    worsened: AnyArray  # ids, largest loss first
    unchanged: AnyArray
    difference: FloatArray  # after - before, one a query in the order of `PerQueryLog.qid`


@dataclass
class _Curves:
    """One data set's values."""

    data: Any  # weak reference to the host's data set, None once pickled
    is_training: bool
    qid: AnyArray
    sizes: IntArray
    weight: FloatArray | None
    asked: dict[str, str] = field(default_factory=dict)
    source: dict[str, Request] = field(default_factory=dict)
    rounds: dict[str, list[FloatArray]] = field(default_factory=dict)


class PerQueryLog:
    """Keeps the per-query values of every round of one training.

    Hosts do not tell a metric the names that a user gave to data sets. So a data set is known here by the object that the
    host evaluates (LightGBM's Dataset), and by a name: those given as ``names``; otherwise ``"training"`` for LightGBM's
    training Dataset and ``"valid_0"`` for another one if it is the only one, and ``"data_0"``, ``"data_1"``, ... where there
    are more.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the data sets in the order in which the host evaluates them. LightGBM evaluates the training data first if
        they are evaluated at all, then the others in the order of ``valid_sets`` or ``eval_set``.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), free_raw_data=False)
    >>> log = ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> log.values(train, "ndcg@10").shape
    (5, 50)
    >>> len(log.changes("training", "ndcg@10").improved) > len(log.changes("training", "ndcg@10").worsened)
    True
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self._given = None if names is None else tuple(names)
        self._curves: list[_Curves] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the data sets, in the order in which the host evaluates them."""
        if self._given is not None:
            return self._given[: len(self._curves)]
        alone = sum(not curves.is_training for curves in self._curves) == 1
        return tuple(
            "training" if curves.is_training else "valid_0" if alone else f"data_{i}"
            for i, curves in enumerate(self._curves)
        )

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
        """Return the id of each column of `values`: with LightGBM, which knows sizes alone, the query's position."""
        return self._of(data).qid

    def changes(self, data: Any, metric: str | Metric, before: int = 0, after: int = -1) -> Change:
        """Return which queries improved and which got worse between two rounds (from 0; -1 is the last).

        ``improved``, ``worsened`` and ``unchanged`` are ids, the largest change first; ``difference`` is after - before, one a
        query in the order of `qid`. A query that the metric leaves out is in none of the three and has NaN there.
        """
        values, qid = self.values(data, metric), self.qid(data)
        for round_ in (before, after):
            if not isinstance(round_, (int, np.integer)) or not -len(values) <= round_ < len(values):
                raise LtrValueError(f"There are {len(values)} rounds in the log, counted from 0; got round {round_!r}.")
        difference = values[after] - values[before]
        by_gain = np.argsort(-difference, kind="stable")
        return Change(
            improved=qid[by_gain[difference[by_gain] > 0]],
            worsened=qid[by_gain[::-1][difference[by_gain[::-1]] < 0]],
            unchanged=qid[difference == 0],
            difference=difference,
        )

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
        curves, values = self._of(data), self.values(data, metric)
        names, code = label_codes(by, "by")
        if len(code) != len(curves.qid):
            raise LtrValueError(
                f"by must have one label a query, {len(curves.qid)} in the order of qid. Got {len(code)}."
            )
        return {
            name: np.array([mean(of_round[code == i], _of_some(curves.weight, code == i)) for of_round in values])
            for i, name in enumerate(names.tolist())
        }

    def record(self, data: Any, is_training: bool, result: Evaluation, request: Request) -> None:
        """Append a round of one data set; adapters call this."""
        curves = self._known(data) or self._new(data, is_training, result)
        if not np.array_equal(curves.sizes, result.n_documents):
            raise LtrValueError(
                "The queries of a data set changed during the log. Give a new PerQueryLog to each training."
            )
        for name, canonical in request.asked.items():
            if curves.asked.setdefault(name, canonical) != canonical:
                raise LtrValueError(
                    f"{name!r} means {curves.asked[name]} and {canonical} in one log. Give each metric function its own PerQueryLog."
                )
        for metric, values in result.per_query.items():
            if curves.source.setdefault(metric, request) is not request:
                raise LtrValueError(
                    f"Two metric functions write {metric} into one log, which would mix their rounds. Give each its own PerQueryLog."
                )
            curves.rounds.setdefault(metric, []).append(values)

    def _new(self, data: Any, is_training: bool, result: Evaluation) -> _Curves:
        if is_training and any(curves.is_training for curves in self._curves):
            raise LtrValueError(
                "This log has the training data of another training already. Give a new one to each training."
            )
        if self._given is not None and len(self._curves) == len(self._given):
            raise LtrValueError(
                f"The log has {len(self._given)} names ({', '.join(self._given)}) and the host evaluates one more data set. Name "
                "all that are evaluated, the training data first."
            )
        self._curves.append(_Curves(weakref.ref(data), is_training, result.qid, result.n_documents, result.weight))
        return self._curves[-1]

    def _known(self, data: Any) -> _Curves | None:
        return next((c for c in self._curves if c.data is not None and c.data() is data), None)

    def _of(self, data: Any) -> _Curves:
        if isinstance(data, str):
            found = dict(zip(self.names, self._curves, strict=True)).get(data)
        else:
            found = None if data is None else self._known(data)
        if found is None:
            hint = did_you_mean(data, self.names) if isinstance(data, str) else ""
            raise LtrKeyError(
                f"There are no values of {data!r} in this log.{hint} It has {', '.join(self.names) or 'none at all yet'}. LightGBM's "
                "Dataset serves as well as a name; names of your own go into PerQueryLog(names=...)."
            )
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> PerQueryLog:
        return self  # LGBMRanker.fit copies its metric deeply; what the copy writes is to be found here

    def __getstate__(self) -> dict[str, Any]:
        without = [replace(curves, data=None) for curves in self._curves]  # weak references cannot be pickled
        return self.__dict__ | {"_curves": without}


def _of_some(weight: FloatArray | None, chosen: BoolArray) -> FloatArray | None:
    return None if weight is None else weight[chosen]
