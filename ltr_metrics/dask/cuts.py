"""Queries whose rows are in several partitions: found by 64 bits an id, and named."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.ids import id_texts, is_whole_number, positions_by_text
from ltr_metrics.dask.partition import Part
from ltr_metrics.errors import LtrValueError

CANDIDATES_AT_ONCE = 100_000


def refuse_cut_queries(hashes: list[AnyArray], of_each: Callable[[Callable[..., Any]], tuple[Any, ...]]) -> None:
    """Raise an error if a query is in several partitions: equal ids have equal hashes, of which only those are looked at closer."""
    together = np.concatenate(hashes)
    together.sort()
    candidates = np.unique(together[1:][together[1:] == together[:-1]])
    for first in range(0, len(candidates), CANDIDATES_AT_ONCE):
        of_partition = of_each(partial(_ids_of, candidates[first : first + CANDIDATES_AT_ONCE]))
        partitions: dict[str, list[int]] = {}
        with_text: dict[str, Hashable] = {}
        for at, ids in enumerate(of_partition):
            for one, text in zip(ids, id_texts(ids), strict=True):
                if with_text.setdefault(text, one) != one:
                    positions_by_text([with_text[text], one], "qid")  # which refuses two ids of one text
                partitions.setdefault(text, []).append(at)
        cut = {with_text[text]: where for text, where in partitions.items() if len(where) > 1}
        if cut:
            one, where = next(iter(cut.items()))
            further = "" if len(where) == 2 else f" and {len(where) - 2:,} others"
            more = "" if len(cut) == 1 else f" {len(cut) - 1:,} more queries are cut likewise."
            raise LtrValueError(
                f"The rows of a query must be in one partition: query {one!r} has rows in the partitions "
                f"{where[0]} and {where[1]}{further}.{more} Pass shuffle=True (--shuffle), and Dask brings them together; or do "
                "it once, before a training or many evaluations: frame = ltr_metrics.dask.whole_queries(frame)."
            )


def _ids_of(hashes: AnyArray, part: Part | None) -> list[Hashable]:
    """Return the ids of a partition that have one of these hashes."""
    if part is None:
        return []
    ids = next(iter(part.results.values())).qid
    found: list[Hashable] = ids[np.isin(hashes_of(ids), hashes)].tolist()
    return found


def hashes_of(ids: AnyArray) -> AnyArray:
    """Return 64 bits an id, equal for ids of one text, of whatever type and in whatever process."""
    if ids.dtype.kind in "biu":
        return ids.astype(np.uint64)
    if ids.dtype.kind == "f":
        return _hashes_of_floats(ids.astype(np.float64))
    if ids.dtype.kind in "mM":
        return ids.astype(f"{ids.dtype.kind}8[us]").view(np.uint64)
    from pandas.util import hash_array

    ids = ids.astype(object)
    are_text = np.fromiter((isinstance(one, str) for one in ids.tolist()), dtype=np.bool_, count=len(ids))
    found = np.zeros(len(ids), dtype=np.uint64)
    found[are_text] = hash_array(ids[are_text], categorize=False)
    for at, one in enumerate(ids.tolist()):
        if not isinstance(one, str):
            found[at] = _hash_of(one)
        elif is_whole_number(one):
            found[at] = _hash_of(int(one))
    return found


def _hash_of(one: object) -> int:
    """Return the hash of an id; what has none that is the same in all processes shares one, and is compared itself."""
    if isinstance(one, Integral):
        return int(one) % 2**64
    if isinstance(one, (Real, Decimal)):
        return int(_hashes_of_floats(np.array([float(one)]))[0])
    return 0


def _hashes_of_floats(ids: AnyArray) -> AnyArray:
    whole = (ids == np.floor(ids)) & (np.abs(ids) < 2**63)
    bits = ids.view(np.uint64)
    return np.where(whole, np.where(whole, ids, 0).astype(np.int64).astype(np.uint64), bits)
