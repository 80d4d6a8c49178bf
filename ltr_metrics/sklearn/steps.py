"""Pipelines: the last step is the estimator that ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.sklearn.columns import n_entries
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
        pairs = list(fit_params.items())
        for pipeline in self.pipelines:
            prefix = f"{pipeline.steps[-1][0]}__"
            pairs = [(name.removeprefix(prefix), value) for name, value in pairs]
        parameters = dict(pairs)
        others = sorted(name for name in parameters if "__" in name) if self.pipelines else []
        if others:
            raise LtrTypeError(
                "QueryRanker passes fit parameters to the last step of a Pipeline alone. Got "
                f"{others[0]}. Pass parameters of the last step with its name or without a prefix. "
                "With metadata routing enabled, other steps get what they request by set_fit_request."
            )
        if len(parameters) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise LtrTypeError(f"{twice} is passed twice, with and without the name of the last step. Pass it once.")
        return parameters

    def fit_transform(self, training: Training) -> Training:
        """Fit the steps before the last one, and return the transformed training data."""
        for pipeline, before in zip(self.pipelines, self.before, strict=True):
            X, y = training.rows["X"], training.rows["y"]
            transformed = before.fit_transform(X, y, **_requested(before, training))
            _refuse_other_rows(X, transformed)
            pipeline.steps = [*before.steps, pipeline.steps[-1]]  # with a memory, copies are fitted
            training = _with_features(training, transformed)
        return training

    def transform(self, X: Any) -> Any:
        """Return X as the last step sees it."""
        for before in self.before:
            transformed = before.transform(X)
            _refuse_other_rows(X, transformed)
            X = transformed
        return X

    def transform_training(self, training: Training) -> Training:
        """Return training data as the last step sees them."""
        return _with_features(training, self.transform(training.rows["X"]))

    def names_seen_by_last(self, names: Iterable[str]) -> list[str] | None:
        """Return the names of the columns that the last step sees, or None if they are unknown."""
        seen = list(names)
        for before in self.before:
            try:
                seen = list(before.get_feature_names_out(seen))
            except (AttributeError, TypeError, ValueError):  # not every step names its columns
                return None
        return seen


def _with_features(training: Training, X: Any) -> Training:
    return replace(training, rows=training.rows | {"X": X})


def _requested(before: Pipeline, training: Training) -> dict[str, Any]:
    """Return the queries and other fit parameters that the steps request by metadata routing."""
    if not get_config()["enable_metadata_routing"]:
        return {}
    offered = {"qid": training.qid} | {name: rows for name, rows in training.rows.items() if name not in ("X", "y")}
    requests = [get_routing_for_object(step) for _, step in before.steps if step not in (None, "passthrough")]
    methods = ("fit", "transform", "fit_transform")
    names = {name for request in requests for method in methods for name in request.consumes(method, offered.keys())}
    return {name: offered[name] for name in names}


def _refuse_other_rows(X: Any, transformed: Any) -> None:
    if n_entries(transformed) != n_entries(X):
        raise LtrValueError(
            "The steps of a Pipeline must keep the rows of X, which belong to queries: "
            f"{n_entries(X)} rows became {n_entries(transformed)}. Drop or resample rows before fit."
        )
