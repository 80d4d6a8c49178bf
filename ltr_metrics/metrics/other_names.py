"""Names that other systems give to metrics, for error messages and documentation."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple


class OtherName(NamedTuple):
    """A metric's name in another system, and ours; ``{k}`` stands for the cutoff, which may be absent."""

    system: str
    theirs: str
    ours: str
    remark: str = ""  # what else it takes to get the same number


GEOMETRIC = ", and its geometric mean is result.geometric_mean(name)"
WITH_WORST = ' with ties="worst" and the labels as columns={"label": y}'
OTHER_NAMES = (
    OtherName("LightGBM", "lambdarank", "ndcg{k}"),
    OtherName("LightGBM", "rank_xendcg", "ndcg{k}"),
    OtherName("XGBoost", "pre{k}", "precision{k}"),
    OtherName("CatBoost", "QueryAUC", "pair_accuracy"),
    OtherName("CatBoost", "AverageGain{k}", "mean_of(label){k}", WITH_WORST),
    OtherName("CatBoost", "QueryAverage{k}", "mean_of(label){k}", WITH_WORST),
    OtherName("CatBoost", "PrecisionAt{k}", "precision{k}"),
    OtherName("CatBoost", "RecallAt{k}", "recall{k}"),
    OtherName("scikit-learn", "ndcg_score", "ndcg_lin"),
    OtherName("scikit-learn", "dcg_score", "dcg_lin"),
    OtherName("scikit-learn", "average_precision_score", "map"),
    OtherName("scikit-learn", "roc_auc_score", "pair_accuracy"),
    OtherName("trec_eval", "ndcg_cut{k}", "ndcg_lin{k}"),
    OtherName("trec_eval", "map_cut{k}", "map(denominator=relevant){k}"),
    OtherName("trec_eval", "recip_rank", "mrr"),
    OtherName("trec_eval", "set_P", "precision"),
    OtherName("trec_eval", "set_recall", "recall"),
    OtherName("trec_eval", "set_F", "f1"),
    OtherName("trec_eval", "gm_map", "map", GEOMETRIC),
    OtherName("trec_eval", "gm_bpref", "bpref", GEOMETRIC),
    OtherName("ir_measures", "R{k}", "recall{k}"),
    OtherName("ranx", "ndcg_burges{k}", "ndcg_exp{k}"),
    OtherName("ranx", "dcg_burges{k}", "dcg_exp{k}"),
    OtherName("torchmetrics", "RetrievalMAP", "map"),
    OtherName("torchmetrics", "RetrievalMRR", "mrr"),
    OtherName("torchmetrics", "RetrievalNormalizedDCG", "ndcg_lin"),
    OtherName("torchmetrics", "RetrievalHitRate", "hit"),
    OtherName("torchmetrics", "RetrievalPrecision", "precision"),
    OtherName("torchmetrics", "RetrievalRecall", "recall"),
    OtherName("torchmetrics", "RetrievalRPrecision", "rprec"),
    OtherName("torchmetrics", "RetrievalAUROC", "pair_accuracy"),
    OtherName("TF-Ranking", "average_relevance_position", "arp"),
    OtherName("sentence-transformers", "accuracy{k}", "hit{k}"),
    OtherName("recommender systems", "HR{k}", "hit{k}"),
    OtherName("recommender systems", "GAUC", "pair_accuracy", ", with the impressions of each user as its weight"),
)
NO_RANKING = frozenset({"rmse", "rmsle", "mse", "mae", "mape", "l1", "l2", "logloss", "binary_logloss", "error"})
_LEVEL = re.compile(r"iprec(?:_at_recall)?[@_]([01]?\.\d+|0|1)", re.IGNORECASE | re.ASCII)
_CUTOFF = re.compile(r"(?P<stem>.+?)(?:(?:\s*@\s*|[_\s]at[_\s]|[_.\s-]|:top=|)(?P<k>\d{1,18}))?", re.ASCII)


def other_name_hint(name: str, known: Container[str]) -> str:
    """Return a sentence: our name for another system's, or a known one with its cutoff spelled as here."""
    level = _LEVEL.fullmatch(name)
    if level:
        return f" {name!r} of trec_eval and ir_measures is 'iprec(recall={float(level[1]):g})' here."
    persistence = re.fullmatch(r"rbp(\.\d+)", name, re.IGNORECASE | re.ASCII)
    if persistence:
        return f" {name!r} of ranx is 'rbp(p={float(persistence[1]):g})' here."
    match = _CUTOFF.fullmatch(name)
    if not match:
        return ""
    if match["k"] is not None and match["stem"].lower() in known:
        return f" Write {match['stem'].lower()}@{match['k']}."
    if name in NO_RANKING:
        return f" {name!r} measures the scores themselves and not their order, so it is no metric of rankings."
    found = _BY_STEM.get(_plain(match["stem"]))
    if found is None:
        return ""
    k = "" if match["k"] is None or "{k}" not in found.ours else f"@{match['k']}"
    return f" {name!r} of {found.system} is {found.ours.format(k=k)!r} here{found.remark}."


def complete_name(name: str) -> tuple[str, str] | None:
    """Return the system, trec_eval or ranx, in which alone a name means what it says, and our name for it."""
    if level := _LEVEL.fullmatch(name):
        return "trec_eval", f"iprec(recall={float(level[1]):g})"
    if cut := re.fullmatch(r"(P|recall|success)_(\d{1,18})", name, re.ASCII):
        return "trec_eval", f"{cut[1]}@{cut[2]}"
    match = _CUTOFF.fullmatch(name)
    found = _BY_STEM.get(_plain(match["stem"])) if match else None
    if match is None or found is None or found.system not in ("trec_eval", "ranx") or found.remark:
        return None
    return found.system, found.ours.format(k="" if match["k"] is None else f"@{match['k']}")


def _plain(stem: str) -> str:
    return re.sub(r"[\W_]", "", stem).lower()


_BY_STEM = {_plain(other.theirs.format(k="")): other for other in OTHER_NAMES}
