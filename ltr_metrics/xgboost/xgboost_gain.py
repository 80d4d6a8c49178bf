"""The gain of XGBoost's own NDCG in a training."""

from __future__ import annotations

import json
from typing import Any

import xgboost

from ltr_metrics._hosts.host_metrics import HostMetrics, Plan
from ltr_metrics._hosts.known_hosts import Gain, gain_of_setting


def plan_of_training(metrics: HostMetrics, model: Any) -> Plan:
    """Return what is evaluated in the training of a model."""
    return metrics.plan(lambda: gain_of_training(model))


def gain_of_training(model: Any) -> Gain:
    """Return the gain of a training, which may be that of xgb.cv."""
    booster = model if isinstance(model, xgboost.Booster) else model.cvfolds[0].bst
    learner = json.loads(booster.save_config())["learner"]
    metrics = [part for part in learner.get("metrics", ()) if part["name"].startswith("ndcg")]
    for part in (*metrics, learner["objective"]):  # map and pre have this setting too, but it is always 1
        if "ndcg_exp_gain" in part.get("lambdarank_param", {}):
            return gain_of_setting("ndcg_exp_gain", part["lambdarank_param"]["ndcg_exp_gain"])
    return "exp"  # the objective has no gain, and XGBoost's NDCG is not in use
