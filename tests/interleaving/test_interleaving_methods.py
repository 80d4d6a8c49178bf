"""The five methods against walks of all their courses, exact programs, outside values and known properties."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import interleaving_oracle as oracle
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from profiles import examples
from scipy import optimize

from ltr_metrics.errors import LtrError, LtrValueError, LtrWarning
from ltr_metrics.interleaving import Balanced, Method, Optimized, PairwisePreference, Probabilistic, Shown, TeamDraft
from ltr_metrics.online.interleaving.methods import METHODS as BY_NAME

unbiased_or_not = pytest.mark.filterwarnings("ignore:Optimized has no unbiased")
ALL = [TeamDraft, PairwisePreference, Balanced, Probabilistic, Optimized]
A, B, C = [1, 2, 3, 4], [3, 1, 5, 2], [6, 3]
UNEQUAL = [[1, 2], [3, 4, 5, 6]]
LENGTHS = st.none() | st.integers(1, 5)
Lists = dict[tuple[oracle.Documents, Any], Fraction]


def no_teams(lists: dict[oracle.Documents, Fraction]) -> Lists:
    return {(documents, None): chance for documents, chance in lists.items()}


def in_rounds(rankings: Any, length: int | None = None) -> Method:
    return Probabilistic(rankings, length, tau=1, replace=False)


LISTS: dict[Any, Callable[..., Lists]] = {
    TeamDraft: lambda *case: oracle.drafted_lists(*case, tau=None, replace=False),
    PairwisePreference: lambda *case: no_teams(oracle.ppm_lists(*case)),
    Balanced: lambda *case: no_teams(oracle.balanced_lists(*case)),
    Probabilistic: lambda *case: oracle.drafted_lists(*case, tau=3, replace=True),
    in_rounds: lambda *case: oracle.drafted_lists(*case, tau=1, replace=False),
}


def credit_by_hand(make: Any, rankings: Any, lists: Lists, shown: Any, clicks: Sequence[int]) -> list[Fraction]:
    documents, teams = shown
    if make is PairwisePreference:
        return oracle.ppm_credit(rankings, oracle.whatever_the_teams(lists), documents, clicks)
    if make is Balanced:
        return oracle.balanced_credit(rankings, documents, clicks)
    if make is TeamDraft:
        return oracle.team_credit(len(rankings), teams, clicks)
    return oracle.expected_team_credit(len(rankings), lists, documents, clicks)


@st.composite
def rankings(draw: st.DrawFn, n_rankers: int | None = None, most: int = 4) -> list[list[int]]:
    """Rankings of unequal lengths that share some documents, or none."""
    n = n_rankers or draw(st.integers(2, 3))
    apart = draw(st.integers(0, 4)) == 0  # no document in common
    order = st.permutations(range(most))
    return [[one + 10 * i * apart for one in draw(order)[: draw(st.integers(1, most))]] for i in range(n)]


def close(found: Any, expected: Sequence[Any]) -> None:
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [float(one) for one in expected], rtol=1e-12, atol=1e-12)


# -- every course ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", LISTS)
@given(data=st.data())
@examples(60)
def test_probabilities_and_credit_are_those_of_the_walk_of_all_courses(make: Any, data: st.DataObject) -> None:
    case = data.draw(rankings(2 if make is Balanced else None)), data.draw(st.none() | st.integers(1, 4))
    if len(set().union(*case[0])) > 6:  # with too many lists to walk
        case = case[0], 2
    lists, method = LISTS[make](*case), make(*case)
    assert sum(lists.values()) == 1
    by_documents = oracle.whatever_the_teams(lists)
    for documents, chance in by_documents.items():
        assert method.probability(list(documents)) == pytest.approx(float(chance), rel=1e-12)
    for _ in range(6):
        (documents, teams), chance = data.draw(st.sampled_from(list(lists.items())))
        shown = Shown(list(documents), None if teams is None else list(teams))
        assert method.probability(shown) == pytest.approx(float(chance), rel=1e-12)
        clicks = data.draw(st.lists(st.integers(0, len(documents) - 1), max_size=5))  # in any order, some twice
        close(method.credit(shown, clicks), credit_by_hand(make, case[0], lists, (documents, teams), clicks))
        if make is TeamDraft and (documents, other := teams[::-1]) not in lists:
            assert method.probability(Shown(list(documents), list(other))) == 0
            with pytest.raises(
                LtrValueError, match="cannot have produced this list: it is impossible for these rankings"
            ):
                method.credit(Shown(list(documents), list(other)), clicks)
    orders = itertools.permutations(set().union(*case[0]), len(documents))
    for impossible in [one for one in itertools.islice(orders, 100) if one not in by_documents][:5]:
        assert method.probability(list(impossible)) == 0
        with pytest.raises(LtrValueError, match="cannot have produced this list"):
            method.credit(Shown(list(impossible), None if teams is None else [0] * len(impossible)), [0])


@pytest.mark.parametrize("make", LISTS)
@pytest.mark.parametrize("case", [([A, B], 3), (UNEQUAL, 4), ([[1], [2, 1, 3], [1, 3, 4, 5]], 5), ([[3], A], None)])
def test_lists_are_mixed_as_often_as_they_are_probable(make: Any, case: Any) -> None:
    case = (case[0][-2:], case[1]) if make is Balanced else case
    lists, method, rng, n = LISTS[make](*case), make(*case), np.random.default_rng(7), 8_000
    drawn = [method.mix(rng) for _ in range(n)]
    teams = [None if one.teams is None else tuple(one.teams) for one in drawn]
    oracle.require_frequencies(zip((tuple(one.documents) for one in drawn), teams, strict=True), lists)


# -- outside values --------------------------------------------------------------------------------


def test_reference_values_of_ppm(reference_values: Path) -> None:
    n_examples = 0
    for case in json.loads((reference_values / "ppm.json").read_text())["cases"]:
        method = PairwisePreference(case["lists"], case["length"])
        assert len(oracle.ppm_lists(case["lists"], case["length"])) == case["n_possible"]
        for one in case["examples"]:
            n_examples += 1
            shown, chance = one["multileaving"], Fraction(one["probability"])
            assert method.probability(shown) == pytest.approx(float(chance), rel=1e-12)
            close(method.credit(shown, one["clicks"]), list(map(Fraction, one["scores"])))
    assert n_examples == 160


# -- properties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [TeamDraft, PairwisePreference, Probabilistic, in_rounds])
def test_lists_of_hundreds_of_documents(make: Any) -> None:
    """Each of which is far less probable than the smallest float."""
    rng = np.random.default_rng(0)
    method = make([rng.permutation(1200) for _ in range(3)])
    shown = method.mix(0)
    credit = method.credit(shown, range(1, 1200))
    assert np.isfinite(credit).all()
    assert method.probability(shown) < 1e-300
    assert make is PairwisePreference or credit.sum() == pytest.approx(1199)


def test_too_many_rankers_to_sum_over() -> None:
    many = [list(range(24))] * 24
    for method in (TeamDraft(many), Probabilistic(many, replace=False)):
        with pytest.raises(LtrValueError, match="24 rankers, .* more than 16,384 terms"):
            method.probability(list(range(24)))
        assert method.probability(method.mix(random_state=0)) > 0
    assert TeamDraft(many).credit(TeamDraft(many).mix(0), [0]).sum() == 1


# -- Optimized -------------------------------------------------------------------------------------


def program(given_rankings: Any, length: int | None) -> tuple[Any, Any, Any]:
    """Return the lists, the variances, and the cumulative credit of shape (lists, cutoffs, rankers)."""
    lists = oracle.allowed_lists(given_rankings, length)
    places = range(len(lists[0]))
    of_lists = [[oracle.inverse_rank_credit(given_rankings, one, [place]) for place in places] for one in lists]
    credit = np.array(of_lists, dtype=float)
    weighted = (credit / np.arange(1, len(places) + 1)[:, np.newaxis]).sum(axis=1)
    return lists, weighted.var(axis=1) * weighted.shape[1], credit.cumsum(axis=1)


def least_biased(variance: Any, credit: Any) -> tuple[float, float]:
    """Return the least bias, and the least variance at this bias.

    The program is that of roughly optimized multileaving: a slack a cutoff above the difference of every two rankers.
    """
    n_lists, n_cutoffs, n_rankers = credit.shape
    within = np.array(
        [
            np.append(credit[:, k, i] - credit[:, k, j], -np.eye(n_cutoffs)[k])
            for k in range(n_cutoffs)
            for i, j in itertools.permutations(range(n_rankers), 2)
        ]
    )
    costs = np.repeat([0.0, 1.0], [n_lists, n_cutoffs])
    sums = {"A_eq": 1 - costs[None], "b_eq": [1.0]}
    least = optimize.linprog(costs, A_ub=within, b_ub=np.zeros(len(within)), **sums)
    limits = np.append(np.zeros(len(within)), least.fun + 1e-9)
    costs_of_both = np.append(variance, np.zeros(n_cutoffs))
    cheapest = optimize.linprog(costs_of_both, A_ub=np.vstack((within, costs)), b_ub=limits, **sums)
    return least.fun, cheapest.fun


@unbiased_or_not
@examples(60)
@given(rankings() | rankings(4), LENGTHS)
@example([[4, 2, 3, 0], [2, 0], [3, 1, 0]], None)  # has unbiased solutions of different variances
def test_optimized_has_the_least_bias_and_then_the_least_variance(given_rankings: Any, length: int | None) -> None:
    lists, variance, credit = program(given_rankings, length)
    bias, least_variance = least_biased(variance, credit)
    method = Optimized(given_rankings, length)
    chances = np.array([method.probability(one) for one in lists])
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert method.bias == pytest.approx(bias, abs=1e-7)
    assert (method.bias == 0) == (bias < 1e-7)
    assert np.ptp(np.tensordot(chances, credit, 1), axis=1).sum() == pytest.approx(method.bias, abs=1e-9)
    assert variance @ chances == pytest.approx(least_variance, rel=1e-5, abs=1e-6)
    for documents in lists:  # also those that this solution never shows
        for clicks in ([], [0], range(len(documents))):
            close(method.credit(documents, clicks), oracle.inverse_rank_credit(given_rankings, documents, clicks))


def test_optimized_takes_the_smallest_bias_and_says_so() -> None:
    """By hand: p of [1] leaves the largest difference max(p - 1/2, (1 - p)/6), which is least where both are 1/14."""
    with pytest.warns(LtrWarning, match=r"over 2 lists.*differs by 0\.0714.*If this matters, use TeamDraft") as caught:
        method = Optimized([[1, 2, 3], [2, 1, 3], [1, 3, 2]], length=1)
    assert caught[0].filename == __file__
    assert method.distribution == pytest.approx({(1,): 4 / 7, (2,): 3 / 7}, abs=1e-9)
    assert method.bias == pytest.approx(1 / 14, abs=1e-9)


def test_optimized_of_a_sample_of_lists() -> None:
    rng = np.random.default_rng(5)
    given_rankings = [np.argsort(np.arange(12) / 4 + rng.normal(size=12)).tolist() for _ in range(5)]
    with pytest.warns(LtrWarning, match="over 60 lists.*try max_lists above 60"):
        few, again, others = (Optimized(given_rankings, 6, max_lists=60, random_state=seed) for seed in (0, 0, 1))
    assert few.distribution == again.distribution
    assert set(few.distribution) != set(others.distribution)
    assert set(few.distribution) <= set(oracle.allowed_lists(given_rankings, 6))
    every = Optimized([A, B], 4)  # all lists are there, so the seed draws nothing, and their order is fixed
    assert list(Optimized([A, B], 4, random_state=1).distribution.items()) == list(every.distribution.items())
    rng = np.random.default_rng(0)
    oracle.require_frequencies((tuple(every.mix(rng).documents) for _ in range(20_000)), every.distribution)


# -- what goes in ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL)
def test_other_kinds_of_rankings_lists_clicks_and_seeds(make: Any) -> None:
    plain = make([[1, 2, 3], [3, 1, 4]])
    shown = plain.mix(5)
    method = make((pd.Series([1, 2, 3], index=[7, 8, 9]), np.array([3, 1, 4])))
    assert (method.rankings, method.length) == ([[1, 2, 3], [3, 1, 4]], 3)
    assert method.mix(np.int64(5)) == shown
    for documents in (tuple(shown.documents), np.array(shown.documents), pd.Series(shown.documents)):
        assert method.probability(documents) == plain.probability(shown.documents) > 0
        for clicks in ({0, 2}, np.array([0, 2, 2], dtype=np.uint8)):
            credit = method.credit(Shown(documents, shown.teams), clicks)
            np.testing.assert_array_equal(credit, plain.credit(shown, [0, 2]))
    assert plain.credit(shown, []).tolist() == [0, 0]
    assert len({tuple(make([A, B]).mix(seed).documents) for seed in range(40)}) > 1
    rng, again = np.random.default_rng(7), np.random.default_rng(7)
    assert [plain.mix(rng), plain.mix(rng)] == [plain.mix(again), plain.mix(again)]


IDS = [1, 3, 2]  # a list that all methods can display of A and B
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: TeamDraft([[1, 2], [3, 4, 3]]), r"rankings\[1\] must be distinct, hashable ids. Got 3 at index 2"),
    (lambda: TeamDraft([[1, 2]]), "two or more, none of them empty. Got 1 with 2"),
    (lambda: TeamDraft({"a": [1, 2], "b": [2, 1]}), r"rankings\[0\] must be a sequence of document ids"),
    (lambda: TeamDraft([["a", pd.NA], ["a"]]), "Got <NA> at index 1"),
    (lambda: TeamDraft([A, B], 0), "length must be a whole number"),
    (lambda: TeamDraft([A, B], 3).credit(Shown(IDS, [0, 1]), [0]), "teams must have"),
    (lambda: TeamDraft([A, B], 3).credit(Shown(IDS, [0, 1, 2]), [0]), "teams must have"),
    (lambda: TeamDraft([A, B], 3).credit(IDS, [0]), "needs teams"),
    (lambda: PairwisePreference([A, B], 3).credit(IDS, [-1]), "clicks must be"),
    (lambda: PairwisePreference([A, B], 3).credit(IDS, [0, 3]), "clicks must be"),
    (lambda: PairwisePreference([A, B], 3).credit(IDS, [True, False, True]), "clicks must be"),
    (lambda: PairwisePreference([A, B], 3).credit(IDS, "02"), "clicks must be"),
    (lambda: Balanced([A, B, C]), "Balanced needs exactly two rankings. Got 3"),
    (lambda: Balanced([[1, 2], [2, 3]], 3).credit([3], []), "it has 1 documents instead of 2 or 3"),
    (lambda: Probabilistic([A, B], tau=-1), "tau must be a number from 0"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(LtrError, match=message):
        make()


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([1, 3, 9], "cannot have produced.*document 9 at slot 2"),
        ([1, 3], "cannot have produced.*it has 2 documents instead of 3"),
        ([1, 3, 1], "shown must be distinct"),
    ],
)
def test_lists_that_no_method_can_display(make: Any, documents: Any, message: str) -> None:
    with pytest.raises(LtrError, match=message):
        make([A, B], 3).credit(Shown(documents, [0] * len(documents)), [0])


@unbiased_or_not
@pytest.mark.parametrize("name", BY_NAME)
def test_methods_are_sent_between_processes(name: str) -> None:
    """Also after they were used: what they keep then must mean the same elsewhere."""
    method = BY_NAME[name](UNEQUAL)
    shown = method.mix(random_state=1)
    method.credit(shown, [0])
    again = pickle.loads(pickle.dumps(method))
    assert [again.mix(random_state=seed) for seed in range(9)] == [method.mix(random_state=seed) for seed in range(9)]
    assert again.probability(shown) == method.probability(shown)
