"""Compiles ltr_metrics/_ranks/core.cpp and its headers: into the wheel, or beside its source for an editable install.

The C++ compiler of the machine does it, or the one that CXX names. On a machine without a compiler, pip installs the
one in the package ziglang for the build; CXX=ziglang prefers it. If LTR_METRICS_TARGET is one of `TARGETS`, such as
aarch64-linux-gnu.2.17, zig compiles for that platform instead of this one, as `make wheels` does for all of them.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

RANKS = Path(__file__).parent / "ltr_metrics" / "_ranks"
FLAGS = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"]
# They follow the flags in CXX and win over them. Optimizations that change values would let NaN pass, and would change
# digits; an object file that GCC links for them would make the whole process round denormal numbers to 0.
EXACT_FLAGS = [
    *("-O3", "-fno-fast-math", "-fno-unsafe-math-optimizations", "-fno-finite-math-only", "-fno-associative-math"),
    *("-fno-reciprocal-math", "-fsigned-zeros", "-ffp-contract=off"),
]
# One library for each level of x86-64; the one for the processor is loaded. Other baselines have wide registers. With
# a dot within, no name is one of a Python module.
LEVELS = {"core.v1": "", "core.v3": "x86-64-v3", "core.v4": "x86-64-v4"}
TARGETS = {  # of zig, with the tag of the wheel
    "x86_64-linux-gnu.2.17": "manylinux2014_x86_64.manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux2014_aarch64.manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
ZIG = "ziglang>=0.13,<0.18"
REMEDY = (
    "install a C++ compiler (Debian and Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++; "
    f'macOS: xcode-select --install), or the one that is a Python package (pip install "{ZIG}") and set CXX=ziglang.'
)


class CompiledCore(BuildHookInterface[Any]):
    """Adds the libraries to the wheel, or puts them beside the source."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _compiler(_target()) else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target, is_editable = _target(), version == "editable"
        self.folder = tempfile.TemporaryDirectory()
        libraries = compile_all(RANKS if is_editable else Path(self.folder.name), target)
        if "windows" in target:
            self._add_licenses()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{TARGETS[target] if target else _tag_of_this_machine()}"
        if not is_editable:
            build_data["force_include"] |= {str(path): f"ltr_metrics/_ranks/{path.name}" for path in libraries}

    def _add_licenses(self) -> None:
        """Declare what a library for Windows contains, too: start-up code of MinGW-w64, functions of zig and musl."""
        core = self.metadata.core
        core.config |= {"license": "MIT AND ZPL-2.1", "license-files": ["LICENSE*"]}
        core._license = core._license_expression = core._license_files = None  # noqa: SLF001 -- read before, without these

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()


def compile_all(folder: Path, target: str = "") -> list[Path]:
    """Compile one library for each level of the processor into a folder, and return them.

    An old library is replaced in one step, when all have been compiled. So no build that fails, is interrupted or runs
    at the same time as another leaves a half one.
    """
    machine, system = (target.split("-") if target else (platform.machine().lower(), sys.platform))[:2]
    suffix = ".dll" if system.startswith("win") else ".dylib" if system.startswith(("macos", "darwin")) else ".so"
    levels = LEVELS if machine in ("x86_64", "amd64") else {"core.v1": ""}
    names = [f"{name}{suffix}" for name in levels]
    with tempfile.TemporaryDirectory() as work:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda name, level: _compile(Path(work), name, level, target), names, levels.values()))
        for name in names:
            part = folder / f"{os.getpid()}-{name}"
            shutil.copyfile(Path(work, name), part)
            part.replace(folder / name)
    return [folder / name for name in names]


def _compile(work: Path, library: str, level: str, target: str) -> None:
    """Compile and link one library, which needs the C library alone."""
    source, part = RANKS / "core.cpp", f"{library}.o"
    checksum = zlib.crc32(b"".join(path.read_bytes() for path in sorted(RANKS.glob("*.[ch]pp"))))
    is_dll, is_dylib = library.endswith(".dll"), library.endswith(".dylib")
    options = [*FLAGS, *EXACT_FLAGS, f"-DSOURCE_CRC={checksum}"]
    shared = ["-dynamiclib", "-Wl,-S", f"-Wl,-install_name,@rpath/{library}"] if is_dylib else ["-shared", "-s"]
    shared += EXACT_FLAGS
    libraries: list[str] = []
    if not is_dll:
        options += ["-fPIC", "-pthread"]
    if not (is_dll or is_dylib):
        shared += ["-pthread", "-Wl,-z,defs"]  # refuse undefined symbols, as other systems do by themselves
        libraries = ["-lm"]  # after the object file, as linkers want it
    if chosen := _compiler(target):
        compile_ = link = chosen
        options += [f"-march={level}"] if level else []
    else:  # zig's C++ linker would first build its C++ library, and zig has its own names of processors
        zig = [sys.executable, "-m", "ziglang"]
        of_target = ["-target", target] if target else []
        compile_, link = [*zig, "c++", *of_target], [*zig, "cc", *of_target]
        options += [f"-mcpu={level.replace('-', '_') or 'baseline'}"]
    _run([*compile_, *options, "-c", str(source), "-o", part], work)
    _run([*link, *shared, part, *libraries, "-o", library], work)


def _run(command: list[str], work: Path) -> None:
    """Run a compiler in a folder, where zig keeps its cache, too: a home may be read-only."""
    if "ziglang" in command and importlib.util.find_spec("ziglang") is None:
        raise SystemExit(f"Installing ltr_metrics needs a compiler, and this machine has none: {REMEDY}")
    defaults = {name: str(work / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    defaults["SOURCE_DATE_EPOCH"] = "1580601600"  # the time in a DLL; it is hatchling's own for the wheel
    try:
        done = subprocess.run(
            command, cwd=work, env=defaults | os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        failure = f"\n{done.stdout.decode(errors='replace')}" if done.returncode else ""
    except OSError as error:
        failure = str(error)
    if failure:
        name = "ziglang" if "ziglang" in command else command[0]
        raise SystemExit(f"{' '.join(command)}: {failure}\n{name} cannot compile ltr_metrics, as shown above: {REMEDY}")


def _target() -> str:
    target = os.environ.get("LTR_METRICS_TARGET", "")
    if target and target not in TARGETS:
        raise SystemExit(f"LTR_METRICS_TARGET must be one of {', '.join(TARGETS)}. Got {target!r}.")
    return target


def _compiler(target: str) -> list[str]:
    """Return the command of the machine's C++ compiler; nothing means zig, which alone compiles for other platforms."""
    chosen = os.environ.get("CXX", "")
    if target or chosen == "ziglang":
        return []
    if chosen:
        return [chosen] if shutil.which(chosen) else chosen.split()
    if sys.platform == "win32":
        return []  # a library of MinGW's g++ could need DLLs that Python does not find
    return next(([found] for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), [])


def _tag_of_this_machine() -> str:
    return next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
