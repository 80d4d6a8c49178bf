"""XGBoost on several workers: each round's metrics are those of one process, and an error of one
worker is an error of all.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ltr_metrics as ltr

pytestmark = pytest.mark.integration

xgb = pytest.importorskip("xgboost", reason="xgboost is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe", reason="dask has no data frames: pyarrow or pandas is missing")
from xgboost import dask as xgb_dask  # noqa: E402
from xgboost.tracker import RabitTracker  # noqa: E402

from ltr_metrics._hosts.host_metrics import HostMetrics  # noqa: E402
from ltr_metrics._hosts.workers import Part, mean_over_workers  # noqa: E402
from ltr_metrics.xgboost import (  # noqa: E402
    Monitor,
    custom_metric,
    early_stopping,
)
from ltr_metrics.xgboost.custom_metric import MatrixMetrics  # noqa: E402

METRICS = ["ndcg@10", "err@10", "map", "mrr"]
PARAMS = {"objective": "rank:ndcg", "eta": 0.3, "disable_default_eval_metric": True, "seed": 0}
SIX_DECIMALS = 5.1e-7
SECONDS = 600  # a training that hangs fails by then
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def train() -> Rows:
    return ltr.make_ranking(n_queries=70, documents=12, n_features=6, random_state=0)


@pytest.fixture(scope="module")
def valid() -> Rows:
    return ltr.make_ranking(n_queries=50, documents=15, n_features=6, random_state=1)


def table(rows: Rows) -> pd.DataFrame:
    X, y, qid = rows
    return pd.DataFrame(X).add_prefix("f").assign(y=y, qid=qid)


def parted(client: Any, rows: Rows, n_parts: int, n_empty: int = 0) -> Any:
    """Whole queries a partition, of unequal numbers, laid out over the workers in turn; partitions
    without rows come last.
    """
    frame = table(rows)
    ids = frame["qid"].unique()
    cuts = np.sort(np.random.default_rng(n_parts).choice(np.arange(1, len(ids)), n_parts - 1, replace=False))
    parts = [frame[frame["qid"].isin(some)] for some in np.split(ids, cuts)] + [frame.iloc[:0]] * n_empty
    return laid_out(client, parts)


def addresses(client: Any) -> list[str]:
    """Return the workers; `scheduler_info` may be empty when the client refreshes it at the same time."""
    return sorted(client.nthreads())


def laid_out(client: Any, parts: list[pd.DataFrame]) -> Any:
    places = addresses(client)
    # With a hash, equal parts of two tests have one key, and what is released for the first may be lost to the second.
    futures = [client.scatter(part, workers=[places[i % len(places)]], hash=False) for i, part in enumerate(parts)]
    return dd.from_delayed(futures, meta=parts[0].iloc[:0], verify_meta=False)


def matrix(client: Any, frame: Any, kind: str = "DaskDMatrix", **options: Any) -> Any:
    X = frame.drop(columns=["y", "qid"])
    options = {"feature_names": list(X.columns)} | options
    return getattr(xgb_dask, kind)(client, X, frame["y"], qid=frame["qid"], **options)


def in_time(train: Callable[[], Any]) -> Any:
    """Train in a thread, so that a training that hangs is a test that fails."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((train(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert outcome, "the training hangs"
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def trained(client: Any, dtrain: Any, evals: Any, rounds: int = 6, metrics: Any = METRICS, **options: Any) -> Any:
    """Return the booster and the history."""
    ours = metrics if isinstance(metrics, MatrixMetrics) else custom_metric(metrics)
    options |= {"evals": evals, "custom_metric": ours, "verbose_eval": False}
    out = in_time(lambda: xgb_dask.train(client, PARAMS, dtrain, rounds, **options))
    return out["booster"], out["history"]


