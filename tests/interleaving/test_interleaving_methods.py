"""The three methods against walks of all their courses, exact programs, outside values and known properties."""

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
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from ltr_metrics.errors import LtrError, LtrValueError
from ltr_metrics.interleaving import Balanced, PairwisePreference, Shown, TeamDraft
from ltr_metrics.online.interleaving.scoring import METHODS as BY_NAME

ALL = [TeamDraft, PairwisePreference, Balanced]
A, B, C = [1, 2, 3, 4], [3, 1, 5, 2], [6, 3]
UNEQUAL = [[1, 2], [3, 4, 5, 6]]
Lists = dict[tuple[oracle.Documents, Any], Fraction]


def no_teams(lists: dict[oracle.Documents, Fraction]) -> Lists:
    return {(documents, None): chance for documents, chance in lists.items()}


LISTS: dict[Any, Callable[..., Lists]] = {
    TeamDraft: lambda *case: oracle.drafted_lists(*case),
    PairwisePreference: lambda *case: no_teams(oracle.ppm_lists(*case)),
    Balanced: lambda *case: no_teams(oracle.balanced_lists(*case)),
}


def credit_by_hand(make: Any, rankings: Any, lists: Lists, shown: Any, clicks: Sequence[int]) -> list[Fraction]:
    documents, teams = shown
    if make is PairwisePreference:
        return oracle.ppm_credit(rankings, oracle.whatever_the_teams(lists), documents, clicks)
    if make is Balanced:
        return oracle.balanced_credit(rankings, documents, clicks)
    return oracle.team_credit(len(rankings), teams, clicks)


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


@pytest.mark.parametrize("make", [TeamDraft, PairwisePreference])
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
    with pytest.raises(LtrValueError, match="24 rankers, .* more than 16,384 terms"):
        TeamDraft(many).probability(list(range(24)))
    assert TeamDraft(many).credit(TeamDraft(many).mix(0), [0]).sum() == 1


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


@pytest.mark.parametrize("name", BY_NAME)
def test_methods_are_sent_between_processes(name: str) -> None:
    """Also after they were used: what they keep then must mean the same elsewhere."""
    method = BY_NAME[name](UNEQUAL)
    shown = method.mix(random_state=1)
    method.credit(shown, [0])
    again = pickle.loads(pickle.dumps(method))
    assert [again.mix(random_state=seed) for seed in range(9)] == [method.mix(random_state=seed) for seed in range(9)]
    assert again.probability(shown) == method.probability(shown)
