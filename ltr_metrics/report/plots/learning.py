"""Learning curves of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.learning import LearningCurve
from ltr_metrics.evaluation.training_log import PerQueryLog
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.display import LinesDisplay
from ltr_metrics.report.plots.style import (
    BAND,
    grid,
    label_axes,
    legend,
    n_queries_text,
    series_style,
    shorten,
    text_color,
    whole_numbers,
)

PLATEAU_HEIGHT = 0.035  # height of one data set's plateau, as a share of the axes


@dataclass(eq=False, kw_only=True)
class LearningCurveDisplay(LinesDisplay):
    """Means of a metric in the rounds of a training, with intervals, best round and plateau.

    The plateau is the bar at the bottom: the rounds that do not differ significantly from the best
    round on these queries (see `ltr_metrics.PerQueryLog.best_round`). Create it with `from_log`.

    Parameters
    ----------
    curves : dict of str to LearningCurve
        By name of the data set.

    Attributes
    ----------
    lines_, bands_, best_, plateaus_ : dict of str to artist
        By name of the data set: the means, their intervals, the best round and its plateau.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    legend_ : Legend
        The legend.

    Raises
    ------
    LtrValueError
        If there is no curve, or if the curves are of different metrics or confidence levels.

    See Also
    --------
    ltr_metrics.PerQueryLog : Keep the values of a training.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> from ltr_metrics.report import LearningCurveDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train, log = lgb.Dataset(X, y, group=ltr.qid_to_group(qid)), ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> display = LearningCurveDisplay.from_log(log, "training", "ndcg@10")
    >>> display.curves["training"].n_rounds
    5
    >>> display.plot().figure_.savefig("learning.svg")  # doctest: +SKIP
    """

    curves: dict[str, LearningCurve]

    def __post_init__(self) -> None:
        kinds = {(curve.metric, curve.confidence) for curve in self.curves.values()}
        if len(kinds) != 1:
            raise LtrValueError(
                "All curves of a figure must have the same metric and confidence level, and there must be at "
                "least one. "
                f"Got {sorted(kinds) or 'no curve'}."
            )

    @classmethod
    def from_log(
        cls, log: PerQueryLog, data: Any, metric: str | Metric, *, confidence: float = 0.95
    ) -> LearningCurveDisplay:
        """Collect one data set of a training's log, or a list of them.

        Parameters
        ----------
        log : PerQueryLog
            The log of a training.
        data : object or str, or list of these
            The host's data set, or its name.
        metric : str or Metric
            One metric, by name or as an object.
        confidence : float, default 0.95
            Confidence level of the intervals and of the plateau, as for
            `ltr_metrics.PerQueryLog.learning_curve`.

        Returns
        -------
        LearningCurveDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrKeyError
            If the log has no such data set or metric.
        """
        chosen = list(data) if isinstance(data, (list, tuple)) else [data]
        curves = [log.learning_curve(one, metric, confidence) for one in chosen]
        return cls(curves={curve.data: curve for curve in curves})

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_, self.best_, self.plateaus_ = {}, {}, {}, {}
        for i, (name, curve) in enumerate(self.curves.items()):
            style, rounds = series_style(i), curve.rounds
            band = {"color": style.color, "alpha": BAND, "linewidth": 0} | band_kw
            self.bands_[name] = ax.fill_between(rounds, curve.low, curve.high, **band)
            line = {"color": style.color, "linestyle": style.linestyle} | line_kw
            (self.lines_[name],) = ax.plot(rounds, curve.mean, label=shorten(name), **line)
            mark = {"marker": style.marker, "markersize": 8, "linestyle": "none", "zorder": 4}
            (self.best_[name],) = ax.plot(
                [rounds[curve.best]],
                [curve.mean[curve.best]],
                color=style.color,
                markeredgecolor=text_color(ax),
                **mark,
            )
            starts, ends = _runs(curve)
            bar = {"color": style.color, "linewidth": 4, "transform": ax.get_xaxis_transform()}
            self.plateaus_[name] = ax.hlines(np.full(len(starts), PLATEAU_HEIGHT * (i + 0.5)), starts, ends, **bar)
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom - PLATEAU_HEIGHT * len(self.curves) * (top - bottom), top)
        whole_numbers(ax.xaxis)
        grid(ax)
        label_axes(ax, "round (from 0)", f"{next(iter(self.curves.values())).metric}, mean over queries")
        self.legend_ = legend(ax, self._handles(), self._names())

    def _handles(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ink = text_color(self.ax_)
        best = Line2D([], [], color=ink, linestyle="none", marker="o", markersize=8, markerfacecolor="none")
        plateau = Line2D([], [], color=ink, linewidth=4)
        return [*self.lines_.values(), Patch(color=ink, alpha=BAND, linewidth=0), best, plateau]

    def _names(self) -> list[str]:
        confidence = f"{100 * next(iter(self.curves.values())).confidence:g}%"
        data = [f"{shorten(name, 12)}, {n_queries_text((curve.n_queries,) * 2)}" for name, curve in self.curves.items()]
        best = ", ".join(str(curve.rounds[curve.best]) for curve in self.curves.values())
        return [*data, f"{confidence} interval", f"best: {best}", "plateau"]


def _runs(curve: LearningCurve) -> tuple[FloatArray, FloatArray]:
    """Return the start and end of each run of the plateau, extended by half a step of the curve."""
    parts = np.split(curve.plateau, np.flatnonzero(np.diff(curve.plateau) > 1) + 1)
    half = (curve.rounds[0] + 1) / 2  # the first entry is the first step
    starts, ends = (curve.rounds[[part[i] for part in parts]] for i in (0, -1))
    return starts - half, ends + half
