"""Arrays of other libraries that NumPy cannot read: what is wrong with them, and the remedy."""

from __future__ import annotations

from typing import Any

from ltr_metrics.errors import LtrTypeError

ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__cuda_array_interface__")
TO_CPU = {  # what copies an array to the CPU, by a method that it has; the first that fits
    "cpu": ".cpu().numpy()",
    "to_numpy": ".to_numpy()",  # cudf
    "get": ".get()",  # cupy
}
NO_METHOD = "the library that it comes from"
NOT_IN_NUMPY = ("bfloat16", "float8", "float4")  # beginnings of torch's names of dtypes


def offers_dlpack_alone(values: Any) -> bool:
    """Whether an object offers DLPack, and nothing else that NumPy reads."""
    return hasattr(values, "__dlpack__") and not any(hasattr(values, name) for name in ARRAY_PROTOCOLS)


def unreadable(values: Any, name: str, error: Exception) -> LtrTypeError:
    """Return the error for an array, or a list of them, with what its own library says about it."""
    entry = values[0] if isinstance(values, (list, tuple)) else values
    what = "it" if entry is values else "each entry"
    remedy = _torch_to_numpy(entry) if hasattr(entry, "detach") else _to_cpu(entry)
    says = f"got a {type(entry).__name__}, which says {str(error).rstrip('.')!r}"
    if str(getattr(entry, "device", "")) == "cpu":
        return LtrTypeError(f"{name} must be an array that NumPy can read: {says}. Convert {what} first, by {remedy}.")
    return LtrTypeError(
        f"{name} must be in the memory of the CPU, where NumPy can read it: {says}. Copy {what} there first, by "
        f"{remedy}."
    )


def _to_cpu(array: Any) -> str:
    return next((copy for method, copy in TO_CPU.items() if hasattr(array, method)), NO_METHOD)


def _torch_to_numpy(tensor: Any) -> str:
    """Return the methods that make a NumPy array of a torch tensor."""
    dtype = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    steps = {
        ".to_dense()": str(getattr(tensor, "layout", "torch.strided")) != "torch.strided",
        ".dequantize()": getattr(tensor, "is_quantized", False),
        ".float()": dtype.startswith(NOT_IN_NUMPY),
        ".resolve_neg()": hasattr(tensor, "is_neg") and tensor.is_neg(),
    }
    return ".detach().cpu()" + "".join(step for step, is_needed in steps.items() if is_needed) + ".numpy()"
