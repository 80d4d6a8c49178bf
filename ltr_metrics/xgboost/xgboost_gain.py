"""The gain of XGBoost's own NDCG in a training."""

from __future__ import annotations

import json
from typing import Any

import xgboost

from ltr_metrics._hosts.known_hosts import Gain


def gain_of_training(model: Any) -> Gain:
    """Return the gain of a training, which may be that of xgb.cv."""
    booster = model if isinstance(model, xgboost.Booster) else model.cvfolds[0].bst
    learner = json.loads(booster.save_config())["learner"]
    metrics = [section for section in learner.get("metrics", ()) if section["name"].startswith("ndcg")]
    for section in (*metrics, learner["objective"]):  # map and pre have this setting too, but it is always 1
        if "ndcg_exp_gain" in section.get("lambdarank_param", {}):
            setting = str(section["lambdarank_param"]["ndcg_exp_gain"])
            return "linear" if setting.lower() in ("0", "false") else "exp"
    return "exp"  # the objective has no gain, and XGBoost's NDCG is not in use
