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

from ltr_metrics._engine.checks import AnyArray, FloatArray, has_named_columns, named_columns
from ltr_metrics.curves import (
    QueriesOfX,
    Rounds,
    refuse_dart,
    refuse_several_scores,
    refuse_unfitted,
    require_features,
    require_table,
)
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn

CELLS = 1 << 22  # rows x trees in one call; LightGBM takes 12 bytes for each
MIN_TREES = 8  # in one call, if there are many rows
SHRINKAGE = re.compile("^shrinkage=(.*)$", re.MULTILINE)
LEAF_VALUES = re.compile("^leaf_value=(.*)$", re.MULTILINE)


def rounds_of(model: Any, X: Any) -> tuple[int, int, Rounds, QueriesOfX]:
    """Return the number of rounds and of rows, the rounds, and the queries that X has."""
    booster = _booster_of(model)
    if booster.num_model_per_iteration() > 1:
        raise refuse_several_scores(booster.num_model_per_iteration())
    require_table(X)
    require_features(X.shape[1], booster.num_feature())
    _refuse_other_names(X, booster.feature_name())
    head = booster.model_to_string(num_iteration=1)
    if "\n[boosting: dart]\n" in head:
        raise refuse_dart()
    n_rows, averages = int(X.shape[0]), "\naverage_output\n" in head

    def rounds(stops: Sequence[int], start: FloatArray | None) -> Iterator[AnyArray]:
        wanted = set(stops)
        first = np.zeros(n_rows) if start is None else start
        scores = np.zeros(n_rows) if averages else first.copy()
        for n_trees, output in enumerate(_outputs(booster, X), start=1):
            scores += output
            if n_trees in wanted:
                yield first + scores / n_trees if averages else scores

    return booster.current_iteration(), n_rows, rounds, {}


def _outputs(booster: Any, X: Any) -> Iterator[FloatArray]:
    """Yield the output of each tree, one for each row."""
    n_rows, n_rounds = X.shape[0], booster.current_iteration()
    n_trees = max(MIN_TREES, CELLS // max(n_rows, 1))
    rates: list[float] = []
    for first in range(0, n_rounds, n_trees):
        span = {"start_iteration": first, "num_iteration": min(n_trees, n_rounds - first)}
        text = booster.model_to_string(**span)
        rates += map(float, SHRINKAGE.findall(text))
        if "\nis_linear=1\n" in text:  # the output of a leaf depends on the row
            for tree in range(first, first + span["num_iteration"]):
                yield _predict(booster, X, raw_score=True, start_iteration=tree, num_iteration=1)
            continue
        leaves = _predict(booster, X, pred_leaf=True, **span).reshape(n_rows, -1)
        for j, values in enumerate(LEAF_VALUES.findall(text)):
            yield np.array(values.split(), dtype=np.float64)[leaves[:, j]]
    if rates != sorted(rates, reverse=True):
        _warn_of_dart(rates)


def _warn_of_dart(rates: list[float]) -> None:
    """Warn of trees that dart may have scaled: a model that gbdt continued says nothing of its dart rounds."""
    tree = next(i for i in range(1, len(rates)) if rates[i] > rates[i - 1])
    warn(
        f"The learning rates of this model's trees rise from {rates[tree - 1]:g} to {rates[tree]:g} at tree {tree} "
        "(counted from 0). If its training continued a dart model, this curve is not that of the dart rounds, whose "
        "trees were scaled down later: record a log during the training instead, by ltr_metrics.lightgbm.feval(..., "
        "log=log). If the learning rate rose on purpose, the curve is right."
    )


def _predict(booster: Any, X: Any, **options: Any) -> Any:
    try:
        return booster.predict(X, **options)
    except (ValueError, TypeError, lightgbm.basic.LightGBMError) as error:  # types that it does not take
        raise LtrValueError(f"LightGBM cannot predict X: {error}") from None


def _booster_of(model: Any) -> Any:
    if isinstance(model, lightgbm.Booster):
        return model
    if isinstance(model, lightgbm.LGBMModel):
        if not model.__sklearn_is_fitted__():
            raise refuse_unfitted(model)
        return model.booster_
    raise LtrTypeError(
        f"learning_curve needs one model of LightGBM, a Booster or an estimator. Got {type(model).__name__}."
    )


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
