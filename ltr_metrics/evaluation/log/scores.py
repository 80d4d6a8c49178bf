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

from ltr_metrics._engine.ids import IdOrder
from ltr_metrics._engine.plain import order_of_id
from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.evaluation.log import records
from ltr_metrics.evaluation.log.files import Record, Split
from ltr_metrics.evaluation.log.parameters import Parameters, as_text, sort_key, varying_names
from ltr_metrics.evaluation.result import Evaluation

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


def search_key(search: int | None) -> int:
    """Return a key that sorts searches, the unknown one first."""
    return -1 if search is None else search


def load_scores(folder: Path) -> list[Score]:
    """Return all scores of a folder, sorted by candidate, search, part and fold."""
    loaded = records.load(folder)
    candidates = _number_candidates(loaded)
    evaluations = {record.split: record.evaluation for record in loaded}
    ids = {split: sorted(map(order_of_id, evaluation.plain_qid)) for split, evaluation in evaluations.items()}
    searches, folds = _number_searches(ids), _number_folds(ids)
    scores = [
        Score(
            candidate=candidates[as_text(record.parameters)],
            search=searches[record.split.search],
            fold=folds[record.split],
            part=record.split.part,
            parameters=record.parameters,
            evaluation=record.evaluation,
            refitted=record.split.fit != record.split.search and record.split.fit in searches,
        )
        for record in loaded
    ]
    return sorted(scores, key=lambda score: (score.candidate, search_key(score.search), str(score.part), score.fold))


def _number_candidates(loaded: Sequence[Record]) -> dict[str, int]:
    """Return the number of each candidate, in the order of the values that vary."""
    by_text = {as_text(record.parameters): record.parameters for record in loaded}
    names = varying_names(list(by_text.values()))
    ordered = sorted(by_text, key=lambda text: ([sort_key(by_text[text].get(name)) for name in names], text))
    return {text: number for number, text in enumerate(ordered)}


def _number_searches(ids: Mapping[Split, SortedIds]) -> dict[str | None, int | None]:
    """Return the number of each search, by most folds, then by smallest ids."""
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
    tables = [score.evaluation.to_pandas() for score in scores]
    import pandas as pd  # installed, or to_pandas had failed

    sizes = [len(table) for table in tables]
    table = pd.concat(tables, ignore_index=True)
    for i, name in enumerate(("candidate", "search", "fold", "part")):
        table.insert(i, name, np.repeat(np.array([getattr(score, name) for score in scores]), sizes))
    for name in varying_names([score.parameters for score in scores]):
        cells = [_cell(score.parameters.get(name)) for score in scores]
        table[f"param_{name}"] = [cell for cell, n in zip(cells, sizes, strict=True) for _ in range(n)]
    return table


def _cell(value: Any) -> Any:
    return as_text(value) if isinstance(value, (list, dict)) else value  # lists cannot be grouped
