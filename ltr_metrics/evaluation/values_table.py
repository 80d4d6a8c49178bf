"""A table of values per query, written by another tool or by this package, becomes the fields of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, as_numbers, copy_of, is_number_text, named_columns
from ltr_metrics._rows.ids import id_texts, positions_without_repetition, require_ids
from ltr_metrics._rows.words import ConventionName
from ltr_metrics.errors import LtrKeyError, LtrValueError, warn
from ltr_metrics.evaluation.ranges import declared_range, possible_values
from ltr_metrics.evaluation.skill import CHANCE, IDEAL, SkillScale
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.conventions import CONVENTIONS, Convention, convention_of
from ltr_metrics.metrics.gains import GainMetric
from ltr_metrics.metrics.names import in_lower_case, is_metric_name, name_without_parameters, parse
from ltr_metrics.metrics.other_names import complete_name
from ltr_metrics.metrics.requests import Request, complete, resolve

QUERY_IDS = ("qid", "query_id", "query-id", "q_id", "topic", "query", "")  # "": the index of a data frame in CSV
MEASURES, SYSTEMS = ("measure", "metric"), ("name", "system", "model", "runid")
NO_METRICS = ("num_", "runid", "relstring")  # what trec_eval prints beside its measures
TREC_EVAL = CONVENTIONS["trec_eval"]
MEAN_ROW = "all"  # what trec_eval and its kin call the mean over queries
MEANS = re.compile("all|[ag]?means?|avg|average|overall|total|macro|micro|aggregated?|summary")
WORDS_OF_MEANS = re.compile(rf"{MEANS.pattern}|arithmetic|geometric|weighted|of|over|the|quer(y|ies)|topics?")
_OF_GDEVAL = re.compile(r"runid,topic(,(ndcg|err)@\d+)+")  # the header of its file, whose means are in a row amean
_OF_VERSION_10 = re.compile(r"rbp(_resid)?|unj_\d+")  # measures that trec_eval prints from this version on
COUNTS = ("documents", "relevant")  # columns that only a table of this package has
ROUNDING = 1e-6  # of values in float32 at the ends of a range
DIGITS_OF_MEANS = 6e-5  # half of the last digit of four, with room
MOST_OF_A_SHARE = 1 + 1e-9  # the highest NDCG, with room for digits that were cut


def fields_of_table(
    frame: Any, convention: ConventionName | Convention | None, lower_is_better: Iterable[str], **options: Any
) -> dict[str, Any]:
    """Return the arguments of `Evaluation.of` for a table, whose columns and options `from_per_query` describes."""
    columns = named_columns(frame, "frame")
    if "fingerprint" in columns:
        raise LtrValueError(
            "frame is a saved result without its header, which says how it was computed. Use the file as --save "
            "wrote it, or what 'evaluate --format csv' prints."
        )
    if _OF_GDEVAL.fullmatch(",".join(columns)):
        columns, convention = _without_means(columns, "topic", "amean"), convention or "gdeval"
    is_our_table = set(COUNTS) <= columns.keys()  # in which other columns than the model's may be segments
    columns = _of_one_system(columns, ["model"] if is_our_table else SYSTEMS)
    if "qid" not in columns:
        name = next((name for name in QUERY_IDS if name in columns), None)
        if name is None:
            raise LtrKeyError(f"frame must have a column qid with one query id per row. It has {', '.join(columns)}.")
        columns = {"qid": columns.pop(name), **columns}
    if (measure := next((name for name in MEASURES if name in columns), None)) and "value" in columns:
        columns = _wide(columns, measure)
    elif not is_our_table:
        columns = _without_means(columns, "qid", MEAN_ROW)
    columns, convention = _named_as_here(columns, convention)
    # In a table of the command line, the weight and the segments are in front of the query.
    in_front = list(columns)[: list(columns).index("qid")] if is_our_table else []
    of_queries = {name: columns.pop(name) for name in in_front}
    qid = require_ids(copy_of(columns.pop("qid")), "qid")
    positions_without_repetition(qid, "frame must hold each query once")
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
        raise LtrKeyError(f"lower_is_better must name columns that are not metrics here. Got {unknown[0]!r}.")
    of_names = zip(names, columns.items(), strict=True)
    values = {name: _numbers(column, key, qid) for name, (key, column) in of_names}
    if weight is None:
        _refuse_values_of_weights(values, request, qid)
    _refuse_values_out_of_range(values, request, qid)
    if not is_our_table:
        _refuse_means(values, qid)
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


def _wide(columns: dict[str, Any], measure: str) -> dict[str, Any]:
    """Return a column for each measure of a table that has a row for each query and measure; leave out counts."""
    values: dict[str, dict[Any, Any]] = {}
    queries: dict[Any, None] = {}
    for query, name, value in zip(columns["qid"], columns[measure], columns["value"], strict=True):
        of_measure = values.setdefault(str(name), {})
        if str(query) == MEAN_ROW:
            continue
        if query in of_measure:
            raise LtrValueError(f"frame must hold each query once. {name} of query {query} is there twice.")
        of_measure[query], queries[query] = float(value) if is_number_text(value) else value, None
    if not queries:
        raise LtrValueError("frame has no values of queries, but only means. Run trec_eval with -q.")
    for name, of_measure in values.items():
        if 0 < len(of_measure) < len(queries):
            query = next(query for query in queries if query not in of_measure)
            n = len(queries) - len(of_measure)
            warn(f"The table has no {name} of {n:,} of {len(queries):,} queries, such as {query}. Its mean lacks them.")
    wide = {
        name: np.array([of_measure.get(query, np.nan) for query in queries])
        for name, of_measure in values.items()
        if of_measure and not name.startswith(NO_METRICS)
    }
    return {"qid": list(queries), **wide}


def _of_one_system(columns: dict[str, Any], systems: Collection[str]) -> dict[str, Any]:
    """Return the columns without the name of the system that has the values; refuse several systems."""
    for system in systems:
        if len(names := set(map(str, columns.get(system, ())))) > 1:
            raise LtrValueError(f"frame must have the values of one system. {system} has {', '.join(sorted(names))}.")
    return {name: column for name, column in columns.items() if name not in systems}


def _without_means(columns: dict[str, Any], queries: str, mean: str) -> dict[str, Any]:
    """Return another tool's table without the row of the means."""
    is_query = np.array([str(query) != mean for query in columns[queries]], dtype=np.bool_)
    if is_query.all():
        return columns
    warn(f"The row {mean!r} of the table is left out, because it is a mean and no query.")
    return {name: np.asarray(column)[is_query] for name, column in columns.items()}


