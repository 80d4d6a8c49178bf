"""Damage to a file, drawn from a random number generator: one function for each kind of damage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

Mutation = Callable[[Random, bytes], bytes]
WEIRD_TOKENS = (
    *b'} { [ ] ( - = , : # " nan NaN inf -inf -Infinity 1e309 1e-400 0x10'.split(),
    *b"1_0 01 +1 1.5 -0 true null None Tree=0".split(),
    *b"-1 0 1 2 3 -5 7 255 4294967295 4294967296 2147483647 -2147483648 1000000000000".split(),
    *(b"", b" ", b"\t", b"\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", b"9" * 25, b"9" * 5000, b"[" * 3000),
    *(b"qid:", b"docid =", b"\\u0000", b"\\ud800", b"PAR1", b"ARROW1", b"\x93NUMPY", b"PK"),
)
WEIRD_VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "nan", "-1", "9" * 20, "[" * 1000, [], [[]], {}, {"name": "gbtree"}, [0] * 50),
    *(-1, 0, 1, 2, 3, 5, 63, -(2**31), 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 10**30),
    *(1.5, 1e300, float("nan"), float("inf")),
)


def change_a_byte(draw: Random, content: bytes) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]


def flip_a_bit(draw: Random, content: bytes) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


def change_a_digit(draw: Random, content: bytes) -> bytes:
    return _replace_a_match(draw, content, rb"\d", b"%d" % draw.randrange(10))


def change_a_number(draw: Random, content: bytes) -> bytes:
    return _replace_a_match(draw, content, rb"-?\d[\d.eE+-]*", draw.choice(WEIRD_TOKENS))


def change_a_child(draw: Random, content: bytes) -> bytes:
    """Change one number of a line or list that holds indices."""
    keys = rb"left_child|right_child|split_feature|decision_type|cat_boundaries|num_leaves|num_cat"
    keys += rb"|num_features|leaf_features|tree_sizes"
    keys += rb'|left_children"|right_children"|parents"|split_indices"|tree_info"|iteration_indptr"|num_[a-z]+"'
    lines = list(re.finditer(rb"(?:%b)[=:\[\"]*[^=\n\]:]*" % keys, content))
    if not lines:
        return change_a_number(draw, content)
    line = draw.choice(lines)
    return content[: line.start()] + change_a_number(draw, line[0]) + content[line.end() :]


def swap_two_words(draw: Random, content: bytes) -> bytes:
    words = list(re.finditer(rb"[^\s,=:\[\]{}]+", content))
    if len(words) < 2:
        return change_a_byte(draw, content)
    first, second = sorted(draw.sample(words, 2), key=lambda word: word.start())
    between = content[first.end() : second.start()]
    return content[: first.start()] + second[0] + between + first[0] + content[second.end() :]


def remove_a_line(draw: Random, content: bytes) -> bytes:
    lines = _lines(content)
    del lines[draw.randrange(len(lines))]
    return b"".join(lines)


def repeat_a_line(draw: Random, content: bytes) -> bytes:
    lines = _lines(content)
    lines.insert(draw.randrange(len(lines)), draw.choice(lines))
    return b"".join(lines)


def cut_off(draw: Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content))]


def remove_a_piece(draw: Random, content: bytes) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + content[at + draw.choice((1, 2, 8, 100)) :]


def repeat_a_piece(draw: Random, content: bytes) -> bytes:
    at, length = draw.randrange(len(content)), draw.choice((1, 2, 8, 100))
    return content[: at + length] + content[at:]


def move_a_piece(draw: Random, content: bytes) -> bytes:
    at, length = draw.randrange(len(content)), draw.choice((1, 2, 8, 40))
    piece, rest = content[at : at + length], content[:at] + content[at + length :]
    to = draw.randrange(len(rest) + 1)
    return rest[:to] + piece + rest[to:]


def overwrite_a_piece(draw: Random, content: bytes) -> bytes:
    at, length = draw.randrange(len(content)), draw.randrange(1, 9)
    by = draw.choice((draw.randbytes(length), bytes([draw.choice((0, 1, 127, 128, 255))]) * length))
    return content[:at] + by + content[at + length :]


def insert_a_word(draw: Random, content: bytes) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + draw.choice(WEIRD_TOKENS) + content[at:]


def change_a_length(draw: Random, content: bytes) -> bytes:
    """Change one of UBJSON's lengths, which stand behind the letter L."""
    length = draw.choice((0, 1, 2, 1 << 20, 10**12, 2**63 - 1, -1, -(2**63))).to_bytes(8, "big", signed=True)
    return _replace_a_match(draw, content, rb"(?s)L.{8}", b"L" + length)


def change_a_value(draw: Random, content: bytes) -> bytes:
    """Change one value of a JSON document, which stays well-formed."""
    document = json.loads(content)
    inside, key = draw.choice(list(_places(document)))
    if draw.random() < 0.2:
        del inside[key]
    else:
        inside[key] = draw.choice(WEIRD_VALUES)
    return json.dumps(document).encode()


def with_sizes_repaired(mutation: Mutation) -> Mutation:
    """Return the mutation with the sizes of a LightGBM file's trees counted again, so that it passes for whole."""

    def mutate(draw: Random, content: bytes) -> bytes:
        changed = mutation(draw, content)
        head, begin, rest = changed.partition(b"\nTree=0\n")
        trees, end, tail = (begin[1:] + rest).partition(b"end of trees\n")
        starts = [found.start() for found in re.finditer(rb"(?m)^Tree=", trees)]
        if not end or not starts or starts[0]:
            return changed
        sizes = b" ".join(b"%d" % (stop - start) for start, stop in zip(starts, [*starts[1:], len(trees)], strict=True))
        return re.sub(rb"(?m)^tree_sizes=.*$", b"tree_sizes=" + sizes, head) + b"\n" + trees + end + tail

    mutate.__name__ = f"{mutation.__name__}, sizes repaired"
    return mutate


OF_BYTES: tuple[Mutation, ...] = (change_a_byte, flip_a_bit, cut_off, remove_a_piece, repeat_a_piece, insert_a_word)
OF_TEXT: tuple[Mutation, ...] = (
    *OF_BYTES,
    change_a_digit,
    change_a_number,
    change_a_child,
    change_a_child,
    swap_two_words,
)
OF_LINES: tuple[Mutation, ...] = (*OF_TEXT, remove_a_line, repeat_a_line)
OF_FILES: tuple[Mutation, ...] = (
    *OF_BYTES,
    flip_a_bit,
    move_a_piece,
    overwrite_a_piece,
    change_a_number,
    swap_two_words,
    remove_a_line,
    repeat_a_line,
)
OF_MODELS: dict[str, tuple[Mutation, ...]] = {
    "txt": (*OF_LINES, *map(with_sizes_repaired, OF_LINES)),
    "json": (*OF_TEXT, *(change_a_value,) * 6),
    "ubj": (*OF_BYTES, change_a_byte, flip_a_bit, change_a_length),
}


def damage(draw: Random, content: bytes, mutations: tuple[Mutation, ...]) -> bytes:
    """Return the content of a file after one to four mutations."""
    for _ in range(draw.randrange(1, 5)):
        content = draw.choice(mutations)(draw, content) if content else content
    return content


def _replace_a_match(draw: Random, content: bytes, pattern: bytes, by: bytes) -> bytes:
    matches = list(re.finditer(pattern, content))
    if not matches:
        return change_a_byte(draw, content)
    match = draw.choice(matches)
    return content[: match.start()] + by + content[match.end() :]


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def _places(value: Any) -> Any:
    """Yield each place of a document, as the list or dict that holds it and its index or key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])
