"""Random data and random questions for `fuzz.hosts`: what is evaluated, how, and under which names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

import ltr_metrics as ltr

Draw = np.random.Generator
Array = np.ndarray[Any, Any]

METRICS = (
    *("ndcg", "ndcg@1", "ndcg@3", "ndcg@10", "ndcg_lin@5", "ndcg_exp@4", "ndcg(gain=[0,1,3,4,9])@4",
        "ndcg(short=zero)@6"),
    *("ndcg(discount=jarvelin)@5", "dcg@5", "dcg_lin", "dcg(discount=jarvelin)@3", "cg@3", "precision@1", "p@5"),
    *("precision(short=cut)@7", "p(rel=2)@3", "recall@3", "recall(rel=>0.5)@4", "f1@3", "hit@2", "rprec",
        "rprec(rel=2)"),
    *("map", "map@5", "map(rel=2)@3", "map(denominator=relevant)", "map(denominator=hits)@8", "map(rel=binary)@9",
        "mrr"),
    *("mrr@3", "mrr(rel=3)", "err", "err@3", "err(max_grade=5)@4", "err(p=label)@3", "rbp", "rbp(p=0.95)@10"),
    *("rbp(graded=max)@6", "pfound@5", "pfound(p_rel=exp)@5", "pfound(p_rel=yandex,p_break=0.4)", "judged@3",
        "pair_accuracy"),
    *("kendall", "spearman"),
)  # fmt: skip
CONVENTIONS = ("default", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "letor")
RELATIVE = 1e-12  # of full precision
TIES = ("mean", "stable", "worst", "best")
GAINS_OF_LIGHTGBM = {"linear": [0, 1, 2, 3, 4], (0.0, 1.0, 2.0, 5.0, 6.0): [0, 1, 2, 5, 6]}


def chance(draw: Draw, probability: float) -> bool:
    return bool(draw.random() < probability)


def choose(draw: Draw, *choices: Any) -> Any:
    """Return one of the choices as it is, where `numpy.random.Generator.choice` makes an array of them."""
    return choices[int(draw.integers(len(choices)))]


def differs(values: Any, expected: Any, tolerance: float = 0.0) -> bool:
    """Whether numbers differ by more than rounding and an absolute tolerance; NaN equals NaN."""
    values, expected = np.asarray(values), np.asarray(expected)
    close = values.shape == expected.shape and np.allclose(
        values, expected, RELATIVE, tolerance + 1e-15, equal_nan=True
    )
    return not close


def has_no_mean(result: ltr.Evaluation) -> bool:
    """Whether a metric is undefined for all queries, which adapters refuse."""
    return bool(np.isnan(list(result.mean.values())).any())


def unequal_values(what: str, values: Any, expected: Any) -> str:
    """Say where numbers first differ most."""
    values, expected = np.asarray(values), np.asarray(expected)
    if values.shape != expected.shape:
        return f"{what} has the shape {values.shape}, expected {expected.shape}"
    distance = np.where(values == expected, 0.0, np.abs(values - expected))
    distance[np.isnan(distance)] = np.inf  # of NaN and a number
    distance[np.isnan(values) & np.isnan(expected)] = 0.0
    at = np.unravel_index(int(distance.argmax()), distance.shape)
    return f"{what} is {values[at]!r}, expected {expected[at]!r}, at {tuple(map(int, at))}"


# -- data ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """A data set: features, grades, and for each row the id of its query."""

    X: Any
    y: Array
    qid: Array
    row_weight: Array | None

    @property
    def queries(self) -> Array:
        """Number of each row's query, by first appearance."""
        return np.asarray(pd.factorize(self.qid)[0])

    @property
    def sizes(self) -> Array:
        return np.bincount(self.queries)

    @property
    def query_weight(self) -> Array | None:
        """One weight a query, exact in the float32 of hosts."""
        if self.row_weight is None:
            return None
        means = np.bincount(self.queries, weights=self.row_weight) / self.sizes
        return means.astype(np.float32).astype(np.float64)

    def take(self, rows: Array) -> Part:
        """Return some of the rows, in that order."""
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return Part(X, self.y[rows], self.qid[rows], None if self.row_weight is None else self.row_weight[rows])


