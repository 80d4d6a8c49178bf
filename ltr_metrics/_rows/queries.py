"""The label side of an evaluation: labels, flags and further columns, checked once.

`LabelledQueries` knows nothing of scores or metrics. The public `Queries` adds `evaluate`.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from ltr_metrics._rows.cache import cached
from ltr_metrics._rows.checks import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    as_flags,
    as_numbers,
    copy_of,
    named_columns,
    require_option,
)
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.ids import WORDS_FOR_MISSING, as_document_ids
from ltr_metrics._rows.per_query import (
    Labels,
    Segmentations,
    labels_of,
    segmentations,
    warn_of_words_for_missing,
    weights,
)
from ltr_metrics._rows.positions import Positions
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._rows.swapped import (
    SWAPPED,
    look_like_positions,
    look_like_scores,
    warn_if_grades,
    warn_if_ids_are_labels,
    warn_if_low_is_good,
)
from ltr_metrics._rows.words import Unjudged
from ltr_metrics.errors import LtrTypeError, LtrValueError, one_line, warn

if TYPE_CHECKING:
    from typing_extensions import Self  # of typing from Python 3.11 on

UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)
MIN_QUERIES_OF_ONE = 20  # of fewer queries, all may have one document
MIN_ROWS_OF_ONE_QUERY = 200  # fewer rows may be one query
GLANCE = 8  # scores of the first query, which show in most rounds of a training that scores are no positions
COUNTABLE_GRADES = 256  # integer grades below this are counted instead of sorted


def has_flag(grade_index: AnyArray, flags: BoolArray) -> BoolArray:
    """Return whether the grade of each document has a flag; the index 0, "no document", has none."""
    n_below = int(flags.argmax()) if flags.any() else len(flags)
    if flags[n_below:].all():  # usually all grades from one on have it, and a comparison is faster than a table
        return np.asarray(grade_index > n_below)
    return np.append(False, flags)[grade_index]


class LabelledQueries(GroupedRows):
    """The labels of many queries, which the methods of a metric get: the base of `ltr_metrics.Queries`.

    You never create one: `ltr_metrics.Queries` has the same parameters, and evaluates scores as well.
    Use it for annotations in a metric of your own.

    Attributes
    ----------
    grades : ndarray of float64 of shape (n_grades,)
        The distinct grades, ascending.
    grade_index : ndarray of int of shape (n_rows,)
        Position of each row's grade among them, from 1; 0 means "no document".
    qid : ndarray
        Id of each query, in order of first appearance.
    sizes, n_documents : ndarray of int of shape (n_queries,)
        Rows of each query, and its documents: those that ``unjudged="drop"`` has not removed.
    n_ranked : ndarray of int of shape (n_queries,)
        Documents of each query that have a rank; ``ranked_rows`` has their rows, query after query, or
        None if they are 0, 1, 2, ...
    n_rows, n_queries : int
        Number of rows, and of queries.
    columns : dict
        The further columns as they were passed; `column` has one of them as checked numbers.

    See Also
    --------
    ltr_metrics.RankMetric : The base class of metrics, whose methods get the labels of all queries.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import ltr_metrics as ltr
    >>> import numpy as np
    >>> from ltr_metrics.metrics import LabelledQueries
    >>> @dataclass(frozen=True, kw_only=True)
    ... class GradeMean(ltr.RankMetric):
    ...     NAME = "grade_mean"
    ...
    ...     def by_grade(self, queries: LabelledQueries) -> np.ndarray:
    ...         return queries.grades
    ...
    ...     def divisor(self, queries: LabelledQueries, k: int | None) -> np.ndarray:
    ...         return queries.n_ranked if k is None else np.minimum(queries.n_ranked, k)
    >>> ltr.evaluate([1, 0, 4], [3, 2, 1], group=[3], metrics=[GradeMean(k=2)])["grade_mean@2"]
    0.5
    """

    may_repeat_documents: ClassVar[bool] = False

    @explaining_calls
    def __init__(
        self,
        y_true: Any,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        sample_weight: Any = None,
        docid: Any = None,
        retrieved: Any = None,
        judged: Any = None,
        unjudged: Unjudged | None = None,
        columns: Any = None,
        by: Any = None,
        cluster: Any = None,
    ) -> None:
        labels = as_numbers(y_true, "y_true")
        of_rows = {"sample_weight": sample_weight, "docid": docid, "retrieved": retrieved, "judged": judged}
        of_rows |= {"columns": columns, "by": by, "cluster": cluster}
        super().__init__(len(labels), group, y_true=y_true, qid=qid, **of_rows)

        # 1. Labels. They may be missing where a row is not judged, so the flags come first.
        self.judged: BoolArray | None = None if judged is None else as_flags(judged, "judged", self.n_rows)
        labels = self._checked_labels(labels)
        self.has_float32_labels = labels.dtype == np.float32  # thresholds of labels are then rounded to float32

        # 2. Grades and ranked documents. Dropping unjudged documents changes both.
        self.retrieved: BoolArray | None = None
        self.n_ranked: IntArray = self.sizes
        self.ranked_rows = self.order
        if retrieved is not None:
            is_retrieved = as_flags(retrieved, "retrieved", self.n_rows)
            self.restrict_ranking(is_retrieved, "retrieved is False in every row")
        self.grades, self.grade_index = _distinct_grades(labels)
        self.n_documents = self.sizes
        self.unjudged: Unjudged = "zero" if unjudged is None else require_option("unjudged", unjudged, UNJUDGED)
        if self.unjudged == "drop" and self.judged is not None:
            self._drop_unjudged(labels, self.judged)

        # 3. Optional values of documents and queries.
        self.docid: AnyArray | None = None
        if docid is not None:
            self.docid = as_document_ids(docid, self.n_rows)
            if not self.may_repeat_documents:
                self._refuse_repeated_documents(self.docid)
        self.weight: FloatArray | None = None
        if query_weight is not None or sample_weight is not None:
            self.weight = weights(self, query_weight, sample_weight)
        columns = {} if columns is None else named_columns(columns, "columns")
        self.columns: dict[str, Any] = {name: copy_of(column) for name, column in columns.items()}
        self.shown_columns: dict[str, AnyArray] | None = None  # in opened queries; None for few columns of numbers
        self.segments: Segmentations = {} if by is None else segmentations(self, by)
        self.cluster_labels: Labels | None = None if cluster is None else labels_of(self, "cluster", cluster)
        self.cluster: IntArray | None = None if self.cluster_labels is None else self.cluster_labels[1]

        self.has_ids = qid is not None
        self.warns_of_ids = self.warns_of_labels = self.warns_of_positions = True
        # Until the first scores have been compared with the labels; grades have few different values.
        self.may_be_swapped = 2 * len(self.grades) > self.n_rows
        self.lock()

    def lock(self) -> None:
        """Let nobody write to the arrays, which results, callables of metrics and the compiled core share."""
        for values in vars(self).values():
            if isinstance(values, np.ndarray):
                values.setflags(write=False)

    # -- ranked documents ------------------------------------------------------------------------

    @cached_property
    def ranked_ends(self) -> IntArray:
        """Offset in ``ranked_rows`` at which the documents of each query end."""
        return self.n_ranked.cumsum()

    @cached_property
    def docid_descending(self) -> IntArray:
        """Position of each row's document id among all ids in descending order."""
        ids, position = np.unique(np.asarray(self.docid), return_inverse=True)
        return np.asarray(len(ids) - 1 - position)

    def with_retrieved(self, retrieved: BoolArray) -> Self:
        """Return a copy in which a document has a rank only if it is retrieved in both."""
        other = copy(self)
        other.restrict_ranking(retrieved, "no retrieved document has a position")
        other.lock()
        return other

    def restrict_ranking(self, is_ranked: BoolArray, otherwise: str) -> None:
        """Give a rank only to the documents of a mask; ``otherwise`` says why none of them has one."""
        self.retrieved = is_ranked if self.retrieved is None else is_ranked & self.retrieved
        if not self.retrieved.any():
            raise LtrValueError(
                f"There is no ranking to evaluate: {otherwise}. If these rows are one part of several, for concat, "
                "evaluate them together with the rows of another part."
            )
        rows = self.rows_in_query_order()
        self.n_ranked, self.ranked_rows = self.sum_by_query(self.retrieved), rows[self.retrieved[rows]]

    # -- grades ----------------------------------------------------------------------------------

    def count_by_query(self, is_counted: BoolArray) -> IntArray:
        """Count the documents of each query, ranked or not, whose grade has a flag."""
        return self._count_by_query(is_counted.tobytes())

    @cached
    def _count_by_query(self, flags: bytes) -> IntArray:
        count: IntArray = self.sum_by_query(has_flag(self.grade_index, np.frombuffer(flags, np.bool_)))
        return count

    def highest(self, by_grade: FloatArray) -> FloatArray:
        """Return the highest value of each query's documents, ranked or not, of one value of at least 0 per grade."""
        values = np.concatenate(([0.0], by_grade))[self.grade_index]
        return np.asarray(np.maximum.reduceat(values if self.order is None else values[self.order], self.starts))

    def first_of(self, flags: BoolArray) -> str:
        """Return the lowest grade that has a flag and its first row: '5, first at row 2 (query 1)'."""
        index = int(flags.argmax())
        return f"{self.grades[index]:g}, first at {self.where(int(np.flatnonzero(self.grade_index == index + 1)[0]))}"

    # -- scores of these rows --------------------------------------------------------------------

    def scores(self, y_score: Any) -> Any:
        """Return one score per row as an array; float32 and float64 stay as they are.

        The first scores are compared with the labels. A warning is given if the two look swapped, and
        once if scores look like positions.
        """
        is_plain = type(y_score) is np.ndarray and y_score.dtype == np.float64 and y_score.shape == (self.n_rows,)
        if is_plain and not self.may_be_swapped and not self._may_be_positions(y_score):
            return y_score  # as in each round of a loop
        if isinstance(y_score, Positions):
            raise LtrTypeError(
                "y_score must be scores here, not Positions, which evaluate and compare take. Pass the positions "
                "with their sign changed (-positions), and retrieved=False for documents without a position."
            )
        self.refuse_different_indexes(y_score=y_score)
        scores = as_numbers(y_score, "y_score", self.n_rows)
        if self.may_be_swapped:
            self.may_be_swapped = False
            if look_like_scores(self.grades, self.n_rows):
                warn_if_grades(self.grades, scores, self.query_of_rows())
        if self._may_be_positions(scores):
            query = self.query_of_rows()
            if look_like_positions(scores, query, self.sizes):
                grades = np.append(0.0, self.grades)[self.grade_index]
                self.warns_of_positions = not warn_if_low_is_good(scores, grades, query, self.sizes)
        return scores

    def _may_be_positions(self, scores: AnyArray) -> bool:
        """Whether a glance at the first query leaves it open that scores are positions, unless that was said already.

        The first scores of the query are then different whole numbers from 0 to its number of documents. Nearly all
        scores of a model are ruled out by this, so that a training pays little for it in its rounds.
        """
        if not self.warns_of_positions or not scores[0].is_integer():
            return False
        first = scores[self._first_rows].tolist()
        if len(set(first)) < len(first):
            return False
        return all(0 <= score <= self.sizes[0] and score.is_integer() for score in first)

    @cached_property
    def _first_rows(self) -> slice | IntArray:
        """The first rows of the first query."""
        n = min(int(self.sizes[0]), GLANCE)
        return slice(n) if self.order is None else self.order[:n]

    def warn_of_ids(self) -> None:
        """Warn once of ids that name no queries, and of words for a missing value that several queries share."""
        if not self.warns_of_ids:
            return
        self.warns_of_ids = False
        self._warn_of_ids_that_name_no_queries()
        if self.segments:
            warn_of_words_for_missing("segment", *self.segments.values())
        if self.cluster_labels is not None:
            warn_of_words_for_missing("cluster", self.cluster_labels)
        if self.docid is not None:
            self._warn_of_words_for_missing_documents(self.docid)

    def _warn_of_words_for_missing_documents(self, docid: AnyArray) -> None:
        rows = np.flatnonzero(np.isin(docid, list(WORDS_FOR_MISSING)))
        n_queries = len(np.unique(self.query_of_rows()[rows]))
        if n_queries > 1:
            warn(
                f"{n_queries:,} queries have a document {str(docid[rows[0]])!r}, which is text like any other. If "
                "it stands for missing ids, give these documents ids of their own, or ignore this warning."
            )

    def _warn_of_ids_that_name_no_queries(self) -> None:
        """Warn if nearly each row has an id of its own, or all rows have one; sizes say what is meant."""
        if not self.has_ids:
            return
        n_of_one, ids = int(np.count_nonzero(self.sizes == 1)), ""
        if self.n_queries >= MIN_QUERIES_OF_ONE and 10 * n_of_one > 9 * self.n_queries:
            ids = f"{n_of_one:,} of {self.n_queries:,} queries have one document, like row numbers or document ids"
        elif self.n_queries == 1 and self.n_rows >= MIN_ROWS_OF_ONE_QUERY:
            ids = f"All {self.n_rows:,} rows are of 1 query, {one_line(self.qid[0])}"
        first = self.grade_index[self._first_rows]
        if len(self.grades) > self.n_queries or (first == first[0]).all():  # a glance, as most ids are no labels
            warn_if_ids_are_labels(self.grade_index, len(self.grades), self.query_of_rows(), self.n_queries)
        if ids:
            warn(
                f"{ids}. Rows with one id are ranked together, so check that qid names the queries. If it does, pass "
                "the sizes of the queries as group instead of qid, or silence this warning: "
                "warnings.filterwarnings('ignore', category=ltr_metrics.LtrWarning)."
            )

    def give_no_warnings(self) -> None:
        """Give no warnings of labels and scores: these are a part of the queries, too small to tell."""
        self.warns_of_labels = self.warns_of_positions = self.may_be_swapped = False

    def refuse_nan_scores(self, scores: AnyArray, name: str = "y_score") -> None:
        """Raise an error if the score of a ranked row is NaN; ``name`` is what messages call the scores."""
        is_nan = np.isnan(scores) if self.retrieved is None else np.isnan(scores) & self.retrieved
        cause = "Find out why the model returned it (a diverged training, a feature out of range), or drop the row"
        remedy = f"A NaN has no rank. {cause}, or pass retrieved=False there."
        self._refuse_rows(f"{name} must not be NaN", scores, is_nan, remedy)

    # -- checks of the labels --------------------------------------------------------------------

    def _checked_labels(self, labels: AnyArray) -> AnyArray:
        """Return the labels, 0 where not judged; raise an error if a label is not a grade."""
        if self.judged is not None:
            rule = "y_true must not be above 0 where judged is False"
            self._refuse_rows(rule, labels, ~self.judged & (labels > 0), "A document with a grade is judged.")
            labels = np.where(self.judged, labels, labels.dtype.type(0))
        if not np.isfinite(labels).all():
            remedy = (
                "Rows without a judgment can be dropped, so that the documents below them move up, or get the label 0 "
                "or judged=False, so that they keep their rank. The two remedies give different means."
            )
            self._refuse_rows("y_true must be finite", labels, ~np.isfinite(labels), remedy)
        if labels.min() < 0:
            remedy = "Shift the grades so that the lowest is 0."
            if (labels[labels < 0] == -1).all():
                remedy = (
                    "If -1 stands for padding or for a document without a judgment, drop the row, or give it "
                    "judged=False. If -1 is the lowest grade, shift all grades so that it is 0."
                )
            if look_like_scores(np.unique(labels), len(labels)):
                remedy = f"Labels like these are scores. {SWAPPED}"
            self._refuse_rows("y_true must not be negative", labels, labels < 0, remedy)
        return labels

    def _refuse_rows(self, rule: str, values: AnyArray, is_bad: BoolArray, remedy: str = "") -> None:
        """Raise an error that names the first row of a mask, if it has any."""
        if is_bad.any():
            row = int(is_bad.argmax())
            found = f"got {values[row]} at {self.where(row)} (such rows: {int(is_bad.sum()):,})."
            raise LtrValueError(f"{rule}: {found} {remedy}".rstrip())

    def _drop_unjudged(self, labels: AnyArray, judged: BoolArray) -> None:
        """Keep the condensed list: unjudged rows are not documents, not even in the ideal one."""
        self.restrict_ranking(judged, 'unjudged="drop" leaves no document, as judged is False in every retrieved row')
        self.grades, index_of_judged = _distinct_grades(labels[judged])
        self.grade_index = np.zeros(self.n_rows, dtype=index_of_judged.dtype)  # 0 means "no document"
        self.grade_index[judged] = index_of_judged
        self.n_documents = self.sum_by_query(judged)

    def _refuse_repeated_documents(self, docid: AnyArray) -> None:
        """Raise an error if a document id occurs twice in a query."""
        docids = iter(docid[self.rows_in_query_order()].tolist())
        is_unique = all(len(set(islice(docids, size))) == size for size in self.sizes.tolist())  # faster than a sort
        repetition = None if is_unique else self.find_repetition(self.docid_descending)
        if repetition is not None:
            first, again = repetition
            raise LtrValueError(
                f"A document must occur only once in a query. {str(docid[first])!r} is at {self.where(first)} "
                f"and again at {self.where(again)} (rows are counted from 0). Drop one of the two rows."
            )

    # -- further columns -------------------------------------------------------------------------

    @cached
    def column(self, name: str) -> FloatArray:
        """Return one of the option ``columns``, checked the first time that a metric needs it."""
        values = self.columns[name]
        what = f"columns[{name!r}]"
        column = as_numbers(values, what, self.n_rows).astype(np.float64)
        is_read = np.True_ if self.retrieved is None else self.retrieved
        self._refuse_rows(f"{what} must be finite", column, ~np.isfinite(column) & is_read)
        return np.where(is_read, column, 0.0)


def _distinct_grades(labels: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Return the distinct grades, ascending, and the grade index of each row.

    Grade indices count from 1, because 0 means "no document".
    """
    if labels.max() < COUNTABLE_GRADES:
        whole = labels.astype(np.uint8)
        if (whole == labels).all():
            present = np.flatnonzero(np.bincount(whole, minlength=1))
            index = np.zeros(COUNTABLE_GRADES, dtype=np.int32)
            index[present] = np.arange(1, len(present) + 1)
            return present.astype(np.float64), index[whole]
    grades, inverse = np.unique(labels.astype(np.float64), return_inverse=True)
    return grades, (inverse + 1).astype(np.int32)
