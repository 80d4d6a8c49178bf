"""Displays as SVG for a page, with the page's text colour and ids that are unique in the page.

Text stays text. Metadata and dates are removed, so that equal input gives equal bytes.
"""

from __future__ import annotations

import re
import warnings
from io import BytesIO
from xml.etree import ElementTree

from ltr_metrics.errors import import_extra
from ltr_metrics.report.plots.display import Display
from ltr_metrics.report.plots.style import shorten

TEXT_COLOR = "#010203"  # replaced by the text colour of the page
STYLE = {
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib, so that all machines measure text equally
    "font.size": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), TEXT_COLOR)
MAX_SCALE = 1.5  # pixels of the page per point; beyond it, text would be larger than that of the page
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"


def svg_of(display: Display, name: str, title: str = "") -> str:
    """Draw a display as an SVG element that is transparent and scales with the page."""
    style, canvas = import_extra("matplotlib.style", "report"), import_extra("matplotlib.figure", "report").Figure
    buffer = BytesIO()
    with style.context(["default", STYLE | {"svg.hashsalt": name}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a browser has more fonts
        figure = canvas(figsize=display.size, layout="constrained")
        display.plot(ax=figure.subplots())
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _adapt_to_page(buffer.getvalue(), name, title)


def _adapt_to_page(svg: bytes, name: str, title: str) -> str:
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{SVG}metadata"):
        root.remove(metadata)
    for definitions in root.findall(f"{SVG}defs"):  # a style element would apply to the whole page
        for style in definitions.findall(f"{SVG}style"):
            definitions.remove(style)
    referenced = {one for element in root.iter() for text in element.attrib.values() for one in _references(text)}
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        element.attrib = {
            key.replace(XLINK, "href"): _adapt_attribute(key, value, name)
            for key, value in element.attrib.items()
            if key != "id" or value in referenced
        }
    width = float(root.attrib.pop("width").removesuffix("pt"))
    del root.attrib["height"], root.attrib["version"]
    root.attrib |= {
        "xmlns": SVG.strip("{}"),
        "role": "img",
        "style": "stroke-linejoin: round; stroke-linecap: butt; width: 100%; "
        f"max-width: {width * MAX_SCALE:.0f}px; height: auto",
    }
    if title:
        heading = ElementTree.Element("title")
        heading.text = shorten(title, longest=len(title) * 2)
        root.insert(0, heading)
    return ElementTree.tostring(root, encoding="unicode")


def _references(text: str) -> list[str]:
    return re.findall(r"url\(#([^)]+)\)", text) + ([text[1:]] if text.startswith("#") else [])


def _adapt_attribute(key: str, value: str, name: str) -> str:
    """Return an attribute with unique ids and the page's text colour."""
    if key == "id":
        return f"{name}-{value}"
    if key == XLINK:
        return f"#{name}-{value.removeprefix('#')}"
    return value.replace("url(#", f"url(#{name}-").replace(TEXT_COLOR, "currentColor")
