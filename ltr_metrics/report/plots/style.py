"""What all figures have in common: series, text and legends, and the base class of the displays.

Each colour has a contrast of at least 3 with white and with #121212. All but the ochre and the light
blue are from Okabe and Ito (Color Universal Design, 2008). Series also differ in marker and dash, so
that they can be distinguished in greyscale. Text is never interpreted as mathematics.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.errors import LtrValueError, import_extra
from ltr_metrics.evaluation.tables import text_width

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on

WIDTH = 5.2  # inches of a new figure: its text is still readable when it is scaled down to a phone
HEIGHT = 3.5
FONT = 10  # points of text at these sizes; a larger font gives a larger figure
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#3A97D4", "#808080")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
NO_TEX: dict[str, Any] = {"parse_math": False, "usetex": False}  # for all text, so that a "$" in a name stays a "$"
BAND = 0.25  # opacity
LEGEND_WIDTH, LABEL_WIDTH = 30, 40  # characters
LABEL_LINE_WIDTH = 22
NARROW_WIDTH = 22  # a legend with lines up to this width has two columns
MAX_LONG_LINES, SHORT_WIDTH = 6, 18  # a legend with more lines has shorter names
LEGEND_LINE_HEIGHT = 0.23  # inches
MAX_ENDS, END_WIDTH = 8, 18  # lines that are named at their ends, and characters of such a name
END_HEIGHT = 1.4  # of a name, in units of the font


class SeriesStyle(NamedTuple):
    """The style of one of several series.

    The numbers of colours, dashes and markers have no common factor, so that 308 styles differ. The
    baseline of a comparison comes first, so that a model has the same style among means and among
    differences.
    """

    color: str
    linestyle: Any
    marker: str


def series_style(i: int) -> SeriesStyle:
    """Return the style of the i-th series."""
    return SeriesStyle(COLORS[i % len(COLORS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])


def text_color(ax: Any) -> Any:
    """Return the colour of the axis labels, which suits the background."""
    return ax.xaxis.label.get_color()


def shorten(text: object, longest: int = LEGEND_WIDTH) -> str:
    r"""Return text as one line, without control characters, and shortened in the middle if it is too long.

    >>> shorten("first line\nsecond\x00")
    'first line second�'
    >>> shorten("lambdarank_with_a_very_long_name_2024-05-01", 20)
    'lambdarank…024-05-01'
    """
    line = "".join(
        "\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character
        for character in " ".join(str(text).split())
    )
    if text_width(line) <= longest:
        return line
    head, tail = "", ""
    for before, after in zip(line, reversed(line), strict=True):
        if text_width(head + before) > longest // 2:
            break
        head += before
        if text_width(head + after + tail) > longest - 1:
            break
        tail = after + tail
    return f"{head}…{tail}"


def model(names: Sequence[object], longest: int) -> str:
    """Return the name of the model if there is only one."""
    return shorten(names[0], longest) if len(names) == 1 else "model"


def distinct_labels(names: Sequence[object], longest: int = LEGEND_WIDTH) -> list[str]:
    """Return shortened names, numbered if shortening makes two of them equal."""
    lines = [shorten(name, longest) for name in names]
    return [f"{line} ({i})" if lines.count(line) > 1 else line for i, line in enumerate(lines, start=1)]


def wrapped(line: str, longest: int = LABEL_LINE_WIDTH) -> str:
    r"""Break a line into lines, if possible after a space or another separator.

    >>> wrapped("lambdarank_without_features", 16)
    'lambdarank_\nwithout_features'
    """
    lines, rest = [], line
    while text_width(rest) > longest:
        end = next(i for i in range(len(rest), 0, -1) if text_width(rest[:i]) <= longest)
        at = max((i + 1 for i, c in enumerate(rest[:end]) if c in " _-/=,;:.@"), default=end)
        at = at if at > end // 3 else end
        lines.append(rest[:at].rstrip(" "))
        rest = rest[at:]
    return "\n".join([*lines, rest])


def n_queries_text(n_queries: tuple[int, int]) -> str:
    """Return the number of queries as text, or the smallest and the largest.

    >>> n_queries_text((1234, 1234)), n_queries_text((9, 10)), n_queries_text((1, 1))
    ('1,234 queries', '9 to 10 queries', '1 query')
    """
    fewest, most = n_queries
    if fewest != most:
        return f"{fewest:,} to {most:,} queries"
    return f"{most:,} {'query' if most == 1 else 'queries'}"


def legend(ax: Any, handles: Sequence[Any], names: Sequence[object]) -> Any:
    """Put a legend above the axes, where it does not cover anything."""
    lines = _lines(names)
    box = ax.legend(
        handles,
        list(map(str, range(len(lines)))),  # set below: Matplotlib omits labels that begin with "_" and parses "$"
        loc="lower right",
        bbox_to_anchor=(1, 1),  # a wide legend extends over the labels of the y axis
        ncols=_columns(lines),
        frameon=False,
        borderaxespad=0.2,
        columnspacing=1.2,
        handlelength=2.4,
    )
    for text, line in zip(box.get_texts(), lines, strict=True):
        text.set(text=line, **NO_TEX)
    return box


def label_ends(ax: Any, lines: Sequence[Any], names: Sequence[object]) -> list[Any]:
    """Name lines to the right of the axes, at the height where each ends, and in its colour.

    Names that would overlap are moved apart by as little as possible. A line without a point has none.
    """
    known = [points[np.isfinite(points).all(axis=1)] for points in (line.get_xydata() for line in lines)]
    drawn = [i for i, points in enumerate(known) if len(points)]
    lines, names = [lines[i] for i in drawn], [names[i] for i in drawn]
    points = np.array([known[i][-1] for i in drawn]).reshape(-1, 2)
    ax.get_xlim(), ax.get_ylim()  # which sets the limits, too
    heights = ax.transAxes.inverted().transform(ax.transData.transform(points))[:, 1]
    step = END_HEIGHT * ax.xaxis.label.get_size() / 72 * ax.figure.dpi / ax.get_window_extent().height
    order = np.argsort(heights, kind="stable")
    ranks, n = np.arange(len(order)), len(order)
    free = heights[order] - ranks * step  # must not fall, which the mean of those that would makes even
    even = [max(min(free[j:k].mean() for k in range(i + 1, n + 1)) for j in range(i + 1)) for i in range(n)]
    heights[order] = np.clip(even, 0, max(0, 1 - (n - 1) * step)) + ranks * step
    labels = []
    for line, text, point, height in zip(lines, distinct_labels(names, END_WIDTH), points, heights, strict=True):
        color = line.get_color()
        lead = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "alpha": 0.7, "shrinkA": 0, "shrinkB": 0}
        at = {"xy": point, "xytext": (1.03, height), "textcoords": "axes fraction", "annotation_clip": False}
        label = ax.annotate(text, **at, color=color, va="center", weight="bold", arrowprops=lead, **NO_TEX)
        label.ltr_is_end = True
        labels.append(label)
    return labels


def legend_height(names: Sequence[object]) -> float:
    """Return the height of a legend in inches."""
    lines = _lines(names)
    return LEGEND_LINE_HEIGHT * -(-len(lines) // _columns(lines)) if lines else 0.0


def _lines(names: Sequence[object]) -> list[str]:
    return distinct_labels(names, LEGEND_WIDTH if len(names) <= MAX_LONG_LINES else SHORT_WIDTH)


def _columns(lines: Sequence[str]) -> int:
    return 2 if max(map(text_width, lines)) <= NARROW_WIDTH else 1


def label_axes(ax: Any, x: str, y: str) -> None:
    """Label both axes, with line breaks in long labels."""
    for set_label, text, longest in ((ax.set_xlabel, x, 62), (ax.set_ylabel, y, 40)):
        set_label("\n".join(wrapped(line, longest) for line in text.split("\n")), **NO_TEX)


def grid(ax: Any, axis: str = "both") -> None:
    """Draw a faint grid in the background, and remove the upper and right sides of the frame."""
    ax.grid(axis=axis, color=text_color(ax), alpha=0.15, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Any) -> None:
    """Put ticks at round whole numbers only."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))


