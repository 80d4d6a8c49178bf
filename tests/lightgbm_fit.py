"""Validation sets for LGBMRanker.fit, in the form of the LightGBM that is installed."""

from __future__ import annotations

import inspect
from typing import Any

import lightgbm as lgb

HAS_EVAL_X = "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters  # since 4.7, which warns of eval_set


def validation_sets(*parts: tuple[Any, Any]) -> dict[str, Any]:
    """Arguments of ``fit`` for validation sets, each (X, y)."""
    if HAS_EVAL_X:
        return {"eval_X": tuple(X for X, _ in parts), "eval_y": tuple(y for _, y in parts)}
    return {"eval_set": list(parts)}
