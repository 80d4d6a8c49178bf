"""What is not collected where an extra is missing: modules that cannot be imported have no doctests to run."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pyspark") else ["ltr_metrics/spark/*"]
