"""Choose the scores of one search, whose folds are comparable.

The scorer records the training queries and the test queries of each score, but scikit-learn does
not tell it whether a search called it. So ``search.score(X_test, y_test)`` looks like one more
split. Here we recognise such scores by their queries, and refuse those that could be either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations, product

from ltr_metrics._engine.plain import PlainId, order_of_id
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.log.parameters import as_text
from ltr_metrics.evaluation.log.records import first_few
from ltr_metrics.evaluation.log.scores import Score, search_key

_UNKNOWN = (
    "The log cannot know, since these estimators do not remember their training queries. Wrap the estimator in a "
    "QueryRanker, which does, behind steps that keep its column of queries unchanged. Or let the scorer score only "
    "the test parts of one search (return_train_score=False, no scores on other data). Use a new folder."
)


def scores_of_one_search(scores: Sequence[Score]) -> Sequence[Score]:
    """Return the scores of the only search that has several folds, or all scores if none has.

    All scores are of one part. If the splits of a cross-validation leave out some of the queries,
    each split is a search of one fold.
    """
    n_folds = Counter(search for search, _ in {(score.search, score.fold) for score in scores})
    searches = sorted((search for search, n in n_folds.items() if n > 1), key=search_key)
    if len(searches) > 1:
        raise LtrValueError(
            f"This log holds the scores of {len(searches)} searches on different data: those within a nested "
            "cross-validation, or two that wrote to one folder. Give each search a folder of its own. scores() and "
            "to_pandas() return the scores of all of them, numbered by search: "
            f"{' and '.join(map(str, searches))}."
        )
    if searches:
        chosen = [score for score in scores if score.search == searches[0]]
        _refuse_shared_queries(chosen, [score for score in scores if score.search != searches[0]])
    else:
        chosen = _drop_scores_of_refitted(scores)
    _refuse_unclear_folds([score for score in chosen if score.search is None])
    return chosen


def _refuse_shared_queries(chosen: Sequence[Score], others: Iterable[Score]) -> None:
    """Refuse a score on other data that shares test queries: it may be a fold of the search."""
    queries = {query for score in chosen for query in score.evaluation.plain_qid}
    for score in others:
        shared = [query for query in score.evaluation.plain_qid if query in queries and score.part == "test"]
        if shared:
            raise LtrValueError(
                f"Query {shared[0]!r} was scored in search {chosen[0].search}, which has several folds, and in search "
                f"{score.search}, whose rankers were fitted and scored on other data. Either two searches wrote to one "
                "folder: give each a folder of its own. Or the splits leave out some of the queries, and two splits "
                "happen to leave out the same ones: make train_size + test_size be 1."
            )


def _drop_scores_of_refitted(scores: Sequence[Score]) -> list[Score]:
    """Drop the scores of a refitted candidate, if each split is a search of one fold."""
    candidates: dict[int | None, set[int]] = {}
    for score in scores:
        candidates.setdefault(score.search, set()).add(score.candidate)
    if max(map(len, candidates.values())) == 1:
        return list(scores)
    lone = {search for search, numbers in candidates.items() if len(numbers) == 1 and search is not None}
    for score in scores:
        if score.search in lone and not score.refitted:
            raise LtrValueError(
                f"Candidate {score.candidate} alone was scored in search {score.search}, and the other searches have "
                "one split each. This may be a split on which the other fits failed, or a score on other data. Call "
                "candidates() before search.score(...), or score other data with another scorer that has no log."
            )
    return [score for score in scores if score.search not in lone]


def _refuse_unclear_folds(scores: Sequence[Score]) -> None:
    """Refuse folds that may be none, of rankers that were fitted on unknown queries.

    A fold within another one may be a test part within a training part. A fold that some candidate
    lacks may be other data.
    """
    queries = {score.fold: frozenset(score.evaluation.plain_qid) for score in scores}
    for inner, outer in permutations(queries, 2):
        if scores[0].part is None and queries[inner] < queries[outer]:
            raise LtrValueError(
                f"Of part None, all queries of fold {inner} ({_first_queries(queries[inner])}) are in fold {outer} "
                "too, as if one were a test part and the other a training part that contains it. Their scores "
                f"must not count alike. {_UNKNOWN}"
            )
    scored = {(score.candidate, score.fold) for score in scores}
    for score, fold in product(scores, queries):
        if (score.candidate, fold) not in scored:
            raise LtrValueError(
                f"Candidate {score.candidate} was not scored on fold {fold} ({_first_queries(queries[fold])}), and "
                "other candidates were. Either its fit failed, or that fold is other data, such as those of "
                f"search.score(...). {_UNKNOWN} Parameters: {as_text(score.parameters)}."
            )


def _first_queries(queries: Iterable[PlainId]) -> str:
    return first_few(sorted(queries, key=order_of_id))
