"""Scoring with model files of LightGBM and XGBoost."""

from ltr_metrics.io.models.base import Model
from ltr_metrics.io.models.load import load_model, predict

__all__ = ["Model", "load_model", "predict"]
