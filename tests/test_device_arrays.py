"""Arrays of other libraries: read without a copy on the CPU, refused with a remedy on a graphics card."""

from __future__ import annotations

import re
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


class OnCPU(TorchLike):
    """A tensor on the CPU that NumPy cannot read: it has a dtype, a layout or a state that NumPy has not."""

    device = "cpu"

    def __init__(self, values: Any, dtype: str = "torch.float32", layout: str = "torch.strided", **state: bool) -> None:
        super().__init__(values)
        self.dtype, self.layout = dtype, layout
        self.is_quantized, self.is_neg = state.get("is_quantized", False), lambda: state.get("is_neg", False)

    def __getitem__(self, key: Any) -> Any:
        return self._values[key]


@pytest.mark.parametrize(
    ("tensor", "remedy"),
    [
        (OnCPU(SCORE, "torch.bfloat16"), ".detach().cpu().float().numpy()"),
        (OnCPU(SCORE, "torch.float8_e4m3fn"), ".detach().cpu().float().numpy()"),
        (OnCPU(SCORE, layout="torch.sparse_coo"), ".detach().cpu().to_dense().numpy()"),
        (OnCPU(SCORE, "torch.quint8", is_quantized=True), ".detach().cpu().dequantize().numpy()"),
        (OnCPU(SCORE, is_neg=True), ".detach().cpu().resolve_neg().numpy()"),
        (OnCPU(SCORE, "torch.int64"), ".detach().cpu().numpy()"),
    ],
)
def test_a_tensor_on_the_cpu_that_numpy_cannot_read(tensor: Any, remedy: str) -> None:
    message = (
        f"y_score must be an array that NumPy can read: got a OnCPU, .* Convert it first, by {re.escape(remedy)}.$"
    )
    with pytest.raises(ltr.LtrTypeError, match=message):
        ltr.evaluate(Y, tensor, qid=QID, metrics="map")
    with pytest.raises(ltr.LtrTypeError, match=f"Convert each entry first, by {re.escape(remedy)}.$"):
        ltr.evaluate(Y, [tensor] * 4, qid=QID, metrics="map")


@pytest.mark.parametrize(
    ("dtype", "has_remedy"), [(np.longdouble, True), (np.complex128, False), ("datetime64[s]", False)]
)
def test_numbers_of_other_kinds(dtype: Any, has_remedy: bool) -> None:
    if np.dtype(dtype) == np.float64:
        pytest.skip("longdouble is float64 on this system")
    with pytest.raises(ltr.LtrTypeError, match="must be numbers .*got dtype") as raised:
        ltr.evaluate(Y, np.arange(4).astype(dtype), qid=QID, metrics="map")
    assert str(raised.value).endswith("Convert them first, by .astype('float64').") is has_remedy


# -- torch itself -----------------------------------------------------------------------------------------------------


def readable_tensors(torch: Any) -> dict[str, Any]:
    """Return tensors that NumPy reads, with values that each dtype keeps."""
    values = torch.tensor([1.0, 2.0, 3.0, 4.0])
    dtypes = (torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8)
    wide = torch.stack([values.double()] * 2)
    return {str(dtype): values.to(dtype) for dtype in dtypes} | {
        "every second": values.double().repeat_interleave(2)[::2],
        "a row of a matrix": wide[1],
        "a column of a matrix": wide.T[:, 0],
        "flipped": values.flip(0).flip(0),
        "a list": list(values),
    }


def unreadable_tensors(torch: Any) -> dict[str, Any]:
    values = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return {
        "bfloat16": values.bfloat16(),
        "float8": values.to(torch.float8_e4m3fn),
        "with a gradient": values.clone().requires_grad_(),
        "bfloat16 with a gradient": values.bfloat16().requires_grad_(),
        "a parameter": torch.nn.Parameter(values),
        "sparse": values.to_sparse(),
        "negated": torch.complex(values, -values).conj().imag,
    }


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    expected = ltr.evaluate(Y, SCORE, qid=QID, metrics=["map", "ndcg"])
    for name, tensor in readable_tensors(torch).items():
        result = ltr.evaluate(torch.tensor(Y), tensor, qid=torch.tensor(QID), metrics=["map", "ndcg"])
        assert dict(result) == dict(expected), name
    double = torch.tensor(SCORE, dtype=torch.float64)
    assert np.shares_memory(as_array(double, "y_score"), double.numpy())
    for name, tensor in unreadable_tensors(torch).items():
        with pytest.raises(ltr.LtrTypeError, match="y_score must be an array that NumPy can read") as raised:
            ltr.evaluate(Y, tensor, qid=QID, metrics=["map", "ndcg"])
        remedy = re.search(r"by (\..*)\.$", str(raised.value))
        assert remedy is not None
        fixed = eval(f"tensor{remedy[1]}", {"tensor": tensor})  # what the message says
        assert dict(ltr.evaluate(Y, fixed, qid=QID, metrics=["map", "ndcg"])) == dict(expected), name


def test_dlpack_on_a_graphics_card() -> None:
    with pytest.raises(ltr.LtrTypeError, match="y_score must be in the memory of the CPU"):
        ltr.evaluate(Y, DLPackOnGraphicsCard(SCORE), qid=QID, metrics="map")
