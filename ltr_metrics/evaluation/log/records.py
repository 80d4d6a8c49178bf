"""Load the records of a folder, merge repetitions, and refuse scores that cannot be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray
from ltr_metrics._engine.plain import PlainId
from ltr_metrics.errors import LtrKeyError, LtrValueError
from ltr_metrics.evaluation.log.files import SUFFIX, Record, Split, read
from ltr_metrics.evaluation.log.parameters import as_text
from ltr_metrics.evaluation.result import Evaluation, take_queries


def load(folder: Path) -> list[Record]:
    """Return one record a candidate and split; the order of writing does not matter."""
    records = read(folder)
    if not records:
        raise LtrKeyError(f"There are no scores in {folder} (files *{SUFFIX}): no scorer has written to this log yet.")
    _refuse_two_meanings(folder, records)
    _refuse_cut_queries(records)
    return _assign_training_parts(_merge_repetitions(folder, records))


def _refuse_two_meanings(folder: Path, records: Iterable[Record]) -> None:
    """Refuse two policies, and one name of two metrics: their values cannot be compared."""
    meanings: dict[str, str] = {}
    for record in records:
        policy, asked = record.evaluation.policy, record.evaluation.per_query.asked
        chosen = f"ties={policy.ties!r}, no_relevant={policy.no_relevant!r}, convention={policy.convention!r}"
        for name, meaning in {
            "A score": chosen,
            **{repr(name): canonical for name, canonical in asked.items()},
        }.items():
            if meanings.setdefault(name, meaning) != meaning:
                both = " and ".join(sorted((meanings[name], meaning)))
                raise LtrValueError(
                    f"{name} means {both} in {folder}. Give each scorer a log with a folder of its own."
                )


def _refuse_cut_queries(records: Iterable[Record]) -> None:
    """Refuse a query of two sizes: all candidates are scored on all documents of a query."""
    sizes: dict[PlainId, int] = {}
    for record in records:
        evaluation = record.evaluation
        for query, size in zip(evaluation.plain_qid, evaluation.n_documents.tolist(), strict=True):
            if sizes.setdefault(query, size) != size:
                raise LtrValueError(
                    f"Query {query!r} was scored with {sizes[query]} documents and with {size}: something cuts "
                    "queries, and values of parts of a query cannot be compared. Split by cv=GroupKFold() with "
                    "groups=qid. HalvingGridSearchCV takes a sample of the rows unless resource= is a parameter, "
                    'such as "estimator__n_estimators". learning_curve always takes a sample: give its scorer no log. '
                    "If these are different queries, give them different ids or use a new folder."
                )


def _merge_repetitions(folder: Path, records: Iterable[Record]) -> list[Record]:
    merged: dict[tuple[str, Split], Record] = {}
    for record in sorted(records, key=lambda r: list(r.evaluation.per_query)):  # in a fixed order
        key = (as_text(record.parameters), record.split)
        merged[key] = _merge(folder, merged[key], record) if key in merged else record
    return list(merged.values())


def _merge(folder: Path, one: Record, other: Record) -> Record:
    """Merge two records of one candidate and split; values of common metrics must be equal."""
    a, b = one.evaluation, _reorder_queries(other.evaluation, one.evaluation)
    pairs = [(a.n_documents, b.n_documents), (a.n_relevant, b.n_relevant), (query_weights(a), query_weights(b))]
    pairs += [(a.per_query[name], b.per_query[name]) for name in a.per_query if name in b.per_query]
    if not all(np.array_equal(x, y, equal_nan=True) for x, y in pairs):
        remedy = (
            " Or one of them is the score of a training part, which the log cannot know for this estimator: set "
            "return_train_score=False, or wrap the estimator in a QueryRanker, which remembers its training queries."
        )
        raise LtrValueError(
            f"{folder} holds two different scores of one candidate on one fold (queries {first_few(a.plain_qid)}), "
            f"in {', '.join(a.per_query)}. Either two searches wrote to this folder: give each search, and each fit "
            "of one, a new folder. Or two candidates differ only in functions or callbacks of the same name, of "
            f"which the log keeps only the name.{remedy if one.split.fit is None else ''} "
            f"Parameters: {as_text(one.parameters)}."
        )
    policy = replace(a.policy, no_relevant_of={**a.policy.no_relevant_of, **b.policy.no_relevant_of})
    values, asked = {**a.per_query, **b.per_query}, a.per_query.asked | b.per_query.asked
    fields: dict[str, Any] = {name: getattr(a, name) for name in ("qid", "n_documents", "n_relevant", "weight")}
    fields["lower_is_better"] = a.lower_is_better | b.lower_is_better
    return replace(one, evaluation=Evaluation.of(values, asked, policy=policy, **fields))


def _reorder_queries(evaluation: Evaluation, like: Evaluation) -> Evaluation:
    """Return an evaluation with its queries in the order of one with the same queries."""
    if np.array_equal(like.qid, evaluation.qid):
        return evaluation
    position = {query: i for i, query in enumerate(evaluation.plain_qid)}
    return take_queries(evaluation, np.array([position[query] for query in like.plain_qid]))


def _assign_training_parts(records: Sequence[Record]) -> list[Record]:
    """Give the score of a training part the search of the test part of the same fit.

    If a fit was scored on several test parts, the search with the most folds is chosen. A ranker
    that was scored only on its training data belongs to no search, even if it was fitted on all
    queries of one.
    """
    tested = {record.split for record in records if record.split.part == "test"}
    n_folds = Counter(split.search for split in tested)
    by_n_folds = sorted(tested, key=lambda split: (n_folds[split.search], str(split)))
    search_of_fit = {split.fit: split.search for split in by_n_folds}

    def assigned(split: Split) -> Split:
        if split.part != "train" or split.fit is None:
            return split
        return split._replace(search=search_of_fit.get(split.fit, f"training part {split.fit}"))

    return [replace(record, split=assigned(record.split)) for record in records]


def query_weights(evaluation: Evaluation) -> FloatArray:
    """Return the weight of each query, 1 if there are no weights."""
    return np.ones(evaluation.n_queries) if evaluation.weight is None else evaluation.weight


def first_few(things: Sequence[Any], n: int = 5) -> str:
    """Return the first few things, for a message."""
    return ", ".join(map(repr, things[:n])) + ", ..." * (len(things) > n)
