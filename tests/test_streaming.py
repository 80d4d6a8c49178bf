"""Evaluation of files batch by batch: the same bits as in memory, and no more memory for more rows."""

from __future__ import annotations

import gzip
import itertools
import lzma
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples
from pyarrow import csv, feather, ipc, parquet
from strategies import data

import ltr_metrics as ltr
from ltr_metrics.evaluation.streaming import evaluate_sorted
from ltr_metrics.io import compressed, read_letor, read_table
from ltr_metrics.io.models import predict
from ltr_metrics.io.sorted_tables import TableColumns, sorted_tables

pytestmark = pytest.mark.integration

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
OF_LETOR = METRICS[:-2]
RELAXED = settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


def same(found: ltr.Evaluation, expected: ltr.Evaluation) -> None:
    """Everything, to the bit."""
    assert found.mean == pytest.approx(expected.mean, rel=0, abs=0, nan_ok=True)
    for name, values in expected.per_query.items():
        np.testing.assert_array_equal(found.per_query[name], values)
    assert found.n_undefined == expected.n_undefined
    assert found.qid.tolist() == expected.qid.tolist()
    assert found.qid.dtype.kind == expected.qid.dtype.kind
    np.testing.assert_array_equal(found.n_documents, expected.n_documents)
    np.testing.assert_array_equal(found.n_relevant, expected.n_relevant)
    assert (found.weight is None) == (expected.weight is None)
    if expected.weight is not None:
        np.testing.assert_array_equal(found.weight, expected.weight)
    assert found.policy == expected.policy
    assert list(found.by) == list(expected.by)
    for label, segment in expected.by.items():
        if isinstance(segment, ltr.Evaluation):
            assert found.by[label].mean == pytest.approx(segment.mean, rel=0, abs=0, nan_ok=True)
    for name in expected.per_query.asked:
        assert name in found.per_query


def in_memory(paths: list[Path], scores: str, metrics: list[str], text: tuple[str, ...] = (), **options: Any) -> Any:
    frame = read_table(paths, columns=[scores], text=text)
    columns = {"docid": "docid", "sample_weight": "weight"}
    given = {name: frame[column].to_numpy() for name, column in columns.items() if column in frame}
    by = {"device": frame["device"].to_numpy()} if "device" in frame else None
    queries = ltr.Queries(frame["label"].to_numpy(), qid=frame["qid"].to_numpy(), by=by, columns=frame, **given)
    return queries.evaluate(frame[scores].to_numpy(), metrics, **options)


