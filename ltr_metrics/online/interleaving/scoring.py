"""Scoring of logged impressions."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from functools import lru_cache
from typing import get_args

import numpy as np

from ltr_metrics._rows.checks import require_option
from ltr_metrics._rows.ids import is_missing
from ltr_metrics._rows.words import ClusterOfImpressions, InterleavingMethod
from ltr_metrics.errors import LtrValueError, naming
from ltr_metrics.online.interleaving.balanced import Balanced
from ltr_metrics.online.interleaving.impressions import Impression, Texts, in_text, located
from ltr_metrics.online.interleaving.method import Method
from ltr_metrics.online.interleaving.outcome import Outcome
from ltr_metrics.online.interleaving.pairwise_preference import PairwisePreference
from ltr_metrics.online.interleaving.team_draft import TeamDraft

METHODS: dict[str, type[Method]] = {"team_draft": TeamDraft, "ppm": PairwisePreference, "balanced": Balanced}
CACHE_SIZE = 1024  # methods of a log that are kept, since queries recur


def score(
    impressions: Iterable[Impression] | str | os.PathLike[str],
    method: InterleavingMethod,
    *,
    cluster: ClusterOfImpressions | None = None,
) -> Outcome:
    """Return the outcome of logged impressions.

    Impressions are read one by one. Only their credit is kept, 8 bytes for each model.

    Parameters
    ----------
    impressions : iterable of Impression, or path
        The impressions, or the path of a log, as for `read_impressions`. The models are in the
        order of the first impression's rankings.
    method : {"ppm", "team_draft", "balanced"}
        The method that mixed the lists. Most lists of one method could also come from another,
        whose credit would be wrong. So an error is raised if an impression names another method, or
        if it has teams and the method has none.
    cluster : {"user", "query"}, optional
        What the impressions of a cluster have in common. They are not independent, so intervals and
        p-values are then over clusters. By default all impressions are independent.

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
        unknown method.

    See Also
    --------
    simulate : The outcome of simulated users.
    read_impressions : Read a log.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Impression, Shown, score
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}
    >>> log = [Impression(rankings, Shown(["a", "b", "d"]), [1]), Impression(rankings, Shown(["b", "a", "d"]), [0])]
    >>> outcome = score(log, "ppm")
    >>> outcome.wins.tolist(), outcome.credit.tolist()
    ([[0, 0], [2, 0]], [0.0, 2.0])
    """
    has_teams = METHODS[require_option("method", method, tuple(METHODS))].has_teams
    if cluster is not None:
        require_option("cluster", cluster, get_args(ClusterOfImpressions))
    models: list[str] = []
    credit, labels = array("d"), []
    for location, impression in located(impressions):
        models = models or list(impression.rankings)
        with naming(location):
            _refuse_other(impression, models, method, has_teams)
            rankings, shown = in_text(impression)
            mixed = _method_of(method, rankings, impression.length or len(shown.documents))
            credit_of = dict(zip(impression.rankings, mixed.credit(shown, impression.clicks), strict=True))
            credit.extend(credit_of[model] for model in models)
            if cluster is not None:
                labels.append(getattr(impression, cluster))
                if is_missing(labels[-1]):
                    raise LtrValueError(
                        f"Every impression must name its {cluster} if {cluster}s are clusters. Here it is "
                        f"{labels[-1]!r}. Log it: Impression(..., {cluster}=...)."
                    )
    if not models:
        raise LtrValueError("There is no impression to score: the log is empty.")
    matrix = np.frombuffer(credit).reshape(-1, len(models)).T
    return Outcome(models, method, matrix, cluster=None if cluster is None else labels)


@lru_cache(CACHE_SIZE)
def _method_of(name: str, rankings: Texts, length: int) -> Method:
    """Return the method that mixed some rankings."""
    return METHODS[name](rankings, length)


def _refuse_other(impression: Impression, models: list[str], method: str, has_teams: bool) -> None:
    """Raise an error if an impression is of other models, or if its list was mixed by another method."""
    if set(impression.rankings) != set(models):
        raise LtrValueError(
            f"All impressions must have the same models. Here they are {', '.join(impression.rankings)}, and not "
            f"{', '.join(models)}. Score the parts of the log separately."
        )
    is_other = impression.method not in (None, method)
    if is_other or (impression.shown.teams is not None and not has_teams):
        other = impression.method if is_other else "a method with teams"
        raise LtrValueError(
            f"The list was mixed by {other}. Score it by that method: {method} would give wrong credit."
        )
