"""Columns of ids and of labels, as arrays that keep apart what is not one id, without an id that is missing.

`ltr_metrics._rows.ids` has the rule for two ids; here it is applied to whole columns of a caller.
"""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Number
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, IntArray, as_ids
from ltr_metrics._rows.ids import are_missing, id_texts, refuse_ids_of_one_text
from ltr_metrics.errors import LtrTypeError, LtrValueError


def require_ids(values: Any, name: str, n_rows: int | None = None) -> AnyArray:
    """Return one id per row as an array; a missing id is an error."""
    ids = as_ids(values, name, n_rows)
    refuse_missing(ids, name)
    return ids


def refuse_missing(
    ids: AnyArray, name: str, row_of: IntArray | None = None, *, what: str = "an id", unit: str = "row"
) -> None:
    """Raise an error if an id is missing; ``row_of`` has the row of each entry, if entries are not rows."""
    missing = are_missing(ids)
    if missing.any():
        entry = int(missing.argmax())
        row = entry if row_of is None else int(row_of[entry])
        state = "blank" if isinstance(ids[entry], (str, bytes)) else "missing"
        raise LtrValueError(
            f"{name} must have {what} in every {unit}: it is {state} at {unit} {row}. Fill it in, or leave out the "
            "rows without one."
        )


def as_document_ids(values: Any, n_rows: int) -> AnyArray:
    """Return one document id per row as text; a missing id is an error."""
    ids = require_ids(values, "docid", n_rows)
    return ids.astype(str) if ids.dtype.kind in "iuU" else np.array(id_texts(ids))


def label_codes(values: Any, name: str, ascending: list[Hashable] | None = None) -> tuple[AnyArray, IntArray]:
    """Return the distinct labels and, for each entry, the position of its label among them.

    The labels are in the order of ``ascending``, by default the order of an ordered categorical, or
    in order of first appearance if there is neither.
    """
    labels = as_ids(values, name)
    refuse_missing(labels, name, what="a label", unit="entry")
    distinct, code = codes_by_first_appearance(labels, name)
    refuse_ids_of_one_text(distinct, name)
    ascending = ordered_categories(values) if ascending is None else ascending
    if ascending is None:
        return distinct, code
    position = {label: at for at, label in enumerate(ascending)}
    order = np.argsort([position[label] for label in distinct.tolist()])
    return distinct[order], np.argsort(order)[code]


def ordered_categories(values: Any) -> list[Hashable] | None:
    """Return the ascending labels of an ordered pandas categorical, otherwise None."""
    categorical = getattr(values, "cat", values)  # the attribute of a pandas Series that holds them
    return list(categorical.categories) if getattr(categorical, "ordered", None) is True else None


def refuse_flags_beside_numbers(ids: AnyArray, name: str) -> None:
    """Refuse True beside 1, and False beside 0, among Python objects: they are equal, and their texts are not."""
    kinds = set(map(type, ids.tolist()))
    if len(kinds) > 1 and kinds & {bool, np.bool_}:
        is_flag = np.fromiter((isinstance(one, (bool, np.bool_)) for one in ids), dtype=np.bool_, count=len(ids))
        flags, others = set(ids[is_flag].tolist()), [one for one in ids[~is_flag] if isinstance(one, Number)]
        if both := [one for one in others if one in flags]:
            raise LtrValueError(
                f"{name} has the ids {bool(both[0])} and {both[0]!r}, which are one for Python and two as text. Give "
                "all ids the same type."
            )


def codes_by_first_appearance(ids: AnyArray, name: str) -> tuple[AnyArray, IntArray]:
    """Return the distinct ids in order of first appearance, and the position of each entry's id."""
    if ids.dtype == object:  # of any hashable type: a dict keeps 1 and "1" apart and remembers the order
        refuse_flags_beside_numbers(ids, name)
        try:
            code = {value: at for at, value in enumerate(dict.fromkeys(ids.tolist()))}
        except TypeError as error:
            raise LtrTypeError(f"{name} must be hashable: {error}.") from None
        distinct = np.empty(len(code), dtype=object)
        distinct[:] = list(code)
        return distinct, np.fromiter(map(code.__getitem__, ids.tolist()), dtype=np.intp, count=len(ids))
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    position = np.empty(len(distinct), dtype=np.intp)
    position[by_appearance] = np.arange(len(distinct))
    return distinct[by_appearance], position[inverse]
