"""How many cases a test has: Hypothesis draws the same examples in every run, fewer in `make test-fast`, new ones in
`make fuzz`, and of a table that multiplies two others `make test` takes every third case.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, settings

MULTIPLE = float(os.environ.get("LTR_METRICS_EXAMPLES", "1"))  # of the number of examples


def number_of_examples(usual: int) -> int:
    return max(1, int(usual * MULTIPLE))


settings.register_profile(
    "repeatable",
    derandomize=True,
    print_blob=True,
    database=None,  # what an earlier run found is no part of this one
    deadline=None,  # time is not asserted
    suppress_health_check=[HealthCheck.too_slow],  # for the same reason
    max_examples=number_of_examples(100),
)
settings.register_profile("fuzz", settings.get_profile("repeatable"), derandomize=False)
settings.load_profile("fuzz" if MULTIPLE > 1 else "repeatable")


def every_third(cases: Iterable[tuple[object, ...]]) -> list[object]:
    """Return the cases of a test, of which two in three are slow, because the others have the same code in them."""
    return [
        pytest.param(*case, id="-".join(map(str, case)), marks=[pytest.mark.slow] if i % 3 else [])
        for i, case in enumerate(cases)
    ]


def examples(usual: int) -> settings:
    """Return settings of so many examples."""
    return settings(max_examples=number_of_examples(usual))
