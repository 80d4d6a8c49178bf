"""Sentences and lines of Markdown, and how long they are.

Code, tables, formulas, comments and link targets are not prose.
A code span, an inline formula or a bare address counts as one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})\s*(?:\{([\w-]+)\})?")
DIRECTIVES_OF_PROSE = {"note", "tip", "hint", "important", "warning", "caution", "seealso", "admonition", "dropdown"}
ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"#{1,6}\s+")
NOT_PROSE = re.compile(r"\||:[\w-]+:(?!`)|\([\w-]+\)=$|-{3,}$|={3,}$|\[[^\]]+\]:\s")  # tables, options, targets, rules
HIDDEN = re.compile(r"<!--.*?-->|^\$\$.*?\$\$", flags=re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"(?<![\\$\w])\$(?!\s)[^$]+?(?<!\s)\$(?![\d$])")
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
INLINE = (
    (re.compile(r"(?:\{[\w:-]+\})?(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)"), "Code"),  # with or without a role of MyST
    (FORMULA, "Formula"),
    (re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"<?https?://[^\s<>)]*[^\s<>).,;:!?]>?"), "Address"),
    (TAG, " "),
    (re.compile(r"\*+|(?<!\w)_+|_+(?!\w)"), ""),
)
END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][)\]\"'”’]))\s+|\s·\s")  # a line may list items with ·
NEVER_LAST = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|resp|approx|Fig|Eq|No|pp|Dr)\.$")
SELDOM_LAST = re.compile(r"(?:^|[\s(])(?:etc|al|[A-Z])\.$|\.\.\.$")  # last only before a capital letter
INITIAL = re.compile(r"(?:^|[\s(])[A-Z]\.$")
LINK_TARGET = re.compile(r"\]\([^)\s]*\)")


class Prose(NamedTuple):
    """A sentence or a line, and the number of the line on which its paragraph begins."""

    line: int
    text: str


def sentences(markdown: str) -> list[Prose]:
    """Return the sentences of a page; a heading and a list item end one, with or without a full stop."""
    return [Prose(block.line, text) for block in _blocks(markdown) for text in split(block.text)]


def split(paragraph: str) -> list[str]:
    """Split a paragraph of Markdown into sentences of plain words."""
    for pattern, replacement in INLINE:
        paragraph = pattern.sub(replacement, paragraph)
    found: list[str] = []
    for part in filter(None, (" ".join(part.split()) for part in END.split(paragraph))):
        if found and _continues(found[-1], part):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def n_words(sentence: str) -> int:
    """Count the words of a sentence that `split` returned; signs alone are not words."""
    return sum(any(map(str.isalnum, word)) for word in sentence.split())


def lines(markdown: str) -> list[Prose]:
    """Return the lines of prose without formulas and the targets of links."""
    return [Prose(line, FORMULA.sub("$", LINK_TARGET.sub("]()", text))) for line, text in _lines(markdown)]


def cells(markdown: str) -> list[Prose]:
    """Return the cells of the tables."""
    rows = [(line, text.strip()) for line, text in _visible(markdown) if text.strip().startswith("|")]
    return [Prose(line, cell.strip()) for line, row in rows for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def _continues(sentence: str, part: str) -> bool:
    """Return whether the full stop between two parts is that of an abbreviation."""
    if NEVER_LAST.search(sentence) or INITIAL.search(sentence):
        return True
    return bool(SELDOM_LAST.search(sentence)) and not part[0].isupper()


def _blocks(markdown: str) -> list[Prose]:
    """Return paragraphs, headings and list items, each in one line and without its marker."""
    blocks: list[Prose] = []
    previous, is_heading = -1, False
    for line, text in _lines(markdown):
        bare = re.sub(r"^(?:>\s?)+", "", text.strip())
        marker = ITEM.match(bare) or HEADING.match(bare)
        if line != previous + 1 or is_heading or marker:
            blocks.append(Prose(line, bare.removeprefix(marker[0] if marker else "")))
        else:
            blocks[-1] = Prose(blocks[-1].line, f"{blocks[-1].text} {bare}")
        previous, is_heading = line, bool(HEADING.match(bare))
    return blocks


def _lines(markdown: str) -> Iterator[Prose]:
    """Yield the lines that are prose."""
    for line, text in _visible(markdown):
        if TAG.sub("", text).strip() and not NOT_PROSE.match(text.strip()):
            yield Prose(line, text)


def _visible(markdown: str) -> Iterator[Prose]:
    """Yield the lines outside of code, block formulas and comments."""
    fences: list[tuple[str, bool]] = []  # the open ones, and whether they hold prose
    visible = HIDDEN.sub(lambda hidden: "\n" * hidden.group().count("\n"), markdown)
    for number, text in enumerate(visible.splitlines(), start=1):
        bare = text.strip()
        fence = FENCE.match(bare)
        holds_prose = all(is_prose for _, is_prose in fences)
        if fences and bare == fences[-1][0]:
            fences.pop()
        elif fence and holds_prose:
            fences.append((fence[1], fence[1][0] == ":" or fence[2] in DIRECTIVES_OF_PROSE))
        elif holds_prose:
            yield Prose(number, text)
