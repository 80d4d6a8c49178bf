"""Attributes of the fitted estimator that `QueryRanker` shows as its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ltr_metrics.sklearn.steps import Steps


def of_the_fitted_estimator(name: str, *, of_columns: bool = False) -> property:
    """Return a property with an attribute of the fitted estimator, or of a pipeline's last step.

    ``of_columns``: the attribute has an entry for each column, which must be a column of X.
    """

    def get(ranker: Any) -> Any:
        check_is_fitted(ranker, "estimator_")
        steps = Steps(ranker.estimator_)
        value = getattr(steps.last, name)
        if value is None or (of_columns and np.ndim(value) == 0):  # CatBoost under ranking losses
            raise AttributeError(f"{type(steps.last).__name__} has no {name} after this training.")
        if of_columns and not _keep_columns(steps, ranker):
            raise AttributeError(
                f"{name} of the last step belongs to the columns that the steps before it return, which "
                "are not known to be those of X. Read it from the last step: estimator_[-1]."
            )
        return value

    return property(get, doc=f"``{name}`` of the fitted estimator, or of a pipeline's last step.")


def _keep_columns(steps: Steps, ranker: Any) -> bool:
    """Whether the last step sees the columns of X, in their order."""
    names = getattr(ranker, "feature_names_in_", [f"x{at}" for at in range(ranker.n_features_in_)])
    return steps.names_seen_by_last(names) == list(names)
