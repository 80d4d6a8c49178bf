"""The first screen of the page: the answer, a row for each model, and the facts."""

from __future__ import annotations

from collections.abc import Iterator

from ltr_metrics.analysis.alignment import name_in
from ltr_metrics.analysis.comparison import Comparison, Difference, shown_row
from ltr_metrics.analysis.gate import Check, GateResult, Rule, read_rules
from ltr_metrics.analysis.settings import CORRECTIONS, Settings
from ltr_metrics.evaluation.tables import Cell, Drawing, Piece, Table, Words
from ltr_metrics.report.numbers import MINUS, interval, listed, number, percent, percents, signed
from ltr_metrics.report.parts import Group, Line, PagePart, Pieces
from ltr_metrics.report.report import Report

MAX_NAMES = 3  # of models in the answer
MAX_REASONS = 7  # models that show what they passed; of more, that is in the folds
MAX_GRADES = 10
MAX_STEPS = 6  # that draw a grade
PASSED, FAILED = "✓", "✕"
LONG_COMMAND = 70  # characters
WORDS = {"better": "better", "worse": "worse", "unclear": "no clear difference", "untested": "not testable"}


def alpha_text(settings: Settings) -> str:
    """Return the error probability of a reading in percent."""
    return f"{100 * (1 - settings.confidence):.3g}%"


def reading_of(row: Difference, comparison: Comparison) -> str:
    """Return "better", "worse", "unclear", or "untested" without a p-value.

    A difference is better or worse only if both the p-value after correction and the interval show it.
    """
    if row.p_adjusted != row.p_adjusted:
        return "untested"
    is_significant = row.p_adjusted <= round(1 - comparison.settings.confidence, 12)
    if not (is_significant and (row.ci_low > 0 or row.ci_high < 0)):
        return "unclear"
    return "better" if (row.difference > 0) == row.higher_is_better else "worse"


def sentence(report: Report, comparison: Comparison, model: str) -> list[str | Words]:
    """Return in which metrics a model is better, worse, or neither."""
    metrics: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        metrics.setdefault(reading_of(comparison[metric, model], comparison), []).append(report.names[metric])
    pieces: list[str | Words] = []
    for i, (reading, names) in enumerate(metrics.items(), start=1):
        pieces += [Words(WORDS[reading], reading), f"in {listed(names)}{';' * (i < len(metrics))}"]
    return pieces


def rule_of(check: Check) -> Rule:
    """Return the rule of a check, as it is read."""
    (rule,) = read_rules([check.rule], [])
    return rule


# -- the answer -------------------------------------------------------------------------------------------------------


def answer_of(report: Report) -> tuple[str, str]:
    """Return the answer in a sentence, and in a few words."""
    comparison, gate = report.comparison, report.gate
    if comparison is None:
        return _best(report)
    if gate is not None:
        return _answer_of_gate(gate)
    metric, models = comparison.metrics[0], comparison.candidates or comparison.models
    name = report.names[metric]
    where = f"than {comparison.baseline} in {name}"
    readings = {model: reading_of(comparison[metric, model], comparison) for model in models}
    better = [model for model, reading in readings.items() if reading == "better"]
    short = f"{len(better)} of {len(models)} better"
    if len(models) == 1:
        reading = readings[models[0]]
        if reading == "untested":
            return f"{models[0]} cannot be tested against {comparison.baseline} in {name}", WORDS[reading]
        if reading == "unclear":
            return f"{models[0]} shows no clear difference from {comparison.baseline} in {name}", WORDS[reading]
        return f"{models[0]} is {reading} {where}", reading
    if len(better) > MAX_NAMES:
        return f"{len(better)} of {len(models)} candidates are better {where}", short
    if not better:
        return f"None of {len(models)} candidates is better {where}", short
    return f"{listed(better)} {'is' if len(better) == 1 else 'are'} better {where}", short


