"""Relations that hold whatever options meet: each over rows in which every pair of option values occurs.

A relation derives a result in another way (a subset, a segment, a file, a table, a part, a choice of a convention said
as an option, another door) and compares it with the direct one: values per query and means. A new option joins by a
line of `AXES` and of `options_of`, and a new door by a function whose name begins with ``relation_``.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import dask.dataframe
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from catboost import CatBoostRanker, Pool
from sklearn.base import BaseEstimator

import ltr_metrics as ltr
import ltr_metrics.dask
from ltr_metrics.catboost import EvalMetric
from ltr_metrics.cli import main
from ltr_metrics.lightgbm import feval
from ltr_metrics.report import summarize
from ltr_metrics.sklearn import make_scorer
from ltr_metrics.xgboost import Monitor

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::ltr_metrics.LtrWarning")]

Row = dict[str, Any]


class LateGain(ltr.metrics.RankMetric):
    """The grades, each divided by its rank, over the number of ranked documents; lower is better."""

    NAME = "late_gain"
    KIND = "gains"
    higher_is_better = False

    def by_grade(self, queries: ltr.metrics.LabelledQueries) -> np.ndarray:
        return queries.grades

    def by_rank(self, queries: ltr.metrics.LabelledQueries, depth: int) -> np.ndarray:
        return 1 / np.arange(1.0, depth + 1)

    def divisor(self, queries: ltr.metrics.LabelledQueries, k: int | None) -> np.ndarray:
        return np.maximum(queries.n_ranked, 1)


def first_price(grades: Any, columns: Any) -> float | None:
    """Return the price of the first document; none for a query whose first document is irrelevant."""
    return float(columns["m"][0]) if len(grades) and grades[0] > 0 else None


OWN = ltr.as_metric(first_price, name="first_price", higher_is_better=False, columns=("m",))
AXES: dict[str, list[Any]] = {
    "convention": [
        *(None, "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "gdeval", "vespa", "letor"),
        *("recbole", "replay", "rectools", "ranx", "torchmetrics", "kaggle", "elasticsearch"),
    ],
    "ties": [None, "mean", "stable", "worst", "best", "docid"],
    "no_relevant": [None, "skip", "drop", 0.0, 1.0],
    "weights": [None, "uneven", "ones", "zeros"],
    "cluster": [False, True],
    "by": [False, True],
    "retrieved": [False, True],
    "judged": [False, "zero", "drop"],
    "ids": ["int", "text", "mixed", "group"],
    "order": ["grouped", "scattered"],
    "scores": ["distinct", "tied", "constant", "float32", "positions"],
    "skill": [False, True],
    "metrics": [
        ["ndcg@3", "map@2", "mrr"],
        ["err@3", "precision@2", "recall@3"],
        ["mean_of(m)@2", "sum_of(m)@3", "ndcg@5"],
        ["arp", "kendall", "map", "spearman"],
        ["judged@2", "hit@1", "rbp", "bpref"],
        ["f1@2", "rprec", "map(rel=2)@3", "pair_accuracy"],
        ["q@3", "hit(rel=2)@2", "recall(rel=2)@2"],
        [LateGain(k=3), OWN, "ndcg_lin"],
        ["NDCG@10", "ap", "dcg@4", "cg@2"],
    ],
}
N_QUERIES = 14


def covering(axes: dict[str, list[Any]], rng: np.random.Generator) -> Iterator[Row]:
    """Yield rows until every two values of two axes have met; of 60 random rows, the one with most new pairs."""
    pairs = list(itertools.combinations(axes, 2))
    left = {(a, i, b, j) for a, b in pairs for i in range(len(axes[a])) for j in range(len(axes[b]))}
    while left:
        a, i, b, j = min(left)
        drawn = ({axis: int(rng.integers(len(values))) for axis, values in axes.items()} for _ in range(60))
        best = max((one | {a: i, b: j} for one in drawn), key=lambda one: len(pairs_of(one, pairs) & left))
        left -= pairs_of(best, pairs)
        yield {axis: axes[axis][value] for axis, value in best.items()}


def own_policies(axes: dict[str, list[Any]], rng: np.random.Generator) -> Iterator[Row]:
    """Yield a row for each convention with its own policy under weights, where undefined values may have another."""
    for convention in axes["convention"]:
        drawn = {axis: values[int(rng.integers(len(values)))] for axis, values in axes.items()}
        own = {"convention": convention, "ties": None, "no_relevant": None, "metrics": axes["metrics"][0]}
        yield drawn | own | {"weights": "uneven"}


def pairs_of(row: dict[str, int], pairs: list[tuple[str, str]]) -> set[tuple[str, int, str, int]]:
    return {(a, row[a], b, row[b]) for a, b in pairs}


class Case:
    """One row of options, with data, and the evaluation that relations are about."""

    folder: Path  # for files, of the test that runs

    def __init__(self, row: Row, seed: int) -> None:
        self.row, self.seed = dict(row), seed
        if row["ids"] == "group":  # whose rows are in the order of the queries
            self.row["order"] = "grouped"
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 9, N_QUERIES)
        n = int(sizes.sum())
        query = np.repeat(np.arange(N_QUERIES), sizes)
        label = rng.choice(4, n, p=[0.5, 0.25, 0.15, 0.1]).astype(float)
        label[np.isin(query, [2, 7])] = 0
        retrieved = rng.random(n) < 0.8
        retrieved[np.flatnonzero(np.diff(query, prepend=-1))] = True  # one document of each query at least
        within = np.concatenate([rng.permutation(size) for size in sizes]).astype(float)
        kinds = {
            "distinct": rng.permutation(n).astype(float), "tied": rng.integers(0, 3, n).astype(float),
            "constant": np.zeros(n), "float32": rng.normal(size=n).astype(np.float32), "positions": within,
        }  # fmt: skip
        weight = rng.gamma(1, size=N_QUERIES).round(3) + 0.01
        if row["weights"] == "zeros":
            weight[rng.permutation(N_QUERIES)[:4]] = 0
        ids: dict[str, list[Any]] = {
            "int": (100 + np.arange(N_QUERIES)).tolist(),
            "text": [f"q{i}" for i in range(N_QUERIES)],
            "mixed": [f"q{i}" if i % 3 else 100 + i for i in range(N_QUERIES)],
        }
        qid = pd.Series(ids.get(row["ids"], ids["int"]), dtype=object if row["ids"] == "mixed" else None)
        self.frame = pd.DataFrame({
            "query": query, "qid": qid[query].to_numpy(), "label": label, "score": kinds[row["scores"]],
            "m": rng.gamma(2, size=n).round(2), "docid": [f"d{i:03d}" for i in rng.permutation(n)],
            "judged": (label > 0) | (rng.random(n) < 0.7), "retrieved": retrieved,
            "weight": np.ones(n) if row["weights"] == "ones" else weight[query],
            "segment": np.where(np.arange(N_QUERIES) % 3, "a", "b")[query], "user": (np.arange(N_QUERIES) // 2)[query],
        })  # fmt: skip
        if self.row["order"] == "scattered":
            self.frame = self.frame.iloc[rng.permutation(n)].reset_index(drop=True)
        self.metrics = [one for one in row["metrics"] if self.is_allowed(one)]
        self.direct = self.evaluate() if self.metrics else None

    def is_allowed(self, metric: Any) -> bool:
        """Whether the convention has a metric, and can weight it."""
        try:
            self.evaluate(metrics=[metric])
        except ltr.LtrError:
            return False
        return True

    def options(self, rows: pd.DataFrame, *, group: bool | None = None) -> dict[str, Any]:
        """Return the options of `evaluate` for some rows."""
        row, column = self.row, {name: rows[name].to_numpy() for name in rows}
        given: dict[str, Any] = {"docid": column["docid"], "columns": {"m": column["m"]}}
        if row["ids"] == "group" if group is None else group:
            given["group"] = ltr.qid_to_group(column["query"])
        else:
            given["qid"] = column["qid"]
        for axis, option, name in (("weights", "sample_weight", "weight"), ("by", "by", "segment")):
            if row[axis]:
                given[option] = column[name]
        given |= {"cluster": column["user"]} if row["cluster"] else {}
        given |= {"retrieved": column["retrieved"]} if row["retrieved"] else {}
        given |= {"judged": column["judged"], "unjudged": row["judged"]} if row["judged"] else {}
        return given

    @cached_property
    def as_table(self) -> Case:
        """The case whose rows have what a table has, with ids of one type, and no other options than a column."""
        ids = self.row["ids"] if self.row["ids"] in ("int", "text") else "text"
        table = Case(self.row | {"ids": ids, "retrieved": False, "judged": False, "cluster": False}, self.seed)
        table.folder = self.folder
        return table

    @property
    def policy(self) -> dict[str, Any]:
        return {name: self.row[name] for name in ("convention", "ties", "no_relevant")}

    def evaluate(self, rows: Any = None, **changed: Any) -> ltr.Evaluation:
        """Evaluate some rows, with some options changed; None takes an option away."""
        rows = self.frame if rows is None else rows
        options = {"metrics": self.__dict__.get("metrics")} | self.policy | {"skill": self.row["skill"]}
        options |= self.options(rows) | changed
        return ltr.evaluate(rows["label"].to_numpy(), options.pop("y_score", rows["score"].to_numpy()), **options)

    def other_scores(self) -> np.ndarray:
        return np.random.default_rng(self.seed + 1).normal(size=len(self.frame)).round(3)


def require_same(found: Any, expected: ltr.Evaluation, what: str = "", *, by_id: bool = True) -> None:
    """Compare means, and the values of each query by its id."""
    np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=1e-12, err_msg=what)
    ids = [str(one) for one in expected.qid.tolist()]
    at = [list(map(str, found.qid.tolist())).index(one) for one in ids] if by_id else range(len(ids))
    for name, values in expected.per_query.items():
        np.testing.assert_array_equal(found.per_query[name][list(at)], values, err_msg=f"{what} {name}")
    if (expected.n_documents >= 0).all() and (found.n_documents >= 0).all():  # which another tool's values lack
        np.testing.assert_array_equal(found.n_documents[list(at)], expected.n_documents)
    if found.by and set(found.by) == set(expected.by) == {"a", "b"}:
        for label, part in expected.by.items():
            np.testing.assert_allclose([found.by[label][name] for name in part], list(part.values()), rtol=1e-12)


# -- the same queries in another way ----------------------------------------------------------------------------------


def relation_alone(case: Case) -> None:
    for metric in case.metrics:
        alone = case.evaluate(metrics=[metric])
        (name,) = alone
        np.testing.assert_array_equal(alone.per_query[name], case.direct.per_query[name])
        assert alone[name] == pytest.approx(case.direct[name], rel=1e-15, nan_ok=True)


def relation_reordered(case: Case) -> None:
    if case.row["ids"] == "group" or case.direct.policy.ties in ("stable", "best", "worst"):
        return  # the order of the rows decides among documents of one grade
    rows = case.frame.sample(frac=1, random_state=case.seed)
    require_same(case.evaluate(rows), case.direct)


def relation_grouped(case: Case) -> None:
    """Sizes and ids are two ways to say the same, once the rows of each query are together, in order of appearance."""
    position = {query: at for at, query in enumerate(dict.fromkeys(case.frame["query"]))}
    rows = case.frame.iloc[np.argsort(case.frame["query"].map(position), kind="stable")]
    code = {"qid": None, "group": ltr.qid_to_group(rows["query"].to_numpy())}
    require_same(case.evaluate(rows, **code), case.direct, by_id=False)


def relation_subset(case: Case) -> None:
    if case.row["ids"] == "group":
        return
    rows = case.frame[np.isin(case.frame["query"], [0, 2, 3, 5, 7, 8, 11])]
    require_same(case.direct.subset(list(dict.fromkeys(rows["qid"].tolist()))), case.evaluate(rows))


def relation_segment(case: Case) -> None:
    if case.row["by"]:
        rows = case.frame[case.frame["segment"] == "a"]
        require_same(case.direct.by["a"], case.evaluate(rows, by=None), by_id=case.row["ids"] != "group")


def relation_saved(case: Case) -> None:
    case.direct.save(case.folder / "saved.parquet")
    loaded = ltr.load_result(case.folder / "saved.parquet")
    require_same(loaded, case.direct)
    assert dict(loaded.standard_error) == pytest.approx(dict(case.direct.standard_error), nan_ok=True)
    if case.row["skill"]:
        assert dict(loaded.skill) == pytest.approx(dict(case.direct.skill), nan_ok=True)


def relation_concat(case: Case) -> None:
    """Of two parts, whatever queries they have; with sizes, the ids of both parts would be 0, 1, ..."""
    if case.row["ids"] == "group" or set(case.metrics) & {OWN, LateGain(k=3)}:
        return
    rng = np.random.default_rng(case.seed)
    first = (rng.permutation(N_QUERIES) < 6)[case.frame["query"]]
    joined = ltr.concat([case.evaluate(case.frame[first]), case.evaluate(case.frame[~first])])
    require_same(joined, case.direct)
    assert joined.standard_error == pytest.approx(dict(case.direct.standard_error), nan_ok=True)


def relation_prepared(case: Case) -> None:
    """Queries that are laid out once, have evaluated other scores before, and whose arrays are used again."""
    given = case.options(case.frame)
    arrays = {name: value.copy() for name, value in given.items() if isinstance(value, np.ndarray)}
    columns = {"m": case.frame["m"].to_numpy(copy=True)}
    queries = ltr.Queries(case.frame["label"].to_numpy(), **given | arrays | {"columns": columns})
    for array in (*arrays.values(), *columns.values()):
        if array.flags.writeable:  # what is used again, does not change what was given
            array[:] = array[::-1].copy()
    queries.evaluate(case.other_scores(), case.metrics, **case.policy)
    require_same(queries.evaluate(case.frame["score"].to_numpy(), case.metrics, **case.policy), case.direct)


def relation_monotone(case: Case) -> None:
    require_same(case.evaluate(y_score=np.exp(case.frame["score"].to_numpy().astype(float) / 200) * 3 - 7), case.direct)


# -- options that say the same ----------------------------------------------------------------------------------------


def relation_said_as_options(case: Case) -> None:
    """A convention is its choices: metrics that carry every field, and the policy."""
    policy = case.direct.policy
    if case.row["convention"] is None or policy.weighs_undefined_as_one:
        return
    said = case.evaluate(metrics=[metric_of(case, name) for name in case.direct], convention=None, ties=policy.ties,
                         no_relevant=policy.no_relevant)  # fmt: skip
    for name in said:
        if name not in policy.no_relevant_of:  # no option makes an exception for one metric
            np.testing.assert_array_equal(said.per_query[name], case.direct.per_query[name])


def metric_of(case: Case, name: str) -> Any:
    """Return the object of a canonical name, which may be that of a metric of the user's own."""
    own = {str(one): one for one in case.metrics if not isinstance(one, str)}
    return own.get(name) or ltr.metric(name)


