"""scikit-learn: `make_scorer` for searches and cross-validation, `QueryRanker` for rankers in them.

Folds must keep queries whole: use ``cv=GroupKFold()`` with ``groups=qid``. The queries come from a
column of X. If scikit-learn's metadata routing is enabled, they may also come from ``qid=`` of
``fit``. Scorer and ranker request it by default.

``HalvingGridSearchCV`` needs ``resource="estimator__n_estimators"``. By default it draws rows and
cuts queries, which neither scorer nor ranker can detect.
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


def __dir__() -> list[str]:
    return list(__all__)
