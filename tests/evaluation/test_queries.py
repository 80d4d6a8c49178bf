"""What may be passed, and what is refused with which words: nothing wrong becomes a number."""

from __future__ import annotations

import gc
import warnings
import weakref
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import ndcg_score

import ltr_metrics as ltr
from ltr_metrics import counterfactual
from ltr_metrics.interleaving import ClickModel, simulate

Y, S, GROUP = [0, 1, 2, 0], [0.1, 0.4, 0.3, 0.2], [2, 2]
NAN = float("nan")


def infinite(ranks: np.ndarray) -> np.ndarray:
    return np.where(ranks == 1, np.inf, 1.0)


def one(ranks: np.ndarray) -> list[float]:
    return [1.0]


def scaled(factor: float) -> Any:
    def gain(grades: np.ndarray) -> np.ndarray:
        return factor * grades

    return gain


def objects(*values: Any) -> Any:
    return np.array([*values, None], dtype=object)[:-1]


# fmt: off
BAD: list[tuple[dict[str, Any], str]] = [
    ({"y_score": [0.1, NAN, 0.3, NAN]}, r"y_score must not be NaN: got nan at row 1 \(query 0\) \(such rows: 2\)"),
    ({"y_score": [NAN, 0.2, 0.3, NAN], "retrieved": [0, 1, 1, 1]}, r"nan at row 3 \(query 1\) \(such rows: 1\)"),
    ({"y_score": [0.1, 0.2, 0.3]}, "y_score must have one entry per row.*3 entries for 4 rows"),
    ({"y_score": [[0.1, 0.2], [0.3, 0.4], [0, 0], [1, 1]]}, r"one-dimensional.*shape \(4, 2\)"),
    ({"y_score": ["a", "b", "c", "d"]}, "y_score must be numbers .* got 'a' at row 0"),
    ({"y_true": [[0, 1], [2, 0]]}, "If each entry is a query, concatenate them, and pass their lengths as group"),
    ({"y_true": [[0, 1, 0], [2]]}, "entries of different lengths. If each entry is a query"),
    ({"y_true": csr_matrix([Y])}, "y_true must be an array or a list, got a csr_matrix"),
    ({"y_true": (grade for grade in Y)}, "y_true must be an array or a list, got a generator"),
    ({"y_true": ltr.Queries(Y, group=[4]), "group": None}, r"y_true.evaluate\(y_score, metrics\)"),
    ({"y_true": "label"}, r"y_true must be an array or a list, got a str\. Pass the column itself, as in frame\['label'\]"),
    ({"group": 4}, "group must be an array or a list, got an int"),
    ({"y_score": objects("1", "2", "3", "4")}, "got '1' at row 0"),
    ({"y_true": [0, 1, NAN, 0]}, r"y_true must be finite: got nan at row 2 \(query 1\).*can be dropped"),
    ({"y_true": [0, None, 2, 0]}, "y_true must be numbers without missing values|must be finite"),
    ({"y_true": [0, -1, 2, 0]}, r"must not be negative: got -1.0 at row 1 \(query 0\).*shift"),
    ({"y_true": [], "y_score": [], "group": []}, "y_true must not be empty"),
    ({"y_true": np.ma.masked_equal(Y, 2)}, "no masked entries"),
    ({"group": [2, 3]}, "2 sizes add up to 5, but there are 4 rows"),
    ({"group": [7, 7, 9, 9]}, "4 sizes add up to 32.*Pass one id per row as qid"),
    ({"group": [2, 0, 2]}, "at least 1: got 0 for query 1. Leave empty queries out"),
    ({"group": [2.5, 1.5]}, "whole sizes.*got 2.5 for query 0"),
    ({"qid": [1, 1, 2, 2]}, "either qid.*or group.*Got both"),
    ({"group": None}, "either qid.*Got neither"),
    ({"retrieved": [False] * 4}, "False in every row.*one part of several, for concat, evaluate them together with the rows"),
    ({"retrieved": [0.1, 0.2, 1, 0]}, "retrieved must be True or False"),
    ({"retrieved": ["yes", "no", "yes", "no"]}, "retrieved must be True or False for each row: got yes at row 0"),
    ({"judged": objects(True, None, True, True)}, "judged must be True or False for each row: got None at row 1"),
    ({"judged": [True, False, True, True]}, r"above 0 where judged is False: got 1.0 at row 1 \(query 0\)"),
    ({"y_true": [0] * 4, "judged": [False] * 4, "unjudged": "drop"}, "leaves no document"),
    # metrics and the labels that they are defined on
    ({"metrics": []}, "at least one metric"),
    ({"metrics": [ndcg_score]}, "the function raised TypeError.* 'ndcg_score' of scikit-learn is 'ndcg_lin' here"),
    ({"metrics": ["ndcg_exp(gain=linear)"]}, "gives gain twice"),
    ({"metrics": "ndcg@10,map"}, r"names of several metrics. Pass them as a list: \['ndcg@10', 'map'\]"),
    ({"metrics": [ltr.DCG(gain=scaled(1)), ltr.DCG(gain=scaled(2))]}, r"both named 'dcg\(gain=gain\)'"),
    ({"metrics": [ltr.DCG(discount=infinite)]}, "one finite number of at least 0 for each of the ranks 1 to 2"),
    ({"metrics": [ltr.DCG(discount=one)]}, "one finite number of at least 0 for each of the ranks 1 to 2"),
    ({"metrics": ["err@1"], "y_true": [0, 1, 5, 0]}, r"no label above max_grade=4: got 5, first at row 2 \(query 1\)"),
    ({"metrics": ["err(p=label)"]}, "between 0 and 1.*got 2, first at row 2"),
    ({"metrics": ["map"], "y_true": [0, 0.5, 2, 0]}, r"strictly between 0 and 1.*0.5, first at row 1.*map\(rel=0.5\)"),
    ({"metrics": None, "y_true": [0, 0.5, 2, 0]}, "one of the default metrics: name the metrics that you need"),
    ({"metrics": ["ndcg_exp"], "y_true": [0, 1, 1024, 0]}, "finite in float64.*grade 1024, first at row 2.*linear gain"),
    ({"metrics": ["dcg_exp"], "y_true": [0, 1, 1023, 1023]}, "finite in float64.*grade 1023"),
    ({"metrics": ["ndcg(gain=[0,1])"]}, "whole grades 0 to 1: got 2, first at row 2"),
    ({"metrics": ["ndcg(gain=[-1,0,1])"]}, "must not be negative.*grade 0"),
    ({"metrics": ["ndcg(gain=[0,3,1])"]}, "must not fall as the grade rises.*grade 2, first at row 2.*Use dcg"),
    ({"metrics": "map(rel=2)", "no_relevant": "error"}, "undefined for query 0"),
    ({"no_relevant": NAN}, "finite number"),
    ({"n_threads": 0}, "n_threads must be a whole number of at least 1"),
    ({"n_threads": 1.5}, "n_threads must be a whole number of at least 1"),
    ({"metrics": "mean_of(margn)", "columns": {"margin": [1] * 4}}, "Did you mean 'margin'.*Given: margin"),
    ({"metrics": "mean_of(m)", "columns": {"m": [1, NAN, 2, 3]}}, r"columns\['m'\] must be finite.*got nan at row 1"),
    # weights and segments
    ({"query_weight": [1, 2, 3]}, "one entry per query.*got 3 for 2 queries.*sample_weight"),
    ({"query_weight": [1, -2]}, "not negative: got -2.0 at query 1"),
    ({"query_weight": {0: 1.0}}, "no entry for query 1"),
    ({"query_weight": pd.Series([1.0, 5.0], index=[1, 1])}, "holds an id twice"),
    ({"query_weight": [1, 1], "sample_weight": [1] * 4}, "not both"),
    ({"sample_weight": [1, 1, NAN, 1]}, r"sample_weight must be finite.*row 2 \(query 1\)"),
    ({"by": ["a"] * 3}, r"one label per query \(2 labels, .*one per row \(4 labels\). Got 3"),
    ({"by": ["a", "a", "a", "b"]}, r"one label per query: row 3 \(query 1\) has 'b', another.*'a'"),
    ({"by": {0: "a", 1: "b"}}, "names of segmentations.*pandas Series with the ids"),
    ({"by": pd.Series(["a", "b"], index=[5, 7])}, "by has no entry for query 0"),
    # positions
    ({"y_score": ltr.Positions([NAN] * 4)}, "no retrieved document has a position"),
    ({"y_score": ltr.Positions([1, 1, 1, 2])}, "not have the same position: got 1 at row 0 and again at row 1"),
    ({"y_score": ltr.Positions([1, -2, 1, 2])}, "whole numbers, 0 or more.*-2"),
    ({"y_score": ltr.Positions([1, 1.5, 1, 2])}, "whole numbers, 0 or more.*1.5"),
    ({"y_score": ltr.Positions([NAN, 1, 1, 2]), "retrieved": [1, 0, 0, 0]}, "no retrieved document has a position"),
]
# fmt: on


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input_is_one_clear_error(options: dict[str, Any], message: str) -> None:
    call = {"y_true": Y, "y_score": S, "group": GROUP, "metrics": ["ndcg@10", "mrr"]} | options
    with pytest.raises(ltr.LtrError, match=message) as error:
        ltr.evaluate(**call)
    assert isinstance(error.value, (ValueError, TypeError))