def relation_weights_of_one(case: Case) -> None:
    if case.row["weights"] == "ones":
        unweighted = case.evaluate(sample_weight=None)
        assert list(unweighted.values()) == list(case.direct.values()) or any(map(math.isnan, case.direct.values()))


def relation_mean_by_its_definition(case: Case) -> None:
    """The mean, and its standard error, from the values and the weights of the queries."""
    result = case.direct
    if result.policy.unit != "queries" or result.policy.weighs_undefined_as_one:
        return
    weight = np.ones(result.n_queries) if result.weight is None else result.weight
    for name, values in result.per_query.items():
        counts = ~np.isnan(values) & (weight > 0)
        expected = np.average(values[counts], weights=weight[counts]) if counts.any() else np.nan
        np.testing.assert_allclose(result[name], expected, rtol=1e-12, atol=1e-15)


def relation_chance(case: Case) -> None:
    if case.direct.policy.ties != "mean" or not case.row["skill"] or OWN in case.metrics:
        return  # a function may have no value for some orders of tied documents
    flat = case.evaluate(y_score=np.zeros(len(case.frame)), skill=False)
    for name in case.direct:
        if not math.isnan(case.direct.chance[name]):
            assert case.direct.chance[name] == pytest.approx(flat[name], rel=1e-9, abs=1e-12, nan_ok=True), name


