"""Saved results: back to the bit, whole or not at all, and tied to the data that they are of."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import identical

import ltr_metrics as ltr
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.evaluation.evaluate import fingerprint_of
from ltr_metrics.metrics.requests import resolve


def evaluated(n_queries: int = 60, seed: int = 0, **options: Any) -> ltr.Evaluation:
    X, y, qid = ltr.make_ranking(n_queries, random_state=seed)
    return ltr.evaluate(y, X[:, 0], qid=qid, **options)


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    X, y, qid = ltr.make_ranking(40, random_state=0)
    options: dict[str, Any] = {"metrics": ["ndcg@10", "map@10"], "convention": "trec_eval", "ties": "mean"}
    options |= {"sample_weight": y + 1, "by": {"half": qid % 2, "device": np.where(qid % 3, "phone", "desk")}}
    result = ltr.evaluate(y, X[:, 0], qid=qid, **options)
    result.save(tmp_path / "r.parquet")
    back = ltr.load_result(tmp_path / "r.parquet")
    identical(back, result, in_order=True)
    assert back["map@10"] == result["map@10"]  # the name as asked for, which the convention completed
    assert str(back) == str(result)


def test_anybody_can_read_the_table_and_the_header(tmp_path: Path) -> None:
    evaluated(metrics=["ndcg@10", "mrr"]).save(tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    assert table.column_names == ["qid", "documents", "relevant", "fingerprint", "ndcg_exp@10", "mrr"]
    header = json.loads(table.schema.metadata[b"ltr_metrics"])
    assert header["versions"]["ltr_metrics"] == ltr.__version__
    assert header["policy"]["ties"] == "mean"
    assert len(header["data"]) == 16


def without_header(path: Path) -> None:
    pq.write_table(pa.table({"qid": [1], "mrr": [0.5]}), path)


def of_another_version(path: Path, **fields: Any) -> None:
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"ltr_metrics"]) | (fields or {"format": 1})
    pq.write_table(table.replace_schema_metadata({b"ltr_metrics": json.dumps(header).encode()}), path)


def test_clusters_are_saved_by_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    result = ltr.evaluate([1, 0, 1], [1, 2, 3], qid=[1, 2, 3], metrics="dcg", cluster=["b", 7, "b"])
    result.save(path)
    assert pq.read_table(path)["cluster"].to_pylist() == ["b", "7", "b"]
    assert ltr.load_result(path).cluster_labels[0] == ["b", "7"]  # type: ignore[index]
    assert ltr.load_result(path).standard_error == result.standard_error
    of_another_version(path, cluster=None)  # with numbers, which mean other clusters in another file
    with pytest.raises(ltr.LtrValueError, match="saved by another version"):
        ltr.load_result(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "is damaged, cut off or not"),
        (lambda path: path.write_text("qid,label\n1,2\n"), "is damaged, cut off or not"),
        (without_header, "is a Parquet file, but not a saved result"),
        (of_another_version, "was saved by another version of ltr_metrics.*Evaluate again"),
        (lambda path: of_another_version(path, policy={"mean_over": "queries"}), "saved by another version"),
    ],
)
def test_what_is_no_saved_result_is_refused(damage: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    evaluated().save(path)
    damage(path)
    with pytest.raises(ltr.LtrValueError, match=message) as error:
        ltr.load_result(path)
    assert str(path) in str(error.value)


def test_a_saved_result_is_read_under_any_name_and_csv_is_named_as_such(tmp_path: Path) -> None:
    path, result = tmp_path / "r.csv", evaluated()
    result.save(tmp_path / "r")
    (tmp_path / "r").replace(path)
    assert ltr.load_result(path).mean == result.mean
    result.to_pandas().to_csv(path, index=False)
    with pytest.raises(
        ltr.LtrValueError, match=r"r.csv is a CSV file, .* Evaluation.from_per_query.* compare --result"
    ):
        ltr.load_result(path)


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    result = evaluated(n_queries=20, metrics=["ndcg@10", "mrr"], by=np.arange(20) % 3)
    result.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            back = ltr.load_result(path)
        except ltr.LtrValueError:
            continue
        for name, values in result.per_query.items():  # the pages have checksums, the header has none
            assert back.per_query.get(name, values).tobytes() == values.tobytes()


def test_a_missing_file_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no saved result"):
        ltr.load_result(tmp_path / "r.parquet")
    with pytest.raises(FileNotFoundError, match="no folder"):
        evaluated().save(tmp_path / "nowhere" / "r.parquet")


@pytest.mark.parametrize("name", ["weight", "by:0"])
def test_a_metric_named_like_a_column_of_the_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(ltr.LtrValueError, match="cannot be saved"):
        evaluated().with_values({name: np.zeros(60)}).save(tmp_path / "r.parquet")
    assert not list(tmp_path.iterdir())


# -- fingerprints -----------------------------------------------------------------------------------------------------


def print_of(result: Any) -> str:
    return result.fingerprint.of_all(result.qid)


def prints(y: Any, qid: Any, **options: Any) -> dict[Any, int]:
    queries = LabelledQueries(y, qid=qid, **options)
    return dict(zip(queries.qid.tolist(), fingerprint_of(queries).of_query.tolist(), strict=True))


@given(st.data())
def test_the_order_of_rows_makes_no_difference_and_a_grade_does(data: st.DataObject) -> None:
    y = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), min_size=2, max_size=12))
    qid = data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y)))
    order = data.draw(st.permutations(range(len(y))))
    before = prints(y, qid)
    assert prints([y[i] for i in order], [qid[i] for i in order]) == before
    row = data.draw(st.integers(0, len(y) - 1))
    changed = prints([*y[:row], 3.0, *y[row + 1 :]], qid)
    assert {q for q in before if before[q] != changed[q]} == {qid[row]}
    doubled = prints([*y, y[row]], [*qid, qid[row]])
    assert {q for q in before if before[q] != doubled[q]} == {qid[row]}


def test_documents_that_nobody_judged_and_what_was_retrieved_make_none() -> None:
    judged = prints([1, 0, 2], [1, 1, 1])
    assert prints([1, 0, 2, 0], [1] * 4, judged=[True, True, True, False]) == judged
    assert prints([1, 0, 2], [1, 1, 1], retrieved=[True, False, True]) == judged
    assert prints([1, 0, 2, 0], [1] * 4) != judged


def test_a_fingerprint_survives_copies_and_another_order() -> None:
    result = evaluated()
    backwards = result.subset(result.qid[::-1].astype(str))
    text = print_of(result)
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), backwards):
        assert print_of(other) == text
    np.testing.assert_array_equal(backwards.fingerprint.of_query, result.fingerprint.of_query[::-1])
    assert print_of(evaluated(seed=1)) != text


# -- values of another tool --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_counts", [True, False])
@pytest.mark.parametrize(("convention", "metrics"), [(None, ["ndcg@10", "arp"]), ("trec_eval", ["ndcg@10", "map@5"])])
def test_values_of_another_tool_are_compared_as_if_evaluated(
    has_counts: bool, convention: Any, metrics: list[str]
) -> None:
    X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    options: dict[str, Any] = {"convention": convention, "docid": [f"d{i}" for i in range(len(y))]}
    old, new = (ltr.evaluate(y, X[:, j], qid=qid, metrics=metrics, **options) for j in (0, 1))
    frame = old.to_pandas().sample(frac=1, random_state=0).astype({"qid": str})
    frame = frame if has_counts else frame.drop(columns=["documents", "relevant"])
    read = ltr.Evaluation.from_per_query(frame, convention=convention)
    assert (read.policy.ties, read.lower_is_better) == (old.policy.ties, old.lower_is_better)
    expected = ltr.compare({"old": old, "new": new}, random_state=0).to_pandas()
    for models in ({"old": read, "new": new}, {"new": new, "old": read}):
        found = ltr.compare(models, baseline="old", random_state=0).to_pandas()
        np.testing.assert_allclose(found["difference"], expected["difference"], rtol=1e-12)
        np.testing.assert_allclose(found["mean"], expected["mean"], rtol=1e-12)


def test_names_of_columns_are_completed_or_taken_as_they_are() -> None:
    frame = {"qid": [1, 2], "ndcg@10": [0.5, np.nan], "ms": [20, 30]}
    read = ltr.Evaluation.from_per_query(frame, convention="sklearn", lower_is_better=["ms"])
    assert dict(read) == {"ndcg_lin@10": 0.5, "ms": 25}
    assert (read.lower_is_better, read.n_undefined["ndcg@10"]) == ({"ms"}, 1)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({"map": [1.0]}, {}, "column qid"),
        ({"qid": [1]}, {}, "a column per metric"),
        ({"qid": [1, "1"], "map": [1, 2]}, {}, "each query once"),
        ({"qid": [1], "p@5": [1.0], "precision@5": [1.0]}, {"convention": "default"}, "each metric once"),
        ({"qid": [1], "mrr": [1.0]}, {"convention": "lightgbm"}, "'mrr' is not a metric of lightgbm"),
        ({"qid": [1], "pair_accuracy(average=micro)": [1.0]}, {}, "mean over pairs"),
        ({"qid": [1], "map": [1.0]}, {"lower_is_better": ["map"], "convention": "default"}, "lower_is_better"),
    ],
)
def test_what_is_no_table_of_values_is_refused(frame: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        ltr.Evaluation.from_per_query(frame, **options)


def table_of(*names: str, is_ours: bool = False) -> dict[str, list[float]]:
    counts = {"documents": [3.0, 2.0], "relevant": [1.0, 1.0]} if is_ours else {}
    return {"qid": [1, 2]} | counts | {name: [1.0, 1.0] for name in names}  # which all metrics can have


OPEN_GAINS = {
    "ndcg@10": "ndcg_exp@10 or ndcg_lin@10",
    "ndcg": "ndcg_exp or ndcg_lin",
    "dcg@5": "dcg_exp@5 or dcg_lin@5",
    "ndcg(discount=jarvelin)@3": r"ndcg_exp\(discount=jarvelin\)@3 or ndcg_lin\(discount",
}


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize("name", OPEN_GAINS)
def test_a_gain_that_another_tool_leaves_open_is_never_ours(name: str, is_ours: bool) -> None:
    message = rf"'{re.escape(name)}' leaves the gain open.* Rename it to {OPEN_GAINS[name]}.* convention=.trec_eval"
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.Evaluation.from_per_query(table_of("mrr", name, is_ours=is_ours))
    read = ltr.Evaluation.from_per_query(table_of(name, is_ours=is_ours), convention="default")
    assert "_exp" in next(iter(read))


OPEN_NAMES = ["map@10", "precision@5", "p@5", "err@10", "mrr", "recall@3", "rbp", "map"]
OTHER_NAMES = [
    "ndcg_lin@10",
    "dcg_exp",
    "map(denominator=relevant)@10",
    "arp",
    "kendall",
    "q@5",
    "latency",
    "recip_rank",
]


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_a_name_that_a_convention_completes_otherwise_is_read_as_ours_with_a_warning(name: str) -> None:
    with pytest.warns(ltr.LtrWarning, match=rf"columns are read as .*: {re.escape(name)}. But .* is \S+ in") as caught:
        read = ltr.Evaluation.from_per_query(table_of(name, "ndcg_exp@3"))
    assert (len(caught), list(read)) == (1, [str(ltr.metric(name)), "ndcg_exp@3"])
    assert list(ltr.Evaluation.from_per_query(table_of(name), convention="default")) == [str(ltr.metric(name))]
    ours = ltr.Evaluation.from_per_query(table_of(str(ltr.metric(name)), is_ours=True))  # without a warning
    assert list(ours) == [str(ltr.metric(name))]


def test_names_that_are_complete_or_not_ours_are_read_without_a_warning() -> None:
    assert list(ltr.Evaluation.from_per_query(table_of(*OTHER_NAMES))) == OTHER_NAMES
    with pytest.warns(ltr.LtrWarning, match=r"read as metrics of this package: map, mrr. But map is map\(rel"):
        ltr.Evaluation.from_per_query(table_of("map", "ndcg_lin@3", "mrr"))
    named = ltr.Evaluation.from_per_query(table_of("map@10", "ndcg@10"), convention="trec_eval")
    assert list(named) == ["map(denominator=relevant)@10", "ndcg_lin@10"]
    with pytest.raises(
        ltr.LtrValueError, match=r"in which map@10 is complete, but trec_eval reads it as map\(denominator=relevant\)"
    ):
        ltr.Evaluation.from_per_query(table_of("map@10", is_ours=True), convention="trec_eval")


@pytest.mark.parametrize("convention", ltr.CONVENTIONS)
def test_our_own_tables_are_read_back_without_a_warning_under_each_convention(convention: Any) -> None:
    chosen = ltr.CONVENTIONS[convention]
    of_tables = {  # those of columns, and means over pairs, are not in a table of values per query
        name: settings
        for name, settings in chosen.metrics.items()
        if name not in ("mean_of", "sum_of") and settings.get("average") != "micro"
    }
    asked = [
        f"{name}@3" if hasattr(ltr.metric(name), "k") and "k" not in settings else name
        for name, settings in of_tables.items()
    ]
    names = resolve([*asked, "judged@3"], convention=convention).names
    for named in (None, convention):
        read = ltr.Evaluation.from_per_query(table_of(*names, is_ours=True), convention=named)
        assert list(read) == list(names)


def test_a_table_that_lacks_the_weights_of_its_values_is_refused() -> None:
    """LightGBM's convention gives a query without relevant documents the value 1 / weight."""
    y, qid, weights = [1, 0, 0, 0, 0, 2], [1, 1, 2, 2, 3, 3], [1, 0.01, 1]
    options = {"qid": qid, "metrics": "ndcg@2", "convention": "lightgbm", "query_weight": weights}
    result = ltr.evaluate(y, [1, 2, 1, 2, 2, 1], **options)
    with pytest.raises(ltr.LtrValueError, match=r"ndcg_exp@2 is 100 for query 2, .* this table lacks.*result\.save"):
        ltr.Evaluation.from_per_query(result.to_pandas(), convention="lightgbm")
    frame = result.to_pandas()
    frame.insert(0, "user", ["00", "00", "06"])
    frame.insert(0, "weight", weights)  # as 'evaluate --format csv' writes them
    read = ltr.Evaluation.from_per_query(frame, convention="lightgbm")
    assert read.mean == result.mean
    with pytest.raises(ltr.LtrValueError, match="cannot be used with other weights"):
        ltr.compare({"old": read, "new": result}, metrics=["ndcg@2"])  # whose plain means have none
