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
# Repeat the simulation with more and more impressions, and compare the preferences with the order by
# NDCG. The error is the share of model pairs that clicks order differently.
lengths = [30, 100, 300, 1000, 3000]


def error(method, n, seed):
    options = {"method": method, "clicks": users, "impressions": n, "random_state": seed}
    return simulate(y, models, qid=qid, **options).error("ndcg_lin@10")


figure, axes = plt.subplots(layout="constrained")
for method, marker in (("team_draft", "o"), ("ppm", "s")):
    errors = np.array([[error(method, n, seed) for seed in range(20)] for n in lengths])
    standard_error = errors.std(axis=1, ddof=1) / np.sqrt(20)
    axes.errorbar(lengths, errors.mean(axis=1), standard_error, marker=marker, capsize=3, label=method)
axes.set(xscale="log", xlabel="impressions", ylabel="share of pairs with another order by NDCG", ylim=(0, None))
axes.legend()
