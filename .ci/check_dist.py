"""Check the wheel and the sdist in dist/.

The wheel must hold the files of ltr_metrics/ and its metadata, and nothing else. Exit status 1 names what is wrong.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIRED = {  # files that are not modules, whose absence would be noticed late
    "ltr_metrics/py.typed",
    "ltr_metrics/report/page/report.html.j2",
    "ltr_metrics/report/page/style.css",
    "ltr_metrics/report/page/table.js",
}
SUFFIXES = {".py", ".cpp", ".so", ".typed", ".j2", ".css", ".js"}  # data, caches and drafts have others
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
IN_SDIST = {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "conftest.py", "tests/conftest.py", "docs/design.md"}


def only(pattern: str) -> Path:
    """Return the one file of dist/ that fits a pattern."""
    paths = sorted((ROOT / "dist").glob(pattern))
    if len(paths) != 1:
        sys.exit(f"dist/ must have one {pattern}. It has {[path.name for path in paths]}. Run: make wheel")
    return paths[0]


def package_files() -> set[str]:
    """Return the files of the package in the checkout, by their names in a wheel."""
    files = (path for path in (ROOT / "ltr_metrics").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in files}


def is_other(name: str) -> bool:
    """Return whether a file is neither code nor a part of the report's page."""
    return Path(name).suffix not in SUFFIXES


def faults_of_wheel(names: set[str], version: str, metadata: str) -> list[str]:
    """Return what is wrong with a wheel's list of files and with its metadata."""
    expected = package_files() | {f"ltr_metrics-{version}.dist-info/{name}" for name in METADATA}
    relative = re.findall(r"\]\((?!https?:|#)([^)]+)\)", metadata)
    return [
        *(f"the wheel lacks {name}" for name in sorted((expected | REQUIRED) - names)),
        *(
            f"the wheel has {name}, which is not a part of the package"
            for name in sorted(names - expected)
            if not name.endswith(".so")
        ),
        *(f"the wheel has {name}, which is no code" for name in sorted(package_files()) if is_other(name)),
        *(f"the description links {link}, which leads nowhere on a package index" for link in relative),
    ]


def main() -> None:
    """Check both files of dist/."""
    wheel, sdist = only("*.whl"), only("*.tar.gz")
    version = sdist.name.removeprefix("ltr_metrics-").removesuffix(".tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"ltr_metrics-{version}.dist-info/METADATA").decode("utf-8")
    faults = faults_of_wheel(names, version, metadata)
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    faults += [f"the sdist lacks {name}" for name in sorted((IN_SDIST | package_files()) - in_sdist)]
    faults += [f"the sdist has {name}" for name in sorted(in_sdist) if name.startswith(("dist/", ".venv", ".ci/"))]
    if faults:
        sys.exit("\n".join(faults))

    n_modules = len(names) - len(METADATA)
    print(f"{wheel.name}: {wheel.stat().st_size // 1024} kB, {n_modules} files of the package, {len(METADATA)} others")
    print(f"{sdist.name}: {sdist.stat().st_size // 1024} kB, {len(in_sdist)} files")


if __name__ == "__main__":
    main()
