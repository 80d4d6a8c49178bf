"""The table of peers: each system, the convention that reproduces it, and how to ask for its values.

`test_peers.py` compares each row with the system, as far as it is installed. Those of `pip install -e .[test]` are
compared in every run; ``make conformance`` installs the others in several environments, since some exclude each other's
versions. A function of a peer returns its values, by its own names, for random queries.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from peers.harness import (
    BINARY,
    CUTOFFS,
    DIGITS_OF_5_DECIMALS,
    DIGITS_OF_FLOAT32,
    FRACTIONS,
    GRADED,
    MOST_DOCUMENTS,
    Difference,
    Peer,
    Query,
    Values,
    at_cutoffs,
    draws,
    run_program,
    split,
)

PROGRAMS = Path(__file__).parent / "programs"
NO_RELEVANT: Callable[[Query], bool] = lambda query: not query.relevant  # noqa: E731


def pandas_rows(queries: list[Query]) -> tuple[list[tuple[str, str, float]], list[tuple[str, str]]]:
    """Return query, document and score of the retrieved documents, and query and document of the relevant ones."""
    scored = [(query.qid, *pair) for query in queries for pair in query.score_of.items()]
    return scored, [(query.qid, docid) for query in queries for docid in query.relevant]


def each(value: Callable[[Query, str, int], float]) -> Callable[[list[Query], Sequence[str]], Values]:
    """Return the values of a system that has one query, metric and cutoff at a time."""
    return lambda queries, names: {name: [value(query, *split(name)) for query in queries] for name in names}


def rows(queries: list[Query]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return the grades, the scores and the sizes of all queries, as training libraries take them."""
    grades, scores = (np.concatenate([getattr(query, of) for query in queries]) for of in ("grades", "scores"))
    return grades.astype(float), scores, [len(query.docids) for query in queries]


def weights(queries: list[Query]) -> np.ndarray | None:
    """Return the weight of each query, or None if all are 1."""
    found = np.array([query.weight for query in queries])
    return None if (found == 1).all() else found


PLAIN = partial(draws, unretrieved="no")  # systems that know no document without a score

# -- training libraries ------------------------------------------------------------------------------------------------


def lightgbm(queries: list[Query], names: Sequence[str], **params: Any) -> Values:
    """A training that cannot split, so that the scores are those given as init_score."""
    lgb = import_module("lightgbm")
    grades, scores, sizes = rows(queries)
    weight = weights(queries)
    history: dict[str, Any] = {}
    data = lgb.Dataset(
        np.arange(len(grades), dtype=float)[:, None], grades, group=sizes, init_score=scores,
        weight=None if weight is None else np.repeat(weight, sizes), params={"feature_pre_filter": False},
    )  # fmt: skip
    params = {"objective": "lambdarank", "metric": sorted({split(name)[0] for name in names}), "eval_at": CUTOFFS,
              "min_data_in_leaf": 10**6, "feature_pre_filter": False, "num_threads": 1, "verbose": -1} | params  # fmt: skip
    lgb.train(params, data, 1, [data], ["all"], callbacks=[lgb.record_evaluation(history)])
    return {name: history["all"][name] for name in names}


def xgboost(queries: list[Query], names: Sequence[str], suffix: str = "", **params: Any) -> Values:
    """A training whose one tree adds nothing to the scores, which are given as base_margin."""
    xgb = import_module("xgboost")
    grades, scores, sizes = rows(queries)
    data = xgb.DMatrix(scores[:, None], grades, group=sizes, base_margin=scores, weight=weights(queries))
    asked = [name + suffix for name in names]
    params = {"objective": "rank:ndcg", "eval_metric": asked, "learning_rate": 0.0, "nthread": 1} | params
    line = xgb.train(params, data, 1).eval(data)
    shown = {m[1]: float(m[2]) for m in re.finditer(r"eval-([\w@-]+):([\d.e+-]+)", line)}
    return {name: [shown[name + suffix]] for name in names}


