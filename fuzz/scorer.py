"""A process that loads model files and scores rows with them.

`python -m fuzz.scorer` takes a path on each line of its input.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.models import load_model

WIDEST = 100_000  # features; rows of more would test the memory of this process, not the file
MEMORY = 6 << 30  # bytes of address space


def main() -> None:
    """Answer each path with one line: "loaded", "refused" or "fault: " and what was raised."""
    _limit_memory()
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the hosts print to standard output
    for line in sys.stdin:
        answers.write(outcome(Path(line.rstrip("\n"))) + "\n")
        answers.flush()


def outcome(path: Path) -> str:
    """Load a file and score rows with it, and return what happened."""
    try:
        model = load_model(path)
        if model.n_features <= WIDEST:
            model.predict(rows(model.n_features))
    except MissingExtraError:
        raise
    except LtrValueError as error:
        return "refused" if str(path) in str(error) else f"fault: the error does not name the file: {error}"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return f"fault: {type(error).__name__} at {where}: {' '.join(str(error).split())[:150]}"
    return "loaded"


def rows(n_features: int) -> np.ndarray:
    """Return rows that go different ways in trees: random, missing, zero, large, small and codes of categories."""
    draw = np.random.default_rng(0)
    usual = draw.normal(size=(20, n_features))
    codes = draw.integers(0, 80, size=(10, n_features)).astype(float)
    special = np.repeat([[np.nan], [0.0], [1e30], [-1e30], [1e-30], [31.0], [64.0]], n_features, axis=1)
    return np.vstack([usual, codes, special])


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
