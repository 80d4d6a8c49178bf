"""Show what an example prints in a block of its own, below its code.

In a page, the lines ``#> ...`` at the end of a block of Python are its output, which tests compare.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

WIDTH = 100  # of tables and texts; only the lines of a gate are longer
CODE_AND_OUTPUT = re.compile(r"^```python\n((?:(?!```|#>).*\n)+)((?:#>.*\n)+)```$", flags=re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", split_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def split_page(_app: Sphinx, _docname: str, content: list[str]) -> None:
    content[0] = CODE_AND_OUTPUT.sub(as_two_blocks, content[0])


def as_two_blocks(match: re.Match[str]) -> str:
    output = re.sub(r"^#> ?", "", match[2], flags=re.MULTILINE)
    css = "output wraps" if max(map(len, output.splitlines())) > WIDTH else "output"
    return f"```python\n{match[1]}```\n\n````{{code-block}} text\n:class: {css}\n\n{output}````"