def relation_skill(case: Case) -> None:
    """The skill, and that of a segment, from the means of a random and of the ideal order."""
    result = case.direct
    if not case.row["skill"]:
        return
    for name, mean in result.items():
        chance, ideal = result.chance[name], result.ideal[name]
        if not math.isnan(result.skill[name]):
            assert result.skill[name] == pytest.approx((mean - chance) / (ideal - chance), rel=1e-9, abs=1e-12), name
    if case.row["by"]:
        alone = case.evaluate(case.frame[case.frame["segment"] == "a"], by=None)
        for values in ("skill", "chance", "ideal", "standard_error"):
            found = dict(getattr(result.by["a"], values))
            assert found == pytest.approx(dict(getattr(alone, values)), rel=1e-9, abs=1e-12, nan_ok=True), values


def relation_scaled_weights(case: Case) -> None:
    """Weights have no unit."""
    if not case.row["weights"] or case.direct.policy.weighs_undefined_as_one:
        return
    scaled = case.evaluate(sample_weight=case.frame["weight"].to_numpy() * 1024)
    assert dict(scaled) == pytest.approx(dict(case.direct), rel=1e-15, nan_ok=True)
    assert scaled.standard_error == pytest.approx(dict(case.direct.standard_error), rel=1e-12, nan_ok=True)


