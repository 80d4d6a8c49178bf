"""Scoring of logged impressions."""

from __future__ import annotations

import os
from array import array
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from ltr_metrics._rows.checks import require_option
from ltr_metrics._rows.ids import id_texts, is_missing
from ltr_metrics._rows.words import ClusterOfImpressions, InterleavingMethod
from ltr_metrics.errors import LtrValueError, naming
from ltr_metrics.online.interleaving.impressions import Impression, located
from ltr_metrics.online.interleaving.method import Method, Shown
from ltr_metrics.online.interleaving.methods import method_named, require_options
from ltr_metrics.online.interleaving.outcome import Outcome

CACHE_SIZE = 256  # methods kept by rankings: queries recur, and some methods take long to prepare


def score(
    impressions: Iterable[Impression] | str | os.PathLike[str],
    method: InterleavingMethod,
    *,
    cluster: ClusterOfImpressions | None = None,
    **options: Any,
) -> Outcome:
    """Return the outcome of logged impressions.

    Impressions are read one by one. Only their credit is kept, 8 bytes for each model.

    Parameters
    ----------
    impressions : iterable of Impression, or path
        The impressions, or the path of a log, as for `read_impressions`. The models are in the
        order of the first impression's rankings.
    method : {"ppm", "team_draft", "balanced", "probabilistic", "optimized"}
        The method that mixed the lists. Most lists of one method could also come from another,
        whose credit would be wrong. So an error is raised if an impression names another method, or
        if it has teams and the method has none.
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
    require_options(method_class, options)
    if cluster is not None:
        require_option("cluster", cluster, get_args(ClusterOfImpressions))

    @lru_cache(CACHE_SIZE)
    def build(rankings: tuple[tuple[Hashable, ...], ...], length: int) -> Method:
        return method_class(rankings, length, **options)

    models: list[str] = []
    credit, labels = array("d"), []
    for location, impression in located(impressions):
        models = models or list(impression.rankings)
        with naming(location):
            shown = _shown(impression, models, method_class)
            rankings = tuple(tuple(id_texts(impression.rankings[name])) for name in models)
            mixed = build(rankings, impression.length or len(shown.documents))
            credit.extend(mixed.credit(shown, impression.clicks).tolist())
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


def _shown(impression: Impression, models: list[str], method: type[Method]) -> Shown:
    """Return the list, if it can come from this method and these models.

    Its documents are texts, because a log may have 7 in a ranking and "7" in a list. Its teams are
    in the order of ``models``.
    """
    rankings, shown = impression.rankings, impression.shown
    if set(rankings) != set(models):
        raise LtrValueError(
            f"All impressions must have the same models. Here they are {', '.join(rankings)}, and not "
            f"{', '.join(models)}. Score the parts of the log separately."
        )
    is_other = impression.method is not None and method_named(impression.method) is not method
    if is_other or (shown.teams is not None and not method.has_teams):
        other = impression.method if is_other else "a method with teams"
        raise LtrValueError(
            f"The list was mixed by {other}. Score it by that method: {method.__name__} would give wrong credit."
        )
    numbers = [models.index(name) for name in rankings]
    documents: list[Hashable] = list(id_texts(shown.documents))
    return Shown(documents, None if shown.teams is None else [numbers[team] for team in shown.teams])
