"""The values of all queries, as columns for the table in the page."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import LARGEST_EXACT_INTEGER, AnyArray, FloatArray
from ltr_metrics._engine.ids import id_texts
from ltr_metrics._engine.plain import PlainId, plain_id
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.report.summarize import Report

Column = dict[str, Any]
DIGITS = 6  # significant ones; four places are shown


def query_table(report: Report) -> dict[str, Any]:
    """Return ``n_rows``, ``metrics`` and ``columns``: qid, documents, relevant, weight, segments, then each metric of each model.

    A column has a ``name``, the ``metric`` that it belongs to or None, and a ``kind``: "text" with ``labels`` and a ``code`` a row, and
    otherwise "count", "number" or "difference" with ``values``. Missing is None.
    """
    comparison = report.comparison
    evaluations = report.evaluations if comparison is None else comparison.evaluations
    rows = _Rows(evaluations)
    columns = [_ids(rows.ids)]
    columns += rows.common("documents", "count", lambda one: one.n_documents)
    columns += rows.common("relevant", "count", lambda one: one.n_relevant)
    columns += rows.common("weight", "number", lambda one: one.weight)
    columns += _segments(rows, evaluations)
    metrics = list(dict.fromkeys(metric for one in evaluations.values() for metric in one.per_query))
    for metric in metrics:
        of_metric = [
            _numbers(model, "number", rows.placed(model, one.per_query[metric]))
            for model, one in evaluations.items()
            if metric in one.per_query
        ]
        if comparison is not None:
            of_metric += [
                _numbers(
                    f"{model} \N{MINUS SIGN} {comparison.baseline}", "difference", comparison.differences(metric, model)
                )
                for model in comparison.models
            ]
        columns += [column | {"metric": metric} for column in of_metric]
    return {"n_rows": len(rows.ids), "metrics": metrics, "columns": columns}


class _Rows:
    """The queries of all models, and where those of each model stand among them."""

    def __init__(self, evaluations: dict[str, Evaluation]) -> None:
        self.evaluations = evaluations
        place: dict[str, int] = {}  # by the text of the id, whose type may differ between models
        self.place = {
            model: np.array([place.setdefault(text, len(place)) for text in id_texts(one.qid)], dtype=np.intp)
            for model, one in evaluations.items()
        }
        plain = {
            at: qid
            for model, one in evaluations.items()
            for at, qid in zip(self.place[model].tolist(), one.plain_qid, strict=True)
        }
        self.ids = [plain[at] for at in range(len(place))]

    def placed(self, model: str, values: AnyArray) -> FloatArray:
        """Return a model's values in the rows of the table; NaN for queries that it does not have."""
        column = np.full(len(self.ids), np.nan)
        column[self.place[model]] = values
        return column

    def common(self, name: str, kind: str, of: Any) -> list[Column]:
        """Return one column if all models agree on what they know, as they do unless they ranked documents of their own."""
        columns = {model: self.placed(model, of(one)) for model, one in self.evaluations.items() if of(one) is not None}
        if not columns:
            return []
        all_of_them = np.array(list(columns.values()))
        known = ~np.isnan(all_of_them)
        first = all_of_them[known.argmax(axis=0), np.arange(len(self.ids))]
        if (all_of_them == first)[known].all():
            return [_numbers(name, kind, first)]
        return [_numbers(f"{name} of {model}", kind, column) for model, column in columns.items()]


def _ids(ids: list[PlainId]) -> Column:
    """Return the ids as text, which no browser rounds; they sort as numbers if it can read them exactly."""
    numeric = all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and abs(one) <= LARGEST_EXACT_INTEGER for one in ids
    )
    return {
        "name": "qid",
        "metric": None,
        "kind": "text",
        "numeric": numeric,
        "labels": list(map(str, ids)),
        "code": None,
    }


def _segments(rows: _Rows, evaluations: dict[str, Evaluation]) -> list[Column]:
    columns = []
    for name in dict.fromkeys(name for one in evaluations.values() for name in one.segments):
        codes = np.full(len(rows.ids), -1)
        place: dict[Any, int] = {}
        for model, one in evaluations.items():
            if name in one.segments:
                labels, code = one.segments[name]
                own = np.array([place.setdefault(plain_id(label), len(place)) for label in labels], dtype=np.intp)
                codes[rows.place[model]] = own[code]
        numeric = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in place)
        columns.append(
            {
                "name": "segment" if name is None else str(name),
                "metric": None,
                "kind": "text",
                "numeric": numeric,
                "labels": list(map(str, place)),
                "code": codes.tolist(),
            }
        )
    return columns


def _numbers(name: str, kind: str, values: FloatArray) -> Column:
    def plain(value: float) -> float | None:
        return None if isnan(value) else int(value) if kind == "count" else float(f"{value:.{DIGITS}g}")

    return {"name": name, "metric": None, "kind": kind, "values": list(map(plain, values.tolist()))}
