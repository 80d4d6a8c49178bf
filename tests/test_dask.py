"""Evaluation in the partitions of Dask: the numbers of one machine, whatever the partitions; cut
queries found; nothing computed too early.
"""

from __future__ import annotations

import itertools
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from strategies import random_data
from table import TABLE

import ltr_metrics as ltr
from ltr_metrics.evaluation.parts import GRADES_KEPT, LabelChecks
from ltr_metrics.io import read_letor
from ltr_metrics.metrics.shown import Judged

pytestmark = pytest.mark.integration

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'ltr_metrics[dask]'")
dd = pytest.importorskip(
    "dask.dataframe", reason="Dask's data frames are not installed: pip install 'ltr_metrics[dask]'"
)
distributed = pytest.importorskip(
    "distributed", reason="Dask's clusters are not installed: pip install 'ltr_metrics[dask]'"
)

import dask.array as da  # noqa: E402

from ltr_metrics.dask import evaluate, evaluate_scores, whole_queries  # noqa: E402

METRICS = [
    "ndcg@10",
    "ndcg_lin",
    "map",
    "mrr",
    "pfound(p_rel=yandex)@10",
    "p@3",
    "pair_accuracy",
    "mean_of(margin)@2",
    "sum_of(margin)",
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture  # not for the module: Dask takes a client that is open for the one of other tests, too
def client() -> Iterator[Any]:
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as made,
    ):
        warnings.simplefilter("ignore")
        yield made


def frame_of(rows: Any, seed: int = 0) -> pd.DataFrame:
    """Return rows with everything that an evaluation may need."""
    rng = np.random.default_rng(seed)
    n = len(rows.y)
    return pd.DataFrame(
        {
            "qid": rows.qid * 7,
            "label": rows.y,
            "score": rows.score,
            "docid": [f"D{i}" for i in rng.permutation(n)],
            "weight": rng.random(n),
            "device": np.array(["phone", "desk", "tab"])[rng.integers(0, 3, len(rows.group))][rows.qid],
            "margin": rng.normal(size=n),
            "unused": "text",
        }
    )


def parts_of(frame: pd.DataFrame, cuts: Any, empty: bool = False) -> list[pd.DataFrame]:
    """Cut a table before these rows; among them, if wanted, stand parts without rows."""
    edges = [0, *sorted(cuts), len(frame)]
    parts = [frame.iloc[a:b] for a, b in itertools.pairwise(edges)]
    return [part for one in parts for part in ((frame.iloc[:0], one, frame.iloc[:0]) if empty else (one,))]


def dask_of(parts: list[pd.DataFrame]) -> Any:
    return dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0])


def in_memory(frame: pd.DataFrame, metrics: Any, score: str = "score", **options: Any) -> ltr.Evaluation:
    return ltr.evaluate(
        frame["label"], frame[score], qid=frame["qid"], metrics=metrics, columns={"margin": frame["margin"]}, **options
    )


def same(found: ltr.Evaluation, expected: ltr.Evaluation) -> None:
    """Means as they come from sums, then all that a result holds, queries matched by id."""
    assert dict(found.mean) == pytest.approx(dict(expected.mean), rel=0, abs=1e-12, nan_ok=True)
    assert found.n_undefined == expected.n_undefined
    assert found.lower_is_better == expected.lower_is_better
    assert found.n_queries == expected.n_queries
    at = {one: i for i, one in enumerate(found.qid.tolist())}
    order = [at[one] for one in expected.qid.tolist()]
    assert sorted(order) == list(range(found.n_queries))
    for name, values in expected.per_query.items():
        np.testing.assert_allclose(found.per_query[name][order], values, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.n_documents[order], expected.n_documents)
    np.testing.assert_array_equal(found.n_relevant[order], expected.n_relevant)
    assert found.fingerprint is not None
    assert expected.fingerprint is not None
    np.testing.assert_array_equal(found.fingerprint.of_query[order], expected.fingerprint.of_query)
    assert found.is_weighted == expected.is_weighted
    if expected.weight is not None:
        assert found.weight is not None
        np.testing.assert_array_equal(found.weight[order], expected.weight)
    assert found.policy == expected.policy


# -- the numbers of one machine --------------------------------------------------------------------


