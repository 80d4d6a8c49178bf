"""Rows with everything that an evaluation in parts may need, their evaluation in memory, and how results are compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from strategies import Data, random_data

import ltr_metrics as ltr

OF_LETOR = ["ndcg@10", "ndcg_lin", "map", "mrr", "pfound(p_rel=yandex)@10", "p@3", "pair_accuracy"]
METRICS = [*OF_LETOR, "mean_of(margin)@2", "sum_of(margin)"]


def frame_of(rows: Data, seed: int = 0) -> pd.DataFrame:
    """Return rows with a column of each kind, query by query."""
    rng, n = np.random.default_rng(seed), len(rows.y)
    device = np.array(["phone", "desk", "tab"])[rng.integers(0, 3, len(rows.group))]
    frame = pd.DataFrame({"qid": rows.qid * 7 + 1, "label": rows.y, "score": rows.score, "weight": rng.random(n)})
    docid = [f"D{i}" for i in rng.permutation(n)]
    return frame.assign(margin=rng.normal(size=n), docid=docid, device=device[rows.qid], month=rows.qid % 5, unused="x")


# -- every kind of options, as `evaluate(data=...)` and the engines name them ------------------------------------------


def last_relevant(grades: Any, columns: Any) -> float | None:
    """Return the rank of the last relevant document, a metric of the user's own; a query without one has no value."""
    ranks = np.flatnonzero(np.asarray(grades) > 0)
    return float(ranks[-1] + 1) if len(ranks) else None


OWN = ltr.as_metric(last_relevant, name="last_relevant", higher_is_better=False)
BOTH = {"sample_weight": "importance", "cluster": "user"}
KINDS: dict[str, dict[str, Any]] = {
    "defaults": {"metrics": None},
    "many metrics": {"metrics": METRICS},
    "names as typed": {"metrics": ["NDCG@10", "ap", "P@3", "recall@5", "auc"]},
    "weights": {"metrics": METRICS, "sample_weight": "importance"},
    "weights of 0": {"sample_weight": "sparse"},
    "clusters": {"cluster": "user"},
    "weights and clusters": BOTH,
    "one segmentation": {"by": "device"},
    "two segmentations": {"by": ["device", "month"], **BOTH},
    "named segmentations": {"by": {"Device": "device"}, "no_relevant": 0},
    "a word for missing": {"by": "country", "cluster": "country"},
    "skill": {"metrics": METRICS, "skill": True},
    "skill with everything": {"skill": True, "by": "device", "no_relevant": 0, **BOTH},
    "skill of own metrics": {"metrics": [OWN, "map"], "skill": True},
    "worst ties": {"metrics": OF_LETOR, "ties": "worst"},
    "best ties": {"metrics": OF_LETOR, "ties": "best"},
    "ties by document": {"metrics": METRICS, "ties": "docid", "docid": "docid"},
    "undefined is 0": {"no_relevant": 0},
    "undefined is 0.5": {"no_relevant": 0.5, "sample_weight": "importance"},
    "undefined dropped": {"no_relevant": "drop"},
    "lightgbm": {"metrics": ["ndcg@10", "map@10"], "convention": "lightgbm", "ties": "mean"},
    "lightgbm with weights": {"metrics": "ndcg@10", "convention": "lightgbm", "ties": "best", **BOTH},
    "xgboost with weights": {"metrics": "ndcg@10", "convention": "xgboost", "ties": "worst", **BOTH},
    "catboost": {"metrics": ["ndcg@10", "recall@5"], "convention": "catboost"},
    "sklearn": {"metrics": "ndcg", "convention": "sklearn", "skill": True},
    "trec_eval": {"metrics": ["map", "ndcg", "mrr"], "convention": "trec_eval", "docid": "docid"},
    "gdeval": {"convention": "gdeval", "docid": "docid", "sample_weight": "importance"},
    "letor": {"metrics": ["ndcg@10", "map"], "convention": "letor", "ties": "mean"},
    "own columns": {"metrics": ["mean_of(margin)@2", "sum_of(margin)"], "sample_weight": "importance"},
    "lower is better": {"metrics": [OWN, "arp", "mrr"], "by": "device"},
    "pairs": {"metrics": "pair_accuracy(average=micro)"},
    "pairs with weights": {"metrics": "pair_accuracy(average=micro)", "skill": True, **BOTH},
}
KINDS_OF_ARRAYS: dict[str, dict[str, Any]] = {  # that engines do not have
    "worst ties of columns": {"metrics": METRICS, "ties": "worst"},
    "ties in order": {"metrics": METRICS, "ties": "stable"},
    "weights of queries": {"query_weight": "importance"},
    "lightgbm in order": {"metrics": "ndcg@10", "convention": "lightgbm", "query_weight": "importance"},
    "judged": {"metrics": ["map", "judged@5", "bpref"], "judged": "judged"},
    "condensed lists": {"metrics": ["map", "judged@5"], "judged": "judged", "unjudged": "drop", "skill": True},
    "retrieved": {"metrics": METRICS, "retrieved": "retrieved", "skill": True},
    "judged and retrieved": {"judged": "judged", "retrieved": "retrieved", **BOTH},
}
IDS: dict[str, Any] = {
    "int": int,
    "text": "query {}".format,
    "float": float,
    "large": lambda i: 2**53 + i,
    "mixed": lambda i: i if i % 3 else f"q{i}",
}


