"""Damaged files: a reader reads them, or refuses them with an error of the package or of the operating system.

Another error, the end of the process and a hang are faults. One process tries the files of a format, and says
which case it tries: ``python tests/fuzz/test_damaged_files.py FORMAT SEED FIRST STOP`` repeats some of them.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

import ltr_metrics as ltr
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import letor_batches, read_letor, read_scores, read_table, read_trec, table_batches
from ltr_metrics.io.values_file import read_values

ALLOWED = (ltr.LtrError, OSError)
COMPRESS: dict[str, Any] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    ".zip": lambda content: zipped(content),
}
TOKENS = (b"nan", b"-1", b"1e999", b"99999999999999999999", b"qid:", b"#", b'"', b",", b"\n", b"\0", b"\xff", b"{")
N_CASES, SECONDS = 60, 300
X, y, qid = ltr.make_ranking(n_queries=6, documents=5, n_features=3, random_state=0)
ROWS = pd.DataFrame({"qid": qid, "label": y, "s": X[:, 0], "device": np.where(qid % 2, "phone", "desk"), "w": 1.0})
ROWS["doc"] = [f"D{i}" for i in range(len(y))]
IMPRESSION = """\
{"query": "q1", "rankings": {"old": ["a", "b"], "new": ["b", "a"]}, "shown": ["a", "b"], "teams": ["old", "new"], "clicks": [0]}
"""


def zipped(content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.csv", content)
    return archive.getvalue()


def lines(template: str) -> str:
    return "".join(template.format(**row) for row in ROWS.to_dict("records"))


def use_table(path: Path) -> None:
    with suppress(*ALLOWED):
        frame = read_table(path, columns=["s"], text=["doc"])
        ltr.evaluate(frame["label"], frame["s"], qid=frame["qid"])
    read = table_batches(path, numbers=["label", "s", "w"], text=["qid", "doc", "device"])
    ltr.evaluate_batches(read, scores={"a": "s"}, docid="doc", weight="w", by="device")


def use_letor(path: Path) -> None:
    with suppress(*ALLOWED):
        rows = read_letor(path)
        ltr.evaluate(rows.y, rows.X.sum(axis=1), qid=rows.qid, docid=rows.docid)  # cut off, X may have no column
    ltr.evaluate_batches(letor_batches(path), scores={"a": "1"})


def use_trec(path: Path) -> None:
    ltr.evaluate(**read_trec(path.with_name("qrels"), path.with_name("run"), topics="qrels"))


def use_result(path: Path) -> None:
    result = ltr.load_result(path)
    str(result), result.to_dict(), result.by, result.to_pandas()
    ltr.compare({"a": result, "b": result}, n_resamples=100)


def use_values(path: Path) -> None:
    values, options = read_values(path, {"convention": None})
    ltr.Evaluation.from_per_query(values, **options)


def use_search_log(path: Path) -> None:
    ltr.SearchLog(path.parent).to_pandas()
    ltr.SearchLog(path.parent).candidates()


def evaluation() -> ltr.Evaluation:
    return ltr.evaluate(y, ROWS["s"], qid=ROWS["qid"].map("q{}".format), by=ROWS["device"], sample_weight=ROWS["w"])


def write_search_log(path: Path) -> None:
    ltr.SearchLog(path.parent).record({"depth": 3}, evaluation(), "test")
    next(path.parent.glob("*.parquet")).replace(path)


def write_text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(COMPRESS.get(path.suffix, bytes)(text.encode()))


LETOR, CSV = lines("{label} qid:{qid} 1:{s!r} # docid = {doc}\n"), ROWS.to_csv(index=False)
RUN = {"qrels": lines("{qid} 0 {doc} {label}\n"), "run": lines("{qid} Q0 {doc} 1 {s!r} me\n")}
SIZES = {
    "a.txt": lines("{label} 1:{s!r}\n"),
    "a.txt.query": "".join(f"{n}\n" for n in ltr.qid_to_group(qid)),
    "a.txt.weight": "1\n" * len(y),
}
FORMATS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {  # file: how it is written, and used
    "letor.txt": (write_text(LETOR), use_letor),
    "letor.txt.gz": (write_text(LETOR), use_letor),
    "letor.txt.bz2": (write_text(LETOR), use_letor),
    "letor.txt.xz": (write_text(LETOR), use_letor),
    "a.txt.query": (write_text(SIZES["a.txt.query"]), lambda path: use_letor(path.with_suffix(""))),
    "a.csv": (write_text(CSV), use_table),
    "a.csv.gz": (write_text(CSV), use_table),
    "a.csv.zst": (write_text(CSV), use_table),
    "a.csv.zip": (write_text(CSV), use_table),
    "semicolons.csv": (write_text(CSV.replace(",", ";").replace(".", ",")), use_table),
    "a.jsonl": (lambda path: ROWS.to_json(path, orient="records", lines=True), use_table),
    "a.parquet.zst": (lambda path: path.write_bytes(COMPRESS[".zst"](ROWS.to_parquet(None))), use_table),
    "ranklib.txt": (write_text("".join(f"q\t{i}\t{s!r}\n" for i, s in enumerate(X[:, 0].tolist()))), read_scores),
    "a.txt.weight": (write_text(SIZES["a.txt.weight"]), lambda path: use_letor(path.with_suffix(""))),
    "values.txt": (write_text("map 1 0.5\nP_5 1 0.4\nmap 2 0.7\nP_5 2 0.2\nmap all 0.6\n"), use_values),
    "a.tsv": (write_text(CSV.replace(",", "\t")), use_table),
    "a.parquet": (lambda path: ROWS.to_parquet(path, row_group_size=8), use_table),
    "a.feather": (lambda path: feather.write_feather(ROWS, str(path), compression="lz4"), use_table),
    "a.npy": (lambda path: np.save(path, ROWS["s"].to_numpy()), read_scores),
    "scores.txt": (write_text(lines("{s!r}\n")), read_scores),
    "qrels": (write_text(RUN["qrels"]), use_trec),
    "run": (write_text(RUN["run"]), use_trec),
    "result.parquet": (lambda path: evaluation().save(path), use_result),
    "score.parquet": (write_search_log, use_search_log),
    "log.jsonl": (write_text(IMPRESSION * 6), lambda path: list(read_impressions(path))),
}


def damaged(rng: Random, content: bytes) -> bytes:
    """Cut the content, or flip, remove, overwrite, repeat or insert some bytes, one to three times."""
    for _ in range(rng.randint(1, 3)):
        at, n = rng.randrange(len(content) + 1), rng.choice((1, 2, 8, 100))
        before, piece, after = content[:at], content[at : at + n], content[at + n :]
        by = rng.choice((b"", piece * 2, rng.randbytes(n), bytes(n), rng.choice(TOKENS) + piece, None, piece[:1]))
        if by == piece[:1] and piece:
            by = bytes([piece[0] ^ (1 << rng.randrange(8))]) + piece[1:]
        content = before if by is None else before + by + after
    return content


def main(name: str, seed: str, first: str, stop: str) -> None:
    """Try some cases, print each number before it is tried, and at the end how many were refused."""
    warnings.simplefilter("ignore")
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a damaged length must not take all of the machine
    write, use = FORMATS[name]
    path = Path(tempfile.mkdtemp()) / name
    for beside, text in (RUN if name in RUN else SIZES if name in SIZES else {}).items():
        path.with_name(beside).write_text(text)
    write(path)
    use(path)  # before it is damaged
    whole, refused = path.read_bytes(), 0
    for case in range(int(first), int(stop)):
        print("case", case, flush=True)
        path.write_bytes(damaged(Random(f"{name} {seed} {case}"), whole))
        try:
            use(path)
        except ALLOWED:
            refused += 1
    print("refused", refused)


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.integration
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(name: str) -> None:
    multiple = float(os.environ.get("LTR_METRICS_EXAMPLES", "1"))
    seed = Random().getrandbits(32) if multiple > 1 else 0  # make fuzz draws new ones
    command = [sys.executable, __file__, name, str(seed), "0", str(max(1, int(N_CASES * multiple)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS * max(1, multiple))
    assert done.returncode == 0, f"{command}: {done.stdout[-30:]} {done.returncode} {done.stderr[-3000:]}"
    assert int(done.stdout.split()[-1]) > 0  # so much for the damage


if __name__ == "__main__":
    main(*sys.argv[1:])
