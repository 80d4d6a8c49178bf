"""Labels, scores and options as columns of a table, of which nothing but ``data[name]`` is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from parts import frame_of
from strategies import random_data

import ltr_metrics as ltr

ROWS = frame_of(random_data(5, n_queries=30)).sample(frac=1, random_state=0)  # an index in no order
ROWS = ROWS.assign(new=np.sin(ROWS["score"] + ROWS["margin"]), traffic=1 + ROWS["month"] / 8, seen=ROWS["margin"] > -1)
ARRAYS: dict[str, Any] = {name: ROWS[name].to_numpy() for name in ROWS}
METRICS = ["ndcg@5", "map", "mean_of(margin)@3"]


class OnlyColumns:
    """A table that can be asked for a column, and for nothing else."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda rows: rows,
    "polars": pl.from_pandas,
    "arrow in chunks": lambda rows: pa.concat_tables([pa.Table.from_pandas(rows[:7]), pa.Table.from_pandas(rows[7:])]),
    "arrays": lambda rows: {name: rows[name].to_numpy() for name in rows},
    "lists": lambda rows: rows.to_dict(orient="list"),
    "records": lambda rows: rows.to_records(index=False),
    "columns only": lambda rows: OnlyColumns({name: rows[name].to_numpy() for name in rows}),
}
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # as names of columns, and as arrays
    "plain": ({}, {}),
    "ids": ({"docid": "docid", "ties": "docid"}, {"docid": ARRAYS["docid"], "ties": "docid"}),
    "row weights": ({"sample_weight": "weight"}, {"sample_weight": ARRAYS["weight"]}),
    "query weights": ({"query_weight": "traffic"}, {"query_weight": dict(zip(ROWS["qid"], ROWS["traffic"], strict=True))}),
    "flags": ({"retrieved": "seen"}, {"retrieved": ARRAYS["seen"]}),
    "clusters": ({"cluster": "month"}, {"cluster": ARRAYS["month"]}),
    "one segmentation": ({"by": "device"}, {"by": ARRAYS["device"]}),
    "several": ({"by": ["device", "month"]}, {"by": {"device": ARRAYS["device"], "month": ARRAYS["month"]}}),
    "named": ({"by": {"on": "device"}}, {"by": {"on": ARRAYS["device"]}}),
}  # fmt: skip


def as_dict(result: ltr.Evaluation | ltr.Comparison) -> Any:
    """Return all that a result holds, and its segments."""
    segments = result.by if isinstance(result, ltr.Comparison) else [str(result.by)]
    return result.to_dict(), str(segments)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_columns_of_any_table_give_what_arrays_give(form: str, option: str) -> None:
    names, arrays = OPTIONS[option]
    data = FORMS[form](ROWS)
    columns = {"margin": ARRAYS["margin"]}
    of_arrays: dict[str, Any] = {"qid": ARRAYS["qid"], "columns": columns, "metrics": METRICS, **arrays}
    expected = ltr.evaluate(ARRAYS["label"], ARRAYS["score"], **of_arrays)
    assert as_dict(ltr.evaluate(data=data, metrics=METRICS, **names)) == as_dict(expected)
    compared = ltr.compare(["score", "new"], data=data, metrics=METRICS, n_resamples=200, **names)
    scores = {name: ARRAYS[name] for name in ("score", "new")}
    expected_comparison = ltr.compare(scores, ARRAYS["label"], n_resamples=200, **of_arrays)
    assert as_dict(compared) == as_dict(expected_comparison)
    assert compared.query(expected.qid[0]).to_dict() == expected_comparison.query(expected.qid[0]).to_dict()


def test_judged_documents_are_named_too() -> None:
    data = {"qid": [1, 1, 1], "label": [2, np.nan, 1], "score": [1, 2, 3], "known": [True, False, True]}
    found = ltr.evaluate(data=data, judged="known", unjudged="drop", metrics=["mrr", "judged@2"])
    assert found.mean == {"mrr": 1.0, "judged@2": 1.0}


def test_all_columns_can_have_other_names() -> None:
    other = ROWS.rename(columns={"qid": "session", "label": "bought", "score": "s"})
    expected = ltr.evaluate(data=ROWS, metrics="map").mean
    found = ltr.evaluate(data=other, qid="session", label="bought", score="s", metrics="map")
    assert found.mean == expected
    compared = ltr.compare({"live": "s", "next": ["new", "margin"]}, data=other, qid="session", label="bought")
    assert list(compared.evaluations) == ["live", "next"]
    assert compared.seeds["next"]["map"].shape == (2,)


