"""An evaluation of queries on many machines, computed when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.parts import Totals
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Policy, Request


class Parts(Protocol):
    """The evaluations of the parts, kept by Dask or Spark."""

    @property
    def is_weighted(self) -> bool: ...

    def totals(self) -> Totals:
        """Evaluate all parts and return the sums that give the means."""

    def gather(self) -> Evaluation:
        """Load the values of all queries into this process."""


class DistributedEvaluation(Evaluation):
    """An `Evaluation` that is computed when it is first used.

    The means and the numbers of queries left out come from sums over each part. Everything else
    (``per_query``, ``qid``, ``weight``, ``by``, `to_pandas`, `save`, a comparison) loads the
    values of every query into this process. That takes 8 bytes per query and metric, and as much
    again for ids and counts.
    """

    _parts: Parts
    _request: Request
    _by: tuple[str, ...]

    def __init__(self, parts: Parts, request: Request, by: tuple[str, ...] = ()) -> None:
        self.__dict__.update(_parts=parts, _request=request, _by=by)

    def __repr__(self) -> str:
        """Return the table if it is computed: displaying a variable must not start a job."""
        if "_totals" in self.__dict__:
            return str(self)
        return f"{type(self).__name__}({', '.join(map(str, self._request.metrics))}), not computed yet"

    def _repr_html_(self) -> str | None:
        """Return the table if it is computed; otherwise a notebook shows the text of `__repr__`."""
        return super()._repr_html_() if "_totals" in self.__dict__ else None

    def with_fields(self, **changes: Any) -> Evaluation:
        return self._whole.with_fields(**changes)

    @property
    def policy(self) -> Policy:
        """How ties and undefined queries are treated."""
        return self._request.policy

    @property
    def lower_is_better(self) -> frozenset[str]:
        """Canonical names of the metrics of which lower is better."""
        return self._request.lower_is_better

    @cached_property
    def _totals(self) -> Totals:
        return self._parts.totals()

    @cached_property
    def _whole(self) -> Evaluation:
        return self._parts.gather()

    @cached_property
    def mean(self) -> ByMetric[float]:
        return ByMetric(self._totals.mean, self._request.asked)

    @cached_property
    def _names(self) -> ByMetric[None]:
        return ByMetric(dict.fromkeys(map(str, self._request.metrics)), self._request.asked)

    @cached_property
    def n_undefined(self) -> ByMetric[int]:
        counts = self._totals.n_undefined.tolist()
        return ByMetric(dict(zip(self._totals.metrics, counts, strict=True)), self._request.asked)

    @property
    def n_queries(self) -> int:
        return self._totals.n_queries

    @property
    def is_weighted(self) -> bool:
        return bool(self._parts.is_weighted) or self.policy.mean_over != "queries"

    @property
    def per_query(self) -> ByMetric[FloatArray]:
        return self._whole.per_query

    @property
    def qid(self) -> AnyArray:
        return self._whole.qid

    @property
    def n_documents(self) -> IntArray:
        return self._whole.n_documents

    @property
    def n_relevant(self) -> IntArray:
        return self._whole.n_relevant

    @property
    def weight(self) -> FloatArray | None:
        return self._whole.weight

    @property
    def segments(self) -> Segmentations:
        return self._whole.segments if self._by else {}

    @property
    def fingerprint(self) -> Fingerprint | None:
        return self._whole.fingerprint
