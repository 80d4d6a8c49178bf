"""The parser of metric names.

``metric("map(rel=2)@10") == MAP(k=10, rel=2)``, and ``str`` of this metric is the name.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from typing import Any

from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics.errors import LtrError, LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.metrics.all_metrics import BY_NAME, METRICS
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.metrics.other_names import other_name_hint
from ltr_metrics.metrics.own import as_metric, refuse_unusable

_FORM = re.compile(r"(?P<name>\w+)(?:\((?P<inside>.*)\))?(?:@(?P<k>\d{1,18}))?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class ParsedName:
    """A parsed name: the metric's class and the parameters that the name gives."""

    cls: type[Metric]
    parameters: dict[str, Any]

    def make(self, name: str, completed: dict[str, Any] | None = None) -> Metric:
        """Make the metric; open parameters have the completed value, or their default."""
        parameters = {**(completed or {}), **self.parameters}
        missing = [f.name for f in fields(self.cls) if f.default is MISSING and f.name not in parameters]
        if missing:
            raise LtrValueError(f"{name!r} must give the {missing[0]}: write {self.cls.NAME}({missing[0]})@10.")
        return self.cls(**parameters)


@dataclass(frozen=True)
class MetricInfo:
    """Name, summary and parameters of a metric.

    Attributes
    ----------
    name : str
        The canonical name without parameters.
    aliases : tuple of str
        Further names that `metric` reads.
    summary : str
        One sentence, with direction and range.
    parameters : dict of str to object
        The parameters and their defaults.

    See Also
    --------
    available_metrics : Return one of these per metric.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> info = {one.name: one for one in ltr.available_metrics()}["mrr"]
    >>> info.name, info.parameters
    ('mrr', {'k': None, 'rel': None})
    """

    name: str
    aliases: tuple[str, ...]  # further names that `metric` reads
    summary: str
    parameters: dict[str, Any]  # name -> default; a parameter without a default has `...`


@explaining_calls
def available_metrics() -> list[MetricInfo]:
    """Return all metrics, with their further names and parameters.

    Returns
    -------
    list of MetricInfo
        One per metric class of this package.

    See Also
    --------
    metric : Make a metric of its name.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> {info.name: info for info in ltr.available_metrics()}["map"].parameters
    {'k': None, 'rel': None, 'denominator': 'min'}
    """
    return [
        MetricInfo(
            name=cls.NAME,
            aliases=tuple(cls.ALIASES),
            summary=(cls.__doc__ or "").partition("\n")[0],
            parameters={f.name: ... if f.default is MISSING else f.default for f in fields(cls)},
        )
        for cls in METRICS
    ]


@explaining_calls
def metric(name: str | Metric | Callable[..., Any]) -> Metric:
    """Return the metric with this name; a metric is returned unchanged.

    Parameters
    ----------
    name : str, Metric or callable
        ``name``, ``name@k`` or ``name(parameter=value,...)@k``, the name in any case; other
        parameters have their defaults. A function of one query's documents becomes a metric with
        its name, see `as_metric`.

    Returns
    -------
    Metric
        A frozen value. ``str`` returns its canonical name.

    Raises
    ------
    LtrValueError, LtrTypeError
        If there is no such metric or parameter; the message suggests similar names.
        If the argument is neither a name, a metric nor a function with a name.

    See Also
    --------
    available_metrics : All names with their parameters.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.metric("ndcg_lin@10") == ltr.NDCG(k=10, gain="linear")
    True
    >>> str(ltr.metric("p(rel=2)@5"))
    'precision(rel=2)@5'
    """
    if isinstance(name, Metric):
        refuse_unusable(name)
        return name
    if isinstance(name, type):
        raise LtrTypeError(f"A metric must be given as an object, not as its class: write {name.__name__}(...).")
    if callable(name):
        return as_metric(name)
    parsed = parse(name)
    return parsed.make(name)


def parse(name: str) -> ParsedName:
    """Parse a name without completing it."""
    if not isinstance(name, str):
        raise LtrTypeError(f"A metric must be given by name or as a metric object. Got {reprlib.repr(name)}.")
    return _parse(name)


def is_metric_name(name: str) -> bool:
    """Whether a name begins as that of a metric here; what follows may still be wrong."""
    return name_without_parameters(in_lower_case(name)) in BY_NAME


def name_without_parameters(name: str) -> str:
    """Return the word that a name begins with: ``map`` of ``map(rel=2)@10``."""
    return re.split(r"[@(]", name, maxsplit=1)[0]


def in_lower_case(name: str) -> str:
    """Return a metric's name as it is read, in any case; parameters and columns keep theirs.

    Examples
    --------
    >>> from ltr_metrics.metrics.names import in_lower_case
    >>> in_lower_case("NDCG@10"), in_lower_case("Mean_Of(Revenue)@3")
    ('ndcg@10', 'mean_of(Revenue)@3')
    """
    word = name_without_parameters(name)
    return word.lower() + name[len(word) :]


