"""What ``evaluator_config`` may hold, and the columns of the data that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ltr_metrics._engine.checks import refuse_different_indexes
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics._hosts.log_names import Names
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics


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
    metric_prefix: str = ""

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | None) -> Settings:
        """Check the names of the settings; their values are checked where they are used."""
        known = [field.name for field in fields(cls)]
        for key in config or {}:
            if key not in known:
                raise LtrValueError(
                    f"evaluator_config has no setting {key!r} for rankers.{did_you_mean(str(key), known)} The "
                    f"settings are {', '.join(known)}."
                )
        settings = cls(**(config or {}))
        if not isinstance(settings.metric_prefix, str):
            raise LtrTypeError(f"metric_prefix must be text, such as 'test_'. Got {settings.metric_prefix!r}.")
        return settings

    @property
    def policy(self) -> dict[str, Any]:
        """The options of an evaluation."""
        return {"ties": self.ties, "no_relevant": self.no_relevant, "convention": self.convention}

    @property
    def columns_of_queries(self) -> list[str]:
        """The named columns that describe queries and documents, which are not features."""
        values = [self.qid, self.sample_weight, self.docid, *_segmentations(self.by).values()]
        return [value for value in values if isinstance(value, str)]

    def queries(self, dataset: Any) -> Queries:
        """Return the labels of MLflow's data set by query."""
        if dataset.labels_data is None:
            raise LtrValueError(
                "The data have no grades. Name their column: mlflow.models.evaluate(..., targets='label')."
            )
        if self.qid is None:
            raise LtrValueError("qid must be the name of a column of data, or one id a row. Got None.")
        values = {name: _values(dataset, name, getattr(self, name)) for name in ("qid", "sample_weight", "docid")}
        by = {name: _values(dataset, "by", value) for name, value in _segmentations(self.by).items()}
        return Queries(dataset.labels_data, **values, by=by or None)


def _segmentations(by: Any) -> dict[str, Any]:
    """Return the segmentations by name."""
    if by is None:
        return {}
    if isinstance(by, Mapping):
        return {str(name): value for name, value in by.items()}
    names = list(by) if isinstance(by, (list, tuple)) else [by]
    for name in names:
        if not isinstance(name, str):
            raise LtrTypeError(
                f"by must be the name of a column of data, several names, or a mapping of names to one label a row. "
                f"Got {name!r} among the names."
            )
    return {name: name for name in names}


def _values(dataset: Any, setting: str, value: Any) -> Any:
    """Return the column that a setting names, or the values that it has."""
    X = dataset.features_data
    if not isinstance(value, str):
        refuse_different_indexes(data=X, **{setting: value})
        return value
    if not hasattr(X, "columns"):
        raise LtrTypeError(
            f"{setting} names the column {value!r}, but data is an array without named columns. Pass a DataFrame as "
            f"data, or the values: evaluator_config={{'{setting}': values}}."
        )
    if value not in X.columns:
        raise LtrValueError(
            f"{setting} names the column {value!r}, which the data do not have.{did_you_mean(value, map(str, X))} "
            f"The columns without targets and predictions are {', '.join(map(str, X))}. Set "
            f"evaluator_config={{'{setting}': ...}}, and leave out feature_names=."
        )
    return X[value].to_numpy()