def relation_positions(case: Case) -> None:
    """Positions are scores from the other end."""
    position = case.frame.groupby("query")["score"].rank(method="first", ascending=False)
    by_score = case.evaluate(y_score=-position.to_numpy())
    require_same(case.evaluate(y_score=ltr.Positions(position.to_numpy())), by_score)


def relation_missing_values(case: Case) -> None:
    """A column may lack the values of documents that have no rank."""
    has_rank = np.full(len(case.frame), True)
    has_rank &= case.frame["retrieved"] if case.row["retrieved"] else True
    has_rank &= case.frame["judged"] if case.row["judged"] == "drop" else True
    m = case.frame["m"].where(has_rank).to_numpy()
    require_same(case.evaluate(columns={"m": m}), case.direct)


def relation_tie_audit(case: Case) -> None:
    """Each tie policy of an audit is that of `evaluate`."""
    row, metrics = case.row, [one for one in case.metrics if one is not OWN]
    if case.seed % 2 or not metrics:
        return
    given = case.options(case.frame)
    options = {"convention": row["convention"], "no_relevant": row["no_relevant"]}
    labels, scores = case.frame["label"].to_numpy(), case.frame["score"].to_numpy()
    audit = ltr.tie_audit(labels, scores, metrics=metrics, **given, **options)
    for ties in ("worst", "mean", "best", "stable"):
        expected = case.evaluate(metrics=metrics, ties=ties, skill=False)
        for name, value in expected.items():
            found = audit.to_dict()[name][ties]
            if found is not None:
                assert found == pytest.approx(value, rel=1e-12, nan_ok=True), (name, ties)


# -- other doors ------------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dict": lambda frame: {name: frame[name].tolist() for name in frame},
}


def named_options(case: Case) -> dict[str, Any]:
    """Return the options of `evaluate(data=...)`: names of columns in the place of arrays."""
    row = case.row
    named: dict[str, Any] = {"qid": "qid", "docid": "docid"}
    named |= {"sample_weight": "weight"} if row["weights"] else {}
    named |= {"by": "segment"} if row["by"] else {}
    named |= {"cluster": "user"} if row["cluster"] else {}
    named |= {"retrieved": "retrieved"} if row["retrieved"] else {}
    return named | ({"judged": "judged", "unjudged": row["judged"]} if row["judged"] else {})


def relation_tables(case: Case) -> None:
    options = named_options(case) | case.policy | {"metrics": case.metrics, "skill": case.row["skill"]}
    for kind, table in TABLES.items():
        if case.row["ids"] == "group" or (case.row["ids"] == "mixed" and kind in ("polars", "arrow")):
            continue  # sizes are no column, and these libraries have one type per column
        require_same(ltr.evaluate(data=table(case.frame), **options), case.direct, kind)


