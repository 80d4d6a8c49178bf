"""XGBoost's model files: JSON or UBJSON, by ``save_model("model.json")`` or ``save_model("model.ubj")``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.inputs import AnyArray
from ltr_metrics.models.base import Model, refuse_categories, refuse_several
from ltr_metrics.models.ubjson import is_whole

BEGINS = b"{"


def load(path: Path, content: bytes) -> Model:
    """Read an XGBoost model. All rounds are in the file, and the best one as an attribute: rounds up to it count, as for XGBRanker."""
    try:
        import xgboost
    except ImportError as error:
        raise MissingExtraError("xgboost", "xgboost") from error
    if not content.lstrip(b"{ \r\n\t").startswith((b'"', b"}")) and not is_whole(content):
        raise LtrValueError(f"{path} is damaged or cut off: it is no whole UBJSON document. Save the model again.")
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))
    except (xgboost.core.XGBoostError, ValueError) as error:
        reason = str(error).partition("Stack trace")[0].strip().splitlines() or ["no reason given"]
        raise LtrValueError(
            f"{path} is damaged or no XGBoost model, which save_model writes as .json or .ubj: {reason[0]}"
        ) from None
    learner = json.loads(booster.save_config())["learner"]
    of_model = learner["learner_model_param"]
    refuse_several(path, max(int(of_model["num_class"]), int(of_model.get("num_target", 1))))
    if "c" in (booster.feature_types or ()):
        refuse_categories(path, "categorical features")
    n_rounds = _rounds(booster, learner["gradient_booster"]["name"])

    def score(X: Any) -> AnyArray:
        if n_rounds is None:  # a linear model, which has no rounds to choose from
            data = xgboost.DMatrix(X)
            scores: AnyArray = booster.predict(data, output_margin=True, validate_features=False)
        else:
            scores = booster.inplace_predict(X, iteration_range=(0, n_rounds), predict_type="margin")
        return scores

    names = booster.feature_names
    return Model(path, "xgboost", booster.num_features(), None if names is None else tuple(names), score)


def _rounds(booster: Any, kind: str) -> int | None:
    """Return how many rounds count, 0 for all of them; None for a linear model."""
    if kind == "gblinear":
        return None
    best = booster.attr("best_iteration")
    return 0 if best is None else int(best) + 1
