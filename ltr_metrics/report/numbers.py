"""How the page writes numbers, intervals and names."""

from __future__ import annotations

from collections.abc import Sequence

from ltr_metrics.analysis.comparison import RelativeChange

MINUS = "−"


def number(value: float | None, digits: int = 4, sign: str = "") -> str:
    """Return a number with a minus sign that is as wide as a plus; a missing one is a dash."""
    return "–" if value is None or value != value else f"{value:{sign}.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 4) -> str:
    """Return a number with its sign; digits are added until it does not look like 0."""
    return number(value, _enough(value, digits), "+")


def percent(value: float, sign: str = "") -> str:
    """Return a share in percent; digits are added until it does not look like 0."""
    text = number(100 * value, _enough(100 * value, 1), sign)
    return f"{text}%" if value == value else text


def _enough(value: float, digits: int) -> int:
    while value and digits < 8 and round(abs(value), digits) == 0:
        digits += 1
    return digits


def percents(change: RelativeChange) -> str:
    """Return the interval of a relative change."""
    ends = [percent(end, sign="+") for end in (change.ci_low, change.ci_high)]
    return "" if change.ci_low != change.ci_low else f"[{', '.join(ends)}]"


def interval(low: float, high: float, digits: int = 4) -> str:
    """Return an interval whose ends have signs."""
    return "" if low != low else f"[{signed(low, digits)}, {signed(high, digits)}]"


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
