"""Model files to scores: the host's own predictions, and files that are none."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from command import in_process
from lightgbm_fit import validation_sets

import ltr_metrics as ltr
from ltr_metrics.io import models as base
from ltr_metrics.io import read_letor
from ltr_metrics.io.models import load_model, predict

pytestmark = pytest.mark.integration

FEATURES = [f"f{i}" for i in range(8)]
Rows = tuple[Any, np.ndarray, np.ndarray]  # features, grades and query ids


@pytest.fixture(scope="module")
def data() -> Rows:
    X, y, qid = ltr.make_ranking(60, n_features=8, random_state=0)
    return pd.DataFrame(X, columns=FEATURES), y, qid


@pytest.fixture(scope="module")
def valid() -> Rows:
    X, y, qid = ltr.make_ranking(40, n_features=8, random_state=1)
    frame = pd.DataFrame(X, columns=FEATURES)
    frame.iloc[::7, 2] = np.nan  # hosts take what is missing for a value of its own
    return frame, y, qid


def xgb_ranker(data: Rows, valid: Rows, **options: Any) -> xgb.XGBRanker:
    ranker = xgb.XGBRanker(n_estimators=30, max_depth=3, learning_rate=0.3, random_state=0, n_jobs=1, **options)
    X, y, qid = data
    return ranker.fit(X, y, qid=qid, eval_set=[(valid[0], valid[1])], eval_qid=[valid[2]], verbose=False)


def lgb_ranker(data: Rows, valid: Rows) -> lgb.LGBMRanker:
    X, y, qid = data
    ranker = lgb.LGBMRanker(n_estimators=60, num_leaves=7, random_state=0, verbose=-1, n_jobs=1)
    watched = {**validation_sets((valid[0], valid[1])), "eval_group": [ltr.qid_to_group(valid[2])]}
    stop = lgb.early_stopping(3, verbose=False)
    return ranker.fit(X, y, group=ltr.qid_to_group(qid), callbacks=[stop], **watched)


@pytest.fixture(scope="module")
def rankers(data: Rows, valid: Rows) -> dict[str, Any]:
    """Trained with early stopping."""
    cat = catboost.CatBoostRanker(iterations=30, verbose=0, allow_writing_files=False, thread_count=1, random_seed=0)
    return {
        "xgboost": xgb_ranker(data, valid, early_stopping_rounds=3),
        "lightgbm": lgb_ranker(data, valid),
        "catboost": cat.fit(data[0], data[1], group_id=data[2]),
    }


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, rankers: dict[str, Any]) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name in ("model.json", "model.ubj"):
        rankers["xgboost"].save_model(folder / name)
    rankers["lightgbm"].booster_.save_model(folder / "model.txt")
    rankers["catboost"].save_model(folder / "model.cbm")
    for source, name in (("model.json", "json.model"), ("model.ubj", "ubj.txt"), ("model.txt", "lightgbm.json")):
        (folder / name).write_bytes((folder / source).read_bytes())
    (folder / "crlf.txt").write_bytes((folder / "model.txt").read_bytes().replace(b"\n", b"\r\n"))
    return folder


XGBOOST = ("model.json", "model.ubj", "json.model", "ubj.txt")
LIGHTGBM = ("model.txt", "lightgbm.json", "crlf.txt")


@pytest.mark.parametrize("batch", [1 << 16, 7])
@pytest.mark.parametrize("name", [*XGBOOST, *LIGHTGBM, "model.cbm"])
def test_a_file_predicts_as_its_ranker_does(
    models: Path, rankers: dict[str, Any], valid: Rows, name: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "ROWS_AT_ONCE", batch)
    model = load_model(models / name)
    expected = rankers[model.host].predict(valid[0])
    found = model.predict(valid[0])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(predict(models / name, valid[0].to_numpy()), expected)


def test_rounds_beyond_the_best_do_not_count(
    tmp_path: Path, models: Path, rankers: dict[str, Any], data: Rows, valid: Rows
) -> None:
    booster = rankers["xgboost"].get_booster()
    rounds = booster.num_boosted_rounds()
    assert rankers["xgboost"].best_iteration + 1 < rounds  # XGBoost's file has them all, LightGBM's does not
    whole = booster.inplace_predict(valid[0], iteration_range=(0, rounds), predict_type="margin")
    assert not np.array_equal(whole, predict(models / "model.json", valid[0]))
    groups = ltr.qid_to_group(data[2]), ltr.qid_to_group(valid[2])
    train = lgb.Dataset(data[0], data[1], group=groups[0])
    stop = lgb.early_stopping(3, verbose=False)
    options = {"objective": "lambdarank", "metric": "ndcg", "verbose": -1, "num_threads": 1, "num_leaves": 7}
    watched = lgb.Dataset(valid[0], valid[1], group=groups[1], reference=train)
    plain = lgb.train(options, train, 60, valid_sets=[watched], callbacks=[stop], keep_training_booster=True)
    assert 0 < plain.best_iteration < plain.current_iteration()
    plain.save_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(predict(tmp_path / "model.txt", valid[0]), plain.predict(valid[0]))


@pytest.mark.filterwarnings("ignore::UserWarning")  # gblinear is on its way out
@pytest.mark.parametrize("booster", ["dart", "gblinear"])
def test_other_boosters_of_xgboost(tmp_path: Path, data: Rows, valid: Rows, booster: str) -> None:
    X = valid[0].fillna(0)
    ranker = xgb_ranker(data, (X, *valid[1:]), booster=booster)
    ranker.save_model(tmp_path / "model.json")
    np.testing.assert_array_equal(predict(tmp_path / "model.json", X), ranker.predict(X))
    np.testing.assert_array_equal(predict(tmp_path / "model.json", X.to_numpy()), ranker.predict(X))


def test_scores_are_margins(tmp_path: Path, data: Rows) -> None:
    X, y, _ = data
    booster = lgb.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, y > 0).booster_
    booster.save_model(tmp_path / "model.txt")
    xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y > 0).save_model(tmp_path / "model.ubj")
    assert predict(tmp_path / "model.ubj", X).min() < 0
    found = predict(tmp_path / "model.txt", X)
    np.testing.assert_allclose(1 / (1 + np.exp(-found)), booster.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["model.txt", "model.ubj", "model.cbm"])
def test_features_are_taken_by_name(models: Path, valid: Rows, name: str) -> None:
    model = load_model(models / name)
    assert (model.n_features, model.names()) == (8, tuple(FEATURES))
    expected = model.predict(valid[0])
    shuffled = valid[0][FEATURES[::-1]].assign(qid="words", other=1)
    as_integers = valid[0].round().assign(f3=lambda frame: frame["f3"].astype("Int64"))
    for frame in (shuffled, pl.from_pandas(valid[0]), pa.Table.from_pandas(shuffled), dict(shuffled)):
        np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(model.predict(as_integers), model.predict(as_integers.astype(float)))
    missing = as_integers.assign(f3=as_integers["f3"].where(as_integers["f3"] > 0))
    assert missing["f3"].isna().any()
    as_nan = missing.assign(f3=missing["f3"].astype(object).where(missing["f3"].notna(), np.nan))
    np.testing.assert_array_equal(model.predict(missing), model.predict(as_nan))
    with pytest.raises(ltr.LtrValueError, match=r"lack the model's feature 'f5' .*model"):
        model.predict(valid[0].drop(columns=["f5", "f7"]))
    one_bad_cell = valid[0]["f1"].astype(object).where(np.arange(len(valid[0])) != 7, "text")
    for column in (one_bad_cell, one_bad_cell.astype(str)):
        with pytest.raises(ltr.LtrTypeError, match=r"The feature 'f1' of .* must be numbers .* got 'text' at row 7"):
            model.predict(valid[0].assign(f1=column))
    with pytest.raises(ltr.LtrValueError, match=r"has 8 features, and X has the shape .* 7\).*n_features"):
        model.predict(valid[0].to_numpy()[:, :7])
    with pytest.raises(ltr.LtrValueError, match=r"has 8 features, and X has the shape \(8,\)"):
        model.predict(np.zeros(8))


def test_a_model_without_names(tmp_path: Path, data: Rows) -> None:
    X, y, qid = data
    matrix = xgb.DMatrix(X.to_numpy(), y, qid=qid)
    xgb.train({"objective": "rank:ndcg"}, matrix, 3).save_model(tmp_path / "model.json")
    assert predict(tmp_path / "model.json", X.to_numpy()).shape == y.shape
    with pytest.raises(ltr.LtrValueError, match="saved without names of features"):
        predict(tmp_path / "model.json", X)


@pytest.fixture(scope="module")
def of_letor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LETOR file, and models of hosts that read it: their first column is feature 0, which no line has."""
    folder = tmp_path_factory.mktemp("letor")
    X, y, qid = ltr.make_ranking(n_queries=40, documents=8, n_features=4, random_state=0)
    lines = [" ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) for row in X.tolist()]
    (folder / "train.txt").write_text("".join(f"{label} {line}\n" for label, line in zip(y, lines, strict=True)))
    sizes = ltr.qid_to_group(qid)
    (folder / "train.txt.query").write_text("".join(f"{size}\n" for size in sizes))
    options = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 1}
    lgb.train(options, lgb.Dataset(folder / "train.txt", params=options), 9).save_model(folder / "model.txt")
    from_0 = np.column_stack([np.zeros(len(y)), X])
    xgb.train({"objective": "rank:ndcg"}, xgb.DMatrix(from_0, y, qid=qid), 9).save_model(folder / "model.ubj")
    cat = catboost.CatBoostRanker(iterations=9, verbose=0, allow_writing_files=False, thread_count=1)
    cat.fit(from_0, y, group_id=qid).save_model(folder / "model.cbm")
    return folder


