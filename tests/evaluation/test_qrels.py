"""Judgments and runs in memory."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ltr_metrics as ltr
from ltr_metrics.io import read_trec

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}, "q3": {"a": 0, "e": -1}}
RUN = {"q1": {"a": 9.5, "x": 7.25, "b": 6.0}, "q3": {"z": 1.0, "e": 2.0, "a": 0.5}, "q9": {"a": 1.0}}

Nested = dict[str, dict[str, Any]]


def entries(data: Nested) -> list[tuple[str, str, Any]]:
    return [(query, document, number) for query, of in data.items() for document, number in of.items()]


def in_form(data: Nested, number: str, form: str) -> Any:
    """Return judgments or a run as a dict, a data frame, or named tuples."""
    names = ["query_id", "doc_id", number]
    if form == "dict":
        return data
    if form == "pandas":
        return pd.DataFrame(entries(data), columns=names).sample(frac=1, random_state=0)  # an index in no order
    if form == "polars":
        return pl.DataFrame(entries(data), schema=names, orient="row")
    if form == "arrow":
        return pl.DataFrame(entries(data), schema=names, orient="row").to_arrow()
    return (namedtuple("Entry", names)(*entry) for entry in entries(data))  # noqa: PYI024


def as_files(folder: Path, qrels: Nested = QRELS, run: Nested = RUN) -> tuple[Path, Path]:
    lines = [f"{query} 0 {document} {grade}" for query, document, grade in entries(qrels)]
    (folder / "qrels").write_text("\n".join(lines))
    lines = [f"{query} Q0 {document} 0 {score!r} me" for query, document, score in entries(run)]
    (folder / "run").write_text("\n".join(lines))
    return folder / "qrels", folder / "run"


@pytest.mark.parametrize("topics", ["both", "qrels"])
@pytest.mark.parametrize("form", ["dict", "polars", "arrow", "tuples"])
def test_the_rows_are_those_of_the_files(form: str, topics: Any, tmp_path: Path) -> None:
    expected = read_trec(*as_files(tmp_path), topics=topics)
    data = ltr.from_qrels(in_form(QRELS, "relevance", form), in_form(RUN, "score", form), topics=topics)
    assert (data.only_in_qrels, data.only_in_run) == (("q2",), ("q9",))
    assert (expected.only_in_qrels, expected.only_in_run) == (("q2",), ("q9",))
    for name in data.keys():  # noqa: SIM118  (TrecData iterates over nothing)
        np.testing.assert_array_equal(data[name], expected[name])
        assert data[name].dtype.kind == expected[name].dtype.kind


def test_rows_of_a_data_frame_can_be_in_any_order() -> None:
    data = ltr.from_qrels(in_form(QRELS, "relevance", "pandas"), in_form(RUN, "score", "pandas"))
    options: dict[str, Any] = {"metrics": ["map", "p@3", "judged@3"], "convention": "trec_eval"}
    result = ltr.evaluate(**data, **options).subset(["q1", "q3"])
    assert result.mean == ltr.evaluate(**ltr.from_qrels(QRELS, RUN), **options).mean
    assert result.per_query["map"].tolist() == [0.5, 0.0]
    assert result.per_query["judged@3"].tolist() == [2 / 3, 2 / 3]


@pytest.mark.slow
def test_judgments_and_runs_of_ranx() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed: pip install '.[test]'")
    queries = ("q1", "q3")
    qrels, run = ({query: of[query] for query in queries} for of in (QRELS, RUN))
    data = ltr.from_qrels(ranx.Qrels(qrels), ranx.Run(run))  # whose documents are in ranked order
    result = ltr.evaluate(**data, metrics=["map", "precision@2"], convention="ranx")
    assert data.docid.tolist() == ["a", "x", "b", "e", "z", "a", "c"]
    assert {name: values.tolist() for name, values in result.per_query.items()} == {
        "map(denominator=relevant)": [0.5, 0.0],
        "precision@2": [0.5, 0.0],
    }


def test_ids_are_compared_as_text() -> None:
    data = ltr.from_qrels({7: {1: 1, 2.0: 0}}, {7.0: {"2": 2.0, b"1": 1.0}})
    assert ltr.evaluate(**data, metrics="mrr")["mrr"] == 0.5
    assert data.qid.tolist() == ["7", "7"]


def test_an_empty_query_counts_as_missing() -> None:
    data = ltr.from_qrels({"q": {"a": 1}, "r": {"a": 1}, "s": {}}, {"q": {}, "r": {"a": 1}, "s": {"a": 1}})
    assert data.qid.tolist() == ["r"]
    assert (data.only_in_qrels, data.only_in_run) == (("q",), ("s",))
    with_all = ltr.from_qrels({"q": {"a": 1}, "r": {"a": 1}}, {"r": {"a": 1}}, topics="qrels")
    assert ltr.evaluate(**with_all, metrics="mrr", convention="trec_eval").mean == {"mrr": 0.5}


# -- the document that is the query itself ----------------------------------------------------------------------------

ARGUMENTS = {f"p{i}": {f"c{j}": int(j == i) for j in range(i % 3, i + 1)} | {f"p{i}": 0} for i in range(9)}
COUNTERS = {
    topic: {f"c{j}": float(7 * i * j % 11) + j / 100 for j in range(8)}
    | {f"p{j}": 20.0 - (j - i) ** 2 for j in range(9)}
    for i, topic in enumerate(ARGUMENTS)
}


@pytest.mark.parametrize("form", ["dict", "pandas", "files"])
def test_without_the_document_that_is_the_query(form: str, tmp_path: Path) -> None:
    if form == "files":
        data = read_trec(*as_files(tmp_path, ARGUMENTS, COUNTERS), drop_self=True)
    else:
        data = ltr.from_qrels(in_form(ARGUMENTS, "relevance", form), in_form(COUNTERS, "score", form), drop_self=True)
    assert not (data.qid == data.docid).any()
    assert "p1" in data.docid.tolist()  # under other queries it stays
    others = {
        topic: {document: score for document, score in of.items() if document != topic}
        for topic, of in COUNTERS.items()
    }
    options: dict[str, Any] = {"metrics": ["ndcg@10", "map"], "convention": "trec_eval"}
    found = ltr.evaluate(**data, **options).subset(list(ARGUMENTS))
    if sys.platform == "linux":
        peer = pytest.importorskip("pytrec_eval").RelevanceEvaluator(ARGUMENTS, {"ndcg_cut_10", "map"}).evaluate(others)
        for name, of_peer in zip(found.per_query, ("ndcg_cut_10", "map"), strict=True):
            np.testing.assert_allclose(found.per_query[name], [peer[topic][of_peer] for topic in ARGUMENTS], rtol=1e-12)
    with_self = ltr.evaluate(**ltr.from_qrels(ARGUMENTS, COUNTERS), **options)
    assert with_self["map"] < found["map"]


def test_a_query_that_has_only_itself_counts_as_missing() -> None:
    qrels = {"a": {"a": 1}, "b": {"x": 1}, "c": {"x": 1}}
    run = {"a": {"x": 1.0}, "b": {"b": 1.0}, "c": {"c": 2.0, "x": 1.0}}
    data = ltr.from_qrels(qrels, run, drop_self=True)
    assert (data.only_in_qrels, data.only_in_run) == (("b",), ("a",))
    assert (data.qid.tolist(), data.docid.tolist()) == (["c"], ["x"])
    all_topics = ltr.from_qrels(qrels, run, drop_self=True, topics="qrels")
    assert ltr.evaluate(**all_topics, metrics="mrr", convention="trec_eval")["mrr"] == 0.5
    with pytest.raises(ltr.LtrValueError, match="run has no document"):
        ltr.from_qrels(qrels, {"b": {"b": 1.0}}, drop_self=True)


JUDGED = {f"q{i}": {f"D-{i}{j}": j % 2 for j in range(4)} for i in range(40)}
FOUND: dict[str, dict[str, Any]] = {query: dict.fromkeys(documents, 1.0) for query, documents in JUDGED.items()}


def respelled(spell: Callable[[str], str], run: Nested = FOUND) -> Nested:
    return {query: {spell(document): score for document, score in of.items()} for query, of in run.items()}


OTHER_IDS: dict[str, tuple[Nested, Nested, str]] = {  # judgments, a run, and what the warning says
    "zeros": ({"q": {"7": 1, "8": 0}}, {"q": {"007": 1.0, "009": 0.5}},
        "0.0% of 2 retrieved documents are judged, in 0 of 1 topics. In topic 'q', the run has '007' and the judgments have '7'"),
    "zeros of some": ({"q": {"7": 1, "123": 1, "456": 0}}, {"q": {"123": 2.0, "007": 1.0}},
        "50.0% of 2 retrieved documents are judged, in 1 of 1 topics. In topic 'q', the run has '007' and"),
    "case": (JUDGED, respelled(str.lower), "0.0% of 160 .* in 0 of 40 topics. In topic 'q0', the run has 'd-00' and .* have 'D-00'"),
    "floats": ({"q": {"7": 1}}, {"q": {"7.0": 1.0}}, "the run has '7.0' and the judgments have '7'"),
    "spaces": ({"q": {"7": 1}}, {"q": {" 7": 1.0}}, "the run has ' 7' and the judgments have '7'"),
    "accents": ({"q": {"caf\u00e9": 1}}, {"q": {"cafe\u0301": 1.0}}, r"the run has 'cafe\\u0301' and the judgments have 'caf\\xe9'"),
    "cut": (JUDGED, respelled(lambda document: document[2:]), "in 0 of 40 topics. In topic 'q0', the run has '00' and .* have 'D-00'"),
    "endings": (JUDGED, respelled("{}.pdf".format), "in 0 of 40 topics. In topic 'q0', the run has 'D-00.pdf' and"),
    "all but one": (JUDGED, respelled("x{}".format) | {"q0": FOUND["q0"]}, "2.5% of 160 retrieved .*, in 1 of 40 topics"),
}  # fmt: skip
SAME_IDS: dict[str, tuple[Nested, Nested]] = {
    "the same": (JUDGED, FOUND),
    "one judgment and many ranks": (  # one in a thousand retrieved documents
        {query: dict(list(of.items())[:1]) for query, of in JUDGED.items()},
        {query: {f"x{i}": 1.0 for i in range(999)} | dict(list(of.items())[:1]) for query, of in FOUND.items()},
    ),
    "hardly ever found": (JUDGED, respelled("x{}".format) | {query: FOUND[query] for query in ("q0", "q1")}),
}


@pytest.mark.parametrize("form", ["dict", "polars", "files"])
@pytest.mark.parametrize("case", [*OTHER_IDS, *SAME_IDS])
def test_documents_that_are_spelled_in_two_ways_are_a_warning(case: str, form: str, tmp_path: Path) -> None:
    qrels, run = (OTHER_IDS | SAME_IDS)[case][:2]  # type: ignore[operator]
    message = OTHER_IDS[case][2] if case in OTHER_IDS else None

    def read() -> Any:
        if form == "files":
            return read_trec(*as_files(tmp_path, qrels, run))
        return ltr.from_qrels(in_form(qrels, "relevance", form), in_form(run, "score", form))

    if message is None or (form == "files" and case == "spaces"):  # which end a field
        read()
        return
    with pytest.warns(ltr.LtrWarning, match=message) as caught:
        read()
    assert len(caught) == 1


TWO_TYPES = pd.DataFrame({"query_id": [7, "7"], "doc_id": ["a", "b"], "relevance": [1, 2]})
# fmt: off
BAD: list[tuple[Any, Any, str]] = [
    ("qrels.txt", RUN, "Use read_trec for files"),
    ({"q": [1]}, RUN, r"qrels must be a dict of dicts.* Got \[1\] for query 'q'. If the ids are those of the relevant documents, pass {doc: 1 for doc in"),
    ({"q": {"a"}}, RUN, r"Got {'a'} for query 'q'. If the ids are those of the relevant documents, pass {doc: 1 for doc in"),
    (QRELS, {"q1": ["a", "b"]}, r"run must be a dict of dicts.* a score for each .* pass {doc: -rank for rank, doc in enum"),
    (QRELS, {"q1": {"a", "b"}}, "A set has no order, so the ranking is lost: pass the score of each document"),
    (QRELS, ["a", "b"], r"run must be a dict of dicts"),
    ([("q", "a", 1)], RUN, "qrels must be .* objects with these attributes"),
    (TWO_TYPES.rename(columns={"query_id": "qid"}), RUN, "qrels must be .*'query_id'"),
    ({"q": {"a": None}}, RUN, "the relevance of qrels must be numbers .*got None at row 0"),
    ({"q": {"a": float("inf")}}, RUN, "qrels, topic 'q', document 'a': a grade must be finite. Got inf"),
    (QRELS, {"q1": {"a": float("nan")}}, "run, topic 'q1', document 'a': a score must not be NaN"),
    ({}, RUN, "qrels has no document"),
    (QRELS, {"q7": {"a": 1}}, "qrels and run have no topic in common"),
    ({7: {"a": 1}, "7": {"b": 1}}, RUN, "has the ids 7 and '7', which cannot be told apart"),
    (TWO_TYPES, RUN, "has the ids 7 and '7', which cannot be told apart"),
    (TWO_TYPES.assign(query_id=[7.0, None]), RUN, "missing at row 1"),
    ({"q1": {7: 1, "7": 1}}, RUN, "qrels has the document '7' twice in topic 'q1'"),
]
# fmt: on


@pytest.mark.parametrize(("qrels", "run", "message"), BAD)
@pytest.mark.parametrize("topics", ["both", "qrels"])
def test_what_is_refused_has_its_place(qrels: Any, run: Any, message: str, topics: Any) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        ltr.from_qrels(qrels, run, topics=topics)
