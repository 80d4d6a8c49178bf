"""XGBoost's workers: its all-reduce, and the query ids that xgboost.dask keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from xgboost import collective
from xgboost.core import XGBoostError

from ltr_metrics._hosts.frames import find_call
from ltr_metrics._rows.checks import AnyArray, FloatArray


class XGBoostWorkers:
    """The workers of a training, under any launcher of XGBoost."""

    rank = property(lambda _: collective.get_rank())
    n_workers = property(lambda _: collective.get_world_size())

    def sum(self, numbers: FloatArray) -> FloatArray:
        try:
            return np.asarray(collective.allreduce(numbers, collective.Op.SUM))
        except XGBoostError as error:
            raise XGBoostError(
                "Another worker has left the training, and its log says why. If its log says 'data did not contain "
                "feature names', it has no partition of a data set: pass feature_names=list(X.columns) to DaskDMatrix, "
                f"or use as many partitions as there are workers. {error}"
            ) from error

    def broadcast(self, value: Any, rank: int) -> Any:
        # XGBoost refuses None as a value.
        received: Any = collective.broadcast((value,) if rank == self.rank else None, rank)
        return received[0]


def ids_on_dask(dmatrix: Any) -> AnyArray | None:
    """Return the distinct query ids of a DMatrix that xgboost.dask trains with, and None elsewhere.

    A DMatrix keeps the offsets of queries and drops their ids. The function that xgboost.dask runs
    on each worker has both.
    """
    call = find_call("xgboost.dask", "do_train")
    if call is None:
        return None
    matrices, sources = (call.local(name, "that workers have whole queries") for name in ("evals", "refs"))
    if matrices is None or sources is None:
        return None
    source = next(source for (matrix, _), source in zip(matrices, sources, strict=True) if matrix is dmatrix)
    parts = [part["qid"] for part in source["parts"] or () if "qid" in part]
    arrays = [part.get() if hasattr(part, "__cuda_array_interface__") else np.asarray(part) for part in parts]
    return np.unique(np.concatenate(arrays)) if arrays else np.zeros(0, dtype=np.int64)
