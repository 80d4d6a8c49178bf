"""A table of values per query, written by another tool or by this package, becomes the fields of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, as_numbers, named_columns
from ltr_metrics._rows.id_columns import require_ids
from ltr_metrics._rows.ids import positions_without_repetition
from ltr_metrics._rows.words import ConventionName
from ltr_metrics.errors import Argument, LtrKeyError, LtrValueError, warn
from ltr_metrics.evaluation.skill import CHANCE, IDEAL, SkillScale
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import CONVENTIONS, Convention, convention_of
from ltr_metrics.metrics.gains import GainMetric
from ltr_metrics.metrics.names import in_lower_case, is_metric_name, name_without_parameters, parse
from ltr_metrics.metrics.requests import Request, complete, resolve

FRAME = Argument("frame")
COUNTS = ("documents", "relevant")  # columns that only a table of this package has
MOST_OF_A_SHARE = 1 + 1e-9  # the highest NDCG, with room for digits that were cut


def fields_of_table(
    frame: Any, convention: ConventionName | Convention | None, lower_is_better: Iterable[str], **options: Any
) -> dict[str, Any]:
    """Return the arguments of `Evaluation.of` for a table, whose columns and options `from_per_query` describes."""
    columns = named_columns(frame, FRAME)
    if "qid" not in columns:
        raise LtrKeyError(FRAME, f" must have a column qid with one query id per row. It has {', '.join(columns)}.")
    is_our_table = set(COUNTS) <= columns.keys()
    # In a table of the command line, the weight and the segments are in front of the query.
    in_front = list(columns)[: list(columns).index("qid")] if is_our_table else []
    of_queries = {name: columns.pop(name) for name in in_front}
    qid = require_ids(columns.pop("qid"), "qid")
    positions_without_repetition(qid, FRAME, " must hold each query once")
    weight = _numbers(of_queries["weight"], "weight", qid) if "weight" in of_queries else None
    n_documents, n_relevant = (
        _numbers(columns.pop(name), name, qid).astype(np.intp) if name in columns else np.full(len(qid), -1)
        for name in COUNTS
    )
    ends = [_take_end(columns, end, qid) for end in ((CHANCE, IDEAL) if is_our_table else ())]
    known = [name for name in columns if is_metric_name(name)]
    _check_names(known, convention, is_our_table=is_our_table)
    request = resolve(known or None, convention=convention, **options)
    asked = {name: request.asked[in_lower_case(name)] for name in known}
    names = _names(list(columns), asked, request)
    if unknown := [name for name in lower_is_better if name not in columns or name in asked]:
        reason = f" must name columns that are not metrics here. Got {unknown[0]!r}."
        raise LtrKeyError(Argument("lower_is_better"), reason)
    of_names = zip(names, columns.items(), strict=True)
    values = {name: _numbers(column, key, qid) for name, (key, column) in of_names}
    if weight is None:
        _refuse_values_of_weights(values, request, qid)
    has_skill = bool(ends) and all(of_metrics.keys() == values.keys() for of_metrics in ends)
    return {
        "values": values,
        "asked": asked,
        "weight": weight,
        "qid": qid,
        "n_documents": n_documents,
        "n_relevant": n_relevant,
        "policy": request.policy,
        "lower_is_better": (request.lower_is_better & values.keys()) | set(lower_is_better),
        "skill_scale": SkillScale.of_table(values, *ends) if has_skill else None,
        "shows_skill": has_skill,
    }


def _numbers(column: Any, name: str, qid: AnyArray) -> FloatArray:
    return as_numbers(column, name, len(qid)).astype(np.float64)


def _take_end(columns: dict[str, Any], end: str, qid: AnyArray) -> dict[str, FloatArray]:
    """Return one end of the skill's scale by metric, and remove its columns from the others."""
    of_end = [name for name in columns if name.startswith(end)]
    return {name.removeprefix(end): _numbers(columns.pop(name), name, qid) for name in of_end}


def _names(columns: list[str], asked: dict[str, str], request: Request) -> list[str]:
    """Return the canonical name of each column, or its own if it is no metric of this package."""
    if request.policy.unit != "queries":
        raise LtrValueError(f"One value per query is not enough for a mean over {request.policy.unit}.")
    names = [asked.get(name, name) for name in columns]
    if not names or len(set(names)) < len(names):
        raise LtrValueError(FRAME, f" must have a column per metric, each metric once. Got {', '.join(names)}.")
    return names


def _refuse_values_of_weights(values: dict[str, FloatArray], request: Request, qid: AnyArray) -> None:
    """Raise an error for a value that is one divided by the weight of its query, which the table lacks."""
    for name in request.policy.weighs_undefined_as_one:
        if (values[name] > MOST_OF_A_SHARE).any():
            query = qid[int(np.nanargmax(values[name]))]
            raise LtrValueError(
                f"{name} is {np.nanmax(values[name]):g} for query {query}, as in {request.policy.convention} for a "
                "query without relevant documents whose weight is below 1. Such values need the weights, which this "
                "table lacks. Read a saved result instead (result.save, or --save), which has them."
            )


# -- names that tools read in different ways ------------------------------------------------------


def _check_names(names: Iterable[str], convention: ConventionName | Convention | None, *, is_our_table: bool) -> None:
    """Refuse or warn of names in a table of values per query that may mean other metrics than they are read as.

    A table of this package has canonical names, which are complete. Another tool's name is open if the conventions
    make different metrics of it.
    """
    open_names: dict[str, str] = {}  # each with an example of another meaning
    for name in names:
        ours = complete(name, CONVENTIONS["default"])
        is_complete = is_our_table and name == str(ours)
        if convention is None:
            others = [one for one in CONVENTIONS.values() if _meaning(name, one) not in (None, ours)]
            _refuse_open_gain(name, [ours, *(_meaning(name, one) for one in others)])
            if others and not is_complete and parse(name).parameters.keys() <= {"k"}:
                open_names[name] = f"{_meaning(name, others[0])} in {others[0].name}"
        elif is_complete and _meaning(name, other := convention_of(convention)) not in (None, ours):
            raise LtrValueError(
                f"The table has the columns documents and relevant, as those of this package, in which {name} is "
                f"complete, but {other.name} reads it as {_meaning(name, other)}. Rename the column to the metric that "
                "it holds, or leave out the convention."
            )
    if open_names:
        name, meaning = next(iter(open_names.items()))
        warn(
            f"These columns are read as metrics of this package: {', '.join(open_names)}. But {name} is {meaning}. If "
            "another tool wrote the table, name its convention. Otherwise pass ",
            Argument("convention", "default"),
            ".",
        )


def _refuse_open_gain(name: str, meanings: Iterable[Metric | None]) -> None:
    """Refuse a name that has several gains; the canonical names of this package say which one they mean."""
    if len({one.gain for one in meanings if isinstance(one, GainMetric)}) < 2:
        return
    rest = name.removeprefix(name_without_parameters(name))
    spelled = [f"{alias}{rest}" for alias, fixed in parse(name).cls.ALIASES.items() if "gain" in fixed]
    raise LtrValueError(
        f"The column {name!r} leaves the gain open, in which tools differ. Rename it to {' or '.join(spelled)}, or "
        "name the convention of its tool, such as ",
        Argument("convention", "trec_eval"),
        ".",
    )


def _meaning(name: str, convention: Convention) -> Metric | None:
    """Return the metric that a name stands for in a convention, or None if the convention does not have it."""
    try:
        return complete(name, convention)
    except LtrValueError:
        return None
