"""LightGBM and XGBoost with MLflow's autolog: all metrics of every round arrive.

MLflow refuses "(", ")" and "=" in the name of a metric, and its autolog then drops all metrics of
the round. The names that ``names="slug"`` writes into the hosts' logs hold none of them.

python examples/mlflow_tracking.py                                           # synthetic data, no download
python examples/mlflow_tracking.py --letor train.txt --valid vali.txt --test test.txt --tracking-uri URL
"""

from __future__ import annotations

import lightgbm as lgb
import mlflow
import xgboost as xgb
from example_data import arguments, load

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval
from ltr_metrics.xgboost import custom_metric, early_stopping

METRICS = ["ndcg@10", "map(rel=2)@10", "mrr", "err@10"]
LIGHTGBM = {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "num_leaves": 15, "verbose": -1}
XGBOOST = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "learning_rate": 0.05, "max_depth": 4}


def train_lightgbm(train, valid):
    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid_set = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train_set)
    return lgb.train(
        LIGHTGBM,
        train_set,
        300,
        valid_sets=[valid_set],
        valid_names=["valid"],
        feval=feval(METRICS, names="slug"),
        callbacks=[lgb.early_stopping(30, first_metric_only=True, verbose=False)],
    ).predict


def train_xgboost(train, valid):
    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    booster = xgb.train(
        XGBOOST,
        xgb.DMatrix(X, y, qid=qid),
        300,
        evals=[(xgb.DMatrix(X_valid, y_valid, qid=qid_valid), "valid")],
        custom_metric=custom_metric(METRICS, names="slug"),
        callbacks=[early_stopping("ndcg@10", 30, save_best=True)],
        verbose_eval=False,
    )
    return lambda X: booster.predict(xgb.DMatrix(X))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--tracking-uri", default="sqlite:///mlflow.db", help="default: a file in this folder")
    args, train, valid, (X_test, y_test, qid_test) = load(parser)

    mlflow.set_tracking_uri(args.tracking_uri)
    mlflow.set_experiment("learning to rank")
    for autolog in (mlflow.lightgbm.autolog, mlflow.xgboost.autolog):
        autolog(log_models=False, log_datasets=False)  # the curves and the parameters
    for name, train_model in (("LightGBM", train_lightgbm), ("XGBoost", train_xgboost)):
        with mlflow.start_run(run_name=name) as run:
            predict = train_model(train, valid)
            result = ltr.evaluate(y_test, predict(X_test), qid=qid_test, metrics=METRICS)
            mlflow.log_metrics({f"test-{ltr.metric(metric).slug}": result[metric] for metric in METRICS})
        print(f"{name}, run {run.info.run_id} in {args.tracking_uri}:\n{result}\n")


if __name__ == "__main__":
    main()
