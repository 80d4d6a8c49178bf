"""Many impressions at once are so many single ones: the same lists at the same rates, the same credit."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import interleaving_oracle as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import ltr_metrics as ltr
from ltr_metrics.interleaving import ClickModel, PairwisePreference, Shown, TeamDraft, simulate
from ltr_metrics.online.interleaving.mixers import RankingArrays, VectorizedPPM, VectorizedTeamDraft

INFORMATIONAL = ClickModel.informational(grades=3)
MANY = {VectorizedTeamDraft: TeamDraft, VectorizedPPM: PairwisePreference}


def made(sizes: list[int], n_models: int, seed: int, tied: bool = False) -> tuple[Any, Any, dict[str, Any]]:
    """Grades, ids and scores of queries of these sizes."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    base = rng.normal(size=n)
    scores = {f"m{i}": base + rng.normal(size=n) * i for i in range(n_models)}
    if tied:
        scores = {name: np.round(score) for name, score in scores.items()}
    return rng.integers(0, 3, n), np.repeat(np.arange(len(sizes)), sizes), scores


def many_rankings(sizes: list[int], n_models: int, length: int, seed: int) -> RankingArrays:
    y, qid, scores = made(sizes, n_models, seed)
    return RankingArrays.from_scores(ltr.Queries(y, qid=qid), list(scores.values()), length, None)


def lists_of(rankings: RankingArrays, query: int) -> list[list[int]]:
    """The rankings of one query, by row."""
    rows = slice(int(rankings.starts[query]), int(rankings.starts[query] + rankings.sizes[query]))
    return [rankings.row[rows][np.argsort(rank)].tolist() for rank in rankings.rank[rows].T]


CASES = st.tuples(
    st.lists(st.integers(1, 14), min_size=1, max_size=5), st.integers(2, 4), st.integers(1, 12), st.integers(0, 10**6)
)


@pytest.mark.parametrize("many", MANY)
@given(case=CASES)
@examples(60)
def test_lists_are_possible_and_credited_as_single_ones(many: Any, case: Any) -> None:
    sizes, n_models, length, seed = case
    rankings = many_rankings(sizes, n_models, length, seed)
    mixer, rng = many(rankings), np.random.default_rng(seed)
    query = rng.integers(0, len(sizes), 40)
    shown = mixer.mix(query, rng)
    clicked = (rng.random(shown.documents.shape) < 0.5) & (shown.documents < mixer.rankings.nothing)
    credit = mixer.credit(query, shown, clicked)
    with pytest.MonkeyPatch.context() as patch:  # long lists have so many pairs that impressions are taken in parts
        patch.setattr("ltr_metrics.online.interleaving.mixers.MAX_CELLS", 1)
        np.testing.assert_array_equal(mixer.credit(query, shown, clicked), credit)
    for i, q in enumerate(query.tolist()):
        n = min(length, sizes[q])
        assert (shown.documents[n:, i] == mixer.rankings.nothing).all()
        teams = None if shown.teams is None else shown.teams[:n, i].tolist()
        one = Shown(mixer.rankings.row[shown.documents[:n, i]].tolist(), teams)
        expected = MANY[many](lists_of(rankings, q), length).credit(one, np.flatnonzero(clicked[:, i]))
        np.testing.assert_allclose(credit[:, i], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [3, 4])
@pytest.mark.parametrize("many", MANY)
def test_lists_come_at_their_probabilities(many: Any, length: int) -> None:
    rankings = many_rankings([4, 6], 3, length, seed=5)
    mixer, n = many(rankings), 40_000
    shown = mixer.mix(np.repeat([0, 1], n), np.random.default_rng(1))
    for q in (0, 1):
        method = MANY[many](lists_of(rankings, q), length)
        found = map(tuple, mixer.rankings.row[shown.documents[:, q * n : (q + 1) * n]].T.tolist())
        orders = permutations(lists_of(rankings, q)[0], length)
        oracle.require_frequencies(found, {one: method.probability(one) for one in orders})


@pytest.mark.parametrize("method", ["team_draft", "ppm"])
def test_the_outcome_depends_on_the_seed_alone(method: Any) -> None:
    y, qid, scores = made([15, 4, 30], 3, 0)

    def wins(**options: Any) -> Any:
        options = {"random_state": 0, "impressions": 60_000} | options
        return simulate(y, scores, qid=qid, method=method, clicks=INFORMATIONAL, **options).wins

    alone = wins(n_threads=1)
    np.testing.assert_array_equal(wins(n_threads=4), alone)
    assert (wins(random_state=1) != alone).any()


