"""The interleaving methods by name, and those that mixed the lists of a log."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from ltr_metrics._rows.checks import require_option
from ltr_metrics.errors import LtrTypeError, did_you_mean
from ltr_metrics.online.interleaving.balanced import Balanced
from ltr_metrics.online.interleaving.impressions import Texts
from ltr_metrics.online.interleaving.method import Method
from ltr_metrics.online.interleaving.optimized import Optimized
from ltr_metrics.online.interleaving.pairwise_preference import PairwisePreference
from ltr_metrics.online.interleaving.probabilistic import Probabilistic
from ltr_metrics.online.interleaving.team_draft import TeamDraft

METHODS: dict[str, type[Method]] = {
    "team_draft": TeamDraft,
    "ppm": PairwisePreference,
    "balanced": Balanced,
    "probabilistic": Probabilistic,
    "optimized": Optimized,
}
CACHE_SIZE = 1024  # methods of a log that are kept: queries recur, and some methods take long to prepare


def method_named(name: str, options: Collection[str] = ()) -> type[Method]:
    """Return the class of the method with this name; raise an error if it lacks one of the options."""
    method = METHODS[require_option("method", name, tuple(METHODS))]
    known = inspect.getfullargspec(method).kwonlyargs
    for option in options:
        if option not in known:
            raise LtrTypeError(
                f"{method.__name__} has no option {option!r}.{did_you_mean(str(option), known)} "
                f"Options: {', '.join(known) or 'none'}."
            )
    return method


def methods_of_log(options: Mapping[str, Any]) -> Callable[[str, Texts, int], Method]:
    """Return a function from the name of a method, rankings and a length to the method with these options."""

    @lru_cache(CACHE_SIZE)
    def build(name: str, rankings: Texts, length: int) -> Method:
        return method_named(name, options)(rankings, length, **options)

    return build
