"""What ``evaluator_config`` may hold, and what it selects from the data: queries and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ltr_metrics._hosts.log_names import Names
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, resolve


@dataclass(frozen=True)
class Settings:
    """The keys of ``evaluator_config``, which `RankerEvaluator` documents, with their defaults."""

    qid: str = "qid"
    metrics: Metrics | None = None
    ties: TiePolicy | None = None
    no_relevant: NoRelevant | float | None = None
    convention: ConventionName | Convention | None = None
    names: Names = "slug"
    sample_weight: str | None = None
    docid: str | None = None
    by: str | Sequence[str] = ()
    features: Sequence[str] | None = None
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
    def columns(self) -> dict[str, Sequence[Any]]:
        """The names of the columns that describe queries and documents, by setting; they are not features."""
        by = (self.by,) if isinstance(self.by, str) else self.by or ()
        optional = {name: [value] for name in ("sample_weight", "docid") if (value := getattr(self, name)) is not None}
        return {"qid": [self.qid], **optional, "by": by, "metrics": resolve(self.metrics, **self.policy).needed_columns}

    def queries(self, dataset: Any) -> Queries:
        """Return the labels of MLflow's data set by query."""
        X = dataset.features_data
        if dataset.labels_data is None:
            raise LtrValueError("The data have no grades. Name their column: mlflow.models.evaluate(targets='label').")
        if not hasattr(X, "columns"):
            raise LtrTypeError(f"data must be a DataFrame, whose columns the settings name. Got a {type(X).__name__}.")
        for setting, names in (self.columns | {"features": self.features or ()}).items():
            _require_columns(X, setting, names)
        column: dict[Any, Any] = {name: X[name].to_numpy() for names in self.columns.values() for name in names}
        return Queries(
            dataset.labels_data,
            qid=column[self.qid],
            sample_weight=column.get(self.sample_weight),
            docid=column.get(self.docid),
            by={name: column[name] for name in self.columns["by"]} or None,
            columns={name: column[name] for name in self.columns["metrics"]} or None,
        )


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
        return X[list(settings.features)]
    metadata = getattr(model, "metadata", None)  # a function has none
    schema = None if metadata is None else metadata.get_input_schema()
    if schema is None or not schema.has_input_names():
        return X.drop(columns=[name for names in settings.columns.values() for name in names])
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
            f"A ranking needs one score per row. The model predicts an array of shape {scores.shape}. Combine its "
            "columns into one score, and evaluate them as a column of data: predictions='score'."
        )
    return scores.reshape(-1)


def _require_columns(X: Any, setting: str, names: Sequence[Any]) -> None:
    """Raise an error if the data lack one of the columns."""
    missing = next((name for name in names if name not in X.columns), None)
    if missing is not None:
        raise LtrValueError(
            f"{setting} names the column {missing!r}, which the data do not have."
            f"{did_you_mean(str(missing), map(str, X))} The columns without targets and predictions are "
            f"{', '.join(map(str, X))}. Set evaluator_config={{'{setting}': ...}}, and leave out feature_names=."
        )