def test_mistakes_in_other_functions() -> None:
    with pytest.raises(ltr.LtrTypeError, match=r"not Positions, which evaluate and compare take.*sign changed"):
        ltr.tie_audit(Y, ltr.Positions([1, 2, 1, 2]), group=GROUP, metrics="mrr")
    with pytest.raises(ltr.LtrTypeError, match="tie_audit has no option 'qids'. Did you mean 'qid'"):
        ltr.tie_audit(Y, S, qids=[1, 1, 2, 2], metrics="mrr")
    with pytest.raises(ltr.LtrTypeError, match="two models or more by name.*Got a Evaluation"):
        ltr.compare(ltr.evaluate(Y, S, group=GROUP, metrics="mrr"))  # type: ignore[arg-type]


QID = [1, 1, 2, 2]
OF_ROWS: dict[str, Any] = {"y_score": S, "qid": QID, "sample_weight": S, "docid": list("abcd"), "retrieved": [1] * 4}
OF_ROWS |= {"judged": [1] * 4, "by": QID, "columns['m']": S}


def call_with(name: str, column: Any) -> dict[str, Any]:
    """Return the arguments of an evaluation, one of which is this column."""
    call: dict[str, Any] = {"y_true": Y, "y_score": S, "metrics": ["mrr", "mean_of(m)"], "columns": {"m": S}}
    call |= {} if name == "group" else {"qid": QID}
    return call | ({"columns": {"m": column}} if name == "columns['m']" else {name: column})


