"""What one XGBoost training says of itself: its gain, its metrics' names, and the plan that both lead to."""

from __future__ import annotations

import json
from typing import Any

import xgboost

from ltr_metrics._hosts import (
    Gain,
    HostMetrics,
    Plan,
    gain_of_setting,
)


class XGBoostMetrics(HostMetrics):
    """Metrics that follow XGBoost's own gain."""

    HOST = "xgboost"

    def plan_in(self, model: Any) -> Plan:
        """Return what is evaluated in the training of a model."""
        return self.plan(gain_of(model)) if self.follows_gain else self.plan()


def gain_of(model: Any) -> Gain:
    """Return the gain that XGBoost's own NDCG has in the training of a model, or of the folds of xgb.cv."""
    booster = model if isinstance(model, xgboost.Booster) else model.cvfolds[0].bst
    learner = json.loads(booster.save_config())["learner"]
    metrics = [part for part in learner.get("metrics", ()) if part["name"].startswith("ndcg")]
    for part in (*metrics, learner["objective"]):  # map and pre have a gain in their settings too, which is always 1
        if "ndcg_exp_gain" in part.get("lambdarank_param", {}):
            return gain_of_setting("ndcg_exp_gain", part["lambdarank_param"]["ndcg_exp_gain"])
    return "exp"  # the objective has no gain, and XGBoost's NDCG is not in use
