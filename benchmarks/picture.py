"""The rows that have a target as a picture: ratios of peers to ours above, of ours to what bounds it below."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.figures import Row
from benchmarks.ours import OURS
from benchmarks.shapes import MSLR
from benchmarks.table import origin, rows_of, shown

MET, NOT_MET, MARK = "#0072B2", "#E69F00", "black"  # of Okabe and Ito: all eyes tell them apart, and so does grey print
WIDTH, BAR = 9.0, 0.26  # inches: of all, and of a bar with its gap
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.color": "white",
    "hatch.linewidth": 1.5,
}
PANELS = {
    "least": "peer's time / ours: longer is better",
    "most": "our time / the limit's: shorter is better",
}


def draw(results: dict[str, Any], path: Path) -> None:
    """Write the picture of a run's results."""
    rows = [row for row in rows_of(results) if row.target is not None and row.result.unit == "x"]
    by_side = {side: [row for row in rows if row.target is not None and row.target.at == side] for side in PANELS}
    by_side = {side: of_side for side, of_side in by_side.items() if of_side}
    if not by_side:
        return
    heights = [len(of_side) + 2 for of_side in by_side.values()]
    with mpl.rc_context(STYLE):
        picture = Picture(figsize=(WIDTH, BAR * (sum(heights) + 6)), layout="constrained")
        axes = picture.subplots(len(by_side), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (side, of_side) in zip(axes, by_side.items(), strict=True):
            axis.set_title(PANELS[side], loc="left", fontsize=9, fontweight="bold")
            _draw_bars(axis, of_side)
        picture.legend(handles=_legend(), loc="outside upper center", ncols=4, frameon=False)
        picture.supxlabel("\n".join(textwrap.wrap(" ".join(origin(results)), 150)), fontsize=7, x=0.01, ha="left")
        picture.savefig(path, dpi=120)


def _draw_bars(axis: Axes, rows: list[Row]) -> None:
    for place, row in enumerate(rows):
        assert row.target is not None
        value, low, high, target = row.result.median, row.result.low, row.result.high, row.target.value
        axis.barh(place, value - 1, left=1, height=0.7, zorder=1, **_look(row.met is True))
        axis.plot([low, high], [place, place], color=MARK, linewidth=1.2)
        axis.plot([target, target], [place - 0.42, place + 0.42], color=MARK, linewidth=3)
        right = max(high, target, 1)  # of the bar and its marks
        axis.annotate(shown(row.result), (right, place), (5, 0), textcoords="offset points", va="center")
    axis.set_yticks(range(len(rows)), [_label(row) for row in rows])
    axis.invert_yaxis()
    axis.axvline(1, color=MARK, linewidth=0.8)
    axis.set_xscale("log")
    axis.margins(x=0.12)
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))


def _look(met: bool) -> dict[str, Any]:
    return {"color": MET} if met else {"facecolor": NOT_MET, "hatch": "///"}


def _legend() -> list[Patch | Line2D]:
    return [
        Patch(**_look(True), label="reached"),
        Patch(**_look(False), label="not reached"),
        Line2D(
            [],
            [],
            color=MARK,
            linewidth=3,
            linestyle="none",
            marker="|",
            markersize=11,
            markeredgewidth=3,
            label="to reach",
        ),
        Line2D([], [], color=MARK, linewidth=1.2, label="quartiles"),
    ]


def _label(row: Row) -> str:
    rows = f"{row.rows / 1e6:.2g} M rows" if row.rows >= 1e6 else f"{row.rows / 1e3:.0f} k rows"
    threads = "2 threads" if row.threads == 2 else "1 thread"
    whose = "" if row.ours.of == OURS else row.ours.of
    return ", ".join(filter(None, (row.measure, whose, row.data.removeprefix(MSLR).lstrip(", "), rows, threads)))
