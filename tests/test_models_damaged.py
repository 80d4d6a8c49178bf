"""Model files of every kind load, and damaged ones are refused: none kills or hangs the process."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import ltr_metrics as ltr
from fuzz.models import load_and_score, rows
from fuzz.mutations import OF_MODELS, with_sizes_repaired
from fuzz.originals import N_FEATURES, write_originals
from ltr_metrics.io.models import load_model
from ltr_metrics.io.models.structure import DamageError
from ltr_metrics.io.models.ubjson import parse

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::UserWarning")]  # gblinear is deprecated

ROWS = rows(N_FEATURES)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    write_originals(folder)
    return folder


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, qid = ltr.make_ranking(30, n_features=N_FEATURES, random_state=0)
    X[:, 4] = np.floor(np.abs(X[:, 4]) * 20)
    X[::7, 1] = np.nan
    return X, y, qid


# Files of every kind load, and predict as their host does.

LIGHTGBM_KINDS: dict[str, dict[str, Any]] = {
    "goss": {"data_sample_strategy": "goss"},
    "extra trees": {"extra_trees": True},
    "xendcg": {"objective": "rank_xendcg"},
    "regression_l1": {"objective": "regression_l1"},
    "quantile": {"objective": "quantile", "alpha": 0.3},
    "tweedie": {"objective": "tweedie"},
    "cross entropy": {"objective": "cross_entropy_lambda"},
    "huber": {"objective": "huber"},
    "unbalanced": {"objective": "binary", "is_unbalance": True},
    "monotone": {"monotone_constraints": [1, -1, 0, 0, 0], "monotone_constraints_method": "advanced"},
    "one category": {"categorical_feature": [4], "max_cat_to_onehot": 100, "min_data_per_group": 1},
    "categories": {"categorical_feature": [4], "max_cat_to_onehot": 1, "min_data_per_group": 1, "cat_smooth": 0.1},
    "linear, categories": {
        "objective": "regression",
        "linear_tree": True,
        "categorical_feature": [4],
        "min_data_per_group": 1,
        "max_cat_to_onehot": 1,
    },
    "linear, forest": {"objective": "regression", "linear_tree": True, "boosting": "rf", "bagging_freq": 1,
        "bagging_fraction": 0.5},
    "stumps": {"num_leaves": 2},
    "deep": {"num_leaves": 300, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0},
    "path smooth": {"path_smooth": 1.0},
    "no missing": {"use_missing": False},
}  # fmt: skip


@pytest.mark.parametrize("kind", LIGHTGBM_KINDS)
def test_every_kind_of_lightgbm_model_loads(tmp_path: Path, data: tuple[Any, ...], kind: str) -> None:
    X, y, qid = data
    options = {"objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    options |= LIGHTGBM_KINDS[kind]
    labels = {"binary": y > 0, "cross_entropy_lambda": y / 4}.get(options["objective"], y).astype(float)
    categories = options.pop("categorical_feature", [])
    train = lgb.Dataset(X, labels, group=ltr.qid_to_group(qid), categorical_feature=categories, params=options)
    booster = lgb.train(options, train, 5)
    booster.save_model(tmp_path / "model.txt")
    found = load_model(tmp_path / "model.txt").predict(ROWS)
    np.testing.assert_array_equal(found, booster.predict(ROWS, raw_score=True))


def test_a_lightgbm_model_of_ones_own_objective_loads_and_one_of_a_range_of_rounds(
    tmp_path: Path, data: tuple[Any, ...]
) -> None:
    X, y, _ = data

    def squares(scores: np.ndarray, train: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
        return scores - train.get_label(), np.ones_like(scores)

    options = {"objective": squares, "verbose": -1, "num_threads": 1}
    booster = lgb.train(options, lgb.Dataset(X, y), 6)
    more = lgb.train(options, lgb.Dataset(X, y), 3, init_model=booster)
    refitted = lgb.Booster(
        model_str=lgb.train({**options, "objective": "regression"}, lgb.Dataset(X, y), 3).model_to_string()
    )
    for model, part in (
        (booster, {}),
        (booster, {"start_iteration": 2, "num_iteration": 2}),
        (more, {}),
        (refitted, {}),
    ):
        model.save_model(tmp_path / "model.txt", **part)
        found = load_model(tmp_path / "model.txt").predict(ROWS)
        np.testing.assert_array_equal(found, model.predict(ROWS, raw_score=True, **part))


XGBOOST_KINDS: dict[str, dict[str, Any]] = {
    "approx": {"tree_method": "approx"},
    "exact": {"tree_method": "exact"},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "deep": {"max_depth": 12, "min_child_weight": 0.0},
    "pruned": {"tree_method": "exact", "updater": "grow_colmaker,prune", "gamma": 1.0},
    "pairwise": {"objective": "rank:pairwise", "lambdarank_pair_method": "mean"},
    "map": {"objective": "rank:map"},
    "unbiased": {"lambdarank_unbiased": True},
    "linear ndcg": {"ndcg_exp_gain": False},
    "poisson": {"objective": "count:poisson"},
    "tweedie": {"objective": "reg:tweedie"},
    "quantile": {"objective": "reg:quantileerror", "quantile_alpha": 0.3},
    "absolute": {"objective": "reg:absoluteerror"},
    "huber": {"objective": "reg:pseudohubererror"},
    "hinge": {"objective": "binary:hinge"},
    "monotone": {"monotone_constraints": "(1,-1,0,0,0)"},
    "interactions": {"interaction_constraints": "[[0, 1], [2, 3]]"},
    "dart forest": {"booster": "dart", "rate_drop": 0.5, "num_parallel_tree": 2},
    "shotgun": {"booster": "gblinear", "updater": "shotgun", "objective": "reg:squarederror"},
    "base score": {"base_score": 0.25, "objective": "binary:logistic"},
    "survival": {"objective": "survival:cox"},
}


@pytest.mark.parametrize("kind", XGBOOST_KINDS)
def test_every_kind_of_xgboost_model_loads(tmp_path: Path, data: tuple[Any, ...], kind: str) -> None:
    X, y, qid = data
    options = {"objective": "rank:ndcg", "max_depth": 3, "nthread": 1, "seed": 0, "verbosity": 0} | XGBOOST_KINDS[kind]
    labels = y > 0 if options["objective"].startswith(("binary", "rank:map")) else y
    of_queries = qid if options["objective"].startswith("rank") else None
    train = xgb.DMatrix(X, labels, qid=of_queries, feature_types=["float", "int", "q", "float", "float"])
    booster = xgb.train(options, train, 5)
    expected = margins(booster)
    for ending in ("json", "ubj"):
        booster.save_model(tmp_path / f"model.{ending}")
        np.testing.assert_array_equal(load_model(tmp_path / f"model.{ending}").predict(ROWS), expected)


def margins(booster: xgb.Booster) -> np.ndarray:
    if "gblinear" in booster.save_config():
        matrix = xgb.DMatrix(ROWS, feature_types=booster.feature_types)
        return booster.predict(matrix, output_margin=True)
    return booster.inplace_predict(ROWS, predict_type="margin")


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_xgboost_models_of_parts_of_other_models_load(tmp_path: Path, data: tuple[Any, ...], ending: str) -> None:
    train = xgb.DMatrix(data[0], data[1])
    first = xgb.train({"nthread": 1, "max_depth": 3}, train, 4)
    update = {"process_type": "update", "updater": "refresh,prune", "refresh_leaf": True, "gamma": 3.0, "nthread": 1}
    several = {
        "none": xgb.train({"nthread": 1}, train, 0),
        "part": first[1:3],
        "more": xgb.train({"nthread": 1, "max_depth": 2}, train, 2, xgb_model=first),
        "updated": xgb.train(update, train, 4, xgb_model=first),
        "dart behind trees": xgb.train({"nthread": 1, "booster": "dart", "rate_drop": 0.5}, train, 2),
    }
    for name, booster in several.items():
        expected = margins(booster)
        booster.save_model(tmp_path / f"{name}.{ending}")
        np.testing.assert_array_equal(load_model(tmp_path / f"{name}.{ending}").predict(ROWS), expected)


def test_weights_of_dart_are_read_beside_the_trees_too(originals: Path, tmp_path: Path) -> None:
    """XGBoost 3.4 keeps them there, and older versions would pass them over without a word."""
    document = json.loads((originals / "dart.json").read_bytes())
    booster = document["learner"]["gradient_booster"]
    if booster["name"] == "dart":
        inner = booster["gbtree"]
        inner["model"]["weight_drop"] = booster["weight_drop"]
        document["learner"]["gradient_booster"] = inner
    (tmp_path / "new.json").write_text(json.dumps(document))
    expected = load_model(originals / "dart.json").predict(ROWS)
    np.testing.assert_array_equal(load_model(tmp_path / "new.json").predict(ROWS), expected)


# Each rule of the structure of LightGBM's files. An entry: file, what is replaced by what, and the message.

LIGHTGBM_RULES: dict[str, tuple[str, str, str, str]] = {
    "a loop": ("plain", r"left_child=\d+", "left_child=0", "tree 0: two ways lead to node 0, so this is not a tree"),
    "no number": ("plain", r"right_child=\S+", "right_child=}",
        "tree 0: right_child has the entry '}', which is not a number"),
    "an underscore": ("plain", r"right_child=\S+", "right_child=1_0",
        "right_child has the entry '1_0', which is not a number"),
    "a long number": ("plain", r"right_child=\S+", "right_child=" + "1" * 5000, "right_child has the entry '1111"),
    "a split that is none": ("plain", r"left_child=\S+", "left_child=5", r"entry 0 of left_child is 5, and must be -6 to 4"),
    "a leaf that is none": ("plain", r"left_child=\S+", "left_child=-7", r"entry 0 of left_child is -7, and must be -6 to 4"),
    "too few children": ("plain", r"left_child=\S+ ", "left_child=", "left_child has 4 entries, expected 5"),
    "too many leaves": ("plain", r"num_leaves=6", "num_leaves=1000000000000", "must be 0 to 2147483647"),
    "many leaves": ("plain", r"num_leaves=6", "num_leaves=2000000000", "leaf_value has 6 entries, expected 2000000000"),
    "no leaves": ("constant", r"num_leaves=1\n(.*\n)*?leaf_value=.*", "num_leaves=0\nleaf_value=", "it has no leaves"),
    "a feature that is none": ("plain", r"split_feature=\d", "split_feature=5",
        "entry 0 of split_feature is 5, and must be 0 to 4"),
    "a negative feature": ("plain", r"split_feature=\d", "split_feature=-1", "entry 0 of split_feature is -1"),
    "no threshold": ("plain", r"threshold=\S+", "threshold=nan", "threshold has the entry 'nan'"),
    "an infinite threshold": ("plain", r"threshold=\S+", "threshold=1e999",
        "entry 0 of threshold is inf, and must be a finite number"),
    "an infinite leaf": ("plain", r"leaf_value=\S+", "leaf_value=-1e999", "entry 0 of leaf_value is -inf"),
    "a decision that is none": ("plain", r"decision_type=\d+", "decision_type=12", "entry 0 of decision_type is 12, and must be 0 to 11"),
    "a set that is none": ("plain", r"decision_type=\d+", "decision_type=1", "threshold must be the number of one of 0 sets"),
    "weights": ("plain", r"leaf_weight=\S+ ", "leaf_weight=", "leaf_weight has 5 entries, expected 6"),
    "counts": ("plain", r"internal_count=\S+", "internal_count=x", "internal_count has the entry 'x'"),
    "a missing line": ("plain", r"num_cat=0\n", "", "tree 0: the line num_cat is missing"),
    "a line twice": ("plain", r"num_cat=0\n", "num_cat=0\nnum_cat=0\n", "tree 0: it has two lines num_cat"),
    "an unknown line": ("plain", r"num_cat=0\n", "num_cat=0\nnum_dog=0\n", "tree 0: it has an unknown line num_dog"),
    "an empty line": ("plain", r"num_cat=0\n", "num_cat=0\n\n", "tree 0: it has an empty line"),
    "another number": ("plain", r"Tree=1\n", "Tree=7\n", "tree 1: it does not begin or end where tree_sizes says"),
    "many sets": ("categories", r"num_cat=[1-9]", "num_cat=2000000000", "cat_boundaries has .* expected 2000000001"),
    "sets beyond the words": ("categories", r"cat_boundaries=0 \d+", "cat_boundaries=0 99", "of cat_boundaries is 99, and must be 0 to"),
    "sets that fall": ("categories", r"cat_boundaries=0", "cat_boundaries=1", "cat_boundaries must rise from 0 to"),
    "words of 33 bits": ("categories", r"cat_threshold=\d+", "cat_threshold=4294967296",
        "entry 0 of cat_threshold is 4294967296"),
    "linear terms": ("linear", r"leaf_features=( *)\d", r"leaf_features=\g<1>5",
        "of leaf_features is 5, and must be 0 to 4"),
    "number of terms": ("linear", r"num_features=(.*)1", r"num_features=\g<1>5", "leaf_features has .* entries"),
    "coefficients": ("linear", r"leaf_coeff=( *)\S+", r"leaf_coeff=\g<1>nan", "leaf_coeff has the entry 'nan'"),
    "a leaf's constant": ("linear", r"leaf_const=\S+ ", "leaf_const=", "leaf_const has 5 entries, expected 6"),
    "a coefficient that underflows": ("linear", r"leaf_coeff=\S+", "leaf_coeff=1e-400", "leaf_coeff has the entry '1e-400', which is too close to 0"),
    "a constant that is subnormal": ("linear", r"leaf_const=\S+", "leaf_const=-1e-310", "leaf_const has the entry '-1e-310', which is too close to 0"),
    "not linear": ("linear", r"is_linear=1", "is_linear=2", "entry 0 of is_linear is 2, and must be 0 to 1"),
    "no class": ("plain", r"num_class=1", "num_class=0", "num_class must be at least 1"),
    "no tree a round": ("plain", r"num_tree_per_iteration=1", "num_tree_per_iteration=0", "num_tree_per_iteration must be at least 1"),
    "many features": ("plain", r"max_feature_idx=4", "max_feature_idx=2000000000", "feature_names has 5 entries, expected 2000000001"),
    "too few infos": ("plain", r"feature_infos=\S+ ", "feature_infos=", "feature_infos has 4 entries, expected 5"),
    "no names": ("plain", r"feature_names=.*\n", "", "the line feature_names is missing"),
    "an unknown line in the head": ("plain", r"label_index", "label_indey", "the head has an unknown line label_indey"),
    "sizes": ("plain", r"tree_sizes=\d+", "tree_sizes=7", "tree_sizes says that the trees have"),
    "NUL": ("plain", r"version", "ver\0sion", "it holds a NUL"),
    "deep categories": ("plain", r"pandas_categorical:null", "pandas_categorical:" + "[" * 100_000,
        "the line pandas_categorical is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("rule", LIGHTGBM_RULES)
def test_each_rule_of_lightgbm_files(originals: Path, tmp_path: Path, rule: str) -> None:
    name, pattern, by, message = LIGHTGBM_RULES[rule]
    text = (originals / f"{name}.txt").read_text()
    changed, n = re.subn(pattern, by, text, count=1)
    assert n == 1
    path = tmp_path / "model.txt"
    path.write_bytes(
        changed.encode()
        if rule == "sizes"
        else with_sizes_repaired(lambda _, content: content)(Random(0), changed.encode())
    )
    expected = f"model.txt is damaged or cut off: .*{message}.*Save the model again"
    with pytest.raises(ltr.LtrValueError, match=expected):
        load_model(path)


def test_names_of_lightgbm_features_that_are_not_utf8(originals: Path, tmp_path: Path) -> None:
    content = (originals / "plain.txt").read_bytes()
    (tmp_path / "model.txt").write_bytes(content.replace(b"feature_names=f0", b"feature_names=\xff\xff"))
    with pytest.raises(ltr.LtrValueError, match="feature_names is not UTF-8"):
        load_model(tmp_path / "model.txt")


# Each rule of the structure of XGBoost's files. An entry: file, the path to a value, the new value, and the message.

LEARNER, MODEL = "learner", "learner/gradient_booster/model"
TREE = f"{MODEL}/trees/1"
ABSENT = object()
XGBOOST_RULES: dict[str, tuple[str, str, Any, str]] = {
    "a loop": ("plain", f"{TREE}/left_children/0", 0, "tree 1: two ways lead to node 0"),
    "a child that is none": ("plain", f"{TREE}/left_children/0", 10**6, "tree 1: entry 0 of left_children is 1000000"),
    "children apart": ("plain", f"{TREE}/right_children/0", -1, "tree 1: a node has the child -1"),
    "a leaf with a child": ("constant", f"{TREE}/right_children/0", 0, "leaf 0 has a child"),
    "a parent that is none": ("plain", f"{TREE}/parents/1", 10**6, "of parents is 1000000"),
    "another parent": ("plain", f"{TREE}/parents/1", 2,
        "the children of node 0 do not follow one another, or have another parent"),
    "a feature that is none": ("plain", f"{TREE}/split_indices/0", 5, "node 0 splits feature 5 of 5"),
    "a huge feature": ("plain", f"{TREE}/split_indices/0", 2**64 + 1,
        "entry 0 of split_indices is 18446744073709551617"),
    "no threshold": ("plain", f"{TREE}/split_conditions/0", float("nan"), "node 0 splits feature . of 5 at nan"),
    "an infinite leaf": ("constant", f"{TREE}/split_conditions/0", float("inf"),
        "leaf 0 has a child, or a value that is not finite"),
    "a leaf beyond float32": ("constant", f"{TREE}/split_conditions/0", 1e39,
        "leaf 0 has a child, or a value that is not finite"),
    "text": ("plain", f"{TREE}/split_conditions/0", "1", "split_conditions must be numbers"),
    "a fraction": ("plain", f"{TREE}/left_children/0", 1.0, "left_children must be whole numbers"),
    "a default": ("plain", f"{TREE}/default_left/0", 2, "entry 0 of default_left is 2, and must be 0 to 1"),
    "too few": ("plain", f"{TREE}/sum_hessian/0", ABSENT, "sum_hessian has .* entries, expected"),
    "nodes": ("plain", f"{TREE}/tree_param/num_nodes", "1000000000", "left_children has .* entries, expected 1000000000"),
    "no nodes": ("plain", f"{TREE}/tree_param/num_nodes", "0", "num_nodes must be at least 1"),
    "vectors": ("plain", f"{TREE}/tree_param/size_leaf_vector", "3", "size_leaf_vector at most 1"),
    "deleted": ("pruned", f"{MODEL}/trees/0/tree_param/num_deleted", "0", "num_deleted"),
    "a number that is text": ("plain", f"{TREE}/tree_param/num_nodes", "1e3", "tree_param.num_nodes is '1e3', and must be a whole number"),
    "a category": ("plain", f"{TREE}/split_type/0", 1, "it splits by categories, but no feature is categorical"),
    "no object": ("plain", f"{TREE}", [], "tree 1: it must be an object"),
    "trees": ("plain", f"{MODEL}/gbtree_model_param/num_trees", "3", "trees has 4 entries, expected 3"),
    "no parallel trees": ("plain", f"{MODEL}/gbtree_model_param/num_parallel_tree", "0", "does not assign 4 trees to rounds"),
    "groups": ("plain", f"{MODEL}/tree_info/0", 1, "entry 0 of tree_info is 1, and must be 0 to 0"),
    "rounds": ("plain", f"{MODEL}/iteration_indptr/1", 3, "does not assign 4 trees to rounds"),
    "weights of dart": ("dart", None, None, "weight_drop has 3 entries, expected 4"),
    "weights": ("linear", f"{MODEL}/weights/0", ABSENT, "weights has 5 entries, expected 6"),
    "no weight": ("linear", f"{MODEL}/weights/0", float("nan"), "entry 0 of weights is nan"),
    "linear rounds": ("linear", f"{MODEL}/boosted_rounds", -1, "entry 0 of boosted_rounds is -1"),
    "a booster": ("plain", f"{LEARNER}/gradient_booster/name", "gbforest", "the booster is 'gbforest'"),
    "categories": ("plain", f"{MODEL}/cats", [], "cats must be an object"),
    "the best round": ("plain", f"{LEARNER}/attributes/best_iteration", "4", "best_iteration is 4, but there are 4 rounds"),
    "no best round": ("plain", f"{LEARNER}/attributes/best_iteration", "x", "attributes.best_iteration is 'x'"),
    "features": ("plain", f"{LEARNER}/learner_model_param/num_feature", "2000000000", "feature_names has 5 entries, expected 2000000000"),
    "too many features": ("plain", f"{LEARNER}/learner_model_param/num_feature", "9999999999", "must be a whole number from 0 to"),
    "a start": ("plain", f"{LEARNER}/learner_model_param/base_score", "[" * 10**6, "base_score is .* and must be one number"),
    "starts": ("plain", f"{LEARNER}/learner_model_param/base_score", "[1,2]", "base_score is .* and must be one number"),
    "names": ("plain", f"{LEARNER}/feature_names/0", 1, "feature_names must be texts"),
    "an objective": ("plain", f"{LEARNER}/objective/name", 1, "objective must have name, text"),
    "an unknown objective": ("plain", f"{LEARNER}/objective/name", "rank:nothing", "XGBoost cannot read it"),
    "parameters": ("plain", f"{LEARNER}/objective/lambdarank_param", [[]], "objective.lambdarank_param must be text"),
    "biases": ("unbiased", f"{LEARNER}/objective/ti+/0", float("nan"), r"entry 0 of objective.ti\+ is nan"),
    "a version": ("plain", "version", [3], "version has 1 entries, expected 3"),
}  # fmt: skip


@pytest.mark.parametrize("rule", XGBOOST_RULES)
def test_each_rule_of_xgboost_files(originals: Path, tmp_path: Path, rule: str) -> None:
    name, where, by, message = XGBOOST_RULES[rule]
    document = json.loads((originals / f"{name}.json").read_bytes())
    if where is None:
        booster = document["learner"]["gradient_booster"]
        booster.get("weight_drop", booster.get("model", {}).get("weight_drop")).pop()
    else:
        *path, last = (int(part) if part.isdigit() else part for part in where.split("/"))
        inside = functools.reduce(lambda value, key: value[key], path, document)
        is_there = last in (inside if isinstance(inside, dict) else range(len(inside)))
        assert is_there or last == "cats"  # which XGBoost 3.0 does not write
        if by is ABSENT:
            del inside[last]
        else:
            inside[last] = by
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(
        ltr.LtrValueError, match=rf"model.json is damaged or not an XGBoost model.*{message}.*Save the model again"
    ):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_deep_nesting_is_refused(tmp_path: Path, ending: str) -> None:
    (tmp_path / "model").write_bytes(
        b'{"a":' * 100_000 if ending == "json" else b"{L" + (b"\0" * 7 + b"\1a[[") * 100_000
    )
    (tmp_path / "arrays").write_bytes(
        b'{"a":' + b"[" * 100_000 if ending == "json" else b"{L\0\0\0\0\0\0\0\1a" + b"[" * 100_000
    )
    for name in ("model", "arrays"):
        with pytest.raises(ltr.LtrValueError, match=rf"{name} is damaged or not an XGBoost model"):
            load_model(tmp_path / name)


LONG = b"\x7f" + b"\xff" * 7
UBJSON_RULES: dict[str, tuple[bytes, str]] = {
    "a length that is none": (b"{Lx", "bytes are expected"),
    "a long text": (b"{L" + LONG, "9223372036854775807 bytes are expected"),
    "a negative length": (b"{L" + b"\xff" * 8, "-1 bytes are expected"),
    "a long array": (b"[$d#L" + LONG, "bytes are expected"),
    "no kind": (b"[$x#L", "has no type or no length"),
    "no number": (b"[$d", "has no type or no length"),
    "many values": (b"[#L" + LONG + b"Z", "no value of a UBJSON document starts at byte 12"),
    "no length": (b"{x", "there is no length at byte 1"),
    "no value": (b"x", "no value of a UBJSON document starts at byte 0"),
    "no end": (b"[Z", "no value of a UBJSON document starts at byte 2"),
    "no text": (b"SU\x01\xff", "is not UTF-8"),
    "more": (b"ZZ", "ends at byte 1 of 2"),
    "twice": (b"{U\x01aZU\x01aZ}", "two members of an object are named 'a'"),
}


@pytest.mark.parametrize("rule", UBJSON_RULES)
def test_each_rule_of_ubjson(rule: str) -> None:
    content, message = UBJSON_RULES[rule]
    with pytest.raises(DamageError, match=message):
        parse(content)


def test_ubjson_as_values() -> None:
    content = b"{U\x01a[$d#U\x02\x3d\xcc\xcc\xcd\x7f\xc0\x00\x00i\x01b[TFZSU\x01xi\xffD\x3f\xf0\0\0\0\0\0\0]"
    content += b"i\x01c[#U\x01[$l#U\x00}"
    value = parse(content)
    assert value["a"][0] == 0.1
    assert np.isnan(value["a"][1])
    assert value["b"] == [True, False, None, "x", -1, 1.0]
    assert value["c"] == [[]]


# Many mutations, each in another process.


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("plain.txt", "right_child=", "right_child=} "), ("plain.txt", "split_feature=", "split_feature=99999999 ")],
)
def test_the_reported_damage_is_refused(originals: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    """These made LightGBM loop for ever, and read foreign memory."""
    content = (originals / file).read_text()
    line = re.search(rf"{old}\S+ ", content)
    assert line is not None
    changed = content.replace(line[0], new, 1).encode()
    (tmp_path / file).write_bytes(with_sizes_repaired(lambda _, content: content)(Random(0), changed))
    assert load_and_score(tmp_path / file) == "refused"


def test_every_mutation_is_the_same_in_every_run(originals: Path) -> None:
    for kind, mutations in OF_MODELS.items():
        content = (originals / f"plain.{kind}").read_bytes()
        for mutation in mutations:
            drawn = {mutation(Random(seed), content) for seed in (1, 1, 2, 3, 4)}
            assert 1 < len(drawn) <= 4