@pytest.mark.parametrize("name", OF_ROWS)
def test_pandas_objects_with_different_indexes_are_refused(name: str) -> None:
    """Their rows would be paired by position; arrays have no index, so for them the order of rows counts."""
    column = pd.Series(OF_ROWS[name], index=[3, 2, 1, 0])
    with pytest.raises(ltr.LtrValueError, match="have different pandas indexes") as error:
        ltr.evaluate(**call_with(name, column) | {"y_true": pd.Series(Y)})
    assert name in str(error.value)
    ltr.evaluate(**call_with(name, column.to_numpy()) | {"y_true": pd.Series(Y)})


class OnGraphicsCard:
    """What cupy's arrays and torch's tensors offer: an error that names their own method."""

    def __init__(self, values: Any, error: type[Exception]) -> None:
        self.values, self.error = np.asarray(values), error
        self.shape, self.dtype, self.ndim = self.values.shape, self.values.dtype, self.values.ndim

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise self.error("Use .get()!")


@pytest.mark.parametrize("error", [TypeError, RuntimeError])  # of cupy, and of torch
@pytest.mark.parametrize("name", ["y_true", "group", "query_weight", *OF_ROWS])
def test_arrays_that_numpy_cannot_read_are_refused_with_a_remedy(name: str, error: type[Exception]) -> None:
    values = OF_ROWS.get(name, Y if name == "y_true" else [2, 2])
    with pytest.raises(ltr.LtrTypeError, match=r"must be an array that NumPy can read\..* Use \.get\(\)!") as refused:
        ltr.evaluate(**call_with(name, OnGraphicsCard(values, error)))
    assert str(refused.value).startswith(name)


