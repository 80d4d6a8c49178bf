"""Click models: simulated users who scan a list from the top, click, and stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, BoolArray, FloatArray, IntArray, as_numbers, require_count
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.online.interleaving.method import generator_of

# Probabilities of a click and of stopping, by grade, for 2, 3 and 5 grades (Hofmann et al., TOIS 2013; Schuth et al.,
# CIKM 2014).
PUBLISHED: dict[str, dict[int, tuple[Sequence[float], Sequence[float] | float]]] = {
    "perfect": {2: ((0, 1), 0), 3: ((0, 0.5, 1), 0), 5: ((0, 0.2, 0.4, 0.8, 1), 0)},
    "navigational": {
        2: ((0.05, 0.95), (0.2, 0.9)),
        3: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        5: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        2: ((0.4, 0.9), (0.1, 0.5)),
        3: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        5: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "almost_random": {2: ((0.4, 0.6), 0.5), 3: ((0.4, 0.5, 0.6), 0.5), 5: ((0.4, 0.45, 0.5, 0.55, 0.6), 0.5)},
}


@dataclass(frozen=True)
class ClickModel:
    """A user who examines the documents from the top, clicks by grade, and may stop.

    Parameters
    ----------
    click : sequence of float
        Probability of a click on an examined document, for the grades 0, 1, ...
    stop : sequence of float, or float
        Probability of stopping, by grade, or one for all grades.
    stop_only_after_click : bool, default False
        Whether users stop only after a clicked document. By default they can stop after any
        examined document. Papers differ.
    examination : sequence of float, optional
        Probability of examining each slot that the user reaches, from the first slot on. Default:
        users examine every slot.

    Raises
    ------
    LtrValueError, LtrTypeError
        If the values are not probabilities, or not one per grade.

    See Also
    --------
    simulate : Let such users click on mixed rankings.

    Examples
    --------
    >>> from ltr_metrics.interleaving import ClickModel
    >>> model = ClickModel.navigational(grades=3)
    >>> model.click, model.stop
    ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9))
    >>> model.clicks_on([0, 2, 1, 0, 2], random_state=0)
    [1]
    >>> ClickModel.perfect(grades=3).click, ClickModel.random(grades=3).click
    ((0.0, 0.5, 1.0), (0.5, 0.5, 0.5))
    >>> ClickModel.informational(grades=3).click, ClickModel.almost_random(grades=3).click
    ((0.4, 0.7, 0.9), (0.4, 0.5, 0.6))
    >>> ClickModel.position_based([0.1, 0.8], examination=[1, 0.5, 0.2]).examination
    (1.0, 0.5, 0.2)
    """

    click: Sequence[float]
    stop: Sequence[float] | float = 0.0
    stop_only_after_click: bool = False
    examination: Sequence[float] | None = None

    def __post_init__(self) -> None:
        click = _as_probabilities("click", self.click)
        stop = _as_probabilities("stop", [self.stop] * len(click) if np.ndim(self.stop) == 0 else self.stop)
        if len(stop) != len(click):
            raise LtrValueError(
                f"stop must have one probability per grade, like click. Got {len(stop)} for {len(click)} grades."
            )
        examination = None if self.examination is None else _as_probabilities("examination", self.examination)
        for name, value in (("click", click), ("stop", stop), ("examination", examination)):
            object.__setattr__(self, name, value)

    # -- published models ---------------------------------------------------------------------------------------------

    @classmethod
    def perfect(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user who examines every document and clicks only by relevance.

        Parameters
        ----------
        grades : int
            Number of grades: 2, 3 or 5.
        stop_only_after_click : bool, default False
            Whether users stop only after a clicked document.

        Returns
        -------
        ClickModel
            With the published probabilities.

        Raises
        ------
        LtrValueError
            For another number of grades.
        """
        return cls._published("perfect", grades, stop_only_after_click)

    @classmethod
    def navigational(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user who looks for one relevant document and then tends to stop.

        Parameters
        ----------
        grades : int
            Number of grades: 2, 3 or 5.
        stop_only_after_click : bool, default False
            Whether users stop only after a clicked document.

        Returns
        -------
        ClickModel
            With the published probabilities.

        Raises
        ------
        LtrValueError
            For another number of grades.
        """
        return cls._published("navigational", grades, stop_only_after_click)

    @classmethod
    def informational(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user who looks for many documents and also clicks on irrelevant ones.

        Parameters
        ----------
        grades : int
            Number of grades: 2, 3 or 5.
        stop_only_after_click : bool, default False
            Whether users stop only after a clicked document.

        Returns
        -------
        ClickModel
            With the published probabilities.

        Raises
        ------
        LtrValueError
            For another number of grades.
        """
        return cls._published("informational", grades, stop_only_after_click)

    @classmethod
    def almost_random(cls, grades: int, *, stop_only_after_click: bool = False) -> ClickModel:
        """Return a user whose clicks depend little on the grade.

        Parameters
        ----------
        grades : int
            Number of grades: 2, 3 or 5.
        stop_only_after_click : bool, default False
            Whether users stop only after a clicked document.

        Returns
        -------
        ClickModel
            With the published probabilities.

        Raises
        ------
        LtrValueError
            For another number of grades.
        """
        return cls._published("almost_random", grades, stop_only_after_click)

    @classmethod
    def random(cls, grades: int) -> ClickModel:
        """Return a user who examines every document and clicks on half of them.

        Parameters
        ----------
        grades : int
            Number of grades, at least 1.

        Returns
        -------
        ClickModel
            With the click probability .5 for each grade.
        """
        return cls([0.5] * require_count("grades", grades))

    @classmethod
    def position_based(cls, click: Sequence[float], examination: Sequence[float]) -> ClickModel:
        r"""Return a user who examines each slot independently, and never stops.

        .. math:: P(\text{click at slot } x) = examination_x \, click_{grade}

        Parameters
        ----------
        click : sequence of float
            Probability of a click on an examined document, for the grades 0, 1, ...
        examination : sequence of float
            Probability of examining each slot, from the first slot on.

        Returns
        -------
        ClickModel
            The model.

        References
        ----------
        Craswell, Zoeter, Taylor & Ramsey, An experimental comparison of click position-bias models,
        WSDM 2008.
        """
        return cls(click, 0.0, examination=examination)

    @classmethod
    def _published(cls, name: str, grades: int, stop_only_after_click: bool) -> ClickModel:
        if grades not in PUBLISHED[name]:
            raise LtrValueError(
                f"ClickModel.{name} is published for 2, 3 and 5 grades (0 to 1, 0 to 2 and 0 to 4). Got "
                f"grades={grades!r}. For other scales pass the probabilities: ClickModel(click=[...], stop=[...])."
            )
        return cls(*PUBLISHED[name][grades], stop_only_after_click)

    # -- clicks -------------------------------------------------------------------------------------------------------

    def clicks_on(self, grades: Sequence[int], random_state: Any = None) -> list[int]:
        """Draw the slots that the user clicks in a list of documents with these grades.

        Parameters
        ----------
        grades : sequence of int
            Grades of the documents, from the top.
        random_state : int, numpy.random.Generator or None
            Random seed. The same seed gives the same clicks. A generator is drawn from. None gives
            different clicks each time.

        Returns
        -------
        list of int
            Slots from 0, ascending.

        Raises
        ------
        LtrValueError
            If the model has no probability for a grade or for a slot.
        """
        checked = self.require_grades(grades, np.size(grades))
        return np.flatnonzero(self.draw(checked[:, np.newaxis], generator_of(random_state))).tolist()

    def draw(self, grade: AnyArray, rng: np.random.Generator) -> BoolArray:
        """Draw the clicks of many impressions.

        Parameters
        ----------
        grade : ndarray of int of shape (n_slots, n_impressions)
            -1 for a slot without a document, which is never clicked.
        rng : numpy.random.Generator
            The source of random numbers.

        Returns
        -------
        ndarray of bool of shape (n_slots, n_impressions)
            Whether each slot is clicked.

        Examples
        --------
        >>> import numpy as np
        >>> from ltr_metrics.interleaving import ClickModel
        >>> grade = np.array([[1, 0], [0, 1], [1, -1]])  # two impressions, of three documents and of two
        >>> ClickModel([0.0, 1.0]).draw(grade, np.random.default_rng(0)).T.tolist()
        [[True, False, True], [False, True, False]]
        """
        clicked: BoolArray = rng.random(grade.shape) < _by_grade(self.click)[grade]
        can_stop: BoolArray | bool = True
        if self.examination is not None:
            can_stop = rng.random(grade.shape) < np.array(self.examination)[: len(grade), np.newaxis]
            clicked &= can_stop
        if any(self.stop):  # type: ignore[arg-type]
            stops = rng.random(grade.shape) < _by_grade(self.stop)[grade]
            stops &= clicked if self.stop_only_after_click else can_stop
            goes_on = np.ones(grade.shape[1:], dtype=np.bool_)
            for of_slot, stops_here in zip(clicked, stops, strict=True):
                of_slot &= goes_on
                goes_on &= ~stops_here
        return clicked

    def require_grades(self, grades: Any, n_slots: int) -> IntArray:
        """Return grades as integers; raise an error if there is no probability for one of them, or for a slot."""
        if self.examination is not None and n_slots > len(self.examination):
            raise LtrValueError(
                "examination must have a probability for each slot of the list. "
                f"Got {len(self.examination)} for {n_slots} slots."
            )
        numbers = as_numbers(grades, "grades")
        is_bad = ~np.isin(numbers, np.arange(len(self.click)))
        if is_bad.any():
            raise LtrValueError(
                f"The click model has probabilities for the grades 0 to {len(self.click) - 1}, but there is a document "
                f"of grade {numbers[is_bad][0]:g}. Pass a model with one probability per grade: "
                "ClickModel(click=[...], stop=[...])."
            )
        return numbers.astype(np.intp)

    def warn_of_grades(self, grades: FloatArray) -> None:
        """Warn if the model has higher grades than the data."""
        highest, n = int(grades.max()), len(self.click)
        differ = len(set(self.click)) > 1 or len(set(self.stop)) > 1  # type: ignore[arg-type]
        if highest < n - 1 and differ:
            warn(
                f"The click model has the grades 0 to {n - 1}, and the highest label is {highest}, so no document gets "
                f"the clicks of the best grade. If {highest} is the highest grade of your scale, use a model with "
                f"{highest + 1} grades."
            )


def _as_probabilities(name: str, values: Any) -> tuple[float, ...]:
    numbers = as_numbers(values, name)
    is_bad = ~((numbers >= 0) & (numbers <= 1))
    if is_bad.any() or not len(numbers):
        got = f"{numbers[is_bad][0]:g}" if len(numbers) else "none"
        raise LtrValueError(f"{name} must be one or more probabilities, 0 to 1. Got {got}.")
    return tuple(numbers.tolist())


def _by_grade(probabilities: Any) -> FloatArray:
    """Return an array to index by grade, where -1 (no document) has probability 0."""
    return np.array([*probabilities, 0.0])
