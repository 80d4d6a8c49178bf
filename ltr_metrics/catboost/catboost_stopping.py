"""Early stopping of CatBoost's estimators, rankers and regressors alike."""

from __future__ import annotations

import inspect
from typing import Any

from catboost import CatBoostError, Pool

from ltr_metrics._hosts.host_metrics import HostMetrics
from ltr_metrics.catboost import EvalMetric
from ltr_metrics.catboost.catboost_validation import ValidationSet
from ltr_metrics.sklearn.early_stopping import Conflicts, cannot_cut_back
from ltr_metrics.sklearn.training import Training, query_numbers

# Names of columns in fit, and in Pool.
KINDS_OF_FEATURES = ("cat_features", "text_features", "embedding_features")  # that are not numbers
ROWS_OF_POOL = {"sample_weight": "weight"} | {name: name for name in ("group_weight", "subgroup_id", "baseline")}

CONFLICTS = Conflicts(
    own_stopping=("early_stopping_rounds", "od_type", "od_wait", "od_pval", "use_best_model", "eval_fraction"),
    objects=(EvalMetric,),
)


def train(
    estimator: Any, rest: Training, held_out: Training, metrics: HostMetrics, rounds: int, min_delta: float
) -> int:
    """Train on the rest, stop by the held-out queries, and return the best number of rounds."""
    if estimator.get_params().get("use_best_model") is False:
        raise cannot_cut_back("use_best_model=False, which keeps all rounds", "Leave it out")
    metric = HeldOutMetric(metrics, held_out, min_delta)
    estimator.set_params(eval_metric=metric)  # CatBoost stops by this one
    try:
        pool = _pool_of(estimator, held_out)
        rest.fit(estimator, eval_set=[pool], early_stopping_rounds=rounds, use_best_model=True)
    except CatBoostError:
        if metric.error is not None:  # CatBoost keeps only the text of an error
            raise metric.error from None
        raise
    finally:
        metric.release()
    return int(estimator.tree_count_)  # best_iteration_ ignores best_model_min_trees, and a model to start from


class HeldOutMetric(EvalMetric):
    """An `EvalMetric` of the held-out queries, for one training.

    The fitted estimator keeps it, because CatBoost does not change parameters after the training.

    Attributes
    ----------
    error : Exception or None
        The error that ended the training.
    """

    def __init__(self, metrics: HostMetrics, held_out: Training, min_delta: float) -> None:
        y, weight = held_out.rows["y"], held_out.rows.get("sample_weight", held_out.rows.get("group_weight"))
        # The weights are passed here in full precision.
        valid = ValidationSet((y, held_out.qid), weight, held_out.columns)
        super().__init__(metrics.request.metrics[0], valid, names=metrics.plan().logged, min_delta=min_delta)
        self.error: Exception | None = None

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        try:
            return super().evaluate(approxes, target, weight)
        except Exception as error:
            self.error = error
            raise

    def release(self) -> None:
        """Drop the data. Otherwise the fitted estimator would keep them."""
        self._training = self.error = None
        del self.valid


def _pool_of(estimator: Any, data: Training) -> Pool:
    columns = {name: data.rows[given] for given, name in ROWS_OF_POOL.items() if given in data.rows}
    settings = estimator.get_params() | data.others
    has_queries = "group_id" in inspect.signature(estimator.fit).parameters
    return Pool(
        data.rows["X"],
        data.rows["y"],
        group_id=query_numbers(data.sizes) if has_queries else None,
        **columns,
        **{name: settings.get(name) for name in KINDS_OF_FEATURES},
    )
