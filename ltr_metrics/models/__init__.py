"""Model files to scores."""

from ltr_metrics.models.base import Model
from ltr_metrics.models.load import load_model, predict

__all__ = ["Model", "load_model", "predict"]
