"""Limits on what a user sees, and on how far somebody must read to follow the main jobs.

Unlike a number of lines, these figures do not fall by shorter lines. A new feature names what it replaces, and goes in
together with its removal; whoever raises a limit says why.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import pkgutil
import subprocess
import sys
import tokenize
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest

import ltr_metrics as ltr
from ltr_metrics.cli import cli

pytestmark = pytest.mark.integration

SEEN = {"public names": 128, "parameters": 695, "options of the command": 166, "different options": 52}
ENTERED = {  # by the main jobs; by one evaluation; by a later round of a training
    "jobs": {"code lines": 5680, "files": 80},
    "evaluate": {"calls": 110, "files": 13, "changes of file": 45},
    "feval": {"calls": 36, "files": 10, "changes of file": 18},
}
PACKAGE = Path(ltr.__file__).parent
LIBRARIES = ("lightgbm", "xgboost", "sklearn.model_selection", "pandas", "scipy.stats", "matplotlib.figure", "jinja2")
Calls = list[tuple[str, int]]  # the file and the first line of each function, in the order of the calls


def require_at_most(limits: dict[str, int], figures: dict[str, int]) -> None:
    above = [f"{figures[name]:,} {name} (at most {limit:,})" for name, limit in limits.items() if figures[name] > limit]
    assert not above, f"There are {', '.join(above)}. Say what the new feature replaces, and remove that."


# -- what a user sees -------------------------------------------------------------------------------------------------


def public_things() -> dict[tuple[str, int], Any]:
    """Return what the public modules export; what two of them export counts once."""
    names = [f"ltr_metrics.{one.name}" for one in pkgutil.iter_modules(ltr.__path__) if not one.name.startswith("_")]
    modules = [ltr, *map(importlib.import_module, names)]
    things = [(name, getattr(module, name)) for module in modules for name in getattr(module, "__all__", ())]
    return {(name, id(thing)): thing for name, thing in things if not inspect.ismodule(thing)}


def n_parameters(thing: Any) -> int:
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        return 0
    return sum(name not in ("args", "kwargs") for name in inspect.signature(thing).parameters)


def options() -> list[str]:
    """Return the options of all subcommands."""
    commands = [cli.get_command(click.Context(cli), name) for name in cli.list_commands(click.Context(cli))]
    parameters = [parameter for command in commands if command for parameter in command.params]
    return [parameter.opts[0] for parameter in parameters if isinstance(parameter, click.Option)]


def test_what_a_user_sees() -> None:
    things = public_things()
    n_of_things = {"public names": len(things), "parameters": sum(map(n_parameters, things.values()))}
    n_options = {"options of the command": len(options()), "different options": len(set(options()))}
    require_at_most(SEEN, n_of_things | n_options)


# -- what the main jobs enter -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def entered() -> dict[str, dict[str, int]]:
    """The figures of a new process, in which nothing is cached or imported yet."""
    for library in LIBRARIES:
        pytest.importorskip(library, reason=f"the main jobs need {library}")
    done = subprocess.run([sys.executable, __file__], capture_output=True, check=True, text=True)
    figures: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return figures


@pytest.mark.parametrize("job", ENTERED)
def test_what_a_job_enters(job: str, entered: dict[str, dict[str, int]]) -> None:
    require_at_most(ENTERED[job], entered[job])


def main() -> None:
    """Print what the jobs enter, as one line of JSON."""
    calls: Calls = []

    def record(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            calls.append((code.co_filename, code.co_firstlineno))

    for library in LIBRARIES:  # whose imports take twice as long while calls are recorded
        importlib.import_module(library)
    sys.setprofile(record)
    of_evaluate, of_feval = do_the_main_jobs(calls)
    sys.setprofile(None)
    figures = {"jobs": lines_of(calls), "evaluate": path_of(of_evaluate), "feval": path_of(of_feval)}
    sys.stdout.write(f"{json.dumps(figures)}\n")


def do_the_main_jobs(calls: Calls) -> tuple[Calls, Calls]:
    """Evaluate, train with two hosts, search, and write a report; return the calls of one evaluation and one round."""
    import lightgbm as lgb
    import pandas as pd
    import xgboost as xgb
    from sklearn.model_selection import GridSearchCV, GroupKFold

    metrics, four = ["ndcg@10", "ndcg_lin@10", "map", "mrr", "err@10"], ["ndcg@10", "map", "mrr", "err@10"]
    X, y, qid = ltr.make_ranking(n_queries=60, n_features=5, random_state=0)
    train, valid = qid < 40, qid >= 40
    result = ltr.evaluate(y, X[:, 0], qid=qid, metrics=metrics)
    _ = str(result), result.per_query, result.to_pandas()
    for _ in range(2):  # the second one is as all later ones
        start = len(calls)
        ltr.evaluate(y, X[:, 0], qid=qid, metrics="ndcg@10")
    of_evaluate, of_feval = calls[start:], []

    def noting_the_calls(feval: Any) -> Any:
        def noting(scores: Any, data: Any) -> Any:
            start = len(calls)
            values = feval(scores, data)
            of_feval[:] = calls[start:]
            return values

        return noting

    params: dict[str, Any] = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    data = lgb.Dataset(X[train], y[train], group=ltr.qid_to_group(qid[train]))
    held_out = lgb.Dataset(X[valid], y[valid], group=ltr.qid_to_group(qid[valid]), reference=data)
    for feval in (ltr.lightgbm.feval(metrics, log=ltr.PerQueryLog()), noting_the_calls(ltr.lightgbm.feval(metrics))):
        stop = ltr.lightgbm.early_stopping("err@10", 5)
        lgb.train(params, data, 6, valid_sets=[held_out], feval=feval, callbacks=[stop])

    params = {"objective": "rank:ndcg", "nthread": 1, "disable_default_eval_metric": 1}
    matrix, of_valid = (xgb.DMatrix(X[rows], y[rows], qid=qid[rows]) for rows in (train, valid))
    options = {"custom_metric": ltr.xgboost.custom_metric(four), "verbose_eval": False}
    stop = ltr.xgboost.early_stopping("err@10", 5)
    xgb.train(params, matrix, 6, evals=[(of_valid, "valid")], callbacks=[stop], **options)

    ranker = ltr.sklearn.QueryRanker(lgb.LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1))
    scorer, frame = ltr.sklearn.make_scorer(["ndcg@10", "map"]), pd.DataFrame(X).add_prefix("f").assign(qid=qid)
    grid: dict[str, Any] = {"estimator__num_leaves": [3, 7]}
    search = GridSearchCV(ranker, grid, scoring=scorer, refit="ndcg@10", cv=GroupKFold(2), error_score="raise")
    search.fit(frame, y, groups=qid)

    models = {"base": X[:, 1], "new": X[:, 0]}
    summary = ltr.report.summarize(ltr.Queries(y, qid=qid), models, four, baseline="base", complete=True)
    ltr.report.as_html(summary)
    return of_evaluate, of_feval


def path_of(calls: Calls) -> dict[str, int]:
    files = [file for file, _ in calls]
    n_changes = sum(file != next_file for file, next_file in pairwise(files))
    return {"calls": len(calls), "files": len(set(files)), "changes of file": n_changes}


def lines_of(calls: Calls) -> dict[str, int]:
    """Return the number of code lines of the functions that were called, and of their files."""
    called = set(calls)
    of_files = [
        set().union(*(lines for first, lines in code_lines_by_function(path).items() if (str(path), first) in called))
        for path in PACKAGE.rglob("*.py")
    ]
    return {"code lines": sum(map(len, of_files)), "files": sum(map(bool, of_files))}


def code_lines_by_function(path: Path) -> dict[int, set[int]]:
    """Return the lines of each function, by its first one, without docstrings, comments and blank lines."""
    text = path.read_text(encoding="utf-8")
    no_code = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for one in tokens if one.type not in no_code for line in range(one.start[0], one.end[0] + 1)}
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for node in functions:
        if ast.get_docstring(node) is not None:
            code -= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    first_lines = [min(one.lineno for one in (node, *node.decorator_list)) for node in functions]
    ends = [node.end_lineno or 0 for node in functions]
    return {first: code & {*range(first, end + 1)} for first, end in zip(first_lines, ends, strict=True)}


if __name__ == "__main__":
    main()
