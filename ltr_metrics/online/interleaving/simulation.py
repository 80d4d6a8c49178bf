"""Simulation: users with a click model see mixed lists for labelled queries.

Each block of impressions has its own random numbers, so the outcome does not depend on the number of
threads.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ltr_metrics._ranks.native import n_threads_for
from ltr_metrics._rows.checks import AnyArray, FloatArray, require_count, require_option
from ltr_metrics._rows.words import SimulatedMethod, TiesOfRankings
from ltr_metrics.analysis.settings import seed_from
from ltr_metrics.errors import LtrTypeError, LtrValueError, naming
from ltr_metrics.evaluation.evaluate import DataOptions, Queries, queries_from, with_data_options
from ltr_metrics.online.interleaving.clicks import ClickModel
from ltr_metrics.online.interleaving.method import short
from ltr_metrics.online.interleaving.mixers import RankingArrays, VectorizedPPM, VectorizedTeamDraft
from ltr_metrics.online.interleaving.outcome import Outcome

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of typing from Python 3.11 on

BLOCK = 16_384  # impressions at a time: enough to amortise NumPy's call overhead, few enough for a core's cache
ROWS_PER_IMPRESSION = 40  # rows that take as long to evaluate as an impression takes to simulate
TIES_STREAM, IMPRESSIONS_STREAM = range(2)  # spawn keys of the random streams


@with_data_options
def simulate(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    method: SimulatedMethod,
    clicks: ClickModel,
    impressions: int = 10_000,
    length: int = 10,
    ties: TiesOfRankings = "stable",
    random_state: Any = 0,
    n_threads: int | None = None,
    **data: Unpack[DataOptions],
) -> Outcome:
    """Simulate users who click on mixed rankings of labelled queries, and return the outcome.

    Each impression draws a query, with replacement and by its weight if queries have weights. It
    mixes the models' rankings of the query's documents. A user then clicks by grade, and the method
    gives each model credit.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Queries
        Whole grades, for which the click model has probabilities.
    scores : mapping of str to array-like of shape (n_rows,)
        Two or more models, by name.
    method : {"team_draft", "ppm"}
        The method that mixes the lists.
    clicks : ClickModel
        The users.
    impressions : int, default 10_000
        Number of impressions.
    length : int, default 10
        Maximum number of documents in a list.
    ties : {"stable", "random"}
        The order of documents with equal scores, which is the same in all models. "stable" keeps
        the order of the rows, like a system that sorts stably. This favours models with ties if the
        data list the relevant documents first. "random" draws one order for the whole simulation.
    random_state : int, numpy.random.Generator or None, default 0
        Random seed. The same seed gives the same outcome.
    n_threads : int, optional
        Maximum number of threads. The outcome does not depend on it. The default is as for
        `ltr_metrics.evaluate`.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`.

    Returns
    -------
    Outcome
        ``outcome.preference``, ``outcome.error(metric="ndcg@10")``, ``outcome.to_pandas()``.
        The offline metrics of ``outcome.error`` are computed on the rankings that were mixed, in
        which ties are already broken.

    Raises
    ------
    LtrValueError, LtrTypeError
        As `ltr_metrics.evaluate`. Also for fewer than two models, and for grades that the click
        model does not have.

    See Also
    --------
    score : The outcome of logged impressions.
    ClickModel : The users.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> from ltr_metrics.interleaving import ClickModel, simulate
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> users = ClickModel.informational(grades=5)
    >>> outcome = simulate(y, {"old": X[:, 0], "new": X[:, 0] + 0.1 * X[:, 1]}, qid=qid, method="ppm", clicks=users)
    >>> bool(outcome.preference[1, 0] > 0.5), outcome.error(metric="ndcg_lin@10")
    (True, 0.0)
    """
    n_impressions, length = require_count("impressions", impressions), require_count("length", length)
    if not isinstance(clicks, ClickModel):
        raise LtrTypeError(f"clicks must be a ClickModel, such as ClickModel.informational(grades=3). Got {clicks!r}.")
    require_option("method", method, get_args(SimulatedMethod))
    queries = queries_from(y_true, data, "simulate", PARAMETERS)
    clicks.require_grades(queries.grades, min(length, int(queries.n_ranked.max())))
    clicks.warn_of_grades(queries.grades)
    seed = seed_from(random_state)
    rankings = RankingArrays.from_scores(
        queries, _check_scores(queries, scores), length, _tie_break(queries, ties, seed)
    )
    mixer: VectorizedTeamDraft | VectorizedPPM
    mixer = VectorizedTeamDraft(rankings) if method == "team_draft" else VectorizedPPM(rankings)
    cumulative_weight = _cumulative_weight(queries)

    def run_block(start: int) -> FloatArray:
        """Return the credit of the block that begins with impression ``start``, (rankers, impressions)."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(IMPRESSIONS_STREAM, start // BLOCK)))
        draws = rng.random(min(BLOCK, n_impressions - start)) * cumulative_weight[-1]
        query = np.searchsorted(cumulative_weight, draws, side="right")
        shown = mixer.mix(query, rng)
        return mixer.credit(query, shown, clicks.draw(mixer.rankings.grade.take(shown.documents), rng))

    starts = range(0, n_impressions, BLOCK)
    n_threads = n_threads_for(n_impressions * ROWS_PER_IMPRESSION, n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        credit = np.concatenate(list(pool.map(run_block, starts)), axis=1)
    return Outcome(list(scores), method, credit, partial(_offline_means, queries, rankings, list(scores)))


PARAMETERS = list(inspect.signature(simulate).parameters)


def _check_scores(queries: Queries, scores: Any) -> list[AnyArray]:
    if not isinstance(scores, Mapping) or len(scores) < 2:
        raise LtrTypeError(f"scores must map two or more names of models to score vectors. Got {short(scores)}.")
    queries.refuse_different_indexes(scores=scores)
    checked = []
    for name, column in scores.items():
        with naming(name):
            checked.append(queries.scores(column))
            queries.refuse_nan_scores(checked[-1])
    return checked


def _tie_break(queries: Queries, ties: Any, seed: int) -> AnyArray | None:
    """Return a number per row that orders ties, or None for the order of the rows.

    It is the same for all models, so that models with equal scores have equal rankings.
    """
    if require_option("ties", ties, get_args(TiesOfRankings)) == "stable":
        return None
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(TIES_STREAM,))).permutation(queries.n_rows)


def _cumulative_weight(queries: Queries) -> FloatArray:
    """Return the cumulative weight of the queries that have documents to show."""
    weight = np.ones(queries.n_queries) if queries.weight is None else queries.weight
    cumulative = np.cumsum(weight[queries.n_ranked > 0])
    if cumulative[-1] == 0:
        raise LtrValueError("All queries with documents to show have weight 0, so no query can be drawn.")
    return cumulative


def _offline_means(queries: Queries, rankings: RankingArrays, names: list[str], metric: Any) -> dict[str, float]:
    """Evaluate the orders that were mixed."""
    means = {}
    for name, rank in zip(names, rankings.rank[:-1].T, strict=True):
        score = np.zeros(queries.n_rows)
        score[rankings.row] = -rank
        (means[name],) = queries.evaluate(score, [metric]).mean.values()
    return means
