"""Users: how often each set of places is clicked, against sums over all courses of a look at the list."""

from __future__ import annotations

from typing import Any

import interleaving_oracle as oracle
import numpy as np
import pytest

from ltr_metrics import LtrError
from ltr_metrics.interleaving import ClickModel

PUBLISHED = {  # probabilities of a click and of stopping, for 2, 3 and 5 grades
    "perfect": ("0 1; 0 .5 1; 0 .2 .4 .8 1", "0 0; 0 0 0; 0 0 0 0 0"),
    "navigational": (".05 .95; .05 .5 .95; .05 .3 .5 .7 .95", ".2 .9; .2 .5 .9; .2 .3 .5 .7 .9"),
    "informational": (".4 .9; .4 .7 .9; .4 .6 .7 .8 .9", ".1 .5; .1 .3 .5; .1 .2 .3 .4 .5"),
    "almost_random": (".4 .6; .4 .5 .6; .4 .45 .5 .55 .6", ".5 .5; .5 .5 .5; .5 .5 .5 .5 .5"),
}


@pytest.mark.parametrize("user", PUBLISHED)
def test_the_published_probabilities(user: str) -> None:
    of_grades = zip((2, 3, 5), *(text.split(";") for text in PUBLISHED[user]), strict=True)
    for grades, *texts in of_grades:
        model = getattr(ClickModel, user)(grades=grades)
        assert [model.click, model.stop] == [tuple(map(float, text.split())) for text in texts]
        assert not model.stop_only_after_click
        assert getattr(ClickModel, user)(grades, stop_only_after_click=True).stop_only_after_click


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
    of_set = oracle.click_chances(model, grades)
    assert sum(of_set.values()) == pytest.approx(1, abs=1e-12)
    clicked = model.draw(np.repeat(np.array(grades)[:, np.newaxis], n, axis=1), np.random.default_rng(0))
    oracle.require_frequencies((tuple(np.flatnonzero(one).tolist()) for one in clicked.T), of_set)


def test_clicks_on_one_list() -> None:
    model = ClickModel.informational(3)
    assert model.clicks_on([0, 2, 1], random_state=5) == model.clicks_on(np.array([0.0, 2.0, 1.0]), random_state=5)
    assert len({tuple(model.clicks_on([0, 2, 1], seed)) for seed in range(20)}) > 1
    assert ClickModel.perfect(2).clicks_on([0, 1, 0, 1]) == [1, 3]
    no_document = np.array([[1, 1], [1, -1]])
    assert ClickModel([1, 1]).draw(no_document, np.random.default_rng(0)).tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClickModel.informational(4), "published for 2, 3 and 5 grades.*Got grades=4"),
        (lambda: ClickModel.random(0), "grades must be a whole number of at least 1. Got 0"),
        (lambda: ClickModel([0.5, 1.5]), "Got 1.5"),
        (lambda: ClickModel([0.5, 1], [0.1]), "stop must have one probability per grade, like click. Got 1 for 2"),
        (lambda: ClickModel.perfect(2).clicks_on([0, 2]), "grades 0 to 1, but there is a document of grade 2"),
        (lambda: ClickModel.position_based([0, 1], [1]).clicks_on([0, 1]), "Got 1 for 2 slots"),
    ],
)
def test_bad_values_are_named(make: Any, message: str) -> None:
    with pytest.raises(LtrError, match=message):
        make()
