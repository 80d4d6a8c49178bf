"""Synthetic ranking data, and a train/test split by whole queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ltr_metrics._rows.checks import (
    AnyArray,
    FloatArray,
    IntArray,
    as_ids,
    as_vector,
    refuse_different_indexes,
    require_count,
    require_fraction,
    take_rows,
)
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.swapped import warn_if_ids_are_labels
from ltr_metrics.errors import LtrValueError

if TYPE_CHECKING:
    # not at run time: NumPy imports numpy.random on first use, which is slow
    Seed = int | np.random.Generator | None

GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # grades 0 to 4, as in MSLR-WEB10K
DOCUMENTS_SPREAD = 0.5  # standard deviation of the logarithm of the number of documents


@explaining_calls
def make_ranking(
    n_queries: int = 200,
    *,
    n_features: int = 20,
    documents: float = 40,
    no_relevant: float = 0.1,
    noise: float = 1.0,
    random_state: Seed = None,
) -> tuple[FloatArray, npt.NDArray[np.int64], IntArray]:
    """Return synthetic learning-to-rank data that resemble real data.

    Query sizes are long-tailed (log-normal). Grades are 0 to 4, and high grades are rare. A third
    of the features explain the grade, each less than the one before, and one of them not linearly.
    A third describe only the query, and do not help to rank its documents. The rest are noise.

    Parameters
    ----------
    n_queries : int, default 200
        Number of queries.
    n_features : int, default 20
        Number of features, at least 3.
    documents : float, default 40
        Median number of documents of a query, at least 1.
    no_relevant : float, default 0.1
        Share of queries, between 0 and 1, whose documents all get grade 0. Some small queries may
        have only grade 0 as well.
    noise : float, default 1.0
        Standard deviation of the part of the relevance that no feature explains, relative to the
        part that the features explain.
    random_state : int, numpy.random.Generator or None
        Random seed. The same seed gives the same data. None gives different data each time.

    Returns
    -------
    X : ndarray of float64 of shape (n_rows, n_features)
        Features, one row per document.
    y : ndarray of int64 of shape (n_rows,)
        Grades 0 to 4.
    qid : ndarray of int of shape (n_rows,)
        Query ids from 1 on, ascending.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a number is out of range.

    See Also
    --------
    train_test_split : Split such data by whole queries.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=3, random_state=0)
    >>> X.shape, int(y.max()), len(set(qid))
    ((134, 20), 4, 3)
    """
    require_count("n_queries", n_queries)
    require_count("n_features", n_features, at_least=3)
    _require(documents >= 1, "documents", "be at least 1", documents)
    _require(0 <= no_relevant <= 1, "no_relevant", "lie between 0 and 1", no_relevant)
    _require(noise >= 0, "noise", "not be negative", noise)
    rng = np.random.default_rng(random_state)
    sizes = np.maximum(1, rng.lognormal(np.log(documents), DOCUMENTS_SPREAD, n_queries)).astype(np.intp)
    query = np.repeat(np.arange(n_queries), sizes)
    X = rng.normal(size=(len(query), n_features))
    n_informative = max(1, n_features // 3)
    query_features = slice(n_informative, 2 * n_informative)
    X[:, query_features] = rng.normal(size=(n_queries, n_informative))[query]

    weights = 1 / np.arange(1.0, n_informative + 1)
    # The first feature is not linear: both its ends are good.
    relevance = X[:, :n_informative] @ weights + 0.5 * np.abs(X[:, 0])
    relevance /= relevance.std() or 1.0
    relevance += noise * rng.normal(size=len(query)) + 0.5 * X[:, n_informative]
    thresholds = np.quantile(relevance, np.cumsum(GRADE_SHARES)[:-1])
    y = np.searchsorted(thresholds, relevance, side="right").astype(np.int64)
    y[np.isin(query, rng.permutation(n_queries)[: round(no_relevant * n_queries)])] = 0
    return X, y, query + 1


@explaining_calls
def train_test_split(
    X: Any, y: Any, qid: Any, *, test_size: float = 0.2, random_state: Seed = None
) -> tuple[Any, Any, Any, Any, AnyArray, AnyArray]:
    """Split rows into a training and a test set by whole queries.

    All rows of a query are in the same set, and rows keep their order.

    Parameters
    ----------
    X : array, sparse matrix or data frame with one row per document
        Features.
    y : array-like of shape (n_rows,)
        Grades, finite and not negative.
    qid : array-like of shape (n_rows,)
        One id per row, in any order, of any hashable type.
    test_size : float, default 0.2
        Share of the *queries* in the test set, strictly between 0 and 1.
    random_state : int, numpy.random.Generator or None
        Random seed. The same seed gives the same split. None gives a different split each time.

    Returns
    -------
    X_train, X_test : as X
        The rows of the two sets, in their order.
    y_train, y_test : as y
        Their grades.
    qid_train, qid_test : ndarray
        Their query ids.

    Raises
    ------
    LtrValueError, LtrTypeError
        If lengths differ, or if one of the two sets would have no query.

    See Also
    --------
    make_ranking : Make synthetic data.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=10, random_state=0)
    >>> X_train, X_test, y_train, y_test, qid_train, qid_test = ltr.train_test_split(X, y, qid, random_state=0)
    >>> len(set(qid_train)), len(set(qid_test)), set(qid_train) & set(qid_test)
    (8, 2, set())
    """
    require_fraction("test_size", test_size, 0.2)
    refuse_different_indexes(X=X, y=y, qid=qid)
    ids = as_ids(qid, "qid")
    labels = as_vector(y, "y", len(ids))
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(ids):
        raise LtrValueError(f"X must have one row for each entry of qid: got {n_rows} rows and {len(ids)} ids.")
    grouping = GroupedRows.of_ids(ids)
    n_queries = grouping.n_queries
    if labels.dtype.kind in "iuf":
        distinct, code = np.unique(labels, return_inverse=True)
        warn_if_ids_are_labels(code, len(distinct), grouping.query_of_rows(), n_queries)
    if n_queries < 2:
        raise LtrValueError(f"A split by whole queries needs at least 2 queries. Got {n_queries}.")
    n_test = min(max(1, round(test_size * n_queries)), n_queries - 1)
    in_test = np.zeros(n_queries, dtype=np.bool_)
    in_test[np.random.default_rng(random_state).permutation(n_queries)[:n_test]] = True
    is_test = in_test[grouping.query_of_rows()]
    sides = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    train_X, test_X, train_y, test_y = (take_rows(table, rows) for table in (X, y) for rows in sides)
    return train_X, test_X, train_y, test_y, ids[sides[0]], ids[sides[1]]


def _require(holds: bool, name: str, rule: str, value: object) -> None:
    if not holds:
        raise LtrValueError(f"{name} must {rule}. Got {value!r}.")
