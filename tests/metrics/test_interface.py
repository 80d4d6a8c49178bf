"""What crosses to the compiled core: the structs that `interface.hpp` declares, and arrays of the right kind and shape."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ltr_metrics as ltr
from ltr_metrics._ranks import native
from ltr_metrics.metrics import ideal_sums

SOURCE = Path(native.__file__).with_name("interface.hpp")
KINDS = {"const double*": "f8", "const int64_t*": "i8", "const int32_t*": "i4"}


@pytest.mark.skipif(not SOURCE.exists(), reason="a wheel has no source of the compiled core")
@pytest.mark.parametrize(("name", "struct"), [("Documents", native.Documents), ("Declaration", native.Declared)])
def test_the_fields_are_those_of_the_source(name: str, struct: type[native.Struct]) -> None:
    body = re.search(rf"struct {name} \{{(.*?)\n\}};", SOURCE.read_text(encoding="utf-8"), re.DOTALL)
    assert body
    declared = re.findall(r"^ *(\w[\w ]*\*?) (\w+);", re.sub(r"//.*", "", body[1]), re.MULTILINE)
    assert [(field, getattr(struct, field).offset) for _, field in declared] == [
        (f, 8 * i) for i, (_, f) in enumerate(declared)
    ]
    assert {field: KINDS[kind] for kind, field in declared if kind.endswith("*")} == struct.KINDS


def test_all_fields_are_given() -> None:
    with pytest.raises(TypeError, match="Declaration has the fields by_grade, by_query, by_rank"):
        native.Declared(np.ones(1, np.intp), kind=0, scale=0)


def test_a_struct_with_other_offsets_is_refused() -> None:
    fields = {"n": native.Name(0, None), "m": native.Name(4, None)}
    with pytest.raises(ImportError, match="not numbers and pointers of 64 bits: .*'m': Name.number=4"):
        native.struct_of("Other", fields)


def test_addresses_are_taken_at_one_place() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in Path(ltr.__file__).parent.rglob("*.py")}
    assert {path.name for path, text in texts.items() if "import ctypes" in text} == {"native.py", "library.py"}
    taken = re.compile(r"\.ctypes\b|from_buffer|addressof|c_void_p|byref|native\.core\.")
    assert [path.name for path, text in texts.items() if taken.search(text)] == ["native.py"]


# -- arrays -----------------------------------------------------------------------------------------------------------


def unaligned(values: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"x" + values.tobytes(), values.dtype, offset=1)


LAYOUTS: dict[str, Any] = {
    "unaligned": unaligned,
    "every other one": lambda values: np.repeat(values, 2)[::2],
    "backwards": lambda values: values[::-1].copy()[::-1],
    "read-only": lambda values: np.frombuffer(values.tobytes(), values.dtype),
    "float32": lambda values: values.astype(np.float32),
    "other byte order": lambda values: values.astype(values.dtype.newbyteorder()),
    "a part of a record": lambda values: np.rec.fromarrays([np.zeros(len(values), "i1"), values])["f1"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_do_not_depend_on_the_layout_of_an_array(layout: str) -> None:
    change = LAYOUTS[layout]
    rng = np.random.default_rng(0)
    n, group = 600, [1, 99, 0 + 300, 200]
    y, score, margin = rng.integers(0, 4, n).astype(float), rng.integers(0, 40, n) / 4, rng.integers(0, 9, n) / 8
    metrics = ["ndcg@5", "map", "err", "q", "kendall", "sum_of(margin)@3"]
    usual = ltr.evaluate(y, score, group=group, columns={"margin": margin}, sample_weight=margin + 1, metrics=metrics)
    other = ltr.evaluate(
        change(y), change(score), group=group, columns={"margin": change(margin)}, sample_weight=change(margin + 1),
        metrics=metrics,
    )  # fmt: skip
    assert other.mean == usual.mean
    for name, values in usual.per_query.items():
        np.testing.assert_array_equal(other.per_query[name], values)


@pytest.mark.parametrize(
    ("by_grade", "by_rank", "limit", "got"),
    [
        (np.ones(3), np.ones((1, 2)), None, r"\(3,\) by grade and \(1, 2\) by rank\."),
        (np.ones(3), np.ones((2, 1)), None, r"\(3,\) by grade and \(2, 1\) by rank\."),
        (np.ones(3), np.ones((3, 2)), None, r"\(3,\) by grade and \(3, 2\) by rank\."),
        (np.ones(3), np.ones((2, 2, 2)), None, r"\(2, 2, 2\) by rank\."),
        (np.ones(2), 1.0, None, r"\(2,\) by grade and \(\) by rank\."),
        (np.ones(3), 1.0, np.ones(1, int), r"\(\) by rank, and \(1,\) of limits\."),
        (np.ones(3), np.ones((2, 2)), np.ones(3, int), r"\(2, 2\) by rank, and \(3,\) of limits\."),
    ],
)
def test_sums_of_the_ideal_ranking_refuse_arrays_of_other_queries(
    by_grade: Any, by_rank: Any, limit: Any, got: str
) -> None:
    queries = ltr.Queries([1, 0, 4, 1, 0], group=[3, 2])
    with pytest.raises(
        ltr.LtrValueError, match=rf"each of the 3 grades, and .* first 2 ranks, either for all of the 2 .*{got}"
    ):
        ideal_sums(queries, by_grade, [2, 1], by_rank, limit)


@pytest.mark.parametrize("cutoffs", [[], [0], [-1], [1.5]])
def test_sums_of_the_ideal_ranking_need_cutoffs(cutoffs: Any) -> None:
    with pytest.raises(ltr.LtrValueError, match="needs cutoffs, each of which must be a whole number"):
        ideal_sums(ltr.Queries([1, 0], group=[2]), [0.0, 1.0], cutoffs)


def test_what_a_call_does_not_fit_is_refused_before_it() -> None:
    queries, others = ltr.Queries([1, 0, 4], group=[3]), ltr.Queries([1, 0, 4, 1], group=[3, 1])
    declaration = native.Declaration("gains", [1], np.ones(4), None, np.ones(1), np.ones((1, 1)))
    sums = native.Sums([declaration.struct(queries, [0])])
    native.evaluate(queries, np.ones(3), "mean", sums, np.empty((1, 1)))
    for wrong in (np.empty((1, 2)), np.empty((1, 1), np.float32), np.empty((2, 2))[:1, ::2], np.ones((1, 1)).view()):
        wrong.setflags(write=wrong.base is None or wrong.shape != (1, 1))
        with pytest.raises(ltr.LtrValueError, match="values must be a contiguous array of float64 .* the shape"):
            native.evaluate(queries, np.ones(3), "mean", sums, wrong)
    for call in (
        lambda: native.evaluate(queries, np.ones(4), "mean", sums, np.empty((1, 1))),
        lambda: native.evaluate(others, np.ones(4), "mean", sums, np.empty((1, 2))),
        lambda: native.evaluate(queries, np.ones(3), "mean", sums, np.empty((0, 1))),
        lambda: declaration._replace(divisors=np.ones(1)).struct(queries, [0]),
        lambda: declaration._replace(by_grade=np.ones(3)).struct(queries, [0]),
        lambda: declaration._replace(cutoffs=[2]).struct(queries, [0]),  # of one value by rank
        lambda: declaration._replace(by_rank_start=np.array([1])).struct(queries, [0]),
        lambda: declaration._replace(by_grade=None, by_row=np.ones(3), kind="precisions").struct(queries, [0]),
        lambda: native.means(np.ones((2, 3)), np.ones(2)),
    ):
        with pytest.raises(ltr.LtrValueError, match="shape|values of other documents|by_rank must have|for each grade"):
            call()
    of_rows = native.Sums([declaration._replace(by_grade=None, by_row=np.ones(3)).struct(queries, [0])])
    with pytest.raises(ltr.LtrValueError, match="Without scores, each sum must have a value for each grade"):
        native.evaluate(queries, None, "ideal", of_rows, np.empty((1, 1)))
    with pytest.raises(TypeError, match="Cannot cast"):
        declaration._replace(by_rank_start=np.zeros(1)).struct(queries, [0])


@pytest.mark.parametrize("metric", ["ndcg", "kendall"])
def test_a_nan_that_another_thread_replaces_is_an_error(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    score = np.array([3.0, np.nan, 1.0])

    def replaced(call: Any) -> Any:
        def wrapper(*arguments: Any) -> int:
            failure = call(*arguments)
            if failure != native.SUCCESS:
                score[1] = 2.0
            return failure

        return wrapper

    for name in ("evaluate", "rank"):
        monkeypatch.setattr(native.core, name, replaced(getattr(native.core, name)))
    with pytest.raises(ltr.LtrValueError, match=r"score at row 1 \(query 0\) was NaN .* and is 2.0 now"):
        ltr.evaluate([1, 0, 4], score, group=[3], metrics=metric)
