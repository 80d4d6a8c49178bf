"""Chance, ideal and skill: against every order, against shuffles, and how a result carries and shows them."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from strategies import Data, data
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics.counterfactual import ClickMetric
from ltr_metrics.io import read_letor
from ltr_metrics.metrics.conventions import CONVENTIONS

pytestmark = pytest.mark.filterwarnings("ignore:(err|pfound) (counts grades|takes the labels)")


# -- against every order, by the slow reference -----------------------------------------------------------------------


def ends_by_reference(entry: Entry, d: Data, k: int | None, retrieved: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield the mean over all orders of each query's ranked documents, and the best value that any scores reach."""
    for end, n in zip(np.cumsum(d.group), d.group, strict=True):
        rows = slice(end - n, end)
        options: dict[str, Any] = {
            "k": k,
            "ties": "stable",
            "retrieved": retrieved[rows].tolist(),
            "column": None if entry.column is None else d.columns[entry.column][rows].tolist(),
            "judged": d.columns["judged"][rows].tolist() if entry.reads_judged else None,
            **entry.formula(),
        }
        labels = entry.labels(d.y)[rows].tolist()
        orders = [reference.value(entry.reference, labels, s, **options) for s in itertools.permutations(range(n))]
        reached = orders
        if entry.reference in reference.ORDER_METRICS:  # for which tied scores are an order of their own
            scores = itertools.product(range(n), repeat=n)
            reached = [reference.value(entry.reference, labels, s, **options) for s in scores]
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
        expected = np.array(list(ends_by_reference(entry, d, metric.cutoff, retrieved))).T
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
ORDER_METRICS = {"kendall", "spearman", "pair_accuracy"}
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


