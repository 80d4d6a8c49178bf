"""A ranking given by positions instead of scores, as logs of production systems record it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import BoolArray, FloatArray, as_numbers, copy_of
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics.errors import LtrValueError


@dataclass(frozen=True, eq=False)
class Positions:
    """A ranking given as the position of each document, for `evaluate` and `compare`.

    Parameters
    ----------
    places : array-like of shape (n_rows,)
        Whole numbers, the lowest at the top: 1, 2, 3, ... or 0, 1, 2, ...; gaps do not matter. NaN
        for a document that was not shown: it has no rank, but counts among the relevant documents
        and in the ideal ranking. The documents of a query have different positions.

    Raises
    ------
    LtrValueError, LtrTypeError
        On evaluation: if a position is not a whole number, or two documents of a query have the
        same.

    See Also
    --------
    evaluate : Evaluate one ranking.
    compare : Compare rankings with models.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, qid = [1, 0, 0, 2, 0, 1], [7, 7, 7, 9, 9, 9]
    >>> models = {"live": ltr.Positions([2, 1, 3, 3, 1, 2]), "new": [3, 2, 1, 2, 1, 3]}
    >>> ltr.compare(models, y, qid=qid, metrics="mrr")["mrr"].difference
    0.5
    """

    places: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", copy_of(self.places))

    def as_scores(self, queries: GroupedRows) -> tuple[FloatArray, BoolArray]:
        """Return a score per row, and a flag per row that says whether it has a position."""
        queries.refuse_different_indexes(places=self.places)
        places = as_numbers(self.places, "places", queries.n_rows).astype(np.float64)
        has_position: BoolArray = ~np.isnan(places)
        is_bad = has_position & ~((places >= 0) & (places == np.floor(places)) & np.isfinite(places))
        if is_bad.any():
            row = int(is_bad.argmax())
            raise LtrValueError(
                "Positions must be whole numbers, 0 or more, or NaN for a document that was not shown. Got "
                f"{places[row]:g} at {queries.where(row)}."
            )
        repetition = queries.find_repetition(places)
        if repetition is not None:
            first, again = repetition
            raise LtrValueError(
                f"Two documents of a query must not have the same position: got {places[again]:g} at row {first} and "
                f"again at {queries.where(again)}. If the ranking has ties, pass scores and a tie policy (ties=)."
            )
        return -places, has_position
