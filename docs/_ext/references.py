"""Find the names that docstrings mention, which Python code would find through its imports.

A docstring writes `evaluate` or `ltr_metrics.evaluate`. Sphinx looks only in the module of the
docstring. A name that is in no public module stays a warning.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", find_in_root)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def find_in_root(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Look for the name in `ltr_metrics`, then for the one public module or class that has it."""
    domain = env.domains["py"]
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removesuffix("()")
    candidates = [name for name in domain.objects if name == f"ltr_metrics.{target}"] or [
        name for name in domain.objects if name.endswith(f".{target}")
    ]
    if len(candidates) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", candidates[0], node, content)
