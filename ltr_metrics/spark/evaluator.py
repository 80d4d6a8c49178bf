"""`QueryEvaluator`: a metric per query for ``CrossValidator`` and its like."""
# ruff: noqa: N815, SLF001 (Spark's parameters are in mixed case, and made with Params._dummy)

from __future__ import annotations

import re
from typing import Any

import numpy as np
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasWeightCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame

from ltr_metrics._engine.words import ConventionName, NoRelevant, TiesOfSpark
from ltr_metrics._hosts.host_metrics import UndefinedMeanError
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.base import Metric
from ltr_metrics.metrics.names import metric as metric_of
from ltr_metrics.metrics.requests import resolve
from ltr_metrics.spark.evaluation import evaluate, refuse_input_order

SPLIT_BY_ROW = re.compile(r"\w+_[0-9a-f]{12}_rand")  # how Spark names the random number that it draws for each row


def _name(metric: object) -> str:
    """Return the name of a metric, which must have all parameters: Spark saves it as text."""
    if isinstance(metric, str):
        return metric
    if isinstance(metric, Metric) and metric_of(str(metric)) == metric:
        return str(metric)
    raise LtrTypeError(f"metric must be one metric, by name or as an object that a name makes. Got {metric!r}.")


class QueryEvaluator(
    Evaluator,
    HasLabelCol,
    HasPredictionCol,
    HasWeightCol,
    DefaultParamsReadable["QueryEvaluator"],
    DefaultParamsWritable,
):
    """Evaluate one metric per query, for ``CrossValidator`` and `TrainValidationSplitByQuery`.

    The value is the mean over queries. Spark learns whether higher or lower is better.

    Folds must keep queries whole: add a column of folds with `with_folds`, and pass its name as
    ``CrossValidator(foldCol=...)``. Spark's ``TrainValidationSplit``, and ``CrossValidator``
    without ``foldCol``, draw rows. This cuts queries and inflates scores. The evaluator recognises
    it by the column that they add, and raises an error. It does not see the training rows, so it
    cannot detect a column of folds that cuts queries.

    Parameters
    ----------
    metric : str or Metric, default "ndcg@10"
        One metric as for `ltr_metrics.evaluate`, but not a function.
    labelCol, predictionCol, qidCol : str
        Columns of grades, scores and query ids.
    weightCol, docidCol : str, optional
        Columns of row weights and of document ids. The weight of a query is the mean weight of its
        rows.
    ties : {"mean", "worst", "best", "docid"}, optional
        Treatment of tied scores, as for `ltr_metrics.spark.evaluate`.
    noRelevant : {"skip", "drop", "error"} or float, optional
        Treatment of a query on which the metric is undefined, as ``no_relevant`` of
        `ltr_metrics.spark.evaluate`.
    convention : str, optional
        Another system, whose choices complete the metric names, ``ties`` and ``noRelevant``. It is
        a name.

    Raises
    ------
    LtrValueError, LtrTypeError, LtrKeyError
        As for `ltr_metrics.spark.evaluate`, for rows that were split at random, and if the metric
        is undefined for all queries.

    See Also
    --------
    with_folds : Add a column of folds that keep queries whole.
    TrainValidationSplitByQuery : Split whole queries once.

    Examples
    --------
    >>> from ltr_metrics.spark import QueryEvaluator
    >>> rows = [(7, 1, 0.2), (9, 2, 0.7), (7, 0, 0.8), (9, 0, 0.1)]
    >>> frame = spark.createDataFrame(rows, ["qid", "label", "prediction"])  # doctest: +SKIP
    >>> QueryEvaluator(metric="mrr").evaluate(frame)  # doctest: +SKIP
    0.75
    """

    metric = Param[str](Params._dummy(), "metric", "name of the metric", typeConverter=_name)
    qidCol = Param[str](Params._dummy(), "qidCol", "column of query ids", typeConverter=TypeConverters.toString)
    docidCol = Param[str](Params._dummy(), "docidCol", "column of document ids", typeConverter=TypeConverters.toString)
    ties = Param[str](Params._dummy(), "ties", "order of equal scores", typeConverter=TypeConverters.toString)
    noRelevant = Param[Any](
        Params._dummy(), "noRelevant", "value of queries for which the metric is undefined: a word or a number"
    )
    convention = Param[str](
        Params._dummy(), "convention", "name of a convention", typeConverter=TypeConverters.toString
    )

    def __init__(
        self,
        *,
        metric: str | Metric = "ndcg@10",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        qidCol: str = "qid",
        weightCol: str | None = None,
        docidCol: str | None = None,
        ties: TiesOfSpark | None = None,
        noRelevant: NoRelevant | float | None = None,
        convention: ConventionName | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(metric="ndcg@10", qidCol="qid")
        parameters: dict[str, Any] = {
            "metric": metric,
            "labelCol": labelCol,
            "predictionCol": predictionCol,
            "qidCol": qidCol,
            "weightCol": weightCol,
            "docidCol": docidCol,
            "ties": ties,
            "noRelevant": noRelevant,
            "convention": convention,
        }
        self._set(**{name: value for name, value in parameters.items() if value is not None})
        refuse_input_order(resolve(**self._options()), docidCol)  # before the first training

    def _options(self) -> dict[str, Any]:
        options = {"metrics": self.metric, "ties": self.ties, "no_relevant": self.noRelevant}
        return {name: self._value(param) for name, param in (options | {"convention": self.convention}).items()}

    def _value(self, param: Param[Any]) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _evaluate(self, dataset: DataFrame) -> float:
        _refuse_rows_split_at_random(dataset)
        result = evaluate(
            dataset,
            label=self.getLabelCol(),
            score=self.getPredictionCol(),
            qid=self._value(self.qidCol),
            docid=self._value(self.docidCol),
            weight=self._value(self.weightCol),
            **self._options(),
        )
        ((name, value),) = result.mean.items()
        if np.isnan(value):  # Spark would take it for the best
            raise UndefinedMeanError(
                f"{name} is undefined for all {result.n_queries:,} queries, or all have weight 0: no mean can choose "
                "a model. Use larger folds, or say with noRelevant what such queries count."
            )
        return value

    def isLargerBetter(self) -> bool:  # noqa: N802
        return all(metric.higher_is_better for metric in resolve(**self._options()).metrics)


def _refuse_rows_split_at_random(dataset: DataFrame) -> None:
    random_column = next((name for name in getattr(dataset, "columns", []) if SPLIT_BY_ROW.fullmatch(name)), None)
    if random_column is not None:
        raise LtrValueError(
            f"These rows were drawn one by one ({random_column!r} is the random number of each), so that queries are "
            "cut in two, and what is trained on one part is flattered on the other. Use CrossValidator(foldCol=...) "
            "with a column that ltr_metrics.spark.with_folds adds, or ltr_metrics.spark.TrainValidationSplitByQuery."
        )
