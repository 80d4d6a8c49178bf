"""What a report says of simulated users: the numbers of `simulate`, in every rendering, and on the command line."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import FAST, in_process, made_rows, write_files
from made_report import EVIL, SCRIPT
from test_html import Page, luminance

import ltr_metrics as ltr
from ltr_metrics.cli.online import click_model
from ltr_metrics.interleaving import ClickModel, Outcome, simulate
from ltr_metrics.interleaving.tally import Tally, checkpoints
from ltr_metrics.report import Report, as_html, as_json, as_latex, as_markdown, as_text, summarize
from ltr_metrics.report.html import FULL_SHADE, MAX_SHADE
from ltr_metrics.report.online import Simulation

pytestmark = pytest.mark.integration

USERS = ClickModel.informational(grades=5)
NAMES = ("bm25", "new", "worse")
METRICS = ["ndcg@10", "map"]


def made_queries(**options: Any) -> ltr.Queries:
    _, y, qid = ltr.make_ranking(n_queries=60, documents=8, n_features=3, random_state=0)
    return ltr.Queries(y, qid=qid, **options)


def made_scores(names: Any = NAMES) -> dict[str, Any]:
    X, _, _ = ltr.make_ranking(n_queries=60, documents=8, n_features=3, random_state=0)
    return {name: X[:, 0] + abs(i - 0.7) * X[:, 2] for i, name in enumerate(names)}


def made(names: Any = NAMES, **online: Any) -> Report:
    given = {"method": "ppm", "clicks": USERS, "impressions": 3000} | online
    return summarize(made_queries(), made_scores(names), METRICS, online=given)


@pytest.fixture(scope="module")
def report() -> Report:
    return made()


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ltr_metrics.report.figures.figures_of", lambda report: [])


# -- the summary ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"method": "ppm"},
        {"method": "team_draft", "length": 3, "rule": "clicks", "random_state": 7},
        {"method": "ppm", "method_options": {"pairs": "authors"}, "ties": "stable", "n_threads": 1},
    ],
    ids=str,
)
def test_the_summary_is_the_outcome_of_the_same_seed(options: dict[str, Any]) -> None:
    report = made(**options)
    expected = simulate(
        made_queries(), made_scores(), **{"clicks": USERS, "impressions": 3000, "ties": "random"} | options
    )
    found = report.summary["online"]
    assert {name: found[name] for name in expected.to_dict()} == expected.to_dict()
    assert report.outcome is not None
    np.testing.assert_array_equal(report.outcome.wins, expected.wins)
    assert found["seed"] == options.get("random_state", 0)
    assert found["length"] == options.get("length", 10)
    assert (found["rule"], found["ties_of_scores"]) == (options.get("rule", "own"), options.get("ties", "random"))
    assert found["method_options"] == options.get("method_options", {})
    assert found["clicks"] == {
        "click": [0.4, 0.6, 0.7, 0.8, 0.9],
        "stop": [0.1, 0.2, 0.3, 0.4, 0.5],
        "stop_only_after_click": False,
        "examination": None,
    }
    assert json.loads(as_json(report))["online"] == found


def test_a_generator_leaves_a_seed_that_repeats_it() -> None:
    seed = made(random_state=np.random.default_rng(5)).summary["online"]["seed"]
    again, other = made(random_state=seed), made(random_state=seed + 1)
    assert made(random_state=np.random.default_rng(5)).summary["online"] == again.summary["online"]
    assert again.summary["online"]["wins"] != other.summary["online"]["wins"]


def test_a_model_that_says_nothing_wins_nothing_by_the_order_of_the_rows() -> None:
    y = np.tile([4, 3, 2, 1, 0, 0, 0, 0, 0, 0], 50)
    queries = ltr.Queries(y, group=[10] * 50)
    scores = {"flat": np.zeros(500), "random": np.random.default_rng(0).random(500)}
    online = {"method": "team_draft", "clicks": ClickModel.perfect(5), "length": 3}
    drawn = summarize(queries, scores, METRICS, online=online).summary["online"]
    stable = summarize(queries, scores, METRICS, online=online | {"ties": "stable"}).summary["online"]
    assert abs(drawn["preference"][0][1] - 0.5) < 0.1
    assert stable["preference"][0][1] > 0.7


def test_offline_means_are_those_of_the_report(report: Report) -> None:
    offline = report.summary["online"]["offline"]
    assert offline["metric"] == "ndcg_exp@10"
    assert offline["mean"] == {name: report.summary["models"][name]["ndcg_exp@10"]["mean"] for name in NAMES}
    assert report.outcome is not None
    assert offline["error"] == report.outcome.error(truth=offline["mean"])
    expected = [offline["mean"][a] - offline["mean"][b] for a, b in combinations(NAMES, 2)]
    assert offline["differences"] == expected


def counted(*wins: int) -> Simulation:
    """Models of which each wins so many impressions against all others."""
    credit = np.repeat(np.eye(len(wins)), wins, axis=1)
    models = list("abcd")[: len(wins)]
    outcome = Outcome(models=models, method="ppm", tally=Tally.from_credit(credit, checkpoints(credit.shape[1])))
    options = {
        "clicks": USERS,
        "length": 10,
        "rule": "own",
        "method_options": None,
        "ties": "random",
        "random_state": 0,
    }
    return Simulation(outcome, options)


@pytest.mark.parametrize(
    ("wins", "means", "words"),
    [
        ((3, 2, 1), (0.6, 0.5, 0.4), ["agree", "agree", "agree"]),
        ((3, 2, 1), (0.4, 0.5, 0.6), ["disagree", "disagree", "disagree"]),
        ((3, 2, 1), (0.5, 0.4, 0.4), ["agree", "agree", "one tied"]),
        ((2, 2, 1), (0.4, 0.5, 0.3), ["one tied", "agree", "agree"]),
        ((2, 2, 1), (0.4, 0.4 + 1e-17, 0.5), ["agree", "disagree", "disagree"]),
        ((3, 2, 1), (0.6, None, 0.4), [None, "agree", None]),
    ],
)
def test_who_agrees_pair_by_pair(wins: tuple[int, ...], means: tuple[Any, ...], words: list[Any]) -> None:
    found = counted(*wins).to_dict("map", dict(zip("abc", means, strict=True)))["offline"]
    assert found["agreement"] == words
    if None in words:
        assert found["error"] is None
        assert found["differences"][:1] == [None]
    else:
        assert found["error"] == (words.count("disagree") + words.count("one tied") / 2) / 3


def test_a_mean_that_is_undefined_is_a_dash() -> None:
    queries = ltr.Queries([0, 0, 0, 0], group=[2, 2])
    scores = {"a": [1, 2, 1, 2], "b": [2, 1, 2, 1]}
    report = summarize(
        queries, scores, ["mrr"], online={"method": "ppm", "clicks": ClickModel.random(1), "impressions": 50}
    )
    offline = report.summary["online"]["offline"]
    assert offline == {
        "metric": "mrr",
        "mean": {"a": None, "b": None},
        "differences": [None],
        "agreement": [None],
        "error": None,
    }
    assert rows_of(as_text(report), "Online preference (simulated)")[1][:2] == ["a", "-"]
    assert rows_of(as_text(report), "Online preference by pair")[1][-2:] == ["-", "-"]
    assert "disagree on the order of 0 of 1 pair of models. 1 cannot be compared, since mrr is undefined." in flat(
        as_text(report)
    )


def test_models_that_are_the_same_decide_nothing() -> None:
    scores = dict.fromkeys("ab", made_scores()["new"])
    online = {"method": "ppm", "clicks": USERS, "impressions": 50}
    text = as_text(summarize(made_queries(), scores, METRICS, online=online))
    (row,) = rows_of(text, "Online preference by pair")[1:]
    assert row == ["a", "b", "0/50/0", "-", "[-, -]", "-", "+0.0000", "-", "+0.0000", "agree"]


def test_without_it_there_is_nothing_of_it(no_figures: None) -> None:
    report = summarize(made_queries(), made_scores(), METRICS)
    assert report.summary["online"] is None
    assert report.outcome is None
    for text in (as_text(report), as_markdown(report), as_latex(report)):
        assert "nline preference" not in text
    assert "online" not in Page(as_html(report)).ids()


MISUSES: dict[str, tuple[dict[str, Any], str]] = {
    "no method": ({"clicks": USERS}, "'method' is missing"),
    "neither": ({}, "'method' and 'clicks' is missing"),
    "unknown option": ({"method": "ppm", "clicks": USERS, "impresions": 5}, "no option 'impresions'. Did you mean 'impressions'"),
    "no such method": ({"method": "ppn", "clicks": USERS}, "no method 'ppn'. Did you mean 'ppm'"),
    "grades": ({"method": "ppm", "clicks": ClickModel.perfect(3)}, "for the grades 0 to 2, but there is a document of grade 3"),
    "no users": ({"method": "ppm", "clicks": "informational"}, "clicks must be a ClickModel"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSES)
def test_misuses_are_refused_before_anything_is_evaluated(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ltr.Queries, "evaluate_request", lambda *_: pytest.fail("evaluated"))
    online, message = MISUSES[case]
    with pytest.raises((ltr.LtrValueError, ltr.LtrTypeError), match=message):
        summarize(made_queries(), made_scores(), METRICS, online=online)


def test_fractional_grades_one_model_and_queries_of_each_model_are_refused() -> None:
    online = {"method": "ppm", "clicks": USERS}
    scores = {"a": [1, 2, 3], "b": [3, 2, 1]}
    with pytest.raises(ltr.LtrValueError, match="there is a document of grade 0.5"):
        summarize(ltr.Queries([0, 0.5, 1], group=[3]), scores, "mrr", online=online)
    queries = {name: ltr.Queries([0, 1, 4], group=[3]) for name in scores}
    with pytest.raises(
        ltr.LtrValueError, match="its own Queries, like TREC runs. Pass the scores of all models for the same rows"
    ):
        summarize(queries, scores, "mrr", online=online)
    with pytest.raises(ltr.LtrValueError, match="two or more models are needed.*Got only 'a'"):
        summarize(queries["a"], {"a": scores["a"]}, "mrr", online=online)
    with pytest.raises(ltr.LtrTypeError, match="online must map options"):
        summarize(queries["a"], scores, "mrr", online="ppm")  # type: ignore[arg-type]
    same = dict.fromkeys(scores, queries["a"])
    assert summarize(same, scores, "mrr", online=online).outcome is not None


# -- tables ---------------------------------------------------------------------------------------------------------------


def flat(text: str) -> str:
    return " ".join(text.split())


def rows_of(text: str, title: str) -> list[list[str]]:
    """Cells of the text table below a title, the header first."""
    header, _, *rows = text.split(f"{title}\n\n")[1].split("\n\n")[0].splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in (header, *rows)]


def markdown_rows_of(text: str, title: str) -> list[list[str]]:
    header, _, *rows = text.split(f"## {title}\n\n")[1].split("\n\n")[0].splitlines()
    return [
        [unescape(re.sub(r"\\(.)", r"\1", cell.strip())) for cell in line.strip("|").split(" | ")]
        for line in (header, *rows)
    ]


def latex_rows_of(text: str, title: str) -> list[list[str]]:
    body = text.split(f"% {title}\n")[1].split(r"\bottomrule")[0].split(r"\toprule")[1]
    body = body.replace(r"\_", "_").replace(r"\ensuremath{<}", "<")
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in lines]


def expected_matrix(report: Report) -> list[list[str]]:
    outcome, models = report.outcome, report.summary["models"]
    assert outcome is not None
    rows = []
    for i, name in enumerate(NAMES):
        shares = ["-" if i == j else f"{outcome.preference[i, j]:.4f}" for j in range(len(NAMES))]
        rows.append([name, f"{models[name]['ndcg_exp@10']['mean']:.4f}", f"{outcome.credit[i]:.4f}", *shares])
    return [["model", "ndcg_exp@10", "credit", *NAMES], *rows]


def expected_pairs(report: Report) -> list[list[str]]:
    outcome, offline = report.outcome, report.summary["online"]["offline"]
    assert outcome is not None
    rows = []
    for i, row in outcome.to_pandas().iterrows():
        p, p_credit = ("<.0001" if one < 0.00005 else f"{one:.4f}" for one in (row.p_wins, row.p_credit))
        interval = f"[{row.win_share_low:.4f}, {row.win_share_high:.4f}]"
        counts = [f"{row.wins:,}/{row.ties:,}/{row.losses:,}", f"{row.win_share:.4f}", interval, p]
        counts += [f"{row.credit_difference:+.4f}", p_credit]
        rows.append([row.model, row.other, *counts, f"{offline['differences'][i]:+.4f}", offline["agreement"][i]])
    return rows


@pytest.mark.parametrize(
    ("render", "parse"),
    [(as_text, rows_of), (as_markdown, markdown_rows_of), (as_latex, latex_rows_of)],
)
def test_tables_show_the_numbers(report: Report, render: Any, parse: Any) -> None:
    text = render(report)
    assert parse(text, "Online preference (simulated)") == expected_matrix(report)
    header, *rows = parse(text, "Online preference by pair")
    assert header == [
        "model",
        "other",
        "+/=/-",
        "win share",
        "interval",
        "p",
        "credit",
        "p credit",
        "ndcg_exp@10",
        "agreement",
    ]
    assert rows == expected_pairs(report)


def test_the_foot_says_what_was_simulated(report: Report) -> None:
    text = flat(as_text(report))
    assert (
        "This is a prediction from the labels and a click model, not from clicks of real users. It has 3,000 impressions of "
        "randomly drawn queries, mixed by ppm, with up to 10 documents per list and random seed 0. Users examine the "
        "documents from the top, click a document of grade 0, 1, 2, 3, 4 with probability 0.4, 0.6, 0.7, 0.8, 0.9, and stop "
        "after a document, clicked or not, with probability 0.1, 0.2, 0.3, 0.4, 0.5."
    ) in text
    error = report.summary["online"]["offline"]["error"]
    assert f"Clicks and ndcg_exp@10 disagree on the order of {3 * error:g} of 3 pairs of models." in text


@pytest.mark.parametrize(
    ("users", "words"),
    [
        (ClickModel.perfect(5), "with probability 0, 0.2, 0.4, 0.8, 1, and never stop."),
        (ClickModel([0.5] * 5, [0.25] * 5, stop_only_after_click=True), "and stop after a click with probability 0.25, 0.25,"),
        (ClickModel.position_based([0.5] * 5, [1, 0.5, 0.1]), "examine the slots, from the first on, with probability 1, 0.5, 0.1, click a document"),
    ],
)  # fmt: skip
def test_the_foot_tells_of_the_users(users: ClickModel, words: str) -> None:
    assert words in flat(as_text(made(clicks=users, length=3, impressions=100)))


def test_the_foot_tells_of_weights_and_options() -> None:
    given = {
        "method": "ppm",
        "clicks": USERS,
        "impressions": 1,
        "rule": "clicks",
        "method_options": {"pairs": "authors"},
    }
    queries = made_queries(query_weight=np.arange(1, 61))
    text = flat(as_text(summarize(queries, made_scores(), METRICS, online=given)))
    assert "1 impression of queries drawn by weight, mixed by ppm, pairs=authors (credit by clicks), with up to" in text


# -- the page -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_figures")
def test_the_page_shows_the_numbers(report: Report) -> None:
    page = Page(as_html(report))
    assert [name for name in page.ids() if name in ("means", "online", "segments", "queries")] == [
        "means",
        "online",
        "queries",
    ]
    assert {"href": "#online"} in [attributes for tag, attributes in page.elements if tag == "a"]
    header, *rows = expected_matrix(report)
    assert page.row(*header) == header
    for row in rows:
        assert page.row(*row[:3]) == ["–" if cell == "-" else cell for cell in row]
    for pair in expected_pairs(report):
        assert page.row(*pair[:2]) == [*pair[:2], pair[2].replace("/", " / "), *pair[3:]]
    text = flat("".join(page.texts))
    assert (
        "This is a prediction from the labels and a click model, not from clicks of real users. It has 3,000 impressions"
        in text
    )
    assert "pairs of models. Intervals and p-values show" in text


@pytest.mark.usefixtures("no_figures")
def test_the_page_is_whole(report: Report) -> None:
    page = Page(as_html(report))
    tags = Counter(tag for tag, _ in page.elements)
    assert tags["caption"] == tags["table"]
    assert all(attributes.get("scope") for tag, attributes in page.elements if tag == "th")
    assert [name for name, count in Counter(page.ids()).items() if count > 1] == []
    assert {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a} <= set(page.ids())


@pytest.mark.usefixtures("no_figures")
def test_shades_follow_the_preference(report: Report) -> None:
    page = Page(as_html(report))
    cells = [a for tag, a in page.elements if tag == "td" and (a.get("class") or "").startswith("share")]
    assert report.outcome is not None
    assert len(cells) == 9
    for share, cell in zip(report.outcome.preference.ravel().tolist(), cells, strict=True):
        side = "" if share == 0.5 else " higher" if share > 0.5 else " lower"
        assert (cell["class"] or "").removesuffix(" even") == f"share{side}"
        if share != 0.5:
            depth = float((cell["style"] or "").removeprefix("--depth: ").removesuffix("%"))
            assert depth == pytest.approx(min(abs(share - 0.5) / FULL_SHADE, 1) * MAX_SHADE, rel=0.01)


def test_numbers_are_told_from_the_deepest_shade() -> None:
    """WCAG 2.2, criterion 1.4.3, for both schemes."""
    style = (Path(ltr.__file__).parent / "report" / "page" / "style.css").read_text(encoding="utf-8")
    assert "color-mix(in srgb, var(--shade, transparent) var(--depth, 0%), var(--paper))" in style
    for root in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]:
        scheme = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root))
        for shade in ("higher", "lower"):
            ground = luminance(mixed(scheme[shade], scheme["paper"], MAX_SHADE / 100))
            light, dark = sorted((ground, luminance(scheme["ink"])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (shade, root)


def mixed(one: str, other: str, share: float) -> str:
    channels = [share * int(one[i : i + 2], 16) + (1 - share) * int(other[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(channel):02x}" for channel in channels)


@pytest.mark.usefixtures("no_figures")
def test_names_of_models_are_text() -> None:
    report = made(names=EVIL, impressions=100)
    text = as_html(report)
    page = Page(text)
    assert Counter(tag for tag, _ in page.elements)["script"] == 2
    assert "img" not in {tag for tag, _ in page.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert text.count(SCRIPT) == 0
    shown = "".join(Page(text.split('<section aria-labelledby="online">')[1].split("</section>")[0]).texts)
    for name in EVIL:
        assert shown.count(name) >= 2
    assert as_markdown(report).count("<script") == 0


# -- the command ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_files(path, made_rows())
    return path


AB = ["data.txt", "--scores", "a=1", "--scores", "b=2", *FAST]
ONLINE = ["--interleave", "ppm", "--clicks", "informational:5", "--impressions", 2000]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(folder)
    return lambda *arguments: in_process(capsys, "report", *arguments)


def test_the_command_says_what_simulate_says(run: Any) -> None:
    done = run(*AB, *ONLINE, "--shown", 5, "--random-state", 3, "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)["online"]
    rows = made_rows()
    scores = {"a": rows["X"][:, 0], "b": rows["X"][:, 1]}
    options: dict[str, Any] = {"length": 5, "random_state": 3, "impressions": 2000, "ties": "random"}
    expected = simulate(rows["y"], scores, qid=rows["qid"], method="ppm", clicks=USERS, **options)
    assert {name: found[name] for name in expected.to_dict()} == expected.to_dict()
    assert (found["seed"], found["length"], found["impressions"]) == (3, 5, 2000)


def test_the_command_has_the_defaults_of_simulate(run: Any) -> None:
    done = run(*AB, "--interleave", "team_draft", "--clicks", "0,0.5,1,1,1", "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)["online"]
    assert (found["method"], found["impressions"], found["length"], found["seed"]) == ("team_draft", 10_000, 10, 0)
    assert found["clicks"]["click"] == [0, 0.5, 1, 1, 1]
    assert found["clicks"]["stop"] == [0] * 5


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("x.txt", "Online preference (simulated)"),
        ("x.md", "## Online preference (simulated)"),
        ("x.tex", "% Online preference (simulated)"),
        ("x.html", "Predicted online preference"),
    ],
)
@pytest.mark.usefixtures("no_figures")
def test_every_format_has_it_if_asked_for(run: Any, tmp_path: Path, name: str, title: str) -> None:
    for given, count in ((ONLINE, 1), ([], 0)):
        done = run(*AB, *given, "--out", tmp_path / name)
        assert done.status == 0, done.err
        assert (tmp_path / name).read_text(encoding="utf-8").count(title) == count


BAD: dict[str, tuple[list[Any], str]] = {
    "users without a method": ([*AB, "--clicks", "informational:5"], "--clicks is of simulated users.*: --interleave"),
    "a method without users": ([*AB, "--interleave", "ppm"], "--interleave needs users who click: --clicks"),
    "impressions of nothing": ([*AB, "--impressions", 5], "--impressions is of simulated users"),
    "a list of nothing": ([*AB, "--shown", 5], "--shown is of simulated users"),
    "no such method": ([*AB, "--interleave", "pmp", "--clicks", "perfect:5"], "Invalid value for '--interleave'"),
    "no impressions": ([*AB, *ONLINE[:4], "--impressions", 0], "Invalid value for '--impressions'"),
    "nothing shown": ([*AB, *ONLINE, "--shown", 0], "Invalid value for '--shown'"),
    "csv": ([*AB, *ONLINE, "--format", "csv"], "--interleave has no part in csv"),
    "one model": ([*AB[:3], *ONLINE], "two models or more, whose rankings are mixed"),
    "TREC runs": (["--qrels", "qrels", "--run", "a=a.run", "--run", "b=b.run", *ONLINE], "TREC runs retrieve documents of their own"),
    "no such users": ([*AB, "--interleave", "ppm", "--clicks", "informative:3"], "no users 'informative'. Did you mean 'informational'"),
    "no number of grades": ([*AB, "--interleave", "ppm", "--clicks", "perfect:"], r"--clicks perfect:GRADES .* 2, 3 or 5, as in perfect:3. Got 'perfect:'"),
    "four grades": ([*AB, "--interleave", "ppm", "--clicks", "perfect:4"], "2, 3 or 5.*For others give the probabilities"),
    "random of none": ([*AB, "--interleave", "ppm", "--clicks", "random:0"], "there are, 1 or more, as in random:3"),
    "a name alone": ([*AB, "--interleave", "ppm", "--clicks", "perfect"], "must be NAME:GRADES.*Got 'perfect'"),
    "no number": ([*AB, "--interleave", "ppm", "--clicks", "0.1,x"], "must be NAME:GRADES.*Got '0.1,x'"),
    "nothing behind the slash": ([*AB, "--interleave", "ppm", "--clicks", "0.1,1/"], "must be NAME:GRADES.*Got '0.1,1/'"),
    "two slashes": ([*AB, "--interleave", "ppm", "--clicks", "0/1/1"], "must be NAME:GRADES.*Got '0/1/1'"),
    "no probability": ([*AB, "--interleave", "ppm", "--clicks", "0.1,1.5"], r"--clicks 0.1,1.5: click must hold probabilities, 0 to 1: got 1.5 at 1"),
    "NaN": ([*AB, "--interleave", "ppm", "--clicks", "0.1,nan"], "click must hold probabilities, 0 to 1: got nan at 1"),
    "fewer to stop": ([*AB, "--interleave", "ppm", "--clicks", "0.1,0.2/0.3"], "stop must have one probability a grade, as click: got 1 for 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_calls_are_refused_before_the_data_are_read(run: Any, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setattr("ltr_metrics.cli.inputs.read_source", lambda *_, **__: pytest.fail("read"))
    arguments, message = BAD[case]
    done = run(*arguments)
    assert (done.status, done.out) == (2, ""), done.err
    assert re.search(message, flat(done.err)), done.err
    assert "Traceback" not in done.err


def test_grades_that_users_know_nothing_of(run: Any) -> None:
    done = run(*AB, "--interleave", "ppm", "--clicks", "perfect:2")
    assert (done.status, done.out) == (2, "")
    assert "probabilities for the grades 0 to 1, and there is a document of grade 2" in done.err


def test_all_published_users_have_a_name() -> None:
    for grades in (2, 3, 5):
        for name in ("perfect", "navigational", "informational", "almost_random", "random"):
            assert click_model(f"{name}:{grades}") == getattr(ClickModel, name)(grades)
    assert click_model("random:7") == ClickModel([0.5] * 7)
    assert click_model("0.4,0.7,0.9/0.1,0.3,0.5") == ClickModel.informational(3)
