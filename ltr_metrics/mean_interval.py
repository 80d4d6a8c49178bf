"""The confidence interval of a mean over queries, written once."""

from __future__ import annotations

from typing import NamedTuple

from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.inputs import FloatArray
from ltr_metrics.metrics.base import is_number
from ltr_metrics.result import mean
from ltr_metrics.standard_error import counting, standard_error


class MeanInterval(NamedTuple):
    """A mean and its limits, which are NaN for fewer than two queries."""

    mean: float
    low: float
    high: float


def mean_interval(values: FloatArray, weight: FloatArray | None, confidence: float) -> MeanInterval:
    """Return the (weighted) mean of the values that are not NaN, and its interval by Student's t.

    The queries are the sample: the interval says where the mean over other queries of the same kind would be. It may reach beyond
    the metric's range.
    """
    middle = mean(values, weight)
    half = t_quantile(int(counting(values, weight).sum()), confidence) * standard_error(values, weight)
    return MeanInterval(middle, middle - half, middle + half)


def t_quantile(n_queries: int, confidence: float) -> float:
    """Return how many standard errors to either side of a mean its interval reaches, NaN for fewer than two queries."""
    if not is_number(confidence) or not 0 < confidence < 1:
        raise LtrValueError(f"confidence must be a number between 0 and 1, such as 0.95. Got {confidence!r}.")
    try:
        from scipy.stats import t
    except ImportError as error:
        raise MissingExtraError("scipy", "report") from error
    return float(t.ppf((1 + confidence) / 2, n_queries - 1)) if n_queries > 1 else float("nan")
