"""What the command cannot do: status 2, one message that names the option, the file and the value, and no traceback."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pandas as pd
import pytest
from command import Done, as_process, in_process

import ltr_metrics as ltr
from ltr_metrics.cli import cli

pytestmark = pytest.mark.integration

Run = Callable[..., Done]
CSV, TXT = "data.csv --scores a=Column_0", "data.txt --scores a=1"
AB = f"{CSV} --scores b=Column_1 -m map --n-resamples 100"
TREC = "--qrels qrels --run a=a.run"
SAVED = "--result saved.parquet"


@pytest.fixture(scope="module")
def made(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all tests, and others that are not as they should be."""
    path = tmp_path_factory.mktemp("data") / "bad"
    shutil.copytree(made, path)
    (path / "broken.py").write_text("import ltr_metrics\n1 / 0\n")
    (path / "leaves.py").write_text("raise SystemExit(0)\n")
    (path / "empty.py").write_text("")
    own = "import ltr_metrics as ltr\na = ltr.as_metric(min, name='x')\n"
    (path / "own.py").write_text(own)
    (path / "same.py").write_text(f"{own}b = a\n")
    (path / "twice.py").write_text(f"{own}b = ltr.as_metric(max, name='x')\n")
    frame = pd.read_csv(path / "data.csv")[["qid", "doc", "Column_0"]]
    frame.to_csv(path / "old.csv", index=False)
    frame.assign(more=1.0).to_parquet(path / "old.parquet")
    for name in ("x.pred", "x"):
        (path / name).write_text("0.5\n")
    (path / "by=us.csv").write_text("qid,label,no_relevant,ties\nby=us,1,x,1\nby=us,,x,2\n")
    (path / "ids.csv").write_text("qid,label,s,by\nties='docid',1,1,a\nties='docid',0,2,b\n")
    (path / "own.csv").write_text("qid,ndcg_exp@5,by\n1,1,x\n2,0,x\n")
    (path / "times.csv").write_text("qid,ms\n1,5\n2,7\n")
    return path


