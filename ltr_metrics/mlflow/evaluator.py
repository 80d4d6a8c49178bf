"""The evaluator that MLflow calls."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from ltr_metrics._hosts.host_metrics import refuse_undefined_means
from ltr_metrics._hosts.log_names import names_in_log
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.metrics.requests import listed, resolve
from ltr_metrics.mlflow.data import Settings, scores_of

MODEL_TYPE = "ranker"
ACCEPTED = re.compile(r"[\w/. :-]+")  # names of metrics that MLflow accepts


class RankerEvaluator:
    """The evaluator of ``mlflow.models.evaluate(model_type="ranker")``.

    MLflow finds it by itself, once this package is installed. It evaluates a model on labelled
    queries, and writes into the active run:

    - the mean of each metric, as a metric of the run
    - ``means.csv``: the means with their standard errors and the numbers of queries
    - ``per_query.csv``: the values of each query
    - ``evaluation.parquet``: the result, which ``ltr_metrics.load_result`` reads for a comparison
    - ``report.html``: the report

    ``mlflow.models.evaluate`` returns the means as ``metrics``, and the files as ``artifacts``.

    Pass these settings as ``evaluator_config``:

    - ``qid``: the name of the column with the query ids, or one id a row. Default: ``"qid"``.
    - ``metrics``, ``ties``, ``no_relevant``, ``convention``: as for `ltr_metrics.evaluate`.
    - ``names``: the names in the run, as for `ltr_metrics.lightgbm.feval`. Default: ``"slug"``,
      because MLflow refuses characters of many canonical names.
    - ``sample_weight``, ``docid``: the name of a column, or one entry a row.
    - ``by``: the name of a column, several names, or a mapping of names to one label a row. The
      report has the means of each segment.
    - ``columns``: other numbers of the documents, for metrics such as ``sum_of(revenue)@10``: names
      of columns, or a mapping of names in metrics to names of columns or to one number a row. The
      default is the columns that the metrics name.
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
    MLflow reads only the first 10,000 rows of a Spark data frame. Pass ``frame.toPandas()``.

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
    {'ndcg_exp_at_10': 0.7122, 'map': 0.6034}
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
            ``custom_artifacts``, names that MLflow refuses, a metric that is undefined for all
            queries, and as for `ltr_metrics.evaluate`.
        """
        _refuse_functions(extra_metrics=extra_metrics, custom_artifacts=custom_artifacts)
        settings = Settings.from_config(evaluator_config)
        metrics = None if settings.metrics is None else listed(settings.metrics)
        request = resolve(metrics, **settings.policy)
        logged = {
            metric: f"{settings.metric_prefix}{name}" for metric, name in names_in_log(request, settings.names).items()
        }
        _refuse_names(logged)
        queries = settings.queries(dataset)
        scores = scores_of(dataset, model, predictions, settings)

        from mlflow.models import EvaluationResult

        from ltr_metrics.mlflow.artifacts import log_artifacts
        from ltr_metrics.report import summarize

        name = str(dataset.predictions_name) if model is None else "model"
        report = summarize(queries, {name: scores}, metrics, complete=True, source=dataset.name, **settings.policy)
        result = report.evaluations[name]
        refuse_undefined_means(result)
        means = {logged[metric]: mean for metric, mean in result.mean.items()}
        _log_means(run_id, means, dataset, model_id)
        return EvaluationResult(means, log_artifacts(run_id, settings.metric_prefix, report, logged), run_id)


def _refuse_functions(**functions: Any) -> None:
    for name, value in functions.items():
        if value:
            raise LtrTypeError(
                f"The evaluator of rankers does not take {name}. Pass metrics of your own as "
                "evaluator_config={'metrics': [...]}, and log other files yourself."
            )


def _refuse_names(logged: Mapping[str, str]) -> None:
    """Refuse names before the evaluation; MLflow would refuse them after it."""
    for metric, name in logged.items():
        if not ACCEPTED.fullmatch(name):
            raise LtrValueError(
                f"MLflow refuses the name {name!r} of {metric}: names have letters, digits, spaces, and _ - . : / "
                f"alone. Set evaluator_config={{'names': 'slug'}}, or {{'names': {{{metric!r}: 'a name'}}}}."
            )


def _log_means(run_id: str, means: Mapping[str, float], dataset: Any, model_id: str | None) -> None:
    """Log the means, linked with the data set and the model as MLflow's own evaluators do."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    links = {"model_id": model_id, "dataset_name": dataset.name, "dataset_digest": dataset.digest, "run_id": run_id}
    milliseconds = int(time.time() * 1000)
    metrics = [Metric(name, value, milliseconds, 0, **links) for name, value in means.items()]
    MlflowClient().log_batch(run_id, metrics=metrics)