def frame_of(rows: Any, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = len(rows.y)
    device = np.array(["phone", "desk", "tab"])[rng.integers(0, 3, len(rows.group))]
    return pd.DataFrame(
        {
            "qid": rows.qid * 7,
            "label": rows.y,
            "score": rows.score,
            "docid": [f"D{i}" for i in rng.permutation(n)],
            "weight": rng.random(n),
            "device": np.repeat(device, rows.group),
            "margin": rng.normal(size=n),
            "unused": "text",
        }
    )


OF_TABLE: dict[str, Any] = {"docid": "docid", "weight": "weight", "by": ["device"]}


@pytest.mark.slow
@RELAXED
@given(
    rows=data(max_documents=9, max_queries=12),
    rows_at_once=st.integers(1, 40),
    group_size=st.integers(1, 30),
    cut=st.floats(0, 1),
    ties=st.sampled_from(["mean", "stable", "docid", "worst"]),
)
def test_parquet_gives_the_same_bits(
    tmp_path: Path, rows: Any, rows_at_once: int, group_size: int, cut: float, ties: str
) -> None:
    frame = frame_of(rows)
    at = int(cut * len(frame))
    parts = [part for part in (frame.iloc[:at], frame.iloc[at:]) if len(part)]  # a query may be cut between files
    paths = [tmp_path / f"{i}.parquet" for i in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        parquet.write_table(pa.Table.from_pandas(part, preserve_index=False), path, row_group_size=group_size)
    seen: list[int] = []
    found = evaluate_sorted(
        paths,
        scores={"a": "score", "b": "margin"},
        metrics=METRICS,
        ties=ties,
        rows_at_once=rows_at_once,
        progress=seen.append,
        **OF_TABLE,
    )
    assert list(found) == ["a", "b"]
    for name, column in (("a", "score"), ("b", "margin")):
        same(found[name], in_memory(paths, column, METRICS, ties=ties))
    assert seen[-1] == len(frame)
    assert seen == sorted(set(seen))


def letor_text(rows: Any, names: Callable[[int], str] = str, comments: bool = True) -> list[str]:
    return [
        f"{label:g} qid:{names(query)} 2:{score!r} 1:{i % 5} 2:{score!r}"
        + (f" # docid = D{i * 7 % 101}" if comments else "")
        for i, (label, query, score) in enumerate(zip(rows.y, rows.qid, rows.score.tolist(), strict=True))
    ]


@RELAXED
@given(
    rows=data(max_documents=9, max_queries=12, scores=st.floats(allow_nan=False, allow_infinity=False)),
    rows_at_once=st.integers(1, 40),
    cut=st.floats(0, 1),
    ids=st.sampled_from([str, "q{}".format, "0{}".format, lambda i: f"{'x' if i == 3 else ''}{i}"]),
    bytes_at_once=st.sampled_from([1, 100, 1 << 22]),
    comments=st.booleans(),
)
def test_letor_gives_the_same_bits(
    tmp_path: Path, rows: Any, rows_at_once: int, cut: float, ids: Any, bytes_at_once: int, comments: bool
) -> None:
    lines = ["# heading\r\n", *(line + "\r\n" for line in letor_text(rows, ids, comments))]
    at = max(2, int(cut * len(lines)))
    parts = [part for part in (lines[:at], lines[at:]) if part]
    paths = [tmp_path / f"{i}.txt" for i in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_text("".join(part), newline="")
    ties = "docid" if comments else "stable"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressed, "BYTES_AT_ONCE", bytes_at_once)
        found = evaluate_sorted(paths, scores={"a": "2"}, metrics=OF_LETOR, ties=ties, rows_at_once=rows_at_once)["a"]
    read = read_letor(paths)
    expected = ltr.evaluate(read.y, read.X[:, 1], qid=read.qid, docid=read.docid, metrics=OF_LETOR, ties=ties)
    same(found, expected)


@pytest.mark.parametrize("rows_at_once", [1, 50, 10_000])
@pytest.mark.parametrize("name", ["a.arrow", "a.feather", "stream.arrow", "a.csv", "a.tsv", "a.csv.gz", "a.tsv.xz"])
def test_other_tables_give_the_same_bits(tmp_path: Path, name: str, rows_at_once: int) -> None:
    X, y, qid = ltr.make_ranking(30, documents=8, random_state=0)
    frame = pd.DataFrame({"qid": qid, "label": y, "score": X[:, 0].round(1), "margin": X[:, 1], "weight": X[:, 2] ** 2})
    frame = frame.assign(docid=[f"{i % 50:03d}" for i in range(len(frame))], device=(qid % 3).astype(str))
    path, table = tmp_path / name, pa.Table.from_pandas(frame, preserve_index=False)
    if name == "stream.arrow":
        with ipc.new_stream(path, table.schema) as file:
            file.write_table(table, max_chunksize=37)
    elif name == "a.arrow":
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=37)
    elif name == "a.feather":
        feather.write_feather(table, path, chunksize=37)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    found = evaluate_sorted(path, scores={"a": "score"}, metrics=METRICS, rows_at_once=rows_at_once, **OF_TABLE)["a"]
    same(found, in_memory([path], "score", METRICS, text=("docid", "device")))


def test_query_sizes_beside_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = []
    for name in ("a.txt", "b.txt.gz"):
        sizes = rng.integers(1, 9, 20)
        text = "".join(f"{rng.integers(0, 5)} 1:{rng.normal()!r}\n" for _ in range(sizes.sum())).encode()
        paths.append(tmp_path / name)
        paths[-1].write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        (tmp_path / f"{name.removesuffix('.gz')}.query").write_text("".join(f"{n}\n" for n in sizes))
    read = read_letor(paths)
    expected = ltr.evaluate(read.y, read.X[:, 0], qid=read.qid, metrics=OF_LETOR)
    for rows_at_once in (1, 10, 1000):
        same(evaluate_sorted(paths, scores={"a": "1"}, metrics=OF_LETOR, rows_at_once=rows_at_once)["a"], expected)
    for sizes, more in (("3\n4\n", "more than 7"), ("3\n400\n", str(np.count_nonzero(read.qid < 20)))):
        (tmp_path / "a.txt.query").write_text(sizes)
        with pytest.raises(
            ltr.LtrValueError, match=rf"a.txt.query: its 2 sizes add up to .*a.txt has {more} documents"
        ):
            evaluate_sorted(paths, scores={"a": "1"}, rows_at_once=5)
    (tmp_path / "named.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(ltr.LtrValueError, match="Some of the files have qid"):
        evaluate_sorted([tmp_path / "named.txt", paths[1]], scores={"a": "1"})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y, qid = ltr.make_ranking(40, n_features=4, random_state=0)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), feature_name=["f1", "f2", "f3", "f4"])
    path = tmp_path_factory.mktemp("model") / "model.txt"
    lgb.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, train, 5).save_model(path)
    return path


