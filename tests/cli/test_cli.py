"""The command computes what the library computes: command lines beside calls, with equal numbers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Done

import ltr_metrics as ltr
from ltr_metrics._rows.json_values import to_json
from ltr_metrics.io import files, read_trec
from ltr_metrics.io.models import predict

pytestmark = pytest.mark.integration

Run = Callable[..., Done]
COLUMN_OPTIONS = ("sample_weight", "docid", "cluster")


@pytest.fixture
def frame(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "data.parquet")


def as_json(done: Done, status: int = 0) -> Any:
    assert done.status == status, done.err
    return json.loads(done.out)


def as_lines(done: Done) -> list[dict[str, str]]:
    assert done.status == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out)))


def means(plain: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the means in the JSON of evaluate and report, by model and metric."""
    found: dict[str, dict[str, float]] = {}
    for line in plain["means"]:
        found.setdefault(line["model"], {})[line["metric"]] = line["mean"]
    return found


def options_of(frame: pd.DataFrame, options: dict[str, Any]) -> dict[str, Any]:
    """Return keyword arguments, with columns in place of their names."""
    named = {name: frame[value] if name in COLUMN_OPTIONS else value for name, value in options.items()}
    return {name: frame[value] if name == "by" else value for name, value in named.items()}


# -- evaluate and report -----------------------------------------------------------------------------------------------

METRICS = {"metrics": ["ndcg@10", "map(rel=2,denominator=relevant)@5", "ndcg(gain=[0,1,2,3,4])"]}
NAMES = f"-m '{','.join(METRICS['metrics'])}'"
EVALUATE: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "LETOR": (f"data.txt --model new=model.txt --scores base=1 {NAMES}", {"base": "Column_0", "new": "model.txt"}, METRICS),
    "Parquet": (f"data.parquet --model new=model.txt --scores base=Column_0 {NAMES}", {"base": "Column_0", "new": "model.txt"}, METRICS),
    "CSV": (f"data.csv --model new=model.txt --scores base=Column_0 {NAMES}", {"base": "Column_0", "new": "model.txt"}, METRICS),
    "XGBoost": ("data.csv --model model.json -m map", {"model": "model.json"}, {"metrics": "map"}),
    "CatBoost": ("data.csv --model model.cbm -m map", {"model": "model.cbm"}, {"metrics": "map"}),
    "CatBoost, LETOR": ("data.txt --model model.cbm -m map", {"model": "model.cbm"}, {"metrics": "map"}),
    "other columns": ("other.parquet --qid query --label grade --scores Column_0", {"Column_0": "Column_0"}, {}),
    "convention": ("data.csv --scores a=flat --convention lightgbm", {"a": "flat"}, {"convention": "lightgbm"}),
    "policies": ("data.csv --scores flat --ties worst --no-relevant 0.5 -m map", {"flat": "flat"}, {"ties": "worst", "no_relevant": 0.5, "metrics": "map"}),
    "docids": ("data.csv --scores flat --docid doc --ties docid --no-relevant drop -m ndcg@3", {"flat": "flat"},
        {"docid": "doc", "ties": "docid", "no_relevant": "drop", "metrics": "ndcg@3"}),
    "docids of LETOR": ("docs.txt --scores 1 --ties docid -m map", {"1": "rounded"}, {"docid": "doc", "ties": "docid", "metrics": "map"}),
    "weights, segments": ("data.csv --scores a=flat --weight traffic --segment device -m mrr,p@2", {"a": "flat"},
        {"sample_weight": "traffic", "by": ["device"], "metrics": ["mrr", "p@2"]}),
    "column of a metric": ("data.csv --scores a=flat -m 'sum_of(traffic)@2'", {"a": "flat"}, {"metrics": "sum_of(traffic)@2", "columns": "traffic"}),
}  # fmt: skip


@pytest.mark.parametrize("case", EVALUATE)
@pytest.mark.parametrize("command", ["evaluate", "evaluate --sorted", "evaluate --skill", "report --n-resamples 100"])
def test_evaluate_and_report(
    run: Run, made: Path, rows: dict[str, Any], frame: pd.DataFrame, case: str, command: str
) -> None:
    line, scores, options = EVALUATE[case]
    frame.rename(columns={"qid": "query", "label": "grade"}).to_parquet("other.parquet")
    frame["rounded"] = frame["Column_0"].round()
    lines = zip(frame["label"], frame["qid"], frame["rounded"], frame["doc"], strict=True)
    Path("docs.txt").write_text("".join(f"{y} qid:{qid} 1:{x} # docid = {doc}\n" for y, qid, x, doc in lines))
    if "columns" in options:
        options = options | {"columns": {options["columns"]: frame[options["columns"]]}}
    found = as_json(run(f"{command} {line} --format json"))
    for name, source in scores.items():
        values = frame[source] if source in frame else predict(made / source, frame)
        expected = ltr.evaluate(rows["y"], values, qid=rows["qid"], **options_of(frame, options))
        assert means(found)[name] == expected.mean
        own = [{k: v for k, v in part.items() if k != "model"} for part in found["segments"] if part["model"] == name]
        has_skill = "report" in command or "--skill" in command
        assert own == (expected.with_skill() if has_skill else expected).segments_to_dicts()
        of_model = [row for row in found["means"] if row["model"] == name]
        skills = {row["metric"]: row["skill"] for row in of_model if "skill" in row}
        assert skills == (to_json(expected.skill) if has_skill else {})


