"""The HTML report in Chromium: it renders, asks for nothing, sorts, filters, prints, and shows
markup in names as text.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_report import EVIL, SCRIPT, made_report, small_report
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from ltr_metrics.report import as_html

pytestmark = pytest.mark.slow

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
N_QUERIES = 10_000
METRICS = ["ndcg@1", "ndcg@3", "ndcg@10", "map", "mrr"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """A browser with a profile of its own; absent, the tests are skipped, but on CI they fail."""
    if not (CHROMIUM.exists() and DRIVER.exists()):
        absent = f"no browser: {CHROMIUM} and {DRIVER} are wanted (Debian: apt-get install chromium chromium-driver)"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    reports = {
        "usual": made_report(rules=["ndcg_exp@10 > -0.5"]),
        "evil": made_report(models=EVIL[:4], qid=EVIL, labels=EVIL[:4], source=EVIL[8], weighted=True),
        "small": small_report(),
        "axes": made_report(models=[f"model {i}" for i in range(7)], rules=["ndcg_exp@10 > -0.5", "ndcg_exp@10 > -1%"]),
        "large": made_report(n_queries=N_QUERIES, metrics=METRICS),
    }
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(as_html(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in reports}


def opened(browser: webdriver.Chrome, page: Path, width: int = 1400) -> webdriver.Chrome:
    """Open a page afresh, with the logs empty."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    return browser


def column(browser: webdriver.Chrome, name: str) -> list[str]:
    """Cells of a column as shown, top to bottom."""
    names = [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "#query-table thead button bdi")]
    place = names.index(name) + 1
    script = "return [...document.querySelectorAll(arguments[0])].map((cell) => cell.textContent.replace('−', '-'))"
    return browser.execute_script(script, f"#query-table tbody tr > :nth-child({place})")


def head(browser: webdriver.Chrome, name: str) -> Any:
    cells = browser.find_elements(By.CSS_SELECTOR, "#query-table thead th[aria-sort]")
    return next(cell for cell in cells if cell.find_element(By.TAG_NAME, "bdi").text == name)


def click(browser: webdriver.Chrome, name: str) -> str | None:
    """Sort by a column and return its `aria-sort`."""
    browser.execute_script("arguments[0].click()", head(browser, name).find_element(By.TAG_NAME, "button"))
    return head(browser, name).get_attribute("aria-sort")


def note(browser: webdriver.Chrome) -> str:
    return browser.find_element(By.ID, "shown").text


@pytest.mark.parametrize("name", ["usual", "evil", "small", "large"])
def test_it_renders_without_errors_and_asks_for_nothing(
    browser: webdriver.Chrome, pages: dict[str, Path], name: str
) -> None:
    opened(browser, pages[name])
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert requests
    assert set(requests) - {"data:,"} == {pages[name].as_uri()}
    assert browser.title.startswith("Ranking report: ")
    assert browser.find_element(By.ID, "per-query").is_displayed()
    assert len(browser.find_elements(By.CSS_SELECTOR, "#query-table tbody tr")) == (3 if name == "small" else 10)
    drawn = [svg for svg in browser.find_elements(By.CSS_SELECTOR, "figure svg") if svg.is_displayed()]
    assert all(svg.size["height"] > 100 for svg in drawn)
    assert bool(drawn) == (name != "small")


def test_a_click_on_a_header_sorts_and_another_turns_round(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["large"])
    before = column(browser, "qid")
    assert click(browser, "xgboost − bm25") == "ascending"
    rising = [float(text) for text in column(browser, "xgboost − bm25")]
    assert rising == sorted(rising)
    assert click(browser, "xgboost − bm25") == "descending"
    falling = [float(text) for text in column(browser, "xgboost − bm25")]
    assert falling == sorted(falling, reverse=True)
    browser.find_element(By.ID, "last").click()
    assert set(column(browser, "xgboost − bm25")[-3:]) == {"–"}  # missing values stand last whichever way
    browser.find_element(By.ID, "reset").click()
    assert column(browser, "qid") == before


def test_a_filter_reduces_and_the_count_says_so(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["large"])
    assert note(browser) == "Rows 1 to 10 of all 10,000 queries."
    browser.find_element(By.ID, "find").send_keys("Q999")
    assert note(browser) == "Rows 1 to 10 of 11 of 10,000 queries."
    browser.find_element(By.ID, "next").click()
    assert column(browser, "qid") == ["q9999"]
    browser.find_element(By.ID, "find").send_keys(" ")  # as it was, from the first page on
    assert column(browser, "qid") == ["q999", *(f"q999{i}" for i in range(9))]
    browser.find_element(By.ID, "find").send_keys("no such query")
    assert note(browser) == "None of 10,000 queries matches."
    browser.find_element(By.ID, "reset").click()
    Select(browser.find_element(By.ID, "where-column")).select_by_visible_text("lightgbm − bm25")
    Select(browser.find_element(By.ID, "where-sign")).select_by_value("<")
    browser.find_element(By.ID, "where-value").send_keys("-0.5")
    losing = column(browser, "lightgbm − bm25")
    assert losing
    assert all(float(text) < -0.5 for text in losing)
    Select(browser.find_element(By.ID, "where-sign")).select_by_value("missing")
    assert set(column(browser, "lightgbm − bm25")) == {"–"}


