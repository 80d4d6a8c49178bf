"""The interleaving methods by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ltr_metrics._rows.checks import require_option
from ltr_metrics.errors import LtrTypeError, did_you_mean
from ltr_metrics.online.interleaving.balanced import Balanced
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


def method_named(name: str) -> type[Method]:
    """Return the class of the method with this name."""
    return METHODS[require_option("method", name, tuple(METHODS))]


def require_options(method: type[Method], options: Mapping[str, Any]) -> None:
    """Raise an error if the method lacks one of the options."""
    known = [p.name for p in inspect.signature(method).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise LtrTypeError(
                f"{method.__name__} has no option {name!r}.{did_you_mean(str(name), known)} "
                f"Options: {', '.join(known) or 'none'}."
            )
