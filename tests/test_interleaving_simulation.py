"""Many impressions at once are so many single ones: the same lists at the same rates, the same credit."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

import ltr_metrics as ltr
from ltr_metrics.interleaving import ClickModel, PairwisePreference, TeamDraft, simulate
from ltr_metrics.interleaving import Shown as OneShown
from ltr_metrics.interleaving.simulation.layout import RankingArrays
from ltr_metrics.interleaving.simulation.ppm import VectorizedPPM
from ltr_metrics.interleaving.simulation.team_draft import VectorizedTeamDraft

INFORMATIONAL = ClickModel.informational(grades=3)


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
    queries = ltr.Queries(y, qid=qid)
    return RankingArrays.from_scores(queries, list(scores.values()), length, None)


def lists_of(rankings: RankingArrays, query: int) -> list[list[int]]:
    """The rankings of one query, by row."""
    start, size = int(rankings.starts[query]), int(rankings.sizes[query])
    return [
        rankings.row[start : start + size][np.argsort(rank[start : start + size])].tolist() for rank in rankings.rank
    ]


CASES = st.tuples(
    st.lists(st.integers(1, 14), min_size=1, max_size=5), st.integers(2, 4), st.integers(1, 12), st.integers(0, 10**6)
)


@given(CASES)
@examples(60)
def test_team_drafts_are_possible_and_credited_as_single_ones(case: Any) -> None:
    sizes, n_models, length, seed = case
    rankings = many_rankings(sizes, n_models, length, seed)
    mixer, rng = VectorizedTeamDraft(rankings), np.random.default_rng(seed)
    query = rng.integers(0, len(sizes), 40)
    shown = mixer.mix(query, rng)
    clicked = (rng.random(shown.documents.shape) < 0.5) & (shown.documents < mixer.nothing)
    credit = mixer.credit(query, shown, clicked)
    for i, q in enumerate(query.tolist()):
        n = int(mixer.n_shown[q])
        assert (shown.documents[n:, i] == mixer.nothing).all()
        one = OneShown(mixer.row[shown.documents[:n, i]].tolist(), shown.teams[:n, i].tolist())
        expected = TeamDraft(lists_of(rankings, q), length).credit(one, np.flatnonzero(clicked[:, i]))
        np.testing.assert_array_equal(credit[:, i], expected)


@given(CASES, st.sampled_from(["joachims", "authors"]))
@examples(80)
def test_pairwise_preferences_are_possible_and_credited_as_single_ones(case: Any, pairs: str) -> None:
    sizes, n_models, length, seed = case
    rankings = many_rankings(sizes, n_models, length, seed)
    mixer, rng = VectorizedPPM(rankings, pairs=pairs), np.random.default_rng(seed)
    query = rng.integers(0, len(sizes), 40)
    shown = mixer.mix(query, rng)
    clicked = (rng.random(shown.documents.shape) < 0.4) & (shown.documents < mixer.nothing)
    credit = mixer.credit(query, shown, clicked)
    for i, q in enumerate(query.tolist()):
        n = int(mixer.n_shown[q])
        assert (shown.documents[n:, i] == mixer.nothing).all()
        documents = mixer.row[shown.documents[:n, i]].tolist()
        method = PairwisePreference(lists_of(rankings, q), length, pairs=pairs)
        expected = method.credit(documents, np.flatnonzero(clicked[:, i]))
        np.testing.assert_allclose(credit[:, i], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [3, 4])
@pytest.mark.parametrize(("many", "single"), [(VectorizedTeamDraft, TeamDraft), (VectorizedPPM, PairwisePreference)])
def test_lists_come_at_their_probabilities(many: Any, single: Any, length: int) -> None:
    rankings = many_rankings([4, 6], 3, length, seed=5)
    mixer, n = many(rankings), 40_000
    shown = mixer.mix(np.repeat([0, 1], n), np.random.default_rng(1))
    for q in (0, 1):
        method = single(lists_of(rankings, q), length)
        of_query = slice(q * n, (q + 1) * n)
        found = Counter(map(tuple, mixer.row[shown.documents[:, of_query]].T.tolist()))
        documents = sorted({d for one in lists_of(rankings, q) for d in one})
        expected = {one: method.probability(one) for one in permutations(documents, length)}
        expected = {one: p for one, p in expected.items() if p > 0}
        assert set(found) <= set(expected)
        assert sum(expected.values()) == pytest.approx(1, abs=1e-12)
        assert stats.chisquare([found[one] for one in expected], [n * p for p in expected.values()]).pvalue > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_a_simulation_equals_single_impressions(seed: int) -> None:
    """Simulated wins against a plain loop over the public methods: the same rates within error."""
    sizes = [12, 3, 7]
    y, qid, scores = made(sizes, 3, seed)
    outcome = simulate(y, scores, qid=qid, method="ppm", clicks=INFORMATIONAL, impressions=60_000, length=5)
    rng = np.random.default_rng(seed)
    wins, n = np.zeros((3, 3)), 3000
    methods = []
    for q in range(len(sizes)):
        rows = np.flatnonzero(qid == q)
        methods.append(PairwisePreference([rows[np.argsort(-s[rows])] for s in scores.values()], 5))
    for _ in range(n):
        method = methods[rng.integers(len(sizes))]
        shown = method.mix(rng)
        credit = method.credit(shown, INFORMATIONAL.clicks_on(y[shown.documents], rng))
        wins += credit[:, None] > credit[None, :] + 1e-9
    share = outcome.wins / outcome.n_impressions
    error = np.sqrt(share * (1 - share) / n) + 1e-9
    assert (np.abs(wins / n - share) < 4.5 * error).all()


@pytest.mark.parametrize("method", ["team_draft", "ppm"])
def test_the_outcome_depends_on_the_seed_alone(method: str) -> None:
    y, qid, scores = made([15, 4, 30], 3, 0)

    def wins(**options: Any) -> Any:
        options = {"random_state": 0, "impressions": 60_000} | options
        return simulate(y, scores, qid=qid, method=method, clicks=INFORMATIONAL, **options).wins

    alone = wins(n_threads=1)
    np.testing.assert_array_equal(wins(n_threads=4), alone)
    np.testing.assert_array_equal(wins(), alone)
    assert (wins(random_state=1) != alone).any()


@pytest.mark.parametrize("method", ["balanced", "team_draft", "ppm", "probabilistic", "optimized"])
def test_every_method_prefers_the_better_model(method: str) -> None:
    y, qid, scores = made([12] * 20, 1, 3)
    models = {"worse": scores["m0"], "better": scores["m0"] + 2.0 * y}
    outcome = simulate(y, models, qid=qid, method=method, clicks=INFORMATIONAL, impressions=1500, length=5)
    assert outcome.preference[1, 0] > 0.55
    assert outcome.error(metric="ndcg_lin@10") == 0
    assert outcome.method == method


@pytest.mark.parametrize("method", ["balanced", "team_draft", "ppm", "probabilistic"])
def test_equal_models_are_tied_on_average(method: str) -> None:
    """Ties of scores are broken alike in all models, so that two with the same scores rank the same."""
    y, qid, scores = made([8, 3], 1, 4, tied=True)
    models = {"a": scores["m0"], "b": scores["m0"] * 2}
    for ties in ("stable", "random"):
        outcome = simulate(y, models, qid=qid, method=method, clicks=INFORMATIONAL, impressions=4000, ties=ties)
        won, lost = outcome.wins[0, 1], outcome.wins[1, 0]
        assert abs(won - lost) <= 4 * np.sqrt(won + lost)
        assert outcome.error(metric="ndcg@10", by="credit") in (0, 0.5)
        if method in ("balanced", "ppm"):
            assert won == lost == 0


def test_what_is_wrong_with_many_queries_is_said_once() -> None:
    y, qid, scores = made([4, 4, 4, 4, 4, 4], 5, 2)
    options = {"method_options": {"max_lists": 2}, "impressions": 300, "length": 3}
    with pytest.warns(ltr.LtrWarning, match=r"\d of 6 queries that were shown.*no unbiased probabilities") as said:
        simulate(y, scores, qid=qid, method="optimized", clicks=INFORMATIONAL, **options)
    assert len(said) == 1


def test_queries_are_drawn_by_weight() -> None:
    """Only the first query tells the models apart, and it is shown in three impressions of four."""
    y, qid = [2, 0, 0, 0], ["a", "a", "b", "b"]
    models = {"good": [1, 0, 1, 0], "bad": [0, 1, 0, 1]}
    perfect = ClickModel.perfect(grades=3)
    outcome = simulate(
        y,
        models,
        qid=qid,
        method="team_draft",
        clicks=perfect,
        impressions=40_000,
        length=1,
        query_weight={"a": 3, "b": 1},
    )
    # With one document shown whoever drafts first has it: the good model half of the time, which then wins.
    assert outcome.wins[0, 1] / 40_000 == pytest.approx(0.375, abs=0.012)
    assert outcome.wins[1, 0] == 0


def test_what_is_not_retrieved_is_not_shown() -> None:
    y, qid = [2, 0, 0, 0, 2], [1, 1, 1, 1, 2]
    models = {"a": [9, 3, 2, 1, 0], "b": [0, 1, 2, 3, 0]}
    outcome = simulate(
        y,
        models,
        qid=qid,
        retrieved=[False, True, True, True, False],
        method="ppm",
        clicks=ClickModel([0, 0, 1]),
        impressions=500,
    )
    assert outcome.wins.sum() == 0  # all that is relevant is not there


def test_ties_of_scores() -> None:
    """Rows list the relevant document first: a model without opinion shows it first under "stable",
    anywhere under "random".
    """
    y = np.tile([2, 0, 0, 0], 200)
    qid = np.repeat(np.arange(200), 4)
    models = {"none": np.zeros(800), "wrong": -y}

    def offline(ties: str) -> dict[str, float]:
        outcome = simulate(y, models, qid=qid, method="ppm", clicks=INFORMATIONAL, impressions=10, ties=ties)
        return dict(outcome.offline("mrr"))

    assert offline("stable")["none"] == 1
    assert offline("random")["none"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=0.08)
    assert offline("random")["wrong"] == offline("stable")["wrong"] == 0.25


@pytest.mark.parametrize("pairs", ["joachims", "authors"])
def test_random_clicks_favour_nobody(pairs: str) -> None:
    """Fidelity: every model's mean credit has the expectation 0. Who wins more impressions is another matter."""
    y, qid, scores = made([20, 9, 4, 30], 4, 8)
    options = {"method_options": {"pairs": pairs}, "impressions": 400_000, "random_state": 3}
    outcome = simulate(y, scores, qid=qid, method="ppm", clicks=ClickModel.random(grades=3), **options)
    if pairs == "joachims":
        assert (np.abs(outcome.credit) < 0.02).all()
    assert (outcome.to_pandas()["p_credit"] > 1e-4).all()


