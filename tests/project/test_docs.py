"""README and docs: their Python runs, their links lead somewhere, and what they promise exists."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
import sklearn
from systems import as_pages_show

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = ("_build", "generated", "auto_gallery")  # folders that the site's builder writes


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted(page for page in DOCS.rglob("*.md") if not set(BUILT) & set(page.parts)),
]


SNIPPETS = [
    pytest.param(page, code, id=f"{name_of(page)}-{number}", marks=pytest.mark.slow if DOCS in page.parents else ())
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL), start=1
    )
]


@pytest.mark.parametrize(("page", "code"), SNIPPETS)
def test_python_in_the_documentation_runs(
    page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process: to import all packages again for each example would take most of the time."""
    monkeypatch.chdir(tmp_path)
    with sklearn.config_context():  # an example sets metadata routing
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    printed, promised = capsys.readouterr().out, "".join(re.findall(r"^#> (.*\n)", code, flags=re.MULTILINE))
    if DOCS in page.parents:
        printed, promised = as_pages_show(printed), as_pages_show(promised)
    if promised or "print(" not in code:  # then it promises silence: newer hosts may print by default
        assert printed == promised


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


SCRIPTS = [*(ROOT / "examples").glob("*.py"), *(DOCS / "gallery").glob("*/*.py"), *(DOCS / "notebooks").glob("*.ipynb")]


def test_nothing_is_installed_by_its_name_alone() -> None:
    """There is no release, so anybody can take the name on the package index."""
    for path in (*PAGES, *SCRIPTS):
        assert not re.search(r"pip install[^\n`]*\bltr[-_]metrics", path.read_text(encoding="utf-8")), path


def searches_in(path: Path) -> list[ast.Call]:
    """Return the calls of searches and cross-validation in a script, in a notebook, or in the blocks of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = "".join(re.findall(r"```(?:python|py|text)\n((?:import|from) .*?)```", text, re.DOTALL))
    elif path.suffix == ".ipynb":
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = re.sub(r"^%.*", "", "\n".join(cells), flags=re.MULTILINE)
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [c for c in calls if re.search(r"SearchCV$|\bcross_val(_score|_predict|idate)$", ast.unparse(c.func))]


def test_searches_raise_the_errors_of_their_folds() -> None:
    """By default scikit-learn turns an error, such as that of a query in two folds, into a score of NaN."""
    searches = [(name_of(path), call) for path in (*PAGES, *SCRIPTS) for call in searches_in(path)]
    assert len(searches) > 10
    for name, call in searches:
        assert "error_score='raise'" in map(ast.unparse, call.keywords), f"{name}: {ast.unparse(call)}"
