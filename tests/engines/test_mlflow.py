"""MLflow: what its evaluation of a ranker logs are the means of `evaluate`, under names that MLflow accepts."""

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

pd = pytest.importorskip("pandas", reason="pandas is not installed")

X, Y, QID = ltr.make_ranking(n_queries=12, random_state=0)
FEATURES = [f"f{i}" for i in range(X.shape[1])]
SCORE = X[:, 0] + X[:, 1]
FRAME = pd.DataFrame(X, columns=FEATURES).assign(qid=QID, label=Y, weight=1.0 + QID % 3, device=QID % 2)
COLUMNS = FRAME.drop(columns="label")


def dataset(columns: Any = COLUMNS, labels: Any = Y, predictions: Any = SCORE) -> Any:
    """Return what the evaluator reads of MLflow's data set."""
    return SimpleNamespace(
        features_data=columns, labels_data=labels, predictions_data=predictions, name="d", digest="0"
    )


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the metrics that an MLflow without a store is given."""
    metrics: list[Any] = []
    fake = SimpleNamespace(
        entities=SimpleNamespace(Metric=lambda *values, **links: (*values, links)),
        models=SimpleNamespace(EvaluationResult=SimpleNamespace),
        MlflowClient=lambda: SimpleNamespace(log_batch=lambda run_id, metrics: logged_to(run_id, metrics)),
    )

    def logged_to(run_id: str, of_run: Any) -> None:
        assert run_id == "run"
        metrics.extend(of_run)

    monkeypatch.setattr("ltr_metrics.mlflow.import_extra", lambda module, extra: fake)
    return metrics


def evaluated(model: Any = None, predictions: str | None = None, data: Any = None, **config: Any) -> dict[str, float]:
    data = dataset() if data is None else data
    result = RankerEvaluator().evaluate(
        dataset=data, run_id="run", evaluator_config=config, model=model, predictions=predictions, of_another_version=1
    )
    assert (result.artifacts, result.run_id) == ({}, "run")
    means: dict[str, float] = result.metrics
    return means


def test_it_evaluates_rankers_only() -> None:
    assert RankerEvaluator.can_evaluate(model_type="ranker", evaluator_config={}, of_another_version=1)
    for other in ("regressor", "classifier", None):
        assert not RankerEvaluator.can_evaluate(model_type=other, evaluator_config={})


@pytest.mark.parametrize(
    "config",
    [
        {"metrics": ["ndcg@10", "map(rel=2)@10"]},
        {"metrics": "map", "convention": "letor", "sample_weight": "weight"},
        {"metrics": ["mean_of(weight)@3", "mrr"], "by": "device", "no_relevant": 0},
        {"metrics": (name for name in ["ap", "NDCG@3"]), "ties": "docid", "docid": "f0", "cluster": "device"},
        {},
    ],
)
@pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")
def test_the_means_and_nothing_else(logged: list[Any], config: dict[str, Any]) -> None:
    config = {name: list(one) if hasattr(one, "__next__") else one for name, one in config.items()}
    means = evaluated(**config)
    expected = ltr.evaluate(data=FRAME.assign(score=SCORE), **config)
    slugs = [ltr.metric(name).slug for name in expected]
    assert means == dict(zip(slugs, expected.values(), strict=True))
    assert [(name, value, step) for name, value, _, step, _ in logged] == [
        (name, one, 0) for name, one in means.items()
    ]
    assert logged[0][-1] == {"model_id": None, "dataset_name": "d", "dataset_digest": "0", "run_id": "run"}


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


@pytest.mark.usefixtures("logged")
@pytest.mark.parametrize(
    ("inputs", "config", "columns"),
    [
        (None, {}, [*FEATURES, "weight", "device"]),
        (None, {"metrics": ["map", "sum_of(weight)"], "by": ["device"]}, FEATURES),
        (None, {"sample_weight": "weight", "cluster": "device"}, FEATURES),
        (["f1", "qid"], {}, ["f1", "qid"]),
    ],
)
def test_the_columns_that_the_model_gets(inputs: Any, config: dict[str, Any], columns: list[str]) -> None:
    model = Spy(inputs=inputs)
    evaluated(model, **{"metrics": "map"} | config)
    assert model.columns == columns


@pytest.mark.usefixtures("logged")
@pytest.mark.parametrize(
    ("output", "name"),
    [
        (list(SCORE), None),
        (SCORE[:, np.newaxis], None),
        (pd.Series(SCORE), None),
        (pd.DataFrame({"any": SCORE}), None),
        ({"other": X[:, 0], "s": SCORE}, "s"),
        (pd.DataFrame({"other": X[:, 0], "s": SCORE}), "s"),
    ],
)
def test_the_forms_of_predictions(output: Any, name: str | None) -> None:
    assert evaluated(Spy(output), name, metrics="map") == evaluated(metrics="map")


@pytest.mark.usefixtures("logged")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "map"}, r"no option 'metric'.*Did you mean 'metrics'.*The options are metrics, ties"),
        ({"qid": "Qid"}, "data has no column 'Qid'. Did you mean 'qid'"),
        ({"metrics": "sum_of(wait)@3"}, "data has no column 'wait'. Did you mean 'weight'"),
        ({"data": dataset(labels=None)}, "data must be a pandas data frame .*targets='label'"),
        ({"data": dataset(predictions=None)}, "There are no scores.*predictions='score'"),
        ({"data": dataset(X)}, "data must be a pandas data frame"),
        ({"data": dataset(labels=Y * 0), "metrics": "map"}, "undefined for all 12 queries"),
        ({"model": Spy(X), "metrics": "map"}, "must be (one column|1-D|one-dimensional|one score)"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ltr.LtrError, match=message):
        evaluated(**arguments)


def test_what_it_does_not_take() -> None:
    with pytest.raises(ltr.LtrTypeError, match=r"does not take extra_metrics.*mlflow.log_artifact"):
        RankerEvaluator().evaluate(dataset=dataset(), run_id="run", extra_metrics=[len])


def test_the_entry_point_is_the_evaluator() -> None:
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]["mlflow.model_evaluator"].items()
    assert [EntryPoint(name, path, "").load() for name, path in points] == [RankerEvaluator]


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


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # of MLflow and SQLAlchemy
def test_a_column_of_scores_and_a_model(mlflow: Any, tmp_path: Path) -> None:
    metrics = ["ndcg@10", "map(rel=2)@10"]
    expected = dict(ltr.evaluate(Y, SCORE, qid=QID, metrics=metrics))
    means = dict(zip(["ndcg_exp_at_10", "map-rel-2_at_10"], expected.values(), strict=True))
    options = {"targets": "label", "model_type": "ranker", "evaluator_config": {"metrics": metrics}}

    def model(X: Any) -> Any:
        assert list(X.columns) == FEATURES
        return X["f0"] + X["f1"]

    data = FRAME.assign(score=SCORE).drop(columns=FEATURES)
    for arguments in (
        {"data": data, "predictions": "score"},
        {"model": model, "data": FRAME[[*FEATURES, "qid", "label"]]},
    ):
        with mlflow.start_run() as run:
            result = mlflow.models.evaluate(**arguments, **options)
            report = tmp_path / "report.html"
            report.write_text("<html>")
            mlflow.log_artifact(str(report))  # as the guide does
        assert result.metrics == mlflow.MlflowClient().get_run(run.info.run_id).data.metrics == means
        assert [one.path for one in mlflow.MlflowClient().list_artifacts(run.info.run_id)] == ["report.html"]
