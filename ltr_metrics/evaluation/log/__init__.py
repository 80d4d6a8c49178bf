"""`PerQueryLog`: per-query values of all rounds of a training, or of all scores of a search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ltr_metrics.errors import LtrTypeError
from ltr_metrics.evaluation.log.search import SearchLog
from ltr_metrics.evaluation.log.training import Curves, TrainingLog
from ltr_metrics.evaluation.result import Evaluation


class PerQueryLog(TrainingLog, SearchLog):
    """Keep the per-query values of all rounds of a training, or of all scores of a search.

    **A training.** Pass the log to a host's metric function, then call `values`, `changes`,
    `segments` and `best_round`. Hosts do not pass the user's names of data sets to a metric. So you
    select a data set by the object that the host evaluates (LightGBM's Dataset, XGBoost's DMatrix)
    or by a name. The name is the one in ``names``, if you pass them. Otherwise it is the name that
    the host knows (``"training"`` for LightGBM's training Dataset, the name of an XGBoost
    ``Monitor``). Otherwise it is ``"valid_0"`` for the only data set besides ``"training"``, and
    ``"data_0"``, ``"data_1"``, ... if there are several.

    **A search.** Pass a log with a folder to ``make_scorer``. All worker processes write into the
    folder. Then call `scores`, `candidates` and `to_pandas`, also later or on another machine:
    ``PerQueryLog(folder=...)`` reads the folder. Use a new folder for each search, and for each fit
    of one.

    Parameters
    ----------
    names : sequence of str, optional
        Names of a training's data sets in the order in which the host evaluates them. LightGBM
        evaluates the training data first if it evaluates them at all, then the others in the order
        of ``valid_sets`` or ``eval_set``.
    folder : str or path, optional
        Folder for the scores of a search; created with the first score.

    Raises
    ------
    LtrValueError, LtrTypeError
        If ``names`` is not a sequence of different names, or ``folder`` is not a folder.

    See Also
    --------
    ltr_metrics.lightgbm.feval : A metric function that takes a log, for LightGBM.
    ltr_metrics.xgboost.custom_metric : A metric function that takes a log, for XGBoost.
    ltr_metrics.sklearn.make_scorer : A scorer that takes a log, for searches.
    ltr_metrics.report.LearningCurveDisplay : A picture of a training.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), free_raw_data=False)
    >>> log = ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> log.names, log.values(train, "ndcg@10").shape, log.qid("training").shape
    (('training',), (5, 50), (50,))
    >>> log.rounds("training")
    array([0, 1, 2, 3, 4])
    >>> len(log.changes("training", "ndcg@10").improved) > len(log.changes("training", "ndcg@10").worsened)
    True
    >>> sorted(log.segments("training", "ndcg@10", by=["de", "fr"] * 25))
    ['de', 'fr']
    >>> log.folder is None
    True
    """

    def __init__(self, names: Sequence[str] | None = None, *, folder: str | os.PathLike[str] | None = None) -> None:
        if names is not None and folder is not None:
            raise LtrTypeError(
                "names are for the data sets of a training, and folder is for the scores of a search: pass one of them."
            )
        TrainingLog.__init__(self, names)
        SearchLog.__init__(self, folder)

    def __repr__(self) -> str:
        arguments = ", ".join(self.names) if self.folder is None else f"folder={str(self.folder)!r}"
        return f"PerQueryLog({arguments})"

    def _add(self, data: Any, name: str | None, result: Evaluation) -> Curves:
        if self.folder is not None:
            raise LtrTypeError(
                f"{self!r} is for the scores of a search. Give a training a log of its own, without folder: "
                "PerQueryLog()."
            )
        return super()._add(data, name, result)

    def _curves_of(self, data: Any) -> Curves:
        if self.folder is not None:
            raise LtrTypeError(
                f"{self!r} holds the scores of a search and no rounds: use scores, candidates or to_pandas."
            )
        return super()._curves_of(data)
