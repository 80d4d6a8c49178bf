"""Values by metric: a dict that several names of one metric can index."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from ltr_metrics.errors import LtrKeyError, did_you_mean
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import in_lower_case
from ltr_metrics.metrics.requests import name_of

V = TypeVar("V")


class ByMetric(dict[str, V], Generic[V]):
    """A dict whose keys are canonical names; the metric itself and its requested name, in any case, work as well.

    A canonical name always means the metric of that name. This holds even if a convention
    completed the same words to another metric.

    Parameters
    ----------
    values : mapping of str to value, or pairs of both
        By canonical name.
    asked : mapping of str to str
        The canonical name of each name in the request.
    """

    __slots__ = ("asked",)

    def __init__(self, values: Mapping[str, V] | Iterable[tuple[str, V]], asked: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked = asked

    def __missing__(self, key: Hashable) -> V:
        if key in self:
            return super().__getitem__(self.canonical(key))
        known = ", ".join(self)
        raise LtrKeyError(f"{str(key)!r} was not evaluated.{did_you_mean(str(key), self)} Evaluated: {known}.")

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self.canonical(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a metric, or the default.

        Parameters
        ----------
        key : str or Metric
            The metric, its canonical name, or its name in the request.
        default : object, optional
            What to return if the metric was not evaluated.

        Returns
        -------
        object
            The value of the metric.
        """
        return super().get(self.canonical(key), default)

    def canonical(self, key: object) -> str:
        """Return the canonical name of a metric or of a requested name, evaluated or not."""
        name = name_of(key)
        if super().__contains__(name) or isinstance(key, Metric):  # which is complete
            return name
        if name in self.asked:
            return self.asked[name]
        in_any_case = {in_lower_case(one): canonical for one, canonical in self.asked.items()}
        in_any_case |= {in_lower_case(canonical): canonical for canonical in self}
        return in_any_case.get(in_lower_case(name), name)
