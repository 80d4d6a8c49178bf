"""Links of the documentation's pages, as the site changes them. The site's builder is not needed."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTENSION = runpy.run_path(str(ROOT / "docs" / "_ext" / "links_to_repository.py"))
adapt_links = EXTENSION["adapt_links"]
REPOSITORY = EXTENSION["REPOSITORY"]


@pytest.mark.parametrize(
    ("link", "folder", "here", "expected"),
    [
        ("[a](../b.md)", "docs/guide", "docs/guide/x.md", "[a](../b.md)"),
        ("[a](docs/comparison.md#ties)", "", "docs/changelog.md", "[a](comparison.md#ties)"),
        ("[a](../CONTRIBUTING.md)", "docs", "docs/design.md", "[a](contributing.md)"),
        ("[a](../gallery/plot_ties.py)", "docs/guide", "docs/guide/x.md", "[a](../auto_gallery/plot_ties.rst)"),
        ("[a](docs/gallery)", "", "docs/changelog.md", "[a](auto_gallery/index.rst)"),
        (
            "[`a[0]`](../../ltr_metrics/b.py)",
            "docs/guide",
            "docs/guide/x.md",
            f"[`a[0]`]({REPOSITORY}ltr_metrics/b.py)",
        ),
        ("[a](../README.md#speed)", "docs", "docs/index.md", f"[a]({REPOSITORY}README.md#speed)"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_to_the_repository(
    link: str, folder: str, here: str, expected: str
) -> None:
    assert adapt_links(f"See {link}.", folder, here) == f"See {expected}."


@pytest.mark.parametrize(
    "text",
    [
        "[a](#below)",
        "![a](../benchmarks/results.png)",
        "`tables[0](../x.md)`",
        "- a list\n\n  ```python\n  tables[0](rows)\n  ```",
        "````md\n```\n[a](../x.md)\n```\n````",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert adapt_links(f"One.\n\n{text}\n\nTwo.", "docs", "docs/index.md") == f"One.\n\n{text}\n\nTwo."
