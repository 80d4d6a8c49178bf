"""Pipelines: the last step is the estimator that ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from ltr_metrics.errors import LtrTypeError
from ltr_metrics.sklearn.training import Training


class Steps:
    """The pipelines around an estimator, and the estimator itself.

    ``last`` is the last step of the innermost pipeline. A fitted search is replaced by its best
    estimator.
    """

    def __init__(self, estimator: Any) -> None:
        self.pipelines: list[Pipeline] = []
        while hasattr(estimator, "best_estimator_") or isinstance(estimator, Pipeline):
            if isinstance(estimator, Pipeline):
                self.pipelines += [estimator] if len(estimator) > 1 else []
                estimator = estimator[-1]
            else:
                estimator = estimator.best_estimator_
        self.last = estimator

    @property
    def before(self) -> list[Pipeline]:
        """The steps before the last one of each pipeline."""
        return [pipeline[:-1] for pipeline in self.pipelines]

    def parameters_of_last(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return fit parameters without the prefix of the last step.

        Parameters of other steps are an error.
        """
        parameters: dict[str, Any] = {}
        for name, value in fit_params.items():
            for pipeline in self.pipelines:
                name = name.removeprefix(f"{pipeline.steps[-1][0]}__")
            if self.pipelines and "__" in name:
                raise LtrTypeError(
                    f"QueryRanker passes fit parameters to the last step of a Pipeline only. Got {name}. Pass "
                    "parameters of the last step with its name or without a prefix. With metadata routing enabled, "
                    "other steps get what they request by set_fit_request."
                )
            parameters[name] = value
        return parameters

    def fit_transform(self, training: Training) -> Training:
        """Fit the steps before the last one, and return the transformed training data."""
        for pipeline, before in zip(self.pipelines, self.before, strict=True):
            X = before.fit_transform(training.rows["X"], training.rows["y"], **_requested(before, training))
            pipeline.steps = [*before.steps, pipeline.steps[-1]]  # with a memory, copies are fitted
            training = training.with_features(X)
        return training

    def transform(self, X: Any) -> Any:
        """Return X as the last step sees it."""
        for before in self.before:
            X = before.transform(X)
        return X

    def names_seen_by_last(self, names: Iterable[str]) -> list[str] | None:
        """Return the names of the columns that the last step sees, or None if they are unknown."""
        seen = list(names)
        for before in self.before:
            try:
                seen = list(before.get_feature_names_out(seen))
            except (AttributeError, TypeError, ValueError):  # not every step names its columns
                return None
        return seen


def _requested(before: Pipeline, training: Training) -> dict[str, Any]:
    """Return the queries and other fit parameters that the steps request by metadata routing."""
    if not get_config()["enable_metadata_routing"]:
        return {}
    offered = {"qid": training.qid} | {name: rows for name, rows in training.rows.items() if name not in ("X", "y")}
    requests = [get_routing_for_object(step) for _, step in before.steps if step not in (None, "passthrough")]
    methods = ("fit", "transform", "fit_transform")
    names = {name for request in requests for method in methods for name in request.consumes(method, offered.keys())}
    return {name: offered[name] for name in names}
