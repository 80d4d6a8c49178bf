"""Imports go down only, the plugin needs none of the rest, and importing the package loads NumPy only."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ltr_metrics as ltr

PACKAGE = Path(ltr.__file__).parent
PLUGIN = (  # what somebody must know for metrics, hosts and scorers
    ("errors", "_version"),
    ("_rows",),
    ("_ranks",),
    ("metrics",),
    ("evaluation",),
    ("logs",),
    ("_hosts",),
    ("lightgbm", "xgboost", "catboost", "sklearn"),
)
REST = (
    ("io", "analysis", "dask", "spark", "mlflow"),
    ("online",),
    ("interleaving", "counterfactual"),
    ("report",),
    ("cli", "__main__"),
)
LAYER = {room: layer for layer, rooms in enumerate(PLUGIN + REST) for room in rooms}
ROOMS_OF_REST = {room for rooms in REST for room in rooms}
LOADED_BY_NAME = {  # function: the module that it loads when it is called; nothing else loads modules by name
    "evaluation.result.Evaluation.plot": "'ltr_metrics.report'",
    "evaluation.result.Evaluation.save": "'ltr_metrics.io.saved'",
    "logs.search_log.SearchLog.record": "'ltr_metrics.io.saved'",
    "logs.search_log.SearchLog._scores": "'ltr_metrics.io.load'",
    "_hosts.fitted_model._load_model": "'ltr_metrics.io.models'",
    "_hosts.known_hosts.module_of": "f'ltr_metrics.{host}.{host}_{part}'",
    "analysis.comparison.Comparison.plot": "'ltr_metrics.report'",
    "errors.import_extra": "module",  # of other packages, if not one of the above
}
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room_of(module: str) -> str:
    return module.split(".")[1]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> set[str]:
    """Return the modules of the package that a file imports, also within functions and for its types only."""
    found: set[str] = set()
    for node in ast.walk(tree):
        modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import, which this test does not follow"
            below = [f"{node.module}.{a.name}" for a in node.names]
            modules = [name if name in MODULES else node.module or "" for name in below]
        for module in modules:
            assert module != "ltr_metrics", "an import from the root, which is above all rooms"
            if module.startswith("ltr_metrics."):
                found.add(module)
    return found


def loaded_by_name(tree: ast.AST, scope: str) -> Iterator[tuple[str, str]]:
    """Yield the function and the argument of each import by a function, and where such a function is not called."""
    for node in ast.iter_child_nodes(tree):
        inner = f"{scope}.{node.name}" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else scope
        if isinstance(node, ast.Call) and is_importer(node.func):
            name = node.args[0]
            is_other_package = isinstance(name, ast.Constant) and not str(name.value).startswith(("ltr_metrics", "."))
            if not is_other_package:
                yield inner, ast.unparse(name)
            yield from (one for child in [*node.args, *node.keywords] for one in loaded_by_name(child, inner))
            continue
        if is_importer(node) or (isinstance(node, ast.alias) and node.asname and node.name in IMPORTERS):
            yield inner, ast.unparse(node)  # under another name
        yield from loaded_by_name(node, inner)


ROOM = re.compile(r"ltr_metrics[./](\w+)")
IMPORTERS = ("import_module", "__import__", "import_extra", "importlib")


def is_importer(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node).rpartition(".")[2] in IMPORTERS


def names_of_rest(tree: ast.Module) -> set[str]:
    """Return the rooms of the rest that strings of a file name, other than docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)
    }
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return {room for text in strings for room in ROOM.findall(str(text))} & ROOMS_OF_REST


def test_imports_go_down() -> None:
    """So the plugin needs none of the rest, and whoever works on it never has to open the rest."""
    rooms = set(map(room_of, MODULES))
    assert rooms == LAYER.keys(), f"Give {rooms ^ LAYER.keys()} a layer here and in docs/design.md, or none"
    up = [
        f"{module} imports {other}, which is not below it"
        for module, path in MODULES.items()
        for other in imports(tree_of(path))
        if LAYER[room_of(other)] > LAYER[room_of(module)]
    ]
    assert not up


def test_few_functions_load_modules_by_name() -> None:
    found = {(scope, name) for module, path in MODULES.items() for scope, name in loaded_by_name(tree_of(path), module)}
    assert {(scope.removeprefix("ltr_metrics."), name) for scope, name in found} == set(LOADED_BY_NAME.items())


def test_the_plugin_names_nothing_of_the_rest_elsewhere() -> None:
    for module, path in MODULES.items():
        if room_of(module) not in ROOMS_OF_REST:
            own = [name for scope, name in LOADED_BY_NAME.items() if f"ltr_metrics.{scope}".startswith(f"{module}.")]
            assert names_of_rest(tree_of(path)) <= {room for name in own for room in ROOM.findall(name)}, path


@pytest.mark.parametrize(
    "code",
    [
        "from ltr_metrics.report import summarize",
        "def f():\n    import ltr_metrics.analysis.gate",
        "if TYPE_CHECKING:\n    from ltr_metrics.online.interleaving import clicks",
        "from ltr_metrics import report",
        "from ..report import summarize",
        "def f():\n    return importlib.import_module('ltr_metrics.report')",
        "def f(room='report'):\n    return import_module(f'{__package__}.{room}')",
        "__import__('ltr_metrics.cli.compare')",
        "from importlib import import_module as load\nload('.report', __package__)",
        "load = __builtins__['__import__']\nload(ROOM)\nROOM = 'ltr_metrics.analysis'",
        "exec('import ltr_metrics.report as report')",
        "sys.modules['ltr_metrics.report'].summarize",
    ],
)
def test_the_wall_sees_an_import_in_any_form(code: str) -> None:
    tree = ast.parse(code)
    try:
        reached = {room_of(module) for module in imports(tree)} & ROOMS_OF_REST
    except AssertionError:
        return
    assert reached or names_of_rest(tree) or set(loaded_by_name(tree, "metrics.dcg"))


@pytest.mark.parametrize("unit", [room_of, str], ids=["rooms", "modules"])
def test_nothing_imports_in_a_circle(unit: Callable[[str], str]) -> None:
    below: dict[str, set[str]] = {unit(module): set() for module in MODULES}
    for module, path in MODULES.items():
        below[unit(module)] |= {unit(other) for other in imports(tree_of(path))} - {unit(module)}
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