def test_several_scores_give_an_evaluation_each() -> None:
    found = ltr.evaluate(data=ROWS, score=["score", "new"], metrics="map")
    assert {name: one.mean for name, one in found.items()} == {
        name: ltr.evaluate(data=ROWS, score=name, metrics="map").mean for name in ("score", "new")
    }
    assert list(ltr.evaluate(data=ROWS, score={"live": "score"}, metrics="map")) == ["live"]
    assert list(ltr.evaluate(data=ROWS, score=("new",), metrics="map")) == ["new"]


def test_a_saved_result_is_compared_with_a_column() -> None:
    live = ltr.evaluate(data=ROWS, metrics="map")
    found = ltr.compare({"live": live, "new": "new"}, data=ROWS)
    assert found["map"] == ltr.compare({"live": "score", "new": "new"}, data=ROWS, metrics="map")["map"]


def test_a_function_gets_the_columns_that_are_named() -> None:
    metric = ltr.as_metric(lambda _, columns: float(len(columns)), name="n_columns")
    assert ltr.evaluate(data=ROWS, metrics=metric)["n_columns"] == 0
    assert ltr.evaluate(data=ROWS, metrics=metric, columns="margin")["n_columns"] == 1
    assert ltr.evaluate(data=ROWS, metrics=[metric, "sum_of(margin)"], columns=["weight"])["n_columns"] == 2
    renamed = ltr.evaluate(data=ROWS.rename(columns={"margin": "eur"}), columns={"margin": "eur"}, metrics=METRICS)
    assert renamed.mean == ltr.evaluate(data=ROWS, metrics=METRICS).mean


