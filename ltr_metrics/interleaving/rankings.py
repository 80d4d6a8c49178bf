"""The rankings of one query that are compared: checked, with the ranks of their documents."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from ltr_metrics._engine.checks import require_count
from ltr_metrics.errors import LtrTypeError, LtrValueError


class Rankings:
    """Two or more rankings of any hashable document ids, of any lengths, best document first.

    Parameters
    ----------
    rankings : sequence of sequences
        One a ranker.
    length : int, optional
        Documents to show at most. Default: as many as the longest ranking has.

    Attributes
    ----------
    lists : list of list
        The rankings.
    length : int
        Documents to show at most.
    n_shown : int
        Documents that a list of this length shows: fewer than ``length`` where all rankings together have no more.

    Raises
    ------
    LtrValueError, LtrTypeError
        Fewer than two rankings, an empty one, a document that stands twice in one, ids that are missing or not hashable.
    """

    def __init__(self, rankings: Any, length: int | None = None) -> None:
        if not is_sequence(rankings):
            by_name = " Pass list(rankings.values())." if isinstance(rankings, Mapping) else ""
            raise LtrTypeError(
                f"rankings must be a sequence of rankings, a sequence of ids each.{by_name} Got {short(rankings)}."
            )
        self.lists = [_as_ranking(f"rankings[{i}]", one) for i, one in enumerate(rankings)]
        if len(self.lists) < 2:
            raise LtrValueError(f"rankings must be two or more, to be compared: got {len(self.lists)}.")
        longest = max(map(len, self.lists))
        self.length = longest if length is None else require_count("length", length, note=", or None")

    @cached_property
    def ranks(self) -> list[dict[Hashable, int]]:
        """Rank of each document of each ranking, from 1; a document that a ranking has not is absent."""
        return [{document: rank for rank, document in enumerate(one, start=1)} for one in self.lists]

    @cached_property
    def top(self) -> dict[Hashable, int]:
        """Best rank of each document over the rankings."""
        top: dict[Hashable, int] = {}
        for ranks in self.ranks:
            for document, rank in ranks.items():
                top[document] = min(rank, top.get(document, rank))
        return top

    @cached_property
    def n_shown(self) -> int:
        """Documents that a list of this length shows."""
        longest = max(map(len, self.lists))
        return (
            self.length if self.length <= longest else min(self.length, len(self.top))
        )  # without looking at all documents

    def __len__(self) -> int:
        return len(self.lists)


def _as_ranking(name: str, ranking: Any) -> list[Hashable]:
    if not is_sequence(ranking):
        raise LtrTypeError(f"{name} must be a sequence of document ids, best first. Got {short(ranking)}.")
    documents = as_documents(name, ranking)
    if not documents:
        raise LtrValueError(f"{name} is empty: a ranker that ranks nothing cannot be compared. Leave it out.")
    return documents


def as_documents(name: str, documents: Sequence[Any]) -> list[Hashable]:
    """Return a list of ids, each of which stands there once."""
    listed = documents.tolist() if hasattr(documents, "tolist") else list(documents)
    try:
        distinct = set(listed)
    except TypeError as error:
        raise LtrTypeError(
            f"{name} must hold hashable document ids, such as text, numbers and tuples of them: {error}."
        ) from None
    for place, document in enumerate(listed):
        if _is_missing(document):
            raise LtrValueError(f"{name} must have an id for every document: it is missing at place {place} (from 0).")
    if len(distinct) < len(listed):
        seen: dict[Hashable, int] = {}
        for place, document in enumerate(listed):
            if document in seen:
                raise LtrValueError(
                    f"{name} has the document {document!r} twice, at places {seen[document]} and {place} (from 0). A document has one rank: "
                    "keep the better one."
                )
            seen[document] = place
    return listed


def is_sequence(values: Any) -> bool:
    """Whether something has an order and a length: no text, set or mapping, nor an array of no dimension."""
    return (
        not isinstance(values, (str, bytes, AbstractSet, Mapping))
        and hasattr(values, "__len__")
        and hasattr(values, "__getitem__")
        and getattr(values, "ndim", 1) > 0
    )


def short(value: object) -> str:
    """Return a value as messages show it: on one line, the middle of a long one left out."""
    return " ".join(reprlib.repr(value).split())


def _is_missing(document: Hashable) -> bool:
    try:
        return document is None or bool(document != document)
    except TypeError:  # pandas' NA is neither equal nor unequal
        return True
