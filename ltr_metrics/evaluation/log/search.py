"""The scores of a search: what every candidate's queries had on each fold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ltr_metrics._engine.words import PartOfSearch
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.log import files
from ltr_metrics.evaluation.log.candidates import Candidate, candidates_of
from ltr_metrics.evaluation.log.scores import Score, scores_in, table
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
        """Where the scores of a search are; None for the log of a training."""
        return self._folder

    def scores(self) -> list[Score]:
        """Return all scores of the folder, by candidate, search, part and fold.

        Each has ``parameters`` (all of the estimator, as plain values), ``part`` ("test", "train", or None where the scorer
        could not know), ``evaluation``, and the numbers ``candidate``, ``search`` and ``fold``. Numbers depend on parameters and query
        ids, not on which worker was first: candidates are in the order of the values of those parameters that vary, folds in that
        of their smallest query ids, within each search and part. The ``search`` tells apart what was fitted and scored on other data:
        0 has most folds, then come a refitted ranker's scores on other data, or further searches; None is where the scorer could
        not know what the ranker was fitted on.

        Raises
        ------
        LtrValueError
            If there are two different scores of one candidate on one fold, as two searches in one folder leave them; if a
            query was scored with different numbers of documents; if a file is damaged.
        """
        return scores_in(self.require_folder())

    def candidates(
        self,
        metric: str | Metric,
        part: PartOfSearch | None = "test",
        params: Iterable[Mapping[str, Any]] | None = None,
    ) -> list[Candidate]:
        """Return each candidate of a search with its values over all folds.

        The search is that of several folds. What the same scorer scored beside it (``search.score(X_test, y_test)``, a baseline)
        counts for nothing here: the rankers were fitted and scored on other queries, taken together. Where no search has several
        folds, all scores count: a single holdout, or splits that leave out some of the queries each, as ``ShuffleSplit`` does with
        ``train_size + test_size < 1`` and ``TimeSeriesSplit``; then let the scorer that has the log score nothing else. A split
        that is drawn twice, the same queries on both sides, counts once.

        Parameters
        ----------
        metric : str or Metric
        part : {"test", "train"} or None, default "test"
            Which side of the splits; None for scores of which the scorer could not know.
        params : sequence of dict, optional
            ``search.cv_results_["params"]``: return the candidates in this order. Default: the highest mean over folds first.

        Returns
        -------
        list of Candidate
            Each has ``parameters`` (those that vary) and ``all_parameters``, ``folds`` (their means), ``mean_over_folds`` (as
            scikit-learn), ``mean_over_queries``, ``standard_error``, ``n_queries``, and ``values``, one a query of ``qid``: in the same order
            for all candidates, so that these can be compared query by query. A candidate that lacks a fold, as after a fit that
            failed, has NaN there and in ``mean_over_folds``, as in scikit-learn.

        Raises
        ------
        LtrKeyError
            If nothing of that metric or part is there, or not exactly one candidate has an entry of ``params``.
        LtrValueError
            If several searches have several folds each (a nested cross-validation), or share queries with the one that has. If
            it is unknown what the rankers were fitted on (estimators that are no QueryRanker) and a fold contains another one or a
            candidate lacks one: then nobody can tell training parts, failed fits and other data apart.

        Examples
        --------
        What the scorer and its worker processes do, by hand:

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
        """Return all scores of the folder, one row a candidate, search, fold, part and query.

        Columns: candidate, search, fold, part, qid, documents, relevant, the metrics, and the parameters that vary, named
        ``param_...`` as in ``cv_results_``.
        """
        return table(self.scores())

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
            All of the estimator.
        result : Evaluation
        part : {"test", "train"} or None
            Whether the ranker was fitted on none of these queries, on all of them, or on some or unknown ones.
        fitted : iterable, optional
            Ids of all queries that the ranker was fitted on, if they are known.
        """
        if part not in PARTS:
            raise LtrValueError(f"part must be one of {', '.join(map(repr, PARTS))}. Got {part!r}.")
        files.write(self.require_folder(), parameters, part, result, fitted)

    def require_folder(self) -> Path:
        """Return the folder, without which there are no scores."""
        if self._folder is None:
            raise LtrTypeError(
                f"{self!r} has no folder: it keeps the rounds of a training, and no scores of a search, which come from processes of their own "
                "and would be lost in memory. Give the scorer a log with a folder, make_scorer(..., log=PerQueryLog(folder=PATH)), and ask "
                "PerQueryLog(folder=PATH) for the scores."
            )
        return self._folder


def _as_folder(folder: Any) -> Path:
    if not isinstance(folder, (str, os.PathLike)):
        raise LtrTypeError(f"folder must be a path. Got {folder!r}.")
    path = Path(folder).absolute()  # the same folder wherever a worker process stands
    if path.exists() and not path.is_dir():
        raise LtrValueError(f"folder must be a folder, or not there yet: {path} is a file.")
    return path
