"""Some hundred and fifty faults, each put into a copy of the checkout: the tests must find it.

python tests/mutants.py            # all, one for each processor at a time
python tests/mutants.py gate dcg   # those whose file or tests contain one of the words
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
LEFT_OUT = (".*", "_build", "build", "dist", "*_output", "__pycache__")
MINUTES = 5  # that the tests of a mutant may take
# fmt: off
MUTANTS = [  # tests, file, code, and the fault in its place
    ("metrics/test_metrics.py", "metrics/dcg.py", "queries.n_ranked < np.array", "queries.n_ranked <= np.array"),
    ("metrics/test_metrics.py", "metrics/gains.py", "np.exp2(grades) - 1", "np.exp2(grades)"),
    ("metrics/test_conventions.py", "metrics/requests.py", " and not isinstance(value, str) else value", " else value"),
    ("metrics/test_conventions.py", "metrics/requests.py", "self.no_relevant is None and metric.NAME in", "metric.NAME in"),
    ("metrics/test_conventions.py", "metrics/requests.py", "metric.NAME in self.convention.weighs_undefined_as_one", "False"),
    ("metrics/test_own_classes.py", "metrics/base.py", "attrgetter(\"without_cutoff\")", "type"),
    ("metrics/test_own_classes.py", "_rows/cache.py", "            result.setflags(write=False)\n", "            pass\n"),
    ("metrics/test_interface.py", "_ranks/interface.hpp", "{#field, offsetof(type, field), KIND", "{#field, offsetof(type, field) + 8, KIND"),
    ("metrics/test_interface.py", "_ranks/native.py", "        array = array.copy()\n", "        pass\n"),
    ("metrics/test_own_classes.py", "metrics/kinds.py", "np.array(array, dtype=np.float64, order=\"C\")", "np.asarray(array, dtype=np.float64)"),
    ("evaluation/test_queries.py", "_rows/checks.py", "return array.copy()", "return array"),
    ("evaluation/test_cache.py", "_rows/cache.py", "result = results.older.pop(key, results)", "result = results"),
    ("evaluation/test_cache.py", "_rows/cache.py", "results.newer, results.older, results.n_bytes = {}, results.newer, 0", "pass"),
    ("metrics/test_metrics.py", "metrics/counts.py", "queries)) / 2", "queries)) / 3"),
    ("metrics/test_metrics.py", "metrics/shown.py", "np.minimum(queries.n_ranked, k)", "queries.n_ranked"),
    ("metrics/test_metrics.py", "_ranks/sums.hpp", "+ total * j * (part.hits - 1.0)", "+ total * (part.hits - 1.0)"),
    ("metrics/test_metrics.py", "_ranks/sums.hpp", "(sum + lost) / n;", "(sum + lost) / (n + 1.0);"),
    ("metrics/test_exact.py", "_ranks/ties.hpp", "const Doubles<LANES> others = at_least(0.0, run.n - double(h));", "const Doubles<LANES> others = at_least(0.0, run.n - (h - 1.0));"),
    ("metrics/test_metrics.py", "_ranks/sums.hpp", "(p * (1.0 - q) + q * (1.0 - p)) / 2", "(p * (1.0 - q) + q) / 2"),
    ("metrics/test_exact.py", "_ranks/sums.hpp", "reach = reach > NEGLIGIBLE", "reach = reach > 0.25"),
    ("metrics/test_metrics.py", "_ranks/ties.hpp", "new_F += F[h] * e[j - h] + E[h] * f[j - h]", "new_F += F[h] * e[j - h]"),
    ("metrics/test_exact.py", "_ranks/ties.hpp", "n_one / at_least(1.0, size - double(j))", "n_one / at_least(1.0, size)"),
    ("metrics/test_metrics.py", "_ranks/sums.hpp", "(h - 1.0, 0.0)", "(h - 0.0, 0.0)"),
    ("metrics/test_metrics.py", "_ranks/ranking.hpp", "const double negated = 0.0 - score;", "const double negated = -score;"),
    ("metrics/test_metrics.py", "_ranks/ranking.hpp", "is_sorted_again |= is_near ^ batch.is_tied[i];", ""),
    ("metrics/test_exact.py", "_ranks/ties.hpp", "(n - h) * t[h]", "(n - h - 1) * t[h]"),
    ("evaluation/test_skill.py", "_ranks/sums.hpp", "(1.0 + growth * double(i))", "(1.0 + growth * (i + 1.0))"),
    ("evaluation/test_skill.py", "_ranks/sums.hpp", "batch.size > double(i) ? first", "true ? first"),
    ("evaluation/test_skill.py", "_ranks/sums.hpp", "std::min(declared.cutoff[c], end_of_tie)", "end_of_tie"),
    ("evaluation/test_threads.py", "_ranks/ties.hpp", "t[j] = is_sure ? zero : t[j];", "t[j] = zero;"),
    ("evaluation/test_options.py", "_ranks/ranking.hpp", "    n -= count[0];\n", ""),
    ("metrics/test_exact.py", "_ranks/sums.hpp", "complete(sum, lost), out", "sum, out"),
    ("metrics/test_exact.py", "_ranks/sums.hpp", "is_over && !(batch.has_ties && is_any(batch.is_tied[i - 1]))", "is_over"),
    ("metrics/test_exact.py", "_ranks/lanes.hpp", "(left - rest) - leaving : T{}", "T{} : T{}"),
    ("metrics/test_exact.py", "evaluation/means.py", "centred - _sum(share * centred)", "centred"),
    ("metrics/test_ranking.py", "_ranks/ranking.hpp", "if (count[digit(key[0])] == n) continue;", "if (count[digit(key[0])] > 1) continue;"),
    ("evaluation/test_threads.py", "_ranks/threads.hpp", "n_done++, take()", "take()"),
    ("metrics/test_metrics.py", "metrics/bpref.py", "np.minimum(", "np.maximum("),
    ("metrics/test_names.py", "metrics/base.py", 'changed.pop("k", None)', "pass"),
    ("metrics/test_own_classes.py", "metrics/base.py", "name in RESULTS and is_of_user(cls)", "False"),
    ("metrics/test_pair_average.py", "evaluation/evaluate.py", "query_weight is not Metric.query_weight", "query_weight is None"),
    ("evaluation/test_options.py", "_rows/queries.py", "rows[self.retrieved[rows]]", "rows"),
    ("metrics/test_conventions.py", "metrics/conventions.py", '{"gain": "linear"}, {"gain": (0, 1)}', '{"gain": "exp"}, {"gain": (0, 1)}'),
    ("metrics/test_as_metric.py", "metrics/own.py", "math.log(MAX_ORDERS) + 1e-9", "math.log(2)"),
    ("metrics/test_as_metric.py", "metrics/own.py", "if len(defined) < len(values):", "if False:"),
    ("evaluation/test_evaluation.py", "evaluation/evaluate.py", 'if no_relevant == "drop":', 'if no_relevant == "dropped":'),
    ("evaluation/test_threads.py", "_ranks/lanes.hpp", "        w = value == value ? w : Doubles<8>{};\n", ""),
    ("evaluation/test_threads.py", "evaluation/means.py", "math.fsum(of[:, :2].ravel())", "math.fsum(of[:, 0])"),
    ("evaluation", "evaluation/means.py", "math.sqrt(n / (n - 1) *", "math.sqrt("),
    ("metrics/test_own_direction.py", "io/saved.py", 'frozenset(header["lower_is_better"])', "frozenset()"),
    ("evaluation/test_skill.py", "evaluation/best_order.py", "falls.all() and (by_rank >= 0).all()", "falls.all()"),
    ("evaluation/test_skill.py", "evaluation/best_order.py", "(by_rank == np.arange(1.0, len(by_rank) + 1)).all()", "True"),
    ("evaluation/test_skill.py", "evaluation/skill.py", "(gain - skill * span) / length", "gain / length - skill"),
    ("evaluation/test_skill.py", "evaluation/skill.py", "replace(one, tied=0.5)", "one"),
    ("evaluation/test_batches.py", "evaluation/parts.py", "    check_labels([", "    ([].extend)([None and "),
    ("evaluation/test_concat.py", "evaluation/concat.py", "if value != expected[option]:", "if False:"),
    ("evaluation/test_concat.py", "evaluation/concat.py", "if is_repeated.any():", "if False:"),
    ("evaluation/test_concat.py", "evaluation/concat.py", "codes.append(np.array(new_code, dtype=np.intp)[code])", "codes.append(code)"),
    ("evaluation/test_concat.py", "evaluation/result.py", "for one in fields(self)}", "for one in fields(self)} | vars(self)"),
    ("evaluation", "evaluation/result.py", "segments=segments)", "segments={})"),
    ("evaluation", "_rows/per_query.py", "(weight >= 0)", "True"),
    ("evaluation/test_ids.py", "_rows/ids.py", "return whole if whole == number else None", "return whole"),
    ("hosts/test_host_contract.py", "evaluation/means.py", "if np.isnan(value):", "if False:"),
    ("hosts/test_host_contract.py", "_hosts/log_names.py", "if shared:", "if False:"),
    ("hosts/test_logged_names.py", "_hosts/log_names.py", 'if host == "xgboost":', "if False:"),
    ("hosts/test_host_contract.py", "_hosts/host_data.py", "all(map(same_arrays, known.fields, fields))", "True"),
    ("hosts/test_workers.py", "_hosts/workers.py", "messages[:, 4:].reshape", "messages[[0] * workers.n_workers, 4:].reshape"),
    ("hosts/test_watched_metric.py", "lightgbm/stop_on_one_set.py", "if metric == name and", "if"),
    ("hosts/test_rounds.py", "catboost/catboost_validation.py", "if self.other_set_is_evaluated:", "if True:"),
    ("hosts/test_rounds.py", "logs/training_log.py", "if n_rounds is None:", "if False:"),
    ("hosts/test_xgboost.py", "xgboost/stop_by_metric.py", "self.stopping_history, self.best_scores, self._rounds_seen = {}, {}, 0", "self._rounds_seen = 0"),
    ("hosts/test_xgboost.py", "_hosts/host_data.py", "if n != n_expected:", "if False:"),
    ("hosts/test_workers.py", "_hosts/workers.py", "if np.ptp(messages[:, 2]):", "if False:"),
    ("hosts/test_catboost.py", "catboost/catboost_validation.py", "if len(same) > 1:", "if False:"),
    ("hosts/test_log.py", "logs/training_log.py", "if not same_arrays(before, now):", "if False:"),
    ("hosts/test_learning.py", "logs/learning.py", "influence(change[counts], None, weights)", "influence(change[counts], None, np.ones(n))"),
    ("hosts/test_search_log.py", "logs/search_log.py", "if len(set(ids)) < len(ids):", "if False:"),
    ("hosts/test_curves.py", "lightgbm/lightgbm_rounds.py", "if n_trees in wanted:", "if n_trees - 1 in wanted:"),
    ("hosts/test_sklearn_searches.py", "sklearn/guard.py", "if cut:", "if False:"),
    ("hosts/test_sklearn_early_stopping.py", "sklearn/early_stopping.py", "round(fraction * n_queries)", "round(n_queries / 2)"),
    ("hosts/test_host_contract.py", "catboost/catboost_validation.py", "> self._min_delta", "> 0"),
    ("hosts/test_sklearn_searches.py", "sklearn/training.py", "np.bincount(query_numbers(sizes), weights) / sizes", "np.bincount(query_numbers(sizes), weights)"),
    ("analysis/test_gate.py", "evaluation/limits.py", "1 + math.ceil(", "math.ceil("),
    ("analysis/test_gate.py", "analysis/gate.py", '"lower") if limit.is_floor else', '"lower") if not limit.is_floor else'),
    ("analysis/test_gate.py", "analysis/gate.py", "/ self.looks / self.n_candidates", "/ self.looks"),
    ("analysis/test_limits.py", "evaluation/limits.py", "copies * float((w**2).sum()) + 1", "copies * float((w**2).sum())"),
    ("analysis/test_limits.py", "evaluation/limits.py", "+ mean**2) / squares", "+ 0 * mean**2) / squares"),
    ("analysis/test_gate.py", "analysis/gate.py", "(100 if percent else 1)", "(10 if percent else 1)"),
    ("analysis/test_churn.py", "analysis/churn.py", "(1 - p) * p ** np.arange", "p ** np.arange"),
    ("analysis/test_leaderboard.py", "analysis/leaderboard.py", "low += int(", "low -= int("),
    ("analysis/test_comparison.py", "analysis/comparison.py", "wins=", "wins=1 + "),
    ("analysis/test_explain.py", "analysis/explain.py", "toggles=", "toggles={} and "),
    ("analysis/test_identify.py", "analysis/identify.py", "sorted(_candidates(origins, readings, means, number), key=order)", "list(_candidates(origins, readings, means, number))"),
    ("analysis/test_limits.py", "evaluation/limits.py", "/ (6 * size**1.5)", "/ (3 * size**1.5)"),
    ("analysis/test_audit.py", "analysis/audit.py", "(n_relevant == 0)", "(n_relevant <= 1)"),
    ("report/test_html.py", "report/render.py", "autoescape=True", "autoescape=False"),
    ("report/test_html.py", "report/views.py", "higher_is_better=row.higher_is_better))[::-1]", "higher_is_better=row.higher_is_better))"),
    ("report/test_printed.py", "evaluation/tables.py", "html.escape(one_line(text), quote=False)", "one_line(text)"),
    ("interleaving/test_interleaving_outcome.py", "online/interleaving/outcome.py", "(self.wins + self.ties / 2)", "(self.wins + self.ties / 3)"),
    ("interleaving/test_interleaving_clicks.py", "online/interleaving/clicks.py", "of_slot &= goes_on", "of_slot &= True"),
    ("counterfactual/test_counterfactual.py", "online/counterfactual/click_metric.py", "np.minimum(weight, self.clip)", "weight"),
    ("counterfactual/test_propensities.py", "online/counterfactual/harvesting.py", "@ (n_j * _share(n_i, n_j))", "@ _share(n_i, n_j)"),
    ("counterfactual/test_propensities.py", "online/counterfactual/harvesting.py", "(n_clusters / (n_clusters - 1))", "(n_clusters - 1)"),
    ("interleaving/test_interleaving_methods.py", "online/interleaving/team_draft.py", "waiting = can_draw & ~state", "waiting = can_draw"),
    ("interleaving/test_interleaving_methods.py", "online/interleaving/team_draft.py", "if ranker == teams[slot]", ""),
    ("interleaving/test_interleaving_impressions.py", "online/interleaving/scoring.py", "is_other or (impression", "(impression"),
    ("io/test_io.py", "io/letor.py", "parsed.number - first", "parsed.number - 1"),
    ("io/test_letor_pairs.py", "_ranks/letor.hpp", "if (number.n_digits > MOST_DIGITS) return false;", ""),
    ("io/test_letor_pairs.py", "_ranks/letor.hpp", "return first + (rest - doubt) == first + (rest + doubt);", "return true;"),
    ("io/test_letor_pairs.py", "_ranks/letor.hpp", "if (static_cast<int64_t>(feature.digits) <= last) return -1;", ""),
    ("cli/test_cli.py", "cli/output.py", "return 0 if gate.passed else GATE_FAILED", "return 0"),
    ("evaluation/test_options.py", "evaluation/segments.py", "                if len(queries)\n", ""),
    ("evaluation/test_concat.py", "_rows/per_query.py", "    return OrderedLabels(categories), np.array(positions, dtype=np.intp)[code]", "    return distinct, code"),
    ("engines/test_dask.py", "evaluation/parts.py", "(labels, code[order]) if name in ordered else ", ""),
    ("cli/test_cli_outputs.py", "cli/output.py", "target.samefile(one)", "target == one"),
    ("engines/test_dask.py", "evaluation/parts.py", "In partition {partition} after", "After"),
    ("engines/test_dask.py", "dask.py", ".shuffle(qid).to_delayed()", ".to_delayed()"),
    ("engines/test_dask.py", "evaluation/parts.py", 'request.policy.ties == "stable"', 'request.policy.ties == "best"'),
    ("engines/test_dask.py", "evaluation/parts.py", 'in ("worst", "best") and request', 'in () and request'),
    ("engines/test_dask.py", "evaluation/parts.py", "np.argsort(appearing)[code]", "code"),
    ("engines/test_mlflow.py", "mlflow.py", "if name not in named]", "]"),
    ("metrics/test_metrics.py", "_ranks/ranking.hpp", "score[i] = bits ^ ((bits >> 63) & HIGHEST);", "score[i] = bits;"),
    ("metrics/test_metrics.py", "_ranks/ranking.hpp", ": all.ties == DOCID ? all.docid[row]", ": all.ties == DOCID ? 0"),
    ("metrics/test_ranking.py", "_ranks/ranking.hpp", ": all.ties == BEST  ? -grade", ": all.ties == BEST  ? grade"),
    ("metrics/test_metrics.py", "_ranks/ranking.hpp", "batch.has_ties &= all.ties == MEAN;", ""),
    ("metrics/test_metrics.py", "_ranks/ranking.hpp", "i < n ? Grades<LANES>{} + grade", "i <= n ? Grades<LANES>{} + grade"),
    ("metrics/test_metrics.py", "metrics/counts.py", "within = ranking.rank <= n_relevant", "within = ranking.rank < n_relevant"),
    ("metrics/test_metrics.py", "metrics/counts.py", "((queries.n_ranked if k is None else k)", "((queries.n_ranked)"),
    ("metrics/test_metrics.py", "metrics/dcg.py", "ideals[is_short & ~np.isnan(ideals)] = np.inf", "ideals[is_short] = np.inf"),
    ("metrics/test_metrics.py", "metrics/dcg.py", "np.log2(np.maximum(ranks, 2))", "np.log2(np.maximum(ranks, 3))"),
    ("peers/test_stored.py", "metrics/dcg.py", 'np.maximum(queries.n_ranked, 1) if self.ideal == "shown" else None', "None"),
    ("peers/test_peers.py", "metrics/conventions.py", 'name="lightgbm", ties="stable", no_relevant=1', 'name="lightgbm", ties="stable", no_relevant=0'),
    ("peers/test_peers.py", "metrics/conventions.py", 'name="xgboost", ties="stable", no_relevant=1, cutoff=32', 'name="xgboost", ties="stable", no_relevant=1'),
    ("peers/test_peers.py", "metrics/conventions.py", 'recall={"no_relevant": 1}', "recall={}"),
    ("hosts/test_logged_names.py", "_hosts/log_names.py", 'name.startswith(("auc", "map", "ndcg", "pre"))', 'name.startswith(("auc", "map", "ndcg"))'),
    ("hosts/test_logged_names.py", "_hosts/log_names.py", 'name.rpartition(" ")[2], name)', "name, name)"),
    ("hosts/test_host_contract.py", "_hosts/log_names.py", "owner = request.asked | {canonical: canonical", "owner = {canonical: canonical"),
    ("metrics/test_exact.py", "evaluation/means.py", "int(np.frexp(weight.max())[1]) if weight.any() else LEAST_EXPONENT", "0"),
    ("metrics/test_exact.py", "metrics/cascade.py", "1 - Fraction(self.p_break)", "Fraction(1 - self.p_break)"),
    ("metrics/test_ideal.py", "metrics/dcg.py", "np.maximum(queries.n_ranked, 1) if self", "queries.n_ranked if self"),
    ("io/test_io.py", "io/letor.py", " & (number == np.floor(number))", ""),
    ("cli/test_other_tools.py", "evaluation/values_table.py", " and np.ptp(others) > 0", ""),
    ("evaluation/test_batches.py", "evaluation/parts.py", "np.union1d(queries.grades[:GRADES_KEPT], queries.grades[-GRADES_KEPT:])", "queries.grades[-GRADES_KEPT:]"),
    ("analysis/test_inference.py", "analysis/inference/sample.py", "weights = _sum_by_code(code, n, weights)", "weights = _sum_by_code(code, n, np.tile(weights[:1], (len(weights), 1)))"),
    ("analysis/test_comparison.py", "analysis/comparison.py", "not {row.model, row.baseline} &", "not {row.model} &"),
    ("analysis/test_comparison.py", "analysis/alignment.py", "is_other |= _has", "is_other = _has"),
    ("analysis/test_comparison.py", "analysis/alignment.py", "if None not in (unjudged, expected) or not is_same_size.all():", "if None not in (unjudged, expected):"),
    ("analysis/test_intervals.py", "analysis/alignment.py", " == len(np.unique(other))", ""),
    ("analysis/test_audit.py", "analysis/audit.py", "np.where(grade > 0, grade, len(queries.grades) + 1)", "grade"),
    ("analysis/test_explain.py", "analysis/explain.py", "if self.parts[largest] == 0:", "if False:"),
    ("analysis/test_limits.py", "evaluation/limits.py", "min(low, formula.low), max(high, formula.high)", "low, high"),
    ("analysis/test_gate.py", "analysis/gate.py", "levels[quantity] = min(inference.level_of_each(together, part.settings.confidence), strictest)", "levels[quantity] = inference.level_of_each(together, part.settings.confidence)"),
    ("hosts/test_sklearn_searches.py", "sklearn/guard.py", "rel_tol=1e-6", "rel_tol=1e-1"),
]
# fmt: on


def survives(folder: Path, mutant: tuple[str, str, str, str]) -> bool:
    """Whether the tests pass with the fault."""
    tests, name, code, fault = mutant
    path = folder / "ltr_metrics" / name
    text = path.read_text(encoding="utf-8")
    if text.count(code) != 1:
        sys.exit(f"{name} must have {code!r} once, and has it {text.count(code)} times. Change the list.")
    compiled = {
        library: library.read_bytes() for library in path.parent.glob("core*") if path.suffix in (".cpp", ".hpp")
    }
    path.write_text(text.replace(code, fault), encoding="utf-8")
    if compiled:
        compile_core(folder)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"tests/{tests}"]
    environment = os.environ | {"PYTHONPATH": str(folder), "LTR_METRICS_EXAMPLES": "0.2", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False, timeout=60 * MINUTES
        )
        passed = done.returncode == 0
    except subprocess.TimeoutExpired:  # whoever waits for ever sees the fault
        passed = False
    path.write_text(text, encoding="utf-8")
    for library, data in compiled.items():
        library.write_bytes(data)
    return passed


def copy_of_checkout(parent: Path) -> Path:
    """Copy what the tests need, and return the folder."""
    folder = parent / "checkout"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return folder


def compile_core(folder: Path, compiler: str = "") -> None:
    """Compile the core of a copy, with the machine's compiler or another one."""
    call = "import hatch_build; hatch_build.compile_all(hatch_build.RANKS)"
    environment = os.environ | ({"CXX": compiler} if compiler else {})
    subprocess.run([sys.executable, "-c", call], cwd=folder, env=environment, check=True)


def main(words: list[str]) -> None:
    """Try the chosen mutants, and exit with 1 if one survives."""
    chosen = [mutant for mutant in MUTANTS if not words or any(word in " ".join(mutant) for word in words)]
    n_at_once, folders = os.cpu_count() or 1, SimpleQueue[Path]()

    def survives_somewhere(mutant: tuple[str, str, str, str]) -> bool:
        folder = folders.get()
        try:
            return survives(folder, mutant)
        finally:
            folders.put(folder)

    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(n_at_once) as pool:
        for number in range(n_at_once):
            folders.put(copy_of_checkout(Path(name, str(number))))
        lives = []
        for mutant, alive in zip(chosen, pool.map(survives_somewhere, chosen), strict=True):
            lives.append(alive)
            print("SURVIVES" if alive else "killed  ", *mutant[:3], "->", mutant[3], flush=True)
    print(f"{len(chosen) - sum(lives)} of {len(chosen)} killed")
    sys.exit(any(lives))


if __name__ == "__main__":
    main(sys.argv[1:])
