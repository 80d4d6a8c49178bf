"""The result of many impressions: who wins, how certain that is, and whether a metric agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ltr_metrics._engine.checks import FloatArray, require_confidence, require_count, require_option
from ltr_metrics._engine.plain import none_if_nan, to_dataframe
from ltr_metrics._engine.printed import Printed, Table
from ltr_metrics._engine.rounding import difference_of
from ltr_metrics._engine.words import OutcomeBy
from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError, did_you_mean, import_extra
from ltr_metrics.interleaving.clusters import credit_statistics, win_statistics
from ltr_metrics.interleaving.tally import Counts, Tally, checkpoints
from ltr_metrics.metrics.base import Metric

if TYPE_CHECKING:
    import pandas

ZERO_TOLERANCE = 1e-12  # of a sum of differences, relative to its terms
BY: tuple[OutcomeBy, ...] = get_args(OutcomeBy)
NAN = float("nan")
PAIR_COLUMNS = (
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


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Printed):
    """The pairwise wins and credit of models over many impressions.

    Parameters
    ----------
    models : list of str
        Names, in the order of the tally's rankers.
    method : str
        Name of the interleaving method.
    tally : Tally
        The sums over all impressions. Its parts are merged into parts that end at `checkpoints`.
    offline : callable, optional
        A function from a metric to the mean of each model by name, on the queries of the
        simulation. `error` compares the outcome with it.
    clusters : Tally, optional
        The sums of each cluster of impressions, one part a cluster. Intervals and p-values are then
        over clusters.

    Raises
    ------
    LtrValueError
        If there are not as many names as rankers, or a name is repeated.

    See Also
    --------
    score : The outcome of logged impressions.
    simulate : The outcome of simulated ones.

    Examples
    --------
    >>> from ltr_metrics.interleaving import Impression, Shown, score
    >>> rankings = {"old": ["a", "b", "c"], "new": ["b", "d", "a"]}
    >>> log = [Impression(rankings, Shown(["a", "b", "d"]), [1]), Impression(rankings, Shown(["b", "a", "d"]), [])]
    >>> outcome = score(log, "ppm")
    >>> outcome.n_clusters is None
    True
    >>> outcome.models, outcome.n_impressions, outcome.wins.tolist(), outcome.ties.tolist()
    (['old', 'new'], 2, [[0, 0], [1, 0]], [[2, 1], [1, 2]])
    >>> outcome.preference.tolist(), bool(outcome.credit[1] > outcome.credit[0])
    ([[0.5, 0.25], [0.75, 0.5]], True)
    >>> outcome.error(truth={"new": 0.61, "old": 0.58})
    0.0
    >>> outcome.checkpoints.tolist(), outcome.errors(truth={"new": 0.61, "old": 0.58})[1].tolist()
    ([1, 2], [0.0, 0.0])
    >>> outcome.to_pandas()[["model", "other", "wins"]].values.tolist()
    [['old', 'new', 0]]
    >>> outcome.to_dict()["method"]
    'ppm'
    """

    models: list[str]
    method: str
    tally: Tally
    offline: Callable[[Any], Mapping[str, float]] | None = None
    clusters: Tally | None = None

    def __post_init__(self) -> None:
        models = list(self.models)
        n_rankers = self.tally.wins.shape[1]
        is_text = all(isinstance(name, str) for name in models)
        if not is_text or len(models) != n_rankers or len(set(models)) < n_rankers:
            raise LtrValueError(
                f"models must be {n_rankers} different names (text), one for each of the {n_rankers} rankers. "
                f"Got {models!r}."
            )
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "tally", self.tally.merge_parts(checkpoints(int(self.tally.n.sum()))))

    @property
    def n_impressions(self) -> int:
        """Number of impressions, ties included."""
        return int(self.tally.n.sum())

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of impressions, such as users; None without clusters."""
        return None if self.clusters is None else len(self.clusters.n)

    @property
    def checkpoints(self) -> Counts:
        """Numbers of impressions after which `error` is known. The last is `n_impressions`."""
        return self.tally.ends

    @cached_property
    def wins(self) -> Counts:
        """Number of impressions in which the row has a higher credit than the column."""
        total: Counts = self.tally.wins.sum(axis=0)
        total.setflags(write=False)
        return total

    @property
    def ties(self) -> Counts:
        """Number of impressions that neither model wins. The diagonal holds all impressions."""
        return self.n_impressions - self.wins - self.wins.T

    @property
    def preference(self) -> FloatArray:
        """Share of the impressions that the row wins against the column.

        A tie counts one half. Above 0.5, users prefer the row.
        """
        share: FloatArray = (self.wins + self.ties / 2) / self.n_impressions
        return share

    @property
    def credit(self) -> FloatArray:
        """Mean credit per impression of each model. Only the differences are meaningful."""
        mean: FloatArray = self.tally.credit.sum(axis=0) / self.n_impressions
        return mean

    def to_pandas(self, confidence: float = 0.95) -> pandas.DataFrame:
        """Return a table with one row per pair of models.

        Parameters
        ----------
        confidence : float, default 0.95
            Confidence level of the limits.

        Returns
        -------
        pandas.DataFrame
            The columns are model, other, impressions, and wins, ties, losses and preference of
            ``model`` against ``other``. Then come win_share with its limits win_share_low and
            win_share_high, and p_wins. The last are credit_difference with its limits credit_low
            and credit_high, and p_credit. With clusters there is n_clusters, too.

        Notes
        -----
        win_share is wins / (wins + losses). Its limits are exact (Clopper and Pearson), and p_wins
        is the exact binomial test against one half, which is the sign test. All four are NaN if
        every impression is a tie.

        credit_difference is the mean difference per impression, with the limits and the p-value of
        the paired t-test. These three are NaN for a single impression, and if the difference is the
        same in all impressions.

        With clusters, p_wins is that of a randomization test that swaps the models in whole
        clusters. The limits of win_share are those of Korn and Graubard (1998), with an effective
        number of impressions. The limits and the p-value of credit_difference are Student's with a
        standard error over clusters. All of them are NaN for a single cluster.

        With PPM, p_wins does not test whether users have a preference: clicks that ignore the
        documents give equal credit on average, but may give one model more wins.

        All p-values are two-sided, and none is corrected for the number of pairs
        (``ltr_metrics.analysis.inference.correct`` does that). They hold for a number of
        impressions that was chosen in advance. Stopping at the first small p-value finds
        differences that do not exist.
        """
        has_clusters = self.clusters is not None
        return to_dataframe(self._pairs(confidence), columns=[*PAIR_COLUMNS, *["n_clusters"] * has_clusters])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            Matrices are lists of rows. ``pairs`` has the rows of `to_pandas`.
        """
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
        r"""Return the share of the pairs of models on which clicks and an offline metric disagree.

        It is the mean over the pairs i, j of

        .. math:: \frac{|\operatorname{sign}(online_i - online_j)
            - \operatorname{sign}(offline_i - offline_j)|}{2}

        This is the binary error of Schuth et al. (CIKM 2014), except that a pair which is tied on
        only one side counts one half.

        Parameters
        ----------
        metric : str or Metric, optional
            The offline metric, such as ``"ndcg_lin@10"``, evaluated on the queries of the
            simulation.
        truth : mapping of str to float, optional
            A number for each model, used instead of a metric. Higher is better.
        by : {"wins", "credit"}
            What decides online: the number of impressions won, or the credit.
        impressions : int, optional
            The number of impressions, one of `checkpoints`. Default: all.

        Returns
        -------
        float
            From 0 (agreement on all pairs) to 1.

        Raises
        ------
        LtrValueError, LtrTypeError
            If neither or both of ``metric`` and ``truth`` are given, or if a metric is given for
            logged impressions. Also if a model has no number, or if ``impressions`` is not a
            checkpoint.
        """
        index = len(self.checkpoints) - 1 if impressions is None else self._checkpoint_index(impressions)
        return float(self.errors(metric, truth=truth, by=by)[1][index])

    def errors(
        self, metric: str | Metric | None = None, *, truth: Mapping[str, float] | None = None, by: OutcomeBy = "wins"
    ) -> tuple[Counts, FloatArray]:
        """Return the checkpoints and the error at each.

        Parameters
        ----------
        metric : str or Metric, optional
            The offline metric, such as ``"ndcg_lin@10"``, evaluated on the queries of the
            simulation.
        truth : mapping of str to float, optional
            A number for each model, used instead of a metric. Higher is better.
        by : {"wins", "credit"}
            What decides online: the number of impressions won, or the credit.

        Returns
        -------
        impressions : ndarray of int of shape (n_checkpoints,)
            The `checkpoints`.
        errors : ndarray of float64 of shape (n_checkpoints,)
            The `error` at each, from 0 to 1.

        Raises
        ------
        LtrValueError, LtrTypeError
            As for `error`.
        """
        offline = self._offline_values(metric, truth)
        online_signs = np.sign(self._leads(require_option("by", by, BY)))
        offline_signs = np.sign(difference_of(offline[:, None], offline[None, :]))
        first, second = np.triu_indices(len(self.models), 1)
        share: FloatArray = np.abs(online_signs - offline_signs)[:, first, second].mean(axis=1) / 2
        return self.checkpoints, share

    def printed_parts(self) -> list[Table]:
        """Return the table of preferences."""
        rows = [
            (f"{i + 1} {model}", *("-" if i == j else f"{share:.4f}" for j, share in enumerate(shares)))
            for i, (model, shares) in enumerate(zip(self.models, self.preference.tolist(), strict=True))
        ]
        header = ("", *(str(i + 1) for i in range(len(rows))))
        n = self.n_impressions
        title = (
            f"{self.method}, {n:,} impression{'s' * (n != 1)}. "
            "Share won by the row against the column (a tie counts one half):"
        )
        return [Table(header, rows, min_widths=(0, *[6] * len(rows)), title=title)]

    # -- comparison with an offline metric --------------------------------------------------------

    def _leads(self, by: OutcomeBy) -> FloatArray:
        """Return the row's lead over the column at each checkpoint, of shape (n_checkpoints, L, L)."""
        if by == "wins":
            wins = self.tally.wins.cumsum(axis=0)
            lead: FloatArray = (wins - wins.transpose(0, 2, 1)).astype(np.float64)
            return lead
        n = self.checkpoints[:, None, None]
        return _zero_rounding_errors(n, self.tally.differences.cumsum(axis=0), self.tally.squares.cumsum(axis=0))

    def _offline_values(self, metric: Any, truth: Any) -> FloatArray:
        if (metric is None) == (truth is None):
            raise LtrTypeError(
                "Pass exactly one of metric and truth to compare the outcome with: metric is a name such as "
                '"ndcg_lin@10", and truth is a number for each model.'
            )
        if truth is None:
            if self.offline is None:
                raise LtrValueError(
                    f"Logged impressions have no labels, so {metric} cannot be computed. Pass truth={{model: number}}, "
                    "for example the means from ltr_metrics.evaluate."
                )
            truth = self.offline(metric)
        if not isinstance(truth, Mapping):
            raise LtrTypeError(f"truth must map each model to a number. Got {truth!r}.")
        for name in truth:
            if name not in self.models:
                raise LtrKeyError(
                    f"truth has {name!r}, which is not one of the models.{did_you_mean(str(name), self.models)} "
                    f"Models: {', '.join(self.models)}."
                )
        for model in self.models:
            value = truth.get(model)
            if not isinstance(value, (int, float, np.integer, np.floating)) or not np.isfinite(value):
                raise LtrValueError(
                    f"truth must have a finite number for every model, but {model!r} has {value!r}. "
                    "An undefined metric cannot order the models."
                )
        return np.array([truth[model] for model in self.models], dtype=np.float64)

    def _checkpoint_index(self, impressions: Any) -> int:
        index = int(np.searchsorted(self.checkpoints, require_count("impressions", impressions)))
        if impressions in self.checkpoints:
            return index
        nearest = " and ".join(f"{n:,}" for n in self.checkpoints[max(0, index - 1) : index + 1].tolist())
        raise LtrValueError(
            f"The outcome after {impressions:,} impressions was not kept. The nearest checkpoints are {nearest}; "
            "outcome.checkpoints has all."
        )

    # -- statistics of pairs ----------------------------------------------------------------------

    def _pairs(self, confidence: float) -> list[dict[str, Any]]:
        confidence = require_confidence(confidence)
        n, preference = self.n_impressions, self.preference
        squares = self.tally.squares.sum(axis=0)
        differences = _zero_rounding_errors(n, self.tally.differences.sum(axis=0), squares)
        rows = []
        for i, j in combinations(range(len(self.models)), 2):
            wins, losses = int(self.wins[i, j]), int(self.wins[j, i])
            if self.clusters is None:
                of_wins = _win_statistics(wins, losses, confidence)
                of_credit = _credit_statistics(n, float(differences[i, j]), float(squares[i, j]), confidence)
            else:
                of_wins = win_statistics(self.clusters, i, j, confidence)
                of_credit = credit_statistics(self.clusters, i, j, confidence)
            counts = (self.models[i], self.models[j], n, wins, n - wins - losses, losses, float(preference[i, j]))
            row = dict(zip(PAIR_COLUMNS, (*counts, *of_wins, *of_credit), strict=True))
            rows.append(row if self.clusters is None else row | {"n_clusters": self.n_clusters})
        return rows


