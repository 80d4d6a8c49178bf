"""LGBMRanker in GridSearchCV: whole queries in each fold, and early stopping within each.

The values of every query of every candidate are kept.

python examples/sklearn_grid_search.py                                       # synthetic data, no download
python examples/sklearn_grid_search.py --letor train.txt --test test.txt
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import lightgbm as lgb
from example_data import arguments, load, with_qid_column
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.sklearn import QueryRanker, make_scorer

GRID = {"estimator__num_leaves": [7, 15, 31], "estimator__min_child_samples": [5, 20]}


def main():
    _, (X, y, qid), _, (X_test, y_test, qid_test) = load(arguments(__doc__))
    ranker = QueryRanker(
        lgb.LGBMRanker(n_estimators=500, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0),
        early_stopping_rounds=20,  # on a fifth of each fold's training queries
        metric="ndcg@10",
        random_state=0,
    )
    with TemporaryDirectory() as folder:
        log = ltr.SearchLog(Path(folder) / "search")  # worker processes write there
        scorer = make_scorer("ndcg@10", log=log)
        search = GridSearchCV(ranker, GRID, scoring=scorer, cv=GroupKFold(3), n_jobs=2, error_score="raise")
        search.fit(with_qid_column(X, qid), y, groups=qid)  # groups=qid keeps queries whole
        candidates = log.candidates()  # an evaluation of each, over the queries of all folds
    for name, result in candidates.items():
        print(f"{name}: {result['ndcg@10']:.4f} +- {result.standard_error['ndcg@10']:.4f}")

    print(f"\nBest: {search.best_params_}, stopped after {search.best_estimator_.n_rounds_} rounds. On test queries:")
    print(ltr.evaluate(y_test, search.predict(with_qid_column(X_test, qid_test)), qid=qid_test))


if __name__ == "__main__":
    main()