TWICE = pd.concat([ROWS, ROWS[["label"]]], axis=1)
SMALL: dict[str, Any] = {"qid": [1, 1], "label": [1, 0], "score": [1.0, 2.0]}
WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no score": ({"data": ROWS.rename(columns={"score": "scores"})}, ltr.LtrKeyError,
        r"no column 'score'. Did you mean 'scores'\? It has qid, label, scores, .*. Name the column with score=\."),
    "polars": ({"data": pl.from_pandas(ROWS), "score": "nwe"}, ltr.LtrKeyError, r"no column 'nwe'. Did you mean 'new'\?"),
    "arrow": ({"data": pa.table(SMALL), "docid": "id"}, ltr.LtrKeyError, "no column 'id'.* with docid="),
    "records": ({"data": ROWS.to_records(), "by": "market"}, ltr.LtrKeyError, "no column 'market'. Name .* with by="),
    "of a metric": ({"data": ROWS, "metrics": "mean_of(margins)"}, ltr.LtrKeyError, "no column 'margins'. Did you mean 'margin'"),
    "twice": ({"data": TWICE}, ltr.LtrValueError, r"data\['label'\] must be one column. If several have this name"),
    "twice in arrow": ({"data": pa.table([[1], [1], [2]], names=["qid", "label", "label"])}, ltr.LtrValueError, "be one column"),
    "None": ({"data": SMALL | {"w": None}, "sample_weight": "w"}, ltr.LtrValueError, r"data\['w'\] must be one column"),
    "lazy": ({"data": pl.from_pandas(ROWS).lazy()}, ltr.LtrTypeError, "must be a table .* Got a LazyFrame, .* not subscriptable"),
    "a file": ({"data": "rows.csv"}, ltr.LtrTypeError, "must be a table .* Got a str"),
    "a matrix": ({"data": np.ones((2, 3))}, ltr.LtrTypeError, "must be a table .* Got a ndarray"),
    "y_true": ({"data": ROWS, "y_true": ROWS["label"]}, ltr.LtrTypeError, "y_true does not go with data=.* named by label="),
    "y_score": ({"data": ROWS, "y_score": ROWS["new"]}, ltr.LtrTypeError, "y_score does not go with data=.* score="),
    "an array": ({"data": ROWS, "docid": ARRAYS["docid"]}, ltr.LtrTypeError,
        "docid= must name one or more columns of data=, as text. Got a ndarray. Add it to the table and name its column"),
    "an array of ids": ({"data": ROWS, "qid": ARRAYS["qid"]}, ltr.LtrTypeError, "qid= must name .* Got a ndarray"),
    "an array of grades": ({"data": ROWS, "label": ARRAYS["label"]}, ltr.LtrTypeError, "label= must name .* Got a ndarray"),
    "scores": ({"data": ROWS, "score": ROWS["new"]}, ltr.LtrTypeError, "score= must name .* Got a Series"),
    "no scores": ({"data": ROWS, "score": []}, ltr.LtrTypeError, "score= must name one or more"),
    "no named scores": ({"data": ROWS, "score": {}}, ltr.LtrTypeError, "score= must name one or more"),
    "segments": ({"data": ROWS, "by": [ROWS["month"]]}, ltr.LtrTypeError, "by= must name .* Got a list"),
    "segment": ({"data": ROWS, "by": {"m": ROWS["month"]}}, ltr.LtrTypeError, "by= must name .* Got a Series"),
    "columns": ({"data": ROWS, "columns": ROWS}, ltr.LtrTypeError, "columns= must name .* Got a DataFrame"),
    "sizes": ({"data": ROWS, "group": [len(ROWS)]}, ltr.LtrTypeError, "group= has sizes, .* query ids with qid="),
    "row weights": ({"data": ROWS, "query_weight": "weight"}, ltr.LtrValueError,
        r"column 'weight' \(query_weight\) must be one label per query: row .* another row .* with sample_weight=, which takes"),
    "no table": ({"y_true": [1, 0], "y_score": [1, 0], "label": "label"}, ltr.LtrTypeError, "label= names a column of data="),
    "positional table": ({"y_true": ROWS, "score": "new"}, ltr.LtrTypeError, "score= names a column of .* pass data=table"),
    "no score at all": ({"y_true": [1, 0], "qid": [1, 1]}, ltr.LtrTypeError, "y_score must be an array or a list, got None"),
    "a bad label": ({"data": SMALL | {"label": [0, -1]}}, ltr.LtrValueError, r"column 'label' \(label\) must not be negative: got -1.0 at row 1"),
    "a bad flag": ({"data": SMALL | {"j": [1, 2]}, "judged": "j"}, ltr.LtrTypeError, r"column 'j' \(judged\) must be True or False"),
    "a bad id": ({"data": SMALL | {"qid": ["a", ""]}}, ltr.LtrValueError, r"column 'qid' \(qid\) must have an id in every row"),
    "a bad score": ({"data": SMALL | {"new": [0, np.nan]}, "score": ["score", "new"], "metrics": "mrr"}, ltr.LtrValueError, "^new: the scores must not be NaN: got nan at row 1"),
    "lengths": ({"data": SMALL | {"score": [1, 2, 3]}}, ltr.LtrValueError, "^score: the scores must .* per row .*: got 3"),
    "more weights": ({"data": SMALL | {"w": [1] * 3}, "query_weight": "w"}, ltr.LtrValueError, r"\(query_weight\) must have one label per query .* Got 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_column_is_refused(case: str) -> None:
    arguments, kind, message = WRONG[case]
    with pytest.raises(kind, match=message):
        ltr.evaluate(**arguments)


@pytest.mark.parametrize(
    ("models", "arguments", "kind", "message"),
    [
        (["score", "nwe"], {"data": ROWS}, ltr.LtrKeyError, "no column 'nwe'. Did you mean 'new'"),
        (["score", "new"], {"data": ROWS, "y_true": ROWS["label"]}, ltr.LtrTypeError, "y_true does not go with data="),
        (["score", "new"], {"y_true": ROWS["label"]}, ltr.LtrTypeError, "or as columns of data=. Got a list"),
        ({"a": [1, 2], "b": [2, 1]}, {}, ltr.LtrTypeError, "y_true is needed with scores, or data="),
        (["score"], {"data": ROWS}, ltr.LtrTypeError, "compare needs two models or more"),
        ({"a": "score", "b": ROWS["new"]}, {"data": ROWS}, ltr.LtrTypeError, "models= must name .* Got a Series"),
        (ROWS[["score", "new"]], {"data": ROWS}, ltr.LtrTypeError, "models= must name .* Got a DataFrame"),
        (["score", "new"], {"data": ROWS, "cluster": ARRAYS["month"]}, ltr.LtrTypeError, "cluster= must name"),
        (["score", "new"], {"data": ROWS, "weight": "w"}, ltr.LtrTypeError, "compare has no option 'weight'"),
        (
            ["score", "new"],
            {"data": ROWS.assign(label=-1)},
            ltr.LtrValueError,
            r"column 'label' \(label\) must not be negative",
        ),
    ],
)
def test_what_is_no_column_is_refused_in_a_comparison(
    models: Any, arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ltr.compare(models, **arguments)


def test_results_take_no_table() -> None:
    result = ltr.evaluate(data=ROWS, metrics="map")
    with pytest.raises(ltr.LtrTypeError, match="data is not used in a comparison of results"):
        ltr.compare({"a": result, "b": result}, data=ROWS)