BAD = [
    # models, scores and data
    ("evaluate data.csv --scores flat --weight flat", "All weights are 0, so no query counts. Give some"),
    ("evaluate data.csv --scores flat --weight flat --sorted", "All weights are 0, so no query counts. Give some"),
    ("evaluate data.csv --scores flat --label lable --sorted", "no column 'lable'.* Name the column with --label"),
    ("evaluate data.csv --scores flat -m gm_map", "is 'map' here, and its geometric mean is result.geometric_mean.*\n.* is geometric_mean in the result of"),
    ("evaluate", "Name the DATA: LETOR files or tables, or --qrels FILE with --run"),
    ("evaluate data.txt", "Name what to evaluate: --model, --scores or --run"),
    ("evaluate data.txt --scores a=9", "no feature '9' .* features 1 to 6.*pass n_features=.*\n.*n_features is --n-features"),
    ("evaluate data.csv --scores a=flaat", "data.csv has no column 'flaat'. Did you mean 'flat'"),
    ("evaluate data.csv --scores a=s.npy", "no column 's.npy'.* There is no file s.npy either"),
    ("evaluate data.csv --scores old.tsv:x", "no column 'old.tsv:x'.* There is no file old.tsv:x either"),
    ("evaluate data.txt --scores a=s.npy", "no feature 's.npy'.* There is no file s.npy either"),
    *((f"evaluate {data} --scores a={item}", f"no (column|feature) '{item}'.* To read the file of this name, write ./{item}.")
        for data in ("data.txt", "data.csv", "data.csv --sorted", "data.txt --sorted") for item in ("x", "x:s")),
    ("evaluate data.csv --scores ./x", r"x must have one score per row .* 1 scores, 3\d\d rows"),
    ("evaluate data.csv --scores ./x:s", "x:s is a table. Name the columns that join it"),
    ("evaluate data.csv --scores x.pred --on qid", "x.pred cannot be read as a table. Tables are .parquet, "),
    ("evaluate data.csv --sorted --scores short.npy", "--scores short.npy does not go with --sorted. Write the scores into"),
    ("evaluate data.csv x.pred --scores flat", "DATA must be tables or LETOR files, not both. Tables are .parquet,"),
    ("evaluate x.pred --scores flat --segment s", "--segment s names a column .* x.pred is read as LETOR. Tables are"),
    ("evaluate data.csv --scores short.npy", r"short.npy must have one score per row .* 3\d\d scores, 3\d\d rows"),
    ("evaluate data.csv --positions flat -m map", r"flat: Two documents of a query must not have the same position: got 0 at"),
    ("evaluate data.csv --positions Column_0 -m map", "Column_0: Positions must be whole numbers, 0 or more, or NaN"),
    ("evaluate data.csv --positions Column_9 -m map", "data.csv has no column 'Column_9'. Did you mean 'Column_5'"),
    ("evaluate data.csv --scores flat=", "'--scores': must have the form NAME=VALUE or VALUE. Got 'flat='"),
    (f"evaluate {CSV} --scores a=flat", "'--scores': the name 'a' is used twice. Write NAME=flat"),
    (f"evaluate {CSV} -m 'mean_of(x)'", "needs the column 'x'.* Given: Column_0"),
    ("evaluate nan.csv --scores s -m map", r"s: y_score must not be NaN: got nan at row 1 \(query 1\).*\n.*y_score is what --scores or --model names. Rows are counted from 0, over all DATA and without headers: row 1 is nan.csv:3\."),
    ("evaluate again.txt --scores 1", r"'A' is at row 0 \(query 1\) and again at row 2"),
    (f"evaluate data.txt {CSV}", "DATA must be tables or LETOR files, not both"),
    *((f"compare {AB} --{option} devic", "data.csv has no column 'devic'. Did you mean 'device'") for option in
        ("label", "qid", "weight", "segment", "docid", "cluster")),
    ("evaluate counted.csv --scores Column_0 --segment n_documents", "--segment n_documents means a count, and also a column"),
    # scores that are joined
    ("evaluate data.csv --scores old.csv", "old.csv:1: .*A table with a header needs --on, such as --on qid,docid"),
    ("evaluate data.csv --scores old.parquet", "old.parquet is a table. Name the columns .*: --on qid,docid"),
    ("evaluate data.csv --scores old.parquet --on qid,doc", "It has Column_0, more. Name the one to read: column=.\n.*column is --scores FILE:COLUMN"),
    (f"evaluate {CSV} --on qid", "--on needs a table of scores"),
    ("evaluate data.csv --scores old.csv --on qid,doc --sorted", "--on does not go with --sorted"),
    # options that do not apply
    *((f"compare {TXT} --scores b=2 --{option} x", f"--{option} .*names a column of a table, and LETOR files have none") for option in
        ("label", "qid", "weight", "segment", "docid", "cluster")),
    (f"evaluate {CSV} --zero-based", "--zero-based is for LETOR files"),
    (f"evaluate {CSV} --topics qrels", "--topics needs TREC files: --qrels and --run"),
    (f"evaluate {CSV} --drop-self", "--drop-self needs TREC files: --qrels and --run"),
    ("compare --result saved.parquet --result worst.parquet --drop-self", "--drop-self"),
    (f"evaluate {CSV} --cluster user", "--cluster needs --confidence, whose intervals use it"),
    (f"evaluate {CSV} -m nonsense --save x.csv", "A saved result is a Parquet file, .* Got x.csv"),
    (f"evaluate {CSV} --cluster user", "--cluster needs --confidence, .* or --save"),
    (f"evaluate {CSV} --sorted --cluster user", "--cluster does not go with --sorted"),
    (f"evaluate {TXT} --sorted --segment n_documents", "--segment needs a column with --sorted"),
    (f"evaluate --sorted {TREC}", "does not go with --sorted, because TREC files are read whole"),
    (f"report {AB} --sorted --format json", "A report needs all rows at once.* 'ltr-metrics evaluate --sorted' .*'ltr-metrics compare --sorted'"),
    (f"compare {AB} --sorted --cluster user", "--cluster does not go with --sorted"),
    ("evaluate data.csv --positions flat --sorted", "--positions does not go with --sorted"),
    (f"evaluate {CSV} --rank-by rank", "--rank-by needs TREC files: --qrels and --run"),
    ("report data.csv --scores flat --learning-curve 2 --format json", "--learning-curve needs a model file"),
    # metrics
    (f"evaluate {CSV} --no-relevant never", r"no_relevant must be .* 'never'.\nOn the command line, no_relevant is --no-relevant.$"),
    (f"evaluate {CSV} --ties docid", 'ties="docid".* needs .*docid'),
    (f"evaluate {TXT} -m mrr --convention lightgbm", "'mrr' is not a metric of lightgbm.* Set ties= and no_relevant= instead.*\n.*is --no-relevant.$"),
    (f"evaluate {CSV} --weight traffic --convention catboost -m map", r"pass metrics='map\(rel=>0.5\)', ties='worst' and no_relevant=0"),
    (f"evaluate {TXT} -m map --metrics-module empty.py", "--metrics-module empty.py has no metric at its top level"),
    (f"evaluate {TXT} -m map --metrics-module broken.py", "--metrics-module broken.py, line 2, raised ZeroDivisionError"),
    (f"evaluate {TXT} --metrics-module own.py", "--metrics-module needs --metrics.*: x"),
    (f"evaluate {TXT} -m x --metrics-module twice.py", "--metrics-module twice.py: Two different metrics are both named 'x'"),
    (f"evaluate {TXT} -m y --metrics-module same.py", "There is no metric 'y'.*--metrics-module has x"),  # one metric under two names is read
    (f"evaluate {TXT} -m map --metrics-module leaves.py", "a library ended the command with 0"),
    # comparison, gate and saved results
    (f"compare {CSV}", "needs two models or more"),
    (f"compare {AB} --baseline A", "--baseline A is not one of the models, a, b. Did you mean 'a'"),
    (f"compare {AB} --baseline a --all-pairs", "--all-pairs compares without a baseline"),
    (f"compare {AB} --gate 'c: map > 0'", "'c: map > 0' cannot be checked.* models are b"),
    (f"compare {AB} --gate map", "A shell takes an unquoted > for a file, so quote the rule there"),
    (f"compare {AB} --gate 'map > 0' --gate-each-segment", "--gate-each-segment needs a rule and segments"),
    (f"compare {AB} --yardstick B", "There is no model 'B' to be a yardstick. Did you mean 'b'"),
    (f"compare {AB} --yardstick a", "'a' is the baseline, .* Name another baseline=, or leave it out of yardsticks=.\n.*yardsticks is --yardstick"),
    (f"compare {AB} --yardstick b --gate 'b: map > 0'", "'map > 0' is for 'b', but a yardstick .* out of yardsticks=.\n.*yardsticks is --yardstick"),
    (f"compare {AB} --yardstick b --gate 'map > 0'", "All models beside the baseline are yardsticks.* out of yardsticks=.\n.*yardsticks is --yardstick"),
    (f"compare {AB} --looks 3", "--looks is about the rules of a gate: add --gate"),
    (f"report {AB} --family one --format json", "--family is about the rules of a gate: add --gate"),
    (f"compare {AB} --gate 'map > 0' --looks 0", "--looks"),
    (f"compare {AB} --gate 'map > 0' --looks 2.5", "--looks"),
    (f"compare {AB} --gate 'map > 0' --family candidate", "--family.*candidate"),
    (f"report {CSV} --gate 'map > 0' --format json", "--gate needs two models or more"),
    (f"compare {SAVED} --result a=data.csv", "data.csv: .*each query once"),
    (f"compare {SAVED} --result a=scores.txt", "scores.txt has no values per query. --result reads files of --save, tables with"),
    (f"compare {SAVED} --result a=worst.parquet", "ties='worst', .* ties='mean'"),
    (f"compare {SAVED} --result a=fewer.parquet", "different queries .* queries=.common"),
    (f"compare {SAVED} data.txt --result b=saved.parquet", "so DATA are not used"),
    (f"compare {SAVED} --result b=saved.parquet --lower-is-better ms", "--lower-is-better names a column of a table"),
    ("compare --result a=times.csv --result b=times.csv --lower-is-better x", "times.csv: lower_is_better must name .* Got 'x'"),
    (f"compare {SAVED} --result b=saved.parquet --weight w", "--weight applies to DATA"),
    (f"compare {SAVED} --result b=saved.parquet --ties best", "ties is not used"),
    (f"compare {SAVED} --result b=saved.parquet --segment device", "--segment device: .* has only n_documents, n_relevant"),
    # TREC
    ("evaluate --qrels qrels", "--qrels FILE and --run NAME=FILE"),
    (f"evaluate {CSV} {TREC.replace('a=', 'x=')}", "without DATA, and without other models"),
    (f"evaluate {TREC} --segment n_documents", "--segment n_documents does not go with --run"),
    # explain
    ("explain data.csv --scores x=flat -m ndcg --from lightgbm --to trec_eval", "x: .*needs document ids: pass docid=, "),
    (f"explain {CSV} -m ndcg --from lightgbm", "Give --from and --to, or --value"),
    (f"explain {CSV} -m ndcg --from lightgbm --value 0.4", "--from does not go with --value"),
    ("evaluate data.cvs --scores s", r"File 'data.cvs' does not exist\.$"),
    ("evaluate data.csv --scores flat words", "File 'words' does not exist. An option takes one value"),
    (f"evaluate {CSV} -m ndcg10", r"Write ndcg@10\."),
    (f"evaluate {CSV} -m map,", "Is there a comma too many?"),
    (f"evaluate {CSV} --metric 'ndcg(5)'", "write ndcg@5"),
    (f"explain {CSV} --metrics ndcg,map --from lightgbm --to ranx", "a: metric takes one metric, by name or as an object. Got 'ndcg,map'"),
    # data that look like arguments
    ("evaluate ids.csv --scores s -m map --segment by", r"by\['by'\] must .*\(query ties='docid'\) has 'b'.*\n.*, by is --segment.$"),
    ("evaluate 'by=us.csv' --scores query_weight=no_relevant --label ties", r"by=us.csv:2: no_relevant must be a number. Got 'x'"),
    ("evaluate 'by=us.csv' --scores ties", r"y_true must be finite: got nan at row 1 \(query by=us\).*\n.*y_true is the column of --label"),
    ("evaluate 'by=us.csv' --scores ties -m map", r"or get the label 0 or judged=False, so that they keep their rank"),
    ("compare --result a=own.csv --result b=own.csv", "own.csv: by must be numbers"),
    ("evaluate 'by=us.csv' --scores ties --qid by=", r"by=us.csv has no column 'by='"),
    # outputs
    (f"evaluate {AB.partition(' -m')[0]} --save x", "--save must have the form NAME=FILE, .* a, b"),
    (f"evaluate {CSV} --save x --save a=y", "--save must have the form NAME=FILE, once"),
    (f"evaluate {CSV} --save -", "--save - must name a file"),
    (f"evaluate {CSV} --save a=x -o ./x --format csv", "x would be written twice"),
    (f"evaluate {CSV} --save absent/x.parquet", "no folder absent to write x.parquet into"),
    (f"evaluate {CSV} -o values.parquet", "--output values.parquet .* Values per query as Parquet are written by evaluate --save"),
    (f"evaluate {CSV} -o report", "--output report must end in one of .txt, .json, .csv, .md, .tex, or needs --format"),
    (f"report {CSV} --format html", "--output report.html"),
    (f"report {CSV}", "--output report.html"),
    (f"report {CSV} -o x.md", "must end in one of .json, .csv, .html, .* evaluate and compare write text, Markdown and LaTeX"),
    (f"compare {AB} -o x.html", "The command report writes HTML"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), BAD)
