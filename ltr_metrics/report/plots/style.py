"""What all pictures share: series that differ in colour, marker and dash; text that is never read as mathematics; room for it.

Each colour has a contrast of at least 3 both with white and with #121212. The first four, and all but the ochre and the light blue, are
those of Okabe and Ito (Color Universal Design, 2008) that have; with marker and dash the series differ in grey too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from ltr_metrics.errors import MissingExtraError

WIDTH = 5.2  # inches, of a picture that makes its own axes: text stays readable where it is shrunk to a phone
HEIGHT = 3.5
FONT = 10  # points, of the text that these sizes are for; larger text makes a larger picture
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#3A97D4", "#808080")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}  # for all text: a "$" in a name is a "$"
BAND = 0.25  # opacity
LONGEST_IN_LEGEND, LONGEST_IN_LABEL = 30, 40  # columns
LINE_OF_LABEL = 22
NARROW = 22  # columns of text of which two stand beside each other
MANY, SHORT = 6, 18  # lines of a legend, from which on names are shortened to so many columns
LEGEND_LINE = 0.23  # inches


class Series(NamedTuple):
    """How one of several series looks; the numbers of colours, dashes and markers share no factor, so that 308 of them differ.

    Of a comparison the baseline is the first, so that a model looks the same among means and among differences.
    """

    color: str
    linestyle: Any
    marker: str


def series(i: int) -> Series:
    """Return the look of the i-th series."""
    return Series(COLORS[i % len(COLORS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])


def axes_of(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw into: those given, or those of a new figure of pyplot's."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report") from error
    if ax is not None:
        return ax
    from matplotlib import pyplot

    larger = mpl.rcParams["font.size"] / FONT
    return pyplot.subplots(figsize=(size[0] * larger, size[1] * larger), layout="constrained")[1]


def ink_of(ax: Any) -> Any:
    """Return the colour in which these axes are labelled, dark on light or light on dark."""
    return ax.xaxis.label.get_color()


def shown(text: object, longest: int = LONGEST_IN_LEGEND) -> str:
    r"""Return one line of what can be shown and written: control characters replaced, too long ones shortened in the middle.

    >>> shown("first line\nsecond\x00")
    'first line second�'
    >>> shown("lambdarank_with_a_very_long_name_2024-05-01", 20)
    'lambdarank…024-05-01'
    """
    line = "".join(
        "\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character
        for character in " ".join(str(text).split())
    )
    if columns(line) <= longest:
        return line
    head, tail = "", ""
    for before, after in zip(line, reversed(line), strict=True):
        if columns(head + before) > longest // 2:
            break
        head += before
        if columns(head + after + tail) > longest - 1:
            break
        tail = after + tail
    return f"{head}…{tail}"


def told_apart(names: Sequence[object], longest: int = LONGEST_IN_LEGEND) -> list[str]:
    """Return names as they are shown, numbered where shortening makes two of them one."""
    lines = [shown(name, longest) for name in names]
    return [f"{line} ({i})" if lines.count(line) > 1 else line for i, line in enumerate(lines, start=1)]


def wrapped(line: str, longest: int = LINE_OF_LABEL) -> str:
    r"""Return a line broken into lines, behind a space or another separator where there is one.

    >>> wrapped("lambdarank_without_features", 16)
    'lambdarank_\nwithout_features'
    """
    lines, rest = [], line
    while columns(rest) > longest:
        end = next(i for i in range(len(rest), 0, -1) if columns(rest[:i]) <= longest)
        at = max((i + 1 for i, c in enumerate(rest[:end]) if c in " _-/=,;:.@"), default=end)
        at = at if at > end // 3 else end
        lines.append(rest[:at].rstrip(" "))
        rest = rest[at:]
    return "\n".join([*lines, rest])


def columns(text: str) -> int:
    """Return how wide a text is: wide characters, as in Chinese, count twice, and those that combine not at all."""
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1
        for c in text
    )


def counted(n_queries: tuple[int, int]) -> str:
    """Return the number of queries, or the fewest and the most.

    >>> counted((1234, 1234)), counted((9, 10)), counted((1, 1))
    ('1,234 queries', '9 to 10 queries', '1 query')
    """
    fewest, most = n_queries
    if fewest != most:
        return f"{fewest:,} to {most:,} queries"
    return f"{most:,} {'query' if most == 1 else 'queries'}"


def legend(ax: Any, handles: Sequence[Any], names: Sequence[object]) -> Any:
    """Put a legend above the axes, where it covers nothing."""
    lines = _lines(names)
    made = ax.legend(
        handles,
        [
            str(i) for i in range(len(lines))
        ],  # put right below: labels with "_" in front would be left out, "$" be parsed
        loc="lower right",
        bbox_to_anchor=(1, 1),  # so that a wide one reaches over the labels of the y axis
        ncols=_columns(lines),
        frameon=False,
        borderaxespad=0.2,
        columnspacing=1.2,
        handlelength=2.4,
    )
    for text, line in zip(made.get_texts(), lines, strict=True):
        text.set(text=line, **PLAIN)
    return made


def legend_height(names: Sequence[object]) -> float:
    """Return the inches that a legend takes."""
    lines = _lines(names)
    return LEGEND_LINE * -(-len(lines) // _columns(lines)) if lines else 0.0


def _lines(names: Sequence[object]) -> list[str]:
    return told_apart(names, LONGEST_IN_LEGEND if len(names) <= MANY else SHORT)


def _columns(lines: Sequence[str]) -> int:
    return 2 if max(map(columns, lines)) <= NARROW else 1


def label_axes(ax: Any, x: str, y: str) -> None:
    """Label both axes, on several lines where they are long."""
    for set_label, text, longest in ((ax.set_xlabel, x, 62), (ax.set_ylabel, y, 40)):
        set_label("\n".join(wrapped(line, longest) for line in text.split("\n")), **PLAIN)


def grid(ax: Any, axis: str = "both") -> None:
    """Draw a faint grid below everything, and leave the frame's upper and right side out."""
    ax.grid(axis=axis, color=ink_of(ax), alpha=0.15, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Any) -> None:
    """Mark round whole numbers alone."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