@pytest.mark.parametrize(
    "made", [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v[:1], v[1:]])]
)
def test_kinds_of_columns(made: Any) -> None:
    expected = ltr.evaluate(Y, S, group=GROUP, metrics=["ndcg", "mrr"])
    for ids in (["b", "b", "a", "a"], [2, 2, 1, 1]):
        result = ltr.evaluate(made(Y), made(S), qid=made(ids), metrics=["ndcg", "mrr"])
        assert result.mean == expected.mean
        assert result.qid.tolist() == ids[::2]


@pytest.mark.parametrize(
    "scores",
    [
        [2**53 + 1, 2**53],
        np.array([2**63 + 1, 2**63], dtype=np.uint64),
        pd.Series([-(2**53) - 1, 0]),
        pa.array([2**53 + 1, 2**53]),
        objects(np.int64(2**53 + 1), np.int64(2**53)),
        objects(2**70, 0.5),
    ],
)
def test_integers_that_float64_would_merge_are_refused(scores: Any) -> None:
    with pytest.raises(ltr.LtrValueError, match=r"y_score must not hold integers beyond 2\*\*53.* at row 0.*ranks"):
        ltr.evaluate([1, 0], scores, qid=[1, 1], metrics="mrr")


@pytest.mark.parametrize(
    "scores",
    [
        [Decimal("0.1"), Decimal("0.2"), Decimal("0.10")],
        [Fraction(1, 3), Fraction(2, 3), Fraction(2, 6)],
        [2.0**60, np.inf, 2.0**60],
        [2**53 - 1, 2**53, 0],
    ],
)
def test_scores_that_float64_tells_apart_are_taken(scores: Any) -> None:
    assert ltr.evaluate([0, 1, 0], scores, qid=[1, 1, 1], metrics="mrr")["mrr"] == 1.0


def test_weights_by_query_row_and_id() -> None:
    qid, s = ["x", "x", "a", "a"], [0.4, 0.1, 0.3, 0.2]

    def evaluate(qid: Any = qid, **weights: Any) -> ltr.Evaluation:
        return ltr.evaluate(Y, s, qid=qid, metrics="mrr", **weights)

    np.testing.assert_array_equal(evaluate().per_query["mrr"], [0.5, 1])
    expected = pytest.approx((3 * 0.5 + 1) / 4)
    for weight in ([3, 1], {"a": 1, "x": 3}, pd.Series({"a": 1.0, "x": 3.0}), pd.Series([3.0, 1.0])):
        assert evaluate(query_weight=weight)["mrr"] == expected
    for ids, row_weights in ((qid, [2, 4, 1, 1]), (["x", "a", "x", "a"], [2, 1, 4, 1])):
        assert evaluate(ids, sample_weight=row_weights).weight.tolist() == [3, 1]
    assert np.isnan(evaluate(query_weight=[0, 0])["mrr"])
    for index in (range(1, 3), [7, 5]):  # pandas' own 0, 1, 2, ... is no index of ids, and any other is
        by_id = pd.Series([1.0, 2.0], index=index)
        assert evaluate(np.repeat(index[::-1], 2), query_weight=by_id).weight.tolist() == [2, 1]


