"""Check the sdist and the wheels in dist/.

A wheel must hold the modules of ltr_metrics/, the libraries for its platform and its metadata with all licences, and
nothing else. The sdist, out of which it is built, must hold nothing that git does not track. A library must be of the
right kind, export what Python calls, and need no more than the C library of the oldest system that the wheel's tag
names. Exit status 1 names what is wrong.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIRED = {  # files that are not modules, whose absence would be noticed late
    "ltr_metrics/py.typed",
    "ltr_metrics/report/page/report.html.j2",
    "ltr_metrics/report/page/style.css",
    "ltr_metrics/report/page/page.js",
}
SUFFIXES = {".py", ".typed", ".j2", ".css", ".js"}  # data, caches and drafts have others
COMPILED = {
    ".cpp",
    ".hpp",
    ".so",
    ".dylib",
    ".dll",
}  # the source stays in the sdist, and each wheel has its own libraries
LICENSES = {"MIT": {"LICENSE"}, "MIT AND ZPL-2.1": {"LICENSE", "LICENSE.mingw-w64", "LICENSE.zig"}}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt"}
IN_SDIST = {"PKG-INFO", "README.md", "pyproject.toml", "tests/conftest.py", "docs/design.md"}
IN_SDIST |= LICENSES["MIT AND ZPL-2.1"]
IN_SDIST |= {"hatch_build.py", "ltr_metrics/_ranks/core.cpp", "ltr_metrics/_ranks/sums.hpp"}

FUNCTIONS = {
    "accumulate",
    "evaluate",
    "letor",
    "means",
    "names",
    "processor_level",
    "rank",
    "source_crc",
}  # as native.py calls them
KINDS = {  # of a library by the end of the wheel's tag: its suffix, its format and its machine
    "linux_x86_64": (".so", "ELF", "X86_64"),
    "linux_aarch64": (".so", "ELF", "AARCH64"),
    "macosx_x86_64": (".dylib", "MACHO", "X86_64"),
    "macosx_arm64": (".dylib", "MACHO", "ARM64"),
    "win_amd64": (".dll", "PE", "AMD64"),
}
C_LIBRARY = r"lib(c|m|pthread)\.so(\.6|\.0)?|libc\.musl-\w+\.so\.1|/usr/lib/libSystem\.B\.dylib"
C_LIBRARY += r"|api-ms-win-crt-\w+-l1-1-0\.dll|KERNEL32\.dll"


def package_files() -> set[str]:
    """Return the files of the package in the checkout, without what is compiled, by their names in a wheel."""
    files = (path for path in (ROOT / "ltr_metrics").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in files if path.suffix not in COMPILED}


def is_other(name: str) -> bool:
    """Return whether a file is neither code nor a part of the report's page."""
    return Path(name).suffix not in SUFFIXES


def kind_of(platform: str) -> tuple[str, str, str]:
    """Return the suffix, the format and the machine of the libraries for a platform, as `KINDS` has them."""
    ends = (kind for end, kind in KINDS.items() if re.search(end.replace("_", ".*_", 1) + "$", platform))
    return next(ends, ("", "", ""))


