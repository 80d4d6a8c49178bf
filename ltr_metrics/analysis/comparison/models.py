"""What may be compared, to evaluations of the same queries in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, IntArray, has_named_columns, named_columns, same_arrays
from ltr_metrics._engine.grouping import GroupedRows
from ltr_metrics._engine.ids import positions_by_text, spelling_hint
from ltr_metrics._engine.per_query import segmentations, weights
from ltr_metrics._engine.positions import Positions
from ltr_metrics.analysis.comparison.names import name_in
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.evaluation.evaluate import Queries, queries_from
from ltr_metrics.evaluation.fingerprint import differing
from ltr_metrics.evaluation.result import Evaluation, take_queries
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import metric
from ltr_metrics.metrics.requests import Metrics, Request, resolve

MOST_NAMED = 3  # queries in one message
OWN_OPTIONS = (
    *("metrics", "baseline", "test", "correction", "correction_over", "interval", "confidence", "power", "n_resamples"),
    *("cluster", "random_state", "ties", "no_relevant", "convention", "n_threads"),
)


@dataclass(frozen=True, eq=False)
class Model:
    """What one model's rankings are worth, averaged over its seeds where it has several."""

    evaluation: Evaluation
    seeds: dict[str, FloatArray]  # metric -> mean of each seed; empty for a model without seeds


def models_from(
    given: Mapping[str, Any],
    y_true: Any,
    data: dict[str, Any],
    metrics: Metrics | None,
    options: dict[str, Any],
    n_threads: int | None,
) -> tuple[dict[str, Model], GroupedRows]:
    """Evaluate what is not evaluated yet, bring all into one order of queries, and refuse what cannot be compared.

    The second value knows the queries: of results, each as a row.
    """
    rows: GroupedRows
    if not isinstance(given, Mapping) and has_named_columns(given):
        given = named_columns(given, "models")  # a table of scores
    is_by_name = isinstance(given, Mapping) and not isinstance(given, Evaluation)
    if not is_by_name or len(given) < 2:
        found = f"{len(given)}" if is_by_name else f"a {type(given).__name__}"
        raise LtrTypeError(f'compare needs two models or more by name, {{"base": ..., "new": ...}}. Got {found}.')
    runs = {str(name): _runs(str(name), model) for name, model in given.items()}
    if len(runs) < len(given):
        raise LtrValueError(
            f"Two models read alike: {', '.join(map(repr, given))}. Give them names that differ as text."
        )
    evaluated = [run for of_model in runs.values() for run in of_model if isinstance(run, Evaluation)]
    if len(evaluated) == sum(map(len, runs.values())):
        reference, names, rows = _of_results(evaluated[0], y_true, data, metrics, options)
    else:
        if y_true is None:
            raise LtrTypeError("y_true is needed with scores; only models that are evaluated already go without it.")
        request = resolve(metrics_of(evaluated) if metrics is None else metrics, **options)
        rows = queries = queries_from(y_true, data, "compare", own=OWN_OPTIONS)
        runs = {
            name: [_evaluated(name, run, queries, request, n_threads) for run in of_model]
            for name, of_model in runs.items()
        }
        reference = next(run for of_model in runs.values() for run in of_model if run.qid is queries.qid)
        names = [str(one) for one in request.metrics]
    explicit = data.get("query_weight") is not None or data.get("sample_weight") is not None
    models = {}
    for name, of_model in runs.items():
        aligned = []
        for run in of_model:
            ordered = _in_order(f"The result of {name!r}", run, reference, names, explicit)
            if reference.fingerprint is None:  # a search has logged it: the others are to agree all the same
                reference = replace(reference, fingerprint=ordered.fingerprint)
            aligned.append(reference.with_values({metric: ordered.per_query[metric] for metric in names}))
        models[name] = _averaged(aligned, names)
    return models, rows


def _runs(name: str, model: Any) -> list[Any]:
    """Return the runs of a model: one, or one a seed."""
    if isinstance(model, (list, tuple)) and not model:
        raise LtrValueError(f"{name} is an empty list: it has neither scores nor seeds.")
    several = (isinstance(model, np.ndarray) and model.ndim == 2) or (
        isinstance(model, (list, tuple)) and (isinstance(model[0], (Evaluation, Positions)) or np.ndim(model[0]) > 0)
    )
    if several and len({np.shape(run) for run in model if not isinstance(run, (Evaluation, Positions))}) > 1:
        raise LtrValueError(f"{name}: the seeds of a model must have one score a row each; their lengths differ.")
    return list(model) if several else [model]


def metrics_of(evaluated: Sequence[Evaluation]) -> list[Metric] | None:
    """Return the metrics of the first result that is evaluated already, complete, so that no convention changes them."""
    if not evaluated:
        return None
    try:
        return [metric(name) for name in evaluated[0].per_query]
    except LtrValueError as error:
        raise LtrValueError(
            f"The metrics of a result are those that scores are to be compared in, and one of them has no name to compute it by: {error} "
            "Say which are wanted: metrics=."
        ) from None


def _evaluated(name: str, run: Any, queries: Queries, request: Request, n_threads: int | None) -> Evaluation:
    if isinstance(run, Evaluation):
        return run
    with naming(name):
        return queries.evaluate_request(run, request, n_threads)


