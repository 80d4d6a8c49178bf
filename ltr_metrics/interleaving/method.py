"""What all methods share: they mix rankings into one list and give credit for the clicks on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import RuleOfCredit
from ltr_metrics.analysis.settings import seed_from
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.interleaving.rankings import Rankings, as_documents, is_sequence, short

RULES: tuple[RuleOfCredit, ...] = get_args(RuleOfCredit)


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

    Raises
    ------
    LtrValueError, LtrTypeError
        If there are fewer than two rankings, if a ranking repeats a document, or for a wrong
        ``length``.

    See Also
    --------
    TeamDraft : One team per ranker.
    PairwisePreference : Preferences between pairs of documents.
    Probabilistic : Documents drawn at random, by rank.
    Optimized : The lists that distinguish the rankers best.
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
        self._rankings = Rankings(rankings, length)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._rankings)} rankings, length={self.length})"

    @property
    def rankings(self) -> list[list[Hashable]]:
        """Copies of the rankings, one per ranker."""
        return [ranking.copy() for ranking in self._rankings.lists]

    @property
    def length(self) -> int:
        """Maximum number of documents in the list."""
        return self._rankings.length

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

    def credit(self, shown: Shown | Sequence[Hashable], clicks: Any, rule: RuleOfCredit = "own") -> FloatArray:
        """Return the credit of each ranker for the clicks on a list.

        Parameters
        ----------
        shown : Shown or sequence
            The result of `mix`, or the documents alone if the rule needs no teams.
        clicks : sequence of int
            The clicked slots, from 0, in any order. Repeated clicks on a slot count once.
        rule : {"own", "clicks"}
            "own" is the method's rule. "clicks" gives 1 for each clicked document: to the ranker
            whose team has it or, without teams, to the ranker that ranks it best. Rankers that
            share the best rank share the credit equally (the binary credit of Radlinski and
            Craswell, WSDM 2013).

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
        if fault:
            raise self._impossible(fault)
        slots = clicked_slots(clicks, len(documents))
        if require_option("rule", rule, RULES) == "clicks":
            self._require_possible(documents, teams)
            return self._credit_clicks(documents, teams, slots)
        return self._credit(documents, teams, slots)

    def probability(self, shown: Shown | Sequence[Hashable]) -> float:
        """Return the exact probability that `mix` returns this list.

        It is 0 if the list is impossible or if the probability underflows. With teams it is the
        joint probability of documents and teams, otherwise that of the documents.

        Parameters
        ----------
        shown : Shown or sequence
            The result of `mix`, or the documents alone.

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
    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray:
        """Return the credit by the method's own rule, and raise an error for an impossible list."""

    @abstractmethod
    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        """Return the probability of a list of the right length, of distinct documents of the rankings."""

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        """Whether the probability is above 0. Override if that of a long list can underflow."""
        return self._probability(documents, teams) > 0

    # -- what methods use -------------------------------------------------------------------------

    def _split(self, shown: Shown | Sequence[Hashable]) -> tuple[list[Hashable], list[int] | None]:
        """Return the documents and the teams, which are None for a method without teams."""
        listed = shown.documents if isinstance(shown, Shown) else shown
        if not is_sequence(listed):
            raise LtrTypeError(f"shown must be what mix returned, or a sequence of document ids. Got {short(shown)}.")
        documents = as_documents("shown", listed)
        if not self.has_teams or not isinstance(shown, Shown) or shown.teams is None:
            return documents, None
        return documents, as_teams(shown.teams, len(documents), len(self._rankings))

    def _require_possible(self, documents: list[Hashable], teams: list[int] | None) -> None:
        if not self._is_possible(documents, teams):
            raise self._impossible("these rankings never give it")

    def _impossible(self, fault: str) -> LtrValueError:
        return LtrValueError(
            f"{type(self).__name__} could not have shown this list: {fault}. Pass the list that mix returned, with the "
            "rankings and the length that it was mixed from."
        )

    def _fault(self, documents: list[Hashable]) -> str:
        """Return why a list is impossible in any order, or an empty string."""
        for slot, document in enumerate(documents):
            if document not in self._rankings.best_rank:
                return f"document {document!r} at slot {slot} (from 0) is not in any of the rankings"
        if len(documents) != self._rankings.n_shown:
            return f"it has {len(documents)} documents instead of {self._rankings.n_shown}"
        return ""

    def _credit_clicks(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray:
        credit = np.zeros(len(self._rankings))
        for slot in slots:
            if teams is not None:
                credit[teams[slot]] += 1
                continue
            document = documents[slot]
            best = self._rankings.best_rank[document]
            rankers = [i for i, ranks in enumerate(self._rankings.ranks) if ranks.get(document) == best]
            credit[rankers] += 1 / len(rankers)
        return credit


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator: ``random_state`` itself, or one seeded by it."""
    is_generator = isinstance(random_state, np.random.Generator)
    return random_state if is_generator else np.random.default_rng(seed_from(random_state))


def clicked_slots(clicks: Any, n_shown: int) -> list[int]:
    """Return the distinct clicked slots, from the top."""
    if not is_sequence(clicks) and not isinstance(clicks, AbstractSet):
        raise LtrTypeError(f"clicks must be a sequence of slots (from 0), such as [0, 2]. Got {short(clicks)}.")
    for slot in clicks:
        if isinstance(slot, (bool, np.bool_)) or not isinstance(slot, (int, np.integer)):
            raise LtrTypeError(
                f"clicks must be slots, whole numbers from 0. Got {slot!r}. np.flatnonzero converts a mask to slots."
            )
        if not 0 <= slot < n_shown:
            raise LtrValueError(
                f"clicks must be slots of the list, 0 to {n_shown - 1}. Got {slot}. The first document has slot 0."
            )
    return sorted(set(map(int, clicks)))


def as_teams(teams: Any, n_shown: int, n_rankers: int | None) -> list[int]:
    """Return the ranker of each slot. Without ``n_rankers``, there is no upper limit."""
    if not is_sequence(teams):
        raise LtrTypeError(f"teams must be a sequence of rankers, one per document. Got {short(teams)}.")
    listed = teams.tolist() if hasattr(teams, "tolist") else list(teams)
    if len(listed) != n_shown:
        raise LtrValueError(f"teams must have one ranker per document. Got {len(listed)} for {n_shown} documents.")
    for slot, team in enumerate(listed):
        is_number = isinstance(team, (int, np.integer)) and not isinstance(team, bool)
        if not is_number or team < 0 or (n_rankers is not None and team >= n_rankers):
            limit = "" if n_rankers is None else f" to {n_rankers - 1}"
            raise LtrValueError(
                f"teams must be numbers of rankers, whole numbers from 0{limit}. Got {team!r} at slot {slot} (from 0)."
            )
    return list(map(int, listed))
