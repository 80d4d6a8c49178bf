"""Inference from a sample of queries: tests, confidence intervals, corrections and power.

These are pure functions of arrays of shape (queries x columns). A column is one metric of one
comparison. The result of a column depends on that column and the seed alone, to the last bit: the
other columns do not change it.
"""

from ltr_metrics.analysis.inference.correction import CORRECTIONS, correct
from ltr_metrics.analysis.inference.effect import effect_size
from ltr_metrics.analysis.inference.interval import INTERVALS, intervals
from ltr_metrics.analysis.inference.power import minimum_detectable_effects
from ltr_metrics.analysis.inference.sample import Sample
from ltr_metrics.analysis.inference.significance import TESTS, p_values

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "Sample",
    "correct",
    "effect_size",
    "intervals",
    "minimum_detectable_effects",
    "p_values",
]
