"""The page: its sections in their order, and those of them that have drawings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ltr_metrics._rows.ids import id_text
from ltr_metrics._rows.per_query import OrderedLabels
from ltr_metrics.analysis.comparison import Comparison, Difference, shown_row
from ltr_metrics.analysis.gate import Rule
from ltr_metrics.analysis.intervals import shown_interval
from ltr_metrics.analysis.opened_query import OpenedQuery, RankedDocument, score_texts, value_text
from ltr_metrics.analysis.settings import CORRECTIONS
from ltr_metrics.evaluation.ranges import gain_of
from ltr_metrics.evaluation.segments import iter_segments
from ltr_metrics.evaluation.tables import Cell, Drawing, Piece, Table, Words
from ltr_metrics.report.numbers import MINUS, interval, listed, number, percent, percents, signed
from ltr_metrics.report.parts import Axis, Choice, Figure, Fold, Group, Line, PagePart, Pieces
from ltr_metrics.report.report import MAX_DOCUMENTS, Report
from ltr_metrics.report.sections import Section, audit_parts, learning_parts, ranking_parts, settings_parts
from ltr_metrics.report.verdict import (
    alpha_text,
    grade_of,
    limit_text,
    reading_of,
    rules_about,
    top_grade,
    verdict_parts,
)

SCALE_RATIO = 10  # metrics whose differences are this many times larger or smaller get an axis of their own
FAR_RATIO = 4  # a clear loss this many times as large as the other differences is beyond the axis
DIGITS_OF_FOREST, DIGITS_OF_SEGMENTS = 30, 17  # that fit beside each other on an axis
MAX_SEGMENTS = 100
RANGE = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*[-–+]\s*(?:\d+(?:\.\d+)?)?)?")  # 5, 12-28 or 56+
MAX_BLOCKS = 4  # metrics that a narrow window shows side by side
MAX_BARS = 500  # of a strip; of more queries, evenly spaced ones are drawn, which looks the same
MARKS = {"better": "▲", "worse": "▼"}
UNCLEAR = "○"
ARROWS = {"up": "↑", "down": "↓"}


def page_of(report: Report, figures: Sequence[Figure]) -> list[Section]:
    """Return the sections of the page for which a report has data."""
    comparison = report.comparison
    step = 1 if comparison is None else 2  # a metric's differences follow its means
    starts = range(0, min(len(report.curves), len(figures)), step)
    curves = {figures[i].title: [Group("figures", figures[i : i + step])] for i in starts}
    training = [Group("figures", figures[len(report.curves) :])]
    sections = [
        Section("verdict", "Verdict", list(verdict_parts(report))),
        Section("leaderboard", "Leaderboard", [*_leaderboard(report), _to_know(report)]),
        Section("differences", "Differences", [] if comparison is None else list(_differences(report, comparison))),
        Section("cutoffs", "By cutoff", [Choice("Metric", curves)] if curves else []),
        Section("segments", "Segments", _segments(report)),
        Section("changes", "Gains and losses", [] if comparison is None else _queries(report, comparison)),
        Section("rankings", "Rankings", ranking_parts(report)),
        Section("learning", "Training", [*training, *learning_parts(report)] if report.learning else []),
        Section("queries", "All queries", [Drawing("all_queries", {})]),
        Section("settings", "Settings", settings_parts(report)),
        Section("audit", "Audit", [] if report.audit is None else audit_parts(report.audit)),
    ]
    return [section for section in sections if section.parts]


# -- leaderboard ------------------------------------------------------------------------------------------------------


def _leaderboard(report: Report) -> Iterator[PagePart]:
    """Yield the means as a matrix of models and metrics, with ranks and skill."""
    first, board, comparison = report.first, report.leaderboard, report.comparison
    metrics = list(first)
    key: list[Piece] = []
    if board is not None:
        key += [
            Words("★ best", ""),
            Words("▽ behind: its interval of ranks does not reach 1", ""),
            Words(f"1–3 {board.settings.level} interval of the rank", ""),
        ]
    has_skill = first.shows_skill and any(skill == skill for skill in first.skill.values())
    if has_skill:
        key += [Words("random", ""), Drawing("skill", {"share": 44, "text": ""}), Words("ideal", "")]
    if key:
        yield Line(key, "key legend")
    metric, sign = metrics[0], -1 if metrics[0] in first.lower_is_better else 1
    means = {model: sign * result[metric] for model, result in report.evaluations.items()}
    models = sorted(means, key=lambda model: means[model] if means[model] == means[model] else -np.inf, reverse=True)
    rows = []
    for model in models:
        role = ""
        if comparison is not None:
            role = "yardstick" if model in comparison.yardsticks else ""
            role = "baseline" if model == comparison.baseline else role
        more = [Words(role, "small")] if role else []
        rows.append(
            [
                Cell(model, "base" if role == "baseline" else "", more),
                *(_standing(report, model, one) for one in metrics),
            ]
        )
    ranks = [Words("", "ranks")] if board is not None else []  # below those of the models
    for word, ends in (("ideal", "ideal"), ("random", "chance")) if has_skill else ():
        values = {one: number(value) if value == value else "" for one, value in getattr(first, ends).items()}
        rows.append([Cell(f"{word} order", "bound"), *(Cell(values[one], more=ranks) for one in metrics)])
    css = "matrix stack" if len(metrics) > MAX_BLOCKS else "matrix"
    about = [Words("mean and rank", "small")] if board is not None else []
    yield Group(css, [Table(["model", *(Cell(report.names[one], more=about) for one in metrics)], rows, "lr")])


def _standing(report: Report, model: str, metric: str) -> Cell:
    """Return the mean of a model, with its rank and skill, or its interval if nothing is compared."""
    result, css = report.evaluations[model], ""
    more: list[Piece] = [number(result[metric])]
    if report.leaderboard is not None:
        standing = report.leaderboard[metric, model]
        css = "best" if standing.rank == 1 else "behind" if standing.rank_low > 1 else ""
        ranks = dict.fromkeys([standing.rank_low, standing.rank_high])
        if css:
            more.insert(0, Words(css, f"mark {css}"))
        more.append(Words("–".join(map(str, ranks)), "ranks"))
    elif model in report.intervals and report.comparison is None:
        row = shown_interval(report.intervals[model], report.intervals[model][metric])
        more.append(Words(f"[{number(row.ci_low)}, {number(row.ci_high)}]", "small"))
    if result.shows_skill and (skill := result.skill[metric]) == skill:
        share = round(100 * min(max(skill, 0), 1), 1)
        more.append(Drawing("skill", {"share": share, "text": f"skill {number(skill, 3)}"}))
    return Cell("", css, more)


def _to_know(report: Report) -> dict[str, Pieces]:
    """Return a line each for undefined queries, ties and, unless the verdict has it, chance."""
    first, name = report.first, next(iter(report.evaluations))
    lines: dict[str, Pieces] = {}
    left_out = {report.names[metric]: n for metric, n in first.n_undefined.items() if n}
    if left_out:
        counts = listed([f"{n:,} in {metric}" for metric, n in left_out.items()])
        lines["Undefined"] = [f"Of {first.n_queries:,} queries, some have no value and are left out: {counts}."]
    metric = next(iter(first))
    ties = {} if report.audit is None else {model: one.ties.get(metric) for model, one in report.audit.models.items()}
    known = {model: one for model, one in ties.items() if one is not None and one.n_open_queries}
    if known:
        widest = max(known, key=lambda model: abs(known[model].best - known[model].worst))
        chosen = dict.fromkeys([name, widest] if name in known else [widest])
        ranges = listed([f"{number(known[one].worst)} and {number(known[one].best)} for {one}" for one in chosen])
        policy = first.policy.ties
        shown = "shown is the expectation" if policy == "mean" else f"shown is ties={policy}"
        lines["Ties"] = [f"The order of tied documents decides between {ranges} ({report.names[metric]}); {shown}."]
    if first.shows_skill:
        if report.comparison is None and first.skill[metric] == first.skill[metric]:
            chance, share = number(first.chance[metric]), percent(first.skill[metric])
            way = f"{name} is {share} of the way to the ideal order."
            lines["Chance"] = [f"A random order has {report.names[metric]} {chance}; {way}"]
        notes = [Words(note, "") for note in dict.fromkeys(first.skill_notes.values())]
        lines |= {"Skill": notes} if notes else {}
    return lines


# -- differences ------------------------------------------------------------------------------------------------------


def _differences(report: Report, comparison: Comparison) -> Iterator[PagePart]:
    """Yield the differences as a table with a forest, on one axis for all metrics of a scale."""
    settings = comparison.settings
    n_tests = len(comparison.candidates)
    adjusted = f"{CORRECTIONS[settings.correction]}, {n_tests:,} test{'s' * (n_tests != 1)}"
    header = [
        Cell("model"),
        Cell("reading", more=[Words(f"at {alpha_text(settings)}", "small")]),
        Cell("difference", "num", [Words(f"relative; {settings.level} intervals", "small")]),
        Cell("", "draw"),
        Cell("p", "num p", [Words(adjusted, "small")]),
        Cell("queries", "num wtl", [Words("gain · same · lose", "small")]),
        Cell("detectable", "num mde", [Words(f"at {100 * settings.power:g}% power", "small")]),
    ]
    models = comparison.candidates or comparison.models
    for metrics in groups_by_scale(comparison):
        shown = {
            (one, model): shown_row(comparison, comparison[one, model])
            for one in metrics
            for model in comparison.models
        }
        near = []
        for metric in metrics:
            limits = [limit for limit, _, _ in _limits(report, metric, shown)]
            near += near_values([shown[metric, model] for model in models], limits)
        axis = Axis(near, DIGITS_OF_FOREST)
        head = [*header[:3], Cell("", "draw", [Words("difference", "hidden"), axis.scale()]), *header[4:]]
        rows = [row for metric in metrics for row in _group(report, comparison, metric, shown, axis)]
        yield Group("differences", [Table(head, rows, "l")])
    note = (
        f"{MARKS['better']} {MARKS['worse']} both p, after the correction, and the interval show it; {UNCLEAR} one of "
        "them does not. One axis for all metrics of a scale. Solid line: no difference; an arrow points to what is "
        "beyond the axis."
    )
    if report.gate is not None:
        note += (
            " Shaded: beyond the margin of the gate, whose intervals can be wider, since they hold for all candidates "
            "and looks together."
        )
    yield Line([note])


def _group(
    report: Report, comparison: Comparison, metric: str, shown: Mapping[tuple[str, str], Difference], axis: Axis
) -> Iterator[list[str | Cell]]:
    """Yield the rows of a metric, after its head."""
    first = shown[metric, comparison.models[0]]
    margins: dict[str, list[tuple[float, bool]]] = {model: [] for model in comparison.models}
    labels: dict[str, float] = {}
    for margin, rule, model in _limits(report, metric, shown):
        margins[model].append((margin, rule.limit.is_floor))
        x = axis.x(margin)
        labels[f"{'◂ ' * (x <= 0)}{limit_text(rule)}{' ▸' * (x >= 100)}"] = min(max(x, 0), 100)
    better = "" if first.higher_is_better else "; lower is better"
    about = f"{comparison.baseline} {number(first.baseline_mean)}, {first.sample_size}{better}"
    gate = [Drawing("gate_label", {"x": min(labels.values()), "text": f"gate {', '.join(labels)}"})] if labels else []
    head = Cell(report.names[metric], "group", [Words(about, "small")])
    yield [head, Cell("", "draw", gate), "", "", ""]
    for model in comparison.models:
        row, change = shown[metric, model], comparison.relative[metric][model]
        reading = reading_of(row, comparison)
        drawing = axis.interval(row.ci_low, row.ci_high, row.difference, reading, margins[model])
        ends = interval(row.ci_low, row.ci_high)
        relative = f"{percent(change.value, sign='+')} {percents(change)}"
        p = "< 0.001" if row.p_adjusted < 0.001 else number(row.p_adjusted, 3)
        yield [
            model,
            Cell("", f"reading {reading}", [f"{MARKS.get(reading, UNCLEAR)} {reading}"]),
            Cell("", "num diff", [Words(signed(row.difference), "b"), Words(ends, "ci"), Words(relative, "rel")]),
            Cell("", "draw", [drawing] if row.ci_low == row.ci_low else []),
            Cell("", "num p", [p]),
            Cell("", "num wtl", [f"{row.wins:,} · {row.ties:,} · {row.losses:,}"]),
            Cell("", "num mde", [number(row.mde)]),
        ]


def _limits(
    report: Report, metric: str, shown: Mapping[tuple[str, str], Difference]
) -> Iterator[tuple[float, Rule, str]]:
    """Yield the differences that the gate limits, each with its rule and a model that it is for."""
    for rule, model in rules_about(report, metric):
        if rule.kind in ("difference", "relative"):
            yield (
                rule.limit.number * (shown[metric, model].baseline_mean if rule.kind == "relative" else 1),
                rule,
                model,
            )


def near_values(rows: Sequence[Difference], limits: Sequence[float] = ()) -> list[float]:
    """Return the ends of the intervals that an axis must hold, and the limits near them.

    A clear loss does not set the scale if it is far beyond all other differences, so that one bad model does not
    squeeze the candidates that matter. At least one row counts.
    """

    def ends(row: Difference) -> tuple[float, float, float]:
        return row.ci_low, row.ci_high, row.difference

    def size(row: Difference) -> float:
        return max((abs(end) for end in ends(row) if math.isfinite(end)), default=0.0)

    def is_loss(row: Difference) -> bool:
        return row.ci_high < 0 if row.higher_is_better else row.ci_low > 0

    def held() -> list[float]:
        values = [end for row in near for end in ends(row) if math.isfinite(end)]
        largest = max(map(abs, values), default=0.0)
        return [*values, *(limit for limit in limits if abs(limit) <= FAR_RATIO * largest)]

    near = [row for row in rows if not is_loss(row)]
    for row in sorted(filter(is_loss, rows), key=size):
        reach = max(map(abs, held()), default=0.0)
        if not reach or size(row) <= FAR_RATIO * reach:
            near.append(row)
    return held()


def groups_by_scale(comparison: Comparison) -> list[list[str]]:
    """Group the metrics of one direction whose differences are of a similar scale."""
    groups: dict[tuple[bool, float], list[str]] = {}
    for metric in comparison.metrics:
        rows = [comparison[metric, model] for model in comparison.candidates or comparison.models]
        size = max(map(abs, near_values(rows)), default=0.0)
        alike = (
            (higher_is_better, of_group)
            for higher_is_better, of_group in groups
            if higher_is_better == rows[0].higher_is_better
            and (not size or not of_group or 1 / SCALE_RATIO < size / of_group < SCALE_RATIO)
        )
        groups.setdefault(next(alike, (rows[0].higher_is_better, size)), []).append(metric)
    return list(groups.values())


# -- segments ---------------------------------------------------------------------------------------------------------


def _segments(report: Report) -> list[PagePart]:
    """Return the segments for each metric: the differences of the candidates, or the means.

    Segments that have an order are in it, and others are sorted by size.
    """
    first, comparison = report.first, report.comparison
    if not first.segments:
        return []
    found: Sequence[tuple[str | None, Any, Comparison | None]]
    if comparison is None:
        found = [(of, label, None) for of, label, _ in iter_segments(first.segments, first.by)]
        models = list(report.evaluations)
    else:
        found = comparison.segments()
        models = comparison.candidates or comparison.models
    sizes = {
        (of, id_text(label)): size
        for of, (labels, code) in first.segments.items()
        for label, size in zip(labels, np.bincount(code, minlength=len(labels)).tolist(), strict=True)
    }
    largest = sorted(found, key=lambda one: -sizes[one[0], id_text(one[1])])[:MAX_SEGMENTS]
    of_segmentation = {of: [one for one in largest if one[0] == of] for of in first.segments}
    for of, segments in of_segmentation.items():
        order = order_of(first.segments[of][0])
        if order is not None:
            segments.sort(key=lambda one, order=order: order[id_text(one[1])])  # type: ignore[misc]
    options = {report.names[metric]: _of_metric(report, metric, models, of_segmentation, sizes) for metric in first}
    choice = Choice("Metric", options)
    if len(found) <= MAX_SEGMENTS:
        return [choice]
    return [choice, Line([f"These are the {MAX_SEGMENTS} largest of {len(found):,} segments."])]


def _of_metric(
    report: Report, metric: str, models: Sequence[str], segmentations: Mapping[Any, Any], sizes: Any
) -> list[PagePart]:
    comparison = report.comparison
    shown, readings = {}, {}
    for of, segments in segmentations.items():
        for _, label, part in segments:
            for model in models if part is not None else []:
                difference = shown[of, id_text(label), model] = shown_row(part, part[metric, model])
                readings[of, id_text(label), model] = reading_of(difference, part).replace("untested", "unclear")
    axis = Axis(near_values(list(shown.values())), DIGITS_OF_SEGMENTS)
    scale = [] if comparison is None else [axis.scale()]
    head = [Cell("segment"), Cell("queries", "num")]
    if comparison is not None:
        head.append(Cell("baseline", "num"))
    rows: list[list[str | Cell]] = []
    for of, segments in segmentations.items():
        rows += [[Cell(str(of), "group")]] if of is not None else []
        for _, label, part in segments:
            text = id_text(label)
            row: list[str | Cell] = [text, Cell("", "num count", [f"{sizes[of, text]:,}"])]
            if part is None:
                by = [one.by if of is None else one.by.get(of, {}) for one in report.evaluations.values()]
                row += [Cell("", "num", [number(one[label][metric] if label in one else None)]) for one in by]
            else:
                row.append(Cell("", "num", [number(shown[of, text, models[0]].baseline_mean, 3)]))
                row += [_in_segment(shown[of, text, model], readings[of, text, model], axis) for model in models]
            rows.append(row)
    css = "num" if comparison is None else "draw"
    table = Table([*head, *(Cell(model, css, scale) for model in models)], rows, "l")
    if comparison is None:
        return [Group("segments", [table])]
    n_marked = sum(reading != "unclear" for reading in readings.values())
    by_chance = (1 - comparison.settings.confidence) * len(shown)
    note = f"{by_chance:.1f} of {len(shown):,} would be marked by chance, and {n_marked:,} are marked."
    note = f"Not corrected for the number of segments: {note}"
    key: list[Piece] = [
        Words(f"{MARKS['better']} {MARKS['worse']} both p and the interval show it", ""),
        Words(f"{UNCLEAR} one of them does not", ""),
        note,
    ]
    return [Group("segments stack", [table]), Line(key, "key legend")]


def order_of(labels: Sequence[Any]) -> dict[str, int] | None:
    """Return the position of each segment by the text of its label; None if the segments have no order.

    Numbers and ranges of numbers, such as 5, 12-28 and 56+, are ordered by their first number.

    >>> order_of(["29-40", "56+", "12-28"])
    {'12-28': 0, '29-40': 1, '56+': 2}
    """
    texts = list(map(id_text, labels))
    if not isinstance(labels, OrderedLabels):
        starts = {text: RANGE.fullmatch(text) for text in texts}
        if not all(starts.values()):
            return None
        texts.sort(key=lambda text: float(match[1]) if (match := starts[text]) else 0.0)
    return {text: i for i, text in enumerate(texts)}


def _in_segment(row: Difference, css: str, axis: Axis) -> Cell:
    pieces: list[Piece] = [MARKS.get(css, UNCLEAR), Words(css, "hidden"), Words(number(row.difference, 3, "+"), "b")]
    if row.ci_low == row.ci_low:
        drawing = axis.interval(row.ci_low, row.ci_high, row.difference, css)
        pieces += [Words(interval(row.ci_low, row.ci_high, 3), "ci"), drawing]
    return Cell("", css, pieces)


# -- queries ----------------------------------------------------------------------------------------------------------


def _queries(report: Report, comparison: Comparison) -> list[PagePart]:
    """Return, for each metric and model, all differences as a strip, and the queries that change most, to be opened."""
    options: dict[str, list[PagePart]] = {}
    for metric in comparison.metrics:
        for model in comparison.candidates or comparison.models:
            rows = [row for row in report.changes if (row["metric"], row["model"]) == (metric, model)]
            parts: list[PagePart] = [*_strip(report, comparison, metric, model)]
            is_open = True  # the largest loss, or the largest gain if nothing is lost
            for has_gained, title in ((False, "Largest losses"), (True, "Largest gains")):
                for i, row in enumerate(row for row in rows if row["has_gained"] == has_gained):
                    parts += [] if i else [Line([title], "title")]
                    parts.append(_opened(report, comparison, row, is_open=is_open))
                    is_open = False
            options[f"{report.names[metric]}, {model}"] = parts
    if not report.changes:
        return []
    opened = comparison.documents.opened
    key: list[Piece] = [Drawing("grade", grade_of(report, float(one))) for one in (top_grade(report), 0)]
    key += ["grade", Words("= tied with a neighbour, here in input order", ""), Words("↑ ↓ rank in the other list", "")]
    key += [Words("in", "new"), Words("out", "new"), f"enters or leaves the top {MAX_DOCUMENTS}"]
    choice = Choice("Metric and model", options)
    return [Line(key, "key legend"), choice] if opened else [choice]


def _strip(report: Report, comparison: Comparison, metric: str, model: str) -> Iterator[PagePart]:
    """Yield the differences of all queries, sorted, with the loss that the gate counts."""
    row, difference = comparison[metric, model], comparison.differences(metric, model)
    gain = np.sort(gain_of(difference[~np.isnan(difference)], higher_is_better=row.higher_is_better))[::-1]
    sign = 1 if row.higher_is_better else -1
    losses = [
        (sign * rule.share_of.number, f"gate: {rule.text}")
        for rule, of_model in rules_about(report, metric)
        if of_model == model and rule.share_of is not None
    ]
    name = report.names[metric]
    title = f"{name} of {model} − {comparison.baseline}, every query"
    counts = f"{row.wins:,} gain, {row.ties:,} stay, {row.losses:,} lose"
    yield Line([Words(title, "b"), counts])
    if not len(gain):
        return
    top = float(np.abs(gain).max()) or 1.0
    n_losses, areas = int((gain < 0).sum()), []
    for css, start, stop in (("gain", 0, int((gain > 0).sum())), ("loss", len(gain) - n_losses, len(gain))):
        part = gain[start:stop]
        drawn = part[np.linspace(0, len(part) - 1, MAX_BARS).round().astype(int)] if len(part) > MAX_BARS else part
        heights = [round(50 - 46 * value / top, 1) for value in drawn.tolist()]
        areas.append((css, 100 * start / len(gain), 100 * len(part) / len(gain), heights))
    lines = [(round(50 - 46 * value / top, 1), text) for value, text in losses if abs(value) <= top]
    ticks = [(4, signed(top, 2)), (50, "0"), (96, signed(-top, 2))]
    yield Drawing("strip", {"areas": areas, "lines": lines, "ticks": ticks, "label": f"{title}: {counts}"})


def _opened(report: Report, comparison: Comparison, row: dict[str, Any], *, is_open: bool) -> Fold | Line:
    """Return a query with its change in a line, below which its two lists open."""
    css = "better" if row["has_gained"] else "worse"
    opened = (comparison.documents.opened or {}).get(id_text(row["qid"]))
    size = f"{row['documents']:,} documents, {row['relevant']:,} relevant"
    model, baseline = row["model"], comparison.baseline
    if opened is not None and baseline is not None:
        before, after = opened.n_relevant_ranked(baseline), opened.n_relevant_ranked(model)
        size += f"; in the top {MAX_DOCUMENTS}: {before} → {after}"
        shared = "".join(f"{name}: {value_text(value, 'g')}; " for name, value in opened.columns.items())
        size = f"{shared}{size}"
    title: Pieces = [
        Words(f"{row['qid']}", "name"),
        Words(f"{MARKS[css]} {signed(row['difference'])}", f"change {css}"),
        Words(f"{number(row['baseline'])} → {number(row['value'])}", "from-to"),
        Words(size, "size"),
    ]
    if opened is None or baseline is None:
        return Line(title, "query")
    value = {baseline: row["baseline"], model: row["value"]}
    tables = []
    for one, other in ((baseline, model), (model, baseline)):
        caption = f"{one}, {report.names[row['metric']]} {number(value[one])}"
        tables.append(_list(report, opened, one, other, caption, forward=one == baseline))
    moves = Drawing("moves", _moves(opened, baseline, model))
    has_columns = any(one.columns for of in opened.rankings.values() for one in of)  # two such lists are too wide
    lists: list[PagePart] = [*tables] if has_columns else [tables[0], moves, tables[1]]
    return Fold(title, [Group("lists stacked" if has_columns else "lists", lists)], "query", is_open)


def _list(report: Report, opened: OpenedQuery, model: str, other: str, title: str, *, forward: bool) -> Table:
    documents = opened.rankings[model]
    columns = documents[0].columns if documents else {}
    rows: list[list[str | Cell]] = []
    for one, score in zip(documents, score_texts(documents, ".4g"), strict=True):
        values = [
            Cell(of, "words") if isinstance(of, str) else Cell("", "num", [f"{of:.4g}".replace("-", MINUS)])
            for of in one.columns.values()
        ]
        word, where = one.move(other, MAX_DOCUMENTS, forward=forward)
        first = Words(word, "new") if word in ("in", "out") else ARROWS.get(word, "")
        rows.append([
            Cell(f"{one.rank}{'=' if one.is_tied else ''}", "relevant" if (one.grade or 0) >= 1 else ""),
            Cell("", more=[Drawing("grade", grade_of(report, one.grade))]),
            Cell(str(one.document), "doc"),
            *values,
            Cell("", "num", [score.replace("-", MINUS)]),
            Cell("", "move", [first, where] if word else []),
        ])  # fmt: skip
    rank = Cell("", more=[Words("rank", "hidden")])
    heads = [Cell(name, "words" if isinstance(value, str) else "num") for name, value in columns.items()]
    head: list[str | Cell] = [rank, "grade", "document", *heads, Cell("score", "num"), "moves"]
    return Table(head, rows, "l", title)


def _moves(opened: OpenedQuery, left: str, right: str) -> dict[str, Any]:
    """Return the ranks that lines between two lists connect, relevant documents last; None is below the list."""

    def line(one: RankedDocument, *ends: int | None) -> tuple[bool, list[int | None]]:
        return (one.grade or 0) >= 1, [None if end is None or end > opened.k else end for end in ends]

    lines = [line(one, one.rank, one.ranks[right]) for one in opened.rankings[left]]
    lines += [
        line(one, None, one.rank) for one in opened.rankings[right] if (one.ranks[left] or opened.k + 1) > opened.k
    ]
    n = max(len(opened.rankings[left]), len(opened.rankings[right]))
    return {"n": n, "lines": sorted(lines, key=lambda one: one[0])}
