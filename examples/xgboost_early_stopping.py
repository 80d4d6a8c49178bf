"""XGBoost stopped by ERR@10, once with xgb.train and once with XGBRanker.

python examples/xgboost_early_stopping.py                                    # synthetic data, no download
python examples/xgboost_early_stopping.py --letor train.txt --valid vali.txt --test test.txt
"""

from __future__ import annotations

import xgboost as xgb
from example_data import arguments, load

import ltr_metrics as ltr
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping

METRICS = ["err@10", "ndcg@10", "map", "mrr"]


def train_booster(train, valid):
    matrices = [xgb.DMatrix(X, y, group=ltr.qid_to_group(qid)) for X, y, qid in (train, valid)]
    return xgb.train(
        {"objective": "rank:ndcg", "eta": 0.05, "disable_default_eval_metric": True, "seed": 0},
        matrices[0],
        num_boost_round=500,
        evals=[(matrices[1], "valid")],
        custom_metric=custom_metric(METRICS),
        callbacks=[early_stopping("err@10", 50, save_best=True)],  # XGBoost's own would take the lowest for the best
        verbose_eval=25,
    )


def train_ranker(train, valid, log):
    X, y, qid = train
    X_valid, y_valid, qid_valid = valid
    monitor = Monitor(METRICS, X_valid, y_valid, qid=qid_valid, name="valid", log=log)
    ranker = xgb.XGBRanker(
        n_estimators=500,
        learning_rate=0.05,
        random_state=0,
        callbacks=[monitor, early_stopping("err@10", 50)],
    )
    return ranker.fit(X, y, group=ltr.qid_to_group(qid), verbose=False)


def main():
    _, train, valid, test = load(arguments(__doc__))
    X, y, qid = test

    booster = train_booster(train, valid)
    print(f"\nxgb.train: best round {booster.best_iteration}, err@10 = {booster.best_score:.6f} on validation.")
    log = ltr.PerQueryLog()
    ranker = train_ranker(train, valid, log)
    print(f"XGBRanker: best round {ranker.best_iteration}, err@10 = {ranker.best_score:.6f} on validation.")
    print(log.best_round("valid", "err@10"))

    print("\nOn test queries:")
    print(ltr.evaluate(y, ranker.predict(X), qid=qid, metrics=METRICS))


if __name__ == "__main__":
    main()
