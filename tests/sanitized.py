"""Run tests with a core that a sanitizer watches: it ends the process at the first fault in the C++.

python tests/sanitized.py address,undefined     # reads and writes outside of arrays, and undefined behaviour
python tests/sanitized.py thread                # data races
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mutants import compile_core, copy_of_checkout

TESTS = [
    "metrics/test_metrics.py",
    "metrics/test_interface.py",
    "metrics/test_ranking.py",
    "metrics/test_exact.py",
    "metrics/test_own_classes.py",
    "evaluation/test_threads.py",
    "io/test_letor_pairs.py",
]


def main(sanitizers: str) -> int:
    """Return the exit status of the tests."""
    compiler = f"g++ -g -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize={sanitizers}"
    library = "libtsan.so" if sanitizers == "thread" else "libasan.so"
    preload = subprocess.run(["g++", f"-print-file-name={library}"], capture_output=True, text=True, check=True)
    environment = os.environ | {
        "LD_PRELOAD": preload.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python has its own
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1,die_after_fork=0,halt_on_error=1",  # so has NumPy
        "OMP_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = copy_of_checkout(Path(name))
        compile_core(folder, compiler)
        parallel = ["-n", "logical", "--dist", "worksteal"]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *parallel]
        tests = [f"tests/{one}" for one in TESTS]
        environment |= {"PYTHONPATH": str(folder)}
        return subprocess.run([*command, *tests], cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
