"""Tie audit: how much each metric depends on the order of equal scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr_metrics._engine.blocks import blocks_of
from ltr_metrics._engine.checks import AnyArray, BoolArray
from ltr_metrics._engine.plain import none_if_nan, to_dataframe
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics._engine.queries import LabelledQueries
from ltr_metrics._engine.ranking import rank
from ltr_metrics._engine.words import ConventionName, NoRelevant, TiePolicy
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.evaluate import Queries, queries_from
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.requests import Metrics, Request, resolve

if TYPE_CHECKING:
    import pandas

POLICIES: tuple[TiePolicy, ...] = ("worst", "mean", "best", "stable")


@dataclass(frozen=True)
class TieRange:
    """A metric's mean under each tie policy.

    Attributes
    ----------
    worst, mean, best, stable : float
        The mean over queries under each tie policy. ``worst`` ranks lower grades first, and
        ``best`` higher grades. worst <= mean <= best holds for a metric that increases when a
        better document moves up, and worst >= mean >= best for one that decreases then.
    n_tied_queries : int
        Number of queries in which two or more ranked documents have equal scores.
    n_open_queries : int
        Number of these queries whose value depends on the order of the tied documents.

    See Also
    --------
    tie_audit : Return one of these per metric.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.tie_audit([1, 0, 0, 1], [0.5, 0.5, 0.2, 0.9], group=[2, 2], metrics=["mrr"])["mrr"]
    TieRange(worst=0.75, mean=0.875, best=1.0, stable=1.0, n_tied_queries=1, n_open_queries=1)
    """

    worst: float
    mean: float
    best: float
    stable: float
    n_tied_queries: int
    n_open_queries: int

    def __getitem__(self, name: str) -> float:
        """Return a field by its name."""
        return asdict(self)[name]  # type: ignore[no-any-return]


class TieAudit(Printed, ByMetric[TieRange]):
    """A `TieRange` for each metric.

    It is a mapping. The keys are canonical names, in the order of the request. The metric itself
    and its name in the request are keys, too.

    Attributes
    ----------
    n_constant_queries : int
        Number of queries with two or more ranked documents, all of the same score.

    See Also
    --------
    tie_audit : Return one of these.
    TieRange : The values of one metric.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> result = ltr.tie_audit([1, 0, 0, 1], [0.5, 0.5, 0.2, 0.9], group=[2, 2], metrics=["mrr"])
    >>> list(result), result["mrr"].worst, result["mrr"].best, result.n_constant_queries
    (['mrr'], 0.75, 1.0, 1)
    >>> result.get("map") is None
    True
    >>> result.to_pandas()["stable"].tolist(), result.to_dict()["mrr"]["n_tied_queries"]
    ([1.0], 1)
    """

    def __init__(self, ranges: Mapping[str, TieRange], asked: Mapping[str, str], n_constant_queries: int) -> None:
        super().__init__(ranges, asked)
        self.n_constant_queries = n_constant_queries

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per metric.

        Returns
        -------
        pandas.DataFrame
            The columns are metric, worst, mean, best, stable, n_tied_queries and n_open_queries.
        """
        return to_dataframe([{"metric": name} | asdict(ties) for name, ties in self.items()])

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return plain numbers, ready for JSON; NaN is None.

        Returns
        -------
        dict of str to dict
            The fields of each `TieRange` by metric.
        """
        return {
            name: {field: none_if_nan(value) for field, value in asdict(ties).items()} for name, ties in self.items()
        }

    def printed_parts(self) -> list[Table]:
        """Return a table with a row for each metric."""
        rows = [
            (
                name,
                *(f"{ties[policy]:.6f}" for policy in POLICIES),
                f"{ties.n_tied_queries:,}",
                f"{ties.n_open_queries:,}",
            )
            for name, ties in self.items()
        ]
        n_constant = self.n_constant_queries
        foot = f"In {n_constant:,} queries all documents have the same score." if n_constant else ""
        header = ("metric", *POLICIES, "tied queries", "of these open")
        return [Table(header, rows, min_widths=(0, *[9] * len(POLICIES)), foot=foot)]


def tie_audit(
    y_true: Any,
    y_score: Any,
    *,
    metrics: Metrics | None = None,
    no_relevant: NoRelevant | float | None = None,
    convention: ConventionName | Convention | None = None,
    **data: Any,
) -> TieAudit:
    """Evaluate under the worst, mean, best and stable order of equal scores.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Grades, finite and not negative.
    y_score : array-like of shape (n_rows,)
        Scores; higher is better.
    metrics : str, Metric, or several of them, optional
        Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``). The default is those
        of ndcg@10, map, mrr and err@10 that the convention has.
    no_relevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which a metric is undefined. "skip" (default) leaves it
        out of that metric's mean. "drop" leaves a query whose grades are all 0 out of
        every mean. "error" raises an error. A number is the metric's value for the
        query.
    convention : str or Convention, optional
        Another system, whose choices complete the metric names and ``no_relevant``. Its
        tie policy is not used.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`.

    Returns
    -------
    TieAudit
        A `TieRange` for each metric.

    Raises
    ------
    LtrValueError, LtrTypeError
        As for `evaluate`.

    See Also
    --------
    audit : The same for several models, with facts about the data.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> audit = ltr.tie_audit([1, 0, 0, 1], [0.5, 0.5, 0.2, 0.9], group=[2, 2], metrics=["mrr"])
    >>> audit["mrr"].worst, audit["mrr"].mean, audit["mrr"].best, audit["mrr"].n_tied_queries
    (0.75, 0.875, 1.0, 1)
    """
    request = resolve(metrics, no_relevant=no_relevant, convention=convention)
    return tie_audit_of(queries_from(y_true, data, "tie_audit"), y_score, request)


def tie_audit_of(queries: Queries, y_score: Any, request: Request) -> TieAudit:
    """Do the same for `Queries` and resolved metrics."""
    results = {
        ties: queries.evaluate_request(y_score, replace(request, policy=replace(request.policy, ties=ties)))
        for ties in POLICIES
    }
    tied, constant = tied_queries(queries, queries.scores(y_score))
    worst, best = results["worst"].per_query, results["best"].per_query
    ranges = {
        name: TieRange(
            **{ties: result.mean[name] for ties, result in results.items()},
            n_tied_queries=int(tied.sum()),
            n_open_queries=int((tied & (worst[name] != best[name]) & ~np.isnan(worst[name])).sum()),
        )
        for name in worst
    }
    return TieAudit(ranges, worst.asked, int(constant.sum()))


def tied_queries(queries: LabelledQueries, scores: AnyArray) -> tuple[BoolArray, BoolArray]:
    """Return which queries have a tie, and in which of them all ranked documents are tied."""
    tied, constant = (np.zeros(queries.n_queries, dtype=np.bool_) for _ in range(2))
    scores = np.ascontiguousarray(scores)
    for block in blocks_of(queries):
        ties = rank(block, scores, "mean").ties
        if ties is not None:
            tied[block.members[ties.query]] = True
            constant[block.members[ties.query[ties.size == block.n_ranked[ties.query]]]] = True
    return tied, constant
