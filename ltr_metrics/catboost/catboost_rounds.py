"""The rounds of a CatBoost model.

CatBoost's ``staged_predict`` adds the trees of each stage to the last scores, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import catboost
import numpy as np

from ltr_metrics._hosts.fitted_model import Fitted, naming_host, require_table
from ltr_metrics._rows.checks import AnyArray, FloatArray
from ltr_metrics.catboost.catboost_validation import as_target, sizes_of_pool
from ltr_metrics.errors import LtrValueError


def rounds_of(model: Any, X: Any) -> Fitted:
    """Return the rounds of a fitted model, and what X holds of its rows."""
    if isinstance(X, catboost.Pool) and np.size(X.get_baseline()):
        raise LtrValueError(
            "The Pool has a baseline, with which CatBoost's staged_predict ends the process. Make a Pool without it, "
            "and pass the baseline as base_margin=."
        )
    require_table(X, ", a Pool")

    def rounds(stops: Sequence[int], start: FloatArray | None) -> Iterator[AnyArray]:
        wanted = set(stops)
        for n_trees, scores in enumerate(_stages(model, X), start=1):
            if n_trees in wanted:
                yield scores if start is None else start + scores

    return Fitted(model.tree_count_, int(X.shape[0]), rounds, _carried(X) if isinstance(X, catboost.Pool) else {})


def _carried(pool: catboost.Pool) -> dict[str, Any]:
    """Return the labels, weights and queries of a Pool. It lets nobody read its ``group_weight``."""
    carried: dict[str, Any] = {} if pool.get_label() is None else {"y": as_target(pool.get_label())}
    weight = np.asarray(pool.get_weight())
    if (weight != 1).any():  # a Pool without weights has ones
        carried["sample_weight"] = weight
    if pool.get_group_id_hash() is not None:
        carried["group"] = sizes_of_pool(pool)
    return carried


def _stages(model: Any, X: Any) -> Iterator[AnyArray]:
    """Yield the raw scores after each tree.

    The method of `catboost.CatBoost` is used, since that of a classifier gives classes.
    """
    with naming_host("CatBoost", catboost.CatBoostError):
        yield from catboost.CatBoost.staged_predict(model, X, prediction_type="RawFormulaVal", eval_period=1)
