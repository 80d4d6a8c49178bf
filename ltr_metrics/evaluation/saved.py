"""Saved results: an evaluation as a Parquet file, with one row per query and a header.

The columns are those of a readable table: ``qid``, ``documents``, ``relevant``, and the metrics by
name. The header is JSON in the file's metadata. It holds the options, the versions and the
fingerprint of the data.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Hashable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ltr_metrics._engine.checks import AnyArray, IntArray, require_option
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics._engine.ids import positions_by_text
from ltr_metrics._engine.plain import plain_id, plain_ids
from ltr_metrics._engine.words import Unjudged
from ltr_metrics.errors import LtrValueError, import_extra
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io import write_whole
from ltr_metrics.metrics.conventions import TIES, checked_no_relevant
from ltr_metrics.metrics.requests import Policy

FORMAT = 1
KEY = b"ltr_metrics"  # of the header in the file's metadata
RESERVED = ("qid", "documents", "relevant", "weight", "cluster", "fingerprint")
SEGMENT = "by:{}"


def save(path: str | os.PathLike[str], result: Evaluation) -> None:
    """Write an evaluation to a file, completely or not at all."""
    pyarrow, parquet = import_extra("pyarrow", "report"), import_extra("pyarrow.parquet", "report")
    columns, qid_as_json = _columns(result)
    fingerprint = result.fingerprint
    header = {
        "format": FORMAT,
        "versions": versions(),
        "metrics": list(result.per_query),
        "asked": dict(result.per_query.asked),
        "policy": asdict(result.policy),
        "lower_is_better": sorted(result.lower_is_better),
        "segments": [[name, list(map(plain_id, labels))] for name, (labels, _) in result.segments.items()],
        "qid_as_json": qid_as_json,
        "data": None if fingerprint is None else fingerprint.of_all(result.qid),
        "unjudged": None if fingerprint is None else fingerprint.unjudged,
    }
    table = pyarrow.table(columns)
    header["checksum"] = _checksum(table, header)
    table = table.replace_schema_metadata({KEY: json.dumps(header).encode()})
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(table, buffer)
    write_whole(path, buffer.getvalue().to_pybytes())


def _columns(result: Evaluation) -> tuple[dict[str, Any], bool]:
    """Return the columns of the file, and whether the ids among them are written as JSON."""
    ids, qid_as_json = _ids_to_column(result.qid)
    positions_by_text(result.qid, "The result")
    columns = {"qid": ids, "documents": result.n_documents, "relevant": result.n_relevant}
    if result.weight is not None:
        columns["weight"] = result.weight
    if result.cluster is not None:
        columns["cluster"] = result.cluster
    if result.fingerprint is not None:
        columns["fingerprint"] = result.fingerprint.of_query
    for metric, values in result.per_query.items():
        if metric in RESERVED or metric.startswith(SEGMENT.format("")):
            raise LtrValueError(
                f"A metric named {metric!r} cannot be saved, because the file has another column of that name. "
                "Rename the metric."
            )
        columns[metric] = values
    for number, (_, code) in enumerate(result.segments.values()):
        columns[SEGMENT.format(number)] = code
    return columns, qid_as_json


def load_result(path: str | os.PathLike[str]) -> Evaluation:
    """Read a file that `Evaluation.save` has written.

    Ids and labels of segments that are neither numbers nor text come back as text.

    Parameters
    ----------
    path : path
        The file to read.

    Returns
    -------
    Evaluation
        Its values are equal to the saved ones, to the bit.

    Raises
    ------
    LtrValueError
        If the file is damaged, truncated, of another kind or of another format.
    FileNotFoundError
        If there is no such file.
    MissingExtraError
        If pyarrow is not installed.

    See Also
    --------
    Evaluation.save : Write the file.
    compare : Compare a saved result with a new one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import ltr_metrics as ltr
    >>> result = ltr.evaluate([1, 0, 0, 2], [0.2, 0.8, 0.1, 0.7], qid=["a", "a", "b", "b"], metrics=["mrr"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "production.parquet"
    >>> result.save(path)
    >>> ltr.load_result(path).per_query["mrr"]
    array([0.5, 1. ])
    """
    pyarrow, parquet = import_extra("pyarrow", "report"), import_extra("pyarrow.parquet", "report")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no saved result {path}.")
    try:
        # Given the path, pyarrow would read a folder named a=1 as a column.
        with pyarrow.OSFile(str(path)) as file:
            table = parquet.read_table(file)
        table.validate(full=True)
        header = _header(table)
        if header.get("format") == FORMAT:
            return _evaluation(table, header)
    except Exception as error:  # pyarrow, JSON and NumPy raise many kinds for damaged files
        why = error if isinstance(error, LtrValueError) else f"{type(error).__name__}: {error}"
        raise LtrValueError(
            f"{path} cannot be read as a saved result: {why}. The file is damaged, cut off, or not a Parquet file. "
            "Save the result again."
        ) from error
    if not header:
        raise LtrValueError(
            f"{path} is a Parquet file, but not a saved result: it lacks the header that result.save writes."
        )
    raise LtrValueError(
        f"{path} has the format {header.get('format')!r}, but this version reads format {FORMAT}. Evaluate again with "
        "this version, or read the file with the version that wrote it."
    )


def _header(table: Any) -> dict[str, Any]:
    """Return the header; empty if the file has none."""
    text = (table.schema.metadata or {}).get(KEY)
    header = {} if text is None else json.loads(text)
    _require(isinstance(header, dict), "its header is not a JSON object")
    return dict(header)


def _require(condition: bool, fault: str) -> None:
    if not condition:
        raise LtrValueError(fault)


# -- the content is checked, because somebody may have changed it and computed its checksum again --


def _evaluation(table: Any, header: dict[str, Any]) -> Evaluation:
    _require(header.pop("checksum", None) == _checksum(table, header), "its content has changed since it was written")
    metrics, asked = header["metrics"], header["asked"]
    _require(_are_texts(metrics) and len(set(metrics)) == len(metrics) > 0, "its metrics are not a list of names")
    _require(isinstance(asked, dict) and set(asked.values()) <= set(metrics), "a requested name belongs to no metric")
    lower_is_better = header["lower_is_better"]
    _require(_are_texts(lower_is_better), "its directions of metrics are not a list of names")
    _require(header["unjudged"] in (None, *get_args(Unjudged)), "its treatment of unjudged documents is unknown")
    weight = _column(table, "weight", "f") if "weight" in table.column_names else None
    _require(weight is None or bool((np.isfinite(weight) & (weight >= 0)).all()), "a weight is negative or not finite")
    hashes = _column(table, "fingerprint", "u") if "fingerprint" in table.column_names else None
    cluster = _column(table, "cluster", "iu").astype(np.intp) if "cluster" in table.column_names else None
    qid = _ids_from_column(table, header["qid_as_json"])
    positions_by_text(qid, "it")
    return Evaluation.of(
        {name: _column(table, name, "f") for name in metrics},
        asked,
        qid=qid,
        n_documents=_column(table, "documents", "iu"),
        n_relevant=_column(table, "relevant", "iu"),
        weight=weight,
        policy=_policy(header["policy"]),
        segments={
            name: _segments(table, number, name, labels) for number, (name, labels) in enumerate(header["segments"])
        },
        fingerprint=None if hashes is None else Fingerprint(lambda: hashes, header["unjudged"]),
        lower_is_better=frozenset(lower_is_better),
        cluster=cluster,
    )


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def _column(table: Any, name: str, kinds: str) -> AnyArray:
    """Return a column of one of these kinds of numbers, without missing values."""
    column = table.column(name)
    values: AnyArray = column.to_numpy()
    _require(
        column.null_count == 0 and values.dtype.kind in kinds, f"its column {name!r} has another type or missing values"
    )
    return values


def _policy(fields: dict[str, Any]) -> Policy:
    policy = Policy(**fields)
    require_option("ties", policy.ties, TIES)
    _require(isinstance(policy.convention, str), "its convention is not a name")
    _require(isinstance(policy.no_relevant_of, dict), "no_relevant_of is not an object")
    for value in (policy.no_relevant, *policy.no_relevant_of.values()):
        checked_no_relevant(value)
    return policy


def _segments(table: Any, number: int, name: Any, labels: Any) -> tuple[list[Hashable], IntArray]:
    code = _column(table, SEGMENT.format(number), "iu").astype(np.intp)
    _require(name is None or isinstance(name, str), "a segmentation has no name")
    _require(isinstance(labels, list) and all(map(_is_plain, labels)), f"the segments of {name!r} have no labels")
    _require(bool(((code >= 0) & (code < len(labels))).all()), f"a query belongs to an unknown segment of {name!r}")
    return labels, code


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _checksum(table: Any, header: Mapping[str, Any]) -> str:
    """Return a hash of the header and all columns; Parquet itself detects few flipped bits."""
    import hashlib

    checksum = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in table.column_names:
        values = table.column(name).to_numpy()
        is_text = values.dtype == object
        checksum.update(f"{name} {'text' if is_text else values.dtype.str}".encode())
        checksum.update(json.dumps(values.tolist()).encode() if is_text else np.ascontiguousarray(values).tobytes())
    return checksum.hexdigest()


def _ids_to_column(qid: AnyArray) -> tuple[Any, bool]:
    """Return the ids as a column of one type, and whether they are written as JSON.

    Ids of several types are, because 7 and "7" would otherwise become one id.
    """
    if qid.dtype != object and qid.dtype.kind not in "SV":
        return qid if qid.dtype.kind != "U" else qid.tolist(), False
    ids = plain_ids(qid)
    if all(isinstance(one, str) for one in ids):
        return ids, False
    return list(map(json.dumps, ids)), True


def _ids_from_column(table: Any, as_json: Any) -> AnyArray:
    """Return the ids as they were saved."""
    column = table.column("qid")
    if not column.null_count and column.type in ("string", "large_string"):
        ids = column.to_pylist()
        if as_json is False:
            return as_ids(ids, "qid")
        parsed = list(map(json.loads, ids))
        _require(all(map(_is_plain, parsed)), "an id is neither text nor a number")
        return np.array([*parsed, None], dtype=object)[:-1]  # without None, NumPy would guess a type
    _require(as_json is False, "its ids are not JSON")
    return _column(table, "qid", "biufmM")


def versions() -> dict[str, str]:
    """Return the versions that the values may depend on."""
    from ltr_metrics import __version__

    return {"ltr_metrics": __version__, "numpy": np.__version__, "python": platform.python_version()}
