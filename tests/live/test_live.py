"""Conventions against the live systems that they are named after, on random queries.

``make conformance`` installs the systems in several environments, since some exclude each other's versions. A
system that is not installed is skipped. Each function below returns a system and its convention.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from live.harness import (
    CUTOFFS,
    DIGITS_OF_5_DECIMALS,
    DIGITS_OF_FLOAT32,
    MOST_DOCUMENTS,
    Difference,
    Query,
    System,
    Values,
    at_cutoffs,
    draws,
    faults,
    run_program,
    split,
)

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.integration, pytest.mark.filterwarnings("ignore")]

PROGRAMS = Path(__file__).parent / "programs"
NO_RELEVANT: Callable[[Query], bool] = lambda query: not query.relevant  # noqa: E731


def pandas_rows(queries: list[Query]) -> tuple[list[tuple[str, str, float]], list[tuple[str, str]]]:
    """Return query, document and score of the retrieved documents, and query and document of the relevant ones."""
    scored = [(query.qid, *pair) for query in queries for pair in query.score_of.items()]
    return scored, [(query.qid, docid) for query in queries for docid in query.relevant]


def each(value: Callable[[Query, str, int], float]) -> Callable[[list[Query], Sequence[str]], Values]:
    """Return the values of a system that has one query, metric and cutoff at a time."""
    return lambda queries, names: {name: [value(query, *split(name)) for query in queries] for name in names}


# -- rankings --------------------------------------------------------------------------------------


def ranx() -> System:
    """Its sort is not stable, so ties are left out.

    Its bpref is left out as well. In version 0.3.21, the query after one without a relevant document has
    the value 0, and so have the further queries of the same thread.
    """
    ranx = pytest.importorskip("ranx")
    same = {name: name for name in ("dcg", "ndcg", "map", "mrr", "precision", "recall", "f1")}
    same |= {"dcg_burges": "dcg_exp", "ndcg_burges": "ndcg_exp", "hit_rate": "hit"}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        run = ranx.Run({query.qid: query.score_of for query in queries})
        ranx.evaluate(ranx.Qrels({query.qid: query.grade_of for query in queries}), run, list(names))
        return {name: [run.scores[name][query.qid] for query in queries] for name in names}

    further = {"r-precision": "rprec", "rbp.50": "rbp(p=0.5)", "rbp.95": "rbp(p=0.95)"}
    return System("ranx", same | at_cutoffs(same) | further, values, draws(ties="no"))


def pytrec_eval() -> System:
    """trec_eval, by the package pytrec-eval-terrier, which PyTerrier calls."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    whole = {"map": "map", "ndcg": "ndcg", "recip_rank": "mrr", "Rprec": "rprec", "set_F": "f1", "bpref": "bpref"}
    cut = {"map_cut": "map", "ndcg_cut": "ndcg", "P": "precision", "recall": "recall", "success": "hit"}
    measures = {*whole, *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in cut)}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        evaluator = pytrec_eval.RelevanceEvaluator({query.qid: query.grade_of for query in queries}, measures)
        results = evaluator.evaluate({query.qid: query.score_of for query in queries})
        return {name: [results[query.qid][name.replace("@", "_")] for query in queries] for name in names}

    return System("pytrec_eval", whole | at_cutoffs(cut), values, draws())


def ir_measures() -> System:
    """It asks trec_eval."""
    ir_measures = pytest.importorskip("ir_measures")

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        measures = {ir_measures.parse_measure(name): name for name in names}
        qrels, run = ({q.qid: getattr(q, of) for q in queries} for of in ("grade_of", "score_of"))
        of_query: dict[str, dict[str, float]] = {name: {} for name in names}
        for value in ir_measures.iter_calc(list(measures), qrels, run):
            of_query[measures[value.measure]][value.query_id] = value.value
        return {name: [of_query[name].get(query.qid, np.nan) for query in queries] for name in names}

    whole = {"nDCG": "ndcg", "AP": "map", "RR": "mrr", "Rprec": "rprec", "Bpref": "bpref"}
    cut = {"nDCG": "ndcg", "AP": "map", "P": "precision", "R": "recall", "Success": "hit"}
    return System("ir_measures", whole | at_cutoffs(cut), values, draws())


