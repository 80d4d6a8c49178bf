"""Per-query values of every round of a training, or of every candidate and fold of a search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ltr_metrics.errors import LtrTypeError
from ltr_metrics.evaluation.log.search import SearchLog
from ltr_metrics.evaluation.log.training import Curves, TrainingLog
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import Request


class PerQueryLog(TrainingLog, SearchLog):
    """Keeps the per-query values of every round of one training; with a folder, of every candidate and fold of one search.

    **A training.** Give it to a host's metric function, and ask it for `values`, `changes`, `segments` and `best_round`.
    Hosts do not tell a metric the names that a user gave to data sets. So a data set is known here by the object that the
    host evaluates (LightGBM's Dataset, XGBoost's DMatrix), and by a name: those given as ``names``; otherwise what is known
    (``"training"`` for LightGBM's training Dataset, the name of an XGBoost ``Monitor``); otherwise ``"valid_0"`` for one that
    stands alone or beside ``"training"``, and ``"data_0"``, ``"data_1"``, ... where there are more.

    **A search.** Give it to ``make_scorer`` with a folder, into which every worker process writes, and ask it for `scores`,
    `candidates` and `to_pandas`, also later and elsewhere: ``PerQueryLog(folder=...)`` reads what is there. A search, and
    each fit of one, wants a new folder.

    Parameters
    ----------
    names : sequence of str, optional
        Names of a training's data sets in the order in which the host evaluates them. LightGBM evaluates the training data
        first if they are evaluated at all, then the others in the order of ``valid_sets`` or ``eval_set``.
    folder : str or path, optional
        Where the scores of a search are; made when the first is written.

    Examples
    --------
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from ltr_metrics.lightgbm import feval
    >>> X, y, qid = ltr.make_ranking(n_queries=50, random_state=0)
    >>> train = lgb.Dataset(X, y, group=ltr.qid_to_group(qid), free_raw_data=False)
    >>> log = ltr.PerQueryLog()
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[train], feval=feval("ndcg@10", log=log))
    >>> log.values(train, "ndcg@10").shape
    (5, 50)
    >>> len(log.changes("training", "ndcg@10").improved) > len(log.changes("training", "ndcg@10").worsened)
    True
    """

    def __init__(self, names: Sequence[str] | None = None, *, folder: str | os.PathLike[str] | None = None) -> None:
        if names is not None and folder is not None:
            raise LtrTypeError(
                "names are those of a training's data sets, folder is for the scores of a search: pass one of them."
            )
        TrainingLog.__init__(self, names)
        SearchLog.__init__(self, folder)

    def __repr__(self) -> str:
        of_search = self.folder is not None
        return f"PerQueryLog(folder={str(self.folder)!r})" if of_search else f"PerQueryLog({', '.join(self.names)})"

    def record(
        self, data: Any, result: Evaluation, request: Request, *, name: str | None = None, training: Any = None
    ) -> None:
        """Append a round of one data set; adapters call this.

        Parameters
        ----------
        data : object
            The host's data set; weakly referenced.
        result : Evaluation
        request : Request
            What the metric function was asked for: the same object in all of its rounds.
        name : str, optional
            The data set's name, if the host knows it.
        training : object, optional
            What the host has one of for each training (LightGBM's Booster), if it is known; weakly referenced.
        """
        if self.folder is not None:
            raise LtrTypeError(
                f"{self!r} is for the scores of a search. Give a training a log of its own, without folder: PerQueryLog()."
            )
        super().record(data, result, request, name=name, training=training)

    def _of(self, data: Any) -> Curves:
        if self.folder is not None:
            raise LtrTypeError(
                f"{self!r} holds the scores of a search, and no rounds: use scores, candidates or to_pandas."
            )
        return super()._of(data)
