"""Every page is readable: sentences of at most 30 words, lines of at most 100 columns, short cells in tables.

Code, formulas, comments and link targets are excepted. A cell has no more than one sentence, of any length.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from prose import cells, lines, n_words, sentences, split

ROOT = Path(__file__).parent.parent
MOST_WORDS, MOST_COLUMNS = 30, 100
BUILT = {"_build", "generated", "auto_gallery"}  # folders that the site's builder writes
PAGES = sorted(
    page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if not BUILT & {*page.relative_to(ROOT).parts}
)
LONG, SHORT = " ".join(["a"] * 31) + ".", " ".join(["a"] * 30) + "."


def too_long(markdown: str) -> list[str]:
    """Return what breaks the rules on a page, with line numbers."""
    words = [(n_words(text), line, text) for line, text in sentences(markdown)]
    return [
        *(f"line {line}: {n} words: {text}" for n, line, text in words if n > MOST_WORDS),
        *(f"line {line}: {len(text)} columns: {text}" for line, text in lines(markdown) if len(text) > MOST_COLUMNS),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_and_lines_are_short(page: Path) -> None:
    assert too_long(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_cell_of_a_table_has_one_sentence_at_most(page: Path) -> None:
    assert [cell for cell in cells(page.read_text(encoding="utf-8")) if len(split(cell.text)) > 1] == []


def test_the_cells_of_tables_are_found() -> None:
    table = "Text.\n\n| a | b. C |\n|---|:--|\n| `d\\|e` | |\n\n```\n| f | g |\n```\n"
    assert cells(table) == [(3, "a"), (3, "b. C"), (4, "---"), (4, ":--"), (5, "`d\\|e`"), (5, "")]
    assert split("b. C") == ["b.", "C"]


def test_the_pages_are_found() -> None:
    found = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/definitions.md"} <= found


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Use a seed, e.g. 0, i.e. a fixed one. Done.", ["Use a seed, e.g. 0, i.e. a fixed one.", "Done."]),
        ("Tables, logs, etc. are files.", ["Tables, logs, etc. are files."]),
        ("Tables, logs, etc. They are files.", ["Tables, logs, etc.", "They are files."]),
        ("Ranks 1, 2, ... are whole.", ["Ranks 1, 2, ... are whole."]),
        ("Smucker et al. report it. M. Najork does, too.", ["Smucker et al. report it.", "M. Najork does, too."]),
        ("It is .1623 there and 0.5 here.", ["It is .1623 there and 0.5 here."]),
        ("It is .1623. It was .5.", ["It is .1623.", "It was .5."]),
        ("See io.py and v0.1.0 of ltr_metrics.io here.", ["See io.py and v0.1.0 of ltr_metrics.io here."]),
        ("It fails. trec_eval does not.", ["It fails.", "trec_eval does not."]),
        ("It is **bold.** It is *not*.", ["It is bold.", "It is not."]),
        ("(It is in brackets.) It is not.", ["(It is in brackets.)", "It is not."]),
        ('He said "yes." She did not.', ['He said "yes."', "She did not."]),
        ("Call `f(a, b). c` now. Then stop.", ["Call Code now.", "Then stop."]),
        ("Call ``a `b` c`` and {func}`f` now.", ["Call Code and Code now."]),
        ("The [long name](a/b.md#c-d) and ![a picture](x.png).", ["The long name and a picture."]),
        ("See <https://a.b/c?d=e>. Or https://a.b/c. Or not.", ["See Address.", "Or Address.", "Or not."]),
        ("With $k = 1. 2$ it is $2^y - 1$.", ["With Formula it is Formula."]),
        ("It costs 5 $ or 6 $ here.", ["It costs 5 $ or 6 $ here."]),
        ("Keep ltr_metrics and n_above, _not_ these.", ["Keep ltr_metrics and n_above, not these."]),
        ("Press <kbd>Ctrl</kbd> now.", ["Press Ctrl now."]),
        ("[one](a) · [two](b) · three", ["one", "two", "three"]),
    ],
)
def test_a_paragraph_is_split_at_the_end_of_sentences(paragraph: str, expected: list[str]) -> None:
    assert split(paragraph) == expected


@pytest.mark.parametrize(
    ("sentence", "n"),
    [("One, two - three.", 3), ("Reaches 95 % at k = 10.", 5), ("well-known and/or ltr_metrics.io", 3), ("... --", 0)],
)
def test_words_are_counted_without_signs(sentence: str, n: int) -> None:
    assert n_words(sentence) == n


@pytest.mark.parametrize(
    ("markdown", "starts"),
    [
        ("# A heading\nA line\nthat goes on. Next.\n\nNew.", [(1, "A h"), (2, "A l"), (2, "Nex"), (5, "New")]),
        ("Text:\n- one\n  goes on\n- two\n1. three\n> four", [(1, "Tex"), (2, "one"), (4, "two"), (5, "thr")]),
        ("A.\n```python\nx = 1. 2\n```\nB.", [(1, "A."), (5, "B.")]),
        ("````\n```\nx\n```\n````\nB.", [(6, "B.")]),
        ("```{note}\nRead this.\n```\n:::{tip}\nAnd this.\n:::", [(2, "Rea"), (5, "And")]),
        ("::::{grid}\nRead this.\n::::\nB.", [(2, "Rea"), (4, "B.")]),
        ("```{toctree}\na/very/long/path\n```", []),
        ("A.\n\n| a | b |\n|---|---|\n\nB.", [(1, "A."), (6, "B.")]),
        ("A.\n$$\nx + y\n$$\nB.\n$$z$$", [(1, "A."), (5, "B.")]),
        ("<!-- not\nprose -->\nB.", [(3, "B.")]),
        ("---\ntitle\n---\n(a-target)=\n[ref]: https://a.b\nB.", [(2, "tit"), (6, "B.")]),
    ],
)
def test_what_is_prose_and_where_it_begins(markdown: str, starts: list[tuple[int, str]]) -> None:
    assert [(line, text[:3]) for line, text in sentences(markdown)] == starts


@pytest.mark.parametrize(
    "markdown",
    [
        LONG,
        f"- {LONG}",
        f"# {LONG}",
        f"> {LONG}",
        f"Short. {LONG}",
        LONG.replace(" ", "\n", 1),
        LONG.replace("a", "e.g.", 5),
        LONG.replace("a", "io.py", 5),
        LONG.replace("a", ".1623", 5),
        LONG.replace("a", "**a**.b", 5),
        LONG.replace("a", "[a](b.md)", 5),
        LONG.replace("a", "`b c. D`", 5),
        LONG.replace("a", "$b + c. D$", 5),
        f"```{{note}}\n{LONG}\n```",
        f"```\ncode\n```\n{LONG}",
        f"$$\nx\n$$\n{LONG}",
        "x" * 101,
        f"- {'x' * 99}",
        f"<b>{'x' * 100}</b>",
        f"[{'x' * 100}](a.md)",
    ],
)
def test_what_is_too_long_is_found(markdown: str) -> None:
    assert len(too_long(markdown)) == 1


@pytest.mark.parametrize(
    "markdown",
    [
        SHORT,
        f"{SHORT}\n{SHORT}",
        f"- {SHORT[:-1]}\n- {SHORT[:-1]}",
        f"# {SHORT[:-1]}\n{SHORT}",
        f"{SHORT[:-1]}\n\n{SHORT}",
        SHORT.replace("a", "[a](b.md#c-d)", 5),
        SHORT.replace("a", "`b c. D`", 5),
        SHORT.replace("a", "$b + c. D$", 5),
        SHORT.replace("a", "= a -", 5),
        f"{SHORT[:-1]} · {SHORT[:-1]}".replace("· a", "·\na"),
        f"| {LONG} |\n|---|",
        f"```\n{LONG}\n```",
        f"~~~python\n{LONG}\n~~~",
        f"$$\n{LONG}\n$$",
        f"<!-- {LONG} -->",
        f'<iframe title="{LONG} {SHORT}"></iframe>',
        "x" * 100,
        f"[a]({'x' * 200})",
        f"| {'x' * 200} |",
        f"    {'x' * 96}",
    ],
)
def test_what_is_short_or_no_prose_passes(markdown: str) -> None:
    assert too_long(markdown) == []
