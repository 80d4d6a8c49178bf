"""Models as a caller passes them: their scores are evaluated, and the evaluations aligned to the same queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from ltr_metrics._rows.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    has_named_columns,
    named_columns,
    require_option,
    same_arrays,
)
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.ids import positions_by_text, spelling_hint
from ltr_metrics._rows.json_values import json_ids
from ltr_metrics._rows.per_query import cluster_of_queries, segmentations, warn_of_words_for_missing, weights
from ltr_metrics._rows.positions import Positions
from ltr_metrics._rows.words import QueriesOfComparison
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean, naming
from ltr_metrics.evaluation.columns import column_of, columns_by_key
from ltr_metrics.evaluation.evaluate import Queries
from ltr_metrics.evaluation.fingerprint import differing
from ltr_metrics.evaluation.result import Evaluation, take_queries
from ltr_metrics.evaluation.skill import SkillScale
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import CONVENTIONS
from ltr_metrics.metrics.names import metric, refuse_several
from ltr_metrics.metrics.requests import Metrics, Request, resolve

MAX_NAMED_QUERIES = 3  # in one message
OPTIONS_OF_RESULTS = ("query_weight", "by")  # the options for the data that results take


class Runs(NamedTuple):
    """The evaluations of each model, one for each of its seeds, and what they have to agree with."""

    by_model: dict[str, list[Evaluation]]
    reference: Evaluation  # has the queries in order, and their weights and segments
    metrics: list[str]
    is_reweighted: bool  # whether the weights of the reference replace those of the runs
    cluster: IntArray | None  # of each query of the reference, if labels were given


class Aligned(NamedTuple):
    """The models of a comparison, by name, all with the same queries in the same order."""

    evaluations: dict[str, Evaluation]
    seeds: dict[str, dict[str, FloatArray]]  # the mean of each seed by metric, for models of several seeds
    cluster: IntArray | None
    n_left_out: dict[str, int]
    n_other_judgments: int


# -- what was passed --------------------------------------------------------------------------------------------------


def runs_by_name(models: Any, data: Any = None) -> dict[str, list[Any]]:
    """Return the scores or results of each model, of which there are several if it has seeds.

    Of a table ``data``, the scores are given as names of columns.
    """
    if data is not None:
        models = {name: _columns(data, one) for name, one in columns_by_key(models, "models").items()}
    if has_named_columns(models) and not isinstance(models, Evaluation):
        models = named_columns(models, "models")  # a mapping or a table of scores
    if not isinstance(models, dict) or len(models) < 2:
        raise LtrTypeError(
            'compare needs two models or more by name, {"base": ..., "new": ...}, or as columns of data=. '
            f"Got {len(models) if isinstance(models, dict) else f'a {type(models).__name__}'}."
        )
    return {name: _runs(name, model) for name, model in models.items()}


def _columns(data: Any, model: Any) -> Any:
    """Return the column of a model, or one for each seed, in place of the names; results stay as they are."""
    if isinstance(model, (list, tuple)):
        return [_columns(data, one) for one in model]
    return model if isinstance(model, Evaluation) else column_of(data, model, "models")


def _runs(name: str, model: Any) -> list[Any]:
    """Return the runs of a model: one, or one for each seed."""
    if isinstance(model, (list, tuple)) and not model:
        raise LtrValueError(f"{name} is an empty list. Pass scores, one per row, or a list of seeds.")
    if isinstance(model, (list, tuple)) and (isinstance(model[0], (Evaluation, Positions)) or np.ndim(model[0]) > 0):
        return list(model)
    return [model]


def metrics_of(results: Sequence[Evaluation]) -> list[Metric] | None:
    """Return the metrics of the first result as objects, which no convention changes, or None."""
    if not results:
        return None
    return [metric(name) for name in results[0].per_query]


def names_in(result: Evaluation, metrics: Metrics | None) -> list[str]:
    """Return the canonical names of the requested metrics, by default all of a result."""
    keys = list(result.per_query) if metrics is None else [metrics] if isinstance(metrics, (str, Metric)) else metrics
    if not isinstance(keys, Iterable) or not (keys := list(keys)):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    return list(dict.fromkeys(name_in(result, key) for key in keys))


def name_in(result: Evaluation, key: Any) -> str:
    """Return the canonical name of a metric that was evaluated.

    A saved result may hold canonical names only. A shorter name is completed by the convention of
    the result.
    """
    evaluated = result.per_query
    if key in evaluated:
        return evaluated.canonical(key)
    refuse_several(str(key))
    try:
        name = str(resolve(key, convention=CONVENTIONS.get(result.policy.convention)).metrics[0])
    except LtrValueError:
        name = str(key)
    if name in evaluated:
        return name
    known = ", ".join(evaluated)
    raise LtrKeyError(f"{str(key)!r} was not evaluated.{did_you_mean(str(key), evaluated)} Evaluated: {known}.")


def runs_of_results(
    given: dict[str, list[Evaluation]], metrics: Metrics | None, data: Mapping[str, Any], cluster: Any
) -> Runs:
    """Return results of `evaluate` as runs, under the weights, segments and clusters of this call."""
    first = next(iter(given.values()))[0]
    rows = GroupedRows.of_queries(first.qid)
    is_reweighted = data.get("query_weight") is not None
    if is_reweighted:
        if first.policy.unit != "queries":
            raise LtrValueError(
                f"query_weight cannot be used with results whose means are over {first.policy.unit}: it would replace "
                "their weights. Leave it out, and weight the queries in each evaluation."
            )
        first = first.with_fields(weight=weights(rows, data["query_weight"], None))
    if data.get("by") is not None:
        first = first.with_fields(segments=segmentations(rows, data["by"]))
        warn_of_words_for_missing("segment", *first.segments.values())
    return Runs(given, first, names_in(first, metrics), is_reweighted, _cluster_codes(rows, cluster))


def runs_of_scores(
    given: dict[str, list[Any]], queries: Queries, request: Request, cluster: Any, n_threads: int | None
) -> Runs:
    """Return scores, beside which there may be results, as runs: the scores are evaluated."""
    runs = {}
    for name, of_model in given.items():
        with naming(name):
            runs[name] = [
                run if isinstance(run, Evaluation) else queries.evaluate_request(run, request, n_threads)
                for run in of_model
            ]
    reference = next(run for of_model in runs.values() for run in of_model if run.qid is queries.qid)
    is_reweighted = queries.weight is not None
    return Runs(runs, reference, list(request.names), is_reweighted, _cluster_codes(queries, cluster))


def _cluster_codes(rows: GroupedRows, cluster: Any) -> IntArray | None:
    return None if cluster is None else cluster_of_queries(rows, cluster)


def refuse_unused(options: Mapping[str, Any]) -> None:
    """Refuse options that results of `evaluate` do not take."""
    unused = [name for name, value in options.items() if value is not None and name not in OPTIONS_OF_RESULTS]
    if unused:
        raise LtrTypeError(
            f"{unused[0]} is not used in a comparison of results of evaluate: leave it out, or pass scores."
        )


# -- the same queries -------------------------------------------------------------------------------------------------


def align(runs: Runs, which: QueriesOfComparison) -> Aligned:
    """Return each model's evaluation of the same queries; refuse runs that cannot be compared with the reference."""
    require_option("queries", which, get_args(QueriesOfComparison))
    n_left_out, n_other_judgments = {}, 0
    if which == "common":
        kept, n_other_judgments = _common_queries(runs.by_model, runs.reference)
        n_left_out = {name: max(run.n_queries for run in one) - len(kept) for name, one in runs.by_model.items()}
        qids = runs.reference.qid[kept]
        runs = runs._replace(
            by_model={name: [run.subset(qids) for run in of_model] for name, of_model in runs.by_model.items()},
            reference=runs.reference.subset(qids),
            cluster=None if runs.cluster is None else runs.cluster[kept],
        )
    aligned: dict[str, list[Evaluation]] = {}
    reference = runs.reference
    for name, of_model in runs.by_model.items():
        aligned[name] = []
        for run in of_model:
            ordered = _aligned(f"The result of {name!r}", run, reference, runs)
            if reference.fingerprint is None:  # as results from a search; the first run that has one replaces it
                reference = reference.with_fields(fingerprint=ordered.fingerprint)
            fields = {field: getattr(ordered, field) for field in ("cluster_labels", "counted_as_one", "skill_scale")}
            values = {metric: ordered.per_query[metric] for metric in runs.metrics}
            aligned[name].append(reference.with_fields(**fields).with_values(values))
    evaluations = {name: _mean_of_seeds(of_model) for name, of_model in aligned.items()}
    seeds = {
        name: {metric: np.array([run.mean[metric] for run in of_model]) for metric in runs.metrics}
        for name, of_model in aligned.items()
        if len(of_model) > 1
    }
    cluster = common_clusters(evaluations.values()) if runs.cluster is None else runs.cluster
    return Aligned(evaluations, seeds, cluster, n_left_out, n_other_judgments)