def ir_measures_rr() -> System:
    """RR@k, which the script of MS MARCO computes.

    Of documents with equal scores, that script has the ascending ids first, and trec_eval the
    descending ones. Here each document gets an id with which the one order is the other.
    """
    original = ir_measures()

    def renamed(query: Query) -> Query:
        reverse = {docid: number for number, docid in enumerate(sorted(query.docids, reverse=True))}
        return dataclasses.replace(query, docids=[f"d{reverse[docid]:03}" for docid in query.docids])

    return dataclasses.replace(
        original,
        metrics=at_cutoffs({"RR": "mrr"}),
        values=lambda queries, names: original.values(list(map(renamed, queries)), names),
    )


def gdeval() -> System:
    """Exponential nDCG and ERR of ir_measures. gdeval prints five decimals, and wants numbers as query ids."""
    original = ir_measures()
    if shutil.which("perl") is None:
        pytest.skip("gdeval needs Perl, which is not installed")
    names = {"nDCG(dcg='exp-log2')": "ndcg", "ERR": "err"}
    sentence = "A query without a relevant document counts 0; gdeval itself leaves it out."
    return dataclasses.replace(
        original,
        convention="gdeval",
        metrics=at_cutoffs(names, (1, 10, 20)),
        values=lambda queries, names: original.values(
            [dataclasses.replace(query, qid=str(number)) for number, query in enumerate(queries, 1)], names
        ),
        tolerance=DIGITS_OF_5_DECIMALS,
        difference=Difference(frozenset(names), sentence, NO_RELEVANT, 0.0),
    )


def kaggle() -> System:
    """MAP@K: ml_metrics.apk, of Ben Hamner's Metrics."""
    apk = pytest.importorskip("ml_metrics").apk
    sentence = "The release 0.1.4 gives 1 to a query without a relevant document; its source gives 0 since 2015."
    return System(
        "kaggle",
        {"mapk": "map"} | at_cutoffs({"mapk": "map"}),
        each(lambda query, _, k: apk(query.relevant, query.ranking, k or 10)),
        draws(graded="no"),
        difference=Difference(frozenset({"mapk"}), sentence, NO_RELEVANT, 1.0),
    )


def vespa() -> System:
    """VespaEvaluator of pyvespa. An object with our hits takes the place of a server."""
    evaluator = pytest.importorskip("vespa.evaluation").VespaEvaluator
    logging.getLogger("vespa.evaluation._base").setLevel(logging.WARNING)
    names = {"accuracy": "hit", **{name: name for name in ("precision", "recall", "mrr", "ndcg", "map")}}
    options = ("accuracy_at_k", "precision_recall_at_k", "mrr_at_k", "ndcg_at_k", "map_at_k")

    def of_query(query: Query) -> dict[str, float]:
        score_of = query.score_of
        hits = [{"id": f"id:ns:doc::{docid}", "relevance": score_of[docid]} for docid in query.ranking]
        response = SimpleNamespace(status_code=200, hits=hits, get_json=dict)
        made = evaluator(
            queries={query.qid: query.qid},
            relevant_docs={query.qid: set(query.relevant)},
            vespa_query_fn=lambda text, top_k: {"qid": text, "hits": top_k},
            app=SimpleNamespace(query_many=lambda bodies, **_: [response for _ in bodies]),
            **{option: list(CUTOFFS) for option in options},
        )
        return made.run() if made.queries_ids else {}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        results = list(map(of_query, queries))
        return {name: [result.get(name, np.nan) for result in results] for name in names}

    return System("vespa", at_cutoffs(names), values, draws(graded="no"))


def rectools() -> System:
    """Metrics of tables of recommendations, which have ranks, and of interactions."""
    metrics, pd = pytest.importorskip("rectools.metrics"), pytest.importorskip("pandas")
    names = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall"}
    names |= {"F1Beta": "f1", "HitRate": "hit"}
    variants = {"NDCG_achievable": ("NDCG", {"divide_by_achievable": True}), "MAP_by_k": ("MAP", {"divide_by_k": True})}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        ranked = [(query.qid, docid, rank) for query in queries for rank, docid in enumerate(query.ranking, 1)]
        reco = pd.DataFrame(ranked, columns=["user_id", "item_id", "rank"])
        interactions = pd.DataFrame(pandas_rows(queries)[1], columns=["user_id", "item_id"])
        found = {}
        for name in names:
            metric, k = split(name)
            cls, options = variants.get(metric, (metric, {}))
            of_user = getattr(metrics, cls)(k=k, **options).calc_per_user(reco, interactions)
            found[name] = [of_user.get(query.qid, np.nan) for query in queries]
        return found

    names |= {"NDCG_achievable": "ndcg(ideal=cutoff)", "MAP_by_k": "map(denominator=cutoff)"}
    return System("rectools", at_cutoffs(names), values, draws(graded="no"))


