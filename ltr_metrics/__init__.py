"""Ranking evaluation for people who train rankers with LightGBM, XGBoost and scikit-learn."""

from ltr_metrics.conventions import CONVENTIONS, Convention
from ltr_metrics.datasets import make_ranking, train_test_split
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, LtrWarning, MissingExtraError
from ltr_metrics.evaluation import Queries, evaluate
from ltr_metrics.explain import Explanation, explain_difference
from ltr_metrics.grouping import group_to_qid, qid_to_group
from ltr_metrics.log import PerQueryLog
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
from ltr_metrics.ranking import Ranking
from ltr_metrics.result import Evaluation
from ltr_metrics.tie_audit import TieAudit, TieRange, tie_audit

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
    "Convention",
    "Evaluation",
    "Explanation",
    "FunctionMetric",
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
    "Precision",
    "Queries",
    "RPrec",
    "RankMetric",
    "Ranking",
    "Recall",
    "Spearman",
    "TieAudit",
    "TieRange",
    "available_metrics",
    "evaluate",
    "explain_difference",
    "group_to_qid",
    "make_ranking",
    "metric",
    "qid_to_group",
    "tie_audit",
    "train_test_split",
]