def test_models(tmp_path: Path, model: Path) -> None:
    X, y, qid = ltr.make_ranking(30, n_features=4, random_state=1)
    X[X < -1] = 0
    frame = pd.DataFrame(X, columns=["f1", "f2", "f3", "f4"]).assign(qid=qid, label=y, other="text")
    frame.to_parquet(tmp_path / "a.parquet")
    rows = [
        " ".join(f"{j}:{value!r}" for j, value in enumerate(row, start=1) if value and (j < 4 or i == 0))
        for i, row in enumerate(X.tolist())
    ]
    lines = [f"{label} qid:{query} {row}\n" for label, query, row in zip(y, qid, rows, strict=True)]
    (tmp_path / "a.txt").write_text("".join(lines))
    expected = ltr.evaluate(y, predict(model, X), qid=qid, metrics=OF_LETOR)
    with_one = X.copy()
    with_one[1:, 3] = 0
    of_letor = ltr.evaluate(y, predict(model, with_one), qid=qid, metrics=OF_LETOR)
    for rows_at_once in (1, 100, 10**6):
        same(
            evaluate_sorted(tmp_path / "a.parquet", models={"m": model}, metrics=OF_LETOR, rows_at_once=rows_at_once)[
                "m"
            ],
            expected,
        )
        found = evaluate_sorted(
            tmp_path / "a.txt", models={"m": model}, scores={"s": "1"}, metrics=OF_LETOR, rows_at_once=rows_at_once
        )
        assert list(found) == ["s", "m"]
        same(found["m"], of_letor)
    (tmp_path / "b.txt").write_text("".join(lines[1:]))
    with pytest.raises(ltr.LtrValueError, match="has 4 features, the data have 3"):  # as in memory, if only at the end
        evaluate_sorted(tmp_path / "b.txt", models={"m": model}, rows_at_once=10)
    assert evaluate_sorted(tmp_path / "b.txt", models={"m": model}, n_features=4)["m"].n_queries >= 29
    (tmp_path / "b.txt").write_text("".join([*lines, "0 qid:x 9:1\n"]))
    with pytest.raises(ltr.LtrValueError, match="has 4 features, the data have 9"):
        evaluate_sorted(tmp_path / "b.txt", models={"m": model})
    with pytest.raises(ltr.LtrValueError, match=rf"b.txt:{len(lines) + 1}: .*up to number 9, beyond n_features=4"):
        evaluate_sorted(tmp_path / "b.txt", models={"m": model}, n_features=4)
    with pytest.raises(ltr.LtrValueError, match="has 4 features, the data have 5"):
        evaluate_sorted(tmp_path / "a.txt", models={"m": model}, n_features=5)
    frame.drop(columns="f3").to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ltr.LtrKeyError, match="a.parquet has no column 'f3'"):
        evaluate_sorted(tmp_path / "a.parquet", models={"m": model})


