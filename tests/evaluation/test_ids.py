"""Two ids are the same query if they have the same text, whichever file or type each of them comes from."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Done, in_process
from hypothesis import given
from hypothesis import strategies as st

import ltr_metrics as ltr
from ltr_metrics._engine.ids import id_text, id_texts, is_whole_number, order_of_ids, order_of_text, spelling_hint
from ltr_metrics.io import letor_batches, read_letor, read_table, read_trec, table_batches

METRICS = ["ndcg@5", "map"]
FEW = {"n_resamples": 300}

Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(in_process, capsys)


# -- the rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([7, np.int8(7), np.uint64(7), 7.0, np.float32(7), Decimal(7), Decimal("7.00"), Fraction(7), "7", b"7"], "7"),
        ([-7, "-7", -7.0, np.int16(-7)], "-7"),
        ([0, -0.0, "0"], "0"),
        ([10**30, str(10**30), Decimal(10**30)], str(10**30)),
        (["007"], "007"),
        (["7.0"], "7.0"),
        ([0.1, np.float32(0.1), np.float16(0.1), Decimal("0.1")], "0.1"),
        ([True, np.True_, "True"], "True"),
        ([np.str_("a"), "a", b"a", np.bytes_(b"a")], "a"),
        ([b"\xff"], "\\xff"),
        ([date(2026, 1, 2), datetime(2026, 1, 2), np.datetime64("2026-01-02", "ns"), "2026-01-02"], "2026-01-02"),
        ([("a", 7)], "('a', 7)"),
        ([float("inf"), np.float32("inf")], "inf"),
        ([1e300, Decimal("1e+300")], None),
        ([complex(7, 1)], "(7+1j)"),
    ],
)  # fmt: skip
def test_ids_of_one_text(ids: list[Any], text: str | None) -> None:
    for one in ids:
        assert text in (None, id_text(one)), repr(one)
        alone = np.array([one]) if not isinstance(one, tuple) else np.array([one, None], dtype=object)[:1]
        assert id_texts(alone) == [id_text(one)], repr(one)


def test_text_with_more_digits_than_python_converts_is_sorted_as_text() -> None:
    assert not is_whole_number("1" * 5000)
    assert order_of_ids(np.array(["2" * 5000, "7", "1" * 5000])).tolist() == [1, 2, 0]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=1))
def test_the_order_of_ids_does_not_depend_on_their_type(ids: list[int]) -> None:
    in_order = sorted(range(len(ids)), key=ids.__getitem__)
    for same in (np.array(ids), np.array(ids, dtype=object), np.array(list(map(str, ids)))):
        assert order_of_ids(same).tolist() == in_order


def test_whole_numbers_come_first_and_other_ids_as_text() -> None:
    ids = np.array(["q2", "10", "9", "007", "-3", "q10", "7.5", ""])
    assert ids[order_of_ids(ids)].tolist() == ["-3", "9", "10", "", "007", "7.5", "q10", "q2"]
    assert order_of_text("9") < order_of_text("10") < order_of_text("007")


# -- within one data set ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        ([7, "7"], "7 and '7'"),
        ([7.0, "7", 8.5], "7.0 and '7'"),
        ([b"a", "a"], "b'a' and 'a'"),
        ([("x", 1), "('x', 1)"], r"\('x', 1\) and \"\('x', 1\)\""),
        ([date(2026, 1, 2), "2026-01-02"], r"datetime.date\(2026, 1, 2\) and '2026-01-02'"),
    ],
)
def test_ids_that_only_a_conversion_would_make_one_are_refused_by_name(ids: list[Any], named: str) -> None:
    qid = np.array([*ids, None], dtype=object)[:-1]
    with pytest.raises(ltr.LtrValueError, match=f"qid has the ids {named}, which are one id .* Give all ids one type"):
        ltr.Queries(np.ones(len(ids)), qid=qid)
    weights = dict.fromkeys(ids, 1.0)
    with pytest.raises(ltr.LtrValueError, match=f"query_weight has the ids {named}"):
        ltr.Queries([1, 1], qid=["k", "7"], query_weight={"k": 1.0, **weights})
    result = ltr.evaluate(np.ones(len(ids)), np.ones(len(ids)), qid=np.arange(len(ids)), metrics="mrr")
    doubtful = result.with_values(result.per_query)
    object.__setattr__(doubtful, "qid", qid)
    with pytest.raises(ltr.LtrValueError, match=f"The result of 'b' has the ids {named}"):
        ltr.compare({"a": result, "b": doubtful})


# -- between data sets -----------------------------------------------------------------------------


class Data:
    """The same queries, with ids from 8 to 33, in files of every kind and in memory."""

    def __init__(self, folder: Path) -> None:
        X, self.y, qid = ltr.make_ranking(n_queries=26, documents=8, random_state=0)
        self.qid, self.old, self.new = qid + 7, X[:, 0], X[:, 0] + 0.5 * X[:, 1]
        self.folder = folder
        self.frame = pd.DataFrame({"qid": self.qid, "label": self.y, "old": self.old, "new": self.new})
        self._write_tables()
        self._write_letor()
        self._write_trec()

    def _write_tables(self) -> None:
        frame, text = self.frame, self.frame.assign(qid=self.frame["qid"].astype(str))
        frame.to_csv(self.folder / "data.csv", index=False)
        frame.to_csv(self.folder / "data.tsv", index=False, sep="\t")
        frame.to_parquet(self.folder / "whole.parquet")
        text.to_parquet(self.folder / "text.parquet")
        frame.astype({"qid": "float64"}).to_parquet(self.folder / "float.parquet")
        frame.astype({"qid": "Int32"}).to_parquet(self.folder / "nullable.parquet")
        frame.assign(qid=[Decimal(one) for one in self.qid.tolist()]).to_parquet(self.folder / "decimal.parquet")
        text.astype({"qid": "category"}).to_feather(self.folder / "category.feather")
        frame.to_feather(self.folder / "whole.arrow")

    def _write_letor(self) -> None:
        rows = zip(self.y.tolist(), self.qid.tolist(), self.old.tolist(), self.new.tolist(), strict=True)
        lines = [f"{y} qid:{one} 1:{old!r} 2:{new!r}\n" for y, one, old, new in rows]
        (self.folder / "data.txt").write_text("".join(lines))

    def _write_trec(self) -> None:
        rows = list(enumerate(zip(self.qid.tolist(), self.y.tolist(), strict=True)))
        (self.folder / "qrels").write_text("".join(f"{one} 0 D{i} {int(y)}\n" for i, (one, y) in rows))
        for name in ("old", "new"):
            scores = self.frame[name].tolist()
            (self.folder / f"{name}.run").write_text(
                "".join(f"{one} Q0 D{i} 0 {scores[i]!r} {name}\n" for i, (one, _) in rows)
            )

    def evaluate(self, kind: str, name: str, **options: Any) -> ltr.Evaluation:
        options = {"metrics": METRICS} | options
        if kind in IN_MEMORY:
            return ltr.evaluate(self.y, self.frame[name], qid=IN_MEMORY[kind](self.qid), **options)
        if kind == "data.txt":
            read = read_letor(self.folder / kind)
            return ltr.evaluate(read.y, read.X[:, int(name == "new")], qid=read.qid, **options)
        if kind == "TREC":
            run = read_trec(self.folder / "qrels", self.folder / f"{name}.run")
            return ltr.evaluate(**run, **options)
        if kind.startswith("batches of "):
            path = self.folder / kind.removeprefix("batches of ")
            score = str(1 + (name == "new")) if kind.endswith(".txt") else name
            rows = letor_batches(path) if kind.endswith(".txt") else table_batches(path, numbers=["label", name])
            return ltr.evaluate_batches(rows, scores={name: score}, **options)[name]
        frame = read_table(self.folder / kind)
        return ltr.evaluate(frame["label"].to_numpy(), frame[name].to_numpy(), qid=frame["qid"].to_numpy(), **options)


IN_MEMORY: dict[str, Callable[[Any], Any]] = {
    "Python integers": lambda ids: ids.tolist(),
    "Python text": lambda ids: list(map(str, ids.tolist())),
    "NumPy integers": lambda ids: ids.astype(np.uint16),
    "NumPy scalars": list,
    "mixed": lambda ids: [str(one) if one % 2 else one for one in ids.tolist()],
}
TABLES = [
    *("data.csv", "data.tsv", "whole.parquet", "text.parquet", "float.parquet", "nullable.parquet", "decimal.parquet"),
    *("category.feather", "whole.arrow"),
]
BATCHES = [f"batches of {name}" for name in ("data.csv", "whole.parquet", "whole.arrow", "data.txt")]
KINDS = [*IN_MEMORY, *TABLES, *BATCHES, "data.txt", "TREC"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("ids"))


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_every_kind_are_compared_to_the_last_digit(kind: str, data: Data) -> None:
    """As the baseline that was saved, as the new result, and beside scores in memory with ids of another type."""
    models = {"old": data.old, "new": data.new}
    expected = ltr.compare(models, data.y, qid=data.qid, metrics=METRICS, **FEW)
    data.evaluate(kind, "old").save(data.folder / "saved result.parquet")
    saved, new = ltr.load_result(data.folder / "saved result.parquet"), data.evaluate(kind, "new")
    for other in ("data.csv", "whole.parquet", "TREC", "mixed"):
        comparison = ltr.compare({"new": data.evaluate(other, "new"), "old": saved}, baseline="old", **FEW)
        assert comparison.rows == expected.rows, other
        comparison = ltr.compare({"new": new, "old": data.evaluate(other, "old")}, baseline="old", **FEW)
        assert comparison.rows == expected.rows, other
        assert comparison.qid.tolist() == new.qid.tolist()  # which keeps what its data had
    text, order = data.qid.astype(str), np.random.default_rng(0).permutation(len(data.y))
    in_memory = ltr.compare(models | {"old": saved}, data.y, qid=text, metrics=METRICS, **FEW)
    assert in_memory.rows == ltr.compare(models, data.y, qid=text, metrics=METRICS, **FEW).rows
    shuffled = ltr.compare(
        {"old": saved, "new": data.new[order]}, data.y[order], qid=text[order], metrics=METRICS, **FEW
    )
    assert [row.p_value for row in shuffled.rows] == [row.p_value for row in in_memory.rows]


@pytest.mark.parametrize("ids", [*IN_MEMORY, "CSV"])
def test_weights_segments_and_clusters_by_id(ids: str, data: Data) -> None:
    other = read_table(data.folder / "data.csv")["qid"].to_numpy() if ids == "CSV" else IN_MEMORY[ids](data.qid)
    of_query = {one: 1.0 + one % 3 for one in dict.fromkeys(data.qid.tolist())}
    options = {
        "query_weight": of_query,
        "by": pd.Series({one: "ab"[one % 2] for one in of_query}),
        "cluster": pd.Series({one: one // 2 for one in of_query}),
    }
    models = {"old": data.old, "new": data.new}
    expected = ltr.compare(models, data.y, qid=data.qid, metrics=METRICS, **options, **FEW)
    found = ltr.compare(models, data.y, qid=other, metrics=METRICS, **options, **FEW)
    assert found.rows == expected.rows
    assert {label: part.rows for label, part in found.by.items()} == {
        label: part.rows for label, part in expected.by.items()
    }
    of_results = {name: data.evaluate("data.csv", name) for name in models}
    assert ltr.compare(of_results, **options, **FEW).rows == expected.rows
    by_text = {str(one): weight for one, weight in of_query.items()}
    for weight in (of_query, by_text):
        result = ltr.evaluate(data.y, data.new, qid=other, query_weight=weight, metrics=METRICS)
        assert dict(result) == {row.metric: row.mean for row in expected.rows if row.model == "new"}


@pytest.mark.parametrize(
    ("saving", "comparing"),
    [
        (["whole.parquet", "--scores", "m=old"], ["data.csv", "--scores", "new=new"]),
        (["data.csv", "--scores", "m=old"], ["whole.parquet", "--scores", "new=new"]),
        (["data.txt", "--scores", "m=1"], ["data.csv", "--scores", "new=new"]),
        (["data.csv", "--scores", "m=old", "--sorted"], ["data.txt", "--scores", "new=2"]),
        (["whole.parquet", "--scores", "m=old"], ["--qrels", "qrels", "--run", "new=new.run"]),
        (["--qrels", "qrels", "--run", "m=old.run"], ["whole.arrow", "--scores", "new=new"]),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_the_command_saves_from_one_file_and_compares_on_another(
    saving: list[str], comparing: list[str], run: Run, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.folder)
    saved = run("evaluate", *saving, "--metrics", "ndcg@5,map", "--save", "baseline.parquet")
    assert saved.status == 0, saved.err
    done = run("compare", *comparing, "--result", "live=baseline.parquet", "--baseline", "live",
               "--metrics", "ndcg@5,map", "--n-resamples", 300, "--gate", "map > -1", "--format", "json")  # fmt: skip
    assert done.status == 0, done.err
    expected = ltr.compare({"live": data.old, "new": data.new}, data.y, qid=data.qid, metrics=METRICS, **FEW)
    assert json.loads(done.out)["rows"] == json.loads(json.dumps([row.to_dict() for row in expected.rows]))


# -- ids that really differ ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (lambda ids: np.char.zfill(ids.astype(str), 4), "'0008' is not 8: write them the same way in both"),
        (lambda ids: np.char.add(" ", ids.astype(str)), "' 8' is not 8: write them"),
        (lambda ids: ids + 1, r"lacks query 8 and has query 34 in addition\. Evaluate all .*queries=.common."),
        (
            lambda ids: ids + 100,
            r"of 26 it lacks 26 queries: 8, 9, 10, .* in addition\. Evaluate all models on the same queries\.$",
        ),
    ],
)
def test_ids_that_differ_are_named_with_a_remedy(ids: Callable[[Any], Any], message: str, data: Data) -> None:
    other = ltr.evaluate(data.y, data.old, qid=ids(data.qid), metrics=METRICS)
    with pytest.raises(
        ltr.LtrValueError, match=f"The result of 'live' has different queries from the other models.*{message}"
    ):
        ltr.compare({"new": data.evaluate("whole.parquet", "new"), "live": other})


def test_a_missing_weight_is_named_with_a_remedy() -> None:
    with pytest.raises(ltr.LtrValueError, match=r"no entry for query '007'\. .* and '007' is not 7: write them"):
        ltr.evaluate([1, 0], [1, 2], qid=["007", "007"], query_weight={7: 1.0})
    assert spelling_hint(["a"], ["b"]) == ""
    assert (
        spelling_hint(["A "], ["b", "a"])
        == " Ids are compared as text, and 'A ' is not 'a': write them the same way in both."
    )
