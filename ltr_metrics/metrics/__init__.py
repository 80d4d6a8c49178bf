"""The metrics: one short file a family, names in `names.py`."""

from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.binary import MAP, MRR, Precision, Recall
from ltr_metrics.metrics.cascade import ERR
from ltr_metrics.metrics.gain import DCG, NDCG
from ltr_metrics.metrics.names import METRICS, metric

__all__ = ["DCG", "ERR", "MAP", "METRICS", "MRR", "NDCG", "Metric", "Precision", "Recall", "metric"]
