"""What a result has by metric is found under every spelling of the metric's name, and by the metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics import interleaving
from ltr_metrics.lightgbm import feval

pytestmark = pytest.mark.integration

SPELLINGS = ["ndcg@10", "NDCG@10", "ndcg_exp@10", ltr.NDCG(k=10)]
OTHERS = {"data": "valid_0", "model": "b", "baseline": "a"}  # what methods need beside the metric
LEFT = {"Queries.evaluate", "get", "canonical"}  # which computes metrics; of all mappings, which are tried as such


def results() -> list[Any]:
    """One result of each kind that has values by metric."""
    X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
    device = np.where(np.arange(40) % 2, "phone", "desk")
    options: dict[str, Any] = {"qid": qid, "metrics": ["ndcg@10", "map"]}
    one = ltr.evaluate(y, X[:, 0], by={"device": device}, skill=True, **options)
    models = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    comparison = ltr.compare(models, y, n_resamples=100, **options)
    log, group = ltr.PerQueryLog(), ltr.qid_to_group(qid)
    train = lgb.Dataset(X, y, group=group)
    lgb.train({"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}, train, 2, feval=feval(
        options["metrics"], log=log), valid_sets=[lgb.Dataset(X, y, group=group, reference=train)])  # fmt: skip
    users: dict[str, Any] = {"clicks": interleaving.ClickModel.perfect(5), "impressions": 40, "random_state": 0}
    outcome = interleaving.simulate(scores=models, y_true=y, qid=qid, method="team_draft", **users)
    return [
        *(one, one.by["device"]["desk"], ltr.intervals(one), ltr.tie_audit(y, X[:, 0], **options)),
        ltr.concat([one.subset(np.unique(qid)[:20]), one.subset(np.unique(qid)[20:])]),
        *(comparison, comparison.leaderboard, ltr.audit(scores=models, y_true=y, **options).models["a"]),
        *(log, outcome),
    ]


def by_metric(result: Any) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield what maps the canonical name of the metric to something: the result, its attributes, what it returns."""
    if isinstance(result, Mapping):
        yield type(result).__name__, result
    for name in dir(type(result)) + list(getattr(result, "__dict__", ())):
        value = None if name.startswith("_") else getattr(result, name, None)
        if name == "queries_needed":
            value = value(0.01)
        if isinstance(value, Mapping) and "ndcg_exp@10" in list(value):
            yield f"{type(result).__name__}.{name}", value


def of_metric(result: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the public methods that take one metric, and the brackets that do."""
    for name, method in inspect.getmembers(type(result), inspect.isfunction):
        parameters = inspect.signature(method).parameters
        taken = [one for one in parameters.values() if "str | Metric" in str(one.annotation)]
        full_name = f"{type(result).__name__}.{name}"
        if not taken or {full_name, name} & LEFT or (name.startswith("_") and name != "__getitem__"):
            continue
        others = {one: OTHERS[one] for one in parameters if one in OTHERS}
        if name == "__getitem__":
            needs_model = "tuple" in str(taken[0].annotation)
            yield full_name, lambda metric, needs=needs_model: result[(metric, "b") if needs else metric]
        else:
            yield (
                full_name,
                lambda metric, call=method, name=taken[0].name, given=others: call(result, **given | {name: metric}),
            )


@pytest.fixture(scope="module")
def made() -> list[Any]:
    return results()


def test_every_spelling_is_found(made: list[Any]) -> None:
    found = [pair for result in made for pair in by_metric(result)]
    names = {"mean", "per_query", "standard_error", "n_undefined", "skill"}
    expected = {f"Evaluation.{name}" for name in names} | {"Comparison.relative", "Comparison.queries_needed"}
    assert expected <= {name for name, _ in found}
    lacking = [
        (name, str(spelling))
        for name, mapping in found
        for spelling in SPELLINGS
        if spelling not in mapping or mapping[spelling] is None
    ]
    assert not lacking


def test_every_method_of_a_metric_takes_every_spelling(made: list[Any]) -> None:
    found = [pair for result in made for pair in of_metric(result)]
    assert {name for name, _ in found} >= {
        *("Evaluation.__getitem__", "Evaluation.geometric_mean", "Outcome.error"),
        *("Comparison.__getitem__", "Comparison.changes", "Comparison.differences", "Comparison.higher_is_better"),
        *("Leaderboard.__getitem__", "PerQueryLog.values", "PerQueryLog.learning_curve", "PerQueryLog.rounds"),
    }
    different = [
        name
        for name, call in found
        if len({repr(call(spelling)).replace("ndcg_exp@", "ndcg@") for spelling in SPELLINGS}) > 1
    ]
    assert not different