def kinds_frame(ids: str = "int", n_queries: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return rows with a column for each of these options; the queries of a user and a device are far apart."""
    frame, rng = frame_of(random_data(seed, n_queries=n_queries), seed), np.random.default_rng(seed)
    query = frame["qid"].to_numpy() // 7
    of_query = rng.random(n_queries).round(3) + 0.1
    is_relevant, is_first = frame["label"].to_numpy() > 0, ~frame["qid"].duplicated().to_numpy()
    frame["qid"] = pd.Series([IDS[ids](i) for i in frame["qid"].tolist()], dtype=object if ids == "mixed" else None)
    return frame.assign(
        importance=of_query[query],
        sparse=np.where(query % 3, of_query[query], 0.0),
        user=[f"user {i % 17}" for i in query],
        country=np.where(query % 4 == 0, "NA", "DE"),
        judged=is_relevant | is_first | (rng.random(len(frame)) < 0.6),
        retrieved=is_first | (rng.random(len(frame)) < 0.8),  # since a part needs a document with a rank
    )


def evaluated(frame: pd.DataFrame, options: dict[str, Any]) -> ltr.Evaluation:
    """Evaluate all rows, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ltr.LtrWarning)
        return ltr.evaluate(data=frame, **options)


def identical(
    found: ltr.Evaluation, expected: ltr.Evaluation, *, in_order: bool = False, shuffled: bool = False
) -> None:
    """Compare all fields: every bit of a query, and means to one unit in the last place; queries by id or in order.

    If the rows of a query were shuffled, columns of tied documents were added up in another order.
    """
    assert list(found) == list(expected)
    assert found.per_query.asked == expected.per_query.asked
    for field in ("policy", "lower_is_better", "shows_skill", "version", "n_undefined", "n_queries"):
        assert getattr(found, field) == getattr(expected, field), field
    at = {str(one): i for i, one in enumerate(found.qid.tolist())}
    order = [at[str(one)] for one in expected.qid.tolist()]
    assert not in_order or order == list(range(len(order)))

    def equal(one: Any, other: Any, name: str) -> None:
        assert (one is None) == (other is None), name
        if other is not None:
            np.testing.assert_array_equal(one[order], other, err_msg=name)

    for name, values in expected.per_query.items():
        if shuffled and "margin" in name:
            np.testing.assert_allclose(found.per_query[name][order], values, rtol=1e-14, atol=1e-15, err_msg=name)
        else:
            equal(found.per_query[name], values, name)
    for field in ("n_documents", "n_relevant", "weight"):
        equal(getattr(found, field), getattr(expected, field), field)
    equal(found.fingerprint.of_query, expected.fingerprint.of_query, "fingerprint")
    assert found.fingerprint.unjudged == expected.fingerprint.unjudged
    assert found.counted_as_one.keys() == expected.counted_as_one.keys()
    for name, is_one in expected.counted_as_one.items():
        equal(found.counted_as_one[name], is_one, name)
    exact = np.testing.assert_array_equal if in_order else np.testing.assert_array_max_ulp
    for name, mean in expected.mean.items():
        if shuffled and "margin" in name:
            assert found[name] == pytest.approx(mean, rel=1e-14)
        else:
            exact(np.array([found[name]]), np.array([mean]))
    close = {"rtol": 1e-12, "atol": 1e-15}
    np.testing.assert_allclose(list(found.standard_error.values()), list(expected.standard_error.values()), **close)
    if (np.concatenate(list(expected.per_query.values())) >= 0).all():
        for name in expected:
            np.testing.assert_allclose(found.geometric_mean(name), expected.geometric_mean(name), **close)
    for labels, expected_labels in [
        (found.cluster_labels, expected.cluster_labels),
        *((found.segments[name], labels) for name, labels in expected.segments.items()),
    ]:
        assert (labels is None) == (expected_labels is None)
        if expected_labels is not None:
            equal(np.array(labels[0], dtype=object)[labels[1]], np.array(expected_labels[0])[expected_labels[1]], "by")
            assert not in_order or labels[0] == expected_labels[0]
    assert list(found.segments) == list(expected.segments)
    if expected.shows_skill:
        assert found.skill_notes == expected.skill_notes
        for ends in ("chance_per_query", "ideal_per_query"):
            for name, values in getattr(expected, ends).items():
                found_ends = getattr(found, ends)[name][order]
                np.testing.assert_allclose(found_ends, values, rtol=1e-14 if shuffled else 0, atol=0, err_msg=ends)
        for name, skill in expected.skill.items():
            np.testing.assert_allclose(found.skill[name], skill, err_msg=name, **close)