def quepid() -> System:
    """Its scorers, under node: QUEPID is the folder of a checkout of o19s/quepid, such as of commit f80322f3.

    Quepid shows two decimals; here the scorers' numbers are compared before that. The cutoff stands in
    each scorer's line that ends in ``// @Rank``, and is changed there.
    """
    folder = Path(os.environ.get("QUEPID", ""))
    if not (folder / "db" / "scorers").is_dir() or shutil.which("node") is None:
        pytest.skip("QUEPID is not the folder of a checkout of github.com/o19s/quepid, or node is not installed")
    highest = 3  # of Quepid's ERR@10

    def code(name: str) -> str:
        metric, k = split(name)
        text = (folder / "db" / "scorers" / f"{metric}@10.js").read_text(encoding="utf-8")
        changed, n = re.subn(r"= 10\b(?=.*// @Rank)", f"= {k}", text)
        assert n == 1, f"{metric}@10.js has {n} lines with // @Rank"
        return changed

    def rated(query: Query) -> dict[str, object]:
        grade_of = query.grade_of
        docs = [{"rating": grade_of[docid]} for docid in query.ranking]
        best = [{"rating": grade} for grade in sorted(grade_of.values(), reverse=True)]
        return {"docs": docs, "bestDocs": best, "max": highest}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        request = {
            "logic": (folder / "lib" / "scorer_logic.js").read_text(encoding="utf-8"),
            "scorers": {name: code(name) for name in names},
            "queries": list(map(rated, queries)),
        }
        scores = json.loads(run_program(["node", PROGRAMS / "quepid.js"], json.dumps(request)))
        return {name: [np.nan if score is None else score for score in scores[name]] for name in names}

    names = {"ndcg": "ndcg", "ndcg_cut": "ndcg(ideal=cutoff)", "dcg": "dcg", "cg": "cg", "ap": "map"}
    sentence = "Average precision of a query without a relevant document is 0/0 there."
    return System(
        "quepid",
        at_cutoffs(names | {"p": "precision", "rr": "mrr", "err": "err"}),
        values,
        draws(),
        highest_grade=highest,
        difference=Difference(frozenset({"ap"}), sentence, NO_RELEVANT, np.nan),
    )


def ranklib() -> System:
    """Its scorers, under Java: RANKLIB is the folder of a checkout of codelibs/ranklib, such as of commit e43f605f.

    Its reciprocal rank is a float32, the other values are float64. Its MAP ignores the cutoff.
    """
    sources = Path(os.environ.get("RANKLIB", "")) / "src" / "main" / "java"
    if not sources.is_dir() or shutil.which("javac") is None:
        pytest.skip("RANKLIB is not the folder of a checkout of github.com/codelibs/ranklib, or javac is not installed")

    @cache
    def compiled() -> str:
        folder, program = tempfile.mkdtemp(prefix="ranklib"), PROGRAMS / "RankLibScores.java"
        run_program(["javac", "-nowarn", "-encoding", "UTF-8", "-d", folder, "-sourcepath", sources, program])
        return folder

    def line(query: Query) -> str:
        pairs = zip(query.grades.tolist(), query.scores.tolist(), strict=True)
        return " ".join([query.qid, *(f"{grade}:{score!r}" for grade, score in pairs)]) + "\n"

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        printed = run_program(["java", "-cp", compiled(), "RankLibScores", *names], "".join(map(line, queries)))
        return {name: list(map(float, row.split())) for name, row in zip(names, printed.splitlines(), strict=True)}

    names = {"NDCG": "ndcg", "DCG": "dcg", "P": "precision", "RR": "mrr", "ERR": "err"}
    kept = {"RR": DIGITS_OF_FLOAT32}
    return System("ranklib", {"MAP": "map"} | at_cutoffs(names), values, draws(unretrieved="no"), tolerance_of=kept)


# -- torch -----------------------------------------------------------------------------------------


