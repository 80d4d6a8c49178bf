"""The interleaving methods by name."""

from __future__ import annotations

from ltr_metrics.errors import LtrKeyError, LtrTypeError, did_you_mean
from ltr_metrics.interleaving.balanced import Balanced
from ltr_metrics.interleaving.method import Method
from ltr_metrics.interleaving.optimized import Optimized
from ltr_metrics.interleaving.pairwise_preference import PairwisePreference
from ltr_metrics.interleaving.probabilistic import Probabilistic
from ltr_metrics.interleaving.team_draft import TeamDraft

METHODS: dict[str, type[Method]] = {
    "team_draft": TeamDraft,
    "ppm": PairwisePreference,
    "balanced": Balanced,
    "probabilistic": Probabilistic,
    "optimized": Optimized,
}


def method_named(name: object) -> type[Method]:
    """Return the class of the method with this name.

    Examples
    --------
    >>> from ltr_metrics.interleaving.methods import method_named
    >>> method_named("team_draft").__name__
    'TeamDraft'
    """
    if isinstance(name, type) and name in METHODS.values():
        known = next(known for known, method in METHODS.items() if method is name)
        raise LtrTypeError(f"Pass the method by its name, {known!r}. Got the class {name!r}.")
    if not isinstance(name, str) or name not in METHODS:
        raise LtrKeyError(
            f"There is no method {name!r}.{did_you_mean(str(name), METHODS)} Methods: {', '.join(METHODS)}."
        )
    return METHODS[name]
