"""Relations between evaluations of related data: queries that are permuted, repeated, split, weighted or labelled.

No value is known in advance. `test_metrics` has the relations that hold for each metric; these hold for
means, weights, segments and comparisons, on queries of up to 300 documents and scores of all magnitudes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from table import TABLE

import ltr_metrics as ltr

pytestmark = pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")

SCORES: tuple[Callable[[np.random.Generator, int], np.ndarray], ...] = (
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: rng.normal(size=n).astype(np.float32),
    lambda rng, n: rng.integers(-2, 3, n),
    lambda _, n: np.zeros(n),
    lambda rng, n: np.nextafter(1.0, 2) ** rng.integers(0, 9, n),  # neighbours in the last bits
    lambda rng, n: rng.choice([-np.inf, -1e300, -1e-300, -0.0, 0.0, 5e-324, 1e300, np.inf], n),
)
METRICS = [  # labels are grades from 0 to 4, the mean is over queries, and ties may be large
    metric
    for entry in TABLE
    if entry.scale == 1
    and entry.highest >= 4
    and entry.cls not in (ltr.Judged, ltr.MeanOf, ltr.SumOf, ltr.InterpolatedPrecision)
    for metric in entry.metrics()
    if metric.mean_over == "queries"
]


class Case:
    """Random queries, metrics and options; the rows of a query are adjacent."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        n_queries = int(rng.choice([1, 2, 7, 40]))
        self.group = rng.integers(1, int(rng.choice([2, 6, 30, 300])), n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.group)
        self.y = rng.choice(5, len(self.qid), p=rng.dirichlet(np.ones(5)))
        self.y[(rng.random(n_queries) < 0.2)[self.qid]] = 0
        self.score = SCORES[int(rng.integers(len(SCORES)))](rng, len(self.y))
        self.weight = rng.choice([0.0, 0.5, 1.0, 3.0], n_queries) + (np.arange(n_queries) == 0)
        self.options: dict[str, Any] = {
            "metrics": [METRICS[i] for i in rng.choice(len(METRICS), 6, replace=False)],
            "ties": str(rng.choice(["mean", "worst", "best", "stable"])),
            "no_relevant": ["skip", 0.0, 1.0][int(rng.integers(3))],
        }

    def evaluate(self, rows: Any = slice(None), **changed: Any) -> ltr.Evaluation:
        """Evaluate the rows of some queries, with some arguments changed."""
        given = {"y_true": self.y[rows], "y_score": self.score[rows], "qid": self.qid[rows]}
        given["query_weight"] = dict(enumerate(self.weight.tolist()))
        if "group" in changed:
            del given["qid"]
        return ltr.evaluate(**self.options | given | changed)

    def rows_of(self, queries: np.ndarray) -> np.ndarray:
        starts = np.cumsum(self.group) - self.group
        return np.concatenate([starts[query] + np.arange(self.group[query]) for query in queries])


def require_equal(one: ltr.Evaluation, other: ltr.Evaluation, order: Any = slice(None)) -> None:
    for name, values in one.per_query.items():
        np.testing.assert_array_equal(other.per_query[name][order], values, err_msg=name)


def require_means(one: ltr.Evaluation, other: ltr.Evaluation, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(list(other.values()), list(one.values()), rtol=rtol)


def monotone_transforms_change_nothing(case: Case) -> None:
    _, rank = np.unique(case.score, return_inverse=True)
    for transformed in (rank, (rank * 3 - 10).astype(np.float32), np.ldexp(1.0 + rank / 2**20, -600)):
        require_equal(case.evaluate(), case.evaluate(y_score=transformed))


def permuted_queries_keep_every_digit(case: Case) -> None:
    order = case.rng.permutation(len(case.group))
    permuted = case.evaluate(case.rows_of(order))
    np.testing.assert_array_equal(permuted.qid, order)
    require_equal(case.evaluate(), permuted, np.argsort(order))
    require_means(case.evaluate(), permuted)


def weights_of_two_are_repeated_queries(case: Case) -> None:
    times = 1 + case.rng.integers(0, 2, len(case.group))
    copies = np.repeat(np.arange(len(case.group)), times)
    rows = case.rows_of(copies)
    repeated = case.evaluate(rows, group=case.group[copies], query_weight=None)
    require_means(case.evaluate(query_weight=times), repeated)
    require_equal(case.evaluate(), repeated, np.cumsum(times) - 1)


def parts_have_the_values_of_the_whole(case: Case) -> None:
    whole, n_first = case.evaluate(), int(case.rng.integers(0, len(case.group) + 1))
    parts = [case.evaluate(part) for part in (case.qid < n_first, case.qid >= n_first) if part.any()]
    for name, values in whole.per_query.items():
        np.testing.assert_array_equal(np.concatenate([part.per_query[name] for part in parts]), values, err_msg=name)
        defined = ~np.isnan(values) & (case.weight > 0)
        expected = np.average(values[defined], weights=case.weight[defined]) if defined.any() else np.nan
        np.testing.assert_allclose(whole[name], expected, rtol=1e-12, err_msg=name)


def scaled_weights_change_nothing(case: Case) -> None:
    for factor, rtol in ((2.0**-1060, 0), (2.0**900, 0), (float(case.rng.uniform(1e-3, 1e3)), 1e-12)):
        require_means(case.evaluate(), case.evaluate(query_weight=case.weight * factor), rtol)


def a_comparison_turns_round_with_its_models(case: Case) -> None:
    if len(case.group) < 2:  # which a comparison refuses
        return
    models = {"a": case.evaluate(), "b": case.evaluate(y_score=case.rng.permutation(case.score)), "c": case.evaluate()}
    test = str(case.rng.choice(["randomization", "t"]))
    tables = [
        ltr.compare(models, baseline=base, test=test, correction="none", n_resamples=200).to_pandas()
        for base in ("a", "b")
    ]
    forward, backward = (table[table["model"].isin(["a", "b"])] for table in tables)
    np.testing.assert_allclose(backward["difference"], -forward["difference"], rtol=1e-12)
    np.testing.assert_array_equal(backward[["wins", "losses"]], forward[["losses", "wins"]])
    np.testing.assert_allclose(backward["p_value"], forward["p_value"], rtol=1e-9)
    same = tables[0][tables[0]["model"] == "c"]
    assert (same["difference"].dropna() == 0).all()  # NaN if only queries of weight 0 have a value
    assert (same["p_value"].dropna() == 1).all()


RELATIONS = (
    monotone_transforms_change_nothing,
    permuted_queries_keep_every_digit,
    weights_of_two_are_repeated_queries,
    parts_have_the_values_of_the_whole,
    scaled_weights_change_nothing,
    a_comparison_turns_round_with_its_models,
)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.__name__)
@examples(40)
@given(seed=st.integers(0, 2**32 - 1))
def test_relation(relation: Callable[[Case], None], seed: int) -> None:
    relation(Case(seed))
