"""LightGBM and XGBoost with Weights & Biases: all metrics of every round, and the best value of each.

W&B sorts and filters by names of letters, digits and underscores alone. So this example gives the
metrics such names, and logs the rounds itself: W&B's callback for XGBoost puts a hyphen into each
name. Its callbacks also summarize our metrics by the last round, and not by the best one.

python examples/wandb_tracking.py                                            # offline, into the folder wandb/
python examples/wandb_tracking.py --mode online                              # with your account
python examples/wandb_tracking.py --letor train.txt --valid vali.txt --test test.txt
"""

from __future__ import annotations

import lightgbm as lgb
import wandb
import xgboost as xgb
from example_data import arguments, load

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval
from ltr_metrics.xgboost import custom_metric, early_stopping

NAMES = {"ndcg@10": "ndcg_exp_at_10", "map(rel=2)@10": "map_rel_2_at_10", "mrr": "mrr", "err@10": "err_at_10"}
METRICS = list(NAMES)
LIGHTGBM = {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "num_leaves": 15, "verbose": -1}
XGBOOST = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "learning_rate": 0.05, "max_depth": 4}


def train_lightgbm(run, train, valid):
    def log_round(env):
        run.log({f"{data}_{name}": value for data, name, value, *_ in env.evaluation_result_list})

    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid_set = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train_set)
    return lgb.train(
        LIGHTGBM,
        train_set,
        300,
        valid_sets=[valid_set],
        valid_names=["valid"],
        feval=feval(METRICS, names=NAMES),
        callbacks=[log_round, lgb.early_stopping(30, first_metric_only=True, verbose=False)],
    ).predict


class LogRounds(xgb.callback.TrainingCallback):
    """Log each round of XGBoost, which calls this after its metrics."""

    def __init__(self, run):
        super().__init__()
        self.run = run

    def after_iteration(self, model, epoch, evals_log):
        self.run.log({f"{data}_{name}": values[-1] for data, of in evals_log.items() for name, values in of.items()})
        return False


def train_xgboost(run, train, valid):
    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    booster = xgb.train(
        XGBOOST,
        xgb.DMatrix(X, y, qid=qid),
        300,
        evals=[(xgb.DMatrix(X_valid, y_valid, qid=qid_valid), "valid")],
        custom_metric=custom_metric(METRICS, names=NAMES),
        callbacks=[LogRounds(run), early_stopping("ndcg@10", 30, save_best=True)],
        verbose_eval=False,
    )
    return lambda X: booster.predict(xgb.DMatrix(X))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--project", default="learning-to-rank", help="project of the runs")
    parser.add_argument("--mode", choices=["offline", "online"], default="offline", help="default: offline")
    args, train, valid, (X_test, y_test, qid_test) = load(parser)

    for name, train_model, parameters in (
        ("LightGBM", train_lightgbm, LIGHTGBM),
        ("XGBoost", train_xgboost, XGBOOST),
    ):
        with wandb.init(project=args.project, name=name, mode=args.mode, config=parameters) as run:
            for logged in NAMES.values():
                run.define_metric(f"valid_{logged}", summary="max")
            predict = train_model(run, train, valid)
            result = ltr.evaluate(y_test, predict(X_test), qid=qid_test, metrics=METRICS)
            for metric, logged in NAMES.items():
                run.summary[f"test_{logged}"] = result[metric]
        print(f"{name}, run {run.id}:\n{result}\n")


if __name__ == "__main__":
    main()