def test_nothing_is_shared_that_could_change() -> None:
    y, s = np.array(Y, dtype=float), np.array([-0.0, np.inf, 0.3, 0.2])
    given = y.copy(), s.copy()
    queries = ltr.Queries(y, group=GROUP, query_weight=[1, 2])
    result = queries.evaluate(s, ["mrr", "dcg_lin"])
    assert (y.tolist(), s.tolist(), np.signbit(s[0])) == (*map(np.ndarray.tolist, given), True)
    y[:] = 0
    assert queries.evaluate(s, "dcg_lin")["dcg_lin"] == result["dcg_lin"]
    for array in (result.qid, result.n_documents, result.n_relevant, result.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7

    def squared_in_place(grades: np.ndarray) -> np.ndarray:
        grades *= grades
        return grades

    both = queries.evaluate(s, [ltr.DCG(gain=squared_in_place), "dcg_lin"])
    assert both["dcg_lin"] == result["dcg_lin"] != both["dcg(gain=squared_in_place)"]


def test_memory_is_freed_with_the_last_reference() -> None:
    queries = ltr.Queries(Y, group=GROUP)
    queries.evaluate([0.0] * 4, ["ndcg@10", "map", "mrr", "err(max_grade=2)"])
    alive = weakref.ref(queries)
    gc.disable()
    try:
        del queries
        assert alive() is None  # no circle that would wait for the collector
    finally:
        gc.enable()


# -- warnings ---------------------------------------------------------------------------------------------------------


def warnings_of(y_true: Any, *scores: Any, metrics: str = "ndcg_lin@10", **options: Any) -> list[str]:
    """Return the warnings of one `Queries` that is evaluated once for each of the scores."""
    queries = ltr.Queries(y_true, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for of_model in scores:
            queries.evaluate(of_model, metrics)
    assert all(issubclass(one.category, ltr.LtrWarning) for one in caught)
    return [str(one.message) for one in caught]


def test_err_warns_once_a_queries_that_the_scale_is_too_long() -> None:
    (message,) = warnings_of([0, 1, 1, 0], S, S, metrics="err@10", group=GROUP)
    assert "max_grade=4 and the highest label is 1" in message
    assert "err(max_grade=1)" in message
    assert warnings_of([0, 3, 1, 0], S, metrics="err", group=GROUP) == []
    assert warnings_of([0, 1, 1, 0], S, metrics="err(max_grade=1)", group=GROUP) == []


@pytest.mark.parametrize("grades", [2, 5])
def test_swapped_labels_and_scores_are_told_once_for_each_queries(grades: int) -> None:
    rng = np.random.default_rng(grades)
    y, qid, scores = rng.integers(0, grades, 60), np.repeat(np.arange(6), 10), rng.random(60)
    (message,) = warnings_of(scores, y, y, qid=qid)
    assert f"whole numbers from 0 to {grades - 1}" in message
    assert "60 different values in 60 rows" in message
    assert warnings_of(scores.round(3).astype(np.float32), y.astype(np.float32), qid=qid)
    assert warnings_of(y, scores, qid=qid) == []
    with pytest.raises(ltr.LtrError, match="whole grades"), pytest.warns(ltr.LtrWarning, match="Did you swap"):
        ltr.evaluate(scores, y, qid=qid, metrics="err@10")
    with pytest.raises(ltr.LtrValueError, match=r"must not be negative.*If -1 stands for padding .*judged=False"):
        ltr.Queries([1, -1, 0, -1], qid=QID)
    with pytest.raises(ltr.LtrValueError, match=r"must not be negative.*Did you swap y_true and y_score\?"):
        ltr.evaluate(scores - 0.5, y, qid=qid)


RANKING = ltr.make_ranking(n_queries=40, random_state=0)


def test_labels_that_are_passed_as_ids_are_told() -> None:
    X, y, qid = RANKING
    for column in (y, y.astype(str).tolist()):
        (message,) = warnings_of(y, X[:, 0], qid=column)
        assert "In each of the 5 queries all labels are equal, although there are 5 different" in message
    (message,) = warnings_of(qid, X[:, 0], qid=y, metrics="ndcg_lin@10")
    assert "40 different labels, each in consecutive rows, like query ids, and 5 different ids" in message
    with pytest.warns(ltr.LtrWarning, match="Did you swap y and qid"):
        ltr.train_test_split(X, y=qid, qid=y)
    with pytest.warns(ltr.LtrWarning, match="Did you pass the labels as qid"):
        ltr.train_test_split(X, y, qid=y)
    ltr.train_test_split(X, y, qid=qid)
    assert warnings_of(np.ones(30), np.arange(30), qid=np.arange(30) % 2) == []  # all documents of one grade
    constant = np.repeat([0, 1], 15)
    assert warnings_of(constant, np.arange(30) + 0.5, group=[15, 15]) == []  # sizes are no labels


def test_positions_that_are_passed_as_scores_are_told_once() -> None:
    X, y, qid = RANKING
    up = pd.Series(X[:, 0]).groupby(qid).rank(method="first")
    down = pd.Series(-X[:, 0]).groupby(qid).rank(method="first")
    for positions in (down, (down - 1).to_numpy(), down.astype(int).tolist()):
        queries = ltr.Queries(y, qid=qid)
        with pytest.warns(ltr.LtrWarning, match=r"like positions.*pass Positions\(y_score\)"):
            queries.evaluate(positions, "mrr")
        queries.evaluate(positions, "mrr")
    scattered = np.random.default_rng(0).permutation(len(y))
    with pytest.warns(ltr.LtrWarning, match="like positions"):
        ltr.evaluate(y[scattered], down.to_numpy()[scattered], qid=qid[scattered])
    with pytest.warns(ltr.LtrWarning, match="like positions"):
        ltr.compare({"live": X[:, 0], "new": down}, y, qid=qid, metrics="mrr", test="t")
    noise = pd.Series(X[:, 15]).groupby(qid).rank(method="first")
    for scores in (up, noise, -noise, down + 0.5, down.clip(upper=5), ltr.Positions(down), -np.arange(len(y))):
        assert warnings_of(y, scores, qid=qid) == []


RNG = np.random.default_rng(0)
SHOWN = RNG.integers(1, 5_000, 200)
FRACTIONAL_LABELS = {
    "click rates": RNG.binomial(SHOWN, 0.05) / SHOWN,
    "means of raters": RNG.integers(0, 5, (200, 3)).mean(axis=1),
    "dwell times": RNG.gamma(2, 30, 200),
}
SCORES = {
    "a model's": RNG.normal(size=200),
    "a count": RNG.poisson(40, 200) * (RNG.random(200) < 0.9),
    "stars": RNG.integers(1, 6, 200),
    "constant": np.zeros(200),
    "ranks": np.tile(np.arange(20), 10),
}


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("labels", FRACTIONAL_LABELS)
def test_fractional_labels_that_are_meant_give_no_warning(labels: str, scores: str) -> None:
    assert warnings_of(FRACTIONAL_LABELS[labels], SCORES[scores], group=[20] * 10) == []


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        (np.arange(20), "20 of 20 queries have one document"),
        ([*range(19), 19, 19], "19 of 20 queries have one document"),
        (["a"] * 200, "All 200 rows are of 1 query, a"),
        (np.arange(19), None),
        ([*range(18), 18, 18, 19, 19], None),
        (["a"] * 199, None),
        ([*["a"] * 199, "b"], None),
    ],
)
def test_ids_that_name_no_queries_are_a_warning(qid: Any, message: str | None) -> None:
    y, s = np.arange(len(qid)) % 2, np.arange(len(qid))
    found = warnings_of(y, s, metrics="mrr", qid=qid)
    assert len(found) == (message is not None)
    assert warnings_of(y, s, metrics="mrr", group=ltr.qid_to_group(qid)) == []  # sizes say what the queries are
    if message is not None:
        assert message in found[0]
        with pytest.warns(ltr.LtrWarning, match=message):
            ltr.tie_audit(y, s, qid=qid, metrics="mrr")