def faults_of_wheel(path: Path, version: str) -> list[str]:
    """Return what is wrong with a wheel's list of files, with its metadata and with its libraries."""
    name, _, tag = path.stem.partition(f"-{version}-")
    suffix, _, machine = kind_of(tag)
    levels = ("core.v1", "core.v3", "core.v4") if machine in ("X86_64", "AMD64") else ("core.v1",)
    libraries = {f"ltr_metrics/_ranks/{level}{suffix}" for level in levels}
    license_expression = "MIT AND ZPL-2.1" if tag.endswith("win_amd64") else "MIT"
    parts = METADATA | {f"licenses/{one}" for one in LICENSES[license_expression]}
    expected = package_files() | {f"{name}-{version}.dist-info/{part}" for part in parts} | libraries
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"{name}-{version}.dist-info/METADATA").decode("utf-8")
        contents = {library: archive.read(library) for library in sorted(libraries & names)}
    declared = re.findall(r"^License-Expression: (.+)$", metadata, re.MULTILINE)
    licenses = set(re.findall(r"^License-File: (.+)$", metadata, re.MULTILINE))
    relative = re.findall(r"(?:\]\(|(?:src|srcset|href)=\")(?!https?:|#)([^)\"]+)", metadata)
    pictures = re.findall(r"(?:!\[[^]]*\]\(|(?:src|srcset)=\")(https://github\.com/[^)\"]*/blob/[^)\"]*)", metadata)
    return [
        *([] if tag.startswith("py3-none-") and suffix else [f"it has the tag {tag}"]),
        *(f"it lacks {name}" for name in sorted((expected | REQUIRED) - names)),
        *(f"it has {name}, which is not a part of the package" for name in sorted(names - expected)),
        *(f"it has {name}, which is no code" for name in sorted(package_files()) if is_other(name)),
        *(f"its description links {link}, which leads nowhere on a package index" for link in relative),
        *(f"its description shows {link}, which is a page and not a picture" for link in pictures),
        *([] if declared == [license_expression] else [f"its licence is {declared}, not {license_expression}"]),
        *(f"its metadata lacks the licence {name}" for name in sorted(LICENSES[license_expression] - licenses)),
        *(f"its {library} {fault}" for library in contents for fault in faults_of_library(contents[library], tag)),
    ]


def faults_of_library(content: bytes, tag: str) -> list[str]:
    """Return what is wrong with a compiled library, which must fit the tag of its wheel."""
    import lief  # in the environment of `make wheel` alone

    lief.logging.disable()  # it warns of sections that are empty
    library = lief.parse(content)
    if library is None:
        return ["is no library"]
    header = library.header
    machine = getattr(header, "machine_type", None) or getattr(header, "cpu_type", None) or header.machine
    kind = library.format.name, machine.name
    exported = {getattr(function, "name", function).removeprefix("_") for function in library.exported_functions}
    needed = {getattr(other, "name", other) for other in library.libraries}
    if kind[0] == "MACHO":
        needed -= {other.name for other in library.commands if other.command.name == "ID_DYLIB"}
    _, *right_kind = kind_of(tag)
    faults = [] if list(kind) == right_kind else [f"is {' for '.join(kind)}, not {' for '.join(right_kind)}"]
    faults += [f"does not export {name}" for name in sorted(FUNCTIONS - exported)]
    faults += [f"needs {name}" for name in sorted(needed) if not re.fullmatch(C_LIBRARY, name)]
    if oldest := re.search(r"manylinux_2_(\d+)", tag):
        of_symbols = {symbol.symbol_version for symbol in library.imported_symbols if symbol.symbol_version}
        versions = {version.symbol_version_auxiliary.name for version in of_symbols if version.symbol_version_auxiliary}
        faults += [f"needs {name}" for name in sorted(versions) if glibc(name) > int(oldest[1])]
    return faults


def glibc(version: str) -> float:
    """Return 17 for GLIBC_2.17.1, and infinity for a name that is not a version of glibc."""
    number = re.match(r"GLIBC_2\.(\d+)", version)
    return int(number[1]) if number else math.inf


def main() -> None:
    """Check all files of dist/."""
    wheels, sdists = (sorted((ROOT / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    if not wheels or len(sdists) != 1:
        sys.exit(
            f"dist/ must have one sdist and its wheels. It has {[p.name for p in wheels + sdists]}. Run: make wheel"
        )
    version = sdists[0].name.removeprefix("ltr_metrics-").removesuffix(".tar.gz")
    faults = [f"{wheel.name}: {fault}" for wheel in wheels for fault in faults_of_wheel(wheel, version)]
    with tarfile.open(sdists[0]) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    faults += [f"the sdist lacks {name}" for name in sorted((IN_SDIST | package_files()) - in_sdist)]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    tracked = set(listed.splitlines())
    faults += [f"the sdist has {name}, which git does not track" for name in sorted(in_sdist - tracked - {"PKG-INFO"})]
    if faults:
        sys.exit("\n".join(faults))
    for path in [*sdists, *wheels]:
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}, {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
