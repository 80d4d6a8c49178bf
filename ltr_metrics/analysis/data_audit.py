"""Audit of data and scores: facts to check before you trust a metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.checks import BoolArray, named_columns, require_count
from ltr_metrics._engine.plain import none_if_nan, plain_id, to_dataframe
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics._engine.words import ConventionName, NoRelevant
from ltr_metrics.analysis.tie_audit import TieAudit, tie_audit_of
from ltr_metrics.errors import LtrValueError, naming, one_line
from ltr_metrics.evaluation.evaluate import Queries, queries_from
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve
from ltr_metrics.metrics.shown import Judged

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class DataAudit(Printed):
    """Facts about the data.

    Attributes
    ----------
    n_rows, n_queries : int
    documents_a_query : dict
        Number of ranked documents of a query: ``min``, ``median`` and ``max`` over queries.
    n_one_document : int
        Number of queries with one ranked document, where all models have the same value.
    n_no_relevant : int
        Number of queries without a document of grade 1 or higher, where most metrics are undefined.
    n_one_grade : int
        Number of queries whose documents all have the same grade, including those without a
        relevant document. No ranking of them is better than another.
    grades : dict of float to int
        Number of documents of each grade.
    n_unjudged : int or None
        Number of unjudged rows; None if ``judged`` was not given.
    repeated : dict or None
        Documents that occur more than once in a query: ``n_rows``, the number of rows after the
        first of each; ``n_queries``, the number of queries that have any; and the ``qid`` and
        ``docid`` of the first such row (None without one). None if ``docid`` was not given.
    """

    n_rows: int
    n_queries: int
    documents_a_query: dict[str, float]
    n_one_document: int
    n_no_relevant: int
    n_one_grade: int
    grades: dict[float, int]
    n_unjudged: int | None
    repeated: dict[str, Any] | None

    @classmethod
    def of(cls, queries: Queries) -> DataAudit:
        """Return the facts about the queries."""
        ranked = queries.n_retrieved
        documents = np.bincount(queries.grade_index, minlength=len(queries.grades) + 1)[1:]
        return cls(
            n_rows=queries.n_rows,
            n_queries=queries.n_queries,
            documents_a_query={
                "min": int(ranked.min()),
                "median": float(np.median(ranked)),
                "max": int(ranked.max()),
            },
            n_one_document=int((ranked == 1).sum()),
            n_no_relevant=int((queries.count_by_query(queries.grades >= 1) == 0).sum()),
            n_one_grade=int(_have_one_grade(queries).sum()),
            grades=dict(zip(queries.grades.tolist(), documents.tolist(), strict=True)),
            n_unjudged=None if queries.judged is None else int((~queries.judged).sum()),
            repeated=None if queries.docid is None else _repeated(queries),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, ready for JSON."""
        grades = {repr(grade).removesuffix(".0"): count for grade, count in self.grades.items()}
        return asdict(self) | {"grades": grades}

    def printed_parts(self) -> list[Table]:
        """Return a table with a row for each fact."""
        facts = [
            ("one document", self.n_one_document, "queries", self.n_queries),
            ("no relevant document (grade 1 or more)", self.n_no_relevant, "queries", self.n_queries),
            ("all documents of one grade", self.n_one_grade, "queries", self.n_queries),
        ]
        n_documents = sum(self.grades.values())
        facts += [(f"grade {grade:g}", count, "rows", n_documents) for grade, count in self.grades.items()]
        if self.n_unjudged is not None:
            facts.append(("not judged", self.n_unjudged, "rows", self.n_rows))
        rows = [(f"  {fact}", f"{count:,}", unit, f"{count / total:.1%}") for fact, count, unit, total in facts]
        foot = ""
        if self.repeated is not None and self.repeated["n_rows"]:
            foot = (
                f"  {self.repeated['n_rows']:,} rows repeat a document of their query, in "
                f"{self.repeated['n_queries']:,} queries: first {one_line(self.repeated['docid'])} in query "
                f"{one_line(self.repeated['qid'])}. Each copy counts as a document."
            )
        low, median, high = (self.documents_a_query[name] for name in ("min", "median", "max"))
        documents = f"{low:,} to {high:,} ranked documents, median {median:,g}"
        title = f"{self.n_queries:,} queries of {documents}; {self.n_rows:,} rows"
        return [Table((), rows, align="lrlr", min_widths=(40, 9, 7, 6), title=title, foot=foot)]


