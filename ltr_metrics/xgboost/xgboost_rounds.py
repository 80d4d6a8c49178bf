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

from ltr_metrics._hosts.fitted_model import Fitted, naming_host, refuse_dart, require_table
from ltr_metrics._hosts.host_data import require_features
from ltr_metrics._rows.checks import AnyArray, FloatArray
from ltr_metrics.errors import LtrTypeError, LtrValueError


def rounds_of(model: Any, X: Any) -> Fitted:
    """Return the rounds of a Booster or of a fitted estimator, and what X holds of its rows."""
    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    kind = kind_that_changes_rounds(booster)
    if kind == "gblinear":
        raise LtrValueError(
            "A gblinear booster is one linear model, which every round changes, so the models of earlier rounds are "
            "lost. Record a log during the training: ltr_metrics.xgboost.Monitor(..., log=log)."
        )
    if kind == "dart":
        raise refuse_dart()
    is_matrix, carried = isinstance(X, xgboost.DMatrix), {}
    if is_matrix:
        data = X
        columns = {"y": data.get_label(), "query_weight": data.get_weight(), "group": data.get_uint_info("group_ptr")}
        carried = {name: column for name, column in columns.items() if len(column) > 0}
        if "group" in carried:
            carried["group"] = np.diff(carried["group"])
        elif "query_weight" in carried:  # without queries, XGBoost has a weight for each row
            carried["sample_weight"] = carried.pop("query_weight")
    else:
        require_table(X, ", a DMatrix")
        if isinstance(model, xgboost.XGBRanker) and hasattr(X, "iloc") and "qid" in X.columns:  # as its predict
            carried, X = {"qid": X["qid"]}, X.drop(columns="qid")
        with naming_host("XGBoost", ValueError, TypeError):  # types that it does not take
            data = xgboost.DMatrix(X, missing=getattr(model, "missing", np.nan), enable_categorical=True)
    require_features(data.num_col(), booster.num_features())

    def rounds(stops: Sequence[int], start: FloatArray | None) -> Iterator[AnyArray]:
        if start is not None:
            if is_matrix:
                raise LtrTypeError("Pass base_margin to the DMatrix, which keeps it, and not to learning_curve.")
            data.set_base_margin(start)
        for stop in stops:
            with naming_host("XGBoost", ValueError):  # names or types of features that are not those of the training
                scores = booster.predict(data, output_margin=True, iteration_range=(0, stop))
            yield scores

    return Fitted(booster.num_boosted_rounds(), data.num_row(), rounds, carried)


def kind_that_changes_rounds(booster: xgboost.Booster) -> str | None:
    """Return "dart" or "gblinear" if rounds of the booster change what earlier ones added, and otherwise None.

    From XGBoost 3.4 on, dart is a tree booster with dropout. Its settings show that before the training, and the
    weights of its trees after it, since a file of the model does not hold settings.
    """
    config = json.loads(booster.save_config())["learner"]
    kinds = {config["learner_train_param"]["booster"], config["gradient_booster"]["name"]}
    if "gblinear" in kinds:
        return "gblinear"
    dropout = config["gradient_booster"].get("dart_train_param", {})
    drops = any(float(dropout.get(name, 0)) > 0 for name in ("rate_drop", "one_drop"))
    if "dart" in kinds or drops or (dropout and b'"weight_drop"' in booster.save_raw("json")):
        return "dart"
    return None
