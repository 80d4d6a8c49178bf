"""Options with fixed words: the types that editors and type checkers see are the words that a program accepts."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

import pytest

import ltr_metrics as ltr
from ltr_metrics._engine import queries, sorting, words
from ltr_metrics._hosts import log_names
from ltr_metrics.analysis import inference
from ltr_metrics.analysis.comparison import settings, table
from ltr_metrics.analysis.inference import bootstrap
from ltr_metrics.counterfactual import ClickMetric, click_metric, estimate_propensities, estimation, evaluation, slates
from ltr_metrics.evaluation.log import rounds, search
from ltr_metrics.interleaving import (
    ClickModel,
    Impression,
    Optimized,
    PairwisePreference,
    method,
    methods,
    optimized,
    outcome,
    pairwise_preference,
    scoring,
    simulate,
    simulation,
)
from ltr_metrics.io import read_trec
from ltr_metrics.metrics import conventions, dcg, function, gains, systems
from ltr_metrics.report import html

LITERALS = {name: kind for name, kind in vars(words).items() if get_origin(kind) is Literal}
Y, S, QID = [1, 0, 2, 0], [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]
TWO = {"a": S, "b": S[::-1]}
RANKINGS = [["x", "y"], ["y", "x"]]

LISTS: dict[str, list[Any]] = {  # what a program checks by
    "TiePolicy": [conventions.TIES, sorting.ORDER_OF_TIES],
    "NoRelevant": [conventions.NO_RELEVANT],
    "Unjudged": [queries.UNJUDGED],
    "ConventionName": [(*ltr.CONVENTIONS, *systems.ALIASES)],
    "HostOfGain": [conventions.HOSTS_WITH_GAIN],
    "PartOfFunction": [function.PARTS],
    "NamedGain": [gains.GAINS],
    "NamedDiscount": [dcg.DISCOUNTS],
    "Test": [inference.TESTS, table.TESTS],
    "Correction": [inference.CORRECTIONS],
    "CorrectionOver": [settings.CORRECTION_OVER],
    "QueriesOfComparison": [settings.QUERIES],
    "Interval": [inference.INTERVALS, table.INTERVALS],
    "Bootstrap": [bootstrap.BOOTSTRAPS],
    "NameStyle": [log_names.NAMES],
    "RuleOfBestRound": [rounds.RULES],
    "PartOfSearch": [[part for part in search.PARTS if part is not None]],
    "InterleavingMethod": [methods.METHODS],
    "RuleOfCredit": [method.RULES],
    "Pairs": [pairwise_preference.PAIRS],
    "Credit": [optimized.CREDITS],
    "OutcomeBy": [outcome.BY],
    "ClusterOfImpressions": [scoring.CLUSTERS],
    "TiesOfRankings": [simulation.TIES],
    "EstimatorOfMetric": [click_metric.ESTIMATORS],
    "EstimatorOfClicks": [evaluation.ESTIMATORS],
    "MethodOfPropensities": [estimation.METHODS],
    "TiesOfClicks": [evaluation.TIES],
    "EstimatorOfSlates": [slates.ESTIMATORS],
}
REFUSED: dict[str, Callable[[Any], object]] = {  # a call with a word of one's own, which names those that there are
    "TiePolicy": lambda word: ltr.evaluate(Y, S, qid=QID, metrics="mrr", ties=word),
    "NoRelevant": lambda word: ltr.evaluate(Y, S, qid=QID, metrics="mrr", no_relevant=word),
    "Unjudged": lambda word: ltr.Queries(Y, qid=QID, unjudged=word),
    "ConventionName": lambda word: ltr.evaluate(Y, S, qid=QID, metrics="ndcg", convention=word),
    "HostOfGain": lambda word: dataclasses.replace(ltr.CONVENTIONS["default"], name="mine", host=word),
    "Topics": lambda word: read_trec("absent", "absent", topics=word),
    "PartOfFunction": lambda word: ltr.as_metric(len, per=word),
    "NamedGain": lambda word: ltr.NDCG(gain=word),
    "NamedDiscount": lambda word: ltr.NDCG(discount=word),
    "Ideal": lambda word: ltr.NDCG(ideal=word),
    "ShortOfNDCG": lambda word: ltr.NDCG(short=word),
    "ShortOfPrecision": lambda word: ltr.Precision(short=word),
    "Denominator": lambda word: ltr.MAP(denominator=word),
    "StopOfERR": lambda word: ltr.ERR(p=word),
    "StopOfPFound": lambda word: ltr.PFound(p_rel=word),
    "Graded": lambda word: ltr.RBP(graded=word),
    "RoundingOfIPrec": lambda word: ltr.InterpolatedPrecision(rounding=word),
    "Average": lambda word: ltr.PairAccuracy(average=word),
    "NamedMaxGrade": lambda word: ltr.ERR(max_grade=word),
    "Test": lambda word: ltr.compare(TWO, Y, qid=QID, metrics="mrr", test=word),
    "Correction": lambda word: ltr.compare(TWO, Y, qid=QID, metrics="mrr", correction=word),
    "QueriesOfComparison": lambda word: ltr.compare(TWO, Y, qid=QID, metrics="mrr", queries=word),
    "CorrectionOver": lambda word: ltr.compare(TWO, Y, qid=QID, metrics="mrr", correction_over=word),
    "Interval": lambda word: ltr.compare(TWO, Y, qid=QID, metrics="mrr", interval=word),
    "Bootstrap": lambda word: bootstrap.bootstrap_intervals(inference.Sample.of([[0.1], [0.2]]), word),
    "NameStyle": lambda word: importlib.import_module("ltr_metrics.lightgbm").feval("mrr", names=word),
    "RuleOfBestRound": lambda word: rounds.best_round([[0.1, 0.2]], None, metric="mrr", rule=word, confidence=0.95),
    "InterleavingMethod": lambda word: Impression(method=word, rankings=None, shown=["x"], clicks=[]),
    "RuleOfCredit": lambda word: PairwisePreference(RANKINGS).credit(["x", "y"], [0], rule=word),
    "Pairs": lambda word: PairwisePreference(RANKINGS, pairs=word),
    "Credit": lambda word: Optimized(RANKINGS, credit=word),
    "EstimatorOfMetric": lambda word: ClickMetric(metric="dcg", estimator=word),
    "EstimatorOfClicks": lambda word: evaluation.evaluate(Y, S, qid=QID, estimator=word),
    "MethodOfPropensities": lambda word: estimate_propensities(Y, Y, qid=QID, method=word),
    "EstimatorOfSlates": lambda word: slates.evaluate_slates([], {}, estimator=word),
    "TiesOfClicks": lambda word: evaluation.evaluate(Y, S, qid=QID, ties=word),
    "TiesOfRankings": lambda word: simulate(
        Y, TWO, qid=QID, method="ppm", clicks=ClickModel.perfect(grades=3), impressions=2, ties=word
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_words_of_a_type_are_those_of_the_program(name: str) -> None:
    for known in LISTS[name]:
        assert tuple(known) == get_args(LITERALS[name])


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_the_words_of_the_type(name: str) -> None:
    with pytest.raises(ltr.LtrError) as refused:
        REFUSED[name]("no such word")
    message = str(refused.value)
    for word in get_args(LITERALS[name]):
        assert re.search(rf"\b{word}\b", message), (word, message)


def test_every_type_is_compared_with_the_program() -> None:
    elsewhere = {"TiesOfSpark", "PartOfSearch", "OutcomeBy"}  # of which the next tests and other files know
    assert LITERALS.keys() == LISTS.keys() | REFUSED.keys() | elsewhere
    assert {*get_args(words.TiesOfSpark), "stable"} == {*get_args(words.TiePolicy)}
    assert set(importlib.import_module("ltr_metrics.analysis.audit").POLICIES) < set(get_args(words.TiePolicy))
    assert {*html.CORRECTIONS, "none"} == {*get_args(words.Correction)}


# -- signatures ------------------------------------------------------------------------------------

SAYS = re.compile(r'^\s*(\w+(?:, \w+)*) : (\{"[^}]*\})', re.MULTILINE)
OPTIONS = {
    *("ties", "no_relevant", "noRelevant", "convention", "unjudged", "test", "correction", "correction_over"),
    *(
        "interval",
        "topics",
        "pairs",
        "credit",
        "graded",
        "denominator",
        "average",
        "ideal",
        "short",
        "gain",
        "discount",
        "names",
    ),
}


def modules() -> Iterator[Any]:
    for one in pkgutil.walk_packages(ltr.__path__, "ltr_metrics."):
        if re.search(r"\.cli|__main__", one.name):
            continue
        if one.name.split(".")[1] in ("spark", "dask", "mlflow") and not _has(one.name.split(".")[1]):
            continue
        yield importlib.import_module(one.name)


def _has(module: str) -> bool:
    return importlib.util.find_spec({"spark": "pyspark"}.get(module, module)) is not None


def documented() -> Iterator[tuple[str, Any, Any]]:
    """Functions, methods and classes of the package that have a docstring: name, module, thing."""
    for module in modules():
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isclass(thing):
                own_init = inspect.isfunction(thing.__init__) and not is_dataclass(thing)
                yield f"{module.__name__}.{name}", inspect.getmodule(thing.__init__) if own_init else module, thing
                for of, method_ in inspect.getmembers(thing, inspect.isfunction):
                    if not of.startswith("_") and method_.__module__ == module.__name__:
                        yield f"{module.__name__}.{name}.{of}", module, method_
            elif inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", module, thing


def annotations(thing: Any) -> dict[str, Any]:
    """Annotations of parameters, as text where they are text in the same module."""
    if inspect.isclass(thing) and is_dataclass(thing):
        return {field.name: _annotation(thing, field.name, field.type) for field in fields(thing)}
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}
    return {name: one.annotation for name, one in parameters.items() if one.annotation is not inspect.Parameter.empty}


def _annotation(cls: type, name: str, annotation: Any) -> Any:
    """The annotation of a field, evaluated where another module defines it."""
    home = next(base.__module__ for base in cls.__mro__ if name in vars(base).get("__annotations__", {}))
    return annotation if home == cls.__module__ else eval(annotation, vars(sys.modules[home]))


def literal_words(annotation: Any, module: Any) -> tuple[str, ...]:
    """Words of all Literals in an annotation; empty if there are none."""
    if isinstance(annotation, str):
        annotation = eval(annotation, vars(gains) | vars(module) | vars(words))
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(word for part in get_args(annotation) for word in literal_words(part, module))


def test_what_a_docstring_lists_is_what_the_signature_says() -> None:
    checked = 0
    for name, module, thing in documented():
        types = annotations(thing)
        for names, listed in SAYS.findall(thing.__doc__ or ""):
            for parameter in names.split(", "):
                if parameter in types and not (name.endswith("Model") and parameter == "host"):
                    assert sorted(literal_words(types[parameter], module)) == sorted(re.findall(r'"(\w+)"', listed)), (
                        name,
                        parameter,
                    )
                    checked += 1
    assert checked > 25


def test_no_option_with_fixed_words_is_plain_text() -> None:
    checked = 0
    for name, module, thing in documented():
        if name == "ltr_metrics.metrics.requests.Policy":  # whose convention may be one of your own
            continue
        for parameter, annotation in annotations(thing).items():
            text = annotation if isinstance(annotation, str) else repr(annotation)
            text = re.sub(r"\w+\[[^\]]*\]", "", text)  # several of them, or by name
            if parameter in OPTIONS and re.search(r"\bstr\b", text):
                assert literal_words(annotation, module), f"{name} takes {parameter} as {text}"
            checked += parameter in OPTIONS
    assert checked > 60


def test_a_default_is_one_of_the_words() -> None:
    for name, module, thing in documented():
        if inspect.isclass(thing) and is_dataclass(thing):
            defaults = {f.name: f.default for f in fields(thing) if f.default is not MISSING}
        else:
            try:
                defaults = {n: p.default for n, p in inspect.signature(thing).parameters.items()}
            except (TypeError, ValueError):
                continue
        for parameter, annotation in annotations(thing).items():
            default = defaults.get(parameter)
            if parameter in OPTIONS and isinstance(default, str) and default:
                assert default in literal_words(annotation, module), (name, parameter, default)
