"""The data that are measured: grades, scores and query sizes, one function per shape."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr_metrics.io import read_letor

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROOT = Path(__file__).parent.parent
MSLR = "MSLR shape"  # the name of `mslr` in tables
GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # of grades 0 to 4 in MSLR-WEB10K
DOCUMENTS, SPREAD, LONGEST = 108, 0.5, 1200  # length of its queries: median, SD of the logarithm, maximum


@dataclass(frozen=True)
class Data:
    """Grades and scores of rows, one query after the other, and the number of documents of each query."""

    shape: str
    y: IntArray
    scores: npt.NDArray[Any]
    sizes: IntArray

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @cached_property
    def qid(self) -> IntArray:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def documents(self) -> list[str]:
        """Document ids, which are unique within their query."""
        names = [f"d{i}" for i in range(int(self.sizes.max()))]
        return [name for size in self.sizes.tolist() for name in names[:size]]


def _with_scores(shape: str, sizes: IntArray, rng: np.random.Generator) -> Data:
    y = rng.choice(len(GRADE_SHARES), sizes.sum(), p=GRADE_SHARES)
    return Data(shape, y, y * 0.5 + rng.normal(size=len(y)), sizes)


def mslr(n_queries: int) -> Data:
    """Make queries with the lengths and grades of MSLR-WEB10K, and the scores of a fair model without ties."""
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(np.log(DOCUMENTS), SPREAD, n_queries), 1, LONGEST).astype(np.int64)
    return _with_scores(MSLR, sizes, rng)


def mslr_of(n_rows: float) -> Data:
    """Make `mslr` with about so many rows."""
    return mslr(round(n_rows / 120))  # documents of a query on average


def one_query(n_documents: int) -> Data:
    return _with_scores("one query", np.array([n_documents]), np.random.default_rng(0))


def tiny_queries(n_queries: int) -> Data:
    rng = np.random.default_rng(0)
    return _with_scores("queries of 1-10 documents", rng.integers(1, 11, n_queries), rng)


def equal_queries(n_queries: int, n_documents: int) -> Data:
    shape = f"queries of {n_documents} documents"
    return _with_scores(shape, np.full(n_queries, n_documents), np.random.default_rng(0))


def binary(data: Data) -> Data:
    return replace(data, shape=f"{data.shape}, labels 0 and 1", y=(data.y > 0).astype(np.int64))


def with_leaves(data: Data, n_leaves: int = 31) -> Data:
    """Make heavy ties: only so many distinct scores, spread at random."""
    rng = np.random.default_rng(0)
    leaves = rng.normal(size=n_leaves)
    scores = leaves[rng.integers(0, n_leaves, data.n_rows)]
    return replace(data, shape=f"{data.shape}, {n_leaves} random leaves", scores=scores)


def features(data: Data, n_features: int = 5) -> FloatArray:
    """Make columns to train on, each with less information about the grades than the one before."""
    rng = np.random.default_rng(1)
    return data.y[:, None] * (0.5 / np.arange(1, n_features + 1)) + rng.normal(size=(data.n_rows, n_features))


def mq2008_parts() -> list[Path]:
    """Return the five files of LETOR's MQ2008 in the folder LTR_METRICS_DATA, or ../shared/data."""
    folder = Path(os.environ.get("LTR_METRICS_DATA", ROOT.parent / "shared" / "data")) / "mq2008"
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no {folder}; set LTR_METRICS_DATA to the folder that has mq2008")
    return [folder / f"S{part}.txt.xz" for part in range(1, 6)]


def mq2008() -> Data:
    """Read MQ2008 ranked by BM25 (feature 25), which has ties."""
    X, y, qid = read_letor(mq2008_parts())
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
    return Data("MQ2008 by BM25", y.astype(np.int64), X[:, 24].copy(), np.diff(np.append(starts, len(qid))))
