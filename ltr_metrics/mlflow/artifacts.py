"""The files of an evaluation in MLflow's run. This module imports MLflow."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow import MlflowClient
from mlflow.models.evaluation.artifacts import CsvEvaluationArtifact, TextEvaluationArtifact
from mlflow.models.evaluation.base import EvaluationArtifact
from mlflow.tracking.artifact_utils import get_artifact_uri

from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.evaluation.saved import load_result
from ltr_metrics.report import Report, as_html, as_per_query_csv, spreadsheet_safe
from ltr_metrics.report.csv import in_csv

if TYPE_CHECKING:
    import pandas


class SavedEvaluation(EvaluationArtifact):  # type: ignore[misc]
    """A Parquet file whose content is an `ltr_metrics.Evaluation`."""

    def _save(self, output_artifact_path: str) -> None:
        self.content.save(output_artifact_path)

    def _load_content_from_file(self, local_artifact_path: str) -> Evaluation:
        return load_result(local_artifact_path)


KINDS = {
    "means.csv": CsvEvaluationArtifact,
    "per_query.csv": CsvEvaluationArtifact,
    "report.html": TextEvaluationArtifact,
    "evaluation.parquet": SavedEvaluation,
}


def log_artifacts(run_id: str, prefix: str, report: Report, logged: Mapping[str, str]) -> dict[str, Any]:
    """Write the files of an evaluation into a run, and return them by name.

    The part of the prefix before its last slash is a folder of the run.
    """
    (result,) = report.evaluations.values()
    texts = {
        "means.csv": spreadsheet_safe(in_csv(table_of_means(result, logged))),
        "per_query.csv": spreadsheet_safe(as_per_query_csv(report)),
        "report.html": as_html(report),
    }
    artifacts = {}
    in_run, _, start = prefix.rpartition("/")
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{start}{name}" for name in KINDS}
        for name, text in texts.items():
            paths[name].write_text(text, encoding="utf-8", newline="")
        result.save(paths["evaluation.parquet"])
        MlflowClient().log_artifacts(run_id, folder, in_run or None)
        for name, path in paths.items():
            artifact = KINDS[name](uri=get_artifact_uri(run_id, f"{prefix}{name}"))
            artifact._load(str(path))  # noqa: SLF001  (the one way to set the content, as MLflow does)
            artifacts[f"{prefix}{Path(name).stem}"] = artifact
    return artifacts


def table_of_means(result: Evaluation, logged: Mapping[str, str]) -> pandas.DataFrame:
    """Return one row per metric: its names, mean, standard error, and the numbers of queries."""
    import pandas as pd

    rows = [
        {
            "metric": metric,
            "name": logged[metric],
            "mean": mean,
            "standard_error": result.standard_error[metric],
            "n_queries": result.n_queries - result.n_undefined[metric],
            "n_undefined": result.n_undefined[metric],
        }
        for metric, mean in result.mean.items()
    ]
    return pd.DataFrame(rows)
