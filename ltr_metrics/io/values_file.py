"""A file of values per query, as other tools write it, becomes a table."""

from __future__ import annotations

import re
from itertools import compress
from pathlib import Path
from typing import Any

from ltr_metrics._rows.checks import is_number_text
from ltr_metrics.errors import LtrValueError, warn
from ltr_metrics.evaluation.values_table import NO_METRICS, QUERY_IDS, TREC_EVAL, meaning_in, names_of_version_10
from ltr_metrics.io.files import blocks_of_lines, decode, first_bytes, naming
from ltr_metrics.io.tables import header_of, read_ids, table_kind
from ltr_metrics.metrics.names import is_metric_name
from ltr_metrics.metrics.other_names import complete_name

_OF_RANKLIB = re.compile("MAP|[A-Z]+@[0-9]+")  # MAP, NDCG@10: names that trec_eval does not print


def read_values(path: Path, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a file of values per query as a table, and the options with the convention that its form tells.

    A file that is no table has lines of three words: measure, topic and value of trec_eval and RankLib, or ir_measures'
    topic, measure and value.
    """
    words = first_bytes(path, 1000).partition(b"\n")[0].split()
    if len(words) != 3 or not (is_number_text(words[2]) or words[0] == b"runid"):
        if table_kind(path) == "":
            raise LtrValueError(
                f"{path} has no values per query. --result reads files of --save, tables with a column qid and one "
                "per metric, and what trec_eval -q prints."
            )
        return read_ids(path, [name for name in header_of(path) if name in QUERY_IDS][:1]), options
    rows: list[list[str]] = []
    with naming(path):
        for lines, n_before in blocks_of_lines(path):
            for number, line in enumerate(lines, start=n_before + 1):
                words = line.split()
                if len(words) not in (0, 3):
                    raise LtrValueError(f"{path}:{number}: a line must be 'measure topic value'. Got {line!r:.80}.")
                rows += [decode(words, path)] if words else []
    first, second, value = map(list, zip(*rows, strict=True))
    if is_metric_name(second[0]):  # of ir_measures
        return {"qid": first, "measure": second, "value": value}, options
    of_version_10 = names_of_version_10(first)
    first = [of_version_10.get(name, name) for name in first]
    unknown = [name for name in dict.fromkeys(first) if not (complete_name(name) or meaning_in(name, TREC_EVAL))]
    if others := [name for name in unknown if not name.startswith(NO_METRICS)]:
        warn(f"These measures of {path} are left out, which have no counterpart here: {', '.join(others)}.")
    kept = [name not in unknown for name in first]
    table = {
        "qid": list(compress(second, kept)),
        "measure": list(compress(first, kept)),
        "value": list(compress(value, kept)),
    }
    is_of_ranklib = any(map(_OF_RANKLIB.fullmatch, first))  # whose conventions the user names
    return table, options if is_of_ranklib else options | {"convention": options["convention"] or "trec_eval"}
