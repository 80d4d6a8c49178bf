"""Read a model file of any host, identified by its content: names are vague (`.txt`, `.model`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.models import lightgbm, xgboost
from ltr_metrics.io.models.base import Model


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file of LightGBM (``.txt``) or XGBoost (``.json``, ``.ubj``).

    The model can then score any number of batches of rows.

    The structure of the file is checked before the host reads it: the lengths of all arrays, the
    indices of nodes, features and categories, that each tree is a tree, and that values are finite.
    So a damaged file raises an error, and does not crash or hang the process. A damaged number can
    still result in another valid model with other scores, which no check can detect.

    Parameters
    ----------
    path : path
        The host is identified by the content, not by the name.

    Returns
    -------
    Model
        ``model.predict(X)`` returns the same scores as ``predict(path, X)``.

    Raises
    ------
    LtrValueError
        If the file is not a model, is damaged, gives several scores per row, or was trained on
        categories, which only the data frame of the training defines.
    MissingExtraError
        If the host is not installed.
    FileNotFoundError
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no model file {path}.")
    content = path.read_bytes()
    if content.startswith(lightgbm.BEGINS):
        return lightgbm.load(path, content)
    if content.startswith(xgboost.BEGINS):
        return xgboost.load(path, content)
    raise LtrValueError(
        f"{path} is {'not a LightGBM or XGBoost model file' if content else 'empty'}. booster.save_model writes model "
        "files: LightGBM's as text, XGBoost's as .json or .ubj."
    )


def predict(path: str | os.PathLike[str], X: Any) -> FloatArray:
    """Score rows with a model file of LightGBM or XGBoost.

    After early stopping, only the rounds up to the best one are used, as in
    ``LGBMRanker.predict`` and ``XGBRanker.predict``.

    Parameters
    ----------
    path : path
        As for `load_model`. Use `load_model` to read a file once for several calls.
    X : array of shape (n_rows, n_features), or data frame
        The columns of a data frame are selected by the model's feature names. A feature that a
        line of LETOR data omits is a missing value if XGBoost reads the file, and 0 if
        `ltr_metrics.io.read_letor` does. Read the data as you did for the training.

    Returns
    -------
    ndarray of float64 of shape (n_rows,)
        Raw scores (margins).

    Raises
    ------
    LtrValueError
        See `load_model`; also if features are missing or their number differs.
    LtrTypeError
        If a feature is not a column of numbers.
    """
    return load_model(path).predict(X)
