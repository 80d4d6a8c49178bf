"""SparkXGBRanker in Spark's CrossValidator: whole queries in each fold.

It runs on this machine (local[2]) or, with another master, on a cluster.

python examples/spark_cross_validation.py                                    # synthetic data, no download
python examples/spark_cross_validation.py --letor train.txt --test test.txt
"""

from __future__ import annotations

import os
import sys

import pandas as pd
from example_data import arguments, load
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from xgboost.spark import SparkXGBRanker

from ltr_metrics.spark import QueryEvaluator, evaluate, with_folds

DEPTHS = [2, 6]


def main():
    _, train, _, test = load(arguments(__doc__))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors need ltr_metrics, too
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")  # nobody else is to connect
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")  # 200, the default, are for clusters
        .getOrCreate()
    )
    try:
        search(spark, train, test)
    finally:
        spark.stop()


def search(spark, train, test):
    frame = with_folds(to_spark(spark, *train), "qid", n_folds=2, seed=0)
    features = [name for name in frame.columns if name.startswith("f") and name != "fold"]
    ranker = SparkXGBRanker(features_col=features, label_col="label", qid_col="qid", n_estimators=30, random_state=0)
    grid = ParamGridBuilder().addGrid(ranker.max_depth, DEPTHS).build()
    validator = CrossValidator(
        estimator=ranker,
        estimatorParamMaps=grid,
        evaluator=QueryEvaluator(metric="ndcg@10"),
        numFolds=2,
        foldCol="fold",  # without it Spark draws rows, and queries are cut
    )
    model = validator.fit(frame)
    for depth, mean, deviation in zip(DEPTHS, model.avgMetrics, model.stdMetrics, strict=True):
        print(f"max_depth={depth}: ndcg@10 = {mean:.4f} +/- {deviation:.4f} over folds")

    print("\nThe best, on test queries:")
    print(evaluate(model.transform(to_spark(spark, *test)), score="prediction"))


def to_spark(spark, X, y, qid):
    return spark.createDataFrame(pd.DataFrame(X).add_prefix("f").assign(label=y, qid=qid))


if __name__ == "__main__":
    main()
