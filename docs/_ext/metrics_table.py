"""The directives ``metrics-table``, with the rows of ``ltr-metrics metrics``, and ``other-names-table``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import ltr_metrics as ltr
from ltr_metrics.cli.metrics import parameters_text
from ltr_metrics.metrics.names import METRICS
from ltr_metrics.metrics.other_names import OTHER_NAMES

Cell = str | nodes.Node


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("metrics-table", MetricsTable)
    app.add_directive("other-names-table", OtherNamesTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class MetricsTable(Directive):
    """The metrics with their further names and parameters."""

    def run(self) -> list[nodes.Node]:
        classes = {cls.NAME: cls.__name__ for cls in METRICS}
        rows = [
            (code(info.name), codes(info.aliases), link_to(classes[info.name]), parameters_text(info), info.summary)
            for info in ltr.available_metrics()
        ]
        return [table(("name", "further names", "class", "parameters", "summary"), rows)]


class OtherNamesTable(Directive):
    """The names of other systems, each in its own row with our name for it."""

    def run(self) -> list[nodes.Node]:
        rows = [
            (other.system, code(other.theirs.format(k="@10")), with_remark(other.ours.format(k="@10"), other.remark))
            for other in OTHER_NAMES
        ]
        return [table(("system", "name there", "name here"), rows)]


def with_remark(name: str, remark: str) -> nodes.inline:
    """Return a name as code, followed by what else it takes to get the same number."""
    return nodes.inline("", "", code(name), nodes.Text(remark))


def code(text: str) -> nodes.literal:
    """Return text as code."""
    return nodes.literal(text, text)


def codes(texts: Iterable[str]) -> nodes.inline:
    """Return several texts as code, with commas between them."""
    line = nodes.inline()
    for text in texts:
        line += [nodes.Text(", ")] if line.children else []
        line += code(text)
    return line


def link_to(class_name: str) -> nodes.Node:
    """Return a link to a metric's page in the reference."""
    from sphinx.addnodes import pending_xref

    target = {"refdomain": "py", "reftype": "class", "reftarget": f"ltr_metrics.{class_name}", "refexplicit": True}
    return pending_xref("", code(class_name), **target)


def table(titles: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> nodes.table:
    """Return a table that scrolls sideways where it is too wide."""
    group = nodes.tgroup(cols=len(titles))
    group += [nodes.colspec(colwidth=1) for _ in titles]
    group += nodes.thead("", row_of(titles))
    group += nodes.tbody("", *map(row_of, rows))
    return nodes.table("", group, classes=["wide-table"])


def row_of(cells: Sequence[Cell]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        content = nodes.Text(cell) if isinstance(cell, str) else cell
        row += nodes.entry("", nodes.paragraph("", "", content))
    return row
