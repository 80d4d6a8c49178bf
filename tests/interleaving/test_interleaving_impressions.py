"""Logs of live use: there and back, what is refused and where, and what they add up to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ltr_metrics.errors import LtrError, LtrTypeError, LtrValueError
from ltr_metrics.interleaving import Impression, Shown, read_impressions, score, write_impressions
from ltr_metrics.online.interleaving.scoring import METHODS

RANKINGS = {"old": ["a", "b", "c", "d"], "new": ["b", "d", "a", "e"], "third": ["e", "c", "b", "a"]}
TWO = {name: RANKINGS[name] for name in ("old", "new")}
GOOD: dict[str, Any] = {"rankings": TWO, "shown": ["a", "b", "d"], "clicks": [1]}


def made(method: str, n: int, rankings: dict[str, list[str]] | None = None) -> Iterator[Impression]:
    """Mix, and click at random."""
    rng = np.random.default_rng(0)
    rankings = rankings or (TWO if method == "balanced" else RANKINGS)
    mixer = METHODS[method](list(rankings.values()), 3)
    for _ in range(n):
        shown = mixer.mix(rng)
        clicks = np.flatnonzero(rng.random(len(shown.documents)) < 0.5)
        yield Impression(rankings, shown, clicks, length=3)  # type: ignore[arg-type]


def lines(path: Path, *objects: object) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in objects), "utf-8")
    return path


# -- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_log_comes_back_as_it_was(tmp_path: Path, suffix: str) -> None:
    odd = Impression({"ü": ["1", 10**30, "-"], "new": [], "x": [2.5, "a\n"]}, Shown(["-", 2.5], [0, 2]), [1], 7, 3.0)
    log = [odd, replace(odd, query="3", user=3), *made("ppm", 50), *made("team_draft", 3)]
    path = tmp_path / f"log.jsonl{suffix}"
    write_impressions(path, iter(log))
    back = list(read_impressions(path))
    assert back == log
    assert [type(one.query) for one in back[:2]] == [float, str]
    if suffix == ".gz":
        assert path.read_bytes()[4:8] == bytes(4)  # gzip's time of writing: equal logs have equal bytes
        assert len(gzip.decompress(path.read_bytes()).splitlines()) == len(log)


def test_arrays_and_columns_go_in_and_plain_comes_out() -> None:
    rankings = {"a": np.array([3, 1, 2]), "b": pd.Series([2, 3, 1])}
    shown = Shown(np.array([3, 2]), np.array([0, 1]))  # type: ignore[arg-type]
    impression = Impression(rankings, shown, np.array([1, 1, 0]), np.int64(2), np.int64(7))  # type: ignore[arg-type]
    assert impression == Impression({"a": [3, 1, 2], "b": [2, 3, 1]}, Shown([3, 2], [0, 1]), [0, 1], 2, 7)
    plain = json.loads(impression.to_json())
    assert (plain["query"], plain["shown"], plain["teams"], plain["clicks"]) == (7, [3, 2], ["a", "b"], [0, 1])
    assert Impression(TWO, ["a", "b"], []).shown == Shown(["a", "b"])  # type: ignore[arg-type]


def test_the_order_of_the_models_is_that_of_the_first_line(tmp_path: Path) -> None:
    turned = {"new": TWO["new"], "old": TWO["old"]}
    teams = {"teams": ["old", "new", "new"]}
    path = lines(tmp_path / "log", GOOD | teams, GOOD | teams | {"rankings": turned})
    assert [one.shown.teams for one in read_impressions(path)] == [[0, 1, 1], [1, 0, 0]]
    outcome = score(path, "team_draft")
    assert outcome.models == ["old", "new"]
    assert outcome.wins.tolist() == [[0, 0], [2, 0]]


@pytest.mark.parametrize("odd", [("a", 1), float("inf")])
def test_what_no_log_can_hold(odd: object, tmp_path: Path) -> None:
    path = lines(tmp_path / "log", "before")
    with pytest.raises(LtrTypeError, match="must be text or finite numbers in a log"):
        write_impressions(path, [Impression({"a": [odd], "b": [2]}, Shown([odd]), [])])
    assert path.read_text() == "before\n"
    assert [one.name for one in tmp_path.iterdir()] == ["log"]


# -- what is refused, and where ---------------------------------------------------------------------------------------

BAD: list[tuple[object, str]] = [
    ("[1, 2]", r"must be a JSON object. Got \[1, 2\]"),
    ({"rankings": TWO, "shown": ["a"], "click": []}, r"The key 'clicks' is missing.*Did you mean 'click'"),
    (GOOD | {"rankings": [["a"], ["b"]]}, "rankings must map two or more names"),
    (GOOD | {"clicks": [3]}, "whole numbers from 0 to 2. Got 3"),
    (GOOD | {"length": 2}, "at least 3, the number of documents shown. Got 2"),
    (GOOD | {"teams": ["old", "new", "nwe"]}, "teams must be names of the rankings, old, new"),
    (GOOD | {"method": "pmp"}, "Did you mean 'ppm'"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_errors_name_file_and_line(tmp_path: Path, bad: object, message: str) -> None:
    path = lines(tmp_path / "log.jsonl", GOOD, "", bad, GOOD)
    found = read_impressions(path)
    assert next(found).shown.documents == ["a", "b", "d"]
    for read in (lambda: list(found), lambda: score(path, "ppm")):
        with pytest.raises(LtrError, match=f"(?s)log.jsonl:3: .*{message}"):
            read()


def test_bytes_and_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD | {"session": 7}).encode() + b"\r\n" + b'{"shown": ["\xff"]}\n')
    found = read_impressions(path)
    assert next(found).clicks == [1]  # a byte order mark and other keys do not matter
    with pytest.raises(LtrValueError, match="log:2: A line must be a complete JSON object in UTF-8"):
        next(found)
    path = tmp_path / "log.gz"
    write_impressions(path, made("ppm", 200))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LtrValueError, match=r"log\.gz is damaged, cut off"):
        list(read_impressions(path))


# -- score ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["team_draft", "balanced"])
@pytest.mark.filterwarnings("ignore::ltr_metrics.errors.LtrWarning")
def test_a_score_is_a_loop_by_hand(method: Any, tmp_path: Path) -> None:
    log = list(made(method, 40))
    mixer = METHODS[method](list(log[0].rankings.values()), 3)
    credit = np.array([mixer.credit(one.shown, one.clicks) for one in log])
    assert np.ptp(credit, axis=1).any()
    path = tmp_path / "log.jsonl.gz"
    write_impressions(path, log)
    for source in (log, iter(log), path, str(path)):
        outcome = score(source, method)
        assert (outcome.models, outcome.method, outcome.cluster) == (list(log[0].rankings), method, None)
        np.testing.assert_array_equal(outcome.credit_by_impression, credit.T)


def test_a_log_is_scored_by_the_method_that_mixed_it(tmp_path: Path) -> None:
    """A list of Team Draft could nearly always be one of PPM: only what the log says tells them apart."""
    said = [replace(one, method="team_draft") for one in made("team_draft", 3)]
    write_impressions(tmp_path / "log.jsonl", said)
    assert score(said, "team_draft").n_impressions == 3
    sources: list[tuple[Any, Any, str]] = [
        (tmp_path / "log.jsonl", "ppm", "log.jsonl:1: The list was mixed by team_draft. Score it by that"),
        (made("team_draft", 3), "ppm", "mixed by a method with teams.*ppm would give"),
        (made("ppm", 3), "team_draft", "TeamDraft needs teams"),
        ([replace(one, method="ppm") for one in made("ppm", 3, TWO)], "balanced", "The list was mixed by ppm"),
    ]
    for log, method, message in sources:
        with pytest.raises(LtrError, match=message):
            score(log, method)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": "session"}, "cluster must be"),
        ({"impressions": []}, "no impression to score"),
        ({"impressions": [*made("ppm", 1), *made("ppm", 1, TWO)]}, "the same models. Here they are old, new, and not"),
    ],
)
def test_what_cannot_be_scored(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrError, match=message):
        score(**{"impressions": made("ppm", 2), "method": "ppm"} | options)


def test_lists_that_cannot_have_been_shown_and_lengths(tmp_path: Path) -> None:
    short = {"a": [1, 2], "b": [2, 1]}  # has but two documents for the three slots
    log = [Impression(short, Shown([1, 2]), [0], length=3), Impression(short, Shown([1, 2]), [0])]
    assert score(log, "ppm").credit.tolist() == [1.0, -1.0]
    with pytest.raises(LtrValueError, match=r"impression 0 \(from 0\): .*has 1 documents instead of 2"):
        score([Impression(short, Shown([1]), [0], length=3)], "ppm")
    impossible = Impression(TWO, Shown(["d", "a", "b"], [1, 0, 0]), [0])
    write_impressions(tmp_path / "log", [*made("team_draft", 3, TWO), impossible])
    with pytest.raises(LtrValueError, match="log:4: TeamDraft cannot have produced"):
        score(tmp_path / "log", "team_draft")


def test_a_log_with_users(tmp_path: Path) -> None:
    log = [replace(one, user=f"u{i // 2}", query=i % 2) for i, one in enumerate(made("ppm", 6))]
    write_impressions(tmp_path / "log.jsonl", log)
    by_user, by_query = (score(tmp_path / "log.jsonl", "ppm", cluster=one) for one in ("user", "query"))  # type: ignore[arg-type]
    assert (by_user.n_clusters, by_query.n_clusters) == (3, 2)
    assert by_user.to_dict()["pairs"][0]["n_clusters"] == 3
    with pytest.raises(LtrValueError, match=r"impression 1 \(from 0\): Every impression must name its user"):
        score([log[0], replace(log[1], user=None)], "ppm", cluster="user")