@pytest.mark.parametrize("flag", ["", "--sorted"])
@pytest.mark.parametrize(
    ("n_rows", "first", "option"), [(None, 5, "--n-features 6"), (-9, 4, "")], ids=["all", "first"]
)
def test_features_that_the_lines_lack(
    run: Run,
    rows: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    n_rows: int | None,
    first: int,
    option: str,
    flag: str,
) -> None:
    X = rows["X"].copy()
    X[:n_rows, first:] = 0
    lines = zip(rows["y"], rows["qid"], X.tolist(), strict=True)
    pairs = (f"{y} qid:{qid} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1) if x) for y, qid, row in lines)
    Path("narrow.txt").write_text("\n".join(pairs))
    monkeypatch.setattr(files, "BYTES_AT_ONCE", 1_000)
    found = as_json(run(f"evaluate narrow.txt {option} --model model.txt -m map --format json {flag}"))
    expected = ltr.evaluate(rows["y"], predict("model.txt", X), qid=rows["qid"], metrics="map")
    assert means(found)["model"] == expected.mean


def test_csv_has_the_values_of_each_query(run: Run, rows: dict[str, Any], frame: pd.DataFrame) -> None:
    command = "evaluate data.parquet --scores a=Column_0 --scores b=flat -m mrr,map --segment device --format csv"
    whole, parts = run(command), run(f"{command} --sorted")
    assert (parts.status, parts.out) == (0, whole.out)
    lines = as_lines(whole)
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics=["mrr", "map"])
    first = [line for line in lines if line["model"] == "a"]
    values = expected.per_query["map"].tolist()
    assert [line["map"] for line in first] == ["" if np.isnan(value) else repr(value) for value in values]
    assert [line["device"] for line in first] == ["desk" if int(line["qid"]) % 3 else "ph|one" for line in first]
    assert len(lines) == 2 * len(first)


@pytest.mark.parametrize("is_sorted", [False, True])
def test_intervals_of_means(run: Run, rows: dict[str, Any], frame: pd.DataFrame, is_sorted: bool) -> None:
    command = "evaluate data.csv --scores a=Column_0 -m map --confidence 0.9"
    cluster: Any = {} if is_sorted else {"cluster": frame["user"]}
    done = as_json(run(f"{command} --format json {'--sorted' if is_sorted else '--cluster user'}"))
    result = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="map", **cluster)
    expected = ltr.intervals(result, confidence=0.9)["map"]
    line = done["means"][0]
    assert (line["ci_low"], line["ci_high"]) == (expected.ci_low, expected.ci_high)


def test_segments_by_counts(run: Run, rows: dict[str, Any]) -> None:
    """Four ranges with nearly as many queries each, in ascending order; saved results have them as well."""
    line = "data.txt --scores a=1 -m mrr --segment n_relevant --segment n_documents"
    parts = as_json(run(f"evaluate {line} --format json"))["segments"]
    assert [part["segment"] for part in parts if part["name"] == "n_relevant"] == ["0-1", "2-3", "4", "5+"]
    n_relevant = pd.Series(rows["y"] >= 1).groupby(rows["qid"]).sum()
    labels = ["0-1", "0-1", "2-3", "2-3", "4"]
    by = [labels[count] if count < 5 else "5+" for count in n_relevant]
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="mrr", by={"n_relevant": by})
    own = {part["segment"]: part["mean"] for part in parts if part["name"] == "n_relevant"}
    assert own == {label: dict(part) for label, part in expected.by["n_relevant"].items()}
    saved = run("compare --result saved.parquet --result a=saved.parquet --segment n_documents --format json")
    assert {part["name"] for part in as_json(saved)["segments"]} == {"n_documents"}


def test_names_default_to_columns_and_files(run: Run, rows: dict[str, Any], made: Path) -> None:
    np.save("tuned.v2.npy", rows["X"][:, 1])
    Path("flat").write_text("not a file of scores, by its name")
    plain = as_json(run("evaluate data.csv --scores flat --scores tuned.v2.npy --model model.txt -m map --format json"))
    assert plain["origins"] == {"flat": "column flat", "tuned.v2": "file tuned.v2.npy", "model": "model.txt"}
    in_batches = as_json(run("evaluate data.csv --sorted --scores flat --model model.txt -m map --format json"))
    assert in_batches["origins"] == {"flat": "column flat", "model": "model.txt"}
    expected = ltr.evaluate(rows["y"], rows["X"][:, 1], qid=rows["qid"], metrics="map")
    assert means(plain)["tuned.v2"] == expected.mean
    Path("bm25.run.gz").write_bytes(gzip.compress((made / "b.run").read_bytes()))
    trec = as_json(run("evaluate --qrels qrels --run a.run --run bm25.run.gz -m map --format json"))
    assert list(means(trec)) == ["a", "bm25"]
    letor = as_json(run("evaluate data.txt --scores ./scores.txt --scores 2 -m map --format json"))
    assert list(means(letor)) == ["scores", "2"]