def relation_batches(case: Case) -> None:
    case, row = case.as_table, case.row
    if case.seed % 2 or not case.metrics:
        return
    frame = case.frame.sort_values("query", kind="stable")
    cut = int(np.random.default_rng(case.seed).integers(1, len(frame)))
    found = ltr.evaluate_batches(
        [frame[:cut], frame[cut:]], case.metrics, scores={"one": "score"}, docid="docid", **case.policy,
        weight="weight" if row["weights"] else None, by="segment" if row["by"] else (), skill=row["skill"],
    )["one"]  # fmt: skip
    require_same(found, case.evaluate(frame))


def relation_dask(case: Case) -> None:
    case, row = case.as_table, case.row
    if not case.metrics or case.direct.policy.ties == "stable":
        return
    if case.seed % 8 or set(case.metrics) & {OWN, LateGain(k=3)}:  # a computation of Dask takes as long as ten others
        return
    options = {name: value for name, value in named_options(case).items() if name != "unjudged"}
    needs_order = case.direct.policy.ties in ("worst", "best") and {"mean_of(m)@2", "sum_of(m)@3"} & set(case.metrics)
    with dask.config.set(scheduler="synchronous"):
        frame = dask.dataframe.from_pandas(case.frame, npartitions=3)
        options |= {"metrics": case.metrics, "skill": row["skill"]} | case.policy
        if needs_order:
            with pytest.raises(ltr.LtrValueError, match="which a shuffle does not keep"):
                ltr_metrics.dask.evaluate(frame, **options)
            return
        found = ltr_metrics.dask.evaluate(frame, **options)
    require_same(found, case.direct)


def written_rows(case: Case, frame: pd.DataFrame) -> list[str]:
    """Write a table, and return its name and the options of the command for it."""
    row = case.row
    frame.to_csv(case.folder / "rows.csv", index=False)
    options = {"--weight": row["weights"] and "weight", "--segment": row["by"] and "segment"}
    options |= {"--cluster": row["cluster"] and "user", "--convention": row["convention"], "--ties": row["ties"]}
    options |= {"--no-relevant": row["no_relevant"], "--docid": "docid"}
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    return [str(case.folder / "rows.csv"), *(str(word) for option in given.items() for word in option)]


def command_line(case: Case, frame: pd.DataFrame, *more: str) -> ltr.Evaluation:
    """Run ``evaluate`` of the command on a table, and return what it saves."""
    saved, metrics = str(case.folder / "command.parquet"), ",".join(case.metrics)
    given = [*written_rows(case, frame), "--scores", "one=score", "--metrics", metrics, "--save", saved]
    with pytest.raises(SystemExit) as left:
        main(["evaluate", *given, *more, *(["--skill"] if case.row["skill"] else [])])
    assert left.value.code == 0
    return ltr.load_result(saved)


def relation_command(case: Case) -> None:
    case = case.as_table
    if case.seed % 2 or not case.metrics or not all(isinstance(one, str) for one in case.metrics):
        return
    require_same(command_line(case, case.frame), case.direct, "whole")
    in_order = case.frame.sort_values("query", kind="stable")
    require_same(command_line(case, in_order, "--sorted"), case.evaluate(in_order), "--sorted")


def relation_values_of_another_tool(case: Case) -> None:
    """A table of values per query is the result that it was exported from."""
    if case.row["weights"] or case.direct.policy.unit != "queries":
        return
    table = case.direct.to_pandas()[["qid", *case.direct]]
    lower = [name for name in case.direct.lower_is_better if not is_known(name)]
    found = ltr.Evaluation.from_per_query(table, convention="default", lower_is_better=lower)
    require_same(found, case.direct)
    assert found.lower_is_better == case.direct.lower_is_better


def is_known(name: str) -> bool:
    return not name.startswith((LateGain.NAME, OWN.name))


def relation_leaderboard(case: Case) -> None:
    """The means of a leaderboard, over the queries for which all models have a value, and its order."""
    if case.seed % 3:  # all pairs take as long as ten evaluations
        return
    scores = {"e": case.frame["score"].to_numpy(), "b": case.other_scores(), "c": -case.other_scores()}
    labels, options = case.frame["label"].to_numpy(), case.options(case.frame)
    try:
        board = ltr.compare(scores, labels, metrics=case.metrics, test="t", **options, **case.policy).leaderboard
    except ltr.LtrError as error:
        assert any(word in str(error) for word in ("two", "weight")), error  # noqa: PT017  # of too few queries
        return
    assert board is not None
    results = {model: case.evaluate(y_score=one, skill=False) for model, one in scores.items()}
    for name, lines in board.to_pandas().groupby("metric", sort=False):
        values = np.array([results[model].per_query[name] for model in lines["model"]])
        weight = np.ones(values.shape[1]) if case.direct.weight is None else case.direct.weight
        counts = ~np.isnan(values).any(axis=0) & (weight > 0)
        if case.direct.policy.weighs_undefined_as_one or not counts.any():
            continue
        expected = np.average(values[:, counts], axis=1, weights=weight[counts])
        np.testing.assert_allclose(lines["mean"], expected, rtol=1e-10, atol=1e-12, err_msg=str(name))
        sign = 1 if name in case.direct.lower_is_better else -1
        assert (np.diff(sign * expected) > -1e-9).all(), name