@pytest.mark.parametrize("n_partitions", [1, 3, pytest.param(17, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ties", ["mean", "stable", "docid", "worst"])
def test_every_metric(n_partitions: int, ties: str) -> None:
    rows = random_data(3, n_queries=60)
    cuts = np.random.default_rng(n_partitions).choice(np.cumsum(rows.group)[:-1], n_partitions - 1, replace=False)
    of_labels: dict[tuple[float, float, str], list[Any]] = {}  # one evaluation has means over queries, or over pairs
    for entry in TABLE:
        if entry.cls is not Judged:  # which is of an option that frames do not have
            metrics = entry.metrics()
            of_labels.setdefault((entry.scale, entry.highest, metrics[0].mean_over), []).extend(metrics)
    for (scale, highest, _), metrics in of_labels.items():
        frame = frame_of(rows).assign(label=np.minimum(rows.y * scale, highest))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ltr.LtrWarning)  # of grades below max_grade
            spread = dask_of(parts_of(frame, cuts, empty=True))
            found = evaluate(spread, weight="weight", docid="docid", metrics=metrics, ties=ties)
            same(found, in_memory(frame, metrics, sample_weight=frame["weight"], docid=frame["docid"], ties=ties))
        assert found.qid.tolist() == list(dict.fromkeys(frame["qid"].tolist()))


def mean_grade_of_two(grades: np.ndarray, columns: dict[str, np.ndarray]) -> float:
    return float(grades[:2].mean())


def test_a_function_of_a_query() -> None:
    frame = frame_of(random_data(8))
    metrics = [ltr.as_metric(mean_grade_of_two, higher_is_better=False, per="query", columns=[]), "arp"]
    spread = dask_of(parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[3, 20]] + 1))
    same(evaluate(spread, metrics=metrics), in_memory(frame, metrics))


@pytest.mark.slow
@examples(25)
@given(
    seed=st.integers(0, 2**16),
    n_partitions=st.integers(1, 9),
    ties=st.sampled_from(["mean", "stable", "docid", "best"]),
    single=st.booleans(),
    ids=st.sampled_from([int, str, float, lambda i: f"{i}" if i % 3 else i, "Int64", "category", "string[pyarrow]"]),
    scattered=st.booleans(),
    shuffled=st.booleans(),
)
def test_any_partitions(
    seed: int, n_partitions: int, ties: str, single: bool, ids: Any, scattered: bool, shuffled: bool
) -> None:
    rows = random_data(seed, n_queries=12)
    frame = frame_of(rows, seed)
    rng = np.random.default_rng(seed)
    if isinstance(ids, str):
        frame["qid"] = frame["qid"].astype(ids)
    elif isinstance(ids, type):
        frame["qid"] = frame["qid"].map(ids)
    else:
        frame["qid"] = pd.Series([ids(i) for i in frame["qid"].tolist()], dtype=object)
    if single:
        frame["score"] = frame["score"].astype(np.float32)
    if shuffled:
        frame = frame.iloc[rng.permutation(len(frame))]
        parts = parts_of(frame, rng.integers(0, len(frame) + 1, n_partitions - 1))
    else:
        of_query = rng.integers(0, n_partitions, len(rows.group))
        if scattered:  # in a partition the rows of queries may stand in any order
            frame = frame.iloc[rng.permutation(len(frame))]
        code = pd.factorize(frame["qid"])[0]
        parts = [frame[of_query[code] == i] for i in range(n_partitions)]
        frame = pd.concat(parts)
    options = {"metrics": METRICS, "ties": ties}
    with dask.config.set({"dataframe.convert-string": False}):
        found = evaluate(dask_of(parts), weight="weight", docid="docid", by=["device"], shuffle=shuffled, **options)
        by = {"device": frame["device"].to_numpy()}
        expected = in_memory(
            frame, sample_weight=frame["weight"].to_numpy(), docid=frame["docid"].to_numpy(), by=by, **options
        )
        same(found, expected)
    for label, segment in expected.by["device"].items():
        assert dict(found.by["device"][label].mean) == pytest.approx(dict(segment.mean), rel=0, abs=1e-12, nan_ok=True)
    if not shuffled:
        assert found.qid.tolist() == expected.qid.tolist()