def test_old_scores_join_by_ids(run: Run, frame: pd.DataFrame) -> None:
    """Rows in another order and another format, with ids of other types, and scores of other documents."""
    shuffled = frame[["qid", "doc", "flat", "Column_1"]].sample(frac=1, random_state=0)
    extra = shuffled.head(2).assign(qid=99)
    pd.concat([shuffled, extra])[["doc", "Column_1", "qid"]].to_csv("old.csv", index=False)
    shuffled.assign(qid=shuffled["qid"].astype(float)).to_parquet("old.parquet", index=False)
    expected = run("evaluate data.parquet --scores old=Column_1 -m ndcg@5,map --format csv").out
    for data in ("data.parquet", "data.csv"):
        for scores in ("old.csv", "old.parquet:Column_1", "old=./old.csv"):
            name = "" if "=" in scores else "old="
            done = run(f"evaluate {data} --scores {name}{scores} --on qid,doc -m ndcg@5,map --format csv")
            assert done.out == expected, done.err
            assert ("2 of 316 scores in old.csv are ignored" in done.err) == ("csv" in scores)
    line = "compare data.csv --scores a=flat --scores old.csv --on qid,doc -m map --n-resamples 100 --format json"
    (row,) = as_json(run(line))["rows"]
    assert row["mean"] == ltr.evaluate(frame["label"], frame["Column_1"], qid=frame["qid"])["map"]


@pytest.mark.parametrize("line", [
    "twice.csv --scores s --docid doc", "twice.csv --scores old.csv --on qid,doc", "twice.txt --scores 1",
])  # fmt: skip
def test_repeated_documents_are_refused_except_by_audit(run: Run, line: str) -> None:
    Path("twice.csv").write_text("qid,doc,label,s\n1,01,1,2\n1,1,0,1\n1,01,0,0\n")
    Path("old.csv").write_text("qid,doc,old\n1,01,3\n1,1,1\n")
    Path("twice.txt").write_text("".join(f"0 qid:1 1:{i} # docid = {doc}\n" for i, doc in enumerate(["01", "1", "01"])))
    commands = [
        "evaluate",
        "report --n-resamples 100 --format json",
        "explain --metric map --from lightgbm --to sklearn",
    ]
    for command in commands + ["evaluate --sorted"] * ("--on" not in line):
        done = run(f"{command} {line}" + " -m map" * ("explain" not in command))
        assert done.status == 2
        assert "A document must occur only once" in done.err
        assert "'01'" in done.err
    audit = as_json(run(f"audit {line} --format json -m map"))["data"]
    repeated = None if "--on" in line else {"n_rows": 1, "n_queries": 1, "qid": audit["repeated"]["qid"], "docid": "01"}
    assert audit["repeated"] == repeated


def test_saved_results_are_those_of_the_library(run: Run, rows: dict[str, Any]) -> None:
    done = run("evaluate data.txt --scores a=1 -m map --save one.parquet")
    assert (done.status, done.err) == (0, "Wrote one.parquet.\n")
    expected = ltr.evaluate(rows["y"], rows["X"][:, 0], qid=rows["qid"], metrics="map")
    assert ltr.load_result("one.parquet").to_dict() == expected.to_dict()
    assert run("evaluate data.txt --sorted --scores a=1 --scores b=2 -m map --save b=b --save a=a").status == 0
    assert ltr.load_result("a").mean == expected.mean != ltr.load_result("b").mean


MODULE = """
import ltr_metrics as ltr
from neighbour import THRESHOLD
def top(grades, columns):
    return float(grades[0] > THRESHOLD)
first_good = ltr.as_metric(top, name="first_good", columns=[])
"""


def test_metrics_of_a_file(run: Run, rows: dict[str, Any], made: Path) -> None:
    Path("neighbour.py").write_text("THRESHOLD = 1\n")
    Path("own.py").write_text(MODULE)
    command = "data.csv --scores a=Column_0 --metrics-module own.py"
    plain = as_json(run(f"evaluate {command} -m first_good,map --format json"))
    first = rows["y"][pd.Series(rows["X"][:, 0]).groupby(rows["qid"]).idxmax()]
    assert means(plain)["a"]["first_good"] == pytest.approx((first > 1).mean(), rel=1e-15)
    gate = run(f"compare {command} --scores b=Column_1 -m first_good --n-resamples 100 --gate 'first_good > -1'")
    assert gate.status == 0, gate.err


