"""LightGBM from training to report: early stopping, a grid search, and a comparison of both models.

Early stopping is on ERR@10, the grid search on NDCG@10, and the comparison on test queries.

python examples/lightgbm_early_stopping.py                                   # synthetic data, no download
python examples/lightgbm_early_stopping.py --letor train.txt --valid vali.txt --test test.txt
python examples/lightgbm_early_stopping.py --letor all.txt                   # split by whole queries: 60, 20, 20 %
"""

from __future__ import annotations

from pathlib import Path

import lightgbm as lgb
from example_data import arguments, load, with_qid_column
from sklearn.model_selection import GridSearchCV, GroupKFold

import ltr_metrics as ltr
from ltr_metrics.io import write_whole
from ltr_metrics.lightgbm import feval
from ltr_metrics.report import as_html, as_json, as_per_query_csv, as_text, summarize
from ltr_metrics.sklearn import QueryRanker, make_scorer

METRICS = ["err@10", "ndcg_exp@10", "ndcg_lin@10", "map", "mrr"]  # the first one decides when to stop
GRID = {"estimator__num_leaves": [7, 31], "estimator__learning_rate": [0.05, 0.1]}


def train_with_early_stopping(train, valid, log):
    X, y, qid = train
    X_valid, y_valid, qid_valid = valid
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid_set = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train_set)
    return lgb.train(
        {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "verbose": -1, "seed": 0},
        train_set,
        num_boost_round=500,
        valid_sets=[valid_set],
        feval=feval(METRICS, log=log),
        callbacks=[lgb.early_stopping(50, first_metric_only=True), lgb.log_evaluation(25)],
    )


def search_settings(train):
    X, y, qid = train
    ranker = QueryRanker(lgb.LGBMRanker(n_estimators=100, n_jobs=1, verbose=-1, random_state=0))
    search = GridSearchCV(ranker, GRID, scoring=make_scorer("ndcg@10"), cv=GroupKFold(3), n_jobs=2)
    return search.fit(with_qid_column(X, qid), y, groups=qid)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="folder for models and report")
    args, train, valid, test = load(parser)
    args.out.mkdir(parents=True, exist_ok=True)

    log = ltr.PerQueryLog()
    stopped = train_with_early_stopping(train, valid, log)
    best = stopped.best_iteration - 1
    change = log.changes("valid_0", "err@10", before=0, after=best)
    print(
        f"\nStopped at round {stopped.best_iteration}: "
        f"err@10 = {stopped.best_score['valid_0']['err@10']:.6f} on validation."
    )
    print(f"Since the first round {len(change.improved)} queries improved, {len(change.worsened)} got worse.")

    search = search_settings(train)
    print(f"\nGrid search: best ndcg_exp@10 = {search.best_score_:.6f} with {search.best_params_}.")

    X_test, y_test, qid_test = test
    scores = {
        "early stopping": stopped.predict(X_test),
        "grid search": search.predict(with_qid_column(X_test, qid_test)),
    }
    report = summarize(
        ltr.Queries(y_test, qid=qid_test),
        scores,
        METRICS,
        baseline="grid search",
        complete=True,
        learning={"early stopping": [log.learning_curve("valid_0", METRICS[0])]},
        source="test queries",
    )
    for name, text in (
        ("report.html", as_html(report)),
        ("report.txt", as_text(report)),
        ("report.json", as_json(report)),
        ("per_query.csv", as_per_query_csv(report)),
    ):
        write_whole(args.out / name, text)
    stopped.save_model(args.out / "early_stopping.txt")
    search.best_estimator_.estimator_.booster_.save_model(args.out / "grid_search.txt")

    print(f"\n{report.evaluations['early stopping']}\n\n{report.comparison}")
    print(f"\nReport and models are in {args.out.resolve()}; open report.html:")
    print(*(f"  {path.name}" for path in sorted(args.out.iterdir())), sep="\n")


if __name__ == "__main__":
    main()
