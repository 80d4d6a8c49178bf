"""The validated rankings of one query, and the ranks of their documents."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from ltr_metrics._engine.checks import require_count
from ltr_metrics.errors import LtrTypeError, LtrValueError


class Rankings:
    """Two or more rankings of any hashable document ids and any lengths, best document first.

    Parameters
    ----------
    rankings : sequence of sequences
        One per ranker.
    length : int, optional
        Maximum number of documents in a mixed list. Default: the length of the longest ranking.

    Attributes
    ----------
    lists : list of list
        The rankings.
    length : int
        Maximum number of documents in a mixed list.

    Raises
    ------
    LtrValueError, LtrTypeError
        If there are fewer than two rankings, if a ranking is empty or contains a document twice, or
        if an id is missing or not hashable.
    """

    def __init__(self, rankings: Any, length: int | None = None) -> None:
        if not is_sequence(rankings):
            remedy = " Pass list(rankings.values())." if isinstance(rankings, Mapping) else ""
            raise LtrTypeError(
                f"rankings must be a sequence of rankings, each a sequence of ids.{remedy} Got {short(rankings)}."
            )
        self.lists = [_as_ranking(f"rankings[{i}]", ranking) for i, ranking in enumerate(rankings)]
        if len(self.lists) < 2:
            raise LtrValueError(f"rankings must be two or more, to be compared. Got {len(self.lists)}.")
        self.length = max(map(len, self.lists)) if length is None else require_count("length", length, note=", or None")

    @cached_property
    def ranks(self) -> list[dict[Hashable, int]]:
        """The rank of each document, from 1, by ranking. Documents that a ranking lacks have no key."""
        return [{document: rank for rank, document in enumerate(ranking, start=1)} for ranking in self.lists]

    @cached_property
    def best_rank(self) -> dict[Hashable, int]:
        """The best rank of each document in any of the rankings."""
        best: dict[Hashable, int] = {}
        for ranks in self.ranks:
            for document, rank in ranks.items():
                best[document] = min(rank, best.get(document, rank))
        return best

    @cached_property
    def n_shown(self) -> int:
        """Number of documents in a mixed list: `length`, or all documents if there are fewer."""
        if self.length <= max(map(len, self.lists)):  # saves counting all documents
            return self.length
        return min(self.length, len(self.best_rank))

    def __len__(self) -> int:
        return len(self.lists)


def _as_ranking(name: str, ranking: Any) -> list[Hashable]:
    if not is_sequence(ranking):
        raise LtrTypeError(f"{name} must be a sequence of document ids, best first. Got {short(ranking)}.")
    documents = as_documents(name, ranking)
    if not documents:
        raise LtrValueError(f"{name} is empty, and a ranker without documents cannot be compared. Leave it out.")
    return documents


def as_documents(name: str, documents: Sequence[Any]) -> list[Hashable]:
    """Return a list of distinct ids."""
    listed = documents.tolist() if hasattr(documents, "tolist") else list(documents)
    try:
        distinct = set(listed)
    except TypeError as error:
        raise LtrTypeError(
            f"{name} must hold hashable document ids, such as text, numbers and tuples of them: {error}."
        ) from None
    for index, document in enumerate(listed):
        if _is_missing(document):
            raise LtrValueError(f"{name} must have an id for every document: it is missing at index {index} (from 0).")
    if len(distinct) < len(listed):
        seen: dict[Hashable, int] = {}
        for index, document in enumerate(listed):
            if document in seen:
                raise LtrValueError(
                    f"{name} has the document {document!r} twice, at indices {seen[document]} and {index} (from 0). "
                    "A document has one rank: keep the better one."
                )
            seen[document] = index
    return listed


def is_sequence(values: Any) -> bool:
    """Whether values have an order and a length, and are not text, a set, a mapping or a 0-d array."""
    return (
        not isinstance(values, (str, bytes, AbstractSet, Mapping))
        and hasattr(values, "__len__")
        and hasattr(values, "__getitem__")
        and getattr(values, "ndim", 1) > 0
    )


def short(value: object) -> str:
    """Return the repr of a value for an error message, on one line and shortened in the middle."""
    return " ".join(reprlib.repr(value).split())


def _is_missing(document: Hashable) -> bool:
    try:
        return document is None or bool(document != document)
    except TypeError:  # pandas' NA is neither equal nor unequal
        return True