# -- compare -----------------------------------------------------------------------------------------------------------

AB = "--scores a=Column_0 --scores b=Column_1 -m ndcg@5,map --n-resamples 200"
COMPARE: dict[str, tuple[str, dict[str, Any]]] = {
    "LETOR": (AB.replace("Column_0", "1").replace("Column_1", "2"), {}),
    "statistics": (
        f"{AB} --confidence 0.9 --power 0.7 --test t --correction bh --seed 3",
        {"confidence": 0.9, "power": 0.7, "test": "t", "correction": "bh", "random_state": 3},
    ),
    "columns": (f"{AB} --weight traffic --cluster user --segment device", {"sample_weight": "traffic", "cluster": "user", "by": ["device"]}),
    "convention": (f"{AB} --convention letor --ties worst --no-relevant skip", {"convention": "letor", "ties": "worst", "no_relevant": "skip"}),
    "baseline": (f"{AB} --baseline b", {"baseline": "b"}),
    "all pairs": (f"{AB} --scores c=Column_2 --all-pairs", {"baseline": None}),
}  # fmt: skip


@pytest.mark.parametrize("case", COMPARE)
def test_compare(run: Run, rows: dict[str, Any], frame: pd.DataFrame, case: str) -> None:
    line, options = COMPARE[case]
    data = "data.txt" if case == "LETOR" else "data.parquet"
    expected = ltr.compare(
        {name: rows["X"][:, column] for column, name in enumerate("abc" if "pairs" in case else "ab")}, rows["y"],
        qid=rows["qid"], metrics=["ndcg@5", "map"], n_resamples=200, **options_of(frame, options),
    )  # fmt: skip
    found = as_json(run(f"compare {data} {line} --format json"))
    assert found["gate"] is None
    assert {name: found[name] for name in expected.to_dict()} == expected.to_dict()
    lines = as_lines(run(f"compare {data} {line} --format csv"))
    overall = [line for line in lines if not line.get("segment")]
    assert [float(line["difference"]) for line in overall] == [row.difference for row in expected.rows]


def test_saved_results_are_compared_with_models_and_alone(run: Run, rows: dict[str, Any]) -> None:
    assert run("evaluate data.txt --scores new=2 -m ndcg@5,map --save new.parquet").status == 0
    models = {"base": rows["X"][:, 0], "new": rows["X"][:, 1]}
    options = {"qid": rows["qid"], "metrics": ["ndcg@5", "map"], "n_resamples": 200}
    expected = ltr.compare(models, rows["y"], **options).to_dict()
    values = ltr.evaluate(rows["y"], models["base"], qid=rows["qid"], metrics=["ndcg@5", "map"]).to_pandas()
    values.drop(columns=["documents", "relevant"]).assign(model="base").to_csv("values.csv", index=False)

    def compared(line: str) -> Any:
        return as_json(run(f"compare {line} --baseline base --n-resamples 200 --format json"))["rows"]

    for base in ("saved.parquet", "values.csv"):
        for new in ("--result new=new.parquet", "data.txt --scores new=2", "data.csv --scores new=Column_1"):
            assert compared(f"--result base={base} {new}") == expected["rows"]
    weighted = ltr.compare(models, rows["y"], sample_weight=1.0 + rows["qid"] % 2, **options).to_dict()
    line = "--result base=saved.parquet data.csv --scores new=Column_1 --weight traffic"
    assert compared(line) == weighted["rows"]
    kept = rows["qid"] > 3
    models, options["qid"] = {name: scores[kept] for name, scores in models.items()}, rows["qid"][kept]
    common = compared("--result base=fewer.parquet --result new=new.parquet --queries common")
    assert common == ltr.compare(models, rows["y"][kept], **options).to_dict()["rows"]


@pytest.mark.parametrize("convention", [None, "trec_eval", "lightgbm", "letor"])
def test_a_table_of_values_per_query_is_read_back_without_a_warning(run: Run, convention: str | None) -> None:
    named = "" if convention is None else f"--convention {convention}"
    done = run(f"evaluate data.csv --scores a=Column_0 --docid doc -m ndcg@5,map {named} -o a.csv")
    assert (done.status, done.err) == (0, "Wrote a.csv.\n")
    done = run(f"compare --result b=a.csv --result a.csv {named} --n-resamples 100 --format json")
    assert done.err == ""
    means_of_csv = pd.read_csv("a.csv").drop(columns=["model", "qid", "documents", "relevant"]).mean()
    assert {row["metric"]: row["mean"] for row in as_json(done)["rows"]} == pytest.approx(means_of_csv.to_dict())


