"""Arrays of other libraries: read without a copy on the CPU, refused with a remedy on a graphics card."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics._engine.checks import as_array

Y, SCORE, QID = [0, 1, 0, 2], [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]


class WithoutLength:
    """What cupy's arrays offer, but for their length."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values)
        self.shape, self.dtype, self.ndim = self._values.shape, self._values.dtype, self._values.ndim
        self.__cuda_array_interface__ = self._values.__array_interface__

    def __getitem__(self, key: Any) -> Any:
        return type(self)(self._values[key])

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("The array is on a graphics card.")

    def get(self) -> np.ndarray:
        return self._values


class CupyLike(WithoutLength):
    """What cupy's arrays offer."""

    def __len__(self) -> int:
        return len(self._values)


class TorchLike(CupyLike):
    """What torch's tensors offer."""

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def detach(self) -> TorchLike:
        return self

    def cpu(self) -> Any:
        return self

    def numpy(self) -> np.ndarray:
        return self._values


class WithGradient(TorchLike):
    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


class Bare:
    """Something that says no more than that it cannot be read."""

    def __len__(self) -> int:
        return 4

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise TypeError("not here")


KINDS = {
    CupyLike: r"Copy it there first, by \.get\(\)\.$",
    TorchLike: r"Copy it there first, by \.detach\(\)\.cpu\(\)\.numpy\(\)\.$",
    WithGradient: r"Copy it there first, by \.detach\(\)\.cpu\(\)\.numpy\(\)\.$",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("y_true", Y),
        ("y_score", SCORE),
        ("qid", QID),
        ("group", [2, 2]),
        ("query_weight", [1, 2]),
        ("sample_weight", [1, 1, 2, 2]),
        ("docid", [1, 2, 3, 4]),
        ("retrieved", [True] * 4),
        ("judged", [True] * 4),
        ("by", [0, 0, 1, 1]),
        ("columns['price']", [1, 2, 3, 4]),
    ],
)
def test_every_input(kind: Any, name: str, values: Any) -> None:
    given: dict[str, Any] = {"y_true": Y, "y_score": SCORE, "qid": QID, "metrics": ["map", "mean_of(price)"]}
    given["columns"] = {"price": [1, 2, 3, 4]}
    if name == "group":
        given.pop("qid")
    if name.startswith("columns"):
        given["columns"] = {"price": kind(values)}
    else:
        given[name] = kind(values)
    where = name.replace("[", r"\[").replace("]", r"\]")
    message = f"^{where} must be in the memory of the CPU.*got a {kind.__name__}.*{KINDS[kind]}"
    with pytest.raises(ltr.LtrTypeError, match=message):
        ltr.evaluate(given.pop("y_true"), given.pop("y_score"), **given)


def test_the_remedy_works() -> None:
    expected = ltr.evaluate(Y, SCORE, qid=QID, metrics="map")["map"]
    assert ltr.evaluate(Y, CupyLike(SCORE).get(), qid=QID, metrics="map")["map"] == expected
    on_cpu = TorchLike(SCORE).detach().cpu().numpy()
    assert ltr.evaluate(Y, on_cpu, qid=QID, metrics="map")["map"] == expected


def test_other_kinds() -> None:
    with pytest.raises(
        ltr.LtrTypeError, match=r"got a Bare, which says 'not here'\. Copy it there first, by the library"
    ):
        ltr.evaluate(Y, Bare(), qid=QID, metrics="map")
    with pytest.raises(ltr.LtrTypeError, match=r"y_score must be in the memory.*by \.get\(\)"):
        ltr.evaluate(Y, WithoutLength(SCORE), qid=QID, metrics="map")
    with pytest.raises(ltr.LtrTypeError, match=r"Copy each entry there first, by \.get\(\)"):
        ltr.evaluate(Y, [CupyLike(score) for score in SCORE], qid=QID, metrics="map")


def test_other_functions() -> None:
    scores = CupyLike(SCORE)
    with pytest.raises(ltr.LtrTypeError, match=r"y_score must be in the memory of the CPU.*by \.get\(\)"):
        ltr.compare({"a": scores, "b": SCORE}, Y, qid=QID, metrics="map")
    with pytest.raises(ltr.LtrTypeError, match=r"qid must be in the memory of the CPU.*by \.get\(\)"):
        ltr.qid_to_group(CupyLike(QID))
    with pytest.raises(ltr.LtrTypeError, match=r"qid must be in the memory of the CPU.*by \.get\(\)"):
        ltr.train_test_split(np.zeros((4, 1)), Y, CupyLike(QID))


def test_in_the_hosts() -> None:
    from sklearn.linear_model import LinearRegression

    from ltr_metrics.sklearn import QueryRanker, make_scorer

    X = np.arange(8.0).reshape(4, 2)
    model = QueryRanker(LinearRegression()).fit(X, Y, qid=QID)
    with pytest.raises(ltr.LtrTypeError, match=r"qid must be in the memory of the CPU.*by \.get\(\)"):
        make_scorer("map")(model, X, np.array(Y), qid=CupyLike(QID))
    with pytest.raises(
        ltr.LtrTypeError, match=r"Pass Column 0 of X\.get\(\)|Column 0 of X must be in the memory of the CPU"
    ):
        QueryRanker(LinearRegression(), qid=0).fit(CupyLike(X), Y)
    pytest.importorskip("xgboost", reason="xgboost is not installed")
    from ltr_metrics.xgboost import Monitor

    with pytest.raises(ltr.LtrTypeError, match=r"y_true must be in the memory of the CPU.*by \.get\(\)"):
        Monitor("map", X, CupyLike(Y), qid=QID)


class DLPackAlone:
    """An array on the CPU that offers nothing but DLPack."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class DLPackOnGraphicsCard(DLPackAlone):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("The array is on a graphics card.")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0  # CUDA


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_an_array_that_offers_dlpack_alone_is_read_without_a_copy(dtype: Any) -> None:
    array = DLPackAlone(np.array([3, 1, 2, 0], dtype=dtype))
    assert np.shares_memory(as_array(array, "y_score"), array.values)
    expected = ltr.evaluate(Y, array.values, qid=QID, metrics=["map", "ndcg"])
    result = ltr.evaluate(DLPackAlone(Y), array, qid=DLPackAlone(QID), metrics=["map", "ndcg"])
    assert dict(result) == dict(expected)
    assert result.qid.tolist() == [1, 2]


def test_dlpack_on_a_graphics_card() -> None:
    with pytest.raises(ltr.LtrTypeError, match="y_score must be in the memory of the CPU"):
        ltr.evaluate(Y, DLPackOnGraphicsCard(SCORE), qid=QID, metrics="map")
