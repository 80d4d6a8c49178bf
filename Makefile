# `make` alone explains itself.
PYTHON ?= python3
BIN := .venv/bin
QUIET := --quiet
INSTALL = $(BIN)/python -m pip install $(QUIET) --disable-pip-version-check

# Number of test processes: `make test N=1`. By default one for each processor.
N ?= logical
PYTEST = -m pytest -n $(N) --dist worksteal $(if $(COVERAGE),--cov --cov-append --cov-report= --cov-fail-under=0)

# The processes share the processors, so each of them trains with one thread.
test test-fast test-slow test-all test-spark test-oldest dist: export OMP_NUM_THREADS ?= 1

# The scripts of the gallery must not open windows.
SPHINX = MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -n -q -j auto

.PHONY: help demo test test-fast test-slow test-all fuzz mutants sanitize conformance coverage test-spark test-oldest
.PHONY: weekly bench notebooks guard lint format docs linkcheck clean wheel wheels dist release

help:  ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

DEMO = examples/lightgbm_early_stopping.py --out demo_output
HAS_ALL = import sys; sys.path.pop(0); import jinja2, lightgbm, ltr_metrics, matplotlib, pandas, sklearn

demo:  ## train LightGBM with early stopping on ERR@10, search a grid, write the report (in demo_output/)
	@echo "The demo trains LightGBM with early stopping, searches a grid, and writes a report: about a minute."
	@if $(PYTHON) -c "$(HAS_ALL)" 2> /dev/null; then \
	  $(PYTHON) $(DEMO); \
	else \
	  echo "$(PYTHON) lacks some of the packages, so they are installed into .venv first: one to seven minutes."; \
	  $(MAKE) --no-print-directory .venv/demo QUIET= && $(BIN)/python $(DEMO); \
	fi

test: .venv/test  ## run the tests, with the examples of docstrings and README; the slow ones are left out
	LTR_METRICS_EXAMPLES=$${LTR_METRICS_EXAMPLES:-0.2} $(BIN)/python $(PYTEST) -m "not slow"

test-fast: .venv/test  ## run the tests that need no host, no process and no report: under a minute
	LTR_METRICS_EXAMPLES=0.2 $(BIN)/python $(PYTEST) tests -m "not slow and not integration"

test-slow: .venv/test .venv/notebooks  ## run the slow tests alone, without those of Spark, which make test-spark runs
	$(BIN)/python $(PYTEST) -m slow -k "not spark"

test-all: .venv/test .venv/notebooks  ## run all tests
	$(BIN)/python $(PYTEST)

fuzz: .venv/test  ## draw new random examples, 20 times as many as make test-all, and new damaged files
	LTR_METRICS_EXAMPLES=$${LTR_METRICS_EXAMPLES:-20} $(BIN)/python $(PYTEST) tests -m "hypothesis or fuzz"

mutants: .venv/test  ## put faults into a copy of the code, one at a time: the tests must find each
	$(BIN)/python tests/mutants.py

sanitize: .venv/test  ## run the tests of the compiled core under the sanitizers of GCC
	$(BIN)/python tests/sanitized.py address,undefined
	$(BIN)/python tests/sanitized.py thread

# One environment for each group of systems, since they exclude each other's versions. The tests skip the others.
CONFORMANCE ?= rankings torch spark tensorflow
CONFORMANCE_VENV ?= .venv-conformance-
CONFORMANCE_PYTHON ?= python3.11

CONFORMANCE_MADE := $(CONFORMANCE:%=$(CONFORMANCE_VENV)%/made)

conformance: $(CONFORMANCE_MADE)  ## compare conventions with live systems (5 GB); CONFORMANCE="rankings torch"
	failed=; \
	$(foreach group,$(CONFORMANCE),$(CONFORMANCE_VENV)$(group)/bin/python -m pytest tests/peers || failed=1;) \
	test -z "$$failed"

