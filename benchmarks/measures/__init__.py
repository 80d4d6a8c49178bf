"""What is measured, by the name that ``--only`` knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from benchmarks.effort import Effort
from benchmarks.figures import Missing, Row
from benchmarks.measures.against_peers import AGAINST_PEERS, on_real_data, on_short_lists
from benchmarks.measures.comparing import comparing
from benchmarks.measures.growth import growth
from benchmarks.measures.memory import memory
from benchmarks.measures.own import alone, bare_sort, single_precision, ties
from benchmarks.measures.start import first, imports
from benchmarks.measures.training import lightgbm_training, xgboost_training

Measure = Callable[[Effort], Iterator[Row | Missing]]

MEASURES: Mapping[str, Measure] = {
    "import": imports,  # first, before other measures have warmed the disk's cache with their own imports
    "sort": bare_sort,
    **AGAINST_PEERS,
    "MQ2008": on_real_data,
    "short": on_short_lists,
    "ties": ties,
    "lgb.train": lightgbm_training,
    "xgb.train": xgboost_training,
    "memory": memory,
    "growth": growth,
    "first": first,
    "compare": comparing,
    "float32": single_precision,
    "alone": alone,
}
