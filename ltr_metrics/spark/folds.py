"""Folds of whole queries, for ``CrossValidator`` and ``TrainValidationSplit``."""
# ruff: noqa: N815, SLF001 (Spark's parameters are in mixed case, and made with Params._dummy)

from __future__ import annotations

from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
from pyspark import inheritable_thread_target
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.tuning import TrainValidationSplit, TrainValidationSplitModel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ltr_metrics._engine.checks import require_count
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.spark import columns

PARTS = 1 << 30  # a share of the queries is rounded to a multiple of 1 / PARTS


def with_folds(frame: DataFrame, qid: str, n_folds: int, seed: int, *, column: str = "fold") -> DataFrame:
    """Add a column of folds, 0 to ``n_folds`` - 1, equal for all rows of a query.

    The fold of a query is a hash of its id, as text, and the seed. So it is the same in every run,
    partition and frame, does not depend on other queries, and needs no shuffle. Of n queries, each
    of k folds has about n / k, plus or minus the square root of that.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Any rows with a column of query ids.
    qid : str
        Column of query ids.
    n_folds : int
        The number that you pass to ``CrossValidator(numFolds=..., foldCol="fold")``, 2 or more.
    seed : int
        Random seed. The same seed gives the same folds.
    column : str, default "fold"
        Name of the new column.

    Returns
    -------
    pyspark.sql.DataFrame
        The rows of ``frame`` with the new column.

    Raises
    ------
    LtrKeyError, LtrTypeError, LtrValueError
        For a missing column of ids, or a column of folds that exists already. A null id gives
        Spark's own error when Spark computes the column.

    See Also
    --------
    QueryEvaluator : The evaluator for ``CrossValidator(foldCol="fold")``.

    Examples
    --------
    >>> from ltr_metrics.spark import with_folds
    >>> frame = spark.createDataFrame([(7, 1), (9, 2), (7, 0), (8, 0)], ["qid", "label"])  # doctest: +SKIP
    >>> rows = with_folds(frame, "qid", n_folds=2, seed=0).collect()  # doctest: +SKIP
    >>> rows[0].fold == rows[2].fold  # doctest: +SKIP
    True
    """
    columns.refuse_other_frames(frame)
    require_count("n_folds", n_folds, at_least=2)
    if column in frame.columns:
        raise LtrValueError(f"The frame has a column {column!r} already: name another one with column=.")
    return frame.withColumn(column, _drawn(frame, qid, n_folds, seed).cast("int"))


