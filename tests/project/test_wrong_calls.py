"""Calls with wrong arguments: each error says what to pass, where Python would only say that they do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
import sklearn.metrics
from sklearn.dummy import DummyRegressor

import ltr_metrics as ltr
from ltr_metrics import catboost, io, lightgbm, xgboost
from ltr_metrics import sklearn as ltr_sklearn
from ltr_metrics._rows.signatures import explaining_calls

Y, S, QID = [1, 0, 2, 0], [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]
FRAME = pd.DataFrame({"qid": QID, "label": Y, "score": S})


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions and metric classes, and the classes that users make."""
    for module in (ltr, io, lightgbm, xgboost, ltr_sklearn, catboost):
        for name in module.__all__:
            one = getattr(module, name)
            is_metric = inspect.isclass(one) and issubclass(one, ltr.Metric) and "NAME" in vars(one)
            is_made = one in (ltr.Queries, ltr_sklearn.QueryRanker, xgboost.Monitor, catboost.EvalMetric)
            if inspect.isfunction(one) or is_metric or is_made:
                yield f"{module.__name__}.{name}", one


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_an_unknown_argument_is_answered_with_those_that_there_are(name: str) -> None:
    word = name.rpartition(".")[2]
    with pytest.raises(ltr.LtrTypeError, match=f"^{word} has no argument 'metrcs'.* Its arguments are ") as caught:
        PUBLIC[name](metrcs="map")
    known = [one for one in inspect.signature(PUBLIC[name]).parameters if one != "self"]
    assert all(one in str(caught.value) for one in known)
    assert ("Did you mean 'metrics'" in str(caught.value)) == ("metrics" in known)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ltr.evaluate(FRAME), r'Pass a table as data=, and name its columns: data=table, label="label"'),
        (lambda: ltr.Queries({"label": Y}), "Pass a table as data="),
        (lambda: ltr.evaluate({"q": {"a": 1}}, {"q": {"a": 0.5}}), r"read by from_qrels\(qrels, run\)"),
        (lambda: ltr.evaluate(Y, S, QID), "evaluate takes only y_true and y_score by position. Got 3.*: data=.* qid="),
        (lambda: ltr.evaluate(Y, S, qid=QID, metric="map"), "has no argument 'metric'. Did you mean 'metrics'"),
        (lambda: ltr.evaluate(Y, S, groups=[2, 2]), "Did you mean 'group' or 'qid'"),
        (lambda: ltr.evaluate(Y, S, qid=QID, weights=Y), "Did you mean 'sample_weight' or 'query_weight'"),
        (lambda: ltr.evaluate(Y, S, qid=QID, k=5), 'Write the cutoff into the name of the metric, such as "ndcg@10"'),
        (lambda: ltr.compare({"a": S, "b": S}, Y, query_id=QID), "compare has no argument|compare has no option"),
        (lambda: ltr.compare({"a": S, "b": S}, Y, query_id=QID), "Did you mean 'qid'"),
        (lambda: ltr.compare({"a": S, "b": S}, Y, QID), "compare takes only models and y_true by position. Got 3"),
        (lambda: ltr.Queries(Y, QID), "Queries takes only y_true by position. Got 2.*: qid=, group="),
        (lambda: ltr.NDCG(10), "NDCG takes no argument by position. Got 1. Pass the others by name: k=, gain="),  # type: ignore[misc]
        (lambda: ltr.MAP(at=10), "MAP has no argument 'at'. Did you mean 'k'"),  # type: ignore[call-arg]
        (lambda: ltr.metric("ndcg", 10), "metric takes only name by position. Got 2.$"),  # type: ignore[call-arg]
        (lambda: ltr.gate(None), "gate needs rules."),  # type: ignore[call-arg, arg-type]
        (lambda: io.read_letor("a", 5), "read_letor takes only paths by position.*: n_features="),  # type: ignore[call-arg, arg-type]
        (lambda: lightgbm.early_stopping("map", patience=5), "Did you mean 'rounds'"),  # type: ignore[call-arg]
        (lambda: ltr_sklearn.make_scorer(ltr.evaluate), "evaluate is a function of this package and no metric"),
        (
            lambda: sklearn_scorer()(DummyRegressor().fit([[0]], [0]), [[0], [0]], [1, 0]),
            "Got neither. In scikit-learn, ltr_metrics.sklearn.make_scorer makes a scorer that knows the queries",
        ),
    ],
)
def test_wrong_calls_say_how_to_call(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        call()


def sklearn_scorer() -> Any:
    return sklearn.metrics.make_scorer(ltr.evaluate)


def test_errors_of_what_a_function_calls_stay() -> None:
    @explaining_calls
    def outer() -> None:
        (lambda: None)(1)  # type: ignore[call-arg, misc]

    with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given") as caught:
        outer()
    assert not isinstance(caught.value, ltr.LtrError)