def _answer_of_gate(gate: GateResult) -> tuple[str, str]:
    passed = [model for model, one in gate.by_model.items() if one.passed]
    n = len(gate.by_model)
    if n == 1:
        return (
            f"{next(iter(gate.by_model))} {'passes' if gate.passed else 'fails'} the gate",
            "PASS" if passed else "FAIL",
        )
    counts = f"{len(passed)} of {n}"
    if gate.family == "one":  # nobody may pick a model by its own verdict
        whole = "passes" if gate.passed else "fails"
        return f"The gate {whole} as a whole: {counts} candidates pass", "PASS" if gate.passed else "FAIL"
    return f"{counts} candidates pass the gate", f"{counts} pass"


def _best(report: Report) -> tuple[str, str]:
    metric = next(iter(report.first))
    sign = -1 if metric in report.first.lower_is_better else 1
    means = {model: result[metric] for model, result in report.evaluations.items()}
    best = max(means, key=lambda model: sign * means[model] if means[model] == means[model] else float("-inf"))
    name, value = report.names[metric], number(means[best])
    answer = f"{best} has the best {name}, {value}" if len(means) > 1 else f"{name} of {best} is {value}"
    return answer, f"{name} {value}"


# -- a row for each model ---------------------------------------------------------------------------------------------


def verdict_parts(report: Report) -> Iterator[PagePart]:
    """Yield a row for each model beside the baseline, and what skill is."""
    comparison = report.comparison
    if comparison is None:
        return
    metric, settings = comparison.metrics[0], comparison.settings
    name, first = report.names[metric], comparison[comparison.metrics[0], comparison.models[0]]
    header = [
        Cell("model"),
        *[Cell("gate", "state")] * (report.gate is not None),
        Cell("reading", "text", [Words(f"at {alpha_text(settings)}, {CORRECTIONS[settings.correction]}", "small")]),
        Cell(f"{name}, change", "figure absolute", [Words(f"{settings.level} interval", "small")]),
        Cell("relative", "figure relative", [Words(f"to {number(first.baseline_mean)}", "small")]),
    ]
    has_skill = first.skill is not None and first.skill == first.skill
    if has_skill:
        below = [Words(f"change from {number(first.baseline_skill, 3)}", "small")]
        header.append(Cell("skill", "figure of-skill", below))
    rows = [_row(report, comparison, model, has_skill=has_skill) for model in comparison.models]
    has_reasons = any(row[-1].more for row in rows)
    if not has_reasons:
        rows = [row[:-1] for row in rows]
    css = "verdict" if report.gate is not None else "verdict ungated"
    yield Group(css, [Table([*header, *[Cell("rules", "why")] * has_reasons], rows, "l")])
    if has_skill:
        chance, ideal = comparison.first.chance[metric], comparison.first.ideal[metric]
        scale = f"is 0 for a random order (here {name} {number(chance)}) and 1 for the ideal one ({number(ideal)})."
        yield Line([Words("Skill", "b"), scale])
    if report.gate is not None:
        yield from (Line([note]) for note in report.gate.notes)


def _row(report: Report, comparison: Comparison, model: str, *, has_skill: bool) -> list[Cell]:
    row = shown_row(comparison, comparison[comparison.metrics[0], model])
    change = comparison.relative[row.metric][model]
    gate = None if report.gate is None else report.gate.by_model.get(model)
    state = "none" if gate is None else "pass" if gate.passed else "fail"
    badge = {"none": "no rule", "pass": f"{PASSED} PASS", "fail": f"{FAILED} FAIL"}[state]
    origin = report.origins.get(model, "")
    cells = [
        Cell(model, state, [Words(origin, "small")] if origin else []),
        *[Cell("", "state", [Words(badge, f"badge {state}")])] * (report.gate is not None),
        Cell("", "text", sentence(report, comparison, model)),
        Cell(
            "",
            "figure absolute",
            _figure(signed(row.difference), interval(row.ci_low, row.ci_high), reading_of(row, comparison)),
        ),
        Cell("", "figure relative", _figure(percent(change.value, sign="+"), percents(change))),
    ]
    if has_skill and row.skill is not None and row.skill_difference is not None:
        cells.append(Cell("", "figure of-skill", _figure(number(row.skill, 3), signed(row.skill_difference, 3))))
    return [*cells, Cell("", "why", _reasons(comparison, gate, row))]


