"""Check the structure of XGBoost model files before XGBoost reads them.

A file is a JSON or UBJSON document. It is parsed here, and XGBoost receives a document with only
the checked parts that scores depend on. In a tree, the right child of a node has the next number
after its left child. A node whose left child is -1 is a leaf.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from typing import Any, TypeVar

from ltr_metrics.io.models import ubjson
from ltr_metrics.io.models.structure import (
    HIGHEST_INT32,
    DamageError,
    reached_nodes,
    require_finite,
    require_length,
    require_range,
)

DELETED = HIGHEST_INT32  # the split_index of a pruned node, with default_left 1
NUMBER = re.compile(r"-?\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?")
LARGEST_FLOAT32 = 3.4028235677973366e38  # smaller numbers round to a finite float32
T = TypeVar("T")


@dataclass(frozen=True)
class XGBoostFile:
    """The content of a checked file."""

    n_features: int
    n_scores: int  # per row
    feature_names: tuple[str, ...] | None
    has_categories: bool
    n_rounds: int | None  # to use, 0 for all; None for a linear model, which cannot select them
    document: str  # JSON of the parts that scores depend on


def read(content: bytes) -> XGBoostFile:
    """Check the structure of a file; raise DamageError if it is damaged."""
    document = _parse(content)
    learner = _member(document, "learner", dict, "it")
    n_features, n_scores, parameters = _learner_parameters(_member(learner, "learner_model_param", dict, "learner"))
    names, types = (_texts(learner, key, n_features) for key in ("feature_names", "feature_types"))
    booster = _member(learner, "gradient_booster", dict, "learner")
    has_categories = "c" in types or _has_categories(booster)
    header = n_features, n_scores, tuple(names) if names else None, has_categories
    if has_categories or n_scores > 1:
        return XGBoostFile(*header, None, "")  # the caller refuses such models
    rounds, booster = _checked_booster(booster, n_features)
    checked = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": booster,
        "learner_model_param": parameters,
        "objective": _objective(_member(learner, "objective", dict, "learner")),
    }
    version = _whole_numbers(document, "version", 3, 0, 1000, "it")
    n_rounds = None if rounds is None else _best_round(_member(learner, "attributes", dict, "learner"), rounds)
    return XGBoostFile(*header, n_rounds, json.dumps({"learner": checked, "version": version}, ensure_ascii=False))


def _parse(content: bytes) -> Any:
    """Return the parsed document."""
    if not content.lstrip(b"{ \r\n\t").startswith((b'"', b"}")):
        return ubjson.parse(content)
    try:
        return json.loads(content.decode(), strict=False)
    except RecursionError:
        raise DamageError("it is nested too deeply for a JSON document") from None
    except ValueError as error:
        raise DamageError(f"it is not a whole JSON document ({error})") from None


def _learner_parameters(fields: dict[str, Any]) -> tuple[int, int, dict[str, str]]:
    """Return the number of features, the number of scores per row, and the parameters."""
    n_features = _count(fields, "num_feature", "learner_model_param", HIGHEST_INT32 - 1)
    n_class = _count(fields, "num_class", "learner_model_param")
    n_target = _count(fields, "num_target", "learner_model_param") if "num_target" in fields else 1
    base_score = _member(fields, "base_score", str, "learner_model_param")
    base_score = base_score.removeprefix("[").removesuffix("]")  # since 3.1; 3.0 reads a list as 0
    n_scores = max(n_class, n_target)
    if n_scores <= 1 and not NUMBER.fullmatch(base_score):
        raise DamageError(f"base_score is {base_score[:40]!r}, and must be one number")
    parameters = {"num_feature": str(n_features), "num_class": str(n_class), "num_target": str(n_target)}
    parameters["base_score"] = base_score
    if "boost_from_average" in fields:
        parameters["boost_from_average"] = str(_count(fields, "boost_from_average", "it", 1))
    return n_features, n_scores, parameters


def _objective(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the objective, which determines how base_score becomes a margin."""
    _member(fields, "name", str, "objective")
    for key, value in fields.items():
        flat = list(value.values()) if isinstance(value, dict) else [value]
        if isinstance(value, list) and all(type(number) is float for number in value):
            require_finite(f"objective.{key}", value)  # position biases
        elif not all(isinstance(text, str) for text in flat):
            raise DamageError(f"objective.{key} must be text, or texts by name")
    return fields


