"""The queries that gain and that lose when one model replaces another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray
from ltr_metrics._rows.ids import id_text
from ltr_metrics.errors import one_line
from ltr_metrics.evaluation.ranges import gain_of
from ltr_metrics.evaluation.tables import Result, Table, TableOrText

MAX_PRINTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Change(Result):
    """The queries by the sign of their change in one metric, as `Comparison.changes` returns them.

    Attributes
    ----------
    metric, model, baseline : str
        What was compared.
    qid : ndarray
        Id of each query.
    difference : ndarray of float64
        model - baseline of each query, NaN where one has no value.
    higher_is_better : bool
        The direction of the metric.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> scores = {"base": [3, 2, 3, 2, 3, 2], "new": [2, 3, 3, 2, 3, 2]}
    >>> comparison = ltr.compare(scores, [1, 0, 0, 1, 0, 1], qid=[7, 7, 8, 8, 9, 9], metrics="mrr")
    >>> changes = comparison.changes("mrr")
    >>> changes.worsened, changes.unchanged
    (array([7]), array([8, 9]))
    >>> print(changes)
    mrr of new against base: 0 queries gain, 1 loses and 2 stay the same.
    <BLANKLINE>
    Largest losses
    query  difference
    7         -0.5000
    """

    IN_DICT = ("metric", "model", "baseline", "improved", "worsened", "unchanged", "difference")

    metric: str
    model: str
    baseline: str
    qid: AnyArray
    difference: FloatArray
    higher_is_better: bool

    @property
    def improved(self) -> AnyArray:
        """Ids of the queries that become better, largest gain first."""
        gain = self._gain[self._by_gain]
        return self.qid[self._by_gain[gain > 0]]

    @property
    def worsened(self) -> AnyArray:
        """Ids of the queries that become worse, largest loss first."""
        return self.qid[self._losses]

    @property
    def unchanged(self) -> AnyArray:
        """Ids of the queries with equal values."""
        return self.qid[np.flatnonzero(self.difference == 0)]

    @cached_property
    def _gain(self) -> FloatArray:
        return gain_of(self.difference, higher_is_better=self.higher_is_better)

    @cached_property
    def _by_gain(self) -> AnyArray:
        return np.argsort(-self._gain, kind="stable")

    @property
    def _losses(self) -> AnyArray:
        by_loss: AnyArray = self._by_gain[::-1]
        losses: AnyArray = by_loss[self._gain[by_loss] < 0]
        return losses

    def printed(self) -> list[TableOrText]:
        """Return the counts in a sentence, and a table of the largest losses if there are any."""
        counts = (
            (len(self.improved), "query gains", "queries gain"),
            (len(self.worsened), "loses", "lose"),
            (len(self.unchanged), "stays the same", "stay the same"),
            (int(np.isnan(self.difference).sum()), "has no value", "have no value"),
        )
        *parts, last = [f"{n:,} {one if n == 1 else many}" for n, one, many in counts if n or many != "have no value"]
        sentence = f"{self.metric} of {self.model} against {self.baseline}: {', '.join(parts)} and {last}."
        rows = [{"qid": id_text(self.qid[i]), "difference": self.difference[i]} for i in self._losses[:MAX_PRINTED]]
        table = Table.of({"query": "{qid}", "difference": "{difference:+.4f}"}, rows, "Largest losses")
        return [one_line(sentence), table] if rows else [one_line(sentence)]