$(CONFORMANCE_VENV)%/made: tests/peers/requirements/%.txt
	$(CONFORMANCE_PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check pytest hypothesis -r $<
	alone=tests/peers/requirements/$*-alone.txt; test ! -e $$alone || \
	  $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -r $$alone
	@touch $@

coverage: .venv/test  ## print the lines and branches that tests with COVERAGE=1 have run; fail if too few
	$(BIN)/python -m coverage combine --append --quiet || true  # what processes wrote that no test waited for
	$(BIN)/python -m coverage report --skip-covered

test-spark: .venv/spark  ## run the tests of Spark, which is 460 MB; it wants Java 17
	$(BIN)/python $(PYTEST) tests/engines/test_spark.py tests/project/test_examples.py -k spark

# What is left out: tests that hardly use other packages, and an example that passes eval_X, which is new.
test-oldest: .venv/oldest  ## run the tests with the oldest versions that pyproject.toml allows
	LTR_METRICS_EXAMPLES=0.1 .venv-oldest/bin/python $(PYTEST) -m "not slow" \
	  $(addprefix --ignore=tests/,interleaving cli/test_cli_errors.py cli/test_cli_outputs.py project/test_layers.py) \
	  --deselect ltr_metrics/lightgbm/lightgbm_metric.py::ltr_metrics.lightgbm.lightgbm_metric.eval_metric

# The wheel is built out of the sdist, so tests of the wheel are tests of both.
build/made: .venv/dist $(wildcard $(shell git ls-files 2> /dev/null))
	rm -rf dist build
	mkdir build
	$(BUILD) > build/log.txt 2>&1 || { cat build/log.txt; exit 1; }
	$(CHECK)
	@touch $@

BUILD = .venv-dist/bin/python -m build --no-isolation
CHECK = .venv-dist/bin/python -m twine check --strict dist/* && .venv-dist/bin/python .ci/check_dist.py

wheel: build/made  ## build the sdist, and out of it the wheel for this machine, into dist/, and check what is in them

wheels: .venv/dist  ## build the sdist and a wheel for every platform, with zig, and check what is in them
	rm -rf dist build
	mkdir build
	for target in $$(.venv-dist/bin/python -c 'import hatch_build; print(*hatch_build.TARGETS)'); do \
	  LTR_METRICS_TARGET=$$target $(BUILD) > build/log.txt 2>&1 || { cat build/log.txt; exit 1; }; \
	done
	$(CHECK)

dist: wheel  ## make wheel, install the sdist with NumPy only, and run the fast tests against the installed wheel
	PYTHON=$(PYTHON) .ci/test_dist $(N)

release:  ## make wheels of the release VERSION=0.1.0rc1 and try them on all Pythons; nothing is published
	$(PYTHON) .ci/release.py $(VERSION)

bench: .venv/bench  ## measure against the peers; BENCH=--quick takes under a minute
	$(BIN)/python -m benchmarks $(BENCH)

notebooks: .venv/notebooks  ## execute docs/notebooks and store their outputs
	$(BIN)/python docs/notebooks/execute.py

guard: .venv/test  ## fail if evaluating has become slow or large, told against np.sort in the same run
	$(BIN)/python -m benchmarks.guard

docs: .venv/docs  ## build the documentation site in docs/_build/html; a warning is an error; GALLERY=0 runs no scripts
	$(SPHINX) $(if $(filter 0,$(GALLERY)),-D plot_gallery=0) -b html docs docs/_build/html

linkcheck: .venv/docs  ## ask every external link of the documentation; needs the network
	$(SPHINX) -b linkcheck -D plot_gallery=0 docs docs/_build/linkcheck

lint: .venv/lint  ## ruff, clang-format, mypy, and the checks of the workflows and of other YAML files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror ltr_metrics/_ranks/*.[ch]pp
	$(BIN)/mypy
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.readthedocs .readthedocs.yaml
	$(BIN)/zizmor --offline --quiet .github

format: .venv/lint  ## let ruff format and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i ltr_metrics/_ranks/*.[ch]pp

weekly:  ## run what the landing check leaves out: all Pythons, slow tests, oldest versions, Spark, live systems, speed
	.ci/run weekly

clean:  ## remove what the other commands made
	rm -rf docs/_build docs/api/generated docs/auto_gallery
	rm -rf .venv .venv-* dist build .coverage demo_output report_output bench_output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f $(addprefix ltr_metrics/_ranks/*,.so .dylib .dll)

# What an editable install compiles; a change of it is compiled before it runs.
CORE := hatch_build.py $(wildcard ltr_metrics/_ranks/*.[ch]pp)

.venv/demo: pyproject.toml $(CORE) | .venv/made
	$(INSTALL) -e '.[lightgbm,sklearn,report]'
	@touch $@

.venv/test: pyproject.toml $(CORE) | .venv/made
	$(INSTALL) -e '.[test]'
	@touch $@

.venv/notebooks: pyproject.toml | .venv/test
	$(INSTALL) -e '.[notebooks]'
	@touch $@

.venv/lint: pyproject.toml | .venv/test
	$(INSTALL) -e '.[lint]'
	@touch $@

.venv/dist: .ci/build_tools.txt | .venv/made
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv/spark: pyproject.toml | .venv/test
	$(INSTALL) -e '.[spark]'
	@touch $@

.venv/docs: pyproject.toml $(CORE) | .venv/made
	$(INSTALL) -e '.[docs]'
	@touch $@

.venv/bench: pyproject.toml $(CORE) | .venv/made
	$(INSTALL) -e '.[bench]'
	@touch $@

.venv/oldest: pyproject.toml .ci/oldest.py $(CORE) | .venv/made
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/python .ci/oldest.py > .venv/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

.venv/made:
	$(PYTHON) -m venv .venv
	@touch $@
