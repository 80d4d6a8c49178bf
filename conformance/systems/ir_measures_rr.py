"""RR@k of ir_measures, which the script of MS MARCO computes.

Of documents with equal scores, that script has the ascending ids first, and trec_eval the
descending ones. So ties are left out here.
"""

from __future__ import annotations

import dataclasses

from conformance.system import System, at_cutoffs, every_draw
from conformance.systems import ir_measures


def system() -> System:
    """Return ir_measures with RR@k alone."""
    return dataclasses.replace(
        ir_measures.system(),
        metrics=at_cutoffs({"RR": "mrr"}),
        draws=every_draw(graded=[False, True], ties=[False], unretrieved=[False, True]),
    )
