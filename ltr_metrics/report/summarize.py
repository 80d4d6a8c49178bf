"""From labels and the scores of some models to one plain dict, which the renderers display."""

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
from ltr_metrics.analysis.intervals import Interval, Intervals, intervals
from ltr_metrics.errors import LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.log.learning import LearningCurve
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.saved import versions
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.metrics.requests import Metrics, Policy, Request, resolve
from ltr_metrics.report.curves import metric_curves
from ltr_metrics.report.differences import churn_and_rank_changes, largest_changes
from ltr_metrics.report.online import Simulation

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CONFIDENCE = 0.95  # of intervals in a report without a comparison
NO_FULL_SECTIONS: dict[str, Any] = {"changes": [], "curves": [], "churn": [], "rank_changes": [], "audit": None}


@dataclass(frozen=True, eq=False)
class Report:
    """The input of the renderers: a plain summary, and evaluations with their values per query.

    Attributes
    ----------
    summary : dict
        The plain, JSON-ready summary, which all renderers print.
    evaluations : dict of str to Evaluation
        The evaluation of each model, with the values per query.
    comparison : Comparison or None
        The comparison with the baseline, if there is one.
    gate : GateResult or None
        The checks of the rules, if there are rules.
    outcome : Outcome or None
        The outcome of the simulated users, if they were requested.

    See Also
    --------
    summarize : Make one.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import summarize
    >>> report = summarize(ltr.Queries([1, 0, 0, 2], group=[2, 2]), {"base": [0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> report.evaluations["base"]["mrr"], report.comparison is None
    (0.75, True)
    """

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
    intervals_of_means: Mapping[str, Any] | None = None,
    online: Mapping[str, Any] | None = None,
    k: int = 10,
    source: str = "",
    origins: Mapping[str, str] | None = None,
    **options: Any,
) -> Report:
    """Evaluate models on the same queries, and describe how they differ.

    Parameters
    ----------
    queries : Queries or mapping of str to Queries
        The labels, for all models. One `ltr_metrics.Queries` per model if they ranked documents of
        their own, like TREC runs.
    scores : mapping of str to array-like
        One score vector per model.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is as for
        `ltr_metrics.evaluate`.
    baseline : str, optional
        The model that the others are compared with, as by `ltr_metrics.compare`. Default: no
        comparison.
    comparing : mapping, optional
        Options of `ltr_metrics.compare`: ``test``, ``correction``, ``confidence``, ``cluster``, ...
    rules : iterable of str
        Rules that the comparison is checked against, as for `ltr_metrics.gate`.
    each_segment : bool, default False
        Whether each rule must pass in each segment as well.
    complete : bool, default False
        Add the sections of a full report: the metrics at every cutoff, the queries that gain and
        lose most, the rank changes of relevant documents, churn, and the audit.
    learning : mapping of str to list of LearningCurve, optional
        The learning curves of each model's training, from `ltr_metrics.PerQueryLog.learning_curve`.
    intervals_of_means : mapping, optional
        Add the standard error and the confidence interval of each mean. The mapping has options of
        `ltr_metrics.intervals`, and may be empty. Clusters are those of ``queries``.
    online : mapping, optional
        Predict by simulation which model users prefer. The mapping has options of
        `ltr_metrics.interleaving.simulate`, at least ``method`` and ``clicks``. ``ties`` defaults
        to ``"random"``. This needs two or more models that rank the same rows.
    k : int, default 10
        Cutoff of churn, rank changes and the share of judged documents.
    source : str, optional
        Description of the data, for the heading.
    origins : mapping of str to str, optional
        Where each model comes from: a file or a column.
    **options
        ``ties``, ``no_relevant``, ``convention``. See `ltr_metrics.evaluate`.

    Returns
    -------
    Report
        ``summary`` has ``data``, ``options`` and, under ``models``, for each model and metric:
        ``mean``, ``quantiles`` over queries, ``n_queries`` and ``n_undefined`` (left out). With
        ``intervals_of_means`` it also has ``standard_error``, ``ci_low`` and ``ci_high``.
        ``comparison`` is that of `ltr_metrics.Comparison.to_dict`. ``online`` is that of
        `ltr_metrics.interleaving.Outcome.to_dict`, with the options of the simulation and the
        agreement with the first metric. Sections that were not requested are None or empty.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        If there is no model, if there are rules without a baseline, or as for
        `ltr_metrics.evaluate`, `ltr_metrics.compare` and `ltr_metrics.gate`.

    See Also
    --------
    as_html : The page with figures.
    as_text : The tables for a terminal.

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
    rules = list(rules)
    if rules and baseline is None:
        raise LtrValueError(f"The rule {rules[0]!r} is about a difference, which needs a baseline: name the baseline.")
    request = resolve(metrics, **options)
    by_model = dict.fromkeys(scores, queries) if isinstance(queries, Queries) else queries
    first = by_model[next(iter(scores))]
    # The simulation goes first, since it can still reject its options and the grades.
    simulation = None if online is None else Simulation.run(by_model, scores, online)
    evaluations = {name: _evaluate(by_model[name], name, column, request) for name, column in scores.items()}
    comparison = None if baseline is None else _compare(evaluations, baseline, comparing, first)
    estimates = {} if intervals_of_means is None else _estimates(evaluations, intervals_of_means)
    gate_result = gate(comparison, rules, each_segment=each_segment) if comparison is not None and rules else None
    summary = {
        "data": _data_section(first, source),
        "options": _options_section(request.policy, is_weighted=first.weight is not None),
        "origins": dict(origins or {}),
        "models": _models_section(evaluations, estimates),
        "lower_is_better": sorted(request.lower_is_better),
        "intervals": None if intervals_of_means is None else next(iter(estimates.values())).settings_to_dict(),
        "segments": [
            {"model": name} | part for name, result in evaluations.items() for part in result.segments_to_dicts()
        ],
        "comparison": None if comparison is None else comparison.to_dict(),
        "gate": None if gate_result is None else gate_result.to_dict(),
        "online": None if simulation is None else _online_section(simulation, evaluations),
        "learning": [{"model": name} | curve.to_dict() for name, of in (learning or {}).items() for curve in of],
        "versions": versions(),
    }
    summary |= _full_sections(by_model, scores, request, comparison, k) if complete else NO_FULL_SECTIONS
    return Report(summary, evaluations, comparison, gate_result, None if simulation is None else simulation.outcome)


# -- computation ------------------------------------------------------------------------------------------------------


def _evaluate(queries: Queries, name: str, scores: Any, request: Request) -> Evaluation:
    with naming(name):
        return queries.evaluate_request(scores, request)


def _compare(
    evaluations: dict[str, Evaluation], baseline: str, options: Mapping[str, Any] | None, queries: Queries
) -> Comparison:
    settings = dict(options or {})
    if settings.get("cluster") is not None:  # may have one label per row, which evaluations cannot resolve
        settings["cluster"] = labels_of(queries, "cluster", settings["cluster"])[1]
    return compare(evaluations, baseline=baseline, **settings)


def _estimates(evaluations: dict[str, Evaluation], options: Mapping[str, Any]) -> dict[str, Intervals]:
    estimates = {}
    for name, result in evaluations.items():
        with naming(name):
            estimates[name] = intervals(result, **options)
    return estimates


# -- sections of the summary ------------------------------------------------------------------------------------------


def _data_section(queries: Queries, source: str) -> dict[str, Any]:
    n_documents = queries.n_retrieved
    counts = np.bincount(queries.grade_index, minlength=len(queries.grades) + 1)[1:]
    return {
        "source": source,
        "rows": queries.n_rows,
        "queries": queries.n_queries,
        "queries_without_relevant": int((queries.count_by_query(queries.grades > 0) == 0).sum()),
        "documents_a_query": {
            "min": int(n_documents.min()),
            "median": float(np.median(n_documents)),
            "max": int(n_documents.max()),
        },
        "grades": {
            repr(grade).removesuffix(".0"): int(count)
            for grade, count in zip(queries.grades.tolist(), counts, strict=True)
        },
    }


def _options_section(policy: Policy, *, is_weighted: bool) -> dict[str, Any]:
    return {
        "ties": policy.ties,
        "no_relevant": policy.no_relevant,
        "no_relevant_of": dict(policy.no_relevant_of),
        "convention": policy.convention,
        "weighted": is_weighted,
    }


def _models_section(evaluations: dict[str, Evaluation], estimates: dict[str, Intervals]) -> dict[str, Any]:
    return {
        name: {
            metric: _distribution(values, result.mean[metric])
            | ({} if name not in estimates else _interval_fields(estimates[name][metric]))
            for metric, values in result.per_query.items()
        }
        for name, result in evaluations.items()
    }


def _interval_fields(interval: Interval) -> dict[str, Any]:
    return {name: none_if_nan(getattr(interval, name)) for name in ("standard_error", "ci_low", "ci_high")}


def _distribution(values: AnyArray, mean: float) -> dict[str, Any]:
    defined = values[~np.isnan(values)]
    quantiles = np.quantile(defined, QUANTILES).tolist() if defined.size else [None] * len(QUANTILES)
    return {
        "mean": None if np.isnan(mean) else mean,
        "quantiles": {f"{level:g}": value for level, value in zip(QUANTILES, quantiles, strict=True)},
        "n_queries": len(defined),
        "n_undefined": len(values) - len(defined),
    }


def _online_section(simulation: Simulation, evaluations: dict[str, Evaluation]) -> dict[str, Any]:
    first = next(iter(evaluations.values()))
    metric = next(iter(first.mean))
    means = {name: none_if_nan(result.mean[metric]) for name, result in evaluations.items()}
    return simulation.to_dict(metric, means, higher_is_better=metric not in first.lower_is_better)


def _full_sections(
    queries: Mapping[str, Queries], scores: Mapping[str, Any], request: Request, comparison: Comparison | None, k: int
) -> dict[str, Any]:
    confidence = CONFIDENCE if comparison is None else comparison.settings.confidence
    churn, rank_changes = (
        ([], []) if comparison is None else churn_and_rank_changes(queries, scores, comparison.baseline, k)
    )
    return {
        "changes": [] if comparison is None else largest_changes(comparison),
        "curves": metric_curves(queries, scores, request, confidence),
        "churn": churn,
        "rank_changes": rank_changes,
        "audit": audit_of(queries, scores, request, k).to_dict(),
    }
