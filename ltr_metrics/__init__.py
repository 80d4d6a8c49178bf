"""Ranking evaluation for people who train rankers with LightGBM, XGBoost and scikit-learn."""

from ltr_metrics.conventions import CONVENTIONS, Convention
from ltr_metrics.datasets import make_ranking, train_test_split
from ltr_metrics.errors import LtrError, LtrKeyError, LtrTypeError, LtrValueError, LtrWarning, MissingExtraError
from ltr_metrics.evaluation import Queries, evaluate
from ltr_metrics.grouping import group_to_qid, qid_to_group
from ltr_metrics.log import PerQueryLog
from ltr_metrics.metrics import DCG, ERR, MAP, MRR, NDCG, Metric, Precision, Recall, metric
from ltr_metrics.result import Evaluation

__version__ = "0.1.0"

__all__ = [
    "CONVENTIONS",
    "DCG",
    "ERR",
    "MAP",
    "MRR",
    "NDCG",
    "Convention",
    "Evaluation",
    "LtrError",
    "LtrKeyError",
    "LtrTypeError",
    "LtrValueError",
    "LtrWarning",
    "Metric",
    "MissingExtraError",
    "PerQueryLog",
    "Precision",
    "Queries",
    "Recall",
    "evaluate",
    "group_to_qid",
    "make_ranking",
    "metric",
    "qid_to_group",
    "train_test_split",
]
