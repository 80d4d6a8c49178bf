"""The metrics: one short file for each family. ``names.py`` is their register."""

from ltr_metrics.metrics.arp import ARP
from ltr_metrics.metrics.average_precision import MAP
from ltr_metrics.metrics.base import Metric, RankMetric
from ltr_metrics.metrics.bpref import Bpref
from ltr_metrics.metrics.cascade import ERR, PFound
from ltr_metrics.metrics.counts import F1, Precision, Recall, RPrec
from ltr_metrics.metrics.dcg import CG, DCG, NDCG
from ltr_metrics.metrics.first import MRR, Hit
from ltr_metrics.metrics.function import FunctionMetric
from ltr_metrics.metrics.ideal import ideal_by_rank
from ltr_metrics.metrics.interpolated_precision import InterpolatedPrecision
from ltr_metrics.metrics.names import METRICS, MetricInfo, available_metrics, metric
from ltr_metrics.metrics.order import Kendall, PairAccuracy, Spearman
from ltr_metrics.metrics.own import as_metric
from ltr_metrics.metrics.q_measure import QMeasure
from ltr_metrics.metrics.rbp import RBP
from ltr_metrics.metrics.shown import Judged, MeanOf, SumOf

__all__ = [
    "ARP",
    "CG",
    "DCG",
    "ERR",
    "F1",
    "MAP",
    "METRICS",
    "MRR",
    "NDCG",
    "RBP",
    "Bpref",
    "FunctionMetric",
    "Hit",
    "InterpolatedPrecision",
    "Judged",
    "Kendall",
    "MeanOf",
    "Metric",
    "MetricInfo",
    "PFound",
    "PairAccuracy",
    "Precision",
    "QMeasure",
    "RPrec",
    "RankMetric",
    "Recall",
    "Spearman",
    "SumOf",
    "as_metric",
    "available_metrics",
    "ideal_by_rank",
    "metric",
]
