"""LightGBM's model files: text, by ``booster.save_model("model.txt")``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics.errors import MissingExtraError
from ltr_metrics.io.models.base import Model, refuse_categories, refuse_several
from ltr_metrics.io.models.lightgbm_file import read
from ltr_metrics.io.models.structure import DamageError, damaged

BEGINS = (b"tree\n", b"tree\r\n")


def load(path: Path, content: bytes) -> Model:
    """Read a LightGBM model. After early stopping the host writes the rounds up to the best one alone, so these are all."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtraError("lightgbm", "lightgbm") from error
    try:
        file = read(content.replace(b"\r\n", b"\n"))  # as git and editors make them of text
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

    return Model(path, "lightgbm", booster.num_feature(), tuple(booster.feature_name()), score)
