"""What a run writes down: figures with their spread, rows that compare two of them, and what could not be measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.clock import Times
from benchmarks.shapes import FloatArray


@dataclass(frozen=True)
class Figure:
    """A median, the quartiles around it, and of how many values.

    Attributes
    ----------
    of : str
        Who or what was measured; of a row's result, how it comes about, such as "other / ours".
    median, low, high : float
        The middle and the quartiles.
    n : int
        Repeats.
    unit : {"s", "s/row", "B/row", "x"}
        "x" is a ratio.
    """

    of: str
    median: float
    low: float
    high: float
    n: int
    unit: str = "s"

    @classmethod
    def from_values(cls, of: str, values: FloatArray, unit: str = "s") -> Figure:
        """Summarize repeats."""
        low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
        return cls(of, float(median), float(low), float(high), len(values), unit)


@dataclass(frozen=True)
class Target:
    """What is to be reached.

    Attributes
    ----------
    name : str
        Several rows may have one target.
    at : {"least", "most"}
    value : float
        In the unit of the row's result.
    """

    name: str
    at: str
    value: float

    def met_by(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return value >= self.value if self.at == "least" else value <= self.value


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    measure : str
        What ``--only`` calls the measure that it belongs to.
    what, data : str
    rows : int
        0 where there are no data.
    threads : int or None
    ours : Figure
    other : Figure or None
    result : Figure
        What is judged: the ratio of the two within each round, their difference, or ours itself.
    target : Target or None
    """

    measure: str
    what: str
    data: str
    rows: int
    threads: int | None
    ours: Figure
    other: Figure | None
    result: Figure
    target: Target | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        return None if self.target is None else self.target.met_by(self.result.median)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"met": self.met}

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Row:
        """Read what `to_dict` wrote."""
        given = {name: value for name, value in row.items() if name != "met"}
        for name, made_of in (("ours", Figure), ("other", Figure), ("result", Figure), ("target", Target)):
            given[name] = None if given[name] is None else made_of(**given[name])
        return cls(**given)


class About(NamedTuple):
    """The first fields of a row, which say what it is about."""

    measure: str
    what: str
    data: str
    rows: int
    threads: int | None


class Missing(NamedTuple):
    """What a run could not measure, and why."""

    what: str
    why: str


def faster(about: About, times: Times, ours: str, theirs: str, target: Target | None = None) -> Row:
    """Compare two contenders of `clock.side_by_side`: how many times as long the other one takes."""
    first, second = (Figure.from_values(name, times[name]) for name in (ours, theirs))
    result = Figure.from_values("other / ours", times[theirs] / times[ours], "x")
    return Row(*about, first, second, result, target)


def slower(about: About, times: Times, ours: str, limit: str, target: Target | None = None, *, unit: str = "s") -> Row:
    """Compare with what bounds ours: how many times as long ours takes."""
    first, second = (Figure.from_values(name, times[name], unit) for name in (ours, limit))
    result = Figure.from_values("ours / other", times[ours] / times[limit], "x")
    return Row(*about, first, second, result, target)
