"""LightGBM's model files: text, by ``booster.save_model("model.txt")``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.inputs import AnyArray
from ltr_metrics.models.base import Model, refuse_categories, refuse_several

BEGINS = (b"tree\n", b"tree\r\n")
_SIZES = re.compile(rb"^tree_sizes=([\d ]*)$", re.MULTILINE)


def load(path: Path, content: bytes) -> Model:
    """Read a LightGBM model. After early stopping the host writes the rounds up to the best one alone, so these are all."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtraError("lightgbm", "lightgbm") from error
    content = content.replace(b"\r\n", b"\n")  # as git and editors make them of text
    _refuse_damaged(path, content)
    try:
        booster = lightgbm.Booster(model_str=content.decode())
    except (lightgbm.basic.LightGBMError, ValueError) as error:
        raise LtrValueError(f"{path} is damaged, LightGBM cannot read it: {error}. Save the model again.") from None
    refuse_several(path, booster.num_model_per_iteration())
    if booster.pandas_categorical:
        refuse_categories(path, "pandas categories")

    def score(X: Any) -> AnyArray:
        scores: AnyArray = booster.predict(X, raw_score=True)
        return scores

    return Model(path, "lightgbm", booster.num_feature(), tuple(booster.feature_name()), score)


def _refuse_damaged(path: Path, content: bytes) -> None:
    """Refuse a file that was cut off or whose trees are not as long as it says: LightGBM ends the whole process on these."""
    sizes = _SIZES.search(content)
    begin, end = content.find(b"\nTree=0\n") + 1, content.find(b"\nend of trees\n") + 1
    told = 0 if sizes is None else sum(map(int, sizes[1].split()))
    if b"\nend of parameters\n" not in content[end:] or not end or told != (end - begin if begin else 0):
        raise LtrValueError(
            f"{path} is damaged or cut off: a LightGBM model says in its head how long its trees are, and has lines 'end of trees' and "
            "'end of parameters'. Save the model again."
        )
