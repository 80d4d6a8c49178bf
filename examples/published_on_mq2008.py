"""Three published findings, tried on the five parts of MQ2008 (LETOR 4.0).

1. Few learners beat the best single feature significantly (Gomes et al. 2013).
2. The order of documents with equal scores decides a part of the number (McSherry and Najork 2008; Lin and Yang 2019).
3. LightGBM's NDCG in https://github.com/microsoft/LightGBM/issues/2239 leaves out most of the queries.

python examples/published_on_mq2008.py S1.txt S2.txt S3.txt S4.txt S5.txt          # a minute and a half on one core
"""

from __future__ import annotations

import argparse

import catboost as cb
import lightgbm as lgb
import numpy as np
import xgboost as xgb
from example_data import read
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import ltr_metrics as ltr

N_FEATURES, N_PARTS = 46, 5
TREES = {"n_estimators": 100, "learning_rate": 0.05, "random_state": 0, "n_jobs": 1}
LEAVES = {"num_leaves": 15, "verbose": -1}
LEARNERS = {
    "linear regression": lambda X, y, _group: LinearRegression().fit(X, y),
    "random forest": lambda X, y, _group: RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, y),
    "LightGBM regression": lambda X, y, _group: lgb.LGBMRegressor(**TREES, **LEAVES).fit(X, y),
    "LightGBM lambdarank": lambda X, y, group: lgb.LGBMRanker(**TREES, **LEAVES).fit(X, y, group=group),
    "XGBoost rank:ndcg": lambda X, y, group: xgb.XGBRanker(**TREES, max_depth=4).fit(X, y, group=group),
    "CatBoost YetiRank": lambda X, y, group: cb.CatBoostRanker(
        iterations=100, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
    ).fit(cb.Pool(X, y, group_id=np.repeat(np.arange(len(group)), group))),
}


def folds(parts):
    """Yield training and test rows: three parts and the last one, as LETOR turns them."""
    for fold in range(N_PARTS):
        turned = parts[fold:] + parts[:fold]
        yield tuple(map(np.concatenate, zip(*turned[:3], strict=True))), turned[4]


def best_feature(X, y, qid):
    queries = ltr.Queries(y, qid=qid)
    return max(range(X.shape[1]), key=lambda j: queries.evaluate(X[:, j], "ndcg@10")["ndcg@10"])


def scores_of_learners(parts):
    """Return the scores of each learner on all queries, each predicted by the fold that has not seen it."""
    scores = {"best feature": []} | {name: [] for name in LEARNERS}
    for (X, y, qid), (X_test, _, _) in folds(parts):
        scores["best feature"].append(X_test[:, best_feature(X, y, qid)])
        for name, fit in LEARNERS.items():
            scores[name].append(np.asarray(fit(X, y, ltr.qid_to_group(qid)).predict(X_test), dtype=float))
    return {name: np.concatenate(of_folds) for name, of_folds in scores.items()}


def large_queries(columns):
    """Keep the queries with at least 10 documents and one relevant document."""
    y, qid = columns[-2:]
    _, query, n_documents = np.unique(qid, return_inverse=True, return_counts=True)
    has_relevant = np.bincount(query, weights=y > 0) > 0
    keep = (has_relevant & (n_documents >= 10))[query]
    return tuple(column[keep] for column in columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=N_PARTS, metavar="FILE")
    parts = [read([file], N_FEATURES) for file in parser.parse_args().files]
    tests = [test for _, test in folds(parts)]
    y, qid = (np.concatenate([test[column] for test in tests]) for column in (1, 2))
    scores = scores_of_learners(parts)

    print("1. Do learners beat the best single feature?\n")
    print(ltr.compare(scores, y, qid=qid, metrics=["ndcg@10", "map"]))

    print("\n2. How much does the order of ties decide?\n")
    X = np.concatenate([test[0] for test in tests])
    for name, feature in {"BM25": 25, "PageRank": 41, "inlinks": 42}.items():
        print(name, ltr.tie_audit(y, X[:, feature - 1], qid=qid, metrics=["ndcg@1", "ndcg@10", "map"]), sep="\n")
    print("\n3. The NDCG of LightGBM issue #2239\n")
    cutoffs = [f"ndcg@{k}" for k in (1, 3, 5, 10)]
    print(f"{'':34}" + "".join(f"{name:>9}" for name in cutoffs))
    print(f"{'in the issue':34}   0.4319   0.4574   0.4953   0.5844")
    ranker = scores["LightGBM lambdarank"]
    large = large_queries((ranker, y, qid))
    for what, (ranking, labels, ids), options in (
        ("LightGBM's own number", (ranker, y, qid), {"convention": "lightgbm"}),
        ("queries with a relevant document", (ranker, y, qid), {}),
        ("those with 10 documents or more", large, {}),
    ):
        result = ltr.evaluate(labels, ranking, qid=ids, metrics=cutoffs, **options)
        print(f"{what:34}" + "".join(f"{result[name]:9.4f}" for name in cutoffs))


if __name__ == "__main__":
    main()