def test_series_and_arrays_beside_the_frame() -> None:
    frame = frame_of(random_data(5))
    cuts = np.flatnonzero(np.diff(frame["qid"]))[[9, 25]] + 1
    spread = dask_of(parts_of(frame, cuts))
    expected = in_memory(frame, "ndcg", sample_weight=frame["weight"])
    unknown = spread["score"].to_dask_array()
    assert np.isnan(unknown.chunks[0]).all()
    edges = [0, *cuts, len(frame)]
    known = da.from_array(frame["score"].to_numpy(), chunks=(tuple(np.diff(edges)),))
    for score in (spread["score"], unknown, known):
        same(evaluate(spread, score=score, weight="weight", metrics="ndcg"), expected)
        found = evaluate(
            None, label=spread["label"], score=score, qid=spread["qid"].values, weight=spread["weight"], metrics="ndcg"
        )
        same(found, expected)
    same(
        evaluate(spread.drop(columns="qid"), qid=spread["qid"], weight="weight", metrics="ndcg", shuffle=True), expected
    )


def test_several_scores_share_the_reading() -> None:
    frame = frame_of(random_data(6))
    reads: list[int] = []

    def read(part: pd.DataFrame) -> pd.DataFrame:
        reads.append(len(part))
        return part

    parts = parts_of(frame, [len(frame)])
    spread = dd.from_map(read, parts, meta=frame.iloc[:0])
    found = evaluate_scores(spread, {"old": "score", "new": "margin"}, metrics=METRICS)
    assert reads == []
    same(found["new"], in_memory(frame, METRICS, score="margin"))
    same(found["old"], in_memory(frame, METRICS))
    assert sorted(reads) == [0, len(frame)]


def test_a_categorical_keeps_its_order_of_segments() -> None:
    frame = frame_of(random_data(7))
    frame["device"] = pd.Categorical(frame["device"], categories=["tab", "phone", "desk", "none"], ordered=True)
    parts = parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[3, 20]] + 1)
    for shuffle in (False, True):
        found = evaluate(dask_of(parts), by="device", metrics="map", shuffle=shuffle)
        assert list(found.by["device"]) == ["tab", "phone", "desk"]


def test_together_it_is_an_evaluation(tmp_path: Path) -> None:
    frame = frame_of(random_data(8))
    spread = dask_of(parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[3, 20]] + 1))
    found, expected = evaluate(spread, weight="weight"), in_memory(frame, None, sample_weight=frame["weight"])
    found.save(tmp_path / "a.parquet")
    same(ltr.load_result(tmp_path / "a.parquet"), expected)
    pd.testing.assert_frame_equal(found.to_pandas(), expected.to_pandas())
    assert str(found) == str(expected)
    other = in_memory(frame, None, score="margin", sample_weight=frame["weight"])
    of_two = [ltr.compare({"a": one, "b": other}, n_resamples=100).to_pandas() for one in (found, expected)]
    pd.testing.assert_frame_equal(*of_two)


def test_real_data(data: Path) -> None:
    rows = read_letor(data / "mq2008" / "S1.txt.xz")
    frame = pd.DataFrame({"qid": rows.qid, "label": rows.y, "score": rows.X[:, 24], "margin": rows.X[:, 10]})
    starts = np.flatnonzero(np.diff(frame["qid"])) + 1
    expected = in_memory(frame, METRICS)
    for n_partitions in (1, 3, 17):
        cuts = np.random.default_rng(0).choice(starts, n_partitions - 1, replace=False)
        same(evaluate(dask_of(parts_of(frame, cuts, empty=True)), metrics=METRICS), expected)
    cut = dd.from_pandas(frame.sample(frac=1, random_state=0), npartitions=5, sort=False)
    same(evaluate(cut, metrics=METRICS, shuffle=True), expected)


# -- when and how often ----------------------------------------------------------------------------


def test_nothing_is_computed_before_it_is_asked_for_and_nothing_twice() -> None:
    calls: list[int] = []

    def watched(ranking: Any) -> Any:
        calls.append(1)
        return np.ones(len(ranking.queries.qid))

    graphs: list[int] = []

    def scheduler(graph: Any, keys: Any, **options: Any) -> Any:
        graphs.append(1)
        return dask.local.get_sync(graph, keys, **options)

    frame = frame_of(random_data(9))
    spread = dask_of(parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[3, 20]] + 1))
    with dask.config.set(scheduler=scheduler):
        result = evaluate(spread, metrics=[watched, "mrr"], weight="weight")
        shuffled = evaluate(spread, metrics=[watched, "mrr"], shuffle=True)
        assert (result.is_weighted, result.policy.ties) == (True, "mean")
        assert (graphs, calls) == ([], [])
        assert result["watched"] == 1
        assert len(calls) == 3
        assert result.n_queries == 40
        assert len(result.per_query["mrr"]) == 40
        assert result.qid.tolist() == list(dict.fromkeys(frame["qid"].tolist()))
        assert len(calls) == 3
        assert shuffled["mrr"] == pytest.approx(in_memory(frame, "mrr")["mrr"], abs=1e-12)


