"""Arguments of `evaluate` and `compare` that name columns of a table, which is asked for ``data[name]`` only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import as_ids, column_names, has_named_columns
from ltr_metrics._rows.grouping import GroupedRows
from ltr_metrics._rows.per_query import labels_of
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean

OF_ROWS = ("qid", "sample_weight", "query_weight", "docid", "retrieved", "judged", "cluster")
TITLES = {"y_true": "label"} | {option: option for option in (*OF_ROWS, "by")}  # of the arguments that are columns
_NAMED = re.compile(rf"\b(y_true|y_score)\b|^({'|'.join(TITLES)})(?= must | has )")  # where a message names an argument
INSTEAD = "Add it to the table and name its column, or leave data= out and pass all columns as arrays."
Segmenting = str | Sequence[str] | Mapping[str, str]  # columns of segments, or the column of each segmentation


def refuse_mixture(data: Any, arrays: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    """Refuse arrays beside a table, and names of columns without one."""
    given = [option for option, value in (names if data is None else arrays).items() if value is not None]
    if given and data is None:
        raise LtrTypeError(f"{given[0]}= names a column of data=, which is missing: pass data=table.")
    if given:
        raise LtrTypeError(
            f"{given[0]} does not go with data=, whose columns of grades and scores are named by label= ('label' by "
            f"default) and score= ('score'). {INSTEAD}"
        )


def column_of(data: Any, name: Any, option: str) -> Any:
    """Return the column of a table that an option names."""
    if not isinstance(name, str):
        raise _no_name(name, option)
    try:
        column = data[name]
    except (TypeError, IndexError) as error:
        raise LtrTypeError(
            "data must be a table whose columns are data[name], such as a data frame, an Arrow table, or a dict of "
            f"arrays. Got a {type(data).__name__}, for which data[{name!r}] says: {error}"
        ) from error
    except Exception as error:  # a KeyError, a ValueError, or what the library of the table has for it
        refuse_absent(data, "data has", name, error, f" Name the column with {option}=.")
        column = None  # Arrow names no column that is there twice
    if column is None or getattr(column, "ndim", 1) != 1:
        raise LtrValueError(
            f"data[{name!r}] must be one column. If several have this name, rename or drop all of them but one. If it "
            "is None, name another column."
        )
    return column


def refuse_absent(table: Any, has: str, name: str, error: Exception, remedy: str = "") -> None:
    """Raise an error for a column that a table does not have."""
    known = list(map(str, column_names(table))) if has_named_columns(table) else []
    if name not in known:
        listed = f" It has {', '.join(known)}." if known else ""
        raise LtrKeyError(f"{has} no column {name!r}.{did_you_mean(name, known)}{listed}{remedy}") from error


@contextmanager
def naming_columns(label: str | None, options: Mapping[str, Any]) -> Iterator[None]:
    """Say of an error which column it is about, where the message has the name of an argument."""
    try:
        yield
    except (LtrValueError, LtrTypeError) as error:
        names = {"y_true": "label" if label is None else label, "qid": "qid"}
        names |= {option: name for option, name in options.items() if name is not None}
        words = {
            one: f"column {names[one]!r} ({title})" for one, title in TITLES.items() if isinstance(names.get(one), str)
        }
        words["y_score"] = "the scores"
        raise type(error)(_NAMED.sub(lambda found: words.get(found[0], found[0]), str(error))) from error


def columns_by_key(names: Any, option: str) -> dict[str, Any]:
    """Return the columns that are named, by the names that a mapping gives them, or by their own."""
    if isinstance(names, Mapping) and names:
        return dict(names)
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        raise _no_name(names, option)
    return {name: name for name in names}


def _no_name(value: Any, option: str) -> LtrTypeError:
    return LtrTypeError(
        f"{option}= must name one or more columns of data=, as text. Got a {type(value).__name__}. {INSTEAD}"
    )


def read_options(data: Any, label: str | None, options: Mapping[str, Any], needed: Iterable[str]) -> dict[str, Any]:
    """Return the arguments of `Queries`: columns in place of their names, and the columns that metrics need."""
    given = {"qid": "qid"} | {option: value for option, value in options.items() if value is not None}
    if "group" in given:
        raise LtrTypeError("group= has sizes, which are no column. Name the column of query ids with qid=.")
    read = {option: column_of(data, one, option) if option in OF_ROWS else one for option, one in given.items()}
    if "query_weight" in read:
        rows = GroupedRows.of_ids(as_ids(read["qid"], "qid"))
        try:
            weights, code = labels_of(rows, "query_weight", read["query_weight"])
        except LtrValueError as error:
            remedy = (
                "If rows of a query have different weights, name the column with sample_weight=, which takes the mean."
            )
            raise LtrValueError(f"{error} {remedy}") from None
        read["query_weight"] = np.array(weights)[code]
    if isinstance(by := given.get("by"), str):
        read["by"] = column_of(data, by, "by")
    elif by is not None:
        read["by"] = {key: column_of(data, name, "by") for key, name in columns_by_key(by, "by").items()}
    further = columns_by_key(given["columns"], "columns") if "columns" in given else {}
    columns = {name: name for name in needed} | further
    read["columns"] = {key: column_of(data, name, "columns") for key, name in columns.items()}
    return {"y_true": column_of(data, "label" if label is None else label, "label"), **read}
