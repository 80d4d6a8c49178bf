"""scikit-learn: `make_scorer` for searches and cross-validation, `QueryRanker` to make rankers work there.

Folds must keep queries whole: ``cv=GroupKFold()`` with ``groups=qid``. The queries come from a column of X, or, with
scikit-learn's metadata routing enabled, from ``qid=`` passed to ``fit``; scorer and ranker request it without being told.

``HalvingGridSearchCV`` needs ``resource="estimator__n_estimators"``: by default it draws rows, which cuts queries, and neither
scorer nor ranker can see that.
"""

from __future__ import annotations

from ltr_metrics.errors import MissingExtraError

try:
    import narwhals.stable.v1  # noqa: F401
    import sklearn.base  # noqa: F401
except ImportError as error:
    raise MissingExtraError("scikit-learn", "sklearn") from error

from ltr_metrics.sklearn.ranker import QueryRanker
from ltr_metrics.sklearn.scorer import QueryScorer, make_scorer

__all__ = ["QueryRanker", "QueryScorer", "make_scorer"]