def torchmetrics() -> System:
    """The functional interface of its retrieval metrics, in float32."""
    torch, retrieval = pytest.importorskip("torch"), pytest.importorskip("torchmetrics.functional.retrieval")

    def value(query: Query, metric: str, k: int) -> float:
        options = {"top_k": k} if k else {}
        scores, grades = torch.tensor(query.scores), torch.tensor(query.grades)
        return float(getattr(retrieval, f"retrieval_{metric}")(scores, grades, **options))

    names = {"average_precision": "map", "reciprocal_rank": "mrr", "precision": "precision", "recall": "recall"}
    names |= {"hit_rate": "hit", "normalized_dcg": "ndcg"}
    metrics = names | at_cutoffs(names) | {"r_precision": "rprec"}
    return System("torchmetrics", metrics, each(value), draws("no", "no", "no"), DIGITS_OF_FLOAT32)


def torchmetrics_ndcg() -> System:
    """Its NDCG has graded labels, and averages ties as we do."""
    metrics = {"normalized_dcg": "ndcg"} | at_cutoffs({"normalized_dcg": "ndcg"})
    return dataclasses.replace(torchmetrics(), metrics=metrics, draws=draws(unretrieved="no"))


def keras_rs() -> System:
    """In float32, on the torch backend. It shuffles ties, so they are left out."""
    os.environ["KERAS_BACKEND"] = "torch"
    metrics = pytest.importorskip("keras_rs").metrics

    def value(query: Query, metric: str, k: int) -> float:
        return float(getattr(metrics, metric)(k=k or None)(query.grades[None], query.scores[None]))

    names = {"NDCG": "ndcg", "DCG": "dcg", "MeanAveragePrecision": "map", "MeanReciprocalRank": "mrr"}
    names |= {"PrecisionAtK": "precision", "RecallAtK": "recall"}
    allowed = draws(ties="no", unretrieved="no")
    return System("keras_rs", names | at_cutoffs(names, (1, 2, 10)), each(value), allowed, DIGITS_OF_FLOAT32)


def recbole() -> System:
    """Its metrics' metric_info, before it rounds to four decimals. It ignores users without a positive item."""
    vars(np).setdefault("float", float)  # a name that NumPy no longer has, and RecBole 1.2.1 still uses
    metrics = pytest.importorskip("recbole.evaluator.metrics")
    config = {"topk": list(CUTOFFS), "metric_decimal_place": 4}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        counted = [number for number, query in enumerate(queries) if query.relevant]
        hits = np.zeros((len(counted), max(CUTOFFS)), dtype=bool)
        for row, number in enumerate(counted):
            relevant = queries[number].relevant
            flags = [docid in relevant for docid in queries[number].ranking[: max(CUTOFFS)]]
            hits[row, : len(flags)] = flags
        lengths = np.array([len(queries[number].relevant) for number in counted])
        found = {}
        for name in names:
            metric, k = split(name)
            arguments = (hits, lengths) if metric in ("NDCG", "MAP", "Recall") else (hits,)
            of_query = np.full(len(queries), np.nan)
            of_query[counted] = getattr(metrics, metric)(config).metric_info(*arguments)[:, k - 1]
            found[name] = of_query.tolist()
        return found

    names = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Recall": "recall", "Precision": "precision", "Hit": "hit"}
    return System("recbole", at_cutoffs(names), values, draws("no", "no"))


# -- spark -----------------------------------------------------------------------------------------


def spark_mllib() -> System:
    """RankingMetrics of lists of ids. It gives means, so data sets are compared."""
    builder = pytest.importorskip("pyspark.sql").SparkSession.builder.master("local[1]")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    ranking_metrics = pytest.importorskip("pyspark.mllib.evaluation").RankingMetrics
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR").getOrCreate()

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        pairs = [(query.ranking, query.relevant) for query in queries]
        metrics = ranking_metrics(session.sparkContext.parallelize(pairs, 1))

        def value(name: str) -> float:
            metric, k = split(name)
            return float(getattr(metrics, metric)(k) if k else metrics.meanAveragePrecision)

        return {name: [value(name)] for name in names}

    names = {"ndcgAt": "ndcg", "meanAveragePrecisionAt": "map", "precisionAt": "precision", "recallAt": "recall"}
    metrics = {"meanAveragePrecision": "map"} | at_cutoffs(names)
    return System("spark_mllib", metrics, values, draws(graded="no"), gives_means=True)


