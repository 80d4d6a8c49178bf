"""Two pandas objects with different indexes are refused at every door, whichever two arguments they are.

Their rows would be paired by position, against their labels.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr
import ltr_metrics.dask
import ltr_metrics.spark
from ltr_metrics import counterfactual, interleaving, xgboost
from ltr_metrics.report import summarize
from ltr_metrics.sklearn import QueryRanker, make_scorer

pytestmark = pytest.mark.integration

X, Y, QID = ltr.make_ranking(n_queries=12, n_features=4, random_state=0)
N = len(Y)
WITHIN = np.arange(N) - np.repeat(np.flatnonzero(np.diff(QID, prepend=-1)), ltr.qid_to_group(QID))
ROWS = {  # what each argument holds, one entry per row
    "X": X,
    "y": Y,
    "y_true": Y,
    "y_score": X[:, 0],
    "scores": X[:, 0],
    "a": X[:, 0],
    "b": X[:, 1],
    "qid": QID,
    "sample_weight": np.ones(N),
    "docid": np.arange(N),
    "retrieved": np.ones(N, dtype=bool),
    "judged": np.ones(N, dtype=bool),
    "columns": np.ones(N),
    "by": QID % 3,
    "cluster": QID % 5,
    "base_margin": np.zeros(N),
    "clicks": np.ones(N, dtype=bool),
    "position": 1 + WITHIN,  # of the document in its query
    "propensity": np.full(N, 0.5),
    "baseline": np.zeros(N),
    "document": np.zeros(N),
}
GROUP = ltr.qid_to_group(QID)
BOOSTER = lgb.train({"objective": "lambdarank", "verbose": -1}, lgb.Dataset(X, Y, group=GROUP), 2)
FITTED = QueryRanker(lgb.LGBMRanker(n_estimators=2, verbose=-1)).fit(X, Y, qid=QID)
PROPENSITIES = counterfactual.Propensities(1 / np.arange(1, 2 + WITHIN.max()))
CLICKS = interleaving.ClickModel.perfect(5)


def models_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return two models of the scores ``a`` and ``b``, with the other arguments."""
    return {"one": arguments.pop("a"), "two": arguments.pop("b")}


OPTIONS = ("qid", "sample_weight", "docid", "retrieved", "judged", "columns", "by", "cluster")
DOORS: dict[Any, tuple[tuple[str, ...], Callable[..., Any]]] = {
    ltr.Queries: (("y_true", *OPTIONS), ltr.Queries),
    ltr.evaluate: (("y_true", "y_score", *OPTIONS), ltr.evaluate),
    ltr.tie_audit: (("y_true", "y_score", *OPTIONS), ltr.tie_audit),
    ltr.explain_difference: (
        ("y_true", "y_score", *OPTIONS),
        lambda **given: ltr.explain_difference(**given, metric="ndcg@10", a="default", b="trec_eval"),
    ),
    ltr.identify_convention: (
        ("y_true", "y_score", *OPTIONS),
        lambda **given: ltr.identify_convention(**given, metric="ndcg@10", value=0.5),
    ),
    ltr.compare: (("a", "b", "y_true", *OPTIONS), lambda **given: ltr.compare(models_of(given), **given, test="t")),
    ltr.audit: (("a", "b", "y_true", *OPTIONS), lambda **given: ltr.audit(scores=models_of(given), **given)),
    ltr.churn: (("a", "b", *OPTIONS), ltr.churn),
    ltr.train_test_split: (("X", "y", "qid"), ltr.train_test_split),
    ltr.learning_curve: (
        ("X", "y", "qid", "base_margin", "sample_weight", "docid", "retrieved", "judged", "columns"),
        lambda **given: ltr.learning_curve(BOOSTER, **given),
    ),
    counterfactual.evaluate: (
        ("clicks", "scores", "position", "baseline", *OPTIONS),
        lambda **given: counterfactual.evaluate(**given, propensity=PROPENSITIES, estimator="dr"),
    ),
    "counterfactual.evaluate of propensities by row": (
        ("clicks", "scores", "propensity", "qid"),
        counterfactual.evaluate,
    ),
    counterfactual.estimate_propensities: (
        ("clicks", "position", "qid", "document", "cluster"),
        lambda **given: counterfactual.estimate_propensities(**given, method="harvesting"),
    ),
    interleaving.simulate: (
        ("a", "b", "y_true", *OPTIONS),
        lambda **given: interleaving.simulate(
            scores=models_of(given), **given, method="team_draft", clicks=CLICKS, impressions=20, random_state=0
        ),
    ),
    summarize: (
        ("a", "b", "y_true"),
        lambda y_true, **given: summarize(ltr.Queries(y_true, qid=QID), models_of(given), "mrr", **given),
    ),
    xgboost.Monitor: (
        ("X", "y", "qid", "sample_weight", "base_margin", "columns"),
        lambda **given: xgboost.Monitor("mrr", **given),
    ),
    QueryRanker.fit: (
        ("X", "y", "qid", "sample_weight"),
        lambda **given: QueryRanker(lgb.LGBMRanker(n_estimators=1, verbose=-1)).fit(**given),
    ),
    QueryRanker.score: (("X", "y", "qid", "sample_weight"), FITTED.score),
    make_scorer: (
        ("X", "y", "qid", "sample_weight"),
        lambda X, y, **given: make_scorer("mrr")(FITTED, X, y, **given),
    ),
}
TABLES = (  # no function of rows: columns are names, or the arrays are this package's own
    *(ltr.Evaluation, ltr.Comparison, ltr.evaluate_batches, ltr.metrics.LabelledQueries, QueryRanker),
    *(ltr_metrics.dask.evaluate, ltr_metrics.spark.evaluate),
    *(ltr.io.LetorData, ltr.io.TrecData, ltr.io.read_table, ltr.sklearn.QueryScorer),
    *(counterfactual.ClickEvaluation, counterfactual.ClickMetric, counterfactual.Propensities, interleaving.Outcome),
)