CATBOOST = {
    "ndcg": "NDCG:type=Base;", "ndcg_exp": "NDCG:type=Exp;", "dcg": "DCG:type=Base;", "dcg_exp": "DCG:type=Exp;",
    "map": "MAP:", "mrr": "MRR:", "precision": "PrecisionAt:", "recall": "RecallAt:", "pfound": "PFound:decay=0.85;",
    "err": "ERR:",
}  # fmt: skip
CATBOOST_NAMES = {name: name for name in CATBOOST}


def catboost(queries: list[Query], name: str) -> float:
    """Return a mean. CatBoost keeps labels, but not scores, as float32."""
    grades, scores, sizes = rows(queries)
    weight, (metric, k) = weights(queries), split(name)
    options = {} if weight is None else {"group_weight": np.repeat(weight, sizes)}
    qid, description = np.repeat(np.arange(len(sizes)), sizes), f"{CATBOOST[metric]}top={k or -1}"
    evaluate = import_module("catboost.utils").eval_metric
    return float(evaluate(grades, scores, description, group_id=qid, thread_count=1, **options)[0])


def catboost_queries(queries: list[Query], names: Sequence[str]) -> Values:
    return {name: [catboost([query], name) for query in queries] for name in names}


def catboost_means(queries: list[Query], names: Sequence[str]) -> Values:
    return {name: [catboost(queries, name)] for name in names}


def with_whole(names: dict[str, str], cutoffs: Sequence[int] = (1, 3, 5, 10)) -> dict[str, str]:
    """Return the names without a cutoff, and with each."""
    return names | at_cutoffs(names, cutoffs)


LGB, XGB, CAT = ("lightgbm",), ("xgboost",), ("catboost",)
GAINS = {"linear": [0, 1, 2, 3, 4], "with equal ones": [0, 0, 1, 10, 1000], "above 0": [0.5, 0.5, 0.75, 8, 8]}
BOTH, NDCG = {"ndcg": "ndcg", "map": "map"}, {"ndcg": "ndcg"}
ALL_TIES = "no some all"
OF_LIBRARIES = (
    Peer("lightgbm", "lightgbm", at_cutoffs(BOTH), lightgbm,
         [*PLAIN(GRADED, ties=ALL_TIES), *PLAIN(GRADED, weighted=True)], LGB, gives_means=True),
    Peer("lightgbm's MAP of fractions", "lightgbm", at_cutoffs({"map": "map"}), partial(lightgbm, objective="regression"),
         PLAIN(FRACTIONS), LGB, gives_means=True),
    *(
        Peer(f"lightgbm's label_gain {name}", "lightgbm", at_cutoffs({"ndcg": f"ndcg(gain=[{','.join(map(str, gain))}])"}),
             partial(lightgbm, label_gain=gain), PLAIN(GRADED), LGB, gives_means=True)
        for name, gain in GAINS.items()
    ),
    Peer("xgboost", "xgboost", with_whole(BOTH | {"pre": "precision"}), xgboost,
         [*PLAIN(BINARY, ties=ALL_TIES), *PLAIN(BINARY, weighted=True)], XGB, gives_means=True, most_documents=70),
    Peer("xgboost's metrics with a minus", "xgboost", with_whole(BOTH | {"pre": "precision"}), partial(xgboost, suffix="-"),
         [*PLAIN(BINARY), *PLAIN(BINARY, weighted=True)], XGB, gives_means=True, options={"no_relevant": 0}),
    Peer("xgboost's NDCG of grades", "xgboost", with_whole(NDCG), partial(xgboost, ndcg_exp_gain=True),
         PLAIN(GRADED, ties=ALL_TIES), XGB, gives_means=True, most_documents=70),
    Peer("xgboost's linear NDCG", "xgboost", with_whole({"ndcg": "ndcg_lin"}), partial(xgboost, ndcg_exp_gain=False),
         PLAIN(GRADED, FRACTIONS, ties=ALL_TIES), XGB, gives_means=True, most_documents=70),
    Peer("catboost", "catboost", with_whole({name: name for name in CATBOOST if name not in ("pfound", "err")}, (1, 5)),
         catboost_queries, PLAIN(GRADED, FRACTIONS), CAT, n_queries=20),
    Peer("catboost's cascades", "catboost", with_whole({"pfound": "pfound", "err": "err"}, (1, 5)), catboost_queries,
         PLAIN(FRACTIONS), CAT, tolerance_of={"err": 1e-7}, n_queries=20),  # which takes 1 - label in float32
    Peer("catboost's means", "catboost", with_whole(CATBOOST_NAMES, (1, 5)), catboost_means, PLAIN(FRACTIONS), CAT,
         tolerance_of={"err": 1e-7}, gives_means=True),
    Peer("catboost's weighted means", "catboost",
         {name: name for name in ("ndcg", "ndcg_exp", "dcg", "mrr", "err", "pfound")}, catboost_means,
         PLAIN(FRACTIONS, weighted=True), CAT, tolerance_of={"err": 1e-7}, gives_means=True),
)  # fmt: skip

