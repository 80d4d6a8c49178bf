"""Pictures: the data behind the artists, and what stands in the SVG; not how it looks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pytest
from matplotlib.text import Text

import ltr_metrics as ltr
from ltr_metrics.logs.learning import LearningCurve, curve_of_values
from ltr_metrics.logs.training_log import Round
from ltr_metrics.metrics.requests import resolve
from ltr_metrics.report import (
    ComparisonDisplay,
    LearningCurveDisplay,
    MeansDisplay,
    MetricOverKDisplay,
    Report,
    figures_of,
    summarize,
)
from ltr_metrics.report.views import groups_by_scale

pytestmark = pytest.mark.integration

mpl.use("Agg")
ODD = ('$\\alpha_b$ <b>&"x"\'', "_private", "модель " * 12, "a\nb\x00\udc80", "100%", "{x}", "#010203", "url(#x)")
BASE = "base $x_1$"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close what a test leaves open."""
    yield
    from matplotlib import pyplot

    pyplot.close("all")


X, Y, QID = ltr.make_ranking(n_queries=40, documents=12, random_state=0)
MARKET = np.array(["de", "fr & <it>", "$a$"])[np.unique(QID, return_inverse=True)[1] % 3]
CUTOFFS = [f"ndcg@{k}" for k in (1, 2, 3, 5, 10)]


def models(names: tuple[str, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: X[:, 0] + 0.5 * rng.normal(size=len(Y)) for name in names}


def compared(
    names: tuple[str, ...] = (BASE, "new"), metrics: Any = ("ndcg@10", "map"), **options: Any
) -> ltr.Comparison:
    return ltr.compare(models(names), Y, qid=QID, metrics=list(metrics), n_resamples=200, **options)


def report_of(names: tuple[str, ...], metrics: Any = ("ndcg@10", "map"), **data: Any) -> Report:
    """Return a report with the learning curves of two data sets; the first model is the baseline, if there are two."""
    rounds = np.random.default_rng(1).random((7, 30))
    curves = [
        curve_of_values(rounds / n, None, metric="mrr", data=name, confidence=0.95)
        for n, name in ((1, "training"), (2, "valid <0>"))
    ]
    return summarize(
        ltr.Queries(Y, qid=QID, **data),
        models(names),
        list(metrics),
        baseline=names[0] if len(names) > 1 else None,
        comparing={"n_resamples": 200},
        complete=True,
        learning={names[-1]: curves},
    )


def svg_texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]


def texts(ax: Any) -> list[str]:
    """Return the names at the ends of lines, then those in the legend."""
    legend = ax.get_legend()
    return [text.get_text() for text in (*ax.texts, *([] if legend is None else legend.get_texts()))]


# Over k


def test_a_curve_is_the_means_with_their_intervals() -> None:
    result = ltr.evaluate(Y, X[:, 0], qid=QID, metrics=[*reversed(CUTOFFS), "map", "ndcg"])
    display = MetricOverKDisplay.from_result(result, "ndcg", confidence=0.9)
    assert (display.metric, display.k.tolist()) == ("ndcg_exp", [1, 2, 3, 5, 10])
    assert display.plot() is display
    x, y = display.lines_[""].get_data()
    assert x.tolist() == [1, 2, 3, 5, 10]
    for k, mean, low, high in zip(x, y, display.curves[""].low, display.curves[""].high, strict=True):
        one = ltr.intervals(result, f"ndcg@{k}", confidence=0.9)["ndcg@" + str(k)]
        assert (mean, low, high) == pytest.approx((one.mean, one.ci_low, one.ci_high), rel=1e-12)
    band = display.bands_[""].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(display.curves[""].low.min())
    assert band[:, 1].max() == pytest.approx(display.curves[""].high.max())


@pytest.mark.parametrize("asked", ["ndcg", "NDCG", "Ndcg_Exp", "ndcg@5", ltr.NDCG(k=3)])
def test_a_family_may_be_asked_for_by_any_of_its_names(asked: Any) -> None:
    result = ltr.evaluate(Y, X[:, 0], qid=QID, metrics=[*CUTOFFS, "ndcg_lin@1", "ndcg_lin@2"])
    assert MetricOverKDisplay.from_result(result, asked).metric == "ndcg_exp"
    assert MetricOverKDisplay.from_result(result, "ndcg_lin").k.tolist() == [1, 2]
    result = ltr.evaluate(Y, X[:, 0], qid=QID, metrics=CUTOFFS, convention="sklearn")
    assert MetricOverKDisplay.from_result(result, "ndcg").metric == next(iter(result.mean)).rpartition("@")[0]


