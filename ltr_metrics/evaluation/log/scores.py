"""What a search recorded: the scores of its candidates on its folds, told apart and numbered.

Nothing here depends on when a worker wrote what: numbers follow from parameters and query ids alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray
from ltr_metrics._engine.ids import IdOrder
from ltr_metrics._engine.plain import PlainId, order_of_id, to_dataframe
from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.errors import LtrKeyError, LtrValueError
from ltr_metrics.evaluation.log.files import SUFFIX, Record, Split, read
from ltr_metrics.evaluation.log.parameters import Parameters, as_text, order_of, varying
from ltr_metrics.evaluation.result import Evaluation, take_queries

if TYPE_CHECKING:
    import pandas

Ids = list[tuple[IdOrder, str]]

_OR_TRAINING_PARTS = (
    " Or one of them is of a training part, which the log cannot know of this estimator: set return_train_score=False, or wrap it in a "
    "QueryRanker, which remembers what it was fitted on."
)


@dataclass(frozen=True, eq=False)
class Score:
    """One candidate on one fold.

    Attributes
    ----------
    candidate : int
        Its number, as in `Candidate.number`.
    search : int or None
        Scores of one search have it in common which queries their rankers were fitted and scored on, taken together: all splits of
        a cross-validation have, and a refitted ranker that is scored on other data is another one, as are a baseline beside it
        and each inner search of a nested one. The searches of most folds come first, then those of the smallest query ids.
        None where the scorer could not know what the ranker was fitted on.
    fold : int
        A fold is a set of queries, and another one where the ranker was fitted on others. Numbered within each search and part
        by their smallest query ids.
    part : {"test", "train"} or None
        Which side of the split was scored; None where the scorer could not know.
    parameters : dict
        All parameters of the candidate, as plain values.
    evaluation : Evaluation
        Of every metric that was asked for. Ids of mixed or unusual types are plain ones here: numbers and text.
    refitted : bool
        Whether the ranker was fitted on all the data of another search, as the best one is after a search.
    """

    candidate: int
    search: int | None
    fold: int
    part: PartOfSearch | None
    parameters: Parameters
    evaluation: Evaluation
    refitted: bool


def scores_in(folder: Path) -> list[Score]:
    """Return all scores of a folder, by candidate, search, part and fold."""
    written = read(folder)
    if not written:
        raise LtrKeyError(
            f"There are no scores in {folder} (files named *{SUFFIX}): no scorer has written to this log yet."
        )
    _refuse_two_meanings(folder, written)
    _refuse_queries_of_two_sizes(written)
    records = _with_searches_of_training_parts(_without_repetitions(folder, written))
    candidate = _numbers_of_candidates(records)
    evaluations = {record.split: record.evaluation for record in records}
    ids = {split: sorted(map(order_of_id, scored.plain_qid)) for split, scored in evaluations.items()}
    search, fold = _numbers_of_searches(ids), _numbers_of_folds(ids)
    scores = [
        Score(
            candidate[as_text(r.parameters)],
            search[r.search],
            fold[r.split],
            r.part,
            r.parameters,
            r.evaluation,
            refitted=r.fit is not None and r.fit != r.search and r.fit in search,
        )
        for r in records
    ]
    return sorted(scores, key=lambda s: (s.candidate, in_order(s.search), str(s.part), s.fold))


def table(scores: Sequence[Score]) -> pandas.DataFrame:
    """Return one row a candidate, fold and query."""
    sizes = [score.evaluation.n_queries for score in scores]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([getattr(score, name) for score in scores]), sizes)
        for name in ("candidate", "search", "fold", "part")
    }
    columns["qid"] = _joined_ids([score.evaluation.qid for score in scores])
    columns["documents"] = np.concatenate([score.evaluation.n_documents for score in scores])
    columns["relevant"] = np.concatenate([score.evaluation.n_relevant for score in scores])
    for metric in dict.fromkeys(name for score in scores for name in score.evaluation.per_query):
        columns[metric] = np.concatenate(
            [score.evaluation.per_query.get(metric, np.full(n, np.nan)) for score, n in zip(scores, sizes, strict=True)]
        )
    for name in varying([score.parameters for score in scores]):
        cells = [_cell(score.parameters.get(name)) for score in scores]
        columns[f"param_{name}"] = [cell for cell, n in zip(cells, sizes, strict=True) for _ in range(n)]
    return to_dataframe(columns)


def _cell(value: Any) -> Any:
    return as_text(value) if isinstance(value, (list, dict)) else value  # which pandas can group by


def _joined_ids(arrays: Sequence[AnyArray]) -> AnyArray:
    if len({array.dtype.kind for array in arrays}) > 1:  # NumPy would make text of the numbers
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def _refuse_two_meanings(folder: Path, records: Iterable[Record]) -> None:
    """Refuse two policies, and a name for two metrics: the numbers would not be comparable."""
    meaning: dict[str, str] = {}
    for record in records:
        policy, asked = record.evaluation.policy, record.evaluation.per_query.asked
        chosen = f"ties={policy.ties!r}, no_relevant={policy.no_relevant!r}, convention={policy.convention!r}"
        for name, meant in {"A score": chosen, **{repr(name): canonical for name, canonical in asked.items()}}.items():
            if meaning.setdefault(name, meant) != meant:
                both = " and ".join(sorted((meaning[name], meant)))
                raise LtrValueError(
                    f"{name} means {both} in {folder}. Give each scorer a log with a folder of its own."
                )


def _without_repetitions(folder: Path, records: Iterable[Record]) -> list[Record]:
    """Join what was recorded of one candidate and fold: other metrics add up, the same ones must have the same values."""
    joined: dict[tuple[str, Split], Record] = {}
    for record in sorted(records, key=lambda r: list(r.evaluation.per_query)):  # not in the order of writing
        key = (as_text(record.parameters), record.split)
        joined[key] = _join(folder, joined[key], record) if key in joined else record
    return list(joined.values())


def _join(folder: Path, one: Record, other: Record) -> Record:
    a, b = one.evaluation, _in_order_of_queries(one.evaluation, other.evaluation)
    shared = [name for name in a.per_query if name in b.per_query]
    pairs = [(a.n_documents, b.n_documents), (a.n_relevant, b.n_relevant), (weight_of(a), weight_of(b))]
    pairs += [(a.per_query[name], b.per_query[name]) for name in shared]
    if not all(np.array_equal(x, y, equal_nan=True) for x, y in pairs):
        raise LtrValueError(
            f"{folder} holds two different scores of one candidate on one fold (queries {some(a.plain_qid)}), in {', '.join(a.per_query)}. "
            "Either two searches wrote there: give each, and each fit of one, a new folder. Or two candidates differ in functions or callbacks "
            f"of the same name alone, which is all that is kept of them.{_OR_TRAINING_PARTS if one.fit is None else ''} "
            f"Parameters: {as_text(one.parameters)}."
        )
    values, asked = {**a.per_query, **b.per_query}, a.per_query.asked | b.per_query.asked
    policy = replace(a.policy, no_relevant_of={**a.policy.no_relevant_of, **b.policy.no_relevant_of})
    fields = {name: getattr(a, name) for name in ("qid", "n_documents", "n_relevant", "weight")}
    return replace(one, evaluation=Evaluation.of(values, asked, policy=policy, **fields))


def weight_of(evaluation: Evaluation) -> FloatArray:
    """Return one weight a query."""
    return np.ones(evaluation.n_queries) if evaluation.weight is None else evaluation.weight


def _in_order_of_queries(one: Evaluation, other: Evaluation) -> Evaluation:
    """Return the other with its queries in the order of the one; both have the same."""
    if np.array_equal(one.qid, other.qid):
        return other
    place = {name: i for i, name in enumerate(other.plain_qid)}
    return take_queries(other, np.array([place[name] for name in one.plain_qid]))


def _refuse_queries_of_two_sizes(records: Iterable[Record]) -> None:
    """Refuse folds that cut queries: whichever candidate is scored, and on whichever side, a query has all its documents."""
    size: dict[PlainId, int] = {}
    for record in records:
        evaluation = record.evaluation
        for name, n in zip(evaluation.plain_qid, evaluation.n_documents.tolist(), strict=True):
            if size.setdefault(name, n) != n:
                raise LtrValueError(
                    f"Query {name!r} was scored with {size[name]} documents and with {n}: something cuts queries, which makes their values "
                    "incomparable. Split by cv=GroupKFold() with groups=qid. HalvingGridSearchCV takes some of the rows unless resource= is "
                    'another one, such as "estimator__n_estimators"; learning_curve always does: give its scorer no log. If these are other '
                    "queries, they need other ids or a new folder."
                )


def _numbers_of_candidates(records: Sequence[Record]) -> dict[str, int]:
    by_text = {as_text(record.parameters): record.parameters for record in records}
    names = varying(list(by_text.values()))
    ordered = sorted(by_text, key=lambda text: ([order_of(by_text[text].get(name)) for name in names], text))
    return {text: number for number, text in enumerate(ordered)}


def _with_searches_of_training_parts(records: Sequence[Record]) -> list[Record]:
    """Give the score of a training part the search of the test part of its split; if there are several, that of most folds.

    A ranker that was scored on its training data alone is none of a search, even if these are all queries of one.
    """
    tested = {record.split for record in records if record.part == "test"}
    n_folds = Counter(search for search, *_ in tested)
    of_fit = {fit: search for search, _, _, fit in sorted(tested, key=lambda split: (n_folds[split[0]], str(split)))}
    return [
        replace(record, search=of_fit.get(record.fit, f"training part {record.fit}"))
        if record.part == "train" and record.fit is not None
        else record
        for record in records
    ]


def _numbers_of_searches(ids: Mapping[Split, Ids]) -> dict[str | None, int | None]:
    """Return a number a search: those of most folds first, then by their smallest ids."""
    parts: dict[str, Counter[str | None]] = {}
    smallest: dict[str, Ids] = {}
    for (search, part, *_), of_fold in ids.items():
        if search is not None:
            parts.setdefault(search, Counter())[part] += 1
            smallest[search] = min(of_fold, smallest.get(search, of_fold))
    ordered = sorted(parts, key=lambda search: (-max(parts[search].values()), smallest[search], search))
    return {None: None} | {search: number for number, search in enumerate(ordered)}


def _numbers_of_folds(ids: Mapping[Split, Ids]) -> dict[Split, int]:
    """Return a number a fold, within its search and part: by smallest ids."""
    numbers: dict[Split, int] = {}
    known: Counter[tuple[str | None, str | None]] = Counter()
    for split in sorted(ids, key=lambda split: (ids[split], str(split))):
        search, part, *_ = split
        numbers[split] = known[search, part]
        known[search, part] += 1
    return numbers


def in_order(search: int | None) -> int:
    """Return what searches are sorted by, the unknown one first."""
    return -1 if search is None else search


def some(things: Sequence[Any], n: int = 5) -> str:
    """Return the first few, for a message."""
    return ", ".join(map(repr, things[:n])) + ", ..." * (len(things) > n)
