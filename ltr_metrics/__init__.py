"""Ranking evaluation for people who train rankers with LightGBM, XGBoost and scikit-learn."""

import importlib
import typing

from ltr_metrics._engine.grouping import group_to_qid, qid_to_group
from ltr_metrics._engine.positions import Positions
from ltr_metrics._engine.ranking import Ranking
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, LtrWarning, MissingExtraError
from ltr_metrics.evaluation.evaluate import Queries, evaluate
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics import (
    ARP,
    CG,
    DCG,
    ERR,
    F1,
    MAP,
    MRR,
    NDCG,
    RBP,
    Bpref,
    FunctionMetric,
    Hit,
    InterpolatedPrecision,
    Judged,
    Kendall,
    MeanOf,
    Metric,
    MetricInfo,
    PairAccuracy,
    PFound,
    Precision,
    QMeasure,
    RankMetric,
    Recall,
    RPrec,
    Spearman,
    SumOf,
    as_metric,
    available_metrics,
    metric,
)
from ltr_metrics.metrics.conventions import Convention
from ltr_metrics.metrics.systems import CONVENTIONS

if typing.TYPE_CHECKING:
    from ltr_metrics.analysis.bins import Bins, bins
    from ltr_metrics.analysis.churn import Churn, churn
    from ltr_metrics.analysis.comparison import Comparison, Difference, compare
    from ltr_metrics.analysis.data_audit import Audit, audit
    from ltr_metrics.analysis.explain import Explanation, explain_difference
    from ltr_metrics.analysis.gating import GateResult, gate
    from ltr_metrics.analysis.identify import Identification, identify_convention
    from ltr_metrics.analysis.intervals import Interval, Intervals, intervals
    from ltr_metrics.analysis.rank_changes import RankChanges, rank_changes
    from ltr_metrics.analysis.tie_audit import TieAudit, TieRange, tie_audit
    from ltr_metrics.curves import learning_curve
    from ltr_metrics.evaluation.log import PerQueryLog
    from ltr_metrics.evaluation.saved import load_result
    from ltr_metrics.evaluation.streaming import evaluate_sorted
    from ltr_metrics.io.datasets import make_ranking, train_test_split
    from ltr_metrics.io.qrels import from_qrels

__version__ = "0.1.0"

__all__ = [
    "ARP",
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
    "Bpref",
    "Churn",
    "Comparison",
    "Convention",
    "Difference",
    "Evaluation",
    "Explanation",
    "FunctionMetric",
    "GateResult",
    "Hit",
    "Identification",
    "InterpolatedPrecision",
    "Interval",
    "Intervals",
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
    "QMeasure",
    "Queries",
    "RPrec",
    "RankChanges",
    "RankMetric",
    "Ranking",
    "Recall",
    "Spearman",
    "SumOf",
    "TieAudit",
    "TieRange",
    "as_metric",
    "audit",
    "available_metrics",
    "bins",
    "churn",
    "compare",
    "evaluate",
    "evaluate_sorted",
    "explain_difference",
    "from_qrels",
    "gate",
    "group_to_qid",
    "identify_convention",
    "intervals",
    "learning_curve",
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
    "TieAudit": "analysis.tie_audit",
    "TieRange": "analysis.tie_audit",
    "tie_audit": "analysis.tie_audit",
    "GateResult": "analysis.gating",
    "gate": "analysis.gating",
    "learning_curve": "curves",
    "evaluate_sorted": "evaluation.streaming",
    "load_result": "evaluation.saved",
    "Audit": "analysis.data_audit",
    "audit": "analysis.data_audit",
    "Bins": "analysis.bins",
    "bins": "analysis.bins",
    "Churn": "analysis.churn",
    "RankChanges": "analysis.rank_changes",
    "churn": "analysis.churn",
    "rank_changes": "analysis.rank_changes",
    "Comparison": "analysis.comparison",
    "Difference": "analysis.comparison",
    "compare": "analysis.comparison",
    "make_ranking": "io.datasets",
    "train_test_split": "io.datasets",
    "from_qrels": "io.qrels",
    "Explanation": "analysis.explain",
    "explain_difference": "analysis.explain",
    "Identification": "analysis.identify",
    "identify_convention": "analysis.identify",
    "Interval": "analysis.intervals",
    "Intervals": "analysis.intervals",
    "intervals": "analysis.intervals",
    "PerQueryLog": "evaluation.log",
}

if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])
