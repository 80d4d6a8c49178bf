"""One query, opened: its first documents under each model, with grades, scores and what moved."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_metrics._rows.checks import AnyArray, IntArray, require_count
from ltr_metrics._rows.ids import id_text, positions_by_text
from ltr_metrics._rows.json_values import DataFrame, JsonId, json_id, to_dataframe
from ltr_metrics._rows.positions import Positions
from ltr_metrics._rows.queries import LabelledQueries
from ltr_metrics.errors import LtrKeyError, LtrValueError
from ltr_metrics.evaluation.result import Evaluation, query_positions
from ltr_metrics.evaluation.tables import CELLS, Table, TableOrText, Tabular

MAX_COLUMNS = 6  # of the data; more are features of a model, which nobody reads beside a document


class RankedRows(NamedTuple):
    """What a model ranked: the rows of its queries, and one score for each."""

    queries: LabelledQueries
    scores: AnyArray


def ranked_rows(queries: LabelledQueries, scores: Any) -> RankedRows:
    """Return what a model ranked, given its scores or the positions of its documents, which were checked before."""
    if isinstance(scores, Positions):
        scores, has_position = scores.as_scores(queries)
        queries = queries if has_position.all() else queries.with_retrieved(has_position)
    return RankedRows(queries, np.array(scores))  # the caller may change them later


class RankedDocument(NamedTuple):
    """A document at its rank under a model.

    ``document`` is its id, or the number of its row if the data have no ids. ``grade`` is None if the document was not
    judged, and ``is_tied`` says whether another document has the same score, so that the order of the input decided.
    ``ranks`` has its rank under every model, None where it has none, and ``columns`` its values in further columns,
    which are numbers unless columns of text were chosen.
    """

    rank: int
    document: JsonId
    grade: float | None
    score: float
    is_tied: bool
    ranks: dict[str, int | None]
    columns: dict[str, float | str]

    def move(self, other: str, k: int, *, forward: bool = False) -> tuple[str, str]:
        """Return how this document has moved from its rank under another model, or with ``forward`` moves to it.

        The first word is "in" or "out" if it enters or leaves the first k ranks, "up", "down", or empty if it stays.
        The second one names the other rank.
        """
        there = self.ranks[other]
        where = "" if there is None else f"{'to' if forward else 'from'} {there}"
        if there is None or there > k:
            return "out" if forward else "in", where
        if there == self.rank:
            return "", ""
        return "up" if (there < self.rank) == forward else "down", where


def score_texts(documents: Sequence[RankedDocument], form: str) -> list[str]:
    """Return the scores in a format, or with as many digits as it takes to tell different ones apart."""
    scores = [one.score for one in documents]
    texts = ([f"{score:{of}}" for score in scores] for of in (form, *(f".{digits}g" for digits in range(5, 18))))
    return next(of for of in texts if len(set(of)) >= len(set(scores)))


def value_text(value: float | str, form: str) -> str:
    """Return a value of a further column: text as it is, and a number in a format."""
    return value if isinstance(value, str) else format(value, form)


@dataclass(frozen=True, eq=False, repr=False)
class OpenedQuery(Tabular):
    """The first documents of one query under each model of a comparison.

    Attributes
    ----------
    qid : str or int
        The query.
    k : int
        How many documents each ranking has at most.
    n_documents, n_relevant : int
        Number of documents, and of those with a grade of 1 or more.
    baseline : str
        The model that moves are counted from; the first one if all pairs are compared.
    values : dict of str to dict of str to float
        Value of the query by metric and model; NaN where it is undefined.
    rankings : dict of str to list of RankedDocument
        The documents at ranks 1 to ``k`` by model, each with ``rank``, ``document``, ``grade``, ``score``,
        ``is_tied``, ``ranks`` (by model) and ``columns``. Documents with equal scores are in the order of the input.
    columns : dict of str to float or str
        Chosen columns in which all documents of the query have the same value, such as its text.

    See Also
    --------
    ltr_metrics.Comparison.query : Return one of these.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> y, qid, docid = [1, 0, 0, 0, 1, 0], ["a"] * 3 + ["b"] * 3, list("xyzxyz")
    >>> scores = {"live": [1, 3, 2, 3, 2, 1], "new": [3, 2, 1, 3, 2, 1]}
    >>> comparison = ltr.compare(scores, y, qid=qid, docid=docid, metrics="mrr")
    >>> opened = comparison.query("a", k=2)
    >>> [(one.document, one.grade, one.ranks["live"]) for one in opened.rankings["new"]]
    [('x', 1.0, 3), ('y', 0.0, 1)]
    >>> print(opened)
    query a: 3 documents, 1 of them relevant
    metric    live     new
    mrr     0.3333  1.0000
    <BLANKLINE>
    live
    rank  grade  document   score  new
       1      0  y         3.0000    2
       2      0  z         2.0000    3
    <BLANKLINE>
    new
    rank  grade  document   score  against live
       1      1  x         3.0000  in from 3
       2      0  y         2.0000  down from 1
    >>> opened.to_pandas().shape, sorted(opened.to_dict())[:3]
    ((4, 7), ['baseline', 'columns', 'k'])
    """

    qid: JsonId
    k: int
    n_documents: int
    n_relevant: int
    baseline: str
    values: dict[str, dict[str, float]]
    rankings: dict[str, list[RankedDocument]]
    columns: dict[str, float | str] = field(default_factory=dict)

    def n_relevant_ranked(self, model: str) -> int:
        """Return how many documents of a model's ranking here have a grade of 1 or more."""
        return sum((one.grade or 0) >= 1 for one in self.rankings[model])

    def to_pandas(self) -> DataFrame:
        """Return a table with one row per model and rank.

        Returns
        -------
        pandas.DataFrame
            The columns are model, rank, document, grade, score, is_tied and baseline_rank, then further columns of the
            data.
        """
        return to_dataframe(
            [
                {"model": model, "rank": one.rank, "document": one.document, "grade": one.grade, "score": one.score}
                | {"is_tied": one.is_tied, "baseline_rank": one.ranks[self.baseline]}
                | one.columns
                for model, documents in self.rankings.items()
                for one in documents
            ]
        )

    def printed(self) -> list[TableOrText]:
        """Return a table of the values, and one of the documents for each model."""
        title = f"query {self.qid}: {self.n_documents:,} documents, {self.n_relevant:,} of them relevant"
        title += "".join(f"; {name}: {value_text(value, 'g')}" for name, value in self.columns.items())
        values = [
            [metric, *(CELLS.format_field(of_model[model], ".4f") for model in self.rankings)]
            for metric, of_model in self.values.items()
        ]
        return [Table(["metric", *self.rankings], values, "lr", title), *map(self._table, self.rankings)]

    def _table(self, model: str) -> Table:
        """Return the documents of a model with their moves, or of the baseline with their ranks under the others."""
        documents = self.rankings[model]
        columns = [
            ("rank", "r", [f"{one.rank}" for one in documents]),
            ("grade", "r", [CELLS.format_field(one.grade, "g") for one in documents]),
            ("document", "l", [f"{one.document}" for one in documents]),
            ("score", "r", score_texts(documents, ".4f")),
        ]
        further = documents[0].columns if documents else {}
        for name, value in further.items():
            texts = [value_text(one.columns[name], "g") for one in documents]
            columns.append((name, "l" if isinstance(value, str) else "r", texts))
        if model == self.baseline:
            columns += [
                (name, "r", [CELLS.format_field(one.ranks[name], "d") for one in documents])
                for name in self.rankings
                if name != model
            ]
        else:
            moves = [" ".join(one.move(self.baseline, self.k)) for one in documents]
            columns.append((f"against {self.baseline}", "l", moves))
        if any(one.is_tied for one in documents):
            columns.append(("tied", "l", ["=" * one.is_tied for one in documents]))
        header, sides, cells = zip(*columns, strict=True)
        return Table(header, list(zip(*cells, strict=True)), "".join(sides), model)


