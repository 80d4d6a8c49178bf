"""
Draw a release margin into a forest plot
========================================

See which candidates may go live: the whole interval of their difference has to be above the margin.
"""

# %%
# Three candidates are compared with the live ranking on the same 200 queries.
import numpy as np

import ltr_metrics as ltr
from ltr_metrics.report import ComparisonDisplay

X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
noise = np.random.default_rng(0).normal(size=len(y))
models = {
    "live": X[:, 0],
    "better": X[:, 0] + 0.1 * X[:, 1],
    "equal": X[:, 0] + 0.02 * noise,
    "unclear": X[:, 0] + 0.5 * X[:, 2],
}
comparison = ltr.compare(models, y, qid=qid, metrics=["ndcg@10", "map", "err@10"], baseline="live")

# %%
# The line at 0 is the live ranking. The dotted line is a loss of 0.005, which this release accepts.
display = ComparisonDisplay.from_comparison(comparison).plot()
display.ax_.axvline(-0.005, color="C1", linestyle=":")

# %%
# The gate decides by the same intervals.
# The candidate *unclear* fails: its mean is higher, but its interval reaches below the margin.
print(ltr.gate(comparison, "ndcg@10 > -0.005"))
