"""The rounds of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.log import PerQueryLog
from ltr_metrics.evaluation.log.learning import LearningCurve
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.display import LinesDisplay
from ltr_metrics.report.plots.style import (
    BAND,
    counted,
    grid,
    ink_of,
    label_axes,
    legend,
    series,
    shown,
    whole_numbers,
)

RUNG = 0.035  # height of one data set's plateau, as a share of the axes


@dataclass(eq=False, kw_only=True)
class LearningCurveDisplay(LinesDisplay):
    """The mean of a metric in each round of a training with its interval, the best round, and the plateau around it.

    The plateau is the bar at the foot: the rounds that cannot be told from the best on these queries (see `PerQueryLog.best_round`).

    Make it with `from_log`.

    Parameters
    ----------
    curves : dict of str to LearningCurve
        By name of the data set.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_, bands_, best_, plateaus_ : dict of str to artist
        By name of the data set: the means, their intervals, the best round and its plateau.
    legend_ : Legend

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> from ltr_metrics.report import LearningCurveDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train, log = lgb.Dataset(X, y, group=ltr.qid_to_group(qid)), ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> shown = LearningCurveDisplay.from_log(log, "training", "ndcg@10")
    >>> shown.curves["training"].n_rounds
    5
    >>> shown.plot().figure_.savefig("learning.svg")  # doctest: +SKIP
    """

    curves: dict[str, LearningCurve]

    def __post_init__(self) -> None:
        found = {(curve.metric, curve.confidence) for curve in self.curves.values()}
        if len(found) != 1:
            raise LtrValueError(
                f"One picture shows one metric at one confidence, of one data set or more. Got {sorted(found) or 'no curve'}."
            )

    @classmethod
    def from_log(
        cls, log: PerQueryLog, data: Any, metric: str | Metric, *, confidence: float = 0.95
    ) -> LearningCurveDisplay:
        """Take one data set of a training's log, or several of them given as a list.

        Parameters
        ----------
        log : PerQueryLog
        data : object or str, or list of these
            The host's data set, or its name.
        metric : str or Metric
        confidence : float, default 0.95
            Of intervals and plateau; see `PerQueryLog.learning_curve`.
        """
        chosen = list(data) if isinstance(data, (list, tuple)) else [data]
        found = [log.learning_curve(one, metric, confidence) for one in chosen]
        return cls(curves={curve.data: curve for curve in found})

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_, self.best_, self.plateaus_ = {}, {}, {}, {}
        for i, (name, curve) in enumerate(self.curves.items()):
            look, rounds = series(i), np.arange(curve.n_rounds)
            of_band = {"color": look.color, "alpha": BAND, "linewidth": 0} | band_kw
            self.bands_[name] = ax.fill_between(rounds, curve.low, curve.high, **of_band)
            of_line = {"color": look.color, "linestyle": look.linestyle} | line_kw
            (self.lines_[name],) = ax.plot(rounds, curve.mean, label=shown(name), **of_line)
            mark = {"marker": look.marker, "markersize": 8, "linestyle": "none", "zorder": 4}
            (self.best_[name],) = ax.plot(
                [curve.best], [curve.mean[curve.best]], color=look.color, markeredgecolor=ink_of(ax), **mark
            )
            starts, ends = _runs(curve.plateau)
            of_foot = {"color": look.color, "linewidth": 4, "transform": ax.get_xaxis_transform()}
            self.plateaus_[name] = ax.hlines(np.full(len(starts), RUNG * (i + 0.5)), starts, ends, **of_foot)
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom - RUNG * len(self.curves) * (top - bottom), top)
        whole_numbers(ax.xaxis)
        grid(ax)
        label_axes(ax, "round, counted from 0", f"{next(iter(self.curves.values())).metric}, mean over queries")
        self.legend_ = legend(ax, self._handles(), self._names())

    def _handles(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ink = ink_of(self.ax_)
        best = Line2D([], [], color=ink, linestyle="none", marker="o", markersize=8, markerfacecolor="none")
        plateau = Line2D([], [], color=ink, linewidth=4)
        return [*self.lines_.values(), Patch(color=ink, alpha=BAND, linewidth=0), best, plateau]

    def _names(self) -> list[str]:
        confidence = f"{100 * next(iter(self.curves.values())).confidence:g}%"
        of_data = [f"{shown(name, 12)}, {counted((curve.n_queries,) * 2)}" for name, curve in self.curves.items()]
        best = ", ".join(str(curve.best) for curve in self.curves.values())
        return [*of_data, f"{confidence} interval", f"best: {best}", "plateau"]


def _runs(rounds: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return where runs of neighbouring rounds begin and end, half a round around them."""
    parts = np.split(rounds, np.flatnonzero(np.diff(rounds) > 1) + 1)
    return np.array([part[0] for part in parts]) - 0.5, np.array([part[-1] for part in parts]) + 0.5
