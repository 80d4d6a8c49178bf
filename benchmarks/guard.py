"""The regression guard: exit status 1 if evaluating has become slow or large, on any machine.

No seconds are compared with those of another day: times are ratios to the bare sort of the same
run, as minima of interleaved repeats, and memory does not depend on time. It takes about ten
seconds and needs no peer.

    python -m benchmarks.guard
"""

from __future__ import annotations

import sys

from tabulate import tabulate

from benchmarks.clock import Pace
from benchmarks.measures import beside_the_sort, evaluation, memory_of
from benchmarks.shapes import mslr, with_leaves

# What was measured (4.0, 9.4 and 17.2) with room for other machines and the noise that is left in
# minima. Raise one only with the reason in the commit.
LIMITS = {
    "all five, x np.sort": 6.0,
    "heavy ties, ties=mean, x np.sort": 14.0,
    "memory at the peak, bytes per row": 21.0,
}
PACE = Pace(seconds=7, at_least=15, at_most=400)


def measure() -> list[float]:
    """Measure what has a limit."""
    data = mslr(2_000)
    times = beside_the_sort(data, {"plain": evaluation(data), "ties": evaluation(with_leaves(data))}, PACE)
    ratios = [float(times[name].min() / times["np.sort"].min()) for name in ("plain", "ties")]
    return [*ratios, memory_of(data)[0] / data.n_rows]


def main() -> None:
    lines = [
        (name, f"{now:.2f}", f"{limit:g}", "" if now <= limit else "EXCEEDED")
        for (name, limit), now in zip(LIMITS.items(), measure(), strict=True)
    ]
    print(tabulate(lines, ("guarded", "now", "at most", ""), disable_numparse=True))
    if any(exceeded for *_, exceeded in lines):
        sys.exit("`python -m benchmarks --quick --only growth --only ties --only memory` shows where.")


if __name__ == "__main__":
    main()
