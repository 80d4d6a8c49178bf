"""What many impressions add up to: who wins against whom, how sure that is, and whether an offline metric agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from ltr_metrics._engine.checks import AnyArray, FloatArray, require_confidence, require_count, require_option
from ltr_metrics._engine.plain import none_if_nan
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics._engine.words import OutcomeBy
from ltr_metrics.analysis.inference.libraries import library
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean
from ltr_metrics.evaluation.result import table_of
from ltr_metrics.metrics.base import Metric

if TYPE_CHECKING:
    import pandas

Counts = npt.NDArray[np.int64]
Offline = Callable[[Any], Mapping[str, float]]

A_DECADE = 10  # checkpoints
TIED = 1e-9  # credits are sums of 1/P, in any order: relative to the larger of the two and 1
NO_DIFFERENCE = 1e-12  # of a sum of differences, relative to its terms
LARGEST = 1e150  # credit
BY: tuple[OutcomeBy, ...] = get_args(OutcomeBy)
NAN = float("nan")
PAIR = (
    "model",
    "other",
    "impressions",
    "wins",
    "ties",
    "losses",
    "preference",
    "win_share",
    "win_share_low",
    "win_share_high",
    "p_wins",
    "credit_difference",
    "credit_low",
    "credit_high",
    "p_credit",
)


def checkpoints(n_impressions: int) -> Counts:
    """Return the numbers of impressions at which the state of things is kept: ten a decade, and ``n_impressions`` itself.

    All but the last are the same for every ``n_impressions``.

    Examples
    --------
    >>> from ltr_metrics.interleaving.outcome import checkpoints
    >>> checkpoints(30).tolist()
    [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30]
    """
    require_count("n_impressions", n_impressions)
    decades = len(str(n_impressions))
    kept = np.rint(10.0 ** (np.arange(A_DECADE * decades + 1) / A_DECADE)).astype(np.int64)
    return np.unique(np.append(kept[kept < n_impressions], np.int64(n_impressions)))


def ends_of_block(start: int, stop: int) -> Counts:
    """Return where the parts of a block end that has the impressions ``start`` to ``stop - 1``, counted from its own first.

    Examples
    --------
    >>> from ltr_metrics.interleaving.outcome import ends_of_block
    >>> ends_of_block(0, 4).tolist(), ends_of_block(9, 14).tolist()
    ([1, 2, 3, 4], [1, 4, 5])
    """
    kept = checkpoints(stop)
    return kept[kept > start] - start


@dataclass(frozen=True, eq=False)
class Tally:
    """Who won how often, and by how much, in consecutive parts of many impressions.

    Make it with `of`, block by block, and join the blocks with `together`.

    Attributes
    ----------
    n : ndarray of int64 of shape (n_parts,)
        Impressions of each part.
    wins : ndarray of int64 of shape (n_parts, n_rankers, n_rankers)
        Impressions of each part in which the row's credit is higher than the column's.
    credit : ndarray of float64 of shape (n_parts, n_rankers)
        Sums of credit.
    differences, squares : ndarray of float64 of shape (n_parts, n_rankers, n_rankers)
        Sums of the differences in credit, row - column, and of their squares; a tie adds exactly 0 to both.
    """

    n: Counts
    wins: Counts
    credit: FloatArray
    differences: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, credit: FloatArray, ends: Any) -> Tally:
        """Count.

        Two credits a and b are a tie if ``|a - b| <= 1e-9 max(1, |a|, |b|)``: they may be sums in different orders.

        Parameters
        ----------
        credit : ndarray of float64 of shape (n_rankers, n_impressions)
            Of impressions in the order in which they came.
        ends : sequence of int
            How many impressions are before the end of each part, ascending; the last is ``n_impressions``.

        Raises
        ------
        LtrValueError
            If a credit is NaN or infinite, or ends are not ascending up to ``n_impressions``.
        """
        credit = np.ascontiguousarray(credit, dtype=np.float64)
        if credit.ndim != 2 or len(credit) < 2:
            raise LtrValueError(
                f"credit must have a row a ranker, two or more, and a column an impression. Got shape {credit.shape}."
            )
        starts, n = _parts(ends, credit.shape[1])
        if not (np.abs(credit) < LARGEST).all():
            ranker, impression = np.argwhere(~(np.abs(credit) < LARGEST))[0].tolist()
            raise LtrValueError(
                f"credit must be numbers below {LARGEST:g}, whose squares are still numbers: got {credit[ranker, impression]} for ranker {ranker} in impression {impression} (from 0)."
            )
        n_rankers = len(credit)
        wins = np.zeros((len(n), n_rankers, n_rankers), dtype=np.int64)
        differences, squares = np.zeros((2, len(n), n_rankers, n_rankers))
        rounding = np.abs(credit)
        np.maximum(rounding, 1, out=rounding)  # in place: memory that is new costs more than what is computed
        rounding *= TIED
        difference, bound = np.empty_like(credit[0]), np.empty_like(credit[0])
        for i, j in combinations(range(n_rankers), 2):
            np.maximum(rounding[i], rounding[j], out=bound)
            np.subtract(credit[i], credit[j], out=difference)
            ahead, behind = difference > bound, difference < np.negative(bound, out=bound)
            wins[:, i, j] = np.add.reduceat(ahead, starts, dtype=np.int64)
            wins[:, j, i] = np.add.reduceat(behind, starts, dtype=np.int64)
            difference *= ahead | behind
            differences[:, i, j] = np.add.reduceat(difference, starts)
            differences[:, j, i] = -differences[:, i, j]
            difference *= difference
            squares[:, i, j] = squares[:, j, i] = np.add.reduceat(difference, starts)
        return cls(n, wins, np.add.reduceat(credit, starts, axis=1).T, differences, squares)

    @classmethod
    def together(cls, tallies: Sequence[Tally]) -> Tally:
        """Return the parts of several tallies, of blocks in the order in which they came."""
        return cls(*map(np.concatenate, zip(*(one._fields for one in tallies), strict=True)))

    @property
    def ends(self) -> Counts:
        """How many impressions are before the end of each part."""
        return np.cumsum(self.n)

    def merged(self, ends: Any) -> Tally:
        """Return fewer parts, which end at some of the `ends`, up to the last."""
        known = self.ends
        if not np.isin(ends, known).all():
            raise LtrValueError(
                f"Parts can be joined, not split: they end at {known.tolist()}, asked were {list(ends)}."
            )
        starts = _parts(np.searchsorted(known, ends) + 1, len(known))[0]
        return Tally(*(np.add.reduceat(values, starts, axis=0) for values in self._fields))

    @property
    def _fields(self) -> tuple[AnyArray, ...]:
        return self.n, self.wins, self.credit, self.differences, self.squares


def _parts(ends: Any, n: int) -> tuple[Counts, Counts]:
    """Return start and size of each part."""
    listed = np.asarray(ends)
    bounds = np.concatenate([[0], listed])
    sizes = np.diff(bounds)
    if listed.dtype.kind not in "iu" or bounds[-1] != n or sizes.min() < 1:
        raise LtrValueError(f"ends must be whole numbers that ascend, from 1 or more to {n}. Got {listed.tolist()}.")
    return bounds[:-1].astype(np.int64), sizes.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Printed):
    """Who wins against whom over many impressions.

    Parameters
    ----------
    models : list of str
        Names, in the order of the tally's rankers.
    method : str
        Name of the interleaving method.
    tally : Tally
        Of all impressions; its parts are joined to those that end at `checkpoints`.
    offline : callable, optional
        From a metric to the mean of each model by name, on the queries that were shown: what `error` compares with.

    Examples
    --------
    >>> import numpy as np
    >>> from ltr_metrics.interleaving.outcome import Outcome, Tally
    >>> credit = np.array([[1.0, 0, 2, 1], [0, 1, 0, 1]])
    >>> outcome = Outcome(models=["new", "old"], method="team_draft", tally=Tally.of(credit, ends=[1, 2, 3, 4]))
    >>> outcome.wins.tolist(), outcome.preference.tolist()
    ([[0, 2], [1, 0]], [[0.5, 0.625], [0.375, 0.5]])
    >>> outcome.error(truth={"new": 0.61, "old": 0.58})
    0.0
    >>> print(outcome)
    team_draft, 4 impressions. Share of them that the row wins against the column, a tie counting one half:
                1       2
    1 new       -  0.6250
    2 old  0.3750       -
    """

    models: list[str]
    method: str
    tally: Tally
    offline: Offline | None = None

    def __post_init__(self) -> None:
        models = list(self.models)
        n_rankers = self.tally.wins.shape[1]
        if (
            not all(isinstance(name, str) for name in models)
            or len(set(models)) < len(models)
            or len(models) != n_rankers
        ):
            raise LtrValueError(
                f"models must be a name, text, for each of the {n_rankers} rankers, all different. Got {models!r}."
            )
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "tally", self.tally.merged(checkpoints(int(self.tally.n.sum()))))

    @property
    def n_impressions(self) -> int:
        """Impressions, of which many may be ties."""
        return int(self.tally.n.sum())

    @property
    def checkpoints(self) -> Counts:
        """Numbers of impressions after which `error` is known; the last is `n_impressions`."""
        return self.tally.ends

    @cached_property
    def wins(self) -> Counts:
        """Impressions that the row wins against the column: its credit is higher."""
        total: Counts = self.tally.wins.sum(axis=0)
        total.setflags(write=False)
        return total

    @property
    def ties(self) -> Counts:
        """Impressions that neither wins; on the diagonal all."""
        return self.n_impressions - self.wins - self.wins.T

    @property
    def preference(self) -> FloatArray:
        """Share of the impressions that the row wins against the column, a tie counting one half: above .5 the row is preferred."""
        share: FloatArray = (self.wins + self.ties / 2) / self.n_impressions
        return share

    @property
    def credit(self) -> FloatArray:
        """Mean credit an impression, one a model. Only differences mean something."""
        mean: FloatArray = self.tally.credit.sum(axis=0) / self.n_impressions
        return mean

    def to_pandas(self, confidence: float = 0.95) -> pandas.DataFrame:
        """Return a table with one row a pair of models.

        Columns: model, other, impressions; wins, ties, losses, preference of ``model`` against ``other``; win_share, its limits
        win_share_low and win_share_high, p_wins; credit_difference, its limits credit_low and credit_high, p_credit.

        win_share is wins / (wins + losses), the limits are exact (Clopper and Pearson) and p_wins is the exact binomial test against
        one half, the sign test; all four are NaN where every impression is a tie. credit_difference is the mean an impression, with
        limits and p-value of the paired t-test; these three are NaN for one impression and where the difference is the same in all.
        Of PPM p_wins is no test of "users have no preference": clicks that know nothing of the documents give equal credit on average, and
        may give one model more wins. p-values are two-sided, each for its pair alone (`ltr_metrics.analysis.inference.correct` corrects for their number), and for a number
        of impressions that was chosen before: stopping at the first small one finds differences that are none.

        Parameters
        ----------
        confidence : float, default 0.95
            Of the limits.
        """
        return table_of(self._pairs(confidence), columns=list(PAIR))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON: matrices by row, the rows of `to_pandas` as ``pairs``; NaN is None."""
        return {
            "models": list(self.models),
            "method": self.method,
            "impressions": self.n_impressions,
            "preference": self.preference.tolist(),
            "wins": self.wins.tolist(),
            "ties": self.ties.tolist(),
            "credit": self.credit.tolist(),
            "pairs": [
                {name: none_if_nan(value) if isinstance(value, float) else value for name, value in pair.items()}
                for pair in self._pairs(0.95)
            ],
        }

    def error(
        self,
        metric: str | Metric | None = None,
        *,
        truth: Mapping[str, float] | None = None,
        by: OutcomeBy = "wins",
        impressions: int | None = None,
    ) -> float:
        """Return the share of the pairs of models on which the clicks and an offline metric disagree.

        The mean over pairs i, j of ``|sign(online_i - online_j) - sign(offline_i - offline_j)| / 2``, from 0 to 1: the binary error of
        Schuth et al. (CIKM 2014), but that a pair which is tied on one side alone counts one half.

        Parameters
        ----------
        metric : str or Metric, optional
            Evaluated on the queries that the simulation showed, as in ``"ndcg_lin@10"``.
        truth : mapping of str to float, optional
            Instead of it any number of each model, higher for better.
        by : {"wins", "credit"}
            Which of two models is better online: the one that wins more impressions, or the one with more credit.
        impressions : int, optional
            After how many, one of `checkpoints`. Default: all.

        Raises
        ------
        LtrValueError, LtrTypeError
            Neither or both of ``metric`` and ``truth``, a metric for logged impressions, models without a number, a number of impressions
            that is no checkpoint.
        """
        at = len(self.checkpoints) - 1 if impressions is None else self._checkpoint(impressions)
        return float(self.errors(metric, truth=truth, by=by)[1][at])

    def errors(
        self, metric: str | Metric | None = None, *, truth: Mapping[str, float] | None = None, by: OutcomeBy = "wins"
    ) -> tuple[Counts, FloatArray]:
        """Return the `checkpoints` and the `error` at each."""
        offline = self._offline(metric, truth)
        online = np.sign(self._verdicts(require_option("by", by, BY)))
        agreed = np.sign(difference_of(offline[:, None], offline[None, :]))
        first, second = np.triu_indices(len(self.models), 1)
        share: FloatArray = np.abs(online - agreed)[:, first, second].mean(axis=1) / 2
        return self.checkpoints, share

    def printed_parts(self) -> list[Table]:
        """Return the table of preferences."""
        rows = [
            (f"{i + 1} {model}", *("-" if i == j else f"{share:.4f}" for j, share in enumerate(of_model)))
            for i, (model, of_model) in enumerate(zip(self.models, self.preference.tolist(), strict=True))
        ]
        header = ("", *(str(i + 1) for i in range(len(rows))))
        n = self.n_impressions
        title = f"{self.method}, {n:,} impression{'s' * (n != 1)}. Share of them that the row wins against the column, a tie counting one half:"
        return [Table(header, rows, min_widths=(0, *[6] * len(rows)), title=title)]

    # -- verdicts -------------------------------------------------------------------------------------------------------

    def _verdicts(self, by: OutcomeBy) -> FloatArray:
        """Return what the row is ahead of the column at each checkpoint, a (n_checkpoints, L, L) array."""
        if by == "wins":
            wins = self.tally.wins.cumsum(axis=0)
            ahead: FloatArray = (wins - wins.transpose(0, 2, 1)).astype(np.float64)
            return ahead
        n = self.checkpoints[:, None, None]
        return _but_for_rounding(n, self.tally.differences.cumsum(axis=0), self.tally.squares.cumsum(axis=0))

    def _offline(self, metric: Any, truth: Any) -> FloatArray:
        if (metric is None) == (truth is None):
            raise LtrTypeError(
                'What is the online outcome to be compared with? Pass either metric, such as "ndcg_lin@10", or truth, a number for each model.'
            )
        if truth is None:
            if self.offline is None:
                raise LtrValueError(
                    f"An outcome of logged impressions has no labels to compute {metric} from. Pass truth={{model: number}}, for example "
                    "the means that ltr_metrics.evaluate gives."
                )
            truth = self.offline(metric)
        if not isinstance(truth, Mapping):
            raise LtrTypeError(f"truth must map each model to a number. Got {truth!r}.")
        unknown = [name for name in truth if name not in self.models]
        if unknown:
            raise LtrKeyError(
                f"truth has {unknown[0]!r}, which is none of the models.{did_you_mean(str(unknown[0]), self.models)} "
                f"Models: {', '.join(self.models)}."
            )
        for model in self.models:
            value = truth.get(model)
            if not isinstance(value, (int, float, np.integer, np.floating)) or not np.isfinite(value):
                raise LtrValueError(
                    f"truth must have a finite number for every model: {model!r} has {value!r}. An undefined metric orders nothing."
                )
        return np.array([truth[model] for model in self.models], dtype=np.float64)

    def _checkpoint(self, impressions: Any) -> int:
        known = self.checkpoints
        at = int(np.searchsorted(known, require_count("impressions", impressions)))
        if impressions in known:
            return at
        near = " and ".join(f"{one:,}" for one in known[max(0, at - 1) : at + 1].tolist())
        raise LtrValueError(
            f"The outcome after {impressions:,} impressions was not kept. The nearest checkpoints are {near}; outcome.checkpoints has all."
        )

    # -- pairs ----------------------------------------------------------------------------------------------------------

    def _pairs(self, confidence: float) -> list[dict[str, Any]]:
        confidence = require_confidence(confidence)
        n, wins, preference = self.n_impressions, self.wins, self.preference
        squares = self.tally.squares.sum(axis=0)
        sums = _but_for_rounding(n, self.tally.differences.sum(axis=0), squares)
        rows = []
        for i, j in combinations(range(len(self.models)), 2):
            won, lost = int(wins[i, j]), int(wins[j, i])
            values = (
                *(self.models[i], self.models[j], n, won, n - won - lost, lost, float(preference[i, j])),
                *_of_wins(won, lost, confidence),
                *_of_credit(n, float(sums[i, j]), float(squares[i, j]), confidence),
            )
            rows.append(dict(zip(PAIR, values, strict=True)))
        return rows


