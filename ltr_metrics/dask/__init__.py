"""Dask: evaluation of rows in its partitions, where they are."""

from ltr_metrics.dask.evaluation import evaluate, evaluate_scores
from ltr_metrics.dask.shuffles import whole_queries

__all__ = ["evaluate", "evaluate_scores", "whole_queries"]
