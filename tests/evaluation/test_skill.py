"""Chance, ideal and skill: against every order, against shuffles, and how a result carries and shows them."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
from exact import ORDER_METRICS
from hypothesis import given
from hypothesis import strategies as st
from profiles import every_third, examples
from strategies import Data, data
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics.counterfactual import ClickMetric
from ltr_metrics.counterfactual import evaluate as evaluate_clicks
from ltr_metrics.io import read_letor
from ltr_metrics.metrics import LabelledQueries
from ltr_metrics.metrics.conventions import CONVENTIONS
from ltr_metrics.metrics.kinds import Kind

pytestmark = pytest.mark.filterwarnings("ignore:(err|pfound) (counts grades|takes the labels)")


# -- against every order, by the formula -----------------------------------------------------------------------------


def ends_by_formula(entry: Entry, d: Data, k: int | None, retrieved: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield the mean over all orders of each query's ranked documents, and the best value that any scores reach."""
    for rows, n in zip(d.rows(), d.group, strict=True):
        columns = {name: column[rows] for name, column in d.columns.items()}

        def value(scores: Any, rows: Any = rows, columns: Any = columns) -> float:
            options = {"k": k, "ties": "stable"}
            return float(entry.value(d.y[rows], np.array(scores), columns, retrieved[rows], **options))

        orders = reached = list(map(value, itertools.permutations(range(n))))
        if entry.name in ORDER_METRICS:  # for which tied scores are an order of their own
            reached = list(map(value, itertools.product(range(n), repeat=n)))
        yield math.fsum(orders) / len(orders), (max if entry.cls.higher_is_better else min)(reached)