# -- queries that are cut --------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [int, str, float, Decimal, lambda i: ("of", i), pd.Timestamp])
@pytest.mark.parametrize("partition", [1, 5])
def test_a_cut_query_is_named(ids: Callable[[int], Any], partition: int) -> None:
    frame = frame_of(random_data(10))
    frame["qid"] = pd.Series([ids(i) for i in frame["qid"].tolist()], dtype=object).infer_objects()
    starts = np.flatnonzero(np.diff(pd.factorize(frame["qid"])[0])) + 1
    parts = parts_of(frame, starts[[3, 9, 16, 24, 30]])
    with dask.config.set({"dataframe.convert-string": False}):
        same(evaluate(dask_of(parts), metrics=METRICS), in_memory(frame, METRICS))  # no false alarm
        of_several = int(np.flatnonzero(parts[0]["qid"].duplicated())[0])
        moved = parts[0].iloc[[of_several]]
        parts[0] = parts[0].drop(index=moved.index)
        parts[partition] = pd.concat([moved, parts[partition]])
        frame = pd.concat(parts)
        named = frame["qid"].dtype.kind != "M"
        spread = dask_of(parts)
        for _ in range(2):  # an error is not forgotten
            result = evaluate(spread)
            with pytest.raises(
                ltr.LtrValueError, match=rf"in the partitions 0 and {partition}\. Pass shuffle=True .*whole_queries"
            ) as caught:
                _ = result.mean
            assert not named or f"query {moved['qid'].tolist()[0]!r} has rows" in str(caught.value)
            with pytest.raises(ltr.LtrValueError, match="has rows in the partitions"):
                _ = result.per_query
        same(evaluate(whole_queries(spread), metrics=METRICS), in_memory(frame, METRICS)) if ids in (int, str) else None


def test_many_cut_queries_are_counted() -> None:
    frame = frame_of(random_data(11)).sample(frac=1, random_state=0)
    with pytest.raises(ltr.LtrValueError, match=r"partitions \d and \d and \d others\. \d\d more queries are cut"):
        _ = evaluate(dd.from_pandas(frame, npartitions=7, sort=False)).mean


def test_equal_hashes_are_no_cut_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    from ltr_metrics.dask import cuts, evaluation

    for module in (cuts, evaluation):
        monkeypatch.setattr(module, "hashes_of", lambda ids: np.arange(len(ids), dtype=np.uint64) % np.uint64(3))
    monkeypatch.setattr(cuts, "CANDIDATES_AT_ONCE", 2)
    frame = frame_of(random_data(10))
    starts = np.flatnonzero(np.diff(frame["qid"])) + 1
    same(evaluate(dask_of(parts_of(frame, starts[[3, 9, 16]])), metrics="map"), in_memory(frame, "map"))
    within = int(np.flatnonzero(np.diff(frame["qid"]) == 0)[0]) + 1
    with pytest.raises(ltr.LtrValueError, match="in the partitions 0 and 1"):
        _ = evaluate(dask_of(parts_of(frame, [within])), metrics="map").mean


def test_ids_that_are_equal_have_equalhashes_of() -> None:
    from ltr_metrics.dask.cuts import hashes_of

    numbers = [0, 1, -1, 7, 2**40, -(2**62)]
    as_objects = np.array(numbers, dtype=object)
    for ids in (np.array(numbers), np.array(numbers, dtype=float), np.array([*map(float, numbers)], dtype=object)):
        np.testing.assert_array_equal(hashes_of(ids), hashes_of(as_objects))
    np.testing.assert_array_equal(hashes_of(np.array([Decimal(1), True, 1.0], dtype=object)), [1, 1, 1])
    np.testing.assert_array_equal(hashes_of(np.array([0.5, -0.0])), hashes_of(np.array([0.5, 0.0], dtype=object)))
    np.testing.assert_array_equal(hashes_of(np.array(["a", "b"])), hashes_of(np.array(["a", "b"], dtype=object)))
    assert len(np.unique(hashes_of(np.arange(100_000).astype(str)))) == 100_000
    assert len(np.unique(hashes_of(np.arange(2**62, 2**62 + 1000)))) == 1000


