"""Tables of scikit-learn's users, and the query of each row, from a column or a routed ``qid``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.validation import column_or_1d

from ltr_metrics._rows.checks import AnyArray, as_array, as_ids, as_numbers, has_named_columns, refuse_repeated_names
from ltr_metrics._rows.ids import id_texts
from ltr_metrics._rows.per_query import refuse_bad_weights
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean, warn


def as_table(X: Any) -> Any:
    """Return X as a two-dimensional table whose rows can be selected."""
    has_rows = hasattr(X, "shape") and (hasattr(X, "__getitem__") or hasattr(X, "tocsr"))  # a host's data set has none
    table = X if has_rows else np.asarray(X)
    if len(table.shape) != 2:
        raise LtrValueError(
            f"X must be two-dimensional, with one row per document: got a {type(X).__name__} of shape {table.shape}. "
            "Reshape your data with X.reshape(1, -1) if this is one document, or X.reshape(-1, 1) if it is one feature."
        )
    return table.tocsr() if hasattr(table, "tocsr") else table


def as_labels(y: Any) -> Any:
    """Return y as a column. A matrix of one column is flattened with scikit-learn's warning."""
    if y is None:
        raise LtrValueError("A ranker requires y to be passed, but the target y is None.")
    y = as_column(y)
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1 else y


def as_weights(sample_weight: Any) -> AnyArray:
    """Return weights as numbers, and require them to be finite, not negative, and not all 0."""
    weights = as_numbers(as_column(sample_weight), "sample_weight")
    refuse_bad_weights(weights, "sample_weight", lambda row: f"row {row}")
    if not weights.any():
        raise LtrValueError("sample_weight must not be zero in every row, because nothing could be fitted.")
    return weights


def as_column(values: Any) -> Any:
    """Return an array or a column of a table as it is, and anything else as an array."""
    return values if hasattr(values, "shape") or hasattr(values, "type") else np.asarray(values)  # type: Arrow


def n_entries(value: Any) -> int | None:
    """Return the number of entries or rows, or None for what has no order (a number, a text, a function, a dict)."""
    if isinstance(value, (str, bytes, Mapping, AbstractSet)):
        return None
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(value) if hasattr(value, "__len__") else None


def queries_of(X: Any, routed: Any, column: str | int, caller: str) -> AnyArray:
    """Return the query id of each row, from a routed ``qid`` or from a column of X."""
    values = _column(X, column)
    if routed is None and values is None:
        raise LtrTypeError(
            f"{caller} has no queries: no qid was passed, and X has no column {column!r}{_describe_columns(X, column)} "
            "Keep the queries as a column of X (name it with qid=...), or pass fit(..., qid=qid) and "
            "score(..., qid=qid). In a search or cross-validation, fit(..., qid=qid) needs "
            "sklearn.set_config(enable_metadata_routing=True), because otherwise scikit-learn does not pass qid to "
            "scorers. If there is a scaler before QueryRanker, put it inside, "
            "QueryRanker(make_pipeline(StandardScaler(), ...)), or make it keep the names of the columns with "
            "set_output(transform='pandas')."
        )
    if routed is None:
        return as_ids(values, f"Column {column!r} of X")
    ids = as_ids(routed, "qid")
    if values is not None and id_texts(ids) != id_texts(as_ids(values, f"Column {column!r} of X")):
        raise LtrValueError(
            f"{caller} got two different sets of queries, one as qid and one as column {column!r} of X. Pass one of "
            "them, or name the column with qid=..."
        )
    return ids


