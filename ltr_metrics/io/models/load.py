"""Which host's model a file holds: told by its content, for names say little (`.txt`, `.model`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.models import lightgbm, xgboost
from ltr_metrics.io.models.base import Model


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file of LightGBM (``.txt``) or XGBoost (``.json``, ``.ubj``), to score many batches of rows.

    The structure of the file is checked before the host reads it: the lengths of all arrays, the
    indices of nodes, features and categories, that each tree is a tree, and that values are finite.
    So a damaged file raises an error, and does not end or hang the process. A damaged number may
    still make another valid model, whose scores differ: no check can tell.

    Parameters
    ----------
    path : path
        Its content counts, not its name.

    Returns
    -------
    Model
        ``model.predict(X)`` gives what ``predict(path, X)`` does.

    Raises
    ------
    LtrValueError
        If the file is not a model, is damaged, gives several scores a row, or wants categories that only the data frame of the
        training knows.
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
        f"{path} is {'empty' if not content else 'not a LightGBM model file, nor one of XGBoost'}: booster.save_model writes them, LightGBM's "
        "as text, XGBoost's as .json or .ubj."
    )


def predict(path: str | os.PathLike[str], X: Any) -> FloatArray:
    """Score rows with a model file of LightGBM or XGBoost.

    After early stopping the rounds up to the best one count, as in ``LGBMRanker.predict`` and ``XGBRanker.predict``.

    Parameters
    ----------
    path : path
        As for `load_model`, which reads a file once for many calls.
    X : array of shape (n_rows, n_features), or data frame
        Of a data frame the columns that the model knows by name are taken. To XGBoost a feature that a line of LETOR data
        leaves out is missing if XGBoost itself reads the file, and 0 if `ltr_metrics.io.read_letor` does: score as you trained.

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
