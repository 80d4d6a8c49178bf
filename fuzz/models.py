"""Damaged model files of LightGBM (txt) and XGBoost (json, ubj).

A file may be refused with an `LtrValueError` that names it, or be another valid model.
Anything else is a fault: a process that is killed, that hangs, or that raises another exception.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np

from fuzz.child import Child, serve
from fuzz.mutations import OF_MODELS
from fuzz.originals import write_originals
from fuzz.report import Report
from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.io.models import load_model

LOADED, REFUSED = "loaded", "refused"
WIDEST = 100_000  # features; rows of more would test the memory of this process, not the file


def run(seed: int, numbers: Iterable[int], folder: Path) -> Report:
    """Try the damaged files with these numbers, one of each format."""
    originals = {
        kind: [(path.name, path.read_bytes()) for path in paths] for kind, paths in write_originals(folder).items()
    }
    report = Report("model", seed)
    with closing(Child("-m", "fuzz.models")) as child:
        for number in numbers:
            for kind in OF_MODELS:
                draw = Random(f"{seed} {kind} {number}")  # so that each case can be made again by itself
                name, content = draw.choice(originals[kind])
                mutation = draw.choice(OF_MODELS[kind])
                path = folder / f"damaged.{kind}"
                path.write_bytes(mutation(draw, content))
                outcome = child.ask(str(path))
                if outcome in (LOADED, REFUSED):
                    report.add(kind, outcome)
                else:
                    report.add_fault(kind, number, f"{name}, {mutation.__name__}: {outcome}")
    return report


def load_and_score(path: Path) -> str:
    """Load a file and score rows with it; return "loaded", "refused" or the fault."""
    try:
        model = load_model(path)
        if model.n_features <= WIDEST:
            model.predict(rows(model.n_features))
    except MissingExtraError:
        raise
    except LtrValueError as error:
        return REFUSED if str(path) in str(error) else f"the error does not name the file: {error}"
    except Exception:
        return traceback.format_exc(limit=-3)
    return LOADED


def rows(n_features: int) -> np.ndarray:
    """Return rows that go different ways in trees: random, missing, zero, large, small and codes of categories."""
    draw = np.random.default_rng(0)
    usual = draw.normal(size=(20, n_features))
    codes = draw.integers(0, 80, size=(10, n_features)).astype(float)
    special = np.repeat([[np.nan], [0.0], [1e30], [-1e30], [1e-30], [31.0], [64.0]], n_features, axis=1)
    return np.vstack([usual, codes, special])


def main() -> None:
    """Answer the paths of files."""
    serve(lambda question: load_and_score(Path(question)))


if __name__ == "__main__":
    main()