def names_of_columns(X: Any) -> list[str]:
    """Return the names of the columns of X. An array has scikit-learn's: x0, x1, ..."""
    frame = _as_frame(X)
    return list(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else [f"x{i}" for i in range(X.shape[1])]


def columns_by_name(columns: Any) -> dict[str, str | int]:
    """Return the column of X for each name that metrics use, given names or a mapping."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return dict(columns)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise LtrTypeError(
            "columns must be names of columns of X, such as ['revenue'], or a mapping of names to columns, such as "
            f"{{'revenue': 5}} for an array. Got {columns!r}."
        )
    return {name: name for name in columns}


def read_columns(X: Any, columns: Mapping[str, str | int], caller: str) -> dict[str, Any]:
    """Return columns of X by the names that metrics use."""
    read = {}
    for name, column in columns.items():
        values = _column(X, column, "A column in columns=")
        if values is None:
            raise LtrValueError(
                f"{caller} reads the column {column!r} of X, which X does not have"
                f"{_describe_columns(X, column)} Keep it in X, and hide it from the estimator with "
                f"QueryRanker(columns=[{column!r}])."
            )
        read[name] = values
    return read


def without_columns(X: Any, columns: Iterable[str | int]) -> Any:
    """Return X without some columns, if it has them."""
    frame = _as_frame(X)
    positions = [position for column in columns if (position := _position(frame, column)) is not None]
    if not positions:
        return X
    kept = np.delete(np.arange(frame.shape[1]), positions)
    return frame[:, kept.tolist()].to_native() if isinstance(frame, nw.DataFrame) else X[:, kept]


def warn_of_ids_among_features(features: Any, ids: AnyArray) -> None:
    """Warn if the ids are passed as ``qid`` and are a feature as well, as in `RFE`, which removes names of columns."""
    feature = _column_of_ids(features, ids) if (ids != ids[0]).any() else None
    if feature is not None:
        warn(
            f"{'A column' if isinstance(feature, int) else f'Column {feature!r}'} of X holds the ids that are passed "
            "as qid, and the estimator is trained on it as on a feature. Leave the column out of X. RFE and RFECV take "
            "the names of columns away, so their X must not have it."
        )


def _column_of_ids(features: Any, ids: AnyArray) -> str | int | None:
    """Return the name or the position of the first column that holds the ids, if there is one."""
    frame = _as_frame(features)
    columns: Iterable[tuple[str | int, AnyArray]]
    if isinstance(frame, nw.DataFrame):
        first, names = frame.row(0), frame.columns
        columns = ((name, frame[name].to_numpy()) for name, value in zip(names, first, strict=True) if value == ids[0])
    elif isinstance(features, np.ndarray):
        columns = ((at, features[:, at]) for at in np.flatnonzero(features[0] == ids[0]).tolist())
    else:
        return None
    return next((name for name, values in columns if np.array_equal(values, ids)), None)


def has_column(X: Any, column: str | int) -> bool:
    """Whether X has a column of this name; one that is given by its position is always there."""
    return _position(_as_frame(X), column) is not None


def _column(X: Any, column: str | int, what: str = "qid") -> Any:
    frame = _as_frame(X)
    position = _position(frame, column, what)
    if position is None:
        return None
    values = frame[:, position].to_numpy() if isinstance(frame, nw.DataFrame) else X[:, [position]]
    return as_array(values.toarray() if hasattr(values, "toarray") else values, f"Column {column!r} of X").ravel()


def _position(frame: Any, column: str | int, what: str = "qid") -> int | None:
    """Return the position of a column, or None if no column has its name."""
    if isinstance(column, str):
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
        return names.index(column) if column in names else None
    n_columns = frame.shape[1]
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool) or not 0 <= column < n_columns:
        raise LtrValueError(
            f"{what} must be the name of a column of X, or its position, 0 to {n_columns - 1}. Got {column!r}."
        )
    return int(column)


def _describe_columns(X: Any, column: str | int) -> str:
    frame = _as_frame(X)
    if not isinstance(frame, nw.DataFrame):
        return f": it is a {type(X).__name__}, whose columns have no names."
    return f".{did_you_mean(str(column), map(str, frame.columns))}"


def _as_frame(X: Any) -> Any:
    """Return a table with named columns as a narwhals frame, and anything else as it is."""
    if has_named_columns(X):
        refuse_repeated_names(X, "X")
    return nw.from_native(X, eager_only=True, pass_through=True)
