"""Make the files of a release in dist/: `make release VERSION=0.1.0rc1`. Nothing is pushed, tagged or published.

The version goes into the package and into CITATION.cff, and the changelog's section gets its date. Then the files of
all platforms are built and checked, and tried on all Pythons. What was edited is left to be read and committed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).parent.parent
EDITS = {  # in each file the lines of the development version, and those of the release
    "ltr_metrics/_version.py": ('__version__ = "{base}.dev0"\n', '__version__ = "{version}"\n'),
    "CITATION.cff": ("version: {base}.dev0\n", "version: {version}\ndate-released: {date}\n"),
    "CHANGELOG.md": ("## {base} (unreleased)\n", "## {version} ({date})\n"),
}


def released(texts: dict[str, str], version: str, date: str) -> dict[str, str]:
    """Return the texts of the files in `EDITS` with the version and the date of a release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", version):
        raise SystemExit(f"VERSION must be like 0.1.0 or 0.1.0rc1. Got {version!r}.")
    words = {"base": version.partition("rc")[0], "version": version, "date": date}
    for name, (before, _) in EDITS.items():
        if texts[name].count(line := before.format(**words)) != 1:
            raise SystemExit(f"{name} must have one line {line.strip()!r} before {version} is released.")
    return {name: texts[name].replace(*(line.format(**words) for line in lines)) for name, lines in EDITS.items()}


def output_of(*command: str) -> str:
    """Return what a command prints, without its last line break."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.rstrip("\n")


def main() -> None:
    """Edit the files, build, check and try, and print what is left to do by hand."""
    version = " ".join(sys.argv[1:])
    if output_of("git", "status", "--porcelain"):
        raise SystemExit("A release is made from a clean checkout. See: git status")
    if output_of("git", "tag", "--list", f"v{version}"):
        raise SystemExit(f"There is a tag v{version} already.")
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in EDITS}
    for name, text in released(texts, version, f"{datetime.now(timezone.utc):%Y-%m-%d}").items():
        (ROOT / name).write_text(text, encoding="utf-8")
    subprocess.run(["make", "wheels"], cwd=ROOT, check=True)
    subprocess.run([".ci/try_dist", *output_of(".ci/pythons").splitlines()], cwd=ROOT, check=True)
    print(
        f"These files are ltr_metrics {version}. To publish it, read `git diff`, and then:\n"
        f'    git commit -am "Release {version}"\n'
        f'    git tag -a v{version} -m "ltr_metrics {version}"\n'
        f"    git push origin v{version}\n"
        "To give it up: git restore ."
    )


if __name__ == "__main__":
    main()
