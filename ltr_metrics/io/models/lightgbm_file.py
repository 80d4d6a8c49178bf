"""Check the structure of LightGBM model files before LightGBM reads them.

A file starts with a head of lines ``key=value``. The line ``tree_sizes`` has the bytes of each tree.
The trees follow, each from a line such as ``Tree=0`` to an empty line. Feature importances,
parameters and pandas categories come last.
In a tree with n leaves, a child from 0 to n - 2 is a split, and the child -1 - i is leaf i.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ltr_metrics.io.models.structure import (
    HIGHEST_INT32,
    DamageError,
    reached_nodes,
    require_finite,
    require_length,
    require_range,
)

HEAD_KEYS = frozenset(
    b"version num_class num_tree_per_iteration label_index max_feature_idx objective average_output feature_names "
    b"monotone_constraints feature_infos tree_sizes".split()
)
# Scores do not depend on the statistics.
SPLIT_STATISTICS = b"split_gain internal_value internal_weight internal_count".split()
LEAF_STATISTICS = b"leaf_weight leaf_count".split()
SPLITS = b"split_feature threshold decision_type left_child right_child".split()
CATEGORIES = b"cat_boundaries cat_threshold".split()
LINEAR_LEAVES = b"leaf_const num_features leaf_features leaf_coeff".split()
TREE_KEYS = frozenset(
    [
        b"num_leaves",
        b"num_cat",
        b"leaf_value",
        b"is_linear",
        b"shrinkage",
        *SPLITS,
        *CATEGORIES,
        *LINEAR_LEAVES,
        *SPLIT_STATISTICS,
        *LEAF_STATISTICS,
    ]
)
# Bits of decision_type: 1 is categorical, 2 sends missing values left, 4 and 8 hold the missing
# type, 0, 1 or 2.
CATEGORICAL = 1
HIGHEST_DECISION = 11
SMALLEST_NORMAL = sys.float_info.min
DART = b"[boosting: dart]"
LONGEST_NUMBER = 40  # characters; LightGBM writes at most 24
Fields = Mapping[bytes, bytes]


@dataclass(frozen=True)
class LightGBMFile:
    """The content of a checked file."""

    n_scores: int  # per row
    has_pandas_categories: bool
    text: str  # a model with the same scores, of checked parts only


def read(content: bytes) -> LightGBMFile:
    """Check the structure of a file whose lines end with LF; raise DamageError if it is damaged."""
    if b"\0" in content or b"\r" in content:
        raise DamageError("it holds a NUL or a carriage return inside of a line")
    head_text, trees, tail = _parts(content)
    head = _fields(head_text.removeprefix(b"tree\n"), HEAD_KEYS, "the head")
    n_features = _check_head(head)
    n_scores = max(_whole(head, b"num_class"), _whole(head, b"num_tree_per_iteration"))
    sizes = _integers(head, b"tree_sizes", None, 1, len(content))
    if sum(sizes) != len(trees):
        raise DamageError(f"tree_sizes says that the trees have {sum(sizes)} bytes, but they have {len(trees)}")
    checked, start = [], 0
    for i, size in enumerate(sizes):
        try:
            checked.append(
                b"Tree=%d\n%b\n\n" % (i, _checked_tree(_tree_fields(trees[start : start + size], i), n_features))
            )
        except DamageError as damage:
            raise DamageError(f"tree {i}: {damage}") from None
        start += size
    return LightGBMFile(n_scores, _has_pandas_categories(tail), _host_text(head, checked, n_features, tail))


def _parts(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the head, the trees, and the rest of the file."""
    begin, end = content.find(b"\nTree=0\n") + 1, content.find(b"\nend of trees\n") + 1
    if not end or b"\nend of parameters\n" not in content[end:]:
        raise DamageError("a LightGBM model has the lines 'end of trees' and 'end of parameters' after its trees")
    begin = begin if 0 < begin < end else end  # a model without trees
    return content[:begin], content[begin:end], content[end:]


def _fields(text: bytes, known: frozenset[bytes], where: str) -> dict[bytes, bytes]:
    """Return the values of lines ``key=value`` by key."""
    fields: dict[bytes, bytes] = {}
    for line in text.split(b"\n"):
        key, _, value = line.partition(b"=")
        if key in fields:
            raise DamageError(f"{where} has two lines {_preview(key)}")
        if line and key not in known:
            raise DamageError(f"{where} has an unknown line {_preview(key)}, which LightGBM 4 does not write")
        if line:
            fields[key] = value
    return fields


