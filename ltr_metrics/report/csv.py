"""CSV that is read back unchanged, and that spreadsheets do not interpret as formulas."""

from __future__ import annotations

import csv
import io
import re

from ltr_metrics._rows.json_values import DataFrame

# A spreadsheet may read a cell as a formula that begins with one of these signs or a line break, also where it splits
# lines at semicolons, as in countries with decimal commas, or at tabs. Full-width signs count as their narrow forms.
FORMULA = re.compile(r"(^|[;\t\r\n])(?=[=+\-@\t\r\n＝＋－＠])")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def in_csv(table: DataFrame, *, header: bool = True) -> str:
    """Return a table as CSV, in which text with a carriage return is quoted like text with a line feed."""
    text = str(table.to_csv(index=False, header=header, lineterminator="\n"))
    if "\r" in text:  # Python's csv module does not quote it before 3.13
        text = str(table.to_csv(index=False, header=header, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))
    return text


def spreadsheet_safe(text: str) -> str:
    r"""Return CSV in which spreadsheets find no formulas.

    A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break is quoted and begins
    with an apostrophe, and so does what follows a semicolon, a tab or a line break within a cell,
    where some spreadsheets begin another one. Numbers are unchanged, including negative ones.

    Parameters
    ----------
    text : str
        CSV with commas, as from `as_per_query_csv`.

    Returns
    -------
    str
        CSV with commas.

    See Also
    --------
    as_per_query_csv : CSV of the values per query.

    Examples
    --------
    >>> from ltr_metrics.report import spreadsheet_safe
    >>> spreadsheet_safe("qid,map\n=1+1,-0.5\n")
    'qid,map\n"\'=1+1",-0.5\n'
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(text: str) -> str:
    safe = text if _NUMBER.fullmatch(text) else FORMULA.sub(r"\1'", text)
    if safe == text and not re.search('[,"\r\n]', text):
        return text
    return '"' + safe.replace('"', '""') + '"'
