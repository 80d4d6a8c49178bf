"""
Compare models by segment
=========================

A model that is better on average can be worse for some queries. See for which ones.
"""

# %%
# The new model of this example uses a feature that misleads it on phones.
import numpy as np
import pandas as pd

import ltr_metrics as ltr
from ltr_metrics.report import SegmentsDisplay

X, y, qid = ltr.make_ranking(n_queries=300, random_state=0)
device = np.array(["desktop", "phone", "tablet"])[qid % 3]
feature = np.where(device == "phone", -0.15, 0.15) * X[:, 1]
models = {"live": X[:, 0], "new": X[:, 0] + feature}
documents = pd.qcut(ltr.Queries(y, qid=qid).n_documents, 3, labels=["few", "some", "many"])
by = {"device": device, "documents": documents}
comparison = ltr.compare(models, y, qid=qid, metrics="ndcg@10", baseline="live", by=by)

# %%
# Each row is a comparison of its own. The whole difference hides what happens on phones.
print(comparison)
SegmentsDisplay.from_comparison(comparison, "ndcg@10").plot()

# %%
# A gate can ask every segment.
print(ltr.gate(comparison, "ndcg@10 > -0.005", each_segment=True))
