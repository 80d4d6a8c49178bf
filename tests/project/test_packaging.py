"""What is published: the links of its description and the list of its files."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

tomllib = pytest.importorskip("tomllib", reason="tomllib is new in Python 3.11")

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="only a checkout has what is published from it")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check_dist() -> ModuleType:
    specification = importlib.util.spec_from_file_location("check_dist", ROOT / ".ci" / "check_dist.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_relative_links_of_the_readme_become_absolute(project: dict[str, Any]) -> None:
    rule = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"][0]
    text = "[a](docs/a.md#b) ![c](d.png) [e](https://f.org/g.md) [h](#i)"
    base = project["project"]["urls"]["Source"] + "/blob/main"
    expected = f"[a]({base}/docs/a.md#b) ![c]({base}/d.png) [e](https://f.org/g.md) [h](#i)"
    assert re.sub(rule["pattern"], rule["replacement"], text) == expected


def test_no_data_or_draft_lies_in_the_package(check_dist: ModuleType) -> None:
    assert [name for name in sorted(check_dist.package_files()) if check_dist.is_other(name)] == []