def _refuse_means(values: Mapping[str, FloatArray], qid: AnyArray) -> None:
    """Refuse a row that is a mean by its name, or by its values where all other ids are numbers."""
    texts = id_texts(qid)
    words_of = [re.findall(r"[^\W_]+", text.casefold()) for text in texts]
    means = [
        row
        for row, found in enumerate(words_of)
        if any(map(MEANS.fullmatch, found)) and all(map(WORDS_OF_MEANS.fullmatch, found))
    ]
    words = [row for row, text in enumerate(texts) if not text.isdigit()]
    if not means and len(words) == 1 < len(texts) - 1:
        of_queries = np.array(list(values.values()))
        others = np.delete(of_queries, words[0], axis=1)
        differences = np.abs(of_queries[:, words[0]] - others.mean(axis=1))
        means = words if (differences < DIGITS_OF_MEANS).all() and np.ptp(others) > 0 else []
    if means:
        raise LtrValueError(
            f"frame has a row {texts[means[0]]!r}, which seems to be a mean and would count as one query more. Remove "
            "it. If a query has this id, give it another one in all results that you compare."
        )


def _named_as_here(columns: dict[str, Any], convention: Any) -> tuple[dict[str, Any], Any]:
    """Return the columns under our names where one system alone has theirs; trec_eval's tell the convention, too."""
    of_version_10 = names_of_version_10(columns)
    columns = {of_version_10.get(name, name): column for name, column in columns.items()}
    renamed = {name: complete_name(name) for name in columns if not is_metric_name(name)}
    systems = {other[0] for other in renamed.values() if other}
    if "trec_eval" in systems and not all(name in renamed or meaning_in(name, TREC_EVAL) for name in columns):
        return columns, convention  # of several tools, so that none tells the convention
    if convention is None and "trec_eval" in systems:
        convention = "trec_eval"
    ours: dict[str, Any] = {}
    for name, column in columns.items():
        if systems and name.startswith(NO_METRICS):
            continue
        other = renamed.get(name)
        key = str(complete(other[1], CONVENTIONS.get(other[0], CONVENTIONS["default"]))) if other else name
        if key in ours:
            raise LtrValueError(f"frame must have each metric once. {name} is {key}, which is there as well.")
        ours[key] = column
    is_of_trec_eval = convention is not None and convention_of(convention) is TREC_EVAL
    if level := next(filter(_rounded_to_nearest, columns), "") if is_of_trec_eval else "":
        warn(
            f"{level} is read with the rounding of trec_eval 9 and pytrec_eval. If version 10 wrote it, call it "
            f"{_rounded_to_nearest(level)}."
        )
    return ours, convention


