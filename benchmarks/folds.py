"""What folds that cut queries do to NDCG@10 on MQ2008: `python -m benchmarks.folds`.

BM25 learns nothing, so it shows what the fragments do. LightGBM's LambdaRank is scored on whole
queries, by the predictions for the rows that each model was not trained on, so it shows what the
model gains from other documents of the same queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from sklearn.model_selection import GroupKFold, KFold

import ltr_metrics as ltr
from benchmarks.intervals import echo_table
from benchmarks.shapes import FloatArray, IntArray, mq2008_parts
from ltr_metrics.io import read_letor

METRIC = "ndcg_exp@10"
BM25 = 24  # its column
FOLDS = 5

Split = tuple[IntArray, IntArray]


def splits(qid: IntArray, seed: int, *, whole: bool) -> Iterator[Split]:
    """Yield the rows of the training and the test part of each fold, both in the order of the data."""
    if whole:
        numbers = np.unique(qid)
        shuffled = np.random.default_rng(seed).permutation(len(numbers))[np.searchsorted(numbers, qid)]
        return iter(GroupKFold(FOLDS).split(qid, groups=shuffled % FOLDS))
    return iter(KFold(FOLDS, shuffle=True, random_state=seed).split(qid))


def mean_of_folds(
    y: FloatArray, scores: FloatArray, qid: IntArray, folds: list[Split], no_relevant: float | None
) -> float:
    """Return the mean over the folds of the metric on the rows of each test part."""
    options: dict[str, Any] = {"metrics": METRIC, "no_relevant": no_relevant}
    return float(np.mean([ltr.evaluate(y[test], scores[test], qid=qid[test], **options)[METRIC] for _, test in folds]))


def predictions(X: FloatArray, y: FloatArray, qid: IntArray, folds: list[Split]) -> FloatArray:
    """Return the scores of LambdaRank for each row, by the model that was not trained on it."""
    import lightgbm as lgb

    scores = np.empty(len(y))
    for train, test in folds:
        ranker = lgb.LGBMRanker(n_jobs=1, random_state=0, verbose=-1)
        ranker.fit(X[train], y[train], group=ltr.qid_to_group(qid[train]))
        scores[test] = ranker.predict(X[test])
    return scores


@click.command(help="Measure what folds that cut queries do to NDCG@10 on MQ2008.")
@click.option("--shuffles", default=5, show_default=True, type=click.IntRange(min=1))
def main(shuffles: int) -> None:
    X, y, qid = read_letor(mq2008_parts())
    values: dict[str, dict[bool, list[float]]] = {}
    learned: dict[bool, list[FloatArray]] = {True: [], False: []}
    for seed in range(shuffles):
        for whole in (True, False):
            folds = list(splits(qid, seed, whole=whole))
            for name, no_relevant in (("BM25, scored fold by fold", None), ("the same with no_relevant=0", 0.0)):
                of_kind = values.setdefault(name, {True: [], False: []})[whole]
                of_kind.append(mean_of_folds(y, X[:, BM25], qid, folds, no_relevant))
            learned[whole].append(predictions(X, y, qid, folds))
        click.echo(f"shuffle {seed + 1} of {shuffles}: done", err=True)
    comparison = ltr.compare({"whole": learned[True], "cut": learned[False]}, y, qid=qid, metrics=METRIC)
    row = comparison[METRIC]
    rows = [[name, *(f"{np.mean(of[whole]):.3f}" for whole in (True, False))] for name, of in values.items()]
    rows.append(["LightGBM's LambdaRank, scored on whole queries", f"{row.baseline_mean:.3f}", f"{row.mean:.3f}"])
    echo_table("NDCG@10 on MQ2008", ("whole queries", "cut queries"), rows)
    click.echo(
        f"LambdaRank gains {row.difference:.3f}, {100 * comparison.settings.confidence:g}% interval "
        f"[{row.ci_low:.3f}, {row.ci_high:.3f}]."
    )


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.folds")
