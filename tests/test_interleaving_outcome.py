"""What many impressions add up to, against plain loops and SciPy; the picture of the error."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError
from ltr_metrics.interleaving.outcome import Outcome, Tally, checkpoints, ends_of_block
from ltr_metrics.report import OnlineErrorDisplay
from ltr_metrics.report.plots.svg import svg_of

mpl.use("Agg")
CREDITS = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from([1 / 3, 0.1 + 0.2, 0.3, 1 - 2 / 3, 1e12, 1e12 + 1, 1e12 + 1e5, 1e-10, -1e-10]),
)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close what a test leaves open."""
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@st.composite
def credits_in_parts(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    n_rankers, n = draw(st.integers(2, 4)), draw(st.integers(1, 30))
    credit = draw(st.lists(st.lists(CREDITS, min_size=n, max_size=n), min_size=n_rankers, max_size=n_rankers))
    ends = draw(st.sets(st.integers(1, n)))
    return np.array(credit), sorted(ends | {n})


def slow(credit: np.ndarray, ends: list[int]) -> list[dict[str, np.ndarray]]:
    """Count impression by impression and pair by pair."""
    parts = []
    for start, stop in itertools.pairwise([0, *ends]):
        n_rankers = len(credit)
        wins = np.zeros((n_rankers, n_rankers), dtype=int)
        differences, squares = np.zeros((2, n_rankers, n_rankers))
        for k in range(start, stop):
            for i, j in itertools.product(range(n_rankers), repeat=2):
                a, b = float(credit[i, k]), float(credit[j, k])
                if abs(a - b) > 1e-9 * max(1, abs(a), abs(b)):
                    wins[i, j] += a > b
                    differences[i, j] += a - b
                    squares[i, j] += (a - b) ** 2
        total = np.array([math.fsum(of_ranker[start:stop]) for of_ranker in credit])
        parts.append({"wins": wins, "differences": differences, "squares": squares, "credit": total})
    return parts


def outcome_of(credit: object, method: str = "ppm", **options: object) -> Outcome:
    credit = np.array(credit, dtype=float)
    n = credit.shape[1]
    models = ["a", "b", "c", "d", "e"][: len(credit)]
    tally = Tally.of(credit, checkpoints(n))
    return Outcome(models=models, method=method, tally=tally, **options)  # type: ignore[arg-type]


def known(n_impressions: int, n_rankers: int = 2, seed: int = 0) -> np.ndarray:
    """Return whole-numbered credit with many ties, of which the first rankers have a little more."""
    rng = np.random.default_rng(seed)
    return rng.poisson(np.linspace(0.8, 0.5, n_rankers)[:, None], (n_rankers, n_impressions)).astype(float)


# -- tally ------------------------------------------------------------------------------------------------------------


@given(credits_in_parts())
def test_a_tally_is_a_plain_loop(case: tuple[np.ndarray, list[int]]) -> None:
    credit, ends = case
    tally = Tally.of(credit, ends)
    assert tally.n.tolist() == np.diff([0, *ends]).tolist()
    assert tally.ends.tolist() == ends
    assert (tally.wins.dtype, tally.credit.dtype) == (np.int64, np.float64)
    for i, part in enumerate(slow(credit, ends)):
        assert tally.wins[i].tolist() == part["wins"].tolist()
        for name in ("credit", "differences", "squares"):
            expected = part[name]
            np.testing.assert_allclose(getattr(tally, name)[i], expected, rtol=1e-12, atol=1e-12 * abs(credit).max())


@given(credits_in_parts(), st.data())
def test_cutting_and_joining_in_any_way_counts_the_same(
    case: tuple[np.ndarray, list[int]], data: st.DataObject
) -> None:
    credit, ends = case
    n = credit.shape[1]
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1)) if n > 1 else st.just(set())))
    blocks = []
    for start, stop in itertools.pairwise([0, *cuts, n]):
        of_block = sorted({end - start for end in ends if start < end < stop} | {stop - start})
        blocks.append(Tally.of(credit[:, start:stop], of_block))
    middle = data.draw(st.integers(0, len(blocks)))
    halves = [Tally.together(half) for half in (blocks[:middle], blocks[middle:]) if half]
    joined = Tally.together(halves)
    assert joined.ends.tolist() == sorted({*ends, *cuts})
    merged, whole = joined.merged(ends), Tally.of(credit, ends)
    assert merged.n.tolist() == whole.n.tolist()
    assert merged.wins.tolist() == whole.wins.tolist()
    np.testing.assert_allclose(merged.credit, whole.credit, rtol=1e-12, atol=1e-12 * abs(credit).max())
    np.testing.assert_allclose(merged.squares, whole.squares, rtol=1e-12)