def test_what_is_no_curve_is_refused() -> None:
    result = ltr.evaluate(Y, X[:, 0], qid=QID, metrics=[*CUTOFFS, "precision@3", "map"])
    with pytest.raises(
        ltr.LtrValueError, match=r"two cutoffs or more, but precision was evaluated at one.*range\(1, 21\)"
    ):
        MetricOverKDisplay.from_result(result, "precision")
    with pytest.raises(ltr.LtrKeyError, match="'map' was not evaluated at a cutoff.*here: ndcg_exp, precision"):
        MetricOverKDisplay.from_result(result, "map")
    other = ltr.evaluate(Y, X[:, 0], qid=QID, metrics=CUTOFFS[:3])
    with pytest.raises(ltr.LtrValueError, match=r"same cutoffs: 'a' has \[1, 2, 3, 5, 10\], 'b' has \[1, 2, 3\]"):
        MetricOverKDisplay.from_result({"a": result, "b": other}, "ndcg")


def test_differences_over_k_are_those_of_the_comparison() -> None:
    comparison = compared(metrics=CUTOFFS)
    means = MetricOverKDisplay.from_comparison(comparison, "ndcg")
    assert list(means.curves) == [BASE, "new"]
    display = MetricOverKDisplay.from_comparison(comparison, "ndcg", difference=True).plot()
    rows = [comparison[name, "new"] for name in CUTOFFS]
    assert display.lines_["new"].get_ydata().tolist() == [row.difference for row in rows]
    assert display.curves["new"].low.tolist() == [row.ci_low for row in rows]
    assert display.curves["new"].high.tolist() == [row.ci_high for row in rows]


# Forests


def test_a_comparison_is_drawn_metric_by_metric() -> None:
    comparison = compared((BASE, "new", "other"))
    display = ComparisonDisplay.from_comparison(comparison).plot()
    for model in ("new", "other"):
        rows = [comparison[metric, model] for metric in comparison.metrics]
        assert display.points_[model].get_xdata().tolist() == [row.difference for row in rows]
        ends = [segment[:, 0].tolist() for segment in display.intervals_[model].get_segments()]
        assert ends == [[row.ci_low, row.ci_high] for row in rows]
    one = ComparisonDisplay.from_comparison(comparison, "map").plot()
    assert [row.label for row in one.rows] == ["map"]


# Learning curves


class Host:
    """A host's data set."""


def log_of(names: tuple[str, ...] = ("training", "valid")) -> tuple[ltr.PerQueryLog, list[Host]]:
    rng, log, hosts = np.random.default_rng(0), ltr.PerQueryLog(), [Host() for _ in names]
    queries, request = ltr.Queries(Y, qid=QID), resolve(["ndcg@5"])
    for round_ in range(9):
        for name, host in zip(names, hosts, strict=True):
            scores = Y + rng.normal(0, 1 + abs(round_ - 4), len(Y))
            log.record(host, queries.evaluate_request(scores, request), request, Round(round_), name=name)
    return log, hosts


def test_learning_curves_are_those_of_the_log() -> None:
    log, hosts = log_of()
    display = LearningCurveDisplay.from_log(log, ["valid", hosts[0]], "ndcg@5").plot()
    assert list(display.curves) == ["valid", "training"]
    assert display.ax_.get_ylabel() == "ndcg@5, mean over 35 queries"
    for asked, name in (("NDCG@5", "ndcg@5"), ("NDCG_EXP@5", "ndcg_exp@5"), (ltr.NDCG(k=5), "ndcg_exp@5")):
        other = log.best_round("valid", asked)
        assert (other.metric, other.name, str(other).split()[0]) == ("ndcg_exp@5", name, name)
    curve = log.learning_curve("valid", "ndcg@5")
    x, y = display.lines_["valid"].get_data()
    assert x.tolist() == list(range(1, 10))  # as predict counts them
    assert y.tolist() == curve.mean.tolist()
    assert display.best_["valid"].get_xydata().tolist() == [[curve.n_rounds, curve.mean[curve.best]]]
    band = display.bands_["valid"].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((curve.low.min(), curve.high.max()))
    covered = {
        round_
        for segment in display.plateaus_["valid"].get_segments()
        for round_ in range(9)
        if segment[0, 0] < round_ + 1 < segment[1, 0]
    }
    assert covered == set(curve.plateau.tolist())
    with pytest.raises(ltr.LtrTypeError, match=r"must be the PerQueryLog that was passed to the training as log="):
        LearningCurveDisplay.from_log({"valid": {"ndcg@5": [0.5]}}, "valid", "ndcg@5")  # type: ignore[arg-type]


