"""A ranking that is known by places and not by scores, as logs of production have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import BoolArray, FloatArray, as_numbers
from ltr_metrics._engine.grouping import GroupedRows
from ltr_metrics.errors import LtrValueError


@dataclass(frozen=True, eq=False)
class Positions:
    """A ranking given as the place of each document, for `evaluate` and `compare`.

    Parameters
    ----------
    places : array-like of shape (n_rows,)
        Whole numbers, the lowest at the top (1, 2, 3, ... or 0, 1, 2, ...; gaps do not matter); NaN for a document that was not
        shown: it has no rank, but counts among the relevant documents and in the ideal ranking. No two documents of a query
        have one place.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, qid = [1, 0, 0, 2, 0, 1], [7, 7, 7, 9, 9, 9]
    >>> found = ltr.compare({"live": ltr.Positions([2, 1, 3, 3, 1, 2]), "new": [3, 2, 1, 2, 1, 3]}, y, qid=qid, metrics="mrr")
    >>> found["mrr"].difference
    0.5
    """

    places: Any

    def as_scores(self, queries: GroupedRows) -> tuple[FloatArray, BoolArray]:
        """Return a score a row, and which rows were shown."""
        queries.refuse_other_index("places", self.places)
        places = as_numbers(self.places, "places", queries.n_rows).astype(np.float64)
        shown: BoolArray = ~np.isnan(places)
        bad = shown & ~((places >= 0) & (places == np.floor(places)) & np.isfinite(places))
        if bad.any():
            row = int(bad.argmax())
            raise LtrValueError(
                f"Positions: places must be whole numbers, 0 or more, or NaN for a document that was not shown. Got {places[row]:g} at "
                f"{queries.where(row)}."
            )
        if not shown.any():
            raise LtrValueError(
                "Positions: all places are NaN, so no document was shown: there is no ranking to evaluate."
            )
        query = queries.query_of_rows()
        by_place = np.lexsort((places, query))
        ordered, of_query = places[by_place], query[by_place]
        twice = (ordered[1:] == ordered[:-1]) & (of_query[1:] == of_query[:-1])
        if twice.any():
            row = int(by_place[1:][twice.argmax()])
            raise LtrValueError(
                f"Positions: two documents of a query must not have one place: got {places[row]:g} again at {queries.where(row)}, "
                f"{int(twice.sum())} such rows in all. Where a ranking has ties, pass scores and say what becomes of them (ties=)."
            )
        return -places, shown
