"""Fuzz the adapters to training libraries: random trainings and searches, compared with `ltr_metrics.evaluate`.

What a host logs must be what `evaluate` returns for the scores of that round or fold.
A set-up may be refused with an `LtrError` if `evaluate` refuses these scores too, or finds no mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb

import ltr_metrics as ltr
from fuzz import host_lightgbm, host_xgboost
from fuzz.host_searches import SEARCHES, difference_of_search, draw_search, search, search_is_refused
from fuzz.host_setups import Draw, differs, has_no_mean, unequal_values
from fuzz.host_trainings import Run, Training, draw_training
from fuzz.report import Report

TRAININGS = host_lightgbm.TRAININGS | host_xgboost.TRAININGS
SUBJECTS = (*TRAININGS, *SEARCHES)
ENDS = ("equal", "refused")
NEW_LINE = "\n"  # after which XGBoost's errors have the addresses of its functions
SIX_DECIMALS = 5.1e-7  # absolute, of XGBoost's text


def run(seed: int, numbers: Iterable[int], folder: Path) -> Report:
    """Try the set-ups with these numbers.

    Parameters
    ----------
    seed : int
    numbers : iterable of int
        Each is a set-up of one of `SUBJECTS`, in turn. It depends on the seed and this number alone.
    folder : Path
        For the logs of searches, which are removed again.

    Returns
    -------
    Report
        The outcome of a case is "equal", "refused" or a fault.
    """
    report = Report("host", seed)
    for number in numbers:
        subject = SUBJECTS[number % len(SUBJECTS)]
        with warnings.catch_warnings(), xgb.config_context(verbosity=0):
            warnings.simplefilter("ignore")
            outcome = _try(subject, np.random.default_rng([seed, number]), folder)
        if outcome in ENDS:
            report.add(subject, outcome)
        else:
            report.add_fault(subject, number, outcome)
    return report


class Kind(NamedTuple):
    """How the cases of a kind are drawn, run, compared with `evaluate`, and perhaps refused by it."""

    draw: Callable[[Draw, str], Any]
    run: Callable[[Any, Path], Any]
    difference: Callable[[Any, Any], str]
    is_refused: Callable[[Any], bool]


def _try(subject: str, draw: Draw, folder: Path) -> str:
    """Return the outcome of a case, or what is wrong with it and its options."""
    kind, case = TRAINING if subject in TRAININGS else SEARCH, None
    try:
        case = kind.draw(draw, subject)
        outcome = _outcome(kind, case, folder)
    except Exception as error:
        outcome = f"{type(error).__name__}: {str(error).strip().partition(NEW_LINE)[0]}"
    if outcome in ENDS:
        return outcome
    return outcome if case is None else f"{outcome}\n  {case.describe()}"


def _outcome(kind: Kind, case: Any, folder: Path) -> str:
    try:
        result = kind.run(case, folder)
    except ltr.LtrError as error:
        return "refused" if kind.is_refused(case) else f"refused, and evaluate gives a value: {error}"
    return kind.difference(case, result) or "equal"


def train(case: Training, *, adapt: bool = True) -> Run:
    """Train with our metrics, or without them to get the scores alone."""
    return TRAININGS[case.subject](case, adapt)


def training_is_refused(case: Training) -> bool:
    """Whether `evaluate` refuses the scores of some round, or finds no mean."""
    scores = train(case, adapt=False).scores
    return any(
        case.question.is_refused(part, of_round, case.weights)
        for part, of_part in zip(case.sets, scores, strict=True)
        for of_round in of_part
    )


def difference_of_training(case: Training, result: Run) -> str:
    """Return what differs from `evaluate`, "" if nothing does."""
    tolerance = SIX_DECIMALS if case.subject == "xgb.train" else 0.0
    for i, part in enumerate(case.sets):
        expected = [case.question.evaluate(part, scores, case.weights) for scores in result.scores[i]]
        difference = (
            _difference_of_history(case, result.histories[i], expected, tolerance)
            or (case.has_log and _difference_of_log(case, result, i, expected))
            or _difference_of_predictions(result, i)
        )
        if difference:
            return f"set {i}: {difference}"
    return _difference_of_stop(case, result)


def _difference_of_history(
    case: Training, history: dict[str, list[float]], expected: Sequence[ltr.Evaluation], tolerance: float
) -> str:
    names = case.question.names_in_log
    of_host = [name for name in history if name not in names]
    if list(history) != [*of_host, *names] or bool(of_host) != case.logs_of_host:
        return f"the log has {list(history)}, expected {names}"
    if any(map(has_no_mean, expected)):
        return f"the log has {history}, and evaluate finds no mean"
    for name, values in zip(names, _curves(expected), strict=True):
        if differs(history[name], values, tolerance):
            return unequal_values(f"the log's {name}", history[name], values)
    return ""


def _curves(expected: Sequence[ltr.Evaluation]) -> list[list[float]]:
    return [[result.mean[name] for result in expected] for name in expected[0].mean]


def _difference_of_log(case: Training, result: Run, i: int, expected: Sequence[ltr.Evaluation]) -> str:
    """Compare the values of each query, asked for by each name of a metric."""
    question, log, data = case.question, result.log, result.data[i]
    has_ids = case.subject.endswith("Monitor") and case.queries != "group"
    qid = expected[0].qid.tolist() if has_ids else list(range(expected[0].n_queries))
    if log.qid(data).tolist() != qid:
        return f"the PerQueryLog has the queries {log.qid(data).tolist()}, expected {qid}"
    for names in zip(question.canonical, map(str, question.metrics), question.names_in_log, strict=True):
        values = np.array([evaluation.per_query[names[0]] for evaluation in expected])
        for name in names:
            if differs(log.values(data, name), values):
                return unequal_values(f"the PerQueryLog's {name}", log.values(data, name), values)
    return ""


def _difference_of_predictions(result: Run, i: int) -> str:
    """Compare the scores with those that the trained model predicts by rounds, to the last bit."""
    for n_rounds, scores in enumerate(result.scores[i][: result.n_kept], start=1):
        predicted = result.predict(i, n_rounds) if result.predict else scores
        if not np.array_equal(scores, predicted):
            return unequal_values(f"the prediction with {n_rounds} rounds", predicted, scores)
    return ""


def _difference_of_stop(case: Training, result: Run) -> str:
    if case.stop is None:
        n_rounds, best = case.rounds, None
    else:
        n_rounds, best = stopped(_watched(case, result), case.stop.rounds, case.rounds)
    if len(result.scores[0]) != n_rounds or (best is not None and result.best != best):
        return f"{len(result.scores[0])} rounds of which {result.best} are best, expected {n_rounds} and {best}"
    return ""


def _watched(case: Training, result: Run) -> list[list[float]]:
    """Return the curves by which the training stops: LightGBM watches all sets but the training's."""
    assert case.stop is not None
    curves = [list(history.values()) for history in result.histories]
    if not case.is_lightgbm:
        return [curves[case.stop.data][case.stop.metric]]
    of_sets = [of_set for part, of_set in zip(case.sets, curves, strict=True) if part is not case.train]
    return [curve for of_set in of_sets for curve in (of_set[:1] if case.stop.is_ours else of_set)]


def stopped(curves: Sequence[Sequence[float]], patience: int, most_rounds: int) -> tuple[int, int]:
    """Return the number of rounds that are trained, and the best of the curve that ends the training."""
    for last in range(most_rounds):
        for curve in curves:
            best = int(np.argmax(curve[: last + 1]))
            if last - best >= patience or last == most_rounds - 1:
                return last + 1, best + 1
    raise AssertionError("there is a last round")


TRAINING = Kind(draw_training, lambda case, _: train(case), difference_of_training, training_is_refused)
SEARCH = Kind(draw_search, search, difference_of_search, search_is_refused)
