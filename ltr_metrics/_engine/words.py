"""The allowed words of options, as types; checks read them with `typing.get_args`."""

from __future__ import annotations

from typing import Literal

# -- evaluation
TiePolicy = Literal["mean", "stable", "worst", "best", "docid"]
TiesOfSpark = Literal["mean", "worst", "best", "docid"]  # rows of Spark have no input order
NoRelevant = Literal["skip", "drop", "error"]
Unjudged = Literal["zero", "drop"]
ConventionName = Literal["default", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "letor"]
HostOfGain = Literal["lightgbm", "xgboost"]
Topics = Literal["both", "qrels"]

# -- parameters of metrics
NamedGain = Literal["exp", "linear"]
NamedDiscount = Literal["log2", "jarvelin"]
ShortOfNDCG = Literal["pad", "zero"]
ShortOfPrecision = Literal["pad", "cut"]
Denominator = Literal["min", "relevant", "cutoff", "hits"]
StopOfERR = Literal["exp", "label"]
StopOfPFound = Literal["label", "yandex", "exp"]
Graded = Literal["max"]

# -- comparison
Test = Literal["randomization", "t", "wilcoxon", "sign"]
Correction = Literal["holm", "bonferroni", "bh", "none"]
CorrectionOver = Literal["models", "all"]
QueriesOfComparison = Literal["same", "common"]
Interval = Literal["wider", "bca", "percentile", "t"]
Bootstrap = Literal["bca", "percentile"]

# -- trainings and searches
NameStyle = Literal["canonical", "asked", "slug"]
RuleOfBestRound = Literal["max", "one_se"]
PartOfSearch = Literal["test", "train"]

# -- interleaving
InterleavingMethod = Literal["team_draft", "ppm", "balanced", "probabilistic", "optimized"]
RuleOfCredit = Literal["own", "clicks"]
ClusterOfImpressions = Literal["user", "query"]
Pairs = Literal["joachims", "authors"]
Credit = Literal["inverse", "negative"]
OutcomeBy = Literal["wins", "credit"]
TiesOfRankings = Literal["stable", "random"]
