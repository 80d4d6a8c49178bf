"""A published experiment on MQ2008, as our simulation reproduces it.

Five features of LETOR are the rankers. On each fold's test part, 10,000 impressions of 10
documents, 25 times: the share of the ten pairs on which the interleaving disagrees with NDCG@10
(linear gain) of the same documents. A user may stop behind each document, clicked or not; of two
rankers the one that wins more impressions is better; a pair that is tied on one side counts one
half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ltr_metrics as ltr
from ltr_metrics._engine.words import InterleavingMethod
from ltr_metrics.interleaving import ClickModel, Outcome, simulate
from ltr_metrics.io import read_letor

FEATURES = (15, 25, 40, 41, 42)  # numbers of LETOR's features
METRIC = "ndcg_lin@10"
USERS = ("perfect", "navigational", "informational")
METHODS: dict[InterleavingMethod, str] = {"team_draft": "Team Draft", "ppm": "PPM"}


class Published(NamedTuple):
    """An error: of the article, and of a simulation of the same, with its standard error."""

    article: float
    simulation: float
    standard_error: float


PUBLISHED = {
    ("perfect", "team_draft"): Published(0.008, 0.012, 0.003),
    ("navigational", "team_draft"): Published(0.051, 0.050, 0.006),
    ("informational", "team_draft"): Published(0.059, 0.054, 0.006),
    ("perfect", "ppm"): Published(0.022, 0.027, 0.005),
    ("navigational", "ppm"): Published(0.028, 0.028, 0.004),
    ("informational", "ppm"): Published(0.040, 0.038, 0.005),
}


class Cell(NamedTuple):
    """The error of a method under a kind of user over all runs, by wins and by summed credit."""

    user: str
    method: InterleavingMethod
    error: float
    standard_error: float
    by_credit: float

    @property
    def published(self) -> Published:
        """What was published."""
        return PUBLISHED[self.user, self.method]

    @property
    def agrees(self) -> bool:
        """Whether both published figures are within two standard errors of ours.

        The standard error is that of the difference, because both figures are of so many runs.
        """
        both = np.hypot(self.standard_error, self.published.standard_error)
        return all(abs(self.error - value) <= 2 * both for value in self.published[:2])


class Fold(NamedTuple):
    """The test part of a fold."""

    queries: ltr.Queries
    scores: Mapping[str, np.ndarray]


def folds(folder: Path) -> list[Fold]:
    """Read the five test parts of MQ2008."""
    parts = (read_letor(folder / "mq2008" / f"S{part}.txt.xz") for part in range(1, 6))
    return [
        Fold(ltr.Queries(data.y, qid=data.qid), {f"feature {j}": data.X[:, j - 1] for j in FEATURES}) for data in parts
    ]


def outcomes(
    data: list[Fold], user: str, method: InterleavingMethod, n_runs: int, impressions: int
) -> Iterator[Outcome]:
    """Simulate each fold as often."""
    clicks = getattr(ClickModel, user)(grades=3)
    for i, fold in enumerate(data):
        for run in range(n_runs):
            yield simulate(
                fold.queries,
                fold.scores,
                method=method,
                clicks=clicks,
                impressions=impressions,
                length=10,
                random_state=len(data) * run + i,
            )


def cell(user: str, method: InterleavingMethod, found: list[Outcome]) -> Cell:
    """Return the mean error over the runs."""
    errors = np.array([outcome.error(METRIC) for outcome in found])
    by_credit = np.mean([outcome.error(METRIC, by="credit") for outcome in found])
    return Cell(user, method, float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), float(by_credit))
