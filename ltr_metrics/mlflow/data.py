"""What ``evaluator_config`` may hold, and what it selects from the data: queries and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import refuse_different_indexes
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts.log_names import Names
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, resolve


@dataclass(frozen=True)
class Settings:
    """The keys of ``evaluator_config``, which `RankerEvaluator` documents, with their defaults."""

    qid: Any = "qid"
    metrics: Metrics | None = None
    ties: TiePolicy | None = None
    no_relevant: NoRelevant | float | None = None
    convention: ConventionName | Convention | None = None
    names: Names = "slug"
    sample_weight: Any = None
    docid: Any = None
    by: Any = None
    features: Any = None
    columns: Any = None
    metric_prefix: str = ""

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | None) -> Settings:
        """Check the names of the settings; their values are checked where they are used."""
        known = [field.name for field in fields(cls)]
        unknown = next((key for key in config or {} if key not in known), None)
        if unknown is not None:
            raise LtrValueError(
                f"evaluator_config has no setting {unknown!r} for rankers.{did_you_mean(str(unknown), known)} The "
                f"settings are {', '.join(known)}."
            )
        return cls(**(config or {}))

    @property
    def policy(self) -> dict[str, Any]:
        """The options of an evaluation."""
        return {"ties": self.ties, "no_relevant": self.no_relevant, "convention": self.convention}

    @property
    def columns_of_metrics(self) -> dict[str, Any]:
        """The column, or its values, for each name that the metrics read."""
        names = resolve(self.metrics, **self.policy).needed_columns
        return {name: name for name in names} | _by_name("columns", self.columns)

    @property
    def columns_of_queries(self) -> list[str]:
        """The named columns that describe queries and documents, which are not features."""
        by = _by_name("by", self.by)
        values = [self.qid, self.sample_weight, self.docid, *by.values(), *self.columns_of_metrics.values()]
        return [value for value in values if isinstance(value, str)]

    def queries(self, dataset: Any) -> Queries:
        """Return the labels of MLflow's data set by query."""
        X = dataset.features_data
        if dataset.labels_data is None:
            raise LtrValueError("The data have no grades. Name their column: mlflow.models.evaluate(targets='label').")
        if self.qid is None:
            raise LtrValueError("qid must be the name of a column of data, or one id a row. Got None.")
        values = {name: _values(X, name, getattr(self, name)) for name in ("qid", "sample_weight", "docid")}
        by = {name: _values(X, "by", value) for name, value in _by_name("by", self.by).items()}
        columns = {name: _values(X, "columns", value) for name, value in self.columns_of_metrics.items()}
        return Queries(dataset.labels_data, **values, by=by or None, columns=columns or None)


def scores_of(dataset: Any, model: Any, predictions: str | None, settings: Settings) -> Any:
    """Return one score per row: a column of the data, or the predictions of MLflow's model.

    ``predictions`` is the column of the scores in the model's output.
    """
    if model is not None:
        return _one_column(model.predict(_features(dataset.features_data, model, settings)), predictions)
    if dataset.predictions_data is None:
        raise LtrValueError(
            "There is nothing to evaluate. Pass a model, or name the column of scores: predictions='score'."
        )
    return dataset.predictions_data


def _features(X: Any, model: Any, settings: Settings) -> Any:
    """Return the columns of the model's signature; without a signature, all columns but those of the queries."""
    if settings.features is not None:
        for name in settings.features:
            _require_column(X, "features", name)
        return X[list(settings.features)]
    if not hasattr(X, "columns"):
        return X
    metadata = getattr(model, "metadata", None)  # a function has none
    schema = None if metadata is None else metadata.get_input_schema()
    if schema is None or not schema.has_input_names():
        return X.drop(columns=[name for name in settings.columns_of_queries if name in X.columns])
    inputs = set(schema.input_names())
    return X[[name for name in X.columns if name in inputs]]  # MLflow refuses the data if one is missing


def _one_column(output: Any, name: str | None) -> Any:
    """Return the column of scores in what a model has predicted."""
    if hasattr(output, "columns") or isinstance(output, dict):
        names = list(output)
        name = names[0] if name is None and len(names) == 1 else name
        if name not in names:
            columns = ", ".join(map(str, names))
            raise LtrValueError(
                f"The model predicts the columns {columns}. Name the scores by predictions=. Got {name!r}."
            )
        return np.asarray(output[name])
    scores = np.asarray(output)
    if scores.ndim != 1 and scores.shape[1:] != (1,):
        raise LtrValueError(
            f"A ranking needs one score a row. The model predicts an array of shape {scores.shape}. Combine its "
            "columns into one score, and evaluate them as a column of data: predictions='score'."
        )
    return scores.reshape(-1)


def _by_name(setting: str, given: Any) -> dict[str, Any]:
    """Return the columns of a setting by name: their names in the data, or their values."""
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    names = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise LtrTypeError(
            f"{setting} must be the name of a column of data, several names, or a mapping of names to one entry a row. "
            f"Got {wrong!r} among the names."
        )
    return {name: name for name in names}


def _values(X: Any, setting: str, value: Any) -> Any:
    """Return the column that a setting names, or the values that it has."""
    if isinstance(value, str):
        _require_column(X, setting, value)
        return X[value].to_numpy()
    refuse_different_indexes(data=X, **{setting: value})
    return value


def _require_column(X: Any, setting: str, name: Any) -> None:
    """Raise an error if the data have no column of this name."""
    if not hasattr(X, "columns"):
        raise LtrTypeError(
            f"{setting} names the column {name!r}, but data is an array without named columns. Pass a DataFrame."
        )
    if name not in X.columns:
        raise LtrValueError(
            f"{setting} names the column {name!r}, which the data do not have.{did_you_mean(str(name), map(str, X))} "
            f"The columns without targets and predictions are {', '.join(map(str, X))}. Set "
            f"evaluator_config={{'{setting}': ...}}, and leave out feature_names=."
        )
