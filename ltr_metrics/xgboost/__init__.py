"""XGBoost: `custom_metric` for ``xgb.train`` and ``xgb.cv``, `Monitor` for ``XGBRanker``.

`early_stopping` works with all of them, and all of them work on Dask.

``XGBRanker(eval_metric=...)`` calls a function once per query, and averages the results by query
size and without weights. No function can correct that. `Monitor` is a callback and sees all queries
at once.
"""

from ltr_metrics.errors import MissingExtraError

try:
    import xgboost  # noqa: F401
except ImportError as error:
    raise MissingExtraError("xgboost", "xgboost") from error

from ltr_metrics.xgboost.custom_metric import custom_metric
from ltr_metrics.xgboost.monitor import Monitor
from ltr_metrics.xgboost.stop_by_metric import early_stopping

__all__ = ["Monitor", "custom_metric", "early_stopping"]


def __dir__() -> list[str]:
    return list(__all__)
