"""The settings of a comparison: checked once, and kept with the result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import require_confidence, require_fraction, require_option
from ltr_metrics._engine.words import Correction, CorrectionOver, Interval, QueriesOfComparison, Test
from ltr_metrics.analysis.inference import CORRECTIONS, INTERVALS, TESTS
from ltr_metrics.analysis.inference.resampling import require_n_resamples
from ltr_metrics.errors import LtrTypeError

CORRECTION_OVER: tuple[CorrectionOver, ...] = get_args(CorrectionOver)
QUERIES: tuple[QueriesOfComparison, ...] = get_args(QueriesOfComparison)


@dataclass(frozen=True)
class Settings:
    """Options of `ltr_metrics.compare`; ``seed`` is the number that repeats its random draws."""

    test: Test
    correction: Correction
    correction_over: CorrectionOver
    interval: Interval
    confidence: float
    power: float
    n_resamples: int
    seed: int

    def __post_init__(self) -> None:
        require_option("test", self.test, TESTS)
        require_option("correction", self.correction, CORRECTIONS)
        require_option("correction_over", self.correction_over, CORRECTION_OVER)
        require_option("interval", self.interval, INTERVALS)
        plain = {
            "confidence": require_confidence(self.confidence),
            "power": require_fraction("power", self.power, 0.8),
            "n_resamples": require_n_resamples(self.n_resamples),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)  # plain numbers, for JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return asdict(self)


def seed_from(random_state: Any) -> int:
    """Return the number itself, a number drawn from a generator, or a new one for None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        draw = random_state.integers if isinstance(random_state, np.random.Generator) else random_state.randint
        return int(draw(2**31))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise LtrTypeError(
        f"random_state must be a whole number of at least 0, a NumPy generator, or None. Got {random_state!r}."
    )
