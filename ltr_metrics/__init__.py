"""Ranking evaluation for people who train rankers with LightGBM, XGBoost and scikit-learn."""

import importlib
import typing

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.grouping import group_to_qid, qid_to_group
from ltr_metrics._rows.positions import Positions
from ltr_metrics._version import __version__ as __version__
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, LtrWarning, MissingExtraError
from ltr_metrics.evaluation.evaluate import Queries, evaluate
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics import (
    BinaryMetric,
    GainMetric,
    Metric,
    MetricInfo,
    RankMetric,
    all_metrics,
    as_metric,
    available_metrics,
    metric,
)
from ltr_metrics.metrics.all_metrics import *  # noqa: F403
from ltr_metrics.metrics.conventions import CONVENTIONS, Convention

if typing.TYPE_CHECKING:
    from ltr_metrics import catboost as catboost
    from ltr_metrics import counterfactual as counterfactual
    from ltr_metrics import interleaving as interleaving
    from ltr_metrics import io as io
    from ltr_metrics import lightgbm as lightgbm
    from ltr_metrics import report as report
    from ltr_metrics import sklearn as sklearn
    from ltr_metrics import xgboost as xgboost
    from ltr_metrics._hosts.fitted_model import learning_curve
    from ltr_metrics.analysis.audit import audit, tie_audit
    from ltr_metrics.analysis.churn import churn
    from ltr_metrics.analysis.comparison import Comparison, compare
    from ltr_metrics.analysis.explain import explain_difference
    from ltr_metrics.analysis.gate import gate
    from ltr_metrics.analysis.identify import identify_convention
    from ltr_metrics.analysis.intervals import intervals
    from ltr_metrics.evaluation.batches import evaluate_batches
    from ltr_metrics.evaluation.concat import concat
    from ltr_metrics.evaluation.versions import show_versions
    from ltr_metrics.io.datasets import make_ranking, train_test_split
    from ltr_metrics.io.load import load_result
    from ltr_metrics.io.trec import from_qrels
    from ltr_metrics.logs.search_log import SearchLog
    from ltr_metrics.logs.training_log import PerQueryLog


__all__ = [
    "CONVENTIONS",
    "Comparison",
    "Convention",
    "Evaluation",
    "LtrError",
    "LtrKeyError",
    "LtrTypeError",
    "LtrValueError",
    "LtrWarning",
    "MissingExtraError",
    "PerQueryLog",
    "Positions",
    "Queries",
    "Ranking",
    "SearchLog",
    "audit",
    "churn",
    "compare",
    "concat",
    "evaluate",
    "evaluate_batches",
    "explain_difference",
    "from_qrels",
    "gate",
    "group_to_qid",
    "identify_convention",
    "intervals",
    "learning_curve",
    "load_result",
    "make_ranking",
    "qid_to_group",
    "show_versions",
    "tie_audit",
    "train_test_split",
]
__all__ += ["BinaryMetric", "GainMetric", "Metric", "MetricInfo", "RankMetric"]
__all__ += ["as_metric", "available_metrics", "metric"]
__all__ += all_metrics.__all__

# Imported when they are first asked for, so that `import ltr_metrics` costs little beside NumPy.
_MODULES = (*("catboost", "counterfactual", "interleaving", "io", "lightgbm", "report", "sklearn", "xgboost"),)
_HOME = {
    "Comparison": "analysis.comparison",
    "PerQueryLog": "logs.training_log",
    "SearchLog": "logs.search_log",
    "audit": "analysis.audit",
    "churn": "analysis.churn",
    "compare": "analysis.comparison",
    "concat": "evaluation.concat",
    "evaluate_batches": "evaluation.batches",
    "explain_difference": "analysis.explain",
    "from_qrels": "io.trec",
    "gate": "analysis.gate",
    "identify_convention": "analysis.identify",
    "intervals": "analysis.intervals",
    "learning_curve": "_hosts.fitted_model",
    "load_result": "io.load",
    "make_ranking": "io.datasets",
    "show_versions": "evaluation.versions",
    "tie_audit": "analysis.audit",
    "train_test_split": "io.datasets",
}

if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            try:
                return importlib.import_module(f"{__name__}.{name}")
            except MissingExtraError as error:  # the only error that hasattr, help and completion expect
                raise AttributeError(str(error)) from error
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*__all__, *_MODULES, "metrics", "__version__"])
