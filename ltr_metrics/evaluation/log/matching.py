"""Match the entries of ``search.cv_results_["params"]`` with the candidates of a log.

An entry holds the parameters that a grid sets, and a candidate holds all parameters of its
estimator. With several grids, an entry may leave out a parameter that another grid sets. That
parameter then has the default of the searched estimator, which the log does not know. We try the
values that occur in the log as defaults, and keep those with which each entry fits one candidate.
If several are possible, the solution with the most distinct candidates is the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from ltr_metrics.errors import LtrKeyError, LtrTypeError
from ltr_metrics.evaluation.log.parameters import Parameters, as_text
from ltr_metrics.evaluation.log.records import first_few

Texts = dict[str, str]
MAX_DEFAULTS = 1000  # combinations to try; only many different grids have more


def match_candidates(
    params: Iterable[Mapping[str, Any]], candidates: Sequence[tuple[Parameters, Parameters]]
) -> list[int]:
    """Return the index of each entry's candidate.

    A candidate is given by all of its parameters, and by those that vary, which a message shows.
    """
    if isinstance(params, (str, Mapping)):
        raise LtrTypeError(
            "params must be a sequence with the parameters of each candidate, such as "
            f'search.cv_results_["params"]. Got {params!r}.'
        )
    entries = list(params)
    wanted = [_texts(_with_nested(entry)) for entry in entries]
    known = [_texts(parameters) for parameters, _ in candidates]
    solutions = set()
    for defaults in _possible_defaults(entries, known):
        matches = [[i for i, texts in enumerate(known) if _fits(texts, entry, defaults)] for entry in wanted]
        if all(len(indices) == 1 for indices in matches):
            solutions.add(tuple(indices[0] for indices in matches))
    most = max((len(set(solution)) for solution in solutions), default=0)
    best = [solution for solution in solutions if len(set(solution)) == most]
    if len(best) != 1:
        n_matches = [sum(entry.items() <= texts.items() for texts in known) for entry in wanted]
        n = 0 if 0 in n_matches else max(n_matches)
        raise LtrKeyError(
            f"{n or 'No'} candidate{'s have' if n > 1 else ' has'} the parameters "
            f"{dict(entries[n_matches.index(n)])!r}, and exactly one must have them. Leave out of params a candidate "
            "whose fits have all failed: it was never scored. The parameters that vary between the candidates of the "
            f"log: {first_few([varying for _, varying in candidates])}."
        )
    return list(best[0])


def _with_nested(parameters: Mapping[str, Any]) -> Parameters:
    """Add the parameters of estimators among the values, as ``get_params(deep=True)`` does."""
    nested = {
        f"{name}__{inner}": entry
        for name, value in parameters.items()
        if hasattr(value, "get_params") and not isinstance(value, type)
        for inner, entry in value.get_params(deep=True).items()
    }
    return nested | dict(parameters)


def _texts(parameters: Parameters) -> Texts:
    return {name: as_text(value) for name, value in parameters.items()}


def _possible_defaults(entries: Sequence[Mapping[str, Any]], known: Sequence[Texts]) -> Iterator[Texts]:
    """Yield possible defaults of the parameters that some entries set and others leave out."""
    names = sorted({name for entry in entries for name in entry if any(name not in other for other in entries)})
    observed = [sorted({texts[name] for texts in known if name in texts}) for name in names]
    return (dict(zip(names, values, strict=True)) for values in islice(product(*observed), MAX_DEFAULTS))


def _fits(texts: Texts, entry: Texts, defaults: Texts) -> bool:
    """Whether a candidate has an entry's parameters, and the defaults of all that it leaves out."""
    left_out = defaults.keys() & texts.keys() - entry.keys()
    return entry.items() <= texts.items() and all(texts[name] == defaults[name] for name in left_out)
