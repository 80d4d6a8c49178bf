"""What a command was given to evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr_metrics.analysis.gating import read_rules
from ltr_metrics.cli.options import options_in_order
from ltr_metrics.cli.progress import progress
from ltr_metrics.cli.sources import Columns, Source, is_file_of_scores, read_source
from ltr_metrics.errors import LtrKeyError, LtrValueError, did_you_mean, naming
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io.compressed import without_compression
from ltr_metrics.io.letor import sizes_paths
from ltr_metrics.io.table import is_table
from ltr_metrics.metrics.names import split_names
from ltr_metrics.metrics.requests import Request

NAMED = {"models": "--model", "scores": "--scores", "runs": "--run", "results": "--result"}


@dataclass(frozen=True)
class Named:
    """What is evaluated: files and columns by name."""

    models: dict[str, str]
    scores: dict[str, str]
    runs: dict[str, str]
    results: dict[str, str]
    names: list[str]  # of all, as they stand on the command line

    @property
    def are_all_results(self) -> bool:
        """Whether nothing is left to be evaluated."""
        return len(self.names) == len(self.results) > 0


def named(given: dict[str, Any]) -> Named:
    """Take out what is evaluated; a name stands for one thing."""
    items = {kind: iter(given.pop(kind, ())) for kind in NAMED}
    found: dict[str, dict[str, str]] = {kind: {} for kind in NAMED}
    option_of: dict[str, str] = {}
    for kind in filter(NAMED.__contains__, options_in_order()):
        item, option = next(items[kind]), NAMED[kind]
        name, equals, value = item.partition("=")
        if not equals:
            name, value = _name_of(kind, item), item
        if not (name and value):
            raise LtrValueError(f"{option} must have the form NAME=VALUE. Got {item!r}. VALUE alone will do, too.")
        other = option_of.setdefault(name, option)
        if other != option:
            raise LtrValueError(
                f"The name {name!r} is given to {other} and to {option}; names must differ. Write NAME={value} for another name."
            )
        if name in found[kind]:
            raise LtrValueError(f"{option} is given twice for the name {name!r}. Write NAME={value} for another name.")
        found[kind][name] = value
    return Named(**found, names=list(option_of))


def _name_of(kind: str, value: str) -> str:
    """Return the name of what is given without one: the column, or the file without folder and endings."""
    if kind == "scores" and not is_file_of_scores(value):
        return value
    return without_compression(Path(value)).stem


def files_read(given: Mapping[str, Any], items: Named) -> list[Path]:
    """Return every file that a command reads, so that none of them is replaced by its result."""
    values = [value if isinstance(value, tuple) else (value,) for value in given.values()]
    files = [one for value in values for one in value if isinstance(one, Path)]
    sizes = [file for path in given["data"] if not is_table(path) for file in sizes_paths(path)]
    scores = filter(is_file_of_scores, items.scores.values())
    named = [*items.models.values(), *scores, *items.runs.values(), *items.results.values()]
    return [*files, *sizes, *map(Path, named)]


def names_of(metrics: str | None) -> list[str] | None:
    """Return the metrics' names."""
    return None if metrics is None else [name.strip() for name in split_names(metrics)]


def source_of(given: dict[str, Any], items: Named) -> Source:
    """Take out where the data are, and read them."""
    if given["data"] and not items.names:
        raise LtrValueError("Name at least one model, column of scores or run: --model, --scores or --run.")
    columns = Columns(
        **{name: given.pop(name) for name in ("qid", "label", "docid", "weight")},
        cluster=given.pop("cluster", None),
        by=tuple(dict.fromkeys(given.pop("by", ()))),
    )
    return read_source(
        given.pop("data"),
        models=items.models,
        scores=items.scores,
        runs=items.runs,
        columns=columns,
        **{name: given.pop(name) for name in ("qrels", "topics", "n_features", "zero_based")},
        progress=progress,
    )


def evaluated(source: Source, request: Request) -> dict[str, Evaluation]:
    """Evaluate all that was read."""
    found = {}
    for name, scores in progress("Evaluating", source.scores.items()):
        with naming(name):
            found[name] = source.queries[name].evaluate_request(scores, request)
    return found


def baseline_of(given: dict[str, Any], items: Named) -> str | None:
    """Take out the baseline: the model that was said to be it, else the first; None if there is one model."""
    baseline: str | None = given.pop("baseline")
    if baseline is not None and baseline not in items.names:
        raise LtrKeyError(
            f"There is no model {baseline!r} to be the baseline.{did_you_mean(baseline, items.names)} There are "
            f"{', '.join(map(repr, items.names))}."
        )
    if len(items.names) < 2:
        return None
    return items.names[0] if baseline is None else baseline


def refuse_rules(rules: Sequence[str], models: Sequence[str], baseline: str | None, *, each_segment: bool) -> None:
    """Refuse, before the work is done, rules that cannot be read or have nothing to judge."""
    if each_segment and not rules:
        raise LtrValueError("--gate-each-segment needs a rule: --gate.")
    if rules and len(models) < 2:
        raise LtrValueError("--gate needs two models or more, one of them the baseline.")
    if rules:
        read_rules(rules, [name for name in models if name != baseline])
