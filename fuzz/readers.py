"""Damaged files for every reader: ``python -m fuzz.readers --seed 0 --seconds 60``.

A file of each format is changed at random, and read and evaluated. It must be read, or be refused
by an error of the package or of the operating system. Everything else is a fault: another error,
the end of the process, a hang. A mutation is known by format, seed and number, and
``--only FORMAT --number N`` repeats it.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, ipc

import ltr_metrics as ltr
from ltr_metrics.interleaving import read_impressions
from ltr_metrics.io import read_letor, read_scores, read_table, read_trec

ALLOWED = (ltr.LtrError, OSError)  # which FileNotFoundError is one of
SECONDS_OF_ONE = 30  # after which a mutation counts as a hang
MOST_MEMORY = 8 << 30  # bytes of address space; a damaged length must not take all of the machine
MOST_FAULTS_SHOWN = 20

# What readers may stumble over, besides bytes drawn at random.
WORDS = (
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r", b"\t", b" ", b",", b'"', b"'", b":", b"#", b"qid:", b"docid ="),
    *(b"nan", b"inf", b"-inf", b"-1", b"0", b"-0", b"1e999", b"1e-999", b"0x10", b"1_0", b"9" * 30, b"9" * 5000, b"true"),
    *(b"null", b"None", b"[", b"[" * 3000, b"{", b"}", b"(", b"\\u0000", b"\\ud800", b"PAR1", b"ARROW1", b"\x93NUMPY", b"PK"),
)  # fmt: skip


# -- formats ------------------------------------------------------------------------------------------------------------


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
    from ltr_metrics.io.compressed import _OPEN

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


# -- mutations ----------------------------------------------------------------------------------------------------------


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes of a file after one to four changes."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        _CHANGES[int(rng.integers(len(_CHANGES)))](changed, rng)
    return bytes(changed)


def _span(content: bytearray, rng: np.random.Generator, longest: int = 40) -> slice:
    start = int(rng.integers(len(content) + 1))
    return slice(start, start + int(rng.integers(1, longest + 1)))


def _flip(content: bytearray, rng: np.random.Generator) -> None:
    if content:
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))


def _overwrite(content: bytearray, rng: np.random.Generator) -> None:
    span = _span(content, rng, 8)
    size = len(content[span])
    content[span] = rng.bytes(size) if rng.random() < 0.5 else bytes([int(rng.choice([0, 1, 127, 128, 255]))]) * size


def _insert(content: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(content) + 1))
    content[at:at] = rng.bytes(int(rng.integers(1, 9)))


def _delete(content: bytearray, rng: np.random.Generator) -> None:
    del content[_span(content, rng)]


def _repeat(content: bytearray, rng: np.random.Generator) -> None:
    span = _span(content, rng)
    content[span] = content[span] * int(rng.integers(2, 5))


def _move(content: bytearray, rng: np.random.Generator) -> None:
    span = _span(content, rng)
    part = content[span]
    del content[span]
    at = int(rng.integers(len(content) + 1))
    content[at:at] = part


def _truncate(content: bytearray, rng: np.random.Generator) -> None:
    del content[int(rng.integers(len(content) + 1)) :]


def _replace_by_word(content: bytearray, rng: np.random.Generator) -> None:
    content[_span(content, rng, 6)] = WORDS[int(rng.integers(len(WORDS)))]


_CHANGES = (_flip, _flip, _overwrite, _insert, _delete, _repeat, _move, _truncate, _replace_by_word, _replace_by_word)


def try_one(name: str, seed: int, number: int, folder: Path) -> str:
    """Return "read", "refused" or the fault of one mutation of a format."""
    wanted = FORMATS[name]
    path = folder / wanted.file
    whole = folder / f"{name}.whole"
    if not whole.exists():
        wanted.write(path)
        whole.write_bytes(path.read_bytes())
    rng = np.random.default_rng([seed, list(FORMATS).index(name), number])
    if number:  # 0 is the file as it is
        path.write_bytes(mutated(whole.read_bytes(), rng))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted.read(path)
        except ALLOWED:
            return "refused" if number else traceback.format_exc(limit=-3)
        except Exception:
            return traceback.format_exc(limit=-3)
    return "read"


# -- processes ----------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """How the mutations of each format ended, and the faults."""

    seed: int
    ends: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in FORMATS})
    faults: list[str] = field(default_factory=list)

    def add(self, name: str, number: int, end: str) -> None:
        """Count one mutation."""
        is_fault = end not in ("read", "refused")
        self.ends[name]["faults" if is_fault else end] += 1
        if is_fault:
            self.faults.append(f"{name}, seed {self.seed}, number {number}: {end}")

    def __str__(self) -> str:
        width = max(map(len, FORMATS))
        kinds = ("read", "refused", "faults")
        lines = [f"{'format':{width}}" + "".join(f"{kind:>12}" for kind in ("mutations", *kinds))]
        for name, ends in ((name, ends) for name, ends in self.ends.items() if ends):
            counts = [ends.total(), *(ends[kind] for kind in kinds)]
            lines.append(f"{name:{width}}" + "".join(f"{count:>12,}" for count in counts))
        total = sum(ends.total() for ends in self.ends.values())
        lines.append(f"{total:,} mutations with seed {self.seed}, {len(self.faults):,} faults.")
        return "\n".join([*lines, *self.faults[:MOST_FAULTS_SHOWN]])


def fuzz(
    seed: int, *, names: Iterable[str] = FORMATS, n_mutations: int | None = None, seconds: float | None = None
) -> Report:
    """Try mutations of each format in turn, up to a number of each or for some seconds."""
    report, listed = Report(seed), tuple(names)
    end = None if seconds is None else time.monotonic() + seconds
    first: int | None = 0  # of the tasks that are left, after a process has ended
    with tempfile.TemporaryDirectory() as folder:
        while first is not None:
            first = _in_process(report, listed, n_mutations, first, end, Path(folder))
    return report


def _tasks(names: tuple[str, ...], n_mutations: int | None) -> Iterator[tuple[str, int]]:
    numbers = itertools.count() if n_mutations is None else iter(range(n_mutations + 1))
    return ((name, number) for number in numbers for name in names)


def _in_process(
    report: Report, names: tuple[str, ...], n_mutations: int | None, first: int, end: float | None, folder: Path
) -> int | None:
    """Add what a process of its own finds; return the task to go on with if it was killed or hangs."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, report.seed, names, n_mutations, first, folder), daemon=True)
    process.start()
    there.close()
    try:
        for done, (name, number) in enumerate(itertools.islice(_tasks(names, n_mutations), first, None), start=first):
            if end is not None and time.monotonic() > end:
                return None
            try:
                is_there = here.poll(SECONDS_OF_ONE)
                report.add(name, number, here.recv() if is_there else f"no end after {SECONDS_OF_ONE} seconds")
            except EOFError:
                process.join()
                report.add(name, number, f"the process ended with status {process.exitcode}")
                is_there = False
            if not is_there:
                return done + 1
    finally:
        process.kill()
        process.join()
        here.close()
    return None


def _work(
    results: Connection, seed: int, names: tuple[str, ...], n_mutations: int | None, first: int, folder: Path
) -> None:
    _limit_memory()
    for name, number in itertools.islice(_tasks(names, n_mutations), first, None):
        own = folder / f"{list(FORMATS).index(name)}"
        own.mkdir(exist_ok=True)
        results.send(try_one(name, seed, number, own))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def main() -> int:
    """Run the command; the status is 1 if there are faults."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.readers", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", choices=list(FORMATS), action="append", help="one format; repeatable")
    parser.add_argument("--number", type=int, help="repeat this mutation, in this process")
    given = parser.parse_args()
    names = tuple(given.only or FORMATS)
    if given.number is None:
        report = fuzz(given.seed, names=names, seconds=given.seconds)
        print(report)
        return int(bool(report.faults))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(f"{name}: {try_one(name, given.seed, given.number, Path(folder))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