def _mean_of_seeds(runs: list[Evaluation]) -> Evaluation:
    """Return the mean of several runs, query by query."""
    if len(runs) == 1:
        return runs[0]
    values = {name: np.mean([run.per_query[name] for run in runs], axis=0) for name in runs[0].per_query}
    scales = [run.skill_scale for run in runs if run.skill_scale is not None]
    scale = SkillScale.mean_of(scales) if len(scales) == len(runs) else None
    return runs[0].with_values(values).with_fields(skill_scale=scale)


def _common_queries(runs: Mapping[str, list[Evaluation]], reference: Evaluation) -> tuple[IntArray, int]:
    """Return the positions in the reference of the queries that all runs have with the same judgments.

    The type of the ids does not matter. The second number counts the queries whose judgments differ.
    """
    expected = positions_by_text(reference.qid, "A model")
    positions = [
        (run, positions_by_text(run.qid, f"The result of {name!r}"))
        for name, of_model in runs.items()
        for run in of_model
    ]
    texts = [text for text in expected if all(text in at for _, at in positions)]
    kept = np.array([expected[text] for text in texts], dtype=np.intp)
    if not texts:
        raise LtrValueError(
            "The models have no query in common, so there is nothing to compare. Evaluate them on the same queries."
        )
    reference, is_other = take_queries(reference, kept), np.zeros(len(kept), dtype=np.bool_)
    for run, at in positions:
        common = take_queries(run, np.array([at[text] for text in texts], dtype=np.intp))
        is_other |= _has_other_data(common, reference)
        if reference.fingerprint is None:
            reference = reference.with_fields(fingerprint=common.fingerprint)
    if is_other.all():
        raise LtrValueError(
            "The models have different data: the judged documents or their grades differ in every query that they "
            f"have in common, {len(kept):,} in number. Evaluate them on the same judgments."
        )
    return kept[~is_other], int(is_other.sum())


