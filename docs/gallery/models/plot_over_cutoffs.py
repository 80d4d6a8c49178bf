"""
Compare models at every cutoff
==============================

A cutoff of 10 is a habit. See whether another cutoff would lead to another decision.
"""

# %%
# All cutoffs of a metric are computed from one sort, so 30 of them cost little more than one.
import ltr_metrics as ltr
from ltr_metrics.report import MetricOverKDisplay

X, y, qid = ltr.make_ranking(n_queries=200, random_state=0)
queries = ltr.Queries(y, qid=qid)
metrics = [f"ndcg@{k}" for k in range(1, 31)]
models = {"live": X[:, 0], "new": X[:, 0] + 0.1 * X[:, 1]}
results = {name: queries.evaluate(scores, metrics) for name, scores in models.items()}
MetricOverKDisplay.from_result(results, "ndcg").plot()

# %%
# The bands are intervals of each mean. They are wide because queries differ from each other.
# A comparison pairs the queries, so the intervals of the *difference* are much narrower.
comparison = ltr.compare(models, y, qid=qid, metrics=metrics, baseline="live", n_resamples=1000)
MetricOverKDisplay.from_comparison(comparison, "ndcg", difference=True).plot()
