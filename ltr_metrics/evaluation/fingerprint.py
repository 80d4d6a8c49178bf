"""Which data an evaluation is of: one number a query, equal for the same judged documents in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray
from ltr_metrics._engine.ids import id_texts
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.words import Unjudged


class Fingerprint:
    """Fingerprints of the queries of an evaluation, computed when they are first asked for.

    A query's is a sum over its judged documents of a hash of the grade: the same for the same documents in another order,
    another one if a document is there twice or has another grade. Documents that nobody judged do not count, so that TREC
    runs, each of which retrieves documents of its own, are of the same data.

    Attributes
    ----------
    of_query : ndarray of uint64
    unjudged : str or None
        What became of documents that nobody judged; None where all are judged.
    """

    def __init__(self, compute: Callable[[], AnyArray], unjudged: Unjudged | None) -> None:
        self._compute = compute
        self._of_query: AnyArray | None = None
        self.unjudged = unjudged

    @classmethod
    def of(cls, queries: LabelledQueries) -> Fingerprint:
        """Remember what is needed of the labels, a byte or so a row, and not the queries with all that they prepared."""
        grades, index, judged = queries.grades, queries.grade_index, queries.judged
        order, starts = queries.order, queries.starts

        def compute() -> AnyArray:
            hashes = np.concatenate((np.zeros(1, dtype=np.uint64), _hash(grades)))[index]
            if judged is not None:
                hashes[~judged] = 0
            return np.add.reduceat(hashes if order is None else hashes[order], starts)

        return cls(compute, None if judged is None else queries.unjudged)

    @property
    def of_query(self) -> AnyArray:
        """One number a query; the labels are let go."""
        compute = self._compute
        if self._of_query is None:
            self._of_query = compute()
            self._compute = _let_go
        return self._of_query

    def subset(self, chosen: AnyArray) -> Fingerprint:
        """Return the fingerprints of some of the queries, by flag or position."""
        return Fingerprint(lambda: self.of_query[chosen], self.unjudged)

    def of_all(self, ids: AnyArray) -> str:
        """Return one short text for all queries, whatever their order and the type of their ids."""
        import hashlib  # for files alone

        lines = sorted(f"{text!r} {number}" for text, number in zip(id_texts(ids), self.of_query.tolist(), strict=True))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def __getstate__(self) -> dict[str, Any]:
        return {"_of_query": self.of_query, "_compute": _let_go, "unjudged": self.unjudged}


def _let_go() -> AnyArray:
    raise RuntimeError("The labels are gone; their fingerprints were computed before.")


def _hash(grades: AnyArray) -> AnyArray:
    """Mix the bits of numbers so that sums of them tell collections apart (the finalizer of splitmix64, Steele et al. 2014)."""
    as_hosts_have_them = grades.astype(np.float32).astype(np.float64) + 0.0  # so that .7 is .7, and -0 is 0
    bits = as_hosts_have_them.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: AnyArray = bits ^ (bits >> np.uint64(31))
    return mixed


def differing(one: Fingerprint, other: Fingerprint) -> BoolArray:
    """Return which queries are not the same data."""
    return np.asarray(one.of_query != other.of_query)
