"""Whether a UBJSON document is whole: XGBoost reads on behind the end of one that is cut off, into foreign memory."""

from __future__ import annotations

SIZES = {b"Z": 0, b"N": 0, b"T": 0, b"F": 0, b"i": 1, b"U": 1, b"C": 1, b"I": 2, b"l": 4, b"d": 4, b"L": 8, b"D": 8}
_WHOLE_NUMBERS = (b"i", b"U", b"I", b"l", b"L")


def is_whole(content: bytes) -> bool:
    """Whether content is one UBJSON value from its first byte to its last."""
    try:
        return _after_value(content, 0) == len(content)
    except (ValueError, KeyError, RecursionError):
        return False


def _after_value(content: bytes, at: int) -> int:
    """Return where the value that begins here has ended."""
    marker, at = content[at : at + 1], at + 1
    if marker in SIZES:
        return at + SIZES[marker]
    if marker == b"S":
        return _after_text(content, at)
    if marker == b"{":
        return _after_members(content, at, b"}")
    if marker == b"[":
        return _after_entries(content, at)
    raise ValueError


def _after_entries(content: bytes, at: int) -> int:
    """Go over an array: of one kind and a number that is told, of a number that is told, or up to its closing bracket."""
    kind = content[at + 1 : at + 2] if content[at : at + 1] == b"$" else None
    at += 0 if kind is None else 2
    if content[at : at + 1] == b"#":
        n, at = _count(content, at + 1)
        if kind is not None:
            return at + n * SIZES[kind]
        for _ in range(n):
            at = _after_value(content, at)
        return at
    if kind is not None:
        raise ValueError
    return _after_members(content, at, b"]")


def _after_members(content: bytes, at: int, end: bytes) -> int:
    while content[at : at + 1] != end:
        at = _after_value(content, _after_text(content, at) if end == b"}" else at)
    return at + 1


def _after_text(content: bytes, at: int) -> int:
    n, at = _count(content, at)
    return at + n


def _count(content: bytes, at: int) -> tuple[int, int]:
    """Return a length and where it has ended."""
    kind = content[at : at + 1]
    if kind not in _WHOLE_NUMBERS:
        raise ValueError
    end = at + 1 + SIZES[kind]
    n = int.from_bytes(content[at + 1 : end], "big", signed=kind != b"U")
    if n < 0:
        raise ValueError
    return n, end