def test_pages_turn_and_metrics_change(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["large"])
    browser.find_element(By.ID, "next").click()
    assert column(browser, "qid")[0] == "q10"
    browser.find_element(By.ID, "last").click()
    assert column(browser, "qid")[-1] == "q9999"
    assert not browser.find_element(By.ID, "next").is_enabled()
    Select(browser.find_element(By.ID, "per-page")).select_by_visible_text("250")
    assert len(column(browser, "qid")) == 250
    assert len(browser.find_elements(By.CSS_SELECTOR, "#query-table thead th.metric")) == 1
    Select(browser.find_element(By.ID, "metric")).select_by_visible_text("all")
    groups = browser.find_elements(By.CSS_SELECTOR, "#query-table thead th.metric")
    assert [group.text for group in groups] == METRICS


def test_markup_in_names_is_text(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["evil"])
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert
    Select(browser.find_element(By.ID, "per-page")).select_by_visible_text("25")
    assert column(browser, "qid")[: len(EVIL)] == list(EVIL)
    assert SCRIPT in browser.find_element(By.CSS_SELECTOR, "#query-table tbody").text
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
    assert SCRIPT in browser.find_element(By.TAG_NAME, "h1").text
    click(browser, SCRIPT)  # a model's name at the head of a column
    browser.find_element(By.ID, "find").send_keys("<script>alert(1)")
    assert column(browser, "qid")
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert


@pytest.mark.parametrize("width", [400, 1280])
def test_the_answer_stands_first_and_queries_open(
    browser: webdriver.Chrome, pages: dict[str, Path], width: int
) -> None:
    opened(browser, pages["usual"], width)
    badges = browser.find_elements(By.CSS_SELECTOR, ".badge")
    assert [badge.text for badge in badges] == ["✓ PASS", "✓ PASS"]
    assert badges[0].location["y"] + badges[0].size["height"] < 600  # on the first screen
    reasons = browser.find_element(By.CSS_SELECTOR, ".reasons")
    reasons.find_element(By.TAG_NAME, "summary").click()
    assert "PASS lightgbm: ndcg_exp@10 > -0.5: the difference is" in reasons.text
    choice = browser.find_element(By.CSS_SELECTOR, "section:has(#changes) .choose")
    shown = [part for part in choice.find_elements(By.CSS_SELECTOR, ".choice") if part.is_displayed()]
    assert len(shown) == 1
    first, second = shown[0].find_elements(By.CSS_SELECTOR, "details.query")[:2]
    assert first.find_element(By.CSS_SELECTOR, "table").is_displayed()  # the first one is open
    assert not second.find_element(By.CSS_SELECTOR, "table").is_displayed()
    second.find_element(By.TAG_NAME, "summary").click()
    lists = second.find_elements(By.CSS_SELECTOR, "table")
    assert [one.find_element(By.TAG_NAME, "caption").text.split(",")[0] for one in lists] == ["bm25", "lightgbm"]
    assert all("document-" in one.text for one in lists)
    is_side_by_side = lists[0].location["y"] == lists[1].location["y"]
    assert is_side_by_side == second.find_element(By.CSS_SELECTOR, ".moves").is_displayed() == (width > 1000)
    Select(choice.find_element(By.TAG_NAME, "select")).select_by_visible_text("map, xgboost")
    assert not shown[0].is_displayed()
    assert "map of xgboost − bm25, every query" in choice.text
    browser.execute_script("document.getElementById('segments').scrollIntoView()")
    assert (
        browser.execute_script(
            "return new Promise((done) => setTimeout(() => done(document.querySelector('nav [aria-current]').textContent), 100))"
        )
        == "Segments"
    )
    assert browser.find_element(By.CSS_SELECTOR, "nav").location["y"] >= browser.execute_script(
        "return scrollY"
    )  # in sight
    assert browser.get_log("browser") == []


def test_without_scripts_all_choices_are_shown(browser: webdriver.Chrome, pages: dict[str, Path]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, pages["usual"])
        assert len([part for part in browser.find_elements(By.CSS_SELECTOR, ".choice") if part.is_displayed()]) == 10
        assert not browser.find_element(By.CSS_SELECTOR, ".choose label").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_tables_of_blocks_are_still_tables_to_a_screen_reader(
    browser: webdriver.Chrome, pages: dict[str, Path]
) -> None:
    opened(browser, pages["usual"], 400)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [node.get("role", {}).get("value") for node in nodes if not node["ignored"]]
    assert roles.count("table") >= 5
    assert {"row", "cell", "columnheader", "rowheader", "navigation", "main", "heading"} <= set(roles)
    names = [
        node["name"]["value"]
        for node in nodes
        if node.get("role", {}).get("value") == "combobox" and not node["ignored"]
    ]
    assert all(names)


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("name", ["evil", "large"])
def test_the_page_never_scrolls_sideways(
    browser: webdriver.Chrome, pages: dict[str, Path], name: str, width: int
) -> None:
    opened(browser, pages[name], width)
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 700, 1280])
@pytest.mark.parametrize("name", ["usual", "axes"])
def test_numbers_on_an_axis_never_touch_and_are_not_cut_off(
    browser: webdriver.Chrome, pages: dict[str, Path], name: str, width: int
) -> None:
    opened(browser, pages[name], width)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.scale, .group .draw')].filter((one) => one.offsetWidth > 20)"
        ".map((scale) => [scale.getBoundingClientRect(), ...[...scale.querySelectorAll('span')]"
        ".map((tick) => tick.getBoundingClientRect())].map((box) => [box.left, box.right]))"
    )
    assert boxes
    for (left, right), *ticks in boxes:
        assert all(b[0] - a[1] > 2 for a, b in itertools.pairwise(sorted(ticks)))
        assert all(left - 1 <= start and end <= right + 1 for start, end in ticks)
