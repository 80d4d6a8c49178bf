"""A host's own gain: convention="lightgbm" follows label_gain, convention="xgboost" follows ndcg_exp_gain."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from lightgbm_fit import validation_sets

import ltr_metrics as ltr
from ltr_metrics._hosts.host_call import find_host_call, gain_of_setting
from ltr_metrics.lightgbm import eval_metric, feval
from ltr_metrics.metrics.requests import resolve
from ltr_metrics.sklearn import QueryRanker, make_scorer

LINEAR = [0, 1, 2, 3, 4]
STEPS = [0, 0.5, 2, 2.5, 10]
LIGHTGBM = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "num_threads": 1, "seed": 0}
XGBOOST = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": 1, "seed": 0}
DIGITS = {"rtol": 1e-12, "atol": 0}  # LightGBM and XGBoost keep all; sums in another order
SIX_DECIMALS = {"rtol": 0, "atol": 5.1e-7}  # XGBoost's of a custom metric
Split = tuple[Any, ...]

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def split() -> Split:
    X, y, qid = ltr.make_ranking(n_queries=60, documents=12, n_features=5, random_state=0)
    return ltr.train_test_split(X, y, qid, test_size=0.4, random_state=0)


def datasets(split: Split, **options: Any) -> tuple[lgb.Dataset, lgb.Dataset]:
    X, Xv, y, yv, qid, qidv = split
    train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), **options)
    return train, lgb.Dataset(Xv, yv, group=ltr.qid_to_group(qidv), reference=train, **options)


def lightgbm_log(split: Split, metric: Any, sets: Any = None, **params: Any) -> dict[str, list[float]]:
    train, valid = sets or datasets(split)
    history: dict = {}
    lgb.train(LIGHTGBM | params, train, 4, [valid], feval=metric, callbacks=[lgb.record_evaluation(history)])
    return history["valid_0"]


class TestLightGBM:
    @pytest.mark.parametrize(
        ("gain", "name"),
        [
            (LINEAR, "ndcg_lin@10"),
            ("0,1,2,3,4", "ndcg_lin@10"),
            (np.array(LINEAR, dtype=np.float32), "ndcg_lin@10"),
            (STEPS, "ndcg(gain=[0,0.5,2,2.5,10])@10"),
            ([0, 1, 3, 7, 15], "ndcg_exp@10"),
            (None, "ndcg_exp@10"),
        ],
        ids=["linear", "text", "array", "table", "exponential", "default"],
    )
    def test_train(self, split: Split, gain: Any, name: str) -> None:
        params = {} if gain is None else {"label_gain": gain}
        log = ltr.PerQueryLog()
        history = lightgbm_log(split, feval("ndcg@10", convention="lightgbm", log=log), **params)
        assert list(history) == ["ndcg@10", name]
        np.testing.assert_allclose(history[name], history["ndcg@10"], **DIGITS)
        np.testing.assert_array_equal(np.nanmean(log.values("valid_0", "ndcg@10"), axis=1), history[name])

    def test_cv(self, split: Split) -> None:
        train, _ = datasets(split)
        params = LIGHTGBM | {"label_gain": LINEAR}
        result = lgb.cv(params, train, 3, nfold=3, feval=feval("ndcg@10", convention="lightgbm"))
        np.testing.assert_allclose(result["valid ndcg_lin@10-mean"], result["valid ndcg@10-mean"], **DIGITS)

    def test_ranker(self, split: Split) -> None:
        X, Xv, y, yv, qid, qidv = split
        ranker = lgb.LGBMRanker(n_estimators=4, label_gain=LINEAR, verbose=-1, n_jobs=1)
        metric = eval_metric(["ndcg@10", "ndcg_exp@10"], convention="lightgbm")
        groups = {"group": ltr.qid_to_group(qid), "eval_group": [ltr.qid_to_group(qidv)]}
        ranker.fit(X, y, **groups, **validation_sets((Xv, yv)), eval_metric=metric, eval_at=[10])
        history = ranker.evals_result_["valid_0"]
        assert list(history) == ["ndcg@10", "ndcg_lin@10", "ndcg_exp@10"]
        np.testing.assert_allclose(history["ndcg_lin@10"], history["ndcg@10"], **DIGITS)
        assert history["ndcg_exp@10"] != pytest.approx(history["ndcg@10"], abs=1e-3)

    def test_one_function_in_several_trainings(self, split: Split) -> None:
        metric, sets = feval("ndcg@10", convention="lightgbm"), datasets(split)
        names = [list(lightgbm_log(split, metric, sets, label_gain=gain))[1] for gain in (LINEAR, STEPS)]
        names.append(list(lightgbm_log(split, metric, sets))[1])  # whose Datasets still have params of the first
        assert names == ["ndcg_lin@10", "ndcg(gain=[0,0.5,2,2.5,10])@10", "ndcg_exp@10"]

    def test_what_the_dataset_alone_was_given_is_not_used_by_lightgbm(self, split: Split) -> None:
        history = lightgbm_log(
            split, feval("ndcg@10", convention="lightgbm"), datasets(split, params={"label_gain": LINEAR})
        )
        np.testing.assert_allclose(history["ndcg_exp@10"], history["ndcg@10"], **DIGITS)

    def test_behind_a_function_of_the_users(self, split: Split) -> None:
        ours = feval("ndcg@10", convention="lightgbm")
        history = lightgbm_log(
            split, lambda *given: [(f"our {n}", v, m) for n, v, m in ours(*given)], label_gain=LINEAR
        )
        np.testing.assert_allclose(history["our ndcg_lin@10"], history["ndcg@10"], **DIGITS)

    def test_a_call_by_hand_reads_the_dataset(self, split: Split) -> None:
        _, valid = datasets(split, params={"label_gain": LINEAR})
        valid.construct()
        ((name, value, _),) = feval("ndcg@10", convention="lightgbm")(split[1][:, 0], valid)
        assert name == "ndcg_lin@10"
        options = {"qid": split[5], "metrics": "ndcg_lin@10", "ties": "stable", "no_relevant": 1}
        assert value == ltr.evaluate(split[3], split[1][:, 0], **options)["ndcg_lin@10"]

    def test_names_that_do_not_follow(self, split: Split) -> None:
        given = ["ndcg_exp@10", ltr.NDCG(k=5), "map@10"]
        assert list(lightgbm_log(split, feval(given, convention="lightgbm"), label_gain=LINEAR)) == [
            "ndcg@10", "ndcg_exp@10", "ndcg_exp@5", "map(rel=>0.5)@10"
        ]  # fmt: skip
        assert list(lightgbm_log(split, feval("ndcg@10"), label_gain=LINEAR)) == ["ndcg@10", "ndcg_exp@10"]
        assert list(lightgbm_log(split, feval("ndcg@10", convention="xgboost"), label_gain=LINEAR))[1] == "ndcg_exp@10"

    def test_conventions_of_ones_own(self, split: Split) -> None:
        mine = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="mine", metrics=None)
        history = lightgbm_log(split, feval(["dcg@10", "ndcg@10"], convention=mine), label_gain=LINEAR)
        assert list(history) == ["ndcg@10", "dcg_lin@10", "ndcg_lin@10"]
        for change in ({"host": None}, {"ndcg_gain": (0, 2, 3, 4, 5)}):
            other = dataclasses.replace(mine, **change)
            expected = str(resolve("ndcg@10", convention=other).metrics[0])
            assert list(lightgbm_log(split, feval("ndcg@10", convention=other), label_gain=LINEAR))[1] == expected
        with pytest.raises(ltr.LtrValueError, match="host must be one of 'lightgbm', 'xgboost'"):
            dataclasses.replace(mine, host="catboost")

    def test_a_gain_that_falls_is_refused(self, split: Split) -> None:
        with pytest.raises(ltr.LtrValueError, match="must not be negative nor fall"):
            lightgbm_log(split, feval("ndcg@10", convention="lightgbm"), label_gain=[0, 3, 2, 3, 4])

    def test_where_it_cannot_be_read(self) -> None:
        """A LightGBM whose function that gathers results has another name."""
        y, group = np.array([0.0, 1, 2]), np.array([3])
        code = "def gather(metric, *given):\n    return metric(*given)\n"
        namespace: dict[str, Any] = {"__name__": "lightgbm.other"}
        exec(code, namespace)
        metric = eval_metric("ndcg@10", convention="lightgbm")
        with pytest.warns(ltr.LtrWarning, match=r"follows label_gain, which cannot be read here.*Write the gain into"):
            assert namespace["gather"](metric, y, y, None, group) == [("ndcg_exp@10", 1.0, True)]
        assert metric(y, y, None, group) == namespace["gather"](eval_metric("ndcg_exp@10"), y, y, None, group)


@pytest.mark.parametrize(
    ("setting", "value", "gain"),
    [
        ("label_gain", [], "exp"),
        ("label_gain", None, "exp"),
        ("label_gain", [2.0**i - 1 for i in range(31)], "exp"),
        ("label_gain", (0, 1), "exp"),
        ("label_gain", range(40), "linear"),
        ("label_gain", np.array([0, 0.1], dtype=np.float32), (0, 0.1)),
        ("ndcg_exp_gain", False, "linear"),
        ("ndcg_exp_gain", "false", "linear"),
        ("ndcg_exp_gain", 0, "linear"),
        ("ndcg_exp_gain", True, "exp"),
        ("ndcg_exp_gain", None, "exp"),
    ],
)
def test_settings(setting: str, value: Any, gain: Any) -> None:
    assert gain_of_setting(setting, value) == gain


def test_no_host_is_calling() -> None:
    assert find_host_call("lightgbm", "__inner_eval") == (None, False, False)


class TestXGBoost:
    @pytest.fixture(autouse=True)
    def _host(self) -> None:
        pytest.importorskip("xgboost", reason="xgboost is not installed")

    def run(self, split: Split, callbacks: Any = (), metric: Any = None, **params: Any) -> dict[str, Any]:
        import xgboost as xgb

        X, Xv, y, yv, qid, qidv = split
        history: dict = {}
        matrices = [xgb.DMatrix(X, y, qid=qid), xgb.DMatrix(Xv, yv, qid=qidv)]
        xgb.train(
            XGBOOST | params, matrices[0], 4, evals=[(matrices[1], "v")], custom_metric=metric, callbacks=callbacks,
            evals_result=history, verbose_eval=False,
        )  # fmt: skip
        return history

    def monitor(self, split: Split, metrics: Any = "ndcg@10", **options: Any) -> Any:
        from ltr_metrics.xgboost import Monitor

        return Monitor(metrics, split[1], split[3], qid=split[5], **{"convention": "xgboost"} | options)

    @pytest.mark.parametrize("exponential", [True, False])
    def test_train(self, split: Split, exponential: bool) -> None:
        from ltr_metrics.xgboost import custom_metric, early_stopping

        name = "ndcg_exp@10" if exponential else "ndcg_lin@10"
        log = ltr.PerQueryLog()
        callbacks = [
            self.monitor(split, log=log),
            early_stopping("ndcg@10", 9, data_name="v", convention="xgboost"),
            early_stopping("ndcg@10", 9, data_name="valid", convention="xgboost"),
        ]
        metric = custom_metric("ndcg@10", convention="xgboost")
        history = self.run(split, callbacks, metric, ndcg_exp_gain=exponential)
        assert {data: list(metrics) for data, metrics in history.items()} == {"valid": [name], "v": ["ndcg@10", name]}
        np.testing.assert_allclose(history["valid"][name], history["v"]["ndcg@10"], **DIGITS)
        np.testing.assert_allclose(history["v"][name], history["v"]["ndcg@10"], **SIX_DECIMALS)
        np.testing.assert_array_equal(np.nanmean(log.values("valid", "ndcg@10"), axis=1), history["valid"][name])

    def test_cv(self, split: Split) -> None:
        import xgboost as xgb

        from ltr_metrics.xgboost import custom_metric, early_stopping

        train = xgb.DMatrix(split[0], split[2], qid=split[4])
        result = xgb.cv(
            XGBOOST | {"ndcg_exp_gain": False}, train, 4, nfold=3, as_pandas=False,
            custom_metric=custom_metric("ndcg@10", convention="xgboost"),
            callbacks=[early_stopping("ndcg@10", 9, convention="xgboost")],
        )  # fmt: skip
        np.testing.assert_allclose(result["test-ndcg_lin@10-mean"], result["test-ndcg@10-mean"], **SIX_DECIMALS)

    def test_ranker_and_several_trainings(self, split: Split) -> None:
        import xgboost as xgb

        X, Xv, y, yv, qid, qidv = split
        watched = self.monitor(split)
        for exponential, name in ((False, "ndcg_lin@10"), (True, "ndcg_exp@10"), (False, "ndcg_lin@10")):
            ranker = xgb.XGBRanker(
                n_estimators=3, eval_metric="ndcg@10", n_jobs=1, ndcg_exp_gain=exponential, callbacks=[watched]
            )
            ranker.fit(X, y, qid=qid, eval_set=[(Xv, yv)], eval_qid=[qidv], verbose=False)
            history = ranker.evals_result()
            np.testing.assert_allclose(history["valid"][name], history["validation_0"]["ndcg@10"], **DIGITS)
            watched = pickle.loads(pickle.dumps(watched))

    @pytest.mark.parametrize("of_host", ["map@5", "pre@5", "rmse", ["map", "ndcg@3"]])
    def test_other_metrics_of_the_host_have_no_gain(self, split: Split, of_host: Any) -> None:
        """XGBoost keeps an ndcg_exp_gain of 1 for its map and pre, whatever the training's is."""
        import xgboost as xgb

        X, _, y, _, qid, _ = split
        watched = self.monitor(split)
        ranker = xgb.XGBRanker(
            n_estimators=1, n_jobs=1, eval_metric=of_host, ndcg_exp_gain=False, callbacks=[watched]
        ).fit(X, y, qid=qid)
        assert list(ranker.evals_result()["valid"]) == ["ndcg_lin@10"]

    def test_names_that_do_not_follow(self, split: Split) -> None:
        given = ["ndcg_exp@10", ltr.NDCG(k=5)]
        callbacks = [self.monitor(split, given), self.monitor(split, name="plain", convention=None)]
        history = self.run(split, callbacks, ndcg_exp_gain=False)
        assert list(history["valid"]) == ["ndcg_exp@10", "ndcg_exp@5"]
        assert list(history["plain"]) == ["ndcg_exp@10"]

    def test_a_gain_that_changes_during_the_training(self, split: Split) -> None:
        from xgboost.callback import TrainingCallback

        class Change(TrainingCallback):
            def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                if epoch == 2:
                    model.set_param({"ndcg_exp_gain": False})
                return False

        with pytest.raises(ltr.LtrValueError, match="ndcg_exp_gain has changed after 2 rounds"):
            self.run(split, [Change(), self.monitor(split)])

    def test_where_it_cannot_be_read(self, split: Split) -> None:
        import xgboost as xgb

        from ltr_metrics.xgboost import custom_metric

        valid = xgb.DMatrix(split[1], split[3], qid=split[5])
        namespace: dict[str, Any] = {"__name__": "xgboost.other"}
        exec("def gather(metric, *given):\n    return metric(*given)\n", namespace)
        metric = custom_metric("ndcg@10", convention="xgboost")
        with pytest.warns(ltr.LtrWarning, match=r"follows ndcg_exp_gain, which cannot be read here"):
            assert namespace["gather"](metric, split[1][:, 0], valid)[0][0] == "ndcg_exp@10"
        assert metric(split[1][:, 0], valid)[0][0] == "ndcg_exp@10"


def test_a_scorer_warns_since_a_search_needs_one_metric(split: Split) -> None:
    X, Xv, y, yv, qid, qidv = split
    model = QueryRanker(lgb.LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1, label_gain=LINEAR)).fit(X, y, qid=qid)
    with pytest.warns(ltr.LtrWarning, match=r"estimator__label_gain=.*ndcg@10 has the exponential gain here.*ndcg_lin"):
        value = make_scorer("ndcg@10", convention="lightgbm")(model, Xv, yv, qid=qidv)
    assert value == make_scorer("ndcg_exp@10", convention="lightgbm")(model, Xv, yv, qid=qidv)
    make_scorer("ndcg@10")(model, Xv, yv, qid=qidv)  # our own definition, without a convention
    model.set_params(estimator__label_gain=[0, 1, 3, 7, 15])
    make_scorer("ndcg@10", convention="lightgbm")(model, Xv, yv, qid=qidv)
