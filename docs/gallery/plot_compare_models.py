"""
Compare models with intervals
=============================

Compare two candidates with today's ranking, and see which differences are clear.
"""

# %%
# We rank synthetic queries by one feature today.
# The first candidate adds a second feature, and the other one adds noise only.
import numpy as np

import ltr_metrics as ltr
from ltr_metrics.report import ComparisonDisplay

X, y, qid = ltr.make_ranking(n_queries=300, random_state=0)
noise = np.random.default_rng(0).normal(size=len(y))
models = {
    "today": X[:, 0],
    "two features": X[:, 0] + 0.3 * X[:, 1],
    "noise": X[:, 0] + 0.1 * noise,
}

# %%
# The comparison pairs the values of each query.
# Its intervals say which differences the 300 queries can show.
comparison = ltr.compare(models, y, qid=qid, metrics=["ndcg@10", "map", "err@10"], baseline="today", random_state=0)
print(comparison)

# %%
# An interval that does not include 0 is a clear difference.
ComparisonDisplay.from_comparison(comparison).plot()
