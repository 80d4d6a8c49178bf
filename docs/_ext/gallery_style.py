"""The style of the gallery's own pictures, which is that of the displays, and their descriptions."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from cycler import cycler
from docutils import nodes
from sphinx.application import Sphinx

from ltr_metrics.report.plots import style


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", describe_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe_pictures(app: Sphinx, tree: nodes.document) -> None:
    """Describe each picture by the title of its page, and not by the name of the script."""
    if app.env.docname.startswith("auto_gallery/"):
        title = next(iter(tree.findall(nodes.title)), None)
        for picture in tree.findall(nodes.image):
            if title is not None and picture.get("alt", "").startswith("plot "):
                picture["alt"] = title.astext()


def use_style(_gallery_conf: dict[str, Any], _script: str) -> None:
    """Set the series, the grid and the frame before each script; the gallery has reset Matplotlib."""
    series = [style.series_style(i) for i in range(len(style.COLORS))]
    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(
                **{name: [getattr(one, name) for one in series] for name in style.SeriesStyle._fields}
            ),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.alpha": 0.15,
            "grid.color": "black",
            "grid.linewidth": 0.7,
            "legend.frameon": False,
            "figure.figsize": (style.WIDTH, style.HEIGHT),
        }
    )
