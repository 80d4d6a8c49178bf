"""Small data sets of several queries, with ties, empty of relevance, or of one document: by Hypothesis, and by seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Data:
    y: np.ndarray
    score: np.ndarray
    group: np.ndarray

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Numbers of the documents that know nothing of their grades."""
        ends = np.cumsum(self.group)
        at = np.arange(len(self.y)) - np.repeat(ends - self.group, self.group)
        return {"judged": ((at * 7 + 3) % 5 > 1) | (self.y > 0), "margin": np.sin(at + 1.0)}

    @property
    def qid(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.group)), self.group)

    def rows(self) -> list[slice]:
        """Return the rows of each query."""
        return [slice(end - n, end) for end, n in zip(np.cumsum(self.group), self.group, strict=True)]

    def queries(self) -> list[tuple[list[float], list[float]]]:
        return [(self.y[rows].tolist(), self.score[rows].tolist()) for rows in self.rows()]


LAST_BITS = st.sampled_from([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)])
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0]),  # heavy ties
    st.integers(-3, 3).map(float),
    LAST_BITS,
    st.floats(allow_nan=False),  # infinities and subnormals too
)


@st.composite
def data(
    draw: st.DrawFn, max_documents: int = 6, max_queries: int = 4, scores: st.SearchStrategy[float] = SCORES
) -> Data:
    group = draw(st.lists(st.integers(1, max_documents), min_size=1, max_size=max_queries))
    n = sum(group)
    grades = draw(st.sampled_from([st.just(0), st.integers(0, 1), st.integers(0, 4)]))
    y = draw(st.lists(grades, min_size=n, max_size=n))
    return Data(np.array(y, dtype=float), np.array(draw(st.lists(scores, min_size=n, max_size=n))), np.array(group))


def random_data(
    seed: int, grades: ArrayLike = (0, 1, 2, 3, 4), *, levels: int = 6, n_queries: int = 40, max_documents: int = 14
) -> Data:
    """Draw what peers are compared on: few score levels (float32 can hold them), one-document
    queries, and some without a relevant one.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(1, max_documents + 1, n_queries)
    group[::10] = 1
    y = rng.choice(np.asarray(grades, dtype=float), group.sum())
    y[np.isin(np.repeat(np.arange(n_queries), group), rng.permutation(n_queries)[: n_queries // 4])] = 0
    return Data(y, rng.integers(0, levels, group.sum()) / 8, group)


# The differences of queries, their weights or None, and their clusters or None.
DIFFERENCES = st.one_of(st.integers(-5, 5).map(lambda i: i / 10), st.floats(-1, 1, width=32))
SAMPLES = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        st.lists(DIFFERENCES, min_size=n, max_size=n),
        st.one_of(st.none(), st.lists(st.floats(0.125, 8), min_size=n, max_size=n)),
        st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=n, max_size=n)),
    )
)
