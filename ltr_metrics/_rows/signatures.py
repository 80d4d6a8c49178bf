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
        shown = {name: p for name, p in signature.parameters.items() if p.kind != p.VAR_KEYWORD}
        for one in callables:
            options = inspect.signature(one).parameters.items()
            shown |= {name: p for name, p in options if p.kind == p.KEYWORD_ONLY and name not in shown}
        vars(function)["__signature__"] = signature.replace(parameters=list(shown.values()))
        return function

    return show