def relation_command_of_comparison(case: Case) -> None:
    """`compare` of the command and of Python, in the last digit that JSON has."""
    has_clusters = case.row["cluster"]
    case = copy.copy(case.as_table)
    case.row = case.row | {"cluster": has_clusters}
    if case.seed % 4 or not case.metrics or not all(isinstance(one, str) for one in case.metrics):
        return
    frame = case.frame.assign(other=case.other_scores())
    options = {name: value for name, value in named_options(case).items() if name != "unjudged"}
    try:
        expected = ltr.compare(
            ["score", "other"], data=frame, metrics=case.metrics, baseline="score", test="t", **options, **case.policy
        ).to_pandas()
    except ltr.LtrError as error:
        assert any(word in str(error) for word in ("two", "weight")), error  # noqa: PT017  # of too few queries
        return
    written = case.folder / "comparison.json"
    given = ["compare", *written_rows(case, frame), "--scores", "score", "--scores", "other", "--baseline", "score"]
    given += ["--test", "t", "--format", "json", "--output", str(written)]
    with pytest.raises(SystemExit) as left:
        main([*given, "--metrics", ",".join(case.metrics)])
    assert left.value.code == 0
    lines = json.loads(written.read_text())["rows"]
    assert len(lines) == len(expected)
    for line, row in zip(lines, expected.to_dict("records"), strict=True):
        for name in ("mean", "difference", "ci_low", "ci_high", "p_value", "wins", "losses", "n_queries"):
            value = math.nan if line[name] is None else line[name]
            assert value == pytest.approx(row[name], rel=1e-12, nan_ok=True), name


def relation_explained(case: Case) -> None:
    """Both values of an explanation are those of `evaluate`, as is the value that a convention is identified by."""
    row, metric = case.row, case.row["metrics"][0]
    if row["convention"] is None or not isinstance(metric, str) or metric not in case.metrics:
        return
    given = case.options(case.frame)
    policy = {name: row[name] for name in ("ties", "no_relevant")}
    labels, scores = case.frame["label"].to_numpy(), case.frame["score"].to_numpy()
    try:
        explained = ltr.explain_difference(
            labels, scores, metric=metric, a=row["convention"], b="default", **given, **policy
        )
    except ltr.LtrError as error:
        assert "default" in str(error) or "weights" in str(error) or "same" in str(error), error  # noqa: PT017
        return
    for convention, value in ((row["convention"], explained.value_a), ("default", explained.value_b)):
        (expected,) = case.evaluate(metrics=[metric], convention=convention, skill=False).values()
        assert value == pytest.approx(expected, rel=1e-12, nan_ok=True), convention
    assert sum(explained.parts.values()) == pytest.approx(explained.difference, abs=1e-9, nan_ok=True)
    if case.seed % 6 or math.isnan(explained.value_a):
        return
    found = ltr.identify_convention(labels, scores, metric=metric, value=explained.value_a, **given).to_pandas()
    assert found["distance"].iloc[0] == pytest.approx(0, abs=1e-9)


def relation_comparison(case: Case) -> None:
    """The differences, intervals and bounds of a comparison, from evaluations and from scores."""
    if case.seed % 2:
        return
    case_rows = {"skill": False}
    new = case.evaluate(y_score=case.other_scores(), **case_rows)
    options = case.options(case.frame)
    models = {"e": case.frame["score"].to_numpy(), "b": case.other_scores()}
    try:
        comparison = ltr.compare(models, case.frame["label"].to_numpy(), metrics=case.metrics, baseline="e", test="t",
                                 **options, **case.policy)  # fmt: skip
    except ltr.LtrError as error:
        assert any(word in str(error) for word in ("two", "weight")), error  # noqa: PT017  # of too few queries
        return
    for line in comparison.to_pandas().itertuples():
        one, other = case.direct.per_query[line.metric], new.per_query[line.metric]
        if np.array_equal(np.isnan(one), np.isnan(other)):
            expected = new[line.metric] - case.direct[line.metric]
            assert line.difference == pytest.approx(expected, abs=1e-10, nan_ok=True)
        is_low = line.metric not in comparison.first.lower_is_better
        check = ltr.gate(comparison, [f"{line.metric} > -0.05" if is_low else f"{line.metric} < 0.05"]).checks[0]
        if math.isfinite(check.bound) and math.isfinite(line.ci_low):
            assert check.bound == pytest.approx(line.ci_low if is_low else line.ci_high, abs=1e-12)
        rule = f"{line.metric} > -5%" if is_low else f"{line.metric} < 5%"
        for part in (comparison, comparison.subset(comparison.first.qid[:3].tolist())):  # of too few for an interval
            (row,) = part.to_pandas().query("metric == @line.metric").itertuples()
            base = row.mean - row.difference
            if base > 1e-9:
                value = ltr.gate(part, [rule]).checks[0].value
                assert value == pytest.approx(row.difference / base, rel=1e-6, abs=1e-9)


