"""Impressions of live use: what was shown and clicked, one JSON object a line."""

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
from ltr_metrics.interleaving.method import Shown, clicked_places
from ltr_metrics.interleaving.methods import method_named
from ltr_metrics.interleaving.rankings import as_documents, is_sequence, short
from ltr_metrics.io.compressed import blocks_of_lines
from ltr_metrics.io.write import write_whole

KEYS = ("query", "method", "rankings", "shown", "teams", "clicks", "length")
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),  # the same bytes at any time
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}


@dataclass(frozen=True, eq=False)
class Impression:
    """A list that somebody saw, what it was mixed from, and the clicks on it.

    Parameters
    ----------
    rankings : mapping of str to sequence, or None
        Ids, best first, by name of the model. None where teams alone are known, which is enough for Team Draft.
    shown : Shown or sequence
        What `Method.mix` returned, or the ids alone. Teams are numbers of the models from 0, in the order of ``rankings``.
    clicks : sequence of int
        Places that were clicked, from 0; a place clicked again counts once.
    length : int, optional
        What `Method` was given as ``length``. Default: as many as are shown.
    query : text or number, optional
        For the log's reader; no credit depends on it.
    method : str, optional
        With which the list was mixed, such as ``"ppm"``. `score` refuses to score it by another.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Impression, Shown
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}
    >>> impression = Impression(rankings, Shown(["a", "b", "d"], teams=[0, 1, 1]), clicks=[1], query="shoes", method="team_draft")
    >>> print(impression.to_json())  # doctest: +NORMALIZE_WHITESPACE
    {"query": "shoes", "method": "team_draft", "rankings": {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}, "shown": ["a", "b", "d"],
     "teams": ["old", "new", "new"], "clicks": [1]}
    """

    rankings: dict[str, list[Hashable]] | None
    shown: Shown
    clicks: list[int]
    length: int | None = None
    query: str | float | None = None
    method: InterleavingMethod | None = None

    def __post_init__(self) -> None:
        if self.method is not None:
            method_named(self.method)
        rankings, given = self.rankings, self.shown
        if rankings is not None:
            rankings = _as_rankings(rankings)
        shown = given if isinstance(given, Shown) else Shown(given)
        documents = as_documents("shown", _as_sequence("shown", shown.documents))
        teams = None if shown.teams is None else _as_teams(shown.teams, len(documents), rankings)
        if not documents:
            raise LtrValueError(
                "shown must have a document or more: nobody can click on an empty list. Leave the impression out."
            )
        if rankings is None and teams is None:
            raise LtrValueError(
                "An impression must have rankings or teams: nothing else says to whom the clicks belong."
            )
        if self.length is not None and not (is_count(self.length) and self.length >= len(documents)):
            raise LtrValueError(
                f"length must be a whole number of documents to show at most, not less than the {len(documents)} shown. Got {self.length!r}."
            )
        fields = {
            "rankings": rankings,
            "shown": Shown(documents, teams),
            "clicks": clicked_places(self.clicks, len(documents)),
            "length": None if self.length is None else int(self.length),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        """Whether everything is the same, the order of the rankings, which gives teams their numbers, among it."""
        if not isinstance(other, Impression):
            return NotImplemented
        mine, theirs = (
            (one.rankings and list(one.rankings.items()), one.shown, one.clicks, one.length, one.query, one.method)
            for one in (self, other)
        )
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_json(cls, line: str | bytes, *, models: Iterable[str] | None = None) -> Impression:
        """Return the impression of one line of a log; see `read_impressions`."""
        if not isinstance(line, (str, bytes)):
            raise LtrTypeError(f"line must be text, one JSON object. Got {short(line)}.")
        return _parsed(line, as_models(models))

    def to_json(self) -> str:
        """Return one line, without the line break, to append to a log.

        Teams are names where there are rankings, so that the order of the models does not matter, and else numbers.

        Raises
        ------
        LtrTypeError
            If an id is neither text nor a finite number: it would not come back the same.
        """
        rankings, teams = self.rankings, self.shown.teams
        names = None if rankings is None else list(rankings)
        found = {
            "query": None if self.query is None else _plain("query", self.query),
            "method": self.method,
            "rankings": rankings and {name: _plains(f"rankings[{name!r}]", ids) for name, ids in rankings.items()},
            "shown": _plains("shown", self.shown.documents),
            "teams": teams if teams is None or names is None else [names[team] for team in teams],
            "clicks": self.clicks,
            "length": self.length,
        }
        return json.dumps({key: value for key, value in found.items() if value is not None})


def read_impressions(path: str | os.PathLike[str], *, models: Iterable[str] | None = None) -> Iterator[Impression]:
    """Yield the impressions of a log one by one: a JSON object a line, which may be compressed (.gz, .xz, .bz2).

    Parameters
    ----------
    path : path
        Its lines have the keys ``shown`` (ids from the top) and ``clicks`` (places from 0); ``rankings`` (ids by name of the model),
        ``teams`` (for each place the name of a model, or its number in the order of the line's rankings), or both; and may have
        ``length``, ``query`` and ``method``. Ids are text or numbers. Other keys are left alone. Blank lines are skipped.
    models : iterable of str, optional
        Names of the models, for lines that have teams and no rankings.

    Raises
    ------
    LtrValueError
        With file and line: what is no such object, and models that are not those of the lines before.
    """
    listed = as_models(models)
    return (impression for _, impression, _ in of_one_log(lines_of(Path(path), listed), listed))


def write_impressions(path: str | os.PathLike[str], impressions: Iterable[Impression]) -> None:
    """Write a log that `read_impressions` reads, whole or not at all; a live system appends `Impression.to_json` line by line instead.

    It is put together in memory, and compressed where its name ends with .gz, .xz or .bz2.
    """
    content = "".join(f"{one.to_json()}\n" for _, one in numbered(impressions)).encode()
    write_whole(path, _COMPRESS.get(Path(path).suffix.lower(), bytes)(content))


# -- impressions of one log -------------------------------------------------------------------------------------------


def of_one_log(
    located: Iterable[tuple[str, Impression]], models: list[str] | None
) -> Iterator[tuple[str, Impression, list[str] | None]]:
    """Yield the impressions with the names of the models, which have to be the same for all."""
    for where, impression in located:
        if impression.rankings is not None:
            models = list(impression.rankings) if models is None else models
            if set(impression.rankings) != set(models):
                raise LtrValueError(
                    f"{where}: all impressions must be of the same models. Here they are {', '.join(impression.rankings)}, and not "
                    f"{', '.join(models)}. Score the parts of the log apart."
                )
        elif models is not None and impression.shown.teams is not None and max(impression.shown.teams) >= len(models):
            raise LtrValueError(
                f"{where}: teams must be numbers of the models, 0 to {len(models) - 1}. Got {max(impression.shown.teams)}."
            )
        yield where, impression, models


def as_models(models: Any) -> list[str] | None:
    """Return names of models, or None."""
    if models is None:
        return None
    listed = list(models) if hasattr(models, "__iter__") and not isinstance(models, str) else []
    if len(listed) < 2 or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise LtrValueError(f"models must be two names or more, all different. Got {short(models)}.")
    return listed


def numbered(impressions: Any) -> Iterator[tuple[str, Impression]]:
    """Yield impressions, and for messages which they are."""
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


# -- fields -----------------------------------------------------------------------------------------------------------


def _as_sequence(name: str, values: Any) -> Any:
    if not is_sequence(values):
        raise LtrTypeError(f"{name} must be a sequence of document ids. Got {short(values)}.")
    return values


def _as_rankings(rankings: Any) -> dict[str, list[Hashable]]:
    if not isinstance(rankings, Mapping) or not all(isinstance(name, str) for name in rankings):
        raise LtrTypeError(f"rankings must map names of models, text, to lists of document ids. Got {short(rankings)}.")
    if len(rankings) < 2:
        raise LtrValueError(
            f"rankings must be of two models or more, to be compared. Got {', '.join(rankings) or 'none'}."
        )
    return {
        model: as_documents(f"rankings[{model!r}]", _as_sequence(f"rankings[{model!r}]", ids))
        for model, ids in rankings.items()
    }


def _as_teams(teams: Any, n_shown: int, rankings: Mapping[str, Any] | None) -> list[int]:
    listed = list(_as_sequence("teams", teams))
    if len(listed) != n_shown:
        raise LtrValueError(f"teams must have one entry for each of the {n_shown} documents shown. Got {len(listed)}.")
    for place, team in enumerate(listed):
        is_number = isinstance(team, (int, np.integer)) and not isinstance(team, bool)
        if not is_number or team < 0 or (rankings is not None and team >= len(rankings)):
            most = "" if rankings is None else f" to {len(rankings) - 1}"
            raise LtrValueError(f"teams must be whole numbers from 0{most}. Got {team!r} at place {place} (from 0).")
    return list(map(int, listed))


def _plain(name: str, value: object) -> str | float:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str) or (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and (isinstance(value, int) or math.isfinite(value))
    ):
        return value
    raise LtrTypeError(f"{name} must be text or a number in a log. Got {short(value)}.")