def curve_of(level: float, metric: str = "mrr", confidence: float = 0.95, first: int = 0) -> LearningCurve:
    values = level + np.random.default_rng(0).random((7, 30)) / 10
    rounds = first + np.arange(7)
    return curve_of_values(values, None, metric=metric, data="valid", confidence=confidence, rounds=rounds)


def test_the_best_rounds_of_many_learning_curves_are_not_cut_in_the_legend() -> None:
    display = LearningCurveDisplay(curves={f"run {i}": curve_of(0.1 * i, first=1000) for i in range(7)}).plot()
    assert texts(display.ax_)[-3:] == ["95% interval", "best", "plateau"]


def test_several_learning_curves_in_the_same_axes_are_all_seen_and_named() -> None:
    from matplotlib import pyplot

    ax = pyplot.figure().subplots()
    displays = [LearningCurveDisplay(curves={"valid": curve_of(level, first=3)}) for level in (0.1, 0.8, 2.0)]
    for display in displays:
        display.plot(ax=ax)
    at_once = LearningCurveDisplay(curves={str(i): d.curves["valid"] for i, d in enumerate(displays)}).plot()
    for axis in ("x", "y"):
        limits = getattr(ax, f"get_{axis}lim")()
        assert limits == pytest.approx(getattr(at_once.ax_, f"get_{axis}lim")(), rel=0.01)
        data = np.concatenate([getattr(line, f"get_{axis}data")() for line in ax.get_lines()])
        assert limits[0] < data.min() < data.max() < limits[1]
    looks = [(line.get_color(), line.get_linestyle()) for line in at_once.lines_.values()]
    assert [(d.lines_["valid"].get_color(), d.lines_["valid"].get_linestyle()) for d in displays] == looks
    best = [str(display.curves["valid"].n_rounds) for display in displays]
    names = [f"valid ({i})" for i in (1, 2, 3)]
    assert texts(ax) == [*names, "95% interval", f"best: {', '.join(best)}", "plateau"]
    heights = [float(display.plateaus_["valid"].get_segments()[0][0, 1]) for display in displays]
    assert heights == sorted(set(heights))
    for other in (curve_of(0.1, "map"), curve_of(0.1, confidence=0.9)):
        with pytest.raises(ltr.LtrValueError, match="so they cannot share axes"):
            LearningCurveDisplay(curves={"valid": other}).plot(ax=ax)
    ax.clear()
    LearningCurveDisplay(curves={"valid": curve_of(0.1, "map")}).plot(ax=ax)
    assert texts(ax)[0] == "valid"


