"""Which metric should stop the training? LambdaRank on five folds with several seeds, stopped by each of five metrics.

Every model is trained to the last round and logged on its validation and test queries, so all rules choose among the
same rounds. A rule takes the round with the best mean of its metric on the validation queries. What counts is the
metric that you report, on the test queries of all folds together.

python examples/which_metric_should_stop.py                                     # synthetic data, half a minute
python examples/which_metric_should_stop.py --letor S1.txt S2.txt S3.txt S4.txt S5.txt --n-features 46   # five parts
"""

from __future__ import annotations

import argparse

import lightgbm as lgb
import numpy as np
from example_data import read

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval

METRICS = ["err@10", "ndcg@10", "map", "mrr", "precision@5"]
N_PARTS = 5


def parts_of(args):
    """Return (X, y, qid) of five parts: the files, or synthetic queries."""
    if args.letor:
        return [read([file], args.n_features) for file in args.letor]
    X, y, qid = ltr.make_ranking(800, random_state=0)
    return [tuple(column[qid % N_PARTS == part] for column in (X, y, qid)) for part in range(N_PARTS)]


def concat(parts):
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def training_log(train, valid, test, seed, n_rounds, max_grade):
    """Train to the last round, and return the values of all metrics on validation and test queries."""
    train_set = lgb.Dataset(train[0], train[1], group=ltr.qid_to_group(train[2]))
    others = [lgb.Dataset(X, y, group=ltr.qid_to_group(qid), reference=train_set) for X, y, qid in (valid, test)]
    log = ltr.PerQueryLog(data_names=["valid", "test"])
    params = {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "verbose": -1, "seed": seed}
    params |= {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8, "num_threads": 1}
    metrics = [name.replace("err@", f"err(max_grade={max_grade:g})@") for name in METRICS]
    lgb.train(
        params, train_set, n_rounds, valid_sets=others, valid_names=["valid", "test"], feval=feval(metrics, log=log)
    )
    return log, dict(zip(METRICS, metrics, strict=True))


def rounds_of_rules(log, names, reported):
    """Return the round that each rule keeps, counted from 0."""
    rounds = {metric: log.best_round("valid", name).best for metric, name in names.items()}
    rounds["first of the plateau"] = log.best_round("valid", names[reported]).plateau[0]
    rounds["last round"] = len(log.values("valid", names[reported])) - 1
    rounds["best on test (not a rule)"] = log.best_round("test", names[reported]).best
    return rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--letor", nargs=N_PARTS, metavar="FILE", help="five parts, each with other queries")
    parser.add_argument("--n-features", type=int, help="features of the files, if the last ones may be absent")
    parser.add_argument("--report", choices=METRICS, default="err@10", help="the metric that counts (%(default)s)")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()

    parts = parts_of(args)
    max_grade = max(y.max() for _, y, _ in parts)
    values = {}  # of the reported metric, by rule and seed: one array per fold
    kept = {}
    for fold in range(N_PARTS):
        turned = parts[fold:] + parts[:fold]
        train, valid, test = concat(turned[:3]), turned[3], turned[4]
        for seed in range(args.seeds):
            log, names = training_log(train, valid, test, seed, args.rounds, max_grade)
            on_test = log.values("test", names[args.report])
            for rule, round_ in rounds_of_rules(log, names, args.report).items():
                values.setdefault(rule, [[] for _ in range(args.seeds)])[seed].append(on_test[round_])
                kept.setdefault(rule, []).append(round_ + 1)

    qid = np.arange(sum(map(len, values["last round"][0])))  # each query is a test query of one fold
    results = {
        rule: [
            ltr.Evaluation.from_per_query({"qid": qid, args.report: np.concatenate(folds)}, convention="default")
            for folds in seeds
        ]
        for rule, seeds in values.items()
    }
    comparison = ltr.compare(results, baseline=args.report)
    print(f"{args.report} on {len(qid)} test queries, {N_PARTS} folds, {args.seeds} seeds\n")
    print(f"{'stopped by':26}{'rounds':>8}{args.report:>10}   difference and 95% interval")
    for rule in results:
        mean = np.mean([one[args.report] for one in results[rule]])
        line = f"{rule:26}{np.median(kept[rule]):8.0f}{mean:10.4f}"
        if rule != args.report:
            found = comparison[args.report, rule]
            line += f"   {found.difference:+.4f} [{found.ci_low:+.4f}, {found.ci_high:+.4f}]"
        print(line)


if __name__ == "__main__":
    main()