def test_values_of_another_tool_say_which_metric_they_are(run: Run, frame: pd.DataFrame) -> None:
    options: Any = {"qid": frame["qid"], "docid": frame["doc"], "metrics": ["map@5", "ndcg@5"]}
    values = ltr.evaluate(frame["label"], frame["Column_0"], convention="trec_eval", **options).per_query
    theirs = pd.DataFrame({"qid": frame["qid"].unique(), "map@5": values["map@5"], "ndcg@5": values["ndcg@5"]})
    theirs.drop(columns="ndcg@5").to_csv("map.csv", index=False)
    theirs.to_csv("theirs.csv", index=False)
    command = "compare data.csv --scores new=Column_0 --docid doc --baseline theirs --n-resamples 100 --format json"
    refused = run(f"{command} --result theirs=theirs.csv")
    assert refused.status == 2
    assert "theirs.csv: The column 'ndcg@5' leaves the gain open" in refused.err
    assert 'to ndcg_exp@5 or ndcg_lin@5, or name the convention of its tool, such as convention="tr' in refused.err
    warned = run(f"{command} --result theirs=map.csv")
    assert (warned.status, warned.err.count("\n")) == (0, 1)
    assert "warning: These columns are read as metrics of this package: map@5. But map@5 is " in warned.err
    assert as_json(warned)["rows"][0]["difference"] > 0.01  # of one ranking, by two definitions of MAP
    done = run(f"{command} --result theirs=theirs.csv --convention trec_eval")
    assert done.err == ""
    assert [row["difference"] for row in as_json(done)["rows"]] == [0, 0]


def test_a_column_of_another_tool_has_the_direction_that_is_named(run: Run) -> None:
    Path("slow.csv").write_text("qid,ms\n1,5\n2,7\n3,9\n")
    Path("fast.csv").write_text("qid,ms\n1,4\n2,6\n3,9\n")
    line = "compare --result slow.csv --result fast.csv --n-resamples 100 --format json"
    rows = [as_json(run(f"{line} {direction}"))["rows"][0] for direction in ("", "--lower-is-better ms")]
    assert [(row["wins"], row["losses"]) for row in rows] == [(0, 2), (2, 0)]


@pytest.mark.parametrize("first", ["--model m=model.txt", "--scores s=1", "--result r=saved.parquet"])
def test_the_first_model_on_the_command_line_is_the_baseline(run: Run, first: str) -> None:
    models = [first, *({"--model m=model.txt", "--scores s=1", "--result r=saved.parquet"} - {first})]
    found = as_json(run(f"compare data.txt {' '.join(models)} -m map --n-resamples 100 --format json"))
    assert found["baseline"] == first.partition("=")[0][-1]


def test_a_gate_gives_the_status(run: Run, rows: dict[str, Any]) -> None:
    command = "compare data.txt --scores base=1 --scores new=2 -m ndcg@5,map --n-resamples 200"
    opened, shut = "ndcg@5 > -0.9", "share(map < -0.05) < 1%"
    done = run(f"{command} --gate '{opened}'")
    assert (done.status, done.err.startswith("PASS  new: ndcg@5 > -0.9: ")) == (0, True)
    done = run(f"{command} --gate '{opened}' --gate '{shut}' --output x.json")
    assert (done.status, [line[:4] for line in done.err.splitlines()]) == (1, ["Wrot", "PASS", "FAIL"])
    models = {"base": rows["X"][:, 0], "new": rows["X"][:, 1]}
    comparison = ltr.compare(models, rows["y"], qid=rows["qid"], metrics=["ndcg@5", "map"], n_resamples=200)
    assert json.loads(Path("x.json").read_text())["gate"] == ltr.gate(comparison, [opened, shut]).to_dict()
    each = run(f"{command} --gate '{opened}' --gate-each-segment --segment n_documents")
    assert len(each.err.splitlines()) > 2
    report = as_json(run(f"report{command[7:]} --gate '{shut}' --format json"), status=1)
    assert report["gate"]["passed"] is False


def test_looks_families_and_yardsticks_are_those_of_python(run: Run, rows: dict[str, Any]) -> None:
    command = "data.txt --scores base=1 --scores new=2 --scores other=3 --scores old=4 -m map --n-resamples 200"
    gating = "--yardstick old --gate 'map > -0.9' --gate 'share(map < -0.5) < 30%' --looks 2"
    models = {name: rows["X"][:, i] for i, name in enumerate(("base", "new", "other", "old"))}
    options: dict[str, Any] = {"metrics": "map", "n_resamples": 200, "yardsticks": ["old"]}
    comparison = ltr.compare(models, rows["y"], qid=rows["qid"], **options)
    for family in ("candidates", "one"):
        expected = ltr.gate(comparison, ["map > -0.9", "share(map < -0.5) < 30%"], looks=2, family=family)
        for name in ("compare", "report"):
            done = run(f"{name} {command} {gating} --family {family} --format json")
            assert done.status == (0 if expected.passed else 1)
            found = json.loads(done.out)
            assert found["gate"] == expected.to_dict()
            assert (found if name == "compare" else found["comparison"])["yardsticks"] == ["old"]
            assert done.err == f"{expected}\n"
        assert {check.model for check in expected.checks} == {"new", "other"}
    text = run(f"compare {command} {gating}")
    assert "Yardsticks, which no rule and no correction counts: old." in " ".join(text.out.split())
    assert "Looks 2: each has 1 / 2 of the error probability." in " ".join(text.err.split())