@dataclass(frozen=True, eq=False)
class ModelAudit:
    """Facts about the scores of one model.

    Attributes
    ----------
    n_tied_queries : int
        Number of queries in which two or more ranked documents have equal scores.
    n_constant_queries : int
        Number of queries with two or more ranked documents, all of the same score.
    judged : float or None
        Mean share of the first k documents that is judged; None if ``judged`` was not given.
    ties : TieAudit
        Each metric's mean under each tie policy.
    """

    n_tied_queries: int
    n_constant_queries: int
    judged: float | None
    ties: TieAudit

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON; NaN is None."""
        judged = None if self.judged is None else none_if_nan(self.judged)
        return {**vars(self), "judged": judged, "ties": self.ties.to_dict()}


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Printed):
    """Facts about data and scores to check before you trust a metric.

    Attributes
    ----------
    data : DataAudit
        Facts about the labels: ``n_rows``, ``n_queries``, ``documents_a_query``,
        ``n_one_document``, ``n_no_relevant``, ``n_one_grade``, ``grades``, ``n_unjudged`` and
        ``repeated``.
    models : dict of str to ModelAudit
        By the names of the scores: ``n_tied_queries``, ``n_constant_queries``, ``judged`` and
        ``ties``, which is a `TieAudit`.
    k : int
        Cutoff of the judged share.

    See Also
    --------
    audit : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> scores = {"base": [0.5, 0.5, 0.2, 0.9, 0.1]}
    >>> report = ltr.audit([1, 0, 0, 0, 2], scores, group=[3, 1, 1], metrics=["mrr"])
    >>> report.data.grades, report.data.n_no_relevant
    ({0.0: 3, 1.0: 1, 2.0: 1}, 1)
    >>> report.to_dict()["models"]["base"]["n_tied_queries"]
    1
    >>> report.to_pandas()[["model", "metric", "worst", "best"]].values.tolist()
    [['base', 'mrr', 0.75, 1.0]]
    """

    data: DataAudit
    models: dict[str, ModelAudit]
    k: int

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row a model and metric: its mean under each tie policy.

        Returns
        -------
        pandas.DataFrame
            The columns are model, metric, worst, mean, best, stable, n_tied_queries and
            n_open_queries.
        """
        parts = ((name, model.ties.to_pandas().to_dict("records")) for name, model in self.models.items())
        return to_dataframe([{"model": name} | row for name, rows in parts for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, ready for JSON; NaN is None.

        Returns
        -------
        dict
            ``k``, ``data``, and ``models`` by name.
        """
        return {
            "k": self.k,
            "data": self.data.to_dict(),
            "models": {name: model.to_dict() for name, model in self.models.items()},
        }

    def printed_parts(self) -> list[Table]:
        """Return a table of the facts about the data, and one for each model."""
        parts = self.data.printed_parts()
        for name, model in self.models.items():
            shares = (
                f"ties in {model.n_tied_queries / self.data.n_queries:.1%} of the queries",
                f"the same score for all documents in {model.n_constant_queries / self.data.n_queries:.1%}",
                *(() if model.judged is None else (f"judged@{self.k} {model.judged:.4f}",)),
            )
            parts += [table._replace(title=f"{name}: {', '.join(shares)}") for table in model.ties.printed_parts()]
        return parts


def audit(
    y_true: Any,
    scores: Any,
    *,
    metrics: Metrics | None = None,
    k: int = 10,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    **data: Any,
) -> Audit:
    """Report facts about data and scores that you should check before you trust a metric.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    scores : mapping of str to array-like of shape (n_rows,)
        The score vector of each model, by name. It may be a DataFrame.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is those
        of ndcg@10, map, mrr and err@10 that the convention has.
    k : int, default 10
        Cutoff of the judged share.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names and ``no_relevant``. Its
        tie policy is not used.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`. ``judged`` adds the
        share of judged documents, and ``docid`` the documents that occur more than once in a query.

    Returns
    -------
    Audit
        Facts about the data, and about each model.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `ltr_metrics.evaluate`, with the model's name; if there is no model, or ``k`` is out
        of range.

    See Also
    --------
    tie_audit : What the order of equal scores decides, for one score vector.
    evaluate : Evaluate the scores.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> scores = {"base": [0.5, 0.5, 0.2, 0.9, 0.1]}
    >>> report = ltr.audit([1, 0, 0, 0, 2], scores, group=[3, 1, 1], metrics=["mrr"])
    >>> report.data.n_no_relevant, report.data.n_one_document, report.models["base"].n_tied_queries
    (1, 2, 1)
    >>> report.models["base"].ties["mrr"].worst, report.models["base"].ties["mrr"].best
    (0.75, 1.0)
    """
    k = require_count("k", k)
    queries = queries_from(y_true, data, "audit")
    request = resolve(metrics, no_relevant=no_relevant, convention=convention)
    vectors = named_columns(scores, "scores")
    if not vectors:
        raise LtrValueError("scores must name at least one model. Got none.")
    return audit_of(dict.fromkeys(vectors, queries), vectors, request, k)


def audit_of(queries: Mapping[str, Queries], scores: Mapping[str, Any], request: Request, k: int) -> Audit:
    """Do the same for the `Queries` of each model and resolved metrics."""
    models = {}
    for name, vector in scores.items():
        with naming(name):
            models[name] = _audit_model(queries[name], vector, k, tie_audit_of(queries[name], vector, request))
    return Audit(DataAudit.of(queries[next(iter(scores))]), models, k)


def _audit_model(queries: Queries, scores: Any, k: int, ties: TieAudit) -> ModelAudit:
    judged = None if queries.judged is None else queries.evaluate(scores, Judged(k=k)).mean[f"judged@{k}"]
    return ModelAudit(next(iter(ties.values())).n_tied_queries, ties.n_constant_queries, judged, ties)


def _have_one_grade(queries: Queries) -> BoolArray:
    """Return which queries have documents of one grade only.

    Rows that ``unjudged="drop"`` removes do not count.
    """
    grade = queries.grade_index[queries.rows_in_query_order()].astype(np.intp)  # 0 for removed rows
    highest = np.maximum.reduceat(grade, queries.starts)
    lowest = np.minimum.reduceat(np.where(grade > 0, grade, len(queries.grades) + 1), queries.starts)
    return np.asarray(lowest >= highest)


def _repeated(queries: Queries) -> dict[str, Any]:
    assert queries.docid is not None
    document = np.unique(queries.docid, return_inverse=True)[1]
    query = queries.query_of_rows()
    first = np.unique(query * queries.n_rows + document, return_index=True)[1]
    rows = np.delete(np.arange(queries.n_rows), first)
    return {
        "n_rows": len(rows),
        "n_queries": len(np.unique(query[rows])),
        "qid": plain_id(queries.qid[query[rows[0]]]) if len(rows) else None,
        "docid": str(queries.docid[rows[0]]) if len(rows) else None,
    }