@pytest.mark.parametrize("sort", [{}, {"ascending": True}])
def test_sizes_by_frequency_are_a_warning(sort: dict[str, bool]) -> None:
    qid = pd.Series(["b"] * 2 + ["a"] * 5 + ["c"] * 3)
    sizes = qid.value_counts(**sort)
    for evaluate in (ltr.group_to_qid, lambda group: ltr.Queries(np.arange(10) % 3, group=group)):
        with pytest.warns(ltr.LtrWarning, match=r"value_counts.*qid_to_group.*group\.to_numpy") as caught:
            evaluate(sizes)
        assert len(caught) == 1
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "sizes",
    [
        pd.Series(["b"] * 2 + ["a"] * 5 + ["c"] * 3).value_counts(sort=False),  # in order of appearance
        pd.Series(["b"] * 5 + ["a"] * 3 + ["c"] * 2).groupby(["b"] * 5 + ["a"] * 3 + ["c"] * 2, sort=False).size(),
        pd.Series(["b"] * 2 + ["a"] * 2).value_counts(),  # all orders are the same
        pd.Series(["a"] * 3 + ["b"] * 2).value_counts(),  # the order of sorted ids
        pd.Series(["b"] * 2 + ["a"] * 5 + ["c"] * 3).value_counts().to_numpy(),
        pd.DataFrame({"count": [3, 2, 1]})["count"],
        pl.Series("count", [3, 2, 1]),
    ],
)
def test_other_sizes_give_no_warning(sizes: Any) -> None:
    assert ltr.group_to_qid(sizes).tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()


# -- values of queries in another order ------------------------------------------------------------

