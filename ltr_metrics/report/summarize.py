"""From labels and the scores of some models to one plain dict, which the renderers only render."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.per_query import labels_of
from ltr_metrics._engine.plain import none_if_nan
from ltr_metrics.analysis.comparison import Comparison, compare
from ltr_metrics.analysis.data_audit import audit_of
from ltr_metrics.analysis.gating import GateResult, gate
from ltr_metrics.errors import LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log.learning import LearningCurve
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.saved import versions
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.metrics.requests import Metrics, Request, resolve
from ltr_metrics.report.curves import curves
from ltr_metrics.report.differences import changes, shifts
from ltr_metrics.report.online import Online

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CONFIDENCE = 0.95  # of intervals where no comparison has one


@dataclass(frozen=True, eq=False)
class Report:
    """What the renderers need: a plain, JSON-ready summary, and the evaluations with their per-query values."""

    summary: dict[str, Any]
    evaluations: dict[str, Evaluation]
    comparison: Comparison | None = None
    gate: GateResult | None = None
    outcome: Outcome | None = None


def summarize(
    queries: Queries | Mapping[str, Queries],
    scores: Mapping[str, Any],
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    comparing: Mapping[str, Any] | None = None,
    rules: Iterable[str] = (),
    each_segment: bool = False,
    complete: bool = False,
    learning: Mapping[str, Sequence[LearningCurve]] | None = None,
    online: Mapping[str, Any] | None = None,
    k: int = 10,
    source: str = "",
    origins: Mapping[str, str] | None = None,
    **options: Any,
) -> Report:
    """Evaluate models, each on the same queries, and say how they differ.

    Parameters
    ----------
    queries : Queries or mapping of str to Queries
        One for all models, or one for each where they ranked documents of their own, as TREC runs do.
    scores : mapping of str to array-like
        One score vector a model.
    metrics : str, Metric, or several of them, optional
        As for `ltr_metrics.evaluate`.
    baseline : str, optional
        Compare the others with this model; `ltr_metrics.compare` says how. Default: no comparison.
    comparing : mapping, optional
        Options of `ltr_metrics.compare`: ``test``, ``correction``, ``confidence``, ``cluster``, ...
    rules, each_segment
        As for `ltr_metrics.gate`; the comparison is held against them.
    complete : bool, default False
        Add what a report has beyond the numbers: the metrics at every cutoff, the queries that gain and lose most, the ranks of relevant
        documents, churn, and the audit.
    learning : mapping of str to list of LearningCurve, optional
        Of a model's training, as `PerQueryLog.learning_curve` gives them.
    online : mapping, optional
        Predict which model users prefer: options of `ltr_metrics.interleaving.simulate`, ``method`` and ``clicks`` at least, in which ``ties`` is
        ``"random"`` by default. For two models or more that rank the same rows.
    k : int, default 10
        Cutoff of churn, rank changes and the share that is judged.
    source : str, optional
        What the data are, for the heading.
    origins : mapping of str to str, optional
        What each model is: a file, a column.
    **options
        ``ties``, ``no_relevant``, ``convention``, as for `ltr_metrics.evaluate`.

    Returns
    -------
    Report
        ``summary`` has ``data``, ``options`` and, under ``models``, for each model and metric ``mean``, ``quantiles`` over
        queries, ``n_queries`` and ``n_undefined`` (left out); ``comparison`` is that of `ltr_metrics.Comparison.to_dict`; ``online``
        that of `ltr_metrics.interleaving.Outcome.to_dict`, with what was simulated and whether the first metric agrees. What was not asked
        for is None or empty.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import summarize
    >>> queries = ltr.Queries([1, 0, 0, 2, 0, 0], group=[2, 2, 2])
    >>> report = summarize(queries, {"base": [0.1, 0.2, 0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> report.summary["models"]["base"]["mrr"]["mean"], report.summary["models"]["base"]["mrr"]["n_undefined"]
    (0.75, 1)
    """
    if not scores:
        raise LtrValueError("A report needs at least one model or column of scores. Got none.")
    request = resolve(metrics, **options)
    of_model = dict.fromkeys(scores, queries) if isinstance(queries, Queries) else queries
    simulated = (
        None if online is None else Online.simulated(of_model, scores, online)
    )  # first: it is what may be refused
    evaluations = {name: _evaluate(of_model[name], name, column, request) for name, column in scores.items()}
    described, policy = of_model[next(iter(scores))], request.policy
    settings = dict(comparing or {})
    if settings.get("cluster") is not None:  # also one a row, which results know nothing of
        settings["cluster"] = labels_of(described, "cluster", settings["cluster"])[1]
    comparison = None if baseline is None else compare(evaluations, baseline=baseline, **settings)
    held = _held_against(list(rules), comparison, each_segment)
    summary = {
        "data": _describe(described, source),
        "options": {
            "ties": policy.ties,
            "no_relevant": policy.no_relevant,
            "no_relevant_of": dict(policy.no_relevant_of),
            "convention": policy.convention,
            "weighted": described.weight is not None,
        },
        "origins": dict(origins or {}),
        "models": {
            name: {metric: _of_metric(values, result.mean[metric]) for metric, values in result.per_query.items()}
            for name, result in evaluations.items()
        },
        "segments": [
            {"model": name} | part for name, result in evaluations.items() for part in result.segments_to_dicts()
        ],
        "comparison": None if comparison is None else comparison.to_dict(),
        "gate": None if held is None else held.to_dict(),
        "online": None if simulated is None else _beside_means(simulated, evaluations),
        "learning": [
            {"model": name} | curve.to_dict() for name, of_model in (learning or {}).items() for curve in of_model
        ],
        "versions": versions(),
    }
    further = _further(of_model, scores, request, comparison, k) if complete else NOTHING_FURTHER
    return Report(summary | further, evaluations, comparison, held, None if simulated is None else simulated.outcome)


NOTHING_FURTHER: dict[str, Any] = {"changes": [], "curves": [], "churn": [], "rank_changes": [], "audit": None}


def _held_against(rules: list[str], comparison: Comparison | None, each_segment: bool) -> GateResult | None:
    if not rules:
        return None
    if comparison is None:
        raise LtrValueError(f"The rule {rules[0]!r} is about a difference: name the baseline that it is to.")
    return gate(comparison, rules, each_segment=each_segment)


def _beside_means(online: Online, evaluations: dict[str, Evaluation]) -> dict[str, Any]:
    metric = next(iter(next(iter(evaluations.values())).mean))
    return online.to_dict(metric, {name: none_if_nan(result.mean[metric]) for name, result in evaluations.items()})


def _further(
    queries: Mapping[str, Queries], scores: Mapping[str, Any], request: Request, comparison: Comparison | None, k: int
) -> dict[str, Any]:
    """Return what a report has beyond the numbers."""
    confidence = CONFIDENCE if comparison is None else comparison.settings.confidence
    churned, moved = ([], []) if comparison is None else shifts(queries, scores, comparison.baseline, k)
    return {
        "changes": [] if comparison is None else changes(comparison),
        "curves": curves(queries, scores, request, confidence),
        "churn": churned,
        "rank_changes": moved,
        "audit": audit_of(queries, scores, request, k).to_dict(),
    }


def _evaluate(queries: Queries, name: str, scores: Any, request: Request) -> Evaluation:
    with naming(name):
        return queries.evaluate_request(scores, request)


def _describe(queries: Queries, source: str) -> dict[str, Any]:
    ranked = queries.n_retrieved
    counts = np.bincount(queries.grade_index, minlength=len(queries.grades) + 1)[1:]
    return {
        "source": source,
        "rows": queries.n_rows,
        "queries": queries.n_queries,
        "queries_without_relevant": int((queries.count_by_query(queries.grades > 0) == 0).sum()),
        "documents_a_query": {
            "min": int(ranked.min()),
            "median": float(np.median(ranked)),
            "max": int(ranked.max()),
        },
        "grades": {
            repr(grade).removesuffix(".0"): int(count)
            for grade, count in zip(queries.grades.tolist(), counts, strict=True)
        },
    }


def _of_metric(values: AnyArray, mean: float) -> dict[str, Any]:
    defined = values[~np.isnan(values)]
    levels = np.quantile(defined, QUANTILES).tolist() if defined.size else [None] * len(QUANTILES)
    return {
        "mean": None if np.isnan(mean) else mean,
        "quantiles": {f"{level:g}": value for level, value in zip(QUANTILES, levels, strict=True)},
        "n_queries": len(defined),
        "n_undefined": len(values) - len(defined),
    }
