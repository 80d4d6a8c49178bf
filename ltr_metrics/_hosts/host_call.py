"""What a host is doing while it calls a metric, and the gain that its own NDCG has."""

from __future__ import annotations

import inspect
from types import FrameType
from typing import Any, NamedTuple

from ltr_metrics._engine.words import NamedGain

Gain = NamedGain | tuple[float, ...]


class HostCall(NamedTuple):
    """The result of looking for a function of a host among the callers."""

    frame: FrameType | None  # of that function; None if it is not among the callers
    is_direct: bool  # whether only the host and this package stand in between
    in_host: bool  # whether any function of the host is among the callers


def find_host_call(package: str, function: str) -> HostCall:
    """Look for a function of a host among the callers.

    Its frame has what hosts do not pass to a metric, such as the model and the other metrics.
    """
    is_direct, in_host, frame = True, False, inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "").partition(".")[0]
        in_host |= module == package
        if module == package and frame.f_code.co_name == function:
            return HostCall(frame, is_direct, in_host)
        is_direct &= module in ("ltr_metrics", package)
        frame = frame.f_back
    return HostCall(None, False, in_host)


def gain_of_setting(setting: str, value: Any) -> Gain:
    """Return the gain that a host's parameter sets, as a word if it equals a named gain."""
    if setting == "ndcg_exp_gain":
        return "linear" if str(value).lower() in ("0", "false") else "exp"
    entries = value.split(",") if isinstance(value, str) else [] if value is None else value
    table = tuple(float(str(entry)) for entry in entries)  # through text, as LightGBM reads it
    if all(gain == 2.0**grade - 1 for grade, gain in enumerate(table)):  # an empty table is LightGBM's default
        return "exp"
    return "linear" if all(gain == grade for grade, gain in enumerate(table)) else table
