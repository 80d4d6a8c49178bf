"""The file of a saved result: a Parquet table with one row per query, and a header.

The columns are those of a readable table: ``qid``, ``documents``, ``relevant``, and the metrics by
name. The header is JSON in the file's metadata. It holds the options, the versions and the
fingerprint of the data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, as_ids
from ltr_metrics._rows.ids import codes_by_first_appearance, id_texts
from ltr_metrics._rows.json_values import json_id
from ltr_metrics._rows.per_query import Labels
from ltr_metrics.errors import LtrValueError, import_extra
from ltr_metrics.evaluation.by_metric import ByMetric
from ltr_metrics.evaluation.fingerprint import Fingerprint
from ltr_metrics.evaluation.skill import CHANCE, IDEAL, SkillScale
from ltr_metrics.evaluation.versions import versions
from ltr_metrics.io import write_whole
from ltr_metrics.io.files import DAMAGE, content_of, naming
from ltr_metrics.io.tables import table_kind
from ltr_metrics.metrics.requests import Policy

FORMAT = 2
KEY = b"ltr_metrics"  # of the header in the file's metadata
RESERVED = ("qid", "documents", "relevant", "weight", "cluster", "fingerprint")
SEGMENT = "by:{}"
COUNTED_AS_ONE = "counted as one:{}"  # by metric


def write(path: str | os.PathLike[str], fields: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> None:
    """Write the fields of an `Evaluation` to a file, completely or not at all, with JSON values about it."""
    require_ending(Path(path))
    pyarrow, parquet = import_extra("pyarrow", "report"), import_extra("pyarrow.parquet", "report")
    per_query, qid, fingerprint = fields["per_query"], fields["qid"], fields["fingerprint"]
    scale, clusters = fields["skill_scale"] if fields["shows_skill"] else None, fields["cluster_labels"]
    for metric in per_query:
        if metric in RESERVED or metric.startswith((SEGMENT.format(""), CHANCE, IDEAL)):
            raise LtrValueError(f"A metric named {metric!r} cannot be saved, as a column has this name. Rename it.")
    header = {
        "format": FORMAT,
        "versions": versions() | {"ltr_metrics": fields["version"]},
        "metrics": list(per_query),
        "asked": dict(per_query.asked),
        "policy": asdict(fields["policy"]),
        "lower_is_better": sorted(fields["lower_is_better"]),
        "segments": [[name, list(map(json_id, labels))] for name, (labels, _) in fields["segments"].items()],
        "data": None if fingerprint is None else fingerprint.of_all(qid),
        "unjudged": None if fingerprint is None else fingerprint.unjudged,
        "no_skill": None if scale is None else dict(scale.values.reasons),
        "cluster": "labels",  # in the column, and not numbers, as in files of older versions
        "about": about,
    }
    columns = {
        "qid": _column_of_ids(qid),
        "documents": fields["n_documents"],
        "relevant": fields["n_relevant"],
        "weight": fields["weight"],
        "cluster": None if clusters is None else _column_of_ids(as_ids(clusters[0], "cluster"))[clusters[1]],
        "fingerprint": None if fingerprint is None else fingerprint.of_query,
        **per_query,
        **{SEGMENT.format(number): code for number, (_, code) in enumerate(fields["segments"].values())},
        **{COUNTED_AS_ONE.format(name): is_one for name, is_one in fields["counted_as_one"].items()},
        **({} if scale is None else _ends(scale)),
    }
    table = pyarrow.table({name: column for name, column in columns.items() if column is not None})
    table = table.replace_schema_metadata({KEY: json.dumps(header).encode()})
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(table, buffer, write_page_checksum=True)
    write_whole(path, buffer.getvalue().to_pybytes())


def _column_of_ids(ids: AnyArray) -> AnyArray:
    return ids if ids.dtype.kind in "biufmM" else np.array(id_texts(ids), dtype=object)


def require_ending(path: Path) -> None:
    """Refuse a name that promises another format than Parquet."""
    if path.suffix.lower() not in ("", ".parquet", ".pq"):
        raise LtrValueError(
            f"A saved result is a Parquet file, so its name must end in .parquet. Got {path}. Values per query as CSV "
            "are result.to_pandas().to_csv(path), or evaluate --format csv --output FILE."
        )


def _ends(scale: SkillScale) -> dict[str, AnyArray]:
    """Return the columns of both ends of the scale, NaN where the metric is undefined, even if a number fills in."""
    ends = ((CHANCE, scale.values.chance), (IDEAL, scale.values.ideal))
    return {f"{end}{name}": values for end, of_metrics in ends for name, values in of_metrics.items()}


def is_table_of_another_tool(path: Path) -> bool:
    """Whether a file is not a saved result, but may be a table of values per query."""
    if table_kind(path) != "parquet":
        return True
    with suppress(*DAMAGE):
        return KEY not in (import_extra("pyarrow.parquet", "report").read_schema(path).metadata or {})
    return False


def read(path: str | os.PathLike[str]) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the columns and the header of a file; its values are not checked."""
    parquet = import_extra("pyarrow.parquet", "report")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no saved result {path}.")
    if table_kind(Path(path)) == "csv" and not content_of(Path(path)):
        raise LtrValueError(
            f"{path} is a CSV file, and a saved result is a Parquet file. Read values per query with "
            "Evaluation.from_per_query(pandas.read_csv(path)), or compare them by ltr-metrics compare --result."
        )
    with naming(Path(path)):
        table = parquet.read_table(path, partitioning=None, page_checksum_verification=True)
        column = {name: table.column(name).to_numpy() for name in table.column_names}
        header = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    if not isinstance(header, dict):
        raise LtrValueError(f"{path} has a damaged header: {header!r:.80}. Save the result again.")
    if not header:
        raise LtrValueError(f"{path} is a Parquet file, but not a saved result: it lacks the header of result.save.")
    policy = header.get("policy")
    is_other = isinstance(policy, dict) and policy.keys() != Policy.__dataclass_fields__.keys()
    has_numbers = "cluster" in column and header.get("cluster") != "labels"  # of clusters, whose labels are lost
    if header.get("format") != FORMAT or is_other or has_numbers:
        raise LtrValueError(
            f"{path} was saved by another version of ltr_metrics, whose results this version does not read, unless its "
            "header is damaged. Evaluate again, and save the result."
        )
    return column, header


