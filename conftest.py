"""What is not collected where an extra is missing: modules that cannot be imported have no doctests to run."""

from importlib.util import find_spec

MODULES = {"pyspark": "ltr_metrics/spark.py", "mlflow": "ltr_metrics/mlflow/evaluator.py"}
collect_ignore_glob = [path for library, path in MODULES.items() if not find_spec(library)]
