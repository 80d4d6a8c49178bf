"""Spark gives what one machine gives: every metric, whatever the partitions, the steps and the
types; and folds keep queries whole.
"""

from __future__ import annotations

import datetime
import doctest
import gc
import itertools
import os
import pickle
import shutil
import sys
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from strategies import data as small_data
from strategies import random_data
from table import TABLE

import ltr_metrics as ltr
from ltr_metrics.io import read_letor

if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
    pytest.skip("no Java, which Spark needs", allow_module_level=True)
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'ltr_metrics[spark]'")

import pyarrow as pa  # noqa: E402
from pyspark.ml.evaluation import Evaluator  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402
from pyspark.ml.regression import LinearRegression  # noqa: E402
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812

from ltr_metrics.metrics.requests import resolve  # noqa: E402
from ltr_metrics.spark import (  # noqa: E402
    QueryEvaluator,
    TrainValidationSplitByQuery,
    evaluate,
    evaluation,
    evaluator,
    folds,
    partition,
    with_folds,
)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),  # Spark 3.5
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning"),  # of Spark's searches
]
METRICS = ["ndcg@10", "map", "mrr", "err@10", "pair_accuracy", "mean_of(margin)@3"]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("tests").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")  # starts in half the time
    session = builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    gc.collect()  # pools of Spark's searches, while their warnings are expected
    del os.environ["PYSPARK_PYTHON"]
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before


def table(n_queries: int = 40, seed: int = 0) -> pd.DataFrame:
    """Rows of queries with ties, of one document, without a relevant one; in no order."""
    drawn = random_data(seed, n_queries=n_queries)
    rows = pd.DataFrame({"qid": drawn.qid * 7 + 1, "label": drawn.y, "score": drawn.score})
    rows["margin"] = drawn.columns["margin"]
    rows["weight"] = 1.0 + np.arange(len(rows)) % 4
    rows["docid"] = [f"d{i * 37 % 101}-{i}" for i in range(len(rows))]
    rows["device"] = np.where(rows.qid % 3, "phone", "desk")
    rows["month"] = rows.qid % 5
    return rows.sample(frac=1, random_state=seed, ignore_index=True)


def collected(frame: DataFrame) -> pd.DataFrame:
    """Return what toPandas does, which warns with new versions of pandas."""
    return pd.DataFrame([row.asDict() for row in frame.collect()])


def local(rows: pd.DataFrame, metrics: Any = METRICS, **options: Any) -> ltr.Evaluation:
    columns = {"margin": rows.margin.to_numpy()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ltr.LtrWarning)
        return ltr.evaluate(
            rows.label.to_numpy(),
            rows.score.to_numpy(),
            qid=rows.qid.to_numpy(),
            metrics=metrics,
            columns=columns,
            **options,
        )


