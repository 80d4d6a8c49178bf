"""The regression guard: exit status 1 if ours has become slow or large, on any machine and however noisy it is.

No seconds are compared with yesterday's: times are ratios to the bare sort of the same run, minima
of interleaved repeats, and memory does not depend on time at all. About ten seconds; no peer is
needed.

    python -m benchmarks.guard
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple

from tabulate import tabulate

from benchmarks.bare_sort import BareSort
from benchmarks.clock import Pace, side_by_side
from benchmarks.measures.memory import memory_of
from benchmarks.measures.own import SORT
from benchmarks.ours import evaluation
from benchmarks.shapes import mslr, with_leaves


class Limit(NamedTuple):
    """What a figure must not exceed, and what to do then."""

    most: float
    unit: str


# What was measured (4.5, 17 and 27) with room for other machines and the noise that is left in
# minima. Raise one only with the reason in the commit.
LIMITS = {
    "all five": Limit(6, "x np.sort"),
    "heavy ties, ties=mean": Limit(22, "x np.sort"),
    "memory at the peak": Limit(32, "bytes a row"),
}
PACE = Pace(seconds=7, at_least=15, at_most=400)


def measure() -> dict[str, float]:
    """Measure what has a limit."""
    data = mslr(2_000)
    sort = BareSort(data.sizes)
    contenders = {
        "all five": evaluation(data),
        "heavy ties, ties=mean": evaluation(with_leaves(data)),
        SORT: sort.sort,
    }
    times = side_by_side(contenders, PACE, {SORT: sort.refill})
    ratios = {name: float(times[name].min() / times[SORT].min()) for name in contenders if name != SORT}
    return ratios | {"memory at the peak": memory_of(data).peak / data.n_rows}


def exceeded(measured: Mapping[str, float], limits: Mapping[str, Limit] = LIMITS) -> list[str]:
    """Say which limits are passed."""
    return [
        f"{name} is {measured[name]:.2f} {limit.unit}, and must be at most {limit.most:g}."
        for name, limit in limits.items()
        if not measured[name] <= limit.most
    ]


def main() -> None:
    measured = measure()
    lines = [(name, f"{measured[name]:.2f}", f"{limit.most:g}", limit.unit) for name, limit in LIMITS.items()]
    print(
        tabulate(
            lines, ("guarded", "now", "at most", ""), disable_numparse=True, colalign=("left", "right", "right", "left")
        )
    )
    problems = exceeded(measured)
    if problems:
        print("\nSlower or larger than it may be:", *problems, sep="\n", file=sys.stderr)
        print("`python -m benchmarks --quick --only sort --only ties --only alone` shows where.", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