@dataclass(eq=False)
class Documents:
    """Where queries are opened from: the rows that every model ranked, or some queries that were opened before."""

    ranked: Mapping[str, RankedRows] = field(default_factory=dict)
    opened: Mapping[str, OpenedQuery] | None = None  # by the text of the query's id

    def keep(
        self, evaluations: Mapping[str, Evaluation], ranked: Mapping[str, RankedRows], qids: Sequence[Any], k: int
    ) -> None:
        """Open some queries of rows that are not kept, unless their documents cannot be paired."""
        if _can_be_paired(ranked):
            opened = Documents(ranked).open(evaluations, qids, k) if len(qids) else []
            self.opened = {id_text(one.qid): one for one in opened}

    def open(self, evaluations: Mapping[str, Evaluation], qids: Sequence[Any], k: int) -> list[OpenedQuery]:
        """Open queries, given by their ids; the first model is the baseline."""
        first = next(iter(evaluations.values()))
        k, positions = require_count("k", k), query_positions(first, qids).tolist()
        texts = [id_text(first.json_qid[i]) for i in positions]
        if self.opened is not None:
            return [self._kept(text, k) for text in texts]
        missing = [name for name in evaluations if name not in self.ranked]
        if missing:
            raise LtrValueError(
                f"The documents of {', '.join(map(repr, missing))} are not known, because a result, such as a saved "
                "one, and the mean of several seeds have no scores of documents. Pass the scores of all models to "
                "compare, one per row."
            )
        in_queries = {  # position by the text of an id, for each of the models' queries
            id(rows.queries): positions_by_text(rows.queries.qid, name) for name, rows in self.ranked.items()
        }
        found = []
        for i, text in zip(positions, texts, strict=True):
            at = {name: in_queries[id(rows.queries)][text] for name, rows in self.ranked.items()}
            found.append(_opened(evaluations, self.ranked, i, at, k))
        return found

    def _kept(self, text: str, k: int) -> OpenedQuery:
        assert self.opened is not None
        if text not in self.opened:
            raise LtrKeyError(
                f"The documents of query {text!r} were not kept: a report keeps those of the queries that it lists, "
                f"{len(self.opened):,} here. Compare the scores with ltr_metrics.compare, whose result opens every "
                "query."
            )
        one = self.opened[text]
        if k > one.k:
            raise LtrValueError(f"A report keeps {one.k} documents of each ranking. Got k={k}.")
        return replace(one, k=k, rankings={model: of[:k] for model, of in one.rankings.items()})


