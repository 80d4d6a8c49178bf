"""The scores of a search, numbered by candidate, search and fold.

The numbers follow from parameters and query ids alone, and not from the order of writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.ids import IdOrder
from ltr_metrics._engine.plain import order_of_id
from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.evaluation.log import records
from ltr_metrics.evaluation.log.files import Record, Split
from ltr_metrics.evaluation.log.parameters import Parameters, as_text, sort_key, varying_names
from ltr_metrics.evaluation.result import Evaluation, table_of

if TYPE_CHECKING:
    import pandas

SortedIds = list[tuple[IdOrder, str]]


@dataclass(frozen=True, eq=False)
class Score:
    """The score of one candidate on one fold.

    Attributes
    ----------
    candidate : int
        Number of the candidate, as in `Candidate.number`.
    search : int or None
        Number of the search. A search is defined by its data: the training and test queries of a
        score, taken together, which are the same for all splits of a cross-validation. A refitted
        ranker that is scored on other data therefore has another number, and so have a baseline
        on other data and each inner search of a nested cross-validation. Searches with the most
        folds come first, then those with the smallest query ids. None if the scorer could not
        know the queries that the ranker was fitted on.
    fold : int
        Number of the fold within its search and part, in the order of the smallest query ids. A
        fold is a set of queries. The same queries are another fold if the ranker was fitted on
        other queries.
    part : {"test", "train"} or None
        The part of the split that was scored; None if the scorer could not know.
    parameters : dict
        All parameters of the candidate, as plain values.
    evaluation : Evaluation
        The values of all metrics of the scorer. Ids of mixed or unusual types are plain numbers
        and text here.
    refitted : bool
        Whether the ranker was fitted on all queries of another search, as the best candidate is
        after a search.
    """

    candidate: int
    search: int | None
    fold: int
    part: PartOfSearch | None
    parameters: Parameters
    evaluation: Evaluation
    refitted: bool = False


def fold_key(score: Score) -> tuple[int, int]:
    """Return a key that identifies a fold among those of one part, and sorts them: unknown searches first."""
    return -1 if score.search is None else score.search, score.fold


def load_scores(folder: Path) -> list[Score]:
    """Return all scores of a folder, sorted by candidate, search, part and fold."""
    loaded = records.load(folder)
    candidates = _number_candidates(loaded)
    evaluations = {record.split: record.evaluation for record in loaded}
    ids = {split: sorted(map(order_of_id, evaluation.plain_qid)) for split, evaluation in evaluations.items()}
    searches, folds = _number_searches(ids), _number_folds(ids)

    def score(record: Record) -> Score:
        split = record.split
        return Score(
            candidates[as_text(record.parameters)],
            searches[split.search],
            folds[split],
            split.part,
            record.parameters,
            record.evaluation,
            refitted=split.fit is not None and split.fit != split.search and split.fit in searches,
        )

    def order(score: Score) -> tuple[int, int, str, int]:
        search, fold = fold_key(score)
        return score.candidate, search, str(score.part), fold

    return sorted(map(score, loaded), key=order)


def _number_candidates(loaded: Sequence[Record]) -> dict[str, int]:
    """Return the number of each candidate by the text of its parameters: by the values of those that vary."""
    by_text = {as_text(record.parameters): record.parameters for record in loaded}
    names = varying_names(list(by_text.values()))
    ordered = sorted(by_text, key=lambda text: ([sort_key(by_text[text].get(name)) for name in names], text))
    return {text: number for number, text in enumerate(ordered)}


def _number_searches(ids: Mapping[Split, SortedIds]) -> dict[str | None, int | None]:
    """Return the number of each search: those with the most folds first, then by their smallest ids."""
    by_search: dict[str, list[Split]] = {}
    for split in ids:
        if split.search is not None:
            by_search.setdefault(split.search, []).append(split)

    def order(search: str) -> tuple[int, SortedIds, str]:
        n_folds = Counter(split.part for split in by_search[search])
        return -max(n_folds.values()), min(ids[split] for split in by_search[search]), search

    return {None: None} | {search: number for number, search in enumerate(sorted(by_search, key=order))}


def _number_folds(ids: Mapping[Split, SortedIds]) -> dict[Split, int]:
    """Return the number of each fold within its search and part, by the smallest ids."""
    numbers: dict[Split, int] = {}
    n_folds: Counter[tuple[str | None, str | None]] = Counter()
    for split in sorted(ids, key=lambda split: (ids[split], str(split))):
        numbers[split] = n_folds[split.search, split.part]
        n_folds[split.search, split.part] += 1
    return numbers


def scores_to_pandas(scores: Sequence[Score]) -> pandas.DataFrame:
    """Return a table with one row a score and query."""
    evaluations = [score.evaluation for score in scores]
    sizes = [evaluation.n_queries for evaluation in evaluations]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([getattr(score, name) for score in scores]), sizes)
        for name in ("candidate", "search", "fold", "part")
    }
    columns["qid"] = _concat_ids([evaluation.qid for evaluation in evaluations])
    columns["documents"] = np.concatenate([evaluation.n_documents for evaluation in evaluations])
    columns["relevant"] = np.concatenate([evaluation.n_relevant for evaluation in evaluations])
    for metric in dict.fromkeys(name for evaluation in evaluations for name in evaluation.per_query):
        columns[metric] = np.concatenate(
            [evaluation.per_query.get(metric, np.full(evaluation.n_queries, np.nan)) for evaluation in evaluations]
        )
    for name in varying_names([score.parameters for score in scores]):
        cells = [_cell(score.parameters.get(name)) for score in scores]
        columns[f"param_{name}"] = [cell for cell, n in zip(cells, sizes, strict=True) for _ in range(n)]
    return table_of(columns)


def _cell(value: Any) -> Any:
    return as_text(value) if isinstance(value, (list, dict)) else value  # pandas cannot group by lists


def _concat_ids(arrays: Sequence[AnyArray]) -> AnyArray:
    if len({array.dtype.kind for array in arrays}) > 1:  # NumPy would turn the numbers into text
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)