def alone(booster: Any, rows: Rows, n_rounds: int, metrics: Any = METRICS, **options: Any) -> dict[str, list[float]]:
    """The metrics after each round, in this process."""
    X, y, qid = rows
    data = xgb.DMatrix(pd.DataFrame(X).add_prefix("f") if booster.feature_names else X)
    scores = [booster.predict(data, iteration_range=(0, i + 1)) for i in range(n_rounds)]
    means = [ltr.evaluate(y, score, qid=qid, metrics=metrics, **options).mean for score in scores]
    return {name: [mean[name] for mean in means] for name in means[0]}


def agree(history: dict[str, list[float]], expected: dict[str, list[float]], atol: float = SIX_DECIMALS) -> None:
    assert history.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, rtol=0, atol=atol)
    assert len({round(value, 6) for value in expected["mrr"]}) > 1, "nothing was learned, so nothing was compared"


@pytest.mark.slow
def test_names_in_the_log_and_the_hosts_own_gain(client: Any, train: Rows, valid: Rows) -> None:
    X, y, qid = valid
    dtrain, dvalid = (matrix(client, parted(client, rows, 3)) for rows in (train, valid))
    options = {"convention": "xgboost", "names": {"ndcg@10": "ours"}}
    monitor = Monitor("ndcg@10", pd.DataFrame(X).add_prefix("f"), y, qid=qid, name="m", **options)
    stoppers = [early_stopping("ndcg@10", 9, data_name=data, convention="xgboost") for data in ("m", "v")]
    out = in_time(
        lambda: xgb_dask.train(
            client, PARAMS | {"ndcg_exp_gain": False}, dtrain, 4, evals=[(dvalid, "v")], verbose_eval=False,
            custom_metric=custom_metric("ndcg@10", **options), callbacks=[monitor, *stoppers],
        )
    )  # fmt: skip
    linear = {"metrics": ["ndcg_lin@10"], "ties": "stable", "no_relevant": 1}
    (expected,) = alone(out["booster"], valid, 4, **linear).values()
    np.testing.assert_allclose(out["history"]["m"]["ours"], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(out["history"]["v"]["ours"], expected, rtol=0, atol=SIX_DECIMALS)


class TestTraining:
    @pytest.mark.parametrize(
        ("kind", "n_train", "n_valid", "n_empty"),
        [
            ("DaskDMatrix", 1, 1, 0),
            ("DaskDMatrix", 3, 1, 0),
            ("DaskDMatrix", 1, 3, 0),
            ("DaskDMatrix", 17, 3, 0),
            ("DaskDMatrix", 3, 17, 0),
            ("DaskDMatrix", 3, 1, 1),
            ("DaskQuantileDMatrix", 1, 1, 0),
            ("DaskQuantileDMatrix", 3, 1, 0),
            ("DaskQuantileDMatrix", 17, 3, 4),
        ],
    )
    def test_logs_what_one_process_sees(
        self, client: Any, train: Rows, valid: Rows, kind: str, n_train: int, n_valid: int, n_empty: int
    ) -> None:
        dtrain = matrix(client, parted(client, train, n_train), kind)
        options = {"ref": dtrain} if kind == "DaskQuantileDMatrix" else {}
        dvalid = matrix(client, parted(client, valid, n_valid, n_empty), kind, **options)
        assert len(dtrain.worker_map) == min(2, n_train)
        assert len(dvalid.worker_map) == min(2, n_valid + n_empty)
        booster, history = trained(client, dtrain, [(dvalid, "valid"), (dtrain, "train")])
        agree(history["valid"], alone(booster, valid, 6))
        agree(history["train"], alone(booster, train, 6))

    def test_arrays_and_a_worker_without_a_partition(self, client: Any, train: Rows, valid: Rows) -> None:
        matrices = []
        for (X, y, qid), n_parts in ((train, 2), (valid, 1)):
            cut = int(np.flatnonzero(qid == np.unique(qid)[30])[0])
            chunks = (cut, len(qid) - cut) if n_parts == 2 else (len(qid),)
            matrices.append(
                xgb_dask.DaskDMatrix(
                    client,
                    da.from_array(X, chunks=(chunks, -1)),
                    da.from_array(y, chunks=(chunks,)),
                    qid=da.from_array(qid, chunks=(chunks,)),
                )
            )
        booster, history = trained(client, matrices[0], [(matrices[1], "valid")])
        agree(history["valid"], alone(booster, valid, 6))

    def test_a_worker_without_a_partition_of_a_frame_fails_in_xgboost(
        self, client: Any, train: Rows, valid: Rows
    ) -> None:
        """As documented, and at once."""
        dtrain, dvalid = (
            matrix(client, parted(client, rows, n), feature_names=None) for rows, n in ((train, 3), (valid, 1))
        )
        with pytest.raises((ValueError, xgb.core.XGBoostError), match="data did not contain feature names"):
            trained(client, dtrain, [(dvalid, "valid")])

    def test_early_stopping(self, client: Any, train: Rows, valid: Rows) -> None:
        dtrain, dvalid = matrix(client, parted(client, train, 3)), matrix(client, parted(client, valid, 3))
        callbacks = [early_stopping("err@10", 4)]
        booster, history = trained(client, dtrain, [(dvalid, "valid")], 200, ["mrr", "err@10"], callbacks=callbacks)
        n_rounds = len(history["valid"]["err@10"])
        seen = np.round(alone(booster, valid, n_rounds, "err@10")["err@10"], 6)
        assert n_rounds == booster.num_boosted_rounds() < 200
        assert booster.best_iteration == int(seen.argmax()) == n_rounds - 5

    def test_undefined_on_one_worker_alone(self, client: Any, train: Rows, valid: Rows) -> None:
        X, y, qid = valid
        rows = X, np.where(qid <= np.unique(qid)[20], 0, y), qid
        frame = table(rows)
        first = frame["qid"] <= np.unique(qid)[20]
        dvalid = matrix(client, laid_out(client, [frame[first], frame[~first]]))
        assert len(dvalid.worker_map) == 2
        booster, history = trained(client, matrix(client, parted(client, train, 3)), [(dvalid, "valid")])
        agree(history["valid"], alone(booster, rows, 6))

    @pytest.mark.parametrize("options", [{"ties": "worst"}, {"no_relevant": 0}, {"convention": "xgboost"}])
    def test_options(self, client: Any, train: Rows, valid: Rows, options: Any) -> None:
        X, y, qid = valid
        rows = X, y > 2, qid
        dtrain, dvalid = matrix(client, parted(client, train, 3)), matrix(client, parted(client, rows, 3))
        metrics = ["ndcg@10", "map"]
        ours = custom_metric(metrics, **options)
        booster, history = trained(client, dtrain, [(dvalid, "v")], 3, ours)
        expected = alone(booster, rows, 3, metrics, **options)
        for name, values in expected.items():
            np.testing.assert_allclose(history["v"][name], values, rtol=0, atol=SIX_DECIMALS)
        usual = alone(booster, rows, 3, metrics)
        assert not np.allclose(list(usual.values()), list(expected.values()), rtol=0, atol=SIX_DECIMALS)

    @pytest.mark.parametrize("n_parts", [1, 3])
    def test_a_monitor(self, client: Any, train: Rows, valid: Rows, n_parts: int) -> None:
        """Each worker evaluates all of its rows, weighted; the values have all digits."""
        X, y, qid = valid
        weight = np.random.default_rng(0).random(len(np.unique(qid)))
        X = pd.DataFrame(X).add_prefix("f")
        watched = Monitor(METRICS, X, y, qid=qid, query_weight=weight)
        others = [Monitor("mrr", X, y, qid=qid, name=name, ties=name) for name in ("best", "worst")]
        callbacks = [*others, watched, early_stopping("err@10", 3, data_name="valid")]
        ranker = xgb_dask.DaskXGBRanker(n_estimators=100, callbacks=callbacks, allow_group_split=True)
        ranker.client = client
        frame = parted(client, train, n_parts)
        in_time(lambda: ranker.fit(frame.drop(columns=["y", "qid"]), frame["y"], qid=frame["qid"]))
        booster, history = ranker.get_booster(), ranker.evals_result()["valid"]
        for ties in ("best", "worst"):
            of_ties = alone(booster, valid, len(history["mrr"]), "mrr", ties=ties)
            agree(ranker.evals_result()[ties], of_ties, atol=1e-14)
        n_rounds = len(history["mrr"])
        expected = alone(booster, valid, n_rounds, query_weight=weight)
        agree(history, expected, atol=1e-14)
        assert booster.best_iteration == int(np.argmax(history["err@10"])) == n_rounds - 4 < 96


class TestErrors:
    """One worker's error ends the training on all, with its message."""

    def refused(
        self, client: Any, train: Rows, dvalid: Any, match: str, metrics: Any = METRICS, error: Any = ltr.LtrValueError
    ) -> None:
        dtrain = matrix(client, parted(client, train, 3))
        with pytest.raises(error, match=match):
            trained(client, dtrain, [(dvalid, "valid")], metrics=metrics)

    @pytest.mark.parametrize("row", [3, -1])
    def test_a_bad_label_on_one_worker(self, client: Any, train: Rows, valid: Rows, row: int) -> None:
        X, y, qid = valid
        y = y.astype(float)
        y[row] = -1
        dvalid = matrix(client, parted(client, (X, y, qid), 2))
        self.refused(client, train, dvalid, r"Worker [01] \(of 0 to 1\): .*got -1")

    def test_nan_predictions_on_one_worker(self, client: Any, train: Rows, valid: Rows) -> None:
        frame = parted(client, valid, 2)
        last = table(valid)["qid"].max()
        margin = frame["y"].where(frame["qid"] != last, np.nan).astype("float32")
        dvalid = matrix(client, frame, base_margin=margin)
        self.refused(client, train, dvalid, r"Worker [01] \(of 0 to 1\): .*[nN]a[nN]")

    def test_a_function_that_fails_on_one_worker(self, client: Any, train: Rows, valid: Rows) -> None:
        def fails_on_the_second(ranking: Any) -> np.ndarray:
            if xgb.collective.get_rank() == 1:
                raise ZeroDivisionError("of the second")
            return np.ones(len(ranking.n_ranked))

        dvalid = matrix(client, parted(client, valid, 2))
        failures = (ltr.LtrValueError, ZeroDivisionError)
        self.refused(client, train, dvalid, "of the second", fails_on_the_second, failures)
        booster, history = trained(
            client, matrix(client, parted(client, train, 3)), [(dvalid, "valid")]
        )  # of the same workers
        agree(history["valid"], alone(booster, valid, 6))

    def test_undefined_on_all_workers(self, client: Any, train: Rows, valid: Rows) -> None:
        dvalid = matrix(client, parted(client, (valid[0], np.zeros(len(valid[1])), valid[2]), 3))
        self.refused(client, train, dvalid, "mrr is undefined for all 50 queries", "mrr")

    def test_no_rows_on_any_worker(self, client: Any, train: Rows, valid: Rows) -> None:
        dvalid = matrix(client, laid_out(client, [table(valid).iloc[:0]] * 2))
        self.refused(client, train, dvalid, "no rows with labels on any worker")

    def test_no_qid(self, client: Any, train: Rows, valid: Rows) -> None:
        frame = parted(client, valid, 2)
        X = frame.drop(columns=["y", "qid"])
        dvalid = xgb_dask.DaskDMatrix(client, X, frame["y"], feature_names=list(X.columns))
        self.refused(client, train, dvalid, "The DMatrix has no queries")

    def test_a_query_cut_between_workers(self, client: Any, train: Rows, valid: Rows) -> None:
        frame, qid = table(valid), valid[2]
        cut = int(np.flatnonzero(qid == np.unique(qid)[30])[0]) + 2
        dvalid = matrix(client, laid_out(client, [frame.iloc[:cut], frame.iloc[cut:]]))
        self.refused(
            client, train, dvalid, f"Query {qid[cut]} has rows here and on worker [01].*1 queries.*whole_queries"
        )

    @pytest.mark.parametrize("n_parts", [2, 3])
    def test_a_query_that_a_quantile_matrix_cuts_on_one_worker(
        self, client: Any, train: Rows, valid: Rows, n_parts: int
    ) -> None:
        """Of partitions 0, 1 and 2 the first and the last are on one worker."""
        frame, qid = table(valid), valid[2]
        middle = np.unique(qid)[30:40] if n_parts == 3 else []
        rest = frame[~frame["qid"].isin(middle)]
        cut = int(np.flatnonzero(rest["qid"] == np.unique(qid)[20])[0]) + 2
        parts = [rest.iloc[:cut], frame[frame["qid"].isin(middle)], rest.iloc[cut:]]
        whole = laid_out(client, parts)
        train_frame = parted(client, train, 1) if n_parts == 2 else parted(client, train, 3)
        dtrain = matrix(client, train_frame, "DaskQuantileDMatrix")
        dvalid = matrix(client, whole, "DaskQuantileDMatrix", ref=dtrain)
        n_queries = len(np.unique(qid)) - len(middle)
        with pytest.raises(
            ltr.LtrValueError, match=f"has {n_queries + 1} queries, and its rows have {n_queries} different"
        ):
            trained(client, dtrain, [(dvalid, "valid")])

    def test_a_cut_query_on_one_worker_is_whole_in_a_plain_matrix(self, client: Any, train: Rows, valid: Rows) -> None:
        frame = table(valid)
        parts = [frame.iloc[:100], frame.iloc[:0], frame.iloc[100:]]
        dvalid = matrix(client, laid_out(client, parts))
        booster, history = trained(client, matrix(client, parted(client, train, 3)), [(dvalid, "valid")])
        agree(history["valid"], alone(booster, valid, 6))

    def test_a_log(self, client: Any, train: Rows) -> None:
        dtrain = matrix(client, parted(client, train, 1))
        ours = custom_metric("mrr", log=ltr.PerQueryLog())
        with pytest.raises(ltr.LtrValueError, match="log= keeps what one process evaluates"):
            trained(client, dtrain, [(dtrain, "t")], 2, ours)

    def test_weights_are_refused_by_xgboost(self, client: Any, train: Rows) -> None:
        """As documented; a DMatrix of another launcher may have them."""
        frame = parted(client, train, 2)
        with pytest.raises(NotImplementedError, match="per-group weight"):
            matrix(client, frame, weight=frame["y"])


def launched(address: dict[str, Any], shares: list[Any], n_rounds: int, monitored: bool) -> Any:
    """Train as one of several workers, each with its own rows, without xgboost.dask."""
    with xgb.collective.CommunicatorContext(**address):
        X, y, qid, weight = shares[xgb.collective.get_rank()]
        data = xgb.DMatrix(X, y, qid=qid, weight=weight) if len(y) else xgb.DMatrix(np.empty((0, 6)))
        monitors = [Monitor(METRICS, X, y, qid=qid, query_weight=weight)] if monitored else []
        history: dict[str, Any] = {}
        booster = xgb.train(
            PARAMS | {"nthread": 1}, data, n_rounds, evals=[(data, "own")], custom_metric=custom_metric(METRICS),
            callbacks=[*monitors, early_stopping("err@10", 5, data_name="own")],
            evals_result=history, verbose_eval=False,
        )  # fmt: skip
        plain = {name: {m: [float(v) for v in values] for m, values in log.items()} for name, log in history.items()}
        return plain, booster.best_iteration, bytes(booster.save_raw("ubj"))


@pytest.mark.parametrize("cut", [11, 0], ids=["unequal", "a worker without rows"])
def test_weights_and_another_launcher(client: Any, valid: Rows, cut: int) -> None:
    """Training, custom_metric and Monitor see the rows of one worker each; both workers stop in the same round."""
    X, y, qid = valid
    ids = np.unique(qid)
    weight = np.random.default_rng(2).random(len(ids)).astype(np.float32) * np.arange(1, len(ids) + 1)
    first = np.isin(qid, ids[:cut])
    shares = [
        (X[rows], y[rows], qid[rows], w) for rows, w in ((first, weight[:cut]), (~first, weight[cut:]))
    ]  # fmt: skip
    tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1")
    tracker.start()
    places = addresses(client)
    monitored = cut > 0  # by both or neither, and a Monitor has rows
    futures = [
        client.submit(launched, tracker.worker_args(), shares, 40, monitored, workers=[place], pure=False)
        for place in places
    ]
    distributed.wait(futures, timeout=SECONDS)
    (history, best, raw), other = client.gather(futures)
    tracker.wait_for(timeout=SECONDS)
    assert other == (history, best, raw)
    booster = xgb.Booster(model_file=bytearray(raw))
    n_rounds = len(history["own"]["mrr"])
    expected = alone(booster, valid, n_rounds, query_weight=weight)
    agree(history["own"], expected)
    assert best == int(np.round(expected["err@10"], 6).argmax())
    if monitored:
        agree(history["valid"], expected, atol=1e-14)
    unweighted = alone(booster, valid, n_rounds)["mrr"]
    assert np.abs(np.subtract(unweighted, expected["mrr"])).max() > 1e-3


# -- without a cluster -----------------------------------------------------------------------------


class Threads:
    """Workers that are threads: whoever is left waiting breaks the barrier."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers, self.barrier = n_workers, threading.Barrier(n_workers, timeout=60)
        self.own, self.sent = threading.local(), [None] * n_workers

    rank = property(lambda self: self.own.rank)

    def _all(self, value: Any) -> list[Any]:
        self.sent[self.rank] = value
        self.barrier.wait()
        sent = list(self.sent)
        self.barrier.wait()
        return sent

    def sum(self, numbers: Any) -> Any:
        return np.sum(self._all(numbers), axis=0)

    def broadcast(self, value: Any, rank: int) -> Any:
        return self._all(value)[rank]


def together(*parts: Any) -> list[Any]:
    """Return what each worker gets: its means, or its error."""
    workers, outcome = Threads(len(parts)), [None] * len(parts)
    plan = HostMetrics(METRICS, host="xgboost").plan()

    def work(rank: int) -> None:
        workers.own.rank = rank
        try:
            outcome[rank] = mean_over_workers(workers, plan, None, parts[rank])
        except Exception as error:
            outcome[rank] = error

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcome


def part_of(y: Any, scores: Any, qid: Any) -> Any:
    return lambda: Part(ltr.Queries(y, qid=qid), scores, True, lambda: np.unique(qid))


class TestThreads:
    @pytest.mark.parametrize("n_workers", [1, 2, 3])
    def test_all_get_the_mean_over_all(self, n_workers: int) -> None:
        X, y, qid = ltr.make_ranking(n_queries=20, random_state=0)
        shares = [qid % n_workers == rank for rank in range(n_workers)]
        outcome = together(*(part_of(y[rows], X[rows, 0], qid[rows]) for rows in shares), Part)
        whole = ltr.evaluate(y, X[:, 0], qid=qid, metrics=METRICS).mean
        assert all(one == outcome[0] for one in outcome)
        assert sorted(outcome[0].values()) == pytest.approx(sorted(whole.values()), abs=1e-15)

    def test_a_query_on_two_workers_and_an_error_on_one_reach_all(self) -> None:
        X, y, qid = ltr.make_ranking(n_queries=4, random_state=0)
        cut = together(*(part_of(y[rows], X[rows, 0], qid[rows]) for rows in (slice(0, 10), slice(10, None))))
        assert all("has rows here and on worker" in str(error) for error in cut)
        odd = together(part_of(y, X[:, 0], qid), part_of(y, X[1:, 0], qid + 9))
        assert all(isinstance(error, ltr.LtrError) and "Worker 1" in str(error) for error in odd)

    def test_no_rows_anywhere(self) -> None:
        assert all("no rows with labels on any worker" in str(error) for error in together(Part, Part))
