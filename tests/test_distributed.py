"""Totals of parts add up to the mean of all queries, and an evaluation in parts is one like any other."""

from __future__ import annotations

import pickle
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import ltr_metrics as ltr
from ltr_metrics.evaluation.distributed import DistributedEvaluation
from ltr_metrics.evaluation.parts import Totals, concat_evaluations
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Request, resolve

VALUES = st.one_of(st.floats(-1e12, 1e12), st.floats(0, 1), st.just(float("nan")))
WEIGHTS = st.one_of(st.floats(0, 1e9), st.just(1.0), st.just(0.0))


@given(st.lists(st.tuples(VALUES, WEIGHTS), min_size=1, max_size=60), st.data(), st.booleans())
@examples(200)
def test_the_mean_is_exact_however_queries_are_parted(
    queries: list[tuple[float, float]], data: st.DataObject, weighted: bool
) -> None:
    values, weights = map(np.array, zip(*queries, strict=True))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(queries)), max_size=8)))
    parts = zip(np.split(values, cuts), np.split(weights, cuts), strict=True)
    totals = reduce(add, (Totals.of({"m": v}, w if weighted else None) for v, w in parts))
    defined = ~np.isnan(values)
    assert (totals.n_queries, totals.n_undefined.tolist()) == (len(values), [int((~defined).sum())])
    weight = weights if weighted else np.ones(len(values))
    total = sum(map(Fraction, weight[defined].tolist()), Fraction(0))
    if total == 0:
        assert np.isnan(totals.mean["m"])
        return
    exact = sum(map(Fraction, (weight * values)[defined].tolist()), Fraction(0)) / total
    assert totals.mean["m"] == pytest.approx(float(exact), rel=4e-16, abs=0)


def test_sums_that_cancel_are_not_lost() -> None:
    parts = [np.array([1e16]), np.array([1.0]), np.array([-1e16]), np.array([1.0])]
    totals = reduce(add, (Totals.of({"m": part}, None) for part in parts))
    assert totals.mean["m"] == 0.5


def test_nothing_adds_nothing() -> None:
    some = Totals.of({"a": np.array([0.1, 0.7]), "b": np.array([np.nan, 0.3])}, np.array([2.0, 3.0]))
    both = Totals.nothing(["a", "b"]) + some
    assert both.mean == some.mean == pickle.loads(pickle.dumps(some)).mean
    assert np.isnan(list(Totals.nothing(["a"]).mean.values())).all()
    with pytest.raises(ValueError, match="different metrics"):
        _ = some + Totals.nothing(["a"])


class InTwoParts:
    """Parts in memory, which count how often they are asked."""

    def __init__(self, request: Request, weighted: bool, by: str | None) -> None:
        self.is_weighted, self.calls = weighted, {"totals": 0, "together": 0}
        X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
        weight = np.where(qid % 3, 1.0, 2.5)
        label = np.where(qid % 2, "odd", "even")
        self.parts = []
        for rows in (qid < 15, qid >= 15):
            options = {"sample_weight": weight[rows]} if weighted else {}
            queries = ltr.Queries(y[rows], qid=qid[rows], by=label[rows] if by else None, **options)
            self.parts.append(queries.evaluate_request(X[rows, 0], request))
        options = {"sample_weight": weight} if weighted else {}
        self.whole = ltr.Queries(y, qid=qid, by=label if by else None, **options).evaluate_request(X[:, 0], request)

    def totals(self) -> Totals:
        self.calls["totals"] += 1
        return reduce(add, (Totals.of(part.per_query, part.weight) for part in self.parts))

    def gather(self) -> Evaluation:
        self.calls["together"] += 1
        return concat_evaluations(self.parts)


REQUEST = resolve(["ndcg@10", "map", "err@10"], no_relevant="skip")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by", [None, "parity"])
def test_it_is_an_evaluation_like_any_other(weighted: bool, by: str | None) -> None:
    parts = InTwoParts(REQUEST, weighted, by)
    result, whole = DistributedEvaluation(parts, REQUEST, () if by is None else (by,)), parts.whole
    assert isinstance(result, Evaluation)
    assert repr(result) == "DistributedEvaluation(ndcg_exp@10, map, err@10), not computed yet"
    assert list(result) == ["ndcg_exp@10", "map", "err@10"]
    assert (len(result), "ndcg@10" in result, "mrr" in result) == (3, True, False)
    assert parts.calls == {"totals": 0, "together": 0}
    assert result["ndcg@10"] == pytest.approx(whole["ndcg@10"], abs=1e-15)
    assert result.n_undefined == whole.n_undefined
    assert (result.n_queries, result.is_weighted) == (whole.n_queries, weighted)
    assert result.policy == whole.policy
    if by is None:
        assert str(result) == str(whole)
        assert parts.calls == {"totals": 1, "together": 0}
    assert dict(result) == result.mean
    for name, values in whole.per_query.items():
        np.testing.assert_array_equal(result.per_query[name], values)
    assert result.subset(["7", 3]).per_query["map"].tolist() == whole.per_query["map"][[6, 2]].tolist()
    assert str(result) == str(whole)
    assert {name: value for name, value in result.to_dict().items() if name != "mean"} == {
        name: value for name, value in whole.to_dict().items() if name != "mean"
    }
    assert result.to_pandas().equals(whole.to_pandas())
    comparison = ltr.compare({"here": whole, "there": result})
    assert comparison["map"].ties == comparison["map"].n_queries
    assert parts.calls == {"totals": 1, "together": 1}


def test_it_is_saved_as_any_other(tmp_path: object) -> None:
    parts = InTwoParts(REQUEST, weighted=True, by=None)
    path = f"{tmp_path}/there.parquet"
    DistributedEvaluation(parts, REQUEST).save(path)
    assert ltr.load_result(path).mean == parts.whole.mean
