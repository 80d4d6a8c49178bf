"""Releases of hosts that rename what we read from their frames: an error where a number needs it, otherwise a warning."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_host_contract import PLAIN, check, columns_needed
from trainings import TRAININGS, Case

import ltr_metrics as ltr
from ltr_metrics._hosts import frames
from ltr_metrics.lightgbm import early_stopping

pytestmark = pytest.mark.integration

VERSION = r"\d+\.\d+[\d.]* has no variable"
REMEDY = r"Update ltr_metrics, or install a version of (lightgbm|xgboost|catboost)"
Rename = Callable[..., None]


@pytest.fixture
def rename(monkeypatch: pytest.MonkeyPatch) -> Rename:
    """Hide a function of a host, or one of its variables, from the reading of frames."""
    callers = frames._callers

    def apply(function: str, *variables: str) -> None:
        def changed() -> Iterator[tuple[str, Any]]:
            for module, frame in callers():
                if module == __name__:  # this function, which stands between
                    continue
                if frame.f_code.co_name != function:
                    yield module, frame
                    continue
                kept = {name: value for name, value in frame.f_locals.items() if name not in variables}
                code = frame.f_code if variables else SimpleNamespace(co_name="renamed")
                yield module, SimpleNamespace(f_code=code, f_locals=kept)

        monkeypatch.setattr(frames, "_callers", changed)
        frames._warn_once.cache_clear()

    return apply


FUNCTIONS = [("lgb.train", "__inner_eval"), ("LGBMRanker", "__inner_eval"), ("xgb.train", "eval_set")]
CHECKS = [
    *[(*pair, ()) for pair in FUNCTIONS],
    ("lgb.train", "__inner_eval", ("ret",)),
    ("LGBMRanker", "__inner_eval", ("ret",)),
    ("xgb.train", "eval_set", ("evname",)),
    ("xgb.train", "eval_set", ("res",)),
]


@pytest.mark.parametrize(("name", "function", "variables"), CHECKS)
def test_a_lost_check_is_one_warning(name: str, function: str, variables: tuple[str, ...], rename: Rename) -> None:
    """The values of all rounds are right all the same. Without the function, a log would not know the rounds."""
    rename(function, *variables)
    train, valid = (part._replace(columns=None) for part in PLAIN)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TRAININGS[name].train(Case(train, valid))
        check(TRAININGS[name], Case(train, valid), has_log=bool(variables))
    texts = [str(one.message) for one in caught if issubclass(one.category, ltr.LtrWarning)]
    assert len(texts) == len(set(texts)) > 0
    for text in texts:
        for part in (VERSION, REMEDY, "does not check"):
            assert re.search(part, text)


@pytest.mark.parametrize("hidden", [(), ("self",)], ids=["function", "variable"])
@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_a_gain_that_cannot_be_read_is_an_error(
    name: str, function: str, hidden: tuple[str, ...], rename: Rename
) -> None:
    """If a metric follows it; a name that states its gain needs nothing."""
    rename(function, *hidden)
    train, valid = (part._replace(columns=None) for part in PLAIN)
    host = TRAININGS[name]
    with pytest.raises(ltr.LtrError, match=f"{VERSION} 'self' .*value depends on.*{REMEDY}"):
        host.train(Case(train, valid, ["ndcg@10"], {"convention": host.convention}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stated = host.train(Case(train, valid, ["ndcg_exp@10"], {"convention": host.convention}))
    assert list(stated.history) == ["ndcg_exp@10"]


@pytest.mark.filterwarnings("ignore:.*does not check")
@pytest.mark.parametrize("hidden", [(), ("self",)], ids=["function", "variable"])
@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_a_log_needs_the_round(name: str, function: str, hidden: tuple[str, ...], rename: Rename) -> None:
    rename(function, *hidden)
    train, valid = (part._replace(columns=None) for part in PLAIN)
    with pytest.raises(ltr.LtrError, match=f"{VERSION} 'self' .*value depends on.*{REMEDY}"):
        TRAININGS[name].train(Case(train, valid, ["mrr"], {"log": ltr.PerQueryLog()}))


@pytest.mark.parametrize("hidden", [(), ("feval",)], ids=["function", "variable"])
def test_early_stopping_of_lightgbm_finds_a_canonical_name_all_the_same(
    hidden: tuple[str, ...], rename: Rename
) -> None:
    rename("train", *hidden)
    train, valid = (part._replace(columns=None) for part in PLAIN)
    with pytest.warns(ltr.LtrWarning, match=f"{VERSION} 'feval' .*does not check under which name.*{REMEDY}"):
        run = TRAININGS["lgb.train"].train(Case(train, valid, ["mrr"], callbacks=(early_stopping("rr", 2),), rounds=20))
    assert run.best == int(np.argmax(run.history["mrr"])) < 17


def test_columns_by_name_need_the_name_of_the_data_set(rename: Rename) -> None:
    rename("__inner_eval", "data_name")
    with pytest.raises(ltr.LtrError, match=f"{VERSION} 'data_name' .*{REMEDY}"):
        TRAININGS["LGBMRanker"].train(Case(*PLAIN, ["sum_of(bought)@3"]))
    TRAININGS["LGBMRanker"].train(columns_needed(Case(*PLAIN)))


def test_a_monitor_needs_to_know_what_is_missing(rename: Rename) -> None:
    train, valid = (part._replace(columns=None) for part in PLAIN)
    rename("train", "dtrain")
    with pytest.raises(ltr.LtrError, match=f"{VERSION} 'dtrain' .*{REMEDY}"):
        TRAININGS["XGBRanker"].train(Case(train, valid, ["mrr"]))
    TRAININGS["XGBRanker"].train(Case(train, valid, ["mrr"], {"missing": np.nan}))


def test_the_training_of_catboost(rename: Rename) -> None:
    case = columns_needed(Case(*PLAIN))
    for hidden in ((), ("params",), ("test_pool",), ("init_model",)):
        rename("_train", *hidden)
        with pytest.raises(Exception, match=f"catboost {VERSION}.*value depends on"):
            TRAININGS["CatBoostRanker"].train(case)
