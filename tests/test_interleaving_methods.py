"""Team Draft and Pairwise Preference Multileaving against walks of all their courses, outside
values and the properties they are known for.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import interleaving_oracle as oracle
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

from ltr_metrics.errors import LtrError, LtrTypeError, LtrValueError
from ltr_metrics.interleaving import PairwisePreference, Shown, TeamDraft
from ltr_metrics.interleaving.methods import METHODS as BY_NAME

A, B = ["001", "002", "003"], ["004", "005", "006"]
METHODS = [TeamDraft, PairwisePreference]
UNEQUAL = [[1, 2], [3, 4, 5, 6]]
SEVERAL = [
    ([A, B], 3),
    (UNEQUAL, 4),
    ([[1], [2, 1, 3, 4], [5, 6]], 5),
    ([[1, 2, 3, 4], [2, 1, 4, 3], [4, 3, 2, 1]], 4),
    ([[1, 2, 3], [1, 2, 3]], 3),
    ([["a", "b"], ["c"], ["d", "a", "e"], ["f"]], 3),
    ([[3], [1, 2, 3, 4, 5]], None),
]


def close(found: Any, expected: Sequence[Any]) -> bool:
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    assert found.shape == (len(expected),)
    return np.allclose(found, [float(one) for one in expected], rtol=1e-12, atol=1e-12)


# -- outside values --------------------------------------------------------------------------------


def test_reference_values_of_ppm(reference_values: Path) -> None:
    cases = json.loads((reference_values / "ppm.json").read_text())["cases"]
    n_examples = 0
    for case in cases:
        rankings, length = case["lists"], case["length"]
        method, lists = PairwisePreference(rankings, length), oracle.ppm_lists(rankings, length)
        everything = permutations(method._best_rank, length)
        possible = {documents for documents in everything if method.probability(documents)}
        assert possible == set(lists)
        assert len(possible) == case["n_possible"]
        for example in case["examples"]:
            shown, clicks = example["multileaving"], example["clicks"]
            n_examples += 1
            assert method.probability(shown) == pytest.approx(float(Fraction(example["probability"])), rel=1e-12)
            assert close(method.credit(shown, clicks), [Fraction(one) for one in example["scores"]]), example
            assert oracle.ppm_credit(rankings, lists, tuple(shown), clicks) == list(map(Fraction, example["scores"]))
            pairs = oracle.click_pairs(length, clicks)
            assert sorted([shown[i], shown[j]] for i, j in pairs) == sorted(example["prefs"])
    assert (len(cases), n_examples) == (20, 160)


def test_reference_values_of_the_probability_of_a_pair(reference_values: Path) -> None:
    seen = 0
    for case in json.loads((reference_values / "ppm.json").read_text())["cases"]:
        rankings = case["lists"]
        lists = oracle.ppm_lists(rankings, case["length"])
        for one, other, r_bar, chance in case["pairs_rbar_prob"]:
            assert oracle.worse_best_rank(rankings, one, other) == r_bar
            assert oracle.chance_allowed(rankings, lists, one, other) == Fraction(chance)
            seen += credit_of_the_pair_alone(rankings, one, other, r_bar, Fraction(chance))
    assert seen == 298


def credit_of_the_pair_alone(rankings: Any, one: Any, other: Any, r_bar: int, chance: Fraction) -> bool:
    """Show both documents last and click on all others too, which leaves one pair: its credit is 1/P."""
    n = oracle.n_shown(rankings, r_bar + 1)
    method = PairwisePreference(rankings, n)
    both_last = (documents for documents in oracle.ppm_lists(rankings, n) if documents[-2:] == (one, other))
    shown = next(both_last, None)
    if n <= r_bar or shown is None:
        return False
    signs = [np.sign(oracle.rank_in(ranking, other) - oracle.rank_in(ranking, one)) for ranking in rankings]
    expected = [0 if np.isnan(sign) else int(sign) / chance for sign in signs]
    assert close(method.credit(shown, clicks=range(n - 1)), expected)
    return True


def test_reference_values_of_team_draft(reference_values: Path) -> None:
    cases = json.loads((reference_values / "team_draft.json").read_text())["cases"]
    for case in cases:
        method = TeamDraft(case["lists"], case["length"])
        outcomes = {(tuple(one["ranking"]), tuple(one["teams"])): Fraction(one["p"]) for one in case["outcomes"]}
        assert oracle.team_draft_lists(case["lists"], case["length"]) == outcomes
        for (documents, teams), chance in outcomes.items():
            assert method.probability(Shown(list(documents), list(teams))) == pytest.approx(float(chance), rel=1e-12)
        for documents, chance in oracle.whatever_the_teams(outcomes).items():
            assert method.probability(documents) == pytest.approx(float(chance), rel=1e-12)
    assert [len(case["outcomes"]) for case in cases] == [8, 4, 2, 6, 18]


@pytest.mark.parametrize(
    ("rankings", "shown", "clicks", "credit"),
    [
        ([A, B], ["001", "004", "006"], [1], [-1, 1]),
        ([A, B], ["004", "002", "001"], [2], [3, -1]),
        (["12345", "43512"], "41235", [1], [3, 1]),
        (["12345", "43512"], "41235", [3], [-1.5, 4.5]),
        (UNEQUAL, [3, 4, 5, 6], [3], [0, 0]),
        ([A, B], ["001", "004", "006"], [], [0, 0]),
        ([A, B], ["001", "004", "006"], [0, 1, 2], [0, 0]),
    ],
)
def test_worked_examples_of_ppm(rankings: Any, shown: Any, clicks: list[int], credit: list[float]) -> None:
    lists = [list(ranking) for ranking in rankings]
    method = PairwisePreference(lists, len(shown))
    assert close(method.credit(list(shown), clicks), credit)
    assert close(method.credit(Shown(list(shown)), clicks), credit)
    exact = oracle.ppm_credit(lists, oracle.ppm_lists(lists, len(shown)), tuple(shown), clicks)
    assert exact == [Fraction(one) for one in credit]


@pytest.mark.parametrize(
    ("rankings", "shown", "clicks", "ahead"),
    [  # by the authors' program: how far the first ranker is ahead of each
        ([[1, 4, 2, 3, 0], [4, 2, 1, 0, 3]], [1, 2, 4, 3, 0], [1, 2], "0 -1"),
        ([[1, 0, 4, 3, 2], [3, 1, 2, 4, 0], [0, 3, 1, 4, 2]], [1, 0, 2, 4], [1, 3], "0 1/2 -1/2"),
        (
            [[1, 3, 4, 0, 5, 2], [0, 3, 2, 1, 5, 4], [1, 3, 5, 0, 4, 2]],
            [1, 3, 4, 2, 5, 0],
            [0, 1, 3, 4],
            "0 1/6 -5/6",
        ),
        ([[1, 4, 0, 2, 3], [2, 1, 4, 0, 3], [4, 1, 3, 2, 0], [0, 2, 3, 1, 4]], [4, 2, 0], [1, 2], "0 -1/2 0 -1"),
        ([[2, 4, 5, 1, 0, 6, 3], [0, 1, 2, 5, 3, 4, 6]], [2, 4, 0, 5, 3], [1, 2], "0 -2"),
        (
            [
                [2, 6, 0, 7, 1, 5, 3, 4],
                [4, 2, 0, 6, 3, 7, 5, 1],
                [3, 0, 2, 6, 5, 1, 7, 4],
                [3, 2, 6, 1, 0, 7, 5, 4],
                [5, 1, 0, 2, 7, 4, 3, 6],
            ],
            [3, 0, 1, 2, 4, 6],
            [0, 1, 3, 5],
            "0 2/3 0 1/7 17/21",
        ),
    ],
)
def test_differences_are_twice_those_of_the_authors(
    rankings: list[list[int]], shown: list[int], clicks: list[int], ahead: str
) -> None:
    """They count the pairs that a ranker has in order; here those that it has not count against it."""
    credit = PairwisePreference(rankings, len(shown), pairs="authors").credit(shown, clicks)
    assert close(credit[0] - credit, [2 * Fraction(one) for one in ahead.split()])


# -- every course ----------------------------------------------------------------------------------


@st.composite
def compared(draw: st.DrawFn) -> tuple[list[list[Any]], int | None]:
    """Draw rankings, which may have no document in common, and a length with not too many lists to walk."""
    one = st.lists(draw(st.sampled_from([st.integers(0, 6), st.integers(0, 3)])), min_size=1, max_size=6, unique=True)
    rankings = draw(st.lists(one, min_size=2, max_size=4))
    if draw(st.booleans()):
        rankings = [[(i, document) for document in ranking] for i, ranking in enumerate(rankings)]
    length = draw(st.none() | st.integers(1, 8) | st.just(30))
    while oracle.n_ppm_lists(rankings, length) > 300:
        length = oracle.n_shown(rankings, length) - 1
    return rankings, length


def impossible_lists(rankings: Any, length: int | None, possible: Any) -> list[oracle.Documents]:
    """Return those of the first orders of all documents that no course leads to."""
    orders = permutations(sorted(set().union(*rankings)), oracle.n_shown(rankings, length))
    return [order for order in islice(orders, 300) if order not in possible]


def some_clicks(draw: st.DrawFn, n: int) -> list[int]:
    return draw(st.lists(st.integers(0, n - 1), max_size=n + 1))  # in any order, some twice


@pytest.mark.slow
@examples(150)
@given(compared(), st.data())
def test_ppm_is_the_walk_of_all_courses(case: tuple[list[list[Any]], int | None], data: st.DataObject) -> None:
    rankings, length = case
    lists = oracle.ppm_lists(rankings, length)
    method = PairwisePreference(rankings, length)
    found = [method.probability(documents) for documents in lists]
    np.testing.assert_allclose(found, [float(chance) for chance in lists.values()], rtol=1e-12)
    assert math.fsum(found) == pytest.approx(1, rel=1e-12)
    impossible = impossible_lists(rankings, length, lists)
    assert not any(method.probability(documents) for documents in impossible)
    for _ in range(4):
        documents = data.draw(st.sampled_from(list(lists)))
        clicks = some_clicks(data.draw, len(documents))
        for pairs in ("joachims", "authors"):
            method = PairwisePreference(rankings, length, pairs=pairs)
            assert close(method.credit(documents, clicks), oracle.ppm_credit(rankings, lists, documents, clicks, pairs))
    for documents in impossible[:3]:
        with pytest.raises(LtrValueError, match="could not have shown this list"):
            method.credit(documents, [0])


@pytest.mark.slow
@examples(150)
@given(compared(), st.data())
def test_team_draft_is_the_walk_of_all_courses(case: tuple[list[list[Any]], int | None], data: st.DataObject) -> None:
    rankings, length = case
    lists = oracle.team_draft_lists(rankings, length)
    method = TeamDraft(rankings, length)
    found = [method.probability(Shown(list(documents), list(teams))) for documents, teams in lists]
    np.testing.assert_allclose(found, [float(chance) for chance in lists.values()], rtol=1e-12)
    assert math.fsum(found) == pytest.approx(1, rel=1e-12)
    by_documents = oracle.whatever_the_teams(lists)
    np.testing.assert_allclose(
        [method.probability(list(documents)) for documents in by_documents],
        [float(chance) for chance in by_documents.values()],
        rtol=1e-12,
    )
    impossible = impossible_lists(rankings, length, by_documents)
    assert not any(method.probability(documents) for documents in impossible)
    for _ in range(4):
        documents, teams = data.draw(st.sampled_from(list(lists)))
        clicks = some_clicks(data.draw, len(documents))
        shown = Shown(list(documents), list(teams))
        assert close(method.credit(shown, clicks), oracle.team_credit(len(rankings), teams, clicks))
        others = tuple(data.draw(st.permutations(teams)))
        if (documents, others) not in lists:
            assert method.probability(Shown(list(documents), list(others))) == 0
            with pytest.raises(LtrValueError, match="could not have shown this list"):
                method.credit(Shown(list(documents), list(others)), clicks)


@examples(100)
@given(compared(), st.integers(0, 2**32))
def test_what_is_mixed_is_possible(case: tuple[list[list[Any]], int | None], seed: int) -> None:
    rankings, length = case
    shown = TeamDraft(rankings, length).mix(seed)
    assert shown.teams is not None
    assert (tuple(shown.documents), tuple(shown.teams)) in oracle.team_draft_lists(rankings, length)
    shown = PairwisePreference(rankings, length).mix(seed)
    assert shown.teams is None
    assert tuple(shown.documents) in oracle.ppm_lists(rankings, length)


@pytest.mark.parametrize(("rankings", "length"), SEVERAL)
@pytest.mark.parametrize("make", METHODS)
def test_mixed_as_often_as_it_is_probable(make: Callable[..., Any], rankings: Any, length: int | None) -> None:
    method, rng, n = make(rankings, length), np.random.default_rng(len(rankings)), 20_000
    drawn = Counter(
        (tuple(one.documents), None if one.teams is None else tuple(one.teams))
        for one in (method.mix(rng) for _ in range(n))
    )
    of_ppm = {(documents, None): chance for documents, chance in oracle.ppm_lists(rankings, length).items()}
    lists: dict[Any, Fraction] = of_ppm if make is PairwisePreference else oracle.team_draft_lists(rankings, length)
    assert set(drawn) <= set(lists)
    observed, expected = [drawn[one] for one in lists], [n * float(chance) for chance in lists.values()]
    assert min(expected) > 5
    assert len(lists) == 1 or stats.chisquare(observed, expected).pvalue > 1e-4


# -- properties ------------------------------------------------------------------------------------


def expected_credit(
    rankings: Any, length: int | None, click_chance: Callable[[Any], Fraction], pairs: str = "joachims"
) -> Any:
    """Mean credit over all lists and all sets of clicked documents."""
    method = PairwisePreference(rankings, length, pairs=pairs)
    mean = np.zeros(len(rankings))
    for documents, chance in oracle.ppm_lists(rankings, length).items():
        for clicks, likely in oracle.click_patterns([click_chance(document) for document in documents]):
            if likely:
                mean += float(chance * likely) * method.credit(documents, clicks)
    return mean


@examples(40)
@given(compared(), st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))
def test_random_clicks_give_every_ranker_the_same_under_ppm(
    case: tuple[list[list[Any]], int | None], likely: Fraction
) -> None:
    rankings, length = case
    while oracle.n_ppm_lists(rankings, length) > 60 or oracle.n_shown(rankings, length) > 5:
        length = oracle.n_shown(rankings, length) - 1
    np.testing.assert_allclose(expected_credit(rankings, length, lambda _: likely), 0, atol=1e-12)


@pytest.mark.parametrize("n_rankers", [2, 3, 4])
def test_random_clicks_give_every_ranker_the_same_under_team_draft(n_rankers: int) -> None:
    """As long as no ranker runs out of documents."""
    rng = np.random.default_rng(n_rankers)
    for _ in range(10):
        rankings, length = [rng.permutation(6)[:4].tolist() for _ in range(n_rankers)], int(rng.integers(1, 5))
        mean = np.zeros(n_rankers)
        method = TeamDraft(rankings, length)
        for (documents, teams), chance in oracle.team_draft_lists(rankings, length).items():
            mean += float(chance) * method.credit(Shown(list(documents), list(teams)), range(length))
        np.testing.assert_allclose(mean, length / n_rankers, rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_better_ranker_gets_more_credit_under_ppm(seed: int) -> None:
    """Relevant documents stand never lower and one higher, all documents are shown, and relevant
    ones are clicked more often.
    """
    rng = np.random.default_rng(seed)
    n_cases = 0
    while n_cases < 15:
        n_documents = int(rng.integers(3, 6))
        n_relevant = int(rng.integers(1, n_documents))
        better, worse, *others = (rng.permutation(n_documents).tolist() for _ in range(rng.integers(2, 4)))
        gains = [worse.index(document) - better.index(document) for document in range(n_relevant)]
        rankings = [better, worse, *others]
        if min(gains) < 0 or max(gains) == 0 or oracle.n_ppm_lists(rankings) > 60:
            continue
        n_cases += 1
        chances = Fraction(int(rng.integers(0, 3)), 4), Fraction(int(rng.integers(3, 5)), 4)
        credit = expected_credit(rankings, None, lambda document: chances[document < n_relevant])  # noqa: B023
        assert credit[0] > credit[1] + 1e-9, (rankings, n_relevant, chances)


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize("shared", [True, False])
def test_lists_of_a_thousand_documents(make: Callable[..., Any], shared: bool) -> None:
    """Each of which is far less probable than the smallest float."""
    rng = np.random.default_rng(0)
    rankings = [[(not shared and i, int(document)) for document in rng.permutation(1000)] for i in range(5)]
    method = make(rankings)
    shown = method.mix(0)
    credit = method.credit(shown, [0, 1, 999])
    assert np.isfinite(credit).all()
    assert np.ptp(credit) > 0
    assert make is not TeamDraft or credit.sum() == 3


@examples(60)
@given(compared(), st.data())
def test_order_of_rankers_and_names_of_documents_do_not_matter(
    case: tuple[list[list[Any]], int | None], data: st.DataObject
) -> None:
    rankings, length = case
    order = data.draw(st.permutations(range(len(rankings))))
    other = [[repr(document) for document in rankings[i]] for i in order]
    shown = PairwisePreference(rankings, length).mix(0).documents
    renamed = [repr(document) for document in shown]
    clicks = some_clicks(data.draw, len(shown))
    credit = PairwisePreference(rankings, length).credit(shown, clicks)
    assert close(PairwisePreference(other, length).credit(renamed, clicks), credit[order])
    for make in METHODS:
        one, two = make(rankings, length), make(other, length)
        assert one.probability(shown) == pytest.approx(two.probability(renamed), rel=1e-12)


# -- inputs of other kinds -------------------------------------------------------------------------


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize(
    "rankings",
    [
        np.array([[1, 2, 3], [3, 1, 4]]),
        [np.array([1, 2, 3]), (3, 1, 4)],
        (pd.Series([1, 2, 3], index=[7, 8, 9]), pd.Index([3, 1, 4])),
        np.array([[1, 2, 3], [3, 1, 4]], dtype=object),
    ],
)
def test_rankings_of_other_kinds(make: Callable[..., Any], rankings: Any) -> None:
    plain = make([[1, 2, 3], [3, 1, 4]])
    method = make(rankings)
    assert method.rankings == [[1, 2, 3], [3, 1, 4]]
    assert method.length == 3
    shown = method.mix(5)
    assert shown == plain.mix(5)
    documents = [list(shown.documents), tuple(shown.documents), np.array(shown.documents), pd.Series(shown.documents)]
    clicks = [[0, 2], (2, 0), {0, 2}, np.array([0, 2], dtype=np.uint8), pd.Series([0, 2], index=[5, 6]), range(0, 3, 2)]
    for one in documents:
        assert method.probability(one) == plain.probability(shown.documents) > 0
        for places in clicks:
            as_shown = Shown(one, shown.teams)
            assert np.array_equal(method.credit(as_shown, places), plain.credit(shown, [0, 2]))


@pytest.mark.parametrize("make", METHODS)
def test_lengths_and_ids_of_many_kinds(make: Callable[..., Any]) -> None:
    assert make(UNEQUAL).length == 4  # of the longest
    assert len(make(UNEQUAL, np.int64(3)).mix(0).documents) == 3
    assert len(make(UNEQUAL, 100).mix(0).documents) == 6
    method = make([[1, "1", ("a", 1), 2.5], ["1", b"1", frozenset("a"), 1]], 6)
    shown = method.mix(0)
    assert set(shown.documents) == {1, "1", ("a", 1), 2.5, b"1", frozenset("a")}
    assert method.credit(shown, [0]).shape == (2,)
    assert repr(method) == f"{make.__name__}(2 rankings, length=6)"


def test_a_number_is_not_the_text_of_it() -> None:
    rankings = [[1, "1"], ["1", 1]]
    assert PairwisePreference(rankings).credit([1, "1"], [0]).tolist() == [1, -1]
    assert PairwisePreference(rankings).credit(["1", 1], [0]).tolist() == [-1, 1]
    with pytest.raises(LtrValueError, match="document '2' at slot 1"):
        PairwisePreference([[1, 2], [2, 1]]).credit([1, "2"], [0])


@pytest.mark.parametrize("make", METHODS)
def test_what_is_given_stays_as_it_is(make: Callable[..., Any]) -> None:
    rankings, clicks = [[1, 2, 3, 4], [4, 3, 5]], [2, 0, 2]
    method = make(rankings, 4)
    shown = method.mix(1)
    kept = Shown(list(shown.documents), None if shown.teams is None else list(shown.teams))
    first = method.credit(shown, clicks)
    method.probability(shown)
    assert (rankings, clicks, shown) == ([[1, 2, 3, 4], [4, 3, 5]], [2, 0, 2], kept)
    shown.documents.reverse()
    rankings[0].reverse()
    assert method.rankings[0] == [1, 2, 3, 4]
    assert method.mix(1) == kept
    assert np.array_equal(method.credit(kept, clicks), first)
    first[:] = 9
    assert not np.array_equal(method.credit(kept, clicks), first)


@pytest.mark.parametrize("make", METHODS)
def test_random_state(make: Callable[..., Any]) -> None:
    method = make([[(i, j) for j in range(40)] for i in range(5)])
    assert method.mix(3) == method.mix(3) == method.mix(np.int64(3))
    assert method.mix(3) != method.mix(4)
    assert method.mix() != method.mix()
    rng, again = np.random.default_rng(7), np.random.default_rng(7)
    first, second = method.mix(rng), method.mix(rng)
    assert first != second
    assert [method.mix(again), method.mix(again)] == [first, second]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    method.mix(3)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ([[1, 2], [3, 4, 3]], r"rankings\[1\] must have different, hashable ids. Got 3 at index 2"),
        ([[1, 2]], "two or more, none of them empty. Got 1 with 2"),
        ([[1, 2], []], "none of them empty. Got 2 with 2, 0"),
        ([[1, 2], "21"], r"rankings\[1\] must be a sequence of document ids.*'21'"),
        ([[1, 2], np.array(3)], r"rankings\[1\] must be a sequence of document ids"),
        ({"a": [1, 2], "b": [2, 1]}, "rankings must be a sequence of rankings"),
        (None, "rankings must be a sequence of rankings"),
        ([[1, 2], [[1], [2]]], r"hashable ids. Got \[1\] at index 0"),
        ([np.array([1, np.nan]), [1, 2]], r"rankings\[0\] .*Got nan at index 1"),
        ([["a", pd.NA], ["a"]], "Got <NA> at index 1"),
    ],
)
def test_bad_rankings(make: Callable[..., Any], rankings: Any, message: str) -> None:
    with pytest.raises(LtrError, match=message):
        make(rankings)


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize("clicks", [[-1], [0, 3], [True, False, True], np.array([True, False]), "02", [1.0], 1, None])
def test_bad_clicks_lengths_and_seeds(make: Callable[..., Any], clicks: Any) -> None:
    method = make([A, B], 3)
    with pytest.raises(LtrError, match="clicks must be"):
        method.credit(method.mix(0), clicks)
    with pytest.raises(LtrValueError, match="length must be a whole number"):
        make([A, B], 0)
    with pytest.raises(LtrTypeError, match="random_state must be a whole number"):
        method.mix("x")


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["001", "004", "009"], "could not have shown.*document '009' at slot 2"),
        (["001", "004"], "could not have shown.*it has 2 documents instead of 3"),
        ([], "could not have shown.*it has 0 documents"),
        (["001", "006", "004"], "could not have shown"),  # 006 above slot 3
        (["001", "004", "001"], "shown must have different"),
        ("001", "shown must be a sequence"),
        ({"001", "004", "002"}, "shown must be a sequence"),
    ],
)
def test_bad_documents_shown(make: Callable[..., Any], documents: Any, message: str) -> None:
    method = make([A, B], 3)
    with pytest.raises(LtrError, match=message):
        method.credit(Shown(documents, [0] * len(documents)), [0])
    if "could not" in message:
        assert method.probability(documents) == 0


@pytest.mark.parametrize("teams", [[1, 0, 0], [0, 1, 1], [0, 1], [0, 1, 2], [0, -1, 0], [0, 1, False], 5, None])
def test_bad_teams(teams: Any) -> None:
    method = TeamDraft([A, B], 3)
    assert method.credit(Shown(["001", "004", "002"], [0, 1, 0]), [0]).tolist() == [1, 0]
    with pytest.raises(LtrError, match=r"could not have shown|teams must have|needs teams"):
        method.credit(Shown(["001", "004", "002"], teams), [0])


def test_rankers_that_agree_are_too_many_to_sum_over() -> None:
    many = TeamDraft([list(range(24))] * 24)
    with pytest.raises(LtrValueError, match="Pass what mix returned"):
        many.probability(list(range(24)))
    shown = many.mix(random_state=0)
    assert many.credit(shown, [0]).sum() == 1
    assert many.probability(shown) > 0


def test_credit_beyond_all_numbers_is_refused() -> None:
    ahead = list(range(1, 1200))
    turned = [*ahead[1:], 1]
    with pytest.raises(LtrValueError, match="Mix shorter lists"):
        PairwisePreference([ahead, turned]).credit(turned, [len(turned) - 1])


@pytest.mark.filterwarnings("ignore:Optimized has no unbiased")
@pytest.mark.parametrize("name", BY_NAME)
def test_methods_are_sent_between_processes(name: str) -> None:
    """Also after they were used: what they keep then must mean the same elsewhere."""
    method = BY_NAME[name]([[1, 2], [3, 4, 5, 6]])
    shown = method.mix(random_state=1)
    method.credit(shown, [0])
    before = [method.mix(random_state=seed) for seed in range(40)]
    for again in (pickle.loads(pickle.dumps(method)), copy.deepcopy(method)):
        assert [again.mix(random_state=seed) for seed in range(40)] == before
        assert again.probability(shown) == method.probability(shown)
