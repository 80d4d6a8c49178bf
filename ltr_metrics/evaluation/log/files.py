"""Per-query values of one candidate on one fold of a search, to a file and back.

Searches score in many processes at once. So each score is a file of its own under a name of its own, written under another
name first: whoever reads sees whole files only, and nobody waits. Nothing in them is pickled.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ltr_metrics._engine.checks import AnyArray
from ltr_metrics._engine.plain import order_of_id, plain_id
from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.errors import LtrValueError
from ltr_metrics.evaluation.log.parameters import Parameters, plain
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io import write_whole
from ltr_metrics.metrics.requests import Policy

SUFFIX = ".scores.npz"
FORMAT = 1
Split = tuple[str | None, str | None, str, str | None]  # search, part, fold, fit


@dataclass(frozen=True, eq=False)
class Record:
    """What a file holds. Sets of queries are fingerprints, None if unknown."""

    parameters: Parameters
    part: PartOfSearch | None
    fold: str  # of the queries that were scored
    fit: str | None  # of those that the ranker was fitted on
    search: str | None  # of both together: the same for all splits of a cross-validation
    evaluation: Evaluation

    @property
    def split(self) -> Split:
        """What was scored of which fit: two splits may have one test set and different training sets."""
        return self.search, self.part, self.fold, self.fit


def write(
    folder: Path,
    parameters: Mapping[str, Any],
    part: PartOfSearch | None,
    evaluation: Evaluation,
    fitted: Iterable[object] | None,
) -> None:
    """Write a file of its own, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.savez(content, **_to_arrays(parameters, part, evaluation, fitted))
    write_whole(folder / f"{uuid4().hex}{SUFFIX}", content.getvalue())


def read(folder: Path) -> list[Record]:
    """Read all files of the folder that are scores."""
    return [_read(path) for path in folder.glob(f"*{SUFFIX}")]


def _fingerprint(ids: Iterable[object]) -> str:
    """Return what two sets of ids have in common if and only if they are the same set."""
    plain = sorted(set(map(plain_id, ids)), key=order_of_id)
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def _to_arrays(
    parameters: Mapping[str, Any], part: PartOfSearch | None, evaluation: Evaluation, fitted: Iterable[object] | None
) -> dict[str, Any]:
    scored = evaluation.qid.tolist()
    fitted = None if fitted is None else list(fitted)
    has_objects = evaluation.qid.dtype == object
    header = {
        "format": FORMAT,
        "parameters": plain(parameters),
        "part": part,
        "fold": _fingerprint(scored),
        "fit": None if fitted is None else _fingerprint(fitted),
        "search": None if fitted is None else _fingerprint([*fitted, *scored]),
        "metrics": list(evaluation.per_query),
        "asked": evaluation.per_query.asked,
        "policy": asdict(evaluation.policy),
        "qid": evaluation.plain_qid if has_objects else None,  # only a pickle could hold the objects themselves
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
    return Record(
        **{name: header[name] for name in ("parameters", "part", "fold", "fit", "search")}, evaluation=evaluation
    )
