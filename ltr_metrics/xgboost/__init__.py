"""XGBoost: `custom_metric` for ``xgb.train`` and ``xgb.cv``, `Monitor` for ``XGBRanker``, `early_stopping` for all of them; on Dask too.

``XGBRanker(eval_metric=...)`` calls a function once a query and averages what it returns by query size, without weights: no
function can repair that. `Monitor` is a callback, which sees all queries at once.
"""

from ltr_metrics.errors import MissingExtraError

try:
    import xgboost  # noqa: F401
except ImportError as error:
    raise MissingExtraError("xgboost", "xgboost") from error

from ltr_metrics.xgboost.custom_metric import custom_metric
from ltr_metrics.xgboost.early_stopping import early_stopping
from ltr_metrics.xgboost.monitor import Monitor

__all__ = ["Monitor", "custom_metric", "early_stopping"]
