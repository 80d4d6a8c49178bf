"""Optimized interleaving and multileaving."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_count, require_option
from ltr_metrics._engine.words import Credit
from ltr_metrics.analysis.inference.libraries import library
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.interleaving.method import Method, Shown, generator_of

CREDITS: tuple[Credit, ...] = get_args(Credit)
ROUNDING = 1e-9  # of the largest credit: less bias is none
NOTHING = 1e-12  # a probability that is 0 but for rounding


class Optimized(Method):
    """Of all lists in which each next document is the best one of some ranking, those probabilities that are fair and tell most.

    A ranker's credit is the sum over the clicked documents of 1 / rank or -rank in its ranking; a document that it has not counts as the one
    after its last. The probabilities p of the lists solve a linear program. They are unbiased: for k = 1, 2, ..., expected credit for clicks on
    the first k documents is the same for all rankers. Among such p they minimise the expected variance between the rankers::

        sum over lists of p(list) * sum over rankers of (c - mean of c over the rankers)^2
        c = sum over places x of credit(document at x) / x

    (Two rankings: Radlinski and Craswell, WSDM 2013; several: Schuth et al., CIKM 2014.) Where no p is unbiased, the bias is made as
    small as can be, then the variance at that bias, and a warning says so. Pairs of rankings of unequal
    lengths often have none, whatever the lists, and so have most sets of five rankings.

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings of any hashable ids, best first, of any lengths; one a ranker.
    length : int, optional
        Documents to show at most: fewer are shown where all rankings together have no more. Default: as many as the longest ranking has.
    credit : {"inverse", "negative"}
        1 / rank, or -rank.
    max_lists : int
        Lists to choose from at most. Where there are more, this many different ones are drawn, each next document uniformly from those that may
        follow. The default holds all lists of 10 documents of two rankings. Five rankings and 10 documents take 0.4 s with it, 2.5 s with
        10,000 lists, and longer lists more than in proportion.
    random_state : int, numpy.random.Generator or None
        For drawing the lists to choose from, where there are more than ``max_lists``.

    Attributes
    ----------
    distribution : dict of tuple to float
        The lists that may be shown, and their probabilities.
    bias : float
        Largest difference between two rankers' expected credit for clicks on the first k documents, summed over k; 0 if there is none.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Optimized
    >>> method = Optimized([[1, 2], [2, 3]])
    >>> {shown: round(p, 4) for shown, p in method.distribution.items()}
    {(1, 2): 0.4286, (2, 1): 0.3714, (2, 3): 0.2}
    >>> method.bias
    0.0
    >>> method.mix(random_state=0)
    Shown(documents=[2, 1], teams=None)
    >>> method.credit([2, 1], clicks=[0])
    array([0.5, 1. ])
    """

    def __init__(
        self,
        rankings: Any,
        length: int | None = None,
        *,
        credit: Credit = "inverse",
        max_lists: int = 2000,
        random_state: Any = 0,
    ) -> None:
        super().__init__(rankings, length)
        rule = require_option("credit", credit, CREDITS)
        max_lists = require_count("max_lists", max_lists)
        self._credit_of = {document: self._credit_of_ranks(document, rule) for document in self._rankings.top}
        lists, all_there = _lists(self._rankings.lists, self._rankings.n_shown, max_lists, generator_of(random_state))
        if all_there:  # the seed decides nothing, not even their order
            order = {document: at for at, document in enumerate(self._rankings.top)}
            lists.sort(key=lambda one: [order[document] for document in one])
        of_lists = np.array([[self._credit_of[document] for document in one] for one in lists])
        probabilities = _probabilities(of_lists)
        self.bias = _bias(of_lists, probabilities)
        self.distribution = {tuple(lists[i]): float(probabilities[i]) for i in np.flatnonzero(probabilities)}
        self._shown_lists = list(self.distribution)
        self._up_to = np.cumsum(list(self.distribution.values()))
        if self.bias:
            self._warn_of_bias(len(lists), all_there)

    def _credit_of_ranks(self, document: Hashable, rule: Credit) -> FloatArray:
        """Return each ranker's credit for a click on a document."""
        lists, ranks = self._rankings.lists, self._rankings.ranks
        rank = np.array([of.get(document, len(one) + 1) for of, one in zip(ranks, lists, strict=True)], dtype=float)
        return 1 / rank if rule == "inverse" else -rank

    def _warn_of_bias(self, n_lists: int, all_there: bool) -> None:
        remedy = (
            "There are no more lists: take another method, such as TeamDraft or PairwisePreference, where this matters."
            if all_there
            else f"There are more lists: a max_lists above {n_lists} may help."
        )
        warn(
            f"Optimized has no unbiased probabilities over {n_lists} lists: where clicks know nothing of the documents, the expected credit of two "
            f"rankers for the first k documents still differs by {self.bias:.3g}, summed over k. {remedy}"
        )

    def _mix(self, rng: np.random.Generator) -> Shown:
        drawn = int(np.searchsorted(self._up_to, rng.random() * self._up_to[-1], side="right"))
        return Shown(list(self._shown_lists[drawn]))

    def _credit(self, documents: list[Hashable], teams: list[int] | None, places: list[int]) -> FloatArray:
        self._refuse_impossible(documents, teams)
        credit = np.zeros(len(self._rankings))
        for place in places:
            credit += self._credit_of[documents[place]]
        return credit

    def _is_possible(self, documents: list[Hashable], teams: list[int] | None) -> bool:
        """Whether it is one of the lists to choose from, whichever of them other samples or another solution may show."""
        lists = self._rankings.lists
        return all(one in _may_follow(lists, documents[:place]) for place, one in enumerate(documents))

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self.distribution.get(tuple(documents), 0.0)