# -- formats -----------------------------------------------------------------------------------------------------------


def test_csv_for_spreadsheets(run: Run) -> None:
    command = "compare data.txt --scores base=1 --scores '@x=2' -m map --n-resamples 100 --format csv"
    plain, safe = run(command), run(f"{command} --spreadsheet-safe")
    assert "'" not in plain.out
    assert safe.out.replace('"\'@x"', "@x") == plain.out != safe.out
    refused = run(f"{command.replace('csv', 'json')} --spreadsheet-safe")
    assert (refused.status, "--spreadsheet-safe needs --format csv" in refused.err) == (2, True)


def text_rows(text: str, title: str) -> list[list[str]]:
    """Return the cells of the table below a title, the header first."""
    lines = text.split(f"{title}\n")[1].split("\n\n")[0].splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def markdown_rows(text: str, title: str) -> list[list[str]]:
    header, _, *rows = text.split(f"## {title}\n\n")[1].split("\n\n")[0].splitlines()
    return [
        [unescape(re.sub(r"\\(.)", r"\1", cell.strip())) for cell in line.strip("|").split(" | ")]
        for line in (header, *rows)
    ]


def latex_rows(text: str, title: str) -> list[list[str]]:
    body = text.split(f"% {title}\n")[1].split(r"\bottomrule")[0].split(r"\toprule")[1].replace(r"\_", "_")
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in lines]


@pytest.mark.parametrize(("form", "parse"), [("text", text_rows), ("markdown", markdown_rows), ("latex", latex_rows)])
def test_the_tables_of_evaluate_have_the_means(run: Run, frame: pd.DataFrame, form: str, parse: Any) -> None:
    line = "data.csv --scores a=Column_0 --scores b=flat -m ndcg@3,arp --segment device --skill --confidence 0.9"
    text = run(f"evaluate {line} --format {form}").out
    plain = as_json(run(f"evaluate {line} --format json"))
    header, *rows = parse(text, "Mean and quantiles over queries")
    assert header[:7] == ["metric", "model", "mean", "interval", "chance", "ideal", "skill"]
    for cells, row in zip(rows, plain["means"], strict=False):
        ends = f"[{row['ci_low']:.4f}, {row['ci_high']:.4f}]"
        numbers = [f"{row[name]:.4f}" for name in ("chance", "ideal", "skill")]
        assert cells[:7] == [row["metric"], row["model"], f"{row['mean']:.4f}", ends, *numbers]
    for name, title in (("mean", "Means by segment"), ("skill", "Skill: 0 is a random order, 1 the ideal one")):
        rows = [cells[:2] + cells[-2:] for cells in parse(text, title)[1:]]
        for part in plain["segments"]:
            segment = f"device={part['segment']}"
            assert [segment, part["model"], *(f"{one:.4f}" for one in part[name].values())] in rows
    words = " ".join(text.replace("% ", "").split())
    assert "Lower is better for arp." in words.replace("\\", "")
    assert f"Rows: {len(frame)}" in words


@pytest.mark.parametrize(
    ("name", "begins"),
    [("x.json", "{"), ("x.md", "Data"), ("x.tex", "% Data"), ("x.csv", "model,qid"), ("x.txt", "Data")],
)
def test_the_ending_chooses_the_format(run: Run, name: str, begins: str) -> None:
    done = run(f"evaluate data.txt --scores a=1 -m map --output {name}")
    assert (done.status, done.out, done.err) == (0, "", f"Wrote {name}.\n")
    assert Path(name).read_text().startswith(begins)
    run(f"evaluate data.txt --scores a=1 -m map --format json --output {name}")
    assert json.loads(Path(name).read_text())["data"]


def test_a_warning_is_one_line(run: Run) -> None:
    Path("binary.csv").write_text("qid,label,s\n1,1,0.5\n1,0,0.7\n")
    for _ in range(2):  # not only the first time
        done = run("evaluate binary.csv --scores s=s")
        assert (done.status, done.err.count("\n")) == (0, 1)
        assert done.err.startswith("warning: err counts grades")


# -- TREC --------------------------------------------------------------------------------------------------------------


def test_runs_with_other_topics(run: Run) -> None:
    command = "evaluate --qrels qrels --run a.run --run lacks.run --run has.run -m map --format json"
    refused = run(command)
    assert (refused.status, refused.out) == (2, "")
    lacking = "The run 'lacks' lacks topics of the qrels: 1, 2. The run 'has' has topics without judgments: 11, 12."
    assert lacking in refused.err
    effects = {"both": ("are left out of all runs", 8), "qrels": ("without retrieved documents", 10)}
    for topics, (effect, n_queries) in effects.items():
        done = run(f"{command} --topics {topics}")
        assert re.search(f"With --topics {topics}, .*{effect}", done.err)
        assert {line["n_queries"] + line["n_undefined"] for line in as_json(done)["means"]} == {n_queries}


