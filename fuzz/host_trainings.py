"""Random set-ups of trainings with LightGBM and XGBoost for `fuzz.hosts`, and what a training leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ltr_metrics as ltr
from fuzz.host_setups import (
    GAINS_OF_LIGHTGBM,
    Array,
    Draw,
    Part,
    Question,
    Style,
    chance,
    choose,
    draw_question,
)

LIGHTGBM = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 2, "min_data_in_bin": 1}
XGBOOST = {"nthread": 1, "verbosity": 0, "min_child_weight": 0.0}


@dataclass(frozen=True)
class Stop:
    """Early stopping on one metric of a data set; LightGBM's watches all data sets, and one metric or all."""

    rounds: int
    metric: int
    data: int
    is_ours: bool  # by `ltr_metrics.xgboost.early_stopping`; with LightGBM, by the first metric alone


@dataclass(frozen=True, eq=False)
class Training:
    """A training set-up; its evaluation sets are known by their positions."""

    subject: str
    style: Style
    train: Part
    sets: Sequence[Part]
    question: Question
    weights: str  # of the evaluation: "row", "query" or none
    params: dict[str, Any]
    rounds: int
    stop: Stop | None
    has_log: bool
    has_metric_of_host: bool
    queries: str  # how XGBoost gets them

    @property
    def is_lightgbm(self) -> bool:
        return self.subject in ("lgb.train", "LGBMRanker")

    @property
    def logs_of_host(self) -> bool:
        """Whether the host's own metric is in the log beside ours; Monitors have data sets of their own there."""
        return self.has_metric_of_host and not self.subject.endswith("Monitor")

    def describe(self) -> str:
        return (
            f"{self.params}, {self.rounds} rounds, {self.stop}, {self.question}, {self.style}, "
            f"queries by {self.queries}"
        )


@dataclass(eq=False)
class Run:
    """What a training has logged, and the scores that it had."""

    log: ltr.PerQueryLog
    data: list[Any] = field(default_factory=list)  # by which the log knows each set
    histories: list[dict[str, list[float]]] = field(default_factory=list)
    scores: list[list[Array]] = field(default_factory=list)  # of each set in each round
    best: int | None = None  # rounds, as early stopping has them
    predict: Callable[[int, int], Array] | None = None  # of a set with the first rounds, where it must be the same
    n_kept: int | None = None  # rounds that the model has kept, if early stopping has cut it


def draw_training(draw: Draw, subject: str) -> Training:
    """Draw the set-up of a training."""
    is_lightgbm = subject in ("lgb.train", "LGBMRanker")
    style = Style.draw(draw)
    params = _lightgbm_params(draw, style) if is_lightgbm else _xgboost_params(draw, style, subject)
    train = style.part(draw, fewest_queries=4)
    sets = [train if chance(draw, 0.2) else style.part(draw) for _ in range(int(draw.integers(1, 4)))]
    if sum(part is train for part in sets) > 1:
        sets = [train]
    weights = "" if not style.is_weighted else "row" if is_lightgbm else "query"
    if is_lightgbm:
        gain = "exp" if "label_gain" not in params else _key_of(params["label_gain"])
    else:
        gain = "exp" if params.get("ndcg_exp_gain", True) else "linear"
    question = draw_question(
        draw,
        sets,
        weights,
        own_name="own {}" if is_lightgbm or subject.endswith("Monitor") else "own_{}",
        follows="lightgbm" if is_lightgbm else "xgboost",
        gain=gain,
    )
    stop = None
    others = [i for i, part in enumerate(sets) if part is not train]
    if others and chance(draw, 0.5) and params.get("boosting") != "dart":
        metric = int(draw.integers(len(question.metrics)))
        stop = Stop(int(draw.integers(1, 4)), metric, choose(draw, *others), is_ours=chance(draw, 0.6))
    return Training(
        subject=subject,
        style=style,
        train=train,
        sets=sets,
        question=question,
        weights=weights,
        params=params,
        rounds=int(draw.integers(1, 7)),
        stop=stop,
        has_log=chance(draw, 0.7),
        # XGBoost's own ndcg ends a training with weights where its mean is above 1.
        has_metric_of_host=stop is None and (is_lightgbm or not weights) and chance(draw, 0.4),
        queries=choose(draw, "qid", "group", *(["column"] if style.is_frame else [])),
    )


def _key_of(label_gain: list[int]) -> Any:
    return next(key for key, table in GAINS_OF_LIGHTGBM.items() if table == label_gain)


def _lightgbm_params(draw: Draw, style: Style) -> dict[str, Any]:
    objectives = ["lambdarank", "lambdarank", "rank_xendcg", "regression", *(["binary"] if style.is_binary else [])]
    params = {
        "objective": choose(draw, *objectives),
        "boosting": choose(draw, "gbdt", "gbdt", "gbdt", "dart", "rf"),
        "num_leaves": int(draw.integers(2, 16)),
        "learning_rate": choose(draw, 0.1, 0.5, 1.0),
        "seed": int(draw.integers(1000)),
    }
    if params["boosting"] == "gbdt" and chance(draw, 0.2):
        params["data_sample_strategy"] = "goss"
    elif params["boosting"] == "rf" or chance(draw, 0.2):
        params |= {"bagging_freq": 1, "bagging_fraction": 0.7}
    if chance(draw, 0.3):
        params["label_gain"] = choose(draw, *GAINS_OF_LIGHTGBM.values())
    return LIGHTGBM | params


def _xgboost_params(draw: Draw, style: Style, subject: str) -> dict[str, Any]:
    objectives = ["rank:ndcg", "rank:ndcg", "rank:pairwise"]
    if style.is_binary:
        objectives.append("rank:map")
    if subject != "XGBRanker, Monitor" and not style.is_weighted:  # whose objectives want one weight a row
        objectives += ["reg:squarederror", *(["binary:logistic"] if style.is_binary else [])]
    params = {
        "objective": choose(draw, *objectives),
        # not gblinear, whose models of one training differ from run to run, some of them NaN
        "booster": choose(draw, "gbtree", "gbtree", "dart"),
        "max_depth": int(draw.integers(1, 5)),
        "tree_method": choose(draw, "hist", "exact"),
        "subsample": choose(draw, 1.0, 1.0, 0.7),
        "learning_rate": choose(draw, 0.1, 0.5, 1.0),
        "seed": int(draw.integers(1000)),
    }
    if chance(draw, 0.2):
        params["num_parallel_tree"] = 2
    if params["booster"] == "dart":
        params["rate_drop"] = 0.4
    if params["objective"].startswith("rank:") and chance(draw, 0.4):
        params["ndcg_exp_gain"] = False
    return XGBOOST | params


def options(case: Training, run: Run) -> dict[str, Any]:
    """Return the options of the adapter."""
    log = {"log": run.log} if case.has_log else {}
    return {"names": case.question.names, **case.question.policy, **log}
