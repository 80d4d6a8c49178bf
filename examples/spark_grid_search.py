"""Search a grid of SparkXGBRanker: whole queries in each fold.

It runs on this machine (local[2]) or, with another master, on a cluster.

python examples/spark_grid_search.py                                    # synthetic data, no download
python examples/spark_grid_search.py --letor train.txt --test test.txt
"""

from __future__ import annotations

import os
import sys

import pandas as pd
from example_data import arguments, load
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from xgboost.spark import SparkXGBRanker

from ltr_metrics.spark import evaluate

DEPTHS = [2, 6]
N_FOLDS = 2


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
    frame = to_spark(spark, *train).withColumn("fold", F.pmod(F.xxhash64("qid"), F.lit(N_FOLDS))).cache()
    features = [name for name in frame.columns if name.startswith("f") and name != "fold"]
    options = {"features_col": features, "label_col": "label", "qid_col": "qid", "random_state": 0}
    rankers = {depth: SparkXGBRanker(max_depth=depth, n_estimators=30, **options) for depth in DEPTHS}
    means = {}
    for depth, ranker in rankers.items():
        folds = []
        for fold in range(N_FOLDS):
            model = ranker.fit(frame.where(F.col("fold") != fold))
            predicted = model.transform(frame.where(F.col("fold") == fold))
            folds.append(evaluate(predicted, score="prediction", metrics="ndcg@10")["ndcg@10"])
        means[depth] = sum(folds) / N_FOLDS
        print(f"max_depth={depth}: ndcg@10 = {means[depth]:.4f} over {N_FOLDS} folds")

    best = rankers[max(means, key=means.get)].fit(frame)
    print("\nThe best, on test queries:")
    print(evaluate(best.transform(to_spark(spark, *test)), score="prediction"))


def to_spark(spark, X, y, qid):
    return spark.createDataFrame(pd.DataFrame(X).add_prefix("f").assign(label=y, qid=qid))


if __name__ == "__main__":
    main()
