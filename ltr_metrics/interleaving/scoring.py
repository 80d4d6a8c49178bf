"""What the clicks on many logged lists add up to."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import InterleavingMethod, RuleOfCredit
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean, naming
from ltr_metrics.interleaving.impressions import Impression, as_models, lines_of, numbered, of_one_log
from ltr_metrics.interleaving.method import RULES, Method, Shown
from ltr_metrics.interleaving.methods import method_named
from ltr_metrics.interleaving.outcome import Outcome, Tally, checkpoints, ends_of_block
from ltr_metrics.interleaving.team_draft import TeamDraft

BLOCK = 4096  # impressions whose credit is held
KEPT = 256  # rankings whose method is kept: queries come again, and some methods take long to prepare


def score(
    impressions: Iterable[Impression] | str | os.PathLike[str],
    method: InterleavingMethod,
    *,
    models: Iterable[str] | None = None,
    rule: RuleOfCredit = "own",
    **options: Any,
) -> Outcome:
    """Give credit for the clicks of every impression, and return what it adds up to.

    Impressions are taken one by one, so that a log may be larger than memory.

    Parameters
    ----------
    impressions : iterable of Impression, or path
        The path of a log is read as `read_impressions` reads it.
    method : {"ppm", "team_draft", "balanced", "probabilistic", "optimized"}
        With which the lists were mixed. Most lists of one method could be of another, and then get wrong credit: what an impression says
        of its method, or teams where the method has none, is held against it.
    models : iterable of str, optional
        Names in the order of the outcome. Default: those of the first impression's rankings. Needed where it has none.
    rule : {"own", "clicks"}
        See `Method.credit`.
    **options
        Of the method, such as ``pairs`` of `PairwisePreference`.

    Returns
    -------
    Outcome

    Raises
    ------
    LtrValueError, LtrTypeError
        With file and line, or the number of the impression from 0: a list that the method could not have shown, other models than in the
        impression before, no teams where the method needs them. Without: no impression, a method or an option that there is not.

    Notes
    -----
    Team Draft without rankings counts clicks by team, and cannot tell whether a list could have been shown.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Impression, Shown, score
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}
    >>> log = [Impression(rankings, Shown(["a", "b", "d"]), [1]), Impression(rankings, Shown(["b", "a", "d"]), [0])]
    >>> outcome = score(log, "ppm")
    >>> outcome.wins.tolist(), outcome.credit.tolist()
    ([[0, 0], [2, 0]], [0.0, 2.0])
    """
    of_method = method_named(method)
    _refuse_unknown(options, of_method)
    require_option("rule", rule, RULES)
    listed = as_models(models)
    located = (
        lines_of(Path(impressions), listed) if isinstance(impressions, (str, os.PathLike)) else numbered(impressions)
    )
    methods = lru_cache(KEPT)(partial(_of_rankings, of_method, options))
    scored = (
        (names, _credit(where, impression, names, of_method, methods, rule))
        for where, impression, names in of_one_log(located, listed)
    )
    tally, n = None, 0
    while block := list(islice(scored, BLOCK)):
        found = Tally.of(np.column_stack([credit for _, credit in block]), ends_of_block(n, n + len(block)))
        n += len(block)
        tally = found if tally is None else Tally.together([tally, found]).merged(checkpoints(n))
        listed = block[0][0]
    if tally is None or listed is None:
        raise LtrValueError("There is no impression to score: the log is empty.")
    return Outcome(models=listed, method=method, tally=tally)


def _of_rankings(
    of_method: type[Method], options: dict[str, Any], rankings: tuple[tuple[Hashable, ...], ...], length: int
) -> Method:
    return of_method(rankings, length, **options)


def _credit(
    where: str,
    impression: Impression,
    models: list[str] | None,
    of_method: type[Method],
    methods: Callable[[tuple[tuple[Hashable, ...], ...], int], Method],
    rule: RuleOfCredit,
) -> FloatArray:
    """Return the credit of each model, in the order of ``models``."""
    with naming(where):
        rankings, shown = impression.rankings, impression.shown
        _refuse_another(impression, of_method)
        if models is None:
            raise LtrValueError(
                "There are teams and no rankings, and so no names of the models: pass models=, in the order of the teams."
            )
        if rankings is None:
            if shown.teams is None or not (of_method is TeamDraft or (of_method.has_teams and rule == "clicks")):
                raise LtrValueError(f"{of_method.__name__} gives credit by rankings, and there are none.")
            clicked = [shown.teams[place] for place in impression.clicks]
            return np.array([clicked.count(team) for team in range(len(models))], dtype=np.float64)
        if shown.teams is not None:
            number = [models.index(name) for name in rankings]
            shown = Shown(shown.documents, [number[team] for team in shown.teams])
        length = len(shown.documents) if impression.length is None else impression.length
        method = methods(tuple(tuple(rankings[name]) for name in models), length)
        return method.credit(shown, impression.clicks, rule)


def _refuse_another(impression: Impression, of_method: type[Method]) -> None:
    """Refuse an impression that says of itself that it is of another method."""
    if impression.method is not None and method_named(impression.method) is not of_method:
        raise LtrValueError(
            f"the list was mixed by {impression.method!r}. Score it by that: {of_method.__name__} would give wrong credit."
        )
    if impression.shown.teams is not None and not of_method.has_teams:
        raise LtrValueError(
            f"there are teams, and {of_method.__name__} has none: the list was mixed by another method. Score it by that."
        )
    if impression.shown.teams is None and of_method is TeamDraft:
        raise LtrValueError(
            "there are no teams, and TeamDraft gives credit to teams: was the list mixed by another method?"
        )


def _refuse_unknown(options: dict[str, Any], of_method: type[Method]) -> None:
    known = [name for name in inspect.signature(of_method).parameters if name not in ("rankings", "length")]
    for name in options:
        if name not in known:
            raise LtrTypeError(
                f"{of_method.__name__} has no option {name!r}.{did_you_mean(name, known)} Options: {', '.join(known) or 'none'}."
            )