def _opened(
    evaluations: Mapping[str, Evaluation], ranked: Mapping[str, RankedRows], i: int, at: Mapping[str, int], k: int
) -> OpenedQuery:
    """Open query i of the evaluations, which is at some position among each model's queries."""
    order = {name: _order(rows, at[name]) for name, rows in ranked.items()}
    has_ids = _have_ids(ranked)
    documents = {name: _documents(ranked[name].queries, rows, has_ids) for name, rows in order.items()}
    ranks = {name: {document: rank for rank, document in enumerate(of, 1)} for name, of in documents.items()}
    shared = _shared_columns(next(iter(ranked.values())).queries, order)
    rankings = {
        name: _ranking(ranked[name], order[name], documents[name][:k], ranks, _columns(ranked, order[name], shared))
        for name in evaluations
    }
    first = next(iter(evaluations.values()))
    return OpenedQuery(
        qid=first.json_qid[i],
        k=k,
        n_documents=int(first.n_documents[i]),
        n_relevant=int(first.n_relevant[i]),
        baseline=next(iter(evaluations)),
        values={
            metric: {name: float(one.per_query[metric][i]) for name, one in evaluations.items()} for metric in first
        },
        rankings=rankings,
        columns=shared,
    )


def _have_ids(ranked: Mapping[str, RankedRows]) -> bool:
    return all(rows.queries.docid is not None for rows in ranked.values())


