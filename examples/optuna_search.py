"""Optuna tunes LightGBM: each trial is cross-validated over whole queries, and stopped early within each fold.

python examples/optuna_search.py                                             # synthetic data, no download
python examples/optuna_search.py --letor train.txt --test test.txt --trials 50
"""

from __future__ import annotations

import lightgbm as lgb
import optuna
from example_data import arguments, load, with_qid_column
from sklearn.model_selection import GroupKFold, cross_val_score

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer


def ranker(**parameters):
    model = lgb.LGBMRanker(n_estimators=500, n_jobs=1, verbose=-1, random_state=0, **parameters)
    return QueryRanker(model, early_stopping_rounds=20, metric="ndcg@10", random_state=0)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--trials", type=int, default=20, help="how many settings to try (default: 20)")
    args, (X, y, qid), _, (X_test, y_test, qid_test) = load(parser)
    frame = with_qid_column(X, qid)

    def objective(trial):
        model = ranker(
            num_leaves=trial.suggest_int("num_leaves", 4, 64, log=True),
            learning_rate=trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
            min_child_samples=trial.suggest_int("min_child_samples", 2, 50, log=True),
        )
        scorer = make_scorer("ndcg@10")
        folds = cross_val_score(model, frame, y, groups=qid, scoring=scorer, cv=GroupKFold(3), error_score="raise")
        return folds.mean()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=args.trials)
    print(f"Best of {len(study.trials)} trials: ndcg_exp@10 = {study.best_value:.6f} with {study.best_params}.")

    best = ranker(**study.best_params).fit(frame, y)
    print(f"\nFitted again, {best.n_rounds_} rounds. On test queries:")
    print(ltr.evaluate(y_test, best.predict(with_qid_column(X_test, qid_test)), qid=qid_test))


if __name__ == "__main__":
    main()
