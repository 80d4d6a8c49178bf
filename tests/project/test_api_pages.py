"""The reference of the API has each public name once, the classes of results, and no other name."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path

import ltr_metrics as ltr

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
HOSTS = ("lightgbm", "xgboost", "catboost", "sklearn", "mlflow", "dask", "spark")
PUBLIC = ("ltr_metrics", *HOSTS, "interleaving", "counterfactual", "metrics", "report", "io")
LISTING = re.compile(r"```\{eval-rst\}\n(.*?)```", flags=re.DOTALL)


def listed_names(text: str) -> Iterator[str]:
    """Yield the full names in the listings of a page."""
    for listing in LISTING.findall(text):
        module = ""
        for line in listing.splitlines():
            if match := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.fullmatch(r"(?:\.\. py:data::|  ) ([\w.]+)", line):
                yield f"{module}.{match[1]}"


def names_of(module: str) -> list[str]:
    """Return the public names of a module; its libraries need not be installed."""
    if module in ("ltr_metrics", "metrics"):  # NumPy alone
        return list((ltr if module == "ltr_metrics" else ltr.metrics).__all__)
    package = Path(ltr.__file__).parent / ("" if module == "ltr_metrics" else module)
    path = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]:
            return [str(name) for name in ast.literal_eval(node.value)]
    raise AssertionError(f"{path} has no __all__")


def public_names() -> set[str]:
    """Return the full names; one that the root has as well counts once, as the root's."""
    root = set(names_of("ltr_metrics"))
    names = {f"ltr_metrics.{name}" for name in root}
    for module in PUBLIC[1:]:
        shared = root if module == "metrics" else set()
        names |= {f"ltr_metrics.{module}.{name}" for name in names_of(module) if name not in shared}
    return names


def test_each_public_name_is_listed_once() -> None:
    listed = [name for page in PAGES for name in listed_names(page.read_text(encoding="utf-8"))]
    assert {name for name in listed if listed.count(name) > 1} == set()
    results = {name for name in listed if name.startswith("ltr_metrics.analysis.")}
    assert set(listed) - results == public_names()
    assert all(isinstance(pydoc.locate(name), type) for name in results)


def test_the_class_of_each_result_of_an_analysis_is_listed() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    functions = [function for name in ltr.__all__ if inspect.isfunction(function := getattr(ltr, name))]
    results = {one.__annotations__["return"] for one in functions if one.__module__.startswith("ltr_metrics.analysis.")}
    assert {"Comparison", "GateResult", "Churn"} <= results
    assert {name for name in results if not re.search(rf"   (\w+\.)?{name}\n", text)} == set()


def test_signatures_name_all_options() -> None:
    others = ("interleaving", "counterfactual", "metrics", "report", "io", "lightgbm", "sklearn")
    for module in [ltr, *(getattr(ltr, name) for name in others)]:
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
                assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    assert {"qid", "group", "cluster", "judged", "metrics"} <= set(inspect.signature(ltr.compare).parameters)


def test_a_result_shows_what_is_for_users() -> None:
    result = ltr.evaluate([1, 0, 0, 1], [2, 1, 2, 1], group=[2, 2], metrics="mrr")
    comparison = ltr.compare({"a": result, "b": result})
    assert {"mean", "save", "per_query", "skill", "to_pandas", "keys"} <= set(dir(result))
    assert {"rows", "evaluations", "queries_needed"} <= set(dir(comparison))
    for one in (result, comparison, comparison["mrr"], comparison.leaderboard, ltr.intervals(result)):
        for name in dir(one):
            assert name.startswith("_") or name in (type(one).__doc__ or "") or getattr(type(one), name).__doc__, name
        assert not {"IN_DICT", "INTERNAL", "printed", "sample", "with_values"} & set(dir(one))