def test_length_beyond_the_documents_shows_all() -> None:
    y, qid, scores = made([3, 2], 2, 9)
    users = ClickModel([1, 1, 1])
    outcome = simulate(y, scores, qid=qid, method="team_draft", clicks=users, length=50, impressions=2000)
    drawn = outcome.credit.sum()  # every document is clicked, so credit counts documents
    assert 2 < drawn < 3


@pytest.mark.parametrize("method", ["team_draft", "ppm"])
def test_lists_of_hundreds(method: str) -> None:
    y, qid, scores = made([700, 300], 3, 10)
    outcome = simulate(y, scores, qid=qid, method=method, clicks=INFORMATIONAL, length=200, impressions=300)
    assert np.isfinite(outcome.credit).all()


# -- what is refused -------------------------------------------------------------------------------

Y, QID, MODELS = [1, 0, 2], [1, 1, 1], {"a": [1, 2, 3], "b": [3, 2, 1]}
GOOD: dict[str, Any] = {"qid": QID, "method": "ppm", "clicks": INFORMATIONAL, "impressions": 10}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "pmp"}, "Did you mean 'ppm'"),
        ({"clicks": "informational"}, r"clicks must be a ClickModel, such as ClickModel.informational\(grades=3\)"),
        ({"clicks": ClickModel.informational(grades=2)}, "grades 0 to 1, but there is a document of grade 2"),
        ({"clicks": ClickModel.position_based([0.1, 0.5, 1], [1, 0.5])}, "Got 2 for 3 slots"),
        ({"impressions": 0}, "impressions must be a whole number of at least 1. Got 0"),
        ({"length": 0}, "length must be a whole number"),
        ({"ties": "mean"}, "ties must be one of 'stable', 'random'"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"method_options": {"tau": 2}}, "PairwisePreference has no option 'tau'. Options: pairs"),
        ({"method_options": {"pair": "authors"}}, "Did you mean 'pairs'"),
        ({"method_options": {"pairs": "mine"}}, "pairs must be one of 'joachims', 'authors'"),
        ({"method": "team_draft", "method_options": {"pairs": "authors"}}, "no option 'pairs'. Options: none"),
        ({"q_weight": [1]}, "simulate has no option 'q_weight'. Did you mean 'query_weight'"),
        ({"query_weight": [0]}, "weight 0"),
        ({"n_threads": 0}, "n_threads must be a whole number"),
        ({"group": [3]}, "exactly one of qid"),
    ],
)
def test_bad_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        simulate(Y, MODELS, **(GOOD | wrong))


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"a": [1, 2, 3]}, "two or more models"),
        ([[1, 2, 3], [3, 2, 1]], "scores must map names to score vectors"),
        ({"a": [1, 2, 3], "b": [1, float("nan"), 3]}, "b: y_score must not be NaN: got nan at row 1"),
        ({"a": [1, 2, 3], "b": [1, 2]}, "b: y_score must have one entry a row"),
        ({"a": [1, 2, 3], 2: [1, 2, 3]}, "names of models"),
    ],
)
def test_bad_scores_are_named(scores: Any, message: str) -> None:
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        simulate(Y, scores, **GOOD)


