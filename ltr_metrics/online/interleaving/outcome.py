"""The result of many impressions: who wins, how certain that is, and whether a metric agrees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, get_args

import numpy as np

from ltr_metrics._rows.checks import FloatArray, IntArray, require_confidence, require_option
from ltr_metrics._rows.ids import label_codes
from ltr_metrics._rows.json_values import DataFrame, to_dataframe, to_json
from ltr_metrics._rows.per_query import warn_of_words_for_missing
from ltr_metrics._rows.words import OutcomeBy
from ltr_metrics.analysis.inference import Sample, intervals, p_values
from ltr_metrics.errors import LtrTypeError, LtrValueError, import_extra
from ltr_metrics.evaluation.ranges import difference_of
from ltr_metrics.evaluation.tables import Table, Tabular
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.requests import resolve

TIE_TOLERANCE = 1e-9  # relative to max(1, |a|, |b|): they are sums of 1/P in any order
WINS = ("win_share", "win_share_low", "win_share_high", "p_wins")
CREDIT = ("credit_low", "credit_high", "p_credit")
UNDEFINED = (math.nan,) * 3


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Tabular):
    """The pairwise wins and credit of models over many impressions.

    Parameters
    ----------
    models : list of str
        Names, one for each row of ``credit_by_impression``.
    method : str
        Name of the interleaving method.
    credit_by_impression : ndarray of float64 of shape (n_models, n_impressions)
        The credit of each model in each impression.
    offline : callable, optional
        A function from a metric to the mean of each model by name, on the queries of the
        simulation. `error` compares the outcome with it.
    cluster : sequence, optional
        A label of each impression, such as its user. Intervals and p-values are then over clusters.

    Raises
    ------
    LtrValueError
        If the names are not distinct text, one for each model.

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
    >>> outcome.to_pandas()[["model", "other", "wins"]].values.tolist()
    [['old', 'new', 0]]
    >>> outcome.to_dict()["method"]
    'ppm'
    """

    models: list[str]
    method: str
    credit_by_impression: FloatArray
    offline: Callable[[Any], Mapping[str, float]] | None = None
    cluster: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        models, credit = list(self.models), np.asarray(self.credit_by_impression, dtype=np.float64)
        if len(credit) < 2 or not np.isfinite(credit).all():
            raise LtrValueError("credit_by_impression must be finite numbers, a row for each of two rankers or more.")
        if len(models) != len(credit) or len(set(models)) < len(models) or not all(isinstance(m, str) for m in models):
            raise LtrValueError(f"models must be {len(credit)} different names (text), one per ranker. Got {models!r}.")
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "credit_by_impression", credit)

    @property
    def n_impressions(self) -> int:
        """Number of impressions, ties included."""
        return int(self.credit_by_impression.shape[1])

    @cached_property
    def _cluster(self) -> IntArray | None:
        """Number of each impression's cluster, in order of first appearance."""
        if self.cluster is None:
            return None
        labels, code = label_codes(self.cluster, "cluster")
        warn_of_words_for_missing("cluster", (labels.tolist(), code), unit="impressions")
        return code

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of impressions, such as users; None without clusters."""
        return None if self._cluster is None else int(self._cluster.max()) + 1

    @cached_property
    def wins(self) -> IntArray:
        """Number of impressions in which the row has a higher credit than the column."""
        wins = np.zeros((len(self.models),) * 2, dtype=np.int64)
        for i, j in combinations(range(len(wins)), 2):
            difference = self._difference(i, j)
            wins[i, j], wins[j, i] = np.count_nonzero(difference > 0), np.count_nonzero(difference < 0)
        return wins

    @property
    def ties(self) -> IntArray:
        """Number of impressions that neither model wins. The diagonal holds all impressions."""
        return self.n_impressions - self.wins - self.wins.T

    @property
    def preference(self) -> FloatArray:
        """Share of the impressions that the row wins against the column.

        A tie counts one half. Above 0.5, users prefer the row.
        """
        return (self.wins + self.ties / 2) / self.n_impressions

    @property
    def credit(self) -> FloatArray:
        """Mean credit per impression of each model. Only the differences are meaningful."""
        return np.asarray(self.credit_by_impression.mean(axis=1))

    def to_pandas(self, confidence: float = 0.95) -> DataFrame:
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
        return to_dataframe(self._pairs(confidence))

    def to_dict(self) -> dict[str, Any]:
        """Return lists, numbers and text, ready for JSON; NaN is None.

        Returns
        -------
        dict
            Matrices are lists of rows. ``pairs`` has the rows of `to_pandas`.
        """
        names = ("models", "method", "preference", "wins", "ties", "credit")
        fields = {name: getattr(self, name) for name in names}
        return to_json(fields | {"impressions": self.n_impressions, "pairs": self._pairs(0.95)})  # type: ignore[no-any-return]

    def error(
        self, metric: str | Metric | None = None, *, truth: Mapping[str, float] | None = None, by: OutcomeBy = "wins"
    ) -> float:
        r"""Return the share of the pairs of models on which clicks and an offline metric disagree.

        It is the mean over the pairs i, j of

        .. math:: \frac{|\operatorname{sign}(online_i - online_j)
            - \operatorname{sign}(offline_i - offline_j)|}{2}

        This is the binary error of Schuth et al. (CIKM 2014), except that a pair which is tied on
        only one side counts one half. Where lower is better, offline is the negative of the metric.

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
        float
            From 0 (agreement on all pairs) to 1.

        Raises
        ------
        LtrValueError, LtrTypeError
            If neither or both of ``metric`` and ``truth`` are given, or if a metric is given for
            logged impressions. Also if a model has no number.
        """
        offline = self._offline_values(metric, truth)
        lead = self.wins - self.wins.T
        if require_option("by", by, get_args(OutcomeBy)) == "credit":
            lead = np.array([[_sum(self._difference(i, j)) for j in range(len(lead))] for i in range(len(lead))])
        distance = np.abs(np.sign(lead) - np.sign(difference_of(offline[:, None], offline[None, :])))
        return float(distance[np.triu_indices(len(lead), 1)].mean() / 2)

    def printed(self) -> list[Table]:
        """Return the table of preferences."""
        rows = [
            (f"{i + 1} {model}", *("-" if i == j else f"{share:.4f}" for j, share in enumerate(shares)))
            for i, (model, shares) in enumerate(zip(self.models, self.preference.tolist(), strict=True))
        ]
        n = self.n_impressions
        title = (
            f"{self.method}, {n:,} impression{'s' * (n != 1)}. "
            "Share won by the row against the column (a tie counts one half):"
        )
        return [Table(["", *(str(i + 1) for i in range(len(rows)))], rows, "lr", title)]

    # -- pairs ------------------------------------------------------------------------------------

    def _difference(self, i: int, j: int) -> FloatArray:
        """Return the difference in credit of each impression, exactly 0 where the two are tied."""
        one, other = self.credit_by_impression[i], self.credit_by_impression[j]
        difference = one - other
        bound = TIE_TOLERANCE * np.maximum(np.maximum(np.abs(one), np.abs(other)), 1)
        return np.where(np.abs(difference) <= bound, 0.0, difference)

    def _pairs(self, confidence: float) -> list[dict[str, Any]]:
        confidence, rows = require_confidence(confidence), []
        for i, j in combinations(range(len(self.models)), 2):
            difference = self._difference(i, j)
            row: dict[str, Any] = {"model": self.models[i], "other": self.models[j], "impressions": self.n_impressions}
            row |= {"wins": int(self.wins[i, j]), "ties": int(self.ties[i, j]), "losses": int(self.wins[j, i])}
            row["preference"] = float(self.preference[i, j])
            row |= zip(WINS, self._win_statistics(difference, confidence), strict=True)
            row["credit_difference"] = _sum(difference) / self.n_impressions
            row |= zip(CREDIT, self._credit_statistics(difference, confidence), strict=True)
            rows.append(row if self._cluster is None else row | {"n_clusters": self.n_clusters})
        return rows

    def _win_statistics(self, difference: FloatArray, confidence: float) -> tuple[float, ...]:
        """Return the share of the decided impressions that are won, its limits, and the p-value.

        The limits are Clopper and Pearson's. With clusters they are those for the effective number of
        impressions (Korn and Graubard, Confidence Intervals for Proportions with Small Expected Number of
        Positive Counts Estimated from Survey Data, Survey Methodology 24, 1998), and the p-value is that of
        the randomization test, which swaps whole clusters.
        """
        decided = difference != 0
        won, n_decided = int((difference > 0).sum()), int(decided.sum())
        if not n_decided:
            return math.nan, *UNDEFINED
        stats, level, share = import_extra("scipy.stats", "report"), (1 + confidence) / 2, won / n_decided
        if self._cluster is None:
            test = stats.binomtest(won, n_decided)
            return share, *map(float, test.proportion_ci(confidence, method="exact")), float(test.pvalue)
        sample = Sample.of(np.sign(difference)[:, np.newaxis], decided.astype(np.float64), self._cluster)
        n = float(sample.n_units[0])  # if clusters do not differ, each is one impression
        if n < 2:
            return share, *UNDEFINED
        error = float(sample.standard_error[0]) / 2  # the share is (1 + mean sign) / 2
        if error > 0:
            ratio = float(stats.t.ppf(level, n_decided - 1) / stats.t.ppf(level, sample.degrees_of_freedom[0]))
            n = min(share * (1 - share) / error**2 * ratio**2, n_decided)
        low = float(stats.beta.ppf(1 - level, share * n, (1 - share) * n + 1)) if share > 0 else 0.0
        high = float(stats.beta.ppf(level, share * n + 1, (1 - share) * n)) if share < 1 else 1.0
        return share, low, high, float(p_values(sample, "randomization")[0])

    def _credit_statistics(self, difference: FloatArray, confidence: float) -> tuple[float, ...]:
        """Return the limits of the mean difference and the p-value, by Student's t over impressions or clusters.

        They are NaN for a single one, and if the difference is the same in all.
        """
        sample = Sample.of(difference[:, np.newaxis], cluster=self._cluster)
        if sample.n_units[0] < 2 or sample.is_constant[0]:
            return UNDEFINED
        [limits] = intervals(sample, confidence)
        return limits.low, limits.high, float(p_values(sample, "t")[0])

    def _offline_values(self, metric: Any, truth: Any) -> FloatArray:
        """Return a number for each model; higher is better."""
        if (metric is None) == (truth is None):
            raise LtrTypeError(
                "Pass exactly one of metric and truth to compare the outcome with: metric is a name such as "
                '"ndcg_lin@10", and truth is a number for each model.'
            )
        if metric is not None and self.offline is None:
            raise LtrValueError(
                f"Logged impressions have no labels, so {metric} cannot be computed. Pass truth={{model: number}}, "
                "for example the means from ltr_metrics.evaluate."
            )
        numbers = truth if self.offline is None or metric is None else self.offline(metric)
        is_mapping = isinstance(numbers, Mapping) and set(numbers) == set(self.models)
        values = np.array([numbers[model] for model in self.models] if is_mapping else [np.nan], dtype=np.float64)
        if not np.isfinite(values).all():
            raise LtrValueError(
                f"truth must map each of the models {', '.join(self.models)} to a finite number, and no other name. "
                f"Got {truth!r}."
            )
        return -values if metric is not None and resolve(metric).lower_is_better else values


def _sum(differences: FloatArray) -> float:
    """Return the sum, exactly 0 if it is rounding error."""
    total = float(differences.sum())
    return 0.0 if abs(total) <= 1e-12 * float(np.abs(differences).sum()) else total
