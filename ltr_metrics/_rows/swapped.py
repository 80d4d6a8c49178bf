"""Whether labels and scores look as if one had been passed for the other."""

from __future__ import annotations

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, IntArray
from ltr_metrics.errors import warn

MIN_FRACTIONAL_LABELS = 8  # fewer distinct fractional labels may still be grades
HIGHEST_USUAL_GRADE = 30  # of a grade scale; LightGBM's default gains end here, too
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