# -- SciPy and scikit-learn --------------------------------------------------------------------------------------------


def sklearn(query: Query, metric: str, k: int) -> float:
    if len(query.docids) == 1:
        return np.nan  # an error there
    score = getattr(import_module("sklearn.metrics"), f"{metric}_score")
    return float(score([query.grades], [query.scores], k=k or None))


def correlation(query: Query, metric: str, k: int) -> float:
    """SciPy's value; undefined where grades are equal, and 0 where only the scores are (SciPy: NaN)."""
    if len(set(query.grades)) == 1:
        return np.nan
    if len(set(query.scores)) == 1:
        return 0.0
    return float(getattr(import_module("scipy.stats"), metric)(query.grades, query.scores).statistic)


def area_under_roc_curve(query: Query, metric: str, k: int) -> float:
    if len(set(query.grades)) == 1:
        return np.nan
    return float(import_module("sklearn.metrics").roc_auc_score(query.grades, query.scores))


CORRELATIONS = {"kendalltau": "kendall", "spearmanr": "spearman"}
DISTINCT = tuple(np.random.default_rng(0).uniform(size=10_000).tolist())
OF_SCIENTISTS = (
    Peer("sklearn", "sklearn", with_whole({"ndcg": "ndcg", "dcg": "dcg"}, (1, 10, 100)), each(sklearn),
         PLAIN(GRADED, FRACTIONS, ties=ALL_TIES), ("sklearn",), most_documents=60, n_queries=10,
         difference=Difference(frozenset({"ndcg", "dcg"}), "scikit-learn refuses a query of one document.",
                               lambda query: len(query.docids) == 1, np.nan)),
    Peer("scipy", "default", CORRELATIONS, each(correlation), PLAIN(GRADED, FRACTIONS, DISTINCT), ("scipy",),
         n_queries=15),
    Peer("scipy on long lists", "default", CORRELATIONS, each(correlation), PLAIN(GRADED, DISTINCT), ("scipy",),
         most_documents=5000, n_queries=2),
    Peer("sklearn's area under the ROC curve", "default", {"roc_auc_score": "pair_accuracy"}, each(area_under_roc_curve),
         PLAIN(BINARY, ties=ALL_TIES), ("sklearn",), n_queries=15),
)  # fmt: skip

# -- tools for rankings ------------------------------------------------------------------------------------------------


def ranx(queries: list[Query], names: Sequence[str]) -> Values:
    """Its sort is not stable, so ties are left out.

    Its bpref is left out as well. In version 0.3.21, the query after one without a relevant document has
    the value 0, and so have the further queries of the same thread.
    """
    ranx = import_module("ranx")
    run = ranx.Run({query.qid: query.score_of for query in queries})
    ranx.evaluate(ranx.Qrels({query.qid: query.grade_of for query in queries}), run, list(names))
    return {name: [run.scores[name][query.qid] for query in queries] for name in names}


