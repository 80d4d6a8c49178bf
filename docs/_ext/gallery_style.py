"""The style of the gallery's own pictures, which is that of the displays."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from cycler import cycler

from ltr_metrics.report.plots import style


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