@pytest.mark.parametrize("entry", TABLE, ids=str)
@given(
    d=data(max_documents=4, max_queries=3),
    share_retrieved=st.sampled_from([1.0, 0.7]),
    ties=st.sampled_from(["mean", "stable", "worst", "best"]),
    no_relevant=st.sampled_from(["skip", "drop", 0.0, 1.0]),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@examples(25)
def test_are_the_mean_and_the_best_of_all_orders(
    entry: Entry, d: Data, share_retrieved: float, ties: Any, no_relevant: Any, weighted: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    retrieved = rng.random(len(d.y)) < share_retrieved
    retrieved[0] = True
    weight = rng.integers(0, 4, len(d.group)) if weighted else None
    result = ltr.evaluate(
        entry.labels(d.y),
        np.where(retrieved, d.score, np.nan),
        qid=d.qid,
        metrics=entry.metrics(),
        ties=ties,
        no_relevant=no_relevant,
        judged=d.columns["judged"],
        columns={"margin": d.columns["margin"]},
        retrieved=retrieved,
        query_weight=weight,
    )
    for metric in entry.metrics():
        expected = np.array(list(ends_by_formula(entry, d, metric.cutoff, retrieved))).T
        is_undefined = np.isnan(expected[0])
        if no_relevant == "drop":
            expected[:, np.isnan(result.per_query[metric])] = np.nan
        elif no_relevant != "skip":
            expected[:, is_undefined] = no_relevant
        means = []
        for got, end in zip((result.chance_per_query, result.ideal_per_query), expected, strict=True):
            np.testing.assert_allclose(got[metric], end, rtol=1e-12, atol=1e-12)
            weights = np.where(np.isnan(end), 0, 1.0 if result.weight is None else result.weight)
            means.append(float(weights @ np.nan_to_num(end) / weights.sum()) if weights.sum() else math.nan)
        chance, ideal = means
        assert result.chance[metric] == pytest.approx(chance, abs=1e-12, nan_ok=True)
        assert result.ideal[metric] == pytest.approx(ideal, abs=1e-12, nan_ok=True)
        if abs(ideal - chance) > 1e-9:
            assert result.skill[metric] == pytest.approx((result[metric] - chance) / (ideal - chance), abs=1e-9)
        elif not abs(ideal - chance) > 0:
            assert math.isnan(result.skill[metric])
            assert math.isnan(chance) or "every order" in result.skill_notes[metric]


# -- against every order, by evaluating each of them ------------------------------------------------------------------

Y = np.array([2, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 4, 3, 0, 2.0])
GROUP = [4, 3, 3, 1, 4]
N_ORDERS = 24  # of four documents; a multiple of those of three, two and one


def each_order(retrieved: np.ndarray) -> Iterator[np.ndarray]:
    """Yield scores in which each order of each query's ranked documents occurs equally often."""
    for i in range(N_ORDERS):
        scores = np.zeros(len(Y))
        for end, n in zip(np.cumsum(GROUP), GROUP, strict=True):
            rows = np.arange(end - n, end)[retrieved[end - n : end]]
            orders = list(itertools.permutations(range(len(rows))))
            scores[rows] = orders[i % len(orders)]
        yield scores


def check(
    metrics: Any, y: np.ndarray = Y, retrieved: np.ndarray | None = None, *, is_declared: bool = True, **options: Any
) -> None:
    """Check both ends of each query against every order, or that they are NaN if no best order is declared."""
    of_policy = {name: options.pop(name) for name in ("convention", "ties", "no_relevant") if name in options}
    is_ranked = np.ones(len(y), dtype=bool) if retrieved is None else retrieved
    queries = ltr.Queries(y, group=GROUP, retrieved=retrieved, **options)
    orders = [queries.evaluate(scores, metrics, **of_policy) for scores in each_order(is_ranked)]
    result = queries.evaluate(np.sin(np.arange(len(y))), metrics, **of_policy)
    weak = (np.resize(one, len(y)) for one in itertools.product(range(4), repeat=4))  # some are of every query's
    with_ties = (
        [queries.evaluate(one, metrics, **of_policy) for one in weak] if ORDER_METRICS.keys() & set(result) else []
    )
    for name in result:
        assert is_declared == ("best order" not in result.skill_notes.get(name, ""))
        if not is_declared:
            assert "does not follow from what it declares" in result.skill_notes[name]
            assert np.isnan([*result.chance_per_query[name], *result.ideal_per_query[name], result.skill[name]]).all()
            continue
        values = np.array([one.per_query[name] for one in orders])
        reached = np.array([one.per_query[name] for one in orders + with_ties])
        best = reached.min(axis=0) if name in result.lower_is_better else reached.max(axis=0)
        np.testing.assert_allclose(result.chance_per_query[name], values.mean(axis=0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(result.ideal_per_query[name], best, rtol=1e-12, atol=1e-13)
        assert result.chance[name] == pytest.approx(np.mean([one[name] for one in orders]), abs=1e-12, nan_ok=True)


CHOICES = [
    (name, f"{metric}(price)" if metric.endswith("_of") else metric)
    for name, convention in CONVENTIONS.items()
    for metric in convention.metrics
]


@pytest.mark.parametrize(("convention", "metric"), every_third(CHOICES))
def test_hold_under_every_convention(convention: str, metric: str) -> None:
    fixed = CONVENTIONS[convention].metrics[metric.removesuffix("(price)")]
    has_cutoff = isinstance(ltr.metric(metric), ltr.RankMetric) and "k" not in fixed
    name = f"{metric}@3" if has_cutoff else metric
    columns, n_checked = {"price": np.cos(np.arange(len(Y)))}, 0
    for weight, y, some in itertools.product((None, [1, 2, 0.5, 3, 1]), (Y, np.minimum(Y, 1)), (False, True)):
        options: dict[str, Any] = {"query_weight": weight, "docid": np.arange(len(Y)), "columns": columns}
        retrieved = np.arange(len(Y)) % 4 > 0 if some else None
        try:
            ltr.evaluate(y, Y, group=GROUP, metrics=name, convention=convention, **options)
        except ltr.LtrValueError:  # the system does not have such labels or weights
            continue
        check(name, y, retrieved, convention=convention, **options)
        n_checked += 1
    assert n_checked >= 2


@pytest.mark.parametrize("unjudged", ["zero", "drop"])
def test_hold_with_documents_that_are_not_judged(unjudged: Any) -> None:
    judged = (np.arange(len(Y)) % 3 > 0) | (Y > 0)
    metrics = ["ndcg@3", "map", "bpref", "judged@2", "arp", "iprec", "kendall", "rprec", "err@2", "q@2", "rbp", "hit@1"]
    for retrieved in (None, np.arange(len(Y)) % 5 != 1):
        check(metrics, Y, retrieved, judged=judged, unjudged=unjudged)


# -- metrics of the user's --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Own(ltr.RankMetric):
    """A metric whose tables are parameters."""

    NAME: ClassVar[str] = "own"
    gain: tuple[float, ...] = (0, 1, 2, 3, 4)
    weight: tuple[float, ...] = (1, 0.5, 0.25, 0.1)
    divide_by: float = 1

    def by_grade(self, queries: LabelledQueries) -> np.ndarray:
        return np.asarray(self.gain)[queries.grades.astype(int)]

    def by_rank(self, queries: LabelledQueries, depth: int) -> np.ndarray:
        return np.asarray(self.weight[:depth])

    def divisor(self, queries: LabelledQueries, k: int | None) -> np.ndarray:
        return np.where(queries.count_by_query(queries.grades > 1) > 0, self.divide_by, 1.0)


def own(kind: str, higher_is_better: bool) -> type[Own]:
    """Return the class of another kind and direction."""
    body = {"KIND": kind, "higher_is_better": higher_is_better, "__module__": __name__, "__annotations__": {}}
    return dataclass(frozen=True, kw_only=True)(type("Own", (Own,), body))


@dataclass(frozen=True, kw_only=True)
class OwnByQuery(Own):
    """Its weights differ from query to query."""

    NAME: ClassVar[str] = "own_by_query"

    def by_rank(self, queries: LabelledQueries, depth: int) -> np.ndarray:
        of_query = np.sin(np.arange(queries.n_queries))[:, None]
        return of_query * np.asarray(self.weight[:depth])


@dataclass(frozen=True, kw_only=True)
class OwnMAP(ltr.MAP):
    """Precisions that are divided by the square of the rank."""

    NAME: ClassVar[str] = "own_map"

    def by_rank(self, queries: LabelledQueries, depth: int) -> np.ndarray:
        return np.arange(1.0, depth + 1) ** 2


@dataclass(frozen=True, kw_only=True)
class OwnRelevant(ltr.Bpref):
    """A grade is relevant, and a higher one is not."""

    NAME: ClassVar[str] = "own_relevant"

    def relevant(self, queries: LabelledQueries) -> np.ndarray:
        return queries.grades == 1


@dataclass(frozen=True, kw_only=True)
class WorstARP(ltr.ARP):
    NAME: ClassVar[str] = "worst_arp"
    higher_is_better: ClassVar[bool] = True


def middle(ranks: np.ndarray) -> np.ndarray:
    """A discount by which the second rank counts most."""
    return 1 / (1 + np.abs(ranks - 2))


TABLES: tuple[dict[str, Any], ...] = (
    {},
    {"k": 2},
    {"weight": (0.1, 1, 0.5, 2)},  # rises and falls
    {"weight": (0.1, 1, 0.5, 2), "k": 3},
    {"weight": (1, 2, 3, 4)},  # as a divisor, it is usual
    {"weight": (1, -1, -2, -3), "k": 2},  # a document below the cutoff costs nothing
    {"gain": (0.5, 0.3, 0.9, 0, 0.2)},  # a higher grade may be worth less
    {"divide_by": -2.0},
)


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_own_classes_have_it_if_a_best_order_follows(table: dict[str, Any], kind: str, higher_is_better: bool) -> None:
    metric = own(kind, higher_is_better)(**table | ({"gain": (0.1, 0.9, 0, 0.5, 1)} if kind == "cascade" else {}))
    if kind == "precisions" and min(metric.weight) < 0:
        return  # which is refused
    rises, falls = metric.weight == tuple(sorted(metric.weight)), metric.weight == Own.weight
    follows = {"gains": True, "precisions": rises and higher_is_better, "cascade": falls and metric.divide_by > 0}
    for retrieved in (None, np.arange(len(Y)) % 4 > 0):
        check(metric, Y, retrieved, is_declared=follows[kind])


@pytest.mark.parametrize(
    ("metric", "is_declared"),
    [
        *(
            (own("gains", higher)(weight=weight, gain=(-1, 0, 2, -3, 1)), True)
            for higher in (True, False)
            for weight in ((1, 1, -1, 0), (-1, -2, 0, 1))
        ),
        *((OwnByQuery(k=k), True) for k in (None, 2)),
        *((OwnMAP(denominator=denominator, k=3), denominator == "min") for denominator in ("min", "hits")),
        (OwnRelevant(), True),
        (WorstARP(), True),
        (ltr.DCG(k=2, gain=(0.0, -1.0, 3.0, 2.0, -2.0)), True),
        (ltr.DCG(k=3, discount=middle), True),
    ],
    ids=str,
)
def test_unusual_tables_have_it(metric: ltr.Metric, is_declared: bool) -> None:
    for retrieved in (None, np.arange(len(Y)) % 4 > 0):
        check(metric, Y, retrieved, is_declared=is_declared)


def test_metrics_of_clicks_and_columns_have_it() -> None:
    columns = {"propensity": 1 / (1 + np.arange(len(Y)) % 4), "price": np.cos(np.arange(len(Y))), "seen": Y / 5}
    clicks = (Y > 0).astype(float)
    dr = ClickMetric(metric="dcg@2", estimator="dr", baseline="seen")  # whose gains may be negative
    metrics = [ClickMetric(metric="dcg@2"), dr, "sum_of(price)@2", "mean_of(price)@3", "sum_of(price)"]
    check(metrics, clicks, columns=columns)


@dataclass(frozen=True, kw_only=True)
class ReadsScores(ltr.Metric):
    NAME: ClassVar[str] = "reads_scores"

    def values(self, ranking: ltr.Ranking) -> np.ndarray:
        return ranking.sum_by_query((ranking.scores - ranking.queries.grades[ranking.grades - 1]) ** 2)


def test_functions_and_infinite_values_have_none() -> None:
    for metric in (ReadsScores(), ltr.as_metric(lambda grades, columns: grades[0], name="top")):
        result = ltr.evaluate([2, 0, 0, 1], [4, 3, 2, 1.0], group=[4], metrics=[metric, "mrr"], skill=True)
        assert "has no chance level: its best order is not known, because it is a function" in str(result)
        assert np.isnan([result.skill[metric], result.chance[metric], result.ideal[metric]]).all()
        assert (result.skill["mrr"], list(result.skill_notes)) == (1, [str(metric)])
    queries = ltr.Queries([2, 0], group=[2])
    undefined = queries.evaluate([1, 2], Own(divide_by=0.0, weight=(1, 0)))  # 0 / 0 in this order
    assert "infinite for some orders" in undefined.skill_notes[Own(divide_by=0.0, weight=(1, 0))]


# -- what a result does with them -------------------------------------------------------------------------------------


def make(**options: Any) -> tuple[ltr.Queries, np.ndarray]:
    X, y, qid = ltr.make_ranking(n_queries=40, documents=12, random_state=0)
    return ltr.Queries(y, qid=qid, **options), X[:, 0]


METRICS = ["NDCG@10", "map", "arp"]


def test_segments_and_subsets_have_their_own() -> None:
    queries, scores = make(by=["de", "fr"] * 20)
    result = queries.evaluate(scores, METRICS, skill=True)
    X, y, qid = ltr.make_ranking(n_queries=40, documents=12, random_state=0)
    rows = np.isin(qid, result.qid[::2])
    alone = ltr.evaluate(y[rows], X[rows, 0], qid=qid[rows], metrics=METRICS)
    for part in (result.by["de"], result.subset(result.qid[::2])):
        assert part.shows_skill
        assert part.skill == pytest.approx(alone.skill, abs=1e-13)
        assert part.chance == pytest.approx(alone.chance, abs=1e-13)
    assert "skill by segment" in str(result)
    (german, _) = result.to_dict()["by"]
    assert german["skill"] == pytest.approx(alone.skill, abs=1e-13)


def test_it_is_saved_shown_and_exported_if_it_is_asked_for(tmp_path: Path) -> None:
    queries, scores = make()
    plain, result = (queries.evaluate(scores, [*METRICS, ReadsScores()], skill=skill) for skill in (False, True))
    assert "skill" not in str(plain)
    assert "chance" not in plain.to_dict()
    assert {"chance", "ideal", "skill", "skill_notes", "chance_per_query"} <= result.to_dict().keys()
    assert list(result.to_pandas())[7:9] == ["chance:ndcg_exp@10", "chance:map"]
    assert result.to_pandas()["ideal:map"].mean() == pytest.approx(result.ideal["map"])
    for one in (plain, result):
        one.save(tmp_path / "result.parquet")
        loaded = ltr.load_result(tmp_path / "result.parquet")
        assert loaded.shows_skill == one.shows_skill
        if one is plain:
            with pytest.raises(ltr.LtrValueError, match="saved without one.*skill=True"):
                loaded.skill  # noqa: B018
        else:
            assert str(loaded) == str(result)
            np.testing.assert_equal(dict(loaded.chance_per_query), dict(result.chance_per_query))
            assert loaded.skill_notes == result.skill_notes != {}
            for again in (ltr.load_result(tmp_path / "result.parquet"), result.subset(result.qid[::2])):
                assert str(pickle.loads(pickle.dumps(again))) == str(again)
    read = ltr.Evaluation.from_per_query(result.to_pandas(), convention="default")
    assert read.skill["map"] == result.skill["map"]
    assert math.isnan(read.skill["reads_scores"])
    assert "reads_scores" in read.skill_notes


@pytest.mark.parametrize("no_relevant", ["skip", 1])
def test_copies_keep_what_is_computed(no_relevant: Any) -> None:
    queries, scores = make()
    result = queries.evaluate(scores, METRICS, no_relevant=no_relevant)
    with pytest.raises(ltr.LtrValueError, match="a copy, such as from another process.*skill=True"):
        pickle.loads(pickle.dumps(result)).skill  # noqa: B018
    expected = result.skill
    assert pickle.loads(pickle.dumps(result)).skill == copy.copy(result).skill == expected
    del queries
    assert result.subset(result.qid[:9]).skill.keys() == expected.keys()


def test_other_results_say_why_they_have_none() -> None:
    log: dict[str, Any] = {"group": [2] * 200, "propensity": [1.0, 0.5] * 200}
    clicks = evaluate_clicks([1, 0] * 200, [1, 2] * 200, **log)
    with pytest.raises(ltr.LtrValueError, match="clicks do not say what is relevant"):
        clicks.skill  # noqa: B018
    frame = {"qid": [1, 2], "map": [0.5, 1.0]}
    with pytest.raises(ltr.LtrValueError, match="from_per_query.*skill=True"):
        ltr.Evaluation.from_per_query(frame, convention="trec_eval").chance  # noqa: B018
    batches = [([1, 0], [0.2, 0.8], [7, 7]), ([0, 2], [0.1, 0.7], [9, 9])]
    with pytest.raises(ltr.LtrValueError, match="in batches"):
        ltr.evaluate_batches(batches, "map").skill  # noqa: B018
    result = ltr.evaluate_batches(batches, "map", skill=True)
    assert (result.chance["map"], result.skill["map"]) == (0.75, 0.0)


def test_positions_are_orders_of_the_documents_that_have_one() -> None:
    y, group = [1, 0, 0, 1, 0, 2], [3, 3]
    position = [math.nan, 1, 2, 2, 1, math.nan]
    result = ltr.evaluate(y, ltr.Positions(position), group=group, metrics=["ndcg@2", "recall@1"])
    retrieved = ~np.isnan(position)
    same = ltr.evaluate(y, -np.nan_to_num(position), group=group, metrics=["ndcg@2", "recall@1"], retrieved=retrieved)
    assert result.skill == same.skill
    assert result.ideal["ndcg@2"] < 1
    assert result.ideal["recall@1"] == 0.25  # one of two relevant documents, and none of one


def test_a_value_that_says_little_gets_a_note() -> None:
    group, metrics = [10] * 20, ["precision@5", "mrr"]
    nearly_all, most = (np.where(np.arange(200) % n == 0, 0.0, 1.0) for n in (20, 5))
    result = ltr.evaluate(nearly_all, np.arange(200.0), group=group, metrics=metrics, skill=True)
    assert result.chance["precision@5"] == pytest.approx(0.95)
    assert list(result.skill_notes) == ["precision@5", "mrr"]
    assert "a random order scores 0.95" in str(result)
    assert "set rel=" in str(result)
    assert not ltr.evaluate(most, np.arange(200.0), group=group, metrics=metrics[:1]).skill_notes
    few = np.where(np.arange(200) == 0, 1.0, 0.0)
    filled = ltr.evaluate(few, np.arange(200.0), group=group, metrics=["ndcg@5"], no_relevant=1)
    assert "19 of 20 queries are undefined and get a number" in filled.skill_notes["ndcg@5"]
    assert not ltr.evaluate(few, np.arange(200.0), group=group, metrics=["ndcg@5"]).skill_notes
    alike = ltr.evaluate(np.ones(200), np.arange(200.0), group=group, metrics=["ndcg@5"], skill=True)
    assert math.isnan(alike.skill["ndcg@5"])
    assert "every order of the documents has the same mean, 1" in str(alike)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_standard_error_is_that_of_a_ratio(clustered: bool, weighted: bool) -> None:
    """Against the linearized variance with the covariance of numerator and denominator, written out."""
    weight = 1 + np.arange(40.0) % 3 if weighted else None
    queries, scores = make(query_weight=weight, cluster=np.arange(40) // 4 if clustered else None)
    result = queries.evaluate(scores, ["map"], skill=True)
    value, chance, ideal = (one["map"] for one in (result.per_query, result.chance_per_query, result.ideal_per_query))
    at = ~np.isnan(value)
    a, b, w = (value - chance)[at], (ideal - chance)[at], (np.ones(40) if weight is None else weight)[at]
    unit = (np.arange(40) // 4 if clustered else np.arange(40))[at]
    mean_a, mean_b = w @ a / w.sum(), w @ b / w.sum()
    sums = np.array([np.bincount(unit, w * (x - mean))[np.unique(unit)] for x, mean in ((a, mean_a), (b, mean_b))])
    n = sums.shape[1]
    covariance = n / (n - 1) * sums @ sums.T / w.sum() ** 2
    skill = mean_a / mean_b
    gradient = np.array([1 / mean_b, -skill / mean_b])
    assert result.skill["map"] == pytest.approx(skill)
    assert result.skill_standard_error["map"] == pytest.approx(np.sqrt(gradient @ covariance @ gradient))
    interval = ltr.intervals(result)["map"]
    assert interval.skill_standard_error == pytest.approx(result.skill_standard_error["map"])
    assert interval.skill_ci_low < interval.skill < interval.skill_ci_high


def test_a_comparison_has_the_difference_of_skills() -> None:
    queries, scores = make(by=["de", "fr"] * 20)
    new = scores + np.sin(np.arange(len(scores)))
    comparison = ltr.compare({"base": scores, "new": new}, queries, metrics=METRICS, skill=True)
    results = {"base": queries.evaluate(scores, METRICS), "new": queries.evaluate(new, METRICS)}
    for row in comparison.rows:
        skills = [one.skill[row.metric] for one in results.values()]
        assert (row.baseline_skill, row.skill) == pytest.approx(tuple(skills))
        assert row.skill_ci_low < row.skill_difference == row.skill - row.baseline_skill < row.skill_ci_high
    assert comparison["arp"].difference > 0 > comparison["arp"].skill_difference  # lower is better, except for skill
    assert comparison.by["de"]["map"].skill == pytest.approx(results["new"].subset(comparison.qid[::2]).skill["map"])
    assert ltr.compare(results, skill=True).rows == comparison.rows
    without = ltr.compare({name: one.with_skill() for name, one in results.items()})
    assert without["map"].skill is None
    assert "Skill" not in str(without)
    assert "skill" not in without.to_pandas()
    assert "Skill" in str(comparison)
    seeds = ltr.compare({"base": scores, "new": [new, scores]}, queries, metrics=["map"], skill=True)["map"]
    assert seeds.skill == pytest.approx((results["base"].skill["map"] + results["new"].skill["map"]) / 2)


def test_explanations_say_what_is_left_after_the_correction(data: Path) -> None:
    X, y, qid = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])
    options: dict[str, Any] = {"qid": qid, "metric": "ndcg@10"}
    explained = ltr.explain_difference(y, X[:, 24], **options, a="lightgbm", b="trec_eval", ties="stable")
    assert "the skill is 0.1636 under lightgbm and 0.1632 under trec_eval" in str(explained)
    identified = ltr.identify_convention(y, X[:, 24], **options, value=0.6791)
    assert identified.skill == pytest.approx(0.1636, abs=5e-5)
    assert "a skill of 0.1636" in str(identified)
    assert "skill" not in str(ltr.identify_convention(y, X[:, 24], **options, value=0.123456))


# -- real data --------------------------------------------------------------------------------------------------------

BM25 = (  # value, random order, ideal and skill, with ties in file order; docs/guide/is_it_good.md has them
    ("letor", 0.1623, 0.1172, 0.3737, 0.176),
    ("trec_eval", 0.4052, 0.3439, 0.7194, 0.163),
    ("sklearn", 0.4052, 0.3439, 0.7194, 0.163),
    ("gdeval", 0.5540, 0.4667, 1, 0.164),
    ("lightgbm", 0.6791, 0.6164, 1, 0.164),
    ("xgboost", 0.6791, 0.6164, 1, 0.164),
    ("catboost", 0.6858, 0.6245, 1, 0.163),
)


def test_the_conventions_agree_on_the_skill_of_bm25(data: Path) -> None:
    X, y, qid = read_letor([data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 6)])
    queries = ltr.Queries(y, qid=qid)
    for convention, *expected, skill in BM25:
        result = queries.evaluate(X[:, 24], "ndcg@10", convention=convention, ties="stable")
        found = [one["ndcg@10"] for one in (result.mean, result.chance, result.ideal)]
        assert found == pytest.approx(expected, abs=5e-5), convention
        assert result.skill["ndcg@10"] == pytest.approx(skill, abs=5e-4)
    page = (Path(__file__).parents[2] / "docs" / "guide" / "is_it_good.md").read_text(encoding="utf-8")
    for convention, *numbers in BM25:
        (line,) = (line for line in page.splitlines() if line.startswith("|") and f'"{convention}"' in line)
        digits = [f"{number:.4f}".removeprefix("0") if number < 1 else "1" for number in numbers[:3]]
        assert digits == [cell.strip().strip("*") for cell in line.split("|")[2:5]]
        assert f"{numbers[3]:.3f}".removeprefix("0") in line


@pytest.mark.parametrize("metric", ["map", "ndcg@5", "err@10", "mrr", "p@3"])
def test_constant_scores_have_exactly_no_skill(metric: str) -> None:
    rng = np.random.default_rng(0)
    for size in (7, 10, 33):
        y = rng.integers(0, 3, 6 * size)
        assert ltr.evaluate(y, np.zeros(len(y)), group=[size] * 6, metrics=metric).skill[metric] == 0
