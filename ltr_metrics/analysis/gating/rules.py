"""The rules of a gate: ``ndcg@10 > -0.005``, ``share(ndcg@10 < -0.1) < 5%``, ``new: map >= 0``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean

FORM = "A rule has the form 'ndcg@10 > -0.005' or 'share(ndcg@10 < -0.1) < 0.05', and with 'new: ' before it is for the model new alone."
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
WORDS = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below"}
_SHARE = re.compile(r"share\s*\((.*)\)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Limit:
    """A sign and a number: ``> -0.005``."""

    sign: str
    number: float

    def holds(self, value: Any) -> Any:
        """Whether a value, or each of several, keeps to it; NaN never does."""
        return SIGNS[self.sign](value, self.number)

    @property
    def word(self) -> str:
        """The sign in words."""
        return WORDS[self.sign]

    def __str__(self) -> str:
        return f"{self.word} {self.number:g}"


@dataclass(frozen=True)
class Rule:
    """A rule that was read; the metric's name stands as it was written."""

    text: str  # without the model
    model: str | None  # None: every model
    metric: str
    limit: Limit
    share_of: Limit | None = None  # of which differences the share is limited; None: the difference itself is


def read_rules(rules: str | Iterable[str], models: Sequence[str]) -> list[Rule]:
    """Read rules about some of these models; whether their metrics were evaluated is another matter.

    Raises
    ------
    LtrValueError, LtrKeyError, LtrTypeError
        If a rule cannot be read, with the place of the fault; if there is no such model.
    """
    given = [rules] if isinstance(rules, str) else list(rules) if isinstance(rules, Iterable) else [rules]
    if not given:
        raise LtrValueError(f"A gate needs a rule at least; got none. {FORM}")
    return list(dict.fromkeys(_read(text, models) for text in given))


def _read(text: Any, models: Sequence[str]) -> Rule:
    if not isinstance(text, str):
        raise LtrTypeError(f"A rule must be text. Got {text!r}. {FORM}")
    model, start = _model(text, models)
    whole = _Piece(text, start, len(text)).stripped()
    left, sign, right = whole.compared()
    share = _SHARE.fullmatch(left.text)
    if share is None:
        return Rule(whole.text, model, left.metric(), Limit(sign, right.number()))
    limit = Limit(sign, right.number(percent=True))
    if not 0 <= limit.number <= 1:
        raise right.fault("a share is between 0 and 1, or 0% and 100%")
    metric, of_sign, beyond = _Piece(text, left.start + share.start(1), left.start + share.end(1)).stripped().compared()
    return Rule(whole.text, model, metric.metric(), limit, Limit(of_sign, beyond.number()))


def _model(text: str, models: Sequence[str]) -> tuple[str | None, int]:
    """Return the model that a rule begins with, if it does, and where the rest begins."""
    start = len(text) - len(text.lstrip())
    for model in sorted(models, key=len, reverse=True):  # a name may be the beginning of another one
        rest = text[start + len(model) :].lstrip()
        if text.startswith(model, start) and rest.startswith(":"):
            return model, len(text) - len(rest) + 1
    before, colon, _ = text.partition(":")
    if colon and not set(before) & set("(<>"):  # later ones belong to a metric
        name = before.strip()
        raise LtrKeyError(
            f"The rule {text!r} is for the model {name!r}, which is not compared with the baseline.{did_you_mean(name, models)} There are "
            f"{', '.join(map(repr, models))}."
        )
    return None, start


@dataclass(frozen=True)
class _Piece:
    """A part of a rule that knows where it stands."""

    rule: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.rule[self.start : self.end]

    def stripped(self) -> _Piece:
        start = self.start + len(self.text) - len(self.text.lstrip())
        return _Piece(self.rule, start, max(start, self.start + len(self.text.rstrip())))

    def fault(self, what: str) -> LtrValueError:
        shown = repr(self.text) if self.text else "nothing"
        return LtrValueError(
            f"The rule {self.rule!r} cannot be read: {what}. Got {shown} at character {self.start + 1}. {FORM}"
        )

    def compared(self) -> tuple[_Piece, str, _Piece]:
        """Split at the last sign that stands outside of brackets."""
        depth, at = 0, None
        for place in range(self.start, self.end):
            character = self.rule[place]
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
            if depth < 0:
                raise _Piece(self.rule, place, self.end).fault("a bracket closes that was not opened")
            if depth == 0 and character in "<>":
                at = place
        if depth > 0:
            raise self.fault("a bracket is not closed")
        if at is None:
            raise self.fault(f"one of the signs {' '.join(SIGNS)} must stand between a metric and a number")
        behind = at + 2 if self.rule.startswith("=", at + 1) else at + 1
        left, right = _Piece(self.rule, self.start, at), _Piece(self.rule, behind, max(behind, self.end))
        return left.stripped(), self.rule[at:behind], right.stripped()

    def metric(self) -> str:
        if not self.text or self.text.endswith(("=", "<", ">")):
            raise self.fault(f"a metric must stand before one of the signs {' '.join(SIGNS)}")
        return self.text

    def number(self, *, percent: bool = False) -> float:
        """Return a number; a percentage where it is clear of what."""
        bare = self.text.removesuffix("%").rstrip()
        if _NUMBER.fullmatch(bare) is None:
            raise self.fault("a number must stand behind the sign")
        if bare != self.text and not percent:
            raise self.fault(
                "a difference is in units of the metric, and a percentage says not of what; write 0.01 for a point of a hundred"
            )
        value = float(bare) / (1 if bare == self.text else 100)
        if not math.isfinite(value):
            raise self.fault("a number must be finite")
        return value
