"""Spark: `evaluate` for Spark DataFrames, and tools to tune rankers with.

The tools are `QueryEvaluator`, `with_folds` and `TrainValidationSplitByQuery`.

The executors need this package, NumPy, pandas and pyarrow, in the versions of the driver. Local
executors run the Python that ``PYSPARK_PYTHON`` names, by default the ``python3`` on the path. It
may not be the Python of the driver. Set ``os.environ["PYSPARK_PYTHON"] = sys.executable`` before
you create the session.
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
