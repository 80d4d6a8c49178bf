"""Ranking evaluation for people who train rankers with LightGBM, XGBoost and scikit-learn."""

import importlib
import typing

from ltr_metrics._ranks.ranking import Ranking
from ltr_metrics._rows.grouping import group_to_qid, qid_to_group
from ltr_metrics._rows.positions import Positions
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, LtrWarning, MissingExtraError
from ltr_metrics.evaluation.evaluate import Queries, evaluate
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics import (
    BinaryMetric,
    FunctionMetric,
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
    from ltr_metrics.analysis.audit import Audit, TieAudit, TieRange, audit, tie_audit
    from ltr_metrics.analysis.churn import Churn, churn
    from ltr_metrics.analysis.comparison import Comparison, Difference, compare
    from ltr_metrics.analysis.explain import Explanation, explain_difference
    from ltr_metrics.analysis.gate import GateResult, gate
    from ltr_metrics.analysis.identify import Identification, identify_convention
    from ltr_metrics.analysis.intervals import Interval, Intervals, intervals
    from ltr_metrics.analysis.leaderboard import Leaderboard, Standing
    from ltr_metrics.analysis.rank_changes import RankChanges, rank_changes
    from ltr_metrics.evaluation.batches import evaluate_batches
    from ltr_metrics.evaluation.saved import load_result
    from ltr_metrics.io.datasets import make_ranking, train_test_split
    from ltr_metrics.io.trec import from_qrels
    from ltr_metrics.logs.fitted_model import learning_curve
    from ltr_metrics.logs.search_log import SearchLog
    from ltr_metrics.logs.training_log import PerQueryLog

__version__ = "0.1.0"

__all__ = [
    "CONVENTIONS",
    "Audit",
    "Churn",
    "Comparison",
    "Convention",
    "Difference",
    "Evaluation",
    "Explanation",
    "GateResult",
    "Identification",
    "Interval",
    "Intervals",
    "Leaderboard",
    "LtrError",
    "LtrKeyError",
    "LtrTypeError",
    "LtrValueError",
    "LtrWarning",
    "MissingExtraError",
    "PerQueryLog",
    "Positions",
    "Queries",
    "RankChanges",
    "Ranking",
    "SearchLog",
    "Standing",
    "TieAudit",
    "TieRange",
    "audit",
    "churn",
    "compare",
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
    "rank_changes",
    "tie_audit",
    "train_test_split",
]
__all__ += ["BinaryMetric", "FunctionMetric", "GainMetric", "Metric", "MetricInfo", "RankMetric"]
__all__ += ["as_metric", "available_metrics", "metric"]
__all__ += all_metrics.__all__

# Imported when they are first asked for, so that `import ltr_metrics` costs little beside NumPy.
_HOME = {
    "TieAudit": "analysis.audit",
    "TieRange": "analysis.audit",
    "tie_audit": "analysis.audit",
    "GateResult": "analysis.gate",
    "gate": "analysis.gate",
    "learning_curve": "logs.fitted_model",
    "evaluate_batches": "evaluation.batches",
    "load_result": "evaluation.saved",
    "Audit": "analysis.audit",
    "audit": "analysis.audit",
    "Churn": "analysis.churn",
    "RankChanges": "analysis.rank_changes",
    "churn": "analysis.churn",
    "rank_changes": "analysis.rank_changes",
    "Comparison": "analysis.comparison",
    "Difference": "analysis.comparison",
    "compare": "analysis.comparison",
    "Leaderboard": "analysis.leaderboard",
    "Standing": "analysis.leaderboard",
    "make_ranking": "io.datasets",
    "train_test_split": "io.datasets",
    "from_qrels": "io.trec",
    "Explanation": "analysis.explain",
    "explain_difference": "analysis.explain",
    "Identification": "analysis.identify",
    "identify_convention": "analysis.identify",
    "Interval": "analysis.intervals",
    "Intervals": "analysis.intervals",
    "intervals": "analysis.intervals",
    "PerQueryLog": "logs.training_log",
    "SearchLog": "logs.search_log",
}

if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])
