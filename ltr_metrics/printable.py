"""Text that a terminal shows as it is: characters that would control it are spelled out."""

from __future__ import annotations

import re

# C0 and C1 controls but the line break, line and paragraph separators, controls of the direction of text, and halves of
# surrogate pairs, which stand for bytes of a file's name that are no text.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    r"""Return text whose control characters are spelled out as Python writes them; line breaks stay.

    Examples
    --------
    >>> from ltr_metrics.printable import one_line, printable
    >>> printable("\x1b[31mred\n\u202e")
    '\\x1b[31mred\n\\u202e'
    >>> one_line("two\nlines")
    'two\\nlines'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def one_line(name: object) -> str:
    """Return the name of a model, a query or a segment as text in which line breaks are spelled out, too."""
    return printable(name).replace("\n", "\\n")