@pytest.mark.parametrize("command", ["evaluate", "compare", "report", "audit"])
def test_each_run_with_other_spellings_is_named(run: Run, command: str) -> None:
    for name in "ab":
        Path(f"{name}0.run").write_text(Path(f"{name}.run").read_text().replace(" D", " d"))
    options = "--n-resamples 100" if command in ("compare", "report") else ""
    done = run(f"{command} --qrels qrels --run a.run --run a0.run --run b0.run -m map {options} --format json")
    warned = [line for line in done.err.splitlines() if "spell documents in two ways" in line]
    assert (done.status, [line.split()[1] for line in warned]) == (0, ["a0.run", "b0.run"])
    share = "0.0% of 80 retrieved documents are judged, in 0 of 10 topics. In topic '1', the run has 'd0' and"
    assert share in warned[0]


@pytest.mark.parametrize("command", ["evaluate", "compare", "report"])
def test_runs_without_the_document_that_is_the_query(run: Run, command: str) -> None:
    for name in ("qrels", "a.run", "b.run"):
        Path(name).write_text(re.sub(r"^(\d+) (\S+) D\1 ", r"\1 \2 \1 ", Path(name).read_text(), flags=re.MULTILINE))
    line = f"{command} --qrels qrels --run a.run --run b.run --convention trec_eval -m map --format json"
    line += "" if command == "evaluate" else " --n-resamples 100"
    found = as_json(run(f"{line} --drop-self"))
    means = {}
    for drop_self in (True, False):
        data = {name: read_trec("qrels", f"{name}.run", drop_self=drop_self) for name in "ab"}
        means[drop_self] = [ltr.evaluate(**one, convention="trec_eval", metrics="map")["map"] for one in data.values()]
    assert means[True] != means[False]
    rows = found["means"] if command == "evaluate" else found.get("comparison", found)["rows"]
    expected = means[True] if command == "evaluate" else [means[True][1]]
    assert [row["mean"] for row in rows if "map" in row["metric"]] == expected


@pytest.mark.parametrize("topics", ["both", "qrels"])
def test_runs_are_compared(run: Run, topics: Any) -> None:
    runs = {name: read_trec("qrels", f"{name}.run", topics=topics) for name in ("a", "lacks")}
    if topics == "both":
        kept = np.isin(runs["a"].qid, runs["lacks"].qid)
        runs["a"] = {name: values[kept] for name, values in dict(runs["a"]).items()}  # type: ignore[assignment]
    options: Any = {"metrics": ["ndcg@5", "map"], "convention": "trec_eval"}
    results = {name: ltr.evaluate(**one, **options) for name, one in runs.items()}
    line = f"--run a.run --run lacks.run --topics {topics} --convention trec_eval -m ndcg@5,map --segment n_relevant"
    found = as_json(run(f"compare --qrels qrels {line} --n-resamples 200 --format json"))
    assert found["rows"] == ltr.compare(results, n_resamples=200).to_dict()["rows"]
    assert {part["name"] for part in found["segments"]} == {"n_relevant"}
    report = as_json(run(f"report --qrels qrels {line} --n-resamples 200 --format json"))
    with_skill = as_json(run(f"compare --qrels qrels {line} --n-resamples 200 --format json --skill"))["rows"]
    assert report["comparison"]["rows"] == with_skill
    assert [row["mean"] for row in with_skill] == [row["mean"] for row in found["rows"]]
    assert found["rows"][0]["skill"] is None
    assert (report["rankings"], list(report["audit"]["models"])) == ([], ["a", "lacks"])  # of documents of their own


# -- explain and audit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_value", [True, False])
def test_explain(run: Run, rows: dict[str, Any], is_value: bool) -> None:
    data: Any = {"qid": rows["qid"], "metric": "ndcg@5"}
    expected: Any
    if is_value:
        line, expected = "--value 0.4100", ltr.identify_convention(rows["y"], rows["X"][:, 0], **data, value="0.4100")
    else:
        line = "--from lightgbm --to sklearn --ties stable"
        expected = ltr.explain_difference(rows["y"], rows["X"][:, 0], **data, a="lightgbm", b="sklearn", ties="stable")
    command = f"explain data.csv --scores x=Column_0 --metric ndcg@5 {line}"
    assert as_json(run(f"{command} --format json")) == {"x": expected.to_dict()}
    assert run(command).out.split() == f"x: {expected}".split()
    lines = as_lines(run(f"{command} --format csv"))
    assert [line.pop("model") for line in lines] == ["x"] * len(expected.to_pandas())
    assert list(lines[0]) == list(expected.to_pandas().columns)


