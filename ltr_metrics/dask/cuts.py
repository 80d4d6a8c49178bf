"""Queries with rows in several partitions: found by a 64-bit hash of each id, and reported."""

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


def refuse_cut_queries(hashes: list[AnyArray], compute: Callable[[Callable[..., Any]], tuple[Any, ...]]) -> None:
    """Raise an error if a query is in several partitions.

    Equal ids have equal hashes, so only ids whose hash occurs twice are compared themselves.

    Parameters
    ----------
    hashes : list of ndarray
        For each partition, a hash per query.
    compute : callable
        Calls a function with each `Part`, and returns the results.
    """
    all_hashes = np.concatenate(hashes)
    all_hashes.sort()
    candidates = np.unique(all_hashes[1:][all_hashes[1:] == all_hashes[:-1]])
    for start in range(0, len(candidates), CANDIDATES_AT_ONCE):
        ids_by_partition = compute(partial(_ids_with_hash, candidates[start : start + CANDIDATES_AT_ONCE]))
        _refuse_ids_in_several(ids_by_partition)


def _refuse_ids_in_several(ids_by_partition: tuple[list[Hashable], ...]) -> None:
    partitions: dict[str, list[int]] = {}
    id_by_text: dict[str, Hashable] = {}
    for partition, ids in enumerate(ids_by_partition):
        for query, text in zip(ids, id_texts(ids), strict=True):
            if id_by_text.setdefault(text, query) != query:
                positions_by_text([id_by_text[text], query], "qid")  # raises: two ids have one text
            partitions.setdefault(text, []).append(partition)
    cut = {id_by_text[text]: numbers for text, numbers in partitions.items() if len(numbers) > 1}
    if cut:
        query, numbers = next(iter(cut.items()))
        others = "" if len(numbers) == 2 else f" and {len(numbers) - 2:,} others"
        more = "" if len(cut) == 1 else f" {len(cut) - 1:,} more queries are cut likewise."
        raise LtrValueError(
            f"The rows of a query must be in one partition: query {query!r} has rows in the partitions {numbers[0]} "
            f"and {numbers[1]}{others}.{more} Pass shuffle=True (--shuffle) to let Dask bring them together. Or do it "
            "once, before a training or many evaluations: frame = ltr_metrics.dask.whole_queries(frame)."
        )


def _ids_with_hash(hashes: AnyArray, part: Part | None) -> list[Hashable]:
    """Return the ids of a partition that have one of these hashes."""
    if part is None:
        return []
    qid = next(iter(part.results.values())).qid
    ids: list[Hashable] = qid[np.isin(hashes_of(qid), hashes)].tolist()
    return ids


def hashes_of(ids: AnyArray) -> AnyArray:
    """Return a 64-bit hash of each id, equal for ids of one text in all types and processes."""
    if ids.dtype.kind in "biu":
        return ids.astype(np.uint64)
    if ids.dtype.kind == "f":
        return _hashes_of_floats(ids.astype(np.float64))
    if ids.dtype.kind in "mM":
        return ids.astype(f"{ids.dtype.kind}8[us]").view(np.uint64)
    from pandas.util import hash_array

    values = ids.astype(object)
    listed = values.tolist()
    is_text = np.fromiter((isinstance(value, str) for value in listed), dtype=np.bool_, count=len(listed))
    hashes = np.zeros(len(listed), dtype=np.uint64)
    hashes[is_text] = hash_array(values[is_text], categorize=False)
    for i, value in enumerate(listed):
        if not isinstance(value, str):
            hashes[i] = _hash_of(value)
        elif is_whole_number(value):
            hashes[i] = _hash_of(int(value))
    return hashes


def _hash_of(value: object) -> int:
    """Return the hash of an id, and 0 for types whose own hash differs between processes."""
    if isinstance(value, Integral):
        return int(value) % 2**64
    if isinstance(value, (Real, Decimal)):
        return int(_hashes_of_floats(np.array([float(value)]))[0])
    return 0


def _hashes_of_floats(ids: AnyArray) -> AnyArray:
    is_whole = (ids == np.floor(ids)) & (np.abs(ids) < 2**63)
    bits = ids.view(np.uint64)
    return np.where(is_whole, np.where(is_whole, ids, 0).astype(np.int64).astype(np.uint64), bits)