def test_blocks_keep_their_checkpoints() -> None:
    credit = known(1000, 3)
    bounds = [0, 7, 8, 300, 999, 1000]
    blocks = [Tally.of(credit[:, a:b], ends_of_block(a, b)) for a, b in itertools.pairwise(bounds)]
    outcome = Outcome(models=["a", "b", "c"], method="ppm", tally=Tally.together(blocks))
    assert outcome.checkpoints.tolist() == checkpoints(1000).tolist()
    assert outcome.tally.wins.tolist() == Tally.of(credit, checkpoints(1000)).wins.tolist()


def test_sums_in_another_order_are_a_tie() -> None:
    tally = Tally.of(np.array([[0.1 + 0.2 + 0.3, 1e12, 1e12], [0.3 + 0.2 + 0.1, 1e12 + 1, 1e12 + 1e4]]), [3])
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert tally.wins[0].tolist() == [[0, 0], [1, 0]]
    assert tally.squares[0, 0, 1] == 1e8  # of a tie exactly nothing


def test_ten_checkpoints_a_decade() -> None:
    assert checkpoints(1).tolist() == [1]
    assert checkpoints(100).tolist() == [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 79, 100]
    for n in (7, 9, 10, 11, 99, 101, 123_456, 10**9):
        found = checkpoints(n).tolist()
        assert found[-1] == n
        assert set(found[:-1]) == {k for k in checkpoints(10**10).tolist() if k < n}
        ratios = [b / a for a, b in itertools.pairwise(found) if a >= 10]
        assert max(ratios, default=1) < 1.31


@pytest.mark.parametrize(
    ("credit", "ends", "message"),
    [
        ([[1.0, 2.0]], [2], r"a row a ranker, two or more.* shape \(1, 2\)"),
        ([1.0, 2.0], [2], r"Got shape \(2,\)"),
        ([[1.0, 2.0], [1.0, math.nan]], [2], "got nan for ranker 1 in impression 1"),
        ([[1.0, math.inf], [1.0, 0.0]], [2], "got inf for ranker 0 in impression 1"),
        ([[1.0, 2.0], [1.0, 0.0]], [1], r"from 1 or more to 2\. Got \[1\]"),
        ([[1.0, 2.0], [1.0, 0.0]], [], "ends must be"),
        ([[1.0, 2.0], [1.0, 0.0]], [1, 1, 2], "ascend"),
        ([[1.0, 2.0], [1.0, 0.0]], [0, 2], "ascend"),
        ([[1.0, 2.0], [1.0, 0.0]], [2, 1, 2], "ascend"),
        ([[1.0, 2.0], [1.0, 0.0]], [1.5, 2.0], "whole numbers"),
    ],
)
def test_what_is_no_tally(credit: object, ends: list[int], message: str) -> None:
    with pytest.raises(LtrValueError, match=message):
        Tally.of(np.array(credit), ends)


def test_parts_cannot_be_split() -> None:
    tally = Tally.of(known(10), [4, 10])
    with pytest.raises(LtrValueError, match=r"they end at \[4, 10\], asked were \[5, 10\]"):
        tally.merged([5, 10])
    with pytest.raises(LtrValueError, match="ascend"):
        tally.merged([4])


