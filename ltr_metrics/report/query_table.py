"""The values of all queries as columns, for the table of queries in the page."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import LARGEST_EXACT_INTEGER, AnyArray, FloatArray
from ltr_metrics._engine.ids import id_texts
from ltr_metrics._engine.plain import PlainId, plain_id
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.report.summarize import Report

Column = dict[str, Any]
DIGITS = 6  # significant digits; the page shows four decimal places


def query_table(report: Report) -> dict[str, Any]:
    """Return ``n_rows``, ``metrics`` and ``columns``.

    The columns are qid, documents, relevant, weight, segments, then each metric of each model. A column
    has a ``name``, the ``metric`` that it belongs to or None, and a ``kind``. A "text" column has
    ``labels`` and a ``code`` per row. A "count", "number" or "difference" column has ``values``, and
    a "difference" the direction ``higher_is_better``. Missing values are None.
    """
    comparison = report.comparison
    evaluations = report.evaluations if comparison is None else comparison.evaluations
    rows = _Rows(evaluations)
    columns = [_id_column(rows.ids)]
    columns += rows.shared_columns("documents", "count", lambda result: result.n_documents)
    columns += rows.shared_columns("relevant", "count", lambda result: result.n_relevant)
    columns += rows.shared_columns("weight", "number", lambda result: result.weight)
    columns += _segment_columns(rows)
    metrics = list(dict.fromkeys(metric for result in evaluations.values() for metric in result.per_query))
    for metric in metrics:
        values = [
            _number_column(model, "number", rows.align(model, result.per_query[metric]))
            for model, result in evaluations.items()
            if metric in result.per_query
        ]
        if comparison is not None:
            direction = {"higher_is_better": comparison.higher_is_better(metric)}
            values += [
                _number_column(
                    f"{model} \N{MINUS SIGN} {comparison.baseline}", "difference", comparison.differences(metric, model)
                )
                | direction
                for model in comparison.models
            ]
        columns += [column | {"metric": metric} for column in values]
    return {"n_rows": len(rows.ids), "metrics": metrics, "columns": columns}


class _Rows:
    """The queries of all models, and the row of each model's queries among them."""

    def __init__(self, evaluations: dict[str, Evaluation]) -> None:
        self.evaluations = evaluations
        row_of: dict[str, int] = {}  # by the text of the id, since models may have different types of ids
        self.rows = {
            model: np.array([row_of.setdefault(text, len(row_of)) for text in id_texts(result.qid)], dtype=np.intp)
            for model, result in evaluations.items()
        }
        id_of_row = {
            row: qid
            for model, result in evaluations.items()
            for row, qid in zip(self.rows[model].tolist(), result.plain_qid, strict=True)
        }
        self.ids = [id_of_row[row] for row in range(len(row_of))]

    def align(self, model: str, values: AnyArray) -> FloatArray:
        """Return a model's values by row of the table, with NaN for queries that it lacks."""
        column = np.full(len(self.ids), np.nan)
        column[self.rows[model]] = values
        return column

    def shared_columns(self, name: str, kind: str, values_of: Any) -> list[Column]:
        """Return one column if the models agree where they have values, otherwise one per model.

        Models that ranked documents of their own may disagree.
        """
        columns = {
            model: self.align(model, values_of(result))
            for model, result in self.evaluations.items()
            if values_of(result) is not None
        }
        if not columns:
            return []
        stacked = np.array(list(columns.values()))
        is_known = ~np.isnan(stacked)
        first = stacked[is_known.argmax(axis=0), np.arange(len(self.ids))]
        if (stacked == first)[is_known].all():
            return [_number_column(name, kind, first)]
        return [_number_column(f"{name} of {model}", kind, column) for model, column in columns.items()]


def _id_column(ids: list[PlainId]) -> Column:
    """Return the ids as text, so that browsers do not round them.

    They sort as numbers if a browser can represent them exactly.
    """
    is_exact = all(_is_number(one) and abs(one) <= LARGEST_EXACT_INTEGER for one in ids)  # type: ignore[arg-type]
    return _text_column("qid", is_exact, ids, None)


def _segment_columns(rows: _Rows) -> list[Column]:
    columns = []
    for name in dict.fromkeys(name for result in rows.evaluations.values() for name in result.segments):
        codes = np.full(len(rows.ids), -1)
        code_of: dict[Any, int] = {}
        for model, result in rows.evaluations.items():
            if name in result.segments:
                labels, code = result.segments[name]
                common = [code_of.setdefault(plain_id(label), len(code_of)) for label in labels]
                codes[rows.rows[model]] = np.array(common, dtype=np.intp)[code]
        is_numeric = all(map(_is_number, code_of))
        columns.append(_text_column("segment" if name is None else str(name), is_numeric, code_of, codes.tolist()))
    return columns


def _text_column(name: str, is_numeric: bool, labels: Iterable[Any], code: list[int] | None) -> Column:
    labels = list(map(str, labels))
    return {"name": name, "metric": None, "kind": "text", "numeric": is_numeric, "labels": labels, "code": code}


def _number_column(name: str, kind: str, values: FloatArray) -> Column:
    def plain(value: float) -> float | None:
        return None if isnan(value) else int(value) if kind == "count" else float(f"{value:.{DIGITS}g}")

    return {"name": name, "metric": None, "kind": kind, "values": list(map(plain, values.tolist()))}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