@pytest.mark.parametrize("name", ["model.txt", "model.ubj", "model.cbm"])
def test_a_model_of_a_host_that_counts_the_features_of_letor_from_0(of_letor: Path, name: str) -> None:
    rows, model = read_letor(of_letor / "train.txt"), load_model(of_letor / name)
    message = r"5 features, .* \(\d+, 4\).* read it with zero_based=True\. If .*, pass n_features=5 instead"
    for use in (model.predict, lambda X: ltr.learning_curve(model, X, rows.y, qid=rows.qid, metrics="map")):
        with pytest.raises(ltr.LtrValueError, match=message):
            use(rows.X)
    message = r"\(\d+, 3\)\. If the file lacks its last features, pass n_features=5\."
    with pytest.raises(ltr.LtrValueError, match=message):
        model.predict(rows.X[:, :3])
    with pytest.raises(ltr.LtrValueError, match=r"\(\d+, 6\)\. Read a LETOR file without zero_based"):
        model.predict(read_letor(of_letor / "train.txt", zero_based=True, n_features=6).X)
    values = []
    for options in ({"zero_based": True}, {"n_features": 5}):
        scores = model.predict(read_letor(of_letor / "train.txt", **options).X)
        values.append(ltr.evaluate(rows.y, scores, qid=rows.qid, metrics="ndcg@3")["ndcg@3"])
    assert values[0] > 0.9 > values[1]


