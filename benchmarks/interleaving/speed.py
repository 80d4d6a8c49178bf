"""Microseconds an impression, beside the package ``interleaving`` of M. P. Kato where that is installed.

An impression is a list mixed, a user's clicks on it, and the credit of each ranker.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.clock import Pace, side_by_side
from benchmarks.figures import Missing
from ltr_metrics._engine.words import InterleavingMethod
from ltr_metrics.interleaving import ClickModel, simulate

PACE = Pace(seconds=3, at_least=5)
OURS, THEIRS = 100_000, 100  # impressions a round
N_QUERIES, LENGTH = 100, 10
DOCUMENTS, RANKERS = (10, 100, 1000), (2, 5)
USER = ClickModel.informational(grades=3)
CLASSES: dict[InterleavingMethod, str] = {"team_draft": "TeamDraft", "ppm": "PairwisePreference"}


class Speed(NamedTuple):
    """Median seconds an impression."""

    method: InterleavingMethod
    rankers: int
    documents: int
    ours: float
    theirs: float | None


def speeds(n_threads: int) -> list[Speed | Missing]:
    """Measure both methods with as many rankers of as many documents."""
    peer = _peer()
    missing = [peer] if isinstance(peer, Missing) else []
    sizes = itertools.product(CLASSES, RANKERS, DOCUMENTS)
    return [*missing, *(_speed(None if missing else peer, *size, n_threads) for size in sizes)]


def _peer() -> Any:
    why = "pip install git+https://github.com/mpkato/interleaving (that of the package index is another one)"
    try:
        import interleaving
    except ModuleNotFoundError as error:
        return Missing("interleaving", f"not installed ({error.name}): {why}")
    return (
        interleaving if hasattr(interleaving, "PairwisePreference") else Missing("interleaving", f"another one: {why}")
    )


def _speed(peer: Any, method: InterleavingMethod, rankers: int, documents: int, n_threads: int) -> Speed:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(N_QUERIES, documents))
    scores = [base + rng.normal(size=base.shape) for _ in range(rankers)]
    grades = rng.choice(3, p=[0.7, 0.2, 0.1], size=base.shape)
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: simulate(
            grades.ravel(),
            {str(i): one.ravel() for i, one in enumerate(scores)},
            group=[documents] * N_QUERIES,
            method=method,
            clicks=USER,
            impressions=OURS,
            length=LENGTH,
            n_threads=n_threads,
        )
    }
    if peer is not None:
        contenders["theirs"] = _theirs(peer, method, scores, grades)
    times = side_by_side(contenders, PACE)
    theirs = float(np.median(times["theirs"])) / THEIRS if peer is not None else None
    return Speed(method, rankers, documents, float(np.median(times["ours"])) / OURS, theirs)


def _theirs(peer: Any, method: InterleavingMethod, scores: list[Any], grades: Any) -> Callable[[], object]:
    """Return as many impressions of the peer; its methods are made before, as its own simulator does."""
    of_method = getattr(peer, CLASSES[method])
    made = [of_method([np.argsort(-one[q]).tolist() for one in scores], max_length=LENGTH) for q in range(N_QUERIES)]
    relevance = [dict(enumerate(of_query.tolist())) for of_query in grades]
    user = peer.simulation.User(list(USER.click), list(USER.stop))  # type: ignore[arg-type]

    def run() -> None:
        for q in range(THEIRS):
            shown = made[q % N_QUERIES].interleave()
            of_method.compute_scores(shown, user.examine(shown, relevance[q % N_QUERIES]))

    return run
