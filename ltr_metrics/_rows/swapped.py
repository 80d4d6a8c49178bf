"""Whether labels, scores, query ids or positions look as if one had been passed for the other."""

from __future__ import annotations

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, IntArray
from ltr_metrics.errors import warn

MIN_FRACTIONAL_LABELS = 8  # fewer distinct fractional labels may still be grades
HIGHEST_USUAL_GRADE = 30  # of a grade scale; LightGBM's default gains end here, too
MIN_ROWS = 20  # fewer may look like anything
FAR_BELOW_CHANCE = 3  # standard deviations of a random order
SWAPPED = "Did you swap y_true and y_score? Labels come first."


def look_like_scores(grades: FloatArray, n_rows: int) -> bool:
    """Whether at least eight fractional labels, more than half as many as rows, rule out grades."""
    n_fractional = int(np.count_nonzero(grades != np.floor(grades)))
    return n_fractional >= MIN_FRACTIONAL_LABELS and 2 * n_fractional > n_rows


def warn_if_grades(labels: FloatArray, scores: AnyArray, query: IntArray) -> None:
    """Warn if scores look like grades, where the distinct labels look like scores; ``query`` is that of each row."""
    if _look_like_grades(scores, query):
        warn(
            f"The labels have {len(labels):,} different values in {len(scores):,} rows, like scores, and the scores "
            f"are only whole numbers from 0 to {scores.max():g}, like grades. {SWAPPED} If you did not swap them, "
            "ignore this warning."
        )


def _look_like_grades(scores: AnyArray, query: IntArray) -> bool:
    """Whether scores are whole numbers from 0 to a usual highest grade, with repeated values.

    At least a quarter must repeat another score of their query. This excludes ranks, which are
    whole numbers, too.
    """
    if not (scores.min() == 0 < scores.max() <= HIGHEST_USUAL_GRADE and (scores == np.floor(scores)).all()):
        return False
    return 4 * len(np.unique(query * (HIGHEST_USUAL_GRADE + 1) + scores)) <= 3 * len(scores)


def warn_if_ids_are_labels(label: IntArray, n_labels: int, query: IntArray, n_queries: int) -> None:
    """Warn if the query ids look like labels; ``label`` and ``query`` are numbers of each row's label and query."""
    n_rows = len(label)
    if n_labels < 2 or n_rows == n_queries or n_rows < MIN_ROWS:
        return
    label_of_query = np.empty(n_queries, dtype=label.dtype)
    label_of_query[query] = label
    if (label_of_query[query] == label).all():
        warn(
            f"In each of the {n_queries:,} queries all labels are equal, although there are {n_labels:,} different "
            "labels, so no metric can tell one ranking from another. Did you pass the labels as qid? If you did not, "
            "ignore this warning."
        )
    elif n_queries <= HIGHEST_USUAL_GRADE + 1 < n_labels == _n_runs(label) < n_rows and _n_runs(query) > n_queries:
        warn(
            f"The rows have {n_labels:,} different labels, each in consecutive rows, like query ids, and {n_queries} "
            "different ids that are scattered, like grades. Did you swap y and qid? If you did not, ignore this "
            "warning."
        )


def _n_runs(values: AnyArray) -> int:
    return 1 + int(np.count_nonzero(values[1:] != values[:-1]))


def look_like_positions(scores: AnyArray, query: IntArray, sizes: IntArray) -> bool:
    """Whether the scores of each query are 1, 2, ..., n, or 0, 1, ..., n - 1, in any order, and some n is above 2."""
    lowest = scores.min()
    if len(scores) < MIN_ROWS or sizes.max() < 3:
        return False
    if lowest not in (0, 1) or not (scores == np.floor(scores)).all() or not (scores - lowest < sizes[query]).all():
        return False
    is_taken = np.zeros(len(scores), dtype=np.bool_)
    is_taken[(sizes.cumsum() - sizes)[query] + (scores - lowest).astype(np.intp)] = True
    return bool(is_taken.all())


def warn_if_low_is_good(positions: AnyArray, grades: FloatArray, query: IntArray, sizes: IntArray) -> bool:
    """Warn if the documents of high grades have far lower scores than in a random order; return whether they have.

    The sum of grade times score is compared with that of a random order of each query's documents, whose variance is
    that of a permutation test: the product of the two sums of squares, divided by n - 1.
    """
    grade, score = (values - (np.bincount(query, values) / sizes)[query] for values in (grades, positions))
    variance = np.bincount(query, grade**2) * np.bincount(query, score**2) / np.maximum(sizes - 1, 1)
    low_is_good = bool((grade * score).sum() < -FAR_BELOW_CHANCE * np.sqrt(variance.sum()))
    if low_is_good:
        warn(
            "The scores of each query are the numbers from 1 (or 0) to its number of documents, and the documents of "
            "the highest grades have the lowest ones, like positions. The highest score is ranked first. If 1 is the "
            "best position, pass Positions(y_score). If the ranking is meant so, ignore this warning."
        )
    return low_is_good