def _aligned(who: str, run: Evaluation, reference: Evaluation, runs: Runs) -> Evaluation:
    """Return a run in the order of the reference; refuse other data, options and weights."""
    for name in runs.metrics:
        if name not in run.per_query:
            raise LtrValueError(
                f"{who} lacks {name}; it has {', '.join(run.per_query)}. Name metrics that all results have."
            )
        for option, value, expected in (
            ("ties", run.policy.ties, reference.policy.ties),
            ("no_relevant", run.policy.no_relevant_for(name), reference.policy.no_relevant_for(name)),
            ("higher_is_better", name not in run.lower_is_better, name not in reference.lower_is_better),
        ):
            _require_same(who, option, value, expected, f"in {name}")
        if reference.weight is not None:  # otherwise such a query counts as 1 in both
            is_one, expected_one = (name in one.policy.weighs_undefined_as_one for one in (run, reference))
            _require_same(
                who, "weighs_undefined_as_one", is_one, expected_one, f"a choice of the convention, in {name}"
            )
        if np.isinf(run.per_query[name]).any():
            raise LtrValueError(f"{who} has an infinite value in {name}, so there is no difference. Evaluate again.")
    if run.qid is not reference.qid and run.qid.tolist() != reference.qid.tolist():
        run = take_queries(run, _positions(who, run, reference))
    _refuse_other_data(who, run, reference)
    if runs.is_reweighted:
        with naming(who):
            return run.under_weights(reference.weight, runs.metrics)
    if not same_arrays(run.weight, reference.weight):
        raise LtrValueError(
            f"{who} has different query weights from the other models, which have "
            f"{'none' if reference.weight is None else 'their own'}. Pass weights for all models."
        )
    return run


def _require_same(who: str, option: str, value: object, expected: object, note: str) -> None:
    if value != expected:
        raise LtrValueError(
            f"{who} was evaluated with {option}={value!r}, but the other models with {option}={expected!r} ({note}), "
            "so their numbers are not comparable. Evaluate all models with the same options."
        )


