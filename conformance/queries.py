"""Random queries: ties, queries without a relevant document, of one document, and short lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CUTOFFS = (1, 2, 3, 5, 10, 20)
MOST_DOCUMENTS = 25
N_QUERIES = 60
SHARE_WITHOUT_RELEVANT = 0.2


@dataclass(frozen=True)
class Query:
    """The documents of one query, in the order of the input.

    Attributes
    ----------
    qid : str
    docids : list of str
        Their order as text is neither that of the input nor that of the scores.
    grades : ndarray of int
    scores : ndarray of float64
        Positive, and exact in float32.
    retrieved : ndarray of bool
        A document that is not retrieved has no rank. At least one document is retrieved.
    """

    qid: str
    docids: list[str]
    grades: np.ndarray
    scores: np.ndarray
    retrieved: np.ndarray

    @property
    def ranking(self) -> list[str]:
        """The retrieved documents, best first; ties keep the order of the input."""
        order = np.argsort(-self.scores, kind="stable")
        return [self.docids[row] for row in order if self.retrieved[row]]

    @property
    def grade_of(self) -> dict[str, int]:
        """The grade of each document."""
        return dict(zip(self.docids, self.grades.tolist(), strict=True))

    @property
    def relevant(self) -> list[str]:
        """The documents of grade 1 or more."""
        return [docid for docid, grade in self.grade_of.items() if grade > 0]

    @property
    def score_of(self) -> dict[str, float]:
        """The score of each retrieved document."""
        pairs = zip(self.docids, self.scores.tolist(), self.retrieved, strict=True)
        return {docid: score for docid, score, is_retrieved in pairs if is_retrieved}


@dataclass(frozen=True)
class Draw:
    """What the random queries have.

    Attributes
    ----------
    graded : bool
        Grades from 0 to 4, instead of 0 and 1.
    ties : bool
        Few distinct scores.
    unretrieved : bool
        Some documents are not retrieved.
    """

    graded: bool
    ties: bool
    unretrieved: bool


def draw_queries(seed: int, draw: Draw, highest_grade: int = 4) -> list[Query]:
    """Return random queries of 1 to 25 documents; every tenth has one document."""
    rng = np.random.default_rng(seed)
    queries = []
    for number in range(N_QUERIES):
        n = 1 if number % 10 == 0 else int(rng.integers(2, MOST_DOCUMENTS + 1))
        grades = rng.choice([0, 0, 0, 1, 2, 3, 4] if draw.graded else [0, 0, 1], n).clip(max=highest_grade)
        if rng.random() < SHARE_WITHOUT_RELEVANT:
            grades[:] = 0
        scores = (rng.integers(0, 4, n) if draw.ties else rng.permutation(n)) / 8 + 0.125
        retrieved = (rng.random(n) < 0.7) if draw.unretrieved else np.ones(n, dtype=bool)
        retrieved[0] = True
        docids = [f"d{name:03}" for name in rng.permutation(n)]
        queries.append(Query(f"q{number:03}", docids, grades, scores, retrieved))
    return queries
