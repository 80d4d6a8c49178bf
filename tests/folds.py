"""Rows of queries in no order, and what searches over them must give, computed with the hosts' estimators alone."""

from __future__ import annotations

import inspect
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
CV = GroupKFold(3)


def scattered(n_queries: int = 45) -> Rows:
    """X, y and qid, the rows of all queries mixed."""
    X, y, qid = ltr.make_ranking(n_queries=n_queries, documents=10, n_features=6, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], qid[order]


def frame(X: np.ndarray, qid: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X).add_prefix("f").assign(qid=qid)


def estimator_of(kind: str, rounds: int = 6, **settings: Any) -> Any:
    """A small estimator of this class, on one thread."""
    if kind == "Ridge":
        return Ridge(**settings)
    if kind.startswith("LGBM"):
        quiet = {"n_estimators": rounds, "verbose": -1, "n_jobs": 1, "random_state": 0, "min_child_samples": 5}
        return getattr(lgb, kind)(**quiet | {"learning_rate": 0.3} | settings)
    if kind.startswith("XGB"):
        return getattr(xgb, kind)(**{"n_estimators": rounds, "n_jobs": 1, "random_state": 0, "max_depth": 3} | settings)
    quiet = {"iterations": rounds, "verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return getattr(catboost, kind)(**quiet | {"depth": 3, "learning_rate": 0.3} | settings)


def lgbm_ranker(**settings: Any) -> lgb.LGBMRanker:
    return estimator_of("LGBMRanker", **settings)


def ranker(**options: Any) -> QueryRanker:
    return QueryRanker(lgbm_ranker(), **options)


def appearance(qid: np.ndarray) -> np.ndarray:
    """Position of each row's query in the order in which the queries appear."""
    first = {q: i for i, q in enumerate(dict.fromkeys(qid.tolist()))}
    return np.array([first[q] for q in qid.tolist()])


def fit_by_hand(estimator: Any, X: np.ndarray, y: np.ndarray, qid: np.ndarray, **per_row: np.ndarray) -> Any:
    """Fit a clone of a host's estimator on rows that are sorted here."""
    number = appearance(qid)
    order = np.argsort(number, kind="stable")
    arguments = {name: values[order] for name, values in per_row.items()}
    accepted = inspect.signature(estimator.fit).parameters
    if "qid" in accepted:
        arguments["qid"] = number[order]
        if "sample_weight" in per_row:
            arguments["sample_weight"] = np.bincount(number, per_row["sample_weight"]) / np.bincount(number)
    elif "group" in accepted:
        arguments["group"] = ltr.qid_to_group(qid[order])
    elif "group_id" in accepted:
        arguments["group_id"] = number[order]
    return clone(estimator).fit(X[order], y[order], **arguments)


def fold_scores(search: Any, candidate: int, name: str = "score") -> list[float]:
    return [search.cv_results_[f"split{fold}_test_{name}"][candidate] for fold in range(search.n_splits_)]
