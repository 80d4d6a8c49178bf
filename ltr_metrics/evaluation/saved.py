"""An evaluation to one Parquet file and back: a row a query, and a header that says what the numbers are.

The columns are those of a table that anybody can read: ``qid``, ``documents``, ``relevant``, the metrics by name. The header, JSON in
the file's metadata, has the options, the versions and the fingerprint of the data.
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

from ltr_metrics._engine.checks import AnyArray, FloatArray, IntArray, require_option
from ltr_metrics._engine.grouping import as_ids
from ltr_metrics._engine.ids import positions_by_text
from ltr_metrics._engine.per_query import Segmentations
from ltr_metrics._engine.plain import plain_id, plain_ids
from ltr_metrics._engine.words import Unjudged
from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.io import write_whole
from ltr_metrics.metrics.conventions import TIES, checked_no_relevant
from ltr_metrics.metrics.requests import Policy

FORMAT = 1
KEY = b"ltr_metrics"  # of the header among the file's metadata
OWN = ("qid", "documents", "relevant", "weight", "fingerprint")
SEGMENT = "by:{}"


def save(
    path: str | os.PathLike[str],
    values: Mapping[str, FloatArray],
    *,
    asked: Mapping[str, str],
    qid: AnyArray,
    n_documents: AnyArray,
    n_relevant: AnyArray,
    weight: FloatArray | None,
    policy: Policy,
    segments: Segmentations,
    fingerprint: Fingerprint | None,
) -> None:
    """Write the file, whole or not at all."""
    pyarrow, parquet = _libraries()
    own = {"qid": qid, "documents": n_documents, "relevant": n_relevant, "weight": weight}
    own["fingerprint"] = None if fingerprint is None else fingerprint.of_query
    columns = {name: column for name, column in own.items() if column is not None}
    columns["qid"], qid_as_json = _ids_to_column(qid)
    positions_by_text(qid, "The result")
    for metric, of_query in values.items():
        if metric in OWN or metric.startswith(SEGMENT.format("")):
            raise LtrValueError(f"A metric named {metric!r} cannot be saved, for the file has a column of that name.")
        columns[metric] = of_query
    for number, (_, code) in enumerate(segments.values()):
        columns[SEGMENT.format(number)] = code
    header = {
        "format": FORMAT,
        "versions": versions(),
        "metrics": list(values),
        "asked": dict(asked),
        "policy": asdict(policy),
        "segments": [[name, list(map(plain_id, labels))] for name, (labels, _) in segments.items()],
        "qid_as_json": qid_as_json,
        "data": None if fingerprint is None else fingerprint.of_all(qid),
        "unjudged": None if fingerprint is None else fingerprint.unjudged,
    }
    table = pyarrow.table(columns)
    header["checksum"] = _checksum(table, header)
    table = table.replace_schema_metadata({KEY: json.dumps(header).encode()})
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(table, buffer)
    write_whole(path, buffer.getvalue().to_pybytes())


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `save` was given."""
    pyarrow, parquet = _libraries()
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no saved result {path}.")
    try:
        with pyarrow.OSFile(str(path)) as file:  # by its path, a folder named like a=1 would become a column
            table = parquet.read_table(file)
        table.validate(full=True)
        header = _header(table)
        if header.get("format") == FORMAT:
            return _fields(table, header)
    except Exception as error:  # whatever a damaged file leads pyarrow, JSON and NumPy to
        why = error if isinstance(error, LtrValueError) else f"{type(error).__name__}: {error}"
        raise LtrValueError(
            f"{path} is no readable result: {why}. It is damaged, cut off, or no Parquet file; save the result again."
        ) from error
    if not header:
        raise LtrValueError(
            f"{path} is a Parquet file, but no saved result: it lacks the header that result.save writes."
        )
    raise LtrValueError(
        f"{path} has the format {header.get('format')!r}, where {FORMAT} is read. Evaluate again with this version, or read it with "
        "the one that wrote it."
    )


def _header(table: Any) -> dict[str, Any]:
    """Return the header, which is empty where there is none."""
    text = (table.schema.metadata or {}).get(KEY)
    header = {} if text is None else json.loads(text)
    _require(isinstance(header, dict), "its header is no JSON object")
    return dict(header)


