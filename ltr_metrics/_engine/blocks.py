"""Queries of similar length as one (queries x documents) matrix, so that everything after it is plain 2-D NumPy.

```
all queries, sorted by length      blocks: padded matrices             a batch: the first ranks of some
                                   that fit a core's cache             blocks, processed together
query c  . .                       ┌─────────┐
query a  . . .              ─►     │ . . 0 0 │ c
query e  . . . .                   │ . . . 0 │ a         ─►           ranks 1..k of c, a, e, b, d
query b  . . . . . . .             │ . . . . │ e
query d  . . . . . . . .           └─────────┘
                                   ┌─────────────────┐
                                   │ . . . . . . . 0 │ b
                                   │ . . . . . . . . │ d
                                   └─────────────────┘
```

A `Block` knows the labels of its queries. A batch is a block of the queries of several blocks, whose
first ranks are processed together: one NumPy call then serves thousands of queries. A block of
thousands of queries is a batch by itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from ltr_metrics._engine.cache import Cache, cached
from ltr_metrics._engine.checks import IntArray
from ltr_metrics._engine.queries import LabelledQueries

CELLS_IN_A_BLOCK = 48_000  # 64-bit matrices of this size stay in a core's own cache, and malloc reuses their memory
CELLS_IN_A_SHORT_BLOCK = 200_000  # of short lists, which are processed rank by rank, in shorter calls
CELLS_IN_A_SHARED_BLOCK = 400_000  # with several threads: longer calls, because only one thread at a time runs Python
CELLS_WORTH_A_BLOCK = 24_000  # a block of more cells is closed if more than a fifth of it would be padding
CELLS_IN_A_BATCH = 300_000  # cells whose first ranks are worth one call
SHORT_LIST = 32  # documents of a query at most
QUERIES_IN_A_BATCH = 8_000  # queries whose first ranks fill the cache


@cached
def batches_of(queries: LabelledQueries, is_shared: bool) -> list[Block]:
    """Cut the queries into blocks and combine these to batches; larger ones if several threads share them."""
    batches: list[Block] = []
    parts: list[Block] = []
    start = 0
    lengths = queries.n_retrieved
    for members in cut_by_length(lengths, CELLS_IN_A_SHARED_BLOCK if is_shared else CELLS_IN_A_BLOCK):
        parts.append(Block(queries, members, start))
        start += len(members)
        n_queries = start - parts[0].span.start
        n_cells = sum(len(part.members) * part.width for part in parts)
        if n_cells >= CELLS_IN_A_BATCH or n_queries >= QUERIES_IN_A_BATCH or start == len(lengths):
            together = np.concatenate([part.members for part in parts])
            batches.append(parts[0] if len(parts) == 1 else Block(queries, together, parts[0].span.start, parts))
            parts = []
    return batches


@cached
def positions_in_blocks(queries: LabelledQueries, is_shared: bool) -> IntArray | None:
    """Return the position of each query among the queries of all blocks; None if they have the same order."""
    members = np.concatenate([batch.members for batch in batches_of(queries, is_shared)])
    return None if (members[1:] > members[:-1]).all() else np.argsort(members)


def blocks_of(queries: LabelledQueries) -> list[Block]:
    """Return the blocks of all batches."""
    return [block for batch in batches_of(queries, False) for block in batch.parts or [batch]]


def cut_by_length(lengths: IntArray, max_cells: int) -> list[IntArray]:
    """Return the queries of each block: sorted by length, as many as fit into so many cells with little padding."""
    lengths = np.maximum(lengths, 1)
    longest = int(lengths.max())
    order = np.argsort(lengths.astype(np.min_scalar_type(longest)), kind="stable")  # small integers sort faster
    lengths = lengths[order]
    members, start = [], 0
    while start < len(order):
        # The block grows while its padded size stays in the cache. Lengths ascend, so the padded size does too.
        is_short = lengths[start] <= SHORT_LIST
        most = max(max_cells, CELLS_IN_A_SHORT_BLOCK) if is_short else max_cells
        ahead = lengths[start : start + most // int(lengths[start]) + 1]
        n_padded = ahead * np.arange(1, len(ahead) + 1)
        is_wasteful = (n_padded > 1.25 * ahead.cumsum()) | ((ahead > SHORT_LIST) & is_short)
        is_full = (is_wasteful & (n_padded > CELLS_WORTH_A_BLOCK)) | (n_padded > most)
        count = max(1, int(is_full.argmax())) if is_full.any() else len(ahead)
        members.append(order[start : start + count])
        start += count
    return members


class Block(Cache):
    """Some queries of similar length, and what their labels say.

    Attributes
    ----------
    queries : LabelledQueries
        All queries; the block holds a subset. This is a weak proxy, valid while the queries are in use.
    members : ndarray of int
        Positions of this block's queries among all queries.
    span : slice
        Positions of the same queries among the queries of all blocks.
    n_ranked : ndarray of int
        Documents of each query that have a rank.
    width : int
        The largest of these numbers, at least 1.
    parts : sequence of Block
        The blocks of a batch, which is a block of all their queries whose first ranks are read; else empty.
    """

    def __init__(self, queries: LabelledQueries, members: IntArray, start: int, parts: Sequence[Block] = ()) -> None:
        # Queries hold their blocks. A reference back would be a circle, which delays the release of memory.
        self.queries: LabelledQueries = weakref.proxy(queries)
        self.members, self.parts = members, parts
        self.span = slice(start, start + len(members))
        self.n_ranked: IntArray = queries.n_retrieved[members]
        self.width = max(1, int(self.n_ranked.max()))
