"""Bins of numbers, as segments to pass as ``by``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray, as_numbers, pandas_index, require_count
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics.errors import LtrTypeError, LtrValueError

BINS = 4
MAX_DIGITS = 17  # enough to tell any two float64 apart


class Bins(Printed):
    """A label for each number; made by `bins`.

    You can pass it in place of a column of text. Like pandas' ordered categoricals, it keeps the
    order of its labels.

    Attributes
    ----------
    categories : list of str
        Labels of all bins, ascending.
    codes : ndarray of int
        The position among the categories of each number's bin.
    edges : list of float
        The lower edge of each bin.
    index : pandas.Index or None
        Index of the Series that was passed, which pairs labels with queries or rows.

    See Also
    --------
    bins : Make one of numbers.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> words = ltr.bins([3, 12, 1, 30], edges=[1, 10, 25])
    >>> words.categories, words.codes
    (['1-9', '10-24', '25+'], array([0, 1, 0, 2]))
    >>> words.counts()
    {'1-9': 2, '10-24': 1, '25+': 1}
    >>> list(words.items())
    [(0, '1-9'), (1, '10-24'), (2, '1-9'), (3, '25+')]
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
        """Return pairs of index and label, as a Series does.

        Returns
        -------
        iterator of tuple
            The index is the position if the numbers had none.
        """
        return zip(range(len(self)) if self.index is None else self.index, self, strict=True)

    def counts(self) -> dict[str, int]:
        """Return the number of values in each bin.

        Returns
        -------
        dict of str to int
            By label, in ascending order of the bins.
        """
        counts = np.bincount(self.codes, minlength=len(self.categories))
        return dict(zip(self.categories, counts.tolist(), strict=True))

    def printed_parts(self) -> list[Table]:
        return [Table((), [(label, f"{count:,}") for label, count in self.counts().items()], min_widths=(0, 9))]


def bins(values: Any, *, edges: Any = None, n: int | None = None) -> Bins:
    """Return numbers as labelled bins, for the segments of an evaluation.

    Parameters
    ----------
    values : array-like
        One number a query or a row, as for ``by``: for example the length of a query's text, or its
        frequency. A pandas Series keeps its index.
    edges : array-like, optional
        The lower edge of each bin, ascending. A bin ends where the next one begins, and the last
        has no upper edge.
    n : int, optional
        Number of bins, default 4, instead of edges. The bins have sizes as nearly equal as
        possible. Equal numbers share a bin, so there are fewer bins if there are fewer distinct
        numbers. No bin is empty.

    Returns
    -------
    Bins
        One label per number. The labels are ``"1-9"``, ``"10-24"``, ``"25+"`` if all values and
        edges are whole numbers and not negative, and ``"[0.2, 0.5)"``, ``"[0.5, inf)"`` otherwise.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a value is NaN, infinite or below the first edge, or edges do not ascend.

    See Also
    --------
    evaluate : The option ``by`` takes the bins.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> list(ltr.bins([3, 12, 1, 30], edges=[1, 10, 25]))
    ['1-9', '10-24', '1-9', '25+']
    >>> by = ltr.bins([0.1, 0.7], n=2)
    >>> result = ltr.evaluate([1, 0, 0, 1], [2, 1, 2, 1], group=[2, 2], metrics=["mrr"], by=by)
    >>> result.by["[0.1, 0.7)"]["mrr"], result.by["[0.7, inf)"]["mrr"]
    (1.0, 0.5)
    """
    numbers = as_numbers(values, "values")
    if not len(numbers):
        raise LtrValueError("values is empty. Pass at least one number.")
    _refuse(numbers, ~np.isfinite(numbers), "must be finite", "Leave these queries out, or pass your own labels as by.")
    if edges is not None and n is not None:
        raise LtrTypeError("Pass edges or n, not both: edges determine the number of bins.")
    n_bins = BINS if n is None else require_count("n", n)
    begins = _quantile_edges(numbers, n_bins) if edges is None else _checked_edges(edges, numbers)
    codes = np.searchsorted(np.array(begins, dtype=numbers.dtype), numbers, side="right") - 1
    is_whole = bool((numbers == np.floor(numbers)).all()) and all(begin.is_integer() and begin >= 0 for begin in begins)
    return Bins(_labels(begins, is_whole), codes, begins, pandas_index(values))


def _checked_edges(edges: Any, numbers: AnyArray) -> list[float]:
    begins = as_numbers(edges, "edges").astype(np.float64)
    if not len(begins) or not np.isfinite(begins).all() or (np.diff(begins) <= 0).any():
        raise LtrValueError(
            f"edges must be finite ascending numbers, the lower edge of each bin. Got {begins.tolist()}."
        )
    is_low = numbers < numbers.dtype.type(begins[0])
    _refuse(numbers, is_low, f"must not be below the first edge, {begins[0]:g}", "Put a lower edge before it.")
    return [float(begin) for begin in begins + 0.0]  # -0.0 becomes 0.0


def _refuse(numbers: AnyArray, is_bad: AnyArray, rule: str, remedy: str) -> None:
    if is_bad.any():
        entry = int(is_bad.argmax())
        raise LtrValueError(
            f"values {rule}: got {numbers[entry]} at entry {entry}, {int(is_bad.sum())} such entries in all. {remedy}"
        )


def _quantile_edges(numbers: AnyArray, n: int) -> list[float]:
    """Return the lower edges of bins of nearly equal size, each at a distinct value."""
    distinct, counts = np.unique(numbers, return_counts=True)
    n_below = counts.cumsum()[:-1]  # numbers below the second, third, ... distinct one
    if not len(n_below):
        return [_round(None, distinct[0])]
    target = np.arange(1, n) * len(numbers) / n
    above = np.searchsorted(n_below, target).clip(max=len(n_below) - 1)
    below = (above - 1).clip(min=0)
    nearest = np.where(target - n_below[below] <= n_below[above] - target, below, above)
    cuts = np.unique(nearest) + 1
    return [_round(None, distinct[0]), *(_round(distinct[cut - 1], distinct[cut]) for cut in cuts)]


def _round(previous: Any, value: Any) -> float:
    """Round an edge to the fewest digits that keep it in (previous, value]."""
    if value == np.floor(value):
        return float(value) + 0.0
    for digits in range(1, MAX_DIGITS):
        rounded = value.dtype.type(f"{value:.{digits}g}")
        if rounded <= value and (previous is None or rounded > previous):
            return float(f"{value:.{digits}g}")
    return float(value)


def _labels(begins: list[float], is_whole: bool) -> list[str]:
    if is_whole:
        labels = [f"{a}" if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(map(int, begins))]
        return [*labels, f"{int(begins[-1])}+"]
    texts = [repr(begin).removesuffix(".0") for begin in begins]
    return [f"[{begin}, {end})" for begin, end in pairwise([*texts, "inf"])]
