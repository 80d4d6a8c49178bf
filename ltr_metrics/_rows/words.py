"""The allowed words of options, as types; checks read them with `typing.get_args`."""

from __future__ import annotations

from typing import Literal

# -- evaluation
TiePolicy = Literal["mean", "stable", "worst", "best", "docid"]
NoRelevant = Literal["skip", "drop", "error"]
Unjudged = Literal["zero", "drop"]
ConventionName = Literal[
    # the conventions
    "default", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "letor",
    "ranx", "torchmetrics", "tf_ranking", "ranklib", "spark_mllib", "vespa", "kaggle", "replay",
    "recbole", "rectools", "elasticsearch", "quepid",
    # further names of some of them
    "pytrec_eval", "ir_measures", "pyterrier", "keras_rs", "pyvespa", "ml_metrics", "opensearch",
]  # fmt: skip
TiesAfterShuffle = Literal["mean", "worst", "best", "docid"]  # which leaves the rows of a query in no order
HostOfGain = Literal["lightgbm", "xgboost"]
Topics = Literal["both", "qrels"]
RankBy = Literal["score", "rank"]

# -- parameters of metrics
NamedGain = Literal["exp", "linear"]

# -- comparison
Test = Literal["randomization", "t"]
Correction = Literal["holm", "bh", "none"]
QueriesOfComparison = Literal["same", "common"]
FamilyOfGate = Literal["candidates", "one"]

# -- trainings and searches
NameStyle = Literal["asked", "canonical", "slug"]
PartOfSearch = Literal["test", "train"]

# -- interleaving
InterleavingMethod = Literal["team_draft", "ppm", "balanced"]
SimulatedMethod = Literal["team_draft", "ppm"]
ClusterOfImpressions = Literal["user", "query"]
OutcomeBy = Literal["wins", "credit"]
TiesOfRankings = Literal["stable", "random"]

# -- counterfactual evaluation
EstimatorOfMetric = Literal["ips", "dr"]
EstimatorOfClicks = Literal["ips", "snips", "dr"]
MethodOfPropensities = Literal["randomized", "harvesting"]
TiesOfClicks = Literal["mean", "stable", "docid"]
