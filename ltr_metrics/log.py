"""Per-query values of every round of a training: which queries got better, which got worse."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.evaluation import ByMetric, Evaluation
from ltr_metrics.inputs import AnyArray, FloatArray
from ltr_metrics.metrics.base import Metric


class Change(NamedTuple):
    """How the queries fared between two rounds; a query that a metric leaves out is in none of the three."""

    improved: AnyArray  # ids, largest gain first
    worsened: AnyArray  # ids, largest loss first
    unchanged: AnyArray
    difference: FloatArray  # after - before, one a query in the order of `PerQueryLog.qid`


@dataclass
class _Curves:
    """One data set's values."""

    qid: AnyArray
    asked: dict[str, str]
    rounds: dict[str, list[FloatArray]] = field(default_factory=dict)


class PerQueryLog:
    """Keeps the per-query values of every round; give a new one to each training.

    Data sets are known by the object that the host evaluates (LightGBM's Dataset), and by a name: ``"training"`` for the
    training data, ``"valid_0"``, ``"valid_1"``, ... in the order in which the host comes to them, which are LightGBM's own
    default names when the training data, if they are evaluated, stand first among ``valid_sets``. Hosts do not tell a
    metric the names that a user gave.

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

    def __init__(self) -> None:
        self._curves: dict[str, _Curves] = {}
        self._objects: dict[str, Any] = {}  # name -> weak reference to the host's data set

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the data sets seen, in the order in which the host came to them."""
        return tuple(self._curves)

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
        """Return the id of each column of `values`; 0, 1, ... where the host only knows sizes."""
        return self._of(data).qid

    def changes(self, data: Any, metric: str | Metric, before: int = 0, after: int = -1) -> Change:
        """Return which queries improved and which got worse between two rounds (from 0; -1 is the last)."""
        values, qid = self.values(data, metric), self.qid(data)
        for round_ in (before, after):
            if not -len(values) <= round_ < len(values):
                raise LtrValueError(f"There are {len(values)} rounds in the log, counted from 0; got round {round_}.")
        difference = values[after] - values[before]
        by_gain = np.argsort(-difference, kind="stable")
        return Change(
            improved=qid[by_gain[difference[by_gain] > 0]],
            worsened=qid[by_gain[::-1][difference[by_gain[::-1]] < 0]],
            unchanged=qid[difference == 0],
            difference=difference,
        )

    def record(self, data: Any, is_training: bool, result: Evaluation, asked: dict[str, str]) -> None:
        """Append a round of one data set; adapters call this."""
        name = self._name_of(data)
        if name is None:
            name = "training" if is_training else f"valid_{len(self._curves)}"
            self._objects[name] = weakref.ref(data)
            self._curves[name] = _Curves(result.qid, asked, {metric: [] for metric in result.per_query})
        curves = self._curves[name]
        if len(curves.qid) != len(result.qid):
            raise LtrValueError(
                f"The queries of {name!r} changed from {len(curves.qid)} to {len(result.qid)} during the log."
            )
        for metric, values in result.per_query.items():
            curves.rounds.setdefault(metric, []).append(values)

    def _name_of(self, data: Any) -> str | None:
        return next((name for name, known in self._objects.items() if known is not None and known() is data), None)

    def _of(self, data: Any) -> _Curves:
        name = data if isinstance(data, str) else self._name_of(data)
        if name not in self._curves:
            hint = did_you_mean(name, self._curves) if isinstance(name, str) else ""
            raise LtrKeyError(
                f"There are no values of {data!r} in this log.{hint} It has {', '.join(self._curves) or 'none at all yet'}; "
                "the data set object itself serves as well as its name."
            )
        return self._curves[name]

    def __deepcopy__(self, memo: dict[int, Any]) -> PerQueryLog:
        return self  # LGBMRanker.fit copies its metric deeply; what the copy writes is to be found here

    def __getstate__(self) -> dict[str, Any]:
        return {"_curves": self._curves, "_objects": dict.fromkeys(self._objects)}  # weak references cannot be pickled
