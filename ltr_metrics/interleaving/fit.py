"""The users whose clicks are most likely those of some impressions.

Down to the last click it is known that a user looked at every document. Behind it the user has stopped somewhere, or looked on and clicked no
more: which of these is what expectation and maximisation take turns to say (Dempster, Laird and Rubin, 1977).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray
from ltr_metrics.errors import LtrValueError, warn

CONVERGED = 1e-7  # change of a probability from one expectation-maximisation step to the next
MAX_ITERATIONS = 1_000


class Probabilities(NamedTuple):
    """Of a click, and of stopping, by grade."""

    click: FloatArray
    stop: FloatArray


def most_likely(grade: IntArray, clicked: BoolArray, n_grades: int, stop_only_after_click: bool) -> Probabilities:
    """Return the most likely probabilities.

    Parameters
    ----------
    grade : ndarray of int of shape (n_places, n_impressions)
        -1 behind the end of a list.
    clicked : ndarray of bool of shape (n_places, n_impressions)
    n_grades : int
    stop_only_after_click : bool

    Raises
    ------
    LtrValueError
        A grade that no user has looked at for sure.
    """
    seen = _Seen(grade, clicked, n_grades, stop_only_after_click)
    users = seen.first_guess()
    for _ in range(MAX_ITERATIONS):
        first = seen.better(users)
        if _largest_change(users, first) < CONVERGED:
            return first
        second = seen.better(first)
        leap = _extrapolate(users, first, second)
        users = leap if seen.log_likelihood(leap) >= seen.log_likelihood(second) else second
    warn(
        f"After {MAX_ITERATIONS:,} iterations the probabilities still change by more than "
        f"{CONVERGED:g} in each: these impressions hardly tell whether users stop or look on "
        "without a click. Use more impressions, or longer lists."
    )
    return users


def _largest_change(before: Probabilities, after: Probabilities) -> float:
    return max(float(np.abs(new - old).max()) for old, new in zip(before, after, strict=True))


def _extrapolate(start: Probabilities, first: Probabilities, second: Probabilities) -> Probabilities:
    """Leap along the path of two expectation-maximisation steps (SQUAREM, scheme S3).

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


class _Seen:
    """What is known of some impressions, place by place."""

    def __init__(self, grade: IntArray, clicked: BoolArray, n_grades: int, stop_only_after_click: bool) -> None:
        self.grade, self.clicked, self.n_grades = grade, clicked, n_grades
        there = grade >= 0
        n_shown = there.sum(axis=0)
        place = np.arange(len(grade))[:, np.newaxis]
        last = np.where(clicked, place, -1).max(axis=0, initial=-1)
        self.surely = there & (place <= last)
        self.behind = there & (place > last)
        # Whether one stops behind the last document of a list makes no difference that could be seen.
        self.may_stop = (clicked if stop_only_after_click else there) & (place < n_shown - 1)
        self.has_stopped = self.may_stop & (place >= last)  # may be where it happened
        self.of_sure = self._by_grade(self.surely)
        if not self.of_sure.all():
            raise LtrValueError(
                f"No user has surely looked at a document of grade {int(self.of_sure.argmin())}, at or above a click: nothing can be said of it. Join "
                "grades, or take more impressions."
            )

    def first_guess(self) -> Probabilities:
        """Return about the shares of clicks among what was surely looked at, none of them certain, and one stop of three."""
        click = (self._by_grade(self.clicked) + 0.5) / (self.of_sure + 1)
        return Probabilities(click, np.full(self.n_grades, 1 / 3))

    def better(self, users: Probabilities) -> Probabilities:
        """Return the probabilities that fit what these users would have done behind their last clicks."""
        stopped_at, to_the_end = self._ways_behind_the_last_click(users)
        still_there = stopped_at[::-1].cumsum(axis=0)[::-1] + to_the_end
        total = stopped_at.sum(axis=0) + to_the_end
        looked = self.surely + np.where(self.behind, still_there / total, 0.0)
        return Probabilities(
            self._by_grade(self.clicked) / self._by_grade(looked),
            _share(self._by_grade(stopped_at / total), self._by_grade(looked * self.may_stop)),
        )

    def log_likelihood(self, users: Probabilities) -> float:
        """Return the logarithm of the probability that these users click like this."""
        stopped_at, to_the_end = self._ways_behind_the_last_click(users)
        click = np.where(self.clicked, users.click[self.grade], 1 - users.click[self.grade])
        has_gone_on = self.may_stop & ~self.has_stopped & self.surely
        certain = np.where(self.surely, click, 1.0) * np.where(has_gone_on, 1 - users.stop[self.grade], 1.0)
        with np.errstate(divide="ignore"):  # clicks that are impossible have a log-likelihood of -inf
            likelihood = np.log(certain).sum(axis=0) + np.log(stopped_at.sum(axis=0) + to_the_end)
        return float(likelihood.sum())

    def _ways_behind_the_last_click(self, users: Probabilities) -> tuple[FloatArray, FloatArray]:
        """Return the probability of stopping at each place, and of looking to the end, without a further click."""
        passes = np.where(self.behind, 1 - users.click[self.grade], 1.0).cumprod(axis=0)
        stops = np.where(self.has_stopped, users.stop[self.grade], 0.0)
        goes_on = (1 - stops).cumprod(axis=0)
        before = np.vstack([np.ones_like(goes_on[:1]), goes_on[:-1]])
        return passes * before * stops, passes[-1] * goes_on[-1]

    def _by_grade(self, values: AnyArray) -> FloatArray:
        """Sum over all documents of each grade."""
        sums = np.bincount(self.grade.ravel() + 1, weights=values.ravel(), minlength=self.n_grades + 1)
        return sums[1:].astype(np.float64, copy=False)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole, 0 where it never came to it."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
