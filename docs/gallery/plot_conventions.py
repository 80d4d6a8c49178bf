"""
See one ranking under every convention
======================================

Tools report different numbers under one name. See them side by side, and why they differ.
"""

# %%
# The scores are rounded, so that there are ties. One query in ten has no relevant document.
# Some of the systems order ties by document id.
import matplotlib.pyplot as plt
import numpy as np

import ltr_metrics as ltr

X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
score, docid = X[:, 0].round(), np.arange(len(y))


def ndcg(convention):
    return ltr.evaluate(y, score, qid=qid, docid=docid, metrics="ndcg@10", convention=convention)["ndcg@10"]


# Systems that read lists of ids do not know grades.
of_ids = {"kaggle", "spark_mllib", "replay", "recbole", "rectools"}
values = {name: ndcg(name) for name in ltr.CONVENTIONS if name not in of_ids}

# %%
# All bars are called NDCG@10.
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
bars = axes.barh(list(values), list(values.values()), color="tab:blue", alpha=0.8)
axes.bar_label(bars, fmt="%.4f", padding=3)
axes.set(xlabel="NDCG@10 of the same ranking", xlim=(0, 1))
axes.invert_yaxis()

# %%
# ``explain_difference`` names the choices that make the difference between two of them.
# The parts add up to the whole difference.
explanation = ltr.explain_difference(y, score, qid=qid, metric="ndcg@10", a="lightgbm", b="catboost")
print(explanation)
figure, axes = plt.subplots(figsize=(7, 2), layout="constrained")
bars = axes.barh(list(explanation.parts), list(explanation.parts.values()), color="tab:orange", alpha=0.8)
axes.bar_label(bars, fmt="%+.4f", padding=3)
axes.axvline(0, color="black", linewidth=0.8)
axes.set(xlabel="part of the difference, CatBoost - LightGBM")
axes.margins(x=0.2)