def _check_head(head: Fields) -> int:
    """Check the head, and return the number of features."""
    for key in (b"num_class", b"num_tree_per_iteration"):
        if _whole(head, key) < 1:
            raise DamageError(f"{_preview(key)} must be at least 1")
    n_features = _whole(head, b"max_feature_idx") + 1
    for key in (b"feature_names", b"feature_infos"):
        require_length(_preview(key), sum(map(bool, _value(head, key).split(b" "))), n_features)
    try:
        head[b"feature_names"].decode()
    except UnicodeDecodeError:
        raise DamageError("feature_names is not UTF-8") from None
    return n_features


def _host_text(head: Fields, trees: Sequence[bytes], n_features: int, tail: bytes) -> str:
    """Return the model with a minimal head, without the objective: scores are raw.

    Of the parameters it keeps that the booster is dart, whose first trees are not an earlier model.
    """
    parameters = [DART] if b"\n" + DART + b"\n" in tail else []
    lines = [
        *(b"tree", b"version=v4", b"num_class=1", b"num_tree_per_iteration=1", b"label_index=0"),
        b"max_feature_idx=%d" % (n_features - 1),
        *([b"average_output"] if b"average_output" in head else []),
        b"feature_names=" + head[b"feature_names"],
        b"feature_infos=" + b" ".join([b"none"] * n_features),
        b"tree_sizes=" + b" ".join(b"%d" % len(tree) for tree in trees),
        *(b"", b"".join(trees) + b"end of trees", b"", b"parameters:", *parameters, b"end of parameters", b""),
    ]
    return b"\n".join(lines).decode()


def _has_pandas_categories(tail: bytes) -> bool:
    """Whether the last line has pandas categories; only the Python package writes it."""
    last = tail.strip().rpartition(b"\n")[2]
    if not last.startswith(b"pandas_categorical:"):
        return False
    try:
        return bool(json.loads(last.removeprefix(b"pandas_categorical:")))
    except (ValueError, RecursionError):
        raise DamageError("the line pandas_categorical is not JSON") from None


def _tree_fields(text: bytes, i: int) -> dict[bytes, bytes]:
    """Return the fields of a tree, whose lines end with an empty line."""
    if not text.startswith(b"Tree=%d\n" % i) or not text.endswith(b"\n\n"):
        raise DamageError("it does not begin or end where tree_sizes says")
    lines = text.partition(b"\n")[2].rstrip(b"\n")
    if b"\n\n" in lines:
        raise DamageError("it has an empty line")
    return _fields(lines, TREE_KEYS, "it")


def _checked_tree(tree: Fields, n_features: int) -> bytes:
    """Check a tree, and return the lines that scores depend on.

    LightGBM aborts the process if another line has a word in place of a number.
    """
    n_leaves = _whole(tree, b"num_leaves")
    require_length("leaf_value", len(_numbers(tree, b"leaf_value", None)), n_leaves)
    n_splits = n_leaves - 1
    if n_splits < 0:
        raise DamageError("it has no leaves")
    for statistics, n in ((SPLIT_STATISTICS, n_splits), (LEAF_STATISTICS, n_leaves)):
        for key in statistics:
            if tree.get(key):  # LightGBM leaves unknown statistics of constant trees empty
                require_length(_preview(key), len(_parsed(tree, key, b"+-.0123456789eE naif", float)), n)
    n_categorical = _whole(tree, b"num_cat")
    keys = [b"num_leaves", b"num_cat", b"leaf_value"]
    if n_categorical:
        _check_categories(tree, n_categorical)
        keys += CATEGORIES
    _check_splits(tree, n_splits, n_categorical, n_features)
    keys += SPLITS
    if b"is_linear" in tree and _integers(tree, b"is_linear", 1, 0, 1)[0]:  # older versions do not write it
        _check_linear_leaves(tree, n_leaves, n_features)
        keys += [b"is_linear", *LINEAR_LEAVES]
    return b"\n".join(key + b"=" + tree[key] for key in keys)


