"""Serve MathJax from the site itself, so that formulas are rendered without the network."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

PACKAGE = "sphinx-mathjax-offline"  # we use its files alone; its extension would copy 24 MB
PARTS = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


def setup(app: Sphinx) -> dict[str, Any]:
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy MathJax with its fonts into the site's static files, beside its licence from docs/_static/mathjax."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", "mathjax")
    for part in PARTS:
        source = mathjax_folder() / part
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        copy(source, target / part, **({"dirs_exist_ok": True} if source.is_dir() else {}))


def mathjax_folder() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError(f"{PACKAGE} is needed for the formulas: pip install '.[docs]'")
    return Path(spec.origin).parent / "static" / "mathjax"
