"""The rounds of an XGBoost model.

A DMatrix keeps its last prediction, to which XGBoost adds the trees of further rounds. So each
round costs its own trees, and the sums are those of the training, in float32.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xgboost

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics.curves import (
    QueriesOfX,
    Rounds,
    refuse_dart,
    refuse_several_scores,
    refuse_unfitted,
    require_features,
    require_table,
)
from ltr_metrics.errors import LtrTypeError, LtrValueError


def rounds_of(model: Any, X: Any) -> tuple[int, int, Rounds, QueriesOfX]:
    """Return the number of rounds and of rows, the rounds, and the queries that X has."""
    booster, missing = _booster_of(model)
    config = json.loads(booster.save_config())["learner"]
    kinds = {config["learner_train_param"]["booster"], config["gradient_booster"]["name"]}
    if "gblinear" in kinds:
        raise LtrValueError(
            "A gblinear booster is one linear model, which every round changes, so the models of earlier rounds are "
            "lost. Record a log during the training: ltr_metrics.xgboost.Monitor(..., log=log)."
        )
    # From 3.4 on, dart is a tree booster with dropout, which only the weights of its trees show.
    may_have_dropout = "dart_train_param" in config["gradient_booster"]
    if "dart" in kinds or (may_have_dropout and b'"weight_drop"' in booster.save_raw("json")):
        raise refuse_dart()
    is_matrix = isinstance(X, xgboost.DMatrix)
    queries: QueriesOfX = {}
    if not is_matrix:
        require_table(X, ", a DMatrix")
        if isinstance(model, xgboost.XGBRanker) and hasattr(X, "iloc") and "qid" in X.columns:  # as its predict
            queries, X = {"qid": X["qid"]}, X.drop(columns="qid")
    data = X if is_matrix else _matrix(X, missing)
    boundaries = data.get_uint_info("group_ptr") if is_matrix else ()
    if len(boundaries) > 1:
        queries = {"group": np.diff(boundaries)}
    require_features(data.num_col(), booster.num_features())

    def rounds(stops: Sequence[int], start: FloatArray | None) -> Iterator[AnyArray]:
        if start is not None:
            if is_matrix:
                raise LtrTypeError("Pass base_margin to the DMatrix, which keeps it, and not to learning_curve.")
            data.set_base_margin(start)
        for stop in stops:
            scores = _predict(booster, data, stop)
            if scores.ndim != 1:
                raise refuse_several_scores(scores.shape[1])
            yield scores

    return booster.num_boosted_rounds(), data.num_row(), rounds, queries


def _predict(booster: xgboost.Booster, data: xgboost.DMatrix, n_rounds: int) -> AnyArray:
    try:
        scores: AnyArray = booster.predict(data, output_margin=True, iteration_range=(0, n_rounds))
    except ValueError as error:  # names or types of features that are not those of the training
        raise LtrValueError(f"XGBoost cannot predict X: {error}") from None
    return scores


def _matrix(X: Any, missing: float) -> xgboost.DMatrix:
    try:
        return xgboost.DMatrix(X, missing=missing, enable_categorical=True)
    except (ValueError, TypeError) as error:  # types that it does not take
        raise LtrValueError(f"XGBoost cannot predict X: {error}") from None


def _booster_of(model: Any) -> tuple[xgboost.Booster, float]:
    """Return the booster, and the number that is a missing value in X."""
    if isinstance(model, xgboost.Booster):
        return model, np.nan
    if isinstance(model, xgboost.XGBModel):
        if not model.__sklearn_is_fitted__():
            raise refuse_unfitted(model)
        return model.get_booster(), model.missing
    raise LtrTypeError(
        f"learning_curve needs one model of XGBoost, a Booster or an estimator. Got {type(model).__name__}."
    )
