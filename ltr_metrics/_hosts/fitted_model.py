"""Learning curves of fitted models: metrics after any number of rounds, on any data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ltr_metrics._hosts.known_hosts import host_of, module_of
from ltr_metrics._rows.checks import (
    AnyArray,
    FloatArray,
    as_array,
    as_vector,
    finite_numbers,
    require_count,
)
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.words import ConventionName, NoRelevant, TiePolicy, Unjudged
from ltr_metrics.errors import LtrTypeError, LtrValueError, import_extra
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.means import refuse_undefined_means
from ltr_metrics.logs.training_log import PerQueryLog, Round, require_data_name
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve

__all__ = ["learning_curve"]

Rounds = Callable[[Sequence[int], FloatArray | None], Iterator[AnyArray]]


@explaining_calls
def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    group: Any = None,
    metrics: Metrics | None = None,
    every: int = 1,
    name: str = "data",
    base_margin: Any = None,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    query_weight: Any = None,
    sample_weight: Any = None,
    docid: Any = None,
    retrieved: Any = None,
    judged: Any = None,
    unjudged: Unjudged | None = None,
    columns: Any = None,
    n_threads: int | None = None,
    progress: bool = False,
) -> PerQueryLog:
    """Evaluate a fitted boosting model after each of its rounds.

    Use this if the training could not record your metrics: it ran on several machines, on a
    graphics card, in another tool, or it is over. The result is the log that the training would
    have written on these data.

    Each round costs the prediction of its own trees and one evaluation. In addition to X, the
    function needs about 50 MB of memory (or 100 bytes per row, if that is more), and one number for
    each query, metric and evaluated round.

    Parameters
    ----------
    model : fitted model, path, or Model
        LightGBM's ``Booster``, ``LGBMRanker`` or ``LGBMRegressor``; XGBoost's ``Booster``,
        ``XGBRanker`` or ``XGBRegressor``; a model of CatBoost. A `ltr_metrics.sklearn.QueryRanker`,
        a pipeline or a search that ends in one of them. The path of a model file, or what
        ``ltr_metrics.io.models.load_model`` returned.
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        Features, as for the model's ``predict``. XGBoost's ``DMatrix`` and CatBoost's ``Pool`` are
        accepted, and so is the column ``"qid"`` of a data frame for an ``XGBRanker``. The queries,
        labels, weights and ``base_margin`` that such data hold count, and it is an error to pass
        others. CatBoost lets nobody read the ``group_weight`` of a Pool: pass it as ``query_weight``.
    y : array-like of shape (n_rows,)
        Grades, finite and not negative.
    qid : array-like of shape (n_rows,), optional
        One id per row, in any order, of any hashable type. Exactly one of ``qid`` and ``group`` is
        required, unless X has the queries: in the column that a ``QueryRanker`` was fitted with, in
        the column ``"qid"`` for an ``XGBRanker``, in a ``DMatrix`` or in a ``Pool``.
    group : array-like of int, optional
        Sizes of the queries, whose rows are consecutive.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). By default ndcg@10, map, mrr and
        err@10 are evaluated, or those of them that the convention has.
    every : int, default 1
        Evaluate after ``every`` rounds, 2 * ``every`` rounds, and so on, and after the last round.
        The values of these rounds do not depend on it.
    name : str, default "data"
        Name of the data set in the log.
    base_margin : array-like of shape (n_rows,), optional
        Scores that the training started from: LightGBM's ``init_score``, XGBoost's
        ``base_margin``, CatBoost's ``baseline``. No model holds them. Without them, the curve is
        that of the trees only, which is also what ``predict`` returns.
    ties : {"mean", "stable", "worst", "best", "docid"}, optional
        Treatment of tied scores: the expected value over all orders of the tied
        documents (default), input order, lower or higher grade first, or descending
        document id.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Name of another system, such as ``"trec_eval"``, or a `Convention`. Its choices fill in what
        the metric names, ``ties`` and ``no_relevant`` leave open. The gain is that of the name or
        of the convention, and not the training's own ``label_gain`` or ``ndcg_exp_gain``.
    query_weight : array-like of shape (n_queries,) or mapping, optional
        One weight per query, in order of first appearance, or by qid. The ids of a
        mapping may have another type: they are the same if they have the same text.
    sample_weight : array-like of shape (n_rows,), optional
        One weight per row; a query's weight is the mean of its row weights.
    docid : array-like of shape (n_rows,), optional
        Document ids, for ``ties="docid"``.
    retrieved : array-like of bool of shape (n_rows,), optional
        False for a judged document that the system did not return. It has no rank, but it counts in
        the ideal ranking and, if its grade is high enough, among the relevant documents.
    judged : array-like of bool of shape (n_rows,), optional
        False for an unjudged document. Its label must not be above 0 (NaN is accepted)
        and counts as 0. By default all documents are judged.
    unjudged : {"zero", "drop"}, optional
        Treatment of unjudged documents: grade 0 (default), or removal from the ranking,
        which leaves the condensed list.
    columns : mapping of str to array-like of shape (n_rows,), optional
        Further numeric columns by name, with one number per row, which ``mean_of(name)``,
        ``sum_of(name)`` and metrics of your own read. A DataFrame is accepted.
    n_threads : int, optional
        Maximum number of threads. One thread is used per 50,000 rows, and never more
        than the CPUs available to the process. The default is one thread in a worker (a
        thread, or a process that multiprocessing or joblib started), and otherwise at
        most ``OMP_NUM_THREADS``. The values do not depend on it.
    progress : bool, default False
        Show a progress bar, which needs tqdm.

    Returns
    -------
    PerQueryLog
        With one data set, ``name``. ``rounds(name)`` are the evaluated rounds, counted from 0: 9,
        19, 29, ... with ``every=10``. ``values`` and ``learning_curve`` work as after a training.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `ltr_metrics.evaluate`. Also if the model is not fitted, is of another library, gives
        several scores per row, or was trained on other features. Also for ``dart``, which rescales
        the trees of earlier rounds, so that the first trees of the final model are not the model
        after those rounds, and for XGBoost's ``gblinear``, which has a single linear model and no
        trees.
    MissingExtraError
        If the host of a model file, or tqdm for ``progress``, is not installed.

    See Also
    --------
    ltr_metrics.lightgbm.feval : Record a log during the training, with LightGBM.
    ltr_metrics.xgboost.Monitor : Record a log during the training, with XGBoost.
    ltr_metrics.report.LearningCurveDisplay : A figure of the result.

    Notes
    -----
    The score after t rounds is the sum of the first t trees, added in the order of the training.
    The scores are raw: an objective's transform, such as a logistic function, does not change their
    order. LightGBM's random forest, ``rf``, averages the first t trees. All rounds that the model
    holds are evaluated, also those after ``best_iteration``. LightGBM and CatBoost drop these at
    the end of the training, unless you pass ``keep_training_booster=True`` to ``lgb.train`` or
    ``use_best_model=False`` to CatBoost.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> X, y, qid = ltr.make_ranking(n_queries=60, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
    >>> booster = lgb.train({"objective": "lambdarank", "verbose": -1}, train, 25)
    >>> X, y, qid = ltr.make_ranking(n_queries=40, random_state=1)
    >>> log = ltr.learning_curve(booster, X, y, qid=qid, metrics=["ndcg@10", "err@10"], every=10, name="test")
    >>> log.rounds("test")
    array([ 9, 19, 24])
    >>> log.values("test", "ndcg@10").shape
    (3, 40)
    >>> log.learning_curve("test", "ndcg@10").n_rounds in (10, 20, 25)
    True
    """
    every = require_count("every", every)
    name = require_data_name(name)
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    fitted = read_model(model, X, needs_queries=qid is None and group is None)
    given = {"qid": qid, "group": group, "query_weight": query_weight, "sample_weight": sample_weight}
    documents = {"docid": docid, "retrieved": retrieved, "judged": judged, "unjudged": unjudged, "columns": columns}
    queries = Queries(y, **_with_carried(given, y, fitted), **documents)
    queries.refuse_different_indexes(X=X, base_margin=base_margin)
    start = None if base_margin is None else finite_numbers(base_margin, "base_margin", queries.n_rows)
    show = partial(import_extra("tqdm.auto", "report").tqdm, unit=" evaluations") if progress else iter
    return evaluate_rounds(
        fitted, queries, request, every=every, name=name, start=start, n_threads=n_threads, show=show
    )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model and its data.

    ``rounds`` yields the raw scores after the given numbers of rounds, which rise to the last
    round. It may change an array that it has yielded.
    """

    n_rounds: int
    n_rows: int
    rounds: Rounds
    carried: dict[str, Any] = field(default_factory=dict)  # options of `Queries` that X holds, and its labels


def read_model(model: Any, X: Any, *, needs_queries: bool) -> Fitted:
    """Return a model's rounds on the rows of X, and what X holds of them, such as queries."""
    if isinstance(model, (str, os.PathLike)):
        model = _load_model(model)
    carried: dict[str, Any] = {}
    if host_of(model) is None and hasattr(model, "booster") and hasattr(model, "matrix"):  # which was read from a file
        model, X = model.booster, model.matrix(X)
    else:
        model, X, carried = _unwrap(model, X, needs_queries=needs_queries)
    host, kind = host_of(model), type(model)
    if host is None or not hasattr(kind, "predict"):
        raise LtrTypeError(
            "learning_curve needs a fitted model of LightGBM, XGBoost or CatBoost, which predicts by rounds, or the "
            f"path of a model file. Got {kind.__module__}.{kind.__qualname__}."
        )
    is_fitted = getattr(kind, "__sklearn_is_fitted__", None) or getattr(kind, "is_fitted", None)  # CatBoost's
    if is_fitted is not None and not is_fitted(model):
        raise LtrValueError(f"The {kind.__name__} is not fitted, so it has no rounds: call fit first.")
    X = as_array(X, "X") if isinstance(X, (list, tuple)) else X
    fitted: Fitted = module_of(host, "rounds").rounds_of(model, X)
    return replace(fitted, carried=fitted.carried | carried)


def _with_carried(given: dict[str, Any], y: Any, fitted: Fitted) -> dict[str, Any]:
    """Return the queries and weights that were passed or that X carries; refuse those that contradict each other."""
    carried = dict(fitted.carried)
    label = carried.pop("y", None)
    if label is not None and not np.array_equal(label, np.asarray(as_vector(y, "y"), dtype=np.float32)):
        raise LtrValueError("y differs from the labels that X holds. Pass the same labels, or X without labels.")
    weight = next((name for name in ("query_weight", "sample_weight") if carried.get(name) is not None), None)
    passed = next((name for name in ("query_weight", "sample_weight") if given[name] is not None), None)
    if weight is not None and passed is not None:
        raise LtrValueError(f"X holds weights, and {passed} was passed, too. Leave it out, or pass X without weights.")
    names = {name for name in ("qid", "group") if given[name] is not None}
    if names and carried.keys() & {"qid", "group"}:
        own, other = (
            GroupedRows(fitted.n_rows, queries.get("group"), qid=queries.get("qid")).query_of_rows()
            for queries in (carried, given)
        )
        differs = own != other
        if differs.any():
            name = names.pop()
            raise LtrValueError(
                f"X holds other queries than {name}: the first row that differs is row {int(differs.argmax())}. Leave "
                f"{name} out, or pass X without queries."
            )
        carried = {name: value for name, value in carried.items() if name not in ("qid", "group")}
    return {name: value for name, value in given.items() if value is not None} | carried


def _load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model file, which only this function needs."""
    return import_module("ltr_metrics.io.models").load_model(path)


def _unwrap(model: Any, X: Any, *, needs_queries: bool) -> tuple[Any, Any, dict[str, Any]]:
    """Return the estimator within searches, pipelines and QueryRankers, its features, and the queries in X."""
    carried = {}
    while host_of(model) is None:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps") and hasattr(model, "named_steps"):
            X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
        elif hasattr(model, "queries_in"):  # a QueryRanker
            qid = model.queries_in(X, "learning_curve", required=needs_queries)
            carried = {} if qid is None else {"qid": qid}
            X, model = model.features_of(X), model.estimator_
        else:
            break
    return model, X, carried


def evaluate_rounds(
    fitted: Fitted,
    queries: Queries,
    request: Request,
    *,
    every: int,
    name: str,
    start: FloatArray | None = None,
    n_threads: int | None = None,
    show: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> PerQueryLog:
    """Return the log of a model's rounds on one data set.

    ``show`` may display the progress while the numbers of rounds pass through it.
    """
    if fitted.n_rows != queries.n_rows:
        raise LtrValueError(f"X and y must have the same number of rows: got {fitted.n_rows} and {queries.n_rows}.")
    if fitted.n_rounds == 0:
        raise LtrValueError("The model has no rounds: its training ended before the first tree.")
    stops = [*range(every, fitted.n_rounds, every), fitted.n_rounds]
    log = PerQueryLog()
    for n_rounds, scores in zip(show(stops), fitted.rounds(stops, start), strict=True):
        if scores.ndim != 1:
            raise refuse_several_scores(scores.shape[1])
        result = queries.evaluate_request(scores, request, n_threads)
        refuse_undefined_means(result)
        log.record(queries, result, request, Round(n_rounds - 1), name=name)
    return log


# -- reasons of the hosts to refuse a model or its data ----------------------------------------------------------------


def refuse_several_scores(n_scores: int) -> LtrValueError:
    """Return the error for a model with several classes or targets."""
    return LtrValueError(
        f"A ranking needs one score per row. The model gives {n_scores}: it was trained on several classes or targets."
    )


def refuse_dart() -> LtrValueError:
    """Return the error for a dart model."""
    return LtrValueError(
        "A dart booster has no learning curve after the fact: each round scales down earlier trees, so the first t "
        "trees of the final model are not the model after t rounds. Record a log during the training: "
        "ltr_metrics.lightgbm.feval(..., log=log), or ltr_metrics.xgboost.Monitor(..., log=log)."
    )


@contextmanager
def naming_host(host: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn a host's errors on data that it does not take into ours."""
    try:
        yield
    except errors as error:
        raise LtrValueError(f"{host} cannot predict X: {error}") from None


def require_table(X: Any, or_type: str = "") -> None:
    """Refuse what has no rows and features, such as another host's data set."""
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        raise LtrTypeError(
            f"X must be a table of features, as for predict: an array, a sparse matrix{or_type} or a data frame. Got "
            f"a {type(X).__name__}{f' of shape {shape}' if shape else ''}."
        )
