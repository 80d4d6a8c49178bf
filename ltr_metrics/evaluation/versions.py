"""What values may depend on, and what a report of a fault should say about an installation."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ltr_metrics._ranks import native
from ltr_metrics._ranks.library import level_of
from ltr_metrics._rows.signatures import explaining_calls
from ltr_metrics._version import __version__

OPTIONAL = (  # by the names that pip knows
    *("lightgbm", "xgboost", "xgboost-cpu", "catboost", "scikit-learn", "mlflow", "dask", "pyspark"),
    *("pandas", "polars", "pyarrow", "scipy", "matplotlib"),
)


@explaining_calls
def show_versions() -> None:
    """Print the versions of this package, of Python, NumPy and the optional packages, and the platform.

    Paste them into a report of a fault. Packages that are not installed are left out. The compiled
    core is the one for this kind of processor, such as ``x86_64-v3`` for one with AVX2.

    See Also
    --------
    Evaluation.save : Saved results hold the versions, too.

    Examples
    --------
    >>> import ltr_metrics as ltr
    >>> ltr.show_versions()  # doctest: +ELLIPSIS
    ltr_metrics    0...
    """
    level = level_of(native.core)
    core = platform.machine() + (f"-v{level}" if level > 1 else "")
    lines = versions() | {"platform": platform.platform(), "compiled core": core}
    for name in OPTIONAL:
        with suppress(PackageNotFoundError):
            lines[name] = version(name)
    print("\n".join(f"{name:<14} {text}" for name, text in lines.items()))  # noqa: T201


def versions() -> dict[str, str]:
    """Return the versions that the values may depend on."""
    return {"ltr_metrics": __version__, "numpy": np.__version__, "python": platform.python_version()}
