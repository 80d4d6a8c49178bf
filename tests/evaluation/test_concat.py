"""`concat`: evaluations of parts become what `evaluate` returns for all rows, field by field."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from parts import IDS, KINDS, KINDS_OF_ARRAYS, evaluated, identical, kinds_frame

import ltr_metrics as ltr
from ltr_metrics.counterfactual import Propensities, evaluate
from ltr_metrics.report import as_html, summarize

pytestmark = pytest.mark.integration

ALL_KINDS = KINDS | KINDS_OF_ARRAYS


def cut(frame: pd.DataFrame, n_parts: int, seed: int = 0) -> list[pd.DataFrame]:
    """Return the rows in parts of whole queries, in any order; each part has a query."""
    code, rng = pd.factorize(frame["qid"])[0], np.random.default_rng(seed)
    n = code.max() + 1
    part = rng.permutation(np.append(np.arange(n_parts), rng.integers(0, n_parts, n - n_parts)))[code]
    return [frame[part == i] for i in range(n_parts)]


@pytest.mark.parametrize("n_parts", [2, 7, 50])
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")  # of NA
def test_parts_are_the_whole(kind: str, n_parts: int) -> None:
    options, parts = ALL_KINDS[kind], cut(kinds_frame(), n_parts, len(kind))
    found = ltr.concat(evaluated(part, options) for part in parts)
    identical(found, evaluated(pd.concat(parts), options), in_order=True)
    identical(found, evaluated(kinds_frame(), options))


@pytest.mark.parametrize("ids", IDS)
def test_ids_keep_their_types(ids: str) -> None:
    frame = kinds_frame(ids)
    parts = cut(frame, 7)
    found = ltr.concat([evaluated(part, {}) for part in parts])
    identical(found, evaluated(pd.concat(parts), {}), in_order=True)
    assert found.qid.tolist() == list(dict.fromkeys(pd.concat(parts)["qid"].tolist()))
    assert found.subset(found.qid[::-1]).n_queries == found.n_queries


def test_ids_and_labels_of_different_types_are_the_same_if_their_text_is() -> None:
    rows = {"label": [1, 0, 0, 1], "score": [1, 2, 1, 2], "seg": [5, 5, 6, 6], "user": [1, 1, 2, 2]}
    options: dict[str, Any] = {"metrics": "mrr", "by": "seg", "cluster": "user"}
    numbers = evaluated({"qid": [7, 7, 8, 8], **rows}, options)  # type: ignore[arg-type]
    text = {name: list(map(str, rows[name])) for name in ("seg", "user")}
    texts = evaluated({"qid": ["a", "a", "b", "b"], **rows, **text}, options)  # type: ignore[arg-type]
    both = ltr.concat([numbers, texts])
    assert both.qid.tolist() == [7, 8, "a", "b"]
    assert both.by.keys() == {5, 6}
    assert both.by[5].qid.tolist() == [7, "a"]
    assert both.cluster.tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    with pytest.raises(
        ltr.LtrValueError, match=r"Query '7' is in two parts, 1 and 2\. .*sort them by query.*--sorted.*group"
    ):
        ltr.concat([texts, numbers, evaluated({"qid": ["7", "7", "9", "9"], **rows}, options)])  # type: ignore[arg-type]


def test_segments_keep_the_order_of_a_categorical(tmp_path: Path) -> None:
    places = pd.Categorical(kinds_frame()["device"], ["tab", "unused", "phone", "desk"], ordered=True)
    frame, options = kinds_frame().assign(place=places), {"by": "place", "metrics": "map"}
    by_place = [frame[(frame["place"] == place).to_numpy()] for place in ("desk", "tab", "phone")]
    whole = evaluated(pd.concat(by_place), options)
    assert list(whole.by) == ["tab", "phone", "desk"]
    parts = [evaluated(part, options) for part in by_place]
    assert list(parts[0].by) == ["desk"]
    identical(ltr.concat(parts), whole, in_order=True)
    identical(ltr.concat([ltr.concat(parts[:2]), parts[2]]), whole, in_order=True)
    identical(ltr.concat([whole.subset(part.qid) for part in parts]), whole, in_order=True)
    for name, part in zip("abc", parts, strict=True):
        part.save(tmp_path / f"{name}.parquet")
    saved = [ltr.load_result(path) for path in sorted(tmp_path.iterdir())]
    identical(ltr.concat(saved), whole, in_order=True)
    assert list(ltr.compare({"a": whole, "b": ltr.concat(saved)}, baseline="a").by) == list(whole.by)
    queries = ltr.Queries(frame["label"], qid=frame["qid"], by=frame["place"])
    for scores in ({"a": frame["score"]}, {"a": frame["score"], "b": -frame["score"]}):
        page = as_html(summarize(queries, scores, "map", baseline="a" if len(scores) > 1 else None))
        assert "phone" in page
        assert "unused" not in page


@pytest.mark.parametrize("kind", ["skill with everything", "two segmentations", "lightgbm with weights", "judged"])
@pytest.mark.parametrize("ids", ["int", "mixed"])
def test_saved_and_copied_parts(tmp_path: Path, kind: str, ids: str) -> None:
    options, frame = ALL_KINDS[kind], kinds_frame(ids)
    parts = cut(frame, 5)
    results = [evaluated(part, options) for part in parts]
    for i, result in enumerate(results[:3]):
        result.save(tmp_path / f"{i}.parquet")
    saved = [ltr.load_result(tmp_path / f"{i}.parquet") for i in range(3)]
    found = ltr.concat([*saved, pickle.loads(pickle.dumps(results[3])), copy.deepcopy(results[4])])
    whole = evaluated(pd.concat(parts), options)
    identical(found, whole, in_order=True)
    found.save(tmp_path / "all.parquet")
    identical(ltr.load_result(tmp_path / "all.parquet"), whole, in_order=True)
    difference = ltr.compare({"found": found, "whole": whole}, baseline="found", n_resamples=100).to_pandas()
    assert (difference["difference"] == 0).all()  # and the data are the same


def test_one_part_and_any_number_of_steps() -> None:
    options = KINDS["skill with everything"]
    parts = [evaluated(part, options) for part in cut(kinds_frame(), 9)]
    identical(ltr.concat(parts[:1]), parts[0], in_order=True)
    first, second = ltr.concat(parts[:4]), ltr.concat(iter(parts[4:]))
    identical(ltr.concat([first, second]), ltr.concat(parts), in_order=True)
    identical(first.subset(parts[0].qid), parts[0])


def test_a_chance_level_needs_the_labels_or_skill() -> None:
    parts = [evaluated(part, {}) for part in cut(kinds_frame(), 3)]
    whole, copies = evaluated(kinds_frame(), {}), ltr.concat(pickle.loads(pickle.dumps(parts)))
    assert ltr.concat(parts).skill == pytest.approx(whole.skill, rel=1e-12)
    with pytest.raises(ltr.LtrValueError, match="Evaluate with skill=True, which copies keep"):
        _ = copies.skill


def test_a_copy_has_values_and_no_rows() -> None:
    rng, n = np.random.default_rng(0), 200_000
    data = {"qid": np.arange(n) % 100, "label": rng.integers(0, 2, n), "score": rng.random(n), "seg": np.arange(n) % 5}
    options: dict[str, Any] = {"metrics": ["map", "mrr"], "cluster": "seg", "by": "seg"}
    result = ltr.evaluate(data=data, **options)
    _ = result.by, result.skill, result.standard_error  # which a copy computes again
    assert len(pickle.dumps(result)) < 14_000  # bytes for 100 queries, of which the skill takes a third


# -- what is refused --------------------------------------------------------------------------------------------------

ROWS = {"label": [1, 0], "score": [1, 2], "weight": [1, 2], "x": ["a", "a"], "j": [True, True]}
MRR = {"metrics": "mrr"}


def part_of(qid: Any = 1, **options: Any) -> ltr.Evaluation:
    return evaluated({"qid": [qid, qid], "docid": [1, 2], **ROWS}, MRR | options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "others", "message"),
    [
        ({}, {"metrics": ["mrr", "map"]}, "differ in metrics: part 0 has mrr, and part 2 has map, mrr"),
        ({}, {"ties": "worst"}, "differ in ties: part 0 has mean, and part 2 has worst"),
        ({}, {"no_relevant": 0}, r"differ in no_relevant: part 0 has skip, and part 2 has 0\.0"),
        ({}, {"convention": "sklearn", "metrics": "ndcg"}, "differ in metrics"),
        ({}, {"convention": replace(ltr.CONVENTIONS["default"], name="mine")}, "convention: .* default, .* has mine"),
        ({"convention": "catboost"}, {"no_relevant": 1}, "differ in no_relevant"),
        ({}, {"skill": True}, "differ in skill: part 0 has False, and part 2 has True"),
        ({}, {"sample_weight": "weight"}, "differ in weights: part 0 has no weights, and part 2 has weights"),
        ({}, {"cluster": "x"}, "differ in cluster: part 0 has no clusters, and part 2 has clusters"),
        ({}, {"by": "x"}, "differ in by: part 0 has none, and part 2 has one segmentation"),
        ({"by": ["x"]}, {"by": ["x", "j"]}, "differ in by: part 0 has x, and part 2 has j, x"),
        (
            {"judged": "j"},
            {"judged": "j", "unjudged": "drop"},
            "differ in unjudged: part 0 has zero, and part 2 has drop",
        ),
    ],
)
def test_different_options_are_refused(options: dict[str, Any], others: dict[str, Any], message: str) -> None:
    parts = [part_of(1, **options), part_of(2, **options), part_of(3, **options | others)]
    with pytest.raises(ltr.LtrValueError, match=rf"{message}.*Evaluate one of them again"):
        ltr.concat(parts)


def test_what_else_is_refused() -> None:
    one = part_of()
    with pytest.raises(ltr.LtrValueError, match="the list is empty"):
        ltr.concat([])
    for wrong, message in [
        (one, "Got one Evaluation"),
        (None, "Got one NoneType"),
        ([one, None], "Part 1 is of .* Non"),
    ]:
        with pytest.raises(ltr.LtrTypeError, match=f"concat takes a list of evaluations.*{message}"):
            ltr.concat(wrong)  # type: ignore[arg-type]
    with pytest.raises(ltr.LtrTypeError, match="Part 0 is of the type str"):
        ltr.concat({"new": one})  # type: ignore[arg-type]  # of several scores
    with pytest.raises(ltr.LtrValueError, match=rf"in version: part 0 has {ltr.__version__}, and part 1 has 0.0.9"):
        ltr.concat([one, part_of(2).with_fields(version="0.0.9")])
    other, another = (ltr.Evaluation.from_per_query({"qid": [i], "mrr": [i - 3]}, convention="default") for i in (3, 4))
    with pytest.raises(ltr.LtrValueError, match="differ in fingerprints of the data"):
        ltr.concat([one, other])
    assert ltr.concat([other, another])["mrr"] == 0.5
    for better in (True, False):
        own = ltr.as_metric(lambda grades, columns: 1.0, name="own", higher_is_better=better)
        if better:
            first = part_of(metrics=own)
    with pytest.raises(ltr.LtrValueError, match="differ in lower_is_better: part 0 has none, and part 1 has own"):
        ltr.concat([first, part_of(2, metrics=own)])
    exponential, linear = (
        part_of(qid, metrics=["ndcg", "ndcg_exp", "ndcg_lin"], convention=c) for qid, c in ((1, A), (2, B))
    )
    with pytest.raises(ltr.LtrValueError, match="the meaning of 'ndcg': part 0 has ndcg_exp, and part 1 has ndcg_lin"):
        ltr.concat([exponential, linear])


A, B = (ltr.Convention(name="mine", metrics={"ndcg": {"gain": gain}}) for gain in ("exp", "linear"))


def test_words_for_missing_labels_are_counted_over_all_parts() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = [ltr.evaluate([1], [1], qid=[i], metrics="mrr", by=["NA"], cluster=["null"]) for i in range(2)]
    with pytest.warns(ltr.LtrWarning) as caught:
        ltr.concat(parts)
    texts = sorted(str(one.message) for one in caught)
    assert texts[0].startswith("2 queries are of one cluster, 'null'")
    assert texts[1].startswith("2 queries are of one segment, 'NA'")


@pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")  # of few clicks
def test_estimates_from_clicks() -> None:
    rng, n = np.random.default_rng(0), 40
    rows = {"clicks": rng.integers(0, 2, n), "scores": rng.random(n), "qid": np.arange(n) // 4}
    options: dict[str, Any] = {"propensity": Propensities([1.0, 0.5, 0.3, 0.2]), "metrics": "dcg"}

    def estimated(chosen: Any, estimator: Any) -> ltr.Evaluation:
        part = {name: column[chosen] for name, column in rows.items()}
        return evaluate(**part, position=np.arange(n)[chosen] % 4 + 1, estimator=estimator, **options)

    for estimator in ("ips", "snips"):  # whose mean is weighted by what it divides by
        parts = [estimated(rows["qid"] % 3 == i, estimator) for i in range(3)]
        assert ltr.concat(parts)["dcg"] == pytest.approx(estimated(slice(None), estimator)["dcg"], rel=1e-15)
    with pytest.raises(ltr.LtrValueError, match="differ in what the means are over: part 0 has clicks"):
        ltr.concat([parts[0], estimated(rows["qid"] % 3 == 1, "ips")])