def fields_from(column: Mapping[str, AnyArray], header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an `Evaluation` without the means."""
    hashes = column.get("fingerprint")
    is_text = column["qid"].dtype == object
    policy, names, no_skill = header["policy"], header["metrics"], header.get("no_skill")
    ends = [{name: column[f"{end}{name}"] for name in names if no_skill is not None} for end in (CHANCE, IDEAL)]
    policy["weighs_undefined_as_one"] = tuple(policy["weighs_undefined_as_one"])  # a list in JSON
    return {
        "per_query": ByMetric({name: column[name] for name in names}, header["asked"]),
        "qid": column["qid"].astype(np.str_) if is_text else column["qid"],
        "n_documents": column["documents"],
        "n_relevant": column["relevant"],
        "weight": column.get("weight"),
        "policy": Policy(**policy),
        "segments": {
            name: (labels, column[SEGMENT.format(number)]) for number, (name, labels) in enumerate(header["segments"])
        },
        "fingerprint": None if hashes is None else Fingerprint(lambda: hashes, header["unjudged"]),
        "lower_is_better": frozenset(header["lower_is_better"]),
        "cluster_labels": _labels_of(column["cluster"]) if "cluster" in column else None,
        "counted_as_one": {
            name: column[COUNTED_AS_ONE.format(name)] for name in names if COUNTED_AS_ONE.format(name) in column
        },
        "skill_scale": None if no_skill is None else SkillScale.of_values(*ends, no_skill),
        "shows_skill": no_skill is not None,
        "version": header["versions"]["ltr_metrics"],
    }


def _labels_of(clusters: AnyArray) -> Labels:
    labels, code = codes_by_first_appearance(clusters, "cluster")
    return labels.tolist(), code
