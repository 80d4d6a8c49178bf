"""README and docs: their Python runs, their links lead somewhere, and what they promise exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = [
    pytest.param(code, id=f"{page.name}-{number}", marks=pytest.mark.slow if page.parent.name == "docs" else ())
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL), start=1
    )
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_python_in_the_documentation_runs(code: str, tmp_path: Path) -> None:
    old_linux = "ignore:Your system has an old version of glibc"  # some of XGBoost's wheels say so wherever they are
    command = [sys.executable, "-W", "error", "-W", old_linux, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^#> (.*)$", code, flags=re.MULTILINE)
    if promised:
        assert done.stdout.splitlines() == promised


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_two_commands_are_in_the_makefile_and_in_the_readmes_first_screen() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:45])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("demo", "test"):
        assert f"make {command}" in first_screen
        assert re.search(rf"^{command}:.*## ", makefile, flags=re.MULTILINE)


def test_the_changelog_knows_this_version() -> None:
    import ltr_metrics

    assert f"## {ltr_metrics.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
