"""Names to metrics and back: ``metric("map(rel=2)@10") == MAP(k=10, rel=2)``, and ``str`` of it is the name."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.binary import MAP, MRR, Precision, Recall
from ltr_metrics.metrics.cascade import ERR
from ltr_metrics.metrics.gain import DCG, NDCG

METRICS: tuple[type[Metric], ...] = (DCG, NDCG, Precision, Recall, MAP, MRR, ERR)
_BY_NAME: dict[str, tuple[type[Metric], dict[str, Any]]] = {
    name: (cls, fixed) for cls in METRICS for name, fixed in {cls.NAME: {}, **cls.ALIASES}.items()
}
_FORM = re.compile(r"(?P<name>\w+)(?:\((?P<inside>.*)\))?(?:@(?P<k>\d+))?", re.ASCII)


@dataclass(frozen=True)
class ParsedName:
    """A name taken apart: the metric's class and the parameters that the name gives."""

    cls: type[Metric]
    given: dict[str, Any]


def metric(name: str | Metric) -> Metric:
    """Return the metric of a name; a metric is returned as it is.

    Parameters
    ----------
    name : str or Metric
        ``name``, ``name@k`` or ``name(parameter=value,...)@k``; what it leaves open has the default value.

    Raises
    ------
    LtrValueError
        If there is no such metric or parameter; the message offers near names.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.metric("ndcg_lin@10") == ltr.NDCG(k=10, gain="linear")
    True
    >>> str(ltr.metric("p(rel=2)@5"))
    'precision(rel=2)@5'
    """
    if isinstance(name, Metric):
        return name
    parsed = parse(name)
    return parsed.cls(**parsed.given)


def parse(name: str) -> ParsedName:
    """Take a name apart, without filling in what it leaves open."""
    if not isinstance(name, str):
        raise LtrTypeError(f"A metric must be given by name or as a metric object. Got {name!r}.")
    form = _FORM.fullmatch(name)
    if form is None:
        raise LtrValueError(f"A metric's name has the form name, name@10 or name(parameter=value)@10. Got {name!r}.")
    if form["name"] not in _BY_NAME:
        raise LtrValueError(
            f"There is no metric {form['name']!r} (in {name!r}).{did_you_mean(form['name'], _BY_NAME)} "
            f"Known: {', '.join(sorted(_BY_NAME))}."
        )
    cls, fixed = _BY_NAME[form["name"]]
    given = _parameters(cls, form["inside"], name)
    twice = given.keys() & fixed.keys()
    if twice:
        raise LtrValueError(f"{name!r} gives {twice.pop()} twice: the name {form['name']!r} stands for one already.")
    given |= fixed
    if form["k"] is not None:
        given["k"] = int(form["k"])
    return ParsedName(cls, given)


def _parameters(cls: type[Metric], inside: str | None, name: str) -> dict[str, Any]:
    known = [f.name for f in fields(cls) if f.name != "k"]
    given: dict[str, Any] = {}
    for item in split_names(inside) if inside else []:
        key, equals, text = item.partition("=")
        if not equals or key not in known:
            raise LtrValueError(
                f"{cls.NAME} has no parameter {key!r} (in {name!r}).{did_you_mean(key, known)} It has {', '.join(known)}."
            )
        if key in given:
            raise LtrValueError(f"The parameter {key} is given twice in {name!r}.")
        given[key] = _value(text)
    return given


def split_names(text: str) -> list[str]:
    """Split at commas, but not at those within brackets."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [*parts, part]


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return tuple(_value(item) for item in text[1:-1].split(",")) if text != "[]" else ()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
