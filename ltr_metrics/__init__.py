"""Ranking evaluation for people who train rankers with LightGBM, XGBoost and scikit-learn."""

import importlib
import typing

from ltr_metrics.conventions import CONVENTIONS, Convention
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, LtrWarning, MissingExtraError
from ltr_metrics.evaluation import Queries, evaluate
from ltr_metrics.grouping import group_to_qid, qid_to_group
from ltr_metrics.metrics import (
    CG,
    DCG,
    ERR,
    F1,
    MAP,
    MRR,
    NDCG,
    RBP,
    FunctionMetric,
    Hit,
    Judged,
    Kendall,
    MeanOf,
    Metric,
    MetricInfo,
    PairAccuracy,
    PFound,
    Precision,
    RankMetric,
    Recall,
    RPrec,
    Spearman,
    available_metrics,
    metric,
)
from ltr_metrics.positions import Positions
from ltr_metrics.ranking import Ranking
from ltr_metrics.result import Evaluation, load_result
from ltr_metrics.tie_audit import TieAudit, TieRange, tie_audit

if typing.TYPE_CHECKING:
    from ltr_metrics.comparison import Comparison, Difference, compare
    from ltr_metrics.data_audit import Audit, audit
    from ltr_metrics.datasets import make_ranking, train_test_split
    from ltr_metrics.explain import Explanation, explain_difference
    from ltr_metrics.gating import GateResult, gate
    from ltr_metrics.log import PerQueryLog
    from ltr_metrics.segments import Bins, bins
    from ltr_metrics.shift.churn import Churn, churn
    from ltr_metrics.shift.rank_changes import RankChanges, rank_changes
    from ltr_metrics.streaming import evaluate_sorted

__version__ = "0.1.0"

__all__ = [
    "CG",
    "CONVENTIONS",
    "DCG",
    "ERR",
    "F1",
    "MAP",
    "MRR",
    "NDCG",
    "RBP",
    "Audit",
    "Bins",
    "Churn",
    "Comparison",
    "Convention",
    "Difference",
    "Evaluation",
    "Explanation",
    "FunctionMetric",
    "GateResult",
    "Hit",
    "Judged",
    "Kendall",
    "LtrError",
    "LtrKeyError",
    "LtrTypeError",
    "LtrValueError",
    "LtrWarning",
    "MeanOf",
    "Metric",
    "MetricInfo",
    "MissingExtraError",
    "PFound",
    "PairAccuracy",
    "PerQueryLog",
    "Positions",
    "Precision",
    "Queries",
    "RPrec",
    "RankChanges",
    "RankMetric",
    "Ranking",
    "Recall",
    "Spearman",
    "TieAudit",
    "TieRange",
    "audit",
    "available_metrics",
    "bins",
    "churn",
    "compare",
    "evaluate",
    "evaluate_sorted",
    "explain_difference",
    "gate",
    "group_to_qid",
    "load_result",
    "make_ranking",
    "metric",
    "qid_to_group",
    "rank_changes",
    "tie_audit",
    "train_test_split",
]

# Imported when they are first asked for, so that `import ltr_metrics` costs little beside NumPy.
_HOME = {
    "GateResult": "gating",
    "gate": "gating",
    "evaluate_sorted": "streaming",
    "Audit": "data_audit",
    "audit": "data_audit",
    "Bins": "segments",
    "bins": "segments",
    "Churn": "shift",
    "RankChanges": "shift",
    "churn": "shift",
    "rank_changes": "shift",
    "Comparison": "comparison",
    "Difference": "comparison",
    "compare": "comparison",
    "make_ranking": "datasets",
    "train_test_split": "datasets",
    "Explanation": "explain",
    "explain_difference": "explain",
    "PerQueryLog": "log",
}

if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])
