"""Arrays of other libraries that NumPy cannot read, as on a graphics card, are refused with a remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr

Y, SCORE, QID = [0, 1, 0, 2], [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]


class OnGraphicsCard:
    """What cupy's arrays and torch's tensors offer: an error that names their own method."""

    def __init__(self, values: Any, error: type[Exception] = TypeError) -> None:
        self.values, self.error = np.asarray(values), error
        self.shape, self.dtype, self.ndim = self.values.shape, self.values.dtype, self.values.ndim

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise self.error("Use .get()!")


INPUTS: dict[str, Any] = {"y_true": Y, "y_score": SCORE, "qid": QID, "group": [2, 2], "query_weight": [1, 2]}
INPUTS |= {"sample_weight": SCORE, "docid": [1, 2, 3, 4], "retrieved": [True] * 4, "judged": [True] * 4}
INPUTS |= {"by": [0, 0, 1, 1], "columns['price']": SCORE}


@pytest.mark.parametrize("error", [TypeError, RuntimeError])  # of cupy, and of torch
@pytest.mark.parametrize("name", INPUTS)
def test_every_input_is_refused_with_a_remedy(error: type[Exception], name: str) -> None:
    call: dict[str, Any] = {"y_true": Y, "y_score": SCORE, "metrics": ["map", "mean_of(price)"]}
    call |= {"columns": {"price": SCORE}} | ({} if name == "group" else {"qid": QID})
    column = OnGraphicsCard(INPUTS[name], error)
    call |= {"columns": {"price": column}} if name == "columns['price']" else {name: column}
    with pytest.raises(ltr.LtrTypeError, match=r"must be an array that NumPy can read\..* Use \.get\(\)!") as refused:
        ltr.evaluate(**call)
    assert str(refused.value).startswith(name)
