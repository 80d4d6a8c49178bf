"""
Find the best round of a training
=================================

Record every query in every round of a LightGBM training, and draw the learning curve with its best round.
"""

# %%
# We train on 240 synthetic queries, and validate on 60 others.
# A ``PerQueryLog`` keeps the value of each query in each round.
import lightgbm as lgb

import ltr_metrics as ltr
from ltr_metrics.lightgbm import feval
from ltr_metrics.report import LearningCurveDisplay

X, y, qid = ltr.make_ranking(n_queries=300, random_state=0)
X, X_valid, y, y_valid, qid, qid_valid = ltr.train_test_split(X, y, qid, random_state=0)
train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid))
valid = lgb.Dataset(X_valid, y_valid, group=ltr.qid_to_group(qid_valid), reference=train)
params = {"objective": "lambdarank", "metric": "None", "learning_rate": 0.05, "verbose": -1, "seed": 0}
params["num_threads"] = 1
log = ltr.PerQueryLog()
booster = lgb.train(params, train, 100, valid_sets=[train, valid], feval=feval("ndcg@10", log=log))

# %%
# The training queries improve until the end, because the model learns them by heart.
# The validation queries stop improving much earlier.
LearningCurveDisplay.from_log(log, ["training", "valid_0"], "ndcg@10").plot()

# %%
# The mark is the best round, and the bar at the bottom is its plateau.
# The rounds of the plateau do not differ significantly from the best round on these queries.
print(log.learning_curve("valid_0", "ndcg@10"))
