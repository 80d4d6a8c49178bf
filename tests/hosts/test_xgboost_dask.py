"""What only live workers prove: XGBoost on Dask and under its own tracker, in step, with whole queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import ltr_metrics as ltr
from ltr_metrics.xgboost import Monitor, custom_metric, early_stopping

pytestmark = pytest.mark.integration

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe", reason="dask has no data frames: pyarrow or pandas is missing")
from xgboost import dask as xgb_dask  # noqa: E402
from xgboost.tracker import RabitTracker  # noqa: E402

METRICS = ["ndcg@10", "err@10", "map", "mrr"]
PARAMS = {"objective": "rank:ndcg", "eta": 0.3, "disable_default_eval_metric": True, "seed": 0, "nthread": 1}
SIX_DECIMALS = 5.1e-7
SECONDS = 600  # a training that hangs fails by then
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
TRAIN: Rows = ltr.make_ranking(n_queries=70, documents=12, n_features=6, random_state=0)
VALID: Rows = ltr.make_ranking(n_queries=50, documents=15, n_features=6, random_state=1)
IDS = np.unique(VALID[2])


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


def table(rows: Rows) -> pd.DataFrame:
    X, y, qid = rows
    return pd.DataFrame(X).add_prefix("f").assign(y=y, qid=qid)


def addresses(client: Any) -> list[str]:
    """Return the workers; `scheduler_info` may be empty when the client refreshes it at the same time."""
    return sorted(client.nthreads())


def laid_out(client: Any, parts: list[pd.DataFrame]) -> Any:
    """Return a frame of these partitions, which the workers get in turn."""
    places = addresses(client)
    # With a hash, equal parts of two tests have one key, and what is released for the first may be lost to the second.
    futures = [client.scatter(part, workers=[places[i % len(places)]], hash=False) for i, part in enumerate(parts)]
    return dd.from_delayed(futures, meta=parts[0].iloc[:0], verify_meta=False)


def parted(client: Any, rows: Rows, n_parts: int, n_empty: int = 0) -> Any:
    """Return whole queries in each partition, of unequal numbers; partitions without rows come last."""
    frame = table(rows)
    ids = frame["qid"].unique()
    cuts = np.sort(np.random.default_rng(n_parts).choice(np.arange(1, len(ids)), n_parts - 1, replace=False))
    parts = [frame[frame["qid"].isin(some)] for some in np.split(ids, cuts)] + [frame.iloc[:0]] * n_empty
    return laid_out(client, parts)


def matrix(client: Any, frame: Any, kind: str = "DaskDMatrix", **options: Any) -> Any:
    X = frame.drop(columns=["y", "qid"])
    options = {"feature_names": list(X.columns)} | options
    return getattr(xgb_dask, kind)(client, X, frame["y"], qid=frame["qid"], **options)


def in_time(work: Callable[[], Any]) -> Any:
    """Train in a thread, so that a training that hangs is a test that fails."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
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


def trained(client: Any, dtrain: Any, evals: Any, rounds: int = 6, **options: Any) -> Any:
    """Return the booster and the history."""
    options |= {"evals": evals, "custom_metric": custom_metric(METRICS), "verbose_eval": False}
    out = in_time(lambda: xgb_dask.train(client, PARAMS, dtrain, rounds, **options))
    return out["booster"], out["history"]


def agree(history: dict[str, list[float]], booster: Any, rows: Rows, atol: float = SIX_DECIMALS, **options: Any) -> Any:
    """Compare a history with the metrics after each round in this process, and return these."""
    X, y, qid = rows
    data = xgb.DMatrix(pd.DataFrame(X).add_prefix("f") if booster.feature_names else X)
    scores = [booster.predict(data, iteration_range=(0, i + 1)) for i in range(len(history["mrr"]))]
    means = [ltr.evaluate(y, score, qid=qid, metrics=list(history), **options).mean for score in scores]
    expected = {name: [mean[name] for mean in means] for name in history}
    assert history.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, rtol=0, atol=atol)
    assert len({round(value, 6) for value in expected["mrr"]}) > 1, "nothing was learned, so nothing was compared"
    return expected


@pytest.mark.parametrize(
    ("kind", "n_train", "n_valid", "n_empty"),
    [("DaskDMatrix", 17, 3, 0), ("DaskDMatrix", 3, 1, 1), ("DaskQuantileDMatrix", 17, 3, 4)],
)
def test_the_log_is_what_one_process_sees(client: Any, kind: str, n_train: int, n_valid: int, n_empty: int) -> None:
    dtrain = matrix(client, parted(client, TRAIN, n_train), kind)
    options = {"ref": dtrain} if kind == "DaskQuantileDMatrix" else {}
    dvalid = matrix(client, parted(client, VALID, n_valid, n_empty), kind, **options)
    assert len(dvalid.worker_map) == 2
    booster, history = trained(client, dtrain, [(dvalid, "valid"), (dtrain, "train")])
    agree(history["valid"], booster, VALID)
    agree(history["train"], booster, TRAIN)


