"""After the training: LightGBM and XGBoost against today's ranking, from data to one HTML file.

A gate decides on the release.

python examples/report.py                                                    # synthetic data, no download
python examples/report.py --letor train.txt --valid vali.txt --test test.txt --today 25
"""

from __future__ import annotations

from pathlib import Path

import lightgbm as lgb
import pandas
import xgboost as xgb
from example_data import arguments, load

import ltr_metrics as ltr
from ltr_metrics.io import write_whole
from ltr_metrics.lightgbm import feval
from ltr_metrics.report import as_html, as_json, summarize
from ltr_metrics.xgboost import Monitor, early_stopping

METRICS = ["ndcg@10", "ndcg_lin@10", "map", "mrr", "err@10"]  # the first one decides when to stop
RULES = ["ndcg@10 > -0.005", "share(ndcg@10 < -0.3) < 25%"]


def train_lightgbm(train, valid, log):
    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    train_set = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    valid_set = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train_set)
    return lgb.train(
        {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "verbose": -1, "seed": 0},
        train_set,
        num_boost_round=500,
        valid_sets=[valid_set],
        feval=feval(METRICS, log=log),
        callbacks=[lgb.early_stopping(50, first_metric_only=True, verbose=False)],
    )


def train_xgboost(train, valid, log):
    (X, y, qid), (X_valid, y_valid, qid_valid) = train, valid
    monitor = Monitor(METRICS, X_valid, y_valid, qid=qid_valid, name="valid_0", log=log)
    callbacks = [monitor, early_stopping(METRICS[0], 50)]
    ranker = xgb.XGBRanker(n_estimators=500, learning_rate=0.05, random_state=0, callbacks=callbacks)
    return ranker.fit(X, y, group=ltr.qid_to_group(qid), verbose=False)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--today", type=int, default=1, help="number of the feature that today's ranking is by")
    parser.add_argument("--out", type=Path, default=Path("report_output"), help="folder for models and report")
    args, train, valid, (X, y, qid) = load(parser)
    if not 1 <= args.today <= X.shape[1]:
        parser.error(f"--today must be the number of a feature, 1 to {X.shape[1]}. Got {args.today}.")
    args.out.mkdir(parents=True, exist_ok=True)

    logs = {"LightGBM": ltr.PerQueryLog(), "XGBoost": ltr.PerQueryLog()}
    booster = train_lightgbm(train, valid, logs["LightGBM"])
    ranker = train_xgboost(train, valid, logs["XGBoost"])
    booster.save_model(args.out / "lightgbm.txt")
    ranker.save_model(args.out / "xgboost.json")

    documents = ltr.Queries(y, qid=qid).n_documents
    report = summarize(
        ltr.Queries(
            y, qid=qid, by={"documents": pandas.qcut(documents, 4, precision=0, duplicates="drop").astype(str)}
        ),
        {"today": X[:, args.today - 1], "LightGBM": booster.predict(X), "XGBoost": ranker.predict(X)},
        METRICS,
        baseline="today",
        rules=RULES,
        complete=True,
        learning={name: [log.learning_curve("valid_0", METRICS[0])] for name, log in logs.items()},
        source="test queries",
        origins={"today": f"feature {args.today}", "LightGBM": "lightgbm.txt", "XGBoost": "xgboost.json"},
    )
    print(f"{report.comparison}\n\n{report.gate}\n")

    write_whole(args.out / "report.html", as_html(report))
    write_whole(args.out / "report.json", as_json(report))
    report.evaluations["LightGBM"].save(args.out / "lightgbm.parquet")  # tomorrow's baseline: ltr.load_result
    print(f"Report, models and the saved result are in {args.out.resolve()}: open report.html.")


if __name__ == "__main__":
    main()
