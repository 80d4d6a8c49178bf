"""MLflow: what its evaluation of a ranker logs is what `evaluate` returns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics.mlflow import RankerEvaluator
from ltr_metrics.mlflow.data import Settings, scores_of

pd = pytest.importorskip("pandas", reason="pandas is not installed")

X, Y, QID = ltr.make_ranking(n_queries=12, random_state=0)
FEATURES = [f"f{i}" for i in range(X.shape[1])]
SCORE = X[:, 0] + X[:, 1]
FRAME = pd.DataFrame(X, columns=FEATURES).assign(
    qid=QID, label=Y, weight=1.0 + QID % 3, device=np.where(QID % 2, "phone", "=desk")
)
COLUMNS = FRAME.drop(columns="label")
METRICS = ["ndcg@10", "map(rel=2)@10"]
FILES = ["evaluation.parquet", "means.csv", "per_query.csv", "report.html"]


def dataset(columns: Any = COLUMNS, labels: Any = Y, predictions: Any = SCORE) -> Any:
    """Return what the evaluator reads of MLflow's data set."""
    return SimpleNamespace(
        features_data=columns, labels_data=labels, predictions_data=predictions, predictions_name="score", name="d"
    )


# -- settings ---------------------------------------------------------------------------------------------------------


def test_it_evaluates_rankers_alone() -> None:
    assert RankerEvaluator.can_evaluate(model_type="ranker", evaluator_config={}, of_another_version=1)
    for other in ("regressor", "classifier", None):
        assert not RankerEvaluator.can_evaluate(model_type=other, evaluator_config={})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "map"}, r"no setting 'metric'.*Did you mean 'metrics'.*The settings are qid, metrics, ties"),
        ({"qid": "Qid"}, r"qid names the column 'Qid', which the data do not have.*Did you mean 'qid'"),
        ({"metrics": "sum_of(wait)@3"}, r"metrics names the column 'wait'.*Did you mean 'weight'"),
        ({"features": ["f0", "g"]}, "features names the column 'g'"),
        ({"dataset": dataset(labels=None)}, "The data have no grades.*targets='label'"),
        ({"dataset": dataset(predictions=None)}, "nothing to evaluate.*predictions='score'"),
        ({"dataset": dataset(X)}, "data must be a DataFrame, whose columns the settings name. Got a ndarray"),
        ({"extra_metrics": [len]}, "does not take extra_metrics"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    of_mlflow = {"dataset", "extra_metrics", "custom_artifacts"}
    arguments = arguments if arguments.keys() <= of_mlflow else {"evaluator_config": arguments}
    with pytest.raises(ltr.LtrError, match=message):
        RankerEvaluator().evaluate(**{"dataset": dataset(), "run_id": "none"} | arguments)


def test_settings_name_columns() -> None:
    common: dict[str, Any] = {"ties": "docid", "metrics": ["map", "sum_of(weight)@3"]}
    settings = Settings(sample_weight="weight", by="device", docid="f0", **common)
    result = settings.queries(dataset()).evaluate(SCORE, **common)
    columns: dict[str, Any] = {"sample_weight": FRAME["weight"], "by": FRAME[["device"]], "columns": FRAME[["weight"]]}
    expected = ltr.evaluate(Y, SCORE, qid=QID, docid=X[:, 0], **columns, **common)
    assert dict(result) == dict(expected)
    assert dict(result.by["device"]["=desk"]) == dict(expected.by["device"]["=desk"])


# -- scores -----------------------------------------------------------------------------------------------------------


class Spy:
    """A model that returns what it is given, and records its columns."""

    def __init__(self, output: Any = SCORE, inputs: Any = None) -> None:
        self.output = output
        schema = SimpleNamespace(has_input_names=lambda: True, input_names=lambda: inputs)
        if inputs is not None:
            self.metadata = SimpleNamespace(get_input_schema=lambda: schema)

    def predict(self, X: Any) -> Any:
        self.columns = list(X.columns)
        return self.output


@pytest.mark.parametrize(
    ("model", "config", "columns"),
    [
        (Spy(), {}, [*FEATURES, "weight", "device"]),
        (Spy(), {"metrics": "sum_of(weight)", "by": "device"}, FEATURES),
        (Spy(inputs=["f1", "qid"]), {}, ["f1", "qid"]),
        (Spy(inputs=["f1", "qid"]), {"features": ["f2", "f0"]}, ["f2", "f0"]),
    ],
)
def test_the_columns_that_the_model_gets(model: Spy, config: dict[str, Any], columns: list[str]) -> None:
    scores_of(dataset(), model, None, Settings(**config))
    assert model.columns == columns


@pytest.mark.parametrize(
    ("output", "name"),
    [
        (list(SCORE), None),
        (SCORE[:, np.newaxis], None),
        (pd.Series(SCORE), None),
        (pd.DataFrame({"any": SCORE}), None),
        ({"other": X[:, 0], "s": SCORE}, "s"),
    ],
)
def test_the_forms_of_predictions(output: Any, name: str | None) -> None:
    assert np.array_equal(scores_of(dataset(), Spy(output), name, Settings()), SCORE)


@pytest.mark.parametrize(
    ("output", "name", "message"),
    [
        (pd.DataFrame({"a": SCORE, "b": SCORE}), None, "predicts the columns a, b.*by predictions=.*Got None"),
        (X, None, r"needs one score per row.*shape \(\d+, 20\)"),
    ],
)
def test_wrong_predictions(output: Any, name: str | None, message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        scores_of(dataset(), Spy(output), name, Settings())


# -- MLflow itself ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """MLflow with a store of its own, to which our evaluator is known."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as environment:
        warnings.simplefilter("ignore")  # MLflow's own
        environment.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        environment.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes seconds to create
        mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
        registry = pytest.importorskip(
            "mlflow.models.evaluation.evaluator_registry", reason="this MLflow cannot evaluate models"
        )._model_evaluation_registry
        registry.register("ltr_metrics", RankerEvaluator)  # as the entry point does
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(tmp_path_factory.mktemp("mlflow").as_uri())
        mlflow.set_experiment("rankers")
        yield mlflow
        mlflow.set_tracking_uri(before)


def artifacts_of(mlflow: Any, run_id: str, folder: str | None = None) -> list[str]:
    return sorted(artifact.path for artifact in mlflow.MlflowClient().list_artifacts(run_id, folder))


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # of MLflow and SQLAlchemy
def test_a_column_of_scores(mlflow: Any, tmp_path: Path) -> None:
    evaluate = mlflow.models.evaluate
    expected = ltr.evaluate(Y, SCORE, qid=QID, metrics=METRICS, by={"device": FRAME["device"]})
    data, config = FRAME.assign(score=SCORE).drop(columns=FEATURES), {"metrics": METRICS, "by": "device"}
    with mlflow.start_run() as run:
        result = evaluate(data=data, targets="label", predictions="score", model_type="ranker", evaluator_config=config)
    means = dict(zip(["ndcg_exp_at_10", "map-rel-2_at_10"], dict(expected).values(), strict=True))
    skills = {f"{name}_skill": skill for name, skill in zip(means, expected.skill.values(), strict=True)}
    assert result.metrics == mlflow.MlflowClient().get_run(run.info.run_id).data.metrics == means | skills
    assert artifacts_of(mlflow, run.info.run_id) == FILES
    table = result.artifacts["means"].content.set_index("name")
    as_read = {"rtol": 1e-14, "atol": 0}  # MLflow reads CSV by pandas, which loses the last digits before 3.0
    np.testing.assert_allclose(table["mean"][[*means]], [*means.values()], **as_read)
    np.testing.assert_allclose(table["standard_error"][[*means]], [*expected.standard_error.values()], **as_read)
    np.testing.assert_allclose(table["chance"][[*means]], [*expected.chance.values()], **as_read)
    per_query = result.artifacts["per_query"].content
    np.testing.assert_allclose(per_query["ndcg_exp@10"], expected.per_query["ndcg@10"], **as_read)
    assert set(per_query["device"]) == {"phone", "'=desk"}  # no formula for a spreadsheet
    assert "<h1" in result.artifacts["report"].content
    saved = ltr.load_result(mlflow.artifacts.download_artifacts(result.artifacts["evaluation"].uri))
    assert dict(ltr.compare({"a": saved, "b": expected}).to_pandas()["difference"]) == {0: 0, 1: 0}
    result.save(str(tmp_path))
    again = mlflow.models.EvaluationResult.load(str(tmp_path))
    assert dict(again.artifacts["evaluation"].content) == dict(expected)


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_a_model(mlflow: Any) -> None:
    expected = ltr.evaluate(Y, SCORE, qid=QID, metrics="map", sample_weight=FRAME["weight"], convention="letor")

    def model(X: Any) -> Any:
        assert list(X.columns) == FEATURES
        return X["f0"] + X["f1"]

    config = {"metrics": "map", "sample_weight": "weight", "convention": "letor", "metric_prefix": "test/new_"}
    options = {"targets": "label", "model_type": "ranker", "evaluators": "ltr_metrics", "evaluator_config": config}
    data = FRAME.drop(columns="device")
    with mlflow.start_run() as run:
        for _ in range(2):  # the second evaluation replaces the files of the first
            result = mlflow.models.evaluate(model, data, **options)
    name = "test/new_map-denominator-relevant"
    assert result.metrics == {name: expected["map"], f"{name}_skill": expected.skill["map"]}
    assert artifacts_of(mlflow, run.info.run_id, "test") == [f"test/new_{name}" for name in FILES]
    assert set(result.artifacts) == {f"test/new_{Path(name).stem}" for name in FILES}
    report = mlflow.artifacts.download_artifacts(result.artifacts["test/new_report"].uri)
    assert Path(report).read_text(encoding="utf-8") == result.artifacts["test/new_report"].content
    config["convention"] = None  # under that of LETOR, queries without a relevant document are 0
    with pytest.raises(ltr.LtrValueError, match="undefined for all 12 queries"):
        mlflow.models.evaluate(model, data.assign(label=0), **options)


def test_the_entry_point_is_the_evaluator() -> None:
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]["mlflow.model_evaluator"].items()
    assert [EntryPoint(name, path, "").load() for name, path in points] == [RankerEvaluator]