# -- outcome ----------------------------------------------------------------------------------------------------------


def test_three_models_by_hand() -> None:
    outcome = outcome_of([[2, 0, 1, 1], [1, 0, 1, 3], [0, 1, 1, 1]])
    assert outcome.n_impressions == 4
    assert outcome.wins.tolist() == [[0, 1, 1], [1, 0, 2], [1, 1, 0]]
    assert outcome.ties.tolist() == [[4, 2, 2], [2, 4, 1], [2, 1, 4]]
    assert outcome.preference.tolist() == [[0.5, 0.5, 0.5], [0.5, 0.5, 0.625], [0.5, 0.375, 0.5]]
    assert outcome.credit.tolist() == [1.0, 1.25, 0.75]
    assert (outcome.preference + outcome.preference.T).tolist() == [[1.0] * 3] * 3
    # pairs: a-b tied, a-c tied, b-c won. Offline a > b > c: two halves of three
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}) == pytest.approx(1 / 3)
    assert outcome.error(truth={"a": 1, "b": 1, "c": 1}) == pytest.approx(1 / 6)  # b-c alone is decided
    assert outcome.error(truth={"a": 1, "b": 1, "c": 2}) == pytest.approx((0 + 0.5 + 1) / 3)
    # by credit: b 5, a 4, c 3
    assert outcome.error(truth={"a": 2, "b": 3, "c": 1}, by="credit") == 0
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}, by="credit") == pytest.approx(1 / 3)
    assert outcome.error(truth={"a": 2, "b": 1, "c": 3}, by="credit") == 1
    # after one impression a > b > c, after two a-c is tied
    assert outcome.checkpoints.tolist() == [1, 2, 3, 4]
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}, impressions=1) == 0
    assert outcome.error(truth={"a": 3, "b": 2, "c": 1}, impressions=2) == pytest.approx((0 + 0.5 + 0.5) / 3)


def sign(x: float) -> float:
    return float(np.sign(x))


@examples(50)
@given(credits_in_parts(), st.lists(st.integers(0, 2), min_size=4, max_size=4), st.sampled_from(["wins", "credit"]))
def test_errors_are_a_plain_loop(case: tuple[np.ndarray, list[int]], grades: list[int], by: str) -> None:
    credit = np.round(case[0].clip(-3, 3))  # exact sums
    outcome = outcome_of(credit)
    truth = dict(zip(outcome.models, map(float, grades), strict=False))
    numbers, errors = outcome.errors(truth=truth, by=by)
    for n, error in zip(numbers.tolist(), errors.tolist(), strict=True):
        disagreed = []
        for i, j in itertools.combinations(range(len(credit)), 2):
            difference = credit[i, :n] - credit[j, :n]
            online = difference.sum() if by == "credit" else (difference > 0).sum() - (difference < 0).sum()
            disagreed.append(abs(sign(online) - sign(grades[i] - grades[j])) / 2)
        assert error == pytest.approx(np.mean(disagreed))
        assert outcome.error(truth=truth, by=by, impressions=n) == error
    assert outcome.error(truth=truth, by=by) == errors[-1]


def test_credit_that_is_one_but_for_rounding_is_tied() -> None:
    a = [0.1, 0.2, 0.3, 1 / 3, 1 / 3, 1 / 3, 0.0]
    b = [0.3, 0.1, 0.2, 0.0, 0.0, 0.0, 1.0]
    outcome = outcome_of([a, b])
    assert outcome.error(truth={"a": 0, "b": 0}, by="credit") == 0
    assert outcome.to_pandas()["credit_difference"].item() == 0
    third = 1 / 3  # offline means, too
    assert outcome.error(truth={"a": third + 0.3, "b": 0.3 + third * (1 + 1e-15)}, by="credit") == 0


