"""Saved results: an evaluation as a Parquet file, with one row per query and a header.

The columns are those of a readable table: ``qid``, ``documents``, ``relevant``, and the metrics by
name. The header is JSON in the file's metadata. It holds the options, the versions and the
fingerprint of the data.
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

from ltr_metrics._rows.checks import AnyArray
from ltr_metrics._rows.ids import id_texts
from ltr_metrics._rows.plain import plain_id
from ltr_metrics.errors import LtrValueError, import_extra
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.skill import SkillScale
from ltr_metrics.evaluation.values_table import CHANCE, IDEAL
from ltr_metrics.io import write_whole
from ltr_metrics.io.files import naming
from ltr_metrics.metrics.requests import Policy

FORMAT = 2
KEY = b"ltr_metrics"  # of the header in the file's metadata
RESERVED = ("qid", "documents", "relevant", "weight", "cluster", "fingerprint")
SEGMENT = "by:{}"
COUNTED_AS_ONE = "counted as one:{}"  # by metric


def save(path: str | os.PathLike[str], result: Evaluation, about: Mapping[str, Any] | None = None) -> None:
    """Write an evaluation to a file, completely or not at all, with JSON values about it."""
    pyarrow, parquet = import_extra("pyarrow", "report"), import_extra("pyarrow.parquet", "report")
    for metric in result.per_query:
        if metric in RESERVED or metric.startswith((SEGMENT.format(""), CHANCE, IDEAL)):
            raise LtrValueError(f"A metric named {metric!r} cannot be saved, as a column has this name. Rename it.")
    fingerprint = result.fingerprint
    header = {
        "format": FORMAT,
        "versions": versions(),
        "metrics": list(result.per_query),
        "asked": dict(result.per_query.asked),
        "policy": asdict(result.policy),
        "lower_is_better": sorted(result.lower_is_better),
        "segments": [[name, list(map(plain_id, labels))] for name, (labels, _) in result.segments.items()],
        "data": None if fingerprint is None else fingerprint.of_all(result.qid),
        "unjudged": None if fingerprint is None else fingerprint.unjudged,
        "no_skill": dict(result.skill_scale.values.reasons) if result.skill_scale and result.shows_skill else None,
        "about": about,
    }
    columns = {
        "qid": result.qid if result.qid.dtype.kind in "biufmM" else id_texts(result.qid),
        "documents": result.n_documents,
        "relevant": result.n_relevant,
        "weight": result.weight,
        "cluster": result.cluster,
        "fingerprint": None if fingerprint is None else fingerprint.of_query,
        **result.per_query,
        **{SEGMENT.format(number): code for number, (_, code) in enumerate(result.segments.values())},
        **{COUNTED_AS_ONE.format(name): is_one for name, is_one in result.counted_as_one.items()},
        **(_ends(result.skill_scale) if result.skill_scale and result.shows_skill else {}),
    }
    table = pyarrow.table({name: column for name, column in columns.items() if column is not None})
    table = table.replace_schema_metadata({KEY: json.dumps(header).encode()})
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(table, buffer, write_page_checksum=True)
    write_whole(path, buffer.getvalue().to_pybytes())


def _ends(scale: SkillScale) -> dict[str, AnyArray]:
    """Return the columns of both ends of the scale, NaN where the metric is undefined, even if a number fills in."""
    ends = ((CHANCE, scale.values.chance), (IDEAL, scale.values.ideal))
    return {f"{end}{name}": values for end, of_metrics in ends for name, values in of_metrics.items()}


def load_result(path: str | os.PathLike[str]) -> Evaluation:
    """Read a file that `Evaluation.save` has written.

    Ids and labels of segments that are neither numbers nor text come back as text, as do ids of
    several types and integers that int64 cannot hold in a list. Two ids stay two ids.

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
    return load(path)[0]


def load(path: str | os.PathLike[str]) -> tuple[Evaluation, Any]:
    """Return a saved evaluation, and the JSON values about it."""
    parquet = import_extra("pyarrow.parquet", "report")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no saved result {path}.")
    with naming(Path(path)):
        table = parquet.read_table(path, partitioning=None, page_checksum_verification=True)
        column = {name: table.column(name).to_numpy() for name in table.column_names}
        header = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    if not header:
        raise LtrValueError(f"{path} is a Parquet file, but not a saved result: it lacks the header of result.save.")
    if header.get("format") != FORMAT:
        raise LtrValueError(
            f"{path} has the format {header.get('format')!r}, and this version reads format {FORMAT}. Files of format "
            "1 lack the checksums by which Parquet detects damage. Evaluate and save again."
        )
    try:
        return _evaluation(column, header), header["about"]
    except (KeyError, TypeError, ValueError) as error:
        raise LtrValueError(f"{path} has a damaged header: {error!r}. Save the result again.") from error


def _evaluation(column: dict[str, AnyArray], header: dict[str, Any]) -> Evaluation:
    hashes = column.get("fingerprint")
    is_text = column["qid"].dtype == object
    policy, names, no_skill = header["policy"], header["metrics"], header.get("no_skill")
    ends = [{name: column[f"{end}{name}"] for name in names if no_skill is not None} for end in (CHANCE, IDEAL)]
    policy["weighs_undefined_as_one"] = tuple(policy["weighs_undefined_as_one"])  # a list in JSON
    return Evaluation.of(
        {name: column[name] for name in names},
        header["asked"],
        qid=column["qid"].astype(np.str_) if is_text else column["qid"],
        n_documents=column["documents"],
        n_relevant=column["relevant"],
        weight=column.get("weight"),
        policy=Policy(**policy),
        segments={
            name: (labels, column[SEGMENT.format(number)]) for number, (name, labels) in enumerate(header["segments"])
        },
        fingerprint=None if hashes is None else Fingerprint(lambda: hashes, header["unjudged"]),
        lower_is_better=frozenset(header["lower_is_better"]),
        cluster=column.get("cluster"),
        counted_as_one={
            name: column[COUNTED_AS_ONE.format(name)] for name in names if COUNTED_AS_ONE.format(name) in column
        },
        skill_scale=None if no_skill is None else SkillScale.of_values(*ends, no_skill),
        shows_skill=no_skill is not None,
    )


def versions() -> dict[str, str]:
    """Return the versions that the values may depend on."""
    from ltr_metrics import __version__

    return {"ltr_metrics": __version__, "numpy": np.__version__, "python": platform.python_version()}
