"""Rules of a gate: ``ndcg@10 > -0.005``, ``> -1%``, ``mean(map) > 0.6``, ``share(map < -0.1) < 5%``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean

FORM = (
    "A rule has the form 'ndcg@10 > -0.005', 'ndcg@10 > -1%', 'mean(ndcg@10) > 0.6' or "
    "'share(ndcg@10 < -0.1) < 0.05'. "
    "With 'new: ' before it, it applies to the model new only."
)
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
WORDS = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below"}
_SHARE = re.compile(r"share\s*\((.*)\)", re.DOTALL)
_MEAN = re.compile(r"mean\s*\((.*)\)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Limit:
    """A sign and a number: ``> -0.005``, or ``> -1%`` of the baseline's mean, whose number is -0.01."""

    sign: str
    number: float
    is_relative: bool = False

    def holds(self, value: Any) -> Any:
        """Whether a value, or each value of an array, satisfies the limit; NaN never does."""
        return SIGNS[self.sign](value, self.number)

    @property
    def word(self) -> str:
        """The sign in words."""
        return WORDS[self.sign]

    def __str__(self) -> str:
        number = f"{100 * self.number:g}% of the baseline's mean" if self.is_relative else f"{self.number:g}"
        return f"{self.word} {number}"


@dataclass(frozen=True)
class Rule:
    """A rule that was read; the metric's name is as it was written."""

    text: str  # without the model
    model: str | None  # None: every model
    metric: str
    limit: Limit
    share_of: Limit | None = None  # limits the share of queries with such a difference; None: limits the difference
    of_mean: bool = False  # limits the model's own mean instead of the difference

    @property
    def asks_for_more(self) -> bool:
        """Whether higher values of the metric are more likely to pass."""
        is_floor = self.limit.sign.startswith(">")
        return is_floor if self.share_of is None else is_floor == self.share_of.sign.startswith(">")


def read_rules(rules: str | Iterable[str], models: Sequence[str]) -> list[Rule]:
    """Read rules for some of these models. Their metrics are not checked here.

    Raises
    ------
    LtrValueError, LtrKeyError, LtrTypeError
        If a rule cannot be read, with the position of the error, or if there is no such model.
    """
    texts = list(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else [rules]
    if not texts:
        raise LtrValueError(f"A gate needs at least one rule; got none. {FORM}")
    return list(dict.fromkeys(_read(text, models) for text in texts))


def _read(text: Any, models: Sequence[str]) -> Rule:
    if not isinstance(text, str):
        raise LtrTypeError(f"A rule must be text. Got {text!r}. {FORM}")
    model, start = _model(text, models)
    whole = _Piece(text, start, len(text)).strip()
    left, sign, right = whole.split_at_sign()
    share = _SHARE.fullmatch(left.text)
    if share is None:
        mean = _MEAN.fullmatch(left.text)
        if mean is not None:
            inner = _Piece(text, left.start + mean.start(1), left.start + mean.end(1)).strip()
            return Rule(whole.text, model, inner.metric(), Limit(sign, right.number()), of_mean=True)
        number = right.number(percent=True)
        return Rule(whole.text, model, left.metric(), Limit(sign, number, right.text.endswith("%")))
    limit = Limit(sign, right.number(percent=True))
    if not 0 <= limit.number <= 1:
        raise right.error("a share is between 0 and 1, or 0% and 100%")
    inner = _Piece(text, left.start + share.start(1), left.start + share.end(1)).strip()
    metric, inner_sign, bound = inner.split_at_sign()
    return Rule(whole.text, model, metric.metric(), limit, Limit(inner_sign, bound.number()))


def _model(text: str, models: Sequence[str]) -> tuple[str | None, int]:
    """Return the model that a rule begins with, or None, and where the rest begins."""
    start = len(text) - len(text.lstrip())
    for model in sorted(models, key=len, reverse=True):  # a name may be a prefix of another one
        rest = text[start + len(model) :].lstrip()
        if text.startswith(model, start) and rest.startswith(":"):
            return model, len(text) - len(rest) + 1
    before, colon, _ = text.partition(":")
    if colon and not set(before) & set("(<>"):  # a later colon belongs to a metric
        name = before.strip()
        raise LtrKeyError(
            f"The rule {text!r} is for the model {name!r}, which is not compared with the baseline."
            f"{did_you_mean(name, models)} There are {', '.join(map(repr, models))}."
        )
    return None, start


@dataclass(frozen=True)
class _Piece:
    """A part of a rule with its position."""

    rule: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.rule[self.start : self.end]

    def strip(self) -> _Piece:
        start = self.start + len(self.text) - len(self.text.lstrip())
        return _Piece(self.rule, start, max(start, self.start + len(self.text.rstrip())))

    def error(self, message: str) -> LtrValueError:
        text = repr(self.text) if self.text else "nothing"
        return LtrValueError(
            f"The rule {self.rule!r} cannot be read: {message}. Got {text} at character {self.start + 1}. {FORM}"
        )

    def split_at_sign(self) -> tuple[_Piece, str, _Piece]:
        """Split at the last sign outside of brackets."""
        depth, sign = 0, None
        for i in range(self.start, self.end):
            character = self.rule[i]
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
            if depth < 0:
                raise _Piece(self.rule, i, self.end).error("a closing bracket has no opening one")
            if depth == 0 and character in "<>":
                sign = i
        if depth > 0:
            raise self.error("a bracket is not closed")
        if sign is None:
            raise self.error(f"one of the signs {' '.join(SIGNS)} must stand between a metric and a number")
        end = sign + 2 if self.rule.startswith("=", sign + 1) else sign + 1
        left, right = _Piece(self.rule, self.start, sign), _Piece(self.rule, end, max(end, self.end))
        return left.strip(), self.rule[sign:end], right.strip()

    def metric(self) -> str:
        if not self.text or self.text.endswith(("=", "<", ">")):
            raise self.error(f"a metric must stand before one of the signs {' '.join(SIGNS)}")
        return self.text

    def number(self, *, percent: bool = False) -> float:
        """Return the number; a percentage is read only where it is allowed."""
        bare = self.text.removesuffix("%").rstrip()
        if _NUMBER.fullmatch(bare) is None:
            raise self.error("a number must follow the sign")
        if bare != self.text and not percent:
            raise self.error(
                "this number is in units of the metric, not in percent; write 0.01 for one percentage point"
            )
        value = float(bare) / (1 if bare == self.text else 100)
        if not math.isfinite(value):
            raise self.error("a number must be finite")
        return value
