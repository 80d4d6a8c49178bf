"""The systems to compare with, one file each; one that is not installed is named, not skipped in silence."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from benchmarks.figures import Missing
from benchmarks.peers.base import Peer


class Entry(NamedTuple):
    """Where a peer is to be found."""

    module: str
    cls: str
    distribution: str


PEERS = {
    "LightGBM": Entry("lightgbm", "LightGBM", "lightgbm"),
    "XGBoost": Entry("xgboost", "XGBoost", "xgboost"),
    "XGBoost MAP": Entry("xgboost", "XGBoostMAP", "xgboost"),
    "CatBoost": Entry("catboost", "CatBoost", "catboost"),
    "ranx": Entry("ranx", "Ranx", "ranx"),
    "pytrec_eval": Entry("pytrec_eval", "PytrecEval", "pytrec-eval-terrier"),
    "ir_measures": Entry("ir_measures", "IrMeasures", "ir-measures"),
    "scikit-learn": Entry("sklearn", "ScikitLearn", "scikit-learn"),
}


def load(name: str) -> Peer | Missing:
    """Return a peer, or what to install to have it."""
    module, cls, distribution = PEERS[name]
    try:
        peer: Peer = getattr(import_module(f"benchmarks.peers.{module}"), cls)()
    except ModuleNotFoundError as error:
        return Missing(name, f"not installed ({error.name}): pip install {distribution}")
    except ImportError as error:
        return Missing(name, f"installed, but its import fails: {error}")
    return peer
