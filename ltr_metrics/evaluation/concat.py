"""One evaluation of the queries of several parts, from the evaluations of the parts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, IntArray
from ltr_metrics._rows.ids import id_text, id_texts
from ltr_metrics._rows.per_query import Labels, warn_of_words_for_missing
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.skill import SkillScale


@explaining_calls
def concat(evaluations: Iterable[Evaluation]) -> Evaluation:
    """Return one evaluation of the queries of several parts, such as partitions, batches or saved files.

    Evaluate each part where its rows are, with the same metrics and options, and concatenate the
    results. All values, weights, segments, clusters and fingerprints are those of `evaluate` on all
    rows, and the means are those of all queries, to one unit in the last place.

    Parameters
    ----------
    evaluations : iterable of Evaluation
        The evaluations of the parts: results of `evaluate`, also from other processes, or of
        `load_result`. Each query is in one part with all of its rows.

    Returns
    -------
    Evaluation
        With the queries of the first part first. Labels of segments are in the order of an ordered
        categorical that the parts share, otherwise in order of first appearance. Segments and
        clusters of several parts are the same if their labels have the same text. It has a chance
        level if all parts have one, which other processes and files keep with ``skill=True`` only.

    Raises
    ------
    LtrValueError
        If there is no evaluation, if a query is in two parts, or if parts differ in their metrics,
        in their options, or in the version of this package that evaluated them.
    LtrTypeError
        If something is not an evaluation.

    Warns
    -----
    LtrWarning
        If several queries share a segment or a cluster whose label is a word for a missing value.

    See Also
    --------
    evaluate_batches : Evaluate an iterable of batches in this process.
    ltr_metrics.dask.evaluate, ltr_metrics.spark.evaluate : Evaluate the rows of an engine.
    Evaluation.subset : The opposite: the evaluation of some queries.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> monday = ltr.evaluate([1, 0], [0.2, 0.8], qid=[7, 7], metrics=["mrr"])
    >>> tuesday = ltr.evaluate([0, 2], [0.1, 0.7], qid=[9, 9], metrics=["mrr"])
    >>> both = ltr.concat([monday, tuesday])
    >>> both["mrr"], both.qid, both.per_query["mrr"]
    (0.75, array([7, 9]), array([0.5, 1. ]))
    """
    parts = _require_evaluations(evaluations)
    asked, unjudged = _refuse_different_options(parts)
    weight = [part.weight for part in parts if part.weight is not None]  # of all parts or of none, as all options
    hashes = [part.fingerprint.of_query for part in parts if part.fingerprint is not None]
    clusters = [part.cluster_labels for part in parts if part.cluster_labels is not None]
    scales = [part.skill_scale for part in parts if part.skill_scale is not None]
    first = parts[0]
    result = Evaluation.of(
        {name: np.concatenate([part.per_query[name] for part in parts]) for name in first.per_query},
        asked,
        qid=_concat_ids([part.qid for part in parts]),
        n_documents=np.concatenate([part.n_documents for part in parts]),
        n_relevant=np.concatenate([part.n_relevant for part in parts]),
        weight=np.concatenate(weight) if weight else None,
        policy=first.policy,
        segments={name: _concat_labels([part.segments[name] for part in parts]) for name in first.segments},
        fingerprint=Fingerprint(np.concatenate(hashes), unjudged) if hashes else None,
        lower_is_better=first.lower_is_better,
        cluster_labels=_concat_labels(clusters) if clusters else None,
        counted_as_one={
            name: np.concatenate([part.counted_as_one[name] for part in parts])
            for name in first.counted_as_one
            if all(name in part.counted_as_one for part in parts)
        },
        skill_scale=SkillScale.concat(scales) if len(scales) == len(parts) else None,
        shows_skill=first.shows_skill,
        version=first.version,
    )
    warn_of_words_for_missing("segment", *result.segments.values())
    warn_of_words_for_missing("cluster", *([] if result.cluster_labels is None else [result.cluster_labels]))
    return result


def _require_evaluations(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    remedy = "concat takes a list of evaluations, such as [evaluate(...), load_result(...)]."
    if isinstance(evaluations, Evaluation) or not isinstance(evaluations, Iterable):
        raise LtrTypeError(f"{remedy} Got one {type(evaluations).__name__}.")
    parts = list(evaluations)
    for at, part in enumerate(parts):
        if not isinstance(part, Evaluation):
            raise LtrTypeError(f"{remedy} Part {at} is of the type {type(part).__name__}.")
    if not parts:
        raise LtrValueError("There is no evaluation to concatenate, and so no query: the list is empty.")
    return parts


# -- the same metrics and options -------------------------------------------------------------------------------------


def _refuse_different_options(parts: Sequence[Evaluation]) -> tuple[dict[str, str], Any]:
    """Raise an error for parts that are not of one kind; return the names that were asked for, and `unjudged`."""
    expected = _options_of(parts[0])
    asked: dict[str, str] = {}
    unjudged, first = None, 0  # the part that says it first
    for at, part in enumerate(parts):
        for option, value in _options_of(part).items():
            if value != expected[option]:
                raise _difference(option, 0, expected[option], at, value)
        for name, canonical in part.per_query.asked.items():
            if asked.setdefault(name, canonical) != canonical:
                raise _difference(f"the meaning of {name!r}", 0, asked[name], at, canonical)
        own = None if part.fingerprint is None else part.fingerprint.unjudged  # None if all documents are judged
        if unjudged is None and own is not None:
            unjudged, first = own, at
        if own not in (None, unjudged):
            raise _difference("unjudged", first, unjudged, at, own)
    return asked, unjudged


def _options_of(part: Evaluation) -> dict[str, Any]:
    """Return what all parts have in common, by the name of the option."""
    policy = part.policy
    return {
        "metrics": sorted(part.per_query),
        "version": part.version,
        "convention": policy.convention,
        "ties": policy.ties,
        "no_relevant": policy.no_relevant,
        "no_relevant of single metrics": dict(policy.no_relevant_of),
        "what the means are over": policy.unit,
        "unweighted 1 for undefined values": sorted(policy.weighs_undefined_as_one),
        "lower_is_better": sorted(part.lower_is_better),
        "skill": part.shows_skill,
        "estimator": getattr(part, "estimator", "none"),  # of an evaluation from clicks
        "clip": getattr(part, "clip", "none"),
        "by": ["one segmentation" if name is None else name for name in sorted(part.segments, key=str)],
        "weights": "weights" if part.is_weighted else "no weights",
        "cluster": "clusters" if part.cluster_labels is not None else "no clusters",
        "fingerprints of the data": "fingerprints" if part.fingerprint is not None else "no fingerprints",
    }


def _difference(option: str, at: int, value: Any, other_at: int, other: Any) -> LtrValueError:
    shown, other_shown = (", ".join(one) or "none" if isinstance(one, list) else one for one in (value, other))
    return LtrValueError(
        f"Parts must be evaluated with the same metrics and options, but they differ in {option}: part {at} has "
        f"{shown}, and part {other_at} has {other_shown}. Evaluate one of them again."
    )


# -- ids and labels ---------------------------------------------------------------------------------------------------


def _concat_ids(ids: Sequence[AnyArray]) -> AnyArray:
    """Return the ids of all parts, which keep their types; raise an error if an id is in two parts."""
    if len({of_part.dtype.kind for of_part in ids}) > 1:  # NumPy would convert numbers to text
        ids = [of_part.astype(object) for of_part in ids]
    of_all = np.concatenate(ids)
    keys = of_all if of_all.dtype.kind in "iu" else np.array(id_texts(of_all))
    order = np.argsort(keys, kind="stable")
    is_repeated = keys[order[1:]] == keys[order[:-1]]
    if is_repeated.any():
        repeated = order[int(is_repeated.argmax()) :][:2]
        first, second = np.searchsorted(np.cumsum([len(of_part) for of_part in ids]), repeated, side="right").tolist()
        raise LtrValueError(
            f"Query {str(keys[repeated[0]])!r} is in two parts, {first} and {second}. All rows of a query must be in "
            "one part, because each part ranks only its own rows. Bring the rows of each query together: sort them by "
            "query before they are cut into parts, be they files, batches (as of --sorted) or partitions of an engine. "
            "If these are two queries, give them two ids, and pass qid instead of group, which counts from 0 in each "
            "part."
        )
    return of_all


def _concat_labels(parts: Sequence[Labels]) -> Labels:
    """Return the labels of all parts, in the order of the parts; labels are the same if they have the same text."""
    known: dict[str, tuple[int, Hashable]] = {}
    codes: list[IntArray] = []
    for labels, code in parts:
        new_code = [known.setdefault(id_text(label), (len(known), label))[0] for label in labels]
        codes.append(np.array(new_code, dtype=np.intp)[code])
    return [label for _, label in known.values()], np.concatenate(codes)
