"""Real fractional labels: Yandex's Internet Mathematics 2009, whose labels are probabilities, and
what PFound was made for.
"""

from __future__ import annotations

import gzip
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import reference

import ltr_metrics as ltr


@pytest.fixture(scope="module")
def rows(data: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, queries, and one feature as scores."""
    with gzip.open(data / "yandex_im" / "features.txt.gz", "rt") as file:
        fields = [line.split("\t") for line in file]
    y = np.array([float(line[1]) for line in fields])
    return y, np.array([line[0] for line in fields]), np.array([float(line[7]) for line in fields])


NAMES = [
    "pfound",
    "pfound@10",
    "pfound(p_break=0.5)@3",
    "err(p=label)@10",
    "map(rel=0.14)@10",
    "mrr(rel=>0.07)",
    "ndcg_lin@10",
]


@pytest.mark.parametrize("name", NAMES)
def test_equals_a_plain_loop(rows: tuple[np.ndarray, ...], name: str) -> None:
    y, qid, score = rows
    assert ((y > 0) & (y < 1)).any()
    assert len(np.unique(y)) > 5  # means of judgements among them
    result = ltr.evaluate(y, score, qid=qid, metrics=name, ties="stable")
    assert result.n_queries == 666
    metric = ltr.metric(name)
    parameters = {key: value for key, value in asdict(metric).items() if key != "k"}
    for query, value in zip(result.qid, result.per_query[name], strict=True):
        of_query = qid == query
        expected = reference.value(
            type(metric).NAME,
            y[of_query].tolist(),
            score[of_query].tolist(),
            k=metric.cutoff,
            ties="stable",
            **parameters,
        )
        assert value == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_labels_that_are_no_probabilities_or_have_no_lowest_relevant_grade_are_refused(
    rows: tuple[np.ndarray, ...],
) -> None:
    y, qid, score = rows
    with pytest.raises(
        ltr.LtrValueError, match=r"labels between 0 and 1.*got 2 at row 0.*p_rel=yandex.*p_rel=exp.*p_rel=\["
    ):
        ltr.evaluate([2, 0, 1], [3, 2, 1], group=[3], metrics="pfound@10")
    with pytest.raises(ltr.LtrValueError, match=r"which labels are relevant.*mrr\(rel=0.5\)"):
        ltr.evaluate(y, score, qid=qid, metrics="mrr")
