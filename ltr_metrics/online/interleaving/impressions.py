"""Logged impressions: the lists that were shown and the clicks on them, one JSON object per line."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ltr_metrics._rows.checks import require_count, require_option
from ltr_metrics._rows.ids import id_texts
from ltr_metrics._rows.words import InterleavingMethod
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean, naming
from ltr_metrics.io.files import blocks_of_lines
from ltr_metrics.io.write import write_whole
from ltr_metrics.online.interleaving.method import Shown, as_documents, as_teams, clicked_slots, short

Texts = tuple[tuple[str, ...], ...]  # the ids of rankings
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),  # equal content gives equal bytes
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


@dataclass(frozen=True)
class Impression:
    """A list that a user saw, the rankings that it was mixed from, and the clicks on it.

    Parameters
    ----------
    rankings : mapping of str to sequence
        The document ids of each model, best first, by the model's name.
    shown : Shown or sequence
        The result of `Method.mix`, or only the ids. Teams are numbers of the models from 0, in the
        order of ``rankings``.
    clicks : sequence of int
        The clicked slots, from 0. Repeated clicks on a slot count once.
    length : int, optional
        The ``length`` that was passed to the `Method`. Default: the number of documents shown.
    query : text or number, optional
        The query, for ``score(..., cluster="query")``. It does not affect the credit.
    method : str, optional
        The method that mixed the list, such as ``"ppm"``. `score` raises an error for any other.
    user : text or number, optional
        Who saw the list, for ``score(..., cluster="user")``. It does not affect the credit.

    Raises
    ------
    LtrValueError, LtrTypeError
        If there are fewer than two rankings, if nothing was shown, if an id is repeated, or if a
        click is not a slot of the list. Also if ``length`` is less than the number of documents
        shown.

    See Also
    --------
    score : Credit many impressions.
    read_impressions : Read a log of them.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Impression, Shown
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}
    >>> shown = Shown(["a", "b", "d"], teams=[0, 1, 1])
    >>> impression = Impression(rankings, shown, clicks=[1], query="shoes", method="team_draft")
    >>> print(impression.to_json())  # doctest: +NORMALIZE_WHITESPACE
    {"query": "shoes", "method": "team_draft", "rankings": {"old": ["a", "b", "c"], "new": ["b", "d", "a"]},
     "shown": ["a", "b", "d"], "teams": ["old", "new", "new"], "clicks": [1]}
    >>> Impression.from_json(impression.to_json()) == impression
    True
    """

    rankings: dict[str, list[Hashable]]
    shown: Shown
    clicks: list[int]
    length: int | None = None
    query: str | float | None = None
    method: InterleavingMethod | None = None
    user: str | float | None = None

    def __post_init__(self) -> None:
        if self.method is not None:
            require_option("method", self.method, get_args(InterleavingMethod))
        if not isinstance(self.rankings, Mapping) or len(self.rankings) < 2:
            raise LtrTypeError(
                f"rankings must map two or more names of models to lists of document ids. Got {short(self.rankings)}."
            )
        rankings = {model: as_documents(f"rankings[{model!r}]", ids) for model, ids in self.rankings.items()}
        shown = self.shown if isinstance(self.shown, Shown) else Shown(self.shown)
        documents = as_documents("shown", shown.documents)
        if not documents:
            raise LtrValueError("shown must have at least one document. Leave out impressions of empty lists.")
        teams = None if shown.teams is None else as_teams(shown.teams, len(documents), len(rankings))
        length = self.length
        if length is not None:
            length = require_count("length", length, len(documents), ", the number of documents shown")
        fields = {"rankings": rankings, "shown": Shown(documents, teams), "length": length}
        for name, value in (fields | {"clicks": clicked_slots(self.clicks, len(documents))}).items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_json(cls, line: str | bytes) -> Impression:
        """Return the impression on one line of a log.

        Parameters
        ----------
        line : str or bytes
            One JSON object, as for `ltr_metrics.interleaving.read_impressions`.

        Returns
        -------
        Impression
            The impression.

        Raises
        ------
        LtrValueError, LtrTypeError
            If the line is not such an object.
        """
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LtrValueError(f"A line must be a complete JSON object in UTF-8: {error}.") from None
        if not isinstance(fields, dict):
            raise LtrValueError(f"A line must be a JSON object. Got {short(fields)}.")
        known: dict[str, Any] = {name: fields.get(name) for name in cls.__dataclass_fields__}
        for name in ("rankings", "shown", "clicks"):
            if known[name] is None:
                hint = did_you_mean(name, fields.keys() - known.keys())
                raise LtrValueError(f"The key {name!r} is missing. Without clicks, clicks is [].{hint}")
        teams, models = fields.get("teams"), list(known["rankings"])
        if teams is not None:
            if not isinstance(teams, list) or not set(teams) <= set(models):
                raise LtrValueError(f"teams must be names of the rankings, {', '.join(models)}. Got {short(teams)}.")
            teams = [models.index(team) for team in teams]
        return cls(**known | {"shown": Shown(known["shown"], teams)})

    def to_json(self) -> str:
        """Return one line for a log, without the line break.

        Teams are written as names, so that the order of the models does not matter.

        Returns
        -------
        str
            One JSON object.

        Raises
        ------
        LtrTypeError
            If an id is neither text nor a finite number, and so would not be read back unchanged.
        """
        models, teams = list(self.rankings), self.shown.teams
        fields = {
            "query": self.query if self.query is None else _as_json_id("query", self.query),
            "method": self.method,
            "rankings": {model: [_as_json_id(model, one) for one in ids] for model, ids in self.rankings.items()},
            "shown": [_as_json_id("shown", one) for one in self.shown.documents],
            "teams": None if teams is None else [models[team] for team in teams],
            "clicks": self.clicks,
            "length": self.length,
            "user": self.user if self.user is None else _as_json_id("user", self.user),
        }
        return json.dumps({key: value for key, value in fields.items() if value is not None})


def read_impressions(path: str | os.PathLike[str]) -> Iterator[Impression]:
    r"""Return the impressions of a log one by one.

    The log has one JSON object per line and may be compressed (.gz, .xz, .bz2).

    Parameters
    ----------
    path : path
        Every line has the keys ``rankings`` (ids by the name of the model), ``shown`` (ids from the
        top) and ``clicks`` (slots from 0). It may have ``teams`` (the name of a model for each
        slot), ``length``, ``query``, ``method`` and ``user``. Ids are text or numbers. Other keys
        and blank lines are ignored.

    Returns
    -------
    iterator of Impression
        One per line. A line is read when the iterator arrives there.

    Raises
    ------
    LtrValueError, LtrTypeError
        With file and line, if a line is not such an object.

    See Also
    --------
    write_impressions : Write a log.
    score : Credit the impressions of a log.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ltr_metrics.interleaving import read_impressions
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"rankings": {"old": ["a"], "new": ["b"]}, "shown": ["a", "b"], "clicks": [1]}\n')
    >>> [impression.clicks for impression in read_impressions(path)]
    [[1]]
    """
    return (impression for _, impression in located(path))


def write_impressions(path: str | os.PathLike[str], impressions: Iterable[Impression]) -> None:
    """Write a log of impressions to a file, completely or not at all.

    The log is built in memory, and compressed if its name ends with .gz, .xz or .bz2. A live system
    can append the lines of `Impression.to_json` instead.

    Parameters
    ----------
    path : path
        The file to write. An existing file is replaced.
    impressions : iterable of Impression
        The impressions, in the order of the lines.

    Raises
    ------
    LtrTypeError
        If an id is neither text nor a finite number.
    OSError
        If the file cannot be written. An existing file is then left as it was.

    See Also
    --------
    read_impressions : Read the log.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ltr_metrics.interleaving import Impression, Shown, read_impressions, write_impressions
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl.gz"
    >>> log = [Impression({"old": ["a"], "new": ["b"]}, Shown(["a", "b"]), clicks=[1])]
    >>> write_impressions(path, log)
    >>> list(read_impressions(path)) == log
    True
    """
    content = "".join(f"{impression.to_json()}\n" for impression in impressions).encode()
    write_whole(path, _COMPRESS.get(Path(path).suffix.lower(), bytes)(content))


def located(log: Iterable[Impression] | str | os.PathLike[str]) -> Iterator[tuple[str, Impression]]:
    """Yield the location of each impression, for error messages, and the impression."""
    if isinstance(log, (str, os.PathLike)):
        for lines, n_before in blocks_of_lines(Path(log)):
            for number, line in enumerate(lines, start=n_before + 1):
                if line.strip():
                    with naming(f"{log}:{number}"):
                        impression = Impression.from_json(line)
                    yield f"{log}:{number}", impression
        return
    for i, impression in enumerate(log):
        yield f"impression {i} (from 0)", impression


def in_text(impression: Impression) -> tuple[Texts, Shown]:
    """Return the rankings and the list with texts for ids, because a log may have both 7 and "7"."""
    rankings = tuple(tuple(id_texts(ids)) for ids in impression.rankings.values())
    return rankings, Shown(list(id_texts(impression.shown.documents)), impression.shown.teams)


def _as_json_id(name: str, value: Any) -> str | float:
    """Return text or a number that JSON reads back unchanged."""
    value = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf
    if not is_number and not isinstance(value, str):
        raise LtrTypeError(f"Ids must be text or finite numbers in a log. Got {short(value)} in {name}.")
    return value  # type: ignore[no-any-return]
