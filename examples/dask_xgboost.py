"""XGBoost on Dask, stopped by the ERR@10 of all workers together; then the test queries, where Dask has them.

python examples/dask_xgboost.py                                              # synthetic data, two workers
python examples/dask_xgboost.py --letor train.txt --valid vali.txt --test test.txt
python examples/dask_xgboost.py --scheduler tcp://10.0.0.1:8786              # a cluster of yours
"""

from __future__ import annotations

import logging
from contextlib import nullcontext

import dask.dataframe as dd
import distributed
from example_data import arguments, load, with_qid_column
from xgboost import dask as xgb_dask

import ltr_metrics.dask
from ltr_metrics.xgboost import custom_metric, early_stopping

METRICS = ["err@10", "ndcg@10", "map", "mrr"]
PARTITIONS = 4  # as many as there are workers, or more


def cluster_of(address):
    if address is not None:
        return nullcontext(address)
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
    )


def on_cluster(part):
    """Return rows in partitions of whole queries.

    Data too large for one machine would be read by dask.dataframe.read_parquet.
    """
    X, y, qid = part
    rows = dd.from_pandas(with_qid_column(X, qid).assign(label=y), npartitions=PARTITIONS, sort=False)
    return ltr_metrics.dask.whole_queries(rows, "qid").persist()


def features(frame):
    return frame.drop(columns=["label", "qid"])


def matrix(client, frame):
    X = features(frame)
    # XGBoost needs the names on a worker that has no partition of a data set
    return xgb_dask.DaskDMatrix(client, X, frame["label"], qid=frame["qid"], feature_names=list(X.columns))


def train_booster(client, train, valid):
    return xgb_dask.train(
        client,
        {"objective": "rank:ndcg", "eta": 0.05, "disable_default_eval_metric": True, "seed": 0},
        matrix(client, train),
        num_boost_round=500,
        evals=[(matrix(client, valid), "valid")],
        custom_metric=custom_metric(METRICS),
        callbacks=[early_stopping("err@10", 50, save_best=True)],  # all workers stop in the same round
        verbose_eval=False,
    )


def main():
    parser = arguments(__doc__)
    parser.add_argument(
        "--scheduler", help="address of a Dask scheduler (default: two worker processes on this machine)"
    )
    args, *parts = load(parser)
    with cluster_of(args.scheduler) as cluster, distributed.Client(cluster) as client:
        train, valid, test = map(on_cluster, parts)
        trained = train_booster(client, train, valid)
        booster, history = trained["booster"], trained["history"]["valid"]
        for i in range(0, len(history["err@10"]), 25):
            print(f"[{i}]", *(f"{name}: {values[i]:.6f}" for name, values in history.items()), sep="\t")
        print(f"\nBest round {booster.best_iteration}, err@10 = {booster.best_score:.6f} on validation.")

        test["score"] = xgb_dask.predict(client, booster, features(test))
        print("\nOn test queries:")
        print(ltr_metrics.dask.evaluate(test, metrics=METRICS))


if __name__ == "__main__":
    main()
