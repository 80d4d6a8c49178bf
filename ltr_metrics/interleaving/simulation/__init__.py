"""Users who see mixed lists of labelled queries, and what comes of it.

The blocks of impressions have random numbers of their own, so the outcome does not depend on the number of threads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, BoolArray, FloatArray, IntArray, is_count, require_option
from ltr_metrics._engine.threads import n_threads_for
from ltr_metrics._engine.words import InterleavingMethod, RuleOfCredit, TiesOfRankings
from ltr_metrics.analysis.comparison.settings import seed_from
from ltr_metrics.errors import LtrTypeError, LtrValueError, MissingExtraError, did_you_mean, naming
from ltr_metrics.evaluation.evaluate import Queries, queries_from
from ltr_metrics.interleaving.clicks import ClickModel
from ltr_metrics.interleaving.method import RULES
from ltr_metrics.interleaving.methods import method_named
from ltr_metrics.interleaving.outcome import Outcome
from ltr_metrics.interleaving.simulation.layout import ManyRankings, Shown
from ltr_metrics.interleaving.simulation.one_by_one import OneByOne
from ltr_metrics.interleaving.simulation.ppm import ManyPairwisePreferences
from ltr_metrics.interleaving.simulation.team_draft import ManyTeamDrafts
from ltr_metrics.interleaving.tally import Tally, block_ends


class Mixer(Protocol):
    """Mixes lists of many queries, and gives credit for clicks on them."""

    in_threads: bool  # whether threads make it faster
    grade: AnyArray

    def mix(self, query: IntArray, rng: np.random.Generator) -> Shown: ...

    def credit(self, query: IntArray, shown: Shown, clicked: BoolArray) -> FloatArray: ...

    def warn(self) -> None: ...


AT_ONCE: dict[str, Callable[..., Mixer]] = {"team_draft": ManyTeamDrafts, "ppm": ManyPairwisePreferences}
TIES: tuple[TiesOfRankings, ...] = get_args(TiesOfRankings)
BLOCK = 16_384  # impressions at a time: enough to make NumPy's calls cheap, few enough for a core's cache
ROWS_LIKE_AN_IMPRESSION = 40  # that take as long to evaluate
OF_TIES, OF_IMPRESSIONS = range(2)  # what random numbers are for


def simulate(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    method: InterleavingMethod,
    clicks: ClickModel,
    impressions: int = 10_000,
    length: int = 10,
    rule: RuleOfCredit = "own",
    method_options: Mapping[str, Any] | None = None,
    ties: TiesOfRankings = "stable",
    random_state: Any = 0,
    n_threads: int | None = None,
    progress: bool = False,
    **data: Any,
) -> Outcome:
    """Show users mixed rankings of labelled queries, and count which model's documents they click.

    For each impression a query is drawn, with replacement and by its weight if queries have weights; the models' rankings of its documents are
    mixed; a user looks at the list and clicks by grade; the method gives each model credit.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Queries
        Whole grades, of which the click model has probabilities.
    scores : mapping of str to array-like of shape (n_rows,)
        Two or more models, by name.
    method : {"team_draft", "ppm", "balanced", "probabilistic", "optimized"}
        The first two are simulated at once for all impressions, the others one by one, a hundred times as slowly.
    clicks : ClickModel
        The users.
    impressions : int, default 10_000
    length : int, default 10
        Documents shown at most.
    rule : {"own", "clicks"}
        As for ``credit`` of the methods.
    method_options : mapping, optional
        Further options of the method, such as ``{"pairs": "authors"}`` or ``{"tau": 1}``.
    ties : {"stable", "random"}
        In which order documents of equal score stand, in all models alike: that of the rows (default), as in a system that sorts stably, which
        flatters models with ties where the data list the relevant documents first; or one that is drawn for the whole simulation.
    random_state : int, numpy.random.Generator or None, default 0
        The same number, the same outcome.
    n_threads : int, optional
        Threads to take at most. The outcome does not depend on it.
    progress : bool, default False
        Show a bar.
    **data
        ``qid`` or ``group``, and the other options of `ltr_metrics.Queries`.

    Returns
    -------
    Outcome
        ``outcome.preference``, ``outcome.error(metric="ndcg@10")``, ``outcome.to_pandas()``. Offline metrics are those of the very orders
        that were mixed, ties broken.

    Raises
    ------
    LtrValueError, LtrTypeError
        As `ltr_metrics.evaluate`; also for fewer than two models, and grades of which the click model says nothing.

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
    _refuse_options(impressions, length, clicks, progress, method_options)
    queries = y_true if isinstance(y_true, Queries) else queries_from(y_true, data, "simulate", OWN)
    if isinstance(y_true, Queries) and data:
        raise LtrTypeError(f"Queries have their data already: leave out {', '.join(data)}.")
    clicks.require_grades(queries.grades)
    clicks.warn_of_grades(queries.grades)
    seed = seed_from(random_state)
    rankings = ManyRankings.of_scores(queries, _scores(queries, scores), length, _tie_break(queries, ties, seed))
    clicks.require_length(int(rankings.n_shown.max()))
    simulation = _Simulation(
        mixer=_mixer(rankings, method, require_option("rule", rule, RULES), dict(method_options or {})),
        clicks=clicks,
        n_queries=len(rankings.sizes),
        cumulative_weight=_cumulative_weight(queries),
        seed=seed,
        n_impressions=int(impressions),
    )
    tally = Tally.concat(list(simulation.run(n_threads, progress)))
    simulation.mixer.warn()
    return Outcome(list(scores), method, tally, _Offline(queries, rankings, list(scores)))


