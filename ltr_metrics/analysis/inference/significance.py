"""Two-sided tests of whether the mean difference over all queries is 0."""

from __future__ import annotations

from typing import get_args

from ltr_metrics._engine.checks import BoolArray, FloatArray, require_option
from ltr_metrics._engine.words import Test
from ltr_metrics.analysis.inference.classical import sign_p, t_p, wilcoxon_p
from ltr_metrics.analysis.inference.randomization import randomization_p
from ltr_metrics.analysis.inference.resampling import Seed, require_n_resamples
from ltr_metrics.analysis.inference.sample import Sample

TESTS: tuple[Test, ...] = get_args(Test)


def p_values(
    sample: Sample, test: Test = "randomization", n_resamples: int = 10_000, seed: Seed = 0
) -> tuple[FloatArray, BoolArray]:
    r"""Return the two-sided p-value of each column.

    ``"randomization"``: under the null hypothesis the two systems are exchangeable in each unit, so
    every difference could equally have the opposite sign. With :math:`T(s) = |\sum_u s_u w_u d_u|`,
    p is the share of sign vectors s with :math:`T(s) \ge T(1)`. All sign vectors are used if there
    are at most 13 non-zero differences, or no more vectors than ``n_resamples``. Otherwise p is
    :math:`(1 + \#\{T(s) \ge T(1)\}) / (1 + B)` over B random vectors. Sums that differ by rounding
    alone are equal. Weights and clusters are supported: the signs of a cluster change together.

    ``"t"``: the paired t test, mean / standard error under Student's t with n - 1 degrees of
    freedom. Where weights differ, n is the effective number of units (Kish). Where the standard
    error is 0, p is the limit: 1 for a mean of 0, and 0 for any other, however few the units.

    ``"wilcoxon"`` and ``"sign"`` use the non-zero differences, without weights and clusters. They
    test the median rather than the mean. Differences that agree in 12 digits of the largest are
    ties. Wilcoxon's p is exact for up to 13 non-zero differences, and for up to 50 without ties.
    Beyond, it is the normal approximation with the variance corrected for ties.

    Parameters
    ----------
    sample : Sample
    test : {"randomization", "t", "wilcoxon", "sign"}
    n_resamples : int, default 10_000
        B, at least 100; for ``"randomization"``.
    seed : int or sequence of int, default 0
        Seed of the random signs, which are the same for all columns.

    Returns
    -------
    p : ndarray of float64 of shape (n_columns,)
        From 0 to 1; NaN for fewer than two units.
    exact : ndarray of bool of shape (n_columns,)
        Whether p is from the complete distribution over signs, not from a random part or an
        approximation.

    Raises
    ------
    LtrValueError
        An unknown test, too few resamples, or a test without weights for a sample that has them.

    References
    ----------
    R. A. Fisher, The Design of Experiments, 1935.

    M. D. Smucker, J. Allan, B. Carterette, A Comparison of Statistical Significance Tests for
    Information Retrieval Evaluation, CIKM 2007.

    Examples
    --------
    >>> sample = Sample.of([[0.3, 0.1], [0.2, -0.2], [0.1, 0.2], [0.4, 0.0]])
    >>> p, exact = p_values(sample)
    >>> p.tolist(), exact.tolist()
    ([0.125, 1.0], [True, True])
    >>> p_values(sample, "t")[0].round(4).tolist()
    [0.0305, 0.7888]
    """
    require_option("test", test, TESTS)
    n_resamples = require_n_resamples(n_resamples)
    if test == "randomization":
        return randomization_p(sample, n_resamples, seed)
    return {"t": t_p, "wilcoxon": wilcoxon_p, "sign": sign_p}[test](sample)
