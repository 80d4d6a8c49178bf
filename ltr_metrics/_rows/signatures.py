"""Arguments of public functions: options that are passed on, and the error for a call with wrong ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypedDict, TypeVar, cast

from ltr_metrics._rows.words import Unjudged
from ltr_metrics.errors import LtrTypeError, did_you_mean

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


CUTOFFS = ("k", "at", "cutoff", "top_k", "topk")
OUR_WORDS = {  # for what other libraries call it
    **dict.fromkeys(("weight", "weights", "sample_weights", "query_weights"), ("sample_weight", "query_weight")),
    **dict.fromkeys(("query_id", "query_ids", "qids", "query", "queries"), ("qid",)),
    **dict.fromkeys(("groups", "group_sizes", "query_groups"), ("group", "qid")),
    **dict.fromkeys(("y_pred", "scores", "preds", "predictions", "y_scores"), ("y_score",)),
    **dict.fromkeys(("y", "labels", "relevance", "grades", "target"), ("y_true",)),
    **dict.fromkeys(("stopping_rounds", "early_stopping_rounds", "patience"), ("rounds",)),
    **dict.fromkeys(CUTOFFS, ("k",)),
}


def nearest_option(word: str, known: Collection[str]) -> str:
    """Return a sentence with the options that a word may stand for, or an empty string."""
    meant = [one for one in OUR_WORDS.get(word, ()) if one in known]
    if meant:
        return f" Did you mean {' or '.join(map(repr, meant))}?"
    if word in CUTOFFS:
        return ' Write the cutoff into the name of the metric, such as "ndcg@10".'
    return did_you_mean(word, known)


def explaining_calls(function: AnyFunction) -> AnyFunction:
    """Raise an error that says how to call a function where Python says only that the arguments do not fit."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # raised in the function
                raise
            raise LtrTypeError(_what_does_not_fit(call, arguments, options, error)) from None

    return cast("AnyFunction", call)


def _what_does_not_fit(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any], error: TypeError
) -> str:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_KEYWORD]
    name = function.__name__
    if name == "__init__":
        name, parameters, arguments = type(arguments[0]).__name__, parameters[1:], arguments[1:]
    names = [p.name for p in parameters]
    listed = f"Its arguments are {', '.join(names)}."
    for word in options:
        if word not in names:
            return f"{name} has no argument {word!r}.{nearest_option(word, names)} {listed}"
    positional = [p.name for p in parameters if p.kind != p.KEYWORD_ONLY]
    if len(arguments) > len(positional):
        allowed = f"only {' and '.join(positional)}" if positional else "no argument"
        by_name = ", ".join(f"{one}=" for one in names if one not in positional)
        others = f" Pass the others by name: {by_name}." if by_name else ""
        return f"{name} takes {allowed} by position. Got {len(arguments)}.{others}"
    given = {*options, *positional[: len(arguments)]}
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    return f"{name} needs {' and '.join(missing)}. {listed}" if missing else str(error)