def _zero_rounding_errors(n: Any, differences: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the sums of n differences, with exactly 0 for a sum that is only rounding error."""
    largest = np.sqrt(n * squares)  # bounds the sum of the absolute differences
    cleaned: FloatArray = np.where(np.abs(differences) <= ZERO_TOLERANCE * largest, 0.0, differences)
    return cleaned


def _win_statistics(wins: int, losses: int, confidence: float) -> tuple[float, float, float, float]:
    """Return the share of the decided impressions, its limits, and the p-value."""
    if not wins + losses:
        return NAN, NAN, NAN, NAN
    test = import_extra("scipy.stats", "report").binomtest(wins, wins + losses)
    limits = test.proportion_ci(confidence, method="exact")
    return wins / (wins + losses), float(limits.low), float(limits.high), float(test.pvalue)


def _credit_statistics(n: int, total: float, squares: float, confidence: float) -> tuple[float, float, float, float]:
    """Return the mean difference in credit, its limits, and the p-value."""
    mean = total / n
    deviations = squares - total * mean
    if n < 2 or deviations <= ZERO_TOLERANCE * squares:
        return mean, NAN, NAN, NAN
    stats = import_extra("scipy.stats", "report")
    error = float(np.sqrt(deviations / (n - 1) / n))
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * error
    return mean, mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, n - 1))
