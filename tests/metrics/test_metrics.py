"""Every metric against the slow reference, and the properties that it must have."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from strategies import Data, data
from table import TABLE, Entry

import ltr_metrics as ltr
from ltr_metrics.metrics import METRICS

pytestmark = pytest.mark.filterwarnings(
    "ignore:(err|pfound) (counts grades|takes the labels)"
)  # small grades are what small examples have

TIES = ("mean", "stable", "worst", "best")
each_metric = pytest.mark.parametrize("entry", TABLE, ids=str)
each_ordered = pytest.mark.parametrize("entry", [e for e in TABLE if e.better_above_never_harms], ids=str)


def evaluate(d: Data, entry: Entry, ties: str = "mean", **options: object) -> ltr.Evaluation:
    columns = {"margin": d.columns["margin"]}
    return ltr.evaluate(
        entry.labels(d.y),
        d.score,
        group=d.group,
        metrics=entry.metrics(),
        ties=ties,
        judged=d.columns["judged"],
        columns=columns,
        **options,
    )


def values(d: Data, entry: Entry, ties: str = "mean", **options: object) -> dict[str, np.ndarray]:
    return evaluate(d, entry, ties, **options).per_query


def expected(d: Data, entry: Entry, k: int | None, ties: str, retrieved: np.ndarray | None = None) -> list[float]:
    def of_query(rows: slice) -> float:
        return reference.value(
            entry.reference,
            entry.labels(d.y)[rows].tolist(),
            d.score[rows].tolist(),
            k=k,
            ties=ties,
            retrieved=None if retrieved is None else retrieved[rows].tolist(),
            column=None if entry.column is None else d.columns[entry.column][rows].tolist(),
            judged=d.columns["judged"][rows].tolist() if entry.reads_judged else None,
            **entry.formula(),
        )

    return [of_query(slice(end - n, end)) for end, n in zip(np.cumsum(d.group), d.group, strict=True)]


def test_every_metric_and_parameter_value_is_in_the_table() -> None:
    assert {entry.cls for entry in TABLE} == set(METRICS)
    for cls in METRICS:
        varied = {name for entry in TABLE if entry.cls is cls for name in entry.parameters}
        inherited = {"rel"} if cls in (ltr.RBP, ltr.Precision) else set()
        assert varied | inherited >= {f.name for f in dataclasses.fields(cls)} - {"k"}, cls


@each_metric
@given(d=data())
@examples(30)
def test_equals_the_reference(entry: Entry, d: Data) -> None:
    for ties in TIES:
        got = values(d, entry, ties)
        for metric in entry.metrics():
            np.testing.assert_allclose(
                got[metric], expected(d, entry, metric.cutoff, ties), rtol=1e-12, atol=1e-13, err_msg=ties
            )


@each_metric
@given(d=data(), seed=st.integers(0, 2**32 - 1))
@examples(15)
def test_documents_that_were_not_retrieved_count_as_relevant_but_have_no_rank(entry: Entry, d: Data, seed: int) -> None:
    retrieved = np.random.default_rng(seed).random(len(d.y)) < 0.7
    retrieved[0] = True
    without = dataclasses.replace(d, score=np.where(retrieved, d.score, np.nan))  # nobody asks for these scores
    for ties in TIES:
        got = values(without, entry, ties, retrieved=retrieved)
        for metric in entry.metrics():
            np.testing.assert_allclose(
                got[metric], expected(d, entry, metric.cutoff, ties, retrieved), rtol=1e-12, atol=1e-13, err_msg=ties
            )


@each_metric
@given(d=data(scores=st.integers(-4, 4).map(float)))
@examples(20)
def test_only_the_order_of_scores_counts(entry: Entry, d: Data) -> None:
    stretched = dataclasses.replace(d, score=np.exp(d.score) - 7)
    for ties in TIES:
        got = values(stretched, entry, ties)
        for name, expected in values(d, entry, ties).items():
            np.testing.assert_array_equal(got[name], expected, err_msg=ties)


@each_metric
@given(d=data(max_documents=30), seed=st.integers(0, 2**32 - 1))
@examples(20)
def test_row_order_does_not_count_under_mean_ties(entry: Entry, d: Data, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(d.y))
    shuffled = ltr.evaluate(
        entry.labels(d.y)[order],
        d.score[order],
        qid=d.qid[order],
        metrics=entry.metrics(),
        judged=d.columns["judged"][order],
        columns={"margin": d.columns["margin"][order]},
    )
    back = np.argsort(shuffled.qid)
    for name, expected in values(d, entry, "mean").items():
        np.testing.assert_allclose(shuffled.per_query[name][back], expected, rtol=1e-13, atol=1e-15)


@each_metric
@given(d=data(max_documents=12), seed=st.integers(0, 2**32 - 1))
@examples(20)
def test_document_ids_are_the_order_of_rows_in_descending_order_of_id(entry: Entry, d: Data, seed: int) -> None:
    docid = np.random.default_rng(seed).permutation(len(d.y)).astype(str)
    got = values(d, entry, "docid", docid=docid)
    order = np.lexsort((-np.argsort(np.argsort(docid)), d.qid))  # as text: "9" stands before "10"
    expected = ltr.evaluate(
        entry.labels(d.y)[order],
        d.score[order],
        group=d.group,
        metrics=entry.metrics(),
        ties="stable",
        judged=d.columns["judged"][order],
        columns={"margin": d.columns["margin"][order]},
    )
    for name, value in expected.per_query.items():
        np.testing.assert_array_equal(got[name], value)


@each_ordered
@given(d=data(max_documents=20))
@examples(20)
def test_worst_is_at_most_mean_is_at_most_best(entry: Entry, d: Data) -> None:
    sign = 1 if entry.cls.higher_is_better else -1
    worst, mean, best, stable = (
        {name: sign * value for name, value in values(d, entry, ties).items()}
        for ties in ("worst", "mean", "best", "stable")
    )
    for name in map(str, entry.metrics()):
        defined = ~np.isnan(mean[name])
        assert (worst[name][defined] <= mean[name][defined] + 1e-12).all()
        assert (mean[name][defined] <= best[name][defined] + 1e-12).all()
        assert (worst[name][defined] <= stable[name][defined]).all()
        assert (stable[name][defined] <= best[name][defined]).all()


@each_ordered
@given(d=data(max_documents=12), seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_moving_a_better_document_up_never_harms(entry: Entry, d: Data, seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.permutation(len(d.y)).astype(float)
    i, j = rng.integers(len(d.y), size=2)
    swapped = score.copy()
    if d.qid[i] == d.qid[j] and d.y[i] > d.y[j] and score[i] < score[j]:
        swapped[[i, j]] = score[[j, i]]
    before = values(dataclasses.replace(d, score=score), entry, "mean")
    after = values(dataclasses.replace(d, score=swapped), entry, "mean")
    for name, value in before.items():
        defined = ~np.isnan(value)
        gain = after[name][defined] - value[defined]
        assert (gain * (1 if entry.cls.higher_is_better else -1) >= -1e-12).all()


@pytest.mark.parametrize("entry", [entry for entry in TABLE if entry.perfect_is_one], ids=str)
@given(d=data(max_documents=30))
@examples(20)
def test_a_perfect_ranking_scores_exactly_one_where_normalised(entry: Entry, d: Data) -> None:
    for value in values(dataclasses.replace(d, score=d.y), entry, "mean").values():
        assert set(value[~np.isnan(value)]) <= {1.0}


@pytest.mark.parametrize("entry", [entry for entry in TABLE if entry.padding_is_harmless], ids=str)
@given(d=data(max_documents=12))
@examples(20)
def test_an_irrelevant_document_at_the_end_changes_nothing(entry: Entry, d: Data) -> None:
    ends = np.cumsum(d.group)
    longer = Data(np.insert(d.y, ends, 0), np.insert(np.clip(d.score, -1e300, np.inf), ends, -np.inf), d.group + 1)
    shorter = dataclasses.replace(d, score=np.clip(d.score, -1e300, np.inf))
    got = values(longer, entry, "mean")
    for name, expected in values(shorter, entry, "mean").items():
        np.testing.assert_allclose(got[name], expected, rtol=1e-14)


@each_metric
@given(d=data(max_documents=12, max_queries=6))
@examples(20)
def test_queries_do_not_see_each_other(entry: Entry, d: Data) -> None:
    whole = values(d, entry, "mean")
    for query in range(len(d.group)):
        rows = d.qid == query
        alone = Data(d.y[rows], d.score[rows], d.group[query : query + 1])
        for name, value in values(alone, entry, "mean").items():
            np.testing.assert_array_equal(whole[name][query], value[0])


@pytest.mark.parametrize("gain", ["exp", "linear"])
def test_a_gain_table_equals_the_named_gain(gain: str) -> None:
    rng = np.random.default_rng(0)
    y, s, group = rng.integers(0, 5, 60), rng.integers(0, 9, 60), [7, 23, 30]
    table = [2.0**g - 1 for g in range(5)] if gain == "exp" else list(range(5))
    got = ltr.evaluate(y, s, group=group, metrics=[ltr.NDCG(k=5, gain=table)]).per_query
    expected = ltr.evaluate(y, s, group=group, metrics=[ltr.NDCG(k=5, gain=gain)]).per_query
    np.testing.assert_allclose(*(next(iter(v.values())) for v in (got, expected)), rtol=1e-15)


def test_callables_for_gain_and_discount() -> None:
    def squared(grades: np.ndarray) -> np.ndarray:
        return grades**2

    def reciprocal(ranks: np.ndarray) -> np.ndarray:
        return 1 / ranks

    made = ltr.DCG(gain=squared, discount=reciprocal)
    assert str(made) == "dcg(gain=squared,discount=reciprocal)"
    assert ltr.evaluate([3, 0, 2], [3, 2, 1], group=[3], metrics=[made])[made] == pytest.approx(9 + 4 / 3)


def test_grades_above_31_and_fractional_grades() -> None:
    result = ltr.evaluate([40, 0.5, 33, 0], [1, 2, 3, 4], group=[4], metrics=["ndcg_exp", "ndcg_lin", "map(rel=0.5)"])
    y = [0, 33, 0.5, 40]
    assert result["ndcg_exp"] == pytest.approx(reference.ndcg(y, y, None), rel=1e-14)
    assert result["ndcg_lin"] == pytest.approx(reference.ndcg(y, y, None, "linear"), rel=1e-14)
    assert result["map(rel=0.5)"] == pytest.approx(reference.average_precision(y, y, None, 0.5), rel=1e-14)
    one = ltr.evaluate([1.5, 0], [2, 1], group=[2], metrics="dcg_exp@1")["dcg_exp@1"]
    assert one == pytest.approx(2**1.5 - 1, rel=1e-14)


def test_err_with_labels_that_are_probabilities() -> None:
    y = [0.07, 0.61, 0.0, 0.41]
    got = ltr.evaluate(y, [4, 3, 2, 1], group=[4], metrics=["err(p=label)", "err(p=label)@2"])
    assert got["err(p=label)"] == pytest.approx(reference.err(y, y, None, p="label"), rel=1e-14)
    assert got["err(p=label)@2"] == pytest.approx(reference.err(y, y, 2, p="label"), rel=1e-14)
    assert got["err(p=label)@2"] == pytest.approx(0.07 + 0.93 * 0.61 / 2, rel=1e-14)


def test_the_highest_grade_of_the_query_is_that_of_all_its_documents() -> None:
    y, s, group = [1, 0, 2, 0, 0, 0], [6, 5, 4, 3, 2, 1], [3, 1, 2]
    names = ["err(max_grade=query)", "pfound(p_rel=exp,max_grade=query,p_break=0)"]
    result = ltr.evaluate(y, s, group=group, metrics=names, retrieved=[True, True, False, True, True, True])
    for name in names:  # the grade 2 has no rank, but sets the scale; without a relevant document the value is 0
        assert result.per_query[name].tolist() == [0.25, 0, 0]
    of_labels = ltr.evaluate([1, 0.5], [2, 1], group=[2], metrics=["err(max_grade=query,p=label)", "err(p=label)"])
    assert of_labels.per_query["err(max_grade=query,p=label)"] == of_labels.per_query["err(p=label)"]


@pytest.mark.parametrize(
    ("name", "labels", "message"),
    [
        ("err(max_grade=query)", [1, 0.5], r"must have whole grades: got 0.5 at row 1.*use err\(p=label\)"),
        ("err(max_grade=query)", [1, 1001], r"err\(max_grade=query\) must have no label above 1000: got 1001 at row 1"),
        ("rbp(graded=label)", [1, 1e308], "must be finite in float64, also summed over a query"),
    ],
)
def test_labels_without_a_value_are_refused(name: str, labels: list[float], message: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.evaluate(labels, [2, 1], group=[2], metrics=name)
