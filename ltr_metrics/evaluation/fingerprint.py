"""Fingerprints of the data: one number per query, independent of the order of documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics._rows.ids import id_texts
from ltr_metrics._rows.words import Unjudged


@dataclass(eq=False, repr=False)
class Fingerprint:
    """The fingerprints of the queries of an evaluation, computed when they are first used.

    The fingerprint of a query is the sum of a hash of the grade over its judged documents. It does
    not change with the order of the documents. It changes if a document is repeated or has another
    grade. Unjudged documents do not count, so that TREC runs have the same fingerprints although
    each retrieves other documents.

    Attributes
    ----------
    of_query : ndarray of uint64
    unjudged : str or None
        The treatment of unjudged documents; None if all are judged.
    """

    _of_query: AnyArray | Callable[[], AnyArray]
    unjudged: Unjudged | None

    @property
    def of_query(self) -> AnyArray:
        """One number per query; the labels are not kept once it is computed."""
        of_query = self._of_query
        if callable(of_query):
            of_query = self._of_query = of_query()
        return of_query

    def subset(self, chosen: AnyArray) -> Fingerprint:
        """Return the fingerprints of the queries of a mask or of positions."""
        return Fingerprint(lambda: self.of_query[chosen], self.unjudged)

    def of_all(self, ids: AnyArray) -> str:
        """Return one short text for all queries, independent of their order and their ids' type."""
        import hashlib  # only needed for files

        lines = sorted(f"{text!r} {number}" for text, number in zip(id_texts(ids), self.of_query.tolist(), strict=True))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def __getstate__(self) -> dict[str, Any]:
        return {"_of_query": self.of_query, "unjudged": self.unjudged}


def hash_by_query(
    grades: FloatArray, grade_index: AnyArray, judged: BoolArray | None, order: IntArray | None, starts: IntArray
) -> AnyArray:
    """Return the fingerprint of each query; unjudged rows do not count."""
    hashes = np.append(np.uint64(0), _hash(grades))[grade_index]
    if judged is not None:
        hashes[~judged] = 0
    return np.asarray(np.add.reduceat(hashes if order is None else hashes[order], starts))


def _hash(grades: AnyArray) -> AnyArray:
    """Hash numbers so that different collections have different sums.

    This is the finalizer of splitmix64 (Steele et al. 2014).
    """
    in_float32 = grades.astype(np.float32).astype(np.float64) + 0.0  # as in hosts; -0 is 0
    bits = in_float32.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: AnyArray = bits ^ (bits >> np.uint64(31))
    return mixed


def differing(one: Fingerprint, other: Fingerprint) -> BoolArray:
    """Return the mask of the queries whose data differ."""
    return np.asarray(one.of_query != other.of_query)
