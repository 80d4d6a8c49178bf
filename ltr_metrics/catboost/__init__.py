"""CatBoost: `EvalMetric`, for ``eval_metric=`` of CatBoost's estimators.

CatBoost passes predictions, labels and weights to a custom metric, but no queries. So you bind an
`EvalMetric` to the queries of the validation set when you create it.
"""

from ltr_metrics.errors import MissingExtraError

try:
    import catboost  # noqa: F401
except ImportError as error:
    raise MissingExtraError("catboost", "catboost") from error

from ltr_metrics.catboost.eval_metric import EvalMetric

__all__ = ["EvalMetric"]


def __dir__() -> list[str]:
    return list(__all__)