def test_fractional_grades_are_refused() -> None:
    with pytest.raises(ltr.LtrValueError, match=r"there is a document of grade 0.5"):
        simulate([1, 0, 0.5], MODELS, **GOOD)


def test_queries_take_no_further_data() -> None:
    queries = ltr.Queries(Y, qid=QID)
    assert simulate(queries, MODELS, **{k: v for k, v in GOOD.items() if k != "qid"}).n_impressions == 10
    with pytest.raises(ltr.LtrTypeError, match="leave out qid"):
        simulate(queries, MODELS, **GOOD)


def test_a_bar_shows_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(Y, MODELS, progress=True, **GOOD)
    assert "10.0/10.0" in capsys.readouterr().err


def test_an_outcome_is_sent_between_processes() -> None:
    outcome = simulate(Y, MODELS, **GOOD)
    again = pickle.loads(pickle.dumps(outcome))
    assert again.wins.tolist() == outcome.wins.tolist()
    assert again.error(metric="ndcg@10") == outcome.error(metric="ndcg@10")


def test_users_of_a_longer_scale_are_a_warning() -> None:
    with pytest.warns(ltr.LtrWarning, match="grades 0 to 4, and the highest label is 2"):
        simulate(Y, MODELS, **(GOOD | {"clicks": ClickModel.informational(grades=5)}))
    simulate(Y, MODELS, **(GOOD | {"clicks": ClickModel.random(grades=5)}))  # who are alike on all grades