def _check_splits(tree: Fields, n_splits: int, n_categorical: int, n_features: int) -> None:
    """Check that the splits form one tree, and their features, thresholds and decisions."""
    left, right = (
        _integers(tree, key, n_splits, -n_splits - 1, n_splits - 1) for key in (b"left_child", b"right_child")
    )
    left, right = ([child if child >= 0 else n_splits - 1 - child for child in side] for side in (left, right))
    n_nodes = 2 * n_splits + 1
    if not all(reached_nodes(left, right, n_nodes)):
        raise DamageError("its root does not lead to all splits and leaves")
    _integers(tree, b"split_feature", n_splits, 0, n_features - 1)
    thresholds = _numbers(tree, b"threshold", n_splits)
    decisions = _integers(tree, b"decision_type", n_splits, 0, HIGHEST_DECISION)
    sets = [threshold for threshold, kind in zip(thresholds, decisions, strict=True) if kind & CATEGORICAL]
    if any(not 0 <= threshold < n_categorical or threshold != int(threshold) for threshold in sets):
        raise DamageError(f"at a categorical split, threshold must be the number of one of {n_categorical} sets")


def _check_categories(tree: Fields, n_categorical: int) -> None:
    """Check the sets of categories, each a range of 32-bit words."""
    words = _integers(tree, b"cat_threshold", None, 0, 2**32 - 1)
    boundaries = _integers(tree, b"cat_boundaries", n_categorical + 1, 0, len(words))
    if boundaries[0] != 0 or boundaries[-1] != len(words) or any(a > b for a, b in pairwise(boundaries)):
        raise DamageError(f"cat_boundaries must rise from 0 to {len(words)}, the number of words of cat_threshold")


def _check_linear_leaves(tree: Fields, n_leaves: int, n_features: int) -> None:
    """Check the linear models in the leaves."""
    n_terms = sum(_integers(tree, b"num_features", n_leaves, 0, n_features))
    _integers(tree, b"leaf_features", n_terms, 0, n_features - 1)
    for key, n in ((b"leaf_const", n_leaves), (b"leaf_coeff", n_terms)):
        _numbers(tree, key, n)
        _refuse_underflow(tree, key)


def _refuse_underflow(tree: Fields, key: bytes) -> None:
    """Refuse subnormal numbers: LightGBM aborts the process on them in linear models."""
    for word in tree[key].split():
        is_zero = not word.lower().partition(b"e")[0].strip(b"+-0.")
        if not is_zero and abs(float(word)) < SMALLEST_NORMAL:
            raise DamageError(
                f"{_preview(key)} has the entry {_preview(word)!r}, which is too close to 0 for a float64"
            )


def _integers(fields: Fields, key: bytes, n: int | None, low: int, high: int) -> list[int]:
    """Return the whole numbers of a line, without plus signs, at which LightGBM stops."""
    values: list[int] = _parsed(fields, key, b"-0123456789 ", int)
    require_range(_preview(key), values, low, high)
    require_length(_preview(key), len(values), len(values) if n is None else n)
    return values


def _numbers(fields: Fields, key: bytes, n: int | None) -> list[float]:
    """Return the finite numbers of a line."""
    values: list[float] = _parsed(fields, key, b"+-.0123456789eE ", float)
    require_finite(_preview(key), values)
    require_length(_preview(key), len(values), len(values) if n is None else n)
    return values


def _whole(fields: Fields, key: bytes) -> int:
    """Return the only whole number of a line."""
    return _integers(fields, key, 1, 0, HIGHEST_INT32)[0]


def _parsed(fields: Fields, key: bytes, characters: bytes, parse: Callable[[bytes], Any]) -> list[Any]:
    """Return the numbers of a line, which are separated by spaces."""
    value = _value(fields, key)
    values = []
    for word in value.split() if not value.translate(None, characters) else value.split(b" "):
        try:
            if len(word) > LONGEST_NUMBER or word.translate(None, characters):
                raise ValueError
            values.append(parse(word))
        except ValueError:
            raise DamageError(f"{_preview(key)} has the entry {_preview(word)!r}, which is not a number") from None
    return values


def _value(fields: Fields, key: bytes) -> bytes:
    if key not in fields:
        raise DamageError(f"the line {_preview(key)} is missing")
    return fields[key]


def _preview(text: bytes) -> str:
    """Return a word for a message, truncated to 40 characters."""
    start = text[:40].decode(errors="replace")
    return start if len(text) <= 40 else f"{start}..."
