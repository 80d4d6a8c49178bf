"""Ties that are alike are computed once, and no value changes."""

from __future__ import annotations

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.metrics import open_ties
from ltr_metrics.metrics.open_ties import FEW_TIES, Kinds

N_QUERIES = 4 * FEW_TIES
METRICS = ["err@10", "err", "pfound(p_rel=yandex)@4", "pfound(p_rel=[0.5,0.1,0.3,0,1])@5", "mrr", "mrr@3", "mrr(rel=3)"]


@pytest.mark.parametrize("slot_bits", [1, 5, open_ties.SLOT_BITS])
def test_a_tie_is_of_the_kind_of_its_key(slot_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_ties, "SLOT_BITS", slot_bits)
    keys = np.random.default_rng(0).integers(0, 40, 3 * FEW_TIES) ** 7
    found = Kinds.of(keys)
    np.testing.assert_array_equal(keys[found.example][found.of_tie], keys)
    np.testing.assert_array_equal(found.of_tie[found.example], np.arange(len(found.example)))
    assert len(found.example) < len(keys)


@pytest.mark.parametrize(
    ("n_documents", "n_grades", "n_scores"),
    [(2, 5, 1), (8, 5, 3), (20, 5, 6), (20, 2, 2), (40, 3, 4), (8, 60, 3)],
    ids=["pairs", "short", "twenty", "two grades", "long", "too many grades for a key"],
)
def test_many_ties_have_the_values_that_a_few_have(
    n_documents: int, n_grades: int, n_scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([n_documents, n_grades])
    n_rows = N_QUERIES * n_documents
    y, score = rng.integers(0, n_grades, n_rows), rng.integers(0, n_scores, n_rows).astype(np.float64)
    metrics = METRICS if n_grades <= 5 else ["pfound(p_rel=label)@10", "mrr(rel=0.5)"]
    labels = y * 4 // (n_grades - 1) if n_grades <= 5 else y / n_grades
    queries = ltr.Queries(labels, group=np.full(N_QUERIES, n_documents))
    together = queries.evaluate(score, metrics)
    monkeypatch.setattr(open_ties, "FEW_TIES", n_rows)
    alone = queries.evaluate(score, metrics)
    for name, values in alone.per_query.items():
        np.testing.assert_array_equal(together.per_query[name], values, err_msg=name)


def test_ties_that_span_the_cutoff_differ_from_those_that_do_not() -> None:
    y = np.tile([1, 0, 1, 0, 0, 1], N_QUERIES)
    score = np.tile([3.0, 2, 2, 2, 1, 1], N_QUERIES)  # the second tie is above the cutoff in every other query
    score[::12] = 1.5
    got = ltr.evaluate(y, score, group=np.full(N_QUERIES, 6), metrics="err(max_grade=1)@3").per_query
    few = ltr.evaluate(y[:12], score[:12], group=[6, 6], metrics="err(max_grade=1)@3").per_query
    for values, expected in zip(got.values(), few.values(), strict=True):
        np.testing.assert_array_equal(values, np.tile(expected, N_QUERIES // 2))
        assert expected[0] != expected[1]
