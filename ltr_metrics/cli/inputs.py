"""The models, scores, runs and results that the command line names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr_metrics.cli.options import options_in_order
from ltr_metrics.errors import LtrValueError
from ltr_metrics.io.compressed import without_compression
from ltr_metrics.io.letor import sizes_paths
from ltr_metrics.io.table import is_table

OPTION_OF = {"models": "--model", "scores": "--scores", "runs": "--run", "results": "--result"}
SCORE_FILES = (".npy", ".txt", ".csv")


@dataclass(frozen=True)
class ModelSpecs:
    """What the command evaluates, by name."""

    models: dict[str, str]  # model files
    scores: dict[str, str]  # columns, or files of scores
    runs: dict[str, str]
    results: dict[str, str]
    names: list[str]  # of all of them, in the order of the command line

    @property
    def are_all_results(self) -> bool:
        """Whether all models are saved results, so that nothing is left to evaluate."""
        return len(self.names) == len(self.results) > 0


def parse_models(arguments: Mapping[str, Any]) -> ModelSpecs:
    """Return the models of the command line; each name must be used once."""
    remaining = {kind: iter(arguments.get(kind, ())) for kind in OPTION_OF}
    specs: dict[str, dict[str, str]] = {kind: {} for kind in OPTION_OF}
    option_of_name: dict[str, str] = {}
    for kind in filter(OPTION_OF.__contains__, options_in_order()):
        item, option = next(remaining[kind]), OPTION_OF[kind]
        name, equals, value = item.partition("=")
        if not equals:
            name, value = _default_name(kind, item), item
        if not (name and value):
            raise LtrValueError(f"{option} must have the form NAME=VALUE or VALUE. Got {item!r}.")
        other = option_of_name.setdefault(name, option)
        if other != option:
            raise LtrValueError(
                f"The name {name!r} is used by {other} and by {option}, but names must differ. "
                f"Write NAME={value} to choose another name."
            )
        if name in specs[kind]:
            raise LtrValueError(f"{option} uses the name {name!r} twice. Write NAME={value} to choose another name.")
        specs[kind][name] = value
    return ModelSpecs(**specs, names=list(option_of_name))


def _default_name(kind: str, value: str) -> str:
    """Return a column as it is, and the name of a file without folder and endings."""
    if kind == "scores" and not is_score_file(value):
        return value
    return without_compression(Path(value)).stem


def has_score_ending(item: str) -> bool:
    """Whether ``--scores`` names something that ends like a file of scores."""
    return without_compression(Path(item)).suffix.lower() in SCORE_FILES


def is_score_file(item: str) -> bool:
    """Whether ``--scores`` names an existing file, and not a column."""
    return has_score_ending(item) and Path(item).is_file()


def input_files(arguments: Mapping[str, Any], specs: ModelSpecs) -> list[Path]:
    """Return all files that the command reads, so that its output replaces none of them."""
    files = [*arguments["data"], *filter(None, [arguments.get("qrels"), arguments.get("metrics_module")])]
    sizes = [file for path in arguments["data"] if not is_table(path) for file in sizes_paths(path)]
    scores = filter(is_score_file, specs.scores.values())
    named = [*specs.models.values(), *scores, *specs.runs.values(), *specs.results.values()]
    return [*files, *sizes, *map(Path, named)]