def same(found: ltr.Evaluation, expected: ltr.Evaluation) -> None:
    """Compare everything, queries by id."""
    assert list(found.mean) == list(expected.mean)
    for name, mean in expected.mean.items():
        assert found.mean[name] == pytest.approx(mean, abs=1e-12, nan_ok=True), name
    assert found.n_undefined == expected.n_undefined
    assert found.lower_is_better == expected.lower_is_better
    assert (found.n_queries, found.is_weighted) == (expected.n_queries, expected.is_weighted)
    order = np.argsort(expected.qid)
    assert found.qid.tolist() == expected.qid[order].tolist()
    for name, values in expected.per_query.items():
        np.testing.assert_allclose(found.per_query[name], values[order], rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(found.n_documents, expected.n_documents[order])
    np.testing.assert_array_equal(found.n_relevant, expected.n_relevant[order])
    assert found.fingerprint is not None
    assert expected.fingerprint is not None
    np.testing.assert_array_equal(found.fingerprint.of_query, expected.fingerprint.of_query[order])
    assert found.policy == expected.policy
    if expected.weight is None:
        assert found.weight is None
    else:
        np.testing.assert_allclose(found.weight, expected.weight[order], rtol=0, atol=1e-12)


# -- the partition, without Spark ------------------------------------------------------------------


def task(metrics: Any = "mrr", rows_at_once: int = 100_000, **options: Any) -> partition.Task:
    names = {"qid": "qid", "label": "label", "score": "score"}
    return partition.Task(resolve(metrics, **options), names, (), (), rows_at_once)


def batches(table: pa.Table, cuts: list[int]) -> list[pa.RecordBatch]:
    ends = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    parts = [table.slice(a, b - a).combine_chunks() for a, b in itertools.pairwise(ends)]
    return [pa.RecordBatch.from_arrays([c.combine_chunks() for c in p.columns], p.column_names) for p in parts]


CUTS = st.lists(st.integers(0, 40), max_size=8)


@given(st.lists(st.integers(1, 12), max_size=8), CUTS, st.integers(1, 15), st.booleans())
@examples(200)
def test_steps_are_whole_queries_and_few_rows(sizes: list[int], cuts: list[int], rows_at_once: int, text: bool) -> None:
    ids = np.repeat(np.arange(len(sizes)), sizes)
    column = pa.array([f"q{i}" for i in ids] if text else ids)
    rows = pa.table({"qid": column, "row": pa.array(np.arange(len(ids)))})
    steps = list(partition.whole_queries(iter(batches(rows, cuts)), task(rows_at_once=rows_at_once)))
    assert [row for step in steps for row in step.column("row").to_pylist()] == list(range(len(ids)))
    of_step = [set(step.column("qid").to_pylist()) for step in steps]
    assert sum(map(len, of_step)) == len(set().union(*of_step))
    for step in steps:
        assert 0 < len(step) <= 2 * rows_at_once + max(sizes)


@given(small_data(), CUTS, st.integers(1, 9))
@examples(60)
def test_a_partition_gives_what_one_machine_gives(drawn: Any, cuts: list[int], rows_at_once: int) -> None:
    metrics = ["ndcg@3", "map", "pair_accuracy"]
    rows = pa.table({"qid": drawn.qid, "label": drawn.y, "score": drawn.score})
    found = partition.evaluated(iter(batches(rows, cuts)), task(metrics, rows_at_once))
    *steps, last = [row for batch in found for row in batch.to_pylist()]
    totals, labels = pickle.loads(last["notes"])
    expected = ltr.evaluate(drawn.y, drawn.score, qid=drawn.qid, metrics=metrics)
    for name, values in expected.per_query.items():
        parts = [pickle.loads(step["queries"]).per_query[name] for step in steps]
        np.testing.assert_allclose(np.concatenate(parts), values, rtol=0, atol=1e-12)
        assert totals.mean[expected.mean.canonical(name)] == pytest.approx(expected.mean[name], abs=1e-12, nan_ok=True)
    assert (totals.n_queries, labels.longest) == (expected.n_queries, max(drawn.group))
    assert labels.grades.tolist() == sorted(set(drawn.y.tolist()))


def test_a_partition_without_rows_has_nothing_to_say() -> None:
    rows = pa.table({"qid": pa.array([], pa.int64()), "label": pa.array([], pa.int64()), "score": pa.array([], "f8")})
    assert list(partition.evaluated(iter(batches(rows, [])), task())) == []
    assert list(partition.evaluated(iter([]), task())) == []


# -- evaluate --------------------------------------------------------------------------------------


def test_all_metrics_agree(spark: SparkSession) -> None:
    rows = table()
    frame = spark.createDataFrame(rows).persist()
    kinds: dict[tuple[float, float, str], list[Any]] = {}  # one evaluation has means over queries, or over pairs
    for entry in TABLE:
        metrics = entry.metrics()
        kinds.setdefault((entry.scale, entry.highest, metrics[0].mean_over), []).extend(metrics)
    assert len(kinds) > 3
    for (scale, highest, _), metrics in kinds.items():
        scaled = frame.withColumn("label", F.least(F.col("label") * scale, F.lit(float(highest))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ltr.LtrWarning)
            found = evaluate(scaled, metrics=metrics)
            same(found, local(rows.assign(label=np.minimum(rows.label * scale, highest)), metrics))
    frame.unpersist()


@pytest.mark.parametrize("n_partitions", [1, 3, 17])
def test_partitions_steps_and_kinds_of_ids_change_nothing(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, n_partitions: int
) -> None:
    monkeypatch.setattr(evaluation, "ROWS_AT_ONCE", 5)
    rows = table(9 if n_partitions == 17 else 30)  # fewer queries than partitions
    if n_partitions == 3:
        rows["qid"] = [f"query {i}" for i in rows.qid]
    shuffled = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", str(n_partitions))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "4")
    spark.conf.set("spark.sql.adaptive.enabled", str(n_partitions == 1).lower())  # which merges small partitions
    try:
        frame = spark.createDataFrame(rows).repartition(n_partitions)
        same(evaluate(frame, metrics=METRICS), local(rows))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", shuffled)
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_weights_segments_and_document_ids(spark: SparkSession) -> None:
    rows = table()
    frame = spark.createDataFrame(rows)
    by = {name: rows[name].to_numpy() for name in ("device", "month")}
    options: dict[str, Any] = {"ties": "docid", "no_relevant": 0}
    found = evaluate(
        frame, metrics=METRICS, docid="docid", weight="weight", by=("device", "month"), score="score", **options
    )
    expected = local(rows, docid=rows.docid.to_numpy(), sample_weight=rows.weight.to_numpy(), by=by, **options)
    same(found, expected)
    assert local(rows, no_relevant=0)["map"] != pytest.approx(expected["map"], abs=1e-6)  # there are ties
    assert found.by.keys() == {"device", "month"}
    for name, of_name in expected.by.items():
        assert set(found.by[name]) == set(of_name)
        for label, part in of_name.items():
            same(found.by[name][label], part)
    assert list(found.by["device"]) == list(dict.fromkeys("phone" if qid % 3 else "desk" for qid in found.qid))
    same(evaluate(frame, metrics=METRICS, docid="month", by="device"), local(rows))


def test_it_is_compared_and_saved_as_any_other(spark: SparkSession, tmp_path: Path) -> None:
    rows = table()
    there = evaluate(spark.createDataFrame(rows), metrics=METRICS)
    comparison = ltr.compare({"here": local(rows), "there": there})
    assert comparison["map"].ties == comparison["map"].n_queries
    there.save(tmp_path / "there.parquet")
    same(ltr.load_result(tmp_path / "there.parquet"), local(rows))


TYPES = ["byte", "short", "int", "long", "float", "double", "decimal(12,3)", "boolean"]


@pytest.mark.parametrize("kind", TYPES)
def test_types_of_grades_and_scores(spark: SparkSession, kind: str) -> None:
    rows = table(12)
    frame = spark.createDataFrame(rows)
    converted = frame.withColumn("label", F.col("label").cast(kind))
    number = {"boolean": lambda x: x != 0, "float": np.float32, "decimal(12,3)": float}.get(kind, int)
    expected = rows.assign(label=rows.label.map(number))
    if kind != "boolean":
        converted = converted.withColumn("score", (F.col("score") * 8).cast(kind))
        expected["score"] = (rows.score * 8).map(number)
    metrics = ["ndcg@10", "map", "pair_accuracy"]
    same(evaluate(converted, metrics=metrics), local(expected, metrics))


def test_types_of_ids(spark: SparkSession) -> None:
    rows = pd.DataFrame({"label": [1, 0, 0, 2, 1, 0], "score": [0.2, 0.8, 0.1, 0.7, 0.3, 0.3]})
    day = datetime.date(2024, 2, 29)
    for a, b in (
        (Decimal("1.50"), Decimal("2.00")),
        (day, day + datetime.timedelta(1)),
        (False, True),
        (-0.0, 2.5),
        ("a", "A"),
    ):
        ids = [a, a, b, b, a, b]
        if isinstance(a, float):
            ids[4] = 0.0  # is -0.0
        given = [(qid, *row) for qid, row in zip(ids, rows.itertuples(index=False), strict=True)]
        found = evaluate(spark.createDataFrame(given, ["qid", "label", "score"]), metrics="mrr")
        expected = ltr.evaluate(rows.label, rows.score, qid=[str(i == b) for i in ids], metrics="mrr")
        assert found.n_queries == 2
        assert sorted(found.per_query["mrr"]) == pytest.approx(sorted(expected.per_query["mrr"]), abs=1e-12)


def test_decimals_are_scores_if_float64_tells_them_apart(spark: SparkSession) -> None:
    def mrr(*scores: str) -> float:
        rows = [("a", 1, Decimal(scores[0])), ("a", 0, Decimal(scores[1]))]
        frame = spark.createDataFrame(rows, "qid string, label int, score decimal(38, 22)")
        return evaluate(frame, metrics="mrr")["mrr"]

    assert mrr("0.1", "0.2") == 0.5
    with pytest.raises(ltr.LtrValueError, match="y_score must not hold numbers that float64 cannot keep apart"):
        mrr("0.1", "0.1000000000000000000001")


def test_ids_that_a_collation_takes_for_equal_stay_two(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    if int(spark.version.split(".")[0]) < 4:
        pytest.skip(f"Spark {spark.version} has no collations")
    monkeypatch.setattr(evaluation, "ROWS_AT_ONCE", 1)
    given = [("aA"[i % 2], int(i % 3 == 0), float(i)) for i in range(12)]
    frame = spark.createDataFrame(given, "qid string, label int, score double")
    found = evaluate(frame.withColumn("qid", F.expr("collate(qid, 'UTF8_LCASE')")), metrics="mrr")
    assert found.n_queries == 2
    assert found.qid.tolist() == ["A", "a"]
    assert found.n_documents.tolist() == [6, 6]


def test_names_of_columns_are_taken_literally(spark: SparkSession) -> None:
    rows = table(12)
    renamed = rows.rename(columns={"label": "the.grade", "score": "a`b", "qid": "query id"})
    found = evaluate(spark.createDataFrame(renamed), label="the.grade", score="a`b", qid="query id", metrics=METRICS)
    same(found, local(rows))


def test_nothing_runs_before_it_is_asked_for_and_then_once(spark: SparkSession) -> None:
    context, rows = spark.sparkContext, table(60)
    draw = F.udf(lambda _: float(np.random.default_rng().random()), "double").asNondeterministic()
    frame = spark.createDataFrame(rows).withColumn("score", draw("score"))
    kept = context._jsc.getPersistentRDDs  # of the JVM
    context.setJobGroup("of this test", "")
    gc.collect()  # what other tests have kept is let go now, and not meanwhile
    before = kept().size()
    result = evaluate(frame, metrics=["mrr", "map"])
    assert not context.statusTracker().getJobIdsForGroup("of this test")
    mean = result["mrr"]
    assert context.statusTracker().getJobIdsForGroup("of this test")
    assert kept().size() == before + 1
    assert np.nanmean(result.per_query["mrr"]) == pytest.approx(mean, abs=1e-12)  # scores were not drawn again
    assert kept().size() == before
    other = evaluate(frame, metrics=["mrr", "map"])
    assert other["map"] != result["map"]  # of so many documents no two draws rank alike
    assert kept().size() == before + 1
    del other
    assert kept().size() == before
    context.setLocalProperty("spark.jobGroup.id", None)


def test_a_result_that_is_deleted_during_a_call_to_spark_is_unpersisted_later(spark: SparkSession) -> None:
    frame, kept = spark.createDataFrame(table(12)), spark.sparkContext._jsc.getPersistentRDDs
    gc.collect()
    before = kept().size()
    results = [evaluate(frame, metrics="mrr")]
    _ = results[0].mean
    assert kept().size() == before + 1
    call = "def call(action): action()"  # as the garbage collector may run within a call of py4j, on its connection
    exec(call, scope := {"__name__": "py4j.java_gateway"})
    scope["call"](results.clear)
    assert kept().size() == before + 1
    evaluate(frame, metrics="mrr")
    assert kept().size() == before


def share_of_top(ranking: ltr.Ranking) -> Any:
    return ranking.grades[:, 0]


def test_metrics_of_ones_own(spark: SparkSession) -> None:
    rows = table(12)

    def first_grade(y: Any, score: Any) -> float:
        return float(y[np.argmax(score)])

    assert first_grade([0, 2], [1, 3]) == 2
    frame = spark.createDataFrame(rows)
    with pytest.raises(ltr.LtrValueError, match=r"executors cannot import test_spark.*PYSPARK_PYTHON"):
        _ = evaluate(frame, metrics=share_of_top).mean


def test_real_queries(spark: SparkSession, data: Path) -> None:
    X, y, qid = read_letor(data / "mq2008" / "S5.txt.xz")
    rows = pd.DataFrame({"qid": qid, "label": y, "score": X[:, 24], "margin": X[:, 0]})
    metrics = ["ndcg@10", "ndcg_lin", "map", "mrr", "err(max_grade=2)@10", "rbp", "pair_accuracy", "mean_of(margin)"]
    same(evaluate(spark.createDataFrame(rows), metrics=metrics), local(rows, metrics))


# -- what is refused -------------------------------------------------------------------------------


def changed(frame: DataFrame, column: str, value: Any) -> DataFrame:
    """Give the query 8 another value in a column."""
    return frame.withColumn(column, F.when(F.col("qid") == 8, F.lit(value)).otherwise(F.col(column)))


@pytest.mark.parametrize(
    ("column", "value", "options", "message"),
    [
        ("label", None, {}, r"label must not be null: column 'label' is null in query 8, .*dropna"),
        ("score", None, {}, r"score must not be null: column 'score' is null in query 8"),
        ("weight", None, {"weight": "weight"}, r"weight must not be null: column 'weight' is null in query 8"),
        (
            "margin",
            None,
            {"metrics": "mean_of(margin)"},
            r"column must not be null: column 'margin' is null in query 8",
        ),
        ("device", None, {"by": "device"}, r"by must not be null: column 'device' is null in query 8"),
        ("qid", None, {}, r"qid must not be null: column 'qid' is null in some rows"),
        ("score", float("nan"), {}, r"y_score must not be NaN: got nan at query 8"),
        ("label", float("nan"), {}, r"y_true must be finite: got nan at query 8"),
        ("label", -1.0, {}, r"y_true must not be negative: got -1.0 at query 8"),
        ("label", 9.0, {"metrics": "err@10"}, r"no label above max_grade=4: got 9 at query 8"),
        ("weight", -1.0, {"weight": "weight"}, r"sample_weight must be finite and not negative: got -1.0 at query 8"),
        ("label", 0.0, {"metrics": "map", "no_relevant": "error"}, r"map is undefined for query"),
        ("score", 1.0, {"by": "docid"}, r"by\['docid'\] must be one label a query"),
    ],
)
def test_values_that_are_refused(
    spark: SparkSession, column: str, value: Any, options: dict[str, Any], message: str
) -> None:
    result = evaluate(changed(spark.createDataFrame(table()), column, value), **options)
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    for ask in ("mean", "per_query"):
        with pytest.raises(ltr.LtrValueError, match=message) as caught:
            getattr(result, ask)
        assert len(str(caught.value)) < 500  # and not a trace of Spark
    assert spark.sparkContext._jsc.getPersistentRDDs().size() <= before  # others may be let go meanwhile


def test_no_rows(spark: SparkSession) -> None:
    result = evaluate(spark.createDataFrame(table()).where("qid < 0"))
    with pytest.raises(ltr.LtrValueError, match="no rows"):
        _ = result["map"]


def test_labels_are_checked_over_all_partitions(spark: SparkSession) -> None:
    rows = table().assign(label=lambda rows: np.minimum(rows.label, 1))
    expected = pytest.warns(ltr.LtrWarning, match="max_grade")
    with expected as warned:
        local_warns = ltr.evaluate(rows.label, rows.score, qid=rows.qid, metrics="err@10")
    result = evaluate(spark.createDataFrame(rows).repartition(7), metrics="err@10")
    with pytest.warns(ltr.LtrWarning) as found:
        assert result["err@10"] == pytest.approx(local_warns["err@10"], abs=1e-12)
    ours = [str(one.message) for one in found if one.category is ltr.LtrWarning]
    assert ours == [str(one.message) for one in warned if one.category is ltr.LtrWarning]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"label": "lable"}, ltr.LtrKeyError, r"label: the frame has no column 'lable'. Did you mean 'label'\?"),
        ({"by": ["devices"]}, ltr.LtrKeyError, r"by: .*Did you mean 'device'"),
        ({"metrics": "mean_of(price)"}, ltr.LtrKeyError, r"column: the frame has no column 'price'"),
        ({"qid": 3}, ltr.LtrTypeError, r"qid must be the name of a column. Got 3"),
        ({"score": "device"}, ltr.LtrTypeError, r"score must be a column of numbers: 'device' is string. .*cast"),
        ({"docid": "score"}, ltr.LtrTypeError, r"docid must be a column of whole numbers or text: 'score' is double"),
        ({"qid": "features"}, ltr.LtrTypeError, r"qid must be a column of numbers, text or dates: 'features' is array"),
        (
            {"ties": "stable"},
            ltr.LtrValueError,
            r'ties="stable" keeps the order of rows, and rows in Spark have no order',
        ),
        ({"convention": "xgboost"}, ltr.LtrValueError, r"the convention 'xgboost' sets it.*docid="),
        ({"convention": "trec_eval"}, ltr.LtrValueError, r'ties="docid" needs docid, a column'),
        ({"metrics": "ndgc"}, ltr.LtrValueError, r"ndcg"),
    ],
)
def test_mistakes_are_seen_at_once(
    spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    frame = spark.createDataFrame(table(6)).withColumn("features", F.array("score"))
    with pytest.raises(error, match=message):
        evaluate(frame, **options)


def test_frames_that_are_refused(spark: SparkSession) -> None:
    with pytest.raises(ltr.LtrTypeError, match=r"must be a Spark DataFrame. Got a DataFrame.*ltr_metrics\.evaluate"):
        evaluate(table())  # type: ignore[arg-type]
    with pytest.raises(ltr.LtrTypeError, match="stream"):
        evaluate(spark.readStream.format("rate").load())
    frame = spark.createDataFrame(table(6))
    with pytest.raises(ltr.LtrValueError, match="2 columns 'label'"):
        evaluate(frame.select("*", "label"))


# -- the evaluator ---------------------------------------------------------------------------------


def test_the_evaluator_is_one_of_sparks(spark: SparkSession, tmp_path: Path) -> None:
    rows = table()
    frame = spark.createDataFrame(rows).withColumnRenamed("score", "prediction")
    ours = QueryEvaluator(metric=ltr.NDCG(k=5, gain="linear"), weightCol="weight", noRelevant=0.5)
    weighted = local(rows, "ndcg_lin@5", sample_weight=rows.weight.to_numpy(), no_relevant=0.5)
    assert isinstance(ours, Evaluator)
    assert ours.isLargerBetter()
    assert ours.evaluate(frame) == pytest.approx(weighted["ndcg_lin@5"], abs=1e-12)
    assert ours.evaluate(frame, {ours.metric: "mrr"}) == pytest.approx(
        local(rows, "mrr", sample_weight=rows.weight.to_numpy(), no_relevant=0.5)["mrr"], abs=1e-12
    )
    assert ours.copy().evaluate(frame) == ours.evaluate(frame)
    assert "qidCol: column of query ids (default: qid, current: qid)" in ours.explainParams()
    ours.save(str(tmp_path / "evaluator"))
    loaded = QueryEvaluator.load(str(tmp_path / "evaluator"))
    assert {p.name: v for p, v in loaded.extractParamMap().items()} == {
        p.name: v for p, v in ours.extractParamMap().items()
    }
    assert loaded.evaluate(frame) == ours.evaluate(frame)
    of_docid = QueryEvaluator(metric="map", ties="docid", docidCol="docid").evaluate(frame)
    assert of_docid == pytest.approx(local(rows, "map", ties="docid", docid=rows.docid.to_numpy())["map"], abs=1e-12)


def test_what_the_evaluator_refuses(spark: SparkSession) -> None:
    with pytest.raises(ltr.LtrValueError, match="ndcg"):
        QueryEvaluator(metric="ndgc")
    with pytest.raises(ltr.LtrValueError, match="convention 'lightgbm'"):
        QueryEvaluator(convention="lightgbm")
    with pytest.raises(TypeError, match="one metric, by name"):
        QueryEvaluator(metric=["mrr"])  # type: ignore[arg-type]
    frame = spark.createDataFrame(table().assign(label=0)).withColumnRenamed("score", "prediction")
    with pytest.raises(ltr.LtrValueError, match=r"map is undefined for all 40 queries.*noRelevant"):
        QueryEvaluator(metric="map").evaluate(frame)
    with pytest.raises(ltr.LtrKeyError, match="Did you mean 'prediction'"):
        QueryEvaluator(predictionCol="predictions").evaluate(frame)


# -- folds -----------------------------------------------------------------------------------------


def test_folds_are_of_whole_queries_and_always_the_same(spark: SparkSession) -> None:
    frame = spark.range(3_000).selectExpr("id % 1000 as qid", "id as row")
    found = collected(with_folds(frame, "qid", n_folds=5, seed=1))
    assert found.groupby("qid").fold.nunique().eq(1).all()
    of_query = found.groupby("qid").fold.first()
    sizes = of_query.value_counts().sort_index()
    assert sizes.index.tolist() == [0, 1, 2, 3, 4]
    assert sizes.between(120, 280).all()  # 200, and 13 is a standard deviation
    text = frame.withColumn("qid", F.col("qid").cast("string")).repartition(7)
    again = collected(with_folds(text, "qid", 5, 1, column="f")).astype(int).groupby("qid").f.first()
    assert (again == of_query).all()
    other = collected(with_folds(frame, "qid", 5, seed=2)).groupby("qid").fold.first()
    assert 0.1 < (other == of_query).mean() < 0.3  # seeds have nothing to do with each other
    few = collected(with_folds(frame.where("qid < 10"), "qid", 5, 1)).groupby("qid").fold.first()
    assert (few == of_query[few.index]).all()


def test_folds_that_are_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame(table(6))
    for options, message in (
        ({"n_folds": 1, "seed": 0}, "n_folds must be"),
        ({"n_folds": 2, "seed": 0, "column": "device"}, "has a column 'device'"),
        ({"n_folds": 2, "seed": 0.5}, "seed must be"),
    ):
        with pytest.raises(ltr.LtrError, match=message):
            with_folds(frame, "qid", **options)  # type: ignore[arg-type]
    with pytest.raises(ltr.LtrKeyError, match="no column 'query'"):
        with_folds(frame, "query", 2, 0)
    with pytest.raises(Exception, match="qid must not be null: column 'qid'"):
        with_folds(changed(frame, "qid", None), "qid", 2, 0).collect()


class Recording(QueryEvaluator):
    """Remembers which queries it was asked about."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: list[frozenset[int]] = []

    def _evaluate(self, dataset: DataFrame) -> float:
        self.seen.append(frozenset(row.qid for row in dataset.select("qid").distinct().collect()))
        return super()._evaluate(dataset)


@pytest.fixture(scope="module")
def ranking(spark: SparkSession) -> pd.DataFrame:
    X, y, qid = ltr.make_ranking(60, n_features=4, random_state=0)
    return pd.DataFrame(X).add_prefix("f").assign(label=y, qid=qid)


@pytest.fixture(scope="module")
def vectors(spark: SparkSession, ranking: pd.DataFrame) -> DataFrame:
    assembler = VectorAssembler(inputCols=["f0", "f1", "f2", "f3"], outputCol="features")
    return assembler.transform(spark.createDataFrame(ranking))


@pytest.mark.parametrize("make", [CrossValidator, TrainValidationSplit])
def test_rows_drawn_at_random_are_refused(vectors: DataFrame, make: Any) -> None:
    regression = LinearRegression()
    grid = ParamGridBuilder().addGrid(regression.regParam, [0.0, 10.0]).build()
    search = make(estimator=regression, estimatorParamMaps=grid, evaluator=QueryEvaluator())
    with pytest.raises(ltr.LtrValueError, match="queries are cut in two.*with_folds.*TrainValidationSplitByQuery"):
        search.fit(vectors)


def test_a_split_by_query(vectors: DataFrame, ranking: pd.DataFrame) -> None:
    regression, judge = LinearRegression(elasticNetParam=1.0), Recording(metric="ndcg@5")
    grid = ParamGridBuilder().addGrid(regression.regParam, [10.0, 0.0, 0.3]).build()
    options: dict[str, Any] = {"estimator": regression, "estimatorParamMaps": grid, "evaluator": judge, "seed": 3}
    search = TrainValidationSplitByQuery(trainRatio=0.6, parallelism=2, collectSubModels=True, **options)
    model = search.fit(vectors)
    held_out = judge.seen[0]
    assert len(judge.seen) == 3
    assert set(judge.seen) == {held_out}
    assert 14 <= len(held_out) <= 34  # 24 of 60, and 4 is a standard deviation
    train = vectors.where(~F.col("qid").isin(list(held_out)))
    rows = ranking[ranking.qid.isin(held_out)]
    expected = []
    for chosen, kept in zip(grid, model.subModels, strict=True):
        by_hand = regression.copy(chosen).fit(train)
        assert kept.coefficients.toArray() == pytest.approx(by_hand.coefficients.toArray(), abs=1e-9)
        scores = rows[["f0", "f1", "f2", "f3"]].to_numpy() @ by_hand.coefficients.toArray()
        expected.append(ltr.evaluate(rows.label, scores, qid=rows.qid, metrics="ndcg@5")["ndcg@5"])
    assert model.validationMetrics == pytest.approx(expected, abs=1e-12)
    assert len(set(expected)) == 3
    best = regression.copy(grid[int(np.argmax(expected))]).fit(vectors)
    assert model.bestModel.coefficients.toArray() == pytest.approx(best.coefficients.toArray(), abs=1e-9)
    with pytest.raises(ltr.LtrTypeError, match="cannot be saved"):
        search.write()
    with pytest.raises(ltr.LtrValueError, match="validation part has no query"):
        TrainValidationSplitByQuery(trainRatio=1.0, **options).fit(vectors)
    with pytest.raises(ltr.LtrKeyError, match="no column 'query'"):
        TrainValidationSplitByQuery(qidCol="query", **options).fit(vectors)


def test_cross_validation_of_a_ranker(spark: SparkSession, ranking: pd.DataFrame) -> None:
    xgboost_spark = pytest.importorskip("xgboost.spark")
    features = ["f0", "f1", "f2", "f3"]
    frame = with_folds(spark.createDataFrame(ranking), "qid", n_folds=2, seed=0).persist()
    ranker = xgboost_spark.SparkXGBRanker(
        features_col=features, label_col="label", qid_col="qid", n_estimators=3, random_state=0, num_workers=1
    )
    grid = ParamGridBuilder().addGrid(ranker.max_depth, [1, 4]).build()
    judge = Recording(metric="ndcg@5")
    options = {"estimator": ranker, "estimatorParamMaps": grid, "evaluator": judge, "collectSubModels": True}
    model = CrossValidator(numFolds=2, foldCol="fold", **options).fit(frame)
    first, second = sorted(set(judge.seen), key=min)
    assert first | second == set(ranking.qid)
    assert not first & second
    expected = np.zeros((2, 2))
    for fold, candidate in itertools.product(range(2), range(2)):
        fitted, rows = model.subModels[fold][candidate], collected(frame.where(F.col("fold") == fold))
        assert set(rows.qid) in (first, second)
        X = rows[features].to_numpy(np.float32)
        scores = fitted.get_booster().inplace_predict(X)
        expected[fold, candidate] = ltr.evaluate(rows.label, scores, qid=rows.qid, metrics="ndcg@5")["ndcg@5"]
        if fold == candidate:
            by_hand = ranker.copy(grid[candidate]).fit(frame.where(F.col("fold") != fold))
            np.testing.assert_array_equal(by_hand.get_booster().inplace_predict(X), scores)
    assert model.avgMetrics == pytest.approx(expected.mean(axis=0), abs=1e-12)
    assert expected.std() > 0
    frame.unpersist()


# -- docstrings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [evaluation, evaluator, folds], ids=lambda module: module.__name__)
def test_examples_of_docstrings(spark: SparkSession, module: ModuleType) -> None:
    tried = 0
    for test in doctest.DocTestFinder().find(module, extraglobs={"spark": spark}):
        for example in test.examples:
            example.options.pop(doctest.SKIP, None)  # there is no session where pytest runs them
        shown = doctest.DocTestRunner().run(test)
        tried += shown.attempted
        assert not shown.failed
    assert tried
