"""The evaluation of a ranker and its files in MLflow's run. This module imports MLflow."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.models import EvaluationResult
from mlflow.models.evaluation.artifacts import CsvEvaluationArtifact, TextEvaluationArtifact
from mlflow.models.evaluation.base import EvaluationArtifact
from mlflow.tracking.artifact_utils import get_artifact_uri

from ltr_metrics._hosts.log_names import names_in_log
from ltr_metrics.evaluation.load import load_result
from ltr_metrics.evaluation.means import refuse_undefined_means
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.metrics.requests import listed, resolve
from ltr_metrics.mlflow.data import Settings, scores_of
from ltr_metrics.report import Report, as_html, as_per_query_csv, spreadsheet_safe, summarize
from ltr_metrics.report.csv import in_csv

SKILL = "_skill"  # after the name of a metric


class SavedEvaluation(EvaluationArtifact):  # type: ignore[misc]
    """A Parquet file whose content is an `ltr_metrics.Evaluation`."""

    def _save(self, output_artifact_path: str) -> None:
        self.content.save(output_artifact_path)

    def _load_content_from_file(self, local_artifact_path: str) -> Evaluation:
        return load_result(local_artifact_path)


def evaluate(
    dataset: Any,
    run_id: str,
    config: Mapping[str, Any] | None,
    model: Any,
    predictions: str | None,
    model_id: str | None,
) -> EvaluationResult:
    """Evaluate a ranker, and write the means and the files into a run."""
    settings = Settings.from_config(config)
    metrics = None if settings.metrics is None else listed(settings.metrics)
    names = names_in_log(resolve(metrics, **settings.policy), settings.names)
    logged = {metric: f"{settings.metric_prefix}{name}" for metric, name in names.items()}
    queries = settings.queries(dataset)
    scores = scores_of(dataset, model, predictions, settings)

    who = str(dataset.predictions_name) if model is None else "model"
    report = summarize(queries, {who: scores}, metrics, complete=True, source=dataset.name, **settings.policy)
    result = report.evaluations[who]
    refuse_undefined_means(result)
    means = {logged[metric]: mean for metric, mean in result.mean.items()}
    skills = {f"{logged[metric]}{SKILL}": skill for metric, skill in result.skill.items() if not math.isnan(skill)}
    means = skills | means  # a metric that is named like the skill of another one keeps its name
    links = {"model_id": model_id, "dataset_name": dataset.name, "dataset_digest": dataset.digest, "run_id": run_id}
    now = int(time.time() * 1000)
    MlflowClient().log_batch(run_id, metrics=[Metric(name, mean, now, 0, **links) for name, mean in means.items()])
    return EvaluationResult(means, _log_files(run_id, settings.metric_prefix, report, logged), run_id)


def _log_files(run_id: str, prefix: str, report: Report, logged: Mapping[str, str]) -> dict[str, Any]:
    """Write the files of an evaluation into a run, and return them by name.

    The part of the prefix before its last slash is a folder of the run.
    """
    (result,) = report.evaluations.values()
    texts = {
        "means.csv": (CsvEvaluationArtifact, spreadsheet_safe(_means_as_csv(result, logged))),
        "per_query.csv": (CsvEvaluationArtifact, spreadsheet_safe(as_per_query_csv(report))),
        "report.html": (TextEvaluationArtifact, as_html(report)),
    }
    kinds = {name: kind for name, (kind, _) in texts.items()} | {"evaluation.parquet": SavedEvaluation}
    artifacts = {}
    in_run, _, start = prefix.rpartition("/")
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, text) in texts.items():
            Path(folder, f"{start}{name}").write_text(text, encoding="utf-8", newline="")
        result.save(Path(folder, f"{start}evaluation.parquet"))
        MlflowClient().log_artifacts(run_id, folder, in_run or None)
        for name, kind in kinds.items():
            artifact = kind(uri=get_artifact_uri(run_id, f"{prefix}{name}"))
            artifact._load(str(Path(folder, f"{start}{name}")))  # noqa: SLF001  (the way to set the content)
            artifacts[f"{prefix}{Path(name).stem}"] = artifact
    return artifacts


def _means_as_csv(result: Evaluation, logged: Mapping[str, str]) -> str:
    """Return one row per metric: its names, mean and skill with standard errors, and the numbers of queries."""
    n_undefined = pd.Series(dict(result.n_undefined))
    of_metrics = ("mean", "standard_error", "chance", "ideal", "skill", "skill_standard_error")
    columns = {"name": dict(logged), **{name: dict(getattr(result, name)) for name in of_metrics}}
    table = pd.DataFrame(columns).assign(n_queries=result.n_queries - n_undefined, n_undefined=n_undefined)
    return in_csv(table.rename_axis("metric").reset_index())
