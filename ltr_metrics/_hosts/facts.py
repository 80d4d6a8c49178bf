"""Facts about the hosts that can be used without importing them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ltr_metrics.errors import LtrTypeError


class Host(NamedTuple):
    """What messages say about a training library."""

    gain_setting: str  # the parameter that changes the gain of the host's own NDCG
    other_writers: str  # what else may write a name into the host's log
    remedy: str  # how to keep the other writers out of the log
    map_at_10: str  # what map@10 is called under the host's convention


HOSTS = {
    "lightgbm": Host(
        gain_setting="label_gain",
        other_writers="LightGBM's own metric of that name, or another metric function",
        remedy='Pass metric="None" among the parameters (of LGBMRanker too) to leave out LightGBM\'s own metrics.',
        map_at_10="map(rel=>0.5)@10",
    ),
    "xgboost": Host(
        gain_setting="ndcg_exp_gain",
        other_writers="XGBoost's own metric of that name (eval_metric), another metric function or Monitor, or "
        "another data set of that name",
        remedy="Remove it from eval_metric (or pass disable_default_eval_metric=True), or give the Monitor or the "
        "data set another name.",
        map_at_10="map(rel=binary)@10",
    ),
}

# The adapter to use, by what a host passed to the adapter of another host. The first that fits
# is used.
HOST_ENTRY_POINTS = {
    "estimator": "scikit-learn's scoring= takes ltr_metrics.sklearn.make_scorer(...)",
    "lightgbm Dataset": "lgb.train(feval=...) takes ltr_metrics.lightgbm.feval(...)",
    "xgboost DMatrix": "xgb.train(custom_metric=...) takes ltr_metrics.xgboost.custom_metric(...)",
    "numpy ndarray": "LGBMRanker.fit(eval_metric=...) takes ltr_metrics.lightgbm.eval_metric(...), "
    "XGBRanker(callbacks=[...]) takes ltr_metrics.xgboost.Monitor(...)",
    "catboost Pool": "CatBoostRanker(eval_metric=...) takes ltr_metrics.catboost.EvalMetric(...)",
}


def wrong_host(rule: str, *arguments: Any) -> LtrTypeError:
    """Return the error for an adapter that another host called, which names the adapter to use."""
    kinds = list(map(_kind, arguments))
    known = next((kind for kind in HOST_ENTRY_POINTS if kind in kinds), None)
    if known is not None:
        return LtrTypeError(f"{rule} Got {'an' if known == 'estimator' else 'a'} {known}: {HOST_ENTRY_POINTS[known]}.")
    got = " and ".join(f"a {kind}" for kind in kinds)
    return LtrTypeError(f"{rule} Got {got}. Elsewhere: {'; '.join(HOST_ENTRY_POINTS.values())}.")


def not_for_catboost(adapter: str) -> LtrTypeError:
    """Return the error for an adapter of another host that CatBoost takes for a metric."""
    return LtrTypeError(f"{adapter} is for another host. {HOST_ENTRY_POINTS['catboost Pool']}.")


def _kind(value: Any) -> str:
    package, name = type(value).__module__.partition(".")[0], type(value).__name__
    if hasattr(value, "fit") or hasattr(value, "predict"):
        return "estimator"
    return "xgboost DMatrix" if package == "xgboost" and name.endswith("DMatrix") else f"{package} {name}"
