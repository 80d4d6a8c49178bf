"""Optimized interleaving and multileaving."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import FloatArray, require_count
from ltr_metrics.errors import LtrValueError, import_extra, warn
from ltr_metrics.online.interleaving.method import Method, Shown, best_unlisted, generator_of

BIAS_TOLERANCE = 1e-9  # relative to the largest credit
ZERO_PROBABILITY = 1e-12  # a smaller probability is rounding error


class Optimized(Method):
    r"""Optimized interleaving: fair probabilities of lists that distinguish the rankers best.

    The lists are those in which each next document is the best unlisted one of some ranking. A
    ranker's credit is the sum of 1 / rank over the clicked documents, where rank is the document's
    rank in its own ranking. A document that is not in this ranking counts as if it came directly
    after its last document.

    The probabilities p of the lists solve a linear program. They are unbiased: for k = 1, 2, ...,
    the expected credit for clicks on the first k documents is the same for all rankers. Among such
    p, they minimise the expected variance between the rankers,

    .. math:: \sum_{L} p(L) \sum_{r} \left( c_r(L) - \bar{c}(L) \right)^2,
        \quad c_r(L) = \sum_{x} \frac{credit_r(L_x)}{x},

    where L is a list, :math:`L_x` its document at slot x, r a ranker, and :math:`\bar{c}` the mean
    over the rankers.

    If no p is unbiased, p has the smallest possible bias and the smallest variance at that bias,
    and a warning is given. Pairs of rankings of unequal lengths often have no unbiased p, whatever
    the lists, and neither do most sets of five rankings.

    Parameters
    ----------
    rankings : sequence of sequences
        Two or more rankings, one per ranker, of any hashable ids and any lengths, best first.
    length : int, optional
        Maximum number of documents in the list. The list is shorter if all rankings together have
        fewer documents. Default: the length of the longest ranking.
    max_lists : int
        Maximum number of lists to choose from. If there are more, this many different ones are
        drawn, with each next document drawn uniformly from those that may follow. The default
        covers all lists of 10 documents of two rankings. For five rankings and 10 documents, the
        default takes 0.4 s and 10,000 lists take 2.5 s. The time grows faster than the length of
        the lists.
    random_state : int, numpy.random.Generator or None
        Random seed. It draws the lists if there are more than ``max_lists``.

    Attributes
    ----------
    distribution : dict of tuple to float
        The lists that may be shown, and their probabilities.
    bias : float
        The largest difference between two rankers' expected credit for clicks on the first k
        documents, summed over k. 0 without a bias.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `Method`, and for a wrong option.
    MissingExtraError
        If SciPy is not installed.

    Warns
    -----
    LtrWarning
        If no probabilities are unbiased.

    See Also
    --------
    Method : What all methods have in common.

    References
    ----------
    Two rankings: Radlinski & Craswell, Optimized interleaving for online retrieval evaluation, WSDM
    2013. Several: Schuth, Sietsma, Whiteson, Lefortier & de Rijke, Multileaved comparisons for fast
    online evaluation, CIKM 2014.

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
        self, rankings: Any, length: int | None = None, *, max_lists: int = 2000, random_state: Any = 0
    ) -> None:
        super().__init__(rankings, length)
        max_lists = require_count("max_lists", max_lists)
        self._document_credit = {document: self._credit_by_ranker(document) for document in self._best_rank}
        lists, is_complete = _draw_lists(self.rankings, self._n_shown, max_lists, generator_of(random_state))
        if is_complete:  # sorted, so that the seed does not affect the result
            index = {document: i for i, document in enumerate(self._best_rank)}
            lists.sort(key=lambda documents: [index[document] for document in documents])
        list_credit = np.array([[self._document_credit[document] for document in documents] for documents in lists])
        probabilities = _probabilities(list_credit)
        self.bias = _bias(list_credit, probabilities)
        self.distribution = {tuple(lists[i]): float(probabilities[i]) for i in np.flatnonzero(probabilities)}
        self._choices = list(self.distribution)
        self._cumulative_probability = np.cumsum(list(self.distribution.values()))
        if self.bias:
            more = "" if is_complete else f"try max_lists above {max_lists}, or "
            warn(
                f"Optimized has no unbiased probabilities over {len(lists)} lists. If clicks ignore the documents, the "
                "expected credit of two rankers for clicks on the first k documents still differs by "
                f"{self.bias:.3g}, summed over k. If this matters, {more}use TeamDraft or PairwisePreference."
            )

    def _credit_by_ranker(self, document: Hashable) -> FloatArray:
        """Return each ranker's credit for a click on a document."""
        pairs = zip(self._ranks, self.rankings, strict=True)
        return np.array([1 / ranks.get(document, len(ranking) + 1) for ranks, ranking in pairs])

    def _mix(self, rng: np.random.Generator) -> Shown:
        cumulative = self._cumulative_probability
        drawn = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        return Shown(list(self._choices[drawn]))

    def _credit(self, documents: list[Hashable], teams: list[int] | None, slots: list[int]) -> FloatArray | None:
        """Return the credit also of a list to choose from that this sample or solution never shows."""
        if not all(one in best_unlisted(self.rankings, set(documents[:slot])) for slot, one in enumerate(documents)):
            return None
        return sum((self._document_credit[documents[slot]] for slot in slots), np.zeros(len(self.rankings)))

    def _probability(self, documents: list[Hashable], teams: list[int] | None) -> float:
        return self.distribution.get(tuple(documents), 0.0)


