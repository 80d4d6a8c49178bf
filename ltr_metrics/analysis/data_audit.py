"""What to know of data and scores before one believes a number."""

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
    """What the data are.

    Attributes
    ----------
    n_rows, n_queries : int
    documents_a_query : dict
        Documents with a rank: ``min``, ``median`` and ``max`` over queries.
    n_one_document : int
        Queries of one document with a rank: every metric says the same of every model there.
    n_no_relevant : int
        Queries without a document of grade 1 or higher, on which most metrics are undefined.
    n_one_grade : int
        Queries whose documents all have one grade, those without a relevant document among them: no ranking is better than another.
    grades : dict of float to int
        Documents of each grade.
    n_unjudged : int or None
        Rows that nobody judged; None if ``judged`` was not given.
    repeated : dict or None
        Documents that stand in one query more than once: ``n_rows`` beyond the first of each, ``n_queries`` that have any, and of the first of
        these ``qid`` and ``docid`` (None if there is none). None if ``docid`` was not given.
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
        """Count."""
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
            n_one_grade=int(_of_one_grade(queries).sum()),
            grades=dict(zip(queries.grades.tolist(), documents.tolist(), strict=True)),
            n_unjudged=None if queries.judged is None else int((~queries.judged).sum()),
            repeated=None if queries.docid is None else _repeated(queries),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, ready for JSON."""
        grades = {repr(grade).removesuffix(".0"): count for grade, count in self.grades.items()}
        return asdict(self) | {"grades": grades}

    def printed_parts(self) -> list[Table]:
        """Return a line a fact."""
        of, total = self.documents_a_query, sum(self.grades.values())
        facts = [
            (what, count, "queries", count / self.n_queries)
            for what, count in (
                ("one document", self.n_one_document),
                ("no relevant document (grade 1 or more)", self.n_no_relevant),
                ("all documents of one grade", self.n_one_grade),
            )
        ]
        facts += [(f"grade {grade:g}", count, "rows", count / total) for grade, count in self.grades.items()]
        if self.n_unjudged is not None:
            facts.append(("not judged", self.n_unjudged, "rows", self.n_unjudged / self.n_rows))
        rows = [(f"  {what}", f"{count:>9,} {unit}", f"{share:.1%}") for what, count, unit, share in facts]
        foot = ""
        if self.repeated is not None and self.repeated["n_rows"]:
            foot = (
                f"  {self.repeated['n_rows']:,} rows repeat a document of their query, in {self.repeated['n_queries']:,} queries: first "
                f"{one_line(self.repeated['docid'])} in query {one_line(self.repeated['qid'])}. Each copy counts as a document."
            )
        title = f"{self.n_queries:,} queries of {of['min']:,} to {of['max']:,} ranked documents, median {of['median']:,g}; {self.n_rows:,} rows"
        return [Table((), rows, align="lnr", least=(40, 17, 7), title=title, foot=foot)]


@dataclass(frozen=True, eq=False)
class ModelAudit:
    """What the scores of one model are.

    Attributes
    ----------
    n_tied_queries : int
        Queries in which two or more ranked documents have equal scores.
    n_constant_queries : int
        Queries of two or more ranked documents that all have one score: there the model says nothing.
    judged : float or None
        Mean share of the first k documents that is judged; None if ``judged`` was not given.
    ties : TieAudit
        For each metric what the order of equal scores can make of its mean.
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
    """What to know of data and scores before one believes a number.

    Attributes
    ----------
    data : DataAudit
    models : dict of str to ModelAudit
        By the names under which the scores were given.
    k : int
        Cutoff of the share that is judged.
    """

    data: DataAudit
    models: dict[str, ModelAudit]
    k: int

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row a model and metric: what the order of equal scores can make of its mean."""
        parts = ((name, model.ties.to_pandas().to_dict("records")) for name, model in self.models.items())
        return to_dataframe([{"model": name} | row for name, rows in parts for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, ready for JSON; NaN is None."""
        return {
            "k": self.k,
            "data": self.data.to_dict(),
            "models": {name: model.to_dict() for name, model in self.models.items()},
        }

    def printed_parts(self) -> list[Table]:
        """Return the data's facts, and those of each model."""
        parts = self.data.printed_parts()
        for name, model in self.models.items():
            shares = (
                f"ties in {model.n_tied_queries / self.data.n_queries:.1%} of the queries",
                f"one score for all documents in {model.n_constant_queries / self.data.n_queries:.1%}",
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
    """Look at data and scores before one believes a number.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    scores : mapping of str to array-like of shape (n_rows,)
        The score vector of each model, by name. A DataFrame will do.
    metrics, no_relevant, convention
        As for `ltr_metrics.evaluate`. What a convention says of ties has no part in this.
    k : int, default 10
        Cutoff of the share that is judged.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`. With ``judged`` the share that is judged is looked at, with
        ``docid`` whether a document stands in a query twice.

    Returns
    -------
    Audit

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `ltr_metrics.evaluate`, with the model's name; if there is no model, or ``k`` is out of range.

    Examples
    --------
    >>> from ltr_metrics.analysis.data_audit import audit
    >>> found = audit([1, 0, 0, 0, 2], {"base": [0.5, 0.5, 0.2, 0.9, 0.1]}, group=[3, 1, 1], metrics=["mrr"])
    >>> found.data.n_no_relevant, found.data.n_one_document, found.models["base"].n_tied_queries
    (1, 2, 1)
    >>> found.models["base"].ties["mrr"].worst, found.models["base"].ties["mrr"].best
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
    """Do what `audit` does for queries that are laid out, one for all models or one for each, and names that are resolved already."""
    models = {}
    for name, vector in scores.items():
        with naming(name):
            models[name] = _of_model(queries[name], vector, k, tie_audit_of(queries[name], vector, request))
    return Audit(DataAudit.of(queries[next(iter(scores))]), models, k)


def _of_model(queries: Queries, scores: Any, k: int, ties: TieAudit) -> ModelAudit:
    judged = None if queries.judged is None else queries.evaluate(scores, Judged(k=k)).mean[f"judged@{k}"]
    return ModelAudit(next(iter(ties.values())).n_tied_queries, ties.n_constant_queries, judged, ties)


def _of_one_grade(queries: Queries) -> BoolArray:
    """Whether the documents of a query all have one grade; rows that `unjudged="drop"` takes out are none."""
    order, none = queries.rows_in_query_order(), len(queries.grades) + 1
    grade = queries.grade_index[order].astype(np.intp)
    highest = np.maximum.reduceat(grade, queries.starts)
    lowest = np.minimum.reduceat(np.where(grade > 0, grade, none), queries.starts)
    return np.asarray(lowest >= highest)


def _repeated(queries: Queries) -> dict[str, Any]:
    assert queries.docid is not None
    document = np.unique(queries.docid, return_inverse=True)[1]
    query = queries.query_of_rows()
    first = np.unique(query * queries.n_rows + document, return_index=True)[1]
    again = np.ones(queries.n_rows, dtype=np.bool_)
    again[first] = False
    rows = np.flatnonzero(again)
    return {
        "n_rows": len(rows),
        "n_queries": len(np.unique(query[rows])),
        "qid": plain_id(queries.qid[query[rows[0]]]) if len(rows) else None,
        "docid": str(queries.docid[rows[0]]) if len(rows) else None,
    }