@dataclass(frozen=True)
class Style:
    """What the data sets of one case have in common."""

    n_features: int
    decimals: int | None
    is_binary: bool
    share_without_relevant: float
    sizes: tuple[int, int]
    is_float32: bool
    is_frame: bool
    is_weighted: bool
    ids: str

    @classmethod
    def draw(cls, draw: Draw) -> Style:
        return cls(
            n_features=int(draw.integers(1, 5)),
            decimals=choose(draw, None, None, 1, 0),
            is_binary=chance(draw, 0.4),
            share_without_relevant=choose(draw, 0.0, 0.0, 0.3, 0.8),
            sizes=choose(draw, (1, 5), (1, 30), (8, 8), (10, 20)),
            is_float32=chance(draw, 0.4),
            is_frame=chance(draw, 0.4),
            is_weighted=chance(draw, 0.5),
            ids=choose(draw, "whole numbers", "text"),
        )

    def part(self, draw: Draw, fewest_queries: int = 2) -> Part:
        """Draw a data set; a few have no relevant document at all."""
        n_queries = int(draw.integers(fewest_queries, choose(draw, 12, 61)))
        sizes = draw.integers(self.sizes[0], self.sizes[1] + 1, n_queries)
        n_rows = int(sizes.sum())
        features = draw.normal(size=(n_rows, self.n_features))
        relevance = features[:, 0] + draw.normal(size=n_rows)
        y = (relevance > 0.5) * 1 if self.is_binary else np.clip(np.round(1.5 * relevance), 0, 4)
        y[np.repeat(draw.random(n_queries) < self.share_without_relevant, sizes)] = 0
        y[int(draw.integers(n_rows))] = 1 if self.is_binary else draw.integers(1, 5)
        if chance(draw, 0.05):
            y[:] = 0
        if self.decimals is not None:
            features = np.round(features, self.decimals)
        if chance(draw, 0.1):
            features[:, int(draw.integers(self.n_features))] = 1.0
        X: Any = features.astype(np.float32 if self.is_float32 else np.float64)
        X = pd.DataFrame(X).add_prefix("f") if self.is_frame else X
        weight = self._weights(draw, sizes) if self.is_weighted else None
        return Part(X, y.astype(np.float64), np.repeat(self._ids(draw, n_queries), sizes), weight)

    def _ids(self, draw: Draw, n_queries: int) -> Array:
        numbers = draw.permutation(5 * n_queries)[:n_queries]
        return numbers if self.ids == "whole numbers" else np.array([f"query {i}" for i in numbers])

    def _weights(self, draw: Draw, sizes: Array) -> Array:
        """Weights of rows; those of a few queries are all 0."""
        weights = draw.integers(1, 17, int(sizes.sum())) / 8
        weights[np.repeat(draw.random(len(sizes)) < 0.1, sizes)] = 0
        return weights


