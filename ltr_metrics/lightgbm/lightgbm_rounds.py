"""The rounds of a LightGBM model.

LightGBM can predict single trees, but each call reads all rows and converts data frames again. So
we ask for the leaves of many trees in one call, and add the outputs of the leaves tree by tree, in
float64, as the training does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import lightgbm
import numpy as np

from ltr_metrics._hosts.fitted_model import Fitted, naming_host, refuse_dart, refuse_several_scores, require_table
from ltr_metrics._hosts.host_data import require_features
from ltr_metrics._rows.checks import AnyArray, FloatArray, has_named_columns, named_columns
from ltr_metrics.errors import LtrValueError

CELLS = 1 << 22  # rows x trees in one call; LightGBM takes 12 bytes for each
MIN_TREES = 8  # in one call, if there are many rows
LEAF_VALUES = re.compile("^leaf_value=(.*)$", re.MULTILINE)


def rounds_of(model: Any, X: Any) -> Fitted:
    """Return the rounds of a Booster or of a fitted estimator."""
    booster = model if isinstance(model, lightgbm.Booster) else model.booster_
    if booster.num_model_per_iteration() > 1:
        raise refuse_several_scores(booster.num_model_per_iteration())
    require_table(X)
    require_features(X.shape[1], booster.num_feature())
    _refuse_other_names(X, booster.feature_name())
    if is_dart(booster):
        raise refuse_dart()
    head = booster.model_to_string(num_iteration=1)
    n_rows, averages = int(X.shape[0]), "\naverage_output\n" in head

    def rounds(stops: Sequence[int], start: FloatArray | None) -> Iterator[AnyArray]:
        wanted = set(stops)
        first = np.zeros(n_rows) if start is None else start
        scores = np.zeros(n_rows) if averages else first.copy()
        for n_trees, output in enumerate(_outputs(booster, X), start=1):
            scores += output
            if n_trees in wanted:
                yield first + scores / n_trees if averages else scores

    return Fitted(booster.current_iteration(), n_rows, rounds)


def is_dart(booster: lightgbm.Booster) -> bool:
    """Whether the training of a booster, which has at least one round, rescales the trees of earlier rounds."""
    return "\n[boosting: dart]\n" in booster.model_to_string(num_iteration=1)


def _outputs(booster: Any, X: Any) -> Iterator[FloatArray]:
    """Yield the output of each tree, one for each row."""
    n_rows, n_rounds = X.shape[0], booster.current_iteration()
    n_trees = max(MIN_TREES, CELLS // max(n_rows, 1))
    for first in range(0, n_rounds, n_trees):
        span = {"start_iteration": first, "num_iteration": min(n_trees, n_rounds - first)}
        text = booster.model_to_string(**span)
        if "\nis_linear=1\n" in text:  # the output of a leaf depends on the row
            for tree in range(first, first + span["num_iteration"]):
                yield _predict(booster, X, raw_score=True, start_iteration=tree, num_iteration=1)
            continue
        leaves = _predict(booster, X, pred_leaf=True, **span).reshape(n_rows, -1)
        for j, values in enumerate(LEAF_VALUES.findall(text)):
            yield np.array(values.split(), dtype=np.float64)[leaves[:, j]]


def _predict(booster: Any, X: Any, **options: Any) -> Any:
    with naming_host("LightGBM", ValueError, TypeError, lightgbm.basic.LightGBMError):
        return booster.predict(X, **options)


def _refuse_other_names(X: Any, known: Sequence[str]) -> None:
    """Compare the names of columns with those of the training, which LightGBM ignores."""
    if not has_named_columns(X) or list(known) == [f"Column_{i}" for i in range(len(known))]:
        return
    names = [name.replace(" ", "_") for name in named_columns(X, "X")]  # as LightGBM does
    for i, (name, expected) in enumerate(zip(names, known, strict=True)):
        if name != expected:
            raise LtrValueError(
                f"X must have the columns of the training in their order: column {i} is {name!r}, and the model was "
                f"trained on {expected!r} there. Select them by name, or pass an array."
            )
