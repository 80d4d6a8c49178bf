"""CatBoost stopped by ERR@10, once with CatBoostRanker and once in the folds of a grid search.

python examples/catboost_early_stopping.py                                   # synthetic data, no download
python examples/catboost_early_stopping.py --letor train.txt --valid vali.txt --test test.txt
"""

from __future__ import annotations

from catboost import CatBoostRanker, Pool
from example_data import arguments, load, with_qid_column
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.catboost import EvalMetric
from ltr_metrics.sklearn import QueryRanker, make_scorer

METRICS = ["err@10", "ndcg@10", "map", "mrr"]
SETTINGS = {"loss_function": "YetiRank", "random_seed": 0, "verbose": False, "allow_writing_files": False}


def train_ranker(train, valid, log):
    train_pool, valid_pool = (Pool(X, y, group_id=qid) for X, y, qid in (train, valid))
    ranker = CatBoostRanker(
        iterations=300,
        learning_rate=0.1,
        eval_metric=EvalMetric(METRICS, valid_pool, log=log),  # CatBoost logs the first one, and stops by it
        **SETTINGS,
    )
    return ranker.fit(train_pool, eval_set=valid_pool, early_stopping_rounds=20)


def search(train):
    X, y, qid = train
    ranker = QueryRanker(
        CatBoostRanker(iterations=100, learning_rate=0.2, **SETTINGS),
        early_stopping_rounds=10,  # in each fold, on queries of its training part
        metric="err@10",
        random_state=0,
    )
    depths = {"estimator__depth": [4, 6]}
    grid = GridSearchCV(ranker, depths, scoring=make_scorer("err@10"), cv=GroupKFold(2), error_score="raise")
    return grid.fit(with_qid_column(X, qid), y, groups=qid)


def main():
    _, train, valid, test = load(arguments(__doc__))
    X, y, qid = test

    log = ltr.PerQueryLog()
    ranker = train_ranker(train, valid, log)
    best = ranker.best_score_["validation"]["err@10"]
    print(f"CatBoostRanker: best round {ranker.best_iteration_}, err@10 = {best:.6f} on validation.")
    print(log.best_round("validation", "err@10"))

    grid = search(train)
    print(f"Best: {grid.best_params_}, stopped after {grid.best_estimator_.n_rounds_} rounds")

    print("\nOn test queries:")
    print(ltr.evaluate(y, ranker.predict(X), qid=qid, metrics=METRICS))


if __name__ == "__main__":
    main()