def _can_be_paired(ranked: Mapping[str, RankedRows]) -> bool:
    """Whether documents are known by an id, or by their row among those of all models."""
    return _have_ids(ranked) or len({id(rows.queries.qid) for rows in ranked.values()}) == 1


def _order(rows: RankedRows, i: int) -> IntArray:
    """Return the ranked rows of query i by descending score, tied ones in the order of the input."""
    queries, scores = rows
    own = slice(queries.starts[i], queries.starts[i] + queries.sizes[i])
    of_query = np.arange(own.start, own.stop) if queries.order is None else queries.order[own]
    if queries.retrieved is not None:
        of_query = of_query[queries.retrieved[of_query]]
    return np.asarray(of_query[np.argsort(-scores[of_query].astype(np.float64), kind="stable")])


def _documents(queries: LabelledQueries, rows: IntArray, has_ids: bool) -> list[JsonId]:
    if not has_ids or queries.docid is None:
        return [int(row) for row in rows]
    return list(map(json_id, queries.docid[rows].tolist()))


def _shared_columns(queries: LabelledQueries, order: Mapping[str, IntArray]) -> dict[str, float | str]:
    """Return the chosen columns in which all ranked documents of a query have the same value."""
    rows = np.unique(np.concatenate(list(order.values())))
    values = {name: list(map(_value, of[rows])) for name, of in (queries.shown_columns or {}).items()}
    return {name: of[0] for name, of in values.items() if len(set(of)) == 1 < len(of)}


def _value(value: Any) -> float | str:
    """Return a value of a chosen column as a number or as text; a missing one has no text."""
    if isinstance(value, (bool, np.bool_, int, float, np.number)) and value == value:
        return float(value)
    return "" if value is None or value != value else str(value)


def _columns(ranked: Mapping[str, RankedRows], rows: IntArray, shared: Container[str]) -> dict[str, Sequence[Any]]:
    """Return the chosen columns of some rows that are not shared by all.

    If none were chosen, these are columns of numbers, if they are few; not those that repeat grades or scores.
    """
    queries = next(iter(ranked.values())).queries
    if queries.shown_columns is not None:
        chosen = {name: of[rows] for name, of in queries.shown_columns.items() if name not in shared}
        return {name: list(map(_value, of)) for name, of in chosen.items()}
    if len(queries.columns) > MAX_COLUMNS + len(ranked) + 2:  # the scores, the grade and the query may be columns
        return {}
    columns = {name: np.asarray(values) for name, values in queries.columns.items()}
    numbers = {name: values[rows] for name, values in columns.items() if values.dtype.kind in "iuf"}
    known = [queries.grades[queries.grade_index[rows] - 1]]
    known += [one.scores[rows] for one in ranked.values() if len(one.scores) == queries.n_rows]
    own: dict[str, Sequence[Any]] = {
        name: values.tolist()
        for name, values in numbers.items()
        if len(np.unique(values)) > 1 and not any(np.array_equal(values, one) for one in known)
    }
    return own if len(own) <= MAX_COLUMNS else {}


def _ranking(
    ranked: RankedRows,
    rows: IntArray,
    documents: Sequence[JsonId],
    ranks: Mapping[str, Mapping[JsonId, int]],
    columns: Mapping[str, Sequence[float | str]],
) -> list[RankedDocument]:
    """Return the first documents of a ranking, whose rows are in their order."""
    queries, scores = ranked.queries, ranked.scores[rows]
    is_tied = np.append(scores[1:] == scores[:-1], False) | np.append(False, scores[1:] == scores[:-1])
    return [
        RankedDocument(
            rank=i + 1,
            document=document,
            grade=_grade(queries, rows[i]),
            score=float(scores[i]),
            is_tied=bool(is_tied[i]),
            ranks={model: of.get(document) for model, of in ranks.items()},
            columns={name: _value(values[i]) for name, values in columns.items()},
        )
        for i, document in enumerate(documents)
    ]


def _grade(queries: LabelledQueries, row: int) -> float | None:
    is_judged = queries.judged is None or queries.judged[row]
    return float(queries.grades[queries.grade_index[row] - 1]) if is_judged else None
