"""The data that are measured: labels, scores and query sizes, each shape a function."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr_metrics.io import read_letor

AnyArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROOT = Path(__file__).parent.parent
MSLR = "MSLR shape"  # what `mslr` is called
GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # of grades 0 to 4 in MSLR-WEB10K
DOCUMENTS, SPREAD, LONGEST = 108, 0.5, 1200  # a query's length there: median, of its logarithm, maximum
MEAN_DOCUMENTS = 120  # of such queries


@dataclass(frozen=True)
class Data:
    """Rows of many queries, one query after the other.

    Attributes
    ----------
    shape : str
        What tables call it.
    y, scores, sizes : ndarray
        Grades and scores of the rows, documents of the queries.
    """

    shape: str
    y: IntArray
    scores: AnyArray
    sizes: IntArray

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.y)

    @cached_property
    def qid(self) -> IntArray:
        """Each row's query, counted from 0."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def documents(self) -> list[str]:
        """Each row's document as TREC's tools want it, a name that is unique within its query."""
        names = [f"d{place}" for place in range(int(self.sizes.max()))]
        return [name for size in self.sizes.tolist() for name in names[:size]]

    def replace(self, **changed: Any) -> Data:
        """Return the same data with some fields changed."""
        return dataclasses.replace(self, **changed)


def _with_scores(shape: str, sizes: IntArray, rng: np.random.Generator) -> Data:
    y = rng.choice(len(GRADE_SHARES), sizes.sum(), p=GRADE_SHARES)
    return Data(shape, y, y * 0.5 + rng.normal(size=len(y)), sizes)


def mslr(n_queries: int) -> Data:
    """Make queries of the lengths and grades of MSLR-WEB10K and scores of a fair model, all of them distinct."""
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(np.log(DOCUMENTS), SPREAD, n_queries), 1, LONGEST).astype(np.int64)
    return _with_scores(MSLR, sizes, rng)


def mslr_of(n_rows: float) -> Data:
    """Make `mslr` with about so many rows."""
    return mslr(round(n_rows / MEAN_DOCUMENTS))


def one_query(n_documents: int) -> Data:
    """Make one query of all documents."""
    return _with_scores("one query", np.array([n_documents]), np.random.default_rng(0))


def tiny_queries(n_queries: int) -> Data:
    """Make queries of 1 to 10 documents."""
    rng = np.random.default_rng(0)
    return _with_scores("queries of 1-10 documents", rng.integers(1, 11, n_queries), rng)


def equal_queries(n_queries: int, n_documents: int) -> Data:
    """Make queries with the same number of documents each."""
    shape = f"queries of {n_documents} documents"
    return _with_scores(shape, np.full(n_queries, n_documents), np.random.default_rng(0))


def binary(data: Data) -> Data:
    """Make the labels 0 and 1."""
    return data.replace(shape=f"{data.shape}, labels 0 and 1", y=(data.y > 0).astype(np.int64))


def with_leaves(data: Data, n_leaves: int = 31) -> Data:
    """Make heavy ties: so many distinct scores, spread evenly and at random."""
    rng = np.random.default_rng(0)
    leaves = rng.normal(size=n_leaves)
    return data.replace(
        shape=f"{data.shape}, {n_leaves} random leaves", scores=leaves[rng.integers(0, n_leaves, data.n_rows)]
    )


def features(data: Data, n_features: int = 5) -> FloatArray:
    """Make columns that know a little of the grades, each less than the one before, to train on."""
    rng = np.random.default_rng(1)
    return data.y[:, None] * (0.5 / np.arange(1, n_features + 1)) + rng.normal(size=(data.n_rows, n_features))


def data_folder() -> Path:
    """Return where real data are looked for, as in the tests: LTR_METRICS_DATA, or ../shared/data."""
    return Path(os.environ.get("LTR_METRICS_DATA", ROOT.parent / "shared" / "data"))


def mq2008(folder: Path) -> Data:
    """LETOR's MQ2008, all five parts, ranked by BM25 (feature 25), which has ties."""
    X, y, qid = read_letor([folder / "mq2008" / f"S{part}.txt.xz" for part in range(1, 6)])
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
    return Data("MQ2008 by BM25", y.astype(np.int64), X[:, 24].copy(), np.diff(np.append(starts, len(qid))))
