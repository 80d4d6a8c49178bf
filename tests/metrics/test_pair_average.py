"""Pair accuracy as a mean over pairs: pooled by hand, and the same mean, error and gate wherever it is computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from profiles import examples
from strategies import Data, data, random_data

import ltr_metrics as ltr
from ltr_metrics.evaluation.parts import concat

MICRO = "pair_accuracy(average=micro)"


def pairs(grades: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Yield each pair of documents of different grade, the better one first."""
    return ((a, b) for a, b in itertools.permutations(range(len(grades)), 2) if grades[a] > grades[b])


def pooled(d: Data, weight: np.ndarray, retrieved: np.ndarray, tied: float) -> float:
    """Count the pairs of all queries in one sum."""
    total = n = 0.0
    for query in range(len(d.group)):
        rows = np.flatnonzero((d.qid == query) & retrieved)
        for a, b in pairs(d.y[rows].tolist()):
            above, below = d.score[rows[a]], d.score[rows[b]]
            total += weight[query] * (1.0 if above > below else tied if above == below else 0.0)
            n += weight[query]
    return total / n if n else np.nan


@given(d=data(max_documents=8))
@examples(30)
def test_the_mean_is_over_the_pairs_of_all_queries(d: Data) -> None:
    rng = np.random.default_rng(len(d.y))
    retrieved = rng.random(len(d.y)) < 0.8
    retrieved[0] = True
    weight = rng.integers(1, 4, len(d.group)).astype(float)
    for name, tied in ((MICRO, 0.5), ("pair_accuracy(tied=0,average=micro)", 0.0)):
        got = ltr.evaluate(d.y, d.score, group=d.group, metrics=name, retrieved=retrieved, query_weight=weight)
        np.testing.assert_allclose(got[name], pooled(d, weight, retrieved, tied), rtol=1e-12)


D = random_data(3)


def test_errors_comparisons_and_gates_weigh_queries_by_their_pairs() -> None:
    models = {"a": D.score, "b": np.random.default_rng(0).permutation(D.score)}
    n_pairs = np.array([len(list(pairs(y))) for y, _ in D.queries()])
    data: dict[str, Any] = {"group": D.group, "n_resamples": 200}
    of_pairs = ltr.compare(models, D.y, metrics=MICRO, **data)
    of_weights = ltr.compare(models, D.y, metrics="pair_accuracy", query_weight=n_pairs, **data)
    one, expected = of_pairs[MICRO], of_weights["pair_accuracy"]
    for field in ("mean", "difference", "ci_low", "ci_high", "p_value", "n_effective"):
        assert getattr(one, field) == getattr(expected, field), field
    assert one.unweighted.difference == expected.unweighted.difference  # the mean over queries
    checks = [
        ltr.gate(part, [f"{name} > -0.5", f"mean({name}) > 0.1"]).checks
        for part, name in ((of_pairs, MICRO), (of_weights, "pair_accuracy"))
    ]
    assert [check.value for check in checks[0]] == [check.value for check in checks[1]]


def test_parts_segments_and_saved_results_keep_the_weights(tmp_path: Path) -> None:
    whole = ltr.evaluate(D.y, D.score, qid=D.qid, metrics=MICRO, by=np.arange(len(D.group)) % 2)
    parts = [ltr.evaluate(D.y[rows], D.score[rows], qid=D.qid[rows], metrics=MICRO) for rows in (D.qid < 9, D.qid >= 9)]
    assert concat(parts)[MICRO] == whole[MICRO]
    odd = D.qid % 2 == 1
    assert whole.by[1][MICRO] == ltr.evaluate(D.y[odd], D.score[odd], qid=D.qid[odd], metrics=MICRO)[MICRO]
    whole.save(tmp_path / "saved.parquet")
    saved = ltr.load_result(tmp_path / "saved.parquet")
    assert saved[MICRO] == whole[MICRO]
    assert ltr.compare({"a": saved, "b": whole}, n_resamples=200)[MICRO].difference == 0


def test_a_mean_over_queries_in_the_same_call_is_refused() -> None:
    message = r"average=micro\) is a mean over pairs and ndcg_exp@5 is a mean over queries.* Evaluate them in two calls"
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.evaluate(D.y, D.score, group=D.group, metrics=[MICRO, "ndcg@5"])
    both = [MICRO, "pair_accuracy(tied=0,average=micro)"]
    assert len(ltr.evaluate(D.y, D.score, group=D.group, metrics=both)) == 2


def test_queries_without_pairs_do_not_count_and_weights_beyond_float64_are_refused() -> None:
    y, s, group = [1, 0, 1, 1, 0, 0, 1], [1, 2, 2, 1, 4, 2, 3], [2, 2, 3]
    for no_relevant in ("skip", 0):
        result = ltr.evaluate(y, s, group=group, metrics=MICRO, no_relevant=no_relevant)
        assert result[MICRO] == pytest.approx(1 / 3)  # of one pair and two
    with pytest.raises(ltr.LtrValueError, match="weight of query 2, times its number of pairs, is beyond float64"):
        ltr.evaluate(y, s, group=group, metrics=MICRO, query_weight=[1, 1, 1.5e308])