@pytest.mark.parametrize("ids", [int, str])
def test_whole_queries(ids: type) -> None:
    frame = frame_of(random_data(12)).sample(frac=1, random_state=0)
    frame["qid"] = frame["qid"].map(ids)
    whole = whole_queries(dd.from_pandas(frame, npartitions=7, sort=False))
    parts = dask.compute(*whole.to_delayed())
    assert len(parts) == 7
    assert [list(part.columns) for part in parts] == [list(frame.columns)] * 7
    assert dict(whole.dtypes) == dict(parts[0].dtypes)
    assert all(part["qid"].is_monotonic_increasing for part in parts)
    together = pd.concat(parts)
    assert len(together["qid"].unique()) == sum(part["qid"].nunique() for part in parts)
    for query, rows in together.groupby("qid"):  # in the order that they had
        assert rows.index.tolist() == frame.index[frame["qid"] == query].tolist()
    same(evaluate(whole, metrics=METRICS), in_memory(frame, METRICS))


def test_columns_whose_names_are_not_text_are_refused_with_the_remedy() -> None:
    table = frame_of(random_data(12)).rename(columns={"score": 0, "margin": 1})
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    remedy = r"must be text.*Got the int 0.*frame\.rename\(columns=str\)"
    with pytest.raises(ltr.LtrTypeError, match=remedy):
        whole_queries(frame)
    with pytest.raises(ltr.LtrTypeError, match=r"frame\.rename\(columns=str\)"):
        whole_queries(frame, qid=2)  # type: ignore[arg-type]
    whole = whole_queries(frame.rename(columns=str)).compute()
    assert len(whole) == len(table)
    assert whole["0"].sum() == pytest.approx(table[0].sum())


# -- labels ----------------------------------------------------------------------------------------


def test_labels_are_checked_over_all_partitions() -> None:
    frame = frame_of(random_data(13, grades=(0, 1)))
    starts = np.flatnonzero(np.diff(frame["qid"])) + 1
    with pytest.warns(ltr.LtrWarning, match="max_grade") as found:
        _ = evaluate(dask_of(parts_of(frame, starts[[3, 9]])), metrics=["err", "mrr"]).mean
    assert len(found) == 1
    frame.loc[0, "label"] = 4  # of the last partition, too, the highest grade is 4
    result = evaluate(dask_of(parts_of(frame, starts[[3, 9]])), metrics=["err", "mrr"])
    assert result["err"] == pytest.approx(in_memory(frame, "err")["err"], abs=1e-12)
    frame.loc[len(frame) - 1, "label"] = 5
    with pytest.raises(ltr.LtrValueError, match="In partition 2: .*5"):
        _ = evaluate(dask_of(parts_of(frame, starts[[3, 9]])), metrics=["err", "mrr"]).mean


def test_label_checks_add_up() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.integers(1, 5, 700) for _ in range(4)]
    labels = [rng.random(group.sum()) for group in groups]
    parts = []
    for y, group in zip(labels, groups, strict=True):
        parts.append(LabelChecks())
        parts[-1].add(ltr.Queries(y, group=group, columns={"margin": y}))
    total = parts[0] + parts[1] + parts[2] + parts[3]
    y = np.concatenate(labels)
    assert len(total.grades) == GRADES_KEPT
    assert (total.grades[0], total.grades[-1]) == (y.min(), y.max())
    assert (total.longest, total.columns) == (4, ("margin",))
    LabelChecks().check(None)  # type: ignore[arg-type]


# -- errors ----------------------------------------------------------------------------------------