def test_mq2008_gives_the_same_bits(data: Path) -> None:
    paths = [data / "mq2008" / f"S{i}.txt.xz" for i in range(1, 4)]
    read = read_letor(paths)
    expected = ltr.evaluate(read.y, read.X[:, 24], qid=read.qid, docid=read.docid, metrics=OF_LETOR, ties="docid")
    for rows_at_once in (500, 7_000):
        found = evaluate_sorted(
            paths, scores={"bm25": "25"}, metrics=OF_LETOR, ties="docid", rows_at_once=rows_at_once
        )["bm25"]
        same(found, expected)


# -- what is refused -------------------------------------------------------------------------------


def write_parquet(path: Path, **columns: Any) -> Path:
    parquet.write_table(pa.table(columns), path, row_group_size=3)
    return path


def test_a_query_that_comes_back_is_refused(tmp_path: Path) -> None:
    qid = [1, 1, 2, 2, 2, 2, 3, 1]
    path = write_parquet(tmp_path / "a.parquet", qid=qid, label=[0] * 8, s=[0.0] * 8)
    for rows_at_once in range(1, 10):
        with pytest.raises(
            ltr.LtrValueError,
            match=r"a.parquet, row 7: .*query 1 ended before and comes back.*"
            r"polars.scan_parquet\(.*sort\('qid', maintain_order=True",
        ):
            evaluate_sorted(path, scores={"a": "s"}, rows_at_once=rows_at_once)
    letor = tmp_path / "a.txt"
    letor.write_text("# heading\n" + "".join(f"0 qid:{name} 1:1\n" for name in qid))
    with pytest.raises(ltr.LtrValueError, match=r"a.txt:9: .*query '1' ended.*sort -s -k2,2 .*a.txt"):
        evaluate_sorted(letor, scores={"a": "1"}, rows_at_once=2)
    first, second = tmp_path / "1.txt", tmp_path / "2.txt"
    first.write_text("0 qid:a 1:1\n0 qid:b 1:1\n")
    second.write_text("0 qid:b 1:1\n0 qid:c 1:1\n0 qid:a 1:1\n")
    with pytest.raises(ltr.LtrValueError, match=r"2.txt:3: .*query 'a' ended"):
        evaluate_sorted([first, second], scores={"a": "1"})
    second.write_text("1 qid:b 1:2\n0 qid:c 1:1\n")
    found = evaluate_sorted([first, second], scores={"a": "1"}, metrics="mrr", rows_at_once=1)["a"]
    assert (found.qid.tolist(), found.n_documents.tolist()) == (["a", "b", "c"], [1, 2, 1])


