"""Which candidate each entry of ``search.cv_results_["params"]`` is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any, NoReturn

from ltr_metrics.errors import LtrKeyError, LtrTypeError
from ltr_metrics.evaluation.log.parameters import Parameters, as_text, with_nested
from ltr_metrics.evaluation.log.scores import some


def places_of(params: Iterable[Mapping[str, Any]], candidates: Sequence[tuple[Parameters, Parameters]]) -> list[int]:
    """Return the place of each entry's candidate: the one whose parameters contain it.

    Candidates are given as all of their parameters, and those that vary, which a message shows.
    """
    if isinstance(params, (str, Mapping)):
        raise LtrTypeError(
            f'params must be several candidates\' parameters, as search.cv_results_["params"]. Got {params!r}.'
        )
    entries = list(params)
    wanted = [{name: as_text(value) for name, value in with_nested(entry).items()} for entry in entries]
    known = [{name: as_text(value) for name, value in everything.items()} for everything, _ in candidates]
    found = [
        [of_entry[0] for of_entry in matching]
        for own in _own_values(entries, known)
        for matching in [[[i for i, texts in enumerate(known) if _fits(texts, entry, own)] for entry in wanted]]
        if all(len(of_entry) == 1 for of_entry in matching)
    ]
    most = max((len(set(places)) for places in found), default=0)
    best = [places for places in found if len(set(places)) == most]
    if len(best) != 1:
        _refuse(entries, wanted, known, [vary for _, vary in candidates])
    return best[0]


def _own_values(entries: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, str]]) -> Iterable[dict[str, str]]:
    """Return what the estimator's own values may be of parameters that one of several grids sets and another leaves out."""
    names = sorted({name for entry in entries for name in entry if any(name not in other for other in entries)})
    observed = [sorted({texts[name] for texts in known if name in texts}) for name in names]
    possible = (dict(zip(names, values, strict=True)) for values in product(*observed))
    return islice(possible, 1000)  # many grids, each with parameters of its own: let them be searched one at a time


def _fits(texts: Mapping[str, str], entry: Mapping[str, str], own: Mapping[str, str]) -> bool:
    """Whether a candidate has an entry's parameters and, of those that the entry leaves out, the estimator's own."""
    left_out = own.keys() & texts.keys() - entry.keys()
    return entry.items() <= texts.items() and all(texts[name] == own[name] for name in left_out)


def _refuse(
    entries: Sequence[Mapping[str, Any]],
    wanted: Sequence[Mapping[str, str]],
    known: Sequence[Mapping[str, str]],
    shown: Sequence[Parameters],
) -> NoReturn:
    matches = [sum(entry.items() <= texts.items() for texts in known) for entry in wanted]
    n = 0 if 0 in matches else max(matches)
    raise LtrKeyError(
        f"{n or 'No'} candidate{'s have' if n > 1 else ' has'} the parameters {dict(entries[matches.index(n)])!r}, where one should; one "
        "whose fits have all failed was never scored, and is to be left out of params. "
        f"Of those that vary, the log has {some(shown)}."
    )
