"""All five of ours against what each peer has, the same metrics on both sides, and the first result from arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.clock import side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Missing, Row, faster
from benchmarks.machine import cores
from benchmarks.ours import OURS, evaluation, first_result
from benchmarks.peers import PEERS, load
from benchmarks.peers.base import Peer
from benchmarks.shapes import Data, binary, data_folder, equal_queries, mq2008, mslr, tiny_queries
from benchmarks.targets import TARGETS

SAME = "ours of the same metrics"
ON_REAL_DATA = ("LightGBM", "XGBoost", "CatBoost", "scikit-learn")  # which fix the order of ties without document ids


def against(name: str) -> Callable[[Effort], Iterator[Row | Missing]]:
    """Return the measure of one peer."""

    def measure(effort: Effort) -> Iterator[Row | Missing]:
        peer = load(name)
        if isinstance(peer, Missing):
            yield peer
            return
        targets = {effort.queries: name}
        if peer.threaded and effort.many_queries is not None:
            targets[effort.many_queries] = f"{name}, millions of rows"
        for n_queries, target in targets.items():
            data = binary(mslr(n_queries)) if peer.binary else mslr(n_queries)
            for n_threads in effort.threads if peer.threaded else (1,):
                first = n_threads == 1 and n_queries == effort.queries
                yield from _side_by_side(peer, name, data, n_threads, effort, target=target, first=first)

    return measure


def on_real_data(effort: Effort) -> Iterator[Row | Missing]:
    """Measure on MQ2008, ranked by BM25: short queries, ties, many queries without a relevant document."""
    folder = data_folder()
    if not (folder / "mq2008").is_dir():
        yield Missing(
            "MQ2008", "no such data: the environment variable LTR_METRICS_DATA names the folder that has mq2008"
        )
        return
    data = mq2008(folder)
    for name in ON_REAL_DATA:
        peer = load(name)
        if isinstance(peer, Missing):
            yield peer
        else:
            yield from _side_by_side(peer, "MQ2008", data, 1, effort, target="MQ2008" if name == "LightGBM" else "")


def on_short_lists(effort: Effort) -> Iterator[Row | Missing]:
    """Measure short queries in turn with LightGBM, so that neither finds its caches warm."""
    peer = load("LightGBM")
    if isinstance(peer, Missing):
        yield peer
        return
    n = effort.many_queries or effort.queries
    in_turn = replace(effort, pace=replace(effort.pace, warm=False))
    shapes = {"1-10": tiny_queries(5 * n), "5": equal_queries(5 * n // 2, 5), "20": equal_queries(n, 20)}
    for documents, data in shapes.items():
        yield from _side_by_side(peer, "short", data, 1, in_turn, target=f"short, {documents} documents")


def _side_by_side(
    peer: Peer, measure: str, data: Data, n_threads: int, effort: Effort, *, target: str = "", first: bool = False
) -> Iterator[Row | Missing]:
    if n_threads > cores():
        yield Missing(f"{peer.name} with {n_threads} threads", f"this machine has {cores()} core")
        return
    prepared = peer.prepare(data, n_threads)
    difference = peer.disagreement(data, peer.run(prepared))
    if difference is not None:
        yield Missing(peer.name, difference)
        return
    contenders = {
        OURS: evaluation(data, n_threads=n_threads),
        SAME: peer.same(data, n_threads),
        peer.name: lambda: peer.run(prepared),
    }
    times = side_by_side(contenders, effort.pace)
    for what, ours, judged in (("all five", OURS, TARGETS.get(target)), ("the same metrics", SAME, None)):
        about = About(measure, f"{what}; {peer.name}: {peer.work}", data.shape, data.n_rows, n_threads)
        yield faster(about, times, ours, peer.name, judged)
    if first:
        contenders = {OURS: first_result(data), peer.name: lambda: peer.run(peer.prepare(data, n_threads))}
        times = side_by_side(contenders, effort.slow)
        about = About(
            measure, f"first result from arrays; {peer.name}: {peer.work}", data.shape, data.n_rows, n_threads
        )
        yield faster(about, times, OURS, peer.name)


AGAINST_PEERS = {name: against(name) for name in PEERS}
