"""Compiles ltr_metrics/_engine/core.cpp: into the wheel, or beside its source for an editable install.

The machine's C++ compiler does it. If there is none, pip installs the one in the package ziglang for
the build. With LTR_METRICS_TARGET=aarch64-linux-gnu.2.17, or another of `TARGETS`, zig compiles for
that platform instead of this one, as `make wheels` does for all of them.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = Path(__file__).parent / "ltr_metrics" / "_engine"
FLAGS = [
    *("-std=c++17", "-O3", "-fno-exceptions", "-fno-rtti"),
    "-ffp-contract=off",  # no fused operations, so the digits are the same everywhere
]
# One library for each level of x86-64, of which the processor's is loaded; elsewhere the baseline has wide registers.
LEVELS = {"core": "", "core-v3": "-march=x86-64-v3", "core-v4": "-march=x86-64-v4"}
TARGETS = {  # of zig, with the tag of the wheel
    "x86_64-linux-gnu.2.17": "manylinux2014_x86_64.manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux2014_aarch64.manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
ZIG = "ziglang>=0.13,<0.16"


class CompiledCore(BuildHookInterface[Any]):
    """Adds the libraries to the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _compiler() else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target = os.environ.get("LTR_METRICS_TARGET", "")
        if target and target not in TARGETS:
            raise SystemExit(f"LTR_METRICS_TARGET must be one of {', '.join(TARGETS)}. Got {target!r}.")
        is_editable = version == "editable"
        folder = ENGINE if is_editable else Path(tempfile.mkdtemp())
        libraries = compile_all(folder, target)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{TARGETS[target] if target else _tag_of_this_machine()}"
        if not is_editable:
            build_data["force_include"] |= {str(path): f"ltr_metrics/_engine/{path.name}" for path in libraries}


def compile_all(folder: Path, target: str = "") -> list[Path]:
    """Compile one library for each level of the processor into a folder, and return them."""
    machine, system = (target.split("-") if target else (platform.machine().lower(), sys.platform))[:2]
    suffix = ".dll" if system.startswith("win") else ".dylib" if system.startswith(("macos", "darwin")) else ".so"
    levels = LEVELS if machine in ("x86_64", "amd64") else {"core": ""}
    paths = [folder / f"{name}{suffix}" for name in levels]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda path, level: _compile(path, level, target), paths, levels.values()))
    return paths


def _compile(library: Path, level: str, target: str) -> None:
    """Compile and link one library, which needs the C library alone; an old one is replaced in one step."""
    source, chosen = ENGINE / "core.cpp", [] if target else _compiler()
    options = [*FLAGS, f"-DSOURCE_CRC={zlib.crc32(source.read_bytes())}"]
    shared = ["-shared", "-s"] if library.suffix != ".dylib" else ["-dynamiclib", "-Wl,-S"]
    if library.suffix != ".dll":
        options += ["-fPIC", "-pthread"]
        shared += ["-pthread", "-lm"]
    if library.suffix == ".so":
        shared += ["-Wl,-z,defs"]
    if chosen:
        compile_ = link = chosen
    else:  # zig's C++ linker would first build its C++ library, and zig has its own names of processors
        zig = [sys.executable, "-m", "ziglang"]
        of_target = ["-target", target] if target else []
        compile_, link = [*zig, "c++", *of_target], [*zig, "cc", *of_target]
        level = level.replace("x86-64-", "x86_64_")
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        part, built = Path(folder, "core.o"), Path(folder, library.name)
        _run([*compile_, *options, *level.split(), "-c", str(source), "-o", str(part)])
        _run([*link, *shared, str(part), "-o", str(built)])
        built.replace(library)


def _run(command: list[str]) -> None:
    if subprocess.run(command, check=False).returncode:
        if "ziglang" in command and importlib.util.find_spec("ziglang") is None:
            raise SystemExit(
                "ltr_metrics is compiled when it is installed, and this machine has no C++ compiler: install one "
                f'(Debian and Ubuntu: apt-get install g++), or the one that is a Python package (pip install "{ZIG}").'
            )
        raise SystemExit(f"ltr_metrics cannot be compiled, for the reasons above. The command: {' '.join(command)}")


def _compiler() -> list[str]:
    """Return the machine's C++ compiler, or nothing."""
    chosen = os.environ.get("CXX", "").split()
    return chosen or next(([found] for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), [])


def _tag_of_this_machine() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
