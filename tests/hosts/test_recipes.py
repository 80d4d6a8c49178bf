"""The guide's recipes for tuners and trackers run where these are installed, and find a mean of the metric."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import lightgbm as lgb
import pytest

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]  # of the packages and of what they train

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "grid_search.md").read_text("utf-8")
RECIPES = re.findall(r"```text\n(import .*?)```", GUIDE, re.DOTALL)


SLOW = ("autogluon.tabular", "flaml", "optuna_integration.lightgbm")


@pytest.mark.parametrize("package", ["optuna", *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)])
def test_the_recipe(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    (recipe,) = (text for text in RECIPES if re.search(rf"^(from|import) {package}\b", text, re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(recipe, names)
    assert 0 < names["best_value"] < 1
    assert names["best_params"]


@pytest.mark.parametrize("sign", [1, -1])
def test_optunas_tuner_minimises_what_it_does_not_know(sign: int) -> None:
    tuners = pytest.importorskip("optuna_integration.lightgbm", reason="optuna-integration is not installed")
    X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), free_raw_data=False)
    valid = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), reference=train, free_raw_data=False)
    err = feval("err@10")

    def metric(scores: Any, data: Any) -> Any:
        ((name, value, rising),) = err(scores, data)
        return f"{'loss_' * (sign < 0)}{name}", sign * value, rising == (sign > 0)

    params = {"objective": "lambdarank", "metric": "loss_err@10" if sign < 0 else "err@10", "max_depth": 3}
    options = {"feval": metric, "num_boost_round": 5, "optuna_seed": 0, "show_progress_bar": False}
    quiet = {"num_threads": 1, "verbose": -1}
    tuner = tuners.LightGBMTuner(params | quiet, train, valid_sets=[valid], **options)
    tuner.tune_num_leaves(4)
    errs = [sign * trial.value for trial in tuner.study.trials]
    assert max(errs) > min(errs)
    assert sign * tuner.best_score == (min(errs) if sign > 0 else max(errs))
