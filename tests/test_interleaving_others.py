"""Balanced, Probabilistic and Optimized interleaving against walks of all their courses, exact
programs, published examples and known properties.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import interleaving_oracle as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import optimize, stats

from ltr_metrics.errors import LtrTypeError, LtrValueError, LtrWarning
from ltr_metrics.interleaving.balanced import Balanced
from ltr_metrics.interleaving.method import Method, Shown
from ltr_metrics.interleaving.optimized import Optimized, _draw_lists
from ltr_metrics.interleaving.probabilistic import Probabilistic

Documents = tuple[Hashable, ...]
Teams = tuple[int, ...]
Rankings = Sequence[Sequence[Hashable]]

MADE: list[Callable[[Any], Method]] = [
    Balanced,
    Probabilistic,
    lambda rankings: Probabilistic(rankings, replace=False),
    Optimized,
]
A, B, C = [1, 2, 3, 4], [3, 1, 5, 2], [6, 3]


@st.composite
def rankings(draw: st.DrawFn, n_rankers: int | None = None, most: int = 4) -> list[list[int]]:
    """Rankings of unequal lengths that share some documents."""
    n = n_rankers or draw(st.integers(2, 3))
    order = st.permutations(range(most))
    return [draw(order)[: draw(st.integers(1, most))] for _ in range(n)]


LENGTHS = st.one_of(st.none(), st.integers(1, 5))


def every_list(given_rankings: Rankings, length: int | None) -> list[Documents]:
    """Every order of as many documents as are shown."""
    documents = sorted(set().union(*given_rankings))
    return list(itertools.permutations(documents, oracle.n_shown(given_rankings, length)))


def click_sets(n: int) -> list[tuple[int, ...]]:
    return [places for size in range(n + 1) for places in itertools.combinations(range(n), size)]


def as_drawn(method: Method, chances: Mapping[Any, float], of: Callable[[Shown], Any], n: int = 20_000) -> float:
    """Return the p-value of Pearson's test that the lists of one generator come with these probabilities."""
    rng = np.random.default_rng(7)
    counts = Counter(of(method.mix(rng)) for _ in range(n))
    assert set(counts) <= {one for one, chance in chances.items() if chance > 0}
    expected = np.array([float(chance) * n for chance in chances.values()])
    observed = np.array([counts[one] for one in chances], dtype=float)
    rare = expected < 5  # together
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:
        assert observed[-1] < 25
        observed, expected = observed[:-1], expected[:-1]
    assert len(expected) > 1
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def documents_of(shown: Shown) -> Documents:
    return tuple(shown.documents)


# -- Balanced --------------------------------------------------------------------------------------


def balanced_lists(a: Sequence[Hashable], b: Sequence[Hashable], length: int) -> dict[Documents, Fraction]:
    """Both courses, pointer by pointer."""
    chances: dict[Documents, Fraction] = {}
    for a_first in (True, False):
        shown: list[Hashable] = []
        k_a = k_b = 0
        while k_a < len(a) and k_b < len(b) and len(shown) < length:
            if k_a < k_b or (k_a == k_b and a_first):
                if a[k_a] not in shown:
                    shown.append(a[k_a])
                k_a += 1
            else:
                if b[k_b] not in shown:
                    shown.append(b[k_b])
                k_b += 1
        chances[tuple(shown)] = chances.get(tuple(shown), Fraction(0)) + Fraction(1, 2)
    return chances


def balanced_credit(
    a: Sequence[Hashable], b: Sequence[Hashable], documents: Documents, clicks: Sequence[int]
) -> list[int]:
    if not clicks:
        return [0, 0]
    lowest = documents[max(clicks)]
    k = next(k for k in itertools.count(1) if lowest in a[:k] or lowest in b[:k])
    return [sum(documents[place] in one[:k] for place in set(clicks)) for one in (a, b)]


