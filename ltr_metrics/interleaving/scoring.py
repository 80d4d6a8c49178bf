"""Scoring of logged impressions."""

from __future__ import annotations

import inspect
import os
from array import array
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_option
from ltr_metrics._engine.words import ClusterOfImpressions, InterleavingMethod, RuleOfCredit
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean, naming
from ltr_metrics.interleaving.impressions import Impression, as_models, locate, read_located, with_models
from ltr_metrics.interleaving.method import RULES, Method, Shown
from ltr_metrics.interleaving.methods import method_named
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.interleaving.team_draft import TeamDraft

CLUSTERS: tuple[ClusterOfImpressions, ...] = get_args(ClusterOfImpressions)
CACHE_SIZE = 256  # methods kept by rankings: queries recur, and some methods take long to prepare

Rankings = tuple[tuple[Hashable, ...], ...]


def score(
    impressions: Iterable[Impression] | str | os.PathLike[str],
    method: InterleavingMethod,
    *,
    models: Iterable[str] | None = None,
    rule: RuleOfCredit = "own",
    cluster: ClusterOfImpressions | None = None,
    **options: Any,
) -> Outcome:
    """Return the outcome of logged impressions.

    Impressions are read one by one, so a log may be larger than memory.

    Parameters
    ----------
    impressions : iterable of Impression, or path
        The impressions, or the path of a log, as for `read_impressions`.
    method : {"ppm", "team_draft", "balanced", "probabilistic", "optimized"}
        The method that mixed the lists. Most lists of one method could also come from another,
        whose credit would be wrong. So an error is raised if an impression names another method, or
        if it has teams and the method has none.
    models : iterable of str, optional
        Names of the models, in the order of the outcome. Default: the order of the first
        impression's rankings. Required if it has none.
    rule : {"own", "clicks"}
        The rule of credit, as for `Method.credit`.
    cluster : {"user", "query"}, optional
        What the impressions of a cluster have in common. They are not independent, so intervals and
        p-values are then over clusters. By default all impressions are independent.
    **options
        Options of the method, such as ``pairs`` of `PairwisePreference`.

    Returns
    -------
    Outcome
        Wins, credit and preference of each pair of models.

    Raises
    ------
    LtrValueError, LtrTypeError
        If the method could not have shown a list, if the models differ from those of the impression
        before, or if the method needs teams and there are none. With ``cluster``, if an impression
        lacks the user or query. These errors name the file and
        line, or the number of the impression from 0. Also if there are no impressions, and for an
        unknown method or option.

    See Also
    --------
    simulate : The outcome of simulated users.
    read_impressions : Read a log.

    Notes
    -----
    Without rankings, Team Draft counts clicks by team, and cannot check whether a list is possible.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Impression, Shown, score
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}
    >>> log = [Impression(rankings, Shown(["a", "b", "d"]), [1]), Impression(rankings, Shown(["b", "a", "d"]), [0])]
    >>> outcome = score(log, "ppm")
    >>> outcome.wins.tolist(), outcome.credit.tolist()
    ([[0, 0], [2, 0]], [0.0, 2.0])
    """
    method_class = method_named(method)
    _refuse_unknown_options(options, method_class)
    require_option("rule", rule, RULES)
    if cluster is not None:
        require_option("cluster", cluster, CLUSTERS)
    names = as_models(models)
    is_path = isinstance(impressions, (str, os.PathLike))
    located = read_located(Path(impressions), names) if is_path else locate(impressions)  # type: ignore[arg-type]
    build = lru_cache(CACHE_SIZE)(partial(_build, method_class, options))
    scored = (
        (
            model_names,
            _credit(location, impression, model_names, method_class, build, rule),
            _label(location, impression, cluster),
        )
        for location, impression, model_names in with_models(located, names)
    )
    all_credit, labels = array("d"), []
    for model_names, credit, label in scored:
        all_credit.extend(credit.tolist())
        labels.append(label)
        names = model_names
    if names is None or not all_credit:
        raise LtrValueError("There is no impression to score: the log is empty.")
    matrix = np.frombuffer(all_credit).reshape(-1, len(names)).T
    return Outcome(names, method, matrix, cluster=None if cluster is None else labels)


def _label(location: str, impression: Impression, cluster: ClusterOfImpressions | None) -> Hashable:
    """Return the cluster of an impression."""
    label = None if cluster is None else getattr(impression, cluster)
    if cluster is not None and label is None:
        raise LtrValueError(
            f"{location}: every impression must name its {cluster} if {cluster}s are clusters, and this one has none. "
            f"Log it: Impression(..., {cluster}=...)."
        )
    return label


def _build(method_class: type[Method], options: dict[str, Any], rankings: Rankings, length: int) -> Method:
    return method_class(rankings, length, **options)


def _credit(
    location: str,
    impression: Impression,
    models: list[str] | None,
    method_class: type[Method],
    build: Callable[[Rankings, int], Method],
    rule: RuleOfCredit,
) -> FloatArray:
    """Return the credit of each model, in the order of ``models``."""
    with naming(location):
        rankings, shown = impression.rankings, impression.shown
        _refuse_other_method(impression, method_class)
        if models is None:
            raise LtrValueError(
                "There are teams but no rankings, so the models have no names. Pass models=, in the order of the teams."
            )
        if rankings is None:
            counts_clicks = method_class is TeamDraft or (method_class.has_teams and rule == "clicks")
            if shown.teams is None or not counts_clicks:
                raise LtrValueError(f"{method_class.__name__} needs rankings to give credit, and there are none.")
            clicked_teams = [shown.teams[slot] for slot in impression.clicks]
            return np.array([clicked_teams.count(team) for team in range(len(models))], dtype=np.float64)
        if shown.teams is not None:
            numbers = [models.index(name) for name in rankings]
            shown = Shown(shown.documents, [numbers[team] for team in shown.teams])
        length = len(shown.documents) if impression.length is None else impression.length
        method = build(tuple(tuple(rankings[name]) for name in models), length)
        return method.credit(shown, impression.clicks, rule)


def _refuse_other_method(impression: Impression, method_class: type[Method]) -> None:
    """Raise an error if the impression names another method, or has the teams of another."""
    name = method_class.__name__
    if impression.method is not None and method_named(impression.method) is not method_class:
        raise LtrValueError(
            f"the list was mixed by {impression.method!r}. Score it by that method: {name} would give wrong credit."
        )
    if impression.shown.teams is not None and not method_class.has_teams:
        raise LtrValueError(
            f"the impression has teams, but {name} has none, so another method mixed the list. Score it by that method."
        )
    if impression.shown.teams is None and method_class is TeamDraft:
        raise LtrValueError(
            "the impression has no teams, but TeamDraft needs them to give credit. Did another method mix the list?"
        )


def _refuse_unknown_options(options: dict[str, Any], method_class: type[Method]) -> None:
    known = [name for name in inspect.signature(method_class).parameters if name not in ("rankings", "length")]
    for name in options:
        if name not in known:
            raise LtrTypeError(
                f"{method_class.__name__} has no option {name!r}.{did_you_mean(name, known)} "
                f"Options: {', '.join(known) or 'none'}."
            )
