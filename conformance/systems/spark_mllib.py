"""Spark MLlib: RankingMetrics of lists of ids. It gives means, so data sets are compared."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from conformance.queries import Query
from conformance.system import System, Values, at_cutoffs, every_draw, split

NAMES = {"ndcgAt": "ndcg", "meanAveragePrecisionAt": "map", "precisionAt": "precision", "recallAt": "recall"}


def system() -> System:
    """Return Spark MLlib and its convention."""
    import pyspark
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR").getOrCreate()

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        pairs = session.sparkContext.parallelize([(query.ranking, query.relevant) for query in queries], 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of a call that PySpark itself makes
            metrics = RankingMetrics(pairs)

        def value(name: str) -> float:
            metric, k = split(name)
            return float(getattr(metrics, metric)(k) if k else metrics.meanAveragePrecision)

        return {name: [value(name)] for name in names}

    return System(
        name="Spark MLlib",
        version=pyspark.__version__,
        convention="spark_mllib",
        metrics={"meanAveragePrecision": "map"} | at_cutoffs(NAMES),
        values=values,
        draws=every_draw(graded=[False], ties=[False, True], unretrieved=[False, True]),
        gives_means=True,
    )
