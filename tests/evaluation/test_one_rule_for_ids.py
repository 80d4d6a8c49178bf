"""Text of ids is never changed, and no id is missing: in every reader, in every engine, and in every type of Python.

Two queries have the two spellings of a pair as their ids, segments and clusters, and the two documents of the first
query have them as theirs. So a reader that changes or merges text fails in one of these places.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from command import in_process

import ltr_metrics as ltr
from ltr_metrics._rows.ids import id_texts
from ltr_metrics.evaluation.concat import concat
from ltr_metrics.interleaving import Impression, read_impressions, score
from ltr_metrics.io import read_letor, read_scores, read_table, read_trec, table_batches

Y, SCORES = [1, 0, 0, 1], [2.0, 1.0, 2.0, 1.0]
SPELLINGS = [
    ("00501", "501"), ("01", "1"), ("1", "1.0"), ("1.0", "1.00"), ("+1", "1"), ("-0", "0"), ("1e5", "100000"),
    ("1E5", "1e5"), ("0x10", "16"), ("1_0", "10"), (".5", "0.5"), ("inf", "Infinity"), ("true", "TRUE"),
    ("False", "false"), ("9007199254740993", "9007199254740992"), ("12345678901234567890", "12345678901234567891"),
    ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"), ("2026-01-01", "2026-1-1"), ("12:00", "12:00:00"),
    ("NA", "N/A"), ("nan", "NaN"), ("null", "NULL"), ("None", "none"), ("<NA>", "NaT"), ("a", "A"), ("a", "a "),
    (" 1", "1"), ("\u00e9", "e\u0301"), ("1,5", "1.5"), ("-", "--"),
]  # fmt: skip
WORDS = [pair for pair in SPELLINGS if not any(" " in text for text in pair)]  # what fits between spaces


class Seen(NamedTuple):
    """What an evaluation has made of the ids; the documents of a query are two, or it would have been refused."""

    qid: list[str]
    segments: list[str]
    n_clusters: int


def seen(result: ltr.Evaluation) -> Seen:
    ((labels, code),) = result.segments.values()
    assert code.tolist() == [0, 1]
    return Seen(id_texts(result.qid), id_texts(labels), 2 if result.cluster is None else len(set(result.cluster)))


def columns_of(one: Any, other: Any, make: Callable[[list[Any]], Any] = list) -> dict[str, Any]:
    """Return the columns of ids: each is the pair, by row."""
    by_query = [one, one, other, other]
    return {name: make(by_query) for name in ("q", "seg", "user")} | {"doc": make([one, other, one, one + one])}


def frame_of(one: Any, other: Any) -> pd.DataFrame:
    return pd.DataFrame({"label": Y, "s": SCORES} | columns_of(one, other)).assign(doc=[one, other, "x", "y"])


# -- tables ------------------------------------------------------------------------------------------------------------

WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "rows.csv": lambda frame, path: frame.to_csv(path, index=False),
    "rows.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "rows.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "rows.parquet": lambda frame, path: frame.to_parquet(path),
    "rows.feather": lambda frame, path: pyarrow.feather.write_feather(pa.Table.from_pandas(frame), str(path)),
}


def by_command(
    capsys: pytest.CaptureFixture[str], frame: pd.DataFrame, path: Path, options: str = "--cluster user"
) -> ltr.Evaluation:
    """Write a table, and return what the command evaluates."""
    WRITERS[path.name](frame, path)
    columns = f"--qid q --docid doc --segment seg --scores s -m mrr --ties docid {options}"
    done = in_process(capsys, "evaluate", path, *columns.split(), "--save", path.with_name("saved.parquet"))
    assert done.status == 0, done.err
    return ltr.load_result(path.with_name("saved.parquet"))


@pytest.mark.parametrize("pair", SPELLINGS, ids=repr)
def test_tables(pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in WRITERS:
        for options in ("--cluster user", "--sorted"):
            result = by_command(capsys, frame_of(*pair), tmp_path / name, options)
            assert seen(result) == (list(pair), list(pair), 2), (name, options)


@pytest.mark.parametrize("pair", SPELLINGS, ids=repr)
def test_joined_scores_and_values_of_another_tool(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("rows.csv", "rows.parquet"):
        WRITERS[name](frame_of(*pair)[::-1], tmp_path / name)
        found = read_scores(tmp_path / name, on=frame_of(*pair)[["q", "doc"]], column="s")
        assert found.tolist() == SCORES
    (tmp_path / "rows.csv").write_text('qid,mrr\n"{}",1\n"{}",0.5\n'.format(*pair))
    line = f"compare --result a={tmp_path}/rows.csv --result b={tmp_path}/rows.csv --format json"
    done = in_process(capsys, *line.split())
    assert json.loads(done.out)["rows"][0]["n_queries"] == 2


def test_a_number_is_the_text_of_its_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers in Parquet, in floats and in Python name what the text of CSV names, and CSV is written with digits."""
    texts = by_command(capsys, frame_of("7", "12"), tmp_path / "rows.csv")
    for kind in ("int64", "float64", "Int32", "uint8", "float32", "object"):
        frame = frame_of("7", "12").astype(dict.fromkeys(["q", "seg", "user"], "int64"))
        frame = frame.astype(dict.fromkeys(["q", "seg", "user"], kind)).assign(doc=[7, 12, 7, 12])
        WRITERS["rows.parquet"](frame, tmp_path / "rows.parquet")
        result = by_command(capsys, frame, tmp_path / "rows.parquet")
        assert seen(result) == seen(texts) == (["7", "12"], ["7", "12"], 2)
        comparison = ltr.compare({"text": texts, "number": result}, n_resamples=100)
        assert comparison["mrr"].difference == 0
        assert result.by["seg"]["7"]["mrr"] == result.by["seg"][7.0]["mrr"] == texts.by["seg"][7]["mrr"]
        assert result.subset(["12", 7]).n_queries == texts.subset([12.0, "7"]).n_queries == 2
        line = f"{tmp_path}/rows.parquet --qid q --scores s -m mrr --segment seg --format csv"
        rows = in_process(capsys, "evaluate", *line.split()).out.splitlines()[1:]
        assert [row.split(",")[1:3] for row in rows] == [["7", "7"], ["12", "12"]]