def test_a_worker_without_a_partition(client: Any) -> None:
    matrices = []
    for (X, y, qid), n_parts in ((TRAIN, 2), (VALID, 1)):
        cut = int(np.flatnonzero(qid == np.unique(qid)[30])[0])
        chunks = (cut, len(qid) - cut) if n_parts == 2 else (len(qid),)
        columns = [da.from_array(column, chunks=(chunks,)) for column in (y, qid)]
        matrices.append(xgb_dask.DaskDMatrix(client, da.from_array(X, chunks=(chunks, -1)), columns[0], qid=columns[1]))
    booster, history = trained(client, matrices[0], [(matrices[1], "valid")])
    agree(history["valid"], booster, VALID)


def test_a_monitor_and_early_stopping(client: Any) -> None:
    """Each worker evaluates all rows of the Monitor, weighted; the values have all digits."""
    X, y, qid = VALID
    weight = np.random.default_rng(0).random(len(IDS))
    X = pd.DataFrame(X).add_prefix("f")
    watched = Monitor(METRICS, X, y, qid=qid, query_weight=weight)
    others = [Monitor("mrr", X, y, qid=qid, name=name, ties=name) for name in ("best", "worst")]
    callbacks = [*others, watched, early_stopping("err@10", 3, data_name="valid")]
    ranker = xgb_dask.DaskXGBRanker(n_estimators=100, callbacks=callbacks, allow_group_split=True)
    ranker.client = client
    frame = parted(client, TRAIN, 3)
    in_time(lambda: ranker.fit(frame.drop(columns=["y", "qid"]), frame["y"], qid=frame["qid"]))
    booster, logged = ranker.get_booster(), ranker.evals_result()
    for ties in ("best", "worst"):
        agree(logged[ties], booster, VALID, 1e-14, ties=ties)
    agree(logged["valid"], booster, VALID, 1e-14, query_weight=weight)
    values = logged["valid"]["err@10"]
    assert booster.best_iteration == int(np.argmax(values)) == len(values) - 4 < 96


def test_a_query_in_two_partitions_of_one_worker(client: Any) -> None:
    """A plain matrix has it whole; a quantile matrix takes it for two queries."""
    frame = table(VALID)
    cut = int(np.flatnonzero(VALID[2] == IDS[20])[0]) + 2
    parts = [frame.iloc[:cut], frame.iloc[:0], frame.iloc[cut:]]  # the first and the last are on one worker
    dtrain = matrix(client, parted(client, TRAIN, 3))
    booster, history = trained(client, dtrain, [(matrix(client, laid_out(client, parts)), "valid")])
    agree(history["valid"], booster, VALID)
    dtrain = matrix(client, parted(client, TRAIN, 3), "DaskQuantileDMatrix")
    dvalid = matrix(client, laid_out(client, parts), "DaskQuantileDMatrix", ref=dtrain)
    with pytest.raises(ltr.LtrValueError, match="has 51 queries, and its rows have 50 different"):
        trained(client, dtrain, [(dvalid, "valid")])


def launched(address: dict[str, Any], shares: list[Any], n_rounds: int, monitored: bool) -> Any:
    """Train as one of several workers, each with its own rows, without xgboost.dask."""
    with xgb.collective.CommunicatorContext(**address):
        X, y, qid, weight = shares[xgb.collective.get_rank()]
        data = xgb.DMatrix(X, y, qid=qid, weight=weight) if len(y) else xgb.DMatrix(np.empty((0, 6)))
        monitors = [Monitor(METRICS, X, y, qid=qid, query_weight=weight)] if monitored else []
        history: dict[str, Any] = {}
        booster = xgb.train(
            PARAMS, data, n_rounds, evals=[(data, "own")], custom_metric=custom_metric(METRICS),
            callbacks=[*monitors, early_stopping("err@10", 5, data_name="own")],
            evals_result=history, verbose_eval=False,
        )  # fmt: skip
        plain = {name: {m: [float(v) for v in values] for m, values in log.items()} for name, log in history.items()}
        return plain, booster.best_iteration, bytes(booster.save_raw("ubj"))


@pytest.mark.parametrize("cut", [11, 0], ids=["unequal", "a worker without rows"])
def test_weights_and_another_launcher(client: Any, cut: int) -> None:
    """Training, custom_metric and Monitor see the rows of one worker each; both workers stop in the same round."""
    X, y, qid = VALID
    weight = np.random.default_rng(2).random(len(IDS)).astype(np.float32) * np.arange(1, len(IDS) + 1)
    first = np.isin(qid, IDS[:cut])
    shares = [(X[rows], y[rows], qid[rows], w) for rows, w in ((first, weight[:cut]), (~first, weight[cut:]))]
    tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1")
    tracker.start()
    monitored = cut > 0  # by both or neither, and a Monitor has rows
    futures = [
        client.submit(launched, tracker.worker_args(), shares, 40, monitored, workers=[place], pure=False)
        for place in addresses(client)
    ]
    distributed.wait(futures, timeout=SECONDS)
    (history, best, raw), other = client.gather(futures)
    tracker.wait_for(timeout=SECONDS)
    assert other == (history, best, raw)
    booster = xgb.Booster(model_file=bytearray(raw))
    expected = agree(history["own"], booster, VALID, query_weight=weight)
    assert best == int(np.round(expected["err@10"], 6).argmax())
    if monitored:
        agree(history["valid"], booster, VALID, 1e-14, query_weight=weight)