@examples(200)
@given(rankings(2, 5), LENGTHS)
def test_balanced_is_one_of_two_lists(given_rankings: list[list[int]], length: int | None) -> None:
    method = Balanced(given_rankings, length)
    lists = balanced_lists(*given_rankings, method.length)
    assert sum(lists.values()) == 1
    assert {documents_of(method.mix(seed)) for seed in range(12)} == set(
        lists
    )  # misses one of two by 2^-11, seeds are fixed
    for documents, chance in lists.items():
        assert method.probability(documents) == float(chance)
        for clicks in click_sets(len(documents)):
            credit = method.credit(documents, clicks[::-1])
            assert credit.dtype == np.float64
            assert credit.tolist() == balanced_credit(*given_rankings, documents, clicks)
    every = set(itertools.chain.from_iterable(itertools.permutations(range(5), n) for n in range(1, 6)))
    for documents in list(every - set(lists))[:30]:
        assert method.probability(documents) == 0
        with pytest.raises(
            LtrValueError, match="Balanced could not have shown this list: it differs from both possible"
        ):
            method.credit(documents, [])


def test_balanced_shows_lists_of_two_lengths() -> None:
    method = Balanced([[1, 2], [2, 3]], length=3)
    assert {documents_of(method.mix(seed)) for seed in range(12)} == {(1, 2), (2, 1, 3)}
    assert method.probability([1, 2]) == method.probability([2, 1, 3]) == 0.5
    for impossible, place in (([2, 1], 2), ([1, 2, 3], 2), ([2, 3, 1], 1), ([3, 2], 0), ([], 0), ([1, 9], 1)):
        with pytest.raises(LtrValueError, match=rf"at slot {place} \(from 0\)"):
            method.credit(impossible, [])
        assert method.probability(impossible) == 0


@pytest.mark.parametrize(
    ("given_rankings", "length", "lists"),
    [
        ([[1, 2], [2, 3]], 2, {(1, 2), (2, 1)}),
        ([[1, 2], [3, 4]], 2, {(1, 3), (3, 1)}),
        ([[1, 2], [2, 3]], 3, {(1, 2), (2, 1, 3)}),
        ([[1, 2], [3, 4]], 3, {(1, 3, 2), (3, 1, 4)}),
    ],
)
def test_balanced_lists_of_a_peer(given_rankings: Any, length: int, lists: set[Documents]) -> None:
    """From the tests of mpkato/interleaving."""
    method = Balanced(given_rankings, length)
    assert {one for one in lists if method.probability(one) == 0.5} == lists


@pytest.mark.parametrize(
    ("documents", "length", "winners"),
    [
        ([1, 2], 2, {(0, 1): 0, (0,): 1, (1,): -1, (): 0}),
        ([2, 1, 3], 3, {(0, 1, 2): 0, (0, 1): 0, (0, 2): -1, (1, 2): 0, (0,): -1, (1,): 1, (2,): -1, (): 0}),
    ],
)
def test_balanced_winners_of_a_peer(documents: list[int], length: int, winners: dict[tuple[int, ...], int]) -> None:
    """From the tests of mpkato/interleaving: 1 where the first ranker wins."""
    method = Balanced([[1, 2], [2, 3]], length)
    for clicks, winner in winners.items():
        first, second = method.credit(documents, clicks)
        assert np.sign(first - second) == winner


def test_balanced_prefers_a_ranker_under_clicks_that_know_nothing() -> None:
    """The known flaw: the second ranking wins two thirds of the single clicks."""
    method = Balanced([[1, 2, 3], [2, 3, 1]])
    wins = Counter(
        int(np.sign(np.diff(method.credit(one, [place]))[0])) for one in method._possible_lists for place in range(3)
    )
    assert wins == {1: 4, -1: 2}


# -- Probabilistic ---------------------------------------------------------------------------------


def draws(ranking: Sequence[Hashable], documents: Documents, tau: int) -> dict[Hashable, Fraction]:
    """Return what a ranker draws, by the softmax over the ranks of what is left."""
    weights = {one: Fraction(1, rank**tau) for rank, one in enumerate(ranking, start=1) if one not in documents}
    return {one: weight / sum(weights.values()) for one, weight in weights.items()}


