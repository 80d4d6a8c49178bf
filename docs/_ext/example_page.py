"""Make the example report, which the page "The HTML report" shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_example)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_example(app: Sphinx, exception: Exception | None) -> None:
    """Write the report into the root of the site."""
    if exception is not None or app.builder.format != "html":
        return
    from example_report import example_report

    Path(app.outdir, "example_report.html").write_text(example_report(), encoding="utf-8")