@pytest.mark.parametrize("options", ["", "--sorted"])
def test_a_segment_may_be_a_number_of_a_metric_too(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("qid,label,s,price\n1,1,2,01\n1,0,1,01\n2,0,2,1.0\n2,1,1,1.0\n3,1,1,NA\n")
    line = f"{tmp_path}/rows.csv --scores s -m sum_of(price)@2 --segment price --format json {options}"
    done = in_process(capsys, "evaluate", *line.split())
    assert "columns['price'] must be finite" in done.err  # NA is missing as a number, and text as a label
    (tmp_path / "rows.csv").write_text("qid,label,s,price\n1,1,2,01\n1,0,1,01\n2,0,2,1.0\n2,1,1,1.0\n")
    found = json.loads(in_process(capsys, "evaluate", *line.split()).out)
    assert found["means"][0]["mean"] == 2
    assert [part["segment"] for part in found["segments"]] == ["01", "1.0"]


@pytest.mark.parametrize("options", ["", "--sorted"])
def test_a_segment_may_be_the_weight_and_the_scores_too(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("qid,label,w\n01,1,01\n01,0,01\n1,0,3.0\n1,1,3.0\n")
    line = f"{tmp_path}/rows.csv --scores s=w --weight w --segment w -m mrr --format json --ties stable {options}"
    found = json.loads(in_process(capsys, "evaluate", *line.split()).out)
    assert [part["segment"] for part in found["segments"]] == ["01", "3.0"]
    assert found["means"][0]["mean"] == (1 * 1 + 3 * 0.5) / 4


def test_read_table_and_batches_keep_what_is_named_as_text(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("qid,label,s,country\n1,1,2,NA\n1,0,1,NA\n")
    assert read_table(tmp_path / "rows.csv", text=["country"])["country"].tolist() == ["NA", "NA"]
    (rows,) = table_batches(tmp_path / "rows.csv", numbers=["label", "s"], text=["qid", "s"])
    assert (rows["s"].tolist(), rows["s as text"].tolist(), rows["qid"].tolist()) == ([2, 1], ["2", "1"], ["1", "1"])


# -- other files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", WORDS, ids=repr)
def test_letor_and_trec(pair: tuple[str, str], tmp_path: Path) -> None:
    one, other = pair
    letor, qrels, run = (tmp_path / name for name in ("rows.txt", "qrels", "run"))
    letor.write_text(
        f"1 qid:{one} 1:2 # docid = {one}\n0 qid:{one} 1:1 # docid = {other}\n1 qid:{other} 1:2 # docid = a\n"
    )
    rows = read_letor(letor)
    assert rows.docid is not None
    assert (id_texts(rows.qid), rows.docid.tolist()) == ([one, one, other], [one, other, "a"])
    qrels.write_text(f"{one} 0 {one} 1\n{one} 0 {other} 0\n{other} 0 a 1\n")
    run.write_text(f"{one} Q0 {one} 1 2 t\n{one} Q0 {other} 2 1 t\n{other} Q0 a 1 2 t\n")
    data = read_trec(qrels, run)
    assert (data.qid.tolist(), data.docid.tolist()) == ([one, one, other], [one, other, "a"])
    assert data.judged.all()
    assert data.retrieved.all()


@pytest.mark.parametrize("pair", SPELLINGS, ids=repr)
def test_judgments_in_memory(pair: tuple[str, str]) -> None:
    one, other = pair
    frame = pd.DataFrame({"query_id": [one, one, other], "doc_id": [one, other, "a"], "relevance": 1, "score": 2.0})
    forms: list[Any] = [
        {one: {one: 1, other: 1}, other: {"a": 1}},
        frame,
        pl.from_pandas(frame),
        list(frame.itertuples()),
    ]
    for qrels in forms:
        data = ltr.from_qrels(qrels, frame)
        assert (data.qid.tolist(), data.docid.tolist()) == ([one, one, other], [one, other, "a"])
        assert data.judged.all()
    assert data.retrieved.all()


@pytest.mark.parametrize("pair", SPELLINGS, ids=repr)
def test_impressions(pair: tuple[str, str], tmp_path: Path) -> None:
    one, other = pair
    log = tmp_path / "log.jsonl"
    lines = [Impression({"old": [one], "new": [other]}, list(pair), [0], user=user, query=user) for user in pair]
    log.write_text("".join(f"{line.to_json()}\n" for line in lines))
    for cluster in ("user", "query"):
        outcome = score(log, "ppm", cluster=cluster)  # type: ignore[arg-type]
        assert (outcome.n_clusters, outcome.wins.tolist()) == (2, [[0, 2], [0, 0]])
    assert list(read_impressions(log)) == lines


def test_numbers_in_a_log_of_impressions_are_the_text_of_their_digits(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"rankings": {"old": [7, 8], "new": ["8", "7"]}, "shown": [8.0, "7"], "clicks": [0]}\n')
    assert score(log, "ppm").wins.tolist() == [[0, 0], [1, 0]]


# -- types of Python ---------------------------------------------------------------------------------------------------

TYPES: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "bytes": lambda texts: np.array([text.encode() for text in texts]),
    "series": lambda texts: pd.Series(texts, dtype=object),
    "string": lambda texts: pd.Series(texts, dtype="string"),
    "string of Arrow": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "category": lambda texts: pd.Series(texts, dtype="category"),
    "Arrow in pandas": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.large_string())),
    "dictionary in pandas": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "polars": pl.Series,
    "polars categories": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "polars enum": lambda texts: pl.Series(texts, dtype=pl.Enum(list(dict.fromkeys(texts)))),
    "Arrow": pa.array,
    "chunks of Arrow": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "dictionary of Arrow": lambda texts: pa.array(texts).dictionary_encode(),
}


