"""
Predict what users would prefer
===============================

Interleave the rankings of three models, let simulated users click, and see how fast the clicks find the better
model.
"""

# %%
# An interleaved list mixes documents of all models. Users who click reveal which model they prefer.
# These users read from the top, click by grade, and stop after a good document.
import ltr_metrics as ltr
from ltr_metrics.interleaving import ClickModel, simulate
from ltr_metrics.report import OnlineErrorDisplay

X, y, qid = ltr.make_ranking(n_queries=100, random_state=0)
models = {"live": X[:, 0], "new": X[:, 0] + 0.1 * X[:, 1], "old": X[:, 2]}
users = ClickModel.navigational(grades=5)
print(simulate(y, models, qid=qid, method="team_draft", clicks=users, impressions=20_000))

# %%
# Repeat the simulation, and compare the preferences with the order by NDCG.
# The curve is the share of model pairs that clicks order differently.
runs = {
    method: [
        simulate(y, models, qid=qid, method=method, clicks=users, impressions=2000, random_state=seed)
        for seed in range(10)
    ]
    for method in ("team_draft", "ppm")
}
OnlineErrorDisplay.from_outcomes(runs, metric="ndcg_lin@10").plot()