def replay() -> System:
    """Its metrics on pandas tables, which order equal ratings by descending item ids."""
    metrics, pd = pytest.importorskip("replay.metrics"), pytest.importorskip("pandas")

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        rated, liked = pandas_rows(queries)
        recommendations = pd.DataFrame(rated, columns=["query_id", "item_id", "rating"])
        truth = pd.DataFrame(liked, columns=["query_id", "item_id"])
        found = {}
        for metric in dict.fromkeys(split(name)[0] for name in names):
            results = getattr(metrics, metric)(list(CUTOFFS), mode=metrics.PerUser())(recommendations, truth)
            for k in CUTOFFS:
                of_user = results[f"{metric}-PerUser@{k}"]
                found[f"{metric}@{k}"] = [of_user.get(query.qid, np.nan) for query in queries]
        return found

    names = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall", "HitRate": "hit"}
    return System("replay", at_cutoffs(names), values, draws(graded="no"))


# -- tensorflow ------------------------------------------------------------------------------------


def padded(queries: Sequence[Query]) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores as matrices; a label of -1 is padding."""
    labels = np.full((len(queries), MOST_DOCUMENTS), -1, dtype=np.float32)
    scores = np.zeros_like(labels)
    for row, query in enumerate(queries):
        labels[row, : len(query.grades)] = query.grades
        scores[row, : len(query.grades)] = query.scores
    return labels, scores


def tf_ranking() -> System:
    """tfr.metrics, in float32. It shuffles ties, so they are left out."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    metrics = pytest.importorskip("tensorflow_ranking.python.metrics_impl")
    classes = {"MAP": "MeanAveragePrecision", "Hits": "Hits", "BPref": "BPref"}

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        labels, scores = padded(queries)
        found = {}
        for name in names:
            metric, k = split(name)
            made = getattr(metrics, f"{classes.get(metric, metric)}Metric")(name, k or None)
            found[name] = made.compute(labels, scores)[0].numpy()[:, 0].tolist()
        return found

    names = {"NDCG": "ndcg", "DCG": "dcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall"}
    named = names | {"BPref": "bpref"} | at_cutoffs(names | {"Hits": "hit"})
    return System("tf_ranking", named, values, draws(ties="no", unretrieved="no"), DIGITS_OF_FLOAT32)


def tf_ranking_opa() -> System:
    """Its ordered pair accuracy has a mean over pairs, and tied pairs count 0."""
    original = tf_ranking()
    opa = pytest.importorskip("tensorflow_ranking.python.metrics_impl").OPAMetric

    def values(queries: list[Query], names: Sequence[str]) -> Values:
        accuracy, n_pairs = (one.numpy() for one in opa("OPA").compute(*padded(queries)))
        return {name: [float((accuracy * n_pairs).sum() / n_pairs.sum())] for name in names}

    allowed = draws(unretrieved="no")
    return dataclasses.replace(
        original, metrics={"OPA": "pair_accuracy"}, values=values, draws=allowed, gives_means=True
    )


SYSTEMS = (
    *(ranx, pytrec_eval, ir_measures, ir_measures_rr, gdeval, kaggle, vespa, rectools, quepid, ranklib),
    *(torchmetrics, torchmetrics_ndcg, keras_rs, recbole),
    *(spark_mllib, replay, tf_ranking, tf_ranking_opa),
)


@pytest.fixture(autouse=True)
def stop_spark() -> Iterator[None]:
    """Leave no session to the tests of Spark, which want their own."""
    yield
    spark = sys.modules.get("pyspark.sql")
    if spark is not None and (session := spark.SparkSession.getActiveSession()) is not None:
        session.stop()


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.__name__)
def test_the_convention_gives_the_numbers_of_the_system(system: Callable[[], System]) -> None:
    assert faults(system()) == []


def test_a_difference_is_found() -> None:
    original = pytrec_eval()
    wrong = dataclasses.replace(original, convention="sklearn", metrics={"ndcg": "ndcg"})
    assert any("there" in fault for fault in faults(wrong))
    unseen = Difference(frozenset({"map"}), "Nothing.", lambda query: False, 0.0)
    assert faults(dataclasses.replace(original, metrics={"map": "map"}, difference=unseen)) == [
        "The stated difference is no longer seen: Nothing."
    ]
