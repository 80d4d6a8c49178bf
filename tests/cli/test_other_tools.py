"""Files as other tools write them: values per query, runs and judgments of three columns, positions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Done

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

Run = Callable[..., Done]


def as_json(done: Done) -> Any:
    assert done.status == 0, done.err
    return json.loads(done.out)


# -- values per query --------------------------------------------------------------------------------------------------

MEASURES = (
    "map",
    "map_cut_5",
    "P_5",
    "recip_rank",
    "ndcg",
    "ndcg_cut_10",
    "recall_5",
    "success_1",
    "Rprec",
    "bpref",
    "set_F",
)


@pytest.fixture
def theirs(folder: Path) -> dict[str, dict[str, float]]:
    """The values of trec_eval for the run a, of which some scores are tied."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    qrels, run = {}, {}
    for line in Path("qrels").read_text().splitlines():
        topic, _, docid, grade = line.split()
        qrels.setdefault(topic, {})[docid] = int(grade)
    Path("tied.run").write_text(re.sub(r"(-?\d+\.\d)\d+", r"\1", Path("a.run").read_text()))
    for line in Path("tied.run").read_text().splitlines():
        topic, _, docid, _, score, _ = line.split()
        run.setdefault(topic, {})[docid] = float(score)
    measures = {
        "map",
        "map_cut.5",
        "P.5",
        "recip_rank",
        "ndcg",
        "ndcg_cut.10",
        "recall.5",
        "success.1",
        "Rprec",
        "bpref",
        "set_F",
        "num_ret",
    }
    values: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    return values


def write_values(theirs: dict[str, dict[str, float]], form: str) -> str:
    """Write the values as a tool does, and return the name of the file."""
    long = [(query, name, value) for query, values in theirs.items() for name, value in values.items()]
    frame = pd.DataFrame(long, columns=["qid", "measure", "value"])
    wide = pd.DataFrame(theirs).T
    if form == "trec_eval -q":
        lines = [f"{name:<22}\t{query}\t{value!r}" for query, name, value in long]
        Path("values.txt").write_text(
            "\n".join([*lines, "runid                 \tall\ta", "map                   \tall\t0.1234", ""])
        )
    elif form == "PyTerrier":
        frame.assign(name="BM25").to_csv("values.csv", index=False)
    elif form == "long, with a mean":
        pd.concat([frame, pd.DataFrame([("all", "map", 0.5)], columns=frame.columns)]).to_parquet("values.parquet")
    elif form == "pandas":
        wide.to_csv("values.csv", sep=";", decimal=",")
    elif form == "JSON lines":
        wide.rename_axis("query_id").reset_index().to_json(
            "values.jsonl", orient="records", lines=True, double_precision=15
        )
    elif form == "wide, with a mean":
        wide.rename_axis("topic").loc[[*theirs, next(iter(theirs))]].reset_index().assign(
            topic=[*theirs, "all"]
        ).to_csv("values.tsv", sep="\t", index=False)
    return next(str(path) for path in Path().glob("values.*"))


@pytest.mark.parametrize(
    "form", ["trec_eval -q", "PyTerrier", "long, with a mean", "pandas", "JSON lines", "wide, with a mean"]
)
def test_values_of_trec_eval_are_our_values(run: Run, theirs: dict[str, dict[str, float]], form: str) -> None:
    file = write_values(theirs, form)
    line = f"compare --result theirs={file} --qrels qrels --run tied.run --n-resamples 100 --format json"
    found = as_json(run(f"{line} --convention trec_eval"))
    assert len(found["rows"]) == len(MEASURES)
    for row in found["rows"]:
        assert row["difference"] == pytest.approx(0, abs=1e-12)
        assert row["n_queries"] == len(theirs)
    refused = run(line)
    assert (refused.status, "was evaluated with --ties docid" in refused.err) == (2, True)
    python = ltr.Evaluation.from_per_query(
        {"qid": list(theirs)} | {name: [values[name] for values in theirs.values()] for name in MEASURES}
    )
    assert python.policy.convention == "trec_eval"
    assert {row["metric"] for row in found["rows"]} == set(python)
    for row in found["rows"]:
        assert row["mean"] == pytest.approx(python[row["metric"]], abs=1e-12)