def pytrec_eval(queries: list[Query], names: Sequence[str], relevance_level: int = 1) -> Values:
    """trec_eval, by the package pytrec-eval-terrier, which PyTerrier calls. It keeps scores as float32."""
    cut = {split(name)[0] for name in names if "@" in name}
    measures = {name.partition("@")[0] if name in WHOLE else "iprec_at_recall" for name in names if "@" not in name}
    measures |= {f"{name}.{','.join(map(str, CUTOFFS))}" for name in cut}
    qrels, run = ({query.qid: getattr(query, of) for query in queries} for of in ("grade_of", "score_of"))
    evaluator = import_module("pytrec_eval").RelevanceEvaluator(qrels, measures, relevance_level=relevance_level)
    results = evaluator.evaluate(run)
    return {name: [results[query.qid][name.replace("@", "_")] for query in queries] for name in names}


WHOLE = {
    "map": "map", "ndcg": "ndcg", "recip_rank": "mrr", "Rprec": "rprec", "bpref": "bpref", "11pt_avg": "iprec",
    "set_P": "precision", "set_recall": "recall", "set_F": "f1",
}  # fmt: skip
LEVELS = {f"iprec_at_recall_{level / 10:.2f}": f"iprec(recall={level / 10:g})" for level in range(11)}
AT_CUTOFFS = {"map_cut": "map", "ndcg_cut": "ndcg", "P": "precision", "recall": "recall", "success": "hit"}
TREC_EVAL = WHOLE | LEVELS | at_cutoffs(AT_CUTOFFS)


def from_grade_2_on(name: str) -> str:
    """Return our name of a metric for which relevance begins at the grade 2. trec_eval's ndcg knows no such level."""
    metric, at, k = name.partition("@")
    if metric == "ndcg":
        return name
    return f"{metric[:-1]},rel=2){at}{k}" if metric.endswith(")") else f"{metric}(rel=2){at}{k}"


def ir_measures(queries: list[Query], names: Sequence[str]) -> Values:
    """It asks trec_eval."""
    ir_measures = import_module("ir_measures")
    measures = {ir_measures.parse_measure(name): name for name in names}
    qrels, run = ({q.qid: getattr(q, of) for q in queries} for of in ("grade_of", "score_of"))
    of_query: dict[str, dict[str, float]] = {name: {} for name in names}
    for value in ir_measures.iter_calc(list(measures), qrels, run):
        of_query[measures[value.measure]][value.query_id] = value.value
    return {name: [of_query[name].get(query.qid, np.nan) for query in queries] for name in names}


def ir_measures_rr(queries: list[Query], names: Sequence[str]) -> Values:
    """RR@k, which the script of MS MARCO computes.

    Of documents with equal scores, that script has the ascending ids first, and trec_eval the
    descending ones. Here each document gets an id with which the one order is the other.
    """

    def renamed(query: Query) -> Query:
        reverse = {docid: number for number, docid in enumerate(sorted(query.docids, reverse=True))}
        return dataclasses.replace(query, docids=[f"d{reverse[docid]:03}" for docid in query.docids])

    return ir_measures(list(map(renamed, queries)), names)


def gdeval(queries: list[Query], names: Sequence[str]) -> Values:
    """Exponential nDCG and ERR of ir_measures. gdeval prints five decimals, and wants numbers as query ids."""
    return ir_measures([dataclasses.replace(query, qid=str(i)) for i, query in enumerate(queries, 1)], names)


def kaggle(query: Query, metric: str, k: int) -> float:
    """MAP@K: ml_metrics.apk, of Ben Hamner's Metrics."""
    return float(import_module("ml_metrics").apk(query.relevant, query.ranking, k or 10))


