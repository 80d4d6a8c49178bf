"""Spark: `evaluate` over a Spark DataFrame; `QueryEvaluator`, `with_folds` and `TrainValidationSplitByQuery` to tune rankers with.

The executors need this package, NumPy, pandas and pyarrow, in the versions of the driver. Locally they run what ``PYSPARK_PYTHON`` names,
by default the ``python3`` of the path, which need not be the Python of the driver: set ``os.environ["PYSPARK_PYTHON"] = sys.executable``
before the session is made.
"""

from __future__ import annotations

from ltr_metrics.errors import MissingExtraError

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import pyspark.ml  # noqa: F401
except ImportError as error:
    raise MissingExtraError("pyspark", "spark") from error

from ltr_metrics.spark.evaluation import evaluate
from ltr_metrics.spark.evaluator import QueryEvaluator
from ltr_metrics.spark.folds import TrainValidationSplitByQuery, with_folds

__all__ = ["QueryEvaluator", "TrainValidationSplitByQuery", "evaluate", "with_folds"]
