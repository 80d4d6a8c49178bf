"""`SearchLog`: the values per query of every candidate and fold of a search.

Each score is a file of its own, because several worker processes write at the same time. A file is
what `Evaluation.save` writes, with the candidate's parameters in its header. scikit-learn does not
say which candidate and fold a scorer scores, so the log keeps what is known: the parameters, the
queries and the part of the split.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ltr_metrics._rows.json_values import DataFrame, order_of_id
from ltr_metrics._rows.words import PartOfSearch
from ltr_metrics.errors import LtrKeyError, LtrValueError
from ltr_metrics.evaluation.concat import concat
from ltr_metrics.evaluation.result import Evaluation

LONGEST_VALUE = 60  # characters of a parameter in the name of a candidate
ONE_SEARCH = "Give each search a folder of its own, and score other data with another scorer. to_pandas has all scores."


class Score(NamedTuple):
    """One score: of one candidate, on the queries of ``evaluation``."""

    parameters: dict[str, Any]  # all of the estimator's, as JSON values
    part: PartOfSearch | None  # None if the scorer could not know it
    evaluation: Evaluation


class SearchLog:
    """Keep the values per query of every candidate and fold of a search.

    Pass the log to ``make_scorer``. Use a new folder for each search, because all worker processes
    of a search write into one. Read the scores with `candidates` and `to_pandas`, at once or later
    on another machine.

    Parameters
    ----------
    folder : str or path
        Folder for the scores; created with the first score.

    Raises
    ------
    MissingExtraError
        On scoring: if pyarrow is not installed.

    See Also
    --------
    ltr_metrics.sklearn.make_scorer : A scorer that takes a log.
    ltr_metrics.compare : Compare the candidates query by query.
    ltr_metrics.PerQueryLog : The same for the rounds of a training.

    Examples
    --------
    >>> import tempfile
    >>> import lightgbm as lgb, ltr_metrics as ltr
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from ltr_metrics.sklearn import QueryRanker, make_scorer
    >>> X, y, qid = ltr.make_ranking(n_queries=30, random_state=0)
    >>> log = ltr.SearchLog(tempfile.mkdtemp())
    >>> ranker = QueryRanker(lgb.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1), qid=20)
    >>> scorer = make_scorer("mrr", qid=20, log=log)
    >>> search = GridSearchCV(
    ...     ranker, {"estimator__num_leaves": [3, 7]}, scoring=scorer, cv=GroupKFold(3), error_score="raise"
    ... ).fit(np.column_stack([X, qid]), y, groups=qid)
    >>> {name: result.n_queries for name, result in log.candidates().items()}
    {'estimator__num_leaves=3': 30, 'estimator__num_leaves=7': 30}
    >>> table = log.to_pandas()
    >>> len(table), table.groupby("param_estimator__num_leaves")["mrr"].mean().shape
    (60, (2,))
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()  # a worker process may have another working directory

    def record(self, parameters: Mapping[str, Any], result: Evaluation, part: PartOfSearch | None) -> None:
        """Write one score; the scorer calls this."""
        self.folder.mkdir(parents=True, exist_ok=True)
        about = {"parameters": json.loads(json.dumps(dict(parameters), default=_plain)), "part": part}
        import_module("ltr_metrics.io.saved").write(self.folder / f"{uuid4().hex}.parquet", vars(result), about)

    def _scores(self) -> list[Score]:
        """Return all scores, sorted by parameters, part and smallest query id."""
        scores, load = [], import_module("ltr_metrics.io.load").load
        for path in self.folder.glob("*.parquet"):
            result, about = load(path)
            if not isinstance(about, dict) or about.keys() != {"parameters", "part"}:
                raise LtrValueError(f"{path} is not a score of a search. Move it out of the folder of the log.")
            scores.append(Score(**about, evaluation=result))
        if not scores:
            raise LtrKeyError(f"There are no scores in {self.folder}: no scorer has written to this log yet.")
        return sorted(scores, key=_order)

    def candidates(self, part: PartOfSearch | None = "test") -> dict[str, Evaluation]:
        """Return one evaluation of each candidate, over the queries of all its folds.

        Parameters
        ----------
        part : {"test", "train"} or None, default "test"
            Part of the splits. A scorer knows it for a `ltr_metrics.sklearn.QueryRanker`, which
            remembers its training queries. None selects the scores of all other estimators. "train"
            needs a search with one split or two folds. Of more folds, several models of a candidate
            have trained on the same query, so no evaluation can have one value for it.
            `to_pandas` has the values of all of them.

        Returns
        -------
        dict of str to Evaluation
            One evaluation for each setting of the parameters, ready for `ltr_metrics.compare`. Its
            name has the parameters that vary, such as ``"estimator__num_leaves=7"``. If estimators
            vary, it has only those that vary among candidates with the same estimator:
            ``"estimator=LGBMRanker, estimator__num_leaves=7"`` and ``"estimator=Ridge"``. A setting
            that ``RandomizedSearchCV`` draws twice is one candidate.

        Raises
        ------
        LtrKeyError
            If there are no scores of this part.
        LtrValueError
            If a candidate has two different scores on a query, or the candidates were scored on
            different queries. Then the folder has more than one search, the splits overlap, a
            setting was drawn twice for an estimator without a ``random_state``, a fit has failed, or
            other data were scored. `to_pandas` works nevertheless. Also if a Parquet file in the
            folder is not a score.
        """
        of_part = [score for score in self._scores() if score.part == part]
        if not of_part:
            raise LtrKeyError(f"There are no scores of part {part!r} in {self.folder}.")
        parts: dict[str, list[Evaluation]] = {}
        for score in of_part:
            parts.setdefault(_text(score.parameters), []).append(score.evaluation)
        labels = _labels([json.loads(parameters) for parameters in parts])
        candidates = {label: _concat(label, folds) for label, folds in zip(labels, parts.values(), strict=True)}
        first, *others = candidates
        for label in others:
            only_one = set(candidates[first].json_qid) ^ set(candidates[label].json_qid)
            if only_one:
                query = min(only_one, key=order_of_id)
                raise LtrValueError(
                    f"Query {query!r} was scored for only one of the candidates {first!r} and {label!r}. Either a fit "
                    f"has failed, which error_score='raise' shows, or other data were scored too. {ONE_SEARCH}"
                )
        return candidates

    def to_pandas(self) -> DataFrame:
        """Return all scores as a table with one row per score and query.

        Returns
        -------
        pandas.DataFrame
            The columns are part, fold, qid, documents, relevant, the metrics, the weight if there
            are weights, and the parameters that vary, named ``param_...`` as in ``cv_results_``.
            Scores on the same set of queries belong to the same fold, and the folds are numbered in
            the order of their smallest query id.

        Raises
        ------
        LtrKeyError
            If the folder has no scores.
        LtrValueError
            If a Parquet file in it is not a score.
        """
        import pandas as pd

        scores = self._scores()
        names = _varying(scores)
        sets = {frozenset(score.evaluation.json_qid) for score in scores}
        folds = {queries: i for i, queries in enumerate(sorted(sets, key=_smallest_first))}
        tables = []
        for score in scores:
            table = score.evaluation.to_pandas()
            table.insert(0, "part", score.part)
            table.insert(1, "fold", folds[frozenset(score.evaluation.json_qid)])
            if score.evaluation.weight is not None:
                table["weight"] = score.evaluation.weight
            tables.append(table)
        whole = pd.concat(tables, ignore_index=True)
        for name in names:  # as one column, because concat guesses its type if a table has no value, and warns
            values = [score.parameters.get(name) for score in scores]
            column = pd.Series([json.dumps(value) if isinstance(value, (list, dict)) else value for value in values])
            whole[f"param_{name}"] = column.repeat([len(table) for table in tables]).array
        return whole


