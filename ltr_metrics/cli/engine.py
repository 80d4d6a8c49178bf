"""``evaluate --engine``: tables that Dask or Spark reads, on all processors of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ltr_metrics._engine.threads import usable_processors
from ltr_metrics.cli.inputs import Named
from ltr_metrics.cli.sources import BY_COUNTS
from ltr_metrics.errors import LtrError, LtrValueError, MissingExtraError, naming
from ltr_metrics.evaluation.result import Evaluation
from ltr_metrics.io.compressed import STANDARD_INPUT, without_compression
from ltr_metrics.io.table import TEXT_SEPARATORS, kind_of
from ltr_metrics.metrics.requests import Request, resolve
from ltr_metrics.metrics.shown import MeanOf

READ = (".parquet", *TEXT_SEPARATORS)

Results = dict[str, Evaluation]


def evaluated_by(
    engine: str,
    given: dict[str, Any],
    items: Named,
    metrics: list[str] | None,
    policy: dict[str, Any],
    *,
    shuffle: bool,
) -> AbstractContextManager[Results]:
    """Evaluate tables by Dask or Spark; the results can be asked as long as the context is open."""
    _refuse_other_data(engine, given, items)
    files: tuple[Path, ...] = given.pop("data")
    columns = {name: given.pop(name) for name in ("qid", "label", "docid", "weight", "by")}
    options = {**columns, "metrics": metrics, **policy}
    numbers = _numbers(columns, items.scores.values(), resolve(metrics, **policy))
    if engine == "dask":
        return _by_dask(files, items.scores, numbers, options | {"shuffle": shuffle})
    return _by_spark(files, items.scores, numbers, options)


def _refuse_other_data(engine: str, given: dict[str, Any], items: Named) -> None:
    if items.models:
        raise LtrValueError(
            f"--engine {engine} evaluates scores, not models: score the rows by {engine.capitalize()} first (xgboost.{engine}, or the "
            "model's predict in each partition), write them as a column, and name it: --scores."
        )
    if items.runs or given["qrels"] or given["topics"]:
        raise LtrValueError(f"--engine {engine} is for tables; TREC files are read whole, without it.")
    if given["n_features"] is not None or given["zero_based"]:
        raise LtrValueError(
            f"--n-features and --zero-based are for LETOR files, which --engine {engine} does not read."
        )
    if not given["data"]:
        raise LtrValueError(f"Name the DATA: tables ({', '.join(READ)}).")
    if STANDARD_INPUT in given["data"]:
        raise LtrValueError(
            f"--engine {engine} reads files, and not standard input (-). Write it to a file first, or leave the engine out."
        )
    other = next((path for path in given["data"] if kind_of(path) not in READ), None)
    if other is not None:
        raise LtrValueError(
            f"{other}: --engine {engine} reads {', '.join(READ[:-1])} and {READ[-1]}. Write a table of query ids, grades and scores, or leave "
            "the engine out."
        )
    if len({kind_of(path) for path in given["data"]}) > 1:
        raise LtrValueError(f"--engine {engine} reads files of one kind at a time.")
    if not items.scores:
        raise LtrValueError("Name at least one column of scores: --scores.")
    if set(given["by"]) & set(BY_COUNTS):
        raise LtrValueError(f"--engine takes segments from columns alone, not --segment {' or '.join(BY_COUNTS)}.")


def _numbers(columns: dict[str, Any], scores: Any, request: Request) -> list[str]:
    """Return the columns that are numbers; in CSV the others that are needed stay text."""
    further = [metric.column for metric in request.metrics if isinstance(metric, MeanOf)]
    text = {columns["qid"], columns["docid"], *columns["by"]}
    named = (columns["label"], columns["weight"], *scores, *further)
    return [name for name in dict.fromkeys(named) if name is not None and name not in text]


# -- Dask -------------------------------------------------------------------------------------------------------------------


@contextmanager
def _by_dask(
    files: Sequence[Path], scores: dict[str, str], numbers: list[str], options: dict[str, Any]
) -> Iterator[Results]:
    """Evaluate by threads of this process: they share memory, and NumPy leaves the interpreter to others."""
    try:
        import dask
        import dask.dataframe as dd
        from dask.diagnostics import ProgressBar
    except ImportError as error:
        raise MissingExtraError("dask", "dask") from error
    from ltr_metrics.dask import evaluate_scores

    shown: AbstractContextManager[Any] = (
        ProgressBar(minimum=1, out=sys.stderr) if sys.stderr.isatty() else nullcontext()
    )
    threads = dask.config.set(scheduler="threads", num_workers=usable_processors())
    with _faults_of("Dask", files, (ValueError, TypeError, OSError)), threads, shown:
        paths = [str(path) for path in files]
        if kind_of(files[0]) == ".parquet":
            frame = dd.read_parquet(paths, index=False)
        else:
            frame = dd.read_csv(paths, **_how_to_read_text(files, numbers, options))
        yield dict(evaluate_scores(frame, scores, **options))


def _how_to_read_text(files: Sequence[Path], numbers: list[str], options: dict[str, Any]) -> dict[str, Any]:
    text = [name for name in (options["qid"], options["docid"], *options["by"]) if name is not None]
    is_compressed = any(without_compression(path) != path for path in files)
    return {
        "sep": TEXT_SEPARATORS[kind_of(files[0])],
        "dtype": dict.fromkeys(text, "string[pyarrow]") | dict.fromkeys(numbers, "float64"),
        "keep_default_na": False,  # the id NA is one
        "na_values": [""],
        **({"blocksize": None} if is_compressed else {}),
    }


# -- Spark ------------------------------------------------------------------------------------------------------------------


@contextmanager
def _by_spark(
    files: Sequence[Path], scores: dict[str, str], numbers: list[str], options: dict[str, Any]
) -> Iterator[Results]:
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions
    except ImportError as error:
        raise MissingExtraError("pyspark", "spark") from error
    from ltr_metrics.spark import evaluate

    paths = [str(path.resolve()) for path in files]
    with _faults_of("Spark", files, (PySparkException,)), _session() as session:
        if kind_of(files[0]) == ".parquet":
            frame = session.read.parquet(*paths)
        else:
            frame = session.read.csv(paths, sep=TEXT_SEPARATORS[kind_of(files[0])], header=True)
            there = [name for name in numbers if name in frame.columns]
            frame = frame.withColumns({name: functions.col(f"`{name}`").cast("double") for name in there})
        results = {}
        for name, column in scores.items():
            with naming(name):
                results[name] = evaluate(frame, score=column, **options)
        yield dict(results)


@contextmanager
def _session() -> Iterator[Any]:
    """Make a session on the processors of this machine, and stop it."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{usable_processors()}]").appName("ltr-metrics")
    for key, value in (
        ("spark.sql.shuffle.partitions", str(4 * usable_processors())),  # of 200, most would be empty
        ("spark.ui.enabled", "false"),
        ("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower()),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.driver.host", "127.0.0.1"),
    ):
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # what goes wrong is raised
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _faults_of(engine: str, files: Sequence[Path], kinds: tuple[type[Exception], ...]) -> Iterator[None]:
    """Say of what an engine cannot read or do, without its stack, which files it was about."""
    try:
        yield
    except (LtrError, FileNotFoundError, PermissionError):
        raise
    except kinds as error:
        more = "" if len(files) == 1 else f" and {len(files) - 1} more"
        raise LtrValueError(f"{engine} cannot evaluate {files[0]}{more}: {_first_lines(error)}") from error


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:4])