def probabilistic_lists(
    given_rankings: Rankings, length: int | None, tau: int, replace: bool
) -> dict[tuple[Documents, Teams], Fraction]:
    """Walk every course: every ranker at each place, or every order of all rankers in every round."""
    n, n_rankers = oracle.n_shown(given_rankings, length), len(given_rankings)
    done: dict[tuple[Documents, Teams], Fraction] = {}

    def place(documents: Documents, teams: Teams, order: Teams, chance: Fraction) -> None:
        if len(documents) == n:
            done[documents, teams] = done.get((documents, teams), Fraction(0)) + chance
        elif order:
            drawn = draws(given_rankings[order[0]], documents, tau)
            if not drawn:
                place(documents, teams, order[1:], chance)
            for document, share in drawn.items():
                place((*documents, document), (*teams, order[0]), order[1:], chance * share)
        elif replace:
            with_documents = [i for i in range(n_rankers) if set(given_rankings[i]) - set(documents)]
            for ranker in with_documents:
                place(documents, teams, (ranker,), chance / len(with_documents))
        else:
            for order_of_round in itertools.permutations(range(n_rankers)):
                place(documents, teams, order_of_round, chance / math.factorial(n_rankers))

    place((), (), (), Fraction(1))
    assert sum(done.values()) == 1
    return done


@pytest.mark.slow
@examples(40)
@given(rankings(), LENGTHS, st.integers(0, 3), st.booleans())
def test_probabilistic_is_exact(given_rankings: list[list[int]], length: int | None, tau: int, replace: bool) -> None:
    method = Probabilistic(given_rankings, length, tau=tau, replace=replace)
    with_teams = probabilistic_lists(given_rankings, length, tau, replace)
    lists = oracle.whatever_the_teams(with_teams)
    for documents in every_list(given_rankings, length):
        assert method.probability(documents) == pytest.approx(float(lists.get(documents, 0)), rel=1e-12, abs=0)
        if documents not in lists:
            with pytest.raises(LtrValueError, match="these rankings never give it"):
                method.credit(documents, [])
    for documents, chance in list(lists.items())[::3]:
        for clicks in click_sets(len(documents)):
            expected = [
                sum(
                    (
                        one * sum(teams[place] == ranker for place in clicks)
                        for (d, teams), one in with_teams.items()
                        if d == documents
                    ),
                    Fraction(0),
                )
                / chance
                for ranker in range(len(given_rankings))
            ]
            np.testing.assert_allclose(
                method.credit(documents, clicks), np.array(expected, dtype=float), rtol=1e-12, atol=1e-12
            )
    for documents in list(lists)[:4]:
        for teams in itertools.product(range(len(given_rankings)), repeat=len(documents)):
            shown = Shown(list(documents), list(teams))
            both = with_teams.get((documents, teams), 0)
            assert method.probability(shown) == pytest.approx(float(both), rel=1e-12, abs=0)
            if both:
                everything = range(len(documents))
                assert (method.credit(shown, everything) == method.credit(documents, everything)).all()


EXHAUSTED = [[1], [2, 1, 3], [1, 3, 4, 5]]


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(("given_rankings", "length"), [([A, B], 3), (EXHAUSTED, 5), ([A, B, C], 4)])
def test_probabilistic_mixes_with_its_probabilities(given_rankings: Rankings, length: int, replace: bool) -> None:
    method = Probabilistic(given_rankings, length, tau=1.0, replace=replace)
    chances = probabilistic_lists(given_rankings, length, 1, replace)
    assert as_drawn(method, chances, lambda shown: (tuple(shown.documents), tuple(shown.teams or ()))) > 1e-4


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("given_rankings", [[A, [4, 2, 1, 3]], [[1, 2, 3], [3, 1, 2], [2, 3, 1]], [A, B, [6, 3, 7, 8]]])
def test_probabilistic_prefers_none_under_clicks_that_know_nothing(given_rankings: Rankings, replace: bool) -> None:
    method = Probabilistic(given_rankings, 3, replace=replace)
    lists = [(one, method.probability(one)) for one in every_list(given_rankings, 3)]
    assert sum(chance for _, chance in lists) == pytest.approx(1, abs=1e-12)
    for clicks in click_sets(3):
        expected = sum(chance * method.credit(one, clicks) for one, chance in lists if chance)
        np.testing.assert_allclose(expected, len(clicks) / len(given_rankings), atol=1e-12)


