"""Time a row from 10^5 to 10^7 rows, in one huge query and in a million tiny ones.

The time of the bare sort is beside it, because that grows, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.bare_sort import BareSort
from benchmarks.clock import side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Figure, Row, slower
from benchmarks.measures.own import SORT
from benchmarks.ours import OURS, evaluation
from benchmarks.shapes import Data, mslr_of, one_query, tiny_queries
from benchmarks.targets import TARGETS


def growth(effort: Effort) -> Iterator[Row]:
    """Measure each shape, then the slowest a row against the fastest."""
    shapes: list[Callable[[], Data]] = [
        *(lambda n=n: mslr_of(n) for n in effort.rows),
        lambda: one_query(effort.documents_of_one_query),
        lambda: tiny_queries(effort.tiny_queries),
    ]
    rows = [_a_row(make(), effort) for make in shapes]  # one shape in memory at a time
    yield from rows
    for who, figures, target in (
        (OURS, [row.ours for row in rows], TARGETS["growth"]),
        (SORT, [row.other for row in rows if row.other is not None], None),
    ):
        slowest, fastest = (choose(figures, key=lambda figure: figure.median) for choose in (max, min))
        ratio = Figure(
            "slowest / fastest",
            slowest.median / fastest.median,
            slowest.low / fastest.high,
            slowest.high / fastest.low,
            slowest.n,
            "x",
        )
        about = About(
            "growth", f"a row, slowest shape and fastest, {who}", "all shapes", max(row.rows for row in rows), 1
        )
        yield Row(*about, slowest, fastest, ratio, target)


def _a_row(data: Data, effort: Effort) -> Row:
    sort = BareSort(data.sizes)
    times = side_by_side({OURS: evaluation(data), SORT: sort.sort}, effort.pace, {SORT: sort.refill})
    a_row = {name: seconds / np.float64(data.n_rows) for name, seconds in times.items()}
    return slower(About("growth", "all five, a row", data.shape, data.n_rows, 1), a_row, OURS, SORT, unit="s/row")
