"""The names of metrics in a host's log: what a user typed, unless ``names=`` says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from ltr_metrics._rows.checks import require_option
from ltr_metrics._rows.words import HostOfGain, NameStyle
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import name_without_parameters
from ltr_metrics.metrics.requests import Request, name_of

Names = NameStyle | Mapping[Any, str]
NAMES: tuple[NameStyle, ...] = get_args(NameStyle)


def names_in_log(request: Request, names: Names, host: HostOfGain | None = None) -> dict[str, str]:
    """Return the name in the log of a host for each canonical name."""
    if isinstance(names, Mapping):
        given = _given_names(request, names)
    elif not isinstance(names, str):
        raise LtrTypeError(
            f"names must be one of {', '.join(map(repr, NAMES))}, or a mapping of metrics to names of your own. "
            f"Got {names!r}."
        )
    elif require_option("names", names, NAMES) == "asked":
        given = {}
    else:
        given = {str(metric): metric.slug if names == "slug" else str(metric) for metric in request.metrics}
    logged = request.typed | given
    if host == "xgboost":
        _refuse_misleading_names(request.metrics, logged, given)
    for canonical, name in logged.items():
        if not name.isprintable():  # CatBoost writes lines and columns of text
            raise LtrValueError(
                f"A name in a log must consist of printable characters. Rename {name!r}: "
                f'names={{"{canonical}": "..."}}.'
            )
    if host == "lightgbm":
        _refuse_equal_last_words(logged)
    owner = request.asked | {canonical: canonical for canonical in logged}  # users look metrics up by all names
    for canonical, name in logged.items():
        if owner.setdefault(name, canonical) != canonical:
            raise LtrValueError(
                f"{canonical} would be logged as {name!r}, which is the name of {owner[name]} here. Give one of them "
                f'another name: names={{"{canonical}": "{name}_2"}}.'
            )
    return logged


def _refuse_misleading_names(metrics: Iterable[Metric], logged: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Raise an error for a name in the log by which XGBoost would optimise a metric in the wrong direction.

    XGBoost minimises most names. That is an error only for a name as typed, if XGBoost maximises the canonical name.
    """
    for metric in metrics:
        name = logged[str(metric)]
        guesses = "XGBoost's own EarlyStopping guesses the direction of a metric from its name in the log."
        if not metric.higher_is_better and _is_maximised(name):
            raise LtrValueError(
                f"{guesses} It would maximise {name!r}, because the name begins with auc, map, ndcg or pre, and for "
                f'this metric lower is better. Choose another name in the log: names={{"{metric}": "loss_{name}"}}.'
            )
        is_typed = str(metric) not in given
        if metric.higher_is_better and is_typed and _is_maximised(str(metric)) and not _is_maximised(name):
            better = metric.NAME + name.removeprefix(name_without_parameters(name))
            raise LtrValueError(
                f"{guesses} It would minimise {name!r}, and it maximises {better!r}, which is the same metric. Write "
                f'{better!r}, or choose the name in the log: names={{"{name}": "{better}"}}.'
            )


def _is_maximised(name: str) -> bool:
    """Whether XGBoost's own EarlyStopping guesses that higher is better for a metric of this name."""
    return name.startswith(("auc", "map", "ndcg", "pre")) and name != "mape"


def _refuse_equal_last_words(logged: Mapping[str, str]) -> None:
    """Raise an error if LightGBM's ``first_metric_only=True``, before LightGBM 4.7, would watch two metrics."""
    by_last_word: dict[str, str] = {}
    for canonical, name in logged.items():
        other = by_last_word.setdefault(name.rpartition(" ")[2], name)
        if other != name:
            raise LtrValueError(
                f"{other!r} and {name!r} have the same last word, by which LightGBM's early stopping before LightGBM "
                f'4.7 finds a metric. Rename one of them: names={{"{canonical}": "{name.replace(" ", "_")}"}}.'
            )


def refuse_separators(name: str, remedy: str) -> None:
    """Raise an error for a name that XGBoost cannot parse, since it splits its log at spaces and colons."""
    if re.search(r"[\s:]", name):
        raise LtrValueError(f"{name!r} has a space or a colon, at which XGBoost splits its log. {remedy}")


def refuse_names_in_use(logged: Mapping[str, str], in_use: Iterable[str], data: str, remedy: str) -> None:
    """Raise an error if one of our names is in a host's log already.

    Parameters
    ----------
    logged : mapping of str to str
        Our name in the log for each canonical name.
    in_use : iterable of str
        The names that the log has for this data set from other metrics.
    data : str
        The data set, as the message calls it.
    remedy : str
        How to keep the host's own metric of that name out of its log.
    """
    taken = set(in_use)
    shared = {canonical: name for canonical, name in logged.items() if name in taken}
    if shared:
        has_free_names = not any(canonical in taken for canonical in shared)
        renamed = ", ".join(f'"{canonical}": "{name}_2"' for canonical, name in shared.items())
        names = '"canonical"' if has_free_names else f"{{{renamed}}}"
        raise LtrValueError(
            f"{', '.join(map(repr, shared.values()))} of {data} is in the log already, from another metric of that "
            f"name. The log keeps one history per name, so it would mix the values of both. {remedy} Or rename our "
            f"metric in the log: names={names}."
        )


def _given_names(request: Request, names: Mapping[Any, str]) -> dict[str, str]:
    """Return the names that a user gives by canonical name."""
    given: dict[str, str] = {}
    metrics = ByMetric(request.typed, request.asked)
    for key, name in names.items():
        canonical = metrics.canonical(key)
        if canonical not in metrics:
            metric, known = name_of(key), dict.fromkeys([*request.asked, *metrics])
            raise LtrValueError(
                f"names has {metric!r}, which is not evaluated.{did_you_mean(metric, known)} A key is a metric as you "
                f"asked for it, or its canonical name. Here: {', '.join(known)}."
            )
        if not isinstance(name, str) or not name.strip():
            raise LtrTypeError(f"names must map metrics to text that is not empty. Got {name!r} for {name_of(key)!r}.")
        given[canonical] = name
    return given
