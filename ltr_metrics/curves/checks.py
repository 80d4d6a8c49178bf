"""What the hosts' models have in common: reasons to refuse one."""

from __future__ import annotations

from typing import Any

from ltr_metrics.errors import LtrTypeError, LtrValueError


def refuse_unfitted(model: object) -> LtrValueError:
    """Return the error for a model that is not fitted."""
    return LtrValueError(f"The {type(model).__name__} is not fitted, so it has no rounds: call fit first.")


def refuse_several_scores(n_scores: int) -> LtrValueError:
    """Return the error for a model with several classes or targets."""
    return LtrValueError(
        f"A ranking needs one score a row. The model gives {n_scores}: it was trained on several classes or targets."
    )


def refuse_dart() -> LtrValueError:
    """Return the error for a dart model."""
    return LtrValueError(
        "A dart booster has no learning curve after the fact: each round scales down earlier trees, so the first t "
        "trees of the final model are not the model after t rounds. Record a log during the training: "
        "ltr_metrics.lightgbm.feval(..., log=log), or ltr_metrics.xgboost.Monitor(..., log=log)."
    )


def require_table(X: Any, own: str = "") -> None:
    """Refuse what has no rows and features, such as another host's data set."""
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        raise LtrTypeError(
            f"X must be a table of features, as for predict: an array, a sparse matrix{own} or a data frame. Got "
            f"a {type(X).__name__}{f' of shape {shape}' if shape else ''}."
        )


def require_features(n: int, n_expected: int) -> None:
    """Refuse X with another number of features, which a host might treat as missing values."""
    if n != n_expected:
        raise LtrValueError(f"X has {n} features, and the model was trained on {n_expected}.")