def _require(condition: bool, fault: str) -> None:
    if not condition:
        raise LtrValueError(fault)


# -- what a file holds is checked, for anybody may have changed it and computed its checksum again -----------------------


def _fields(table: Any, header: dict[str, Any]) -> dict[str, Any]:
    _require(header.pop("checksum", None) == _checksum(table, header), "what it holds is not what was written")
    metrics, asked = header["metrics"], header["asked"]
    _require(_are_texts(metrics) and len(set(metrics)) == len(metrics) > 0, "its metrics are no list of names")
    _require(isinstance(asked, dict) and set(asked.values()) <= set(metrics), "a name asked for is of no metric")
    _require(header["unjudged"] in (None, *get_args(Unjudged)), "its treatment of unjudged documents is unknown")
    has = set(table.column_names)
    weight = _column(table, "weight", "f") if "weight" in has else None
    _require(weight is None or bool((np.isfinite(weight) & (weight >= 0)).all()), "a weight is no weight")
    of_query = _column(table, "fingerprint", "u") if "fingerprint" in has else None
    qid = _ids_from_column(table, header["qid_as_json"])
    positions_by_text(qid, "it")
    return {
        "values": {name: _column(table, name, "f") for name in metrics},
        "asked": asked,
        "qid": qid,
        "n_documents": _column(table, "documents", "iu"),
        "n_relevant": _column(table, "relevant", "iu"),
        "weight": weight,
        "policy": _policy(header["policy"]),
        "segments": {
            name: _segments(table, number, name, labels) for number, (name, labels) in enumerate(header["segments"])
        },
        "fingerprint": None if of_query is None else Fingerprint(lambda: of_query, header["unjudged"]),
    }


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def _column(table: Any, name: str, kinds: str) -> AnyArray:
    """Return a column without missing values, of the kinds of numbers that it may hold."""
    column = table.column(name)
    values: AnyArray = column.to_numpy()
    _require(column.null_count == 0 and values.dtype.kind in kinds, f"its column {name!r} is of another kind")
    return values


def _policy(fields: dict[str, Any]) -> Policy:
    made = Policy(**fields)
    require_option("ties", made.ties, TIES)
    _require(isinstance(made.convention, str), "its convention is no name")
    _require(isinstance(made.no_relevant_of, dict), "its policy of single metrics is no object")
    for value in (made.no_relevant, *made.no_relevant_of.values()):
        checked_no_relevant(value)
    return made


def _segments(table: Any, number: int, name: Any, labels: Any) -> tuple[list[Hashable], IntArray]:
    code = _column(table, SEGMENT.format(number), "iu").astype(np.intp)
    _require(name is None or isinstance(name, str), "a segmentation has no name")
    _require(isinstance(labels, list) and all(map(_is_plain, labels)), f"the segments of {name!r} have no labels")
    _require(bool(((code >= 0) & (code < len(labels))).all()), f"a query is of an unknown segment of {name!r}")
    return labels, code


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _checksum(table: Any, header: Mapping[str, Any]) -> str:
    """Return what a flipped bit anywhere changes; Parquet itself notices few."""
    import hashlib

    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in table.column_names:
        values = table.column(name).to_numpy()
        text = values.dtype == object
        found.update(f"{name} {'text' if text else values.dtype.str}".encode())
        found.update(json.dumps(values.tolist()).encode() if text else np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def _ids_to_column(qid: AnyArray) -> tuple[Any, bool]:
    """Return a column of one type: ids of several kinds are written as JSON, or 7 and "7" would become one."""
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
        read = list(map(json.loads, ids))
        _require(all(map(_is_plain, read)), "an id is neither text nor a number")
        return np.array([*read, None], dtype=object)[:-1]  # the None keeps NumPy from guessing a type
    _require(as_json is False, "its ids are no JSON")
    return _column(table, "qid", "biufmM")


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    from ltr_metrics import __version__

    return {"ltr_metrics": __version__, "numpy": np.__version__, "python": platform.python_version()}


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    return pyarrow, parquet