def _drawn(frame: DataFrame, qid: str, n: int, seed: int) -> Column:
    """Return a pseudo-random whole number below n for each query."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise LtrTypeError(f"seed must be a whole number. Got {seed!r}.")
    name = columns.ids(frame, "qid", qid)
    drawn = F.pmod(F.xxhash64(F.lit(int(seed)).cast("long"), name.cast("string")), F.lit(n))
    missing = F.raise_error(F.lit(f"qid must not be null: column {qid!r} is null in some row, which then has no fold."))
    return F.when(name.isNotNull(), drawn).otherwise(missing)


class TrainValidationSplitByQuery(TrainValidationSplit):
    """Split whole queries: Spark's ``TrainValidationSplit``, with ``trainRatio`` of the queries.

    A hash of the id and ``seed`` selects the queries, as in `with_folds`. You cannot save this
    object, but you can save the model that ``fit`` returns.

    Parameters
    ----------
    qidCol : str, default "qid"
        Column of query ids.
    **options
        ``estimator``, ``estimatorParamMaps``, ``evaluator``, ``trainRatio``, ``parallelism``,
        ``collectSubModels`` and ``seed``, as for ``pyspark.ml.tuning.TrainValidationSplit``.

    Raises
    ------
    LtrValueError
        On ``fit``, if one of the two parts has no query.
    LtrKeyError, LtrTypeError
        On ``fit``, for a column that does not exist or does not hold ids.

    See Also
    --------
    QueryEvaluator : The evaluator for it.
    with_folds : Folds for ``CrossValidator``.

    Examples
    --------
    >>> from ltr_metrics.spark import QueryEvaluator, TrainValidationSplitByQuery
    >>> from pyspark.ml.linalg import Vectors  # doctest: +SKIP
    >>> from pyspark.ml.regression import LinearRegression  # doctest: +SKIP
    >>> from pyspark.ml.tuning import ParamGridBuilder  # doctest: +SKIP
    >>> rows = [
    ...     (qid, label, Vectors.dense(label + qid / 99)) for qid in range(20) for label in (0, 1)
    ... ]  # doctest: +SKIP
    >>> frame = spark.createDataFrame(rows, ["qid", "label", "features"])  # doctest: +SKIP
    >>> ranker = LinearRegression(maxIter=5)  # doctest: +SKIP
    >>> grid = ParamGridBuilder().addGrid(ranker.regParam, [0.0, 0.1]).build()  # doctest: +SKIP
    >>> settings = {
    ...     "estimator": ranker, "estimatorParamMaps": grid, "evaluator": QueryEvaluator(metric="mrr")
    ... }  # doctest: +SKIP
    >>> model = TrainValidationSplitByQuery(trainRatio=0.8, seed=0, **settings).fit(frame)  # doctest: +SKIP
    >>> model.validationMetrics  # doctest: +SKIP
    [1.0, 1.0]
    """

    qidCol = Param[str](Params._dummy(), "qidCol", "column of query ids", typeConverter=TypeConverters.toString)

    def __init__(self, *, qidCol: str = "qid", **options: Any) -> None:
        super().__init__(**options)
        self._setDefault(qidCol="qid", seed=0)  # Spark's own default differs between processes
        self._set(qidCol=qidCol)

    def _fit(self, dataset: DataFrame) -> TrainValidationSplitModel:
        ratio = self.getTrainRatio()
        drawn = _drawn(dataset, self.getOrDefault(self.qidCol), PARTS, self.getSeed())
        train, validation = (
            dataset.where(part).persist() for part in (drawn < round(ratio * PARTS), drawn >= round(ratio * PARTS))
        )
        try:
            for name, part in (("training", train), ("validation", validation)):
                if not part.take(1):
                    raise LtrValueError(
                        f"The {name} part has no query with trainRatio={ratio} and this seed: there are too few "
                        "queries."
                    )
            values, models = self._evaluate_candidates(train, validation)
        finally:
            train.unpersist()
            validation.unpersist()
        best = np.argmax(values) if self.getEvaluator().isLargerBetter() else np.argmin(values)
        model = self.getEstimator().fit(dataset, self.getEstimatorParamMaps()[int(best)])
        return self._copyValues(
            TrainValidationSplitModel(model, values, models if self.getCollectSubModels() else None)
        )

    def _evaluate_candidates(self, train: DataFrame, validation: DataFrame) -> tuple[list[float], list[Any]]:
        """Fit each candidate, and evaluate it on the validation part."""
        maps = self.getEstimatorParamMaps()
        models = self.getEstimator().fitMultiple(train, maps)  # safe to use from several threads

        def evaluate_next(_: int) -> tuple[int, float, Any]:
            index, model = next(models)
            value = self.getEvaluator().evaluate(model.transform(validation, maps[index]))
            return index, value, model if self.getCollectSubModels() else None

        # Threads inherit the job group of this one. Spark 3 takes the function, Spark 4 first the
        # session.
        inheriting: Any = inheritable_thread_target
        inheriting = (
            inheriting if validation.sparkSession.version.startswith("3.") else inheriting(validation.sparkSession)
        )
        with ThreadPool(min(self.getParallelism(), len(maps))) as pool:
            results = pool.map(inheriting(evaluate_next), range(len(maps)))
        _, values, sub_models = zip(*sorted(results, key=lambda result: result[0]), strict=True)
        return list(values), list(sub_models)

    def write(self) -> Any:
        raise LtrTypeError("TrainValidationSplitByQuery cannot be saved. Save what fit returns, or its bestModel.")
