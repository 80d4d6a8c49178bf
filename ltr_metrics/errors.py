"""The package's errors, its one warning, and text that cannot control a terminal.

Every error says what is wrong, where (row, query, file and line), the rule, the value and the remedy.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# C0 and C1 controls but the line break, line and paragraph separators, controls of the direction of text, and halves of
# surrogate pairs, which stand for bytes of a file's name that are no text.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

PACKAGE = __file__.removesuffix("errors.py")  # with the separator at its end


def printable(text: object) -> str:
    r"""Return text whose control characters are spelled out as Python writes them; line breaks stay.

    Examples
    --------
    >>> from ltr_metrics.errors import one_line, printable
    >>> printable("\x1b[31mred\n\u202e")
    '\\x1b[31mred\n\\u202e'
    >>> one_line("two\nlines")
    'two\\nlines'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def one_line(name: object) -> str:
    """Return the name of a model, a query or a segment as text in which line breaks are spelled out, too."""
    return printable(name).replace("\n", "\\n")


class _OneMessage(Exception):  # noqa: N818 -- the base of errors and of the warning
    """One message, in which control characters are spelled out."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # a KeyError would quote its message


class LtrError(_OneMessage):
    """Base of every error that a caller of this package can cause.

    Each message says what is wrong, where (row, query, file and line), the rule, the value and the
    remedy.

    See Also
    --------
    LtrValueError : A value breaks a rule.
    LtrTypeError : A thing of the wrong kind.
    LtrKeyError : A result does not hold what it was asked for.
    MissingExtraError : An optional dependency is not installed.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> try:
    ...     ltr.evaluate([1, 0], [0.2, float("nan")], group=[2], metrics="mrr")
    ... except ltr.LtrError as error:
    ...     print(type(error).__name__)
    LtrValueError
    """


class LtrValueError(LtrError, ValueError):
    """A value breaks a rule: a NaN score, a negative label, sizes that do not add up.

    It is a `LtrError` and Python's ``ValueError``.

    See Also
    --------
    LtrError : The base of all errors.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> try:
    ...     ltr.evaluate([1, 0], [0.2, 0.8], group=[3], metrics="mrr")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    LtrValueError
    """


class LtrTypeError(LtrError, TypeError):
    """A thing of the wrong kind: text where numbers are due, an adapter given to another host.

    It is a `LtrError` and Python's ``TypeError``.

    See Also
    --------
    LtrError : The base of all errors.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> try:
    ...     ltr.evaluate(["high", "low"], [0.2, 0.8], group=[2], metrics="mrr")
    ... except TypeError as error:
    ...     print(type(error).__name__)
    LtrTypeError
    """


class LtrKeyError(LtrValueError, KeyError):
    """A result was asked for something that it does not hold.

    It is a `LtrValueError` and Python's ``KeyError``.

    See Also
    --------
    LtrError : The base of all errors.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0], [0.2, 0.8], group=[2], metrics=["mrr"])
    >>> try:
    ...     result["map"]
    ... except KeyError as error:
    ...     print(type(error).__name__)
    LtrKeyError
    """


class MissingExtraError(LtrError, ImportError):
    """An optional dependency is not installed; the message has the pip line.

    Parameters
    ----------
    package : str
        Name of the package that is missing.
    extra : str
        The extra of this package that installs it.

    See Also
    --------
    LtrError : The base of all errors.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> print(ltr.MissingExtraError("scipy", "report"))  # doctest: +ELLIPSIS
    scipy is needed here and is not installed: pip install ...
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is needed here and is not installed: pip install {_installable(extra)}")
        self._given = package, extra

    def __reduce__(self) -> tuple[type, tuple[str, str]]:  # other processes raise it too
        return type(self), self._given


def _installable(extra: str) -> str:
    """Return what pip installs an extra from: where this installation came from, since a name may be anybody's."""
    import json  # only for those who lack a package
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    try:
        installed = distribution("ltr_metrics")
    except PackageNotFoundError:  # a checkout on Python's path
        return shlex.quote(f"{Path(PACKAGE).parent}[{extra}]")
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    url, version_control = origin.get("url"), origin.get("vcs_info")
    if url is None:  # from a package index, where pip keeps this version and adds what the extra needs
        return shlex.quote(f"ltr_metrics[{extra}]=={installed.version}")
    if version_control is not None:
        return shlex.quote(f"ltr_metrics[{extra}] @ {version_control['vcs']}+{url}@{version_control['commit_id']}")
    if not url.startswith("file:"):
        return shlex.quote(f"ltr_metrics[{extra}] @ {url}")
    option = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return option + shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional dependency, which an extra of this package installs.

    Raises
    ------
    MissingExtraError
        If the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(module.partition(".")[0], extra) from error


class LtrWarning(_OneMessage, UserWarning):
    """A legal input whose result is probably not what was meant; the message has the remedy.

    See Also
    --------
    LtrError : The base of all errors.

    Examples
    --------
    A scale to 4 is not plausible if no label is above 1:

    >>> import warnings
    >>> import ltr_metrics as ltr
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = ltr.evaluate([1, 0], [0.2, 0.8], group=[2], metrics=["err"])
    >>> [one.category.__name__ for one in caught]
    ['LtrWarning']
    """


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
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, functools.__file__, contextlib.__file__)):
        level, frame = level + 1, frame.f_back
    warnings.warn(LtrWarning(message), stacklevel=level)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """' Did you mean ...?', or an empty string when nothing is near.

    A known name that differs only in upper and lower case is the only one that is offered, or else
    those that scikit-learn has prefixed, as in ``remainder__qid``.
    """
    import difflib  # only for those who have made a mistake

    by_lower, lower = {name.lower(): name for name in known}, word.lower()
    prefixed = [name for name in by_lower if name.endswith(f"__{lower}")][:3]
    near = [lower] if lower in by_lower else prefixed or difflib.get_close_matches(lower, by_lower, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_lower[name]) for name in near)}?" if near else ""
