"""LightGBM model files: text, from ``booster.save_model("model.txt")``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics.errors import import_extra
from ltr_metrics.io.models.base import Model, refuse_categories, refuse_several
from ltr_metrics.io.models.lightgbm_file import read
from ltr_metrics.io.models.structure import DamageError, damaged

BEGINS = (b"tree\n", b"tree\r\n")


def load(path: Path, content: bytes) -> Model:
    """Read a LightGBM model with all its rounds: the host saves only those up to the best one."""
    lightgbm = import_extra("lightgbm", "lightgbm")
    try:
        file = read(content.replace(b"\r\n", b"\n"))  # git and editors may write CRLF
    except DamageError as damage:
        raise damaged(path, damage) from None
    refuse_several(path, file.n_scores)
    if file.has_pandas_categories:
        refuse_categories(path, "pandas categories")
    try:
        booster = lightgbm.Booster(model_str=file.text)
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise damaged(path, f"LightGBM cannot read it ({error})") from None

    def score(X: Any) -> AnyArray:
        scores: AnyArray = booster.predict(X, raw_score=True)
        return scores

    return Model(path, "lightgbm", booster.num_feature(), tuple(booster.feature_name()), score, booster)