def _best_round(attributes: dict[str, Any], n_rounds: int) -> int:
    """Return the number of rounds up to the best one, 0 for all rounds."""
    best = attributes.get("best_iteration")
    if best is None:
        return 0
    n = _count(attributes, "best_iteration", "attributes") + 1
    if n > n_rounds:
        raise DamageError(f"best_iteration is {best}, but there are {n_rounds} rounds, counted from 0")
    return n


def _trees_of(booster: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a booster with its weights or trees; dart has an inner booster."""
    inner = _member(booster, "gbtree", dict, "gradient_booster") if booster.get("name") == "dart" else booster
    return _member(inner, "model", dict, "gradient_booster")


def _has_categories(booster: dict[str, Any]) -> bool:
    """Whether a booster has the categories of a data frame; others have empty or no lists."""
    categories = _trees_of(booster).get("cats", {})
    if not isinstance(categories, dict):
        raise DamageError("gradient_booster.model.cats must be an object")
    return any(categories.values())


def _checked_booster(booster: dict[str, Any], n_features: int) -> tuple[int | None, dict[str, Any]]:
    """Return the number of rounds, None for a linear model, and the checked booster."""
    name, model = _member(booster, "name", str, "gradient_booster"), _trees_of(booster)
    if name == "gblinear":
        return None, {"name": name, "model": _linear(model, n_features)}
    if name not in {"gbtree", "dart"}:
        raise DamageError(f"the booster is {name[:40]!r}, and must be gbtree, dart or gblinear")
    n_rounds, trees = _trees(model, n_features)
    checked = {"name": "gbtree", "model": trees}
    parent = booster if name == "dart" else model  # XGBoost 3.4: next to the trees
    if name == "gbtree" and not model.get("weight_drop"):
        return n_rounds, checked
    weights = _numbers(parent, "weight_drop", len(trees["trees"]), "gradient_booster")
    require_finite("weight_drop", weights)
    # All versions read this form.
    return n_rounds, {"name": "dart", "gbtree": checked, "weight_drop": weights}


def _linear(model: dict[str, Any], n_features: int) -> dict[str, Any]:
    weights = _numbers(model, "weights", n_features + 1, "model")
    require_finite("weights", weights)
    rounds = _member(model, "boosted_rounds", int, "model") if "boosted_rounds" in model else 0
    require_range("boosted_rounds", [rounds], 0, HIGHEST_INT32)
    return {"weights": weights, "boosted_rounds": rounds}


def _trees(model: dict[str, Any], n_features: int) -> tuple[int, dict[str, Any]]:
    """Return the number of rounds, and the trees with the fields that assign them to rounds."""
    parameters = _member(model, "gbtree_model_param", dict, "model")
    trees = _member(model, "trees", list, "model")
    require_length("trees", len(trees), _count(parameters, "num_trees", "gbtree_model_param"))
    parallel = _count(parameters, "num_parallel_tree", "gbtree_model_param")
    groups = _whole_numbers(model, "tree_info", len(trees), 0, 0, "model")
    starts = [*range(0, len(trees) + 1, max(parallel, 1))]
    if "iteration_indptr" in model:
        starts = _whole_numbers(model, "iteration_indptr", None, 0, len(trees), "model")
    if (
        not parallel
        or not starts
        or starts[0] != 0
        or starts[-1] != len(trees)
        or any(a >= b for a, b in pairwise(starts))
    ):
        raise DamageError(f"num_parallel_tree or iteration_indptr does not assign {len(trees)} trees to rounds")
    return len(starts) - 1, {
        "gbtree_model_param": {"num_trees": str(len(trees)), "num_parallel_tree": str(parallel)},
        "trees": [_located_tree(tree, i, n_features) for i, tree in enumerate(trees)],
        "tree_info": groups,
        "iteration_indptr": starts,
    }


def _located_tree(tree: Any, i: int, n_features: int) -> dict[str, Any]:
    try:
        if not isinstance(tree, dict):
            raise DamageError("it must be an object")
        return {"id": i, **_tree(tree, n_features)}
    except DamageError as damage:
        raise DamageError(f"tree {i}: {damage}") from None


def _tree(tree: dict[str, Any], n_features: int) -> dict[str, Any]:
    """Check the arrays of a tree, with one entry per node, and that its nodes form one tree."""
    parameters = _member(tree, "tree_param", dict, "it")
    n = _count(parameters, "num_nodes", "tree_param")
    if n < 1 or _count(parameters, "size_leaf_vector", "tree_param") > 1:
        raise DamageError("num_nodes must be at least 1, and size_leaf_vector at most 1")
    checked: dict[str, Any] = {
        key: _whole_numbers(tree, key, n, -1, n - 1) for key in ("left_children", "right_children")
    }
    checked["parents"] = _whole_numbers(tree, "parents", n, -1, HIGHEST_INT32)
    checked["split_indices"] = _whole_numbers(tree, "split_indices", n, 0, DELETED)
    checked["default_left"] = [
        int(left) if isinstance(left, bool) else left for left in _member(tree, "default_left", list, "it")
    ]
    _whole_numbers(checked, "default_left", n, 0, 1)
    for key in ("split_conditions", "base_weights", "loss_changes", "sum_hessian"):
        checked[key] = _numbers(tree, key, n)
    if any(_whole_numbers(tree, "split_type", n, 0, 1)) if "split_type" in tree else False:
        raise DamageError("it splits by categories, but no feature is categorical")
    n_deleted = _check_nodes(checked, n, n_features)
    sizes = {"num_nodes": n, "num_deleted": n_deleted, "num_feature": n_features, "size_leaf_vector": 1}
    require_range("num_deleted", [_count(parameters, "num_deleted", "tree_param")], n_deleted, n_deleted)
    return {**checked, "tree_param": {key: str(value) for key, value in sizes.items()}}


def _check_nodes(tree: dict[str, Any], n: int, n_features: int) -> int:
    """Check each node, and return the number of deleted nodes."""
    left, right, parents, features = (
        tree[key] for key in ("left_children", "right_children", "parents", "split_indices")
    )
    reached = reached_nodes(left, right, n)
    require_range("parents", parents[1:], 0, n - 1)
    n_deleted = 0
    for node in range(n):
        deleted = features[node] == DELETED and tree["default_left"][node] == 1
        n_deleted += deleted
        if reached[node] == deleted:
            raise DamageError(f"node {node} is {'deleted and in use' if deleted else 'not in use and not deleted'}")
        value = tree["split_conditions"][node]
        if deleted:
            continue
        if left[node] == -1:
            if right[node] != -1 or not abs(value) < LARGEST_FLOAT32:
                raise DamageError(f"leaf {node} has a child, or a value that is not finite")
        elif right[node] != left[node] + 1 or {parents[left[node]], parents[right[node]]} != {node}:
            raise DamageError(f"the children of node {node} do not follow one another, or have another parent")
        elif features[node] >= n_features or isnan(value):
            raise DamageError(f"node {node} splits feature {features[node]} of {n_features} at {value}")
    return n_deleted


def _member(fields: Any, key: str, kind: type[T], where: str) -> T:
    """Return a member of an object; refuse another type."""
    value = fields.get(key) if isinstance(fields, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {dict: "an object", list: "an array", str: "text", int: "a whole number"}
        raise DamageError(f"{where} must have {key}, {names[kind]}")
    return value


def _texts(fields: dict[str, Any], key: str, n: int) -> list[str]:
    """Return an array of texts, which may be absent or empty, or has one entry per feature."""
    texts = _member(fields, key, list, "learner") if key in fields else []
    if not all(isinstance(text, str) for text in texts):
        raise DamageError(f"{key} must be texts")
    if texts:
        require_length(key, len(texts), n)
    return texts


def _count(fields: dict[str, Any], key: str, where: str, highest: int = HIGHEST_INT32) -> int:
    """Return a whole number that XGBoost writes as text."""
    text = _member(fields, key, str, where)
    if not re.fullmatch("[0-9]{1,12}", text) or int(text) > highest:
        raise DamageError(f"{where}.{key} is {text[:40]!r}, and must be a whole number from 0 to {highest}")
    return int(text)


def _whole_numbers(
    fields: dict[str, Any], key: str, n: int | None, low: int, high: int, where: str = "it"
) -> list[int]:
    values = _member(fields, key, list, where)
    if not all(type(value) is int for value in values):
        raise DamageError(f"{key} must be whole numbers")
    require_range(key, values, low, high)
    require_length(key, len(values), len(values) if n is None else n)
    return values


def _numbers(fields: dict[str, Any], key: str, n: int, where: str = "it") -> list[float]:
    values = _member(fields, key, list, where)
    if not all(type(value) is float for value in values):
        raise DamageError(f"{key} must be numbers")
    require_length(key, len(values), n)
    return values
