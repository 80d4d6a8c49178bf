"""What is published: the links of its description, the list of its files, and how its core is compiled."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from systems import needs_posix

import ltr_metrics

tomllib = pytest.importorskip("tomllib", reason="tomllib is new in Python 3.11")

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="only a checkout has what is published from it")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def module_of(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check_dist() -> ModuleType:
    return module_of(ROOT / ".ci" / "check_dist.py")


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return module_of(ROOT / "hatch_build.py")


def test_relative_links_of_the_readme_lead_to_the_files_of_the_version(project: dict[str, Any]) -> None:
    text = '[a](docs/a.md#b) ![c](d.png) [![e](https://f.org/g.svg)](h.md) <img src="i.png"> [j](#k) <a href="l.md">'
    for rule in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    base, version = project["project"]["urls"]["Source"], "v$HFPR_VERSION"
    assert text == (
        f"[a]({base}/blob/{version}/docs/a.md#b) ![c]({base}/raw/{version}/d.png) "
        f"[![e](https://f.org/g.svg)]({base}/blob/{version}/h.md) "
        f'<img src="{base}/raw/{version}/i.png"> [j](#k) <a href="{base}/blob/{version}/l.md">'
    )


@pytest.mark.skipif(not ltr_metrics.__version__.endswith(".dev0"), reason="this checkout is a release")
@pytest.mark.parametrize("version", ["{base}", "{base}rc1"])
def test_a_release_has_its_version_and_its_date_in_three_files(version: str) -> None:
    release, base = module_of(ROOT / ".ci" / "release.py"), ltr_metrics.__version__.removesuffix(".dev0")
    version = version.format(base=base)
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in release.EDITS}
    new = release.released(texts, version, "2026-12-24")
    assert [set(new[name].splitlines()) - set(texts[name].splitlines()) for name in texts] == [
        {f'__version__ = "{version}"'},
        {f"version: {version}", "date-released: 2026-12-24"},
        {f"## {version} (2026-12-24)"},
    ]
    with pytest.raises(SystemExit, match=r"_version.py must have one line '__version__ = \"[\d.]+.dev0\"' before"):
        release.released(new, version, "2026-12-24")
    with pytest.raises(SystemExit, match="0.1.0rc1. Got '1.0-rc1'"):
        release.released(texts, "1.0-rc1", "2026-12-24")


def test_no_data_or_draft_lies_in_the_package(check_dist: ModuleType) -> None:
    assert [name for name in sorted(check_dist.package_files()) if check_dist.is_other(name)] == []


# -- the compiled core ------------------------------------------------------------------------------------------------


def test_every_target_has_a_kind_of_library(build: ModuleType, check_dist: ModuleType) -> None:
    kinds = [check_dist.kind_of(tag) for tag in build.TARGETS.values()]
    machines = {"x86_64": {"X86_64", "AMD64"}, "aarch64": {"AARCH64", "ARM64"}}
    assert all(
        machine in machines[target.split("-")[0]] for target, (*_, machine) in zip(build.TARGETS, kinds, strict=True)
    )
    assert {kind for *_, kind, _ in kinds} == {"ELF", "MACHO", "PE"}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Return a function that writes a command, whose folder is the whole PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)

    def write(name: str, script: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


@needs_posix("scripts that are commands")
def test_the_compiler_is_that_of_cxx_then_the_first_on_the_path_then_zig(
    build: ModuleType, command: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build._compiler("") == []
    found = [str(command(name, "exit 1")) for name in ("clang++", "g++", "c++")]
    assert build._compiler("") == [found[-1]]
    assert build._compiler("aarch64-linux-musl") == []  # which zig alone can do
    other = str(command("a compiler", "exit 1"))
    for value, expected in {"ccache g++": ["ccache", "g++"], other: [other], "ziglang": []}.items():
        monkeypatch.setenv("CXX", value)
        assert build._compiler("") == expected


@needs_posix("scripts that are commands")
def test_a_compiler_that_fails_leaves_no_library_and_names_the_remedy(
    build: ModuleType, command: Callable[[str, str], Path], tmp_path: Path
) -> None:
    broken, folder = command("c++", "echo no tools; exit 1"), tmp_path / "libraries"
    folder.mkdir()
    with pytest.raises(SystemExit, match=rf"no tools\n\n{re.escape(str(broken))} .*apt-get install g\+\+.*CXX=ziglang"):
        build.compile_all(folder)
    broken.unlink()
    if importlib.util.find_spec("ziglang") is None:
        with pytest.raises(SystemExit, match=r"needs a compiler, .*apt-get install g\+\+.*pip install \"ziglang"):
            build.compile_all(folder)
    assert list(folder.iterdir()) == []


def test_an_unknown_target_is_refused(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_METRICS_TARGET", "vax-vms")
    with pytest.raises(SystemExit, match="x86_64-linux-musl.*'vax-vms'"):
        build._target()


@pytest.mark.slow
def test_flags_of_the_users_change_no_digit(build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("g++"):
        pytest.skip("there is no g++")
    libraries = []
    unsafe = "-Ofast -ffast-math -funsafe-math-optimizations -ffinite-math-only -fassociative-math -freciprocal-math"
    for compiler in ("g++", f"gcc {unsafe} -fno-signed-zeros"):  # which does not link the C++ library
        monkeypatch.setenv("CXX", compiler)
        build._compile(tmp_path, "core.v1.so", "", "")
        libraries.append((tmp_path / "core.v1.so").read_bytes())
    assert libraries[0] == libraries[1]


def test_no_library_has_the_name_of_a_module() -> None:
    names = [one.name for one in pkgutil.walk_packages(ltr_metrics.__path__, "ltr_metrics.")]
    assert {"ltr_metrics._ranks.native", "ltr_metrics._ranks.ranking"} < set(names)
    assert not [name for name in names if name.startswith("ltr_metrics._ranks.core")]


@pytest.mark.parametrize("fault", ["core.cpp", "lanes.hpp", "there is no library", "the library is cut off"])
def test_a_checkout_never_runs_the_core_of_another_source(fault: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ltr_metrics", tmp_path / "ltr_metrics", ignore=shutil.ignore_patterns("__pycache__"))
    engine = tmp_path / "ltr_metrics" / "_ranks"
    if fault == "there is no library":
        for library in [path for path in engine.iterdir() if path.suffix in {".so", ".dylib", ".dll"}]:
            library.unlink()
    elif fault == "the library is cut off":
        if sys.platform != "linux":
            pytest.skip("other systems look themselves")
        library = engine / "core.v1.so"
        library.write_bytes(library.read_bytes()[:-1])
    else:
        with (engine / fault).open("a", encoding="utf-8") as file:  # which has changed since
            file.write("// changed\n")
    run = subprocess.run(
        [sys.executable, "-c", "import ltr_metrics"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode
    assert f'Compile it: pip install -e "{tmp_path}"' in run.stderr
    if fault == "the library is cut off":
        n = library.stat().st_size
        assert f"{library} is cut off: it has {n:,} of {n + 1:,} bytes." in run.stderr


# -- where the workflows run -------------------------------------------------------------------------------------------

# https://docs.github.com/actions/reference/runners/github-hosted-runners and the notices of actions/runner-images, read
# on 2026-11-28. macos-14 went on 2026-11-02; a workflow that names a runner which is gone waits and never publishes.
RUNNERS = {
    *("ubuntu-latest", "ubuntu-24.04", "ubuntu-24.04-arm"),
    *("macos-latest", "macos-15", "macos-15-intel", "macos-26"),
    *("windows-latest", "windows-2025"),
}


def test_workflows_run_on_machines_that_exist() -> None:
    used: set[str] = set()
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            matrix = job.get("strategy", {}).get("matrix", {})
            rows = [*matrix.get("include", []), *({"system": one} for one in matrix.get("system", []))]
            name = job["runs-on"]
            used |= {row["system"] for row in rows} if name == "${{ matrix.system }}" else {name}
    assert used
    assert used <= RUNNERS
