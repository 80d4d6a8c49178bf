"""Pages of the repository's root on the site, and links out of `docs` to the repository.

A page links other files of the repository by relative paths, which work on the hosting service.
On the site, such a link leads to the page that shows the file, or to the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/ltr-metrics/ltr_metrics/blob/main/"
ROOT_PAGES = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md", "security": "SECURITY.md"}
SITE_PAGES = {path: f"docs/{docname}.md" for docname, path in ROOT_PAGES.items()} | {
    "docs/gallery": "docs/auto_gallery/index.rst"
}
CODE_OR_LINK = re.compile(
    r"""
    ^[ ]* (?P<fence>`{3,}) [^`\n]* \n .*? ^[ ]* (?P=fence)  # a block of code
    | `[^`\n]+`                                   # code in a line
    | (?<!!) (?P<text> \[ (?: [^\[\]] | \[[^\]]*\] )* \] )
      \( (?! https?: | mailto: | \# ) (?P<target> [^)\s#]+ ) (?P<anchor> \# [^)\s]* )? \)
    """,
    flags=re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", adapt_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def adapt_page(app: Sphinx, docname: str, content: list[str]) -> None:
    """Show a root page on its stub, and adapt the links that leave the folder of the documentation."""
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    folder = posixpath.join("docs", posixpath.dirname(docname))
    if docname in ROOT_PAGES:
        folder, path = "", ROOT / ROOT_PAGES[docname]
        app.env.note_dependency(str(path), docname=docname)
        content[0] = path.read_text(encoding="utf-8")
    here = posixpath.join("docs", docname + ".md")
    content[0] = adapt_links(content[0], folder, here)


def adapt_links(text: str, folder: str, here: str) -> str:
    """Return the text of a file in ``folder`` with the links of the page ``here``; code stays as it is."""

    def adapt(match: re.Match[str]) -> str:
        if match["text"] is None:
            return match[0]
        return f"{match['text']}({adapt_target(match['target'], folder, here)}{match['anchor'] or ''})"

    return CODE_OR_LINK.sub(adapt, text)


def adapt_target(target: str, folder: str, here: str) -> str:
    """Return the target of a link in a file of ``folder`` for the page ``here``."""
    path = posixpath.normpath(posixpath.join(folder, target))
    path = SITE_PAGES.get(path, re.sub(r"^docs/gallery/(\w+/plot_\w+)\.py$", r"docs/auto_gallery/\1.rst", path))
    if not path.startswith("docs/"):
        return REPOSITORY + path
    return posixpath.relpath(path, posixpath.dirname(here))