def _figure(value: str, below: str = "", css: str = "b") -> list[Words]:
    return [Words(value, css), Words(below, "small")] if below else [Words(value, css)]


def _reasons(comparison: Comparison, gate: GateResult | None, row: Difference) -> Pieces:
    """Return the checks of a model in short, with their full text in a fold."""
    if gate is None:
        is_yardstick = row.model in comparison.yardsticks
        return [Words("a yardstick: compared, without a rule", "")] if is_yardstick else []
    checks = sorted(gate.checks, key=lambda check: (check.segment is not None, check.passed))
    is_short = len(comparison.models) > MAX_REASONS
    shown = [check for check in checks if not check.passed or (check.segment is None and not is_short)]
    pieces: list[Piece] = []
    for check in shown:
        mark, css = (PASSED, "rule") if check.passed else (f"{FAILED} failed:", "rule no")
        pieces.append(Words(f"{mark} {short_check(check, comparison)}", css))
    if reading_of(row, comparison) == "unclear":
        pieces.append(Words(f"○ detectable: {number(row.mde)}", ""))
    return [*pieces, Drawing("reasons", {"reasons": [str(check) for check in checks]})]


def short_check(check: Check, comparison: Comparison) -> str:
    """Return the bound of a check and its limit: what is sure if it passed, and what may be if it did not."""
    rule = rule_of(check)
    where = "" if check.segment is None else f"{check.segment}: "
    if check.bound != check.bound:
        return f"{where}{check.rule}: {check.reason.removesuffix('.')}"
    if rule.kind in ("difference", "relative"):
        text = _gain_or_loss(check, rule, comparison)
    else:
        text = _mean_or_share(check, rule, comparison)
    return f"{where}{text}{'' if check.verdict in ('passed', 'violated') else f': {check.verdict}'}"


def _gain_or_loss(check: Check, rule: Rule, comparison: Comparison) -> str:
    def size(one: float) -> str:
        return percent(abs(one)) if rule.kind == "relative" else number(abs(one))

    sign = 1 if comparison.higher_is_better(rule.metric) else -1
    if rule.limit.is_floor != (sign > 0):  # it limits what nobody calls a loss
        change = percent(check.bound, sign="+") if rule.kind == "relative" else signed(check.bound)
        sure, end = check.passed, "at least" if rule.limit.is_floor else "at most"
        return f"{rule.metric} {'changes' if sure else 'may change'} by {change}{f' {end}' * sure} ({_limit(rule)})"
    gain, allowed = sign * check.bound, sign * rule.limit.number
    more = "at least" if rule.limit.sign.endswith("=") else "more than"
    limit = f"allowed: {limit_text(rule).lstrip(MINUS)}" if allowed < 0 else f"needed: {more} {size(allowed)}"
    if gain < 0:
        return f"{rule.metric} {'loses at most' if check.passed else 'may lose up to'} {size(gain)} ({limit})"
    needed = "" if check.passed and allowed <= 0 else f" ({limit})"
    return f"{rule.metric} {'gains at least' if check.passed else 'may gain only'} {size(gain)}{needed}"


