"""The half of `PerQueryLog` that keeps the scores of a search, by candidate, fold and query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.log import files
from ltr_metrics.evaluation.log.candidates import Candidate, candidates_of
from ltr_metrics.evaluation.log.scores import Score, load_scores, scores_to_pandas
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.base import Metric

if TYPE_CHECKING:
    import pandas

PARTS: tuple[PartOfSearch | None, ...] = (*get_args(PartOfSearch), None)


class SearchLog:
    """The half of `PerQueryLog` that keeps scores."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._folder = None if folder is None else _as_folder(folder)

    @property
    def folder(self) -> Path | None:
        """Folder with the scores of a search, or None for the log of a training."""
        return self._folder

    def scores(self) -> list[Score]:
        """Return all scores of the folder, sorted by candidate, search, part and fold.

        Returns
        -------
        list of Score
            Each has ``parameters`` (all of the estimator, as plain values), ``part`` ("test",
            "train", or None if the scorer could not know it), ``evaluation``, and the numbers
            ``candidate``, ``search`` and ``fold``. The numbers depend on parameters and query ids,
            and not on which worker was first. Candidates are sorted by the values of the parameters
            that vary, and folds by their smallest query ids within each search and part. The number
            ``search`` separates scores on different data. Search 0 has the most folds. After it
            come the scores of a refitted ranker on other data, or further searches. It is None if
            the scorer could not know the queries that the ranker was fitted on.

        Raises
        ------
        LtrValueError
            If one candidate has two different scores on one fold, as two searches in one folder
            leave them. If a query was scored with different numbers of documents, or a file is
            damaged.
        LtrKeyError
            If the folder has no scores.

        Examples
        --------
        >>> import tempfile
        >>> import lightgbm as lgb, ltr_metrics as ltr
        >>> from ltr_metrics.sklearn import QueryRanker, make_scorer
        >>> X, y, qid = ltr.make_ranking(n_queries=20, random_state=0)
        >>> log = ltr.PerQueryLog(folder=tempfile.mkdtemp())
        >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)).fit(X, y, qid=qid)
        >>> score = make_scorer("mrr", log=log)(ranker, X, y, qid=qid)
        >>> [(one.part, one.evaluation["mrr"] == score) for one in log.scores()]
        [('train', True)]
        """
        return load_scores(self.require_folder())

    def candidates(
        self,
        metric: str | Metric,
        part: PartOfSearch | None = "test",
        params: Iterable[Mapping[str, Any]] | None = None,
    ) -> list[Candidate]:
        """Return each candidate of a search with its values over all folds.

        The search is the one with several folds. Other scores of the same scorer
        (``search.score(X_test, y_test)``, a baseline) are ignored: their rankers were fitted and
        scored on other queries, taken together. If no search has several folds, all scores count.
        This holds for a single holdout, and for splits that each leave out some of the queries:
        ``ShuffleSplit`` with ``train_size + test_size < 1``, and ``TimeSeriesSplit``. In that case,
        score nothing else with the scorer that has the log. A split that is drawn twice, with the
        same queries in both parts, counts once.

        Parameters
        ----------
        metric : str or Metric
            One metric, by name or as an object.
        part : {"test", "train"} or None, default "test"
            Part of the splits; None for scores whose part the scorer could not know.
        params : sequence of dict, optional
            ``search.cv_results_["params"]``: return the candidates in this order. Default: the best
            mean over folds first.

        Returns
        -------
        list of Candidate
            Each has ``parameters`` (those that vary) and ``all_parameters``, ``folds`` (their
            means), ``mean_over_folds`` (as in scikit-learn), ``mean_over_queries``,
            ``standard_error``, ``n_queries``, and ``values``, one for each query of ``qid``. The
            queries have the same order for all candidates, so you can compare candidates query by
            query. A candidate that lacks a fold, as after a fit that failed, has NaN there and in
            ``mean_over_folds``, as in scikit-learn.

        Raises
        ------
        LtrKeyError
            If there are no scores of that metric or part, or if an entry of ``params`` does not
            match exactly one candidate.
        LtrValueError
            If several searches have several folds each (a nested cross-validation), or if another
            search shares queries with the one that has several folds. Also if the scorer could not
            know the training queries, because the estimators are not a QueryRanker, and a fold
            contains another one or a candidate lacks one. Training parts, failed fits and other
            data then look the same.

        Examples
        --------
        This is what the scorer and its worker processes do:

        >>> import tempfile, ltr_metrics as ltr
        >>> from ltr_metrics.metrics.requests import resolve
        >>> X, y, qid = ltr.make_ranking(n_queries=40, random_state=0)
        >>> log = ltr.PerQueryLog(folder=tempfile.mkdtemp())
        >>> request = resolve("dcg@10")
        >>> for column in (0, 1):
        ...     for fold in (qid % 2 == 0, qid % 2 == 1):
        ...         result = ltr.Queries(y[fold], qid=qid[fold]).evaluate_request(X[fold, column], request)
        ...         log.record_score({"column": column, "seed": 7}, result, "test", fitted=qid[~fold])
        >>> zero, one = log.candidates("dcg@10", params=[{"column": 0}, {"column": 1}])
        >>> zero.parameters, len(zero.folds), zero.n_queries
        ({'column': 0}, 2, 40)
        >>> (one.values - zero.values).shape
        (40,)
        """
        return candidates_of(self.scores(), metric, part, params)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all scores of the folder as a table with one row per score and query.

        Returns
        -------
        pandas.DataFrame
            The columns are candidate, search, fold, part, qid, documents, relevant, the metrics,
            and the parameters that vary, named ``param_...`` as in ``cv_results_``.

        Raises
        ------
        LtrValueError, LtrKeyError
            As for `scores`.

        Examples
        --------
        >>> import tempfile
        >>> import lightgbm as lgb, ltr_metrics as ltr
        >>> from ltr_metrics.sklearn import QueryRanker, make_scorer
        >>> X, y, qid = ltr.make_ranking(n_queries=20, random_state=0)
        >>> log = ltr.PerQueryLog(folder=tempfile.mkdtemp())
        >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)).fit(X, y, qid=qid)
        >>> score = make_scorer("mrr", log=log)(ranker, X, y, qid=qid)
        >>> table = log.to_pandas()
        >>> len(table), "mrr" in table.columns
        (20, True)
        """
        return scores_to_pandas(self.scores())

    def record_score(
        self,
        parameters: Mapping[str, Any],
        result: Evaluation,
        part: PartOfSearch | None,
        fitted: Iterable[object] | None = None,
    ) -> None:
        """Write the score of one candidate on one fold; the scorer calls this.

        Parameters
        ----------
        parameters : dict
            All parameters of the estimator.
        result : Evaluation
        part : {"test", "train"} or None
            "test" if the ranker was fitted on none of these queries, and "train" if it was fitted
            on all of them. None if it was fitted on some of them, or the scorer cannot know.
        fitted : iterable, optional
            Ids of all queries that the ranker was fitted on, if they are known.
        """
        if part not in PARTS:
            raise LtrValueError(f"part must be one of {', '.join(map(repr, PARTS))}. Got {part!r}.")
        files.write(self.require_folder(), parameters, part, result, fitted)

    def require_folder(self) -> Path:
        """Return the folder, or raise an error if the log has none."""
        if self._folder is None:
            raise LtrTypeError(
                f"{self!r} has no folder: it keeps the rounds of a training, and no scores of a search. Worker "
                "processes write the scores of a search, and in memory these would be lost. Give the scorer a log with "
                "a folder, make_scorer(..., log=PerQueryLog(folder=PATH)), and read the scores from "
                "PerQueryLog(folder=PATH)."
            )
        return self._folder


def _as_folder(folder: Any) -> Path:
    if not isinstance(folder, (str, os.PathLike)):
        raise LtrTypeError(f"folder must be a path. Got {folder!r}.")
    path = Path(folder).absolute()  # independent of the working directory of a worker process
    if path.exists() and not path.is_dir():
        raise LtrValueError(f"folder must be a folder, or not exist yet: {path} is a file.")
    return path
