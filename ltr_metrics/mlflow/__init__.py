"""MLflow: an evaluator for ``mlflow.models.evaluate(model_type="ranker")``.

MLflow finds it by the entry point of this package. This module does not import MLflow, because
MLflow imports this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ltr_metrics.errors import LtrTypeError

__all__ = ["RankerEvaluator"]

MODEL_TYPE = "ranker"


def __dir__() -> list[str]:
    return list(__all__)


class RankerEvaluator:
    """The evaluator of ``mlflow.models.evaluate(model_type="ranker")``.

    MLflow finds it by itself, once this package is installed. It evaluates a model on labelled
    queries, and writes into the active run:

    - the mean of each metric, as a metric of the run, and its skill, under its name and ``_skill``:
      0 for a random order, 1 for the ideal one
    - ``means.csv``: the means and skills with their standard errors, the chance level and the ideal,
      and the numbers of queries
    - ``per_query.csv``: the values of each query
    - ``evaluation.parquet``: the result, which ``ltr_metrics.load_result`` reads for a comparison
    - ``report.html``: the report

    ``mlflow.models.evaluate`` returns the means as ``metrics``, and the files as ``artifacts``.

    Pass these settings as ``evaluator_config``:

    - ``qid``: the column of the query ids. Default: ``"qid"``.
    - ``metrics``, ``ties``, ``no_relevant``, ``convention``: as for `ltr_metrics.evaluate`. A metric
      such as ``sum_of(revenue)@10`` reads the column ``revenue`` of the data.
    - ``names``: the names in the run, as for `ltr_metrics.lightgbm.feval`. Default: ``"slug"``,
      because MLflow refuses ``@``, ``=`` and brackets.
    - ``sample_weight``, ``docid``: the columns of the row weights and of the document ids.
    - ``by``: one or several columns of segments, whose means the report has.
    - ``features``: the list of columns that the model gets. The default are the columns of the
      model's signature. Without a signature the model gets all columns but those named above.
    - ``metric_prefix``: text before the names of metrics and files, such as ``"test_"``, if you
      evaluate several data sets in one run.

    See Also
    --------
    ltr_metrics.evaluate : The same numbers without MLflow.
    ltr_metrics.load_result : Read the evaluation of a run.

    Notes
    -----
    The data must be a pandas data frame, whose columns the settings name. MLflow reads only the first
    10,000 rows of a Spark data frame, so pass ``frame.toPandas()``.

    Examples
    --------
    >>> from ltr_metrics.mlflow import RankerEvaluator
    >>> RankerEvaluator.can_evaluate(model_type="ranker", evaluator_config={})
    True

    The column of scores may be in the data:

    >>> import mlflow  # doctest: +SKIP
    >>> result = mlflow.models.evaluate(  # doctest: +SKIP
    ...     data=frame,  # with the columns qid, label and score
    ...     targets="label",
    ...     predictions="score",
    ...     model_type="ranker",
    ...     evaluator_config={"metrics": ["ndcg@10", "map"]},
    ... )
    >>> result.metrics  # doctest: +SKIP
    {'ndcg_exp_at_10': 0.7122, 'map': 0.6034, 'ndcg_exp_at_10_skill': 0.5321, 'map_skill': 0.4017}
    """

    @classmethod
    def can_evaluate(  # MLflow passes all arguments by name
        cls,
        *,
        model_type: str | None,
        evaluator_config: Mapping[str, Any],  # noqa: ARG003
        **others: Any,  # noqa: ARG003
    ) -> bool:
        """Whether MLflow asks for the evaluation of a ranker.

        Parameters
        ----------
        model_type : str or None
            The ``model_type`` of ``mlflow.models.evaluate``.
        evaluator_config : mapping
            The settings, which are checked later.
        **others
            Arguments of other versions of MLflow, which do not matter.

        Returns
        -------
        bool
            True for ``"ranker"``.
        """
        return model_type == MODEL_TYPE

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None = None,
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        predictions: str | None = None,
        model_id: str | None = None,
        **others: Any,
    ) -> Any:
        """Evaluate a ranker, and write the result into a run; MLflow calls this.

        Parameters
        ----------
        dataset : mlflow.data.evaluation_dataset.EvaluationDataset
            The data.
        run_id : str
            The run that the result is written into.
        evaluator_config : mapping, optional
            The settings.
        model : mlflow.pyfunc.PyFuncModel, optional
            The model. By default the scores are the predictions of ``dataset``.
        extra_metrics, custom_artifacts : None
            Not supported.
        predictions : str, optional
            The column of the scores in the model's output.
        model_id : str, optional
            The logged model that the means belong to.
        **others
            Arguments of other versions of MLflow, which do not matter.

        Returns
        -------
        mlflow.models.EvaluationResult
            The means by their names in the run, and the files.

        Raises
        ------
        LtrValueError, LtrTypeError
            For an unknown setting or column, data without grades or scores, ``extra_metrics`` and
            ``custom_artifacts``, a metric that is undefined for all queries, and as for
            `ltr_metrics.evaluate`.
        """
        for name, value in (("extra_metrics", extra_metrics), ("custom_artifacts", custom_artifacts)):
            if value:
                raise LtrTypeError(
                    f"The evaluator of rankers does not take {name}. Pass metrics of your own as "
                    "evaluator_config={'metrics': [...]}, and log other files yourself."
                )
        from ltr_metrics.mlflow.evaluator import evaluate

        return evaluate(dataset, run_id, evaluator_config, model, predictions, model_id)
