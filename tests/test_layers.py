"""Imports go down only, and importing the package loads NumPy and the standard library alone."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ltr_metrics as ltr

PACKAGE = Path(ltr.__file__).parent
FLOORS = (
    ("printable", "words"),
    ("errors",),
    ("inputs", "memo", "printed", "rounding"),
    ("ids",),
    ("change", "grouping", "plain", "segments", "standard_error", "threads"),
    ("datasets", "inference", "io", "models"),
    ("rows",),
    ("per_query", "positions"),
    ("queries",),
    ("fingerprint",),
    ("blocks",),
    ("sorting", "ties"),
    ("places", "ranking"),
    ("metrics",),
    ("conventions", "totals", "values"),
    ("label_checks",),
    ("saved",),
    ("result",),
    ("distributed", "evaluation", "mean_interval"),
    ("log", "shift", "streaming", "tie_audit"),
    ("comparison", "data_audit", "explain"),
    ("gating", "interleaving"),
    ("adapter",),
    ("dask", "lightgbm", "spark", "xgboost_workers"),
    ("xgboost",),
    ("sklearn",),
    ("report", "sources"),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = {
    path: path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for path in sorted(PACKAGE.rglob("*.py"))
    if path != PACKAGE / "__init__.py"
}


def imports(path: Path) -> set[str]:
    """Rooms of the package that a file names in an import, wherever in the file it stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import, which this test does not follow"
            at_root = node.module == "ltr_metrics"
            modules = [f"{node.module}.{a.name}" for a in node.names] if at_root else [node.module or ""]
        for module in modules:
            root, _, rest = module.partition(".")
            if root == "ltr_metrics":
                room = rest.partition(".")[0]
                assert room in FLOOR or module == "ltr_metrics.__version__", (
                    f"{path.name} imports {module} from the root"
                )
                found |= {room} & FLOOR.keys()
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    room = FILES[path]
    assert room in FLOOR, f"{room} stands on no floor: give it one here and in docs/design.md"
    for other in imports(path) - {room}:
        assert FLOOR[other] < FLOOR[room], f"{path.name} imports {other}, which is not below it"


def run(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def test_the_core_loads_neither_hosts_nor_tables() -> None:
    loaded = run("import sys, ltr_metrics; print(*sorted({m.partition('.')[0] for m in sys.modules}))").split()
    assert not {"lightgbm", "xgboost", "sklearn", "pandas", "scipy", "matplotlib", "pyarrow", "click"} & set(loaded)
    third_party = {m for m in loaded if m not in sys.stdlib_module_names and not m.startswith(("_", "sitecustomize"))}
    assert third_party <= {"ltr_metrics", "numpy", "cython_runtime"}


def test_the_import_leaves_to_later_what_is_rarely_used() -> None:
    by_numpy = run("import sys, numpy; print(*sys.modules)").split()
    ours = set(run("import sys, numpy, ltr_metrics; print(*sys.modules)").split()) - set(by_numpy)
    assert "ltr_metrics.evaluation" in ours
    assert not {"ltr_metrics.log", "ltr_metrics.datasets", "ltr_metrics.explain", "json", "difflib"} & ours
    assert not any(name.startswith(("concurrent", "multiprocessing", "numpy.random")) for name in ours)
    assert (
        run("import ltr_metrics as ltr; print(ltr.PerQueryLog.__name__, 'make_ranking' in dir(ltr))")
        == "PerQueryLog True\n"
    )
    with pytest.raises(AttributeError, match="has no attribute 'evaluat'"):
        _ = ltr.evaluat  # type: ignore[attr-defined]


def test_interleaving_is_not_loaded_and_loads_numpy_alone() -> None:
    assert (
        run("import sys, ltr_metrics as ltr; ltr.compare; print('ltr_metrics.interleaving' in sys.modules)")
        == "False\n"
    )
    loaded = run("import sys, ltr_metrics.interleaving; print(*{m.partition('.')[0] for m in sys.modules})").split()
    assert not {"scipy", "pandas", "matplotlib", "tqdm", "pyarrow"} & set(loaded)


def test_the_lightgbm_adapter_does_not_load_its_host() -> None:
    assert (
        run("import sys, ltr_metrics.lightgbm; print('lightgbm' in sys.modules, 'sklearn' in sys.modules)").split()
        == ["False"] * 2
    )


@pytest.mark.integration
@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        ("pandas", "ltr_metrics.evaluate([1], [1], group=[1], metrics='mrr').to_pandas()", "report"),
        ("pandas", "ltr_metrics.io.read_table('x.csv')", "report"),
        ("lightgbm", "ltr_metrics.models.predict(model(b'tree\\n'), None)", "lightgbm"),
        ("xgboost", "ltr_metrics.models.predict(model(b'{'), None)", "xgboost"),
        ("scipy", "ltr_metrics.compare({1: [1, 2], 2: [2, 1]}, [1, 0], group=[1, 1], metrics='err')", "report"),
        ("pyarrow", "ltr_metrics.load_result('r.parquet')", "report"),
        (
            "scipy",
            "from ltr_metrics import interleaving; interleaving.Optimized([[1, 2], [2, 1]])",
            "report",
        ),
        (
            "tqdm",
            "from ltr_metrics.interleaving import ClickModel as C, simulate as s; "  # noqa: ISC004
            "s([1, 0], {'a': [1, 2], 'b': [2, 1]}, qid=[1, 1], method='ppm', clicks=C.perfect(2), progress=True)",
            "report",
        ),
        ("jinja2", "ltr_metrics.report.as_html(None)", "report"),
        ("matplotlib", "ltr_metrics.report.figures_of(one())", "report"),
        (
            "tabulate",
            "ltr_metrics.report.as_text(ltr_metrics.report.summarize(ltr_metrics.Queries([1], group=[1]), {1: [1]}))",
            "report",
        ),
        ("sklearn", "import ltr_metrics.sklearn", "sklearn"),
    ],
)
def test_a_missing_extra_gives_the_pip_line(missing: str, code: str, extra: str) -> None:
    program = f"import pathlib, sys, tempfile; sys.modules[{missing!r}] = None\n"
    program += "import ltr_metrics, ltr_metrics.io, ltr_metrics.models, ltr_metrics.report\n"
    program += "def model(content):\n"
    program += "    path = pathlib.Path(tempfile.mkdtemp()) / 'model'\n    path.write_bytes(content)\n    return path\n"
    program += "def one():\n    queries = ltr_metrics.Queries([1, 0, 1, 0], group=[2, 2])\n"
    program += "    return ltr_metrics.report.summarize(queries, {'a': [1, 2, 3, 4]}, 'ndcg@5', complete=True)\n"
    program += f"try:\n    {code}\nexcept ImportError as error:\n    print(type(error).__name__, error)"
    shown = run(program)
    assert shown.startswith("MissingExtraError")
    assert f"{missing if missing != 'sklearn' else 'scikit-learn'} is needed" in shown
    assert f"pip install 'ltr_metrics[{extra}]'" in shown


def test_the_command_without_its_extra_exits_with_2() -> None:
    program = "import sys; sys.modules['click'] = None; from ltr_metrics.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'ltr_metrics[report]'" in done.stderr


def test_public_names_are_documented() -> None:
    public = {name for name in dir(ltr) if not name.startswith("_") and not inspect.ismodule(getattr(ltr, name))}
    assert public == set(ltr.__all__)
    for name in ltr.__all__:
        assert getattr(ltr, name).__doc__
