"""Numbers to labelled bins, to be passed as ``by``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray, as_numbers, pandas_index, require_count
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics.errors import LtrTypeError, LtrValueError

BINS = 4
DIGITS = 17  # tell any two float64 apart


class Bins(Printed):
    """A label for each number; made by `bins`.

    It is taken wherever a column of text is. As pandas' ordered categoricals do, it names its labels in ascending order.

    Attributes
    ----------
    categories : list of str
        Labels of all bins, ascending.
    codes : ndarray of int
        For each number the position of its bin among them.
    edges : list of float
        Where each bin begins.
    index : pandas.Index or None
        That of the Series that was passed, by which labels find their queries or rows.
    """

    ordered = True
    ndim = 1

    def __init__(self, categories: list[str], codes: IntArray, edges: list[float], index: Any = None) -> None:
        self.categories = categories
        self.codes = codes
        self.edges = edges
        self.index = index
        self.codes.setflags(write=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return (self.categories[code] for code in self.codes.tolist())

    def __getitem__(self, at: Any) -> Any:
        """Return the label of one number, or the bins of some."""
        codes = self.codes[at]
        if not isinstance(codes, np.ndarray):
            return self.categories[codes]
        return Bins(self.categories, codes, self.edges, None if self.index is None else self.index[at])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the labels as an array of text."""
        labels = np.asarray(self.categories)[self.codes]
        return labels if dtype is None else labels.astype(dtype)

    def items(self) -> Iterator[tuple[Any, str]]:
        """Return pairs of index and label, as a Series does."""
        return zip(range(len(self)) if self.index is None else self.index, self, strict=True)

    def counts(self) -> dict[str, int]:
        """Return how many numbers each bin has."""
        found = np.bincount(self.codes, minlength=len(self.categories))
        return dict(zip(self.categories, found.tolist(), strict=True))

    def printed_parts(self) -> list[Table]:
        return [Table((), [(label, f"{count:,}") for label, count in self.counts().items()], least=(0, 9))]


def bins(values: Any, *, edges: Any = None, n: int | None = None) -> Bins:
    """Put numbers into bins, for segments of an evaluation.

    Parameters
    ----------
    values : array-like
        One number a query or a row, as ``by`` takes them: the length of a query's text, how often it was asked. A pandas Series
        keeps its index.
    edges : array-like, optional
        Where each bin begins, rising. A bin ends before the next one, and the last has no end.
    n : int, optional
        Instead of edges: how many bins, default 4, of as nearly the same size as numbers that are equal, and stay together, allow;
        fewer where there are fewer distinct numbers. No bin is empty.

    Returns
    -------
    Bins
        With labels ``"1-9"``, ``"10-24"``, ``"25+"`` where all values and edges are whole numbers and not negative, and
        ``"[0.2, 0.5)"``, ``"[0.5, inf)"`` otherwise.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a value is NaN, infinite or below the first edge, or edges do not rise.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.analysis.bins import bins
    >>> words = [3, 12, 1, 30]
    >>> list(bins(words, edges=[1, 10, 25]))
    ['1-9', '10-24', '1-9', '25+']
    >>> result = ltr.evaluate([1, 0, 0, 1], [2, 1, 2, 1], group=[2, 2], metrics=["mrr"], by=bins([0.1, 0.7], n=2))
    >>> result.by["[0.1, 0.7)"]["mrr"], result.by["[0.7, inf)"]["mrr"]
    (1.0, 0.5)
    """
    numbers = as_numbers(values, "values")
    if not len(numbers):
        raise LtrValueError("values is empty: there is nothing to put into bins.")
    _refuse(
        numbers, ~np.isfinite(numbers), "must be finite", "Leave these queries out, or give them labels of your own."
    )
    if edges is not None and n is not None:
        raise LtrTypeError("Pass edges or n, not both: edges say how many bins there are.")
    n_bins = BINS if n is None else require_count("n", n)
    begins = _quantile_edges(numbers, n_bins) if edges is None else _checked_edges(edges, numbers)
    codes = np.searchsorted(np.array(begins, dtype=numbers.dtype), numbers, side="right") - 1
    whole = bool((numbers == np.floor(numbers)).all()) and all(begin.is_integer() and begin >= 0 for begin in begins)
    return Bins(_labels(begins, whole), codes, begins, pandas_index(values))


def _checked_edges(edges: Any, numbers: AnyArray) -> list[float]:
    begins = as_numbers(edges, "edges").astype(np.float64)
    if not len(begins) or not np.isfinite(begins).all() or (np.diff(begins) <= 0).any():
        raise LtrValueError(f"edges must be finite numbers that rise, where each bin begins. Got {begins.tolist()}.")
    low = numbers < numbers.dtype.type(begins[0])
    _refuse(numbers, low, f"must not be below the first edge, {begins[0]:g}", "Put a lower edge before it.")
    return [float(begin) for begin in begins + 0.0]  # -0.0 becomes 0.0


def _refuse(numbers: AnyArray, bad: AnyArray, rule: str, remedy: str) -> None:
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(
            f"values {rule}: got {numbers[at]} at entry {at}, {int(bad.sum())} such entries in all. {remedy}"
        )


def _quantile_edges(numbers: AnyArray, n: int) -> list[float]:
    """Return where bins begin whose sizes are nearest to equal: at the distinct value nearest to each quantile."""
    distinct, counts = np.unique(numbers, return_counts=True)
    below = counts.cumsum()[:-1]  # how many numbers are below the second, third, ... distinct one
    wanted = np.arange(1, n) * len(numbers) / n
    if not len(below):
        return [_short(None, distinct[0])]
    above = np.searchsorted(below, wanted).clip(max=len(below) - 1)
    under = (above - 1).clip(min=0)
    nearest = np.where(wanted - below[under] <= below[above] - wanted, under, above)
    cuts = np.unique(nearest) + 1
    return [_short(None, distinct[0]), *(_short(distinct[cut - 1], distinct[cut]) for cut in cuts)]


def _short(previous: Any, value: Any) -> float:
    """Round to as few digits as keep the edge above the previous value and not above its own: labels are to be read."""
    if value == np.floor(value):
        return float(value) + 0.0
    for digits in range(1, DIGITS):
        short = value.dtype.type(f"{value:.{digits}g}")
        if short <= value and (previous is None or short > previous):
            return float(f"{value:.{digits}g}")
    return float(value)


def _labels(begins: list[float], whole: bool) -> list[str]:
    if whole:
        ends = [*(int(begin) - 1 for begin in begins[1:]), None]
        return [_whole(int(begin), end) for begin, end in zip(begins, ends, strict=True)]
    return [f"[{_spell(begin)}, {_spell(end)})" for begin, end in pairwise([*begins, float("inf")])]


def _whole(begin: int, end: int | None) -> str:
    return f"{begin}+" if end is None else f"{begin}" if begin == end else f"{begin}-{end}"


def _spell(number: float) -> str:
    return repr(number).removesuffix(".0")
