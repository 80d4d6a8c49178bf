"""Online evaluation by interleaving: mix several rankings, and compare rankers by clicks."""

from ltr_metrics.online.interleaving.balanced import Balanced
from ltr_metrics.online.interleaving.clicks import ClickModel
from ltr_metrics.online.interleaving.impressions import Impression, read_impressions, write_impressions
from ltr_metrics.online.interleaving.method import Method, Shown
from ltr_metrics.online.interleaving.outcome import Outcome
from ltr_metrics.online.interleaving.pairwise_preference import PairwisePreference
from ltr_metrics.online.interleaving.scoring import score
from ltr_metrics.online.interleaving.simulation import simulate
from ltr_metrics.online.interleaving.team_draft import TeamDraft

__all__ = [
    "Balanced",
    "ClickModel",
    "Impression",
    "Method",
    "Outcome",
    "PairwisePreference",
    "Shown",
    "TeamDraft",
    "read_impressions",
    "score",
    "simulate",
    "write_impressions",
]


def __dir__() -> list[str]:
    return list(__all__)
