"""Find the booster in what users call a model, and the features as the booster sees them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ltr_metrics._engine.checks import AnyArray, FloatArray, as_array
from ltr_metrics._hosts.known_hosts import host_of, module_of
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.io.models import Model, load_model

Rounds = Callable[[Sequence[int], FloatArray | None], Iterator[AnyArray]]
QueriesOfX = dict[str, Any]  # qid or group, or empty if X has no queries


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model and its data.

    ``rounds`` yields the raw scores after the given numbers of rounds, which rise to the last
    round. It may change an array that it has yielded.
    """

    n_rounds: int
    n_rows: int
    rounds: Rounds
    queries: QueriesOfX

    def scores(self, every: int, start: FloatArray | None, n_rows: int) -> tuple[Iterator[AnyArray], list[int]]:
        """Return the raw scores of the selected rounds, and their numbers of rounds."""
        if self.n_rows != n_rows:
            raise LtrValueError(f"X and y must have the same number of rows: got {self.n_rows} and {n_rows}.")
        if self.n_rounds == 0:
            raise LtrValueError("The model has no rounds: its training ended before the first tree.")
        stops = [*range(every, self.n_rounds, every), self.n_rounds]
        return self.rounds(stops, start), stops


def read_model(model: Any, X: Any, qid: Any, group: Any) -> Fitted:
    """Return a model's rounds on the rows of X, which may have the queries."""
    if isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    if isinstance(model, Model):
        if model.booster is None:
            raise LtrTypeError(f"learning_curve cannot read the rounds of a model file of {model.host}.")
        model, X = model.booster, model.matrix(X)
    else:
        model, X, qid = _unwrap(model, X, qid, group)
    if type(X).__module__.partition(".")[0] == "dask":
        raise LtrTypeError(
            "learning_curve evaluates data in memory. Got a Dask collection: pass X.compute(), and y and qid likewise."
        )
    n_rounds, n_rows, rounds, queries = _rounds_of(model, as_array(X, "X") if isinstance(X, (list, tuple)) else X)
    if qid is not None or group is not None:
        queries = {"qid": qid, "group": group}
    return Fitted(n_rounds, n_rows, rounds, queries)


def _unwrap(model: Any, X: Any, qid: Any, group: Any) -> tuple[Any, Any, Any]:
    """Return the estimator within searches, pipelines and QueryRankers, with its data."""
    while host_of(model) is None:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps") and hasattr(model, "named_steps"):
            X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
        elif "ltr_metrics.sklearn" in sys.modules and _is_query_ranker(model):
            if qid is None and group is None:
                qid = model.queries_in(X, "learning_curve")
            X, model = model.features_of(X), model.estimator_
        else:
            break
    return model, X, qid


def _is_query_ranker(model: Any) -> bool:
    from ltr_metrics.sklearn import QueryRanker

    return isinstance(model, QueryRanker)


def _rounds_of(model: Any, X: Any) -> tuple[int, int, Rounds, QueriesOfX]:
    host = host_of(model)
    if host is None:
        raise LtrTypeError(
            "learning_curve needs a fitted model of LightGBM, XGBoost or CatBoost, which predicts by rounds, or the "
            f"path of a model file. Got {type(model).__module__}.{type(model).__qualname__}."
        )
    found: tuple[int, int, Rounds, QueriesOfX] = module_of(host, "rounds").rounds_of(model, X)
    return found
