"""Imports go down only, and importing the package loads NumPy and the standard library alone."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ltr_metrics as ltr

PACKAGE = Path(ltr.__file__).parent
LAYERS = (
    ("errors", "_version"),
    ("_rows",),
    ("_ranks", "io"),
    ("metrics",),
    ("evaluation",),
    ("logs", "analysis"),
    ("_hosts", "online"),
    ("interleaving", "counterfactual"),
    ("lightgbm", "xgboost", "catboost", "sklearn"),
    ("report",),
    ("cli", "__main__"),
)
LAYER = {room: layer for layer, rooms in enumerate(LAYERS) for room in rooms}
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room_of(module: str) -> str:
    return module.split(".")[1]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


@functools.cache
def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, also within functions and for its types only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import, which this test does not follow"
            below = [f"{node.module}.{a.name}" for a in node.names]
            modules = [name if name in MODULES else node.module or "" for name in below]
        for module in modules:
            assert module != "ltr_metrics", f"{path.name} imports from the root, which is above all rooms"
            if module.startswith("ltr_metrics."):
                found.add(module)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    room = room_of(module_of(path))
    assert room in LAYER, f"{room} stands in no layer: give it one here and in docs/design.md"
    for other in imports(path):
        if room_of(other) != room:
            assert LAYER[room_of(other)] <= LAYER[room], f"{path.name} imports {other}, which is not below it"


@pytest.mark.parametrize("unit", [room_of, str], ids=["rooms", "modules"])
def test_nothing_imports_in_a_circle(unit: Callable[[str], str]) -> None:
    below: dict[str, set[str]] = {unit(module): set() for module in MODULES}
    for module, path in MODULES.items():
        below[unit(module)] |= {unit(other) for other in imports(path)} - {unit(module)}
    assert_no_cycle(below)


def assert_no_cycle(below: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def run(code: str, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


HOSTS = ("lightgbm", "xgboost", "catboost", "sklearn")
EXTRAS = (*HOSTS, "pandas", "scipy", "matplotlib", "pyarrow", "click", "tqdm")
RARE = ("logs.training_log", "io.datasets", "analysis.explain", "interleaving")


@pytest.mark.parametrize(
    ("code", "left_out"),
    [
        (
            "import ltr_metrics as ltr; ltr.compare",
            (*EXTRAS, *(f"ltr_metrics.{name}" for name in RARE), "json", "difflib"),
        ),
        ("import ltr_metrics.interleaving", EXTRAS),
        ("import ltr_metrics.lightgbm", HOSTS),
    ],
)
def test_an_import_leaves_to_later_what_it_does_not_need(code: str, left_out: tuple[str, ...]) -> None:
    before = run("import sys, numpy; print(*sys.modules)").split()
    loaded = set(run(f"import sys, numpy; {code}; print(*sys.modules)").split()) - set(before)
    assert "ltr_metrics.errors" in loaded
    assert not set(left_out) & loaded
    assert {name.partition(".")[0] for name in loaded} <= {"ltr_metrics", "numpy", *sys.stdlib_module_names}


def test_the_root_lists_what_it_loads_later() -> None:
    assert {"make_ranking", "PerQueryLog", "lightgbm", "metrics"} <= set(dir(ltr))
    program = "import ltr_metrics as ltr; print(ltr.counterfactual.evaluate.__module__, ltr.io.read_letor.__name__)"
    assert run(program).split() == ["ltr_metrics.online.counterfactual.evaluation", "read_letor"]
    with pytest.raises(AttributeError, match="has no attribute 'evaluat'"):
        _ = ltr.evaluat  # type: ignore[attr-defined]


MISSING = [
    ("pandas", "ltr_metrics.evaluate([1], [1], group=[1], metrics='mrr').to_pandas()", "report"),
    ("polars", "ltr_metrics.evaluate([1], [1], group=[1], metrics='mrr').to_polars()", "polars"),
    (
        "lightgbm",
        "ltr_metrics.io.models.predict(model(b'tree\\ntree_sizes=9\\nTree=0\\nx\\nend of trees\\n\\nend of parameters\\n'), None)",
        "lightgbm",
    ),
    ("xgboost", "ltr_metrics.io.models.predict(model(b'{}'), None)", "xgboost"),
    ("scipy", "ltr_metrics.compare({1: [1, 2], 2: [2, 1]}, [1, 0], group=[1, 1], metrics='err')", "report"),
    ("pyarrow", "ltr_metrics.load_result('r.parquet')", "report"),
    ("jinja2", "ltr_metrics.report.as_html(None)", "report"),
    ("matplotlib", "ltr_metrics.report.figures_of(one())", "report"),
    (
        "tabulate",
        "ltr_metrics.evaluation.tables.as_markdown(ltr_metrics.evaluation.tables.Table(['a'], [['b']], 'l'))",
        "report",
    ),
    ("sklearn", "import ltr_metrics.sklearn", "sklearn"),
]
NEEDS_EXTRAS = """
import json, pathlib, sys, tempfile
import ltr_metrics, ltr_metrics.io, ltr_metrics.io.models, ltr_metrics.report

def model(content):
    path = pathlib.Path(tempfile.mkdtemp()) / 'model'
    path.write_bytes(content)
    return path

def one():
    queries = ltr_metrics.Queries([1, 0, 1, 0], group=[2, 2])
    return ltr_metrics.report.summarize(queries, {'a': [1, 2, 3, 4]}, 'ndcg@5', complete=True)

for missing, code in json.loads(sys.argv[1]):
    before, sys.modules[missing] = sys.modules.get(missing), None
    try:
        exec(code)
    except ImportError as error:
        print(json.dumps([missing, type(error).__name__, str(error)]))
    del sys.modules[missing]
    sys.modules.update({} if before is None else {missing: before})
"""


@pytest.mark.integration
def test_a_missing_extra_gives_the_pip_line() -> None:
    """All in one process, which hides one library after the other."""
    shown = run(NEEDS_EXTRAS, json.dumps([(missing, code) for missing, code, _ in MISSING]))
    found = {missing: (kind, message) for missing, kind, message in map(json.loads, shown.splitlines())}
    for missing, _, extra in MISSING:
        kind, message = found[missing]
        assert kind == "MissingExtraError"
        assert f"{missing if missing != 'sklearn' else 'scikit-learn'} is needed" in message
        assert re.search(rf"pip install .*\[{extra}\]", message)


def test_the_command_without_its_extra_exits_with_2() -> None:
    program = "import sys; sys.modules['click'] = None; from ltr_metrics.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.search(r"pip install .*\[report\]", done.stderr)


def test_help_lists_the_package_where_an_extra_is_missing() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import ltr_metrics as ltr, inspect\n"
    code += "print(hasattr(ltr, 'sklearn'), 'evaluate' in dict(inspect.getmembers(ltr)))\n"
    code += "try:\n    ltr.sklearn\nexcept AttributeError as error:\n    print(error)"
    shown = run(code)
    assert shown.startswith("False True\n")
    assert re.search(r"pip install .*\[sklearn\]", shown)


def test_the_plugin_needs_none_of_the_rest() -> None:
    """Whoever works on metrics, hosts and scorers never has to open these rooms."""
    rest = {"analysis", "report", "cli", "online", "interleaving", "counterfactual"}
    plugin = {
        "_rows",
        "_ranks",
        "metrics",
        "evaluation",
        "logs",
        "_hosts",
        "lightgbm",
        "xgboost",
        "catboost",
        "sklearn",
    }
    for module, path in MODULES.items():
        if room_of(module) in plugin:
            assert not {room_of(other) for other in imports(path)} & rest, path
