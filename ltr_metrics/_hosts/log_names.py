"""The names of metrics in a host's log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from ltr_metrics._engine.checks import require_option
from ltr_metrics._engine.words import NameStyle
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.metrics.requests import Request, name_of

Names = NameStyle | Mapping[Any, str]
NAMES: tuple[NameStyle, ...] = get_args(NameStyle)


def names_in_log(request: Request, names: Names) -> dict[str, str]:
    """Return the name in the log for each canonical name."""
    if isinstance(names, Mapping):
        logged = _names_of_mapping(request, names)
    elif not isinstance(names, str):
        raise LtrTypeError(
            f"names must be one of {', '.join(map(repr, NAMES))}, or a mapping of metrics to names of your own. "
            f"Got {names!r}."
        )
    elif require_option("names", names, NAMES) == "asked":
        logged = _names_as_asked(request)
    else:
        logged = {str(metric): metric.slug if names == "slug" else str(metric) for metric in request.metrics}
    for name in logged.values():
        refuse_unusable_name(name, f'Rename {name!r}, for example by names={{"{name}": ...}}.')
    owner = request.asked | {canonical: canonical for canonical in logged}  # users look metrics up by all names
    for canonical, name in logged.items():
        if owner.setdefault(name, canonical) != canonical:
            raise LtrValueError(
                f"{canonical} would be logged as {name!r}, which is the name of {owner[name]} here. Give one of them "
                f'another name: names={{"{canonical}": ...}}.'
            )
    return logged


def refuse_unusable_name(name: str, remedy: str) -> None:
    """Raise an error for a name that some host cannot log. The rule is one for all hosts."""
    # XGBoost splits its log at white space and colons, LightGBM's early stopping takes a part of a
    # name after a space for the name, and CatBoost writes lines and columns of text.
    if re.search(r"[\s:]", name) or not name.isprintable():
        raise LtrValueError(
            "A name in a log must consist of printable characters, without white space and colons, because the "
            f"hosts write and parse their logs as text. {remedy}"
        )


def require_data_name(name: object, parameter: str = "name") -> str:
    """Return the name of a data set in a log, if it is one."""
    if not isinstance(name, str) or not name:
        raise LtrTypeError(f"{parameter} must be text, the name of a data set in the log. Got {name!r}.")
    return name


def refuse_names_in_use(names: Iterable[str], in_use: Iterable[str], data: str, remedy: str) -> None:
    """Raise an error if one of our names is in a host's log already.

    Parameters
    ----------
    names, in_use : iterable of str
        Our names, and those that the log has for this data set from other metrics.
    data : str
        The data set, as the message calls it.
    remedy : str
        How to keep the host's own metric of that name out of its log.
    """
    taken = set(in_use)
    shared = [name for name in names if name in taken]
    if shared:
        raise LtrValueError(
            f"{', '.join(map(repr, shared))} of {data} is in the log already, from another metric of that name. The "
            f"log keeps one history per name, so it would mix the values of both. {remedy} Or rename our metric in the "
            f'log: names={{"{shared[0]}": "my_{shared[0]}"}}.'
        )


def _names_as_asked(request: Request) -> dict[str, str]:
    typed: dict[str, str] = {}
    for asked, canonical in request.asked.items():
        if typed.setdefault(canonical, asked) != asked:
            raise LtrValueError(
                f"{typed[canonical]!r} and {asked!r} are the same metric, {canonical}, which is logged once. With "
                'names="asked" it would have two names. Leave one of them out, or name it yourself: '
                f'names={{"{canonical}": ...}}.'
            )
    return typed


def _names_of_mapping(request: Request, names: Mapping[Any, str]) -> dict[str, str]:
    logged = {str(metric): str(metric) for metric in request.metrics}
    for key, name in names.items():
        canonical = ByMetric(logged, request.asked).canonical(key)
        if canonical not in logged:
            metric, known = name_of(key), dict.fromkeys([*request.asked, *logged])
            raise LtrValueError(
                f"names has {metric!r}, which is not evaluated.{did_you_mean(metric, known)} A key is a metric as you "
                f"asked for it, or its canonical name. Here: {', '.join(known)}."
            )
        if not isinstance(name, str) or not name:
            raise LtrTypeError(f"names must map metrics to text that is not empty. Got {name!r} for {name_of(key)!r}.")
        logged[canonical] = name
    return logged
