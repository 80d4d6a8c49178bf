"""The package's errors and its one warning.

Every error says what is wrong, where (row, query, file and line), the rule, the value and the remedy.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ltr_metrics.printable import printable

PACKAGE = __file__.removesuffix("errors.py")  # with the separator at its end


class LtrError(Exception):
    """Base of every error that a caller of this package can cause."""

    def __str__(self) -> str:
        return printable(super().__str__())


class LtrValueError(LtrError, ValueError):
    """A value breaks a rule: a NaN score, a negative label, sizes that do not add up."""


class LtrTypeError(LtrError, TypeError):
    """A thing of the wrong kind: text where numbers are due, an adapter given to another host."""


class LtrKeyError(LtrValueError, KeyError):
    """A result was asked for something that it does not hold."""

    def __str__(self) -> str:  # KeyError shows the repr of its message, which hides line breaks and quotes
        return printable(self.args[0])


class MissingExtraError(LtrError, ImportError):
    """An optional dependency is not installed; the message has the pip line."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is needed here and is not installed: pip install 'ltr_metrics[{extra}]'")


class LtrWarning(UserWarning):
    """A legal input whose result is probably not what was meant; the message has the remedy."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Say of an error what it is about: with several models one wants to know which."""
    try:
        yield
    except (LtrValueError, LtrTypeError) as error:
        raise type(error)(f"{what}: {error}") from error


def warn(message: str) -> None:
    """Warn from the line outside this package that led here."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, functools.__file__)):
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message), LtrWarning, stacklevel=level)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """' Did you mean ...?', or an empty string when nothing is near.

    A known name that differs in upper and lower case alone is the only one that is offered.
    """
    import difflib  # for those alone who have made a mistake

    by_lower, lower = {name.lower(): name for name in known}, word.lower()
    near = [lower] if lower in by_lower else difflib.get_close_matches(lower, by_lower, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_lower[name]) for name in near)}?" if near else ""
