"""What is published says the same everywhere: versions, dependencies, links and the list of files."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ltr_metrics

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
tomllib = pytest.importorskip("tomllib", reason="tomllib is new in Python 3.11")

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="only a checkout has what is published from it")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check_dist() -> ModuleType:
    specification = importlib.util.spec_from_file_location("check_dist", ROOT / ".ci" / "check_dist.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_one_version(citation: dict[str, Any]) -> None:
    assert citation["version"] == ltr_metrics.__version__


def test_the_classifiers_are_the_versions_that_are_tested(project: dict[str, Any]) -> None:
    classifiers = project["project"]["classifiers"]
    named = [m[1] for line in classifiers if (m := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert project["project"]["requires-python"] == f">={named[0]}"


def test_relative_links_of_the_readme_become_absolute(project: dict[str, Any]) -> None:
    rule = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"][0]
    text = "[a](docs/a.md#b) ![c](d.png) [e](https://f.org/g.md) [h](#i)"
    base = project["project"]["urls"]["Source"] + "/blob/main"
    expected = f"[a]({base}/docs/a.md#b) ![c]({base}/d.png) [e](https://f.org/g.md) [h](#i)"
    assert re.sub(rule["pattern"], rule["replacement"], text) == expected


def test_no_data_or_draft_lies_in_the_package(check_dist: ModuleType) -> None:
    assert [name for name in sorted(check_dist.package_files()) if check_dist.is_other(name)] == []
