"""Forest plot of the ranks of a leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ltr_metrics.analysis.leaderboard import Leaderboard
from ltr_metrics.report.plots.forest import ForestDisplay, Point, Row
from ltr_metrics.report.plots.style import whole_numbers


@dataclass(eq=False, kw_only=True)
class LeaderboardDisplay(ForestDisplay):
    """The rank of each model with its interval, by metric.

    Create it with `from_leaderboard`.

    Parameters
    ----------
    rows : list of Row
        One per model, in the order of the first metric: ``label``, ``n_queries`` (smallest and
        largest number) and ``points`` by metric.
    confidence : float
        Confidence level of the intervals.
    baseline : None
        Ranks have no baseline.

    Attributes
    ----------
    points_ : dict of str to Line2D
        By metric.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    intervals_ : dict of str to LineCollection
        By metric.
    legend_ : Legend or None
        None for one metric.

    See Also
    --------
    ltr_metrics.Comparison.leaderboard : Make the leaderboard.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import LeaderboardDisplay
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> scores = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] + X[:, 1]}
    >>> comparison = ltr.compare(scores, y, qid=qid, metrics=["ndcg@10", "map"], baseline=None)
    >>> display = LeaderboardDisplay.from_leaderboard(comparison.leaderboard)
    >>> [row.label for row in display.rows], display.rows[0].points["map"].value
    (['a', 'c', 'b'], 1)
    >>> display.plot().figure_.savefig("leaderboard.svg")  # doctest: +SKIP
    """

    rows: list[Row]
    confidence: float
    baseline: None = None

    @classmethod
    def from_leaderboard(cls, leaderboard: Leaderboard) -> LeaderboardDisplay:
        """Collect the ranks of all models.

        Parameters
        ----------
        leaderboard : Leaderboard
            That of a `ltr_metrics.Comparison`.

        Returns
        -------
        LeaderboardDisplay
            Ready to plot.
        """
        rows = []
        for model in dict.fromkeys(row.model for row in leaderboard.rows):
            of_model = [row for row in leaderboard.rows if row.model == model]
            counts = [row.n_queries for row in of_model]
            points = {row.metric: Point(row.rank or float("nan"), row.rank_low, row.rank_high) for row in of_model}
            rows.append(Row(model, (min(counts), max(counts)), points))
        return cls(rows=rows, confidence=leaderboard.settings.confidence)

    def _draw_points(self, ax: Any) -> None:
        super()._draw_points(ax)
        ax.set_xlim(0.7, len(self.rows) + 0.3)
        whole_numbers(ax.xaxis)

    def _label(self) -> str:
        return f"rank, with {100 * self.confidence:g}% interval"
