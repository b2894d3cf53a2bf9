# Every target sets itself up from a fresh clone: a virtual environment, the pinned packages, then the job.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run run-spark run-embedded test lint bench experiments soak mutants formats clean
.DELETE_ON_ERROR:

# What Headwater does, on a small network: routes from Lisbon, what changes as cables fail, why one route is there.
ROUTES := examples/routes.dl --input link=examples/network/links.csv
EVENTS := --changes link=examples/network/events.jsonl --batch 1

# On Spark by default, the events as files that stream in; `make run ENGINE=embedded` needs no Java.
ENGINE ?= spark
LISBON := --query 'fastest(lisbon, To, Path, Ms)'
STATE  := build/run

run: run-$(ENGINE)

run-spark: $(VENV)/.spark
	rm -rf $(STATE) && mkdir -p $(STATE)/events
	n=0; while IFS= read -r event; do \
	  n=$$((n + 1)); printf '%s\n' "$$event" > $(STATE)/events/$$n.jsonl; \
	  touch -d "2026-01-01 00:00:0$$n" $(STATE)/events/$$n.jsonl; \
	done < examples/network/events.jsonl
	$(BIN)/headwater run $(ROUTES) $(LISBON) --engine spark --stream link=$(STATE)/events \
	  --checkpoint $(STATE)/checkpoint --once

run-embedded: $(VENV)/.run
	$(BIN)/headwater run $(ROUTES) $(LISBON)
	$(BIN)/headwater run $(ROUTES) $(LISBON) $(EVENTS) --show changes
	$(BIN)/headwater why $(ROUTES) $(EVENTS) 'fastest(lisbon, vienna, Path, Ms)'

test: lint
	$(BIN)/pytest -n auto

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/engine.py --plots benchmarks

# The figures of three papers. The first program takes about eight minutes on an idle machine (with FULL=--full also 4,000 links), the others longer.
experiments: $(VENV)/.bench
	$(BIN)/python benchmarks/regions.py $(FULL)
	$(BIN)/python benchmarks/declarative_networking.py
	$(BIN)/python benchmarks/pier.py

soak: $(VENV)/.test
	$(BIN)/pytest -n auto -m "" --hypothesis-profile=soak

# Plants 200 mistakes in a copy of the tree, one at a time, and reports those that no test notices: about an hour.
mutants: $(VENV)/.test
	PYTHONPATH=src:. $(BIN)/python -m tests.mutants $(MUTANTS)

# Delta and Iceberg, each on the last Spark that it has a build for: two Sparks are downloaded, 450 MB each.
formats: $(VENV)-spark-4.2/.test $(VENV)-spark-4.1/.test
	$(VENV)-spark-4.2/bin/pytest -rs tests/spark/test_formats.py
	$(VENV)-spark-4.1/bin/pytest -rs tests/spark/test_formats.py

clean:
	rm -rf $(VENV) $(VENV)-spark-* build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e . -c constraints.txt
	touch $@

$(VENV)/.spark: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[spark]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[test]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[bench]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)-spark-%/.test: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-spark-$*
	sed '/^pyspark==/d' constraints.txt > $(VENV)-spark-$*/constraints.txt
	$(VENV)-spark-$*/bin/python -m pip --disable-pip-version-check --quiet install -e . 'pyspark==$*.*' \
	  'pandas>=2.2,<3' pytest pytest-xdist hypothesis -c $(VENV)-spark-$*/constraints.txt
	touch $@