def public_functions() -> Iterator[tuple[str, Any]]:
    """Yield the public functions, classes and methods, each once."""
    names = (info.name for info in pkgutil.iter_modules(ltr.__path__, "ltr_metrics."))
    modules = [importlib.import_module(name) for name in names if not name.endswith(("__main__", ".cli"))]
    all_things = [getattr(module, name) for module in [ltr, *modules] for name in module_all(module)]
    things = {id(one): one for one in all_things}
    for thing in filter(callable, things.values()):
        yield thing.__name__, thing
        if inspect.isclass(thing):
            yield from (
                (f"{thing.__name__}.{name}", one) for name, one in inspect.getmembers(thing, inspect.isfunction)
            )


def module_all(module: Any) -> list[str]:
    return getattr(module, "__all__", [])


def test_each_function_of_rows_is_a_door_of_these_tests() -> None:
    known = {name_of(thing) for thing in (*DOORS, *TABLES)}
    missing = {
        name
        for name, thing in public_functions()
        if not name.split(".")[-1].startswith(("_", "set_"))  # set_fit_request is scikit-learn's
        and name_of(thing) not in known
        and len(ROWS.keys() & inspect.signature(thing).parameters.keys()) > 1
    }
    assert not missing, f"add {sorted(missing)} to DOORS, or to TABLES if rows are not what they take"


def name_of(thing: Any) -> str:
    """Return the full name of a function, which stays if another test imports its module anew."""
    return thing if isinstance(thing, str) else f"{thing.__module__}.{thing.__qualname__}"


def arguments_of(names: tuple[str, ...], as_pandas: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments, of which some have an index."""
    given: dict[str, Any] = {name: ROWS[name] for name in names}
    for name, index in as_pandas.items():
        values = given[name]
        given[name] = pd.DataFrame(values, index=index) if values.ndim == 2 else pd.Series(values, index=index)
    return given | ({"columns": {"price": given["columns"]}} if "columns" in given else {})


PAIRS = [(door, *pair) for door, (names, _) in DOORS.items() for pair in itertools.combinations(names, 2)]


@pytest.mark.parametrize(("door", "first", "second"), PAIRS, ids=lambda one: getattr(one, "__qualname__", str(one)))
def test_two_indexes_that_differ_are_refused(door: Any, first: str, second: str) -> None:
    names, call = DOORS[door]
    index = np.arange(N)
    with pytest.raises(ltr.LtrValueError, match="different pandas indexes"):
        call(**arguments_of(names, {first: index, second: index[::-1]}))


@pytest.mark.filterwarnings(
    "ignore:(The effective sample|One (query|cluster) contributes|The rows that compare):ltr_metrics.LtrWarning"
)
@pytest.mark.parametrize("door", DOORS, ids=lambda one: getattr(one, "__qualname__", str(one)))
def test_equal_indexes_and_arrays_beside_them_are_accepted(door: Any) -> None:
    names, call = DOORS[door]
    index = np.arange(N)[::-1]
    call(**arguments_of(names, dict.fromkeys(names, index)))
    call(**arguments_of(names, {names[0]: index}))