@pytest.mark.parametrize("command", ["evaluate", "evaluate --sorted", "report"])
def test_the_command_names_zero_based_first(
    of_letor: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(of_letor)
    line = [*command.split(), "train.txt", "--model", "model.ubj", "--metrics", "ndcg@3"]
    line += ["--output", "report.html"] if command == "report" else []
    done = in_process(capsys, *line)
    assert (done.status, done.out) == (2, "")
    assert re.search("read it with zero_based=True. If .* last features, pass n_features=5 instead", done.err)
    assert in_process(capsys, *line, "--zero-based").status == 0


def test_what_gives_no_one_score_is_refused(tmp_path: Path, data: Rows) -> None:
    X, y, _ = data
    xgb.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, y).save_model(tmp_path / "classes.json")
    xgb.XGBRegressor(n_estimators=2, n_jobs=1).fit(X, np.column_stack([y, y])).save_model(tmp_path / "targets.ubj")
    lgb.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X, y).booster_.save_model(tmp_path / "classes.txt")
    cat = catboost.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False)
    cat.fit(X, y).save_model(tmp_path / "classes.cbm")
    for name, n in (("classes.json", 5), ("targets.ubj", 2), ("classes.txt", 5), ("classes.cbm", 5)):
        with pytest.raises(ltr.LtrValueError, match=rf"{name} gives {n} scores per row"):
            load_model(tmp_path / name)


