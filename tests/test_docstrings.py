"""Docstrings: every public name is documented in full, in valid markup, and in the same words."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("numpydoc", reason="numpydoc checks docstrings: pip install 'ltr_metrics[test]'")

import docstring_rules as rules
from docstring_rules import Public

import ltr_metrics as ltr


@pytest.mark.parametrize("path", [*rules.public()])
def test_a_docstring_has_no_fault(path: str) -> None:
    found = rules.faults(rules.public()[path])
    assert not found, "\n".join([path, *found])


@pytest.mark.parametrize("module", [*rules.modules()], ids=lambda module: module.__name__)
def test_the_docstring_of_a_module_has_no_fault(module: ModuleType) -> None:
    of = Public(module.__name__, module.__name__, module)
    assert rules.faults_of_markup(of) + rules.faults_of_references(of) + rules.faults_of_prose(of) == []


@pytest.mark.skipif(not rules.is_there("spark"), reason="some beginnings are those of ltr_metrics.spark alone")
def test_every_beginning_is_in_use_with_spark() -> None:
    described = [pair for of in rules.public().values() if not of.is_internal for pair in rules.shared_parameters(of)]
    for name, beginnings in rules.WORDING.items():
        for beginning in beginnings:
            assert any(name == shared and text.startswith(beginning) for shared, text in described), (name, beginning)


def test_all_kinds_of_members_are_found() -> None:
    found = rules.public()
    assert len(found) > 300
    assert "ltr_metrics.evaluate" in found  # a function
    assert "ltr_metrics.Comparison" in found  # a class
    assert "ltr_metrics.Comparison.to_pandas" in found  # a method
    assert "ltr_metrics.Comparison.models" in found  # a property
    assert "ltr_metrics.Comparison.by" in found  # a cached property
    assert "ltr_metrics.interleaving.ClickModel.fit" in found  # a class method
    assert "ltr_metrics.PerQueryLog.values" in found  # of a private base class
    assert "ltr_metrics.NDCG.divisor" not in found  # overrides a documented method
    assert found["ltr_metrics.Evaluation.printed_parts"].is_internal
    assert not found["ltr_metrics.Evaluation.save"].is_internal


def test_a_reason_stands_beside_each_check_that_is_left_out() -> None:
    assert {"PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "SA01", "EX01", "GL06", "GL07"} <= rules.CHECKS
    assert all((rules.LEFT_OUT | rules.LEFT_TO_THE_CLASS).values())


def test_the_lists_of_exceptions_name_what_exists() -> None:
    names = {path.rpartition(".")[2] for path in rules.public()}
    members = {f"{p.cls.__name__}.{path.rpartition('.')[2]}" for path, p in rules.public().items() if p.cls}
    assert not {name for name in rules.INTERNAL if name not in names | members}
    assert names >= rules.FOR_AUTHORS


# -- the checks can fail ---------------------------------------------------------------------------


def bad(first, second=1, *, third=None):  # type: ignore[no-untyped-def]
    """returns Something

    It uses `no_such_name`, and **bold markup without its end.

    Parameters
    ----------
    second : integer
        the second
    first
    fourth : int
        There is no such parameter.
    qid : array-like, optional
        Ids.

    Remarks
    -------
    This section does not exist.

    See Also
    --------
    evaluate_everything : evaluates everything
    """
    if first:
        raise ltr.LtrValueError("never documented")
    return second


def good(first: int, *, second: float = 1.0) -> float:
    """Return the sum of two numbers.

    Parameters
    ----------
    first : int
        The first number.
    second : float, default 1.0
        The second number.

    Returns
    -------
    float
        Their sum, see `evaluate`.

    Raises
    ------
    LtrValueError
        If the first number is negative.

    See Also
    --------
    evaluate : Evaluate rankings.

    Examples
    --------
    >>> 1 + 1.0
    2.0
    """
    if first < 0:
        raise ltr.LtrValueError(f"first must not be negative. Got {first}.")
    return first + second


class Bad:
    """A class with two attributes, one of which does not exist.

    Attributes
    ----------
    exists
        Without a type.
    missing : int
        Not there.
    """

    def __init__(self) -> None:
        self.exists = 1

    def undocumented(self) -> None: ...

    def never_shown(self) -> None:
        """Do nothing, in no example."""

    @property
    def untyped(self):  # type: ignore[no-untyped-def]
        """Value without a type."""

    @cached_property
    def typed(self) -> int:
        """Value with a type."""
        return 1


def faults_of(thing: Any, cls: type | None = None, name: str = "") -> list[str]:
    path = f"ltr_metrics.{cls.__name__}.{name}" if cls else f"ltr_metrics.{thing.__name__}"
    return rules.faults(Public(path, "ltr_metrics", thing, cls))


def test_a_bad_function_has_every_fault() -> None:
    codes = {fault.partition(":")[0] for fault in faults_of(bad)}
    numpydocs = {"SS02", "SS03", "PR01", "PR02", "PR04", "PR06", "PR07", "PR08", "PR09", "RT01", "SA02", "SA03", "EX01"}
    assert codes >= numpydocs | {"GL06", "REF", "EXAMPLE", "RAISES", "WORDING"}
    named = [fault for fault in faults_of(bad) if fault.startswith("REF")]
    assert [name for fault in named for name in ("no_such_name", "evaluate_everything") if name in fault] == [
        "no_such_name",
        "evaluate_everything",
    ]


def test_a_good_function_has_none() -> None:
    assert faults_of(good) == []


def test_a_bad_class_and_its_members_have_faults() -> None:
    assert {"ATTRIBUTES: exists has no type", "ATTRIBUTES: missing does not exist"} <= set(faults_of(Bad))
    assert faults_of(Bad.undocumented, Bad, "undocumented") == ["GL08: there is no docstring"]
    assert faults_of(Bad.never_shown, Bad, "never_shown") == ["EXAMPLE: neither its own nor one of its class shows it"]
    assert "PROPERTY: its type is not annotated, so the reference cannot show it" in faults_of(
        vars(Bad)["untyped"], Bad, "untyped"
    )
    assert not [fault for fault in faults_of(vars(Bad)["typed"], Bad, "typed") if fault.startswith("PROPERTY")]


def documented(text: str) -> Public:
    def thing() -> None: ...

    thing.__doc__ = text
    return Public("ltr_metrics.thing", "ltr_metrics", thing)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Summary.\n\n**bold without its end.\n", "Inline strong start-string without end-string"),
        ("Summary.\n\n- a list\n- that ends\nwithout a blank line\n", "ends without a blank line"),
        ("Summary.\n\n.. mathh:: x\n", 'Unknown directive type "mathh"'),
        ("Summary.\n\nA :math:`x` and an :unknown:`y`.\n", 'Unknown interpreted text role "unknown"'),
    ],
)
def test_wrong_markup_is_found(text: str, message: str) -> None:
    found = rules.faults_of_markup(documented(text))
    assert any(message in fault for fault in found), found


@pytest.mark.parametrize("name", ["evaluat", "Queries.absent", "docs/absent.md", "ltr_metrics.spark.absent"])
def test_names_that_do_not_exist_are_found(name: str) -> None:
    assert rules.faults_of_references(documented(f"Summary of `{name}`.")) == [f"REF: {name} is not a public name"]


@pytest.mark.parametrize(
    "text", ["``code`` and `evaluate`.", "`docs/design.md`", ":math:`a_b` and :math:`c`.", "A list:\n\n- one\n- two"]
)
def test_right_markup_and_references_pass(text: str) -> None:
    of = documented(f"Summary.\n\n{text}\n")
    assert rules.faults_of_markup(of) == rules.faults_of_references(of) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Summary.\n\n{'a ' * 30}a.\n", [f"PROSE: 31 words: {'a ' * 30}a."]),
        (f"Summary.\n\nParameters\n----------\nx : int\n    {'A ' * 30}a.\n", [f"PROSE: 31 words: {'A ' * 30}a."]),
        (f"Summary.\n\n{'a' * 97}\n", [f"PROSE: 101 columns: {'a' * 97}"]),
        (f"{'A' * 93}.\n", [f'PROSE: 101 columns: """{"A" * 93}.']),
        (f"{'A' * 92}.\n\n{'a' * 96}\n\n{'a ' * 29}a.\n", []),
        (f"Summary.\n\n.. math:: {'x + ' * 40}\n    y\n\nText.\n\nExamples\n--------\n>>> {'1 + ' * 40}1\n41\n", []),
    ],
)
def test_long_lines_and_sentences_are_found(text: str, expected: list[str]) -> None:
    assert rules.faults_of_prose(documented(text)) == expected


def test_the_names_of_a_module_are_known_without_its_host() -> None:
    assert {"QueryEvaluator", "evaluate"} <= set(rules.names_without_import("spark"))


def test_an_example_must_run() -> None:
    skipped = documented("Summary.\n\nExamples\n--------\n>>> 1  # doctest: +SKIP\n1\n")
    assert rules.faults_of_examples(skipped) == ["EXAMPLE: no line of it runs"]
    assert rules.faults_of_examples(documented("Summary.\n\nExamples\n--------\n>>> 1\n1\n")) == []
