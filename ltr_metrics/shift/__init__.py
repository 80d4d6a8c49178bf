"""What differs between two rankings of the same documents, beyond a metric's number."""

from ltr_metrics.shift.churn import Churn, churn
from ltr_metrics.shift.rank_changes import Moves, RankChanges, RankMatrix, rank_changes

__all__ = ["Churn", "Moves", "RankChanges", "RankMatrix", "churn", "rank_changes"]
