"""Expected contributions of ranks if all orders of a tie are equally likely (``ties="mean"``).

A metric states its formula for a ranking without ties and takes the expectation from here.
Each function gets a `Ranking`, facts about the distinct grades and a depth.
It returns the expected contribution of each rank as a (queries x depth) matrix.
Without ties this is the plain contribution, so a metric needs one call for all tie policies.

==========================  ==========================================  =====================
function                    expected at each rank                       metrics
==========================  ==========================================  =====================
`Ranking.expected`          value of the document                       CG, DCG, precision, ...
`relevant_cumulative_gain`  [relevant] x (gain down to this rank)       MAP, Q-measure
`stop_probabilities`        probability that the user stops there       ERR, PFound
==========================  ==========================================  =====================

Two kinds of value are not sums over ranks, so their functions return one number a query or tie:
`average_precision` has the sum over a whole list and the ratio to the number of hits, and
`first_relevant` the reciprocal rank and the hit.
`preferences` has the number of nonrelevant documents above a document, for bpref, and
`interpolated_precision` the highest precision of a part of the list.

`counts` has the numbers of relevant documents in ties, and `kinds` finds ties that are alike, so
that an expectation is computed once for all of them.

All functions keep one rule: a tie whose documents have one grade keeps its exact value.
Rounding in an expectation could otherwise lift a perfect ranking above 1.
Start a new expectation from `OpenTies`, which lists the other ties.
"""

from ltr_metrics.metrics.tie_expectation.cascade import stop_probabilities
from ltr_metrics.metrics.tie_expectation.cumulative_gain import relevant_cumulative_gain
from ltr_metrics.metrics.tie_expectation.open_ties import OpenTies

__all__ = ["OpenTies", "relevant_cumulative_gain", "stop_probabilities"]
