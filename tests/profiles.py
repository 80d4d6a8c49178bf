"""How Hypothesis draws: the same examples in every run, or new and more ones in `make fuzz`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FUZZ = int(os.environ.get("LTR_METRICS_FUZZ", "0"))  # how many times as many examples, newly drawn

settings.register_profile(
    "repeatable",
    derandomize=True,
    print_blob=True,
    database=None,  # what an earlier run found is no part of this one
    deadline=None,  # time is not asserted
    suppress_health_check=[HealthCheck.too_slow],  # for the same reason
)
settings.register_profile(
    "fuzz",
    settings.get_profile("repeatable"),
    derandomize=False,
    max_examples=100 * max(FUZZ, 1),
)
settings.load_profile("fuzz" if FUZZ else "repeatable")


def examples(number: int) -> settings:
    """Return settings of so many examples, and of more in `make fuzz`."""
    return settings(max_examples=number * max(FUZZ, 1))
