"""MLflow: an evaluator for ``mlflow.models.evaluate(model_type="ranker")``.

MLflow finds it by the entry point of this package. This module imports MLflow only when it evaluates,
because MLflow imports this module.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ltr_metrics._hosts.log_names import names_in_log
from ltr_metrics.errors import LtrTypeError, LtrValueError, did_you_mean, import_extra
from ltr_metrics.evaluation.columns import OF_ROWS, columns_by_key
from ltr_metrics.evaluation.evaluate import evaluate
from ltr_metrics.evaluation.means import refuse_undefined_means
from ltr_metrics.metrics.requests import listed, resolve

__all__ = ["RankerEvaluator"]

POLICY = ("ties", "no_relevant", "convention")
SETTINGS = ("metrics", *POLICY, *OF_ROWS, "unjudged", "by")
LABEL, SCORE = "MLflow's targets", "MLflow's predictions"  # columns beside those of the data


def __dir__() -> list[str]:
    return list(__all__)


class RankerEvaluator:
    """The evaluator of ``mlflow.models.evaluate(model_type="ranker")``.

    MLflow finds it by itself, once this package is installed. It evaluates a model, or a column of
    scores, on labelled queries, and logs the mean of each metric under its slug, such as
    ``ndcg_exp_at_10``, because MLflow refuses ``@``, ``=`` and brackets. ``mlflow.models.evaluate``
    returns these means as ``metrics``.

    Pass options of `ltr_metrics.evaluate` as ``evaluator_config``: ``metrics``, ``ties``,
    ``no_relevant``, ``convention`` and ``unjudged`` as there, and names of columns of the data as
    ``qid`` (``"qid"`` by default), ``docid``, ``sample_weight``, ``query_weight``, ``retrieved``,
    ``judged``, ``by`` and ``cluster``. A metric such as ``sum_of(revenue)@10`` reads the column
    ``revenue``.

    See Also
    --------
    ltr_metrics.evaluate : The same numbers without MLflow.
    ltr_metrics.report.as_html : A report, which ``mlflow.log_text`` keeps in the run.

    Notes
    -----
    The data must be a pandas data frame. MLflow reads only the first 10,000 rows of a Spark data
    frame, so pass ``frame.toPandas()``, or use `ltr_metrics.spark.evaluate`. A model gets the
    columns of its signature. Without a signature it gets all columns that no option names.

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
    def can_evaluate(cls, *, model_type: str | None, **others: Any) -> bool:  # noqa: ARG003
        """Whether MLflow asks for the evaluation of a ranker.

        Parameters
        ----------
        model_type : str or None
            The ``model_type`` of ``mlflow.models.evaluate``.
        **others
            What else MLflow passes, which does not matter.

        Returns
        -------
        bool
            True for ``"ranker"``.
        """
        return model_type == "ranker"

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None = None,
        model: Any = None,
        predictions: str | None = None,
        model_id: str | None = None,
        **others: Any,
    ) -> Any:
        """Evaluate a ranker, and log the means into a run; MLflow calls this.

        Parameters
        ----------
        dataset : mlflow.data.evaluation_dataset.EvaluationDataset
            The data.
        run_id : str
            The run that the means are logged into.
        evaluator_config : mapping, optional
            Options of `ltr_metrics.evaluate`.
        model : mlflow.pyfunc.PyFuncModel, optional
            The model. By default the scores are the predictions of ``dataset``.
        predictions : str, optional
            The column of the scores in the model's output.
        model_id : str, optional
            The logged model that the means belong to.
        **others
            What else MLflow passes. ``extra_metrics`` and ``custom_artifacts`` are not supported.

        Returns
        -------
        mlflow.models.EvaluationResult
            The means by their names in the run.

        Raises
        ------
        LtrValueError, LtrTypeError
            For an unknown option or column, data without grades or scores, ``extra_metrics`` and
            ``custom_artifacts``, a metric that is undefined for all queries, and as for
            `ltr_metrics.evaluate`.
        """
        options = dict(evaluator_config or {})
        _refuse_unknown(options, others)
        if dataset.labels_data is None or not hasattr(dataset.features_data, "columns"):
            raise LtrTypeError("data must be a pandas data frame whose grades are named: targets='label'.")
        metrics = None if options.get("metrics") is None else listed(options["metrics"])
        request = resolve(metrics, **{name: options[name] for name in POLICY if name in options})
        scores = dataset.predictions_data
        if model is not None:
            output = model.predict(_inputs(dataset.features_data, model, options, request.needed_columns))
            scores = np.asarray(output if predictions is None else output[predictions])
            scores = scores[:, 0] if scores.shape[1:] == (1,) else scores
        if scores is None:
            raise LtrValueError("There are no scores. Pass a model, or name their column: predictions='score'.")
        table = dict(dataset.features_data.items()) | {LABEL: dataset.labels_data, SCORE: scores}
        result = evaluate(data=table, label=LABEL, score=SCORE, **options | {"metrics": metrics})
        refuse_undefined_means(result)
        means = {name: result[metric] for metric, name in names_in_log(request, "slug").items()}
        mlflow, now = import_extra("mlflow", "mlflow"), int(time.time() * 1000)
        links = {"model_id": model_id, "dataset_name": dataset.name, "dataset_digest": dataset.digest, "run_id": run_id}
        logged = [mlflow.entities.Metric(name, mean, now, 0, **links) for name, mean in means.items()]
        mlflow.MlflowClient().log_batch(run_id, metrics=logged)
        return mlflow.models.EvaluationResult(metrics=means, artifacts={}, run_id=run_id)


def _refuse_unknown(options: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    for name in ("extra_metrics", "custom_artifacts"):
        if others.get(name):
            raise LtrTypeError(
                f"The evaluator of rankers does not take {name}. Pass metrics of your own as "
                "evaluator_config={'metrics': [...]}, and log files yourself, with mlflow.log_artifact."
            )
    for name in options.keys() - set(SETTINGS):
        raise LtrValueError(
            f"evaluator_config has no option {name!r} for rankers.{did_you_mean(str(name), SETTINGS)} The options are "
            f"{', '.join(SETTINGS)}."
        )


def _inputs(X: Any, model: Any, options: Mapping[str, Any], needed: tuple[str, ...]) -> Any:
    """Return the columns of the model's signature; without a signature, all columns that no option names."""
    schema = getattr(getattr(model, "metadata", None), "get_input_schema", lambda: None)()  # a function has none
    if schema is not None and schema.has_input_names():
        return X[[name for name in X.columns if name in schema.input_names()]]  # MLflow refuses data that lack one
    by = columns_by_key(options["by"], "by").values() if options.get("by") else ()
    named = {options.get("qid", "qid"), *(options.get(option) for option in OF_ROWS), *by, *needed}
    return X[[name for name in X.columns if name not in named]]
