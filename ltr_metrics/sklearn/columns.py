"""Tables as scikit-learn's users have them, and the query of each row: from a column of X, or from a routed ``qid``."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.validation import column_or_1d

from ltr_metrics._engine.checks import AnyArray, as_array, as_numbers
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics._engine.per_query import refuse_bad_weights
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean


def as_table(X: Any) -> Any:
    """Turn what is no table into an array, a matrix that cannot be indexed into one that can."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise LtrValueError(
            f"X must be two-dimensional, a row a document: got shape {X.shape}. Reshape your data, by X.reshape(1, -1) if this is one "
            "document and by X.reshape(-1, 1) if it is one feature."
        )
    return X.tocsr() if hasattr(X, "tocsr") else X


def as_labels(y: Any) -> Any:
    """Return y as a column, and a matrix of one column flat, which scikit-learn warns of."""
    if y is None:
        raise LtrValueError("A ranker requires y to be passed, but the target y is None.")
    y = as_column(y)
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1 else y


def as_weights(sample_weight: Any) -> AnyArray:
    """Return weights as numbers, which are finite, not negative, and not all 0."""
    weights = as_numbers(as_column(sample_weight), "sample_weight")
    refuse_bad_weights(weights, "sample_weight", lambda row: f"row {row}")
    if not weights.any():
        raise LtrValueError("sample_weight must not be zero in every row: then there is nothing to fit.")
    return weights


def as_column(values: Any) -> Any:
    """Return what is no array as one; arrays and columns of tables as they are."""
    return values if hasattr(values, "shape") or hasattr(values, "type") else np.asarray(values)  # Arrow has a type


def n_entries(thing: Any) -> int | None:
    """Return how many entries or rows something has, None for what has none (a number, a text, a function)."""
    if isinstance(thing, (str, bytes)):
        return None
    shape = getattr(thing, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(thing) if hasattr(thing, "__len__") else None


def queries_of(X: Any, routed: Any, column: str | int, who: str) -> AnyArray:
    """Return the id of each row's query, from a routed ``qid`` or from a column of X."""
    in_X = _column(X, column)
    if routed is None and in_X is None:
        raise LtrTypeError(
            f"{who} has no queries: no qid was passed, and X has no column {column!r}{_what_it_has(X, column)} "
            "Keep the queries as a column of X (name it with qid=...), or pass fit(..., qid=qid). In a search or "
            "cross-validation the latter needs sklearn.set_config(enable_metadata_routing=True): without it "
            "scikit-learn passes qid to no scorer. If a scaler stands before QueryRanker, put it inside, "
            "QueryRanker(make_pipeline(StandardScaler(), ...)), or let it keep the names of the columns by "
            "set_output(transform='pandas')."
        )
    if routed is None:
        return as_ids(in_X, f"Column {column!r} of X")
    ids = as_ids(routed, "qid")
    if in_X is not None and not np.array_equal(ids, as_ids(in_X, f"Column {column!r} of X")):
        raise LtrValueError(
            f"{who} got two different sets of queries, one as qid and one as column {column!r} of X. Pass one of them, or name "
            "the column with qid=..."
        )
    return ids


def has_column(X: Any, column: str | int) -> bool:
    """Whether X has the queries' column."""
    return _position(_as_frame(X), column) is not None


def names_of_columns(X: Any) -> list[str]:
    """Return the names of the columns of X, those that scikit-learn gives to columns of an array."""
    frame = _as_frame(X)
    return list(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else [f"x{at}" for at in range(X.shape[1])]


def without_column(X: Any, column: str | int) -> Any:
    """Return X without the queries' column, if it has one."""
    frame = _as_frame(X)
    at = _position(frame, column)
    if at is None:
        return X
    kept = np.delete(np.arange(frame.shape[1]), at)
    return frame[:, kept.tolist()].to_native() if isinstance(frame, nw.DataFrame) else X[:, kept]


def _column(X: Any, column: str | int) -> Any:
    frame = _as_frame(X)
    at = _position(frame, column)
    if at is None:
        return None
    values = frame[:, at].to_numpy() if isinstance(frame, nw.DataFrame) else X[:, [at]]
    return as_array(values.toarray() if hasattr(values, "toarray") else values, f"Column {column!r} of X").ravel()


def _position(frame: Any, column: str | int) -> int | None:
    """Return where the queries' column stands, None if there is none of that name."""
    if isinstance(column, str):
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
        return names.index(column) if column in names else None
    n_columns = frame.shape[1]
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool) or not 0 <= column < n_columns:
        raise LtrValueError(
            f"qid must be the name of a column of X, or its position, 0 to {n_columns - 1}. Got {column!r}."
        )
    return int(column)


def _what_it_has(X: Any, column: str | int) -> str:
    frame = _as_frame(X)
    if not isinstance(frame, nw.DataFrame):
        return f": it is a {type(X).__name__}, whose columns have no names."
    return f".{did_you_mean(str(column), map(str, frame.columns))}"


def _as_frame(X: Any) -> Any:
    """Return a narwhals frame of a table with named columns, anything else as it is."""
    return nw.from_native(X, eager_only=True, pass_through=True)
