"""The progress bar of a learning curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ltr_metrics.errors import import_extra


def with_progress(stops: Sequence[int], is_wanted: bool) -> Iterable[int]:
    """Return the numbers of rounds to evaluate, with a bar that advances as they are consumed."""
    if not is_wanted:
        return stops
    bar: Iterable[int] = import_extra("tqdm.auto", "report").tqdm(stops, unit=" evaluations")
    return bar