def test_the_metric_is_asked_of_the_offline_side() -> None:
    asked = []

    def offline(metric: object) -> dict[str, float]:
        asked.append(metric)
        return {"b": 0.4, "a": 0.6}

    outcome = outcome_of([[1, 1, 0], [0, 0, 0]], offline=offline)
    assert outcome.error("ndcg_lin@10") == 0
    assert outcome.errors("map")[1].tolist() == [0, 0, 0]
    assert asked == ["ndcg_lin@10", "map"]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (LtrTypeError, {}, "Pass either metric"),
        (LtrTypeError, {"metric": "map", "truth": {"a": 1, "b": 2}}, "Pass either metric"),
        (LtrValueError, {"metric": "map"}, r"no labels to compute map from\. Pass truth="),
        (LtrValueError, {"truth": {"a": 1}}, "'b' has None"),
        (LtrValueError, {"truth": {"a": 1, "b": math.nan}}, "'b' has nan"),
        (LtrValueError, {"truth": {"a": 1, "b": "2"}}, "'b' has '2'"),
        (LtrKeyError, {"truth": {"a": 1, "B": 2}}, "truth has 'B', .*Did you mean 'b'"),
        (LtrTypeError, {"truth": [1, 2]}, "must map each model"),
        (LtrValueError, {"truth": {"a": 1, "b": 2}, "by": "clicks"}, "by must be one of"),
        (LtrValueError, {"truth": {"a": 1, "b": 2}, "impressions": 7}, "nearest checkpoints are 6 and 8;"),
        (LtrValueError, {"truth": {"a": 1, "b": 2}, "impressions": 31}, "nearest checkpoints are 30;"),
        (LtrValueError, {"truth": {"a": 1, "b": 2}, "impressions": 0}, "1 or more"),
        (LtrValueError, {"truth": {"a": 1, "b": 2}, "impressions": 2.0}, "1 or more"),
    ],
)
def test_what_an_error_cannot_be_of(kind: type[Exception], options: dict[str, object], message: str) -> None:
    with pytest.raises(kind, match=message):
        outcome_of(known(30)).error(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("models", [["a"], ["a", "b", "c"], ["a", "a"], ["a", 1]])
def test_a_name_for_each_ranker(models: list[str]) -> None:
    with pytest.raises(LtrValueError, match="for each of the 2 rankers"):
        Outcome(models=models, method="ppm", tally=Tally.of(known(3), [3]))


# -- statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_statistics_are_those_of_scipy_on_the_raw_differences(confidence: float) -> None:
    credit = known(500, 3) * np.array([[1], [0.7], [1 / 3]])
    table = outcome_of(credit).to_pandas(confidence)
    assert table[["model", "other"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    for row, (i, j) in zip(table.itertuples(), itertools.combinations(range(3), 2), strict=True):
        difference = credit[i] - credit[j]
        difference[np.abs(difference) < 1e-9] = 0
        won, lost = int((difference > 0).sum()), int((difference < 0).sum())
        assert (row.impressions, row.wins, row.ties, row.losses) == (500, won, 500 - won - lost, lost)
        assert min(won, lost, 500 - won - lost) > 0
        assert row.preference == pytest.approx((won + (500 - won - lost) / 2) / 500)
        t = stats.ttest_1samp(difference, 0)
        interval = t.confidence_interval(confidence)
        assert row.credit_difference == pytest.approx(difference.mean(), rel=1e-12)
        assert row.p_credit == pytest.approx(t.pvalue, rel=1e-9)
        assert row.p_credit == pytest.approx(stats.ttest_rel(credit[i], credit[j]).pvalue, rel=1e-9)
        assert (row.credit_low, row.credit_high) == pytest.approx((interval.low, interval.high), rel=1e-9)
        # Clopper and Pearson by quantiles of the beta distribution, the sign test by its sum
        tail = (1 - confidence) / 2
        limits = stats.beta.ppf(tail, won, lost + 1), stats.beta.ppf(1 - tail, won + 1, lost)
        assert row.win_share == won / (won + lost)
        assert (row.win_share_low, row.win_share_high) == pytest.approx(limits, rel=1e-9)
        n, most = won + lost, max(won, lost)
        exact = min(1.0, 2 * sum(math.comb(n, k) for k in range(most, n + 1)) / 2**n)
        assert row.p_wins == pytest.approx(exact, rel=1e-9)


def test_undefined_statistics_are_nan() -> None:
    def row(a: list[float], b: list[float]) -> dict[str, float]:
        return dict(outcome_of([a, b]).to_pandas().iloc[0])

    share, credit = (
        ["win_share", "win_share_low", "win_share_high", "p_wins"],
        ["credit_low", "credit_high", "p_credit"],
    )
    one = row([1], [0])
    assert np.isnan([one[name] for name in credit]).all()
    assert (one["win_share"], one["win_share_high"], one["p_wins"], one["credit_difference"]) == (1, 1, 1, 1)
    ties = row([1, 2, 3], [1, 2, 3])
    assert np.isnan([ties[name] for name in share + credit]).all()
    assert (ties["credit_difference"], ties["preference"], ties["ties"]) == (0, 0.5, 3)
    constant = row([0.1, 0.3, 0.8], [0.0, 0.2, 0.7])  # differences that vary by rounding alone
    assert len({0.1 - 0.0, 0.3 - 0.2, 0.8 - 0.7}) > 1
    assert np.isnan([constant[name] for name in credit]).all()
    assert constant["credit_difference"] == pytest.approx(0.1)
    assert constant["p_wins"] == 0.25
    some = row([1, 0, 0, 0], [0, 0, 0, 0])
    assert not np.isnan(list(some.values())[2:]).any()


@pytest.mark.parametrize("confidence", [0, 1, 95, "high"])
def test_confidence_is_a_share(confidence: object) -> None:
    with pytest.raises(LtrValueError, match="confidence must be a number between 0 and 1"):
        outcome_of(known(5)).to_pandas(confidence)  # type: ignore[arg-type]


@pytest.mark.slow
def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(7)
    found = []
    for _ in range(800):
        credit = rng.choice([0.0, 0.0, 1.0, 2.0, 5.0], (2, 400))
        found.append(outcome_of(credit).to_pandas().loc[0, ["p_wins", "p_credit", "credit_low", "credit_high"]])
    p_wins, p_credit, low, high = np.array(found, dtype=float).T
    assert abs((p_credit < 0.05).mean() - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 800)
    assert 0.02 < (p_wins < 0.05).mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 800)  # exact, so not above
    assert stats.kstest(p_credit, "uniform").pvalue > 0.01
    assert abs(((low <= 0) & (high >= 0)).mean() - 0.95) < 3 * math.sqrt(0.05 * 0.95 / 800)


# -- as text and JSON -------------------------------------------------------------------------------------------------


def test_plain_for_json() -> None:
    outcome = outcome_of([[1, 1, 0], [0, 0, 0], [1, 1, 0]], "team_draft")
    found = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert (found["models"], found["method"], found["impressions"]) == (["a", "b", "c"], "team_draft", 3)
    for name in ("preference", "wins", "ties", "credit"):
        assert found[name] == getattr(outcome, name).tolist()
    table = outcome.to_pandas()
    assert [list(pair) for pair in found["pairs"]] == [list(table)] * 3
    assert found["pairs"][1]["p_wins"] is None  # a and c are one
    for pair, row in zip(found["pairs"], table.to_dict("records"), strict=True):
        assert {k: v for k, v in pair.items() if v is not None} == {k: v for k, v in row.items() if v == v}


def test_as_text() -> None:
    shown = str(outcome_of([[1, 1, 0, 1], [0, 0, 1, 1]], "ppm"))
    assert shown.splitlines()[1:] == [
        "          1       2",
        "1 a       -  0.6250",
        "2 b  0.3750       -",
    ]
    assert shown.startswith("ppm, 4 impressions. ")
    assert repr(outcome_of([[1], [0]])).startswith("ppm, 1 impression. ")


# -- the picture ------------------------------------------------------------------------------------------------------

TRUTH = {"a": 3.0, "b": 2.0, "c": 1.0}


def test_the_picture_has_mean_and_standard_error_over_the_runs() -> None:
    runs = [outcome_of(known(100, 3, seed)) for seed in range(4)]
    one = outcome_of(known(30, 3, 9))
    display = OnlineErrorDisplay.from_outcomes({"four $x_1$": iter(runs), "one": one}, truth=TRUTH).plot()
    errors = np.array([run.errors(truth=TRUTH)[1] for run in runs])
    line, band = display.lines_["four $x_1$"], display.bands_["four $x_1$"]
    np.testing.assert_array_equal(line.get_xdata(), checkpoints(100))
    np.testing.assert_allclose(line.get_ydata(), errors.mean(axis=0))
    half = stats.sem(errors, axis=0)
    assert half.max() > 0
    drawn = band.get_paths()[0].vertices
    for x, middle, side in zip(checkpoints(100), errors.mean(axis=0), half, strict=True):
        heights = drawn[drawn[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == pytest.approx((middle - side, middle + side))
    assert list(display.bands_) == ["four $x_1$"]
    np.testing.assert_allclose(display.lines_["one"].get_ydata(), one.errors(truth=TRUTH)[1])
    assert display.ax_.get_xscale() == "log"
    text = "".join(ElementTree.fromstring(svg_of(display, "error")).itertext())
    for part in ("four $x_1$", "± standard error", "impressions", "mean of 1 to 4 runs", "by the truth"):
        assert part in text
    assert display.size[1] > 3.5


def test_the_picture_by_a_metric_and_by_credit() -> None:
    outcome = outcome_of(known(40, 3), offline=lambda metric: TRUTH)
    display = OnlineErrorDisplay.from_outcomes({"x": outcome}, "ndcg_lin@10", by="credit").plot()
    np.testing.assert_array_equal(display.lines_["x"].get_ydata(), outcome.errors(truth=TRUTH, by="credit")[1])
    assert outcome.errors(truth=TRUTH, by="credit")[1].tolist() != outcome.errors(truth=TRUTH)[1].tolist()
    assert "ndcg_lin@10" in display.ax_.get_ylabel()
    assert "runs" not in display.ax_.get_ylabel()
    assert [text.get_text() for text in display.legend_.get_texts()] == ["x"]


@pytest.mark.parametrize("n", [1, 2, 30, 5000])
def test_the_picture_marks_whole_numbers_of_impressions(n: int) -> None:
    display = OnlineErrorDisplay.from_outcomes({"x": outcome_of(known(n, 3))}, truth=TRUTH).plot()
    display.figure_.canvas.draw()
    low, high = display.ax_.get_xlim()
    labels = [
        label.get_text()
        for label, at in zip(display.ax_.get_xticklabels(), display.ax_.get_xticks(), strict=True)
        if low <= at <= high and label.get_text()
    ]
    assert labels
    assert len(set(labels)) == len(labels)
    assert all(int(label.replace(",", "")) >= 1 for label in labels)


@pytest.mark.parametrize(
    ("kind", "outcomes", "message"),
    [
        (LtrTypeError, outcome_of(known(3, 3)), "must map names of lines"),
        (LtrValueError, {}, "no outcome to draw"),
        (LtrTypeError, {"x": []}, r"'x' has \[\]"),
        (LtrTypeError, {"x": [1]}, r"'x' has \[1\]"),
        (LtrValueError, {"x": [outcome_of(known(3, 3)), outcome_of(known(40, 3))]}, "runs of 3 and of 40"),
    ],
)
def test_what_cannot_be_drawn(kind: type[Exception], outcomes: object, message: str) -> None:
    with pytest.raises(kind, match=message):
        OnlineErrorDisplay.from_outcomes(outcomes, truth=TRUTH)  # type: ignore[arg-type]