def vespa(queries: list[Query], names: Sequence[str]) -> Values:
    """VespaEvaluator of pyvespa. An object with our hits takes the place of a server."""
    evaluator = import_module("vespa.evaluation").VespaEvaluator
    logging.getLogger("vespa.evaluation._base").setLevel(logging.WARNING)
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

    results = list(map(of_query, queries))
    return {name: [result.get(name, np.nan) for result in results] for name in names}


VARIANTS = {"NDCG_achievable": ("NDCG", {"divide_by_achievable": True}), "MAP_by_k": ("MAP", {"divide_by_k": True})}


def rectools(queries: list[Query], names: Sequence[str]) -> Values:
    """Metrics of tables of recommendations, which have ranks, and of interactions."""
    metrics, pd = import_module("rectools.metrics"), import_module("pandas")
    ranked = [(query.qid, docid, rank) for query in queries for rank, docid in enumerate(query.ranking, 1)]
    reco = pd.DataFrame(ranked, columns=["user_id", "item_id", "rank"])
    interactions = pd.DataFrame(pandas_rows(queries)[1], columns=["user_id", "item_id"])
    found = {}
    for name in names:
        metric, k = split(name)
        cls, options = VARIANTS.get(metric, (metric, {}))
        of_user = getattr(metrics, cls)(k=k, **options).calc_per_user(reco, interactions)
        found[name] = [of_user.get(query.qid, np.nan) for query in queries]
    return found


QUEPID, RANKLIB = (Path(os.environ.get(name, f"no {name}")) for name in ("QUEPID", "RANKLIB"))
QUEPID_GRADE = 3  # the highest of Quepid's ERR@10


def quepid(queries: list[Query], names: Sequence[str]) -> Values:
    """Its scorers, under node: QUEPID is the folder of a checkout of o19s/quepid, such as of commit f80322f3.

    Quepid shows two decimals; here the scorers' numbers are compared before that. The cutoff stands in
    each scorer's line that ends in ``// @Rank``, and is changed there.
    """

    def code(name: str) -> str:
        metric, k = split(name)
        text = (QUEPID / "db" / "scorers" / f"{metric}@10.js").read_text(encoding="utf-8")
        changed, n = re.subn(r"= 10\b(?=.*// @Rank)", f"= {k}", text)
        assert n == 1, f"{metric}@10.js has {n} lines with // @Rank"
        return changed

    def rated(query: Query) -> dict[str, object]:
        grade_of = query.grade_of
        docs = [{"rating": grade_of[docid]} for docid in query.ranking]
        best = [{"rating": grade} for grade in sorted(grade_of.values(), reverse=True)]
        return {"docs": docs, "bestDocs": best, "max": QUEPID_GRADE}

    request = {
        "logic": (QUEPID / "lib" / "scorer_logic.js").read_text(encoding="utf-8"),
        "scorers": {name: code(name) for name in names},
        "queries": list(map(rated, queries)),
    }
    scores = json.loads(run_program(["node", PROGRAMS / "quepid.js"], json.dumps(request)))
    return {name: [np.nan if score is None else score for score in scores[name]] for name in names}


@cache
def compiled_ranklib() -> str:
    folder, program = tempfile.mkdtemp(prefix="ranklib"), PROGRAMS / "RankLibScores.java"
    sources = RANKLIB / "src" / "main" / "java"
    run_program(["javac", "-nowarn", "-encoding", "UTF-8", "-d", folder, "-sourcepath", sources, program])
    return folder


def ranklib(queries: list[Query], names: Sequence[str]) -> Values:
    """Its scorers, under Java: RANKLIB is the folder of a checkout of codelibs/ranklib, such as of commit e43f605f.

    Its reciprocal rank is a float32, the other values are float64. Its MAP ignores the cutoff.
    """

    def line(query: Query) -> str:
        pairs = zip(query.grades.tolist(), query.scores.tolist(), strict=True)
        return " ".join([query.qid, *(f"{grade}:{score!r}" for grade, score in pairs)]) + "\n"

    printed = run_program(["java", "-cp", compiled_ranklib(), "RankLibScores", *names], "".join(map(line, queries)))
    return {name: list(map(float, row.split())) for name, row in zip(names, printed.splitlines(), strict=True)}


