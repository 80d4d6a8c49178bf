"""Options that a function passes on, where people and tools look for them: in its signature and in its types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

from ltr_metrics._rows.words import Unjudged

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class DataOptions(TypedDict, total=False):
    """The options of `Queries`."""

    qid: Any
    group: Any
    query_weight: Any
    sample_weight: Any
    docid: Any
    retrieved: Any
    judged: Any
    unjudged: Unjudged | None
    columns: Any
    by: Any
    cluster: Any


def with_options_of(*callables: Callable[..., Any]) -> Callable[[AnyFunction], AnyFunction]:
    """Show the keyword options of some callables in the signature of a function, in place of its ``**options``.

    The function itself still has ``**options``, so that it can name an option that it does not know.
    """

    def show(function: AnyFunction) -> AnyFunction:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        passed_on = [p for one in callables for p in inspect.signature(one).parameters.values()]
        options = [p for p in passed_on if p.kind == p.KEYWORD_ONLY]
        shown = sorted([*options, *own], key=lambda p: p.kind)  # they stand before its own keyword options
        vars(function)["__signature__"] = signature.replace(parameters=shown)
        return function

    return show
