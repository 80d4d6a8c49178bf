"""Simulation: users with a click model see mixed lists for labelled queries.

Each block of impressions has its own random numbers, so the outcome does not depend on the number of
threads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, require_count, require_option
from ltr_metrics._engine.threads import n_threads_for
from ltr_metrics._engine.words import InterleavingMethod, TiesOfRankings
from ltr_metrics.analysis.settings import seed_from
from ltr_metrics.errors import LtrTypeError, LtrValueError, import_extra, naming
from ltr_metrics.evaluation.evaluate import Queries, queries_from
from ltr_metrics.interleaving.clicks import ClickModel
from ltr_metrics.interleaving.methods import method_named, require_options
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.interleaving.simulation.layout import Mixer, RankingArrays
from ltr_metrics.interleaving.simulation.one_by_one import OneByOne
from ltr_metrics.interleaving.simulation.ppm import VectorizedPPM
from ltr_metrics.interleaving.simulation.team_draft import VectorizedTeamDraft

VECTORIZED: dict[str, Callable[..., Mixer]] = {"team_draft": VectorizedTeamDraft, "ppm": VectorizedPPM}
BLOCK = 16_384  # impressions at a time: enough to amortise NumPy's call overhead, few enough for a core's cache
ROWS_PER_IMPRESSION = 40  # rows that take as long to evaluate as an impression takes to simulate
TIES_STREAM, IMPRESSIONS_STREAM = range(2)  # spawn keys of the random streams


def simulate(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    method: InterleavingMethod,
    clicks: ClickModel,
    impressions: int = 10_000,
    length: int = 10,
    method_options: Mapping[str, Any] | None = None,
    ties: TiesOfRankings = "stable",
    random_state: Any = 0,
    n_threads: int | None = None,
    progress: bool = False,
    **data: Any,
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
    method : {"team_draft", "ppm", "balanced", "probabilistic", "optimized"}
        The method that mixes the lists. The first two simulate many impressions at once. The others
        simulate one by one and are about a hundred times slower.
    clicks : ClickModel
        The users.
    impressions : int, default 10_000
        Number of impressions.
    length : int, default 10
        Maximum number of documents in a list.
    method_options : mapping, optional
        Further options of the method, such as ``{"pairs": "authors"}`` or ``{"tau": 1}``.
    ties : {"stable", "random"}
        The order of documents with equal scores, which is the same in all models. "stable" keeps
        the order of the rows, like a system that sorts stably. This favours models with ties if the
        data list the relevant documents first. "random" draws one order for the whole simulation.
    random_state : int, numpy.random.Generator or None, default 0
        Random seed. The same seed gives the same outcome.
    n_threads : int, optional
        Maximum number of threads. The outcome does not depend on it. The default is as for
        `ltr_metrics.evaluate`.
    progress : bool, default False
        Show a progress bar.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`.

    Returns
    -------
    Outcome
        ``outcome.preference``, ``outcome.error(metric="ndcg@10")``, ``outcome.to_pandas()``.
        Offline metrics are those of the orders that were mixed, with ties broken.

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
    queries = y_true if isinstance(y_true, Queries) else queries_from(y_true, data, "simulate", PARAMETERS)
    if isinstance(y_true, Queries) and data:
        raise LtrTypeError(f"Queries already have their data: leave out {', '.join(data)}.")
    clicks.require_grades(queries.grades)
    clicks.warn_of_grades(queries.grades)
    seed = seed_from(random_state)
    rankings = RankingArrays.from_scores(
        queries, _check_scores(queries, scores), length, _tie_break(queries, ties, seed)
    )
    clicks.require_length(int(rankings.n_shown.max()))
    simulation = _Simulation(
        mixer=_build_mixer(rankings, method, dict(method_options or {})),
        clicks=clicks,
        n_queries=len(rankings.sizes),
        cumulative_weight=_cumulative_weight(queries),
        seed=seed,
        n_impressions=n_impressions,
    )
    credit = np.concatenate(list(simulation.run(n_threads, progress)), axis=1)
    simulation.mixer.warn()
    return Outcome(list(scores), method, credit, _OfflineMeans(queries, rankings, list(scores)))


PARAMETERS = list(inspect.signature(simulate).parameters)[:-1]


@dataclass(frozen=True, eq=False)
class _Simulation:
    mixer: Mixer
    clicks: ClickModel
    n_queries: int
    cumulative_weight: FloatArray | None  # None for queries without weights
    seed: int
    n_impressions: int

    def run(self, n_threads: int | None, progress: bool) -> Iterator[FloatArray]:
        """Yield the credit of the blocks, in order."""
        starts = range(0, self.n_impressions, BLOCK)
        n_threads = n_threads_for(self.n_impressions * ROWS_PER_IMPRESSION, n_threads)
        n_threads = n_threads if self.mixer.uses_threads else 1
        with _progress_bar(self.n_impressions, progress) as advance, ThreadPoolExecutor(n_threads) as pool:
            for credit in map(self.run_block, starts) if n_threads == 1 else pool.map(self.run_block, starts):
                advance(credit.shape[1])
                yield credit

    def run_block(self, start: int) -> FloatArray:
        """Return the credit of the block that begins with impression ``start``, (rankers, impressions)."""
        stop = min(start + BLOCK, self.n_impressions)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(IMPRESSIONS_STREAM, start // BLOCK)))
        query = self._draw_queries(stop - start, rng)
        shown = self.mixer.mix(query, rng)
        clicked = self.clicks.draw(self.mixer.grade.take(shown.documents), rng)
        return self.mixer.credit(query, shown, clicked)

    def _draw_queries(self, n: int, rng: np.random.Generator) -> IntArray:
        draws = rng.random(n)
        if self.cumulative_weight is None:
            return (draws * self.n_queries).astype(np.intp)
        query: IntArray = np.searchsorted(self.cumulative_weight, draws * self.cumulative_weight[-1], side="right")
        return query


def _check_scores(queries: Queries, scores: Any) -> list[AnyArray]:
    if not isinstance(scores, Mapping):
        raise LtrTypeError(f'scores must map names to score vectors, as {{"bm25": ..., "new": ...}}. Got {scores!r}.')
    if len(scores) < 2:
        raise LtrValueError(f"scores must have two or more models, to be compared. Got {len(scores)}.")
    checked = []
    for name, column in scores.items():
        if not isinstance(name, str):
            raise LtrTypeError(f"scores must have names of models (text) as keys. Got {name!r}.")
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


def _build_mixer(rankings: RankingArrays, method: str, options: dict[str, Any]) -> Mixer:
    method_class = method_named(method)
    require_options(method_class, options)
    if method in VECTORIZED:
        return VECTORIZED[method](rankings, **options)
    return OneByOne(rankings, method_class, options)


def _cumulative_weight(queries: Queries) -> FloatArray | None:
    """Return the cumulative weight of the queries that have documents to show."""
    if queries.weight is None:
        return None
    cumulative = np.cumsum(queries.weight[queries.n_retrieved > 0])
    if cumulative[-1] == 0:
        raise LtrValueError("All queries with documents to show have weight 0, so no query can be drawn.")
    return cumulative


@dataclass(frozen=True, eq=False)
class _OfflineMeans:
    """Evaluates the orders that were mixed."""

    queries: Queries
    rankings: RankingArrays
    names: list[str]

    def __call__(self, metric: Any) -> dict[str, float]:
        means = {}
        for name, rank in zip(self.names, self.rankings.rank, strict=True):
            score = np.zeros(self.queries.n_rows)
            score[self.rankings.row] = -rank
            (means[name],) = self.queries.evaluate(score, [metric]).mean.values()
        return means


@contextmanager
def _progress_bar(n_impressions: int, is_wanted: bool) -> Iterator[Callable[[int], object]]:
    if not is_wanted:
        yield lambda _: None
        return
    tqdm = import_extra("tqdm.auto", "report").tqdm
    with tqdm(total=n_impressions, unit=" impressions", unit_scale=True) as bar:
        yield bar.update