BY_QUERY: dict[str, Any] = {
    "query_weight": [5.0, 1.0, 3.0], "by": ["a", "b", "a"], "by[...]": ["a", "b", "a"], "cluster": ["u", "v", "w"]
}  # fmt: skip


@pytest.mark.parametrize("name", BY_QUERY)
def test_an_index_of_a_plain_list_that_holds_the_ids_in_another_order_is_refused(name: str) -> None:
    """As of groupby(..., as_index=False): values by id, in the order of ids, under the index 0, 1, 2, ..."""
    qid, values = [2, 2, 0, 0, 1, 1], BY_QUERY[name]
    by_id = pd.Series(values)

    def evaluate(one: Any, qid: Any = qid) -> ltr.Evaluation:
        option = {"by": {"seg": one}} if name == "by[...]" else {name: one}
        return ltr.evaluate([1, 0] * 3, range(6), qid=qid, metrics="mrr", **option)

    message = r"has the index 0, 1, 2, \.\.\. of a plain list, .* by position, where 2 is the first query\. Pass a dict for values by id, or"
    for ids in (qid, list(map(str, qid)), np.array(qid, dtype=float)):
        with pytest.raises(ltr.LtrValueError, match=message):
            evaluate(by_id, ids)
    in_order = evaluate(by_id.to_numpy())
    assert evaluate(pd.Series(values, index=[2, 0, 1])).to_dict() == in_order.to_dict()
    evaluate(by_id, [0, 0, 1, 1, 2, 2])  # the same ids in their order
    evaluate(by_id, [7, 7, 5, 5, 6, 6])  # other ids, for which it is no index
    by_row = pd.DataFrame({"qid": [2, 0, 1], "label": 1, "s": 1.0})  # one document a query: a column of the rows
    if name != "query_weight":
        options = {"by": {"seg": by_id}} if name == "by[...]" else {name: by_id}
        ltr.evaluate(by_row["label"], by_row["s"], qid=by_row["qid"], metrics="mrr", **options)
    result = ltr.evaluate([1, 0] * 3, range(6), qid=qid, metrics="mrr")
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.compare({"a": result, "b": result}, **({"by": {"seg": by_id}} if name == "by[...]" else {name: by_id}))
    if name == "cluster":
        with pytest.raises(ltr.LtrValueError, match=message):
            ltr.intervals(result, cluster=by_id)


# -- repeated documents ----------------------------------------------------------------------------

TWICE: dict[str, Any] = {"qid": [1, 1, 2, 2], "docid": ["a", "b", "c", "c"]}
TABLE = {"label": Y, "s": S} | TWICE
OF_DOCUMENTS: dict[str, Any] = {
    "evaluate": lambda: ltr.evaluate(Y, S, metrics="mrr", **TWICE),
    "numbers and their texts": lambda: ltr.Queries(Y, qid=TWICE["qid"], docid=objects(7, 8, 7, "7")),
    "numbers of two types": lambda: ltr.Queries(Y, qid=TWICE["qid"], docid=objects(7, 8, 7, 7.0)),
    "churn": lambda: ltr.churn(S, S, **TWICE),
    "evaluate_batches": lambda: ltr.evaluate_batches([TABLE], scores={"s": "s"}, docid="docid", metrics="mrr"),
    "simulate": lambda: simulate(Y, {"a": S, "b": S}, method="ppm", clicks=ClickModel.informational(3), **TWICE),
    "clicks": lambda: counterfactual.evaluate([0, 1, 1, 0], S, propensity=[1, 1, 1, 1], metrics="dcg", **TWICE),
}


@pytest.mark.parametrize("function", OF_DOCUMENTS)
def test_a_document_occurs_once_in_a_query(function: str) -> None:
    with pytest.raises(ltr.LtrValueError, match=r"only once in a query\. '[c7]' is at row 2 .* and again at row 3"):
        OF_DOCUMENTS[function]()


def test_the_audit_reports_repeated_documents_instead() -> None:
    assert ltr.audit(Y, {"s": S}, metrics="mrr", **TWICE).data.repeated == {
        "n_rows": 1, "n_queries": 1, "qid": 2, "docid": "c"
    }  # fmt: skip
    assert ltr.Queries(Y, qid=[1, 1, 2, 2], docid=["a", "b", "a", "b"]).n_queries == 2  # in two queries