OWN = list(inspect.signature(simulate).parameters)[:-1]


@dataclass(frozen=True, eq=False)
class _Simulation:
    mixer: Mixer
    clicks: ClickModel
    n_queries: int
    cumulative_weight: FloatArray | None  # of the queries, where they differ
    seed: int
    n_impressions: int

    def run(self, n_threads: int | None, progress: bool) -> Iterator[Tally]:
        """Yield the tallies of the blocks, in order."""
        starts = range(0, self.n_impressions, BLOCK)
        threads = n_threads_for(self.n_impressions * ROWS_LIKE_AN_IMPRESSION, n_threads)
        threads = threads if self.mixer.in_threads else 1
        with _bar(self.n_impressions, progress) as advance, ThreadPoolExecutor(threads) as pool:
            for tally in map(self.block, starts) if threads == 1 else pool.map(self.block, starts):
                advance(int(tally.n.sum()))
                yield tally

    def block(self, start: int) -> Tally:
        """Show and count the impressions from one on."""
        stop = min(start + BLOCK, self.n_impressions)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(OF_IMPRESSIONS, start // BLOCK)))
        query = self._queries(rng.random(stop - start))
        shown = self.mixer.mix(query, rng)
        clicked = self.clicks.draw(self.mixer.grade.take(shown.documents), rng)
        return Tally.from_credit(self.mixer.credit(query, shown, clicked), block_ends(start, stop))

    def _queries(self, draws: FloatArray) -> IntArray:
        if self.cumulative_weight is None:
            return (draws * self.n_queries).astype(np.intp)
        query: IntArray = np.searchsorted(self.cumulative_weight, draws * self.cumulative_weight[-1], side="right")
        return query


def _refuse_options(impressions: Any, length: Any, clicks: Any, progress: Any, method_options: Any) -> None:
    for name, value in (("impressions", impressions), ("length", length)):
        if not is_count(value):
            raise LtrValueError(f"{name} must be a whole number, 1 or more. Got {value!r}.")
    if not isinstance(clicks, ClickModel):
        raise LtrTypeError(f"clicks must be a ClickModel, such as ClickModel.informational(grades=3). Got {clicks!r}.")
    if not isinstance(progress, (bool, np.bool_)):
        raise LtrTypeError(f"progress must be True or False. Got {progress!r}.")
    if method_options is not None and not isinstance(method_options, Mapping):
        raise LtrTypeError(f'method_options must map names to values, as {{"tau": 1}}. Got {method_options!r}.')


def _scores(queries: Queries, scores: Any) -> list[AnyArray]:
    if not isinstance(scores, Mapping):
        raise LtrTypeError(f'scores must map names to score vectors, as {{"bm25": ..., "new": ...}}. Got {scores!r}.')
    if len(scores) < 2:
        raise LtrValueError(f"scores must be of two models or more, to be compared. Got {len(scores)}.")
    checked = []
    for name, column in scores.items():
        if not isinstance(name, str):
            raise LtrTypeError(f"scores must have text for names of models. Got {name!r}.")
        with naming(name):
            checked.append(queries.scores(column))
            queries.refuse_nan_scores(checked[-1])
    return checked


def _tie_break(queries: Queries, ties: Any, seed: int) -> AnyArray | None:
    """Return a number a row, the same for all models, so that equal models stay equal; None for the order of the rows."""
    if require_option("ties", ties, TIES) == "stable":
        return None
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(OF_TIES,))).permutation(queries.n_rows)


def _mixer(rankings: ManyRankings, method: str, rule: RuleOfCredit, options: dict[str, Any]) -> Mixer:
    of_one = method_named(method)
    known = [p.name for p in inspect.signature(of_one).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise LtrTypeError(
                f"{method} has no option {name!r}.{did_you_mean(str(name), known)} It has {', '.join(known) or 'none'}."
            )
    if method not in AT_ONCE:
        return OneByOne(rankings, of_one, rule, options)
    return AT_ONCE[method](rankings, rule=rule, **options)


def _cumulative_weight(queries: Queries) -> FloatArray | None:
    """Return the running sum of the weights of the queries that have something to show."""
    if queries.weight is None:
        return None
    cumulative = np.cumsum(queries.weight[queries.n_retrieved() > 0])
    if cumulative[-1] == 0:
        raise LtrValueError("All queries that have documents to show have weight 0: none can be drawn.")
    return cumulative


@dataclass(frozen=True, eq=False)
class _Offline:
    """Evaluates the orders that were mixed."""

    queries: Queries
    rankings: ManyRankings
    names: list[str]

    def __call__(self, metric: Any) -> dict[str, float]:
        found = {}
        for name, rank in zip(self.names, self.rankings.rank, strict=True):
            score = np.zeros(self.queries.n_rows)
            score[self.rankings.row] = -rank
            (found[name],) = self.queries.evaluate(score, [metric]).mean.values()
        return found


@contextmanager
def _bar(n_impressions: int, wanted: bool) -> Iterator[Callable[[int], object]]:
    if not wanted:
        yield lambda _: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise MissingExtraError("tqdm", "report") from error
    with tqdm(total=n_impressions, unit=" impressions", unit_scale=True) as bar:
        yield bar.update
