"""README and docs: their Python runs, their links lead somewhere, and what they promise exists."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_addresses_are_well_formed(page: Path) -> None:
    """`make linkcheck` asks whether they answer, which needs the network."""
    for address in external_links(page.read_text(encoding="utf-8")):
        assert is_well_formed(address), address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://example.org/a_(b)?c=1#d", True),
        ("https://example.org", True),
        ("http://example.org/a", False),
        ("https://example", False),
        ("https:///a", False),
        ("https://example.org/a.", False),
        ("https://example.org/a{b}", False),
    ],
)
def test_the_form_of_an_address(address: str, expected: bool) -> None:
    assert is_well_formed(address) is expected


def test_addresses_are_found_in_links_and_in_text() -> None:
    text = "[a](https://a.org/x_(y)) and <https://b.org>, or https://c.org/z. `https://d.org`"
    assert external_links(text) == ["https://a.org/x_(y)", "https://b.org", "https://c.org/z", "https://d.org"]


def external_links(text: str) -> list[str]:
    """Return the addresses of other sites, without the punctuation that follows them in a sentence."""
    addresses = re.findall(r"https?:[^\s<>`\"'\]]+", text)
    balanced = (
        address if address.count("(") == address.count(")") else address.rsplit(")", 1)[0] for address in addresses
    )
    return [address.rstrip(".,;:)") if "(" not in address else address for address in balanced]


def is_well_formed(address: str) -> bool:
    """Return whether an address is encrypted, has a full host name and only characters of addresses."""
    parts = urlsplit(address)
    characters = r"[\w\-.~:/?#@!$&'()*+,;=%]+"
    return (
        parts.scheme == "https"
        and "." in parts.netloc
        and re.fullmatch(characters, address, flags=re.ASCII) is not None
        and address[-1] not in ".,;:"
    )


def test_the_two_commands_are_in_the_makefile_and_in_the_readmes_first_screen() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:45])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("demo", "test"):
        assert f"make {command}" in first_screen
        assert re.search(rf"^{command}:.*## ", makefile, flags=re.MULTILINE)


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert [
        line for line in lines if len(line) > 100 and not line.startswith(("#> ", "|"))
    ] == []  # nor can tables wrap


def test_the_changelog_knows_this_version() -> None:
    import ltr_metrics

    assert f"## {ltr_metrics.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
