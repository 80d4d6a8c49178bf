"""Before the first number: the first result from arrays, by kind of query id, and the import."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.clock import side_by_side
from benchmarks.effort import Effort
from benchmarks.figures import About, Figure, Row, slower
from benchmarks.ours import OURS, evaluation, first_result
from benchmarks.shapes import ROOT, mslr, tiny_queries
from benchmarks.targets import TARGETS


def first(effort: Effort) -> Iterator[Row]:
    """Measure `evaluate` from raw arrays: kinds of ids against sizes, and short queries against prepared ones."""
    data = mslr(effort.queries)
    text = np.char.add("query-", data.qid.astype(str))
    order = np.random.default_rng(0).permutation(data.n_rows)
    shuffled = data.replace(y=data.y[order], scores=data.scores[order])
    kinds = {
        "qid, whole numbers": first_result(data, qid=data.qid),
        "qid, whole numbers, rows shuffled": first_result(shuffled, qid=data.qid[order]),
        "qid, text": first_result(data, qid=text),
        "qid, text as Python objects": first_result(data, qid=text.astype(object)),
    }
    times = side_by_side({"sizes": first_result(data)} | kinds, effort.slow)
    for name in kinds:
        yield slower(About("first", f"first result, {name}", data.shape, data.n_rows, 1), times, name, "sizes")
    short = tiny_queries(5 * (effort.many_queries or effort.queries))
    contenders = {OURS: first_result(short, qid=short.qid), "prepared": evaluation(short)}
    times = side_by_side(contenders, effort.slow)
    about = About("first", "first result, qid, whole numbers", short.shape, short.n_rows, 1)
    yield slower(about, times, OURS, "prepared", TARGETS["first result"])


def imports(effort: Effort) -> Iterator[Row]:
    """Measure a new Python that imports ltr_metrics against one that imports NumPy."""
    times = side_by_side({"numpy": _python("import numpy"), OURS: _python("import ltr_metrics")}, effort.slow)
    ours, numpy = (Figure.from_values(name, times[name]) for name in (OURS, "numpy"))
    beyond = Figure.from_values("ours - other", times[OURS] - times["numpy"])
    yield Row("import", "import, a new Python each", "", 0, None, ours, numpy, beyond, TARGETS["import"])


def _python(code: str) -> Callable[[], object]:
    # Otherwise each start would compile the modules again, which are not in site-packages.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