@pytest.mark.parametrize("pair", SPELLINGS, ids=repr)
def test_types(pair: tuple[str, str]) -> None:
    for kind, make in TYPES.items():
        ids = columns_of(*pair, make)
        options = {"qid": ids["q"], "docid": make([*pair, "x", "y"]), "by": ids["seg"], "cluster": ids["user"]}
        result = ltr.evaluate(Y, SCORES, metrics="mrr", ties="docid", **options)
        assert seen(result) == (list(pair), list(pair), 2), kind
        batches = [{"label": [1, 0], "s": [2, 1], "q": make([one, one]), "seg": make([one, one])} for one in pair]
        result = ltr.evaluate_batches(batches, scores={"s": "s"}, qid="q", by="seg", metrics="mrr")["s"]
        assert seen(result)[:2] == (list(pair), list(pair)), kind


NUMBERS: dict[str, Any] = {
    "integers": [7, 12], "floats": [7.0, 12.0], "NumPy integers": np.array([7, 12], dtype=np.int16),
    "float32": np.array([7, 12], dtype=np.float32), "decimals": [Decimal(7), Decimal("12.00")],
    "nullable": pd.Series([7, 12], dtype="Int64"), "nullable floats": pd.Series([7, 12], dtype="Float64"),
    "categories": pd.Series([7, 12], dtype="category"), "Arrow in pandas": pd.Series([7, 12], dtype="int32[pyarrow]"),
    "polars": pl.Series([7, 12]), "polars floats": pl.Series([7.0, 12.0]), "Arrow": pa.array([7, 12]),
    "Arrow floats": pa.array([7.0, 12.0]), "mixed": [7, 12.0], "beside text": [7, "12"],
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_every_type_are_the_text_of_their_digits(kind: str) -> None:
    ids = NUMBERS[kind]
    result = ltr.evaluate([1, 1], [1, 2], qid=ids, by=ids, cluster=ids, metrics="mrr")
    assert seen(result) == (["7", "12"], ["7", "12"], 2)
    assert ltr.Queries([1, 0], qid=[1, 1], docid=ids).docid.tolist() == ["7", "12"]
    text = ltr.evaluate([1, 1], [1, 2], qid=["12", "7"], metrics="mrr")
    assert ltr.compare({"a": result, "b": text}, n_resamples=100)["mrr"].difference == 0
    data = ltr.from_qrels({"q": {"7": 1, "12": 0}}, pd.DataFrame({"query_id": "q", "doc_id": ids, "score": [1.0, 2.0]}))
    assert data.docid.tolist() == ["7", "12"]
    assert data.judged.all()


@pytest.mark.parametrize("name", ["qid", "by", "cluster"])
def test_one_column_does_not_hold_a_number_and_its_text(name: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=f"{name} has the ids 7 and '7', which cannot be told apart"):
        ltr.evaluate([1, 1], [1, 2], metrics="mrr", **{"qid": ["a", "b"], name: [7, "7"]})


@pytest.mark.parametrize("name", ["qid", "by", "cluster"])
@pytest.mark.parametrize("ids", [[True, 1], [1.0, np.True_], [0, False]])
def test_a_flag_is_not_the_number_that_it_is_equal_to(name: str, ids: list[Any]) -> None:
    with pytest.raises(
        ltr.LtrValueError, match=f"{name} has the ids (True|False) and [01].*, which are one for Python"
    ):
        ltr.evaluate([1, 1], [1, 2], metrics="mrr", **{"qid": ["a", "b"], name: np.array(ids, dtype=object)})
    parts = [ltr.evaluate([1], [1], qid=np.array([one], dtype=object), metrics="mrr") for one in ids]
    assert concat(parts).n_queries == 2


def test_parts_may_have_numbers_and_their_texts() -> None:
    parts = [
        ltr.evaluate([1], [1], qid=[at], by=[label], metrics="mrr") for at, label in enumerate([7, "7", 7.0, "07"])
    ]
    ((labels, code),) = concat(parts).segments.values()
    assert (labels, code.tolist()) == ([7, "07"], [0, 0, 0, 1])


# -- what is missing ---------------------------------------------------------------------------------------------------

MISSING: dict[str, Any] = {
    "None": None, "nan": float("nan"), "NA": pd.NA, "NaT": pd.NaT, "Decimal": Decimal("nan"), "empty": "", "blank": " \t"
}  # fmt: skip
ROLES = {"q": "qid", "doc": "docid", "seg": "by", "user": "cluster"}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", MISSING)
def test_what_is_missing_is_refused_in_python(kind: str, role: str) -> None:
    frame = frame_of("a", "b").astype(object)
    frame.loc[2:, role] = MISSING[kind]
    if role == "doc":
        frame.loc[3, role] = "z"
    tables: list[Any] = [frame, frame.to_dict("list")]
    if isinstance(MISSING[kind], str):
        tables += [frame.astype({role: "category"}), pl.from_pandas(frame), {n: frame[n].to_numpy(str) for n in frame}]
    for table in tables:
        options = {name: table[column] for column, name in ROLES.items()}
        with pytest.raises(ltr.LtrValueError, match=f"{ROLES[role]} must have .* it is (missing|blank) at .* 2"):
            ltr.evaluate(frame["label"].tolist(), frame["s"].tolist(), metrics="mrr", **options)


@pytest.mark.parametrize("options", ["--cluster user", "--sorted"])
@pytest.mark.parametrize("role", ROLES)
def test_what_is_missing_is_refused_in_tables(
    role: str, options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, write in WRITERS.items():
        if role == "user" and options == "--sorted":
            continue
        for missing in ("", "  ", None):
            frame = frame_of("a", "b")
            frame.loc[2:, role] = missing
            if role == "doc":
                frame.loc[3, role] = "z"
            write(frame, tmp_path / name)
            line = f"evaluate {tmp_path / name} --qid q --docid doc --segment seg --scores s -m mrr --confidence 0.9"
            done = in_process(capsys, *line.split(), *options.split())
            assert done.status == 2
            assert f"must have a value of {role}" in done.err, (name, missing)
            assert "It is empty" in done.err, (name, missing)


@pytest.mark.parametrize("missing", ["", " ", None, float("nan")])
@pytest.mark.parametrize("cluster", ["user", "query"])
def test_what_is_missing_is_refused_as_the_cluster_of_impressions(cluster: Any, missing: Any) -> None:
    rankings: dict[str, list[Any]] = {"old": ["a", "b"], "new": ["b", "a"]}
    log = [Impression(rankings, ["a", "b"], [0], **{cluster: one}) for one in ("u", missing)]
    with pytest.raises(ltr.LtrValueError, match=rf"impression 1 \(from 0\): Every impression must name its {cluster}"):
        score(log, "ppm", cluster=cluster)


@pytest.mark.parametrize("missing", MISSING)
def test_what_is_missing_is_refused_elsewhere(missing: str, tmp_path: Path) -> None:
    one = MISSING[missing]
    run = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", one], "score": [1.0, 2.0]})
    with pytest.raises(ltr.LtrValueError, match="doc_id of run must have an id in every row: .* at row 1"):
        ltr.from_qrels({"q": {"None": 1, "nan": 1, "a": 1}}, run)
    with pytest.raises(ltr.LtrValueError, match="query_id of run must have an id in every row: .* at row 1"):
        ltr.from_qrels({"q": {"a": 1}}, run.rename(columns={"query_id": "doc_id", "doc_id": "query_id"}))
    with pytest.raises(ltr.LtrValueError, match="doc_id of qrels must have an id in every row"):
        ltr.from_qrels({"q": {"a": 1, one: 1}}, {"q": {"a": 1.0}})
    with pytest.raises(ltr.LtrValueError, match="qid must have an id in every row"):
        ltr.Evaluation.from_per_query({"qid": ["a", one], "mrr": [1, 1]})
    with pytest.raises(ltr.LtrValueError, match="qids must have an id in every row"):
        ltr.evaluate([1], [1], qid=["a"], metrics="mrr").subset(["a", one])
    pd.DataFrame({"doc": ["a", "nan", "None"], "s": [1, 2, 3]}).to_csv(tmp_path / "s.csv", index=False)
    with pytest.raises(ltr.LtrValueError, match="doc of on must have an id in every row"):
        read_scores(tmp_path / "s.csv", on={"doc": ["a", one]})


WORDS_OF_PROGRAMS = ["NA", "N/A", "nan", "NaN", "null", "NULL", "None", "<NA>"]


@pytest.mark.parametrize("word", WORDS_OF_PROGRAMS)
def test_words_for_what_is_missing_are_text_with_a_warning_if_they_are_shared(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qid, other = [1, 2, 3], ["a", word, word]
    options: dict[str, Any] = {"qid": qid, "metrics": "mrr"}
    for name, kind in {"by": "segment", "cluster": "cluster"}.items():
        with pytest.warns(ltr.LtrWarning, match=f"2 queries are of one {kind}, {word!r}, which is text"):
            ltr.evaluate([1, 1, 1], [1, 1, 1], **{name: other}, **options)
        ltr.evaluate([1, 1, 1], [1, 1, 1], **{name: ["a", "b", word]}, **options)
        result = ltr.evaluate([1, 1, 1], [1, 1, 1], **options)
        with pytest.warns(ltr.LtrWarning, match=f"2 queries are of one {kind}"):
            ltr.compare({"a": result, "b": result}, n_resamples=100, **{name: other})
    with pytest.warns(ltr.LtrWarning, match="2 queries are of one cluster"):
        ltr.intervals(result, cluster=other)
    with pytest.warns(ltr.LtrWarning, match=f"2 queries have a document {word!r}"):
        ltr.evaluate([1, 1, 1], [1, 1, 1], docid=other, **options)
    with pytest.warns(ltr.LtrWarning, match="2 queries are of one segment"):
        ltr.evaluate_batches([{"qid": [i], "label": [1], "s": [1], "by": [one]} for i, one in zip(qid, other, strict=True)],
                             scores={"s": "s"}, by="by", metrics="mrr")  # fmt: skip
    log = [Impression({"old": ["a"], "new": ["b"]}, ["a", "b"], [0], user=user) for user in other]
    with pytest.warns(ltr.LtrWarning, match="2 impressions are of one cluster"):
        _ = score(log, "ppm", cluster="user").n_clusters
    lines = "".join(f"{i},1,1,{one}\n" for i, one in zip(qid, other, strict=True))
    (tmp_path / "rows.csv").write_text(f"qid,label,s,seg\n{lines}")
    for flag in ("", "--sorted"):
        line = f"evaluate {tmp_path}/rows.csv --scores s -m mrr --segment seg --format json {flag}"
        done = in_process(capsys, *line.split())
        assert [part["segment"] for part in json.loads(done.out)["segments"]] == ["a", word]
        assert f"2 queries are of one segment, {word!r}" in done.err
