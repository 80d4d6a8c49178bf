"""Users who look at a list from the top, click, and stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, as_numbers, is_count, require_count
from ltr_metrics.errors import LtrTypeError, LtrValueError, warn
from ltr_metrics.interleaving.fit import most_likely
from ltr_metrics.interleaving.method import clicked_places, generator_of

# By grade, for 2, 3 and 5 grades: probability of a click, and of stopping (Hofmann et al., TOIS 2013; Schuth et al., CIKM 2014).
CLICK = {
    "perfect": ((0, 1), (0, 0.5, 1), (0, 0.2, 0.4, 0.8, 1)),
    "navigational": ((0.05, 0.95), (0.05, 0.5, 0.95), (0.05, 0.3, 0.5, 0.7, 0.95)),
    "informational": ((0.4, 0.9), (0.4, 0.7, 0.9), (0.4, 0.6, 0.7, 0.8, 0.9)),
    "almost_random": ((0.4, 0.6), (0.4, 0.5, 0.6), (0.4, 0.45, 0.5, 0.55, 0.6)),
}
STOP = {
    "perfect": ((0, 0), (0, 0, 0), (0, 0, 0, 0, 0)),
    "navigational": ((0.2, 0.9), (0.2, 0.5, 0.9), (0.2, 0.3, 0.5, 0.7, 0.9)),
    "informational": ((0.1, 0.5), (0.1, 0.3, 0.5), (0.1, 0.2, 0.3, 0.4, 0.5)),
    "almost_random": ((0.5, 0.5), (0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5, 0.5)),
}
PUBLISHED_GRADES = (2, 3, 5)
PUBLISHED = (*CLICK, "random")


@dataclass(frozen=True)
class ClickModel:
    """A user who looks at the documents from the top, clicks by grade, and perhaps stops.

    Parameters
    ----------
    click : sequence of float
        Probability of a click on a document that is looked at, by grade: of grades 0, 1, ...
    stop : sequence of float, or float
        Probability of looking no further, by grade, or for all.
    stop_only_after_click : bool, default False
        Whether one stops only behind a clicked document, or behind any that was looked at. Papers differ.
    examination : sequence of float, optional
        Probability of looking at a place that one gets to, from the first place on. Default: one looks at every one.

    Raises
    ------
    LtrValueError, LtrTypeError
        No probabilities, or not one a grade.

    Examples
    --------
    >>> from ltr_metrics.interleaving import ClickModel
    >>> model = ClickModel.navigational(grades=3)
    >>> model.click, model.stop
    ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9))
    >>> model.clicks_on([0, 2, 1, 0, 2], random_state=0)
    [1]
    """

    click: Sequence[float]
    stop: Sequence[float] | float = 0.0
    stop_only_after_click: bool = False
    examination: Sequence[float] | None = None

    def __post_init__(self) -> None:
        click = _probabilities("click", self.click)
        stop = _probabilities("stop", [self.stop] * len(click) if np.ndim(self.stop) == 0 else self.stop)
        if len(stop) != len(click):
            raise LtrValueError(f"stop must have one probability a grade, as click: got {len(stop)} for {len(click)}.")
        if not isinstance(self.stop_only_after_click, (bool, np.bool_)):
            raise LtrTypeError(f"stop_only_after_click must be True or False. Got {self.stop_only_after_click!r}.")
        examination = None if self.examination is None else _probabilities("examination", self.examination)
        for name, value in (("click", click), ("stop", stop), ("examination", examination)):
            object.__setattr__(self, name, value)

    # -- published users ----------------------------------------------------------------------------------------------

    @classmethod
    def perfect(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user who looks at every document and clicks by relevance alone; ``grades``, their number, is 2, 3 or 5."""
        return _published(cls, "perfect", grades, stop_only_after_click)

    @classmethod
    def navigational(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user who wants one document and stops at a relevant one; ``grades``, their number, is 2, 3 or 5."""
        return _published(cls, "navigational", grades, stop_only_after_click)

    @classmethod
    def informational(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user who wants many documents and clicks on others, too; ``grades``, their number, is 2, 3 or 5."""
        return _published(cls, "informational", grades, stop_only_after_click)

    @classmethod
    def almost_random(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user whose clicks say little; ``grades``, their number, is 2, 3 or 5."""
        return _published(cls, "almost_random", grades, stop_only_after_click)

    @classmethod
    def random(cls, grades: int) -> ClickModel:
        """Return a user who looks at every document and clicks on half of them, whatever their grade."""
        return cls([0.5] * require_count("grades", grades))

    @classmethod
    def position_based(cls, click: Sequence[float], examination: Sequence[float]) -> ClickModel:
        """Return a user who looks at each place with a probability of its own, independently, and never stops.

        P(click at place x) = ``examination[x]`` times ``click[grade]`` (Craswell et al., WSDM 2008).
        """
        return cls(click, 0.0, examination=examination)

    @classmethod
    def fit(
        cls,
        grades: Iterable[Sequence[int]],
        clicks: Iterable[Sequence[int]],
        n_grades: int,
        *,
        stop_only_after_click: bool = False,
    ) -> ClickModel:
        """Return the user whose clicks are most likely those of some impressions.

        Maximum likelihood by expectation and maximisation: where a user stopped behind the last click, or looked on and clicked no more, is
        not known, but weighed. A grade that was never clicked has a click probability of 0.

        Parameters
        ----------
        grades : iterable of sequences
            Grades of the documents of each impression, from the top.
        clicks : iterable of sequences
            Places that were clicked, from 0.
        n_grades : int
            How many grades there are.
        stop_only_after_click : bool, default False
            Which kind of user to estimate; the clicks do not say.

        Raises
        ------
        LtrValueError
            A grade that nobody has surely looked at, at or above a click: nothing can be said of it.

        Examples
        --------
        >>> import numpy as np
        >>> from ltr_metrics.interleaving import ClickModel
        >>> truth, rng = ClickModel.navigational(grades=2), np.random.default_rng(0)
        >>> grades = rng.integers(0, 2, (20_000, 10))
        >>> found = ClickModel.fit(grades, [truth.clicks_on(shown, rng) for shown in grades], n_grades=2)
        >>> np.round(found.click, 2), np.round(found.stop, 1)
        (array([0.05, 0.95]), array([0.2, 0.9]))
        """
        number = require_count("n_grades", n_grades)
        listed = [(_as_grades(shown, number), clicks_on) for shown, clicks_on in _both(grades, clicks)]
        if not listed:
            raise LtrValueError("There are no impressions to estimate users from.")
        grade = np.full((max(len(shown) for shown, _ in listed), len(listed)), -1)
        clicked = np.zeros(grade.shape, dtype=np.bool_)
        for i, (shown, places) in enumerate(listed):
            grade[: len(shown), i] = shown
            clicked[clicked_places(places, len(shown)), i] = True
        found = most_likely(grade, clicked, number, stop_only_after_click)
        return cls(found.click.tolist(), found.stop.tolist(), stop_only_after_click)

    # -- clicks -------------------------------------------------------------------------------------------------------

    def clicks_on(self, grades: Sequence[int], random_state: Any = None) -> list[int]:
        """Draw the places, from 0, that the user clicks in a list of these grades."""
        shown = _as_grades(grades, len(self.click))
        self.refuse_length(len(shown))
        return np.flatnonzero(self.draw(shown[:, np.newaxis], generator_of(random_state))).tolist()

    def draw(self, grade: AnyArray, rng: np.random.Generator) -> BoolArray:
        """Draw which documents are clicked.

        Parameters
        ----------
        grade : ndarray of int of shape (n_places, n_impressions)
            -1 where there is no document, which nobody clicks.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of bool of shape (n_places, n_impressions)
        """
        clicked: BoolArray = rng.random(grade.shape) < _by_grade(self.click)[grade]
        looked = None if self.examination is None else self._looked_at(grade.shape, rng)
        if looked is not None:
            clicked &= looked
        if not any(self.stop) or not len(clicked):  # type: ignore[arg-type]
            return clicked
        stops: BoolArray = rng.random(grade.shape) < _by_grade(self.stop)[grade]  # type: ignore[arg-type]
        if self.stop_only_after_click:
            stops &= clicked
        elif looked is not None:
            stops &= looked
        goes_on = ~stops[0]
        for place in range(1, len(clicked)):
            clicked[place] &= goes_on
            goes_on &= ~stops[place]
        return clicked

    def refuse_length(self, n_places: int) -> None:
        """Raise an error if it is not said how likely one looks at some of so many places."""
        if self.examination is not None and n_places > len(self.examination):
            raise LtrValueError(
                f"examination must have a probability for each place that is shown: got {len(self.examination)} for {n_places} places."
            )

    def refuse_grades(self, grades: FloatArray) -> None:
        """Raise an error if there are grades of which the model says nothing."""
        n = len(self.click)
        for grade in grades.tolist():
            if grade != int(grade) or not 0 <= grade < n:
                raise LtrValueError(
                    f"The click model has probabilities for the grades 0 to {n - 1}, and there is a document of grade {grade:g}. Give it one a "
                    "grade: ClickModel(click=[...], stop=[...])."
                )

    def warn_of_grades(self, grades: FloatArray) -> None:
        """Warn where the model is of a longer scale than the data."""
        highest, n = int(grades.max()), len(self.click)
        if highest < n - 1 and len(set(zip(self.click, self.stop, strict=True))) > 1:  # type: ignore[arg-type]
            warn(
                f"The click model is of the grades 0 to {n - 1}, and the highest label is {highest}: nobody clicks as on the best documents. If "
                f"{highest} is the scale's highest grade, take a model of {highest + 1} grades."
            )

    def _looked_at(self, shape: tuple[int, ...], rng: np.random.Generator) -> BoolArray:
        chance = np.array(self.examination)[: shape[0], np.newaxis]
        looked: BoolArray = rng.random(shape) < chance
        return looked


def _published(cls: type[ClickModel], name: str, grades: int, stop_only_after_click: bool) -> ClickModel:
    if not is_count(grades) or grades not in PUBLISHED_GRADES:
        raise LtrValueError(
            f"ClickModel.{name} is published for 2, 3 and 5 grades, 0 to 1, 0 to 2 and 0 to 4: got grades={grades!r}. For others give the "
            "probabilities: ClickModel(click=[...], stop=[...])."
        )
    which = PUBLISHED_GRADES.index(grades)
    return cls(CLICK[name][which], STOP[name][which], stop_only_after_click)


def _probabilities(name: str, values: Any) -> tuple[float, ...]:
    numbers = as_numbers(values, name)
    if not len(numbers):
        raise LtrValueError(f"{name} must hold at least one probability, got none.")
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(f"{name} must hold probabilities, 0 to 1: got {numbers[at]:g} at {at} (from 0).")
    return tuple(numbers.tolist())


def _both(grades: Iterable[Any], clicks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Go through both, and raise an error if one of them ends before the other."""
    end = object()
    for both in zip_longest(grades, clicks, fillvalue=end):
        if any(one is end for one in both):
            raise LtrValueError("grades and clicks must be of the same impressions: one of them has fewer.")
        yield both


def _by_grade(probabilities: Sequence[float]) -> FloatArray:
    """Return a table by grade, with 0 for the grade -1 of no document."""
    return np.array([*probabilities, 0.0])


def _as_grades(grades: Any, n_grades: int) -> AnyArray:
    numbers = as_numbers(grades, "grades")
    bad = ~((numbers >= 0) & (numbers < n_grades) & (numbers == np.floor(numbers)))
    if bad.any():
        at = int(bad.argmax())
        raise LtrValueError(
            f"grades must be whole numbers from 0 to {n_grades - 1}: got {numbers[at]:g} at place {at} (from 0)."
        )
    return numbers.astype(np.intp)
