"""Random cross-validations and grid searches with scikit-learn for `fuzz.hosts`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import sklearn
import xgboost as xgb
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

import ltr_metrics as ltr
from fuzz.host_setups import (
    Array,
    Draw,
    Part,
    Question,
    Style,
    chance,
    differs,
    draw_question,
    has_no_mean,
    unequal_values,
)
from ltr_metrics.sklearn import QueryRanker, make_scorer

Fold = tuple[Array, Array]  # rows to train on, rows to test


@dataclass(frozen=True, eq=False)
class Search:
    """A set-up of a search, whose data have the rows of a query anywhere."""

    subject: str
    style: Style
    part: Part  # without a column of queries
    folds: Sequence[Fold]
    question: Question
    weights: str  # "row" or nothing
    host: Any
    grid: Sequence[dict[str, Any]]
    refit: int  # the metric by which the best candidate is chosen
    queries: str  # "routed", "column"
    has_log: bool
    with_training_scores: bool

    @property
    def names(self) -> list[str]:
        """The names of the scores in scikit-learn's results."""
        return ["score"] if self.question.is_single else self.question.names_in_log

    def describe(self) -> str:
        return (
            f"{self.host}, {self.grid}, {len(self.folds)} folds, {self.question}, {self.style}, queries {self.queries}"
        )


@dataclass(eq=False)
class Found:
    """What a search has found: for each candidate and fold the scores by name, and the log's values of each query."""

    test: list[list[dict[str, float]]] = field(default_factory=list)
    training: list[list[dict[str, float]]] = field(default_factory=list)
    logged: list[dict[str, dict[Any, float]]] = field(default_factory=list)  # candidate: canonical name: query: value
    best: tuple[int, Array] | None = None  # candidate, and predictions of the one that was refitted


def draw_search(draw: Draw, subject: str) -> Search:
    """Draw the set-up of a search."""
    style = Style.draw(draw)
    part = style.part(draw, fewest_queries=6)
    if chance(draw, 0.5):
        part = part.take(draw.permutation(len(part.y)))
    folds = list(GroupKFold(int(draw.integers(2, 4))).split(part.y, groups=part.qid))
    is_routed = style.is_weighted or chance(draw, 0.4) or (style.ids == "text" and not style.is_frame)
    weights = "row" if style.is_weighted else ""
    with_training_scores = chance(draw, 0.3)
    scored = [part.take(rows) for fold in folds for rows in (fold if with_training_scores else fold[1:])]
    rounds, seed = int(draw.integers(1, 6)), int(draw.integers(1000))
    if chance(draw, 0.6):
        leaves = {"num_leaves": int(draw.integers(2, 12)), "min_child_samples": 2}
        kind = lgb.LGBMRanker if chance(draw, 0.7) else lgb.LGBMRegressor
        host = kind(n_estimators=rounds, n_jobs=1, random_state=seed, verbose=-1, **leaves)
    else:
        host = xgb.XGBRanker(n_estimators=rounds, n_jobs=1, random_state=seed, max_depth=int(draw.integers(1, 4)))
    question = draw_question(draw, scored, weights, own_name="own {}")
    rates = (0.03, 1.0) if subject == "GridSearchCV" else (0.3,)
    return Search(
        subject=subject,
        style=style,
        part=part,
        folds=folds,
        question=question,
        weights=weights,
        host=host,
        grid=[{"learning_rate": rate} for rate in rates],
        refit=int(draw.integers(len(question.metrics))),
        queries="routed" if is_routed else "column",
        has_log=chance(draw, 0.5),
        with_training_scores=with_training_scores,
    )


# -- with scikit-learn -----------------------------------------------------------------------------


