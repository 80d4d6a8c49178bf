"""The scores of the rows: a column of the data, or the predictions of MLflow's model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.mlflow.settings import Settings


def scores_of(dataset: Any, model: Any, predictions: str | None, settings: Settings) -> Any:
    """Return one score per row.

    Parameters
    ----------
    dataset : mlflow.data.evaluation_dataset.EvaluationDataset
    model : mlflow.pyfunc.PyFuncModel or None
        None if the data hold the predictions.
    predictions : str or None
        The column of the scores in the model's output.
    settings : Settings
    """
    if model is None:
        if dataset.predictions_data is None:
            raise LtrValueError(
                "There is nothing to evaluate. Pass a model, or name the column of scores: "
                "mlflow.models.evaluate(..., predictions='score')."
            )
        return dataset.predictions_data
    return _one_column(model.predict(_features(dataset.features_data, model, settings)), predictions)


def _features(X: Any, model: Any, settings: Settings) -> Any:
    """Return the features that the model gets.

    These are the columns of its signature. Without a signature, they are all columns but those of
    the queries.
    """
    if settings.features is not None:
        return _selected(X, settings.features)
    if not hasattr(X, "columns"):
        return X
    inputs = _input_names(model)
    if inputs is None:
        return X.drop(columns=[name for name in settings.columns_of_queries if name in X.columns])
    return X[[name for name in X.columns if name in inputs]]  # MLflow refuses the data if one is missing


def _selected(X: Any, features: Any) -> Any:
    if not hasattr(X, "columns"):
        raise LtrTypeError("features selects columns by name, but data is an array. Pass the array without the others.")
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise LtrTypeError(f"features must be a list of columns. Got {features!r}.")
    names = list(features)
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise LtrValueError(
            f"features names the column {missing[0]!r}, which the data do not have. The columns without targets are "
            f"{', '.join(map(str, X))}."
        )
    return X[names]


def _input_names(model: Any) -> set[Any] | None:
    """Return the columns of the model's signature; None without one. A function has no metadata."""
    metadata = getattr(model, "metadata", None)
    schema = None if metadata is None else metadata.get_input_schema()
    return set(schema.input_names()) if schema is not None and schema.has_input_names() else None


def _one_column(output: Any, name: str | None) -> Any:
    """Return the column of scores in what a model has predicted."""
    if hasattr(output, "columns") or isinstance(output, dict):
        names = list(output)
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            raise LtrValueError(
                f"The model predicts the columns {', '.join(map(str, names))}. Name that of the scores by predictions=."
                f" Got {name!r}."
            )
        return np.asarray(output[name])
    scores = np.asarray(output)
    if scores.ndim == 2 and scores.shape[1] == 1:
        return scores[:, 0]
    if scores.ndim != 1:
        raise LtrValueError(
            f"A ranking needs one score a row. The model predicts an array of shape {scores.shape}. Combine its "
            "columns into one score, and evaluate them as a column of data: predictions='score'."
        )
    return scores
