"""An evaluation to one Parquet file and back: a row a query, and a header that says what the numbers are.

The columns are those of a table that anybody can read: ``qid``, ``documents``, ``relevant``, the metrics by name. The header, JSON in
the file's metadata, has the options, the versions and the fingerprint of the data.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics.conventions import Policy
from ltr_metrics.errors import LtrValueError, MissingExtraError
from ltr_metrics.fingerprint import Fingerprint
from ltr_metrics.ids import positions_by_text
from ltr_metrics.inputs import AnyArray, FloatArray
from ltr_metrics.io import write_whole
from ltr_metrics.per_query import Segmentations
from ltr_metrics.plain import plain_id, plain_ids

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
        table = parquet.read_table(path)
        header = json.loads((table.schema.metadata or {})[KEY])
    except KeyError:
        raise LtrValueError(
            f"{path} is a Parquet file, but no saved result: it lacks the header that result.save writes."
        ) from None
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise LtrValueError(
            f"{path} has the format {found!r}, where {FORMAT} is read. Evaluate again with this version, or read it with the one that wrote it."
        )
    if header.pop("checksum", None) != _checksum(table, header):
        raise _damaged(path, "what it holds is not what was written")
    return _fields(table, header)


def _fields(table: Any, header: dict[str, Any]) -> dict[str, Any]:
    column = {name: table.column(name).to_numpy() for name in table.column_names}
    return {
        "values": {name: column[name] for name in header["metrics"]},
        "asked": header["asked"],
        "qid": _ids_from_column(column["qid"], header["qid_as_json"]),
        "n_documents": column["documents"],
        "n_relevant": column["relevant"],
        "weight": column.get("weight"),
        "policy": Policy(**header["policy"]),
        "segments": {
            name: (labels, column[SEGMENT.format(number)].astype(np.intp))
            for number, (name, labels) in enumerate(header["segments"])
        },
        "fingerprint": Fingerprint(lambda: column["fingerprint"], header["unjudged"])
        if "fingerprint" in column
        else None,
    }


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


def _damaged(path: str | os.PathLike[str], why: object) -> LtrValueError:
    return LtrValueError(
        f"{path} is no readable result: {why}. It is damaged, cut off, or no Parquet file; save the result again."
    )


def _ids_to_column(qid: AnyArray) -> tuple[Any, bool]:
    """Return a column of one type: ids of several kinds are written as JSON, or 7 and "7" would become one."""
    if qid.dtype != object and qid.dtype.kind not in "SV":
        return qid if qid.dtype.kind != "U" else qid.tolist(), False
    ids = plain_ids(qid)
    if all(isinstance(one, str) for one in ids):
        return ids, False
    return list(map(json.dumps, ids)), True


def _ids_from_column(ids: AnyArray, as_json: bool) -> AnyArray:
    if not as_json:
        return ids.astype(str) if ids.dtype == object else ids
    return np.array([*map(json.loads, ids), None], dtype=object)[:-1]  # the None keeps NumPy from guessing a type


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
