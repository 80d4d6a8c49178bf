"""The rule that decides whether two ids of different sources name the same thing.

An id names a query, a document, a segment or a cluster. Sources differ in their types. CSV and TREC
files contain text, LETOR and NumPy files contain whole numbers, and a column that once had a
missing value contains floats. So two ids are the same if they have the same text (`id_text`), and
ids are sorted by this text (`order_of_ids`). No id may be missing (`are_missing`).

The second half of this file applies the rule to whole columns of ids and of labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime
from numbers import Number
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, BoolArray, IntArray, as_ids
from ltr_metrics.errors import LtrTypeError, LtrValueError

_WHOLE = re.compile("0|-?[1-9][0-9]{0,599}")  # Python may refuse to read more than 640 digits as a number
_ZEROS = re.compile(r"^0+(?=\d)|(?<=\d)\.0+$")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d(?:\.\d*[1-9])?)?)\.?0*")
# What programs write for a missing value. They are text like any other: NA is a country.
WORDS_FOR_MISSING = frozenset(["NA", "N/A", "#N/A", "<NA>", "nan", "NaN", "NaT", "null", "NULL", "None"])

IdOrder = tuple[int, int, str]


def id_text(value: object) -> str:
    """Return the text by which an id is compared.

    Text stays as it is: ``"007"`` and ``"7.0"`` are not 7. A whole number of any type (7,
    ``np.int32(7)``, 7.0, ``Decimal(7)``) is written in digits. A date, or a time without a zone, is
    written as in ISO 8601 with its seconds, and midnight as its date, because pandas keeps dates as
    times. Bytes are read as UTF-8, and any other value is ``str(value)``.

    Examples
    --------
    >>> from ltr_metrics._rows.ids import id_text
    >>> [id_text(one) for one in (7, 7.0, "7", b"7", "007", 7.5, True)]
    ['7', '7', '7', '7', '007', '7.5', 'True']
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.to_datetime64() if hasattr(value, "to_datetime64") else np.datetime64(value)  # of pandas, in ns
    if isinstance(value, np.datetime64):
        return _with_seconds(str(np.datetime_as_string(value, unit="auto")))
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, Number):
        return str(value)
    whole = _as_whole(value)
    return str(value if whole is None else whole)


def _with_seconds(time: str) -> str:
    """Return a time with its seconds, which NumPy leaves out if they are 0."""
    return f"{time}:00" if time.count(":") == 1 else time


def _as_whole(number: Any) -> int | None:
    """Return a number as an integer, or None if it is not whole."""
    try:
        whole = int(number)
    except (TypeError, ValueError, OverflowError):  # of a complex number, NaN and infinity
        return None
    return whole if whole == number else None


def id_texts(ids: AnyArray | Iterable[object]) -> list[str]:
    """Return the text of each id."""
    if not isinstance(ids, np.ndarray):
        return list(map(id_text, ids))
    kind = ids.dtype.kind
    if kind == "M":
        return list(map(_with_seconds, np.datetime_as_string(ids, unit="auto").tolist()))
    if kind == "m":
        return list(map(str, ids.astype(str).tolist()))
    if kind in "iub":
        return list(map(str, ids.tolist()))
    return list(map(id_text, ids if kind == "f" else ids.tolist()))  # floats in their own precision


def are_missing(ids: AnyArray) -> BoolArray:
    """Return a mask of the ids that are None, NaN, NaT or pandas' NA, or text without a visible character."""
    kind = ids.dtype.kind
    if kind in "fmM":
        return np.asarray(ids != ids)
    if kind in "SU":
        return np.asarray(np.char.isspace(ids) | (ids == ids.dtype.type()))
    if kind == "O":
        return np.fromiter(map(is_missing, ids.tolist()), dtype=np.bool_, count=len(ids))
    return np.zeros(len(ids), dtype=np.bool_)


def is_missing(value: Any) -> bool:
    """Do the same for one id."""
    if isinstance(value, (str, bytes)):
        return not value.strip()
    if value is None or type(value).__name__ == "NAType":  # of pandas
        return True
    try:
        return bool(value != value)
    except ValueError:  # of an array, which is no id
        return False


def positions_by_text(ids: AnyArray | Sequence[object], owner: str) -> dict[str, int]:
    """Return the position of each id by its text; refuse two ids with one text (7, ``"7"``)."""
    position: dict[str, int] = {}
    for at, text in enumerate(id_texts(ids)):
        first = position.setdefault(text, at)
        if first != at:
            one, other = (ids[i : i + 1].tolist()[0] if isinstance(ids, np.ndarray) else ids[i] for i in (first, at))
            raise LtrValueError(
                f"{owner} has the ids {one!r} and {other!r}, which cannot be told apart once they are written as text, "
                "for example to a CSV file. Give all ids the same type, and if these two name different things, rename "
                "one of them."
            )
    return position


def positions_without_repetition(ids: AnyArray, rule: str) -> dict[str, int]:
    """Return the position of each id by its text; raise an error with the rule if an id is repeated."""
    position: dict[str, int] = {}
    for at, text in enumerate(id_texts(ids)):
        if position.setdefault(text, at) != at:
            raise LtrValueError(f"{rule}: got {text!r} at {position[text]} and at {at}.")
    return position


def refuse_ids_of_one_text(ids: AnyArray, owner: str) -> None:
    """Refuse different ids with one text; an array of integers or of text cannot hold such ids."""
    if ids.dtype.kind in "SV" or (ids.dtype == object and set(map(type, ids.tolist())) not in ({str}, {int})):
        positions_by_text(ids, owner)


def order_of_text(text: str) -> IdOrder:
    """Return a sort key: whole numbers of up to 600 digits by value, then all other ids by their text."""
    return (0, int(text), "") if _WHOLE.fullmatch(text) else (1, 0, text)


def order_of_ids(ids: AnyArray) -> IntArray:
    """Return the positions of the ids in ascending order, whatever their type."""
    if ids.dtype.kind in "iu":
        return np.argsort(ids, kind="stable")
    keys = list(map(order_of_text, id_texts(ids)))
    return np.array(sorted(range(len(ids)), key=keys.__getitem__), dtype=np.intp)


def spelling_hint(ids: Iterable[object], others: Iterable[object]) -> str:
    """Return a remedy if an id differs from another only in its `loose_spelling`.

    Otherwise return an empty string.
    """
    by_spelling = {loose_spelling(other): other for other in others}
    pair = next(((one, by_spelling[key]) for one in ids if (key := loose_spelling(one)) in by_spelling), None)
    if pair is None:
        return ""
    one, other = spell_apart(*pair)
    return f" Ids are compared as text, and {one} is not {other}: write them the same way in both."


def spell_apart(one: object, other: object) -> tuple[str, str]:
    """Return two ids as Python writes them, in ASCII if they would look the same."""
    look_the_same = _composed(one) == _composed(other)
    return (ascii(one), ascii(other)) if look_the_same else (repr(one), repr(other))


def loose_spelling(value: object) -> str:
    """Return the text of an id without leading zeros, ``.0``, spaces and case, and with composed accents.

    A time is as this module, pandas and SQL write it: with T or a space, and with zeros at the end.
    """
    text = _ZEROS.sub("", _composed(value).strip().lower())
    time = _TIME.fullmatch(text)
    return text if time is None else _with_seconds(f"{time[1]} {time[2]}").removesuffix(" 00:00:00")


def _composed(value: object) -> str:
    """Return the text of an id in which a letter with an accent is one character."""
    return unicodedata.normalize("NFC", id_text(value))


# -- columns of ids and of labels --------------------------------------------------------------------------------------


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
