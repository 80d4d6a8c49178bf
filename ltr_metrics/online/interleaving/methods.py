"""The interleaving methods by name, and those that mixed the lists of a log."""

from __future__ import annotations

from functools import lru_cache

from ltr_metrics._rows.checks import require_option
from ltr_metrics.online.interleaving.balanced import Balanced
from ltr_metrics.online.interleaving.impressions import Texts
from ltr_metrics.online.interleaving.method import Method
from ltr_metrics.online.interleaving.pairwise_preference import PairwisePreference
from ltr_metrics.online.interleaving.team_draft import TeamDraft

METHODS: dict[str, type[Method]] = {
    "team_draft": TeamDraft,
    "ppm": PairwisePreference,
    "balanced": Balanced,
}
CACHE_SIZE = 1024  # methods of a log that are kept: queries recur, and some methods take long to prepare


def method_named(name: str) -> type[Method]:
    """Return the class of the method with this name."""
    return METHODS[require_option("method", name, tuple(METHODS))]


@lru_cache(CACHE_SIZE)
def method_of(name: str, rankings: Texts, length: int) -> Method:
    """Return the method of some rankings."""
    return method_named(name)(rankings, length)
