"""Rows with everything that an evaluation in parts may need, their evaluation in memory, and how results are compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from strategies import Data
from table import TABLE

import ltr_metrics as ltr

OF_LETOR = ["ndcg@10", "ndcg_lin", "map", "mrr", "pfound(p_rel=yandex)@10", "p@3", "pair_accuracy"]
METRICS = [*OF_LETOR, "mean_of(margin)@2", "sum_of(margin)"]


def metrics_by_labels() -> dict[tuple[float, float, str], list[Any]]:
    """Return all metrics by the scale and the maximum of their labels, and by what their mean is over.

    `Judged` is left out, because it is of an option that frames do not have.
    """
    metrics: dict[tuple[float, float, str], list[Any]] = {}
    for entry in TABLE:
        if entry.cls is not ltr.Judged:
            unit = entry.metrics()[0].mean_over
            metrics.setdefault((entry.scale, entry.highest, unit), []).extend(entry.metrics())
    return metrics


def frame_of(rows: Data, seed: int = 0) -> pd.DataFrame:
    """Return rows with a column of each kind, query by query."""
    rng, n = np.random.default_rng(seed), len(rows.y)
    device = np.array(["phone", "desk", "tab"])[rng.integers(0, 3, len(rows.group))]
    frame = pd.DataFrame({"qid": rows.qid * 7 + 1, "label": rows.y, "score": rows.score, "weight": rng.random(n)})
    docid = [f"D{i}" for i in rng.permutation(n)]
    return frame.assign(margin=rng.normal(size=n), docid=docid, device=device[rows.qid], month=rows.qid % 5, unused="x")


def in_memory(
    frame: pd.DataFrame,
    metrics: Any,
    score: str = "score",
    *,
    docid: str | None = None,
    weight: str | None = None,
    by: tuple[str, ...] = (),
    **options: Any,
) -> ltr.Evaluation:
    """Evaluate the rows, whose columns are named as for the functions that evaluate parts."""
    column = {name: frame[name].to_numpy() for name in frame}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ltr.LtrWarning)
        return ltr.evaluate(
            column["label"],
            column[score],
            qid=column["qid"],
            docid=None if docid is None else column[docid],
            sample_weight=None if weight is None else column[weight],
            by={name: column[name] for name in by} or None,
            columns={"margin": column["margin"]} if "margin" in column else None,
            metrics=metrics,
            **options,
        )


def same(found: ltr.Evaluation, expected: ltr.Evaluation, *, tolerance: float = 1e-12) -> None:
    """Compare all that a result has, queries by id; a tolerance of 0 compares every bit and the order of queries."""
    assert list(found.mean) == list(expected.mean)
    np.testing.assert_allclose(list(found.mean.values()), list(expected.mean.values()), rtol=0, atol=tolerance)
    assert found.n_undefined == expected.n_undefined
    assert found.lower_is_better == expected.lower_is_better
    assert found.policy == expected.policy
    at = {str(one): i for i, one in enumerate(found.qid.tolist())}
    order = [at[str(one)] for one in expected.qid.tolist()]
    assert len(at) == found.n_queries == len(order)
    assert tolerance or order == sorted(order)
    for name, values in expected.per_query.items():
        np.testing.assert_allclose(found.per_query[name][order], values, rtol=0, atol=tolerance, err_msg=name)
    assert found.shows_skill == expected.shows_skill
    if expected.shows_skill:
        assert dict(found.skill) == pytest.approx(dict(expected.skill), rel=1e-9, abs=1e-9, nan_ok=True)
        for name, values in expected.columns_of_skill().items():
            np.testing.assert_allclose(found.columns_of_skill()[name][order], values, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(found.n_documents[order], expected.n_documents)
    np.testing.assert_array_equal(found.n_relevant[order], expected.n_relevant)
    assert found.is_weighted == expected.is_weighted
    if expected.weight is not None:
        np.testing.assert_allclose(found.weight[order], expected.weight, rtol=tolerance / 100, atol=0)
    np.testing.assert_array_equal(found.fingerprint.of_query[order], expected.fingerprint.of_query)
    assert list(found.by) == list(expected.by)
    for name, segments in expected.by.items():
        assert set(found.by[name]) == set(segments)
        for label, part in segments.items():
            for metric, mean in part.mean.items():
                np.testing.assert_allclose(found.by[name][label].mean[metric], mean, rtol=0, atol=tolerance)


def same_per_query(values: pd.DataFrame, expected: ltr.Evaluation, qid: str) -> None:
    """Compare a table of values per query with an evaluation with weights and segments, to the bit."""
    of_metrics = dict(expected.per_query) | expected.columns_of_skill()
    assert list(values) == [qid, "documents", "relevant", "weight", *expected.by, *of_metrics]
    at = {str(one): i for i, one in enumerate(values[qid].to_numpy().tolist())}
    assert len(at) == len(values) == expected.n_queries
    values = values.iloc[[at[str(one)] for one in expected.qid.tolist()]]
    columns = {"documents": expected.n_documents, "relevant": expected.n_relevant, "weight": expected.weight}
    for name, column in (columns | of_metrics).items():
        np.testing.assert_array_equal(values[name].to_numpy(np.float64), column, err_msg=name)
    for name, (labels, code) in expected.segments.items():
        assert values[name].tolist() == [labels[i] for i in code]
