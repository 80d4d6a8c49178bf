"""XGBoost model files: JSON or UBJSON, from ``save_model`` to ``.json`` or ``.ubj``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics.errors import LtrValueError, import_extra
from ltr_metrics.io.models.base import Model, refuse_categories, refuse_several
from ltr_metrics.io.models.structure import DamageError
from ltr_metrics.io.models.xgboost_file import read

BEGINS = b"{"


def load(path: Path, content: bytes) -> Model:
    """Read an XGBoost model.

    The file has all rounds, and the best round as an attribute. Only the rounds up to the best
    one are used, as in XGBRanker.
    """
    xgboost = import_extra("xgboost", "xgboost")
    try:
        file = read(content)
    except DamageError as damage:
        raise _damaged(path, damage) from None
    refuse_several(path, file.n_scores)
    if file.has_categories:
        refuse_categories(path, "categorical features")
    booster, n_rounds = xgboost.Booster(), file.n_rounds
    try:
        booster.load_model(bytearray(file.document.encode()))
    except (xgboost.core.XGBoostError, ValueError) as error:
        reason = str(error).partition("Stack trace")[0].strip().splitlines() or ["no reason given"]
        raise _damaged(path, f"XGBoost cannot read it ({reason[0]})") from None

    def score(X: Any) -> AnyArray:
        if n_rounds is None:  # a linear model: its rounds cannot be selected
            data = xgboost.DMatrix(X)
            scores: AnyArray = booster.predict(data, output_margin=True, validate_features=False)
        else:
            scores = booster.inplace_predict(X, iteration_range=(0, n_rounds), predict_type="margin")
        return scores

    return Model(path, "xgboost", file.n_features, file.feature_names, score, booster)


def _damaged(path: Path, damage: object) -> LtrValueError:
    """Return the error for a document that is not a complete model: it may be any JSON file."""
    return LtrValueError(
        f"{path} is damaged or not an XGBoost model, which save_model writes as .json or .ubj: {damage}. "
        "Save the model again."
    )
