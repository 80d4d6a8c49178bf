"""How soon clicks order models as an offline metric does."""

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
    ink_of,
    label_axes,
    legend,
    series,
    shown,
)

MARKED = 12  # of the points of a line
CROWD = 3  # lines; the bands of more are fainter
FEW = 100  # impressions up to which a tick a decade is too few
MOST_TICKS = 6  # among decades, so that 100,000 and 1,000,000 do not touch


class ErrorCurve(NamedTuple):
    """Mean and standard error of the error over the runs, after each number of impressions."""

    impressions: AnyArray
    mean: FloatArray
    standard_error: FloatArray
    n_runs: int


@dataclass(eq=False, kw_only=True)
class OnlineErrorDisplay(LinesDisplay):
    """The share of pairs of models that clicks order otherwise than an offline metric, against the number of impressions.

    The line is the mean over runs, the band one standard error to either side. Make it with `from_outcomes`.

    Parameters
    ----------
    curves : dict of str to ErrorCurve
        ``impressions``, ``mean``, ``standard_error`` (NaN for one run) and ``n_runs`` of each line.
    offline : str
        What the clicks are compared with.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to Line2D
    bands_ : dict of str to PolyCollection
        Of lines that are of two runs or more.
    legend_ : Legend

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
    ...     runs.append(Outcome(models=["a", "b", "c"], method="ppm", tally=Tally.from_credit(credit, checkpoints(1000))))
    >>> shown = OnlineErrorDisplay.from_outcomes({"PPM": runs}, truth={"a": 0.5, "b": 0.4, "c": 0.3})
    >>> int(shown.curves["PPM"].impressions[-1]), shown.curves["PPM"].n_runs
    (1000, 5)
    >>> shown.plot().figure_.savefig("online_error.svg")  # doctest: +SKIP
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
        """Take the errors of one run or several of each line.

        Parameters
        ----------
        outcomes : mapping of str to Outcome, or to several
            By name of the line, for example of the method. The runs of a line have one number of impressions.
        metric, truth, by
            Those of `Outcome.error`.
        """
        if not isinstance(outcomes, Mapping):
            raise LtrTypeError(
                f'outcomes must map names of lines to outcomes, such as {{"PPM": outcome}}. Got {outcomes!r}.'
            )
        if not outcomes:
            raise LtrValueError("There is no outcome to draw. Pass one or several runs of a line by its name.")
        curves = {
            str(name): _curve(str(name), [runs] if isinstance(runs, Outcome) else list(runs), metric, truth, by)
            for name, runs in outcomes.items()
        }
        return cls(curves=curves, offline="the truth" if metric is None else str(metric))

    def _draw(self, ax: Any, line_kw: dict[str, Any], band_kw: dict[str, Any]) -> None:
        self.lines_, self.bands_ = {}, {}
        opacity = BAND * min(1, CROWD / len(self.curves))
        for i, (name, curve) in enumerate(self.curves.items()):
            look = series(i)
            if curve.n_runs > 1:
                limits = (curve.mean - curve.standard_error, curve.mean + curve.standard_error)
                of_band = {"color": look.color, "alpha": opacity, "linewidth": 0} | band_kw
                self.bands_[name] = ax.fill_between(curve.impressions, *limits, **of_band)
            of_line = look._asdict() | {"markersize": 4.5, "markevery": max(1, len(curve.mean) // MARKED)}
            (self.lines_[name],) = ax.plot(curve.impressions, curve.mean, label=shown(name), **of_line | line_kw)
        self._scale(ax)
        grid(ax)
        label_axes(ax, "impressions", self._label())
        patches = [ax.fill_between([], [], [], color=ink_of(ax), alpha=BAND, linewidth=0)] if self.bands_ else []
        self.legend_ = legend(ax, [*self.lines_.values(), *patches], self._names())

    def _names(self) -> list[str]:
        return [*self.curves, *["± standard error"] * any(curve.n_runs > 1 for curve in self.curves.values())]

    def _label(self) -> str:
        counts = {curve.n_runs for curve in self.curves.values()}
        fewest, most = min(counts), max(counts)
        runs = f"mean of {most:,} runs" if fewest == most else f"mean of {fewest:,} to {most:,} runs"
        return f"share of pairs of models\nordered otherwise than by {shown(self.offline, 24)}" + f",\n{runs}" * (
            most > 1
        )

    def _scale(self, ax: Any) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax.set_xscale("log")
        last = max(int(curve.impressions[-1]) for curve in self.curves.values())
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if last <= FEW else (1,), numticks=MOST_TICKS))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}" if number >= 1 else ""))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(bottom=0)


def _curve(name: str, runs: list[Outcome], metric: Any, truth: Any, by: OutcomeBy) -> ErrorCurve:
    if not runs or not all(isinstance(run, Outcome) for run in runs):
        raise LtrTypeError(f"A line needs an Outcome, or several. {name!r} has {runs!r}.")
    lengths = sorted({run.n_impressions for run in runs})
    if len(lengths) > 1:
        raise LtrValueError(
            f"The runs of a line must have one number of impressions, or its mean would jump where a run ends. {name!r} has runs of "
            f"{lengths[0]:,} and of {lengths[-1]:,}."
        )
    errors = np.array([run.errors(metric, truth=truth, by=by)[1] for run in runs])
    spread = np.array([standard_error(of_runs, None) for of_runs in errors.T])
    return ErrorCurve(runs[0].checkpoints, errors.mean(axis=0), spread, len(runs))
