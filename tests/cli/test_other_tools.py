"""Files as other tools write them: values per query, runs and judgments of three columns, positions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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

MEASURES = ["map", "map_cut_5", "P_5", "recip_rank", "ndcg", "ndcg_cut_10", "recall_5", "success_1", "Rprec", "bpref"]
MEASURES += ["set_F"]


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
    measures = {re.sub(r"_(\d+)$", r".\1", name) for name in (*MEASURES, "num_ret")}
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
    assert (refused.status, "was evaluated with ties='docid'" in refused.err) == (2, True)
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
    "map all 0.5\n": "x: frame has no values of queries, but only means. Run trec_eval with -q",
    "qid,documents,relevant,fingerprint,map\n1,2,1,690179490227539194,0.5\n": "x: frame is a saved result without its header",
    "map 1 0.5\nmap 2\n": "x:2: a line must be 'measure topic value'. Got b'map 2",
    "0.5\n0.6\n": "x has no values per query",
}


@pytest.mark.parametrize("text", VALUES_THAT_ARE_REFUSED)
def test_values_that_are_refused(run: Run, text: str) -> None:
    Path("x").write_text(text)
    done = run("compare --result x --result saved.parquet --queries common")
    assert done.status == 2
    assert re.search(VALUES_THAT_ARE_REFUSED[text], done.err), done.err


def test_values_that_some_queries_lack_are_counted(run: Run) -> None:
    Path("x").write_text("map 1 0.5\nP_5 1 0.2\nmap 2 1\nmap 3 0\nP_5 3 0.4\nmap all 0.5\nP_5 all 0.2\n")
    done = run("compare --result x --result b=x --format json --n-resamples 100")
    line = "warning: The table has no P_5 of 1 of 3 queries, such as 2. Its mean lacks them.\n"
    assert (done.err, [row["n_queries"] for row in as_json(done)["rows"]]) == (line, [3, 2])


MEANS = ["ALL", "mean", "amean", "AVG", "average", "overall", "total", "macro avg", "Mean:", "all_queries mean"]


@pytest.mark.parametrize("name", [*MEANS, "Moyenne"])
def test_a_row_of_means_is_no_query(name: str) -> None:
    values = [0.5, 1.0, 0.2, 0.5667]
    wide = {"qid": ["1", "2", "3", name], "mrr": values}
    long = {"qid": ["1", "2", "3", name], "measure": ["mrr"] * 4, "value": values}
    for frame in (wide, long):
        with pytest.raises(
            ltr.LtrValueError, match=f"frame has a row '{name}', which seems to be a mean .* another one"
        ):
            ltr.Evaluation.from_per_query(frame, convention="default")
    if name == "Moyenne":  # is a query, unless its values are means
        for values in ([0.5, 1.0, 0.2, 0.6], [1.0] * 4):
            wide["mrr"] = values
            assert ltr.Evaluation.from_per_query(wide, convention="default").n_queries == 4


OUT_OF_RANGE = {  # the values, and what is said of the first that a metric cannot have
    "hit@5": ([0, 100, 100], "It is 100 for query 2. It seems that the table is in percent: divide its values by 100"),
    "hit@3": ([2.5, 0, 1], "It is 2.5 for query 1. Does the table hold another metric, such as a number of hits"),
    "precision@1": ([50, 0, 100], "A query has 0 or 1 of precision@1, or a share .* In percent it would be 0 or 100"),
    "map": ([53.7, 40, 0.2], "must lie between 0 and 1. It is 53.7 for query 1. It seems that the table is in percent"),
    "hit": ([1, 0, -0.5], "hit must lie between 0 and 1. It is -0.5 for query 3. Does the table hold another"),
    "mrr": ([0.5, 101, 3], "mrr must lie between 0 and 1. It is 101 for query 2. Correct the table"),
    "kendall": ([-1, 1, 1.5], "kendall must lie between -1 and 1. It is 1.5 for query 3. Correct the table"),
}


@pytest.mark.parametrize("metric", OUT_OF_RANGE)
def test_values_that_a_metric_cannot_have(metric: str) -> None:
    values, message = OUT_OF_RANGE[metric]
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.Evaluation.from_per_query({"qid": [1, 2, 3], metric: values}, convention="default")


def test_values_at_the_end_of_a_range_are_read() -> None:
    values = [np.float32(1.0000001), 0.0, -1.0]
    for own in ({"mrr": values}, {"revenue": [53.7, -2.5, 1e9]}):
        frame = {"qid": [1, 2, 3]} | own
        assert ltr.Evaluation.from_per_query(frame, convention="default", no_relevant=-1.0).n_queries == 3


GDEVAL = """\
runid,topic,ndcg@20,err@20
mine,301,0.23981,0.23450
mine,302,1.00000,0.03125
mine,amean,0.61991,0.13288
"""


def test_the_file_of_gdeval_is_read(run: Run) -> None:
    Path("gdeval.csv").write_text(GDEVAL)
    found = as_json(run("compare --result gdeval.csv --result b=gdeval.csv --format json --n-resamples 100"))
    means = {row["metric"]: (row["mean"], row["n_queries"]) for row in found["rows"]}
    assert means == {"ndcg_exp@20": (pytest.approx(0.619905), 2), "err@20": (pytest.approx(0.132875), 2)}
    with pytest.warns(ltr.LtrWarning, match="The row 'amean' of the table is left out"):
        result = ltr.Evaluation.from_per_query(pd.read_csv("gdeval.csv"))
    assert (result.policy.convention, result.qid.tolist()) == ("gdeval", ["301", "302"])


def test_interpolated_precision_of_version_10(run: Run, data: Path) -> None:
    of_nist = data / "trec_eval"
    line = f"compare --qrels {of_nist}/qrels.test --run {of_nist}/results.test --n-resamples 100 --format json"
    rows = as_json(run(f"{line} --result {of_nist}/out.test.aq --convention trec_eval"))["rows"]
    levels = [row for row in rows if row["metric"].startswith("iprec")]
    assert [row["metric"].endswith("rounding=nearest)") for row in levels] == [True] * 12
    assert [row["difference"] for row in levels] == [pytest.approx(0, abs=6e-5)] * 12
    Path("nine").write_text("".join(f"iprec_at_recall_0.20 {i} 0.5\n11pt_avg {i} 0.4\nmap {i} 0.4\n" for i in "12"))
    done = run("compare --result nine --result b=nine --format json --n-resamples 100")
    assert "iprec_at_recall_0.20 is read with the rounding of trec_eval 9 and pytrec_eval" in done.err
    assert "If version 10 wrote it, call it iprec(recall=0.2,rounding=nearest)" in done.err
    names = [row["metric"] for row in as_json(done)["rows"]]
    assert names == ["iprec(recall=0.2,rounding=truncated)", "iprec(rounding=truncated)", "map(denominator=relevant)"]


def test_values_of_ranklib_ask_for_the_convention(run: Run) -> None:
    Path("idv").write_text("NDCG@10   1   0.5\nNDCG@10   2   0.7\nNDCG@10   all   0.6\n")
    assert "The column 'NDCG@10' leaves the gain open" in run("compare --result idv --result b=idv").err
    line = "compare --result idv --result b=idv --convention ranklib --n-resamples 100 --format json"
    assert [(row["metric"], row["mean"]) for row in as_json(run(line))["rows"]] == [("ndcg_exp@10", 0.6)]


def test_measures_that_are_not_here_are_named(run: Run) -> None:
    Path("x").write_text("map 1 0.5\ninfAP 1 0.5\nnum_ret 1 10\nmap 2 1\nmap all 0.75\n")
    done = run("compare --result x --result b=x --format json --n-resamples 100")
    assert done.err == "warning: These measures of x are left out, which have no counterpart here: infAP.\n"
    assert [(row["metric"], row["mean"]) for row in as_json(done)["rows"]] == [("map(denominator=relevant)", 0.75)]


# -- exports of joins --------------------------------------------------------------------------------------------------


def test_columns_that_no_option_names_can_have_one_name(run: Run) -> None:
    Path("join.csv").write_text("qid,label,s,id,id\n1,1,2,5,6\n1,0,1,7,8\n")
    whole, batches = (run(f"evaluate join.csv --scores s -m mrr --format csv{option}") for option in ("", " --sorted"))
    assert (whole.status, whole.out) == (0, batches.out), whole.err
    for option in ("", " --sorted"):
        assert "has 2 columns named 'id'" in run(f"evaluate join.csv --scores s --docid id -m mrr{option}").err


# -- scores of RankLib -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["rows.txt", "rows.csv"])
def test_scores_of_ranklib_belong_to_the_queries_of_the_data(run: Run, folder: Path, data: str) -> None:
    Path("rows.txt").write_text("1 qid:010 1:1\n0 qid:010 1:2\n1 qid:11 1:3\n0 qid:11 1:4\n")
    Path("rows.csv").write_text("qid,label\n010,1\n010,0\n11,1\n11,0\n")
    Path("good").write_text("010\t0\t1\n010\t1\t2\n11\t0\t2\n11\t1\t1\n")
    assert as_json(run(f"evaluate {data} --scores a=./good -m mrr --format json"))["means"][0]["mean"] == 0.75
    Path("other").write_text("11\t0\t2\n11\t1\t1\n010\t0\t1\n010\t1\t2\n")  # two queries of one size
    done = run(f"evaluate {data} --scores a=./other -m mrr")
    assert done.status == 2
    assert "other must have the queries of the data in their order" in done.err
    assert "At row 0, it has the query '11', and the data have '010'" in done.err


# -- positions ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(folder: Path) -> pd.DataFrame:
    """Search logs: the label, the score of a model, and the position at which a document was shown, if it was."""
    rng, frame = (
        np.random.default_rng(0),
        pd.read_parquet("data.parquet")[["qid", "doc", "label", "Column_0", "device"]],
    )
    place = frame.groupby("qid")["Column_0"].transform(lambda scores: rng.permutation(len(scores)) + 1)
    frame = frame.assign(place=place.where(place <= 5))
    frame.to_csv("shown.csv", index=False)
    frame.to_parquet("shown.parquet")
    np.savetxt("place.txt", frame["place"])
    frame.sample(frac=1, random_state=0)[["qid", "doc", "place"]].to_csv("log.tsv", index=False, sep="\t")
    return frame


@pytest.mark.parametrize("source", ["shown.csv --positions live=place", "shown.parquet --positions live=place",
    "shown.csv --positions live=place.txt", "shown.csv --positions live=log.tsv --on qid,doc"])  # fmt: skip
def test_positions_are_those_of_python(run: Run, shown: pd.DataFrame, source: str) -> None:
    expected = ltr.evaluate(
        shown["label"],
        ltr.Positions(shown["place"]),
        qid=shown["qid"],
        metrics=["map", "ndcg@3", "recall@3"],
        by=shown["device"],
    )
    found = as_json(run(f"evaluate {source} -m map,ndcg@3,recall@3 --segment device --format json"))
    assert {row["metric"]: row["mean"] for row in found["means"]} == dict(expected)
    what = source.partition("live=")[2].partition(" ")[0]
    assert found["origins"] == {"live": f"positions in {'file' if '.' in what else 'column'} {what}"}
    models = {"live": ltr.Positions(shown["place"]), "new": shown["Column_0"]}
    rows = ltr.compare(models, shown["label"], qid=shown["qid"], metrics="map", n_resamples=100).to_dict()["rows"]
    line = f"{source} --scores new=Column_0 -m map --n-resamples 100 --baseline live"
    assert as_json(run(f"compare {line} --format json"))["rows"] == rows
    assert run(f"report {line} -o report.html").status == 0
    assert "Positions" not in run(f"audit {source} -m map").err


# -- three columns -----------------------------------------------------------------------------------------------------

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "d": 1}, "007": {"x y".replace(" ", "_"): 1}}
RANKS = {"1": {"b": 1, "c": 2, "a": 3}, "2": {"a": 1, "d": 2}, "007": {"z": 1, "x_y": 2}}
RANKED = {topic: {docid: -rank for docid, rank in documents.items()} for topic, documents in RANKS.items()}


def lines_of(values: dict[str, dict[str, Any]], form: str = "{}\t{}\t{}\n") -> str:
    return "".join(form.format(topic, docid, value) for topic, one in values.items() for docid, value in one.items())


THREE: dict[str, tuple[str, str, str]] = {  # the judgments, the run, and what is said of the run
    "MS MARCO": (lines_of(QRELS, "{}\t0\t{}\t{}\n"), lines_of(RANKS), "is read as a rank. To read it as a score, pass rank_by=\"score\""),
    "BEIR": ("query-id\tcorpus-id\tscore\n" + lines_of(QRELS), lines_of(RANKED), "is read as a score. To read it as a rank, pass rank_by=\"rank\""),
    "headers": ("query-id corpus-id score\n" + lines_of(QRELS, "{} {} {}\n"), "qid pid rank\n" + lines_of(RANKS), "is read as a rank"),
    "no headers": (lines_of(QRELS), lines_of(RANKS, "{} {} {}\n"), "is read as a rank"),
    "scattered": (lines_of(QRELS), "".join(sorted(lines_of(RANKS).splitlines(keepends=True), key=lambda line: line[-2])), "is read as a rank"),
    "TREC": (lines_of(QRELS), lines_of(RANKED, "{} Q0 {} 0 {} x\n"), ""),
    "ranks of TREC": (lines_of(QRELS, "{} 0 {} {}\n"), lines_of(RANKS, "{} Q0 {} {} 1 x\n"), "in 100% of its lines, the score does not fall"),
}  # fmt: skip


@pytest.mark.parametrize("case", THREE)
def test_judgments_and_runs_in_three_columns(run: Run, case: str) -> None:
    qrels, ranking, said = THREE[case]
    Path("three.qrels").write_text(qrels)
    Path("three.run").write_text(ranking)
    option = "--rank-by rank" if case == "ranks of TREC" else ""
    expected = ltr.evaluate(**ltr.from_qrels(QRELS, RANKED), metrics=["map", "ndcg@3"], convention="trec_eval")
    line = "evaluate --qrels three.qrels --run three.run -m map,ndcg@3 --convention trec_eval --format json"
    done = run(f"{line} {option}")
    assert {row["metric"]: row["mean"] for row in as_json(done)["means"]} == dict(expected)
    has_three = len(qrels.splitlines()[-1].split()) == 3
    assert ("three.qrels has three columns, which are read as query, document and grade" in done.err) == has_three
    assert said in run(line).err
    if said.startswith("is read as a rank"):
        assert as_json(run(f"{line} --rank-by score"))["means"] != as_json(done)["means"]


AMBIGUOUS = {
    "falling": {"1": {"b": 3, "c": 2, "a": 1}, "2": {"a": 2, "d": 1}},  # n to 1: scores, or a file in the reverse order
    "from 0": {"1": {"b": 0, "c": 1, "a": 2}, "2": {"a": 0, "d": 1}},
    "gaps": {"1": {"b": 1, "c": 2, "a": 5}, "2": {"a": 1, "d": 2}},
    "distances": {"1": {"b": 0.1, "c": 0.2, "a": 0.5}, "2": {"a": 0.1, "d": 0.2}},
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_what_may_be_a_rank_or_a_score_is_asked(run: Run, case: str) -> None:
    values = AMBIGUOUS[case]
    Path("q").write_text(lines_of(QRELS, "{} 0 {} {}\n"))
    Path("r").write_text(lines_of(values))
    line = "evaluate --qrels q --run r --topics both -m map --format json"
    refused = run(line)
    assert (refused.status, refused.out) == (2, "")
    assert "r has three columns, and the third may be a rank, with 1 at the top, or a score" in refused.err
    assert "Pass the word rank or score as rank_by.\nOn the command line, rank_by is --rank-by." in refused.err
    for rank_by, sign in {"score": 1, "rank": -1}.items():
        scores = {topic: {docid: sign * value for docid, value in one.items()} for topic, one in values.items()}
        done = run(f"{line} --rank-by {rank_by}")
        if (case, rank_by) == ("distances", "rank"):
            assert "r, topic '1': ranks must be whole numbers, and different ones" in done.err
        else:
            assert (
                as_json(done)["means"][0]["mean"] == ltr.evaluate(**ltr.from_qrels(QRELS, scores), metrics="map")["map"]
            )


# -- larger than memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["data.txt --scores a=1 --scores b=2", "data.csv --scores a=Column_0 --scores b=Column_1 --weight traffic --segment device",
    "data.parquet --scores a=Column_0 --model b=model.txt", "data.csv --result a=saved.parquet --scores b=Column_1"])  # fmt: skip
@pytest.mark.parametrize("options", ["-m map,ndcg@5", "-m map --skill --gate 'map > -0.9'"])
def test_compare_in_batches(run: Run, data: str, options: str) -> None:
    if "saved" in data and "--skill" in options:
        options = options.replace("--skill ", "")
    line = f"compare {data} {options} --n-resamples 100 --format json"
    whole, parts = run(line), run(f"{line} --sorted")
    assert as_json(parts) == as_json(whole)
    assert parts.err == whole.err
