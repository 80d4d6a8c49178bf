"""File formats: LETOR and svmlight text, tables; whole-file writing."""

from ltr_metrics.io.letor import LetorData, read_letor
from ltr_metrics.io.table import read_table
from ltr_metrics.io.write import write_whole

__all__ = ["LetorData", "read_letor", "read_table", "write_whole"]