def test_the_advice_to_sort_works(tmp_path: Path) -> None:
    X, y, qid = ltr.make_ranking(20, documents=5, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    lines = [f"{y[i]} qid:{qid[i]} 1:{X[i, 0]:.1f}\n" for i in order]
    (tmp_path / "a.txt").write_text("".join(lines))
    with pytest.raises(ltr.LtrValueError, match="comes back") as raised:
        evaluate_sorted(tmp_path / "a.txt", scores={"a": "1"})
    command = str(raised.value).split("'")[-2]
    done = subprocess.run(command.split(), check=True, capture_output=True, text=True)
    (tmp_path / "sorted.txt").write_text(done.stdout)
    found = evaluate_sorted(tmp_path / "sorted.txt", scores={"a": "1"}, metrics=OF_LETOR, ties="stable")["a"]
    score = [float(f"{value:.1f}") for value in X[order, 0]]
    expected = ltr.evaluate(y[order], score, qid=qid[order], metrics=OF_LETOR, ties="stable")
    place = [expected.qid.tolist().index(name) for name in found.qid.tolist()]
    np.testing.assert_array_equal(found.per_query["map"], expected.per_query["map"][place])
    write_parquet(tmp_path / "a.parquet", qid=qid[order], label=y[order], s=score)
    with pytest.raises(ltr.LtrValueError, match="comes back") as raised:
        evaluate_sorted(tmp_path / "a.parquet", scores={"a": "s"})
    program = next(part for part in str(raised.value).split("; ")[0].split(" with ") if part.startswith("polars."))
    subprocess.run([sys.executable, "-c", f"import polars; {program}"], check=True, cwd=tmp_path)
    found = evaluate_sorted(tmp_path / "sorted.parquet", scores={"a": "s"}, metrics=OF_LETOR, ties="stable")["a"]
    place = [expected.qid.tolist().index(name) for name in found.qid.tolist()]
    np.testing.assert_array_equal(found.per_query["map"], expected.per_query["map"][place])


def test_messages_name_the_file_and_the_row(tmp_path: Path) -> None:
    n = 50
    good: dict[str, Any] = {"qid": np.arange(n) // 5, "label": np.zeros(n), "s": np.arange(float(n))}
    path = tmp_path / "a.parquet"

    def refused(match: str, error: type[Exception] = ltr.LtrValueError, **changed: Any) -> None:
        write_parquet(path, **good | changed)
        with pytest.raises(error, match=match):
            evaluate_sorted(path, scores={"mine": "s"}, metrics=["mrr"], rows_at_once=7)

    def at(row: int, value: Any, values: Any) -> Any:
        changed = list(values)
        changed[row] = value
        return changed

    refused(r"y_true must be finite: got nan at .*a.parquet, row 33 \(query 6\)", label=at(33, None, good["label"]))
    refused(
        r"y_true must not be negative: got -1.* at .*a.parquet, row 33 \(query 6\)", label=at(33, -1.0, good["label"])
    )
    refused(r"mine: y_score must not be NaN: got nan at .*a.parquet, row 33 \(query 6\)", s=at(33, np.nan, good["s"]))
    refused(r"a.parquet must have an id in every row: qid is empty at row 33", qid=at(33, None, good["qid"].tolist()))
    refused(r"qid is empty at row 12", qid=at(12, "", good["qid"].astype(str)))
    refused(r"In 5 rows from .*a.parquet, row 5 on, mine: .*2\*\*53.* at row 1", s=at(6, 2**53 + 1, range(n)))
    refused(r"must be numbers", ltr.LtrTypeError, s=["x"] * n)
    refused(r"query ids must be numbers or text", ltr.LtrTypeError, qid=[[1]] * n)
    write_parquet(path, qid=[1], lable=[0], s=[1.0])
    with pytest.raises(ltr.LtrKeyError, match=r"a.parquet has no column 'label'. Did you mean 'lable'"):
        evaluate_sorted(path, scores={"mine": "s"})
    letor = tmp_path / "a.txt"
    for bad, message in (("nan", "nan"), ("-1", "-1"), ("inf", "inf")):
        letor.write_text("0 qid:1 1:1\n" * 20 + f"{bad} qid:2 1:1\n")
        with pytest.raises(ltr.LtrValueError, match=rf"a.txt:21:1: a grade must be finite.*Got {message}"):
            evaluate_sorted(letor, scores={"a": "1"}, rows_at_once=3)
    letor.write_text("0 qid:1 1:1\n" * 20 + "0 qid:2 1:nan\n")
    with pytest.raises(ltr.LtrValueError, match=r"a: y_score must not be NaN: got nan at .*a.txt:21 \(query 2\)"):
        evaluate_sorted(letor, scores={"a": "1"}, rows_at_once=3)


def test_files_are_of_one_kind_with_columns_of_one_type(tmp_path: Path) -> None:
    a = write_parquet(tmp_path / "a.parquet", qid=[1], label=[0], s=[1.0])
    b = write_parquet(tmp_path / "b.parquet", qid=["2"], label=[0], s=[1.0])
    c = write_parquet(tmp_path / "c.parquet", qid=[2], label=[0], s=pa.array([1.0], pa.float32()))
    for other, column in ((b, "qid"), (c, "s")):
        with pytest.raises(
            ltr.LtrTypeError, match=rf"'{column}' must be of one type in all files: got .*a.parquet and"
        ):
            evaluate_sorted([a, other], scores={"a": "s"})
    (tmp_path / "a.txt").write_text("0 qid:1 1:1\n")
    with pytest.raises(ltr.LtrValueError, match="tables or LETOR files, not both"):
        evaluate_sorted([a, tmp_path / "a.txt"], scores={"a": "s"})


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "at least one column of scores or one model"),
    "a name twice": ({"scores": {"m": "1"}, "models": {"m": "x"}}, "names must differ"),
    "no rows": ({"scores": {"a": "1"}, "rows_at_once": 0}, "rows_at_once must be a whole number"),
    "columns of LETOR": ({"scores": {"a": "1"}, "by": ["x"]}, "LETOR files have none"),
    "no such feature": ({"scores": {"a": "3"}}, "by number, from 1 to 1. Got '3'"),
    "feature 0": ({"scores": {"a": "0"}}, "by number, from 1 on. Got '0'"),
    "a name": ({"scores": {"a": "bm25"}}, "Got 'bm25'"),
    "beyond n_features": ({"scores": {"a": "3"}, "n_features": 2}, "from 1 to 2. Got '3'"),
    "n_features": ({"scores": {"a": "1"}, "n_features": 0}, "n_features must be a whole number"),
    "metric": ({"scores": {"a": "1"}, "metrics": ["ndgc"]}, "Did you mean"),
    "column of a metric": ({"scores": {"a": "1"}, "metrics": ["mean_of(margin)@2"]}, "needs the column 'margin'"),
}


