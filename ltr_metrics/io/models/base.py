"""A model from a file of any host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, as_array, has_named_columns, named_columns
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean

ROWS_AT_ONCE = 1 << 16  # a host's copy of this many rows is small compared with X


@dataclass(frozen=True, eq=False)
class Model:
    """A model that was read from a file once, and scores any number of batches of rows.

    Attributes
    ----------
    path : Path
    host : {"lightgbm", "xgboost"}
    n_features : int
    feature_names : tuple of str or None
        In the order of the training; None if the file has no names.
    """

    path: Path
    host: str
    n_features: int
    feature_names: tuple[str, ...] | None
    score_rows: Callable[[Any], AnyArray] = field(repr=False)  # from a feature matrix to raw scores
    booster: Any = field(default=None, repr=False)  # of the host, with all rounds that the file has

    def predict(self, X: Any) -> FloatArray:
        """Return the raw scores of rows; see `ltr_metrics.io.models.predict`."""
        columns = self._columns(X) if has_named_columns(X) else None
        n_rows = X.shape[0] if columns is None else len(columns[0])
        if columns is None:
            self._require_matrix(X)
        scores = np.empty(n_rows)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, n_rows))
            scores[rows] = self.score_rows(X[rows] if columns is None else _matrix(columns, rows))
        return scores

    def matrix(self, X: Any) -> Any:
        """Return the features of rows as the booster takes them."""
        if has_named_columns(X):
            columns = self._columns(X)
            return _matrix(columns, slice(0, len(columns[0])))
        X = X if hasattr(X, "shape") else as_array(X, "X")
        self._require_matrix(X)
        return X

    def _require_matrix(self, X: Any) -> None:
        if X.ndim != 2:
            raise LtrValueError(f"X must have two dimensions, rows and features. Got shape {X.shape}.")
        self.require_features(X.shape[1])

    def require_features(self, n: int) -> None:
        """Refuse data with another number of features."""
        if n != self.n_features:
            raise LtrValueError(
                f"The model {self.path} has {self.n_features} features, the data have {n}. If the last features are "
                "absent from these rows, pass the number of features to read_letor (n_features=, --n-features). If "
                "feature numbers start at 0, pass zero_based=True (--zero-based)."
            )

    def names(self) -> tuple[str, ...]:
        """Return the names of the features; raise an error if the file has no names."""
        if self.feature_names is None:
            raise LtrValueError(
                f"The model {self.path} was saved without names of features, so columns of a table cannot be matched "
                "with them. Pass an array with its columns in the order of the training."
            )
        return self.feature_names

    def _columns(self, X: Any) -> list[AnyArray]:
        """Return the columns of the model's features by name, in the model's order."""
        names = self.names()
        columns = named_columns(X, "X")
        missing = [name for name in names if name not in columns]
        if missing:
            raise LtrValueError(
                f"The data lack the model's feature {missing[0]!r}, {len(missing)} in all ({self.path})."
                f"{did_you_mean(missing[0], columns)}"
            )
        return [self._numbers(columns[name], name) for name in names]

    def _numbers(self, column: Any, name: str) -> AnyArray:
        """Return the numbers of a feature; a missing value is NaN, as in the hosts."""
        values = as_array(column, f"X[{name!r}]")
        if values.dtype.kind in "biuf":
            return values
        if values.dtype == object:
            try:
                return np.array([_number(value) for value in values.tolist()], dtype=np.float64)
            except (TypeError, ValueError):
                pass
        raise LtrTypeError(
            f"The feature {name!r} of the model {self.path} must be a column of numbers. "
            f"Got dtype {getattr(column, 'dtype', values.dtype)}."
        )


def refuse_several(path: Path, n_scores: int) -> None:
    """Refuse a model with several classes or targets."""
    if n_scores > 1:
        raise LtrValueError(f"The model {path} gives {n_scores} scores a row, but a ranking needs one.")


def refuse_categories(path: Path, what: str) -> None:
    """Refuse a model with category codes, which only the data frame of the training defines."""
    raise LtrValueError(
        f"The model {path} was trained on {what}, whose codes are not in a data file. Score the rows with "
        "predict(frame) where the model was trained, and pass the scores as a column."
    )


def _matrix(columns: list[AnyArray], rows: slice) -> FloatArray:
    matrix = np.empty((rows.stop - rows.start, len(columns)))
    for j, column in enumerate(columns):
        matrix[:, j] = column[rows]
    return matrix


def _number(value: Any) -> float:
    if value is None or str(value) == "<NA>":
        return np.nan
    if isinstance(value, (str, bytes)):
        raise TypeError
    return float(value)