def test_status_2_and_one_message(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = sorted(folder.iterdir())
    done = run(line)
    assert (done.status, done.out) == (2, ""), done.err
    assert re.search(message, done.err.strip()), done.err
    assert done.err.startswith("ltr-metrics: error: ")
    assert "Traceback" not in done.err
    assert sorted(folder.iterdir()) == before


def test_a_fault_of_ours_is_no_failed_gate(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ltr_metrics.cli.compare"], "compare_models", lambda *_, **__: 1 / 0)
    done = run(f"compare {AB}")
    assert (done.status, "ZeroDivisionError" in done.err) == (2, True)


def test_a_command_that_cannot_start_does_not_say_that_a_gate_failed(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise RuntimeError('a broken installation')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ltr_metrics.__main__ as one; one.main()"
    done = as_process("--version", code=code)
    assert (done.returncode, done.stdout) == (2, "")
    assert "ltr-metrics: cannot start." in done.stderr
    assert "RuntimeError: a broken installation" in done.stderr


# -- help --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", cli.commands)
def test_help_fits_a_terminal_and_its_examples_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """The examples name files that do not exist, so each fails at that point and no earlier."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    done = in_process(capsys, command, "--help")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    examples = re.split(r"\n(?=\S)", done.out.partition("Examples:")[2])[0]
    for line in examples.replace("\\\n", " ").strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "ltr-metrics"
        example = in_process(capsys, *arguments)
        assert command == "metrics" or (example.status, "does not exist" in example.err) == (2, True)


@pytest.mark.parametrize("command", cli.commands)
def test_an_option_without_its_value_is_refused(command: str) -> None:
    for option in cli.commands[command].params:
        if isinstance(option, click.Option) and not option.is_flag:
            with pytest.raises(click.BadOptionUsage, match="requires an argument"):
                cli.commands[command].make_context(command, [option.opts[-1]])


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    listed = in_process(capsys, "--help").out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == [
        "evaluate",
        "compare",
        "report",
        "explain",
        "audit",
        "metrics",
    ]
    assert in_process(capsys, "--version").out == f"ltr-metrics, version {ltr.__version__}\n"


def test_the_bare_command_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    bare, helped = in_process(capsys), in_process(capsys, "--help")
    assert (bare.status, bare.out) == (2, "")  # nothing was evaluated, so no pipeline may take it for a success
    assert bare.err == helped.out


@pytest.mark.parametrize(
    ("words", "expected"), [("ltr-metrics ev", "evaluate"), ("ltr-metrics compare --base", "--baseline")]
)
def test_completion_by_the_shell(words: str, expected: str) -> None:
    state = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_LTR_METRICS_COMPLETE": "bash_complete"}
    done = as_process(env=os.environ | state)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"plain,{expected}\n", "")


@pytest.mark.parametrize("command", ["evaluate", "explain --from lightgbm --to sklearn"])
def test_metric_and_metrics_are_one_option(run: Run, command: str) -> None:
    done = [run(f"{command} {CSV} {option} NDCG@3") for option in ("--metric", "--metrics")]
    assert done[0] == done[1]
    assert done[0].status == 0, done[0].err