def relation_report(case: Case) -> None:
    """The means, the curve by cutoff and the differences of a report are those of `evaluate`."""
    if case.seed % 3 and not case.direct.policy.weighs_undefined_as_one:  # a report takes as long as ten evaluations
        return
    labels, given = case.frame["label"].to_numpy(), case.options(case.frame)
    queries = ltr.Queries(labels, **given)
    models = {"e": case.frame["score"].to_numpy(), "b": case.other_scores()}
    try:
        report = summarize(queries, models, case.metrics, baseline="e", complete=True, **case.policy).to_dict()
        comparison = ltr.compare(
            models, labels, metrics=case.metrics, baseline="e", test="t", **given, **case.policy
        ).to_pandas()
    except ltr.LtrError as error:
        assert any(word in str(error) for word in ("two", "weight", "none of its", "for every order")), error  # noqa: PT017
        return
    for line in report["means"]:
        if line["model"] == "e":
            assert line["mean"] == pytest.approx(case.direct[line["metric"]], abs=1e-12, nan_ok=True)
    for line, expected in zip(report["comparison"]["rows"], comparison.to_dict("records"), strict=True):
        for name in ("difference", "ci_low", "ci_high", "effect_size", "wins", "losses", "mde", "n_queries"):
            value = math.nan if line[name] is None else line[name]
            assert value == pytest.approx(expected[name], rel=1e-12, nan_ok=True), name
    for line in report["relative"]:
        (row,) = comparison.query("metric == @line['metric']").itertuples()
        if line["value"] is not None:
            assert line["value"] == pytest.approx(row.difference / (row.mean - row.difference), rel=1e-6, abs=1e-9)
    for line in report["segments"]:
        if line["model"] == "e":
            of_segment = case.direct.by[line["segment"]]
            found = {name: math.nan if value is None else value for name, value in line["mean"].items()}
            assert found == pytest.approx(dict(of_segment), rel=1e-12, nan_ok=True)
    for curve in report["curves"]:
        by_model = {name: of_model["mean"] for name, of_model in curve["curves"].items()}
        for at, k in enumerate(curve["k"]):
            metric = metric_at(case, curve["metric"], k)
            e = case.evaluate(metrics=[metric], skill=False, by=None)
            if "e" in by_model:
                found, expected = by_model["e"][at], e[str(metric)]
            else:  # of differences
                b = case.evaluate(metrics=[metric], skill=False, by=None, y_score=case.other_scores())
                found, expected = by_model["b"][at], b[str(metric)] - e[str(metric)]
                if not np.array_equal(np.isnan(b.per_query[str(metric)]), np.isnan(e.per_query[str(metric)])):
                    continue
            assert found is None or found == pytest.approx(expected, abs=1e-9, nan_ok=True), (str(metric), k)


def metric_at(case: Case, name: str, k: int) -> Any:
    """Return a metric of the case with another cutoff."""
    own = next((one for one in case.metrics if isinstance(one, LateGain) and name == one.NAME), None)
    return ltr.metric(f"{name}@{k}") if own is None else LateGain(k=k)


class Rounds(NamedTuple):
    """What a training logged of the rows, its scores of them in the last round, its model, and the host's data."""

    log: ltr.PerQueryLog
    scores: np.ndarray
    model: Any
    data: Any  # with the queries and weights, or the features alone if the host's data cannot be predicted


def train_lightgbm(case: Case, X: np.ndarray, rows: pd.DataFrame, metrics: list[Any]) -> Rounds:
    log, weight = ltr.PerQueryLog(), rows["weight"] if case.row["weights"] else None
    group = ltr.qid_to_group(rows["query"].to_numpy())
    train = lgb.Dataset(X, rows["label"], group=group)
    valid = lgb.Dataset(X, rows["label"], group=group, weight=weight, reference=train)
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}
    metric = feval(metrics, log=log, columns={valid: {"m": rows["m"].to_numpy()}}, **case.policy)
    model = lgb.train(params, train, 2, valid_sets=[valid], valid_names=["valid"], feval=metric)
    return Rounds(log, model.predict(X), model, X)


def train_xgboost(case: Case, X: np.ndarray, rows: pd.DataFrame, metrics: list[Any]) -> Rounds:
    log, qid = ltr.PerQueryLog(), rows["query"].to_numpy()
    options: dict[str, Any] = {"sample_weight": rows["weight"]} if case.row["weights"] else {}
    options |= {"columns": {"m": rows["m"]}, "log": log, "names": "canonical"} | case.policy
    margin = X[:, 0] / 2
    monitor = Monitor(metrics, X, rows["label"], qid=qid, base_margin=margin, **options)
    train = xgb.DMatrix(X, rows["label"], qid=qid)
    model = xgb.train({"objective": "rank:ndcg", "nthread": 1}, train, 2, callbacks=[monitor], verbose_eval=False)
    weight = rows.groupby("query", sort=False)["weight"].first() if case.row["weights"] else None
    data = xgb.DMatrix(X, rows["label"], qid=qid, weight=weight, base_margin=margin)
    return Rounds(log, model.predict(data, output_margin=True), model, data)