def test_probabilistic_examples_of_a_peer() -> None:
    """From the tests of mpkato/interleaving; the ranker of each place is drawn anew in all but the last."""
    for one, chance in {0: 0.86056, 1: 0.10757, 2: 0.03187}.items():
        assert Probabilistic([[0, 1, 2], [0, 1, 2]], 1).probability([one]) == pytest.approx(chance, abs=5e-6)
    for one, chance in {0: 0.44444, 1: 0.5, 2: 0.05556}.items():
        assert Probabilistic([[0, 1], [1, 2]], 1).probability([one]) == pytest.approx(chance, abs=5e-6)
    both, split = (
        1 / 1.125,
        1 / 1.125 / 1.125,
    )  # documents 1 and 2 both from the first ranker; the second from the other
    expected = np.array([2 * both + split, split]) / (both + split)
    np.testing.assert_allclose(Probabilistic([[1, 2], [2, 3]]).credit([1, 2], [0, 1]), expected, rtol=1e-12)
    first, second = np.array([1, 0.125, 0]) / 1.125, np.array([1, 1, 1 / 1.125])
    expected = first / first.sum() + second / second.sum()
    method = Probabilistic([[1, 2], [2, 1], [2, 3]])
    np.testing.assert_allclose(method.credit([1, 2], [0, 1]), expected, rtol=1e-12)
    in_rounds = Probabilistic([[1, 2], [1, 3]], replace=False)
    published = {(1, 2): 0.444444444, (1, 3): 0.444444444, (2, 1): 0.049382716, (3, 1): 0.049382716}
    published |= {(2, 3): 0.00617284, (3, 2): 0.00617284}
    for documents, chance in published.items():
        assert in_rounds.probability(documents) == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("tau", [0, 3, 200, 1e6])
def test_probabilistic_takes_long_lists_and_steep_weights(tau: float, replace: bool) -> None:
    """No float64 holds the probability of the list, nor the weights."""
    rng = np.random.default_rng(3)
    method = Probabilistic([rng.permutation(300) for _ in range(3)], tau=tau, replace=replace)
    shown = method.mix(rng)
    credit = method.credit(shown, range(300))
    assert credit.sum() == pytest.approx(300, rel=1e-12)
    assert (credit > 0).all()
    if not replace:
        np.testing.assert_allclose(credit, 100, rtol=1e-9)  # every round has each of them once
    assert 0 <= method.probability(shown) <= method.probability(shown.documents) < 1e-20


def test_probabilistic_of_the_best_documents_is_team_draft() -> None:
    """A high tau always draws the best one."""
    method = Probabilistic([A, B, C], 4, tau=1e4, replace=False)
    for (documents, teams), chance in oracle.team_draft_lists([A, B, C], 4).items():
        assert method.probability(Shown(list(documents), list(teams))) == pytest.approx(float(chance), rel=1e-12)


def test_probabilistic_in_rounds_of_many_rankers() -> None:
    many = np.array([np.roll(np.arange(20), i) for i in range(17)])
    method = Probabilistic(many, 4, replace=False)
    shown = method.mix(0)
    assert 0 < method.probability(shown) < 1e-3
    for exact in (lambda: method.credit(shown, [0]), lambda: method.probability(shown.documents)):
        with pytest.raises(LtrValueError, match="limited to 16 rankers. Got 17"):
            exact()
    assert Probabilistic(many, 4).credit(shown, [0]).sum() == pytest.approx(1)
    assert Probabilistic(many[:16], 2, replace=False).credit([0, 1], [0]).sum() == pytest.approx(1)


@pytest.mark.parametrize("tau", [-1, math.nan, math.inf, 1e308, "3", True])
def test_probabilistic_refuses_tau(tau: Any) -> None:
    with pytest.raises(LtrValueError, match="tau must be a number from 0"):
        Probabilistic([A, B], tau=tau)


# -- Optimized -------------------------------------------------------------------------------------


def allowed_lists(given_rankings: Rankings, length: int | None) -> list[Documents]:
    """Every list that fits the prefix constraint."""
    lists: set[Documents] = {()}
    for _ in range(oracle.n_shown(given_rankings, length)):
        longer = set()
        for documents in lists:
            for ranking in given_rankings:
                left = [one for one in ranking if one not in documents]
                longer |= {(*documents, left[0])} if left else set()
        lists = longer
    return sorted(lists)


