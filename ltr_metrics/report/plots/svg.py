"""A display as SVG that stands in a page: its text is text, its ink the page's, its ids its own.

Metadata and dates are left out: equal input gives equal bytes.
"""

from __future__ import annotations

import re
import warnings
from io import BytesIO
from xml.etree import ElementTree

from ltr_metrics.errors import MissingExtraError
from ltr_metrics.report.plots.display import Display
from ltr_metrics.report.plots.style import shown

INK = "#010203"  # what is drawn in it becomes the page's colour of text
STYLE = {
    "svg.fonttype": "none",
    "font.sans-serif": [
        "DejaVu Sans"
    ],  # comes with Matplotlib, so that all machines measure alike; the page may show another
    "font.size": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
WIDEST = 1.5  # pixels of a page for each point of the drawing: beyond, its text would be larger than that around it
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"


def svg_of(display: Display, name: str, title: str = "") -> str:
    """Draw a display as an SVG element: transparent, in the page's colour of text, as wide as there is room for."""
    try:
        import matplotlib.style
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report") from error
    drawn = BytesIO()
    with matplotlib.style.context(["default", STYLE | {"svg.hashsalt": name}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a browser has more fonts
        figure = Canvas(figsize=display.size, layout="constrained")
        display.plot(ax=figure.subplots())
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return _for_a_page(drawn.getvalue(), name, title)


def _for_a_page(svg: bytes, name: str, title: str) -> str:
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{SVG}metadata"):
        root.remove(metadata)
    for definitions in root.findall(f"{SVG}defs"):  # a style element would speak for the whole page
        for style in definitions.findall(f"{SVG}style"):
            definitions.remove(style)
    referred = {found for element in root.iter() for text in element.attrib.values() for found in _references(text)}
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        element.attrib = {
            key.replace(XLINK, "href"): _own(key, value, name)
            for key, value in element.attrib.items()
            if key != "id" or value in referred
        }
    width = float(root.attrib.pop("width").removesuffix("pt"))
    del root.attrib["height"], root.attrib["version"]
    root.attrib |= {
        "xmlns": SVG.strip("{}"),
        "role": "img",
        "style": f"stroke-linejoin: round; stroke-linecap: butt; width: 100%; max-width: {width * WIDEST:.0f}px; height: auto",
    }
    if title:
        heading = ElementTree.Element("title")
        heading.text = shown(title, longest=len(title) * 2)
        root.insert(0, heading)
    return ElementTree.tostring(root, encoding="unicode")


def _references(text: str) -> list[str]:
    return re.findall(r"url\(#([^)]+)\)", text) + ([text[1:]] if text.startswith("#") else [])


def _own(key: str, value: str, name: str) -> str:
    """Return an attribute with ids that no other figure of the page has, and in the page's ink."""
    if key == "id":
        return f"{name}-{value}"
    if key == XLINK:
        return f"#{name}-{value.removeprefix('#')}"
    return value.replace("url(#", f"url(#{name}-").replace(INK, "currentColor")
