"""Per-query values of one candidate on one fold of a search, to a file and back.

Searches score in many processes at once. So each score is a file of its own under a name of its own, written under another
name first: whoever reads sees whole files only, and nobody waits. Nothing in them is pickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ltr_metrics.conventions import Policy
from ltr_metrics.errors import LtrValueError
from ltr_metrics.inputs import AnyArray
from ltr_metrics.log.parameters import Parameters, plain
from ltr_metrics.result import Evaluation, plain_id

SUFFIX = ".scores.npz"
FORMAT = 1
PlainId = str | int | float | bool


@dataclass(frozen=True, eq=False)
class Record:
    """What a file holds."""

    parameters: Parameters
    part: str | None
    fold: str  # fingerprint of the set of queries
    evaluation: Evaluation


def write(folder: Path, parameters: Mapping[str, Any], part: str | None, evaluation: Evaluation) -> None:
    """Write a file of its own, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    name = uuid4().hex
    unfinished = folder / f"{name}.tmp"
    try:
        with unfinished.open("xb") as file:
            np.savez(file, **_to_arrays(parameters, part, evaluation))
        unfinished.replace(folder / f"{name}{SUFFIX}")
    finally:
        unfinished.unlink(missing_ok=True)


def read(folder: Path) -> list[Record]:
    """Read all files of the folder that are scores."""
    return [_read(path) for path in folder.glob(f"*{SUFFIX}")]


def plain_ids(qid: AnyArray) -> list[PlainId]:
    """Return the ids as JSON has them."""
    ids = (qid.astype(str) if qid.dtype.kind in "mM" else qid).tolist()
    return [plain_id(i.item() if isinstance(i, np.generic) else i) for i in ids]


def order_of_id(plain_id: PlainId) -> tuple[str, PlainId]:
    """Return what ids are sorted by, of mixed kinds too."""
    return type(plain_id).__name__, plain_id


def _to_arrays(parameters: Mapping[str, Any], part: str | None, evaluation: Evaluation) -> dict[str, Any]:
    ids = plain_ids(evaluation.qid)
    has_objects = evaluation.qid.dtype == object
    header = {
        "format": FORMAT,
        "parameters": plain(parameters),
        "part": part,
        "fold": hashlib.sha256(json.dumps(sorted(ids, key=order_of_id)).encode()).hexdigest(),
        "metrics": list(evaluation.per_query),
        "asked": evaluation.per_query.asked,
        "policy": asdict(evaluation.policy),
        "qid": ids if has_objects else None,  # only a pickle could hold the objects themselves
    }
    arrays = {
        "header": np.array(json.dumps(header)),
        "qid": None if has_objects else evaluation.qid,
        "n_documents": evaluation.n_documents,
        "n_relevant": evaluation.n_relevant,
        "weight": evaluation.weight,
        "values": np.array(list(evaluation.per_query.values())),
    }
    return {name: array for name, array in arrays.items() if array is not None}


def _read(path: Path) -> Record:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _from_arrays(dict(arrays))
    except Exception as error:  # whatever a damaged file leads zipfile, NumPy and JSON to
        raise LtrValueError(
            f"{path} is no readable record of scores: {type(error).__name__}: {error}. It is damaged, or of another version of this "
            "package. Remove the file, and score that candidate again into a new folder if you need it."
        ) from error


def _from_arrays(arrays: dict[str, AnyArray]) -> Record:
    header: dict[str, Any] = json.loads(str(arrays["header"]))
    if header["format"] != FORMAT:
        raise LtrValueError(f"its format is {header['format']}, where {FORMAT} is read")
    qid = arrays["qid"] if header["qid"] is None else np.array([*header["qid"], None], dtype=object)[:-1]
    evaluation = Evaluation.of(
        dict(zip(header["metrics"], arrays["values"], strict=True)),
        header["asked"],
        qid=qid,
        n_documents=arrays["n_documents"],
        n_relevant=arrays["n_relevant"],
        weight=arrays.get("weight"),
        policy=Policy(**header["policy"]),
    )
    return Record(header["parameters"], header["part"], header["fold"], evaluation)
