"""``evaluate --engine``: tables that Dask or Spark reads, on all CPUs of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ltr_metrics._engine.threads import usable_processors
from ltr_metrics.cli.inputs import ModelSpecs
from ltr_metrics.cli.sources import COUNT_SEGMENTS
from ltr_metrics.errors import LtrError, LtrValueError, import_extra, naming
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io.compressed import STANDARD_INPUT, without_compression
from ltr_metrics.io.table import TEXT_SEPARATORS, kind_of
from ltr_metrics.metrics.requests import OneMetric, Request, resolve

READABLE = (".parquet", *TEXT_SEPARATORS)

Results = dict[str, Evaluation]


def evaluate_with_engine(
    engine: str,
    arguments: Mapping[str, Any],
    specs: ModelSpecs,
    metrics: list[OneMetric] | None,
    policy: dict[str, Any],
    *,
    shuffle: bool,
) -> AbstractContextManager[Results]:
    """Evaluate tables with Dask or Spark; the results can be read while the context is open."""
    _check_inputs(engine, arguments, specs)
    columns = {name: arguments[name] for name in ("qid", "label", "docid", "weight", "by")}
    options = {**columns, "metrics": metrics, **policy}
    numbers = _numeric_columns(columns, specs.scores.values(), resolve(metrics, **policy))
    if engine == "dask":
        return _evaluate_with_dask(arguments["data"], specs.scores, numbers, options | {"shuffle": shuffle})
    return _evaluate_with_spark(arguments["data"], specs.scores, numbers, options)


def _check_inputs(engine: str, arguments: Mapping[str, Any], specs: ModelSpecs) -> None:
    """Refuse what the engines do not read."""
    files: Sequence[Path] = arguments["data"]
    if specs.models:
        raise LtrValueError(
            f"--engine {engine} evaluates scores, not models. Score the rows with {engine.capitalize()} first "
            f"(xgboost.{engine}, or the predict method of the model in each partition), write the scores as a column, "
            "and name the column with --scores."
        )
    if specs.runs or arguments["qrels"] or arguments["topics"]:
        raise LtrValueError(f"--engine {engine} needs tables. TREC files are read whole: leave out --engine.")
    if arguments["n_features"] is not None or arguments["zero_based"]:
        raise LtrValueError(
            f"--n-features and --zero-based are for LETOR files, which --engine {engine} does not read."
        )
    if not files:
        raise LtrValueError(f"Name the DATA: tables ({', '.join(READABLE)}).")
    if STANDARD_INPUT in files:
        raise LtrValueError(
            f"--engine {engine} reads files, not standard input (-). Write the data to a file first, or leave out "
            "--engine."
        )
    unreadable = next((path for path in files if kind_of(path) not in READABLE), None)
    if unreadable is not None:
        raise LtrValueError(
            f"{unreadable}: --engine {engine} reads {', '.join(READABLE[:-1])} and {READABLE[-1]}. Write a table of "
            "query ids, grades and scores, or leave out --engine."
        )
    if len({kind_of(path) for path in files}) > 1:
        raise LtrValueError(f"--engine {engine} reads files of one kind at a time. Use the same format for all files.")
    if not specs.scores:
        raise LtrValueError("Name at least one column of scores: --scores.")
    if set(arguments["by"]) & set(COUNT_SEGMENTS):
        raise LtrValueError(f"--engine takes segments from columns alone, not --segment {' or '.join(COUNT_SEGMENTS)}.")


def _numeric_columns(columns: dict[str, Any], scores: Iterable[str], request: Request) -> list[str]:
    """Return the columns that are read as numbers; the other columns of a CSV file stay text."""
    text = {columns["qid"], columns["docid"], *columns["by"]}
    numeric = (columns["label"], columns["weight"], *scores, *request.needed_columns)
    return [name for name in dict.fromkeys(numeric) if name is not None and name not in text]


# -- Dask ------------------------------------------------------------------------------------------


@contextmanager
def _evaluate_with_dask(
    files: Sequence[Path], scores: dict[str, str], numbers: list[str], options: dict[str, Any]
) -> Iterator[Results]:
    """Evaluate with threads, which share memory; NumPy releases the interpreter lock."""
    dask, dd = import_extra("dask", "dask"), import_extra("dask.dataframe", "dask")
    progress_bar = import_extra("dask.diagnostics", "dask").ProgressBar
    from ltr_metrics.dask import evaluate_scores

    progress: AbstractContextManager[Any] = (
        progress_bar(minimum=1, out=sys.stderr) if sys.stderr.isatty() else nullcontext()
    )
    threads = dask.config.set(scheduler="threads", num_workers=usable_processors())
    with _engine_errors("Dask", files, (ValueError, TypeError, OSError)), threads, progress:
        paths = [str(path) for path in files]
        if kind_of(files[0]) == ".parquet":
            frame = dd.read_parquet(paths, index=False)
        else:
            frame = dd.read_csv(paths, **_csv_options(files, numbers, options))
        yield dict(evaluate_scores(frame, scores, **options))


def _csv_options(files: Sequence[Path], numbers: list[str], options: dict[str, Any]) -> dict[str, Any]:
    text = [name for name in (options["qid"], options["docid"], *options["by"]) if name is not None]
    is_compressed = any(without_compression(path) != path for path in files)
    return {
        "sep": TEXT_SEPARATORS[kind_of(files[0])],
        "dtype": dict.fromkeys(text, "string[pyarrow]") | dict.fromkeys(numbers, "float64"),
        "keep_default_na": False,  # NA is a valid id
        "na_values": [""],
        **({"blocksize": None} if is_compressed else {}),
    }


# -- Spark -----------------------------------------------------------------------------------------


@contextmanager
def _evaluate_with_spark(
    files: Sequence[Path], scores: dict[str, str], numbers: list[str], options: dict[str, Any]
) -> Iterator[Results]:
    spark_error = import_extra("pyspark.errors", "spark").PySparkException
    functions = import_extra("pyspark.sql.functions", "spark")
    from ltr_metrics.spark import evaluate

    paths = [str(path.resolve()) for path in files]
    with _engine_errors("Spark", files, (spark_error,)), _session() as session:
        if kind_of(files[0]) == ".parquet":
            frame = session.read.parquet(*paths)
        else:
            frame = session.read.csv(paths, sep=TEXT_SEPARATORS[kind_of(files[0])], header=True)
            present = [name for name in numbers if name in frame.columns]
            frame = frame.withColumns({name: functions.col(f"`{name}`").cast("double") for name in present})
        results = {}
        for name, column in scores.items():
            with naming(name):
                results[name] = evaluate(frame, score=column, **options)
        yield dict(results)


@contextmanager
def _session() -> Iterator[Any]:
    """Yield a session on the CPUs of this machine, and stop it at the end."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{usable_processors()}]").appName("ltr-metrics")
    for key, value in (
        # Most of the default 200 partitions would be empty.
        ("spark.sql.shuffle.partitions", str(4 * usable_processors())),
        ("spark.ui.enabled", "false"),
        ("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower()),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.driver.host", "127.0.0.1"),
    ):
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # errors are raised instead
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _engine_errors(engine: str, files: Sequence[Path], kinds: tuple[type[Exception], ...]) -> Iterator[None]:
    """Replace the stack trace of an engine by a message that names the files."""
    try:
        yield
    except (LtrError, FileNotFoundError, PermissionError):
        raise
    except kinds as error:
        rest = "" if len(files) == 1 else f" and {len(files) - 1} more"
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise LtrValueError(f"{engine} cannot evaluate {files[0]}{rest}: {' '.join(lines[:4])}") from error