@pytest.mark.parametrize("data", ["data.txt", "data.csv"])
def test_audit(run: Run, rows: dict[str, Any], data: str) -> None:
    column = "1" if data == "data.txt" else "Column_0"
    np.save("rounded.npy", rows["X"][:, 1].round())
    line = f"audit {data} --scores new={column} --scores rounded.npy -m ndcg@5,map -k 5"
    models = {"new": rows["X"][:, 0], "rounded": rows["X"][:, 1].round()}
    expected = ltr.audit(rows["y"], models, qid=rows["qid"], metrics=["ndcg@5", "map"], k=5)
    assert as_json(run(f"{line} --format json")) == expected.to_dict()
    assert run(line).out == f"{expected}\n"


def test_an_audit_of_runs(run: Run) -> None:
    alone = {name: as_json(run(f"audit --qrels qrels --run {name}.run -m map --format json")) for name in "ab"}
    data = read_trec("qrels", "a.run")
    named: Any = {key: data[key] for key in ("qid", "docid", "retrieved", "judged")}
    assert alone["a"] == ltr.audit(data.y_true, {"a": data.y_score}, metrics=["map"], **named).to_dict()
    both = as_json(run("audit --qrels qrels --run a.run --run b.run -m map --format json"))
    assert both["data"] is None
    for name in "ab":
        assert both["models"][name] == {"data": alone[name]["data"]} | alone[name]["models"][name]
    parts = run("audit --qrels qrels --run a.run --run b.run -m map").out.split("\n\n")[::2]
    assert [part.partition(":")[0] for part in parts] == ["a", "b"]


# -- report ------------------------------------------------------------------------------------------------------------

CURVE = "data.csv --model new=model.txt -m ndcg@5,map"


def test_learning_curves_in_a_report(run: Run, rows: dict[str, Any], frame: pd.DataFrame) -> None:
    data: dict[str, Any] = {"y": rows["y"], "qid": rows["qid"], "metrics": ["ndcg@5", "map"], "every": 2}
    report = as_json(run(f"report {CURVE} --n-resamples 100 --learning-curve 2 --confidence 0.9 --format json"))
    log = ltr.learning_curve("model.txt", rows["X"], **data)
    expected = [log.learning_curve("data", metric, 0.9).to_dict() for metric in data["metrics"]]
    assert report["learning"] == [{"model": "new"} | curve for curve in expected]


# -- metrics -----------------------------------------------------------------------------------------------------------


def test_metrics(run: Run) -> None:
    text, plain = run("metrics").out, as_json(run("metrics --format json"))
    assert [one["name"] for one in plain["metrics"]] == [info.name for info in ltr.available_metrics()]
    assert list(plain["conventions"]) == list(ltr.CONVENTIONS)
    for info, one in zip(ltr.available_metrics(), plain["metrics"], strict=True):
        assert one["required"] == [name for name, default in info.parameters.items() if default is ...]
        assert all(word in text for word in (f"\n{info.name} ", *info.aliases))
    for name, convention in ltr.CONVENTIONS.items():
        one = plain["conventions"][name]
        assert (one["ties"], one["cutoff"]) == (convention.ties, convention.cutoff)
        assert set(one["metrics"]) == set(convention.metrics)
        assert name in text.partition("Conventions")[2]


def test_a_report_of_one_query_has_no_intervals(run: Run) -> None:
    Path("one.csv").write_text("qid,label,s\n1,1,0.5\n1,0,0.7\n")
    assert means(as_json(run("report one.csv --scores s -m map --format json"))) == {"s": {"map": 0.5}}


NUMBERS_AND_IDS = "qid,label,s,docid,seg\n1,1,2.5,10,5\n1,0,1.5,20,5\n2,0,3,10,05\n2,2,1,20,05\n"


@pytest.mark.parametrize("is_sorted", [False, True], ids=["whole", "sorted"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--scores s=s -m mean_of(docid)@1 --docid docid", [10.0, 10.0]),
        ("--scores s=docid -m map --docid docid", [0.5, 1.0]),
        ("--scores s=s -m mean_of(seg)@1 --qid seg", [5.0, 5.0]),
        ("--scores s=s -m mrr --qid label --label label", [float("nan"), 1.0, 1.0]),
    ],
)
def test_a_column_of_csv_is_ids_and_numbers(run: Run, options: str, expected: list[float], is_sorted: bool) -> None:
    header, *lines = NUMBERS_AND_IDS.splitlines()
    if "--qid label" in options:
        lines.sort(key=lambda line: line.split(",")[1])
    Path("numbers.csv").write_text("\n".join([header, *lines]) + "\n")
    done = run(f"evaluate numbers.csv {options} --save x.parquet {'--sorted' * is_sorted}")
    assert done.status == 0, done.err
    values = next(iter(ltr.load_result("x.parquet").per_query.values()))
    np.testing.assert_array_equal(sorted(values), sorted(expected))
