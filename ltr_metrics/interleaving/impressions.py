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
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import is_count
from ltr_metrics._engine.words import InterleavingMethod
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.interleaving.method import Shown, as_teams, clicked_slots
from ltr_metrics.interleaving.methods import method_named
from ltr_metrics.interleaving.rankings import as_documents, is_sequence, short
from ltr_metrics.io.files import blocks_of_lines
from ltr_metrics.io.write import write_whole

KEYS = ("query", "method", "rankings", "shown", "teams", "clicks", "length", "user")
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),  # equal content gives equal bytes
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


@dataclass(frozen=True, eq=False)
class Impression:
    """A list that a user saw, the rankings that it was mixed from, and the clicks on it.

    Parameters
    ----------
    rankings : mapping of str to sequence, or None
        The document ids of each model, best first, by the model's name. None if only the teams are
        known, which is enough for Team Draft.
    shown : Shown or sequence
        The result of `Method.mix`, or the ids alone. Teams are numbers of the models from 0, in the
        order of ``rankings``.
    clicks : sequence of int
        The clicked slots, from 0. Repeated clicks on a slot count once.
    length : int, optional
        The ``length`` that was passed to the `Method`. Default: the number of documents shown.
    query : text or number, optional
        For readers of the log. It does not affect the credit.
    method : str, optional
        The method that mixed the list, such as ``"ppm"``. `score` raises an error for any other.
    user : text or number, optional
        Who saw the list, for ``score(..., cluster="user")``. It does not affect the credit.

    Raises
    ------
    LtrValueError, LtrTypeError
        If nothing was shown, if neither rankings nor teams are known, or if a click is not a slot
        of the list. Also if ``length`` is less than the number of documents shown.

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

    rankings: dict[str, list[Hashable]] | None
    shown: Shown
    clicks: list[int]
    length: int | None = None
    query: str | float | None = None
    method: InterleavingMethod | None = None
    user: str | float | None = None

    def __post_init__(self) -> None:
        if self.method is not None:
            method_named(self.method)
        rankings = None if self.rankings is None else _as_rankings(self.rankings)
        shown = self.shown if isinstance(self.shown, Shown) else Shown(self.shown)
        documents = _as_ids("shown", shown.documents)
        n_rankers = None if rankings is None else len(rankings)
        teams = None if shown.teams is None else as_teams(shown.teams, len(documents), n_rankers)
        if not documents:
            raise LtrValueError("shown must have at least one document. Leave out impressions of empty lists.")
        if rankings is None and teams is None:
            raise LtrValueError(
                "An impression must have rankings or teams: without both, clicks cannot be credited to a model."
            )
        if self.length is not None and not (is_count(self.length) and self.length >= len(documents)):
            raise LtrValueError(
                "length must be a whole number, the maximum number of documents, and at least the number shown, "
                f"{len(documents)}. Got {self.length!r}."
            )
        fields = {
            "rankings": rankings,
            "shown": Shown(documents, teams),
            "clicks": clicked_slots(self.clicks, len(documents)),
            "length": None if self.length is None else int(self.length),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal, including the order of the rankings, which numbers the teams."""
        if not isinstance(other, Impression):
            return NotImplemented
        ours, others = (
            (
                *(one.rankings and list(one.rankings.items()), one.shown, one.clicks),
                *(one.length, one.query, one.method, one.user),
            )
            for one in (self, other)
        )
        return ours == others

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_json(cls, line: str | bytes, *, models: Iterable[str] | None = None) -> Impression:
        """Return the impression on one line of a log.

        Parameters
        ----------
        line : str or bytes
            One JSON object, as for `ltr_metrics.interleaving.read_impressions`.
        models : iterable of str, optional
            Names of the models, for a line that has teams but no rankings.

        Returns
        -------
        Impression
            The impression.

        Raises
        ------
        LtrValueError, LtrTypeError
            If the line is not such an object.
        """
        if not isinstance(line, (str, bytes)):
            raise LtrTypeError(f"line must be text, one JSON object. Got {short(line)}.")
        return _parse(line, as_models(models))

    def to_json(self) -> str:
        """Return one line for a log, without the line break.

        With rankings, teams are written as names, so that the order of the models does not matter.
        Without rankings, they are written as numbers.

        Returns
        -------
        str
            One JSON object.

        Raises
        ------
        LtrTypeError
            If an id is neither text nor a finite number, and so would not be read back unchanged.
        """
        rankings = self.rankings
        teams: list[Any] | None = self.shown.teams
        if rankings is not None and teams is not None:
            names = list(rankings)
            teams = [names[team] for team in teams]
        fields = {
            "query": None if self.query is None else _as_json_id("query", self.query),
            "method": self.method,
            "rankings": rankings and {name: _as_json_ids(f"rankings[{name!r}]", ids) for name, ids in rankings.items()},
            "shown": _as_json_ids("shown", self.shown.documents),
            "teams": teams,
            "clicks": self.clicks,
            "length": self.length,
            "user": None if self.user is None else _as_json_id("user", self.user),
        }
        return json.dumps({key: value for key, value in fields.items() if value is not None})