def with_value(column: str, value: Any, dtype: Any = None) -> Any:
    frame = frame_of(random_data(14))
    starts = np.flatnonzero(np.diff(frame["qid"])) + 1
    if dtype is not None:
        frame[column] = frame[column].astype(dtype)
    frame.loc[starts[9] + 1, column] = value
    return dask_of(parts_of(frame, starts[[3, 9]]))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    ("column", "value", "dtype", "message"),
    [
        ("label", np.nan, None, r"y_true must be finite: got nan at row 1( of partition 2)? \(query \d+\)"),
        ("label", -1, None, r"y_true must not be negative: got -1.0 at row 1"),
        (
            "label",
            pd.NA,
            "Int64",
            r"(y_true|label) must be (finite: got nan|numbers without missing values: got <NA>) at row 1",
        ),
        ("score", np.nan, None, r"NaN.*row 1( of partition 2)? \(query \d+\)"),
        ("weight", -1.0, None, r"sample_weight must be finite .* got -1.0 at row 1( of partition 2)?"),
        ("qid", np.nan, float, "In partition 2: qid must have an id in every row: it is missing at row 1"),
        ("qid", pd.NA, "Int64", "In partition 2: qid must have an id in every row: it is missing at row 1"),
        ("qid", pd.NA, "string[pyarrow]", "In partition 2: qid must have an id in every row: it is missing at row 1"),
        ("qid", np.nan, "category", "In partition 2: qid must have an id in every row: it is missing at row 1"),
        ("device", "car", None, r"by\['device'\] must be one label a query"),
        ("docid", "D0", None, None),
    ],
)
def test_errors_name_partition_and_row(column: str, value: Any, dtype: Any, message: str | None, shuffle: bool) -> None:
    options = {"weight": "weight", "docid": "docid", "by": "device", "shuffle": shuffle}
    result = evaluate(with_value(column, value, dtype), metrics=["map", "mrr"], **options)
    if message is None:  # the same document in another query
        assert result.n_queries == 40
        return
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message) as caught:
        _ = result.mean
    assert "artition 2" in str(caught.value)


def test_partitions_without_any_row() -> None:
    frame = frame_of(random_data(15)).iloc[:0]
    for shuffle in (False, True):
        with pytest.raises(ltr.LtrValueError, match="No partition has a row"):
            _ = evaluate(dask_of([frame, frame]), shuffle=shuffle).mean


def test_what_is_refused_at_once() -> None:
    frame = frame_of(random_data(16))
    spread = dask_of(parts_of(frame, [10]))

    def refused(match: str, *args: Any, kind: type[Exception] = ltr.LtrValueError, **options: Any) -> None:
        with dask.config.set(scheduler=None), pytest.raises(kind, match=match):
            evaluate(*args, **options)

    refused(r"no column 'scor'\. Did you mean 'score'\?", spread, score="scor", kind=ltr.LtrKeyError)
    refused("no column 'devise'", spread, by=["devise"], kind=ltr.LtrKeyError)
    refused("no column 'margins'", spread, metrics="mean_of(margins)", kind=ltr.LtrKeyError)
    refused("frame must be a Dask DataFrame.*from_pandas", frame, kind=ltr.LtrTypeError)
    refused(
        "score must be .* Dask Series or array. Got a numpy",
        spread,
        score=frame["score"].to_numpy(),
        kind=ltr.LtrTypeError,
    )
    refused("frame is None", None, label=spread["label"], kind=ltr.LtrTypeError)
    refused("2 dimensions", spread, score=spread[["score", "margin"]].values)
    refused("frame has 2, score has 3", spread, score=dask_of(parts_of(frame, [10, 20]))["score"])
    refused("There is no convention", spread, convention="lightgb")
    refused('ties="docid" needs document ids', spread, ties="docid")
    refused('ties="docid" needs document ids', spread, convention="trec_eval", metrics="map")
    refused("2 columns named 'score'", dask_of([pd.concat([frame, frame[["score"]]], axis=1)]))
    with pytest.raises(ltr.LtrValueError, match="at least one column of scores"):
        evaluate_scores(spread, {})
    with pytest.raises(ltr.LtrKeyError, match="Did you mean 'qid'"):
        whole_queries(spread, "quid")
    with pytest.raises(ltr.LtrTypeError, match="Dask DataFrame"):
        whole_queries(frame)


def test_rows_that_do_not_belong_together_are_refused() -> None:
    frame = frame_of(random_data(17))
    starts = np.flatnonzero(np.diff(frame["qid"])) + 1
    spread = dask_of(parts_of(frame, [starts[9]]))
    other = dask_of(parts_of(frame, [starts[10]]))
    with pytest.raises(
        ltr.LtrValueError, match=r"In partition \d: all must have one entry a row\. label has \d+, score \d+"
    ):
        _ = evaluate(spread, score=other["score"].values).mean
    turned = dask_of(parts_of(frame.set_index(frame.index[::-1]), [starts[9]]))["score"]
    with pytest.raises(ltr.LtrValueError, match=r"label and score have different indexes.*to_dask_array"):
        _ = evaluate(spread, score=turned).mean
    same(evaluate(spread, score=turned.values, metrics="map"), in_memory(frame, "map"))