@pytest.mark.parametrize("method", ["team_draft", "ppm"])
def test_every_method_prefers_the_better_model(method: Any) -> None:
    y, qid, scores = made([12] * 20, 1, 3)
    models = {"worse": scores["m0"], "better": scores["m0"] + 2.0 * y}
    outcome = simulate(y, models, qid=qid, method=method, clicks=INFORMATIONAL, impressions=1500, length=5)
    assert outcome.preference[1, 0] > 0.55
    assert outcome.error(metric="ndcg_lin@10") == 0
    again = pickle.loads(pickle.dumps(outcome))
    assert (again.method, again.wins.tolist(), again.error(metric="ndcg@10")) == (method, outcome.wins.tolist(), 0)


def test_queries_are_drawn_by_weight_and_shown_as_far_as_retrieved() -> None:
    """Only the first query tells the models apart, and it is shown in three impressions of four."""
    options: Any = {"method": "team_draft", "clicks": ClickModel.perfect(grades=3), "impressions": 40_000, "length": 1}
    y, qid, weight = [2, 0, 0, 0, 2], ["a", "a", "b", "b", "c"], {"a": 3, "b": 1, "c": 9}
    retrieved = [True, True, True, True, False]  # nothing of the third query is shown, whatever its weight
    models = {"good": [1, 0, 1, 0, 1], "bad": [0, 1, 0, 1, 1]}
    outcome = simulate(y, models, qid=qid, query_weight=weight, retrieved=retrieved, **options)
    # With one document shown whoever drafts first has it: the good model half of the time, which then wins.
    assert outcome.wins[0, 1] / 40_000 == pytest.approx(0.375, abs=0.012)
    assert outcome.wins[1, 0] == 0


def test_ties_of_scores() -> None:
    """Rows list the relevant document first: a model without opinion shows it first under "stable" only."""
    y, qid = np.tile([2, 0, 0, 0], 200), np.repeat(np.arange(200), 4)
    models = {"none": np.zeros(800), "wrong": -y}
    for ties, expected in (("stable", 1), ("random", pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=0.08))):
        options: Any = {"method": "ppm", "clicks": INFORMATIONAL, "impressions": 10, "ties": ties}
        outcome = simulate(y, models, qid=qid, **options)
        assert outcome.offline is not None
        assert outcome.offline("mrr") == {"none": expected, "wrong": 0.25}


# -- what is refused -------------------------------------------------------------------------------

Y, QID, MODELS = [1, 0, 2], [1, 1, 1], {"a": [1, 2, 3], "b": [3, 2, 1]}
GOOD: dict[str, Any] = {"qid": QID, "method": "ppm", "clicks": INFORMATIONAL, "impressions": 10}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "pmp"}, "Did you mean 'ppm'"),
        ({"clicks": "informational"}, "clicks must be a ClickModel"),
        ({"clicks": ClickModel.informational(grades=2)}, "grades 0 to 1, but there is a document of grade 2"),
        ({"clicks": ClickModel.position_based([0.1, 0.5, 1], [1, 0.5])}, "Got 2 for 3 slots"),
        ({"y_true": [1, 0, 0.5]}, "there is a document of grade 0.5"),
        ({"impressions": 0}, "impressions must be a whole number of at least 1. Got 0"),
        ({"ties": "mean"}, "ties must be one of 'stable', 'random'"),
        ({"q_weight": [1]}, "simulate has no option 'q_weight'. Did you mean 'query_weight'"),
        ({"query_weight": [0]}, "weight 0"),
        ({"y_true": ltr.Queries(Y, qid=QID)}, "qid is not used"),
        ({"scores": {"a": [1, 2, 3]}}, "scores must map two or more names"),
        ({"scores": {"a": [1, 2, 3], "b": [1, float("nan"), 3]}}, "b: y_score must not be NaN: got nan at row 1"),
    ],
)
def test_bad_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        simulate(**({"y_true": Y, "scores": MODELS} | GOOD | wrong))


def test_users_of_a_longer_scale_are_a_warning() -> None:
    with pytest.warns(ltr.LtrWarning, match="grades 0 to 4, and the highest label is 2"):
        simulate(Y, MODELS, **(GOOD | {"clicks": ClickModel.informational(grades=5)}))
    simulate(Y, MODELS, **(GOOD | {"clicks": ClickModel.random(grades=5)}))  # who are alike on all grades
