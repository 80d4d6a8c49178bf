"""One query of a comparison, opened: which documents stand where, and why some cannot be opened."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.report import as_html, summarize

X, Y, QID = ltr.make_ranking(n_queries=20, random_state=0)
SCORES = {"live": X[:, 0].round(1), "new": X[:, 0] + X[:, 1], "other": -X[:, 0]}
DOCID = np.char.add("d", np.arange(len(Y)).astype(str))


def compared(models: Any = None, y: Any = Y, **options: Any) -> ltr.Comparison:
    return ltr.compare(
        models or SCORES, y, **({"qid": QID, "metrics": ["ndcg@10", "mrr"], "n_resamples": 100} | options)
    )


@pytest.mark.parametrize("docid", [None, DOCID])
@pytest.mark.parametrize("shuffled", [False, True])
def test_the_documents_are_those_of_a_sort_by_score(docid: Any, shuffled: bool) -> None:
    rows = np.random.default_rng(1).permutation(len(Y)) if shuffled else np.arange(len(Y))
    scores = {name: score[rows] for name, score in SCORES.items()}
    ids = None if docid is None else docid[rows]
    comparison = compared(scores, Y[rows], qid=QID[rows], docid=ids)
    for qid in np.unique(QID)[:5]:
        opened = comparison.query(str(qid), k=4)  # by its text
        own = np.flatnonzero(QID[rows] == qid)
        order = {name: own[np.argsort(-score[own], kind="stable")] for name, score in scores.items()}
        for name, documents in opened.rankings.items():
            names = order[name] if ids is None else ids[order[name]]
            assert [one.document for one in documents] == names[:4].tolist()
            assert [one.grade for one in documents] == Y[rows][order[name][:4]].tolist()
            assert [one.score for one in documents] == scores[name][order[name][:4]].tolist()
            counts = [(scores[name][own] == one.score).sum() for one in documents]
            assert [one.is_tied for one in documents] == [count > 1 for count in counts]
            for one, row in zip(documents, order[name][:4], strict=True):
                assert one.ranks == {other: of.tolist().index(row) + 1 for other, of in order.items()}
        assert (opened.n_documents, opened.n_relevant) == (len(own), (Y[rows][own] >= 1).sum())
        at = comparison.qid.tolist().index(qid)
        assert opened.values["mrr"]["new"] == pytest.approx(
            comparison.evaluations["new"].per_query["mrr"][at], nan_ok=True
        )


@pytest.mark.parametrize("score", [lambda x: 123456.789 + 1e-3 * x, lambda x: 1e-9 * x, lambda x: 1e12 * x])
def test_different_scores_never_look_the_same(score: Callable[[Any], Any]) -> None:
    scores = {"live": score(X[:, 0]), "new": score(X[:, 0] + X[:, 1])}
    opened = compared(scores).query(1)
    assert not any(one.is_tied for documents in opened.rankings.values() for one in documents)
    for model, lines in zip(scores, str(opened).split("\n\n")[1:], strict=True):
        table = [line.split() for line in lines.splitlines()[1:]]
        shown = [row[table[0].index("score")] for row in table[1:]]
        assert len(set(shown)) == len(opened.rankings[model]) == 10
    report = summarize(ltr.Queries(Y, qid=QID), scores, "ndcg@10", baseline="live", complete=True)
    rows = re.findall(r'class="doc">.*?class="num">([^<]*)<', as_html(report))
    assert len(rows) >= 40
    assert all(len(set(rows[i : i + 10])) == 10 for i in range(0, len(rows), 10))


def test_moves_are_counted_from_the_other_ranking() -> None:
    documents = list("abcd")
    scores = {"live": [4, 3, 2, 1], "new": [3, 4, 1, 2]}
    scores = {name: of * 2 for name, of in scores.items()}
    opened = compared(scores, [0, 1, 0, 1] * 2, qid=[1] * 4 + [2] * 4, docid=documents * 2).query(1, k=3)
    moves = [one.move("live", 3) for one in opened.rankings["new"]]
    assert [one.document for one in opened.rankings["new"]] == ["b", "a", "d"]
    assert moves == [("up", "from 2"), ("down", "from 1"), ("in", "from 4")]
    assert [one.move("new", 3, forward=True) for one in opened.rankings["live"]] == [
        ("down", "to 2"), ("up", "to 1"), ("out", "to 4")
    ]  # fmt: skip
    assert opened.n_relevant_ranked("live") == 1
    assert opened.n_relevant_ranked("new") == 2
    frame = opened.to_pandas()
    assert frame["baseline_rank"].tolist() == [1, 2, 3, 2, 1, 4]
    assert "in from 4" in str(opened)


def test_models_with_rows_of_their_own_are_paired_by_document() -> None:
    runs = {  # the second run did not retrieve "c", and "b" was not judged
        "a": ltr.Queries([1, 0, 0, 1], qid=[1, 1, 1, 2], docid=["a", "b", "c", "a"], judged=[True, False, True, True]),
        "b": ltr.Queries(
            [0, 0, 1, 1],
            qid=[1, 1, 1, 2],
            docid=["c", "b", "a", "a"],
            judged=[True, False, True, True],
            retrieved=[False, True, True, True],
        ),
    }
    report = summarize(runs, {"a": [1, 3, 2, 1], "b": [0, 2, 1, 1]}, ["mrr"], baseline="a", complete=True)
    assert report.comparison is not None
    opened = report.comparison.query(1)
    assert [(one.document, one.grade, one.ranks["b"]) for one in opened.rankings["a"]] == [
        ("b", None, 1), ("c", 0, None), ("a", 1, 2)
    ]  # fmt: skip
    assert opened.rankings["a"][1].move("b", 10, forward=True) == ("out", "")


def test_positions_and_further_columns() -> None:
    columns = {"price": np.arange(len(Y)), "score of live": SCORES["live"]}
    positions = np.empty(len(Y))
    for qid in np.unique(QID):
        own = np.flatnonzero(qid == QID)
        positions[own] = np.arange(len(own)) + 1
    comparison = compared(SCORES | {"new": ltr.Positions(positions)}, columns=columns)
    first = comparison.query(1).rankings["new"][0]
    assert (first.document, first.columns) == (0, {"price": 0.0})  # a column of scores is not repeated


def saved(folder: Path) -> ltr.Comparison:
    results = {name: ltr.evaluate(Y, score, qid=QID, metrics="mrr") for name, score in SCORES.items()}
    results["live"].save(folder / "live.parquet")
    return ltr.compare(results | {"live": ltr.load_result(folder / "live.parquet")}, n_resamples=100)


def of_report(_: Path) -> ltr.Comparison:
    report = summarize(ltr.Queries(Y, qid=QID), SCORES, "mrr", baseline="live", complete=True)
    assert report.comparison is not None
    return report.comparison


MISUSES: dict[str, tuple[Callable[[Path], ltr.Comparison], dict[str, Any], type[Exception], str]] = {
    "saved": (saved, {"qid": 1}, ltr.LtrValueError, "of 'live', 'new', 'other' are not known, because a result"),
    "seeds": (
        lambda _: compared(SCORES | {"new": [X[:, 0], X[:, 1]]}),
        {"qid": 1}, ltr.LtrValueError, "of 'new' are not known.*several seeds",
    ),
    "unknown": (lambda _: compared(), {"qid": 77}, ltr.LtrKeyError, "no query 77"),
    "k": (lambda _: compared(), {"qid": 1, "k": 0}, ltr.LtrValueError, "k must be"),
    "other queries": (lambda _: compared().subset([2, 3]), {"qid": 1}, ltr.LtrKeyError, "no query 1"),
    "more than a report": (of_report, {"qid": "LISTED", "k": 11}, ltr.LtrValueError, "keeps 10 documents of each"),
    "not in a report": (of_report, {"qid": "OTHER"}, ltr.LtrKeyError, "of query '.*' were not kept: a report keeps"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSES)
def test_what_cannot_be_opened(case: str, tmp_path: Path) -> None:
    make, arguments, error, message = MISUSES[case]
    comparison = make(tmp_path)
    listed = comparison.documents.opened or {}
    others = [str(qid) for qid in comparison.qid.tolist() if str(qid) not in listed]
    qid = {"LISTED": next(iter(listed), None), "OTHER": next(iter(others), None)}.get(
        arguments["qid"], arguments["qid"]
    )
    with pytest.raises(error, match=message):
        comparison.query(**arguments | {"qid": qid})
