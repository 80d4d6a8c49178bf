"""README and docs: their Python runs, their links lead somewhere, and what they promise exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sklearn

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
    pytest.param(code, id=f"{name_of(page)}-{number}", marks=pytest.mark.slow if DOCS in page.parents else ())
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL), start=1
    )
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_python_in_the_documentation_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process: to import all packages again for each example would take most of the time."""
    monkeypatch.chdir(tmp_path)
    with sklearn.config_context():  # an example sets metadata routing
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    promised = re.findall(r"^#> (.*)$", code, flags=re.MULTILINE)
    if promised:
        assert capsys.readouterr().out.splitlines() == promised


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
