"""CSV that readers take apart as it was put together, and that spreadsheets take for data alone."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what a cell begins with that a spreadsheet may take for a formula
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def in_csv(table: pandas.DataFrame, *, header: bool = True) -> str:
    """Return a table as CSV; text with a carriage return is quoted as text with a line feed is."""
    text = str(table.to_csv(index=False, header=header))
    if "\r" in text:  # which Python's csv module leaves without quotes before 3.13
        text = str(table.to_csv(index=False, header=header, quoting=csv.QUOTE_NONNUMERIC))
    return text


def spreadsheet_safe(text: str) -> str:
    r"""Return CSV in which no cell is a formula for a spreadsheet: such a cell is quoted and begins with an apostrophe.

    These are cells that begin with ``=``, ``+``, ``-``, ``@``, a tab or a line break. Numbers stay numbers, negative ones too.

    Parameters
    ----------
    text : str
        CSV with commas, such as `as_per_query_csv` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> from ltr_metrics.report import spreadsheet_safe
    >>> spreadsheet_safe("qid,map\n=1+1,-0.5\n")
    'qid,map\n"\'=1+1",-0.5\n'
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(text: str) -> str:
    if text.startswith(FORMULA) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    elif not re.search('[,"\r\n]', text):
        return text
    return '"' + text.replace('"', '""') + '"'
