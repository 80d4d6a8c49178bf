"""Several learning curves in one figure, as the bytes of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Literal

from ltr_metrics.errors import MissingExtraError
from ltr_metrics.evaluation.log.learning import LearningCurve
from ltr_metrics.report.plots.learning import LearningCurveDisplay

Format = Literal["svg", "png", "pdf"]
RESOLUTION = 150  # dots per inch of a bitmap


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
    try:
        import matplotlib.style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report") from error
    displays = [LearningCurveDisplay(curves=dict(curves)) for curves in panels]
    sizes = [display.size for display in displays]
    buffer = BytesIO()
    with matplotlib.style.context(["default", {"svg.hashsalt": "curves"}]):
        figure = Figure(figsize=(sizes[0][0], sum(height for _, height in sizes)), layout="constrained", dpi=RESOLUTION)
        all_axes = figure.subplots(len(displays), squeeze=False, height_ratios=[height for _, height in sizes])
        for display, ax in zip(displays, all_axes[:, 0], strict=True):
            display.plot(ax=ax)
        figure.savefig(buffer, format=form, metadata=_WITHOUT_DATE[form])
    return buffer.getvalue()


_WITHOUT_DATE: dict[Format, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