def _positions(who: str, run: Evaluation, reference: Evaluation) -> IntArray:
    """Return the positions in a run of the reference's queries, whatever type their ids have."""
    positions, expected = positions_by_text(run.qid, who), positions_by_text(reference.qid, "Another model")
    missing = [reference.json_qid[at] for text, at in expected.items() if text not in positions]
    extra = [run.json_qid[at] for text, at in positions.items() if text not in expected]
    if missing or extra:
        faults = [f"lacks {_some(missing)}"] if missing else []
        faults += [f"has {_some(extra)} in addition"] if extra else []
        common = ', or compare those that all have: queries="common"'
        same = f" Evaluate all models on the same queries{'' if len(missing) == len(expected) else common}."
        hint = spelling_hint(extra, missing) or same
        raise LtrValueError(
            f"{who} has different queries from the other models: of {reference.n_queries:,} it "
            f"{' and '.join(faults)}.{hint}"
        )
    return np.array([positions[text] for text in expected], dtype=np.intp)


def _refuse_other_data(who: str, run: Evaluation, reference: Evaluation) -> None:
    is_same_size = run.n_documents == reference.n_documents
    if run.fingerprint is not None and reference.fingerprint is not None:
        unjudged, expected = run.fingerprint.unjudged, reference.fingerprint.unjudged
        if None not in (unjudged, expected) or not is_same_size.all():  # None: judged was not given
            _require_same(who, "unjudged", unjudged, expected, "None: judged was not given")
    is_other = _has_other_data(run, reference)
    if is_other.any():
        at = int(is_other.argmax())
        counts, expected_counts = (
            f"{one.n_documents[at]:,} documents, {one.n_relevant[at]:,} relevant" for one in (run, reference)
        )
        common = "" if is_other.all() else ', or leave these queries out: queries="common"'
        raise LtrValueError(
            f"{who} has different data from the other models: the judged documents or their grades differ in "
            f"{_some(json_ids(reference.qid[is_other]))} (query {reference.json_qid[at]!r} has {counts} here, and "
            f"{expected_counts} in the other models). Evaluate all models on the same data, with the same "
            f"options{common}."
        )


def _has_other_data(run: Evaluation, reference: Evaluation) -> BoolArray:
    """Return the mask of the queries whose judged documents or grades differ."""
    if run.fingerprint is not None and reference.fingerprint is not None:
        return differing(run.fingerprint, reference.fingerprint)
    # Results from a search's log keep counts only, and those by from_per_query none.
    is_counted = (run.n_documents >= 0) & (reference.n_documents >= 0)
    is_other: BoolArray = (run.n_documents != reference.n_documents) | (run.n_relevant != reference.n_relevant)
    return is_other & is_counted


def _some(qids: list[Any]) -> str:
    first = ", ".join(map(repr, qids[:MAX_NAMED_QUERIES]))
    noun = "query" if len(qids) == 1 else f"{len(qids):,} queries:"
    return f"{noun} {first}" + (", ..." if len(qids) > MAX_NAMED_QUERIES else "")


# -- clusters ---------------------------------------------------------------------------------------------------------


def require_a_sample(result: Evaluation, cluster: IntArray | None, what: str) -> None:
    """Refuse queries that say nothing about how queries vary, or clusters that say nothing about clusters."""
    if result.n_queries < 2:
        raise LtrValueError(f"There is one query only, and {what} needs two or more to estimate how queries vary.")
    if result.weight is not None and not result.weight.any():
        raise LtrValueError("All query weights are 0: no query counts. Give some queries a weight, or pass no weights.")
    if cluster is not None and (cluster == cluster[0]).all():
        raise LtrValueError(
            f"All {len(cluster):,} queries are of one cluster, and {what} needs two or more to estimate how they vary. "
            "Use other labels, or evaluate more clusters."
        )


def common_clusters(results: Iterable[Evaluation]) -> IntArray | None:
    """Return the clusters of results of the same queries in the same order; None if none has clusters."""
    clusters = [result.cluster for result in results if result.cluster is not None]
    for other in clusters[1:]:
        n_pairs = len(np.unique(np.column_stack([clusters[0], other]), axis=0))
        if not n_pairs == len(np.unique(clusters[0])) == len(np.unique(other)):
            raise LtrValueError(
                "The results have different clusters: two queries are of one cluster in one result, and of two in "
                "another. Evaluate all models with the same clusters, or pass cluster labels to the comparison."
            )
    return clusters[0] if clusters else None