# -- what is given may change later ----------------------------------------------------------------


def given() -> dict[str, Any]:
    """Return new arrays for all options that take arrays."""
    rng = np.random.default_rng(0)
    n, judged = 40, rng.random(40) < 0.8
    return {
        "y_true": np.where(judged, rng.integers(0, 3, n), 0).astype(float),
        "qid": np.repeat(np.arange(8), 5),
        "sample_weight": rng.integers(1, 5, n).astype(float),
        "docid": np.array([f"d{i}" for i in range(n)]),
        "retrieved": rng.random(n) < 0.9,
        "judged": judged,
        "columns": {"margin": rng.normal(size=n), "price": pd.Series(rng.normal(size=n)), "cost": list(range(n))},
        "by": {"device": np.repeat(["a", "b"], 20)},
        "cluster": np.repeat(np.arange(4), 10),
    }


def spoil(*options: Any) -> None:
    """Overwrite all arrays, as somebody does who fills them again."""
    for values in options:
        if isinstance(values, dict):
            spoil(*values.values())
        elif isinstance(values, pd.Series):
            values.iloc[:] = 7
        elif isinstance(values, (np.ndarray, list)):
            values[:] = [values[-1]] * len(values)


METRICS = ["ndcg@3", "judged@3", "mean_of(margin)@2", "sum_of(price)", "mean_of(cost)"]
OPTIONS: dict[str, Any] = {"metrics": METRICS, "ties": "docid"}


def of_queries() -> Any:
    data, score = given(), np.random.default_rng(1).integers(0, 3, 40).astype(float)
    queries = ltr.Queries(**data)
    yield (data,)
    result = queries.evaluate(score, **OPTIONS)
    yield result.to_dict(), result.skill, {name: one.mean for name, one in result.by["device"].items()}


def of_result() -> Any:
    data, score = given(), np.random.default_rng(1).integers(0, 3, 40).astype(float)
    result = ltr.evaluate(y_score=score, **data, **OPTIONS)
    yield data, score
    yield result.to_dict(), result.skill, result.standard_error


def of_comparison() -> Any:
    data, first = given(), np.random.default_rng(1).normal(size=40)
    second = -first
    comparison = ltr.compare({"a": first, "b": second}, **data, metrics="mrr")
    yield data, first, second
    yield str(comparison.query(3)), comparison["mrr"]


def of_positions() -> Any:
    places = np.tile([2.0, 1, 3, np.nan, 4], 8)
    positions = ltr.Positions(places)
    yield (places,)
    yield ltr.evaluate(given()["y_true"], positions, qid=given()["qid"], metrics="mrr").mean


def of_table() -> Any:
    table = {"qid": np.arange(5), "mrr": np.linspace(0, 1, 5), "documents": np.full(5, 9)}
    result = ltr.Evaluation.from_per_query(table)
    yield (table,)
    yield result.to_dict(), ltr.concat([result]).to_dict()


@pytest.mark.parametrize("door", [of_queries, of_result, of_comparison, of_positions, of_table])
@pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")
def test_what_is_given_may_change_later(door: Any) -> None:
    untouched, spoilt = door(), door()
    next(untouched)
    spoil(*next(spoilt))
    assert repr(next(spoilt)) == repr(next(untouched))


def test_what_is_shared_is_locked() -> None:
    queries = ltr.Queries(**given())
    for name in ("qid", "sizes", "n_ranked", "ranked_rows", "starts", "grades", "grade_index", "judged", "retrieved"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(queries, name)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        queries.column("margin")[0] = 1


def test_row_weights_near_the_largest_number_are_those_of_one() -> None:
    largest = np.finfo(float).max
    data: dict[str, Any] = {"y_true": [1, 0, 0, 1, 0], "y_score": [2, 1, 2, 1, 0], "group": [2, 3], "metrics": "mrr"}
    result = ltr.evaluate(**data, sample_weight=[largest] * 5)
    np.testing.assert_array_equal(
        ltr.Queries([1, 0], group=[2], sample_weight=[largest, largest / 2]).weight, 0.75 * largest
    )
    assert result.mean == ltr.evaluate(**data).mean
    assert result.standard_error["mrr"] == ltr.evaluate(**data).standard_error["mrr"]