BY_RANX = {name: name for name in ("dcg", "ndcg", "map", "mrr", "precision", "recall", "f1")}
BY_RANX |= {"dcg_burges": "dcg_exp", "ndcg_burges": "ndcg_exp", "hit_rate": "hit"}
ONLY_WHOLE = {"r-precision": "rprec", "rbp.50": "rbp(p=0.5)", "rbp.95": "rbp(p=0.95)"}
OF_IR_MEASURES = {"nDCG": "ndcg", "AP": "map", "RR": "mrr", "Rprec": "rprec", "Bpref": "bpref"}
OF_IR_MEASURES |= at_cutoffs({"nDCG": "ndcg", "AP": "map", "P": "precision", "R": "recall", "Success": "hit"})
OF_GDEVAL = {"nDCG(dcg='exp-log2')": "ndcg", "ERR": "err"}
OF_VESPA = {"accuracy": "hit", **{name: name for name in ("precision", "recall", "mrr", "ndcg", "map")}}
OF_RECTOOLS = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall",
               "F1Beta": "f1", "HitRate": "hit", "NDCG_achievable": "ndcg(ideal=cutoff)",
               "MAP_by_k": "map(denominator=cutoff)"}  # fmt: skip
OF_QUEPID = {"ndcg": "ndcg", "ndcg_cut": "ndcg(ideal=cutoff)", "dcg": "dcg", "cg": "cg", "ap": "map",
             "p": "precision", "rr": "mrr", "err": "err"}  # fmt: skip
OF_RANKLIB = {"NDCG": "ndcg", "DCG": "dcg", "P": "precision", "RR": "mrr", "ERR": "err"}
OF_RANKINGS = (
    Peer("ranx", "ranx", BY_RANX | at_cutoffs(BY_RANX) | ONLY_WHOLE, ranx, draws(ties="no"), ("ranx",), is_slow=True),
    Peer("pytrec_eval", "pytrec_eval", TREC_EVAL, pytrec_eval, draws(ties=ALL_TIES), ("pytrec_eval",), odd_ids=True),
    Peer("pytrec_eval from grade 2 on, with unjudged documents", "trec_eval",
         {theirs: from_grade_2_on(ours) for theirs, ours in TREC_EVAL.items()},
         partial(pytrec_eval, relevance_level=2), draws(GRADED, unjudged=True), ("pytrec_eval",), odd_ids=True),
    Peer("pytrec_eval with unjudged documents", "trec_eval", TREC_EVAL, pytrec_eval, draws(unjudged=True),
         ("pytrec_eval",)),
    Peer("ir_measures", "ir_measures", OF_IR_MEASURES, ir_measures, draws(), ("ir_measures",)),
    Peer("RR of ir_measures", "ir_measures", at_cutoffs({"RR": "mrr"}), ir_measures_rr, draws(), ("ir_measures",)),
    Peer("gdeval", "gdeval", at_cutoffs(OF_GDEVAL, (1, 10, 20)), gdeval, draws(), ("ir_measures", "perl"),
         DIGITS_OF_5_DECIMALS,
         difference=Difference(frozenset(OF_GDEVAL),
                               "A query without a relevant document counts 0; gdeval itself leaves it out.",
                               NO_RELEVANT, 0.0)),
    Peer("kaggle", "kaggle", {"mapk": "map"} | at_cutoffs({"mapk": "map"}), each(kaggle), draws(BINARY), ("ml_metrics",),
         difference=Difference(frozenset({"mapk"}),
                               "The release 0.1.4 gives 1 to a query without a relevant document; its source gives 0 "
                               "since 2015.", NO_RELEVANT, 1.0)),
    Peer("vespa", "vespa", at_cutoffs(OF_VESPA), vespa, draws(BINARY), ("vespa",)),
    Peer("rectools", "rectools", at_cutoffs(OF_RECTOOLS), rectools, draws(BINARY), ("rectools", "pandas")),
    Peer("quepid", "quepid", at_cutoffs(OF_QUEPID), quepid, draws(), ("node", f"{QUEPID}/db/scorers"),
         highest_grade=QUEPID_GRADE,
         difference=Difference(frozenset({"ap"}),
                               "Average precision of a query without a relevant document is 0/0 there.",
                               NO_RELEVANT, np.nan)),
    Peer("ranklib", "ranklib", {"MAP": "map"} | at_cutoffs(OF_RANKLIB), ranklib, PLAIN(),
         ("javac", f"{RANKLIB}/src/main/java"), tolerance_of={"RR": DIGITS_OF_FLOAT32}),
)  # fmt: skip

