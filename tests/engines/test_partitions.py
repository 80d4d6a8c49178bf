"""Partitions of Dask and Spark: `concat` makes one evaluation of theirs, as the guide shows."""

from __future__ import annotations

import pytest
from parts import METRICS, frame_of, in_memory, same
from strategies import random_data

import ltr_metrics as ltr

pytestmark = pytest.mark.integration


def test_dask() -> None:
    dask = pytest.importorskip("dask", reason="Dask is not installed: pip install '.[dask]'")
    dd = pytest.importorskip("dask.dataframe", reason="no data frames of Dask: pip install '.[dask]'")
    frame = frame_of(random_data(3, n_queries=60)).sample(frac=1, random_state=0)
    with dask.config.set(scheduler="threads"):
        whole = dd.from_pandas(frame, npartitions=5).shuffle("qid")
        parts = [
            dask.delayed(ltr.evaluate)(data=part, metrics=METRICS, sample_weight="weight", by={"device": "device"})
            for part in whole.to_delayed()
        ]
        found = ltr.concat(dask.compute(*parts))
    same(found, in_memory(frame, METRICS, weight="weight", by=("device",)))


def test_a_query_in_two_parts_is_an_error() -> None:
    part = ltr.evaluate([1, 0], [0.2, 0.8], qid=[7, 7], metrics=["mrr"])
    with pytest.raises(ltr.LtrValueError, match="Query '7' is in two parts, 0 and 1"):
        ltr.concat([part, part])
