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
values = dict(sorted(values.items(), key=lambda item: item[1]))

# %%
# All of these numbers are called NDCG@10.
figure, axes = plt.subplots(figsize=(5.2, 5), layout="constrained")
axes.plot(list(values.values()), list(values), "o")
for name, value in values.items():
    axes.annotate(f"{value:.4f}", (value, name), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8)
axes.set(xlabel="NDCG@10 of the same ranking")
axes.margins(x=0.15)

# %%
# ``explain_difference`` names the choices that make the difference between two of them.
# The parts add up to the whole difference.
explanation = ltr.explain_difference(y, score, qid=qid, metric="ndcg@10", a="lightgbm", b="catboost")
print(explanation)
parts = dict(sorted(explanation.parts.items(), key=lambda item: item[1]))
figure, axes = plt.subplots(figsize=(5.2, 1.8), layout="constrained")
axes.hlines(list(parts), 0, list(parts.values()), color="C1")
axes.plot(list(parts.values()), list(parts), "oC1")
axes.axvline(0, color="black", linewidth=0.9)
axes.set(xlabel="part of the difference, CatBoost - LightGBM")
axes.margins(0.2)
