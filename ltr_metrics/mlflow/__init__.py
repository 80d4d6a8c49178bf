"""MLflow: an evaluator for ``mlflow.models.evaluate(model_type="ranker")``.

MLflow finds it by the entry point of this package. This module does not import MLflow, because
MLflow imports this module.
"""

from ltr_metrics.mlflow.evaluator import RankerEvaluator

__all__ = ["RankerEvaluator"]


def __dir__() -> list[str]:
    return list(__all__)
