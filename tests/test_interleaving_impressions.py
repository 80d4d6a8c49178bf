"""Logs of live use: there and back, what is refused and where, and what they add up to."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import lzma
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr_metrics.errors import LtrKeyError, LtrTypeError, LtrValueError
from ltr_metrics.interleaving import scoring
from ltr_metrics.interleaving.impressions import Impression, read_impressions, write_impressions
from ltr_metrics.interleaving.method import Shown
from ltr_metrics.interleaving.methods import METHODS, method_named
from ltr_metrics.interleaving.scoring import score
from ltr_metrics.interleaving.tally import checkpoints
from ltr_metrics.interleaving.team_draft import TeamDraft

RANKINGS = {"old": ["a", "b", "c", "d"], "new": ["b", "d", "a", "e"], "third": ["e", "c", "b", "a"]}
TWO = {name: RANKINGS[name] for name in ("old", "new")}
GOOD: dict[str, Any] = {"rankings": TWO, "shown": ["a", "b", "d"], "clicks": [1]}

IDS = st.one_of(st.text(max_size=5), st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False))
NAMES = st.text(max_size=4)


@st.composite
def logs(draw: st.DrawFn) -> list[Impression]:
    """Impressions of the same models, with and without teams, rankings, lengths and queries."""
    names = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    log = []
    for _ in range(draw(st.integers(0, 4))):
        shown = draw(st.lists(IDS, min_size=1, max_size=5, unique=True))
        teams = draw(st.none() | st.lists(st.integers(0, len(names) - 1), min_size=len(shown), max_size=len(shown)))
        rankings = {name: draw(st.lists(IDS, max_size=5, unique=True)) for name in draw(st.permutations(names))}
        clicks = draw(st.lists(st.integers(0, len(shown) - 1), max_size=3))
        length, query = draw(st.none() | st.integers(len(shown), 100)), draw(st.none() | IDS)
        log.append(
            Impression(None if teams and draw(st.booleans()) else rankings, Shown(shown, teams), clicks, length, query)
        )
    return log


def made(method: str, n: int, rankings: dict[str, list[str]] | None = None, seed: int = 0) -> Iterator[Impression]:
    """Mix, and click at random."""
    rng = np.random.default_rng(seed)
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


@given(log=logs(), suffix=st.sampled_from(["", ".gz", ".xz", ".bz2"]))
def test_a_log_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, log: list[Impression], suffix: str
) -> None:
    path = tmp_path_factory.mktemp("log") / f"log.jsonl{suffix}"
    write_impressions(path, iter(log))
    back = list(read_impressions(path))
    assert back == log
    for one, other in zip(back, log, strict=True):
        assert list(map(type, one.shown.documents)) == list(map(type, other.shown.documents))
        assert list(one.rankings or ()) == list(other.rankings or ())
        assert type(one.query) is type(other.query)
    assert "\n" not in "".join(impression.to_json() for impression in log)
    opened: Callable[..., Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}.get(suffix, open)
    with opened(path, "rt", encoding="ascii") as file:
        assert [json.loads(line) for line in file] == [json.loads(impression.to_json()) for impression in log]


def test_a_live_system_appends(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = list(made("team_draft", 5))
    for impression in log:
        with path.open("a", encoding="utf-8") as file:
            file.write(impression.to_json() + "\n\n")  # blank lines do not matter
    assert list(read_impressions(path)) == log


def test_numpy_goes_in_and_plain_comes_out() -> None:
    rankings = {"a": np.array([3, 1, 2]), "b": np.array([2, 3, 1])}
    shown = Shown(np.array([3, 2]), np.array([0, 1]))  # type: ignore[arg-type]
    impression = Impression(rankings, shown, np.array([1, 1, 0]), np.int64(2), np.int64(7))  # type: ignore[arg-type]
    assert impression == Impression({"a": [3, 1, 2], "b": [2, 3, 1]}, Shown([3, 2], [0, 1]), [0, 1], 2, 7)
    assert json.loads(impression.to_json()) == {
        "query": 7,
        "rankings": {"a": [3, 1, 2], "b": [2, 3, 1]},
        "shown": [3, 2],
        "teams": ["a", "b"],
        "clicks": [0, 1],
        "length": 2,
    }


def test_documents_alone_are_shown_without_teams() -> None:
    assert Impression(TWO, ["a", "b"], []).shown == Shown(["a", "b"])  # type: ignore[arg-type]


def test_teams_by_name_and_by_number_of_the_line(tmp_path: Path) -> None:
    turned = {"new": TWO["new"], "old": TWO["old"]}
    path = lines(
        tmp_path / "log",
        GOOD | {"teams": ["old", "new", "new"]},
        GOOD | {"teams": [0, 1, 1]},
        GOOD | {"rankings": turned, "teams": [1, 0, 0]},
        GOOD | {"rankings": turned, "teams": ["old", "new", "new"]},
    )
    assert [one.shown.teams for one in read_impressions(path)] == [[0, 1, 1], [0, 1, 1], [1, 0, 0], [1, 0, 0]]
    outcome = score(path, "team_draft")
    assert outcome.models == ["old", "new"]
    assert outcome.wins.tolist() == [[0, 0], [4, 0]]
    assert score(path, "team_draft", models=["new", "old"]).wins.tolist() == [[0, 4], [0, 0]]


@pytest.mark.parametrize("odd", [("a", 1), b"a", True, None])
def test_what_no_log_can_hold(odd: object, tmp_path: Path) -> None:
    if odd is None:
        with pytest.raises(LtrValueError, match="missing at index 0"):
            Impression({"a": [1], "b": [1]}, Shown([odd]), [])
        return
    impression = Impression({"a": [odd], "b": [1 if odd is not True else 2]}, Shown([odd]), [])
    path = tmp_path / "log"
    path.write_text("before")
    with pytest.raises(LtrTypeError, match="must be text or a number in a log"):
        write_impressions(path, [impression])
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["log"]


def test_nothing_is_written_where_something_fails(tmp_path: Path) -> None:
    def failing() -> Iterator[Impression]:
        yield from made("ppm", 2)
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        write_impressions(tmp_path / "log", failing())
    assert not list(tmp_path.iterdir())


# -- what is refused, and where ---------------------------------------------------------------------------------------

BAD: list[tuple[object, str]] = [
    ("{", "must be a complete JSON object in UTF-8"),
    ("[1, 2]", r"must be a JSON object with the keys .*Got \[1, 2\]"),
    ("null", "Got None"),
    ("[" * 100_000, "must be a complete JSON object in UTF-8"),
    ('{"shown": [1], "shown": [2]}', "the key 'shown' occurs twice"),
    ('{"rankings": {"a": [1], "a": [2]}, "shown": [1], "clicks": []}', "the key 'a' occurs twice"),
    ({"rankings": TWO, "clicks": []}, "the key 'shown' is missing"),
    ({"rankings": TWO, "shown": ["a"]}, r"the key 'clicks' is missing\. Without clicks it is \[\]"),
    (GOOD | {"rankings": None}, "must have rankings or teams"),
    (GOOD | {"rankings": [["a"], ["b"]]}, "rankings must be an object"),
    (GOOD | {"rankings": {"old": ["a"]}}, "two or more models"),
    (GOOD | {"rankings": TWO | {"new": "b"}}, r"rankings\['new'\] must be a list"),
    (
        GOOD | {"rankings": TWO | {"new": ["b", ["d"]]}},
        r"rankings\['new'\]\[1\] must be text or a number in a log. Got \['d'\]",
    ),
    (GOOD | {"rankings": TWO | {"new": ["b", True]}}, r"rankings\['new'\]\[1\] .*Got True"),
    (GOOD | {"rankings": TWO | {"new": ["b", "b"]}}, r"rankings\['new'\] has the document 'b' twice"),
    (GOOD | {"shown": [["a"]]}, r"shown\[0\] must be text or a number"),
    (GOOD | {"shown": [None]}, r"shown\[0\] .*Got None"),
    (GOOD | {"shown": ["a", "a"]}, "shown has the document 'a' twice"),
    (GOOD | {"shown": [], "clicks": []}, "at least one document"),
    (GOOD | {"shown": {"a": 1}}, "shown must be a list"),
    ('{"rankings": {"a": [1], "b": [2]}, "shown": [NaN], "clicks": []}', r"shown\[0\] .*Got nan"),
    (GOOD | {"clicks": [3]}, "slots of the list, 0 to 2. Got 3"),
    (GOOD | {"clicks": [-1]}, "Got -1"),
    (GOOD | {"clicks": [1.0]}, "whole numbers from 0. Got 1.0"),
    (GOOD | {"clicks": [True]}, "Got True"),
    (GOOD | {"clicks": 1}, "clicks must be a list"),
    (GOOD | {"length": 2}, "at least the number shown, 3. Got 2"),
    (GOOD | {"length": "ten"}, "Got 'ten'"),
    (GOOD | {"length": True}, "Got True"),
    (GOOD | {"query": ["q"]}, r"query must be text or a number in a log. Got \['q'\]"),
    (GOOD | {"teams": [0, 1]}, "one ranker per document. Got 2 for 3"),
    (GOOD | {"teams": [0, 1, 2]}, "whole numbers from 0 to 1. Got 2 at slot 2"),
    (GOOD | {"teams": [0, 1, -1]}, "Got -1"),
    (GOOD | {"teams": [0, 1, 1.0]}, "Got 1.0"),
    (GOOD | {"teams": [0, 1, True]}, "Got True"),
    (GOOD | {"teams": ["old", "new", "nwe"]}, r"teams\[2\] is 'nwe', .*Did you mean 'new'"),
    (GOOD | {"teams": "old"}, "teams must be a list"),
    ({"shown": ["a"], "clicks": [0], "teams": ["old"]}, r"teams\[0\] is the name 'old', .*Pass models="),
    ({"shown": ["a"], "clicks": [0], "teams": [2]}, "numbers of the models, 0 to 1. Got 2"),
    (GOOD | {"rankings": RANKINGS}, "the same models. Here they are old, new, third, and not old, new"),
    (GOOD | {"rankings": {"old": ["a"], "other": ["b"]}}, "Here they are old, other"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_errors_name_file_and_line(tmp_path: Path, bad: object, message: str) -> None:
    path = lines(tmp_path / "log.jsonl", GOOD, "", bad, GOOD)
    found = read_impressions(path)
    assert next(found).shown.documents == ["a", "b", "d"]
    for read in (lambda: list(found), lambda: score(path, "ppm")):
        with pytest.raises(LtrValueError, match=f"(?s)log.jsonl:3: .*{message}"):
            read()


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n" + b'{"shown": ["\xff"]}\n')
    found = read_impressions(path)
    assert next(found).clicks == [1]
    with pytest.raises(LtrValueError, match="log:2: a line must be a complete JSON object in UTF-8"):
        next(found)


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    write_impressions(path, made("ppm", 200))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LtrValueError, match=r"log\.gz is damaged or cut off"):
        list(read_impressions(path))
    with pytest.raises(FileNotFoundError):
        list(read_impressions(tmp_path / "no"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rankings": {"a": ["x"], 1: ["x"]}}, "map names of models"),
        ({"rankings": [["x"], ["x"]]}, "map names of models"),
        ({"rankings": {"a": "xy", "b": ["x"]}}, r"rankings\['a'\] must be a sequence of document ids. Got 'xy'"),
        ({"rankings": {"a": [["x"]], "b": ["x"]}}, "must hold hashable document ids"),
        ({"shown": "x"}, "shown must be a sequence"),
        ({"shown": Shown(["x"], "0")}, "teams must be a sequence"),  # type: ignore[arg-type]
        ({"clicks": "0"}, "clicks must be a sequence of slots"),
        ({"clicks": None}, "clicks must be a sequence of slots"),
    ],
)
def test_what_is_no_impression(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LtrTypeError, match=message):
        Impression(**{"rankings": {"a": ["x"], "b": ["x"]}, "shown": Shown(["x"]), "clicks": []} | options)


# -- score ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["own", "clicks"])
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("team_draft", {}),
        ("ppm", {}),
        ("ppm", {"pairs": "authors"}),
        ("balanced", {}),
        ("probabilistic", {"tau": 1.0}),
        ("optimized", {}),
    ],
)
@pytest.mark.filterwarnings("ignore::ltr_metrics.errors.LtrWarning")
def test_a_score_is_a_loop_by_hand(method: str, options: dict[str, Any], rule: str, tmp_path: Path) -> None:
    log = list(made(method, 40))
    names = list(log[0].rankings or {})
    wins, total = np.zeros((len(names), len(names)), dtype=int), np.zeros(len(names))
    for impression in log:
        rankings = list((impression.rankings or {}).values())
        credit = METHODS[method](rankings, 3, **options).credit(impression.shown, impression.clicks, rule)
        total += credit
        for i, j in itertools.product(range(len(names)), repeat=2):
            wins[i, j] += credit[i] > credit[j] + 1e-9
    assert wins.sum() > 0
    path = tmp_path / "log.jsonl.gz"
    write_impressions(path, log)
    for source in (log, iter(log), path, str(path)):
        outcome = score(source, method, rule=rule, **options)
        assert (outcome.models, outcome.method, outcome.n_impressions) == (names, method, 40)
        assert outcome.wins.tolist() == wins.tolist()
        np.testing.assert_allclose(outcome.credit, total / 40)


def test_the_options_reach_the_method() -> None:
    log = list(made("ppm", 60))
    assert score(log, "ppm").credit.tolist() != score(log, "ppm", pairs="authors").credit.tolist()


def test_the_order_of_models_is_one_s_own() -> None:
    log = list(made("team_draft", 30))
    outcome, turned = score(log, "team_draft"), score(log, "team_draft", models=["third", "old", "new"])
    assert turned.models == ["third", "old", "new"]
    assert turned.wins.tolist() == outcome.wins[np.ix_([2, 0, 1], [2, 0, 1])].tolist()
    assert turned.credit.tolist() == outcome.credit[[2, 0, 1]].tolist()


def test_team_draft_needs_teams_alone(tmp_path: Path) -> None:
    whole = list(made("team_draft", 50))
    teams = [Impression(None, one.shown, one.clicks) for one in whole]
    for rule in ("own", "clicks"):
        outcome = score(teams, "team_draft", models=RANKINGS, rule=rule)
        assert outcome.wins.tolist() == score(whole, "team_draft").wins.tolist()
    named = lines(
        tmp_path / "named",
        {"shown": ["x", "y"], "teams": ["new", "old"], "clicks": [0]},
        {"shown": ["x", "y"], "teams": [1, 0], "clicks": [0, 0]},
        {"shown": ["x", "y"], "teams": [1, 0], "clicks": [1, 0]},
    )
    assert score(named, "team_draft", models=["old", "new"]).wins.tolist() == [[0, 0], [2, 0]]
    with pytest.raises(LtrValueError, match=r"impression 0 \(from 0\): There are teams but no rankings.* Pass models="):
        score(teams, "team_draft")
    for method, why in (
        ("ppm", "the impression has teams, but PairwisePreference has none"),
        ("probabilistic", "needs rankings to give credit"),
    ):
        with pytest.raises(LtrValueError, match=rf"impression 0 \(from 0\): .*{why}"):
            score(teams, method, models=RANKINGS)
    with pytest.raises(LtrValueError, match=r"impression 0 \(from 0\): teams must be numbers of the models, 0 to 1"):
        score([Impression(None, Shown(["x"], [2]), [])], "team_draft", models=["old", "new"])


def test_the_length_is_what_is_shown_unless_it_is_given(tmp_path: Path) -> None:
    short = {"a": [1, 2], "b": [2, 1]}  # has but two documents for the three places
    log = [Impression(short, Shown([1, 2]), [0], length=3), Impression(short, Shown([1, 2]), [0])]
    assert score(log, "ppm").credit.tolist() == [1.0, -1.0]
    with pytest.raises(LtrValueError, match=r"impression 0 \(from 0\): .*has 1 documents instead of 2"):
        score([Impression(short, Shown([1]), [0], length=3)], "ppm")


def test_a_list_that_cannot_have_been_shown_is_an_error(tmp_path: Path) -> None:
    impossible = Impression(TWO, Shown(["d", "a", "b"], [1, 0, 0]), [0])
    log = [*made("team_draft", 3, TWO), impossible]
    path = tmp_path / "log"
    write_impressions(path, log)
    for method in ("team_draft", "ppm", "balanced"):
        shown = impossible if method == "team_draft" else replace(impossible, shown=Shown(["d", "a", "b"]))
        with pytest.raises(LtrValueError, match=r"impression 0 \(from 0\): \w+ could not have shown this list"):
            score([shown], method)
    with pytest.raises(LtrValueError, match="log:4: TeamDraft could not have shown"):
        score(path, "team_draft")
    with pytest.raises(LtrValueError, match=r"impression 0 \(from 0\): the impression has no teams"):
        score([Impression(TWO, Shown(["a", "b", "d"]), [0])], "team_draft")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (LtrKeyError, {"method": "team_draf"}, "Did you mean 'team_draft'"),
        (LtrKeyError, {"method": None}, "no method None"),
        (
            LtrTypeError,
            {"pair": "authors"},
            "PairwisePreference has no option 'pair'. Did you mean 'pairs'. Options: pairs",
        ),
        (LtrTypeError, {"method": "team_draft", "tau": 3}, "TeamDraft has no option 'tau'. Options: none"),
        (LtrTypeError, {"rankings": []}, "no option 'rankings'"),
        (LtrValueError, {"pairs": "all"}, "pairs must be one of"),
        (LtrValueError, {"rule": "their"}, "rule must be one of"),
        (LtrValueError, {"models": ["old"]}, "two or more names"),
        (LtrValueError, {"models": "old"}, "two or more names"),
        (LtrValueError, {"models": ["old", "old"]}, "all different"),
        (
            LtrValueError,
            {"models": ["old", "other", "third"]},
            r"impression 0 \(from 0\): .*and not old, other, third",
        ),
        (LtrValueError, {"impressions": []}, "no impression to score"),
        (LtrTypeError, {"impressions": [1]}, "Got 1 as number 0"),
        (LtrTypeError, {"impressions": 1}, "an iterable of Impression"),
        (LtrTypeError, {"impressions": Impression(TWO, Shown(["a"]), [])}, "an iterable of Impression"),
    ],
)
def test_what_cannot_be_scored(kind: type[Exception], options: dict[str, Any], message: str) -> None:
    with pytest.raises(kind, match=message):
        score(**{"impressions": made("ppm", 2), "method": "ppm"} | options)


def test_an_empty_log_is_no_outcome(tmp_path: Path) -> None:
    with pytest.raises(LtrValueError, match="no impression to score"):
        score(lines(tmp_path / "log", "", ""), "ppm")
    write_impressions(tmp_path / "log", [])
    assert list(read_impressions(tmp_path / "log")) == []


def test_methods_by_name() -> None:
    assert list(METHODS) == ["team_draft", "ppm", "balanced", "probabilistic", "optimized"]
    for name, method in METHODS.items():
        assert method_named(name) is method


@pytest.mark.slow
def test_blocks_do_not_show_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "BLOCK", 256)
    few = [Impression(None, one.shown, one.clicks) for one in made("team_draft", 100)]
    once = score(few, "team_draft", models=RANKINGS)
    peaks = []
    for n_times in (10, 100):

        def many(n: int = 100 * n_times) -> Iterator[Impression]:
            for i in range(n):
                one = few[i % 100]
                yield Impression(None, Shown(one.shown.documents.copy(), one.shown.teams), one.clicks)

        tracemalloc.start()
        outcome = score(many(), "team_draft", models=RANKINGS)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert outcome.n_impressions == n_times * 100
        assert outcome.wins.tolist() == (once.wins * n_times).tolist()
        assert outcome.checkpoints.tolist() == checkpoints(n_times * 100).tolist()
    assert peaks[1] < 1.5 * peaks[0]


def test_a_compressed_log_has_the_same_bytes_at_any_time(tmp_path: Path) -> None:
    write_impressions(tmp_path / "log.gz", made("ppm", 2))
    assert (tmp_path / "log.gz").read_bytes()[4:8] == bytes(4)  # gzip's time of writing


def test_a_log_is_scored_by_the_method_that_mixed_it(tmp_path: Path) -> None:
    """A list of Team Draft could nearly always be one of PPM: nothing but what the log says tells."""
    path = tmp_path / "log.jsonl"
    said = [replace(one, method="team_draft") for one in made("team_draft", 3)]
    write_impressions(path, said)
    assert list(read_impressions(path)) == said
    assert score(path, "team_draft").n_impressions == 3
    with pytest.raises(
        LtrValueError, match=r"log.jsonl:1: the list was mixed by 'team_draft'. Score it by that method"
    ):
        score(path, "ppm")
    with pytest.raises(LtrValueError, match="the impression has teams, but PairwisePreference has none"):
        score(made("team_draft", 3), "ppm")
    with pytest.raises(LtrValueError, match="the impression has no teams, but TeamDraft needs them"):
        score(made("ppm", 3), "team_draft")
    with pytest.raises(LtrValueError, match="There is no method 'pmp'. Did you mean 'ppm'"):
        Impression(TWO, Shown(["a", "b"]), [0], method="pmp")
    with pytest.raises(TypeError, match="method"):
        score(path)  # type: ignore[call-arg]


def test_further_keys_are_left_alone_but_for_misspelt_ones(tmp_path: Path) -> None:
    path = lines(tmp_path / "log", GOOD | {"session": 7, "page": {"n": 1}, "query_id": 3, "shown_at": "now"})
    assert list(read_impressions(path)) == [Impression.from_json(json.dumps(GOOD))]
    for right, wrong in (("clicks", "click"), ("shown", "showed")):
        misspelt = {wrong if key == right else key: value for key, value in GOOD.items()}
        with pytest.raises(LtrValueError, match=rf"log:1: the key '{right}' is missing.*Is it '{wrong}'"):
            list(read_impressions(lines(tmp_path / "log", misspelt)))


def test_messages_do_not_grow_with_what_is_wrong() -> None:
    many = {str(i): i for i in range(100_000)}
    for make in (
        lambda: Impression(many, Shown([1]), []),
        lambda: Impression(TWO, many, []),
        lambda: TeamDraft(many),
        lambda: Impression.from_json(json.dumps(list(range(100_000)))),
    ):
        with pytest.raises((LtrValueError, LtrTypeError)) as found:
            make()
        assert len(str(found.value)) < 500


def test_columns_of_tables_are_lists_too() -> None:
    series = pd.Series(["a", "b"])
    one = Impression({"x": series, "y": series[::-1]}, Shown(series, pd.Series([0, 1])), clicks=pd.Series([1]))
    assert one == Impression({"x": ["a", "b"], "y": ["b", "a"]}, Shown(["a", "b"], [0, 1]), [1])
