"""The report: models evaluated on the same queries, and what describes how they differ."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._rows.json_values import to_json
from ltr_metrics._rows.per_query import labels_of
from ltr_metrics._rows.words import ConventionName, FamilyOfGate, NoRelevant, TiePolicy
from ltr_metrics.analysis.audit import Audit, DataAudit, audit_of
from ltr_metrics.analysis.churn import Churn, churn_of, rank_rows
from ltr_metrics.analysis.comparison import Comparison, compare
from ltr_metrics.analysis.gate import GateResult, gate
from ltr_metrics.analysis.intervals import Intervals, intervals
from ltr_metrics.analysis.leaderboard import Leaderboard
from ltr_metrics.analysis.opened_query import ranked_rows
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.versions import versions
from ltr_metrics.logs.learning import LearningCurve
from ltr_metrics.metrics.base import RankMetric
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve
from ltr_metrics.report.plots.lines import MetricOverKDisplay

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CONFIDENCE = 0.95  # of intervals in a report without a comparison
MAX_CUTOFFS = 20  # on one curve; more cutoffs are spaced evenly on a logarithmic scale
MAX_CHANGES = 5  # queries listed on each side
MAX_LISTED = 400  # queries listed for all metrics and models, so that a report of many stays small
MAX_DOCUMENTS = 10  # of each ranking of such a query


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """Results of some models on the same queries.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        The evaluation of each model, with the values per query.
    data : DataAudit or None
        Facts about the labels.
    comparison : Comparison or None
        The comparison with the baseline, if there is one. Its ``query`` opens the queries whose
        documents were kept.
    gate : GateResult or None
        The checks of the rules, if there are rules.
    intervals : dict of str to Intervals
        The intervals of each model's means, if they were requested.
    audit : Audit or None
        Ties and judged shares; with the next four only in a complete report.
    changes : list of dict
        The queries that gain and lose most, for each metric and model, largest change first.
    churn : dict of str to Churn
        The differences of each model's rankings from the baseline's.
    curves : list of MetricOverKDisplay
        The metrics by cutoff, each followed by the differences to the baseline.
    learning : dict of str to list of LearningCurve
        The learning curves of each model.
    source : str
        Description of the data.
    origins : dict of str to str
        Where each model comes from.
    files : dict of str to str
        SHA-256 of the files that the numbers come from.
    command : str
        The command that made the report.
    date : str
        When it was made, in ISO 8601.

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
    >>> report.to_dict()["means"][0]["n_undefined"]
    0
    """

    evaluations: dict[str, Evaluation]
    data: DataAudit | None = None
    comparison: Comparison | None = None
    gate: GateResult | None = None
    intervals: dict[str, Intervals] = field(default_factory=dict)
    audit: Audit | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    churn: dict[str, Churn] = field(default_factory=dict)
    curves: list[MetricOverKDisplay] = field(default_factory=list)
    learning: dict[str, list[LearningCurve]] = field(default_factory=dict)
    source: str = ""
    origins: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    command: str = ""
    date: str = ""

    @property
    def names(self) -> dict[str, str]:
        """The name of each metric as it was typed, by its canonical name."""
        asked = {name: typed for typed, name in reversed(list(self.first.per_query.asked.items()))}
        return {name: asked.get(name, name) for name in self.first}

    @property
    def first(self) -> Evaluation:
        """The evaluation of the first model."""
        return next(iter(self.evaluations.values()))

    @property
    def leaderboard(self) -> Leaderboard | None:
        """The ranks of the models, if some are compared."""
        return None if self.comparison is None else self.comparison.leaderboard

    def means(self) -> list[dict[str, Any]]:
        """Return a row for each metric and model: the mean, its interval and the quantiles over queries.

        Returns
        -------
        list of dict
            Quantiles are not weighted.
        """
        rows = []
        for metric in self.first:
            for model, result in self.evaluations.items():
                values = result.values_under(None, metric)
                values = values[~np.isnan(values)]
                quantiles = np.quantile(values, QUANTILES) if len(values) else [np.nan] * len(QUANTILES)
                row = {"metric": metric, "model": model, "mean": result.mean[metric]}
                if model in self.intervals:
                    one = self.intervals[model][metric]
                    row |= {"standard_error": one.standard_error, "ci_low": one.ci_low, "ci_high": one.ci_high}
                if result.shows_skill:
                    row |= result.skill_row(metric) | {"skill_standard_error": result.skill_standard_error[metric]}
                    if model in self.intervals:
                        row |= {end: getattr(one, end) for end in ("skill_ci_low", "skill_ci_high")}
                if not (values < 0).any():
                    row |= {"geometric_mean": result.geometric_mean(metric)}
                row |= {f"q{100 * level:g}": value for level, value in zip(QUANTILES, quantiles, strict=True)}
                rows.append(row | {"n_queries": len(values), "n_undefined": result.n_undefined[metric]})
        return rows

    def rankings(self) -> list[dict[str, Any]]:
        """Return a row for each model: how its rankings differ from the baseline's.

        Returns
        -------
        list of dict
            The means of `Churn`.
        """
        return [
            {"model": model, "k": churn.k, **churn.mean, "n_tied_at_cutoff": churn.n_tied_at_cutoff}
            for model, churn in self.churn.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return lists, numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            Sections that were not requested are None or empty. ``documents`` has an `OpenedQuery
            <ltr_metrics.analysis.opened_query.OpenedQuery>` for each query whose documents were
            kept: under ``rankings`` the first documents of each model, with ``rank``, ``document``,
            ``grade``, ``score``, ``is_tied``, ``ranks`` by model, and ``columns``. ``relative`` has
            each difference as a share of the baseline's mean: ``value``, ``ci_low``, ``ci_high``.
        """
        policy = self.first.policy
        sections: dict[str, Any] = {
            "source": self.source,
            "origins": self.origins,
            **({"files": self.files, "command": self.command, "date": self.date} if self.command else {}),
            "data": self.data,
            "options": {
                **{name: getattr(policy, name) for name in ("ties", "no_relevant", "no_relevant_of", "convention")},
                "weighted": self.first.is_weighted,
                "lower_is_better": sorted(self.first.lower_is_better),
            },
            "intervals": next(iter(self.intervals.values())).settings if self.intervals else None,
            "means": self.means(),
            "segments": [
                {"model": name, **part} for name, one in self.evaluations.items() for part in one.segments_to_dicts()
            ],
            "comparison": self.comparison,
            "leaderboard": None if self.leaderboard is None else self.leaderboard.rows,
            "relative": [
                {"metric": metric, "model": model, **change.to_dict()}
                for metric, of_models in ({} if self.comparison is None else self.comparison.relative).items()
                for model, change in of_models.items()
            ],
            "gate": self.gate,
            "changes": self.changes,
            "documents": [] if self.comparison is None else list((self.comparison.documents.opened or {}).values()),
            "rankings": self.rankings(),
            "audit": self.audit,
            "curves": self.curves,
            "learning": [{"model": name, **to_json(curve)} for name, of in self.learning.items() for curve in of],
            "versions": versions(),
        }
        return {name: to_json(section) for name, section in sections.items()}


