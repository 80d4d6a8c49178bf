"""Chains of subset, save, load, compare, weights and segments have the values of an evaluation of their rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import ltr_metrics as ltr
from ltr_metrics import counterfactual

KINDS = ("plain", "ips", "snips", "dr")


def require_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


class Source:
    """Rows of some queries, and what two models are worth on some of the queries, from the rows."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        self.kind, self.n = kind, int(rng.integers(3, 10))
        self.estimator: Any = kind
        self.sizes = rng.integers(1, 6, self.n)
        n_rows = self.sizes.sum()
        self.first = np.cumsum(self.sizes) - self.sizes
        self.scores = rng.integers(0, 4, (2, n_rows)).astype(float)
        self.y = rng.integers(0, 2 + 2 * (kind == "plain"), n_rows)
        self.y[0] = 1  # one click at least
        self.row = {"propensity": rng.choice([1.0, 0.5, 0.2], n_rows), "baseline": rng.random(n_rows)}
        self.weight: Any = None if rng.random() < 0.5 else rng.uniform(0.1, 3, self.n)
        self.qid = rng.permutation(self.n) + 100
        self.whole = [self.evaluate(model, np.arange(self.n), self.weight) for model in (0, 1)]

    def evaluate(self, model: int, chosen: Any, weight: Any) -> ltr.Evaluation:
        rows = np.concatenate([np.arange(self.first[i], self.first[i] + self.sizes[i]) for i in chosen])
        data: dict[str, Any] = {"qid": np.repeat(self.qid[chosen], self.sizes[chosen]), "query_weight": weight}
        if self.kind == "plain":
            return ltr.evaluate(self.y[rows], self.scores[model, rows], metrics=["ndcg@3", "map", "mrr"], **data)
        data |= {"estimator": self.estimator, "propensity": self.row["propensity"][rows]}
        data |= {"baseline": self.row["baseline"][rows]} if self.kind == "dr" else {}
        return counterfactual.evaluate(self.y[rows], self.scores[model, rows], metrics=["dcg@2", "cg@1"], **data)

    def require(self, found: ltr.Evaluation, model: int, chosen: Any, weight: Any) -> None:
        """Raise an error unless the values are those of the rows of these queries, with these weights."""
        assert found.qid.tolist() == self.qid[chosen].tolist()
        try:
            expected = self.evaluate(model, chosen, weight)
        except ltr.LtrValueError as error:  # these queries have no click
            if "click" not in str(error):
                raise
            expected = None
        for name in found:
            values = (expected or self.whole[model]).per_query[name]
            values = values if expected else values[chosen]
            require_close(found.per_query[name], values)
            require_close(found[name], self.mean(name, model, chosen, weight))
            if expected is not None:
                require_close(found[name], expected[name])
                require_close(found.standard_error[name], expected.standard_error[name])
                if not (values < 0).any():
                    require_close(found.geometric_mean(name), expected.geometric_mean(name))

    def mean(self, name: str, model: int, chosen: Any, weight: Any) -> float:
        """Return the mean by its definition: of the values of queries, or of sums over clicks."""
        values = self.whole[model].per_query[name][chosen]
        weight = np.ones(len(chosen)) if weight is None else np.asarray(weight)
        if self.kind == "snips":
            clicks = np.where(self.y > 0, 1 / self.row["propensity"], 0)
            divisor = np.add.reduceat(clicks, self.first)[chosen]
            self.estimator = "ips"
            gains = self.evaluate(model, np.arange(self.n), None).per_query[name][chosen]
            self.estimator = "snips"
            return weight @ gains / (weight @ divisor) if divisor.any() else math.nan
        defined = ~np.isnan(values)
        return float(np.average(values[defined], weights=weight[defined])) if defined.any() else math.nan


class Chain:
    """Random steps, each of which leaves two evaluations of some queries."""

    def __init__(self, kind: str, seed: int, folder: Path) -> None:
        self.rng, self.folder = np.random.default_rng(seed), folder
        self.source = Source(kind, self.rng)
        self.chosen, self.weight, self.results = np.arange(self.source.n), self.source.weight, self.source.whole

    def run(self, n_steps: int) -> None:
        for _ in range(n_steps):
            steps = [self.subset, self.save]
            if len(self.chosen) > 1:  # as many as a comparison needs
                steps += [self.compare, self.common, self.weights, self.segments]
            step: Callable[[], None] = self.rng.choice(steps)  # type: ignore[arg-type]
            try:
                step()
            except ltr.LtrValueError as error:
                of_snips = ("means are over clicks", "All query weights are 0")  # of queries without a click
                if self.source.kind != "snips" or not any(words in str(error) for words in of_snips):
                    raise
            for model in (0, 1):
                self.source.require(self.results[model], model, self.chosen, self.weight)

    def some(self) -> Any:
        """Positions of some of the queries, in any order."""
        n = len(self.chosen)
        return self.rng.permutation(n)[: self.rng.integers(1, n + 1)]

    def compared(self, **options: Any) -> ltr.Comparison:
        models = dict(zip("ab", self.results, strict=True))
        return ltr.compare(models, test="t", n_resamples=100, **options)

    def keep(self, results: Any, at: Any) -> None:
        self.results, self.chosen = list(results), self.chosen[at]
        self.weight = None if self.weight is None else self.weight[at]

    def subset(self) -> None:
        at = self.some()
        self.keep([one.subset(self.source.qid[self.chosen[at]]) for one in self.results], at)

    def save(self) -> None:
        for one, name in zip(self.results, "ab", strict=True):
            one.save(self.folder / name)
        self.results = [ltr.load_result(self.folder / name) for name in "ab"]

    def compare(self) -> None:
        comparison, at = self.compared(), self.some()
        for name in comparison.metrics:
            means = [self.source.mean(name, model, self.chosen, self.weight) for model in (0, 1)]
            require_close(comparison[name].difference, means[1] - means[0])
        self.keep(comparison.subset(self.source.qid[self.chosen[at]]).evaluations.values(), at)

    def common(self) -> None:
        at = [self.some(), self.some()]
        in_both = np.array([i for i in at[0] if i in at[1]], dtype=int)
        if len(in_both) < 2:
            return
        parts = [one.subset(self.source.qid[self.chosen[i]]) for one, i in zip(self.results, at, strict=True)]
        compared = ltr.compare(dict(zip("ab", parts, strict=True)), queries="common", n_resamples=100)
        self.keep(compared.evaluations.values(), in_both)

    def weights(self) -> None:
        weight = self.rng.uniform(0.1, 3, len(self.chosen))
        self.results, self.weight = list(self.compared(query_weight=weight).evaluations.values()), weight

    def segments(self) -> None:
        labels = self.rng.integers(0, 2, len(self.chosen))
        label = int(self.rng.choice(labels))
        self.keep(self.compared(by=labels).by[label].evaluations.values(), labels == label)


@examples(50)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_chain_has_the_values_of_its_rows(seed: int) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ltr.LtrWarning)
        Chain(KINDS[seed % len(KINDS)], seed, Path(folder)).run(1 + seed // len(KINDS) % 6)
