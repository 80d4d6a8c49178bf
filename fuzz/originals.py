"""Valid model files of many kinds, small and always the same, which the fuzzer damages."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import ltr_metrics as ltr

N_FEATURES = 5
LIGHTGBM: dict[str, dict[str, Any]] = {
    "plain": {},
    "missing": {"use_missing": True, "zero_as_missing": True},
    "categories": {"categorical_feature": [3, 4], "min_data_per_group": 1, "cat_smooth": 1.0, "max_cat_to_onehot": 1},
    "linear": {"objective": "regression", "linear_tree": True},
    "dart": {"boosting": "dart"},
    "forest": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    "monotone": {"monotone_constraints": [1, -1, 0, 0, 0]},
    "constant": {"min_data_in_leaf": 10_000},
}
XGBOOST: dict[str, dict[str, Any]] = {
    "plain": {},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "linear": {"booster": "gblinear", "objective": "reg:squarederror"},
    "pruned": {"tree_method": "exact", "gamma": 2.0, "updater": "grow_colmaker,prune"},
    "forest": {"num_parallel_tree": 3, "subsample": 0.5},
    "unbiased": {"lambdarank_unbiased": True, "lambdarank_pair_method": "topk"},
    "logistic": {"objective": "binary:logistic"},
    "constant": {"gamma": 1e9},
}
NAMED = ("plain", "linear", "dart")  # the files that hold names of features


def write_originals(folder: Path) -> dict[str, list[Path]]:
    """Train and save the models, and return their files by format: "txt", "json" and "ubj"."""
    X, y, qid = ltr.make_ranking(30, n_features=N_FEATURES, random_state=0)
    X = np.round(X, 3)
    X[:, 3:] = np.floor(np.abs(X[:, 3:]) * 20) % 70  # codes of categories beyond 32 and 64, for longer bit sets
    X[::7, 1] = np.nan
    files: dict[str, list[Path]] = {"txt": [], "json": [], "ubj": []}
    for name, options in LIGHTGBM.items():
        files["txt"].append(folder / f"{name}.txt")
        _lightgbm(name, options, X, y, qid).save_model(files["txt"][-1])
    for name, options in XGBOOST.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gblinear is deprecated
            booster = _xgboost(name, options, X, y, qid)
        for ending in ("json", "ubj"):
            files[ending].append(folder / f"{name}.{ending}")
            booster.save_model(files[ending][-1])
    return files


def _lightgbm(name: str, options: dict[str, Any], X: Any, y: Any, qid: Any) -> Any:
    common = {"objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 5, "num_threads": 1, "seed": 0}
    parameters = {**common, "verbose": -1, **options}
    categories = parameters.pop("categorical_feature", [])
    names = [f"f{i}" for i in range(N_FEATURES)] if name in NAMED else "auto"
    data = lgb.Dataset(
        X,
        y,
        group=ltr.qid_to_group(qid),
        feature_name=names,
        categorical_feature=categories,
        params={**parameters, "min_data_in_bin": 1},
    )
    return lgb.train(parameters, data, 4)


def _xgboost(name: str, options: dict[str, Any], X: Any, y: Any, qid: Any) -> Any:
    parameters = {"objective": "rank:ndcg", "max_depth": 3, "nthread": 1, "seed": 0, "verbosity": 0, **options}
    labels = y > 0 if parameters["objective"] == "binary:logistic" else y
    names = [f"f{i}" for i in range(N_FEATURES)] if name in NAMED else None
    matrix = xgb.DMatrix(X, labels, qid=qid if "rank" in parameters["objective"] else None, feature_names=names)
    booster = xgb.train(parameters, matrix, 4)
    booster.set_attr(best_iteration="2")
    return booster