def train_catboost(case: Case, X: np.ndarray, rows: pd.DataFrame, metrics: list[Any]) -> Rounds:
    log, qid = ltr.PerQueryLog(), rows["query"].to_numpy()
    valid = Pool(X, rows["label"], group_id=qid, weight=rows["weight"] if case.row["weights"] else None)
    columns = {"m": rows["m"].to_numpy()}
    metric = EvalMetric(metrics[0], valid, log=log, columns=columns, **case.policy)
    settings = {"loss_function": "QueryRMSE", "use_best_model": False, "verbose": False, "allow_writing_files": False}
    model = CatBoostRanker(iterations=2, eval_metric=metric, thread_count=1, **settings)
    turned = rows["label"].to_numpy()[::-1] + 1  # CatBoost says only by the labels which set it evaluates
    model.fit(Pool(X[::-1].copy(), turned, group_id=qid[::-1].copy()), eval_set=valid)
    return Rounds(log, model.predict(X), model, valid)


HOSTS = (train_lightgbm, train_xgboost, train_catboost)


def relation_training_logs(case: Case) -> None:
    """A host's log has the values of its own predictions, and so has the learning curve of the fitted model."""
    case = case.as_table
    if case.row["ids"] == "group" or case.direct is None or case.direct.policy.ties == "docid" or OWN in case.metrics:
        return
    if case.seed % 2:  # a training takes as long as ten evaluations
        return
    rows = case.frame.sort_values("query", kind="stable").reset_index(drop=True)
    X = np.random.default_rng(case.seed).normal(size=(len(rows), 3)).round(1) + rows[["label"]].to_numpy()
    train = HOSTS[case.seed // 2 % len(HOSTS)]
    metrics = case.metrics[:1] if train is train_catboost else case.metrics
    options = {"metrics": metrics, "skill": False, "by": None, "docid": None}
    try:
        run = train(case, X, rows, metrics)
    except ltr.LtrError as error:
        assert "undefined for all" in str(error) or "weights" in str(error), error  # noqa: PT017  # of an adapter
        return
    direct = case.evaluate(rows, y_score=run.scores, **options)
    (data,) = run.log.data_names
    given: dict[str, Any] = {"columns": {"m": rows["m"]}} | case.policy
    if train is train_lightgbm:
        given |= {"qid": rows["query"], "sample_weight": rows["weight"] if case.row["weights"] else None}
    curve = ltr.learning_curve(run.model, run.data, rows["label"], metrics=metrics, every=5, **given)
    for name, values in direct.per_query.items():
        for log, of_data in ((run.log, data), (curve, "data")):
            np.testing.assert_allclose(log.values(of_data, name)[-1], values, rtol=1e-6, err_msg=f"{train} {name}")
            if not math.isnan(direct.standard_error[name]):  # of two queries at least, which a curve needs
                curve_of_log = log.learning_curve(of_data, name)
                assert curve_of_log.mean[-1] == pytest.approx(direct[name], rel=1e-6)


def relation_scorer(case: Case) -> None:
    """A scorer of scikit-learn has the means of `evaluate`, with the sign that scikit-learn wants."""
    case, row = case.as_table, case.row
    if case.direct is None or OWN in case.metrics or any(map(math.isnan, case.direct.values())):
        return
    if case.direct.policy.ties == "docid":  # scikit-learn passes no document ids
        return
    scorer = make_scorer(case.metrics, columns=["m"], **case.policy)
    given = {"sample_weight": case.frame["weight"].to_numpy()} if row["weights"] else {}
    X = case.frame[["score", "m", "qid"]]
    found = scorer(FirstColumn(), X, case.frame["label"].to_numpy(), **given)
    for (name, value), typed in zip(case.direct.items(), found.values(), strict=True):
        sign = -1 if name in case.direct.lower_is_better else 1
        assert typed == pytest.approx(sign * value, rel=1e-12), name


class FirstColumn(BaseEstimator):  # type: ignore[misc]
    """A fitted model whose score is the first column."""

    def predict(self, X: Any) -> Any:
        return X["score"].to_numpy()


RELATIONS = {
    name.removeprefix("relation_"): one for name, one in list(globals().items()) if name.startswith("relation_")
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]


@cache
def cases_of(seed: int) -> list[Case]:
    """Return the cases of a seed, without those whose convention has none of the metrics."""
    rng = np.random.default_rng(seed)
    rows = [*covering(AXES, rng), *own_policies(AXES, rng)]
    cases = [Case(row, 1000 * seed + number) for number, row in enumerate(rows)]
    return [case for case in cases if case.direct is not None]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_relation(relation: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed, cases = [], cases_of(seed)
    for case in cases:
        case.folder = tmp_path
        try:
            RELATIONS[relation](case)
        except Exception as error:  # all rows that fail are of interest
            failed.append((f"{type(error).__name__}: {error}"[:400], {k: v for k, v in case.row.items() if v}))
    capsys.readouterr()
    assert len(cases) > 60
    assert not failed, f"{len(failed)} of {len(cases)} rows, such as {failed[0]}"
