"""The error of online evaluation over the number of impressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.words import OutcomeBy
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.means import standard_error
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.metrics.base import Metric
from ltr_metrics.report.plots.display import LinesDisplay
from ltr_metrics.report.plots.style import (
    BAND,
    grid,
    label_axes,
    legend,
    series_style,
    shorten,
    text_color,
)

MAX_MARKERS = 12  # about as many points of a line have a marker
FULL_OPACITY = 3  # the bands of more lines than this are fainter
FEW = 100  # up to so many impressions, one tick per decade is not enough
MAX_TICKS = 6  # so that labels such as 100,000 and 1,000,000 do not overlap


class ErrorCurve(NamedTuple):
    """Mean and standard error of the error over runs, by number of impressions."""

    impressions: AnyArray
    mean: FloatArray
    standard_error: FloatArray
    n_runs: int


@dataclass(eq=False, kw_only=True)
class OnlineErrorDisplay(LinesDisplay):
    """Share of pairs of models on which clicks and an offline metric disagree, by impressions.

    The line is the mean over runs. The band is one standard error on both sides. Create it with
    `from_outcomes`.

    Parameters
    ----------
    curves : dict of str to ErrorCurve
        ``impressions``, ``mean``, ``standard_error`` (NaN for one run) and ``n_runs`` by name of
        the line.
    offline : str
        Name of the offline metric.

    Attributes
    ----------
    bands_ : dict of str to PolyCollection
        For lines of two or more runs.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of str to Line2D
        The means, by name of the line.
    legend_ : Legend
        The legend.

    See Also
    --------
    ltr_metrics.interleaving.simulate : Make the outcomes.

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.interleaving.outcome import Outcome
    >>> from ltr_metrics.interleaving.tally import Tally, checkpoints
    >>> from ltr_metrics.report import OnlineErrorDisplay
    >>> rng = np.random.default_rng(0)
    >>> runs = []
    >>> for _ in range(5):
    ...     credit = rng.normal([[0.2], [0.1], [0.0]], 1, (3, 1000))
    ...     tally = Tally.from_credit(credit, checkpoints(1000))
    ...     runs.append(Outcome(models=["a", "b", "c"], method="ppm", tally=tally))
    >>> display = OnlineErrorDisplay.from_outcomes({"PPM": runs}, truth={"a": 0.5, "b": 0.4, "c": 0.3})
    >>> int(display.curves["PPM"].impressions[-1]), display.curves["PPM"].n_runs
    (1000, 5)
    >>> display.plot().figure_.savefig("online_error.svg")  # doctest: +SKIP
    """

    curves: dict[str, ErrorCurve]
    offline: str

    @classmethod
    def from_outcomes(
        cls,
        outcomes: Mapping[str, Outcome | Iterable[Outcome]],
        metric: str | Metric | None = None,
        *,
        truth: Mapping[str, float] | None = None,
        by: OutcomeBy = "wins",
    ) -> OnlineErrorDisplay:
        """Collect the errors of one or more runs for each line.

        Parameters
        ----------
        outcomes : mapping of str to Outcome, or to several
            By name of the line, for example the method. All runs of a line must have the same
            number of impressions.
        metric : str or Metric, optional
            The offline metric, such as ``"ndcg_lin@10"``, evaluated on the queries of the
            simulation.
        truth : mapping of str to float, optional
            A number for each model, used instead of a metric. Higher is better.
        by : {"wins", "credit"}
            What decides online: the number of impressions won, or the credit.

        Returns
        -------
        OnlineErrorDisplay
            Ready to plot.

        Raises
        ------
        LtrValueError, LtrTypeError
            If there is no outcome, if the runs of a line differ in length, or as for
            `ltr_metrics.interleaving.Outcome.error`.
        """
        if not isinstance(outcomes, Mapping):
            raise LtrTypeError(
                f'outcomes must map names of lines to outcomes, such as {{"PPM": outcome}}. Got {outcomes!r}.'
            )
        if not outcomes:
            raise LtrValueError("There is no outcome to draw. Pass one or more runs by the name of their line.")
        curves = {
            str(name): _curve(str(name), [runs] if isinstance(runs, Outcome) else list(runs), metric, truth, by)
            for name, runs in outcomes.items()
        }
        return cls(curves=curves, offline="the truth" if metric is None else str(metric))

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_ = {}, {}
        opacity = BAND * min(1, FULL_OPACITY / len(self.curves))
        for i, (name, curve) in enumerate(self.curves.items()):
            style = series_style(i)
            if curve.n_runs > 1:
                limits = (curve.mean - curve.standard_error, curve.mean + curve.standard_error)
                band = {"color": style.color, "alpha": opacity, "linewidth": 0} | band_kw
                self.bands_[name] = ax.fill_between(curve.impressions, *limits, **band)
            line = style._asdict() | {"markersize": 4.5, "markevery": max(1, len(curve.mean) // MAX_MARKERS)}
            (self.lines_[name],) = ax.plot(curve.impressions, curve.mean, label=shorten(name), **line | line_kw)
        self._scale(ax)
        grid(ax)
        label_axes(ax, "impressions", self._label())
        patches = [ax.fill_between([], [], [], color=text_color(ax), alpha=BAND, linewidth=0)] if self.bands_ else []
        self.legend_ = legend(ax, [*self.lines_.values(), *patches], self._names())

    def _names(self) -> list[str]:
        return [*self.curves, *["± standard error"] * any(curve.n_runs > 1 for curve in self.curves.values())]

    def _label(self) -> str:
        counts = {curve.n_runs for curve in self.curves.values()}
        fewest, most = min(counts), max(counts)
        runs = f"mean of {most:,} runs" if fewest == most else f"mean of {fewest:,} to {most:,} runs"
        label = f"share of pairs of models\nwith another order by {shorten(self.offline, 24)}"
        return label + f",\n{runs}" * (most > 1)

    def _scale(self, ax: Any) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax.set_xscale("log")
        last = max(int(curve.impressions[-1]) for curve in self.curves.values())
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if last <= FEW else (1,), numticks=MAX_TICKS))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}" if number >= 1 else ""))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(bottom=0)


def _curve(name: str, runs: list[Outcome], metric: Any, truth: Any, by: OutcomeBy) -> ErrorCurve:
    if not runs or not all(isinstance(run, Outcome) for run in runs):
        raise LtrTypeError(f"A line needs one or more objects of the class Outcome. {name!r} has {runs!r}.")
    lengths = sorted({run.n_impressions for run in runs})
    if len(lengths) > 1:
        raise LtrValueError(
            f"All runs of a line must have the same number of impressions, but {name!r} has runs of "
            f"{lengths[0]:,} and of "
            f"{lengths[-1]:,}. Draw them as different lines."
        )
    errors = np.array([run.errors(metric, truth=truth, by=by)[1] for run in runs])
    standard_errors = np.array([standard_error(values, None) for values in errors.T])
    return ErrorCurve(runs[0].checkpoints, errors.mean(axis=0), standard_errors, len(runs))
