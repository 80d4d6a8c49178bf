"""Write the per-query values of one score of a search to a file, and read the files of a folder.

A search scores in many processes at once, so each score has a file of its own with a name of its
own. A file gets its name when it is complete: a reader sees complete files only, and no process
waits for another. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple
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


class Split(NamedTuple):
    """The queries of a score: two splits may have one test set and different training sets.

    A set of queries is a fingerprint of their ids, and None if it is unknown.
    """

    search: str | None  # `fit` and `fold` together: equal for all splits of a cross-validation
    part: PartOfSearch | None
    fold: str  # the queries that were scored
    fit: str | None  # the queries that the ranker was fitted on


@dataclass(frozen=True, eq=False)
class Record:
    """The content of a file: one candidate's score on one split."""

    parameters: Parameters
    split: Split
    evaluation: Evaluation


def write(
    folder: Path,
    parameters: Mapping[str, Any],
    part: PartOfSearch | None,
    evaluation: Evaluation,
    fitted: Iterable[object] | None,
) -> None:
    """Write a score into a new file, completely or not at all."""
    scored, fitted = evaluation.qid.tolist(), None if fitted is None else list(fitted)
    split = Split(
        search=None if fitted is None else _fingerprint([*fitted, *scored]),
        part=part,
        fold=_fingerprint(scored),
        fit=None if fitted is None else _fingerprint(fitted),
    )
    folder.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.savez(content, **_to_arrays(Record(plain(parameters), split, evaluation)))
    write_whole(folder / f"{uuid4().hex}{SUFFIX}", content.getvalue())


def read(folder: Path) -> list[Record]:
    """Read all scores of a folder."""
    return [_read_file(path) for path in folder.glob(f"*{SUFFIX}")]


def _fingerprint(ids: Iterable[object]) -> str:
    """Return a text that two collections of ids share if and only if they are the same set."""
    distinct = sorted(set(map(plain_id, ids)), key=order_of_id)
    return hashlib.sha256(json.dumps(distinct).encode()).hexdigest()


def _to_arrays(record: Record) -> dict[str, Any]:
    evaluation = record.evaluation
    has_objects = evaluation.qid.dtype == object
    header = {
        "format": FORMAT,
        "parameters": record.parameters,
        **record.split._asdict(),
        "metrics": list(evaluation.per_query),
        "asked": evaluation.per_query.asked,
        "policy": asdict(evaluation.policy),
        "lower_is_better": sorted(evaluation.lower_is_better),
        "qid": evaluation.plain_qid if has_objects else None,  # objects would need a pickle
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


def _read_file(path: Path) -> Record:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _from_arrays(dict(arrays))
    except Exception as error:  # whatever zipfile, NumPy and JSON raise for a damaged file
        raise LtrValueError(
            f"{path} is not a readable file of scores: {type(error).__name__}: {error}. "
            "It is damaged, or another version of this package wrote it. "
            "Remove the file. If you need that score, run the search again with a new folder."
        ) from error


def _from_arrays(arrays: dict[str, AnyArray]) -> Record:
    header: dict[str, Any] = json.loads(str(arrays["header"]))
    if header["format"] != FORMAT:
        raise LtrValueError(f"the format of the file is {header['format']}, and this version reads format {FORMAT}")
    qid = arrays["qid"] if header["qid"] is None else np.array([*header["qid"], None], dtype=object)[:-1]
    evaluation = Evaluation.of(
        dict(zip(header["metrics"], arrays["values"], strict=True)),
        header["asked"],
        qid=qid,
        n_documents=arrays["n_documents"],
        n_relevant=arrays["n_relevant"],
        weight=arrays.get("weight"),
        policy=Policy(**header["policy"]),
        lower_is_better=frozenset(header["lower_is_better"]),
    )
    return Record(header["parameters"], Split(*(header[name] for name in Split._fields)), evaluation)