def summarize(
    queries: Queries | Mapping[str, Queries],
    scores: Mapping[str, Any],
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    comparing: Mapping[str, Any] | None = None,
    rules: Iterable[str] = (),
    each_segment: bool = False,
    looks: int = 1,
    family: FamilyOfGate = "candidates",
    complete: bool = False,
    skill: bool = False,
    learning: Mapping[str, Sequence[LearningCurve]] | None = None,
    intervals_of_means: Mapping[str, Any] | None = None,
    k: int = 10,
    documents: bool = True,
    source: str = "",
    origins: Mapping[str, str] | None = None,
    files: Iterable[str | os.PathLike[str]] = (),
    command: str = "",
    date: datetime | None = None,
    ties: TiePolicy | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
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
    looks : int, default 1
        How often the gate may run, as for `ltr_metrics.gate`.
    family : {"candidates", "one"}, default "candidates"
        What a PASS holds for, as for `ltr_metrics.gate`.
    complete : bool, default False
        Add the sections of a full report: the metrics at every cutoff, the queries that gain and
        lose most, churn, the audit, and the skill.
    skill : bool, default False
        Add chance, ideal and skill of each metric, which a full report always has.
    learning : mapping of str to list of LearningCurve, optional
        The learning curves of each model's training, from `ltr_metrics.PerQueryLog.learning_curve`.
    intervals_of_means : mapping, optional
        Add the standard error and the confidence interval of each mean. The mapping has options of
        `ltr_metrics.intervals`, and may be empty. Clusters are those of ``queries``.
    k : int, default 10
        Cutoff of churn and of the share of judged documents.
    documents : bool, default True
        Whether a complete report keeps the first documents of the queries that it lists, with their
        ids, grades and scores. Pass False if they must not be shared.
    source : str, optional
        Description of the data, for the heading.
    origins : mapping of str to str, optional
        Where each model comes from: a file or a column.
    files : iterable of path, optional
        Files that the numbers come from. The report names them with their SHA-256.
    command : str, optional
        The command that made the report.
    date : datetime, optional
        When the report was made. The default is now.
    ties, no_relevant, convention : optional
        As for `ltr_metrics.evaluate`.

    Returns
    -------
    Report
        Its results. Those that were not requested are None or empty.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        If there is no model, if there are rules without a baseline, or as for
        `ltr_metrics.evaluate`, `ltr_metrics.compare` and `ltr_metrics.gate`.

    See Also
    --------
    as_html : The page with figures.
    as_json : All numbers.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.report import summarize
    >>> queries = ltr.Queries([1, 0, 0, 2, 0, 0], group=[2, 2, 2])
    >>> report = summarize(queries, {"base": [0.1, 0.2, 0.1, 0.2, 0.1, 0.2]}, ["mrr"])
    >>> report.evaluations["base"]["mrr"], report.evaluations["base"].n_undefined["mrr"]
    (0.75, 1)
    """
    if not isinstance(scores, Mapping):
        raise LtrTypeError(f'A report needs scores by model: {{"new": scores}}. Got {type(scores).__name__}.')
    if not scores:
        raise LtrValueError("A report needs at least one model or column of scores. Got none.")
    rules = list(rules)
    if rules and baseline is None:
        raise LtrValueError(f"The rule {rules[0]!r} is about a difference, which needs a baseline: name the baseline.")
    request = resolve(metrics, ties=ties, no_relevant=no_relevant, convention=convention)
    by_model = dict.fromkeys(scores, queries) if isinstance(queries, Queries) else queries
    first = by_model[next(iter(scores))]
    first.refuse_different_indexes(scores=scores)
    evaluations, estimates = {}, {}
    for name, column in scores.items():
        with naming(name):
            result = by_model[name].evaluate_request(column, request)
            evaluations[name] = result.with_skill() if skill or complete else result
            if intervals_of_means is not None:
                estimates[name] = intervals(evaluations[name], **intervals_of_means)
    comparison, settings = None, dict(comparing or {})
    if settings.get("cluster") is not None:  # may have one label per row, which evaluations cannot resolve
        settings["cluster"] = labels_of(first, "cluster", settings["cluster"])[1]
    if baseline is not None:
        comparison = compare(evaluations, baseline=baseline, skill=skill or complete, **settings)
    sections: dict[str, Any] = {}
    if complete:
        confidence = CONFIDENCE if comparison is None else comparison.settings.confidence
        sections["audit"] = audit_of(by_model, scores, request, k)
        sections["curves"] = _curves(by_model, scores, request, confidence, comparison)
    if complete and comparison is not None:
        of_baseline = str(baseline)
        sections["changes"] = list(_changes(comparison))
        if documents:
            ranked = {name: ranked_rows(by_model[name], column) for name, column in scores.items()}
            listed = {row["qid"]: row for row in sections["changes"] if row["model"] not in comparison.yardsticks}
            comparison.documents.keep(comparison.evaluations, ranked, list(listed), MAX_DOCUMENTS)
        rows = by_model[of_baseline]
        in_baseline = rank_rows(rows, scores[of_baseline], of_baseline)
        sections["churn"] = {
            name: churn_of(rows, in_baseline, rank_rows(rows, scores[name], name), k=k)
            for name in comparison.models
            if by_model[name] is rows
        }
    return Report(
        evaluations=evaluations,
        data=DataAudit.of(first),
        comparison=comparison,
        gate=gate(comparison, rules, each_segment=each_segment, looks=looks, family=family)
        if comparison is not None and rules
        else None,
        intervals=estimates,
        learning={name: list(of) for name, of in (learning or {}).items()},
        source=source,
        origins=dict(origins or {}),
        files={os.fspath(file): _sha256(Path(file)) for file in files},
        command=command,
        date=(date or datetime.now(timezone.utc)).isoformat(timespec="minutes"),
        **sections,
    )


def _sha256(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _changes(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield the largest gains and losses for each metric and model, at least one of each."""
    base, n_pairs = comparison.first, len(comparison.metrics) * len(comparison.models)
    n_each = max(1, min(MAX_CHANGES, MAX_LISTED // (2 * n_pairs)))
    at = {qid: i for i, qid in enumerate(base.qid.tolist())}
    for metric, model in itertools.product(comparison.metrics, comparison.models):
        change = comparison.changes(metric, model)
        values = comparison.evaluations[model].per_query[metric]
        for has_gained, queries in ((True, change.improved), (False, change.worsened)):
            for i in (at[qid] for qid in queries[:n_each].tolist()):
                yield {
                    "metric": metric,
                    "model": model,
                    "has_gained": has_gained,
                    "qid": base.json_qid[i],
                    "documents": int(base.n_documents[i]),
                    "relevant": int(base.n_relevant[i]),
                    "baseline": float(base.per_query[metric][i]),
                    "value": float(values[i]),
                    "difference": float(change.difference[i]),
                }


def _curves(
    queries: Mapping[str, Queries],
    scores: Mapping[str, Any],
    request: Request,
    confidence: float,
    comparison: Comparison | None,
) -> list[MetricOverKDisplay]:
    """Evaluate the metrics with a cutoff at every cutoff up to their deepest one."""
    deepest: dict[object, RankMetric] = {}
    for metric in request.metrics:
        if isinstance(metric, RankMetric) and (metric.k or 0) > 1:
            deepest[metric.without_cutoff] = max(
                deepest.get(metric.without_cutoff, metric), metric, key=lambda one: one.k or 0
            )
    models, curves = list(scores), []
    if comparison is not None:  # yardsticks last, so that a model has the same colour among the differences
        models = [str(comparison.baseline), *comparison.candidates, *comparison.yardsticks]
    for metric in deepest.values():
        k = metric.k or 1
        cutoffs = range(1, k + 1) if k <= MAX_CUTOFFS else sorted({round(k) for k in np.geomspace(1, k, MAX_CUTOFFS)})
        metrics = tuple(replace(metric, k=cutoff) for cutoff in cutoffs)
        at_cutoffs = Request(metrics, {}, request.options)
        results = {name: queries[name].evaluate_request(scores[name], at_cutoffs) for name in models}
        means = MetricOverKDisplay.from_result(results, metric, confidence=confidence)
        chance = np.array([results[models[0]].chance[name] for name in at_cutoffs.names])
        curves.append(replace(means, chance=chance, reference=None if comparison is None else comparison.baseline))
        if comparison is not None:
            compared = compare(
                {name: results[name] for name in models[: 1 + len(comparison.candidates or comparison.models)]},
                baseline=comparison.baseline,
                test="t",  # the fastest, because the figure shows no p-value
                confidence=confidence,
                cluster=comparison.cluster,
            )
            curves.append(MetricOverKDisplay.from_comparison(compared, metric, difference=True))
    return curves
