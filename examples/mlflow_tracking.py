"""LightGBM's metrics of every round in MLflow, under names that trackers accept (``metric.slug``).

python examples/mlflow_tracking.py                                           # synthetic data, no download
python examples/mlflow_tracking.py --letor train.txt --valid vali.txt --test test.txt --tracking-uri http://localhost:5000
"""

from __future__ import annotations

import lightgbm as lgb
import mlflow
from example_data import arguments, load

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval

METRICS = [ltr.metric(name) for name in ("ndcg@10", "map(rel=2)@10", "mrr", "err@10")]
PARAMS = {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "num_leaves": 15, "verbose": -1}


def main():
    parser = arguments(__doc__)
    parser.add_argument("--tracking-uri", default="sqlite:///mlflow.db", help="default: a file in this folder")
    args, (X, y, qid), (X_valid, y_valid, qid_valid), (X_test, y_test, qid_test) = load(parser)
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train)

    mlflow.set_tracking_uri(args.tracking_uri)
    mlflow.set_experiment("learning to rank")
    with mlflow.start_run() as run:
        mlflow.log_params(PARAMS)
        history = {}
        stop = lgb.early_stopping(30, first_metric_only=True, verbose=False)
        booster = lgb.train(
            PARAMS, train, 300, [valid], feval=feval(METRICS), callbacks=[stop, lgb.record_evaluation(history)]
        )
        for metric in METRICS:
            for step, value in enumerate(history["valid_0"][str(metric)], 1):
                mlflow.log_metric(f"valid.{metric.slug}", value, step=step)
        result = ltr.evaluate(y_test, booster.predict(X_test), qid=qid_test, metrics=METRICS)
        mlflow.log_metrics({f"test.{metric.slug}": result[metric] for metric in METRICS})
        mlflow.log_metric("best_iteration", booster.best_iteration)

    print(result)
    print(f"Run {run.info.run_id} is in {args.tracking_uri}.")


if __name__ == "__main__":
    main()