def test_categories_are_refused(tmp_path: Path, data: Rows) -> None:
    X, y, _ = data
    frame = X.assign(f0=pd.Categorical(np.where(X["f0"] > 0, "a", "b")))
    regressor = xgb.XGBRegressor(n_estimators=2, n_jobs=1, enable_categorical=True)
    regressor.fit(frame, y).save_model(tmp_path / "model.json")
    lgb.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1).fit(frame, y).booster_.save_model(tmp_path / "model.txt")
    cat = catboost.CatBoostRegressor(iterations=2, verbose=0, allow_writing_files=False, cat_features=["f0"])
    cat.fit(frame, y).save_model(tmp_path / "model.cbm")
    for name in ("model.json", "model.txt", "model.cbm"):
        with pytest.raises(ltr.LtrValueError, match=rf"{name} was trained on .*categor"):
            load_model(tmp_path / name)


@pytest.mark.parametrize("name", ["model.txt", "crlf.txt", "model.json", "model.ubj", "model.cbm"])
def test_a_file_that_is_cut_off_or_lost_a_piece_is_refused(models: Path, tmp_path: Path, name: str) -> None:
    """LightGBM left to itself ends the process on some of these."""
    content = (models / name).read_bytes()
    places = np.linspace(0, len(content) * 0.97, 25).astype(int)  # after it, pandas_categorical:null alone may be left
    damaged = [content[:at] for at in places]
    if name != "model.cbm":
        damaged += [content[:at] + content[at + 100 :] for at in (len(content) // 3, len(content) // 2)]
    for one in damaged:
        (tmp_path / name).write_bytes(one)
        with pytest.raises(ltr.LtrValueError, match=rf"{name} (is cut off|is not a|cannot be read as a model)"):
            load_model(tmp_path / name)


FOREIGN = {
    "empty.txt": ("", "is not a model file of LightGBM .text., XGBoost"),
    "data.csv": ("qid,label\n1,0\n", "is not a model file"),
    "other.json": (json.dumps({"trees": []}), "cannot be read as a model"),
    "list.json": ("[1, 2]", "is not a model file"),
    "head.txt": ("tree\nversion=v4\n", "is cut off"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_files_are_refused(tmp_path: Path, name: str) -> None:
    text, message = FOREIGN[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ltr.LtrValueError, match=f"{name} {message}"):
        load_model(tmp_path / name)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no model file .*absent.txt"):
        predict(tmp_path / "absent.txt", np.zeros((1, 1)))


def test_a_frame_is_not_copied_as_a_whole(models: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(400_000, 8)), columns=FEATURES)
    for name in ("model.txt", "model.ubj"):
        model = load_model(models / name)
        model.predict(frame.iloc[:10])
        tracemalloc.start()
        model.predict(frame)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < frame.to_numpy().nbytes / 2