def _draw_lists(
    rankings: list[list[Hashable]], n_shown: int, max_lists: int, rng: np.random.Generator
) -> tuple[list[list[Hashable]], bool]:
    """Draw different lists until there are ``max_lists`` or no more, and return whether they are all."""
    following: dict[tuple[Hashable, ...], list[Hashable]] = {(): _next_documents(rankings, [])}  # not drawn yet
    lists: list[list[Hashable]] = []
    while following[()] and len(lists) < max_lists:
        documents: list[Hashable] = []
        while len(documents) < n_shown:
            start = tuple(documents)
            if start not in following:
                following[start] = _next_documents(rankings, documents)
            documents.append(following[start][int(rng.integers(len(following[start])))])
        lists.append(documents)
        for slot in reversed(range(n_shown)):
            start = tuple(documents[:slot])
            following[start].remove(documents[slot])
            if following[start]:
                break
    return lists, not following[()]


def _next_documents(rankings: list[list[Hashable]], documents: list[Hashable]) -> list[Hashable]:
    """Return the documents that may follow in a list, without repeats."""
    return [document for document in dict.fromkeys(best_unlisted(rankings, set(documents))) if document is not None]


def _probabilities(credit: FloatArray) -> FloatArray:
    """Return the probabilities of lists, from credit of shape (n_lists, n_slots, n_rankers)."""
    linprog = import_extra("scipy.optimize", "report").linprog
    n_lists, n_slots, _ = credit.shape
    weighted = (credit / np.arange(1, n_slots + 1)[:, None]).sum(axis=1)
    variance = (_subtract_mean(weighted) ** 2).sum(axis=1)
    differences = np.diff(credit.cumsum(axis=1), axis=2).reshape(n_lists, -1)
    constraints = np.column_stack((np.ones(n_lists), differences)).T
    solution = linprog(variance, A_eq=constraints, b_eq=np.eye(len(constraints))[0])
    if solution.status != 0:
        solution = _least_biased(credit, variance, linprog)
    probabilities: FloatArray = np.where(solution.x[:n_lists] > ZERO_PROBABILITY, solution.x[:n_lists], 0.0)
    probabilities /= probabilities.sum()
    return probabilities


def _least_biased(credit: FloatArray, variance: FloatArray, linprog: Any) -> Any:
    """Minimise the bias, then the variance at that bias.

    Two more variables for each k bound the rankers' expected credit from above and below. Their
    difference is the bias.
    """
    n_lists, n_slots, n_rankers = credit.shape
    expected = _subtract_mean(credit.cumsum(axis=1)).reshape(n_lists, -1).T
    selects_k = np.repeat(np.eye(n_slots), n_rankers, axis=0)
    zeros = np.zeros_like(selects_k)
    within = np.block([[expected, -selects_k, zeros], [-expected, zeros, selects_k]])
    bias = np.repeat([0.0, 1.0, -1.0], [n_lists, n_slots, n_slots])
    is_list = np.arange(len(bias)) < n_lists
    common = {
        "A_eq": is_list[None].astype(float),
        "b_eq": [1.0],
        "bounds": [(0 if one else None, None) for one in is_list],
    }
    solution = linprog(bias, A_ub=within, b_ub=np.zeros(len(within)), **common)
    if solution.status == 0:
        limits = np.append(np.zeros(len(within)), solution.fun + BIAS_TOLERANCE * abs(solution.fun))
        costs = np.append(variance, np.zeros(2 * n_slots))
        solution = linprog(costs, A_ub=np.vstack((within, bias)), b_ub=limits, **common)
    if solution.status != 0:
        raise LtrValueError(f"SciPy found no probabilities for {n_lists} lists: {solution.message}")
    return solution


def _bias(credit: FloatArray, probabilities: FloatArray) -> float:
    """Return the range of the rankers' expected credit for the first k documents, summed over k."""
    cumulative = credit.cumsum(axis=1)
    expected = np.tensordot(probabilities, _subtract_mean(cumulative), axes=1)
    bias = float(np.ptp(expected, axis=1).sum())
    return bias if bias > BIAS_TOLERANCE * np.abs(cumulative).max() else 0.0


def _subtract_mean(credit: FloatArray) -> FloatArray:
    """Subtract the mean over the rankers, which are the last axis."""
    deviation: FloatArray = credit - credit.mean(axis=-1, keepdims=True)
    return deviation
