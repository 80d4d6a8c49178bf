"""A parser of UBJSON documents.

XGBoost's own parser trusts the lengths in a document, and can read beyond its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_metrics.io.models.structure import DamageError

KINDS: dict[bytes, np.dtype[Any]] = {  # numbers, big-endian
    marker: np.dtype(kind)
    for marker, kind in zip(
        (b"i", b"U", b"C", b"I", b"l", b"L", b"d", b"D"),
        (">i1", ">u1", "S1", ">i2", ">i4", ">i8", ">f4", ">f8"),
        strict=True,
    )
}
WORDS = {b"Z": None, b"N": None, b"T": True, b"F": False}
_WHOLE_NUMBERS = (b"i", b"U", b"I", b"l", b"L")


def parse(content: bytes) -> Any:
    """Return the value of a document; raise DamageError if it does not end with the document."""
    try:
        value, end = _value(content, 0)
    except RecursionError:
        raise DamageError("it is nested too deeply for a UBJSON document") from None
    if end != len(content):
        raise DamageError(f"its UBJSON document ends at byte {end} of {len(content)}")
    return value


def _value(content: bytes, at: int) -> tuple[Any, int]:
    """Return the value that starts at this byte, and the byte after it."""
    marker, at = content[at : at + 1], at + 1
    if marker in WORDS:
        return WORDS[marker], at
    if marker in KINDS:
        values, at = _numbers(content, at, marker, 1)
        return values[0], at
    if marker == b"S":
        return _text(content, at)
    if marker == b"{":
        return _members(content, at)
    if marker == b"[":
        return _entries(content, at)
    raise DamageError(f"no value of a UBJSON document starts at byte {at - 1}")


def _entries(content: bytes, at: int) -> tuple[list[Any], int]:
    """Return an array: with its type and length, with its length, or up to its closing bracket."""
    kind = None
    if content[at : at + 1] == b"$":
        kind, at = content[at + 1 : at + 2], at + 2
        if kind not in KINDS or content[at : at + 1] != b"#":
            raise DamageError(f"the array at byte {at} has no type or no length")
    if content[at : at + 1] == b"#":
        n, at = _count(content, at + 1)
        if kind is not None:
            return _numbers(content, at, kind, n)
        values = []
        for _ in range(n):  # stops with an error at the end of the document
            value, at = _value(content, at)
            values.append(value)
        return values, at
    values = []
    while content[at : at + 1] != b"]":
        value, at = _value(content, at)
        values.append(value)
    return values, at + 1


def _members(content: bytes, at: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    while content[at : at + 1] != b"}":
        key, at = _text(content, at)
        if key in members:
            raise DamageError(f"two members of an object are named {key[:40]!r}")
        members[key], at = _value(content, at)
    return members, at + 1


def _text(content: bytes, at: int) -> tuple[str, int]:
    n, at = _count(content, at)
    try:
        return content[at : _end(content, at, n)].decode(), at + n
    except UnicodeDecodeError:
        raise DamageError(f"the text at byte {at} is not UTF-8") from None


def _numbers(content: bytes, at: int, kind: bytes, n: int) -> tuple[list[Any], int]:
    end = _end(content, at, n * KINDS[kind].itemsize)
    numbers = np.frombuffer(content, KINDS[kind], n, at) if n else np.empty(0)
    if kind == b"d":  # the shortest decimals that round to the float32, as in XGBoost's JSON
        numbers = numbers.astype(np.float32).astype(str).astype(np.float64)
    return numbers.tolist(), end


def _count(content: bytes, at: int) -> tuple[int, int]:
    """Return a length, and the byte after it."""
    kind = content[at : at + 1]
    if kind not in _WHOLE_NUMBERS:
        raise DamageError(f"there is no length at byte {at}")
    (n,), at = _numbers(content, at + 1, kind, 1)
    return n, at


def _end(content: bytes, at: int, n: int) -> int:
    """Return the byte after the next n; refuse more bytes than the document has."""
    if not 0 <= n <= len(content) - at:
        raise DamageError(f"{n} bytes are expected at byte {at}, but there are {max(0, len(content) - at)}")
    return at + n
