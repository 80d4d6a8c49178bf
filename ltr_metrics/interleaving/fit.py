"""Maximum-likelihood estimates of click models.

Users examine every document down to their last click. After it, they have either stopped at some
slot or continued without clicking. Expectation-maximisation weighs these cases (Dempster, Laird and
Rubin, 1977).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.errors import LtrValueError, warn

CONVERGED = 1e-7  # change of a probability from one expectation-maximisation step to the next
MAX_ITERATIONS = 1_000


class Probabilities(NamedTuple):
    """The probabilities of a click and of stopping, by grade."""

    click: FloatArray
    stop: FloatArray


def fit_probabilities(grade: IntArray, clicked: BoolArray, n_grades: int, stop_only_after_click: bool) -> Probabilities:
    """Return the maximum-likelihood probabilities.

    Parameters
    ----------
    grade : ndarray of int of shape (n_slots, n_impressions)
        -1 after the end of a list.
    clicked : ndarray of bool of shape (n_slots, n_impressions)
    n_grades : int
    stop_only_after_click : bool

    Raises
    ------
    LtrValueError
        If a grade never occurs at or above the last click of an impression.
    """
    impressions = _Impressions(grade, clicked, n_grades, stop_only_after_click)
    estimate = impressions.initial_estimate()
    for _ in range(MAX_ITERATIONS):
        first = impressions.em_step(estimate)
        if _largest_change(estimate, first) < CONVERGED:
            return first
        second = impressions.em_step(first)
        leap = _extrapolate(estimate, first, second)
        is_better = impressions.log_likelihood(leap) >= impressions.log_likelihood(second)
        estimate = leap if is_better else second
    warn(
        f"After {MAX_ITERATIONS:,} iterations the probabilities still change by more than "
        f"{CONVERGED:g} in each: these impressions hardly show whether users stop or continue "
        "without a click. Use more impressions, or longer lists."
    )
    return estimate


def _largest_change(before: Probabilities, after: Probabilities) -> float:
    return max(float(np.abs(new - old).max()) for old, new in zip(before, after, strict=True))


def _extrapolate(start: Probabilities, first: Probabilities, second: Probabilities) -> Probabilities:
    """Extrapolate from two expectation-maximisation steps (SQUAREM, scheme S3).

    Close to a probability of 0 or 1, plain steps become shorter and shorter, and thousands of them
    would be needed. The step length is that of Varadhan and Roland (2008),
    https://doi.org/10.1111/j.1467-9469.2007.00585.x.
    """
    step = np.concatenate(first) - np.concatenate(start)
    bend = np.concatenate(second) - np.concatenate(first) - step
    norm = float(np.linalg.norm(bend))
    if norm == 0:
        return second
    length = max(1.0, float(np.linalg.norm(step)) / norm)
    leap = np.concatenate(start) + 2 * length * step + length**2 * bend
    click, stop = np.split(np.clip(leap, 0.0, 1.0), 2)
    return Probabilities(click, stop)


class _Impressions:
    """What some impressions reveal about each slot."""

    def __init__(self, grade: IntArray, clicked: BoolArray, n_grades: int, stop_only_after_click: bool) -> None:
        self.grade, self.clicked, self.n_grades = grade, clicked, n_grades
        has_document = grade >= 0
        slot = np.arange(len(grade))[:, np.newaxis]
        last_click = np.where(clicked, slot, -1).max(axis=0, initial=-1)
        self.is_examined = has_document & (slot <= last_click)
        self.is_after_click = has_document & (slot > last_click)
        # Stopping after the last document of a list has no observable effect.
        is_last = slot >= has_document.sum(axis=0) - 1
        self.can_stop = (clicked if stop_only_after_click else has_document) & ~is_last
        self.may_have_stopped = self.can_stop & (slot >= last_click)
        self.n_clicked, self.n_examined = self._sum_by_grade(clicked), self._sum_by_grade(self.is_examined)
        if not self.n_examined.all():
            raise LtrValueError(
                f"No document of grade {int(self.n_examined.argmin())} is at or above the last click of an "
                "impression, so "
                "its probabilities cannot be estimated. Merge grades, or use more impressions."
            )

    def initial_estimate(self) -> Probabilities:
        """Return about the shares of clicks among examined documents, none of them 0 or 1, and stops of 1/3."""
        return Probabilities((self.n_clicked + 0.5) / (self.n_examined + 1), np.full(self.n_grades, 1 / 3))

    def em_step(self, estimate: Probabilities) -> Probabilities:
        """Return the probabilities that fit the expected behaviour of these users after their last click."""
        stopped_at, reached_end = self._endings(estimate)
        still_there = stopped_at[::-1].cumsum(axis=0)[::-1] + reached_end
        total = stopped_at.sum(axis=0) + reached_end
        examined = self.is_examined + np.where(self.is_after_click, still_there / total, 0.0)
        stopped, could_stop = self._sum_by_grade(stopped_at / total), self._sum_by_grade(examined * self.can_stop)
        stop = np.divide(stopped, could_stop, out=np.zeros_like(stopped), where=could_stop > 0)
        return Probabilities(self.n_clicked / self._sum_by_grade(examined), stop)

    def log_likelihood(self, estimate: Probabilities) -> float:
        """Return the log-likelihood of the clicks."""
        stopped_at, reached_end = self._endings(estimate)
        click = np.where(self.clicked, estimate.click[self.grade], 1 - estimate.click[self.grade])
        has_continued = self.can_stop & ~self.may_have_stopped & self.is_examined
        certain = np.where(self.is_examined, click, 1.0) * np.where(has_continued, 1 - estimate.stop[self.grade], 1.0)
        with np.errstate(divide="ignore"):  # impossible clicks have a log-likelihood of -inf
            likelihood = np.log(certain).sum(axis=0) + np.log(stopped_at.sum(axis=0) + reached_end)
        return float(likelihood.sum())

    def _endings(self, estimate: Probabilities) -> tuple[FloatArray, FloatArray]:
        """Return the probability of stopping at each slot, and of reaching the end, without another click."""
        no_click = np.where(self.is_after_click, 1 - estimate.click[self.grade], 1.0).cumprod(axis=0)
        stops = np.where(self.may_have_stopped, estimate.stop[self.grade], 0.0)
        continues = (1 - stops).cumprod(axis=0)
        reaches = np.vstack([np.ones_like(continues[:1]), continues[:-1]])
        return no_click * reaches * stops, no_click[-1] * continues[-1]

    def _sum_by_grade(self, values: AnyArray) -> FloatArray:
        sums = np.bincount(self.grade.ravel() + 1, weights=values.ravel(), minlength=self.n_grades + 1)
        return sums[1:].astype(np.float64, copy=False)
