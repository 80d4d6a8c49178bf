"""What all methods share: they mix rankings into one list and give credit for the clicks on it."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray, require_count
from ltr_metrics._rows.ids import is_missing
from ltr_metrics.analysis.settings import seed_from
from ltr_metrics.errors import LtrTypeError, LtrValueError


@dataclass(frozen=True)
class Shown:
    """A list as users see it.

    Attributes
    ----------
    documents : list
        Document ids, from the top.
    teams : list of int, or None
        The ranker (from 0) that added each document. None if the method has no teams.

    See Also
    --------
    Method : Its `ltr_metrics.interleaving.Method.mix` returns one.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Shown, TeamDraft
    >>> TeamDraft([["a", "b"], ["b", "c"]]).credit(Shown(["b", "a"], teams=[1, 0]), clicks=[0])
    array([0., 1.])
    """

    documents: list[Hashable]
    teams: list[int] | None = None


class Method(ABC):
    """A way to mix rankings into one list and to give each ranker credit for the clicks on it.

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings, one per ranker, of any hashable ids and any lengths, best first.
    length : int, optional
        Maximum number of documents in the list. The list is shorter if all rankings together have
        fewer documents. Default: the length of the longest ranking.

    Attributes
    ----------
    rankings : list of list
        The rankings, one per ranker.
    length : int
        Maximum number of documents in the list.

    Raises
    ------
    LtrValueError, LtrTypeError
        If there are fewer than two rankings, if a ranking repeats a document, or for a wrong
        ``length``.

    See Also
    --------
    TeamDraft : One team per ranker.
    PairwisePreference : Preferences between pairs of documents.
    Balanced : Two rankings that take turns.

    Examples
    --------
    All methods have the same members:

    >>> from ltr_metrics.interleaving import Method, PairwisePreference, TeamDraft
    >>> for method in (TeamDraft([["a", "b"], ["b", "c"]]), PairwisePreference([["a", "b"], ["b", "c"]])):
    ...     shown = method.mix(random_state=0)
    ...     print(isinstance(method, Method), shown.documents, method.credit(shown, clicks=[0]))
    True ['a', 'b'] [1. 0.]
    True ['b', 'a'] [-1.  1.]
    """

    has_teams = False

    def __init__(self, rankings: Any, length: int | None = None) -> None:
        self.rankings = [as_documents(f"rankings[{i}]", ranking) for i, ranking in enumerate(rankings)]
        if len(self.rankings) < 2 or not all(self.rankings):
            raise LtrValueError(
                f"rankings must be two or more, none of them empty. Got {len(self.rankings)} with "
                f"{', '.join(str(len(one)) for one in self.rankings) or 'no'} documents."
            )
        self._longest = max(map(len, self.rankings))
        self.length = self._longest if length is None else require_count("length", length, note=", or None")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.rankings)} rankings, length={self.length})"

    @cached_property
    def _ranks(self) -> list[dict[Hashable, int]]:
        """The rank of each document, from 1, by ranking. Documents that a ranking lacks have no key."""
        return [{document: rank for rank, document in enumerate(ranking, start=1)} for ranking in self.rankings]

    @cached_property
    def _best_rank(self) -> dict[Hashable, int]:
        """The best rank of each document in any of the rankings."""
        best: dict[Hashable, int] = {}
        for ranks in self._ranks:
            for document, rank in ranks.items():
                best[document] = min(rank, best.get(document, rank))
        return best

    @cached_property
    def _n_shown(self) -> int:
        """Number of documents in a mixed list: `length`, or all documents if there are fewer."""
        return self.length if self.length <= self._longest else min(self.length, len(self._best_rank))

    @property
    def _lengths(self) -> set[int]:
        """The numbers of documents that a list can have."""
        return {self._n_shown}

    def mix(self, random_state: Any = None) -> Shown:
        """Draw a list of documents to show.

        Parameters
        ----------
        random_state : int, numpy.random.Generator or None
            Random seed. The same seed gives the same list each time. A generator is drawn from.
            None gives a different list each time.

        Returns
        -------
        Shown
            The documents from the top, and the teams if the method has teams.
        """
        return self._mix(generator_of(random_state))

    def credit(self, shown: Shown | Sequence[Hashable], clicks: Any) -> FloatArray:
        """Return the credit of each ranker for the clicks on a list.

        Parameters
        ----------
        shown : Shown or sequence
            The result of `mix`, or only the documents if the method needs no teams.
        clicks : sequence of int
            The clicked slots, from 0, in any order. Repeated clicks on a slot count once.

        Returns
        -------
        ndarray of float64 of shape (n_rankers,)
            Higher is better. Only the differences between rankers are meaningful.

        Raises
        ------
        LtrValueError, LtrTypeError
            If a click is not a slot of the list, or if this method could not have shown the list.
        """
        documents, teams = self._split(shown)
        fault = self._fault(documents)
        credit = None if fault else self._credit(documents, teams, clicked_slots(clicks, len(documents)))
        if credit is None:
            raise LtrValueError(
                f"{type(self).__name__} cannot have produced this list: "
                f"{fault or 'it is impossible for these rankings'}. Pass the list that mix returned, together with "
                "the rankings and the length from which it was mixed."
            )
        return credit

    def probability(self, shown: Shown | Sequence[Hashable]) -> float:
        """Return the exact probability that `mix` returns this list.

        It is 0 if the list is impossible or if the probability underflows. With teams it is the
        joint probability of documents and teams, otherwise that of the documents.

        Parameters
        ----------
        shown : Shown or sequence
            The result of `mix`, or only the documents.

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        LtrValueError, LtrTypeError
            If ``shown`` is not a list of ids, or its teams are not numbers of rankers.
        """
        documents, teams = self._split(shown)
        return 0.0 if self._fault(documents) else self._probability(documents, teams)

    # -- what a method implements -------------------------------------------------------------------------------------

    @abstractmethod
    def _mix(self, rng: np.random.Generator) -> Shown: ...

    @abstractmethod
    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray | None:
        """Return the credit by the method's own rule, or None if these rankings never give the list."""

    @abstractmethod
    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        """Return the probability of a list of the right length, of distinct documents of the rankings."""

    # -- checks of a list ---------------------------------------------------------------------------------------------

    def _split(self, shown: Shown | Sequence[Hashable]) -> tuple[list[Hashable], list[int] | None]:
        """Return the documents and the teams, which are None for a method without teams."""
        teams = shown.teams if isinstance(shown, Shown) and self.has_teams else None
        documents = as_documents("shown", shown.documents if isinstance(shown, Shown) else shown)
        return documents, None if teams is None else as_teams(teams, len(documents), len(self.rankings))

    def _fault(self, documents: list[Hashable]) -> str:
        """Return why a list is impossible in any order, or an empty string."""
        for slot, document in enumerate(documents):
            if document not in self._best_rank:
                return f"document {document!r} at slot {slot} (from 0) is not in any of the rankings"
        if len(documents) not in self._lengths:
            return f"it has {len(documents)} documents instead of {' or '.join(map(str, sorted(self._lengths)))}"
        return ""


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator: ``random_state`` itself, or one seeded by it."""
    is_generator = isinstance(random_state, np.random.Generator)
    return random_state if is_generator else np.random.default_rng(seed_from(random_state))


def as_documents(name: str, values: Any) -> list[Hashable]:
    """Return the ids as a list, and raise an error if one is missing, repeated or not hashable."""
    has_order = hasattr(values, "__getitem__") and not isinstance(values, (str, bytes, Mapping))
    if not has_order or getattr(values, "ndim", 1) == 0:
        raise LtrTypeError(f"{name} must be a sequence of document ids, best first. Got {short(values)}.")
    documents = values.tolist() if hasattr(values, "tolist") else list(values)
    seen: set[Hashable] = set()
    for index, document in enumerate(documents):
        try:
            is_bad = document in seen or is_missing(document)
        except TypeError:  # not hashable
            is_bad = True
        if is_bad:
            raise LtrValueError(
                f"{name} must be distinct, hashable ids. Got {short(document)} at index {index} (counted from 0), "
                "which is missing, blank, not hashable or a repetition. List each document once, at its best rank."
            )
        seen.add(document)
    return documents


def clicked_slots(clicks: Any, n_shown: int) -> list[int]:
    """Return the distinct clicked slots, from the top."""
    for slot in clicks:
        if isinstance(slot, (bool, np.bool_)) or slot not in range(n_shown):
            raise LtrValueError(
                f"clicks must be slots of the list, whole numbers from 0 to {n_shown - 1}. Got {slot!r}. "
                "np.flatnonzero converts a mask to slots."
            )
    return sorted(set(map(int, clicks)))


def as_teams(teams: Any, n_shown: int, n_rankers: int) -> list[int]:
    """Return the ranker of each slot."""
    if len(teams) != n_shown or not all(team in range(n_rankers) for team in teams):
        raise LtrValueError(
            f"teams must have the number of a ranker, from 0 to {n_rankers - 1}, for each of the {n_shown} documents. "
            f"Got {short(teams)}."
        )
    return list(map(int, teams))


def short(value: object) -> str:
    """Return the repr of a value for an error message, on one line and shortened in the middle."""
    return " ".join(reprlib.repr(value).split())