@pytest.mark.parametrize("case", CALLS)
def test_wrong_calls(tmp_path: Path, case: str) -> None:
    options, message = CALLS[case]
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    with pytest.raises(ltr.LtrValueError, match=message):
        evaluate_sorted(tmp_path / "a.txt", **options)


def test_no_file_and_options_of_letor(tmp_path: Path) -> None:
    with pytest.raises(ltr.LtrValueError, match="at least one file"):
        evaluate_sorted([], scores={"a": "1"})
    with pytest.raises(FileNotFoundError):
        evaluate_sorted(tmp_path / "absent.parquet", scores={"a": "1"})
    with pytest.raises(FileNotFoundError):
        evaluate_sorted(tmp_path / "absent.txt", scores={"a": "1"})
    with pytest.raises(ltr.LtrValueError, match="are for LETOR files"):
        evaluate_sorted(tmp_path / "absent.parquet", scores={"a": "1"}, n_features=3)
    np.savez(tmp_path / "a.npz", qid=[1], label=[1], s=[1])
    with pytest.raises(ltr.LtrValueError, match=r"a.npz cannot be read in batches"):
        evaluate_sorted(tmp_path / "a.npz", scores={"a": "s"})
    write_parquet(tmp_path / "a.parquet", qid=[1], label=[0], s=[1.0])
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    with pytest.raises(ltr.LtrValueError, match=r"a.parquet.gz cannot be read in batches"):
        evaluate_sorted(tmp_path / "a.parquet.gz", scores={"a": "s"})


