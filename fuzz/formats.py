"""A small file of every format that a reader takes, and how it is read and used."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, ipc

import ltr_metrics as ltr
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import read_letor, read_scores, read_table, read_trec
from ltr_metrics.io.compressed import _OPEN

ALLOWED = (ltr.LtrError, OSError)  # a reader may refuse a file with these, such as FileNotFoundError


@dataclass(frozen=True)
class Format:
    """A file that is changed, the files beside it, and how it is read."""

    write: Callable[[Path], None]
    file: str
    read: Callable[[Path], object]


def _rows() -> pd.DataFrame:
    X, y, qid = ltr.make_ranking(n_queries=6, documents=5, n_features=3, random_state=0)
    frame = pd.DataFrame({"qid": qid, "label": y, "s": X[:, 0], "t": X[:, 1].round(2)})
    return frame.assign(device=np.where(qid % 2, "phone", "desk"), doc=[f"D{i}" for i in range(len(y))], w=1.0)


def _evaluate_table(path: Path) -> None:
    with suppress(*ALLOWED):
        frame = read_table(path, columns=["s"], text=["doc"])
        ltr.evaluate(frame["label"], frame["s"], qid=frame["qid"])
    options: dict[str, Any] = {"docid": "doc", "weight": "w", "by": "device"}
    ltr.evaluate_sorted(path, scores={"a": "s"}, rows_at_once=7, **options)


def _evaluate_npz(path: Path) -> None:
    frame = read_table(path)
    ltr.evaluate(frame["label"], frame["s"], qid=frame["qid"])


def _evaluate_letor(path: Path) -> None:
    with suppress(*ALLOWED):
        rows = read_letor(path)
        ltr.evaluate(rows.y, rows.X[:, 0], qid=rows.qid, docid=rows.docid)
    ltr.evaluate_sorted(path, scores={"a": "1"}, rows_at_once=7)


def _evaluate_trec(path: Path) -> None:
    ltr.evaluate(**read_trec(path.with_name("qrels"), path.with_name("run"), topics="qrels"))


def _evaluate_result(path: Path) -> None:
    result = ltr.load_result(path)
    str(result), result.to_dict(), result.by, result.to_pandas()
    ltr.compare({"a": result, "b": result}, n_resamples=100)


def _letor(_: Path) -> str:
    return "".join(
        f"{row.label} qid:{row.qid} 1:{row.s!r} 2:{row.t} # docid = {row.doc} inc = 1\n" for row in _rows().itertuples()
    )


def _write(text: Callable[[Path], str]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "plain"
            plain.write_text(text(path))
            _compress(plain, path)

    return write


def _compress(plain: Path, path: Path) -> None:
    with _OPEN.get(path.suffix, open)(path, "wb") as file:
        file.write(plain.read_bytes())


def _write_sized(path: Path) -> None:
    path.with_suffix("").write_text("".join(f"{row.label} 1:{row.s!r}\n" for row in _rows().itertuples()))
    path.write_text("\n".join(map(str, ltr.qid_to_group(_rows()["qid"]).tolist())))


def _write_parquet(path: Path) -> None:
    exact = [Decimal(f"{one:.4f}") for one in _rows()["s"]]
    _rows().assign(exact=pd.Series(exact)).set_index("qid").to_parquet(path, row_group_size=8)


def _write_arrow(new: Callable[..., Any]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        table = pa.Table.from_pandas(_rows(), preserve_index=False)
        codes = table["device"].dictionary_encode()
        table = table.set_column(table.column_names.index("device"), "device", codes).unify_dictionaries()
        with new(path, table.schema) as file:
            file.write_table(table, max_chunksize=8)

    return write


def _write_npz(save: Callable[..., None]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        columns = {name: _rows()[name].to_numpy() for name in ("qid", "label", "s")}
        save(path, **columns, device=_rows()["device"].to_numpy().astype(str))

    return write


def _write_trec(path: Path) -> None:
    rows = list(_rows().itertuples())
    path.with_name("qrels").write_text("".join(f"{row.qid} 0 {row.doc} {row.label}\n" for row in rows))
    path.with_name("run").write_text("".join(f"{row.qid} Q0 {row.doc} 1 {row.s!r} me\n" for row in rows))


def _write_result(path: Path) -> None:
    rows = _rows()
    by = {"device": rows["device"], "odd": rows["qid"] % 2 == 1}
    ltr.evaluate(rows["label"], rows["s"], qid=rows["qid"].map("q{}".format), by=by, sample_weight=rows["w"]).save(path)


def _write_log(path: Path) -> None:
    log, rows = ltr.PerQueryLog(folder=path.parent), _rows()
    for column in ("s", "t"):
        result = ltr.evaluate(rows["label"], rows[column], qid=rows["qid"], query_weight=[1, 2, 3, 4, 5, 6])
        log.record_score({"column": column}, result, "test", [97, 98])
        written = next(one for one in path.parent.glob("*.scores.npz") if one != path)
        written.replace(path if column == "s" else path.with_name("b.scores.npz"))


def _evaluate_log(path: Path) -> None:
    log = ltr.PerQueryLog(folder=path.parent)
    log.to_pandas()
    for candidate in log.candidates("mrr"):
        _ = candidate.mean_over_queries, candidate.standard_error


def _impressions(_: Path) -> str:
    lines = (
        f'{{"query": "q{i}", "rankings": {{"old": ["a", "b", {i}], "new": ["b", "c", "a"]}}, "shown": ["a", "b", "c"], '
        f'"teams": ["old", "new", "new"], "clicks": [{i % 3}], "method": "team_draft"}}\n'
        for i in range(6)
    )
    return "".join(lines)


FORMATS: dict[str, Format] = {
    "letor": Format(_write(_letor), "a.txt", _evaluate_letor),
    "letor.gz": Format(_write(_letor), "a.txt.gz", _evaluate_letor),
    "letor.xz": Format(_write(_letor), "a.txt.xz", _evaluate_letor),
    "letor.bz2": Format(_write(_letor), "a.txt.bz2", _evaluate_letor),
    "sizes of queries": Format(_write_sized, "a.txt.query", lambda path: _evaluate_letor(path.with_suffix(""))),
    "csv": Format(_write(lambda _: _rows().to_csv(index=False)), "a.csv", _evaluate_table),
    "csv.gz": Format(_write(lambda _: _rows().to_csv(index=False)), "a.csv.gz", _evaluate_table),
    "tsv": Format(_write(lambda _: _rows().to_csv(index=False, sep="\t")), "a.tsv", _evaluate_table),
    "parquet": Format(_write_parquet, "a.parquet", _evaluate_table),
    "arrow": Format(_write_arrow(ipc.new_file), "a.arrow", _evaluate_table),
    "arrow stream": Format(_write_arrow(ipc.new_stream), "b.arrow", _evaluate_table),
    "feather": Format(
        lambda path: feather.write_feather(_rows(), str(path), compression="lz4"), "a.feather", _evaluate_table
    ),
    "npz": Format(_write_npz(np.savez), "a.npz", _evaluate_npz),
    "npz, compressed": Format(_write_npz(np.savez_compressed), "b.npz", _evaluate_npz),
    "npy": Format(lambda path: np.save(path, _rows()["s"].to_numpy()), "a.npy", read_scores),
    "scores": Format(_write(lambda _: "".join(f"{one!r}\n" for one in _rows()["s"])), "scores.txt", read_scores),
    "qrels": Format(_write_trec, "qrels", _evaluate_trec),
    "run": Format(_write_trec, "run", _evaluate_trec),
    "saved result": Format(_write_result, "r.parquet", _evaluate_result),
    "log of a search": Format(_write_log, "a.scores.npz", _evaluate_log),
    "impressions": Format(_write(_impressions), "log.jsonl", lambda path: list(read_impressions(path))),
}