def _plain(value: Any) -> Any:
    """Return a parameter as a JSON value, without memory addresses, which differ between processes."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    has_own_parameters, text = hasattr(value, "get_params"), str(value)
    return getattr(value, "__qualname__", type(value).__qualname__) if has_own_parameters or " at 0x" in text else text


def _varying(scores: Sequence[Score]) -> list[str]:
    """Return the names of the parameters that differ between scores, or that some lack."""
    texts: dict[str, list[str]] = {}
    for score in scores:
        for name, value in score.parameters.items():
            texts.setdefault(name, []).append(_text(value))
    return sorted(name for name, values in texts.items() if len(values) < len(scores) or len(set(values)) > 1)


def _labels(candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name of each candidate, with the parameters in which it differs from others.

    A parameter of an estimator is in it only if candidates with this very estimator differ by it.
    """
    shown: list[list[str]] = [[] for _ in candidates]
    for name in sorted({name for parameters in candidates for name in parameters}):
        owners = list(itertools.accumulate(name.split("__")[:-1], "{}__{}".format))
        among = [_text([parameters.get(owner) for owner in owners]) for parameters in candidates]
        values: dict[str, set[str]] = {}
        for key, parameters in zip(among, candidates, strict=True):
            values.setdefault(key, set()).add(_text(parameters[name]) if name in parameters else "")
        for key, parameters, of_candidate in zip(among, candidates, shown, strict=True):
            if name in parameters and len(values[key]) > 1 and not _repeats_others(parameters, name):
                text = str(parameters[name])
                of_candidate.append(f"{name}={text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + '...'}")
    labels = [", ".join(of_candidate) or "all" for of_candidate in shown]
    # A text may be shortened, and 7 and "7" are one text.
    return [f"{label} ({n})" if (n := labels[: i + 1].count(label)) > 1 else label for i, label in enumerate(labels)]


