"""Comparisons: the right pairs, refusals of what cannot be paired, and the same numbers as the
statistics' own libraries.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

import ltr_metrics as ltr
from ltr_metrics.analysis.comparison import COLUMNS
from ltr_metrics.analysis.inference import correct
from ltr_metrics.evaluation.parts import concat
from ltr_metrics.report import summarize

METRICS = ["ndcg@10", "map", "err@10"]
FEW = {"n_resamples": 400}


class Case:
    """Synthetic queries and three models."""

    def __init__(self, n_queries: int = 80, seed: int = 0) -> None:
        X, self.y, self.qid = ltr.make_ranking(n_queries, documents=12, random_state=seed)
        noise = np.random.default_rng(seed)
        self.models = {
            "base": X[:, 0],
            "new": X[:, 0] + 0.5 * X[:, 1],
            "random": noise.normal(size=len(self.y)),
        }

    def compare(self, *names: str, **options: Any) -> ltr.Comparison:
        models = {name: self.models[name] for name in names or self.models}
        return ltr.compare(models, self.y, **{"qid": self.qid, "metrics": METRICS} | FEW | options)

    def evaluate(self, name: str, **options: Any) -> ltr.Evaluation:
        return ltr.evaluate(self.y, self.models[name], **{"qid": self.qid, "metrics": METRICS} | options)


@pytest.fixture
def case() -> Case:
    return Case()


def difference(case: Case, metric: str, model: str) -> np.ndarray:
    return case.evaluate(model).per_query[metric] - case.evaluate("base").per_query[metric]


# -- the numbers ------------------------------------------------------------------------------------------------------


def test_means_differences_and_counts_are_those_of_the_evaluations(case: Case) -> None:
    comparison = case.compare()
    assert [(row.metric, row.model) for row in comparison.rows] == [
        (metric, model) for metric in ("ndcg_exp@10", "map", "err@10") for model in ("new", "random")
    ]
    assert tuple(comparison.to_pandas().columns) == COLUMNS
    for row in comparison.rows:
        d = difference(case, row.metric, row.model)
        d = d[~np.isnan(d)]
        assert row.mean == case.evaluate(row.model)[row.metric]
        assert row.baseline_mean == case.evaluate("base")[row.metric]
        assert row.difference == pytest.approx(d.mean(), abs=1e-15)
        assert row.difference == pytest.approx(row.mean - row.baseline_mean, abs=1e-14)
        assert row.effect_size == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
        assert (row.n_queries, row.n_undefined) == (len(d), 80 - len(d))
        assert row.wins + row.ties + row.losses == len(d)
        assert row.wins == (d > 1e-12).sum()
        assert row.n_effective == len(d)
        assert row.unweighted is None
        assert row.ci_low < row.difference < row.ci_high
    assert comparison["err@10", "new"].n_undefined == 0 < comparison["map", "new"].n_undefined
    assert list(case.compare(baseline="random").evaluations) == ["random", "base", "new"]


def test_intervals_have_the_level_of_the_comparison(case: Case) -> None:
    for metric in ("ndcg@10", "map"):
        ends = [case.compare(confidence=level)[metric, "new"] for level in (0.99, 0.95, 0.8)]
        assert ends[0].ci_low < ends[1].ci_low < ends[2].ci_low < ends[2].ci_high < ends[1].ci_high < ends[0].ci_high


def test_the_t_test_is_scipys(case: Case) -> None:
    d = difference(case, "ndcg@10", "new")
    d = d[~np.isnan(d)]
    d[np.abs(d) < 1e-12] = 0
    expected = stats.ttest_1samp(d, 0).pvalue
    assert case.compare(test="t")["ndcg@10", "new"].p_value == pytest.approx(expected, rel=1e-9)


def test_p_values_are_corrected_within_each_metric(case: Case) -> None:
    within = case.compare()
    for metric in ("ndcg_exp@10", "map", "err@10"):
        raw = np.array([within[metric, model].p_value for model in ("new", "random")])
        adjusted = [within[metric, model].p_adjusted for model in ("new", "random")]
        assert adjusted == pytest.approx(correct(raw, "holm"))
    assert [row.p_adjusted for row in case.compare(correction="none").rows] == [row.p_value for row in within.rows]


def test_the_same_random_state_gives_the_same_and_another_another(case: Case) -> None:
    assert case.compare().to_dict() == case.compare().to_dict()
    assert case.compare(random_state=1).to_dict() != case.compare().to_dict()
    for kind in (np.random.default_rng, np.random.RandomState):
        generator = kind(0)
        seeds = [case.compare(random_state=one).settings.seed for one in (generator, generator, kind(0))]
        assert seeds[0] == seeds[2] != seeds[1]
    unseeded = case.compare(random_state=None)
    assert case.compare(random_state=unseeded.settings.seed).rows == unseeded.rows


def test_a_model_against_itself() -> None:
    case = Case(30)
    scores = {"a": case.models["base"], "b": case.models["base"] * 2}
    row = ltr.compare(scores, case.y, qid=case.qid, metrics="map")["map"]
    assert (row.difference, row.ci_low, row.ci_high, row.p_value, row.effect_size, row.mde) == (0, 0, 0, 1, 0, 0)
    assert (row.wins, row.losses, row.ties) == (0, 0, row.n_queries)


def test_sums_in_another_order_are_no_difference() -> None:
    comparison = Case(30).compare("base", "new", metrics="map")
    base = comparison.evaluations["base"]
    nearly = base.with_values({"map": base.per_query["map"] * (1 + 3e-16)})
    row = ltr.compare({"a": base, "b": nearly}, metrics="map", **FEW)["map"]
    assert (row.wins, row.losses) == (0, 0)


# -- weights, clusters, segments -------------------------------------------------------------------


def test_weights_count_everywhere_and_the_plain_numbers_stand_beside(case: Case) -> None:
    weight = np.random.default_rng(1).pareto(1.5, 80) + 0.1
    comparison, plain = case.compare(query_weight=weight), case.compare()
    for row in comparison.rows:
        d = difference(case, row.metric, row.model)
        defined = ~np.isnan(d)
        w = weight[defined]
        assert row.difference == pytest.approx(w @ d[defined] / w.sum(), abs=1e-14)
        assert row.n_effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
        variance = len(w) / (len(w) - 1) * np.average((d[defined] - row.difference) ** 2, weights=w)
        assert row.effect_size == pytest.approx(row.difference / np.sqrt(variance), rel=1e-12)
        assert row.unweighted == dataclasses.replace(plain[row.metric, row.model], p_adjusted=row.unweighted.p_adjusted)
        assert row.ci_low != row.unweighted.ci_low
    assert (comparison.to_dict()["weighted"], plain.to_dict()["weighted"]) == (True, False)


WEIGHTS: list[Any] = [None, [1, 0.01, 1], [2, 3, 4], [5, 0.5, 2]]


@pytest.mark.parametrize("convention", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("before", WEIGHTS)
def test_an_unweighted_one_of_a_host_counts_as_one_under_any_weights(
    before: Any, convention: Any, tmp_path: Path
) -> None:
    """Of the queries, the second has no relevant document. LightGBM adds 1 for it, and divides by all weights."""
    y, qid, options = [1, 0, 0, 0, 2, 0], [1, 1, 2, 2, 3, 3], {"metrics": "ndcg@10"}
    scores = {"a": [0.1, 0.9, 0.3, 0.2, 0.1, 0.5], "b": [0.9, 0.1, 0.3, 0.2, 0.5, 0.1]}
    perfect_or_not = {"a": np.array([1 / np.log2(3), 1, 1 / np.log2(3)]), "b": np.ones(3)}

    def of_host(name: str, weight: Any) -> float:
        w = np.ones(3) if weight is None else np.array(weight)
        return float((np.where([True, False, True], w, 1) * perfect_or_not[name]).sum() / w.sum())

    results = {}
    for name, of_model in scores.items():
        result = ltr.evaluate(y, of_model, qid=qid, query_weight=before, convention=convention, **options)
        parts = [result.subset([1, 2]), result.subset([3])]
        concat(parts).save(tmp_path / name)
        results[name] = ltr.load_result(tmp_path / name)
        assert result["ndcg@10"] == pytest.approx(of_host(name, before), rel=1e-12)
    for now in WEIGHTS[1:]:
        options |= {"query_weight": now, "n_resamples": 100}
        new_scores: Any = {"y_true": y, "qid": qid, "convention": convention}
        for models, others in (
            (results, {}), ({"a": results["a"], "b": scores["b"]}, new_scores), (scores, new_scores),
            ({"a": [results["a"]] * 2, "b": results["b"]}, {}), (results, {"queries": "common"}),
        ):  # fmt: skip
            row = ltr.compare(models, **others, **options)["ndcg@10"]
            assert (row.baseline_mean, row.mean) == pytest.approx([of_host(name, now) for name in "ab"], rel=1e-12)
            plain = row.unweighted
            assert plain is not None
            assert (plain.baseline_mean, plain.mean) == pytest.approx([of_host(n, None) for n in "ab"], rel=1e-12)
    logs = np.log(perfect_or_not["a"]) @ (np.ones(3) if before is None else np.array(before))
    expected = np.exp(logs / (3 if before is None else sum(before)))
    assert results["a"].geometric_mean("ndcg@10") == pytest.approx(expected, rel=1e-12)
    queries = ltr.Queries(y, qid=qid, query_weight=before)
    report = summarize(queries, {"a": scores["a"]}, convention=convention, metrics=["ndcg@10"])
    assert report.means()[0]["q95"] <= 1


def test_an_unweighted_one_that_no_weights_or_values_can_give_is_refused() -> None:
    y, s, qid = [1, 0, 0, 0], [1, 2, 1, 2], [1, 1, 2, 2]
    options: dict[str, Any] = {"qid": qid, "metrics": "ndcg_exp@10", "ties": "stable"}
    host = ltr.evaluate(y, s, convention="lightgbm", query_weight=[1, 2], **options)
    with pytest.raises(ltr.LtrValueError, match="unweighted 1 to its ndcg_exp@10 for query 2, .* weight of this quer"):
        ltr.compare({"a": host, "b": host}, query_weight=[1, 0])
    other_tool = ltr.Evaluation.from_per_query({"qid": [1, 2], "ndcg@10": [0.5, 1]}, convention="lightgbm")
    with pytest.raises(ltr.LtrValueError, match="result of 'a'.*cannot be used with other weights: lightgbm counts"):
        ltr.compare({"a": other_tool, "b": other_tool}, query_weight=[1, 2])
    assert ltr.compare({"a": other_tool, "b": other_tool}, **FEW)["ndcg_exp@10"].difference == 0
    for no_relevant in ("skip", 0):  # leaves no 1 to count
        own = dataclasses.replace(ltr.CONVENTIONS["lightgbm"], name="own", no_relevant=no_relevant)
        result = ltr.evaluate(y, s, convention=own, query_weight=[1, 2], **options)
        row = ltr.compare({"a": result, "b": result}, query_weight=[4, 1], **FEW)["ndcg_exp@10"]
        assert row.mean == pytest.approx(1 / np.log2(3) / (1 if no_relevant == "skip" else 5 / 4))
    plain = ltr.evaluate(y, s, no_relevant=1, query_weight=[1, 2], **options)  # counts 1, and not 1 / weight
    with pytest.raises(ltr.LtrValueError, match="weighs_undefined_as_one=False, but the other models with .*=True"):
        ltr.compare({"a": host, "b": plain})


def test_what_is_given_by_query_id_is_so_for_results_too(case: Case) -> None:
    results = {name: case.evaluate(name) for name in ("base", "new")}
    rng = np.random.default_rng(0)
    labels, order = rng.integers(0, 10, 80), rng.permutation(80)
    shuffled = pd.Series(labels[order], index=pd.Index(results["base"].qid[order], name="qid"))
    for one in (shuffled, labels):
        result = ltr.compare(results, by=one % 2, cluster=one, query_weight=one + 1.0, **FEW)
        expected = case.compare("base", "new", by=labels % 2, cluster=labels, query_weight=labels + 1.0)
        assert result.rows == expected.rows
        assert result.by[1].rows == expected.by[1].rows


def test_segments_are_compared_as_if_they_were_alone(case: Case) -> None:
    device = np.where(np.arange(80) % 3, "phone", "desk")
    comparison = case.compare(by=device, cluster=np.arange(80) // 2)
    chosen = np.isin(case.qid, comparison.qid[device == "desk"])
    case.models = {name: scores[chosen] for name, scores in case.models.items()}
    case.y, case.qid = case.y[chosen], case.qid[chosen]
    alone = case.compare(cluster=(np.arange(80) // 2)[device == "desk"])
    assert comparison.by["desk"].rows == alone.rows
    part = comparison.subset(comparison.qid[device == "desk"].astype(str))
    assert part.rows == alone.rows
    assert list(part.by) == ["desk"]
    with pytest.raises(ltr.LtrKeyError, match="no query 0"):
        comparison.subset([0, 1])


def test_a_segment_of_one_query_has_a_difference_and_nothing_more(case: Case) -> None:
    lonely = case.compare(by=np.arange(80) == 0, metrics="err@10").by[True]["err@10", "new"]
    assert np.isfinite(lonely.difference)
    assert np.isnan([lonely.ci_low, lonely.ci_high, lonely.p_value, lonely.mde]).all()
    assert json.loads(json.dumps(case.compare(by=np.arange(80) == 0).to_dict(), allow_nan=False))


# -- what can be compared ----------------------------------------------------------------------------------------------


def test_seeds_are_averaged_query_by_query(case: Case) -> None:
    rng = np.random.default_rng(0)
    seeds = [case.models["new"] + rng.normal(scale=0.3, size=len(case.y)) for _ in range(4)]
    comparison = ltr.compare(
        {"base": case.models["base"], "new": seeds}, case.y, qid=case.qid, metrics=["map", "err@10"], **FEW
    )
    results = [ltr.evaluate(case.y, one, qid=case.qid, metrics=["map", "err@10"]) for one in seeds]
    assert comparison["map"].mean == pytest.approx(np.mean([one["map"] for one in results]), abs=1e-14)
    assert comparison.seeds["new"]["map"].tolist() == [one["map"] for one in results]
    as_results = ltr.compare({"base": case.evaluate("base"), "new": results}, metrics=["map", "err@10"], **FEW)
    assert as_results.rows == comparison.rows


def test_a_saved_result_is_a_baseline_whatever_its_order(case: Case, tmp_path: Path) -> None:
    backwards = np.arange(len(case.y))[::-1]
    saved = ltr.evaluate(case.y[backwards], case.models["base"][backwards], qid=case.qid[backwards], metrics=METRICS)
    saved.save(tmp_path / "live.parquet")
    live = ltr.load_result(tmp_path / "live.parquet")
    expected = case.compare("base", "new").rows
    mixed = ltr.compare({"base": live, "new": case.models["new"]}, case.y, qid=case.qid, **FEW)
    assert mixed.rows == expected
    assert mixed.qid.tolist() == list(dict.fromkeys(case.qid.tolist()))
    among_results = ltr.compare({"base": live, "new": case.evaluate("new")}, **FEW)
    assert [(row.metric, row.difference) for row in among_results.rows] == [
        (row.metric, pytest.approx(row.difference, abs=1e-15)) for row in expected
    ]


def test_a_convention_holds_for_results_too(case: Case) -> None:
    options: dict[str, Any] = {"metrics": "map@10", "convention": "trec_eval", "ties": "mean"}
    live = case.evaluate("base", **options)
    mixed = ltr.compare({"live": live, "new": case.models["new"]}, case.y, qid=case.qid, **options, **FEW)
    assert mixed.metrics == ["map(denominator=relevant)@10"]
    assert mixed["map@10"].mean == case.evaluate("new", **options)["map@10"]
    assert ltr.compare({"live": live, "new": live}, metrics="map@10", **FEW).metrics == mixed.metrics


def changed_grade(case: Case) -> ltr.Evaluation:
    case.y[0] += 1
    return case.evaluate("base")


UNLIKE: list[tuple[Callable[[Case], ltr.Evaluation], str]] = [
    (changed_grade, r"judged documents or their grades differ in query"),
    (lambda case: case.evaluate("base").subset(range(2, 81)), "different queries from the other.*lacks query 1"),
    (lambda case: case.evaluate("base", ties="stable"), "ties='stable', but the other models with ties='mean'"),
    (lambda case: case.evaluate("base", no_relevant=0), "no_relevant=0.0, but .* with no_relevant='skip'"),
    (lambda case: case.evaluate("base", metrics=["map", "mrr"]), r"lacks ndcg_exp@10; it has map, mrr"),
    (lambda case: case.evaluate("base", query_weight=np.arange(80)), "different query weights .* which have none"),
]


@pytest.mark.parametrize(("other", "message"), UNLIKE)
def test_results_of_other_data_or_options_are_refused(
    other: Callable[[Case], ltr.Evaluation], message: str, case: Case
) -> None:
    result = other(Case())
    with pytest.raises(ltr.LtrValueError, match=message) as error:
        ltr.compare({"new": case.models["new"], "live": result}, case.y, qid=case.qid, metrics=METRICS)
    assert "'live'" in str(error.value)
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.compare({"new": case.evaluate("new"), "live": result}, metrics=METRICS)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"models": {}}, "at least|two models or more"),
    ({"baseline": "bsae"}, "no model 'bsae'.*Did you mean 'base'"),
    ({"confidence": 95}, "confidence must be a number between 0 and 1"),
    ({"n_resamples": 99}, "n_resamples must be a whole number of at least 100; 10000 is usual.* Got 99"),
    ({"cluster": [1, 2]}, "cluster must have one label per query"),
    ({"n_resample": 10}, "compare has no option 'n_resample'.*Did you mean 'n_resamples'"),
    ({"query_weight": np.zeros(80)}, "All query weights are 0"),
    ({"cluster": ["one"] * 80}, "All 80 queries are of one cluster"),
    ({"y_true": None}, "y_true is needed"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input(change: dict[str, Any], message: str, case: Case) -> None:
    arguments = {"models": case.models, "y_true": case.y, "qid": case.qid, "metrics": METRICS} | change
    with pytest.raises(ltr.LtrError, match=message):
        ltr.compare(arguments.pop("models"), arguments.pop("y_true"), **arguments)


def test_what_has_no_part_among_results_is_refused(case: Case) -> None:
    results = {name: case.evaluate(name) for name in ("base", "new")}
    with pytest.raises(ltr.LtrTypeError, match="is not used in a comparison"):
        ltr.compare(results, ties="mean")
    with pytest.raises(ltr.LtrTypeError, match="y_true is not used"):
        ltr.compare(results, case.y)
    with pytest.raises(ltr.LtrValueError, match="'mrr' was not evaluated.*ndcg_exp@10"):
        ltr.compare(results, metrics="mrr")


# -- what comes out --------------------------------------------------------------------------------


def test_changes_are_sorted_and_complete(case: Case) -> None:
    comparison = case.compare()
    change = comparison.changes("map", "new")
    row = comparison["map", "new"]
    assert (len(change.improved), len(change.unchanged), len(change.worsened)) == (row.wins, row.ties, row.losses)
    place = {query: i for i, query in enumerate(comparison.qid.tolist())}
    gains = [change.difference[place[query]] for query in change.improved.tolist()]
    losses = [change.difference[place[query]] for query in change.worsened.tolist()]
    assert gains == sorted(gains, reverse=True)
    assert losses == sorted(losses)
    sentence, table = str(change).split("\n\n")
    assert sentence.startswith(f"map of new against base: {row.wins} queries gain, {row.losses} lose")
    assert f"{row.ties} stay" in sentence
    lines = [line.split() for line in table.splitlines()[2:]]
    expected = zip(change.worsened[:5].tolist(), losses[:5], strict=True)
    assert lines == [[str(qid), f"{loss:+.4f}"] for qid, loss in expected]
    assert change.to_dict()["worsened"] == change.worsened.tolist()


def test_one_infinite_value_is_refused() -> None:
    a, b = (ltr.Evaluation.from_per_query({"qid": [1, 2, 3], "v": [0.5, value, 1]}) for value in (0.5, np.inf))
    with pytest.raises(ltr.LtrValueError, match="result of 'b' has an infinite value in v"):
        ltr.compare({"a": a, "b": b})


@pytest.mark.parametrize("share", [0.8, 1.0])  # of all documents that are judged
@pytest.mark.parametrize("others", ["None", "'zero'"])
def test_unjudged_documents_are_left_out_of_all_models_or_of_none(
    case: Case, others: str, share: float, tmp_path: Path
) -> None:
    """In saved results, too. Where all documents are judged, it makes no difference whether ``judged`` was given."""
    judged = (case.y > 0) | (np.random.default_rng(0).random(len(case.y)) < share)
    base = case.evaluate("base", **({} if others == "None" else {"judged": judged}))
    case.evaluate("new", judged=judged, unjudged="drop").save(tmp_path / "new.parquet")
    results = {"base": base, "new": ltr.load_result(tmp_path / "new.parquet")}
    if others == "None" and share == 1:
        assert ltr.compare(results, metrics=METRICS, **FEW).rows == case.compare("base", "new").rows
        return
    message = f"was evaluated with unjudged='drop', but the other models with unjudged={others} "
    with pytest.raises(ltr.LtrValueError, match=message):
        ltr.compare(results, **FEW)


# -- the queries that all models have ----------------------------------------------------------------


def test_common_queries_have_the_same_judgments(case: Case) -> None:
    def evaluated(name: str, *other_judgments: int) -> ltr.Evaluation:
        rows, y = [np.flatnonzero(case.qid == qid)[0] for qid in other_judgments], case.y.copy()
        y[rows] = (y[rows] + 1) % 5
        return ltr.evaluate(y, case.models[name], qid=case.qid, metrics=METRICS)

    live, new, third = evaluated("base"), evaluated("new", 5, 8, 30), evaluated("random", 12)
    fewer = live.subset(live.qid[live.qid != 8])
    kept = [qid for qid in live.qid.tolist() if qid not in (5, 8, 12, 30)]
    models = {"live": fewer, "new": new, "third": third}
    common = ltr.compare(models, queries="common")
    assert common.rows == ltr.compare({name: one.subset(kept) for name, one in models.items()}).rows
    assert (common.n_left_out, common.n_other_judgments) == ({"live": 3, "new": 4, "third": 4}, 3)
    assert common.to_dict()["n_other_judgments"] == 3
    values = ltr.Evaluation.from_per_query({"qid": live.qid, "map": live.per_query["map"]}, convention="default")
    models = {"values": values, "live": live, "third": third}
    assert ltr.compare(models, metrics="map", queries="common").n_other_judgments == 1
    with pytest.raises(ltr.LtrValueError, match='the judged documents or their grades differ.*queries="common"'):
        ltr.compare({"live": live, "new": new})
    with pytest.raises(ltr.LtrValueError, match="differ in every query that they have in common, 1 in"):
        ltr.compare({"live": live.subset([5]), "new": new}, queries="common")


def test_scores_beside_a_result_of_fewer_queries_with_weights_clusters_and_segments(case: Case) -> None:
    base = case.evaluate("base")
    text = base.subset([str(qid) for qid in base.qid.tolist() if qid != 8])  # ids are the same as text
    n, keep = base.n_queries, base.qid != 8
    labels = {"query_weight": np.linspace(1, 2, n), "cluster": np.arange(n) // 2, "by": np.arange(n) % 2}
    scores = {"live": text, "new": case.models["new"]}
    common = ltr.compare(scores, case.y, qid=case.qid, metrics=METRICS, queries="common", **labels)
    results = {"live": base.subset(base.qid[keep]), "new": case.evaluate("new").subset(base.qid[keep])}
    alone = ltr.compare(results, metrics=METRICS, **{name: label[keep] for name, label in labels.items()})
    assert common.rows == alone.rows
    assert [part.rows for part in common.by.values()] == [part.rows for part in alone.by.values()]
    assert common.by[0].n_left_out == {}


def test_no_query_in_common(case: Case) -> None:
    base = case.evaluate("base")
    halves = {"live": base.subset(base.qid[:40]), "new": base.subset(base.qid[40:])}
    with pytest.raises(ltr.LtrValueError, match="no query in common"):
        ltr.compare(halves, queries="common")


# -- yardsticks and numbers of queries --------------------------------------------------------------------------------


def test_a_yardstick_is_compared_and_not_counted(case: Case) -> None:
    case.models["other"] = case.models["base"] + 0.1 * case.models["new"] ** 2
    weights = np.arange(80) % 3 + 1.0
    options: dict[str, Any] = {"query_weight": weights}
    both, without = case.compare(yardsticks=["random"], **options), case.compare("base", "new", "other", **options)
    assert (both.models, both.candidates) == (["new", "random", "other"], ["new", "other"])
    for row in without.rows:
        assert both[row.metric, row.model] == row
    for row in both.rows:
        if row.model == "random":
            assert row.unweighted is not None
            assert (row.p_adjusted, row.unweighted.p_adjusted) == (row.p_value, row.unweighted.p_value)
    assert both.to_dict()["yardsticks"] == ["random"]
    assert "Yardsticks, which no rule and no correction counts: random." in str(both)
    assert both.subset(both.qid[:40]).yardsticks == ("random",)


@pytest.mark.parametrize("yardstick", ["base", "random"])  # the first and the last, which is a model or its baseline
def test_a_yardstick_is_outside_of_all_pairs(case: Case, yardstick: str) -> None:
    candidates = [name for name in case.models if name != yardstick]
    pairs, without = case.compare(baseline=None, yardsticks=yardstick), case.compare(*candidates)
    of_yardstick = [row for row in pairs.rows if yardstick in (row.model, row.baseline)]
    assert [row.p_adjusted for row in of_yardstick] == [row.p_value for row in of_yardstick]
    assert [row.p_adjusted for row in pairs.rows if row not in of_yardstick] == [row.p_adjusted for row in without.rows]
    assert {row.model for row in pairs.leaderboard.rows} == {"base", "new", "random"}
    assert pairs.description.endswith(f"which no rule and no correction counts, although the ranks do: {yardstick}.")


def test_a_yardstick_of_saved_results(case: Case, tmp_path: Path) -> None:
    for name in case.models:
        case.evaluate(name).save(tmp_path / f"{name}.parquet")
    saved = {name: ltr.load_result(tmp_path / f"{name}.parquet") for name in case.models}
    assert ltr.compare(saved, yardsticks=["random"], **FEW).rows == case.compare(yardsticks=["random"]).rows


@pytest.mark.parametrize(
    ("yardsticks", "kind", "message"),
    [
        (["randon"], ltr.LtrKeyError, "no model 'randon' to be a yardstick. Did you mean 'random'.* There are 'base'"),
        (["base"], ltr.LtrValueError, "'base' is the baseline, .* Name another baseline=, or leave it out of yardst"),
        (3, ltr.LtrTypeError, r"yardsticks must be names of models, such as \['bm25'\]. Got 3"),
    ],
)
def test_what_is_no_yardstick_is_refused(case: Case, yardsticks: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        case.compare(yardsticks=yardsticks)


@pytest.mark.parametrize("options", [{}, {"power": 0.9, "confidence": 0.99}, {"cluster": np.arange(80) // 2}])
def test_the_queries_needed_follow_from_the_minimum_detectable_effect(case: Case, options: dict[str, Any]) -> None:
    comparison = case.compare(**options)
    row = comparison["map", "new"]
    for size in (row.mde, row.mde / 2, row.mde / 1000):
        expected = row.n_queries * (row.mde / size) ** 2
        assert comparison.queries_needed(size)["map"]["new"] == pytest.approx(expected, abs=1)
    percent = comparison.queries_needed("1%")
    assert list(percent) == comparison.metrics
    assert percent["map"]["new"] == comparison.queries_needed(0.01 * row.baseline_mean)["map"]["new"]
    assert comparison.queries_needed(0.99)["map"]["new"] == (8 if "power" in options else 6)  # as few as a gate takes
    with pytest.raises(ltr.LtrValueError, match="A difference of 1 is the whole range of .*, from 0 to 1. .* '1%'"):
        comparison.queries_needed(1)
    assert case.compare(baseline=None).queries_needed(0.01)["map"]["new", "base"] > 80  # type: ignore[operator]


def test_with_fewer_queries_than_now_the_test_has_the_power(case: Case) -> None:
    """With few queries, n (mde / d)^2 is too small, because a t test has fewer degrees of freedom."""
    comparison, power = case.compare(), TTestPower().power
    sd = np.nanstd(comparison.differences("map", "new"), ddof=1)
    for effect in (0.5, 1, 1.5):
        n = comparison.queries_needed(effect * sd)["map"]["new"]
        assert n is not None
        assert power(effect, n, 0.05) >= 0.8
        assert n == 6 or power(effect, n - 1, 0.05) < 0.8


def test_where_no_number_of_queries_follows(case: Case) -> None:
    zero = ltr.Evaluation.from_per_query({"qid": np.arange(9), "v": np.zeros(9)})
    one = ltr.Evaluation.from_per_query({"qid": np.arange(9), "v": [0.5] + 8 * [np.nan]})
    assert ltr.compare({"zero": zero, "one": one}, **FEW).queries_needed(0.1) == {"v": {"one": None}}
    up = ltr.Evaluation.from_per_query({"qid": np.arange(9), "v": np.arange(9)})
    constant = ltr.Evaluation.from_per_query({"qid": np.arange(9), "v": np.ones(9)})
    comparison = ltr.compare({"zero": zero, "up": up, "constant": constant}, **FEW)
    assert comparison.queries_needed("1%") == {"v": {"up": None, "constant": None}}
    assert comparison.queries_needed(1e-200)["v"]["constant"] == 6  # they do not vary
    assert comparison.queries_needed(1e-200)["v"]["up"] > 10**300  # type: ignore[operator]


@pytest.mark.parametrize("difference", [0, -0.01, np.nan, np.inf, True, "1 percent", "%", "-1%", "0%", None, [1, 2]])
def test_a_difference_that_is_no_size_is_refused(case: Case, difference: Any) -> None:
    with pytest.raises(ltr.LtrValueError, match=r"must be a finite number above 0, in units .* \('1%'\). Got"):
        case.compare().queries_needed(difference)


# -- relative changes -------------------------------------------------------------------------------------------------


def slow_ratio(difference: Any, baseline: Any, weight: Any) -> Any:
    return (weight * difference).sum() / (weight * baseline).sum()


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_of_a_relative_change_is_that_of_a_ratio(*, weighted: bool, clustered: bool) -> None:
    """The reference leaves one unit out of the ratio at a time, and another one resamples it."""
    X, y, qid = ltr.make_ranking(n_queries=400, random_state=0)
    ids, rng = np.unique(qid), np.random.default_rng(0)
    weight = rng.uniform(0.5, 1.5, len(ids)) if weighted else np.ones(len(ids))
    cluster = np.arange(len(ids)) // 2 if clustered else None
    models = {"base": X[:, 1], "new": X[:, 1] + 0.2 * X[:, 0]}
    options = {"query_weight": weight if weighted else None, "cluster": cluster, "metrics": "ndcg@10"}
    comparison = ltr.compare(models, y, qid=qid, **options)
    change, row = comparison.relative["ndcg_exp@10"]["new"], comparison["ndcg@10"]
    difference = comparison.differences("ndcg@10")
    known = ~np.isnan(difference)
    of_base = comparison.evaluations["base"].per_query["ndcg@10"][known]
    unit = (np.arange(len(ids)) if cluster is None else cluster)[known]
    difference, w = difference[known], weight[known]
    assert change.value == row.difference / row.baseline_mean
    assert change.value == pytest.approx(slow_ratio(difference, of_base, w))
    units = np.unique(unit)
    left_out = np.array([slow_ratio(difference[unit != one], of_base[unit != one], w[unit != one]) for one in units])
    n = len(units)
    jackknife = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    t = stats.t.ppf(0.975, row.n_effective - 1)
    assert (change.ci_low, change.ci_high) == pytest.approx(
        (change.value - t * jackknife, change.value + t * jackknife), rel=0.08
    )
    rows_of = {one: np.flatnonzero(unit == one) for one in units}
    samples = [np.concatenate([rows_of[one] for one in rng.choice(units, n)]) for _ in range(2_000)]
    resampled = [slow_ratio(difference[rows], of_base[rows], w[rows]) for rows in samples]
    assert (change.ci_low, change.ci_high) == pytest.approx(np.quantile(resampled, [0.025, 0.975]), rel=0.08)
    naive = np.array([row.ci_low, row.ci_high]) / row.baseline_mean  # the baseline's mean is uncertain as well
    assert np.ptp(naive) != pytest.approx(change.ci_high - change.ci_low, rel=0.02)


def test_a_relative_change_agrees_with_a_relative_gate() -> None:
    X, y, qid = ltr.make_ranking(n_queries=300, random_state=0)
    models = {"base": X[:, 0], "new": X[:, 0] + 0.02 * X[:, 1]}
    comparison = ltr.compare(models, y, qid=qid, metrics=["ndcg@10", "mrr"])
    for metric in ("NDCG@10", "mrr"):
        change = comparison.relative[metric]["new"]
        for limit in (-50, 100 * change.ci_low - 1e-6, 100 * change.ci_low + 1e-6, 0, 50):
            (check,) = ltr.gate(comparison, f"{metric} > {limit:.8f}%").checks
            assert check.passed == (limit / 100 < change.ci_low)
            assert (check.value, check.bound) == (change.value, change.ci_low)  # whatever the limit
        (check,) = ltr.gate(comparison, f"{metric} < 50%").checks
        assert check.bound == change.ci_high


def test_a_relative_change_needs_a_mean_above_0() -> None:
    y, qid, scores = [0, 1, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3], {"base": [2, 1] * 3, "new": [1, 2, 2, 1, 1, 2]}
    comparison = ltr.compare(scores, y, qid=qid, metrics=["mrr", "precision@1"])
    change = comparison.relative["Precision@1"]["new"]
    assert np.isnan([change.value, change.ci_low, change.ci_high]).all()
    assert change.reason == "the baseline's mean is 0, and a share of it needs one above 0"
    change = comparison.relative["mrr"]["new"]
    assert change.value == pytest.approx((5 / 6 - 1 / 2) / (1 / 2))
    assert change.reason == "the baseline has a value other than 0 in 3 queries, and a share of its mean needs 6"
    assert (change.to_dict()["ci_low"], change.to_dict()["ci_high"]) == (None, None)
    pairs = ltr.compare(scores | {"other": [1, 2] * 3}, y, qid=qid, metrics="mrr", baseline=None).relative["mrr"]
    assert list(pairs) == [("new", "base"), ("other", "base"), ("other", "new")]