def _mean_or_share(check: Check, rule: Rule, comparison: Comparison) -> str:
    ends = ("at least", "perhaps only") if rule.limit.is_floor else ("at most", "perhaps up to")
    end = ends[0] if check.passed else ends[1]
    if rule.share_of is None:
        return f"{rule.metric} is {end} {number(check.bound)} ({_limit(rule)})"
    beyond = f"have a difference {rule.share_of}"
    if rule.share_of.number < 0 and not rule.share_of.is_floor and comparison.higher_is_better(rule.metric):
        more = "at least" if rule.share_of.sign.endswith("=") else "more than"
        beyond = f"lose {more} {-rule.share_of.number:g}"
    units = "queries" if comparison.cluster is None else "clusters, each with the share of its queries,"
    return f"{percent(check.value)} of the {units} {beyond}, {end} {percent(check.bound)} ({_limit(rule)})"


def _limit(rule: Rule) -> str:
    return f"limit {limit_text(rule)}"


def rules_about(report: Report, metric: str) -> Iterator[tuple[Rule, str]]:
    """Yield the rules of the gate that are about a metric over all queries, each with a model that it is for."""
    for check in () if report.gate is None else report.gate.checks:
        rule = rule_of(check)
        if check.segment is None and name_in(report.first, rule.metric) == metric:
            yield rule, check.model


def limit_text(rule: Rule) -> str:
    """Return the number of a rule as it was written."""
    limit = rule.limit
    return (f"{100 * limit.number:g}%" if limit.unit else f"{limit.number:g}").replace("-", MINUS)


# -- the facts --------------------------------------------------------------------------------------------------------


def facts_parts(report: Report) -> dict[str, Pieces]:
    """Return the facts about the data and the run."""
    of_source = {file: digest for file, digest in report.files.items() if file in report.source}
    data: list[Piece] = [Words(report.source, "name")] if report.source and not of_source else []
    for file, digest in of_source.items():
        data += [Words(file, "name"), Words(f"sha256 {digest[:8]}", "code")]
    facts: dict[str, Pieces] = {"Data": data}
    if report.data is not None:
        documents, grades = report.data.documents_a_query, report.data.grades
        sizes = f"{documents['min']:,} to {documents['max']:,} documents, median {documents['median']:,g}"
        facts["Queries"] = [f"{report.data.n_queries:,}, with {sizes}"]
        of_grades: list[Piece] = [f"{report.data.n_rows:,}, with grade"]
        for grade, count in grades.items():
            of_grades += [Drawing("grade", grade_of(report, grade)), Words(f"{count:,}", "count")]
        few = len(grades) <= MAX_GRADES
        facts["Documents"] = of_grades if few else [f"{report.data.n_rows:,}, with {len(grades)} different grades"]
    if report.gate is not None:
        facts["Gate"] = [piece for rule in _rules(report) for piece in ("and", Words(rule, "code"))][1:]
    if report.command:
        name = "command" if len(report.command) > LONG_COMMAND else "code"
        facts["Command"] = [Drawing(name, {"text": report.command, "short": report.command[: LONG_COMMAND - 10]})]
    return {term: pieces for term, pieces in facts.items() if pieces}


def _rules(report: Report) -> Iterator[str]:
    """Yield the rules of the gate; one that is not for all candidates begins with the models that it is for."""
    models: dict[str, list[str]] = {}
    for check in () if report.gate is None else report.gate.checks:
        if check.model not in models.setdefault(check.rule, []):
            models[check.rule].append(check.model)
    candidates = [] if report.comparison is None else report.comparison.candidates
    for rule, of_rule in models.items():
        yield rule if set(of_rule) >= set(candidates) else f"{', '.join(of_rule)}: {rule}"


def grade_of(report: Report, grade: float | None) -> dict[str, object]:
    """Return a grade, and the number of steps that draw it, if it is on a short scale."""
    top = top_grade(report)
    steps = int(grade) if grade is not None and grade.is_integer() and 0 < top <= MAX_STEPS else None
    return {"text": number(None) if grade is None else f"{grade:g}", "steps": steps, "top": top}


def top_grade(report: Report) -> int:
    """Return the highest grade of the data, or 0 if it is unknown."""
    return 0 if report.data is None else int(max(report.data.grades))
