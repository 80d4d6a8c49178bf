"""Relations that evaluations of related data must satisfy, on random data of many shapes.

No value is known in advance. What is known is how values change if the data are permuted,
duplicated, split, transformed or weighted: the names of the functions below say it.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import ltr_metrics as ltr
from fuzz.report import Report
from ltr_metrics._engine.words import Test

Array = np.ndarray[Any, Any]

FURTHER = (  # forms of the metrics besides their defaults
    *("dcg(discount=jarvelin)", "ndcg_lin", "ndcg(gain=[0,0.5,2,2,9])", "ndcg(short=zero)", "precision(short=cut)"),
    *("ndcg(ideal=shown)", "ndcg_lin(ideal=all,discount=position)"),
    *("precision(rel=3)", "recall(rel=2)", "recall(rel=>0.5)", "f1(rel=2)", "hit(rel=2)", "map(denominator=relevant)"),
    *("map(denominator=hits)", "map(rel=2)", "mrr(rel=3)", "err(max_grade=5)", "rbp(p=0.95,rel=2)", "rbp(graded=max)"),
    *("pfound(p_rel=yandex)", "pfound(p_rel=exp)"),
)
# These need a column, judgments, labels that are probabilities, and small ties.
NEEDS_MORE = {"mean_of", "sum_of", "judged", "pfound", "iprec"}
SCORES: tuple[Callable[[np.random.Generator, int], Array], ...] = (
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: rng.normal(size=n).astype(np.float32),
    lambda rng, n: rng.integers(0, 4, n) / 4,
    lambda rng, n: rng.integers(-2, 3, n),
    lambda _, n: np.zeros(n),
    lambda rng, n: np.nextafter(1.0, 2) ** rng.integers(0, 9, n),  # neighbours in the last bits
    lambda rng, n: rng.choice([-np.inf, -1e300, -1e-300, -0.0, 0.0, 5e-324, 1e300, np.inf], n),
)


@dataclass(frozen=True)
class Case:
    """Random queries, metrics and options; rows of a query stand together."""

    y: Array
    score: Array
    group: Array
    metrics: tuple[str, ...]
    options: dict[str, Any]
    rng: np.random.Generator

    @classmethod
    def draw(cls, seed: int, number: int) -> Case:
        rng = np.random.default_rng([seed, number])
        n_queries = int(rng.choice([1, 2, 7, 40, 200]))
        group = rng.integers(1, int(rng.choice([2, 6, 30, 300])), n_queries)
        y = rng.choice(5, group.sum(), p=rng.dirichlet(np.ones(5)))
        y[np.repeat(rng.random(n_queries) < 0.2, group)] = 0
        score = SCORES[int(rng.integers(len(SCORES)))](rng, len(y))
        options: dict[str, Any] = {
            "ties": str(rng.choice(["mean", "worst", "best", "stable"])),
            "no_relevant": [None, "skip", 0.0, 1.0][int(rng.integers(4))],
        }
        if rng.random() < 0.5:
            options["query_weight"] = rng.choice([0.0, 0.5, 1.0, 3.0], n_queries) + (np.arange(n_queries) == 0)
        return cls(y, score, group, tuple(rng.choice(_forms(rng), size=6, replace=False).tolist()), options, rng)

    def __str__(self) -> str:
        options = self.options | {"query_weight": "drawn"} if "query_weight" in self.options else self.options
        return f"{len(self.y)} rows, {len(self.group)} queries, {self.score.dtype}, {self.metrics}, {options}"

    @property
    def qid(self) -> Array:
        return np.repeat(np.arange(len(self.group)), self.group)

    @cached_property
    def result(self) -> ltr.Evaluation:
        return self.evaluate()

    def evaluate(self, rows: Array | None = None, **changed: Any) -> ltr.Evaluation:
        """Evaluate the rows, with some arguments changed."""
        taken = slice(None) if rows is None else rows
        given = {"y_true": self.y[taken], "y_score": self.score[taken], "qid": self.qid[taken], "metrics": self.metrics}
        if rows is not None and "query_weight" in self.options:
            weight = self.options["query_weight"]
            given["query_weight"] = dict(enumerate(weight.tolist()))
        return ltr.evaluate(**self.options | given | changed)

    @property
    def weight(self) -> Array:
        return np.asarray(self.options.get("query_weight", np.ones(len(self.group))))


def _forms(rng: np.random.Generator) -> list[str]:
    """Return names of metrics, with cutoffs where they take one."""
    names = [info.name for info in ltr.available_metrics() if info.name not in NEEDS_MORE]
    uncut = {info.name for info in ltr.available_metrics() if "k" not in info.parameters}
    forms = []
    for form in [*names, *FURTHER]:
        k = int(rng.choice([0, 1, 3, 10, 50]))
        forms.append(form if form.partition("(")[0] in uncut or not k else f"{form}@{k}")
    return list(dict.fromkeys(forms))


# -- comparisons -----------------------------------------------------------------------------------


def _require_equal(one: ltr.Evaluation, other: ltr.Evaluation, order: Array | None = None, *, rtol: float = 0) -> None:
    """Require the same value of each query; `order` gives the positions of the queries in the other result."""
    assert list(one) == list(other)
    for name, values in one.per_query.items():
        others = other.per_query[name][slice(None) if order is None else order]
        np.testing.assert_allclose(others, values, rtol=rtol, atol=rtol / 100, err_msg=name)


def _require_means(one: ltr.Evaluation, other: ltr.Evaluation, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(list(other.values()), list(one.values()), rtol=rtol)


# -- relations -------------------------------------------------------------------------------------


def monotone_transforms_change_nothing(case: Case) -> None:
    _, rank = np.unique(case.score, return_inverse=True)
    for transformed in (rank, (rank * 3 - 10).astype(np.float32), np.ldexp(1.0 + rank / 2**20, -600)):
        _require_equal(case.result, case.evaluate(y_score=transformed))


def permuted_queries_keep_every_digit(case: Case) -> None:
    order = case.rng.permutation(len(case.group))
    rows = np.argsort(np.argsort(order)[case.qid], kind="stable")
    permuted = case.evaluate(rows)
    np.testing.assert_array_equal(permuted.qid, order)
    _require_equal(case.result, permuted, np.argsort(order))
    _require_means(case.result, permuted)


def permuted_rows_change_nothing_under_mean_ties(case: Case) -> None:
    rows = case.rng.permutation(len(case.y))
    for ties in ("mean", "worst", "best"):
        permuted = case.evaluate(rows, ties=ties)
        _require_equal(case.evaluate(ties=ties), permuted, np.argsort(permuted.qid), rtol=1e-12)


def the_stable_order_is_that_of_document_ids_that_fall(case: Case) -> None:
    docid = [f"{9 * 10**6 - i}" for i in range(len(case.y))]
    _require_equal(case.evaluate(ties="stable"), case.evaluate(ties="docid", docid=docid))


def worst_is_at_most_mean_is_at_most_best(case: Case) -> None:
    worst, mean, best, stable = (case.evaluate(ties=ties) for ties in ("worst", "mean", "best", "stable"))
    for name in set(mean) - {form for form in mean if "hits" in form}:
        for pair in ((worst, mean), (mean, best), (worst, stable), (stable, best)):
            low, high = pair[::-1] if name in mean.lower_is_better else pair
            defined = ~np.isnan(low.per_query[name])
            excess = low.per_query[name][defined] - high.per_query[name][defined]
            scale = np.maximum(1, np.abs(high.per_query[name][defined]))
            assert (excess <= 1e-12 * scale).all(), name


def duplicated_queries_change_no_mean(case: Case) -> None:
    n = len(case.group)
    doubled = replace(
        case,
        y=np.tile(case.y, 2),
        score=np.tile(case.score, 2),
        group=np.tile(case.group, 2),
        options=case.options | ({"query_weight": np.tile(case.weight, 2)} if "query_weight" in case.options else {}),
    ).evaluate()
    assert {name: 2 * count for name, count in case.result.n_undefined.items()} == doubled.n_undefined
    for half in (np.arange(n), np.arange(n, 2 * n)):
        _require_equal(case.result, doubled, half)
    _require_means(case.result, doubled)


def weights_of_two_are_duplicated_queries(case: Case) -> None:
    times = 1 + case.rng.integers(0, 2, len(case.group))
    copies = np.repeat(np.arange(len(case.group)), times)
    starts = np.cumsum(case.group) - case.group
    rows = np.concatenate([np.arange(starts[query], starts[query] + case.group[query]) for query in copies])
    unweighted = {name: value for name, value in case.options.items() if name != "query_weight"}
    repeated = ltr.evaluate(
        case.y[rows], case.score[rows], group=case.group[copies], metrics=case.metrics, **unweighted
    )
    _require_means(case.evaluate(query_weight=times), repeated)


def split_data_give_the_parts_of_the_whole(case: Case) -> None:
    n_first = int(case.rng.integers(0, len(case.group) + 1))
    parts = [case.qid < n_first, case.qid >= n_first]
    results = [case.evaluate(np.flatnonzero(part)) for part in parts if part.any()]
    for name, values in case.result.per_query.items():
        np.testing.assert_array_equal(np.concatenate([part.per_query[name] for part in results]), values, err_msg=name)
        defined = ~np.isnan(values) & (case.weight > 0)
        expected = np.average(values[defined], weights=case.weight[defined]) if defined.any() else np.nan
        np.testing.assert_allclose(case.result[name], expected, rtol=1e-12, err_msg=name)


def scaled_weights_change_nothing(case: Case) -> None:
    for factor, rtol in ((2.0**-1060, 0), (2.0**900, 0), (float(case.rng.uniform(1e-3, 1e3)), 1e-12)):
        scaled = case.evaluate(query_weight=case.weight * factor)
        _require_means(case.evaluate(query_weight=case.weight), scaled, rtol)


def segments_are_evaluations_of_their_queries(case: Case) -> None:
    label = case.rng.integers(0, 3, len(case.group))
    segmented = case.evaluate(by=label)
    for segment in np.unique(label):
        rows = np.flatnonzero(np.isin(case.qid, np.flatnonzero(label == segment)))
        alone = case.evaluate(rows)
        for name in case.result:
            np.testing.assert_allclose(segmented.by[segment][name], alone[name], rtol=1e-12, err_msg=name)


def threads_groups_and_queries_are_one_evaluation(case: Case) -> None:
    _require_equal(case.result, case.evaluate(n_threads=1))
    _require_equal(case.result, case.evaluate(n_threads=3))
    of_queries = {name: case.options[name] for name in ("query_weight", "ties", "no_relevant") if name in case.options}
    by_group = ltr.evaluate(case.y, case.score, group=case.group, metrics=case.metrics, **of_queries)
    _require_equal(case.result, by_group)


def a_comparison_turns_round_with_its_models(case: Case) -> None:
    if len(case.group) < 2:  # which a comparison refuses
        return
    other = case.rng.permutation(case.score)
    tests: tuple[Test, ...] = ("randomization", "t", "wilcoxon", "sign")
    test = tests[int(case.rng.integers(2 if "query_weight" in case.options else 4))]
    models = {"a": case.result, "b": case.evaluate(y_score=other), "c": case.result}
    tables = {
        base: ltr.compare(
            {base: models[base]} | models, baseline=base, test=test, correction="none", n_resamples=200
        ).to_pandas()
        for base in ("a", "b")
    }
    forward = tables["a"].query("model == 'b'").set_index("metric")
    backward = tables["b"].query("model == 'a'").set_index("metric")
    np.testing.assert_allclose(backward["difference"], -forward["difference"], rtol=1e-12)
    np.testing.assert_array_equal(backward[["wins", "losses"]], forward[["losses", "wins"]])
    np.testing.assert_allclose(backward["p_value"], forward["p_value"], rtol=1e-9)
    same = tables["a"].query("model == 'c'")
    assert (same["difference"].dropna() == 0).all()  # NaN if only queries of weight 0 have a value
    assert (same["p_value"].dropna() == 1).all()


RELATIONS: tuple[Callable[[Case], None], ...] = (
    monotone_transforms_change_nothing,
    permuted_queries_keep_every_digit,
    permuted_rows_change_nothing_under_mean_ties,
    the_stable_order_is_that_of_document_ids_that_fall,
    worst_is_at_most_mean_is_at_most_best,
    duplicated_queries_change_no_mean,
    weights_of_two_are_duplicated_queries,
    split_data_give_the_parts_of_the_whole,
    scaled_weights_change_nothing,
    segments_are_evaluations_of_their_queries,
    threads_groups_and_queries_are_one_evaluation,
    a_comparison_turns_round_with_its_models,
)


def run(seed: int, numbers: Iterable[int], folder: Path) -> Report:
    """Check all relations on the cases with these numbers."""
    report = Report("relation", seed)
    for number in numbers:
        for relation in RELATIONS:
            subject, case = relation.__name__.replace("_", " "), Case.draw(seed, number)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    relation(case)
                    report.add(subject, "holds")
                except Exception:
                    report.add_fault(subject, number, f"{traceback.format_exc(limit=-2)}{case}")
    return report
