"""File formats: LETOR and svmlight, TREC, tables, files of scores, model files; atomic writing."""

from ltr_metrics.io.arrays import read_scores
from ltr_metrics.io.letor import LetorData, read_letor
from ltr_metrics.io.table import read_table
from ltr_metrics.io.trec import read_trec
from ltr_metrics.io.trec_data import TrecData
from ltr_metrics.io.write import write_whole

__all__ = ["LetorData", "TrecData", "read_letor", "read_scores", "read_table", "read_trec", "write_whole"]