# documents that may follow, and what may follow them: None where nobody has looked
Tree = dict[Hashable, "Tree | None"]


def _lists(
    rankings: list[list[Hashable]], n_shown: int, most: int, rng: np.random.Generator
) -> tuple[list[list[Hashable]], bool]:
    """Draw different lists, until there are as many as wanted or no more; return whether these are all."""
    not_drawn: Tree = dict.fromkeys(_may_follow(rankings, []))
    lists: list[list[Hashable]] = []
    while not_drawn and len(lists) < most:
        at, shown, path = not_drawn, [], []
        while True:
            document = list(at)[int(rng.integers(len(at)))]
            shown.append(document)
            path.append(at)
            if len(shown) == n_shown:
                break
            following = at[document]
            if following is None:
                following = at[document] = dict.fromkeys(_may_follow(rankings, shown))
            at = following
        lists.append(shown)
        for at, document in zip(reversed(path), reversed(shown), strict=True):
            del at[document]
            if at:
                break
    return lists, not not_drawn


def _may_follow(rankings: list[list[Hashable]], shown: list[Hashable]) -> list[Hashable]:
    """Return the best document of each ranking that is not there yet."""
    placed = set(shown)
    best = (next((document for document in ranking if document not in placed), None) for ranking in rankings)
    return [document for document in best if document is not None]


def _probabilities(credit: FloatArray) -> FloatArray:
    """Return the probabilities of lists, from credit of shape (n_lists, n_places, n_rankers)."""
    linprog = library("scipy.optimize").linprog
    n_lists, n_places, _ = credit.shape
    clicked = (credit / np.arange(1, n_places + 1)[:, None]).sum(axis=1)
    variance = (_less_mean(clicked) ** 2).sum(axis=1)
    apart = np.diff(credit.cumsum(axis=1), axis=2).reshape(n_lists, -1)
    sums = np.column_stack((np.ones(n_lists), apart)).T
    found = linprog(variance, A_eq=sums, b_eq=np.eye(len(sums))[0], method="highs")
    if found.status != 0:
        found = _least_biased(credit, variance, linprog)
    probabilities: FloatArray = np.where(found.x[:n_lists] > NOTHING, found.x[:n_lists], 0.0)
    probabilities /= probabilities.sum()
    return probabilities


def _least_biased(credit: FloatArray, variance: FloatArray, linprog: Any) -> Any:
    """Solve it with two variables more for each k, the highest and the lowest expected credit of a ranker: their difference is the bias."""
    n_lists, n_places, n_rankers = credit.shape
    expected = _less_mean(credit.cumsum(axis=1)).reshape(n_lists, -1).T
    of_k = np.repeat(np.eye(n_places), n_rankers, axis=0)
    zeros = np.zeros_like(of_k)
    within = np.block([[expected, -of_k, zeros], [-expected, zeros, of_k]])
    bias = np.repeat([0.0, 1.0, -1.0], [n_lists, n_places, n_places])
    is_list = np.arange(len(bias)) < n_lists
    rules = {
        "A_eq": is_list[None].astype(float),
        "b_eq": [1.0],
        "bounds": [(0 if one else None, None) for one in is_list],
        "method": "highs",
    }
    least = linprog(bias, A_ub=within, b_ub=np.zeros(len(within)), **rules)
    if least.status == 0:
        most = np.append(np.zeros(len(within)), least.fun + ROUNDING * abs(least.fun))
        costs = np.append(variance, np.zeros(2 * n_places))
        least = linprog(costs, A_ub=np.vstack((within, bias)), b_ub=most, **rules)
    if least.status != 0:
        raise LtrValueError(f"SciPy has found no probabilities for {n_lists} lists: {least.message}")
    return least


def _bias(credit: FloatArray, probabilities: FloatArray) -> float:
    """Return how far the rankers' expected credits for the first k documents are apart, summed over k."""
    up_to = credit.cumsum(axis=1)
    expected = np.tensordot(probabilities, _less_mean(up_to), axes=1)
    bias = float(np.ptp(expected, axis=1).sum())
    return bias if bias > ROUNDING * np.abs(up_to).max() else 0.0


def _less_mean(credit: FloatArray) -> FloatArray:
    """Return how far credit of shape (..., n_rankers) is from its mean over the rankers."""
    away: FloatArray = credit - credit.mean(axis=-1, keepdims=True)
    return away
