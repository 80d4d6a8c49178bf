"""Which scores are of folds of one search, and comparable: refusals of what would mix others in unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations, product

from ltr_metrics._engine.plain import PlainId, order_of_id
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.log.parameters import as_text
from ltr_metrics.evaluation.log.scores import Score, in_order, some

Fold = tuple[int, int]  # of Score.search and Score.fold, in their order
_REMEMBER = (
    "The log cannot tell, since it does not know which queries the rankers were fitted on. Wrap the estimator in a QueryRanker, which "
    "remembers, behind steps that leave its column of queries as it is; or let the scorer see the test parts of one search alone "
    "(return_train_score=False, no scoring of other data). Either with a new folder."
)


def of_one_search(scores: Sequence[Score]) -> Sequence[Score]:
    """Return the scores of the search that has several folds; all of them if none has.

    A refitted ranker that was scored on other data, and a baseline beside it, are searches of one fold. So is each split of a
    cross-validation whose splits leave out some of the queries.
    """
    n_folds = Counter(search for search, _ in {(score.search, score.fold) for score in scores})
    searches = sorted((search for search, n in n_folds.items() if n > 1), key=in_order)
    if len(searches) > 1:
        raise LtrValueError(
            f"This log holds the scores of {len(searches)} searches, on different data: those within a nested cross-validation, or two that "
            "wrote into one folder. Give each a folder of its own. scores() and to_pandas() have all of them, told apart by search: "
            f"{' and '.join(map(str, searches))}."
        )
    of_search = [s for s in scores if s.search in searches] if searches else _without_scores_of_the_best(scores)
    if searches:
        _refuse_shared_queries(of_search, [score for score in scores if score.search not in searches])
    unknown = [score for score in of_search if score.search is None]
    _refuse_nested_folds([score for score in unknown if score.part is None])
    _refuse_missing_folds(unknown)
    return of_search


def _without_scores_of_the_best(scores: Sequence[Score]) -> Sequence[Score]:
    """Leave out what one candidate alone was scored on, refitted after a search of one split; refuse what may be a split of its own."""
    candidates: dict[int | None, set[int]] = {}
    for score in scores:
        candidates.setdefault(score.search, set()).add(score.candidate)
    alone = {search for search, of in candidates.items() if len(of) == 1 and search is not None}
    if max(map(len, candidates.values())) == 1:
        return scores
    for score in scores:
        if score.search in alone and not score.refitted:
            raise LtrValueError(
                f"Candidate {score.candidate} alone was scored in search {score.search}, and the other searches are of one split each: it may be "
                "a split on which the other fits failed, or the score of a ranker on other data. Ask candidates() before search.score(...), "
                "or let another scorer, without this log, score other data."
            )
    return [score for score in scores if score.search not in alone]


def _refuse_shared_queries(of_search: Sequence[Score], others: Sequence[Score]) -> None:
    """Refuse a test part of another search with queries of this one's: it may be a fold, and not the test of a refitted ranker."""
    queries = {name for score in of_search for name in score.evaluation.plain_qid}
    for score in others:
        shared = [name for name in score.evaluation.plain_qid if name in queries and score.part == "test"]
        if shared:
            raise LtrValueError(
                f"Query {shared[0]!r} was scored in search {of_search[0].search}, which has several folds, and in search {score.search}, whose "
                "rankers were fitted and scored on other data. Either two searches wrote into one folder: give each a folder of its own. Or "
                "splits leave out some of the queries, and some of them the same by chance: let train_size + test_size be 1."
            )


def _refuse_nested_folds(scores: Sequence[Score]) -> None:
    """Refuse a fold within another one, of rankers fitted on unknown queries: a training part contains other splits' test parts."""
    queries = _queries_of_folds(scores)
    for inner, outer in permutations(queries, 2):
        if queries[inner] < queries[outer]:
            raise LtrValueError(
                f"Of part None, all queries of fold {inner} ({_some_of(queries[inner])}) are in fold {outer} too, as training parts contain test "
                f"parts: the scores of both would count alike. {_REMEMBER}"
            )


def _refuse_missing_folds(scores: Sequence[Score]) -> None:
    """Refuse a candidate without a fold that others have, of rankers fitted on unknown queries."""
    queries = _queries_of_folds(scores)
    scored = {(score.candidate, score.fold) for score in scores}
    for score, fold in product(scores, queries):
        if (score.candidate, fold) not in scored:
            raise LtrValueError(
                f"Candidate {score.candidate} was not scored on fold {fold} ({_some_of(queries[fold])}), and others were: either its fit failed, "
                f"or these data are no fold of the search, as those of search.score(...). {_REMEMBER} Parameters: {as_text(score.parameters)}."
            )


def _queries_of_folds(scores: Sequence[Score]) -> dict[int, frozenset[PlainId]]:
    return {score.fold: frozenset(score.evaluation.plain_qid) for score in scores}


def _some_of(queries: Iterable[PlainId]) -> str:
    return some(sorted(queries, key=order_of_id))


def fold_of(score: Score) -> Fold:
    """Return what tells the fold of a score from others, and sorts them."""
    return in_order(score.search), score.fold