@lru_cache(maxsize=1_000)
def _parse(name: str) -> ParsedName:
    refuse_several(name)
    form = _FORM.fullmatch(name)
    if form is None:
        raise LtrValueError(
            "A metric's name must have the form name, name@10 or name(parameter=value)@10. Got "
            f"{name!r}.{spelling_of(name)}"
        )
    own_name = form["name"].lower()
    if own_name not in BY_NAME:
        k = "" if form["k"] is None else f"@{form['k']}"
        of_column = f" If it is a column, write sum_of({form['name']}){k} or mean_of({form['name']}){k}."
        hint = spelling_of(name) or did_you_mean(form["name"], BY_NAME) or of_column
        raise LtrValueError(
            f"There is no metric {form['name']!r} (in {name!r}).{hint} Known: {', '.join(sorted(BY_NAME))}. In Python, "
            f"pass a metric of your own as an object: as_metric(function, name={form['name']!r})."
        )
    cls, fixed = BY_NAME[own_name]
    parameters = _parameters(cls, form["inside"], name)
    repeated = parameters.keys() & fixed.keys()
    if repeated:
        raise LtrValueError(f"{name!r} gives {repeated.pop()} twice: the name {own_name!r} fixes it already.")
    parameters |= fixed
    if form["k"] is not None:
        if not issubclass(cls, RankMetric):
            raise LtrValueError(f"{cls.NAME} has no cutoff: it uses the whole list. Got {name!r}.")
        parameters["k"] = int(form["k"])
    return ParsedName(cls, parameters)


def spelling_of(name: str) -> str:
    """Return a sentence with the name here of what cannot be read as one, or an empty string."""
    if not name:
        return " Is there a comma too many?"
    if name.endswith("-"):
        return " XGBoost's suffix '-' is no_relevant=0 here."
    for respelled in ("".join(name.split()), _of_slug(name)):
        if respelled not in (None, name) and _is_readable(respelled):
            return f" Write {respelled}."
    wrong_cutoff = " A cutoff is a whole number of at least 1, as in ndcg@10." if "@" in name else ""
    return other_name_hint(name, BY_NAME) or (wrong_cutoff if is_metric_name(name) else "")


def _is_readable(name: str) -> bool:
    try:
        return parse(name).make(name) is not None
    except LtrError:
        return False


def _of_slug(slug: str) -> str | None:
    """Return the name of a metric with this slug, or None: ``map(rel=2)@10`` of ``map-rel-2_at_10``."""
    spelled, _, k = slug.rpartition("_at_") if re.search(r"_at_\d+$", slug) else (slug, "", "")
    stem, *words = spelled.split("-")
    if stem.lower() not in BY_NAME:
        return None
    cls, _ = BY_NAME[stem.lower()]
    known, values = {one.name for one in fields(cls)} - {cls.POSITIONAL}, dict[str, list[str]]()
    for word in words:
        if word in known:
            values[word] = []
        else:
            values.setdefault(next(reversed(values), cls.POSITIONAL or ""), []).append(word)
    return stem + _inside(values, cls.POSITIONAL) + (f"@{k}" if k else "")


def _inside(values: Mapping[str, Sequence[str]], positional: str | None) -> str:
    """Return parameters in brackets, each from the words of its value in a slug."""
    spelled = []
    for key, words in values.items():
        numbers = [re.sub("^neg(?=[0-9.])", "-", word) for word in words]
        value = f"[{','.join(numbers)}]" if len(numbers) > 1 else "".join(numbers)
        if numbers[:1] == ["above"]:
            value = f">{''.join(numbers[1:])}"
        spelled.append("-".join(words) if key == positional else f"{key}={value}")
    return f"({','.join(spelled)})" if spelled else ""


def _parameters(cls: type[Metric], inside: str | None, name: str) -> dict[str, Any]:
    known = [f.name for f in fields(cls) if f.name != "k"]
    parameters: dict[str, Any] = {}
    for item in split_names(inside) if inside else []:
        key, equals, text = item.partition("=")
        if not equals and cls.POSITIONAL is not None:
            key, equals, text = cls.POSITIONAL, "=", item
        if (key == "k" or key.isdigit()) and issubclass(cls, RankMetric):
            cutoff = text or (key if key.isdigit() else 10)
            raise LtrValueError(f"A cutoff follows the name: write {cls.NAME}@{cutoff} for {name!r}.")
        if not equals and key in known:
            raise LtrValueError(f"The parameter {key} in {name!r} has no value: write {key}=....")
        if not equals or key not in known:
            raise LtrValueError(
                f"{cls.NAME} has no parameter {key!r} (in {name!r}).{did_you_mean(key, known)} It has "
                f"{', '.join(known) or 'none'}."
            )
        if key in parameters:
            raise LtrValueError(f"The parameter {key} is given twice in {name!r}.")
        parameters[key] = text if key == cls.POSITIONAL else _value(text)
    return parameters


def refuse_several(name: str) -> None:
    """Refuse several names in one string, and suggest the list."""
    several = [one for piece in split_names(name) if (one := piece.strip())]
    if len(several) > 1:
        stem = several[0].partition("@")[0]
        several = [f"{stem}@{one}" if one.isdigit() else one for one in several]
        raise LtrValueError(f"{name!r} holds the names of several metrics. Pass them as a list: {several}.")


def require_one_metric(metric: object) -> None:
    """Raise an error unless this may be one metric: a name, an object or a function, not a list or several names."""
    is_one = (
        len(split_names(metric)) == 1 if isinstance(metric, str) else isinstance(metric, Metric) or callable(metric)
    )
    if not is_one:
        raise LtrTypeError(f"metric takes one metric, by name or as an object. Got {metric!r}.")


def split_names(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    pieces, depth, piece = [], 0, ""
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += character
    return [*pieces, piece]


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return tuple(_number_or_word(item) for item in text[1:-1].split(",")) if text != "[]" else ()
    return _number_or_word(text)


def _number_or_word(text: str) -> float | str:
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)