def _repeats_others(parameters: Mapping[str, Any], name: str) -> bool:
    """Whether a parameter lists estimators that are parameters themselves, as ``steps`` of a Pipeline does."""
    value, prefix = parameters[name], name.removesuffix(name.rpartition("__")[2])
    return (
        isinstance(value, list)
        and value != []
        and all(isinstance(pair, list) and len(pair) == 2 and f"{prefix}{pair[0]}" in parameters for pair in value)
    )


def _text(value: Any) -> str:
    """Return a JSON value as text, which is equal for equal values."""
    return json.dumps(value, sort_keys=True)


def _order(score: Score) -> tuple[Any, ...]:
    values = [
        (isinstance(v, str), v if isinstance(v, (int, float)) and v == v else 0, str(v))  # NaN has no order
        for v in score.parameters.values()
    ]
    return values, str(score.part), _smallest_first(score.evaluation.json_qid)


def _smallest_first(queries: Any) -> list[Any]:
    return sorted(map(order_of_id, queries))


def _concat(label: str, parts: Sequence[Evaluation]) -> Evaluation:
    """Return the evaluation of all queries of a candidate, each scored once by the same metrics."""
    if len({(tuple(part), str(part.policy)) for part in parts}) > 1:
        raise LtrValueError(f"The candidate {label!r} was scored by other metrics or options too. {ONE_SEARCH}")
    distinct = list({_content(part): part for part in parts}.values())  # a search may draw a candidate twice
    ids = [qid for part in distinct for qid in part.json_qid]
    if len(set(ids)) < len(ids):
        raise LtrValueError(
            f"The candidate {label!r} was scored twice on a query, with different results. Either the splits overlap, "
            "as the training parts of three folds or more do, or a search has drawn it twice and the estimator or "
            f"QueryRanker has no random_state, or there was another search. {ONE_SEARCH}"
        )
    return concat(distinct)


def _content(part: Evaluation) -> tuple[Any, ...]:
    weight = b"" if part.weight is None else part.weight.tobytes()
    values = [values.tobytes() for values in part.per_query.values()]
    return *part.json_qid, part.n_documents.tobytes(), weight, *values