# -- questions -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """Metrics and options as an adapter gets them."""

    metrics: Sequence[Any]
    is_single: bool
    policy: dict[str, Any]
    names: Any
    gain: Any = "exp"  # that the training has, and the host's own convention follows
    follows: str = field(default="", repr=False)  # the convention that follows it

    @property
    def given(self) -> Any:
        return self.metrics[0] if self.is_single else self.metrics

    @property
    def canonical(self) -> list[str]:
        """Canonical names of the metrics."""
        harmless = Part(None, np.array([1.0, 0.0]), np.array([0, 0]), None)
        return list(replace(self, policy=self.policy | {"no_relevant": 0}).evaluate(harmless, [1.0, 0.0]).mean)

    def evaluate(self, part: Part, scores: Any, weights: str = "") -> ltr.Evaluation:
        """Evaluate without an adapter; ``weights`` is "row", "query" or nothing."""
        policy = dict(self.policy)
        if policy.get("convention") == self.follows and self.gain != "exp":
            policy["convention"] = replace(ltr.CONVENTIONS[self.follows], ndcg_gain=self.gain)
        weighted: dict[str, Any] = {
            "": {},
            "row": {"sample_weight": part.row_weight},
            "query": {"query_weight": part.query_weight},
        }[weights]
        return ltr.evaluate(part.y, scores, qid=part.qid, metrics=self.metrics, **weighted, **policy)

    def is_refused(self, part: Part, scores: Any, weights: str = "") -> bool:
        """Whether these scores have no value of a metric, or no mean."""
        try:
            return has_no_mean(self.evaluate(part, scores, weights))
        except ltr.LtrError:
            return True

    @property
    def names_in_log(self) -> list[str]:
        """The name in the log for each metric."""
        asked, canonical = list(map(str, self.metrics)), self.canonical
        if isinstance(self.names, dict):
            own: dict[str, str] = self.names
            return [own.get(a, own.get(c, c)) for a, c in zip(asked, canonical, strict=True)]
        slugs = [ltr.metric(name).slug for name in canonical]
        return {"canonical": canonical, "asked": asked, "slug": slugs}[self.names]


def draw_question(
    draw: Draw, parts: Sequence[Part], weights: str = "", own_name: str = "own_{}", follows: str = "", gain: Any = "exp"
) -> Question:
    """Draw metrics that mostly have a value on all parts, under a policy and names in the log."""
    policy: dict[str, Any] = {}
    if chance(draw, 0.5):
        policy["convention"] = choose(draw, *CONVENTIONS, *([follows] * 4 if follows else []))
    if chance(draw, 0.5) or policy.get("convention") in ("trec_eval", "gdeval"):
        policy["ties"] = choose(draw, *TIES)
    if chance(draw, 0.5):
        policy["no_relevant"] = choose(draw, "skip", "drop", 0, 1, 0.5, "error")
    question = Question([], False, policy, "canonical", gain, follows)
    scores = [draw.normal(size=len(part.y)) for part in parts]
    is_careless = chance(draw, 0.06)  # whether metrics may be refused
    metrics, canonical = _draw_metrics(
        draw,
        lambda metric: (
            not is_careless
            and any(
                replace(question, metrics=[metric]).is_refused(part, of_part, weights)
                for part, of_part in zip(parts, scores, strict=True)
            )
        ),
        question,
    )
    names: Any = choose(draw, "canonical", "asked", "slug", "own")
    if names == "own":
        names = {}
        for i, metric in enumerate(metrics):
            # A canonical name that the host's gain decides is not known before the training.
            key = metric if gain != "exp" or chance(draw, 0.5) else canonical[i]
            if chance(draw, 0.7):
                names[str(key)] = own_name.format(i)
    return replace(question, metrics=metrics, is_single=len(metrics) == 1 and chance(draw, 0.7), names=names)


def _draw_metrics(draw: Draw, is_refused: Callable[[Any], bool], question: Question) -> tuple[list[Any], list[str]]:
    """Draw up to four metrics of different canonical names, by name or as objects."""
    metrics: list[Any] = []
    canonical: list[str] = []
    n_metrics = int(draw.integers(1, 5))
    for name in draw.permutation(METRICS).tolist():
        metric = ltr.metric(name) if chance(draw, 0.2) else name
        if len(metrics) == n_metrics or is_refused(metric):
            continue
        try:
            (full_name,) = replace(question, metrics=[metric]).canonical
        except ltr.LtrError:  # the convention has no such metric
            full_name = name
        if full_name not in canonical:
            metrics.append(metric)
            canonical.append(full_name)
    return metrics or ["ndcg@10"], canonical or ["ndcg@10"]