def _of_results(
    first: Evaluation, y_true: Any, data: dict[str, Any], metrics: Metrics | None, options: dict[str, Any]
) -> tuple[Evaluation, list[str], GroupedRows]:
    """Return what results are compared with, under weights and segments that are given now, and the metrics' names."""
    if y_true is not None:
        raise LtrTypeError("All models are evaluated already, so y_true has no part in this: leave it out.")
    superfluous = [name for name, value in options.items() if value is not None]
    superfluous += [name for name, value in data.items() if value is not None and name not in ("query_weight", "by")]
    if superfluous:
        raise LtrTypeError(
            f"{superfluous[0]} has no part in a comparison of models that are evaluated already: leave it out, or pass scores."
        )
    asked = list(first.per_query) if metrics is None else [metrics] if isinstance(metrics, (str, Metric)) else metrics
    if not isinstance(asked, Iterable):
        raise LtrTypeError(f"metrics must be a name, a metric, or several of them. Got {metrics!r}.")
    names = list(dict.fromkeys(name_in(first, one) for one in asked))
    rows = GroupedRows.of_queries(first.qid)
    if data.get("query_weight") is not None:
        first = replace(first, weight=weights(rows, data["query_weight"], None))
    if data.get("by") is not None:
        first = replace(first, segments=segmentations(rows, data["by"]))
    return first, names, rows


def _in_order(who: str, run: Evaluation, reference: Evaluation, names: list[str], explicit_weights: bool) -> Evaluation:
    """Return a run with its queries in the order of the reference; refuse other data, options and weights."""
    for name in names:
        if name not in run.per_query:
            raise LtrValueError(
                f"{who} lacks {name}; it has {', '.join(run.per_query)}. Name those that all have: metrics=."
            )
        _refuse_other_options(who, run, reference, name)
    if run.qid is not reference.qid and run.qid.tolist() != reference.qid.tolist():
        run = take_queries(run, _positions(who, run, reference))
    _refuse_other_data(who, run, reference)
    if not explicit_weights and not same_arrays(run.weight, reference.weight):
        raise LtrValueError(
            f"{who} has other query weights than the rest, which has {'none' if reference.weight is None else 'its own'}. Pass the "
            "weights that all are to be compared with: query_weight=."
        )
    for name in names:
        if np.isinf(run.per_query[name]).any():
            raise LtrValueError(
                f"{who} has an infinite value in {name}, which has no difference to another. Evaluate again."
            )
    return run


def _refuse_other_options(who: str, run: Evaluation, reference: Evaluation, name: str) -> None:
    options = {
        "ties": (run.policy.ties, reference.policy.ties),
        "no_relevant": tuple(one.policy.no_relevant_for(name) for one in (run, reference)),
    }
    for option, (one, other) in options.items():
        if one != other:
            raise LtrValueError(
                f"{who} was evaluated with {option}={one!r}, the rest with {option}={other!r} (in {name}): these numbers are not "
                "comparable. Evaluate both with the same options."
            )


def _positions(who: str, run: Evaluation, reference: Evaluation) -> IntArray:
    """Return where the queries of the reference stand in a run, whatever type their ids have."""
    here, wanted = positions_by_text(run.qid, who), positions_by_text(reference.qid, "The rest")
    ids, wanted_ids = run.qid.tolist(), reference.qid.tolist()
    missing = [wanted_ids[at] for text, at in wanted.items() if text not in here]
    further = [ids[at] for text, at in here.items() if text not in wanted]
    if missing or further:
        what = [f"lacks {_some(missing)}"] * bool(missing) + [f"has {_some(further)} besides"] * bool(further)
        remedy = spelling_hint(further, missing)
        if not remedy:
            remedy = " Evaluate both on the same queries" + (
                "." if len(missing) == len(wanted) else ", or compare those that both have: result.subset(qids)."
            )
        raise LtrValueError(
            f"{who} is of other queries than the rest: of {reference.n_queries:,} it {' and '.join(what)}.{remedy}"
        )
    return np.array([here[text] for text in wanted], dtype=np.intp)


def _refuse_other_data(who: str, run: Evaluation, reference: Evaluation) -> None:
    if run.fingerprint is not None and reference.fingerprint is not None:
        _refuse_other_unjudged(who, run, reference, run.fingerprint.unjudged, reference.fingerprint.unjudged)
        other = np.flatnonzero(differing(run.fingerprint, reference.fingerprint))
    else:  # results that a search has logged keep counts alone
        other = np.flatnonzero((run.n_documents != reference.n_documents) | (run.n_relevant != reference.n_relevant))
    if len(other):
        query = int(other[0])
        counts = [
            f"{one.n_documents[query]:,} documents, {one.n_relevant[query]:,} relevant" for one in (run, reference)
        ]
        told = "as many documents and relevant ones, but other grades"
        if counts[0] != counts[1]:
            told = f"{counts[0]}, and not {counts[1]}"
        raise LtrValueError(
            f"{who} is of other data than the rest: the judged documents or their grades differ in {_some(reference.qid[other].tolist())} "
            f"(query {reference.plain_qid[query]!r}: {told}). Evaluate both on the same data."
        )


def _refuse_other_unjudged(
    who: str, run: Evaluation, reference: Evaluation, one: str | None, other: str | None
) -> None:
    """Refuse another treatment of documents that nobody judged; without any there is none to differ in."""
    if one == other or (None in (one, other) and (run.n_documents == reference.n_documents).all()):
        return
    raise LtrValueError(
        f"{who} was evaluated with unjudged={one!r}, the rest with unjudged={other!r} (None: no document is said not to be judged): these "
        "numbers are not comparable. Evaluate both with the same options."
    )


def _some(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    what = "query" if len(names) == 1 else f"{len(names):,} queries:"
    return f"{what} {shown}" + (", ..." if len(names) > MOST_NAMED else "")


def _averaged(runs: list[Evaluation], names: list[str]) -> Model:
    if len(runs) == 1:
        return Model(runs[0], {})
    values = {name: np.mean([run.per_query[name] for run in runs], axis=0) for name in names}
    return Model(runs[0].with_values(values), {name: np.array([run.mean[name] for run in runs]) for name in names})