def test_csv_does_not_merge_large_integers_unseen(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qid,label,s\n1,0,1\n1,1,9007199254740993\n1,0,9007199254740992\n")
    with pytest.raises(ltr.LtrValueError, match=r"'s' must not have numbers from 2\*\*53 on.*at row 1"):
        evaluate_sorted(path, scores={"a": "s"}, metrics="mrr")
    path.write_text("qid,label,s\n1,0,1\n1,1,inf\n1,0,-inf\n")
    assert evaluate_sorted(path, scores={"a": "s"}, metrics="mrr")["a"]["mrr"] == 1
    path.write_text("qid,label,s\n1,0,1\n1,1,x\n")
    with pytest.raises(ltr.LtrValueError, match=r"a.csv cannot be read as csv: .*'x'"):
        evaluate_sorted(path, scores={"a": "s"}, metrics="mrr")


def damaged_files(folder: Path) -> dict[str, Path]:
    n = 20_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.arange(n) // 50, "label": rng.integers(0, 3, n), "s": rng.normal(size=n)})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(table, folder / "a.parquet", row_group_size=1000)
    feather.write_feather(table, folder / "a.feather", chunksize=1000)
    with ipc.new_stream(folder / "a.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=1000)
    text = "".join(f"{y} qid:{q} 1:{s!r}\n" for q, y, s in frame.itertuples(index=False)).encode()
    (folder / "a.txt.gz").write_bytes(gzip.compress(text))
    (folder / "a.txt.xz").write_bytes(lzma.compress(text))
    csv.write_csv(table, folder / "a.csv")
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    return {path.name: path for path in folder.iterdir() if path.name != "a.csv"}


def test_files_that_are_cut_off_or_empty_are_refused(tmp_path: Path) -> None:
    for name, path in damaged_files(tmp_path).items():
        content = path.read_bytes()
        scores = {"a": "1" if ".txt" in name else "s"}
        assert evaluate_sorted(path, scores=scores, metrics="mrr", rows_at_once=3000)["a"].n_queries == 400
        ends = [0, 5, len(content) // 3, len(content) // 2, len(content) - 8, len(content) - 1]
        for end in ends:
            path.write_bytes(content[:end])
            with pytest.raises(ltr.LtrValueError, match=rf"{name} (is damaged|cannot be read|has no document)"):
                evaluate_sorted(path, scores=scores, metrics="mrr", rows_at_once=3000)
    path = tmp_path / "a.parquet"
    write_parquet(path, qid=pa.array([], pa.int64()), label=pa.array([], pa.int64()), s=pa.array([], pa.float64()))
    with pytest.raises(ltr.LtrValueError, match=r"a.parquet has no row"):
        evaluate_sorted(path, scores={"a": "s"})


def test_a_page_that_is_damaged_is_refused(tmp_path: Path) -> None:
    n = 20_000
    path, score = tmp_path / "a.parquet", np.random.default_rng(0).normal(size=n)
    table = pa.table({"qid": np.arange(n) // 50, "label": np.zeros(n), "s": score})
    parquet.write_table(table, path, row_group_size=1000)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 - 50_000 : len(content) // 2] = b"\xff" * 50_000
    path.write_bytes(content)
    with pytest.raises(ltr.LtrValueError, match=r"a.parquet cannot be read as parquet, or is damaged after row \d+"):
        evaluate_sorted(path, scores={"a": "s"}, metrics="mrr", rows_at_once=1000)


# -- what labels of all batches decide -------------------------------------------------------------


def warned(work: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in caught if issubclass(one.category, ltr.LtrWarning)]


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("err", [0, 1, 1, 2]),
        ("err", [0, 1, 1, 4]),
        ("err", [0, 0, 0, 0]),
        ("pfound", [0, 0.5, 1, 1]),
        ("pfound", [0, 1, 0, 0]),
    ],
)
def test_warnings_come_once_and_by_the_labels_of_all_batches(tmp_path: Path, metric: str, labels: list[float]) -> None:
    y, qid, score = np.repeat(labels, 3).astype(float), np.repeat([1, 2, 3, 4], 3), np.tile([1.0, 3, 2], 4)
    path = write_parquet(tmp_path / "a.parquet", qid=qid, label=y, s=score)
    expected = warned(lambda: ltr.evaluate(y, score, qid=qid, metrics=[metric]))
    for rows_at_once in (1, 100):
        scores = {"a": "s", "b": "label"}
        assert (
            warned(lambda n=rows_at_once, s=scores: evaluate_sorted(path, scores=s, metrics=[metric], rows_at_once=n))
            == expected
        )


def test_a_warning_points_to_the_caller(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", qid=[1, 1], label=[0, 1], s=[1.0, 2.0])
    with pytest.warns(ltr.LtrWarning, match="max_grade") as caught:
        evaluate_sorted(path, scores={"a": "s"}, metrics=["err"])
    assert caught[0].filename == __file__


def test_sums_that_overflow_only_in_the_longest_query(tmp_path: Path) -> None:
    """The rule is about the highest gain of all and the longest query of all, in whatever batches these are."""
    y, qid = [1023.0, *[0.0] * 5], [0, *[1] * 5]
    path = write_parquet(tmp_path / "a.parquet", qid=qid, label=y, s=np.arange(float(len(y))))
    alone = ltr.evaluate(y[:1], [0.0], qid=[0], metrics=["dcg_exp"])
    assert np.isfinite(alone["dcg_exp"])
    with pytest.raises(ltr.LtrValueError, match="must be finite in float64, also summed over a query"):
        ltr.evaluate(y, np.zeros(len(y)), qid=qid, metrics=["dcg_exp"])
    with pytest.raises(ltr.LtrValueError, match=r"must be finite in float64, also summed over a query.*grade 1023"):
        evaluate_sorted(path, scores={"a": "s"}, metrics=["dcg_exp"], rows_at_once=1)


def test_many_fractional_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, qid, score = rng.random(5_000), np.arange(5_000) // 20, rng.normal(size=5_000)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"qid": qid, "label": y, "s": score}), path)
    metrics = ["ndcg", "pfound", "map(rel=0.5)"]
    found = evaluate_sorted(path, scores={"a": "s"}, metrics=metrics, rows_at_once=500)["a"]
    same(found, ltr.evaluate(y, score, qid=qid, metrics=metrics))


# -- memory ----------------------------------------------------------------------------------------


def test_batches_are_whole_queries_of_about_the_rows_asked_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, 300)
    sizes[100] = 2_000
    qid = np.repeat(np.arange(300), sizes)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"qid": qid, "label": np.zeros(len(qid))}), path, row_group_size=700)
    batches = [rows.qid for rows in sorted_tables((path,), TableColumns("qid", (), ("label",)), rows_at_once=100)]
    assert np.concatenate(batches).tolist() == qid.tolist()
    assert all(a[-1] != b[0] for a, b in itertools.pairwise(batches))
    lengths = [len(batch) for batch in batches]
    assert max(lengths) >= 2_000
    assert sum(n > 200 for n in lengths) == 1
    assert sum(n < 71 for n in lengths) <= 2  # the last one, and one before the long query


