"""
Predict what users would prefer
===============================

Interleave the rankings of three models, let simulated users click, and see how fast the clicks find the better
model.
"""

# %%
# An interleaved list mixes documents of all models. Users who click reveal which model they prefer.
# These users read from the top, click by grade, and stop after a good document.
import matplotlib.pyplot as plt
import numpy as np

import ltr_metrics as ltr
from ltr_metrics.interleaving import ClickModel, simulate

X, y, qid = ltr.make_ranking(n_queries=100, random_state=0)
models = {"live": X[:, 0], "new": X[:, 0] + 0.1 * X[:, 1], "old": X[:, 2]}
users = ClickModel.navigational(grades=5)
print(simulate(y, models, qid=qid, method="team_draft", clicks=users, impressions=20_000))


# %%
# Repeat the simulation with more and more impressions, and compare the preferences with the order by NDCG.
# The error is the share of model pairs that clicks order differently. The bands are standard errors.
def errors(method, impressions):
    runs = [
        simulate(y, models, qid=qid, method=method, clicks=users, impressions=impressions, random_state=seed)
        for seed in range(20)
    ]
    return [run.error(metric="ndcg_lin@10") for run in runs]


impressions = [10, 30, 100, 300, 1000, 3000]
figure, axes = plt.subplots(layout="constrained")
for method in ("team_draft", "ppm"):
    runs = np.array([errors(method, n) for n in impressions])
    mean, spread = runs.mean(axis=1), runs.std(axis=1, ddof=1) / np.sqrt(runs.shape[1])
    [line] = axes.plot(impressions, mean, label=method)
    axes.fill_between(impressions, mean - spread, mean + spread, color=line.get_color(), alpha=0.25, linewidth=0)
axes.set(xscale="log", xlabel="impressions", ylabel="share of pairs in another order,\nmean of 20 runs")
axes.set_ylim(bottom=0)
axes.legend()