@pytest.mark.parametrize("n_lines", [2, 8, 9])
def test_few_lines_are_named_at_their_ends_and_many_in_a_legend(n_lines: int) -> None:
    curves = {f"training {i}": curve_of(0.1 + (i // 2) * 1e-4) for i in range(n_lines)}  # pairs end at one height
    display = LearningCurveDisplay(curves=curves).plot()
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(label) for label in display.labels_]  # without the line to it
    if n_lines > 8:
        assert boxes == []
        assert texts(display.ax_)[:n_lines] == list(curves)
        return
    assert not [(a, b) for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
    whole = display.figure_.bbox
    assert all(whole.x0 <= box.x0 < box.x1 <= whole.x1 and whole.y0 <= box.y0 < box.y1 <= whole.y1 for box in boxes)
    for label, (name, line) in zip(display.labels_, display.lines_.items(), strict=True):
        assert (label.get_text(), label.get_color()) == (name, line.get_color())
        assert tuple(label.xy) == tuple(line.get_xydata()[-1])


# What all have in common


def test_given_axes_are_drawn_into_and_pyplot_left_alone() -> None:
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    comparison = compared(metrics=["ndcg@1", "ndcg@5", "map"], by=MARKET)
    for display in (
        MetricOverKDisplay.from_comparison(comparison, "ndcg"),
        LearningCurveDisplay.from_log(log_of()[0], ["valid"], "ndcg@5"),
    ):
        ax = Figure().subplots()
        assert display.plot(ax=ax) is display
        assert (display.ax_, display.figure_) == (ax, ax.figure)
        assert not pyplot.get_fignums()
        display.plot()
        assert display.ax_ is not ax
        assert pyplot.get_fignums()
        pyplot.close("all")


def displays_of_one_kind() -> dict[str, tuple[Any, Any]]:
    first, second = compared(metrics=["ndcg@1", "ndcg@5", "map"], by=MARKET), compared((BASE, "other"), ["ndcg@1", "ndcg@5", "map"], by=MARKET)  # fmt: skip
    log, _ = log_of()
    return {
        "means": (MeansDisplay.from_result(first.first), MeansDisplay.from_result(second.first)),
        "comparison": (ComparisonDisplay.from_comparison(first), ComparisonDisplay.from_comparison(second)),
        "over k": tuple(MetricOverKDisplay.from_result(one.first, "ndcg") for one in (first, second)),
        "differences over k": tuple(
            MetricOverKDisplay.from_comparison(one, "ndcg", difference=True) for one in (first, second)
        ),
        "learning": tuple(LearningCurveDisplay.from_logs({name: log}, "valid", "ndcg@5") for name in "ab"),
    }


@pytest.mark.parametrize("kind", ["means", "comparison", "over k", "differences over k", "learning"])
def test_a_second_plot_adds_to_the_axes(kind: str) -> None:
    first, second = displays_of_one_kind()[kind]
    ax = first.plot(name="one").ax_
    before = [(line.get_xydata().tolist(), line.get_color()) for line in ax.get_lines()]
    assert second.plot(ax=ax, name="two") is second
    lines = ax.get_lines()
    assert [(line.get_xydata().tolist(), line.get_color()) for line in lines[: len(before)]] == before
    series = [line for line in lines if hasattr(line, "ltr_series")]
    n = len(series) // 2
    assert [str(line.ltr_series.label).split(":")[0] for line in series] == ["one"] * n + ["two"] * n
    assert len({line.get_color() for line in series}) == len(series)
    for name in ("one", "two"):
        assert sum(text.startswith(name) for text in texts(ax)) == n
    alone = second.plot(name="x", color="#123456")
    assert alone.ax_ is not ax
    assert "#123456" in {line.get_color() for line in alone.ax_.get_lines()}
    other = ComparisonDisplay.from_comparison(compared(metrics=["mrr"]))
    with pytest.raises(ltr.LtrValueError, match="cannot share axes"):
        other.plot(ax=ax)


def test_results_draw_themselves() -> None:
    comparison = compared()
    assert comparison.plot().points_["new"].get_xdata().tolist() == [row.difference for row in comparison.rows]
    result = comparison.evaluations["new"]
    display = result.plot(name="new", color="k")
    assert display.points_[""].get_xdata().tolist() == list(result.values())
    for segment, one in zip(display.intervals_[""].get_segments(), ltr.intervals(result).rows, strict=True):
        assert segment[:, 0].tolist() == pytest.approx([one.ci_low, one.ci_high], rel=1e-12)
    comparison.evaluations[BASE].plot(display.ax_, name="base")
    assert texts(display.ax_) == ["new", "base"]


# Figures of a report


@pytest.fixture(scope="module")
def figures() -> list[Any]:
    market = np.array([ODD[0], "\U0001f600 ok"])[np.unique(QID, return_inverse=True)[1] % 2]
    return figures_of(report_of(ODD, by=market))


def test_a_report_has_its_pictures(figures: list[Any]) -> None:
    assert [f.name for f in figures] == ["over-k-1", "over-k-2", "learning-1"]
    assert all(f.title and f.caption for f in figures)
    assert ODD[0] in figures[1].title  # as given: the page escapes
    assert [f.name for f in figures_of(report_of(("one",), ["ndcg@10"], by=MARKET))] == ["over-k-1", "learning-1"]


def test_every_svg_fits_into_a_page(figures: list[Any]) -> None:
    ids: list[str] = []
    for figure in figures:
        root = ElementTree.fromstring(figure.svg)
        own = [element.get("id", "") for element in root.iter() if element.get("id")]
        ids += own
        for element in root.iter():
            assert element.tag.rpartition("}")[2] not in ("style", "script", "metadata", "image", "foreignObject")
            for key, value in element.attrib.items():
                assert not key.lower().startswith("on")
                assert "://" not in value
                for referred in re.findall(r"url\(([^)]*)\)", value):
                    assert referred[1:] in own
                if key.rpartition("}")[2] == "href":
                    assert value[1:] in own
    assert len(ids) == len(set(ids))
    all_text = {text for figure in figures for text in svg_texts(figure.svg)}
    assert {"_private", "100%", "{x}", "#010203", "url(#x)", "a b\ufffd\ufffd"} <= all_text
    assert any("$\\alpha_" in text for text in all_text)
    assert "<b>" not in figures[0].svg


def test_metrics_of_another_scale_have_their_own_axis() -> None:
    report = report_of((BASE, "new"), ["map", "cg", ltr.DCG(gain=(0, 10, 100, 1000, 10_000)), "ndcg@10"])
    assert report.comparison is not None
    large = report.comparison.metrics[2]
    assert report.comparison["cg"].difference == 0  # of the whole list, whatever the ranking
    assert groups_by_scale(report.comparison) == [["map", "cg", "ndcg_exp@10"], [large]]
