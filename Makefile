# `make` alone explains itself.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# slow, and of nothing that differs between versions
ANY_VERSION := --ignore tests/test_browser.py --ignore tests/test_inference_slow.py --ignore tests/test_interleaving_published.py

.PHONY: help demo test test-spark test-oldest bench guard lint format clean

help:  ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/demo  ## train LightGBM with early stopping on ERR@10, search a grid, write the report (in demo_output/)
	$(BIN)/python examples/lightgbm_early_stopping.py --out demo_output

test: .venv/test  ## run all tests, the docstrings' and the README's examples among them
	$(BIN)/python -m pytest

test-spark: .venv/spark  ## run the tests of Spark, which is 460 MB; it wants Java 17
	$(BIN)/python -m pytest tests/test_spark.py tests/test_cli_engine.py tests/test_examples.py -k spark

test-oldest: .venv/oldest  ## the same with the oldest versions that pyproject.toml allows
	.venv-oldest/bin/python -m pytest --deselect ltr_metrics/lightgbm.py::ltr_metrics.lightgbm.eval_metric $(ANY_VERSION)  # shows eval_X

bench: .venv/bench  ## measure against the peers; BENCH=--quick takes under a minute
	$(BIN)/python -m benchmarks $(BENCH)

guard: .venv/test  ## fail if evaluating has become slow or large, told against np.sort in the same run
	$(BIN)/python -m benchmarks.guard

lint: .venv/test  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/test  ## let ruff format and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the other commands made
	rm -rf .venv .venv-oldest demo_output report_output bench_output .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/demo: pyproject.toml | .venv/made
	$(INSTALL) -e '.[lightgbm,sklearn,report]'
	@touch $@

.venv/test: pyproject.toml | .venv/made
	$(INSTALL) -e '.[test,lint]'
	@touch $@

.venv/spark: pyproject.toml | .venv/test
	$(INSTALL) -e '.[spark]'
	@touch $@

.venv/bench: pyproject.toml | .venv/made
	$(INSTALL) -e '.[bench]'
	@touch $@

.venv/oldest: pyproject.toml .ci/oldest.py | .venv/made
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/python .ci/oldest.py > .venv/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

.venv/made:
	$(PYTHON) -m venv .venv
	@touch $@