# -- what all displays share -------------------------------------------------------------------------------------------


def of_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return the fields that all displays of differences have."""
    return {
        "baseline": comparison.baseline,
        "confidence": comparison.settings.confidence,
        "weighted": comparison.weight is not None,
    }


@dataclass
class Series:
    """The series of one figure in axes: those before it, and the name that the user gave it."""

    kind: str
    n_earlier: int
    name: str | None
    n: int
    label: str = ""

    def look(self, i: int, line_kw: Mapping[str, Any]) -> SeriesStyle:
        """Return the style of series i, with the properties that the user has chosen."""
        own = {name: line_kw[name] for name in SeriesStyle._fields if name in line_kw}
        return series_style(self.n_earlier + i)._replace(**own)

    def add(self, artist: Any, label: str) -> Any:
        """Register the artist of a series, so that figures that are added later keep it."""
        if self.name is not None:
            label = self.name if self.n == 1 else f"{self.name}: {label}"
        artist.ltr_series = replace(self, label=label)
        return artist


def series_of(ax: Any) -> list[tuple[Series, Any]]:
    """Return the series of all figures in the axes, with their artists."""
    return [(one.ltr_series, one) for one in ax.get_children() if hasattr(one, "ltr_series")]


class Display(ABC):
    """A figure of the numbers that it holds, by default with a legend above."""

    NAMES_ENDS: ClassVar[bool] = False  # whether a few lines are named at their ends, and not in the legend

    ax_: Any
    figure_: Any
    legend_: Any
    labels_: list[Any]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a new figure."""
        return WIDTH, HEIGHT + legend_height(self._names())

    def plot(self, ax: Any = None, *, name: str | None = None, **line_kw: Any) -> Self:
        """Draw the figure, or add it to axes that show another one of its kind.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: the axes of a new figure. If they show such a figure already, its series stay, and
            those of this one get colours and entries of the legend of their own.
        name : str, optional
            Name in the legend. If the figure has several series, it precedes theirs.
        **line_kw
            Properties of the lines or points, such as ``color`` or ``linewidth``.

        Returns
        -------
        Display
            The display itself.

        Raises
        ------
        LtrValueError
            If the axes show something that cannot share them, such as another metric.
        MissingExtraError
            If Matplotlib is not installed.
        """
        mpl = import_extra("matplotlib", "report")
        if ax is None:
            from matplotlib import pyplot

            scale = mpl.rcParams["font.size"] / FONT
            ax = pyplot.subplots(figsize=(self.size[0] * scale, self.size[1] * scale), layout="constrained")[1]
        earlier = series_of(ax)
        kinds = [self._kind(), *(one.kind for one, _ in earlier)]
        if any(kind != kinds[0] for kind in kinds):
            raise LtrValueError(
                f"The axes show {kinds[1]}, and this figure shows {kinds[0]}, so they cannot share axes. Plot it into "
                "other ones."
            )
        self.ax_ = ax
        self.figure_ = self.ax_.figure
        self._draw(ax, Series(self._kind(), len(earlier), name, len(self._series())), line_kw)
        drawn = series_of(ax)
        named = [(artist, one.label or f"model {i}") for i, (one, artist) in enumerate(drawn, start=1)]
        if len(drawn) == 1 and not drawn[0][0].label:
            named = []
        for label in [one for one in ax.texts if hasattr(one, "ltr_is_end")]:
            label.remove()
        at_ends = named if self._names_ends(len(named)) else []
        self.labels_ = label_ends(ax, *zip(*at_ends, strict=True)) if at_ends else []
        handles = [*([] if at_ends else named), *self._explained(ax)]
        shows_legend = len(handles) > 1 or bool(self._explained(ax))
        if ax.get_legend() is not None:
            ax.get_legend().remove()
        self.legend_ = legend(ax, *zip(*handles, strict=True)) if shows_legend else None
        return self

    def _names_ends(self, n: int) -> bool:
        return self.NAMES_ENDS and n <= MAX_ENDS

    @abstractmethod
    def _draw(self, ax: Any, series: Series, line_kw: dict[str, Any]) -> None:
        """Draw the series, each of which is registered with ``series.add``."""

    @abstractmethod
    def _kind(self) -> str:
        """Return what axes have to show, so that this figure can be added."""

    def _series(self) -> list[str]:
        """Return the names of the series; an empty name has no entry in the legend unless there are others."""
        return []

    def _explained(self, ax: Any) -> list[tuple[Any, str]]:
        """Return further entries of the legend: the artists, and what they mean."""
        return []

    def _names(self) -> list[str]:
        """Return the lines of the legend of a new figure."""
        return [] if self._names_ends(len(self._series())) else [name for name in self._series() if name]
