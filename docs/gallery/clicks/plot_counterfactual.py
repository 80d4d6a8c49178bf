"""
Correct clicks for position bias
================================

Clicks on the lists of a live model favour that model. Weights correct them.
"""

# %%
# The live model displays 2,000 lists. Users examine a position with the probability 1 / position.
import matplotlib.pyplot as plt
import numpy as np

import ltr_metrics as ltr
from ltr_metrics.counterfactual import Propensities, evaluate

X, y, qid = ltr.make_ranking(n_queries=2000, documents=10, random_state=0)
models = {"live": X[:, 1], "new": X[:, 0]}
position = np.empty(len(y), dtype=int)
sizes = ltr.qid_to_group(qid)
position[np.lexsort((-models["live"], qid))] = np.concatenate([np.arange(n) + 1 for n in sizes])
users = Propensities(1 / np.arange(1, position.max() + 1))


# %%
# Each of 20 logs has other clicks on the same lists.
def estimates(seed):
    clicks = np.random.default_rng(seed).random(len(y)) < users.of_rows(position) * y / 4
    naive = [ltr.evaluate(clicks, s, qid=qid, metrics="dcg@10")["dcg@10"] for s in models.values()]
    log = {"qid": qid, "position": position, "propensity": users}
    return naive, [evaluate(clicks, s, **log)["dcg@10"] for s in models.values()]


logs = np.array([estimates(seed) for seed in range(20)])
truth = [ltr.evaluate(y / 4, s, qid=qid, metrics="dcg_lin@10")["dcg_lin@10"] for s in models.values()]

# %%
# Uncorrected clicks prefer the live model in every log. The corrected ones scatter around the truth.
figure, axes = plt.subplots(layout="constrained")
spread = np.linspace(-0.08, 0.08, len(logs))
for model, (name, style) in enumerate(zip(models, ("oC0", "sC1"), strict=True)):
    for kind in range(2):
        x = kind + (model - 0.5) / 3 + spread
        axes.plot(x, logs[:, kind, model], style, markersize=4, label=name if kind == 0 else None)
    axes.plot(x[[0, -1]], [truth[model]] * 2, "-k", label="truth" if model else None)
axes.set(xticks=[0, 1], xticklabels=["naive", "corrected"], ylabel="DCG@10 from clicks")
axes.set_ylim(bottom=0)
axes.legend()
