"""Several learning curves in one figure, as the bytes of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Literal

from ltr_metrics.errors import import_extra
from ltr_metrics.evaluation.learning import LearningCurve
from ltr_metrics.report.plots.lines import LearningCurveDisplay

Format = Literal["svg", "png", "pdf"]
RESOLUTION = 150  # dots per inch of a bitmap
WITHOUT_DATE: dict[Format, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}


def panels_of_curves(panels: Sequence[Mapping[str, LearningCurve]], form: Format) -> bytes:
    """Draw each group of curves into axes of its own, one below the other.

    Equal curves give equal bytes.

    Parameters
    ----------
    panels : list of dict of str to LearningCurve
        The curves of one metric, by name.
    form : {"svg", "png", "pdf"}
        Format of the file.
    """
    style, canvas = import_extra("matplotlib.style", "report"), import_extra("matplotlib.figure", "report").Figure
    displays = [LearningCurveDisplay(curves=dict(curves)) for curves in panels]
    sizes = [display.size for display in displays]
    buffer = BytesIO()
    with style.context(["default", {"svg.hashsalt": "curves"}]):
        figure = canvas(figsize=(sizes[0][0], sum(height for _, height in sizes)), layout="constrained", dpi=RESOLUTION)
        all_axes = figure.subplots(len(displays), squeeze=False, height_ratios=[height for _, height in sizes])
        for display, ax in zip(displays, all_axes[:, 0], strict=True):
            display.plot(ax=ax)
        figure.savefig(buffer, format=form, metadata=WITHOUT_DATE[form])
    return buffer.getvalue()
