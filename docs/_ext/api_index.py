"""List all public names with their sentences on the first page of the API reference.

The names are those of the pages of the reference: each has lists of names, which become lists without pages of their
own here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGE = "api/index"
MARKER = "<!-- all names -->"
BLOCK = re.compile(r"^```{eval-rst}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", add_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_names(app: Sphinx, page: str, content: list[str]) -> None:
    if page == PAGE:
        pages = re.findall(r"^(\w+)$", content[0].partition("{toctree}")[2], flags=re.MULTILINE)
        folder = Path(app.srcdir, PAGE).parent
        parts = [names_of((folder / f"{name}.md").read_text(encoding="utf-8"), name) for name in pages]
        content[0] = content[0].replace(MARKER, "\n\n".join(parts))


def names_of(text: str, page: str) -> str:
    """Return the title of a page as a link, and its lists of names."""
    title = text.partition("\n")[0].removeprefix("# ")
    directives = [one for block in BLOCK.findall(text) for one in re.split(r"\n\n(?=\.\. )", block.strip())]
    lists = [one for one in directives if one.startswith((".. currentmodule", ".. autosummary"))]
    names = re.sub(r":toctree: \w+", ":nosignatures:", "\n\n".join(lists))
    return f"## [{title}]({page}.md)\n\n```{{eval-rst}}\n{names}\n```"
