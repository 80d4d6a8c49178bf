"""Evaluations and comparisons by segment of queries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import IntArray
from ltr_metrics._rows.ids import id_text
from ltr_metrics._rows.per_query import Segmentations
from ltr_metrics.errors import LtrKeyError, did_you_mean


class Segments(dict[Any, Any]):
    """The results of the segments by label; of several segmentations, one such dict by name.

    A label is found by its text, too: ``"7"`` is the segment 7.
    """

    def __missing__(self, key: Hashable) -> Any:
        by_text = {id_text(label): part for label, part in self.items()}
        if id_text(key) in by_text:
            return by_text[id_text(key)]
        known = ", ".join(map(repr, self)) or "none: evaluate with by="
        raise LtrKeyError(f"There is no segment {key!r}.{did_you_mean(str(key), map(str, self))} There are {known}.")


def split_by_segment(segmentations: Segmentations, subset: Callable[[IntArray], Any]) -> Segments:
    """Return ``subset(positions)`` of the queries of each segment that has any, in the order of the labels."""
    by_name = {
        name: Segments(
            {
                label: subset(queries)
                for label, queries in zip(labels, _split(code, len(labels)), strict=True)
                if len(queries)
            }
        )
        for name, (labels, code) in segmentations.items()
    }
    return by_name[None] if None in by_name else Segments(by_name)


def _split(code: IntArray, n_segments: int) -> list[IntArray]:
    """Return the positions of the queries of each segment; a mask for each would take queries x segments bytes."""
    ends = np.cumsum(np.bincount(code, minlength=n_segments))
    return np.split(np.argsort(code, kind="stable"), ends[:-1])


def iter_segments(segmentations: Segmentations, by: Segments) -> Iterator[tuple[str | None, Hashable, Any]]:
    """Yield the segmentation's name, the label and the result of every segment."""
    for name in segmentations:
        for label, part in (by if name is None else by[name]).items():
            yield name, label, part