def search(case: Search, folder: Path) -> Found:
    """Let scikit-learn search with our scorer."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as of_case,
        sklearn.config_context(enable_metadata_routing=case.queries == "routed"),
    ):
        log = ltr.PerQueryLog(folder=of_case) if case.has_log else None
        column: Any = "qid" if isinstance(case.part.X, pd.DataFrame) else case.part.X.shape[1]
        where = {} if case.queries == "routed" else {"qid": column}
        ranker = QueryRanker(case.host, **where)
        scorer = make_scorer(case.question.given, log=log, names=case.question.names, **where, **case.question.policy)
        if case.weights:
            ranker.set_fit_request(sample_weight=True)
            scorer.set_score_request(sample_weight=True)
        found = SEARCHES[case.subject](case, ranker, scorer)
        if log is not None:
            found.logged = _logged(case, log)
        return found


def _routed(case: Search) -> dict[str, Any]:
    if case.queries != "routed":
        return {}
    return {"qid": case.part.qid} | ({"sample_weight": case.part.row_weight} if case.weights else {})


def _table(case: Search) -> Any:
    """Return X, with the queries as its last column unless they are routed."""
    X, qid = case.part.X, case.part.qid
    if case.queries == "routed":
        return X
    return X.assign(qid=qid) if isinstance(X, pd.DataFrame) else np.column_stack([X, qid.astype(X.dtype)])


def _cross_validate(case: Search, ranker: Any, scorer: Any) -> Found:
    routed = _routed(case)
    groups = {"params": routed | {"groups": case.part.qid}} if routed else {"groups": case.part.qid}
    result = cross_validate(
        ranker.set_params(**{f"estimator__{key}": value for key, value in case.grid[0].items()}),
        _table(case),
        case.part.y,
        scoring=scorer,
        cv=GroupKFold(len(case.folds)),
        return_train_score=case.with_training_scores,
        error_score="raise",
        **groups,
    )
    n_folds = len(case.folds)
    test = [_of_side(result, "test_", i) for i in range(n_folds)]
    training = [_of_side(result, "train_", i) for i in range(n_folds)] if case.with_training_scores else []
    return Found([test], [training])


def _of_side(result: dict[str, Any], prefix: str, fold: int) -> dict[str, float]:
    return {key.removeprefix(prefix): values[fold] for key, values in result.items() if key.startswith(prefix)}


def _grid_search(case: Search, ranker: Any, scorer: Any) -> Found:
    searched = GridSearchCV(
        ranker,
        {f"estimator__{key}": [params[key] for params in case.grid] for key in case.grid[0]},
        scoring=scorer,
        cv=GroupKFold(len(case.folds)),
        refit=case.question.is_single or case.names[case.refit],
        return_train_score=case.with_training_scores,
        error_score="raise",
    ).fit(_table(case), case.part.y, groups=case.part.qid, **_routed(case))
    found = Found(best=(int(searched.best_index_), searched.best_estimator_.predict(_table(case))))
    for of_side, side in ((found.test, "test"), (found.training, "train")):
        for candidate in range(len(case.grid)) if side == "test" or case.with_training_scores else []:
            of_folds = [
                {
                    key.removeprefix(f"split{i}_{side}_"): values[candidate]
                    for key, values in searched.cv_results_.items()
                    if key.startswith(f"split{i}_{side}_")
                }
                for i in range(len(case.folds))
            ]
            of_side.append(of_folds)
    return found


def _logged(case: Search, log: ltr.PerQueryLog) -> list[dict[str, dict[Any, float]]]:
    params = [{f"estimator__{key}": value for key, value in one.items()} for one in case.grid]
    logged: list[dict[str, dict[Any, float]]] = [{} for _ in case.grid]
    for metric in case.question.metrics:
        for of_one, candidate in zip(logged, log.candidates(metric, params=params), strict=True):
            of_one[candidate.metric] = dict(zip(candidate.qid, candidate.values.tolist(), strict=True))
    return logged


SEARCHES: dict[str, Callable[[Search, Any, Any], Found]] = {
    "cross_validate": _cross_validate,
    "GridSearchCV": _grid_search,
}


# -- without it ------------------------------------------------------------------------------------


def _fit(case: Search, params: dict[str, Any], rows: Array) -> Any:
    """Fit the host itself, on rows of which those of a query stand together."""
    part = case.part.take(rows)
    part = part.take(np.argsort(part.queries, kind="stable"))
    host = clone(case.host).set_params(**params)
    given: dict[str, Any] = {}
    if isinstance(host, lgb.LGBMRanker):
        given["group"] = part.sizes
    elif isinstance(host, xgb.XGBRanker):
        given["qid"] = part.queries
    if case.weights:
        given["sample_weight"] = part.query_weight if isinstance(host, xgb.XGBRanker) else part.row_weight
    return host.fit(part.X, part.y, **given)


def _evaluations(case: Search, params: dict[str, Any], *, training: bool = False) -> list[ltr.Evaluation]:
    results = []
    for fold in case.folds:
        rows = fold[0] if training else fold[1]
        scored = case.part.take(rows)
        results.append(case.question.evaluate(scored, _fit(case, params, fold[0]).predict(scored.X), case.weights))
    return results


def search_is_refused(case: Search) -> bool:
    """Whether `evaluate` refuses the scores on some fold, or finds no mean."""
    try:
        sides = (False, True) if case.with_training_scores else (False,)
        results = [one for params in case.grid for side in sides for one in _evaluations(case, params, training=side)]
    except ltr.LtrError:
        return True
    return any(map(has_no_mean, results))


def difference_of_search(case: Search, found: Found) -> str:
    """Return what differs from `evaluate`, "" if nothing does."""
    for at, params in enumerate(case.grid):
        expected = _evaluations(case, params)
        difference = _difference_of_folds(case, found.test[at], expected)
        if not difference and case.with_training_scores:
            of_training = _evaluations(case, params, training=True)
            difference = _difference_of_folds(case, found.training[at], of_training)
        if not difference and found.logged:
            difference = _difference_of_log(found.logged[at], expected)
        if difference:
            return f"candidate {at}: {difference}"
    return _difference_of_best(case, found)


def _difference_of_folds(case: Search, scores: list[dict[str, float]], expected: list[ltr.Evaluation]) -> str:
    names = case.names
    for fold, (of_fold, result) in enumerate(zip(scores, expected, strict=True)):
        if sorted(of_fold) != sorted(names):
            return f"fold {fold} has {list(of_fold)}, expected {names}"
        values = [of_fold[name] for name in names]
        if has_no_mean(result):
            return f"fold {fold} has {of_fold}, and evaluate finds no mean"
        if differs(values, list(result.mean.values())):
            return unequal_values(f"fold {fold}, {names}", values, list(result.mean.values()))
    return ""


def _difference_of_log(logged: dict[str, dict[Any, float]], expected: list[ltr.Evaluation]) -> str:
    if sorted(logged) != sorted(expected[0].mean):
        return f"the log has {list(logged)}, expected {list(expected[0].mean)}"
    for name, by_query in logged.items():
        values = {q: v for result in expected for q, v in zip(result.qid.tolist(), result.per_query[name], strict=True)}
        if sorted(values) != sorted(by_query):
            return f"the log's queries of {name} are {sorted(by_query)}, expected {sorted(values)}"
        if differs([by_query[query] for query in values], list(values.values())):
            return unequal_values(f"the log's {name}", [by_query[query] for query in values], list(values.values()))
    return ""


def _difference_of_best(case: Search, found: Found) -> str:
    if found.best is None:
        return ""
    at, predicted = found.best
    name = case.names[case.refit]
    best = int(np.argmax([np.average([fold[name] for fold in folds]) for folds in found.test]))
    if at != best:
        return f"candidate {at} is chosen, expected {best}"
    scores = _fit(case, case.grid[at], np.arange(len(case.part.y))).predict(case.part.X)
    if not np.array_equal(predicted, scores):
        return unequal_values("a score of the refitted ranker", predicted, scores)
    return ""
