"""
See how much ties decide
========================

Coarse scores leave the order of documents open. The tie audit shows what this does to a metric.
"""

# %%
# Rounding the scores makes ties: documents of one query with equal scores.
import matplotlib.pyplot as plt

import ltr_metrics as ltr

X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
steps = [0.01, 0.1, 0.25, 0.5, 1.0, 2.0]
audits = [ltr.tie_audit(y, (X[:, 0] / step).round(), qid=qid, metrics="ndcg@10")["ndcg_exp@10"] for step in steps]

# %%
# A metric lies between its worst and its best value, which depend on the order of tied documents.
# The library reports the mean over all orders, unless you choose another policy with ``ties=``.
figure, axes = plt.subplots(layout="constrained")
axes.fill_between(
    steps, [one.worst for one in audits], [one.best for one in audits], alpha=0.25, linewidth=0, label="worst to best"
)
axes.plot(steps, [one.mean for one in audits], label="mean over all orders")
axes.set(xscale="log", xlabel="rounding step of the scores", ylabel="NDCG@10")
axes.legend(loc="lower left")
plt.show()

# %%
# The more the scores are rounded, the less the number says about the model.
for step, one in zip(steps, audits, strict=True):
    print(f"step {step:4}: {one.worst:.4f} to {one.best:.4f}, {one.n_tied_queries} queries with ties")
