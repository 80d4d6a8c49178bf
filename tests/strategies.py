"""Hypothesis strategies: small data sets of several queries, with ties, empty of relevance, or of one document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Data:
    y: np.ndarray
    score: np.ndarray
    group: np.ndarray

    @property
    def qid(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.group)), self.group)

    def queries(self) -> list[tuple[list[float], list[float]]]:
        ends = np.cumsum(self.group)
        return [
            (self.y[e - n : e].tolist(), self.score[e - n : e].tolist()) for e, n in zip(ends, self.group, strict=True)
        ]


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
