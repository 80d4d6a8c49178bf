"""Dask: evaluate the rows of each partition on the worker that has them."""

from ltr_metrics.dask.evaluation import evaluate, evaluate_scores
from ltr_metrics.dask.shuffles import whole_queries

__all__ = ["evaluate", "evaluate_scores", "whole_queries"]