def check(metrics: Any, y: np.ndarray = Y, retrieved: np.ndarray | None = None, **options: Any) -> ltr.Evaluation:
    """Check both ends of each query against every order, and return the result for some scores."""
    of_policy = {name: options.pop(name) for name in ("convention", "ties", "no_relevant") if name in options}
    is_ranked = np.ones(len(y), dtype=bool) if retrieved is None else retrieved
    queries = ltr.Queries(y, group=GROUP, retrieved=retrieved, **options)
    orders = [queries.evaluate(scores, metrics, **of_policy) for scores in each_order(is_ranked)]
    result = queries.evaluate(np.sin(np.arange(len(y))), metrics, **of_policy)
    weak = (np.resize(one, len(y)) for one in itertools.product(range(4), repeat=4))  # some are of every query's
    with_ties = [queries.evaluate(one, metrics, **of_policy) for one in weak] if ORDER_METRICS & set(result) else []
    for name in result:
        values = np.array([one.per_query[name] for one in orders])
        reached = np.array([one.per_query[name] for one in orders + with_ties])
        best = reached.min(axis=0) if name in result.lower_is_better else reached.max(axis=0)
        np.testing.assert_allclose(result.chance_per_query[name], values.mean(axis=0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(result.ideal_per_query[name], best, rtol=1e-12, atol=1e-13)
        assert result.chance[name] == pytest.approx(np.mean([one[name] for one in orders]), abs=1e-12, nan_ok=True)
    return result


CHOICES = [
    (name, f"{metric}(price)" if metric.endswith("_of") else metric)
    for name, convention in CONVENTIONS.items()
    for metric in convention.metrics
]


@pytest.mark.parametrize(("convention", "metric"), CHOICES)
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
    """A metric of each kind, whose tables are parameters."""

    NAME: ClassVar[str] = "own"
    gain: tuple[float, ...] = (0, 1, 2, 3, 4)
    weight: tuple[float, ...] = (1, 0.5, 0.25, 0.1)
    divide_by: float = 1

    def by_grade(self, queries: ltr.Queries) -> np.ndarray:
        return np.asarray(self.gain)[queries.grades.astype(int)]

    def by_rank(self, queries: ltr.Queries, depth: int) -> np.ndarray:
        return np.asarray(self.weight[:depth])

    def divisor(self, queries: ltr.Queries, k: int | None) -> np.ndarray:
        return np.where(queries.count_by_query(queries.grades > 1) > 0, self.divide_by, 1.0)


@dataclass(frozen=True, kw_only=True)
class OwnLower(Own):
    NAME: ClassVar[str] = "own_lower"
    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class OwnPrecisions(Own):
    NAME: ClassVar[str] = "own_precisions"
    KIND: ClassVar[Any] = "precisions"


@dataclass(frozen=True, kw_only=True)
class OwnPrecisionsLower(OwnPrecisions):
    NAME: ClassVar[str] = "own_precisions_lower"
    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class OwnCascade(Own):
    NAME: ClassVar[str] = "own_cascade"
    KIND: ClassVar[Any] = "cascade"
    gain: tuple[float, ...] = (0.1, 0.9, 0, 0.5, 1)


@dataclass(frozen=True, kw_only=True)
class OwnCascadeLower(OwnCascade):
    NAME: ClassVar[str] = "own_cascade_lower"
    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class OwnByQuery(Own):
    """Its weights differ from query to query."""

    NAME: ClassVar[str] = "own_by_query"

    def by_rank(self, queries: ltr.Queries, depth: int) -> np.ndarray:
        of_query = np.sin(np.arange(queries.n_queries))[:, None]
        return of_query * np.asarray(self.weight[:depth])


@dataclass(frozen=True, kw_only=True)
class OwnMAP(ltr.MAP):
    """Precisions that are divided by the square of the rank."""

    NAME: ClassVar[str] = "own_map"

    def by_rank(self, queries: ltr.Queries, depth: int) -> np.ndarray:
        return np.arange(1.0, depth + 1) ** 2


@dataclass(frozen=True, kw_only=True)
class OwnRelevant(ltr.Bpref):
    """A grade is relevant, and a higher one is not."""

    NAME: ClassVar[str] = "own_relevant"

    def relevant(self, queries: ltr.Queries) -> np.ndarray:
        return queries.grades == 1


@dataclass(frozen=True, kw_only=True)
class WorstARP(ltr.ARP):
    NAME: ClassVar[str] = "worst_arp"
    higher_is_better: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class OwnValues(ltr.Metric):
    """The row of the second document, which no kind is."""

    NAME: ClassVar[str] = "own_values"

    def values(self, ranking: ltr.Ranking) -> np.ndarray:
        return ranking.sum_by_query(np.where(ranking.rank == 2, ranking.rows, 0)).astype(float)


@dataclass(frozen=True, kw_only=True)
class OwnSums(ltr.RankMetric):
    NAME: ClassVar[str] = "own_sums"

    def sums(self, ranking: ltr.Ranking, cutoffs: Any) -> list[np.ndarray]:
        grade = ranking.expected(ranking.queries.grades)
        return [ranking.sum_by_query(np.where(ranking.rank % 2 == k % 2, grade, 0.0)) for k in cutoffs]


def middle(ranks: np.ndarray) -> np.ndarray:
    """A discount by which the second rank counts most."""
    return 1 / (1 + np.abs(ranks - 2))


TABLES: tuple[dict[str, Any], ...] = (
    {},
    {"k": 2},
    {"weight": (0.1, 1, 0.5, 2)},  # rises and falls
    {"weight": (0.1, 1, 0.5, 2), "k": 3},
    {"weight": (1, 2, 3, 4)},  # as a divisor, it is usual
    {"gain": (0.5, 0.3, 0.9, 0, 0.2)},  # a higher grade may be worth less
    {"divide_by": -2.0},
)


@pytest.mark.parametrize("cls", [Own, OwnLower, OwnPrecisions, OwnPrecisionsLower, OwnCascade, OwnCascadeLower])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_own_classes_have_it_whatever_they_declare(cls: type[Own], table: dict[str, Any]) -> None:
    table = {name: value for name, value in table.items() if name != "gain" or cls.KIND != "cascade"}
    for retrieved in (None, np.arange(len(Y)) % 4 > 0):
        check(cls(**table), Y, retrieved)


@pytest.mark.parametrize(
    "metric",
    [
        *(cls(weight=weight, gain=(-1, 0, 2, -3, 1)) for cls in (Own, OwnLower) for weight in ((1, 1, -1, 0), (-1, -2, 0, 1))),
        *(OwnByQuery(k=k) for k in (None, 2)),
        *(OwnMAP(denominator=denominator, k=3) for denominator in ("min", "hits")),
        OwnRelevant(),
        WorstARP(),
        OwnValues(),
        *(OwnSums(k=k) for k in (1, 2)),
        ltr.DCG(k=2, gain=(0.0, -1.0, 3.0, 2.0, -2.0)),
        ltr.DCG(k=3, discount=middle),
    ],
    ids=str,
)
def test_own_functions_and_unusual_tables_have_it(metric: ltr.Metric) -> None:
    for retrieved in (None, np.arange(len(Y)) % 4 > 0):
        check(metric, Y, retrieved)


def test_metrics_of_clicks_and_columns_have_it() -> None:
    columns = {"propensity": 1 / (1 + np.arange(len(Y)) % 4), "price": np.cos(np.arange(len(Y))), "seen": Y / 5}
    clicks = (Y > 0).astype(float)
    dr = ClickMetric(metric="dcg@2", estimator="dr", baseline="seen")  # whose gains may be negative
    metrics = [ClickMetric(metric="dcg@2"), dr, "sum_of(price)@2", "mean_of(price)@3", "sum_of(price)"]
    check(metrics, clicks, columns=columns)


def first_price(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
    return None if not grades.any() else float(columns["price"][0] - grades[-1])


def rank_of_two(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float | None:
    return float(np.argmax(grades >= 2)) if (grades[:2] >= 2).any() else None


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_functions_have_it_while_their_orders_are_few(higher_is_better: bool) -> None:
    metric = ltr.as_metric(first_price, higher_is_better=higher_is_better)
    columns = {"price": np.arange(len(Y)) % 3}
    for no_relevant in ("skip", 0.5):
        check(metric, columns=columns, no_relevant=no_relevant)
    X, y, qid = ltr.make_ranking(n_queries=5, random_state=0)
    result = ltr.evaluate(y, X[:, 0], qid=qid, metrics=[metric, "map"], columns={"price": y}, skill=True)
    assert math.isnan(result.skill[metric]) and math.isnan(result.chance[metric]) and math.isnan(result.ideal[metric])
    assert "first_price has no chance level: the documents of query" in result.skill_notes[metric]
    assert "more than 200 different orders" in str(result)
    assert result.skill["map"] > 0


def test_a_function_that_has_no_value_for_some_orders_has_no_chance_level() -> None:
    result = ltr.evaluate([2, 0, 0, 1], [4, 3, 2, 1], group=[4], metrics=rank_of_two)
    assert result["rank_of_two"] == 0
    assert math.isnan(result.chance["rank_of_two"])
    assert "a number for some orders of the documents of query 0, and none for others" in result.skill_notes["rank_of_two"]


@dataclass(frozen=True, kw_only=True)
class ReadsScores(ltr.Metric):
    NAME: ClassVar[str] = "reads_scores"

    def values(self, ranking: ltr.Ranking) -> np.ndarray:
        return ranking.sum_by_query((ranking.scores - ranking.queries.grades[ranking.grades - 1]) ** 2)


def test_what_reads_scores_has_none_and_what_is_infinite_neither() -> None:
    metrics = [ReadsScores(), Own(divide_by=0.0)]
    result = ltr.evaluate([2, 0, 0, 1], [4, 3, 2, 1.0], group=[4], metrics=metrics[0])
    assert "it reads the scores" in result.skill_notes["reads_scores"]
    assert math.isnan(result.skill["reads_scores"])
    queries = ltr.Queries([2, 0], group=[2])
    undefined = queries.evaluate([1, 2], Own(divide_by=0.0, weight=(1, 0)))  # 0 / 0 in this order
    assert "infinite for some orders" in undefined.skill_notes[Own(divide_by=0.0, weight=(1, 0))]
