"""Write ``llms.txt``, an index of the pages with a line about each, in the order of the contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

HEAD = """# ltr_metrics

> {summary}

Each page is listed once, with its first sentence. The text of a page in Markdown or reStructuredText is at
`_sources/<page>.txt`, such as `_sources/index.md.txt`.
"""

SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!al\.)\s+")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the index into the root of the site."""
    if exception is not None or app.builder.format != "html":
        return
    root = app.config.root_doc
    parts = [HEAD.format(summary=first_sentence(app.env, root))]
    for docname in app.env.toctree_includes[root]:
        pages = [docname, *below(app.env, docname)]
        parts.append(f"## {title(app.env, docname)}\n\n" + "".join(line(app, page) for page in pages))
    Path(app.outdir, "llms.txt").write_text("\n".join(parts), encoding="utf-8")


def below(env: BuildEnvironment, docname: str) -> Iterator[str]:
    """Yield the pages below a page, in order."""
    for child in env.toctree_includes.get(docname, []):
        yield child
        yield from below(env, child)


def line(app: Sphinx, docname: str) -> str:
    target = app.config.html_baseurl + app.builder.get_target_uri(docname)
    summary = first_sentence(app.env, docname)
    return f"- [{title(app.env, docname)}]({target})" + (f": {summary}\n" if summary else "\n")


def title(env: BuildEnvironment, docname: str) -> str:
    return env.titles[docname].astext()


def first_sentence(env: BuildEnvironment, docname: str) -> str:
    """Return the first sentence of a page: of its first paragraph that is not a note about the page."""
    paragraphs = env.get_doctree(docname).findall(nodes.paragraph)
    texts = (" ".join(node.astext().split()) for node in paragraphs if not in_note(node))
    text = next((text for text in texts if text), "")
    return SENTENCE_END.split(text, maxsplit=1)[0].rstrip(":")


def in_note(node: nodes.Node) -> bool:
    return isinstance(node.parent, nodes.Admonition | nodes.list_item | nodes.entry)
