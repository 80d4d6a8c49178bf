"""What all methods share: rankings in, a list to show out, credit for the clicks on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import RuleOfCredit
from ltr_metrics.analysis.comparison.settings import seed_from
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.interleaving.rankings import Rankings, as_documents, is_sequence, short

RULES: tuple[RuleOfCredit, ...] = get_args(RuleOfCredit)


@dataclass(frozen=True)
class Shown:
    """A list that users see.

    Attributes
    ----------
    documents : list
        Ids, from the top.
    teams : list of int, or None
        Which ranker, from 0, put each document there; None where the method has no teams.
    """

    documents: list[Hashable]
    teams: list[int] | None = None


class Method(ABC):
    """A way to mix rankings into one list and to give each ranker credit for the clicks on it.

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings of any hashable ids, best first, of any lengths; one a ranker.
    length : int, optional
        Documents to show at most: fewer are shown where all rankings together have no more. Default: as many as the longest ranking has.
    """

    has_teams = False

    def __init__(self, rankings: Any, length: int | None = None) -> None:
        self._rankings = Rankings(rankings, length)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._rankings)} rankings, length={self.length})"

    @property
    def rankings(self) -> list[list[Hashable]]:
        """The rankings, one a ranker."""
        return [one.copy() for one in self._rankings.lists]

    @property
    def length(self) -> int:
        """Documents to show at most."""
        return self._rankings.length

    def mix(self, random_state: Any = None) -> Shown:
        """Draw a list to show.

        Parameters
        ----------
        random_state : int, numpy.random.Generator or None
            A number gives the same list each time; a generator is drawn from; None is another list each time.
        """
        return self._mix(generator_of(random_state))

    def credit(self, shown: Shown | Sequence[Hashable], clicks: Any, rule: RuleOfCredit = "own") -> FloatArray:
        """Return the credit of each ranker for the clicks on a list.

        Parameters
        ----------
        shown : Shown or sequence
            What `mix` returned, or the documents alone where the rule needs no teams.
        clicks : sequence of int
            Places that were clicked, from 0, in any order; a place clicked again counts once.
        rule : {"own", "clicks"}
            The method's own rule, or 1 for each clicked document: to the ranker in whose team it is or, where there are no teams, to
            the ranker that ranks it best, in equal parts where several do (the binary credit of Radlinski and Craswell, WSDM 2013).

        Returns
        -------
        ndarray of float64 of shape (n_rankers,)
            Higher is better. Only differences between the rankers mean something.

        Raises
        ------
        LtrValueError, LtrTypeError
            Clicks that are no places of the list, and a list that this method could not have shown.
        """
        documents, teams = self._taken_apart(shown)
        places = clicked_places(clicks, len(documents))
        if require_option("rule", rule, RULES) == "clicks":
            self._refuse_impossible(documents, teams)
            return self._credit_clicks(documents, teams, places)
        return self._credit(documents, teams, places)

    def probability(self, shown: Shown | Sequence[Hashable]) -> float:
        """Return the probability that `mix` gives this list, exactly; 0 where it cannot, or so seldom that no float64 holds it.

        Of a `Shown` with teams it is the probability of both, of documents alone that of the documents, whatever the teams.
        """
        documents, teams = self._parts(shown)
        return 0.0 if self._impossible_anyhow(documents) else self._probability(documents, teams)

    # -- what a method writes -----------------------------------------------------------------------------------------

    @abstractmethod
    def _mix(self, rng: np.random.Generator) -> Shown: ...

    @abstractmethod
    def _credit(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        """Return the credit by the method's own rule; a list that cannot be has to be refused here."""

    @abstractmethod
    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        """Return the probability of as many distinct documents of the rankings as are shown."""

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        """Whether it is above 0; to be written anew where that of a long list is less than any float64."""
        return self._probability(documents, teams) > 0

    # -- what methods use -----------------------------------------------------------------------------------------------

    def _parts(self, shown: Shown | Sequence[Hashable]) -> tuple[list[Hashable], list[int] | None]:
        listed = shown.documents if isinstance(shown, Shown) else shown
        if not is_sequence(listed):
            raise LtrTypeError(f"shown must be what mix returned, or a sequence of document ids. Got {short(shown)}.")
        documents = as_documents("shown", listed)
        if not self.has_teams or not isinstance(shown, Shown) or shown.teams is None:
            return documents, None
        return documents, _as_teams(shown.teams, len(documents), len(self._rankings))

    def _taken_apart(self, shown: Shown | Sequence[Hashable]) -> tuple[list[Hashable], list[int] | None]:
        """Return documents and teams; refuse what no list of this method is, whatever its order."""
        documents, teams = self._parts(shown)
        wrong = self._impossible_anyhow(documents)
        if wrong:
            raise self._impossible(wrong)
        return documents, teams

    def _refuse_impossible(self, documents: list[Hashable], teams: list[int] | None) -> None:
        if not self._is_possible(documents, teams):
            raise self._impossible("it never comes out of these rankings")

    def _impossible(self, why: str) -> LtrValueError:
        return LtrValueError(
            f"{type(self).__name__} could not have shown this list: {why}. Pass what mix returned, and the rankings and the length that it "
            "was mixed from."
        )

    def _impossible_anyhow(self, documents: list[Hashable]) -> str:
        """Return what is wrong with a list in any order, or nothing."""
        unknown = next((place for place, one in enumerate(documents) if one not in self._rankings.top), None)
        if unknown is not None:
            return f"document {documents[unknown]!r} at place {unknown} (from 0) is in none of the rankings"
        if len(documents) != self._rankings.n_shown:
            return f"it has {len(documents)} documents where {self._rankings.n_shown} are shown"
        return ""

    def _credit_clicks(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        credit = np.zeros(len(self._rankings))
        for place in places:
            if teams is not None:
                credit[teams[place]] += 1
                continue
            document = documents[place]
            best = self._rankings.top[document]
            rankers = [i for i, ranks in enumerate(self._rankings.ranks) if ranks.get(document) == best]
            credit[rankers] += 1 / len(rankers)
        return credit


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator: the one given, or one of a number or of the system's entropy."""
    return (
        random_state
        if isinstance(random_state, np.random.Generator)
        else np.random.default_rng(seed_from(random_state))
    )


def clicked_places(clicks: Any, n_shown: int) -> list[int]:
    """Return the places that were clicked, from the top, each once."""
    if not is_sequence(clicks) and not isinstance(clicks, AbstractSet):
        raise LtrTypeError(f"clicks must be a sequence of places, from 0, such as [0, 2]. Got {short(clicks)}.")
    for place in clicks:
        if isinstance(place, (bool, np.bool_)) or not isinstance(place, (int, np.integer)):
            raise LtrTypeError(
                f"clicks must be places, whole numbers from 0. Got {place!r}; np.flatnonzero makes places of flags."
            )
        if not 0 <= place < n_shown:
            raise LtrValueError(
                f"clicks must be places of the list, 0 to {n_shown - 1}: got {place}. The first document is place 0."
            )
    return sorted(set(map(int, clicks)))


def _as_teams(teams: Any, n_shown: int, n_rankers: int) -> list[int]:
    """Return the ranker of each place."""
    if not is_sequence(teams):
        raise LtrTypeError(f"teams must be a sequence of rankers, one a document. Got {short(teams)}.")
    listed = teams.tolist() if hasattr(teams, "tolist") else list(teams)
    if len(listed) != n_shown:
        raise LtrValueError(f"teams must have one ranker a document: got {len(listed)} for {n_shown} documents.")
    for place, team in enumerate(listed):
        if isinstance(team, bool) or not isinstance(team, (int, np.integer)) or not 0 <= team < n_rankers:
            raise LtrValueError(
                f"teams must be rankers, whole numbers from 0 to {n_rankers - 1}: got {team!r} at place {place}."
            )
    return listed