# -- torch -------------------------------------------------------------------------------------------------------------


def torchmetrics(query: Query, metric: str, k: int) -> float:
    """The functional interface of its retrieval metrics, in float32."""
    torch, retrieval = import_module("torch"), import_module("torchmetrics.functional.retrieval")
    options = {"top_k": k} if k else {}
    return float(
        getattr(retrieval, f"retrieval_{metric}")(torch.tensor(query.scores), torch.tensor(query.grades), **options)
    )


def keras_rs(query: Query, metric: str, k: int) -> float:
    """In float32, on the torch backend. It shuffles ties, so they are left out."""
    os.environ["KERAS_BACKEND"] = "torch"
    made = getattr(import_module("keras_rs").metrics, metric)(k=k or None)
    return float(made(query.grades[None], query.scores[None]))


def recbole(queries: list[Query], names: Sequence[str]) -> Values:
    """Its metrics' metric_info, before it rounds to four decimals. It ignores users without a positive item."""
    vars(np).setdefault("float", float)  # a name that NumPy no longer has, and RecBole 1.2.1 still uses
    metrics = import_module("recbole.evaluator.metrics")
    config = {"topk": list(CUTOFFS), "metric_decimal_place": 4}
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


BY_TORCHMETRICS = {"average_precision": "map", "reciprocal_rank": "mrr", "precision": "precision", "recall": "recall",
                   "hit_rate": "hit", "normalized_dcg": "ndcg"}  # fmt: skip
BY_KERAS = {"NDCG": "ndcg", "DCG": "dcg", "MeanAveragePrecision": "map", "MeanReciprocalRank": "mrr",
            "PrecisionAtK": "precision", "RecallAtK": "recall"}  # fmt: skip
BY_RECBOLE = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Recall": "recall", "Precision": "precision", "Hit": "hit"}
OF_TORCH = (
    Peer("torchmetrics", "torchmetrics", with_whole(BY_TORCHMETRICS, CUTOFFS) | {"r_precision": "rprec"},
         each(torchmetrics), PLAIN(BINARY, ties="no"), ("torchmetrics",), DIGITS_OF_FLOAT32),
    Peer("NDCG of torchmetrics, which averages ties", "torchmetrics", with_whole({"normalized_dcg": "ndcg"}, CUTOFFS),
         each(torchmetrics), PLAIN(), ("torchmetrics",), DIGITS_OF_FLOAT32),
    Peer("keras_rs", "keras_rs", with_whole(BY_KERAS, (1, 2, 10)), each(keras_rs), PLAIN(ties="no"), ("keras_rs",),
         DIGITS_OF_FLOAT32),
    Peer("recbole", "recbole", at_cutoffs(BY_RECBOLE), recbole, draws(BINARY, ties="no"), ("recbole",)),
)  # fmt: skip

# -- spark -------------------------------------------------------------------------------------------------------------


