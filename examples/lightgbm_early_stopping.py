"""LightGBM from training to report: early stopping, a grid search, and both against today's ranking.

Early stopping is on ERR@10, the grid search on NDCG@10, and the comparison on test queries.
Today's ranking is by one feature.

python examples/lightgbm_early_stopping.py                                   # synthetic data, no download
python examples/lightgbm_early_stopping.py --letor train.txt --valid vali.txt --test test.txt --today 25
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
from ltr_metrics.report import as_html, as_json, as_per_query_csv, summarize
from ltr_metrics.sklearn import QueryRanker, make_scorer

LOGGED = ["err@10", "ndcg@10"]  # the first one decides when to stop
METRICS = ["err@10", "ndcg_exp@10", "ndcg_lin@10", "map", "mrr"]
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
        valid_names=["validation"],
        feval=feval(LOGGED, log=log),
        callbacks=[lgb.early_stopping(50, first_metric_only=True), lgb.log_evaluation(25)],
    )


def search_settings(train):
    X, y, qid = train
    ranker = QueryRanker(lgb.LGBMRanker(n_estimators=100, n_jobs=1, verbose=-1, random_state=0))
    scorer = make_scorer("ndcg@10")
    search = GridSearchCV(ranker, GRID, scoring=scorer, cv=GroupKFold(3), n_jobs=2, error_score="raise")
    return search.fit(with_qid_column(X, qid), y, groups=qid)


def describe_training(booster, log):
    values = log.values("validation", "err@10")
    gain = values[booster.best_iteration - 1] - values[0]
    print(
        f"Stopped at round {booster.best_iteration}: err@10 = {booster.best_score['validation']['err@10']:.6f} on "
        f"validation.\nSince the first round {(gain > 0).sum()} queries improved, {(gain < 0).sum()} got worse."
    )


def describe_difference(row):
    """Say what one row of the comparison shows, and what it does not."""
    interval = f"interval [{row.ci_low:+.4f}, {row.ci_high:+.4f}]"
    if row.ci_low > 0 or row.ci_high < 0:
        verdict = "a clear win" if row.ci_low > 0 else "a clear loss"
        reason = f"the whole interval is {'above' if row.ci_low > 0 else 'below'} 0"
    else:
        verdict = "not clear"
        reason = (
            f"the interval contains 0. With {row.n_queries} queries such as these,\n"
            f"    only differences of {row.mde:.4f} or more are found with a probability of 80 %"
        )
    return f"  {row.model}, {row.metric}: {row.difference:+.4f}, {interval}\n    This is {verdict}: {reason}."


def write_results(folder, report, booster, search):
    for name, text in (
        ("report.html", as_html(report)),
        ("report.json", as_json(report)),
        ("per_query.csv", as_per_query_csv(report)),
    ):
        write_whole(folder / name, text)
    booster.save_model(folder / "early_stopping.txt")
    search.best_estimator_.estimator_.booster_.save_model(folder / "grid_search.txt")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--today", type=int, default=1, help="number of the feature that today's ranking is by")
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="folder for models and report")
    args, train, valid, (X, y, qid) = load(parser)
    if not 1 <= args.today <= X.shape[1]:
        parser.error(f"--today must be the number of a feature, 1 to {X.shape[1]}. Got {args.today}.")
    args.out.mkdir(parents=True, exist_ok=True)

    print("== 1. Train with early stopping on ERR@10")
    log = ltr.PerQueryLog(data_names=["validation"])
    booster = train_with_early_stopping(train, valid, log)
    describe_training(booster, log)

    print("\n== 2. Search a grid for NDCG@10")
    search = search_settings(train)
    print(f"Best: ndcg@10 = {search.best_score_:.6f} in cross-validation, with {search.best_params_}.")

    print(f"\n== 3. Compare with today's ranking, which is by feature {args.today}")
    models = {
        "today": X[:, args.today - 1],
        "early stopping": booster.predict(X),
        "grid search": search.predict(with_qid_column(X, qid)),
    }
    report = summarize(
        ltr.Queries(y, qid=qid),
        models,
        METRICS,
        baseline="today",
        complete=True,
        learning={"early stopping": [log.learning_curve("validation", LOGGED[0])]},
        source="test queries",
        origins={
            "today": f"feature {args.today}",
            "early stopping": "early_stopping.txt",
            "grid search": "grid_search.txt",
        },
    )
    print(f"{report.comparison}\n\nTwo rows in words:")
    for row in (report.comparison["ndcg@10", "grid search"], report.comparison["err@10", "early stopping"]):
        print(describe_difference(row))

    write_results(args.out, report, booster, search)
    print(f"\nThe report: {(args.out / 'report.html').resolve().as_uri()}")
    print("Beside it:", ", ".join(path.name for path in sorted(args.out.iterdir()) if path.name != "report.html"))


if __name__ == "__main__":
    main()