def traced(code: str, *arguments: object) -> int:
    """Peak of what NumPy, Arrow and the interpreter held while some code ran in a process of its own."""
    program = f"""
import sys, tracemalloc, threading
import numpy as np, pandas, pyarrow, pyarrow.parquet
from ltr_metrics.evaluation.streaming import evaluate_sorted
path = sys.argv[1]
FIVE = ["ndcg@10", "map", "mrr", "err@10", "p@5"]
before = pyarrow.default_memory_pool().bytes_allocated()
tracemalloc.start()
{code}
print(tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return int(done.stdout.split()[-1])


def a_large_file(path: Path, n_queries: int) -> None:
    rng = np.random.default_rng(0)
    n = n_queries * 50
    qid, y = np.repeat(np.arange(n_queries), 50), rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    score = rng.normal(size=n)  # of which no file keeps less than 8 bytes
    if path.suffix == ".parquet":
        table = pa.table({"qid": qid, "label": y, "s": score, "unused": rng.normal(size=n)})
        parquet.write_table(table, path, row_group_size=20_000)
    else:
        path.write_text("".join(f"{a} qid:{b} 1:{c}\n" for a, b, c in zip(y, qid, score.tolist(), strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "column"), [("a.parquet", "s"), ("a.txt", "1")])
def test_more_rows_take_no_more_memory(tmp_path: Path, name: str, column: str) -> None:
    code = "from ltr_metrics.io import compressed; compressed.BYTES_AT_ONCE = 1 << 17\n"
    code += f"evaluate_sorted(path, scores={{'a': {column!r}}}, metrics=FIVE, rows_at_once=10_000)"
    peaks: dict[int, int] = {}
    for n_queries in (1_000, 4_000):
        a_large_file(tmp_path / name, n_queries)
        peaks[n_queries] = traced(code, tmp_path / name)
    per_query = 250  # bytes: the values twice, as parts and joined, the id, its place in a set, and what else is known
    assert peaks[4_000] - peaks[1_000] < 3_000 * per_query
    assert peaks[4_000] < 8e6


def test_a_document_that_stands_twice_is_refused_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = ("1 qid:1 1:3 # docid = A", "0 qid:2 1:2 # docid = A", "0 qid:2 1:1 # docid = B", "0 qid:2 1:0 # docid = A")
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ltr.LtrValueError, match=r"'A' stands at .*a.txt:2 \(query 2\) and again at .*a.txt:4"):
        evaluate_sorted(path, scores={"a": "1"}, metrics="mrr", rows_at_once=1)
