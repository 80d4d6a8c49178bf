"""Find the names that docstrings mention.

A docstring writes `evaluate`, or `docs/comparison.md`. Sphinx looks only in the module of the
docstring. A name that is in no public module and in no page stays a warning.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autosummary import import_by_name


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", find_page)
    app.connect("missing-reference", find_in_root)
    app.connect("missing-reference", find_attribute)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def find_page(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """Look for a page that is named by its path in the repository."""
    path = PurePosixPath(node["reftarget"])
    docname = str(path.relative_to("docs").with_suffix("")) if path.parts[0] == "docs" else ""
    if docname not in env.found_docs:
        return None
    uri = app.builder.get_relative_uri(node["refdoc"], docname)
    return nodes.reference("", "", nodes.inline("", env.titles[docname].astext()), refuri=uri, internal=True)


def find_in_root(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Look for the name in `ltr_metrics`, then for the one public module or class that has it.

    A name that several classes have, and a private name by its whole path, stay text.
    """
    domain = env.domains["py"]
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removesuffix("()")
    candidates = [name for name in domain.objects if name == f"ltr_metrics.{target}"] or [
        name for name in domain.objects if name.endswith(f".{target}")
    ]
    if len(candidates) != 1:
        return content if candidates or is_private(target) else None  # the text stays, without a link
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", candidates[0], node, content)


def is_private(name: str) -> bool:
    """Return whether the name is the whole path of an object of the package."""
    if not name.startswith("ltr_metrics."):
        return False
    try:
        import_by_name(name)
    except ImportError:
        return False
    return True


def find_attribute(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Leave an attribute of the docstring's class as text: the page of the class describes it."""
    if node.get("refdomain") != "py" or node.get("py:class") is None:
        return None
    cls = import_by_name(f"{node['py:module']}.{node['py:class']}")[1]
    attributes = {*dir(cls), *(name for base in cls.__mro__ for name in vars(base).get("__annotations__", ()))}
    return content if node["reftarget"] in attributes else None