def credits_of(given_rankings: Rankings, documents: Documents, credit: str) -> list[list[Fraction]]:
    """Return the credit of a click on each place, for each ranker."""
    ranks = [
        [ranking.index(one) + 1 if one in ranking else len(ranking) + 1 for ranking in given_rankings]
        for one in documents
    ]
    return [[Fraction(1, rank) if credit == "inverse" else Fraction(-rank) for rank in row] for row in ranks]


def variance_of(of_places: list[list[Fraction]]) -> Fraction:
    n_rankers = len(of_places[0])
    sums = [sum((row[i] / x for x, row in enumerate(of_places, start=1)), Fraction(0)) for i in range(n_rankers)]
    mean = sum(sums) / n_rankers
    return sum(((one - mean) ** 2 for one in sums), Fraction(0))


def differences_of(of_places: list[list[Fraction]]) -> list[Fraction]:
    """Return by how much each ranker's credit for the first k places exceeds the next ranker's, for every k."""
    n, n_rankers = len(of_places), len(of_places[0])
    return [
        sum((row[i] - row[i + 1] for row in of_places[:k]), Fraction(0))
        for k in range(1, n + 1)
        for i in range(n_rankers - 1)
    ]


def solved(columns: list[list[Fraction]], target: list[Fraction]) -> list[Fraction] | None:
    """Return the weights with which independent columns add up to the target; None if they are
    dependent, or nothing does.
    """
    rows = [[*row, goal] for row, goal in zip(zip(*columns, strict=True), target, strict=True)]
    for at in range(len(columns)):
        pivot = next((row for row in rows[at:] if row[at]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        pivot = [one / pivot[at] for one in pivot]
        rows = [[one - row[at] * by for one, by in zip(row, pivot, strict=True)] for row in rows]
        rows.insert(at, pivot)
    if any(row[-1] for row in rows[len(columns) :]):
        return None
    return [row[-1] for row in rows[: len(columns)]]


def least_cost(columns: list[list[Fraction]], target: list[Fraction], costs: list[Fraction]) -> Fraction | None:
    """Solve a linear program exactly: the cheapest of all corners."""
    best: Fraction | None = None
    for size in range(1, len(target) + 1):
        for chosen in itertools.combinations(range(len(columns)), size):
            weights = solved([columns[i] for i in chosen], target)
            if weights is not None and min(weights) >= 0:
                cost = sum((costs[i] * weight for i, weight in zip(chosen, weights, strict=True)), Fraction(0))
                best = cost if best is None else min(best, cost)
    return best


def expected_differences(method: Optimized, credit: str) -> np.ndarray:
    of_lists = [differences_of(credits_of(method.rankings, one, credit)) for one in method.distribution]
    return np.array(list(method.distribution.values())) @ np.array(of_lists, dtype=float)


@examples(60)
@given(rankings(most=3), LENGTHS, st.sampled_from(["inverse", "negative"]))
def test_optimized_is_optimal(given_rankings: list[list[int]], length: int | None, credit: str) -> None:
    lists = allowed_lists(given_rankings, length)
    of_lists = [credits_of(given_rankings, one, credit) for one in lists]
    target = [Fraction(1)] + [Fraction(0)] * len(differences_of(of_lists[0]))
    columns = [[Fraction(1), *differences_of(one)] for one in of_lists]
    least = least_cost(columns, target, [variance_of(one) for one in of_lists])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method = Optimized(given_rankings, length, credit=credit)
    assert set(method.distribution) <= set(lists)
    assert sum(method.probability(one) for one in lists) == pytest.approx(1, abs=1e-12)
    if least is None:
        assert method.bias > 1e-3
        assert [one.category for one in caught] == [LtrWarning]
        return
    assert method.bias == 0
    assert not caught
    cost = sum(p * variance_of(credits_of(given_rankings, one, credit)) for one, p in method.distribution.items())
    assert cost == pytest.approx(float(least), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(expected_differences(method, credit), 0, atol=1e-9)
    for place in range(len(lists[0])):  # so that clicks that know nothing of the documents prefer none
        expected = sum(p * method.credit(one, [place]) for one, p in method.distribution.items())
        np.testing.assert_allclose(expected, expected[0], atol=1e-9)


def test_optimized_example_of_a_peer() -> None:
    """From the tests of mpkato/interleaving: 0.42857, 0.37143, 0.2, and who wins which clicks."""
    method = Optimized([[1, 2], [2, 3]], length=2)
    assert method.distribution == pytest.approx({(1, 2): 3 / 7, (2, 1): 13 / 35, (2, 3): 1 / 5}, abs=1e-12)
    winners = {
        (1, 2): {(0, 1): 1, (0,): 1, (1,): -1, (): 0},
        (2, 1): {(0, 1): 1, (0,): -1, (1,): 1, (): 0},
        (2, 3): {(0, 1): -1, (0,): -1, (1,): -1, (): 0},
    }
    for documents, of_clicks in winners.items():
        for clicks, winner in of_clicks.items():
            first, second = method.credit(documents, clicks)
            assert np.sign(first - second) == winner


@examples(100)
@given(rankings(2, 4), st.sampled_from(["inverse", "negative"]))
def test_optimized_credit(given_rankings: list[list[int]], credit: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        method = Optimized(given_rankings, credit=credit)
    for documents in allowed_lists(given_rankings, None):  # also those that this solution gives no probability
        of_places = credits_of(given_rankings, documents, credit)
        for clicks in click_sets(len(documents)):
            expected = [sum((of_places[place][i] for place in clicks), Fraction(0)) for i in range(2)]
            np.testing.assert_allclose(method.credit(documents, clicks), np.array(expected, dtype=float), rtol=1e-12)
        assert (method.probability(documents) > 0) == (documents in method.distribution)


def test_optimized_mixes_with_its_probabilities() -> None:
    method = Optimized([A, B], length=4)
    assert len(method.distribution) > 3
    assert as_drawn(method, method.distribution, documents_of) > 1e-4
    assert method.mix(0).teams is None


WITHOUT_UNBIASED = [[1, 2, 3], [2, 1, 3], [1, 3, 2]]


def test_optimized_takes_the_smallest_bias_and_says_so() -> None:
    """By hand: p of [1] leaves the largest difference max(p - 1/2, (1 - p)/6), which is least where both are 1/14."""
    with pytest.warns(LtrWarning, match=r"over 2 lists.*differs by 0\.0714.*There are no more lists") as caught:
        method = Optimized(WITHOUT_UNBIASED, length=1)
    assert caught[0].filename == __file__
    assert method.distribution == pytest.approx({(1,): 4 / 7, (2,): 3 / 7}, abs=1e-9)
    assert method.bias == pytest.approx(1 / 14, abs=1e-9)


@pytest.mark.parametrize("credit", ["inverse", "negative"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6])
def test_optimized_bias_is_the_least_of_a_program_over_pairs(seed: int, credit: str) -> None:
    """The formulation of roughly optimized multileaving: a slack a cutoff above the difference of every two rankers."""
    rng = np.random.default_rng(seed)
    given_rankings = [rng.permutation(6)[: rng.integers(3, 7)].tolist() for _ in range(4)]
    lists = allowed_lists(given_rankings, 4)
    of_lists = np.array([credits_of(given_rankings, one, credit) for one in lists], dtype=float).cumsum(axis=1)
    pairs = list(itertools.permutations(range(4), 2))
    within = np.vstack(
        [
            np.concatenate((of_lists[:, k, one] - of_lists[:, k, other], -np.eye(4)[k]))
            for k in range(4)
            for one, other in pairs
        ]
    )
    costs = np.repeat([0.0, 1.0], [len(lists), 4])
    sums = {"A_eq": 1 - costs[None], "b_eq": [1.0]}
    least = optimize.linprog(costs, A_ub=within, b_ub=np.zeros(len(within)), **sums)
    variance = np.append([float(variance_of(credits_of(given_rankings, one, credit))) for one in lists], np.zeros(4))
    cheapest = optimize.linprog(
        variance, A_ub=np.vstack((within, costs)), b_ub=np.append(np.zeros(len(within)), least.fun + 1e-9), **sums
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        method = Optimized(given_rankings, 4, credit=credit)
    assert least.fun > 1e-3, "choose a seed without unbiased probabilities"
    assert method.bias == pytest.approx(least.fun, abs=1e-7)
    cost = sum(p * variance_of(credits_of(given_rankings, one, credit)) for one, p in method.distribution.items())
    assert float(cost) == pytest.approx(cheapest.fun, rel=1e-5)


@examples(60)
@given(rankings(), LENGTHS, st.integers(1, 30), st.integers(0, 3))
def test_optimized_draws_different_allowed_lists(
    given_rankings: list[list[int]], length: int | None, most: int, seed: int
) -> None:
    allowed = allowed_lists(given_rankings, length)
    n = oracle.n_shown(given_rankings, length)
    lists, all_there = _draw_lists([list(one) for one in given_rankings], n, most, np.random.default_rng(seed))
    assert len(lists) == len({tuple(one) for one in lists}) == min(most, len(allowed))
    assert {tuple(one) for one in lists} <= set(allowed)
    assert all_there == (len(allowed) <= most)


def test_optimized_of_a_sample_of_lists() -> None:
    rng = np.random.default_rng(5)
    given_rankings = [
        np.argsort(np.arange(12) / 4 + rng.normal(size=12)) for _ in range(5)
    ]  # alike, as of rival rankers
    options: dict[str, Any] = {"length": 6, "max_lists": 60}
    with pytest.warns(LtrWarning, match="over 60 lists.*a max_lists above 60 may help"):
        few = Optimized(given_rankings, **options)
    with pytest.warns(LtrWarning, match="over 60 lists"):
        again = Optimized(given_rankings, random_state=0, **options)
    with pytest.warns(LtrWarning, match="over 60 lists"):
        others = Optimized(given_rankings, random_state=1, **options)
    assert few.distribution == again.distribution
    assert set(few.distribution) != set(others.distribution)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LtrWarning)
        more = Optimized(given_rankings, length=6, max_lists=1000)
    assert more.bias < few.bias
    differences = np.abs(expected_differences(few, "inverse")).max()
    assert 0 < differences <= few.bias


def test_optimized_needs_no_seed_where_all_lists_are_there() -> None:
    method = Optimized([A, B], 4)
    for seed in range(5):
        other = Optimized([A, B], 4, random_state=seed)
        assert list(other.distribution.items()) == list(method.distribution.items())  # in one order: mix draws by it
    assert method.bias == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"credit": "binary"}, "credit must be one of 'inverse', 'negative'; got 'binary'"),
        ({"max_lists": 0}, "max_lists must be a whole number of at least 1. Got 0"),
    ],
)
def test_optimized_refuses(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrValueError, match=message):
        Optimized([A, B], **options)
    with pytest.raises(LtrTypeError, match="random_state must be"):
        Optimized([A, B], random_state="zero")