def _but_for_rounding(n: Any, differences: FloatArray, squares: FloatArray) -> FloatArray:
    """Return sums of n differences, exactly 0 where there is nothing but rounding."""
    most = np.sqrt(n * squares)  # that the amounts of the differences can add up to
    cleaned: FloatArray = np.where(np.abs(differences) <= NO_DIFFERENCE * most, 0.0, differences)
    return cleaned


def _of_wins(won: int, lost: int, confidence: float) -> tuple[float, float, float, float]:
    """Return share of the decided impressions, its limits, and the p-value."""
    if not won + lost:
        return NAN, NAN, NAN, NAN
    found = library("scipy.stats").binomtest(won, won + lost)
    limits = found.proportion_ci(confidence, method="exact")
    return won / (won + lost), float(limits.low), float(limits.high), float(found.pvalue)


def _of_credit(n: int, total: float, squares: float, confidence: float) -> tuple[float, float, float, float]:
    """Return the mean difference, its limits, and the p-value."""
    mean = total / n
    deviations = squares - total * mean
    if n < 2 or deviations <= NO_DIFFERENCE * squares:
        return mean, NAN, NAN, NAN
    stats = library("scipy.stats")
    error = float(np.sqrt(deviations / (n - 1) / n))
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * error
    return mean, mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, n - 1))
