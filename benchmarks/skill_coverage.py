"""How often the 95 % interval of a skill covers that of the population: `python -m benchmarks.skill_coverage FOLDER`.

FOLDER has MQ2008 and LightGBM's lambdarank example, as for the tests. Queries are drawn from theirs, and from 20,000 of
`make_ranking`, with replacement. Clusters are of three queries that are alike in their value, and are drawn whole.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import ltr_metrics as ltr
from ltr_metrics.analysis.inference import Sample, intervals, intervals_of_ratios
from ltr_metrics.evaluation.skill import skill_of
from ltr_metrics.io import read_letor

SAMPLES = 1_000
METRICS = ["ndcg@10", "map", "mrr"]


def populations(folder: Path) -> dict[str, tuple[Any, Any, Any]]:
    """Return labels, scores and query ids by name."""
    mq2008 = read_letor(sorted((folder / "mq2008").glob("S?.txt.xz")))
    example = read_letor([folder / "lightgbm_lambdarank" / f"rank.{part}.xz" for part in ("train", "test")])
    of: dict[str, tuple[Any, Any, Any]]
    of = {"MQ2008": (mq2008.y, mq2008.X[:, 24], mq2008.qid), "LightGBM": (example.y, example.X[:, 10], example.qid)}
    for documents in (5, 20, 100):
        X, y, qid = ltr.make_ranking(n_queries=20_000, documents=documents, random_state=0)
        of[f"{documents} documents"] = y, X[:, 0], qid
    return of


def coverage(ends: Any, weight: np.ndarray, size: int, n: int) -> np.ndarray:
    """Return how often the intervals of the skill and of the mean cover, for n queries in clusters of a size."""
    expected = [float(one @ weight / weight.sum()) for one in (skill_of(ends[0], ends[1], ends[2], weight), ends[0])]
    rng, n_covered = np.random.default_rng(0), np.zeros(2)
    clusters = np.arange(ends.shape[1] // size * size).reshape(-1, size)
    for _ in range(SAMPLES):
        drawn = clusters[rng.integers(0, len(clusters), n // size)]
        rows = drawn.ravel()
        labels = np.repeat(np.arange(len(drawn)), size) if size > 1 else None
        value, chance, ideal = ends[:, rows, np.newaxis]
        gain, span, mean = (Sample.of(one, weight[rows], labels) for one in (value - chance, ideal - chance, value))
        limits = intervals_of_ratios(gain, span, 0.95) + intervals(mean)
        n_covered += [one.low <= true <= one.high for one, true in zip(limits, expected, strict=True)]
    return n_covered / SAMPLES


def main(folder: Path) -> None:
    for name, (y, score, qid) in populations(folder).items():
        result = ltr.evaluate(y, score, qid=qid, metrics=METRICS)
        for metric in result:
            of_metrics = (result.per_query, result.chance_per_query, result.ideal_per_query)
            ends = np.array([one[metric] for one in of_metrics])
            ends = ends[:, ~np.isnan(ends[0])]
            ends = ends[:, np.argsort(ends[0] + np.random.default_rng(1).normal(0, 0.2, ends.shape[1]))]  # alike
            ones, uneven = np.ones(ends.shape[1]), np.random.default_rng(2).lognormal(0, 1, ends.shape[1])
            kinds: dict[str, tuple[Any, int]]
            kinds = {"": (ones, 1), "weights": (uneven, 1), "clusters": (ones, 3)}
            for kind, (weight, size) in kinds.items():
                found = np.array([coverage(ends, weight, size, n) for n in (30, 100, 300)])
                skill, value = (" ".join(map("{:.3f}".format, one)) for one in found.T)
                print(f"{name:14} {metric:12} {kind:9} {skill}   (the mean: {value})", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