def test_weights_beyond_float64_are_refused() -> None:
    frame = frame_of(random_data(18)).assign(weight=4e306)
    spread = dask_of(parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[9, 19, 29]] + 1))
    with pytest.raises(ltr.LtrValueError, match="scale the weights down"):
        _ = evaluate(spread.assign(weight=1e307), weight="weight").mean


# -- a cluster -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cluster(client: Any) -> None:
    frame = frame_of(random_data(19))
    spread = dask_of(parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[3, 9, 30]] + 1, empty=True))
    options = {"metrics": METRICS, "by": {"device": frame["device"]}}
    expected = in_memory(frame, sample_weight=frame["weight"], **options)
    cut = dd.from_pandas(frame.sample(frac=1, random_state=0), npartitions=5, sort=False)
    with dask.config.set(scheduler=None), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        same(evaluate(spread, metrics=METRICS, by="device", weight="weight"), expected)
        with pytest.raises(ltr.LtrValueError, match="has rows in the partitions"):
            _ = evaluate(cut).mean
        found = evaluate(cut, metrics=METRICS, by="device", weight="weight", shuffle=True)
        assert found["map"] == pytest.approx(expected["map"], abs=1e-12)
        with pytest.raises(ltr.LtrValueError, match=r"In partition \d+: y_true must be finite: got nan at row 0"):
            _ = evaluate(spread.assign(label=np.nan)).mean


def killing(marker: Path, times: int) -> Callable[[Any], Any]:
    """Return a metric that ends the worker that computes it, so many times."""

    def killer(ranking: Any) -> Any:
        done = sum(1 for _ in marker.iterdir())
        if done < times and 7 in ranking.queries.qid.tolist():
            (marker / str(done)).write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return np.asarray(ranking.queries.qid, dtype=float)

    return killer


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_worker_that_is_killed(client: Any, tmp_path: Path) -> None:
    frame = frame_of(random_data(20))
    spread = dask_of(parts_of(frame, np.flatnonzero(np.diff(frame["qid"]))[[3, 9, 30]] + 1))
    expected = in_memory(frame, "map")
    (tmp_path / "once").mkdir()
    (tmp_path / "always").mkdir()
    with dask.config.set(scheduler=None), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        result = evaluate(spread, metrics=[killing(tmp_path / "once", 1), "map"])
        assert result["killer"] == pytest.approx(expected.qid.mean(), abs=1e-12)
        assert result["map"] == pytest.approx(expected["map"], abs=1e-12)
        assert len(list((tmp_path / "once").iterdir())) == 1
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)  # what it kept is computed again
        np.testing.assert_allclose(result.per_query["map"], expected.per_query["map"], rtol=0, atol=1e-12)
        with pytest.raises(distributed.KilledWorker):
            _ = evaluate(spread, metrics=[killing(tmp_path / "always", 100), "map"]).mean


@pytest.mark.parametrize("index", ["qid", "score", "label", "device", "docid"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_index_is_a_column_by_its_name(index: str, shuffle: bool) -> None:
    rows = pd.DataFrame(
        {"qid": [7, 7, 9, 9], "label": [1, 0, 2, 0], "score": [0.1, 0.2, 0.4, 0.3], "device": ["a", "a", "b", "b"]}
    ).assign(docid=list("wxyz"))
    frame = dd.from_pandas(rows.set_index(index), npartitions=2, sort=False)
    assert index not in frame.columns
    result = evaluate(frame, metrics=["mrr"], by="device", docid="docid", ties="docid", shuffle=shuffle)
    assert result["mrr"] == 0.75
    assert {label: part["mrr"] for label, part in result.by["device"].items()} == {"a": 0.5, "b": 1.0}


def test_whole_queries_of_a_frame_whose_index_is_the_query() -> None:
    rows = pd.DataFrame({"qid": [7, 9, 7, 9], "label": [1, 0, 0, 2], "score": [0.2, 0.1, 0.8, 0.7]}).set_index("qid")
    whole = whole_queries(dd.from_pandas(rows, npartitions=2, sort=False))
    assert evaluate(whole, metrics=["mrr"])["mrr"] == 0.75