def read_impressions(path: str | os.PathLike[str], *, models: Iterable[str] | None = None) -> Iterator[Impression]:
    r"""Return the impressions of a log one by one.

    The log has one JSON object per line and may be compressed (.gz, .xz, .bz2).

    Parameters
    ----------
    path : path
        Every line has the keys ``shown`` (ids from the top) and ``clicks`` (slots from 0), and
        ``rankings`` (ids by the name of the model), ``teams``, or both. ``teams`` has, for each
        slot, the name of a model or its number in the order of the line's rankings. A line may have
        ``length``, ``query``, ``method`` and ``user``. Ids are text or numbers. Other keys and
        blank lines are ignored.
    models : iterable of str, optional
        Names of the models, for lines that have teams but no rankings.

    Returns
    -------
    iterator of Impression
        One per line. A line is read when the iterator arrives there.

    Raises
    ------
    LtrValueError
        With file and line, if a line is not such an object, or if its models differ from those of
        the lines before.

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
    names = as_models(models)
    return (impression for _, impression, _ in with_models(read_located(Path(path), names), names))


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
    content = "".join(f"{impression.to_json()}\n" for _, impression in locate(impressions)).encode()
    write_whole(path, _COMPRESS.get(Path(path).suffix.lower(), bytes)(content))


# -- impressions with their location, for error messages --------------------------------------------------------------


def read_located(path: Path, models: list[str] | None) -> Iterator[tuple[str, Impression]]:
    """Yield the file and line of each impression of a log, and the impression."""
    for lines, n_before in blocks_of_lines(path):
        for number, line in enumerate(lines, start=n_before + 1):
            if not line.strip():
                continue
            location = f"{path}:{number}"
            try:
                impression = _parse(line, models)
            except (LtrValueError, LtrTypeError) as error:
                raise LtrValueError(f"{location}: {error}") from error
            yield location, impression


def locate(impressions: Any) -> Iterator[tuple[str, Impression]]:
    """Yield the number of each impression, and the impression."""
    if isinstance(impressions, Impression) or not hasattr(impressions, "__iter__"):
        raise LtrTypeError(
            f"impressions must be an iterable of Impression, or the path of a log. Got {short(impressions)}."
        )
    for i, impression in enumerate(impressions):
        if not isinstance(impression, Impression):
            raise LtrTypeError(
                f"impressions must be of the class Impression. Got {short(impression)} as number {i} (from 0)."
            )
        yield f"impression {i} (from 0)", impression


def with_models(
    located: Iterable[tuple[str, Impression]], models: list[str] | None
) -> Iterator[tuple[str, Impression, list[str] | None]]:
    """Yield the impressions with the names of the models, which must be the same for all."""
    for location, impression in located:
        if impression.rankings is not None:
            models = list(impression.rankings) if models is None else models
            if set(impression.rankings) != set(models):
                raise LtrValueError(
                    f"{location}: all impressions must have the same models. Here they are "
                    f"{', '.join(impression.rankings)}, and not {', '.join(models)}. Score the parts of the log "
                    "separately."
                )
        elif models is not None and impression.shown.teams is not None and max(impression.shown.teams) >= len(models):
            raise LtrValueError(
                f"{location}: teams must be numbers of the models, 0 to {len(models) - 1}. "
                f"Got {max(impression.shown.teams)}."
            )
        yield location, impression, models


def as_models(models: Any) -> list[str] | None:
    """Return the validated names of models, or None."""
    if models is None:
        return None
    names = list(models) if hasattr(models, "__iter__") and not isinstance(models, str) else []
    if len(names) < 2 or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise LtrValueError(f"models must be two or more names, all different. Got {short(models)}.")
    return names


# -- fields -----------------------------------------------------------------------------------------------------------


def _as_ids(name: str, values: Any) -> list[Hashable]:
    if not is_sequence(values):
        raise LtrTypeError(f"{name} must be a sequence of document ids. Got {short(values)}.")
    return as_documents(name, values)


def _as_rankings(rankings: Any) -> dict[str, list[Hashable]]:
    if not isinstance(rankings, Mapping) or not all(isinstance(name, str) for name in rankings):
        raise LtrTypeError(f"rankings must map names of models (text) to lists of document ids. Got {short(rankings)}.")
    if len(rankings) < 2:
        raise LtrValueError(
            f"rankings must have two or more models, to be compared. Got {', '.join(rankings) or 'none'}."
        )
    return {model: _as_ids(f"rankings[{model!r}]", ids) for model, ids in rankings.items()}


def _as_json_id(name: str, value: object) -> str | float:
    """Return text or a number that JSON reads back unchanged."""
    value = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_finite = is_number and (isinstance(value, int) or math.isfinite(value))  # type: ignore[arg-type]
    if isinstance(value, str) or is_finite:
        return value  # type: ignore[return-value]
    raise LtrTypeError(f"{name} must be text or a number in a log. Got {short(value)}.")


def _as_json_ids(name: str, ids: Iterable[Hashable]) -> list[Hashable]:
    return [_as_json_id(f"{name}[{index}]", document) for index, document in enumerate(ids)]


# -- lines ------------------------------------------------------------------------------------------------------------


def _parse(line: str | bytes, models: list[str] | None) -> Impression:
    fields = _load_object(line)
    for key in ("shown", "clicks"):
        if fields.get(key) is None:
            unknown = [name for name in fields if name not in KEYS]
            hint = did_you_mean(key, unknown).replace("Did you mean", "Is it")
            raise LtrValueError(f"the key {key!r} is missing.{' Without clicks it is [].' * (key == 'clicks')}{hint}")
    rankings, teams, query = fields.get("rankings"), fields.get("teams"), fields.get("query")
    user = fields.get("user")
    if rankings is not None:
        if not isinstance(rankings, dict):
            raise LtrValueError(f"rankings must be an object with a list of ids for each model. Got {short(rankings)}.")
        rankings = {model: _parse_ids(f"rankings[{model!r}]", ids) for model, ids in rankings.items()}
    if teams is not None:
        teams = _team_numbers(_require_list("teams", teams), models if rankings is None else list(rankings))
    return Impression(
        rankings,
        Shown(_parse_ids("shown", fields["shown"]), teams),
        _require_list("clicks", fields["clicks"]),
        fields.get("length"),
        None if query is None else _as_json_id("query", query),
        fields.get("method"),
        None if user is None else _as_json_id("user", user),
    )


def _load_object(line: str | bytes) -> dict[str, Any]:
    try:
        text = line.decode("utf-8-sig") if isinstance(line, bytes) else line
        fields = json.loads(text, object_pairs_hook=_refuse_duplicates)
    except LtrValueError:
        raise
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise LtrValueError(f"a line must be a complete JSON object in UTF-8. {reason}.") from None
    if not isinstance(fields, dict):
        raise LtrValueError(f"a line must be a JSON object with the keys {', '.join(KEYS)}. Got {short(fields)}.")
    return fields


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise LtrValueError(f"the key {key!r} occurs twice. Give it once.")
        fields[key] = value
    return fields


def _require_list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise LtrValueError(f"{name} must be a list. Got {short(values)}.")
    return values


def _parse_ids(name: str, values: Any) -> list[Hashable]:
    return _as_json_ids(name, _require_list(name, values))


def _team_numbers(teams: list[Any], models: list[str] | None) -> list[Any]:
    """Replace the names of models by their numbers."""
    numbers = []
    for slot, team in enumerate(teams):
        if isinstance(team, str):
            if models is None:
                raise LtrValueError(
                    f"teams[{slot}] is the name {team!r}, but without rankings the order of the models is unknown. "
                    "Pass models=."
                )
            if team not in models:
                raise LtrValueError(
                    f"teams[{slot}] is {team!r}, which is not one of the models.{did_you_mean(team, models)} "
                    f"Models: {', '.join(models)}."
                )
            team = models.index(team)
        numbers.append(team)
    return numbers