def spark_mllib(queries: list[Query], names: Sequence[str]) -> Values:
    """RankingMetrics of lists of ids. It gives means, so data sets are compared."""
    builder = import_module("pyspark.sql").SparkSession.builder.master("local[1]")
    ranking_metrics = import_module("pyspark.mllib.evaluation").RankingMetrics
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR").getOrCreate()
    pairs = [(query.ranking, query.relevant) for query in queries]
    metrics = ranking_metrics(session.sparkContext.parallelize(pairs, 1))

    def value(name: str) -> float:
        metric, k = split(name)
        return float(getattr(metrics, metric)(k) if k else metrics.meanAveragePrecision)

    return {name: [value(name)] for name in names}


def replay(queries: list[Query], names: Sequence[str]) -> Values:
    """Its metrics on pandas tables, which order equal ratings by descending item ids."""
    metrics, pd = import_module("replay.metrics"), import_module("pandas")
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


BY_SPARK = {"ndcgAt": "ndcg", "meanAveragePrecisionAt": "map", "precisionAt": "precision", "recallAt": "recall"}
BY_REPLAY = {"NDCG": "ndcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall", "HitRate": "hit"}
OF_SPARK = (
    Peer("spark_mllib", "spark_mllib", {"meanAveragePrecision": "map"} | at_cutoffs(BY_SPARK), spark_mllib,
         draws(BINARY), ("pyspark", "java"), gives_means=True, is_slow=True),
    Peer("replay", "replay", at_cutoffs(BY_REPLAY), replay, draws(BINARY), ("replay", "pandas")),
)  # fmt: skip

# -- tensorflow --------------------------------------------------------------------------------------------------------


def padded(queries: Sequence[Query]) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores as matrices; a label of -1 is padding."""
    labels = np.full((len(queries), MOST_DOCUMENTS), -1, dtype=np.float32)
    scores = np.zeros_like(labels)
    for row, query in enumerate(queries):
        labels[row, : len(query.grades)] = query.grades
        scores[row, : len(query.grades)] = query.scores
    return labels, scores


def tensorflow_metrics() -> Any:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return import_module("tensorflow_ranking.python.metrics_impl")


def tf_ranking(queries: list[Query], names: Sequence[str]) -> Values:
    """tfr.metrics, in float32. It shuffles ties, so they are left out."""
    classes = {"MAP": "MeanAveragePrecision", "Hits": "Hits", "BPref": "BPref"}
    labels, scores = padded(queries)
    found = {}
    for name in names:
        metric, k = split(name)
        made = getattr(tensorflow_metrics(), f"{classes.get(metric, metric)}Metric")(name, k or None)
        found[name] = made.compute(labels, scores)[0].numpy()[:, 0].tolist()
    return found


def tf_ranking_opa(queries: list[Query], names: Sequence[str]) -> Values:
    """Its ordered pair accuracy has a mean over pairs, and tied pairs count 0."""
    made = tensorflow_metrics().OPAMetric("OPA")
    accuracy, n_pairs = (one.numpy() for one in made.compute(*padded(queries)))
    return {name: [float((accuracy * n_pairs).sum() / n_pairs.sum())] for name in names}


BY_TFR = {"NDCG": "ndcg", "DCG": "dcg", "MAP": "map", "MRR": "mrr", "Precision": "precision", "Recall": "recall"}
OF_TENSORFLOW = (
    Peer("tf_ranking", "tf_ranking", BY_TFR | {"BPref": "bpref"} | at_cutoffs(BY_TFR | {"Hits": "hit"}), tf_ranking,
         PLAIN(ties="no"), ("tensorflow_ranking",), DIGITS_OF_FLOAT32),
    Peer("pair accuracy of tf_ranking", "tf_ranking", {"OPA": "pair_accuracy"}, tf_ranking_opa, PLAIN(),
         ("tensorflow_ranking",), DIGITS_OF_FLOAT32, gives_means=True),
)  # fmt: skip

PEERS = (*OF_LIBRARIES, *OF_SCIENTISTS, *OF_RANKINGS, *OF_TORCH, *OF_SPARK, *OF_TENSORFLOW)
