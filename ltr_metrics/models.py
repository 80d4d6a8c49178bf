"""Model files to scores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.inputs import FloatArray


def predict(path: str | os.PathLike[str], X: Any) -> FloatArray:
    """Score rows with a LightGBM model file (``booster.save_model("model.txt")``).

    Parameters
    ----------
    path : path
    X : array of shape (n_rows, n_features), or data frame
        Of a data frame the columns that the model knows by name are taken.

    Returns
    -------
    ndarray of float64 of shape (n_rows,)
        Raw scores.

    Raises
    ------
    LtrValueError
        If the file is not a model, features are missing or their number differs.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtraError("lightgbm", "lightgbm") from error
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {path}.")
    try:
        booster = lightgbm.Booster(model_file=str(path))
    except lightgbm.basic.LightGBMError as error:
        raise LtrValueError(f"{path} is not a LightGBM model file (booster.save_model writes one): {error}.") from None
    if hasattr(X, "columns"):
        missing = [name for name in booster.feature_name() if name not in X.columns]
        if missing:
            raise LtrValueError(f"The data lack the model's feature {missing[0]!r}, {len(missing)} in all ({path}).")
        X = X[booster.feature_name()].to_numpy()
    if booster.pandas_categorical:
        raise LtrValueError(
            f"The model {path} was trained on pandas categories, whose codes a file of data does not keep. Score the rows where the "
            "model was trained (booster.predict(frame)), and pass the scores as a column."
        )
    if X.shape[1] != booster.num_feature():
        raise LtrValueError(
            f"The model {path} has {booster.num_feature()} features, the data have {X.shape[1]}. If features at the end are absent "
            "from these rows, pass their number to read_letor (n_features=, --n-features); if feature numbers start at 0, zero_based=True "
            "(--zero-based)."
        )
    scores: FloatArray = booster.predict(X, raw_score=True)
    if scores.ndim != 1:
        raise LtrValueError(f"The model {path} gives {scores.shape[1]} scores a row: a ranking needs one.")
    return scores
