"""What the differences of these queries say about all queries: tests, intervals, corrections, and what could be detected.

Pure functions of arrays, (queries x columns): a column is one metric of one comparison. A column's result depends on that column
and the seed alone, to the last bit, whatever stands beside it.
"""

from ltr_metrics.analysis.inference.correction import CORRECTIONS, correct
from ltr_metrics.analysis.inference.effect import effect_size
from ltr_metrics.analysis.inference.interval import INTERVALS, intervals
from ltr_metrics.analysis.inference.power import detectable
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.analysis.inference.significance import TESTS, p_values

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "Sample",
    "correct",
    "detectable",
    "effect_size",
    "intervals",
    "p_values",
]
