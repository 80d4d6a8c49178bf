"""The rounds of a CatBoost model.

CatBoost's ``staged_predict`` adds the trees of each stage to the last scores, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import catboost
import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray
from ltr_metrics.catboost.catboost_validation import sizes_of_pool
from ltr_metrics.errors import LtrValueError
from ltr_metrics.logs.fitted_model import Fitted, naming_host, require_table


def rounds_of(model: Any, X: Any) -> Fitted:
    """Return the rounds of a fitted model, and the queries that X has."""
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

    has_queries = isinstance(X, catboost.Pool) and X.get_group_id_hash() is not None
    queries = {"group": sizes_of_pool(X)} if has_queries else {}
    return Fitted(model.tree_count_, int(X.shape[0]), rounds, queries)


def _stages(model: Any, X: Any) -> Iterator[AnyArray]:
    """Yield the raw scores after each tree.

    The method of `catboost.CatBoost` is used, since that of a classifier gives classes.
    """
    with naming_host("CatBoost", catboost.CatBoostError):
        yield from catboost.CatBoost.staged_predict(model, X, prediction_type="RawFormulaVal", eval_period=1)
