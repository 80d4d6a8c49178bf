"""Attributes of the fitted estimator that `QueryRanker` has too."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ltr_metrics.sklearn.steps import Steps


def fitted_attribute(name: str, *, per_column: bool = False) -> property:
    """Return a property with an attribute of the fitted estimator, or of a pipeline's last step.

    ``per_column`` says that the attribute has one entry per column, which must be a column of X.
    """

    def get(ranker: Any) -> Any:
        check_is_fitted(ranker, "estimator_")
        steps = Steps(ranker.estimator_)
        value = getattr(steps.last, name)
        if value is None or (per_column and np.ndim(value) == 0):  # CatBoost under ranking losses
            raise AttributeError(f"{type(steps.last).__name__} has no {name} after this training.")
        if per_column and not _keep_columns(steps, ranker):
            raise AttributeError(
                f"{name} of the last step belongs to the columns that the steps before it return, which may "
                "not be those of X. Read it from the last step: estimator_[-1]."
            )
        return value

    return property(get, doc=f"``{name}`` of the fitted estimator, or of a pipeline's last step.")


def _keep_columns(steps: Steps, ranker: Any) -> bool:
    """Whether the last step sees the columns of X, in their order."""
    names = getattr(ranker, "feature_names_in_", [f"x{i}" for i in range(ranker.n_features_in_)])
    return steps.names_seen_by_last(names) == list(names)