def test_values_of_ir_measures_ask_for_the_gain(run: Run, theirs: dict[str, dict[str, float]]) -> None:
    names = {"map": "AP", "ndcg_cut_10": "nDCG@10", "P_5": "P@5", "recip_rank": "RR"}
    Path("by_query.txt").write_text(
        "".join(f"{query}\t{names[name]}\t{values[name]!r}\n" for query, values in theirs.items() for name in names)
    )
    line = "compare --result theirs=by_query.txt --qrels qrels --run tied.run --n-resamples 100 --format json"
    refused = run(line)
    assert "The column 'nDCG@10' leaves the gain open" in refused.err
    rows = as_json(run(f"{line} --convention trec_eval"))["rows"]
    assert {row["metric"] for row in rows} == {"map(denominator=relevant)", "ndcg_lin@10", "precision@5", "mrr"}
    assert all(row["difference"] == pytest.approx(0, abs=1e-12) for row in rows)


RANX = """\
,ndcg@10,map,mrr,precision@5,ndcg_burges@10
q1,0.23981246656813146,0.25,0.5,0.2,0.17376534287144002
q2,1.0,1.0,1.0,0.2,1.0
"""  # by ranx 0.3.21: pandas.DataFrame(run.scores).to_csv(...)


def test_values_of_ranx(run: Run) -> None:
    Path("ranx.csv").write_text(RANX)
    Path("q").write_text("q1 0 a 1\nq1 0 b 2\nq2 0 c 1\n")
    Path("r").write_text("q1 Q0 a 1 0.5 x\nq1 Q0 x 2 0.9 x\nq2 Q0 c 1 1 x\n")
    line = "compare --result ranx.csv --qrels q --run r --n-resamples 100 --format json"
    assert "The column 'ndcg@10' leaves the gain open" in run(line).err
    rows = as_json(run(f"{line} --convention ranx"))["rows"]
    assert {row["metric"]: row["difference"] for row in rows} == {
        name: pytest.approx(0, abs=1e-12)
        for name in ("ndcg_lin@10", "map(denominator=relevant)", "mrr", "precision@5", "ndcg_exp@10")
    }


VALUES_THAT_ARE_REFUSED = {
    "name,qid,measure,value\na,1,map,0.5\nb,1,map,0.4\n": "must have the values of one system. name has a, b",
    "qid,measure,value\n1,map,0.5\n1,map,0.4\n": "must hold each query once. map of query 1 is there twice",
    "qid,measure,value\n1,map,x\n": "map must be numbers .* got 'x'",
    "qid,P_5,precision@5\n1,0.5,0.4\n": "must have each metric once. precision@5 is precision@5, which is there as well",
    "user,map\n1,0.5\n": "must have a column qid with one query id per row. It has user, map",
    "map all 0.5\n": "must have a column per metric",
    "map 1 0.5\nmap 2\n": "x:2: a line must be 'measure topic value'. Got b'map 2",
    "0.5\n0.6\n": "x has no values per query",
}


@pytest.mark.parametrize("text", VALUES_THAT_ARE_REFUSED)
def test_values_that_are_refused(run: Run, text: str) -> None:
    Path("x").write_text(text)
    done = run("compare --result x --result saved.parquet --queries common")
    assert done.status == 2
    assert re.search(VALUES_THAT_ARE_REFUSED[text], done.err), done.err


def test_measures_that_are_not_here_are_named(run: Run) -> None:
    Path("x").write_text("map 1 0.5\ninfAP 1 0.5\nnum_ret 1 10\nmap 2 1\nmap all 0.75\n")
    done = run("compare --result x --result b=x --format json --n-resamples 100")
    assert done.err == "warning: These measures of x are left out, which have no counterpart here: infAP.\n"
    assert [(row["metric"], row["mean"]) for row in as_json(done)["rows"]] == [("map(denominator=relevant)", 0.75)]
