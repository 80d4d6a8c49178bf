"""Options that many functions have: one meaning, one text.

Each docstring has the whole text, because editors read it in the source. So the copies are compared with those of
`evaluate`: a copy may add sentences, and what means something else is listed here.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import ltr_metrics as ltr

SHARED = ("ties", "no_relevant", "convention", "n_threads", "unjudged", "judged", "retrieved", "sample_weight", "group")
REFERS = re.compile(r"\bas (for|in) `(ltr_metrics\.)?evaluate`")  # to the text of `evaluate`
OWN = {  # which mean something else
    ("make_ranking", "no_relevant"),  # the share of such queries
    ("simulate", "ties"),  # of the lists that are shown
    ("Ranking", "ties"),  # the ties themselves
    ("tie_audit", "convention"),  # without its ties
    ("audit", "convention"),
    ("early_stopping", "convention"),  # which completes the name of one metric
    ("Evaluation.from_per_query", "convention"),  # which completes names of columns
    ("ValidationSet", "sample_weight"),  # whose weights are the host's
    ("QueryRanker.set_fit_request", "sample_weight"),  # in scikit-learn's words
    ("QueryRanker.set_score_request", "sample_weight"),
}
PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^(\w+) : .*\n((?:(?: .*)?\n?)+)", re.MULTILINE)


def options_of(documented: Any) -> dict[str, str]:
    """Return the text of each option in the docstring of a function or class, on one line."""
    section = PARAMETERS.search(inspect.getdoc(documented) or "")
    return {} if section is None else {name: " ".join(text.split()) for name, text in OPTION.findall(section[1])}


def documented() -> Iterator[tuple[str, Any]]:
    """Yield what the package defines and documents, by name."""
    for module in pkgutil.walk_packages(ltr.__path__, "ltr_metrics."):
        try:
            members = vars(import_module(module.name))
        except ImportError:  # a host or an engine that is not installed
            continue
        for name, one in members.items():
            if getattr(one, "__module__", None) == module.name and (inspect.isclass(one) or inspect.isfunction(one)):
                yield name, one
                methods = vars(one).items() if inspect.isclass(one) else ()
                yield from ((f"{name}.{key}", getattr(one, key)) for key, value in methods if hasattr(value, "__doc__"))


TEXT = options_of(ltr.evaluate)
COPIES = sorted({
    (option, name, text)
    for name, one in documented()
    for option, text in options_of(one).items()
    if option in SHARED and (name, option) not in OWN
})  # fmt: skip


def test_copies_are_found() -> None:
    assert set(SHARED) <= TEXT.keys()
    assert {"compare", "feval", "Queries.evaluate"} <= {name for _, name, _ in COPIES}


@pytest.mark.parametrize(("option", "name", "text"), COPIES, ids=[f"{name}-{option}" for option, name, _ in COPIES])
def test_an_option_has_the_text_of_evaluate(option: str, name: str, text: str) -> None:
    assert text.startswith(TEXT[option]) or REFERS.search(text), f"{name}: {text}\nevaluate: {TEXT[option]}"
