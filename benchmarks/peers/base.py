"""What the benchmark asks of a peer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import ltr_metrics as ltr
from benchmarks.shapes import AnyArray, Data
from ltr_metrics._engine.words import ConventionName

SAME = 1e-9  # as far as the same mean may differ by rounding


class Peer(ABC):
    """A system that evaluates rankings too.

    Attributes
    ----------
    name, work : str
        What tables call it and what it computes.
    metrics : tuple of str
        The same by our names.
    convention, no_relevant : str, float or None
        With which our `evaluate` gives the same numbers.
    precision : dtype
        In which it keeps scores.
    binary : bool
        Whether it wants labels 0 and 1.
    threaded : bool
        Whether it takes a number of threads, and millions of rows in good time.
    """

    name: ClassVar[str]
    work: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    convention: ClassVar[ConventionName | None] = None
    no_relevant: ClassVar[float | None] = None
    precision: ClassVar[type] = float
    binary: ClassVar[bool] = False
    threaded: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, data: Data, n_threads: int) -> Any:
        """Make of the arrays what the peer evaluates: its own objects, as far as they outlive one evaluation."""

    @abstractmethod
    def run(self, prepared: Any) -> Any:
        """Evaluate."""

    @abstractmethod
    def means(self, found: Any) -> list[float]:
        """Read the means off what `run` returned, in the order of ``metrics``."""

    def queries(self, data: Data) -> ltr.Queries:
        """Prepare ours so that it can compute the same."""
        return ltr.Queries(data.y, group=data.sizes)

    def same(self, data: Data, n_threads: int = 1) -> Callable[[], ltr.Evaluation]:
        """Return our evaluation of the same metrics by the same rules."""
        queries = self.queries(data)
        scores: AnyArray = data.scores.astype(self.precision)
        return lambda: queries.evaluate(
            scores, self.metrics, convention=self.convention, no_relevant=self.no_relevant, n_threads=n_threads
        )

    def disagreement(self, data: Data, found: Any) -> str | None:
        """Say where the peer's numbers are not ours: to be faster than something else would mean nothing."""
        ours = self.same(data)()
        for name, theirs in zip(self.metrics, self.means(found), strict=True):
            if not abs(ours[name] - theirs) <= SAME:
                return (
                    f"computes something else on {data.shape}: {name} is {theirs:.12f} there and {ours[name]:.12f} here"
                )
        return None
