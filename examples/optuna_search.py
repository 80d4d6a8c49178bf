"""Optuna tunes a ranker: by cross-validation over whole queries, or with trials that are pruned by round.

Each training is stopped early. With --prune, a trial has one training, and the study ends it in
the first round whose metric is below the median of the earlier trials in that round.

python examples/optuna_search.py                                             # synthetic data, no download
python examples/optuna_search.py --host xgboost --prune
python examples/optuna_search.py --letor train.txt --test test.txt --trials 50
"""

from __future__ import annotations

import importlib

import optuna
from example_data import arguments, load, with_qid_column
from sklearn.model_selection import GroupKFold, cross_val_score

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer

METRIC = "ndcg@10"  # hosts log it under this name
HOSTS = {  # ranker and parameters
    "lightgbm": ("LGBMRanker", {"n_estimators": 500, "n_jobs": 1, "verbose": -1, "random_state": 0}),
    "xgboost": ("XGBRanker", {"n_estimators": 500, "n_jobs": 1, "random_state": 0}),
    "catboost": (
        "CatBoostRanker",
        {"iterations": 500, "thread_count": 1, "verbose": False, "random_seed": 0, "allow_writing_files": False},
    ),
}


def suggest(host, trial):
    """Return the parameters of a trial."""
    rate = {"learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True)}
    if host == "lightgbm":
        return rate | {
            "num_leaves": trial.suggest_int("num_leaves", 4, 64, log=True),
            "min_child_samples": trial.suggest_int("min_child_samples", 2, 50, log=True),
        }
    if host == "xgboost":
        return rate | {
            "max_depth": trial.suggest_int("max_depth", 2, 6),
            "min_child_weight": trial.suggest_float("min_child_weight", 0.1, 10, log=True),
        }
    return rate | {
        "depth": trial.suggest_int("depth", 2, 6),
        "l2_leaf_reg": trial.suggest_float("l2_leaf_reg", 0.5, 10, log=True),
    }


def ranker(host, **parameters):
    name, fixed = HOSTS[host]
    model = getattr(importlib.import_module(host), name)(**fixed, **parameters)
    return QueryRanker(model, early_stopping_rounds=20, metric=METRIC, random_state=0)


def fit_or_prune(host, trial, X, y, qid):
    """Fit a ranker whose rounds are reported to the trial, which may end it by TrialPruned."""
    module = importlib.import_module(f"optuna_integration.{host}")
    if host == "lightgbm":  # "validation" is what QueryRanker holds out
        callback = module.LightGBMPruningCallback(trial, METRIC, valid_name="validation")
        return ranker(host, **suggest(host, trial)).fit(X, y, qid=qid, callbacks=[callback])
    if host == "xgboost":  # takes callbacks in the constructor
        callback = module.XGBoostPruningCallback(trial, f"validation-{METRIC}")
        return ranker(host, **suggest(host, trial), callbacks=[callback]).fit(X, y, qid=qid)
    callback = module.CatBoostPruningCallback(trial, METRIC)
    model = ranker(host, **suggest(host, trial)).fit(X, y, qid=qid, callbacks=[callback])
    callback.check_pruned()  # CatBoost ends the training without an error
    return model


def main():
    parser = arguments(__doc__)
    parser.add_argument("--trials", type=int, default=20, help="how many settings to try (default: 20)")
    parser.add_argument("--host", choices=HOSTS, default="lightgbm", help="what trains (default: lightgbm)")
    parser.add_argument("--prune", action="store_true", help="one training a trial, which the study may end early")
    args, train, valid, (X_test, y_test, qid_test) = load(parser)
    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    frame = with_qid_column(X, qid)

    def cross_validate(trial):
        model, scorer = ranker(args.host, **suggest(args.host, trial)), make_scorer(METRIC)
        folds = cross_val_score(model, frame, y, groups=qid, scoring=scorer, cv=GroupKFold(3), error_score="raise")
        return folds.mean()

    def fit_once(trial):
        model = fit_or_prune(args.host, trial, X, y, qid)
        return ltr.evaluate(y_valid, model.predict(X_valid), qid=qid_valid, metrics=METRIC)[METRIC]

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=5)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0), pruner=pruner)
    study.optimize(fit_once if args.prune else cross_validate, n_trials=args.trials)
    print(f"Best of {len(study.trials)} trials: {METRIC} = {study.best_value:.6f} with {study.best_params}.")
    if args.prune:
        pruned = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
        n_rounds = sum(len(trial.intermediate_values) for trial in study.trials)
        print(f"{len(pruned)} trials were pruned. All trials had {n_rounds} rounds.")

    best = ranker(args.host, **study.best_params).fit(frame, y)
    print(f"\nFitted again, {best.n_rounds_} rounds. On test queries:")
    print(ltr.evaluate(y_test, best.predict(with_qid_column(X_test, qid_test)), qid=qid_test))


if __name__ == "__main__":
    main()
