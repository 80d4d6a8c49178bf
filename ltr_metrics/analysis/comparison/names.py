"""Names of metrics in a result or a comparison."""

from __future__ import annotations

from typing import Any

from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.names import refuse_several
from ltr_metrics.metrics.requests import resolve
from ltr_metrics.metrics.systems import CONVENTIONS


def name_in(result: Evaluation, key: Any) -> str:
    """Return the canonical name of a metric that was evaluated.

    A saved result may hold canonical names only. A shorter name is completed by the convention of
    the result.
    """
    evaluated, convention = result.per_query, result.policy.convention
    if key in evaluated:
        return evaluated.canonical(key)
    refuse_several(str(key))
    try:
        name = str(resolve(key, convention=CONVENTIONS.get(convention)).metrics[0])
    except LtrValueError:
        name = str(key)
    if name in evaluated:
        return name
    known = ", ".join(evaluated)
    raise LtrKeyError(f"{str(key)!r} was not evaluated.{did_you_mean(str(key), evaluated)} Evaluated: {known}.")
