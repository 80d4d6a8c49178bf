"""The examples run, on embedded data and on a user's own files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parent.parent / "examples"
EXAMPLE = EXAMPLES / "lightgbm_early_stopping.py"
WRITTEN = {"early_stopping.txt", "grid_search.txt", "per_query.csv", "report.html", "report.json", "report.txt"}


def run(*arguments: object, example: Path = EXAMPLE, folder: Path | None = None) -> str:
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(example), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def letor(path: Path, seed: int) -> Path:
    X, y, qid = ltr.make_ranking(60, n_features=5, documents=12, random_state=seed)
    lines = [
        f"{g} qid:{seed}{q} " + " ".join(f"{j}:{v:.6f}" for j, v in enumerate(row, 1))
        for row, g, q in zip(X, y, qid, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.slow
def test_on_embedded_data(tmp_path: Path) -> None:
    shown = run("--out", tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == WRITTEN
    assert f"The report: {(tmp_path / 'report.html').as_uri()}\n" in shown  # a terminal opens it
    assert "Early stopping, best iteration is" in shown
    assert "Evaluated only: err@10" in shown
    summary = json.loads((tmp_path / "report.json").read_text())
    assert list(summary["models"]) == ["today", "early stopping", "grid search"]
    assert summary["models"]["grid search"]["ndcg_exp@10"]["mean"] > 0.7
    assert summary["comparison"]["baseline"] == "today"
    verdicts = {(row["metric"], row["model"]): row["ci_low"] > 0 for row in summary["comparison"]["rows"]}
    assert verdicts["ndcg_exp@10", "grid search"]  # what the demo is to show: a clear win,
    assert not verdicts["err@10", "early stopping"]  # and a difference that is not clear
    assert re.search(r"grid search, ndcg_exp@10: .*\n    This is a clear win: the whole interval is above 0\.", shown)
    assert re.search(r"early stopping, err@10: .*\n    This is not clear: the interval contains 0\.", shown)


@pytest.mark.slow
def test_on_a_users_files(tmp_path: Path) -> None:
    train, valid, test = (letor(tmp_path / f"{seed}.txt", seed) for seed in (1, 2, 3))
    run("--letor", train, "--out", tmp_path / "split")
    assert {p.name for p in (tmp_path / "split").iterdir()} == WRITTEN
    run("--letor", train, "--valid", valid, "--test", test, "--out", tmp_path / "given")
    summary = json.loads((tmp_path / "given" / "report.json").read_text())
    assert summary["data"]["queries"] == 60
    command = [
        sys.executable,
        "-m",
        "ltr_metrics",
        "report",
        str(test),
        "--format",
        "json",
        "--metrics",
        "err@10,ndcg@10",
    ]
    command += ["--model", f"stopped={tmp_path / 'given' / 'early_stopping.txt'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    again = json.loads(done.stdout)["models"]["stopped"]
    assert again["err@10"] == summary["models"]["early stopping"]["err@10"]


@pytest.mark.slow
def test_the_wrong_use_is_explained() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--test", "x.txt"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--valid and --test need --letor" in done.stderr
    done = subprocess.run([sys.executable, str(EXAMPLE), "--today", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--today must be the number of a feature, 1 to 20. Got 0." in done.stderr


FURTHER = {
    "xgboost_early_stopping": ("xgboost", [], r"XGBRanker: best round (\d+), err@10 = 0\.\d{6}"),
    "catboost_early_stopping": ("catboost", [], r"CatBoostRanker: best round (\d+), err@10 = 0\.\d{6}"),
    "sklearn_grid_search": ("sklearn", [], r"Best: {.*}, stopped after (\d+) rounds"),
    "optuna_search": ("optuna", ["--trials", "2"], r"Best of 2 trials: ndcg_exp@10 = 0\.\d{6}"),
    "wandb_tracking": ("wandb", [], r"XGBoost, run \w+:"),
    "dask_xgboost": ("distributed", [], r"Best round (\d+), err@10 = 0\.\d{6}"),
    "spark_cross_validation": ("pyspark", [], r"max_depth=6: ndcg@10 = 0\.\d{4}"),
    "mlflow_tracking": ("mlflow", ["--tracking-uri", "sqlite:///{folder}/runs.db"], r"XGBoost, run \w{32} in sqlite"),
}


def test_each_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {EXAMPLE.stem, "example_data", "report", *FURTHER}


@pytest.mark.slow
def test_from_data_to_the_report(tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="xgboost is not installed")
    train, test = letor(tmp_path / "train.txt", 1), letor(tmp_path / "test.txt", 2)
    shown = run(
        "--letor", train, "--test", test, "--today", 2, "--out", tmp_path / "out", example=EXAMPLES / "report.py"
    )
    written = {"lightgbm.parquet", "lightgbm.txt", "report.html", "report.json", "xgboost.json"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == written
    assert re.search(r"(PASS|FAIL)  XGBoost: ndcg@10 > -0.005", shown)
    summary = json.loads((tmp_path / "out" / "report.json").read_text())
    assert summary["comparison"]["baseline"] == "today"
    assert [curve["model"] for curve in summary["learning"]] == ["LightGBM", "XGBoost"]
    saved = ltr.load_result(tmp_path / "out" / "lightgbm.parquet")
    assert saved["map"] == summary["models"]["LightGBM"]["map"]["mean"]


@pytest.mark.slow
@pytest.mark.parametrize("own_files", [False, True])
@pytest.mark.parametrize("name", FURTHER)
def test_further_examples(name: str, own_files: bool, tmp_path: Path) -> None:
    module, options, expected = FURTHER[name]
    pytest.importorskip(module, reason=f"{module} is not installed")
    if module == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark wants Java, and there is none")
    arguments = [option.format(folder=tmp_path) for option in options]
    if own_files:
        arguments += ["--letor", str(letor(tmp_path / "train.txt", 1)), "--test", str(letor(tmp_path / "test.txt", 2))]
    shown = run(*arguments, example=EXAMPLES / f"{name}.py", folder=tmp_path)
    assert re.search(expected, shown)
    table = shown[shown.index("metric  ") :].splitlines()
    means = {line.split()[0]: float(line.split()[1]) for line in table[1:] if re.match(r"\S+ +[01]\.\d{6} ", line)}
    assert len(means) == 4
    if not own_files:
        assert next(value for name, value in means.items() if name.startswith("ndcg")) > 0.7


@pytest.mark.slow
def test_all_metrics_of_each_round_are_in_mlflow(tmp_path: Path) -> None:
    """Autolog drops all metrics of a round if one has a name that MLflow refuses."""
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    store = f"sqlite:///{tmp_path}/runs.db"
    shown = run("--tracking-uri", store, example=EXAMPLES / "mlflow_tracking.py", folder=tmp_path)
    names = ["ndcg_exp_at_10", "map-rel-2_at_10", "mrr", "err_at_10"]
    runs = dict(re.findall(r"(\w+), run (\w{32})", shown))
    assert list(runs) == ["LightGBM", "XGBoost"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy's own
        client = mlflow.MlflowClient(store)
        for run_id in runs.values():
            logged = client.get_run(run_id).data.metrics
            assert {f"{data}-{name}" for data in ("valid", "test") for name in names} <= logged.keys()
            rounds = {name: client.get_metric_history(run_id, f"valid-{name}") for name in names}
            n_rounds = {name: len({value.step for value in values}) for name, values in rounds.items()}
            assert len(set(n_rounds.values())) == 1
            assert n_rounds["mrr"] > 30
            assert all(0 < value.value <= 1 for values in rounds.values() for value in values)


@pytest.mark.slow
def test_autolog_loses_all_metrics_under_their_canonical_names(tmp_path: Path) -> None:
    """What the example is for; if this fails, MLflow has changed and the example may be simpler."""
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    text = (EXAMPLES / "mlflow_tracking.py").read_text(encoding="utf-8").replace(', names="slug"', "")
    (tmp_path / "canonical.py").write_text(text, encoding="utf-8")
    shutil.copy(EXAMPLES / "example_data.py", tmp_path)
    store = f"sqlite:///{tmp_path}/runs.db"
    shown = run("--tracking-uri", store, example=tmp_path / "canonical.py", folder=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy's own
        for run_id in re.findall(r"run (\w{32})", shown):
            logged = mlflow.MlflowClient(store).get_run(run_id).data.metrics
            assert not [name for name in logged if name.startswith("valid")]


WANDB = '''"""What the example calls of wandb, which is not installed with the tests: a run that records its calls."""
import json


class Run:
    def __init__(self, **options):
        self.options, self.rounds, self.summary, self.defined = options, [], {}, {}
        self.id = "1"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with open(f"{self.options['name']}.json", "w") as file:
            json.dump(vars(self), file)

    def define_metric(self, name, *, summary):
        self.defined[name] = summary

    def log(self, values):
        self.rounds.append(values)


init = Run
'''


@pytest.mark.slow
def test_all_metrics_of_each_round_go_to_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xgboost", reason="xgboost is not installed")
    (tmp_path / "wandb.py").write_text(WANDB, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))
    files = ["--letor", letor(tmp_path / "train.txt", 1), "--test", letor(tmp_path / "test.txt", 2)]
    shown = run(*files, example=EXAMPLES / "wandb_tracking.py", folder=tmp_path)
    for name in ("LightGBM", "XGBoost"):
        recorded = json.loads((tmp_path / f"{name}.json").read_text())
        logged = {"valid_ndcg_exp_at_10", "valid_map_rel_2_at_10", "valid_mrr", "valid_err_at_10"}
        assert all(set(one) == logged for one in recorded["rounds"])
        assert len(recorded["rounds"]) > 30  # early stopping waits for 30 rounds
        assert recorded["defined"] == dict.fromkeys(logged, "max")
        assert all(re.fullmatch(r"[_a-zA-Z][_a-zA-Z0-9]*", one) for one in (*logged, *recorded["summary"]))
        table = shown[shown.index(f"{name}, run 1:") :]
        assert f"{recorded['summary']['test_map_rel_2_at_10']:.6f}" in table
        assert recorded["options"]["mode"] == "offline"


@pytest.mark.slow
@pytest.mark.parametrize("host", ["lightgbm", "xgboost", "catboost"])
def test_trials_are_pruned_in_each_host(host: str, tmp_path: Path) -> None:
    for module in ("optuna", "optuna_integration", host):
        pytest.importorskip(module, reason=f"{module} is not installed")
    train = letor(tmp_path / "train.txt", 1)
    options = ["--host", host, "--prune", "--trials", 8, "--letor", train]
    shown = run(*options, example=EXAMPLES / "optuna_search.py", folder=tmp_path)
    counts = re.search(r"(\d+) trials were pruned. All trials had (\d+) rounds.", shown)
    assert counts is not None
    n_pruned, n_rounds = map(int, counts.groups())
    assert 0 < n_pruned < 8
    assert n_rounds >= 8 * 5 + 20  # nothing is pruned in the first rounds, and the best trial was stopped early