# -- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize("made", MADE)
def test_a_number_repeats_the_list(made: Callable[[Any], Method]) -> None:
    method = made([A, B])
    assert method.mix(3) == method.mix(3) == made([np.array(A), tuple(B)]).mix(3)
    rng = np.random.default_rng(1)
    assert len({documents_of(method.mix(rng)) for _ in range(40)}) > 1


@pytest.mark.parametrize("made", MADE)
def test_a_click_counts_once_in_any_order(made: Callable[[Any], Method]) -> None:
    method = made([A, B])
    shown = method.mix(0)
    credit = method.credit(shown, [2, 0, 2, 0])
    assert credit.tolist() == method.credit(shown, np.array([0, 2])).tolist()
    assert credit.sum() != 0
    assert method.credit(shown, []).tolist() == [0, 0]
    with pytest.raises(LtrValueError, match="clicks must be"):
        method.credit(shown, [4])


@pytest.mark.parametrize("made", MADE)
def test_impossible_lists_are_refused(made: Callable[[Any], Method]) -> None:
    method = made([A, B])
    for impossible in ([1, 2, 3], [9, 1, 2, 3], [1, 2, 3, 4, 5], []):
        assert method.probability(impossible) == 0
        with pytest.raises(LtrValueError, match="could not have shown this list"):
            method.credit(impossible, [])


def test_balanced_has_two() -> None:
    with pytest.raises(LtrValueError, match="Balanced needs exactly two rankings. Got 3"):
        Balanced([A, B, C])
