"""Whole queries in a fold: a column of folds for ``CrossValidator``, and a ``TrainValidationSplit`` by query."""
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

PARTS = 1 << 30  # a share of the queries is cut to one in so many


def with_folds(frame: DataFrame, qid: str, n_folds: int, seed: int, *, column: str = "fold") -> DataFrame:
    """Add a column of folds, 0 to ``n_folds`` - 1, equal for all rows of a query.

    A query's fold follows from a hash of its id, as text, and the seed: the same in every run, partition and frame, whatever other queries
    there are, and without a shuffle. Of n queries a fold has n / k, give or take the square root of it.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    qid : str
        Column of query ids.
    n_folds : int
        As ``CrossValidator(numFolds=..., foldCol="fold")`` has it; 2 or more.
    seed : int
    column : str, default "fold"

    Returns
    -------
    pyspark.sql.DataFrame

    Raises
    ------
    LtrKeyError, LtrTypeError, LtrValueError
        For a column that is not there, or is there already; also, when Spark computes it, Spark's own error for a null id.

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
    """Return a whole number below n that is drawn for each query."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise LtrTypeError(f"seed must be a whole number. Got {seed!r}.")
    name = columns.ids(frame, "qid", qid)
    drawn = F.pmod(F.xxhash64(F.lit(int(seed)).cast("long"), name.cast("string")), F.lit(n))
    missing = F.raise_error(F.lit(f"qid must not be null: column {qid!r} is null in some row, which then has no fold."))
    return F.when(name.isNotNull(), drawn).otherwise(missing)


class TrainValidationSplitByQuery(TrainValidationSplit):
    """Spark's ``TrainValidationSplit`` with whole queries: ``trainRatio`` of them, not of the rows, are trained on.

    The queries are drawn by a hash of their ids and ``seed``, as by `with_folds`. It cannot be saved; the model that it returns can.

    Parameters
    ----------
    estimator, estimatorParamMaps, evaluator, trainRatio, parallelism, collectSubModels, seed
        As for ``pyspark.ml.tuning.TrainValidationSplit``.
    qidCol : str, default "qid"
        Column of query ids.

    Raises
    ------
    LtrValueError
        On ``fit``, if one of the two parts has no query.
    LtrKeyError, LtrTypeError
        On ``fit``, of a column that is not there or has no ids.
    """

    qidCol = Param[str](Params._dummy(), "qidCol", "column of query ids", typeConverter=TypeConverters.toString)

    def __init__(self, *, qidCol: str = "qid", **options: Any) -> None:
        super().__init__(**options)
        self._setDefault(qidCol="qid", seed=0)  # Spark's own default is another one in each process
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
                        f"The {name} part has no query with trainRatio={ratio} and this seed: there are too few queries."
                    )
            values, models = self._tried(train, validation)
        finally:
            train.unpersist()
            validation.unpersist()
        best = np.argmax(values) if self.getEvaluator().isLargerBetter() else np.argmin(values)
        model = self.getEstimator().fit(dataset, self.getEstimatorParamMaps()[int(best)])
        return self._copyValues(
            TrainValidationSplitModel(model, values, models if self.getCollectSubModels() else None)
        )

    def _tried(self, train: DataFrame, validation: DataFrame) -> tuple[list[float], list[Any]]:
        """Fit each candidate, and evaluate it on the validation part."""
        maps = self.getEstimatorParamMaps()
        models = self.getEstimator().fitMultiple(train, maps)  # may be drawn from by several threads

        def tried(_: int) -> tuple[int, float, Any]:
            index, model = next(models)
            value = self.getEvaluator().evaluate(model.transform(validation, maps[index]))
            return index, value, model if self.getCollectSubModels() else None

        # Threads take on the job group of this one; Spark 3 asks for the function, Spark 4 for the session first.
        inheriting: Any = inheritable_thread_target
        inheriting = (
            inheriting if validation.sparkSession.version.startswith("3.") else inheriting(validation.sparkSession)
        )
        with ThreadPool(min(self.getParallelism(), len(maps))) as pool:
            found = pool.map(inheriting(tried), range(len(maps)))
        _, values, kept = zip(*sorted(found, key=lambda one: one[0]), strict=True)
        return list(values), list(kept)

    def write(self) -> Any:
        raise LtrTypeError("TrainValidationSplitByQuery cannot be saved. Save what fit returns, or its bestModel.")