def _plains(name: str, ids: Iterable[Hashable]) -> list[Hashable]:
    return [_plain(f"{name}[{place}]", one) for place, one in enumerate(ids)]


# -- lines ------------------------------------------------------------------------------------------------------------


def lines_of(path: Path, models: list[str] | None) -> Iterator[tuple[str, Impression]]:
    """Yield the impressions of a log, and file and line of each."""
    for lines, n_before in blocks_of_lines(path):
        for number, line in enumerate(lines, start=n_before + 1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                impression = _parsed(line, models)
            except (LtrValueError, LtrTypeError) as error:
                raise LtrValueError(f"{where}: {error}") from error
            yield where, impression


def _parsed(line: str | bytes, models: list[str] | None) -> Impression:
    try:
        found = json.loads(line.decode("utf-8-sig") if isinstance(line, bytes) else line, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        if isinstance(error, LtrValueError):
            raise
        told = f"{error.msg}, column {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise LtrValueError(f"a line must be a JSON object in UTF-8, and be whole. {told}.") from None
    if not isinstance(found, dict):
        raise LtrValueError(f"a line must be a JSON object with the keys {', '.join(KEYS)}. Got {short(found)}.")
    for key in ("shown", "clicks"):
        if found.get(key) is None:
            other = [name for name in found if name not in KEYS]
            near = did_you_mean(key, other).replace("Did you mean", "Is that")
            raise LtrValueError(f"the key {key!r} is missing.{' Without a click it is [].' * (key == 'clicks')}{near}")
    rankings = found.get("rankings")
    if rankings is not None:
        rankings = {
            model: _plains(f"rankings[{model!r}]", _as_list(f"rankings[{model!r}]", ids))
            for model, ids in _as_object(rankings).items()
        }
    teams = found.get("teams")
    if teams is not None:
        teams = _numbers_of(_as_list("teams", teams), models if rankings is None else list(rankings))
    return Impression(
        rankings,
        Shown(_plains("shown", _as_list("shown", found["shown"])), teams),
        _as_list("clicks", found["clicks"]),
        found.get("length"),
        None if found.get("query") is None else _plain("query", found["query"]),
        found.get("method"),
    )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise LtrValueError(f"the key {twice!r} stands there twice. Give it once.")
    return found


def _as_list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise LtrValueError(f"{name} must be a list. Got {short(values)}.")
    return values


def _as_object(rankings: Any) -> dict[str, Any]:
    if not isinstance(rankings, dict):
        raise LtrValueError(f"rankings must be an object with a list of ids for each model. Got {short(rankings)}.")
    return rankings


def _numbers_of(teams: list[Any], models: list[str] | None) -> list[Any]:
    """Return the numbers of the models that are named."""
    numbers = []
    for place, team in enumerate(teams):
        if isinstance(team, str):
            if models is None:
                raise LtrValueError(
                    f"teams[{place}] is the name {team!r}, and without rankings there is no order of names: pass models=."
                )
            if team not in models:
                raise LtrValueError(
                    f"teams[{place}] is {team!r}, which is none of the models.{did_you_mean(team, models)} Models: {', '.join(models)}."
                )
            team = models.index(team)
        numbers.append(team)
    return numbers