def test_many_pairs_are_counted_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of hundreds have so many pairs of places that a block's impressions are taken in parts:
    with the same outcome.
    """
    y, qid, scores = made([40, 25], 3, 11)

    def credit() -> Any:
        return simulate(y, scores, qid=qid, method="ppm", clicks=INFORMATIONAL, impressions=300, length=30).credit

    whole = credit()
    monkeypatch.setattr("ltr_metrics.interleaving.simulation.ppm.MAX_CELLS", 1)
    np.testing.assert_array_equal(credit(), whole)


def test_ranks_of_scattered_queries_of_many_sizes() -> None:
    """Against a plain sort of each query."""
    rng = np.random.default_rng(0)
    qid, y = rng.integers(0, 40, 900), rng.integers(0, 3, 900)
    scores = [rng.normal(size=900).round(), np.where(rng.random(900) < 0.3, np.inf, rng.normal(size=900))]
    retrieved = rng.random(900) < 0.8
    queries = ltr.Queries(y, qid=qid, retrieved=retrieved)
    tie_break = rng.permutation(900)
    for ties in (None, tie_break):
        rankings = RankingArrays.from_scores(queries, scores, 10, ties)
        second = np.arange(900) if ties is None else ties
        at = 0
        for one in queries.qid.tolist():
            rows = np.flatnonzero((qid == one) & retrieved)
            here = rankings.row[at : at + len(rows)]
            np.testing.assert_array_equal(here, rows)
            for model, score in enumerate(scores):
                order = sorted(rows.tolist(), key=lambda row: (-score[row], second[row]))
                expected = {row: rank for rank, row in enumerate(order, start=1)}
                assert rankings.rank[model, at : at + len(rows)].tolist() == [expected[row] for row in here.tolist()]
            at += len(rows)
        assert at == len(rankings.row)
