"""
Look at the queries that lose
=============================

A mean difference says little about single queries. See how many gain, how many lose, and which ones.
"""

# %%
# The new model adds a feature with a large weight, so that it helps and harms.
import ltr_metrics as ltr
from ltr_metrics.report import DifferencesDisplay

X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
models = {"live": X[:, 0], "new": X[:, 0] + 0.5 * X[:, 2]}
results = {name: ltr.evaluate(y, score, qid=qid, metrics="ndcg@10") for name, score in models.items()}
comparison = ltr.compare(results, baseline="live")

# %%
# Each bar is a query, from the largest gain to the largest loss.
# The line is their mean, and the band is its interval.
DifferencesDisplay.from_comparison(comparison, "ndcg@10").plot()

# %%
# Begin to debug with the queries that lose most.
worst = comparison.changes("ndcg@10").worsened[:3]
for name, result in results.items():
    print(name)
    print(result.subset(worst).to_pandas().round(4).to_string(index=False))
