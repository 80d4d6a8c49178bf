"""Users: how often each set of places is clicked, against sums over all courses of a look at the list."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

from ltr_metrics import LtrTypeError, LtrValueError
from ltr_metrics.interleaving import ClickModel
from ltr_metrics.interleaving.fit import Probabilities, _Impressions

USERS = ("perfect", "navigational", "informational", "almost_random")
TABLE = {
    "perfect": {2: ("0 1", "0 0"), 3: ("0 .5 1", "0 0 0"), 5: ("0 .2 .4 .8 1", "0 0 0 0 0")},
    "navigational": {
        2: (".05 .95", ".2 .9"),
        3: (".05 .5 .95", ".2 .5 .9"),
        5: (".05 .3 .5 .7 .95", ".2 .3 .5 .7 .9"),
    },
    "informational": {2: (".4 .9", ".1 .5"), 3: (".4 .7 .9", ".1 .3 .5"), 5: (".4 .6 .7 .8 .9", ".1 .2 .3 .4 .5")},
    "almost_random": {2: (".4 .6", ".5 .5"), 3: (".4 .5 .6", ".5 .5 .5"), 5: (".4 .45 .5 .55 .6", ".5 .5 .5 .5 .5")},
}


def as_numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


def expected(model: ClickModel, grades: list[int]) -> dict[tuple[int, ...], Fraction]:
    """Probability of each set of clicked places: looked at or not, clicked or not, stopped or not, place by place."""
    found: Counter[tuple[int, ...]] = Counter()
    examination = model.examination or (1,) * len(grades)
    stop: Any = model.stop
    for course in product([False, True], repeat=3 * len(grades)):
        chance, clicked, goes_on = Fraction(1), [], True
        for place, grade in enumerate(grades):
            looks, clicks, stops = course[3 * place : 3 * place + 3]
            for event, p in ((looks, examination[place]), (clicks, model.click[grade]), (stops, stop[grade])):
                chance *= Fraction(p) if event else 1 - Fraction(p)
            if goes_on and looks:
                if clicks:
                    clicked.append(place)
                goes_on = not (stops and (clicks or not model.stop_only_after_click))
        found[tuple(clicked)] += chance
    return {one: p for one, p in found.items() if p > 0}


@pytest.mark.parametrize("grades", [2, 3, 5])
@pytest.mark.parametrize("user", USERS)
def test_the_published_probabilities(user: str, grades: int) -> None:
    model = getattr(ClickModel, user)(grades=grades)
    assert (model.click, model.stop) == tuple(map(as_numbers, TABLE[user][grades]))
    assert not model.stop_only_after_click
    assert getattr(ClickModel, user)(grades, stop_only_after_click=True).stop_only_after_click


def test_random_users_click_half_of_all() -> None:
    assert ClickModel.random(grades=4) == ClickModel([0.5] * 4)
    assert ClickModel.random(2).stop == (0, 0)


MODELS = {
    "navigational": ClickModel.navigational(3),
    "informational, stops after clicks": ClickModel.informational(3, stop_only_after_click=True),
    "random": ClickModel.random(3),
    "by position": ClickModel.position_based([0.2, 0.5, 1], [1, 0.6, 0.3]),
    "by position, and stops": ClickModel([0.2, 0.5, 1], [0.3, 0.2, 0.5], examination=[0.9, 0.6, 0.3]),
    "by position, and stops after clicks": ClickModel([0.2, 0.5, 1], 0.4, True, [0.9, 0.6, 0.3]),
}


@pytest.mark.parametrize("name", MODELS)
def test_clicks_come_at_their_probabilities(name: str) -> None:
    model, grades, n = MODELS[name], [0, 2, 1], 40_000
    of_set = expected(model, grades)
    assert sum(of_set.values()) == pytest.approx(1, abs=1e-12)
    clicked = model.draw(np.repeat(np.array(grades)[:, np.newaxis], n, axis=1), np.random.default_rng(0))
    found = Counter(tuple(np.flatnonzero(one).tolist()) for one in clicked.T)
    assert set(found) <= set(of_set)
    assert stats.chisquare([found[one] for one in of_set], [n * float(p) for p in of_set.values()]).pvalue > 1e-3


def test_clicks_on_one_list() -> None:
    model, rng = ClickModel.informational(3), np.random.default_rng(3)
    found = Counter(tuple(model.clicks_on([0, 2], rng)) for _ in range(5000))
    of_set = expected(model, [0, 2])
    assert stats.chisquare([found[one] for one in of_set], [5000 * float(p) for p in of_set.values()]).pvalue > 1e-3
    assert model.clicks_on([0, 2, 1], random_state=5) == model.clicks_on(np.array([0.0, 2.0, 1.0]), random_state=5)
    assert ClickModel.perfect(2).clicks_on([0, 1, 0, 1]) == [1, 3]


def test_nobody_clicks_where_there_is_nothing() -> None:
    grade = np.array([[1, 1], [1, -1], [-1, -1]])
    assert ClickModel([1, 1]).draw(grade, np.random.default_rng(0)).tolist() == [
        [True, True],
        [True, False],
        [False, False],
    ]


@pytest.mark.parametrize("only_after_click", [False, True])
@pytest.mark.parametrize("user", [*USERS, "random"])
@pytest.mark.parametrize("length", [4, 10])
def test_a_user_is_recovered_from_clicks(user: str, only_after_click: bool, length: int) -> None:
    options = {} if user == "random" else {"stop_only_after_click": only_after_click}
    truth, rng = getattr(ClickModel, user)(3, **options), np.random.default_rng(5)
    grades = rng.integers(0, 3, (6000, length))
    clicks = [np.flatnonzero(one) for one in truth.draw(grades.T, rng).T]
    found = ClickModel.fit(grades, clicks, 3, stop_only_after_click=truth.stop_only_after_click)
    assert found.stop_only_after_click == truth.stop_only_after_click
    np.testing.assert_allclose(found.click, truth.click, atol=0.03)
    clicked = np.array(truth.click) > 0
    if (
        truth.stop_only_after_click
    ):  # nothing is known of stopping behind what is never clicked, and little where it seldom is
        clicked &= np.array(truth.click) > 0.05
    np.testing.assert_allclose(np.array(found.stop)[clicked], np.array(truth.stop)[clicked], atol=0.06)


def log_likelihood(model: ClickModel, grades: list[list[int]], clicks: list[list[int]]) -> float:
    of_list = {shown: expected(model, list(shown)) for shown in set(map(tuple, grades))}
    seen = [float(of_list[tuple(shown)].get(tuple(places), 0)) for shown, places in zip(grades, clicks, strict=True)]
    return float(np.log(seen).sum()) if all(seen) else -np.inf


@given(st.integers(0, 10**6), st.booleans())
@example(532, False)  # plain expectation-maximisation had not converged here after 2,000 steps
@example(580, False)
@example(612, False)
@examples(5)
def test_no_other_user_is_likelier(seed: int, only_after_click: bool) -> None:
    """Against the exact probabilities of the clicks: every step away from the estimate makes them less likely."""
    rng = np.random.default_rng(seed)
    truth = ClickModel(rng.uniform(0.2, 0.8, 2), rng.uniform(0.1, 0.7, 2), only_after_click)
    grades = rng.integers(0, 2, (80, 2)).tolist()
    clicks = [truth.clicks_on(one, rng) for one in grades]
    try:
        found = ClickModel.fit(grades, clicks, 2, stop_only_after_click=only_after_click)
    except LtrValueError:
        return  # a grade that nobody has surely looked at
    best = log_likelihood(found, grades, clicks)
    for name in ("click", "stop"):
        for grade in (0, 1):
            for step in (-0.02, 0.02):
                moved = list(getattr(found, name))
                moved[grade] = min(1.0, max(0.0, moved[grade] + step))
                both = {"click": found.click, "stop": found.stop} | {name: moved}
                other = ClickModel(both["click"], both["stop"], only_after_click)
                assert log_likelihood(other, grades, clicks) <= best + 1e-5


def test_the_likelihood_is_that_of_the_clicks() -> None:
    """The estimate is accelerated by the likelihood, so it must be the exact one."""
    rng, users = np.random.default_rng(4), Probabilities(np.array([0.3, 0.6]), np.array([0.4, 0.2]))
    grades = rng.integers(0, 2, (30, 3))
    for only_after_click in (False, True):
        model = ClickModel(users.click.tolist(), users.stop.tolist(), only_after_click)
        clicks = [model.clicks_on(shown, rng) for shown in grades.tolist()]
        clicked = np.zeros((3, 30), dtype=np.bool_)
        for impression, places in enumerate(clicks):
            clicked[places, impression] = True
        data = _Impressions(grades.T, clicked, 2, only_after_click)
        assert data.log_likelihood(users) == pytest.approx(log_likelihood(model, grades.tolist(), clicks), abs=1e-9)


def test_lists_of_several_lengths() -> None:
    """Behind the end of a list there is nothing to look at: here every document is looked at, and half are clicked."""
    found = ClickModel.fit([[0], [0, 0], [0, 0, 0], [0]], [[0], [1], [0, 2], []], n_grades=1)
    assert found.click[0] == pytest.approx(4 / 7, abs=1e-4)
    assert found.stop == pytest.approx([0], abs=1e-4)


@pytest.mark.parametrize(
    ("grades", "clicks", "message"),
    [
        ([[0, 0]], [[0]], "No document of grade 1 is at or above the last click"),
        ([[0, 1]], [[0]], "No document of grade 1 is at or above the last click"),
        ([[0, 1]], [[]], "No document of grade 0 is at or above the last click"),
        ([], [], "There are no impressions"),
        ([[1, 2]], [[0]], r"grades must be whole numbers from 0 to 1. Got 2 at slot 1"),
        ([[0, 1]], [[2]], "0 to 1. Got 2"),
    ],
)
def test_nothing_is_made_up_of_what_was_not_seen(grades: Any, clicks: Any, message: str) -> None:
    with pytest.raises(LtrValueError, match=message):
        ClickModel.fit(grades, clicks, n_grades=2)


@pytest.mark.parametrize("n_grades", [0, -1, 2.5, True, None])
def test_how_many_grades_is_a_count(n_grades: Any) -> None:
    with pytest.raises(LtrValueError, match="n_grades must be a whole number of at least 1"):
        ClickModel.fit([[0]], [[0]], n_grades=n_grades)


def test_as_many_lists_as_clicks() -> None:
    with pytest.raises(LtrValueError, match="grades and clicks must have one entry per impression"):
        ClickModel.fit([[0], [0]], [[0]], n_grades=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClickModel.informational(4), "published for 2, 3 and 5 grades.*Got grades=4"),
        (lambda: ClickModel.perfect(True), "grades=True"),
        (lambda: ClickModel.random(0), "grades must be a whole number of at least 1. Got 0"),
        (lambda: ClickModel.random(2.5), "grades must be a whole number of at least 1. Got 2.5"),
        (lambda: ClickModel([]), "at least one probability"),
        (lambda: ClickModel([0.5, 1.5]), "click must be probabilities, 0 to 1. Got 1.5 at index 1"),
        (lambda: ClickModel([0.5, float("nan")]), "Got nan at index 1"),
        (lambda: ClickModel([0.5, 1], [0.1]), "stop must have one probability per grade, like click. Got 1 for 2"),
        (lambda: ClickModel([0.5], 2), "stop must be probabilities"),
        (lambda: ClickModel.position_based([0.5], [1, -1]), "examination must be probabilities"),
        (lambda: ClickModel.perfect(2).clicks_on([0, 2]), "from 0 to 1. Got 2 at slot 1"),
        (lambda: ClickModel.perfect(2).clicks_on([0.5]), "whole numbers from 0 to 1. Got 0.5"),
        (lambda: ClickModel.perfect(2).clicks_on([0, -1]), "Got -1 at slot 1"),
        (lambda: ClickModel.position_based([0, 1], [1]).clicks_on([0, 1]), "Got 1 for 2 slots"),
    ],
)
def test_bad_values_are_named(make: Any, message: str) -> None:
    with pytest.raises(LtrValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClickModel(0.5), "click must be a sequence"),
        (lambda: ClickModel("0.5"), "click must be a sequence"),
        (lambda: ClickModel([0.5], stop_only_after_click="yes"), "True or False"),
        (lambda: ClickModel(["a"]), "numbers"),
    ],
)
def test_things_of_another_kind_are_named(make: Any, message: str) -> None:
    with pytest.raises(LtrTypeError, match=message):
        make()
