"""What all figures have in common: series, text and legends, and the base class of the displays.

Each colour has a contrast of at least 3 with white and with #121212. All but the ochre and the light
blue are from Okabe and Ito (Color Universal Design, 2008). Series also differ in marker and dash, so
that they can be distinguished in greyscale. Text is never interpreted as mathematics.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ltr_metrics.analysis.comparison import Comparison
from ltr_metrics.errors import import_extra

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


def text_width(text: str) -> int:
    """Return the width of text: wide characters (such as Chinese) count twice, combining characters zero."""
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1
        for c in text
    )


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


class Display(ABC):
    """A figure of the numbers that it holds, by default with a legend above."""

    ax_: Any
    figure_: Any

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches of a new figure."""
        return WIDTH, HEIGHT + legend_height(self._names())

    def plot(self, ax: Any = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: the axes of a new figure.

        Returns
        -------
        Display
            The display itself.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        mpl = import_extra("matplotlib", "report")
        if ax is None:
            from matplotlib import pyplot

            scale = mpl.rcParams["font.size"] / FONT
            ax = pyplot.subplots(figsize=(self.size[0] * scale, self.size[1] * scale), layout="constrained")[1]
        self.ax_ = ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None: ...

    def _names(self) -> list[str]:
        """Return the lines of the legend."""
        return []