def names_of_version_10(names: Iterable[str]) -> dict[str, str]:
    """Return our names of interpolated precision, if it is beside measures that only trec_eval 10 prints."""
    names = list(names)
    if not any(map(_OF_VERSION_10.fullmatch, names)):
        return {}
    return {name: to_nearest for name in names if (to_nearest := _rounded_to_nearest(name))}


def _rounded_to_nearest(name: str) -> str:
    """Return our name of trec_eval's interpolated precision as version 10 rounds it, or an empty string."""
    ours = "iprec()" if name == "11pt_avg" else (complete_name(name) or ("", ""))[1]
    return f"{ours[:-1]}{',' * (ours[-2] != '(')}rounding=nearest)" if ours.startswith("iprec(") else ""


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
        raise LtrValueError(f"frame must have a column per metric, each metric once. Got {', '.join(names)}.")
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


def _refuse_values_out_of_range(values: Mapping[str, FloatArray], request: Request, qid: AnyArray) -> None:
    """Refuse a value that its metric cannot have, such as one in percent."""
    for name, column in values.items():
        low, high = declared_range(name)
        high = np.inf if name in request.policy.weighs_undefined_as_one else high
        undefined = request.policy.no_relevant_for(name)
        is_own = np.full(len(column), True) if isinstance(undefined, str) else column != undefined
        is_outside = is_own & ((column < low - ROUNDING) | (column > high + ROUNDING))
        if is_outside.any():
            percent = column[is_own & ~np.isnan(column)]
            remedy = "Correct the table."
            if possible_values(name).is_binary and not np.isin(percent, (0, 100)).all():
                remedy = (
                    f"Does the table hold another metric, such as a number of hits? A query has 0 or 1 of {name}, or a "
                    "share where scores are tied. In percent it would be 0 or 100."
                )
            elif low == 0 and percent.min() >= 0 and percent.max() <= 100 * high:
                remedy = "It seems that the table is in percent: divide its values by 100."
            row = int(is_outside.argmax())
            raise LtrValueError(
                f"{name} must lie between {low:g} and {high:g}. It is {column[row]:g} for query {qid[row]}. {remedy}"
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
            others = [one for one in CONVENTIONS.values() if meaning_in(name, one) not in (None, ours)]
            _refuse_open_gain(name, [ours, *(meaning_in(name, one) for one in others)])
            if others and not is_complete and parse(name).parameters.keys() <= {"k"}:
                open_names[name] = f"{meaning_in(name, others[0])} in {others[0].name}"
        elif is_complete and meaning_in(name, other := convention_of(convention)) not in (None, ours):
            raise LtrValueError(
                f"The table has the columns documents and relevant, as those of this package, in which {name} is "
                f"complete, but {other.name} reads it as {meaning_in(name, other)}. Rename the column to the metric "
                "that it holds, or leave out the convention."
            )
    if open_names:
        name, meaning = next(iter(open_names.items()))
        warn(
            f"These columns are read as metrics of this package: {', '.join(open_names)}. But {name} is {meaning}. If "
            'another tool wrote the table, name its convention. Otherwise pass convention="default".'
        )


def _refuse_open_gain(name: str, meanings: Iterable[Metric | None]) -> None:
    """Refuse a name that has several gains; the canonical names of this package say which one they mean."""
    if len({one.gain for one in meanings if isinstance(one, GainMetric)}) < 2:
        return
    rest = name.removeprefix(name_without_parameters(name))
    spelled = [f"{alias}{rest}" for alias, fixed in parse(name).cls.ALIASES.items() if "gain" in fixed]
    raise LtrValueError(
        f"The column {name!r} leaves the gain open, in which tools differ. Rename it to {' or '.join(spelled)}, or "
        'name the convention of its tool, such as convention="trec_eval".'
    )


def meaning_in(name: str, convention: Convention) -> Metric | None:
    """Return the metric that a name stands for in a convention, or None if the convention does not have it."""
    try:
        return complete(name, convention)
    except LtrValueError:
        return None
